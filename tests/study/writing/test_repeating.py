"""Twice is the same as once, contradictions are errors, and an error leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sightline.errors import ConflictError, DataError
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
    System,
    Truth,
)
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import sources

Put = Callable[..., Any]
Dumped = Callable[[Study], dict[str, list[Any]]]
P1, P2 = PromptKey("s", "1"), PromptKey("s", "2")
A, B = ImageKey("c", "a.png"), ImageKey("c", "b.png")
ANN = AnnotatorKey("p", "ann")


@pytest.fixture
def everything(tmp_path: Path, png: Callable[..., bytes]) -> list[Record]:
    """One of each, across several batches of three."""
    (tmp_path / "a.png").write_bytes(png())
    return [
        System("sd", at="r:1"),
        Question("fit", "ordinal", 0, 4, at="r:2"),
        Prompt(P1, "one", {"split": "train"}, expects={"n": 1}, at="r:3"),
        Prompt(P2, "two", links=[("builds_on", P1)], at="r:4"),
        Image(A, str(tmp_path / "a.png"), ["a dog"], at="r:5"),
        Answer(P1, "sd", 0, A, 0.5, 1, {"steps": 3}, at="r:6"),
        Answer(P1, "sd", 1, None, failure="refused", at="r:7"),
        Judgement("fit", Item(P1, None, A), 3, ANN, at="r:8"),
        Judgement("fit", Item(P1, None, A), 2, n=5, at="r:9"),
        Judgement("fit", Item(P1, None, A), None, skipped="dark", at="r:10"),
        Truth("fit", Item(P1, "sd"), 2.5, 2, 3, 6, at="r:11"),
    ]


def test_the_same_source_is_not_loaded_again(
    study: Study, put: Put, dump: Dumped, everything: list[Record]
) -> None:
    first = put(study, everything)
    before = dump(study)

    def untouched() -> Iterator[Record]:
        raise AssertionError("a known source must not even be read")
        yield

    again = put(study, untouched())
    assert (again.source_id, again.already, again.counts) == (first.source_id, True, first.counts)
    assert dump(study) == before


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_the_same_rows_under_another_digest_add_nothing(
    study: Study, put: Put, dump: Dumped, everything: list[Record], batch: int
) -> None:
    put(study, everything, "one")
    before = dump(study)
    again = put(study, [*everything, *everything[:7]], "two", batch=batch)
    assert (again.already, again.counts) == (False, {})
    after = dump(study)
    for told in ("source", "mention"):
        del before[told], after[told]
    assert after == before


def test_overlapping_rows_add_only_what_is_new(study: Study, put: Put, everything: list[Record]) -> None:
    put(study, everything[:7], "one")
    done = put(study, everything[3:], "two")
    counts = {"annotators": 1, "judgements": 3, "truths": 1}
    assert done.counts == counts
    assert [source["counts"] for source in sources(study)][1] == counts


def test_loading_in_any_batch_gives_the_same_study(
    tmp_path: Path, put: Put, dump: Dumped, everything: list[Record]
) -> None:
    from sightline.study.study import create_study

    dumps = []
    for batch in (1, 2, 5, 1000):
        with create_study(tmp_path / f"s{batch}") as study:
            put(study, everything, batch=batch)
            found = dump(study)
            found["source"] = [row[:4] for row in found["source"]]  # without the time
            found["settlement"] = [row[:6] for row in found["settlement"]]
            dumps.append(found)
    assert all(each == dumps[0] for each in dumps)


CONFLICTS: dict[str, tuple[Record, str]] = {
    "another text": (Prompt(P1, "uno", at="x:1"), "reads 'uno' here but 'one' elsewhere"),
    "other expectations": (Prompt(P1, "one", expects={"n": 2}, at="x:1"), "expects something else"),
    "another tag": (Prompt(P1, "one", {"split": "test"}, at="x:1"), "tag split of this prompt is 'train'"),
    "another image": (Answer(P1, "sd", 0, B, 0.5, 1, {"steps": 3}, at="x:1"), "another answer"),
    "another score": (Answer(P1, "sd", 0, A, 0.75, 1, {"steps": 3}, at="x:1"), "another answer"),
    "another seed": (Answer(P1, "sd", 0, A, 0.5, 2, {"steps": 3}, at="x:1"), "another answer"),
    "other settings": (Answer(P1, "sd", 0, A, 0.5, 1, {"steps": 4}, at="x:1"), "another answer"),
    "an image after a failure": (Answer(P1, "sd", 1, A, at="x:1"), "another answer"),
    "another kind of system": (System("sd", "retriever", at="x:1"), "is a generator in this study"),
    "another scale": (Question("fit", "nominal", at="x:1"), "has scale ordinal"),
    "another end of the scale": (Question("fit", "ordinal", 0, 5, at="x:1"), "has high 4"),
    "another direction": (Question("fit", "ordinal", direction="lower", at="x:1"), "has direction higher"),
    "another vote": (Judgement("fit", Item(P1, None, A), 2, ANN, at="x:1"), "the same annotator"),
    "a vote instead of none": (
        Judgement("fit", Item(P1, None, A), None, ANN, skipped="x", at="x:1"),
        "the same annotator",
    ),
    "another count": (
        Judgement("fit", Item(P1, None, A), 2, n=6, at="x:1"),
        "another number of such votes",
    ),
    "another truth": (Truth("fit", Item(P1, "sd"), 2.75, 2, 3, 6, at="x:1"), "another truth"),
    "another interval": (Truth("fit", Item(P1, "sd"), 2.5, 2.25, 3, 6, at="x:1"), "another truth"),
}


def test_every_contradiction_names_the_row_and_what_to_do_on_both(
    study: Study, put: Put, dump: Dumped, everything: list[Record]
) -> None:
    put(study, everything)
    before = dump(study)
    for name, (bad, what) in CONFLICTS.items():
        with pytest.raises(ConflictError, match=what) as caught:
            put(study, [everything[0], everything[2], everything[3], bad], "x")
        assert caught.value.where == "x:1" and caught.value.remedy, name
        assert dump(study) == before, name


@pytest.mark.parametrize("apart", [0, 5])
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_one_file_may_not_contradict_itself(
    study: Study, put: Put, everything: list[Record], apart: int
) -> None:
    # Within one batch, and with batches between the two rows.
    # Counts of anonymous votes are no contradiction here: each row of a file tells of other people.
    for bad, _ in (told for name, told in CONFLICTS.items() if name != "another count"):
        filler = [Prompt(PromptKey("filler", str(i)), "x") for i in range(apart)]
        with pytest.raises(ConflictError) as caught:
            put(study, [*everything, *filler, bad], "x", batch=100 if not apart else 3)
        assert caught.value.where == "x:1"
    assert reading.counts(study)["source"] == 0


def test_two_files_for_one_image_are_a_contradiction(
    study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]
) -> None:
    for colour in ("red", "blue"):
        (tmp_path / f"{colour}.png").write_bytes(png(colour))
    red = Image(A, str(tmp_path / "red.png"), at="i:1")
    blue = Image(A, str(tmp_path / "blue.png"), at="i:2")
    with pytest.raises(ConflictError, match="another picture") as caught:
        put(study, [red, blue])
    assert caught.value.where == "i:2"
    put(study, [red])
    with pytest.raises(ConflictError, match="another picture") as caught:
        put(study, [blue], "two")
    assert caught.value.where == "i:2"
    put(study, [red._replace(path=str(tmp_path / "red.png"))], "three")
    assert reading.counts(study)["image"] == 1


def test_an_error_in_a_late_batch_leaves_nothing(
    study: Study, put: Put, dump: Dumped, everything: list[Record]
) -> None:
    before = dump(study)
    with pytest.raises(DataError, match="score"):
        put(study, [*everything, Answer(P2, "sd", 0, B, float("nan"), at="r:12")])
    assert dump(study) == before

    def broken() -> Iterator[Record]:
        yield from everything
        raise RuntimeError("the disk went away")

    with pytest.raises(RuntimeError, match="went away"):
        put(study, broken())
    assert dump(study) == before
    assert put(study, everything).counts["answers"] == 2


def test_replace_takes_the_place_of_what_came_from_the_same_path(
    study: Study, put: Put, dump: Dumped, everything: list[Record]
) -> None:
    put(study, everything, "one", path="data.csv")
    # A longer version of the file, imported without --replace: it repeats rows of the first.
    put(study, [*everything, Answer(P2, "sd", 0, B)], "two", path="data.csv")
    put(study, [Prompt(PromptKey("kept", "1"), "kept")], "other", path="other.csv")
    done = put(study, [Prompt(P1, "uno"), Answer(P1, "sd", 0, B)], "three", path="data.csv", replace=True)
    assert done.counts == {"prompts": 1, "collections": 1, "images": 1, "systems": 1, "answers": 1}
    assert reading.prompts(study)["text"].to_list() == ["kept", "uno"]
    counts = {"judgement": 0, "truth": 0, "question": 0, "answer": 1, "source": 2}
    assert counts.items() <= reading.counts(study).items()


def test_a_failed_replace_leaves_the_old(
    study: Study, put: Put, dump: Dumped, everything: list[Record]
) -> None:
    put(study, everything, "one", path="data.csv")
    before = dump(study)
    with pytest.raises(DataError):
        put(study, [Prompt(P1, "uno"), Prompt(P2, "")], "two", path="data.csv", replace=True)
    assert dump(study) == before


def test_progress_counts_records(study: Study, put: Put, everything: list[Record]) -> None:
    seen: list[int] = []
    put(study, everything, progress=seen.append)
    assert seen == [3, 6, 9, 11]


def test_sources_tell_what_came_in(study: Study, put: Put, everything: list[Record]) -> None:
    put(study, everything, "d1", path="données/a.csv")
    (source,) = sources(study)
    assert (source["importer"], source["path"], source["sha256"]) == ("test", "données/a.csv", "d1")
    assert source["counts"] == {
        "systems": 1, "questions": 1, "prompts": 2, "links": 1, "collections": 1, "images": 1,
        "captions": 1, "answers": 2, "annotators": 1, "judgements": 3, "truths": 1,
    }  # fmt: skip
    assert json.dumps(source["at"]).count("T") == 1


def test_replace_leaves_what_another_layout_read_from_the_same_file(study: Study, put: Put) -> None:
    mixed = {"path": "mixed.csv"}
    put(study, [Prompt(P1, "one")], "a", importer="prompts", **mixed)
    put(study, [Prompt(P1, "one"), Answer(P1, "sd", 0, A)], "b", importer="answers", **mixed)
    put(study, [Prompt(P1, "one"), Prompt(P2, "two")], "c", importer="prompts", replace=True, **mixed)
    assert reading.counts(study)["answer"] == 1
    assert [source["importer"] for source in sources(study)] == ["answers", "prompts"]
    assert sorted(reading.prompts(study)["text"].to_list()) == ["one", "two"]
