"""A whole study as it left by `sightline export`: every table that can come back, in the right order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path, PurePosixPath

from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import (
    EXPORT_NOTE,
    QUESTION_COLUMNS,
    SUBJECT_COLUMNS,
    export_note,
    left_behind,
    questions_of,
    rows_of,
    subject_of,
)
from sightline.data.sources.rows import Required
from sightline.errors import DataError
from sightline.extension import importer, needs
from sightline.records import (
    NOTHING,
    Annotator,
    AnnotatorKey,
    Assignment,
    Image,
    ImageKey,
    ImageTag,
    JudgingRound,
    KnownAnswer,
    Prompt,
    PromptKey,
    Record,
    Reference,
    Remark,
    RoundSlot,
    System,
)

Links = dict[PromptKey, list[tuple[str, PromptKey]]]
Plain = Callable[[Source], Iterator[Record]]

STAYS = {
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
    scores: Plain = needs("importer", "scores"),
) -> Iterator[Record]:
    """A folder that `sightline export` wrote as csv, jsonl or parquet: all its tables at once.

    Roles, exclusions, adjudications, control answers and rounds with their tasks come back; a new study takes
    over the settings too. Links of annotators do not: invite them again. Images come by name, since an export
    holds no image files. Scores come back with their evidence, each for the content that was scored: an image
    that has changed since has none. Predictions and scores of rankings are computed again.
    """
    readers: dict[str, Plain] = {
        "questions": _questions,
        "systems": _systems,
        "prompts": lambda table: _linked(prompts(table), links),
        "images": _images,
        "image_tags": _image_tags,
        "captions": captions,
        "scenes": _scenes,
        "answers": answers,
        "annotators": _annotators,
        "controls": _controls,
        "rounds": _rounds,
        "round_items": _round_items,
        "tasks": _tasks,
        "remarks": _remarks,
        "judgements": judgements,
        "truths": truths,
        "references": _references,
        "scores": scores,
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
    lacking, noted = left_behind(source), export_note(source)
    if lacking and "judgements" in tables:
        source.skip(lacking, "decisions that the export lacks, without which the truth is another")
    elif "judgements" in tables and not any(PurePosixPath(file).stem == "annotators" for file in noted):
        source.note("annotators", "tables that the export lacks: nobody is excluded, and nobody decides")


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


def _image_tags(table: Source) -> Iterator[Record]:
    columns = ("collection", "image", "suite", "prompt_id", "tag", "value")
    for row in rows_of(table, ("collection", "image", "tag", "value"), columns):
        suite, ref = row.text("suite", None), row.text("prompt_id", None)
        prompt = None if suite is None or ref is None else PromptKey(suite, ref)
        yield ImageTag(_image(row), row.text("tag"), row.text("value", ""), prompt, row.at)


def _scenes(table: Source) -> Iterator[Record]:
    for row in rows_of(table, ("collection", "image", "scene"), ("collection", "image", "scene")):
        scene = row.structure("scene")
        if not isinstance(scene, dict):
            raise row.wrong("scene", "a JSON object", 'For example {"objects": [{"kind": "dog"}]}.')
        yield Image(_image(row), at=row.at, scene=scene)


def _annotators(table: Source) -> Iterator[Record]:
    columns = ("panel", "annotator", "role", "language", "excluded")
    for row in rows_of(table, columns[:3], columns):
        language, excluded = row.text("language", None), row.text("excluded", None)
        yield Annotator(_annotator(row), row.text("role"), language, excluded, row.at)


def _controls(table: Source) -> Iterator[Record]:
    columns = ("question", "kind", "expected", "tolerance")
    for row in rows_of(table, columns, (*SUBJECT_COLUMNS, *columns)):
        item = subject_of(row, "", "")
        expected, tolerance = row.number("expected"), row.number("tolerance")
        yield KnownAnswer(row.text("question"), item, row.text("kind"), expected, tolerance, row.at)


def _rounds(table: Source) -> Iterator[Record]:
    columns = ("round", "mode", "questions", "settings", "seed", "state", "opened")
    for row in rows_of(table, columns, columns):
        asked, settings = row.structure("questions"), row.structure("settings")
        if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
            raise row.wrong("questions", "a JSON list of names", 'For example ["relevance"].')
        if not isinstance(settings, dict):
            raise row.wrong("settings", "a JSON object", 'For example {"per_item": 3}.')
        name, mode, state, opened = (row.text(column) for column in ("round", "mode", "state", "opened"))
        yield JudgingRound(name, mode, asked, settings, row.whole("seed"), state, opened, row.at)


def _round_items(table: Source) -> Iterator[Record]:
    columns = ("round", "place", "slot", "kind", "wanted", "control", "again_of")
    for row in rows_of(table, columns[:5], (*SUBJECT_COLUMNS, *columns)):
        yield RoundSlot(
            row.text("round"),
            row.count("place"),
            row.count("slot"),
            subject_of(row, "", ""),
            row.text("kind"),
            row.flag("control"),
            row.count("wanted"),
            row.whole("again_of", None),
            row.at,
        )


def _tasks(table: Source) -> Iterator[Record]:
    columns = ("round", "panel", "annotator", "number", "place", "session", "state", "assigned", "slots")
    for row in rows_of(table, columns, (*columns, "counted", "finished", "took_ms")):
        shown = row.structure("slots")
        if not isinstance(shown, list) or not all(_is_slot(each) for each in shown):
            raise row.wrong("slots", "a JSON list of slots", "Each is [slot, swapped, repetition].")
        yield Assignment(
            row.text("round"),
            _annotator(row),
            row.count("number"),
            row.count("place"),
            row.count("session"),
            row.text("state"),
            row.flag("counted"),
            row.text("assigned"),
            row.text("finished", None),
            row.whole("took_ms", None),
            [(slot, swapped, repetition) for slot, swapped, repetition in shown],
            row.at,
        )


def _remarks(table: Source) -> Iterator[Record]:
    columns = ("round", "panel", "annotator", "number", "kind", "slot", "part", "boxes", "time")
    for row in rows_of(table, columns, (*columns, "text")):
        boxes = row.structure("boxes")
        if not isinstance(boxes, list) or not all(isinstance(each, list) for each in boxes):
            raise row.wrong("boxes", "a JSON list of boxes", "Each is [left, top, right, bottom].")
        yield Remark(
            row.text("round"),
            _annotator(row),
            row.count("number"),
            row.text("kind"),
            row.text("text", ""),
            row.count("slot"),
            row.count("part"),
            boxes,
            row.text("time"),
            row.at,
        )


def _is_slot(cell: object) -> bool:
    return isinstance(cell, list) and [type(each) for each in cell] == [int, bool, int]


def _annotator(row: Row) -> AnnotatorKey:
    return AnnotatorKey(row.text("panel"), row.text("annotator"))


def _references(table: Source) -> Iterator[Record]:
    columns = ("reference", "distance", "squared", "value")
    rows = rows_of(table, columns, columns)
    for (name, distance), group in groupby(rows, lambda row: (row.text("reference"), row.text("distance"))):
        first, *rest = group
        values = [row.number("value") for row in (first, *rest)]
        yield Reference(name, distance, values, first.flag("squared"), first.at)


def _image(row: Row) -> ImageKey:
    return ImageKey(row.text("collection"), row.text("image"))
