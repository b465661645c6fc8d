"""A study leaves as it came: published data is exported, imported into a new study, and compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline
from sightline import registry
from sightline.data.sources import Source
from sightline.data.sources.plain import setting_cell, setting_of, unguarded
from sightline.errors import DataError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Reference,
    System,
    Truth,
)
from sightline.study import listing, reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load
from sightline.study.writing.references import references
from sightline.study.writing.scenes import scenes

SAMPLED = 150
FORMS = ("csv", "jsonl", "parquet")
# Not part of an export: the pictures, and which import brought what.
ELSEWHERE = ("image_file", "source", "measure", "prediction", "score")


def rows(table: pl.DataFrame) -> Counter[str]:
    return Counter(map(repr, table.select(sorted(table.columns)).iter_rows()))


def content(study: Study) -> dict[str, object]:
    """All that a study holds, by names instead of ids."""
    answers, settings = listing.named_answers(study)
    told = [json.dumps(each, sort_keys=True) for each in settings]
    prompts = reading.prompt_records(study)
    return {
        "counts": {name: n for name, n in reading.counts(study).items() if name not in ELSEWHERE},
        "prompts": {p.key: (p.text, p.tags, p.expects) for p in prompts.values()},
        "tags": rows(listing.named_tags(study)),
        "links": rows(listing.named_links(study)),
        "systems": rows(reading.systems(study).drop("system_id")),
        "answers": rows(answers.with_columns(pl.Series("settings", told, dtype=pl.String))),
        "images": rows(reading.images(study).select("collection", "name")),
        # In the order in which an image has them.
        "captions": listing.named_captions(study).group_by("collection", "image").all().sort("image").rows(),
        "scenes": scenes(study),
        "references": references(study),
        "questions": {question.name: question for _, question in reading.questions(study)},
        "judgements": rows(listing.named_judgements(study)),
        "truths": rows(listing.named_truths(study)),
    }


def assert_same(before: dict[str, object], after: dict[str, object]) -> None:
    for name, held in before.items():
        assert after[name] == held, name


def there_and_back(study: Study, tmp_path: Path, form: str) -> dict[str, object]:
    sightline.export(study, tmp_path / "out", form=form)
    with create_study(tmp_path / "back") as back:
        told = sightline.import_(back, tmp_path / "out")
        assert told.layout == "export"
        return content(back)


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("folder", "form", "holds"),
    [
        ("imagenhub", "parquet", {"prompts", "tags", "answers", "judgements", "questions"}),
        ("visor", "jsonl", {"prompts", "tags", "answers", "systems"}),
        slow("conqa", "parquet", {"prompts", "links", "images", "judgements", "truths"}),
        slow("gimbrr", "jsonl", {"prompts", "tags", "links", "answers", "judgements"}),
        slow("agiqa3k", "csv", {"prompts", "answers", "truths", "systems"}),
        slow("flickr8k_400", "csv", {"captions", "judgements", "truths", "prompts"}),
        ("avt_ai_images", "jsonl", {"prompts", "answers", "judgements", "truths"}),
        ("coco64", "csv", {"images", "scenes"}),
        ("w1kp", "jsonl", {"references"}),
    ],
)
def test_published_data_comes_back(
    folder: str, form: str, holds: set[str], data: Path, tmp_path: Path
) -> None:
    with create_study(tmp_path / "study") as study:
        sightline.import_(study, data / folder)
        before = content(study)
        assert all(before[name] for name in holds), "what the comparison is about is there"
        assert_same(before, there_and_back(study, tmp_path, form))


def sampled(records: Iterator[Record]) -> Iterator[Record]:
    """The first prompts of PQPP with all that is told of them: whole, its relevance takes half a minute."""
    kept: set[object] = set()
    for record in records:
        full = len(kept) == SAMPLED
        if isinstance(record, Truth) and record.item.prompt not in kept:
            continue
        if full and isinstance(record, Prompt | Image):
            continue
        if isinstance(record, Prompt):
            kept.add(record.key)
        yield record


@pytest.mark.slow
def test_a_sample_of_pqpp_comes_back_and_its_relevance_through_trec(data: Path, tmp_path: Path) -> None:
    records = registry.configure("importer", "pqpp").load()(Source(data / "pqpp"))
    with create_study(tmp_path / "study") as study:
        load(study, sampled(records), importer="pqpp", path="pqpp", digest="sample")
        before = content(study)
        assert before["captions"] and before["truths"] and before["tags"]
        assert_same(before, there_and_back(study, tmp_path, "parquet"))
        relevance = listing.named_truths(study).filter(question="relevance")
        suite, collection = relevance.select("suite", "collection").row(0)
        sightline.export(study, tmp_path / "trec", form="trec")
    with create_study(tmp_path / "again") as again:
        options = {"suite": suite, "collection": collection}
        # Some prompts end in a space, which topics.tsv cannot hold.
        sightline.import_(again, tmp_path / "out" / "prompts.parquet")
        sightline.import_(again, tmp_path / "trec" / "qrels.txt", options=options)
        columns = ["suite", "prompt_id", "collection", "image", "value", "rule"]
        found = listing.named_truths(again).select(columns)
        assert found.height > SAMPLED
        assert rows(found) == rows(relevance.select(columns))


A, B, C = PromptKey("one", "a b"), PromptKey("one", "=c"), PromptKey("two", "a b")
ONE, TWO = ImageKey("left", "-1.png"), ImageKey("right", "../2 2.png")
AWKWARD: list[Record] = [
    Question("fit", "ordinal", 1, 5, 1, {"1": "bad", "5": "=good"}, "Does it, fit?", "lower"),
    Question("never asked", "nominal"),
    System("idle", "retriever", "right"),
    Prompt(A, "=SUM(A1)", {"k": "-1", "n": "007", "=odd": "'@x"}, [("builds_on", C), ("rephrases", B)]),
    Prompt(B, "'=not a formula", {"k": "''+"}, [("rephrases", A), ("like", C)], {"objects": []}),
    Prompt(C, '\t"tab", line\nbreak \r\n end ', expects={"é": [1, {"a": None}]}),
    Image(ONE, captions=["@caption", "'@caption", "null"], scene={"objects": [{"kind": "dog"}]}),
    Image(ImageKey("left", "alone")),
    Answer(A, "paint", 0, ONE, seed=-5, settings={"a": "30", "b": 30, "c": [1, "x"], "d": None, "e": "true"}),
    Answer(A, "paint", 3, None, failure="-refused"),
    Answer(B, "find", 0, TWO, 0.1 + 0.2),
    Judgement("fit", Item(A, "paint", ONE), 1e-17, AnnotatorKey("=p", "+q"), session="-s"),
    Judgement("fit", Item(A, None, ONE, TWO), 2, None, 7, repetition=2),
    Judgement("fit", Item(A, None, ONE, TWO), 2, None, 7, repetition=2),
    Judgement("fit", Item(image=ONE, image_b=TWO, image_c=ONE), None, None, skipped="@no"),
    Truth("fit", Item(system="paint"), -3, -4, -2, 9, "=rule"),
    Truth("fit", Item(B, image=TWO), 0.1 + 0.2),
    Reference("sample", "dreamsim", [0.1, 0.30000000000000004], True),
]


@pytest.fixture
def awkward(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "awkward") as study:
        load(study, AWKWARD, importer="t", path="t", digest="t")
        yield study


@pytest.mark.parametrize("form", FORMS)
def test_awkward_things_come_back(form: str, awkward: Study, tmp_path: Path) -> None:
    assert_same(content(awkward), there_and_back(awkward, tmp_path, form))


def test_one_guarded_table_comes_back_by_itself(awkward: Study, tmp_path: Path) -> None:
    sightline.export(awkward, tmp_path / "out", tables="prompts")
    assert "'=SUM(A1)" in (tmp_path / "out" / "prompts.csv").read_text()
    with create_study(tmp_path / "b") as back:
        sightline.import_(back, tmp_path / "out" / "prompts.csv")
        assert {p.text for p in reading.prompt_records(back).values()} == {
            record.text for record in AWKWARD if isinstance(record, Prompt)
        }


def test_an_apostrophe_in_a_table_that_is_not_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "prompts.csv").write_text("prompt\n'=quoted\n")
    with create_study(tmp_path / "b") as back:
        sightline.import_(back, tmp_path / "prompts.csv")
        assert reading.prompts(back)["text"].to_list() == ["'=quoted"]


@given(st.lists(st.text("'=+-@\t\rab\"\n,", max_size=5), min_size=1, max_size=5))
def test_the_guard_can_be_taken_back(texts: list[str]) -> None:
    import csv
    import io
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        table = {"t": pl.DataFrame({"x": texts, "y": ["."] * len(texts)})}
        (path,) = registry.configure("exporter", "csv").load()(table, Path(folder))
        cells = [row[0] for row in csv.reader(io.StringIO(path.read_bytes().decode(), newline=""))][1:]
    assert not any(cell[:1] in set("=+-@\t\r") for cell in cells if cell)
    assert [unguarded(cell) for cell in cells] == texts


# A study holds no NUL and no half of a character.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@given(json_values | st.sampled_from(["30", "1_0", " 7", "null", "true", "[1]", "nan", '"', "1e5", "٣"]))
def test_a_setting_comes_back_as_what_it_was(value: object) -> None:
    back = setting_of(setting_cell(value))
    assert back == value and type(back) is type(value)


def test_what_stays_behind_is_told(awkward: Study, tmp_path: Path) -> None:
    sightline.score(awkward, ["words"])
    held = listing.named_scores(awkward).height
    sightline.export(awkward, tmp_path / "out", form="jsonl")
    with create_study(tmp_path / "b") as back:
        told = sightline.import_(back, tmp_path / "out")
        assert told.counts["scores"] == held == listing.named_scores(back).height
        assert not [skipped for skipped in told.skipped if "sightline score" in skipped.reason]
        assert sightline.import_(back, tmp_path / "out").already


def test_tables_exported_one_after_another_come_back_together(awkward: Study, tmp_path: Path) -> None:
    for tables in (["prompts"], ["questions", "judgements"]):
        sightline.export(awkward, tmp_path / "out", tables=tables)
    with create_study(tmp_path / "b") as back:
        assert set(sightline.import_(back, tmp_path / "out").counts) >= {"prompts", "judgements"}


@pytest.mark.parametrize(
    ("spoil", "where", "said"),
    [
        ("rows", "prompts.jsonl", "2 rows where the export wrote 3"),
        ("missing", "prompts.jsonl", "no such file"),
        ("note", "sightline-export.json", "not JSON"),
        ("version", "sightline-export.json", "9 instead of 1"),
        ("escape", "sightline-export.json", "leaves the folder"),
        ("twice", "prompts.csv", "another table prompts"),
    ],
)
def test_a_spoilt_export_is_refused(
    spoil: str, where: str, said: str, awkward: Study, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    sightline.export(awkward, out, form="jsonl")
    note, prompts = out / "sightline-export.json", out / "prompts.jsonl"
    told = json.loads(note.read_text())
    if spoil == "rows":
        prompts.write_text("".join(prompts.read_text().splitlines(keepends=True)[:2]))
    elif spoil == "missing":
        prompts.unlink()
    elif spoil == "note":
        note.write_text(note.read_text()[:-20])
    elif spoil == "version":
        note.write_text(json.dumps({**told, "sightline_export": 9}))
    elif spoil == "escape":
        told["files"]["../x.jsonl"] = {"rows": 1}
        note.write_text(json.dumps(told))
    else:
        sightline.export(awkward, out, form="csv", tables="prompts")
    with create_study(tmp_path / "b") as back:
        with pytest.raises(DataError, match=said) as caught:
            sightline.import_(back, out)
        assert where in caught.value.where and caught.value.remedy
        assert reading.counts(back)["prompt"] == 0
