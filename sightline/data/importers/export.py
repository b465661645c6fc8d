"""A whole study as it left by `sightline export`: every table that can come back, in the right order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path, PurePosixPath

from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import EXPORT_NOTE, QUESTION_COLUMNS, export_note, questions_of, rows_of
from sightline.data.sources.rows import Required
from sightline.errors import DataError
from sightline.extension import importer, needs
from sightline.records import NOTHING, Image, ImageKey, Prompt, PromptKey, Record, Reference, System

Links = dict[PromptKey, list[tuple[str, PromptKey]]]
Plain = Callable[[Source], Iterator[Record]]

STAYS = {
    "scores": "computed from the rest: sightline score",
    "predictions": "computed from the rest: sightline predict",
    "unsettled": "computed from the rest: sightline truth",
}
ALSO_ELSEWHERE = ("tags",)
"""Tables that repeat what another one tells: a tag is also a column of `prompts`."""


def claims(source: Source) -> float:
    """A folder with the note that an export leaves."""
    return 0.0 if source.is_file else float((source.root / EXPORT_NOTE).is_file())


@importer(
    claims=claims,
    source="Sightline's export",
    licence="Apache-2.0",
    files={
        "export/prompts.csv": "suite,prompt_id,prompt\nmine,1,a dog\nmine,2,'=a cat\n",
        "export/judgements.csv": "suite,prompt_id,annotator,panel,question,value\n"
        "mine,1,ann,people,q,4\nmine,2,ann,people,q,3\nmine,2,ben,people,q,1\n",
        "export/sightline-export.json": '{"sightline_export": 1, "files": {"prompts.csv": {"rows": 2, '
        '"guard": true}, "judgements.csv": {"rows": 3, "guard": true}}}',
    },
)
def export(
    source: Source,
    *,
    prompts: Plain = needs("importer", "prompts"),
    answers: Plain = needs("importer", "answers(names_only=True)"),
    captions: Plain = needs("importer", "captions(names_only=True)"),
    judgements: Plain = needs("importer", "judgements"),
    truths: Plain = needs("importer", "truths"),
) -> Iterator[Record]:
    """A folder that `sightline export` wrote as csv, jsonl or parquet: all its tables at once.

    Images come by name, since an export holds no image files; scores and predictions are computed again.
    """
    readers: dict[str, Plain] = {
        "questions": _questions,
        "systems": _systems,
        "prompts": lambda table: _linked(prompts(table), links),
        "images": _images,
        "captions": captions,
        "scenes": _scenes,
        "answers": answers,
        "judgements": judgements,
        "truths": truths,
        "references": _references,
    }
    tables = _tables(source)
    links = _links(tables["links"]) if "links" in tables else {}
    for name, reader in readers.items():
        if name in tables:
            yield from reader(tables[name])
    for name, table in tables.items():
        for reason, n in table.skipped_count.items():
            source.skipped_count[reason] = source.skipped_count.get(reason, 0) + n
            source.skipped.setdefault(reason, []).extend(table.skipped[reason])
        if name in STAYS:
            source.skip(table.name, STAYS[name])
        elif name not in readers and name not in (*ALSO_ELSEWHERE, "links"):
            source.skip(table.name, "tables that have no way back")
    if (source.root / "study.toml").is_file():
        source.skip("study.toml", "settings of the study it was: copy the file into the new study's folder")


class Table(Source):
    """A table of an export, which must have as many rows as the export wrote."""

    def __init__(self, path: Path, wanted: int) -> None:
        super().__init__(path)
        self._wanted = wanted

    def rows(
        self,
        file: str,
        required: Required = (),
        known: tuple[str, ...] | None = None,
        renamed: Mapping[str, str] = NOTHING,
    ) -> Iterator[Row]:
        """The rows; an error at the end if some are missing or too many."""
        n = 0
        for row in super().rows(file, required, known, renamed):
            n += 1
            yield row
        if n != self._wanted:
            raise DataError(
                f"{n:,} rows where the export wrote {self._wanted:,}",
                where=file,
                remedy=f"Export again; or, if the change is meant, import {file} by itself.",
            )


def _tables(source: Source) -> dict[str, Table]:
    """The tables that have rows, by name."""
    found: dict[str, Table] = {}
    for file, entry in export_note(source).items():
        name = PurePosixPath(file).stem
        if name in found:
            raise DataError(
                f"there is another table {name}, {found[name].name}",
                where=f"{EXPORT_NOTE}: {file}",
                remedy="Export each form to a folder of its own.",
            )
        path = source.inside(file, EXPORT_NOTE)
        if not path.is_file():
            raise DataError("there is no such file", where=file, remedy="It was exported: put it back.")
        if entry["rows"]:
            found[name] = Table(path, entry["rows"])
    return found


def _questions(table: Source) -> Iterator[Record]:
    once = Once()
    for row in rows_of(table, ("question",), (*QUESTION_COLUMNS, "wording", "labels")):
        for question in questions_of(row, once):
            labels = row.structure("labels") or {}
            if not isinstance(labels, dict):
                raise row.wrong("labels", "a JSON object", 'For example {"1": "bad"}.')
            yield question._replace(wording=row.text("wording", ""), labels=labels)


def _systems(table: Source) -> Iterator[Record]:
    for row in rows_of(table, ("system", "kind"), ("system", "kind", "collection")):
        yield System(row.text("system"), row.text("kind"), row.text("collection", None), row.at)


def _links(table: Source) -> Links:
    columns = ("suite", "prompt_id", "kind", "to_suite", "to_prompt_id")
    links: Links = {}
    for row in rows_of(table, columns, columns):
        prompt = PromptKey(row.text("suite"), row.text("prompt_id"))
        to = PromptKey(row.text("to_suite"), row.text("to_prompt_id"))
        links.setdefault(prompt, []).append((row.text("kind"), to))
    return links


def _linked(records: Iterator[Record], links: Links) -> Iterator[Record]:
    """Prompts with all their links: a column of `prompts` holds only those within a suite."""
    for record in records:
        if links and isinstance(record, Prompt):
            yield record._replace(links=links.get(record.key, ()))
        else:
            yield record


def _images(table: Source) -> Iterator[Record]:
    known = ("collection", "image", "sha256", "width", "height", "defect")
    for row in rows_of(table, ("collection", "image"), known):
        if row.text("sha256", None) is not None:
            table.skip(row.text("image"), "pictures: an export has their names (a copy has them: --as study)")
        yield Image(_image(row), at=row.at)


def _scenes(table: Source) -> Iterator[Record]:
    for row in rows_of(table, ("collection", "image", "scene"), ("collection", "image", "scene")):
        scene = row.structure("scene")
        if not isinstance(scene, dict):
            raise row.wrong("scene", "a JSON object", 'For example {"objects": [{"kind": "dog"}]}.')
        yield Image(_image(row), at=row.at, scene=scene)


def _references(table: Source) -> Iterator[Record]:
    columns = ("reference", "distance", "squared", "value")
    rows = rows_of(table, columns, columns)
    for (name, distance), group in groupby(rows, lambda row: (row.text("reference"), row.text("distance"))):
        first, *rest = group
        values = [row.number("value") for row in (first, *rest)]
        yield Reference(name, distance, values, first.flag("squared"), first.at)


def _image(row: Row) -> ImageKey:
    return ImageKey(row.text("collection"), row.text("image"))
