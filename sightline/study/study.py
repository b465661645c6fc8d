"""Opening and making a study: a folder, or a folder or address that stands for a PostgreSQL database."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from sightline.errors import SightlineError, StudyError, UsageError, near
from sightline.regular import read_regular
from sightline.study import listing, reading
from sightline.study.files import ImageFiles
from sightline.study.read_cache import cache_home
from sightline.study.roots import Root
from sightline.study.schema import database, tables
from sightline.study.schema.pooling import USUAL, Pool
from sightline.study.vectors import MOVED, Vectors, moved_to

if TYPE_CHECKING:
    import polars as pl

COUNTED = ("prompt", "system", "image", "answer", "judgement", "truth", "score")
DATABASE_FILE = "study.sqlite"
SETTINGS_FILE = "study.toml"
MOST_SETTINGS = 1_000_000
"""Bytes of settings that are read."""
SECTIONS = (
    "study", "store", "question", "truth", "screening", "check", "score", "verify", "annotate", "compare",
    "report", "endpoint",
)  # fmt: skip


class Study:
    """An open study: its database, image files, vectors and settings."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        files: ImageFiles,
        home: Path,
        settings: Mapping[str, Any],
        moved: str = "",
    ) -> None:
        self.name = name
        self.engine = engine
        self.files = files
        self.home = home
        self.settings = settings
        self.created = False
        """Whether this very process made the study."""
        self.vectors = Vectors(engine, files, home, moved)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            counts = reading.counts(self)
        except SightlineError:  # a repr never raises: the database may be gone by now
            return f"<Study {self.name} at {self.address}>"
        parts = [f"{counts[each]:,} {each}s" for each in COUNTED if counts[each]]
        return f"<Study {self.name} at {self.address}: {', '.join(parts) or 'empty'}>"

    @property
    def address(self) -> str:
        """Where the study is: its folder, or the address of its database without the password."""
        return str(self.home) if self.engine.dialect.name == "sqlite" else database.place(self.engine)

    def prompts(self) -> pl.DataFrame:
        """One row per prompt: its suite, id, text and tags."""
        return listing.named_prompts(self)

    def images(self) -> pl.DataFrame:
        """One row per image: its collection, name, content hash, size and defect."""
        return listing.named_images(self)

    def answers(self) -> pl.DataFrame:
        """One row per answer: prompt, system, position, image, score, seed or failure."""
        return listing.named_answers(self)[0]

    def judgements(self) -> pl.DataFrame:
        """One row per judgement as it was given, revisions and skipped items included."""
        return listing.named_judgements(self)

    def scores(self) -> pl.DataFrame:
        """One row per score of every measure, with the reason where there is no value."""
        return listing.named_scores(self)

    def truth(self) -> pl.DataFrame:
        """One row per item of every question and rule: its consensus value, interval and n, or the reason."""
        return listing.named_truths(self)


def open_study(path: str | Path) -> Study:
    """Open a study by its folder or its PostgreSQL address."""
    address = str(path)
    if "://" in address and not address.startswith("file://"):
        return _open_address(address)
    folder = Path(address.removeprefix("file://"))
    if not folder.exists():
        raise StudyError(
            "there is no such study", where=str(folder), remedy=f"Make one: sightline init {folder}"
        )
    if not folder.is_dir():
        raise StudyError("a study is a folder, this is a file", where=str(folder))
    settings = read_settings(folder / SETTINGS_FILE)
    elsewhere = settings.get("store", {}).get("database")
    if elsewhere:
        pool = Pool.given(settings["store"], str(folder / SETTINGS_FILE))
        engine = database.connect(str(elsewhere), pool)
        root = str(settings["store"].get("images") or folder)
    else:
        file = folder / DATABASE_FILE
        if not file.exists():
            raise StudyError(
                "this folder is not a study",
                where=str(folder),
                remedy=f"Make it one: sightline init {folder}",
            )
        engine = database.connect_file(file)
        if file.is_file() and file.stat().st_size == 0:
            raise database.emptied(engine)  # connecting would write to it
        root = str(folder)
    database.prepare(engine)
    with database.reading(engine) as connection:
        moved = moved_to(connection)
    return Study(folder.resolve().name, engine, ImageFiles(moved or root), folder, settings, moved)


