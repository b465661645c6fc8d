"""Sheets: images to judge as tables, for people without a connection; blind to which system made them.

One folder per annotator: `sheet.csv` in the plain form of judgements, `images/` under names that say nothing,
and `README.txt`. A filled-in sheet comes back with `sightline import`: its image column names images by their
content, which the study knows how to find.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.data.export import write_table
from sightline.errors import DataError, StudyError, UsageError
from sightline.records import Question
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading
from sightline.study.prompts import prompts_of
from sightline.study.schema.naming import content_name
from sightline.study.study import SETTINGS_FILE, Study
from sightline.study.writing import settling

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"RIFF": ".webp", b"BM": ".bmp"}


@dataclass(frozen=True)
class Sheet:
    """One annotator's work."""

    annotator: str
    folder: str
    images: int


@dataclass(frozen=True)
class Sheets(Result):
    """The sheets, what they ask, and the option with which filled-in ones are imported."""

    question: str
    seed: int
    images: int
    sheets: Sequence[Sheet]
    import_option: str = ""

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline import STUDY SHEET.csv{self.import_option}",)

    def tables(self) -> dict[str, Table]:
        columns = [Column("annotator"), Column("images"), Column("folder")]
        rows = [(sheet.annotator, sheet.images, sheet.folder) for sheet in self.sheets]
        return {"": Table(columns, rows, f"{self.question}: {self.images} images")}


class _Item(NamedTuple):
    prompt_id: int
    image_id: int
    sha256: str


def sheets(
    study: Study,
    folder: str | Path,
    *,
    question: str,
    annotators: Sequence[str],
    per_item: int | None = None,
    seed: int = 0,
    suite: str | None = None,
) -> Sheets:
    """Write one sheet per annotator: every answered image with its prompt, judged by `per_item` of them.

    By default three judge each image, or all if there are fewer. Who gets what, and in which order, is drawn
    from the seed, which the study's log keeps.
    """
    import numpy as np

    root = Path(folder)
    names = _names(annotators)
    per_item = min(3, len(names)) if per_item is None else per_item
    _refuse(study, root, names, per_item)
    asked = _question(study, question)
    prompts = prompts_of(study, suite)
    items = _items(study, prompts)
    rng = np.random.default_rng(seed)
    shares = deal(len(items), len(names), per_item, rng)
    wording, import_option = _wording(study, prompts, items)
    work = {
        name: [items[int(i)] for i in rng.permutation(share)]
        for name, share in zip(names, shares, strict=True)
    }
    try:
        _write_all(study, root, asked, work, wording)
    except OSError as error:
        raise StudyError(
            f"cannot write the sheets ({error.strerror or error})",
            where=str(root),
            remedy="Check the disk and your permissions.",
        ) from None
    note = {"question": asked.name, "seed": seed, "per_item": per_item, "items": len(items)}
    settling.note_events(study, "annotate", "sheets", [{**note, "annotators": names}])
    made = [Sheet(name, str(root / name), len(share)) for name, share in work.items()]
    return Sheets(asked.name, seed, len(items), made, import_option)


def deal(items: int, annotators: int, per_item: int, rng: np.random.Generator) -> list[list[int]]:
    """Items for each annotator: every item to `per_item` of them, and nobody more than one item ahead."""
    shares: list[list[int]] = [[] for _ in range(annotators)]
    for item in rng.permutation(items):
        # The least busy first, chance among equals: loads then never differ by more than one.
        ties = rng.random(annotators)
        order = sorted(range(annotators), key=lambda who: (len(shares[who]), ties[who]))
        for who in order[:per_item]:
            shares[who].append(int(item))
    return shares


def _names(annotators: Sequence[str]) -> list[str]:
    names = [name.strip() for name in ([annotators] if isinstance(annotators, str) else annotators)]
    if not names:
        raise UsageError("no annotators are named", remedy="Name those who are to judge.")
    for name in names:
        if not name or name != Path(name).name or name.startswith(".") or "\\" in name or "\0" in name:
            raise UsageError(f"an annotator cannot be called {name!r}", remedy="The name becomes a folder's.")
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError("two annotators have the same name", remedy="Tell them apart: ann-1, ann-2.")
    return names


def _refuse(study: Study, root: Path, names: Sequence[str], per_item: int) -> None:
    if not 1 <= per_item <= len(names):
        raise UsageError(
            f"{per_item} judgements per item cannot come from {len(names)} annotators",
            remedy="Each judges an item once: name more annotators, or ask for fewer judgements.",
        )
    reading.need_prompts(study)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise StudyError(
            "there is something there already", where=str(root), remedy="Choose an empty or new folder."
        )


def _question(study: Study, name: str) -> Question:
    known = {asked.name: asked for _, asked in reading.questions(study)}
    if name in known:
        return known[name]
    if name in study.settings.get("question", {}):
        from sightline.study.settings import declared_question

        return declared_question(study, Question(name))
    raise UsageError(
        f"no question is called {name!r} in this study",
        remedy=f"Put this into {study.home / SETTINGS_FILE}:\n"
        f"    [question.{name}]\n"
        '    wording = "How well does the image match the prompt?"\n'
        '    scale = "interval"    # or ordinal, nominal\n'
        "    low = 1\n    high = 5\n    step = 1",
    )


