"""Export: the tables of a study as files that come back by import, or the whole study as a copy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.errors import SightlineError, StudyError, UsageError, near
from sightline.extension import Extension
from sightline.records import NewPrompt
from sightline.store import listing, reading
from sightline.store.copying import portable_settings
from sightline.store.study import SETTINGS_FILE, Study

if TYPE_CHECKING:
    import polars as pl

STUDY = "study"


@dataclass(frozen=True)
class Exported:
    """What was written where."""

    form: str
    folder: str
    files: Sequence[str]
    rows: Mapping[str, int]


def export(
    study: Study, to: str | Path, *, form: str = "csv", tables: str | Sequence[str] | None = None
) -> Exported:
    """Write tables of a study (by default all) to a folder, one file a table; `form="study"` copies it whole.

    Prompts, answers, captions, judgements and truths have the columns of the plain import forms; the columns
    `suite` and `collection` say where a prompt or image belongs.
    """
    folder = Path(to)
    if folder.exists() and not folder.is_dir():
        raise StudyError("there is a file of that name", where=str(folder), remedy="Name a folder.")
    if form == STUDY:
        return _copy(study, folder, tables)
    known = [STUDY, *registry.names("exporter")]
    if form not in known:
        raise UsageError(f"there is no form called {form!r}", remedy=near(form, known))
    chosen = [tables] if isinstance(tables, str) else list(tables or TABLES)
    for name in chosen:
        if name not in TABLES:
            raise UsageError(f"there is no table called {name!r}", remedy=near(name, TABLES))
    reading.need_prompts(study)
    exporter = registry.configure("exporter", form)
    exporter.require()
    frames: dict[str, pl.DataFrame] = {}
    for name in chosen:
        frames.update(TABLES[name](study))

    def write() -> list[Path]:
        made = list(exporter.load()(frames, folder))
        if tables is None and (study.home / SETTINGS_FILE).is_file():
            # Without its rules and questions a study that comes back would settle to something else.
            (folder / SETTINGS_FILE).write_text(portable_settings(study), "utf-8")
            made.append(folder / SETTINGS_FILE)
        return made

    written = _written(write, folder)
    rows = {name: frame.height for name, frame in frames.items()}
    return Exported(form, str(folder), [str(path) for path in written], rows)


def _copy(study: Study, folder: Path, tables: str | Sequence[str] | None) -> Exported:
    from sightline.store.copying import copy_study

    if tables:
        raise UsageError("a copy of the study holds all tables", remedy="Leave out which, or use form csv.")
    with copy_study(study, folder) as copied:
        rows = {name: n for name, n in reading.counts(copied).items() if n}
    return Exported(STUDY, str(folder), [str(folder)], rows)


def write_table(table: pl.DataFrame, path: str | Path) -> Path:
    """One table to one file, in the form its suffix names."""
    target = Path(path)
    forms = {
        str(each.spec.details["suffix"]): each.spec.name
        for each in registry.everything("exporter")
        if isinstance(each, Extension)
    }
    if target.suffix not in forms:
        raise UsageError(
            f"cannot write a {target.suffix or 'nameless'} file",
            where=str(path),
            remedy=f"Give the file one of the suffixes {', '.join(sorted(forms))}.",
        )
    exporter = registry.configure("exporter", forms[target.suffix])
    exporter.require()
    (written,) = _written(lambda: exporter.load()({target.stem: table}, target.parent), target)
    return written


def prompt_table(refs: Sequence[str], prompts: Sequence[NewPrompt]) -> pl.DataFrame:
    """Prompts in the plain form: prompt_id, prompt, expects as JSON and a column a tag."""
    import polars as pl

    tags = dict.fromkeys(name for prompt in prompts for name in prompt.tags)
    columns: dict[str, list[str | None]] = {
        "prompt_id": list(refs),
        "prompt": [prompt.text for prompt in prompts],
    }
    if any(prompt.expects is not None for prompt in prompts):
        columns["expects"] = [_json(prompt.expects) for prompt in prompts]
    for name in tags:
        columns[f"tags.{name}"] = [prompt.tags.get(name) for prompt in prompts]
    return pl.DataFrame(columns, schema={name: pl.String for name in columns})


def _written(write: Callable[[], Sequence[Path]], where: Path) -> Sequence[Path]:
    try:
        return write()
    except SightlineError:
        raise
    except OSError as error:
        raise StudyError(
            f"cannot write here ({error.strerror or error})",
            where=str(where),
            remedy="Check the disk and your permissions.",
        ) from None


def _prompts(study: Study) -> dict[str, pl.DataFrame]:
    import polars as pl

    found = reading.prompt_records(study)
    made = [NewPrompt(prompt.text, prompt.tags, prompt.expects) for prompt in found.values()]
    table = prompt_table([prompt.key.ref for prompt in found.values()], made)
    suites = pl.Series("suite", [prompt.key.suite for prompt in found.values()], dtype=pl.String)
    links = listing.named_links(study)
    table = table.insert_column(0, suites)
    for kind in ("builds_on", "rephrases"):
        # The plain form names linked prompts by id within the suite; the table `links` holds all of them.
        near_by = links.filter((pl.col("kind") == kind) & (pl.col("suite") == pl.col("to_suite")))
        if not near_by.is_empty():
            listed = near_by.group_by("suite", "prompt_id").agg(
                pl.col("to_prompt_id").sort().str.join(" ").alias(kind)
            )
            table = table.join(listed, on=["suite", "prompt_id"], how="left", maintain_order="left")
    return {"prompts": table}


def _answers(study: Study) -> dict[str, pl.DataFrame]:
    import polars as pl

    table, settings = listing.named_answers(study)
    names = dict.fromkeys(name for told in settings if told for name in told)
    for name in names:
        cells = [None if not told or name not in told else _cell(told[name]) for told in settings]
        table = table.with_columns(pl.Series(f"settings.{name}", cells, dtype=pl.String))
    return {"answers": table}


def _images(study: Study) -> dict[str, pl.DataFrame]:
    return {"images": reading.images(study).drop("image_id").rename({"name": "image"})}


def _judgements(study: Study) -> dict[str, pl.DataFrame]:
    import polars as pl

    table = _one_collection(listing.named_judgements(study))
    return {"judgements": table.with_columns(pl.col("control") == 1)}


def _truths(study: Study) -> dict[str, pl.DataFrame]:
    import polars as pl

    table = _one_collection(listing.named_truths(study))
    settled = table.filter(pl.col("value").is_not_null()).drop("reason")
    # What could not be settled is no truth to import again, but its reason must not be lost on the way out.
    unsettled = table.filter(pl.col("value").is_null()).drop("value", "low", "high")
    return {"truths": settled, **({} if unsettled.is_empty() else {"unsettled": unsettled})}


def _one_collection(table: pl.DataFrame) -> pl.DataFrame:
    """Pairs are almost always of one collection: columns for a second one only where there is one."""
    import polars as pl

    for other in ("collection_b", "collection_c"):
        if table.filter(pl.col(other).is_not_null() & (pl.col(other) != pl.col("collection"))).is_empty():
            table = table.drop(other)
    return table


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


TABLES: Mapping[str, Callable[[Study], dict[str, pl.DataFrame]]] = {
    "prompts": _prompts,
    "tags": lambda study: {"tags": listing.named_tags(study)},
    "links": lambda study: {"links": listing.named_links(study)},
    "answers": _answers,
    "images": _images,
    "captions": lambda study: {"captions": listing.named_captions(study)},
    "judgements": _judgements,
    "truths": _truths,
    "scores": lambda study: {"scores": listing.named_scores(study)},
}