def create_study(
    path: str | Path, *, database_address: str = "", images: str = "", settings: str = "", copying: str = ""
) -> Study:
    """Make a new, empty study; one that exists already is left alone and reported.

    One that is to be a copy notes in `copying` how far it is, and opens once it is complete.
    """
    folder = Path(path)
    if "://" in str(path):
        raise UsageError(
            "a new study starts as a folder",
            remedy=f"sightline init my-study --database {path}  (the folder holds study.toml)",
        )
    if (folder / DATABASE_FILE).exists() or (folder / SETTINGS_FILE).exists():
        raise StudyError(
            "there is a study already", where=str(folder), remedy="Use it, or choose another folder."
        )
    if folder.exists() and not folder.is_dir():
        raise StudyError("there is a file of that name", where=str(folder), remedy="Choose another folder.")
    if database_address:
        engine = database.connect(database_address)
        _refuse_taken(engine)
    else:
        engine = database.connect_file(folder / DATABASE_FILE)
    if images:
        _check_store(images)
    made = not folder.exists()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Links are signed with a key in the database, and judgements name people.
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / SETTINGS_FILE).write_text(
            settings or _settings(folder.resolve().name, database_address, images), "utf-8"
        )
        database.create(engine, copying)
        for file in folder.glob(f"{DATABASE_FILE}*"):
            file.chmod(0o600)
        if database_address:
            with database.writing(engine) as connection:
                rows = [("files", images or str(folder.resolve())), ("name", folder.resolve().name)]
                database.upsert(connection, tables.setting, ["name", "value"], rows, replace=True)
    except (StudyError, OSError) as error:
        engine.dispose()
        _clear_away(folder, made)
        if isinstance(error, StudyError):
            raise
        raise StudyError(
            f"cannot make a study here ({error.strerror})",
            where=str(folder),
            remedy="Check the disk and permissions.",
        ) from None
    # Not opened again: the address given may hold a password, and study.toml never does.
    files = ImageFiles(images if database_address and images else str(folder))
    study = Study(folder.resolve().name, engine, files, folder, read_settings(folder / SETTINGS_FILE))
    study.created = True
    return study


@contextmanager
def open_or_create(path: str | Path, *, temporary: bool = False) -> Iterator[Study]:
    """The study; one that is not there yet is made unless the import fails, or thrown away if `temporary`."""
    folder = Path(path)
    if "://" in str(path) or folder.exists():
        with open_study(path) as opened:
            yield opened
        return
    # Made aside and put in its place when all is in it: a failed import leaves nothing, and of two processes
    # that make the same study one wins whole.
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    with tempfile.TemporaryDirectory(prefix=".sightline-", dir=above) as aside:
        with create_study(Path(aside) / folder.absolute().name) as made:
            yield made
        if temporary:
            return
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        try:
            made.home.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            raise StudyError(
                "another process made this study at the same time; nothing was imported",
                where=str(path),
                remedy="Run the same command again.",
            ) from None


def _refuse_taken(engine: Engine) -> None:
    with database.reading(engine) as connection:
        if database.version(connection) is not None:
            raise StudyError(
                "there is a study in this database already",
                where=database.place(engine),
                remedy="Use it by this address, or make another database.",
            )


def _clear_away(folder: Path, made: bool) -> None:
    """Leave nothing of a study that could not be made."""
    (folder / SETTINGS_FILE).unlink(missing_ok=True)
    for file in folder.glob(f"{DATABASE_FILE}*"):
        file.unlink()
    if made and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _open_address(address: str) -> Study:
    engine = database.connect(address)
    with database.reading(engine) as connection:
        if database.version(connection) is None:
            raise StudyError(
                "there is no study in this database",
                where=database.place(engine),
                remedy="Make one: sightline init my-study --database ADDRESS",
            )
    database.prepare(engine)
    with database.reading(engine) as connection:
        settings = dict(database.fetch(connection, "SELECT name, value FROM setting"))
    root, moved, name = (settings.get(key, "") for key in ("files", MOVED, "name"))
    home = Path(root) if root and "://" not in root else cache_home() / (name or "study")
    wishes = read_settings(home / SETTINGS_FILE)
    pool = Pool.given(wishes.get("store", {}), str(home / SETTINGS_FILE))
    if pool != USUAL:
        engine.dispose()
        engine = database.connect(address, pool)
    return Study(name or "study", engine, ImageFiles(moved or root), home, wishes, moved)