def _items(study: Study, prompts: pl.DataFrame) -> list[_Item]:
    import polars as pl

    answers = reading.answers(study).filter(pl.col("sha256").is_not_null())
    broken = reading.images(study).filter(pl.col("defect").is_not_null())
    shown = (
        answers.join(prompts.select("prompt_id"), on="prompt_id", how="semi")
        .join(broken.select("image_id"), on="image_id", how="anti")
        .select("prompt_id", "image_id", "sha256")
        .unique(["prompt_id", "image_id"])
        .sort("prompt_id", "image_id")
    )
    if shown.is_empty():
        raise DataError(
            "there are no images to judge", where=study.name, remedy="Import or generate answers with images."
        )
    return [_Item(*row) for row in shown.iter_rows()]


def _wording(
    study: Study, prompts: pl.DataFrame, items: Sequence[_Item]
) -> tuple[dict[int, tuple[str | None, str]], str]:
    """Prompts as sheets name them, (id, text), and the option an import then needs.

    A text that is unique in the study and survives a spreadsheet finds its prompt by itself. Otherwise the id
    must, and ids hold within one suite.
    """
    texts = reading.prompts(study)["text"]
    twice = set(texts.filter(texts.is_duplicated()).to_list())
    used = {item.prompt_id for item in items}
    wordings: dict[int, tuple[str | None, str]] = {}
    suites = set()
    for key, home, ref, text in prompts.select("prompt_id", "suite", "ref", "text").iter_rows():
        if key not in used:
            continue
        alone = text not in twice and text[:1] not in "=+-@\t\r" and "\r" not in text
        wordings[key] = (None if alone else ref, text)
        if not alone:
            suites.add(home)
    if len(suites) > 1:
        raise UsageError(
            f"prompts of the suites {', '.join(sorted(suites))} read the same: no sheet can tell them apart",
            remedy="Write the sheets of one suite at a time: --suite NAME.",
        )
    needed = suites - {"prompts"}
    return wordings, "".join(f" --option suite={name}" for name in needed)


def _write_all(
    study: Study,
    root: Path,
    asked: Question,
    work: Mapping[str, Sequence[_Item]],
    wording: Mapping[int, tuple[str | None, str]],
) -> None:
    images = {
        int(key): content_name(sha256, collection, name)
        for key, collection, name, sha256 in reading.images(study)
        .drop_nulls("sha256")
        .select("image_id", "collection", "name", "sha256")
        .iter_rows()
    }
    root.parent.mkdir(parents=True, exist_ok=True)
    # Written elsewhere and renamed: nobody starts on a sheet whose images are still being copied.
    with tempfile.TemporaryDirectory(prefix=".sheets-", dir=root.parent) as draft:
        for name, items in work.items():
            _write(study, Path(draft) / "all" / name, name, asked, items, wording, images)
        os.replace(Path(draft) / "all", root)


def _write(
    study: Study,
    home: Path,
    name: str,
    asked: Question,
    items: Sequence[_Item],
    wording: Mapping[int, tuple[str | None, str]],
    images: Mapping[int, str],
) -> None:
    import polars as pl

    pictures = home / "images"
    pictures.mkdir(parents=True)
    rows = []
    digits = max(4, len(str(len(items))))
    for n, item in enumerate(items, 1):
        data = study.files.read(item.sha256)
        file = f"{n:0{digits}d}{_suffix(data)}"
        (pictures / file).write_bytes(data)
        ref, text = wording[item.prompt_id]
        rows.append((f"images/{file}", text, None, None, asked.name, name, ref, images[item.image_id]))
    columns = ["file", "prompt", "value", "skipped", "question", "annotator", "prompt_id", "image"]
    table = pl.DataFrame(rows, schema={column: pl.String for column in columns}, orient="row")
    write_table(table, home / "sheet.csv")
    (home / "README.txt").write_text(_instructions(asked, len(items)), "utf-8")


def _suffix(data: bytes) -> str:
    return next((suffix for start, suffix in SUFFIXES.items() if data.startswith(start)), "")


def _instructions(asked: Question, items: int) -> str:
    scale = ""
    if asked.low is not None and asked.high is not None:
        step = f" in steps of {asked.step:g}" if asked.step else ""
        scale = f"a number from {asked.low:g} to {asked.high:g}{step}"
    labels = "".join(f"  {value}: {label}\n" for value, label in asked.labels.items())
    return (
        f"{asked.wording or asked.name}\n\n"
        f"sheet.csv has {items} rows. For each, look at the image in column `file`, read `prompt`, and\n"
        f"write {scale or 'your judgement as a number'} into `value`. Leave no row empty: where you\n"
        "cannot say, write the reason into `skipped` instead. Change no other column. Save as CSV and send\n"
        "the file back.\n" + (f"\n{labels}" if labels else "")
    )
