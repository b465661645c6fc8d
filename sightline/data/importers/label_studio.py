"""Exports of Label Studio: what people answered about images, as JSON, JSON-MIN or CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.data.importers._samples import row_of
from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import SYNONYMS, prompts_of, subject_of
from sightline.data.sources.rows import Layout
from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import AnnotatorKey, Judgement, Question, Record, preference_question

FLAT = ("annotation_id", "annotator", "lead_time")
OWN = ("id", "created_at", "updated_at", "inner_id", *FLAT)
SIDES = {"left": 0.0, "right": 1.0}
ANSWERS = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
_UPLOAD = re.compile(r"^/data/upload/\d+/(?:[0-9a-f]{8}-)?")
_PLACE = re.compile(r"(.*)(:\D*)(\d+)", re.DOTALL)
_LOCAL = re.compile(r"^/data/local-files/\?d=")


class Given(NamedTuple):
    """One answer: the task's data, who gave it, the question, and a number, a choice or a side."""

    data: Mapping[str, Any]
    annotator: str
    question: str
    value: Any
    took: float | None
    time: str | None
    at: str


def claims(source: Source) -> float:
    """A JSON list of tasks with data and annotations; or annotation_id, annotator and lead_time."""
    if not source.is_file:
        return 0.0
    if source.is_table():
        return 0.95 * (set(FLAT) <= set(source.header(source.the_file())))
    if not source.path.name.lower().endswith(".json"):
        return 0.0
    _, first = next(source.entries(source.the_file()), (0, None))
    if not isinstance(first, dict):
        return 0.0
    return 0.95 * ({"data", "annotations"} <= first.keys() or set(FLAT) <= first.keys())


@importer(
    claims=claims,
    source="Label Studio: exports as JSON, JSON-MIN and CSV",
    licence="Apache-2.0",
    files={
        "project.json": '[\n{"id": 1, "data": {"image": "a.png", "prompt": "a dog"}, "annotations": [\n'
        '{"id": 5, "completed_by": 10, "lead_time": 4.2, "was_cancelled": false, "result": [{"from_name": '
        '"quality", "to_name": "image", "type": "rating", "value": {"rating": 4}}]}]}\n]\n'
    },
)
def label_studio(
    source: Source, *, suite: str = "prompts", collection: str = "images", panel: str = "label_studio"
) -> Iterator[Record]:
    """Label Studio exports (JSON, JSON-MIN, CSV): ratings, numbers, choices and pairwise picks as judgements.

    The control's name is the question, `completed_by` or `annotator` is who answered. Of choices, yes and no
    and numbers are values; other choices make a nominal question, numbered in the order of their names. Of a
    pairwise pick, left is the first image. Fields of the task that are called image, prompt, system and so on
    say what was judged; an image is named as it was before it was uploaded. Other kinds of annotation, such
    as boxes, are left out and named.
    """
    given = list(_flat(source) if _is_flat(source) else _tasks(source))
    labels = _labels(given)
    once = Once()
    for each in given:
        row = _row(each)
        item = subject_of(row, suite, collection)
        value = _value(each, labels.get(each.question, {}))
        if once.new(("question", each.question)):
            yield _question(each, labels.get(each.question, {}))
        yield from prompts_of(row, once, suite)
        who = AnnotatorKey(panel, each.annotator) if each.annotator else None
        took = None if each.took is None else round(1000 * each.took)
        yield Judgement(each.question, item, value, who, took_ms=took, time=each.time, at=each.at)


def _is_flat(source: Source) -> bool:
    if source.is_table():
        return True
    _, first = next(source.entries(source.the_file()), (0, None))
    return isinstance(first, dict) and "annotations" not in first


def _tasks(source: Source) -> Iterator[Given]:
    file = source.the_file()
    for number, task in source.entries(file):
        at = f"{file}:task {number}"
        data, annotations = (task.get("data"), task.get("annotations")) if isinstance(task, dict) else (0, 0)
        if not isinstance(data, dict) or not isinstance(annotations, list):
            raise DataError("a task has data and annotations", where=at, remedy="Export it as JSON again.")
        for annotation in annotations:
            if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
                source.skip(at, "annotations that were cancelled")
                continue
            results = annotation.get("result")
            for result in results if isinstance(results, list) else ():
                value = _result(result)
                if value is None:
                    kind = result.get("type") if isinstance(result, dict) else "unknown"
                    source.skip(at, f"annotations of another kind ({kind})")
                    continue
                yield Given(
                    data, _who(annotation.get("completed_by")), str(result["from_name"]), value,
                    _number(annotation.get("lead_time")), annotation.get("created_at"), at,
                )  # fmt: skip