def _check_store(images: str) -> None:
    """Refuse an address that cannot be written to, or where another study keeps its files."""
    root = Root(images)
    root.check()
    if root.listing("vectors"):
        raise StudyError(
            "another study keeps its files here",
            where=images,
            remedy="Give each study a path of its own, such as s3://bucket/study-2.",
        )


def read_settings(file: Path) -> Mapping[str, Any]:
    """The settings file as a mapping; empty where there is none."""
    if not file.exists():
        return {}
    try:
        settings = tomllib.loads(read_regular(file, most=MOST_SETTINGS).decode("utf-8"))
    except RecursionError:
        raise StudyError("the settings are nested too deeply", where=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(
            f"the settings cannot be read: {error}", where=str(file), remedy="Correct that line."
        ) from None
    except OSError as error:
        raise StudyError(f"the settings cannot be read ({error.strerror})", where=str(file)) from None
    for name, section in settings.items():
        if isinstance(section, dict) and name not in SECTIONS:
            raise StudyError(f"there is no setting [{name}]", where=str(file), remedy=near(name, SECTIONS))
        if not isinstance(section, dict):
            raise StudyError(
                f"the settings hold a bare value {name!r}",
                where=str(file),
                remedy="Put it below a table such as [study] or [score].",
            )
    return settings


def is_template(study: Study) -> bool:
    """Whether the settings are still those that every new study has."""
    file = study.home / SETTINGS_FILE
    store = study.settings.get("store", {})
    fresh = _settings(study.home.resolve().name, store.get("database", ""), store.get("images", ""))
    return file.is_file() and file.read_text("utf-8") == fresh


def adopt_settings(study: Study, settings: str, *, dry_run: bool = False) -> None:
    """Put these settings in the place of the study's own; where its records and images are stays as it is.

    `dry_run` only looks whether they can be read.
    """
    file = study.home / SETTINGS_FILE
    store = study.settings.get("store", {})
    kept = _store(store["database"], store.get("images", "")) if "database" in store else ""
    draft = file.with_name(f".{SETTINGS_FILE}.part")
    try:
        draft.write_text(settings + kept, "utf-8")
        read = read_settings(draft)
        if dry_run:
            return
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    study.settings = read


def note_images(study: Study, address: str) -> None:
    """Have [store] of the settings file name where the images are now; people read it."""
    file = study.home / SETTINGS_FILE
    if not file.is_file() or "images" not in study.settings.get("store", {}):
        return
    before, header, store = file.read_text("utf-8").partition("\n[store]")
    written = re.sub(r"(?m)^images\s*=.*$", lambda _: f"images = {_quoted(address)}", store, count=1)
    draft = file.with_name(f".{SETTINGS_FILE}.part")
    draft.write_text(before + header + written, "utf-8")
    draft.replace(file)


def _settings(name: str, address: str, images: str) -> str:
    template = (Path(__file__).parent / "study.toml").read_text("utf-8")
    shown = "".join(letter if letter.isprintable() else "_" for letter in name)
    content = template.replace('"{name}"', _quoted(shown))
    return content + _store(address, images) if address else content


def _store(address: str, images: str) -> str:
    note = "\n[store]\n# The password is not kept here: PGPASSWORD or ~/.pgpass give it.\n"
    return f"{note}database = {_quoted(database.without_password(address))}\nimages = {_quoted(images)}\n"


def _quoted(text: str) -> str:
    # A basic string of TOML is written like one of JSON.
    return json.dumps(text, ensure_ascii=False)