def _result(result: Any) -> Any:
    """The answer of one control: a number, choices, or a side; None for other kinds."""
    value = result.get("value") if isinstance(result, dict) and result.get("from_name") else None
    if not isinstance(value, dict):
        return None
    for name in ("rating", "number", "selected"):
        if value.get(name) is not None:
            return value[name]
    choices = value.get("choices")
    return choices[0] if isinstance(choices, list) and len(choices) == 1 else None


def _flat(source: Source) -> Iterator[Given]:
    """Rows of JSON-MIN or CSV: the task's fields, and one field for each control."""
    for row in _flat_rows(source):
        cells = {name: row.get(name) for name in row.columns}
        taken = {*OWN, *(name for names in SYNONYMS.values() for name in names), *SYNONYMS, "prompt_id"}
        for name, cell in cells.items():
            if name in taken or cell is None or name in ("suite", "collection"):
                continue
            value = _cell(cell)
            if value is None:
                source.skip(f"{row.at} ({name})", "annotations of another kind")
                continue
            yield Given(
                cells, _who(cells.get("annotator")), name, value, _number(cells.get("lead_time")),
                cells.get("created_at"), row.at,
            )  # fmt: skip


def _flat_rows(source: Source) -> Iterator[Row]:
    file = source.the_file()
    if source.is_table():
        yield from source.rows(file)
        return
    for number, entry in source.entries(file):
        if not isinstance(entry, dict):
            raise DataError("a task is an object", where=f"{file}:task {number}", remedy="Export it again.")
        layout = Layout(file, {name: n for n, name in enumerate(entry)}, ":task ")
        yield Row(list(entry.values()), layout, number)


def _cell(cell: Any) -> Any:
    """A cell of JSON-MIN or CSV: a number, a text, or a list with the one thing that was given."""
    if isinstance(cell, str) and cell[:1] in "[{":
        try:
            cell = parse_json(cell)
        except ValueError:
            return None
    if isinstance(cell, dict) and isinstance(cell.get("choices"), list):
        cell = cell["choices"]
    if isinstance(cell, list):
        cell = cell[0] if len(cell) == 1 else None
    if isinstance(cell, dict):
        cell = next((cell[name] for name in ("rating", "number", "selected") if name in cell), None)
    return cell if isinstance(cell, str | int | float) and not isinstance(cell, bool) else None


def _row(given: Given) -> Row:
    """What was judged, as a row with our columns: images by the names they had before they were uploaded."""
    data = {
        name: _original(cell) if isinstance(cell, str) else cell
        for name, cell in given.data.items()
        if name not in OWN and name != given.question
    }
    lower = {name.lower(): name for name in data}
    asked: dict[str, str] = {}
    for ours in ("image", "image_b"):
        wanted = (*SYNONYMS[ours], *({"image": ("left", "image1"), "image_b": ("right", "image2")}[ours]))
        found = next((lower[each] for each in wanted if each in lower), None)
        if ours not in lower and found is not None:
            asked[ours] = found
    file, mark, number = _PLACE.fullmatch(given.at).groups()  # type: ignore[union-attr]
    return row_of(data, file, int(number), asked, mark)


def _original(text: str) -> str:
    plain = _LOCAL.sub("", _UPLOAD.sub("", text))
    return plain.rpartition("/")[2] if re.match(r"https?://", plain) else plain


def _who(said: Any) -> str:
    if isinstance(said, dict):
        said = said.get("email") or said.get("id")
    return "" if said is None else str(said)


def _number(said: Any) -> float | None:
    try:
        return None if said is None else float(said)
    except (TypeError, ValueError):
        return None


def _labels(given: Sequence[Given]) -> dict[str, dict[str, float]]:
    """The numbers of choices that are no numbers themselves, by question."""
    words: dict[str, set[str]] = {}
    for each in given:
        words.setdefault(each.question, set()).add(str(each.value).strip().lower())
    found = {}
    for question, said in words.items():
        plain = (
            said <= ANSWERS.keys() or said <= SIDES.keys() or all(_number(word) is not None for word in said)
        )
        if not plain:
            found[question] = {word: float(n) for n, word in enumerate(sorted(said))}
    return found


def _value(given: Given, labels: Mapping[str, float]) -> float:
    word = str(given.value).strip().lower()
    if word in labels:
        return labels[word]
    known = {**ANSWERS, **SIDES}
    value = known[word] if word in known else float(given.value)
    if value - value != 0:
        raise DataError(f"{given.question} is not a finite number", where=given.at, remedy="Correct it.")
    return value


def _question(given: Given, labels: Mapping[str, float]) -> Question:
    if str(given.value).strip().lower() in SIDES:
        return preference_question(given.question, given.at)
    if not labels:
        return Question(given.question, at=given.at)
    names = {f"{n:g}": word for word, n in labels.items()}
    return Question(
        given.question, "nominal", 0, float(len(labels) - 1), labels=names, direction="none", at=given.at
    )
