"""Fusing engines of a study: the new ranking is kept like any other, and nonsense is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from studies import put, study_of
from studies import rankings as rows

from sightline.data.imports import undo
from sightline.errors import ConflictError, DataError, UsageError
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import reading
from sightline.study.study import Study
from sightline.systems.fuse import fuse

RUNS = {
    "one": {"q": [("a", 10.0), ("b", 6.0), ("c", 2.0)], "p": [("b", 1.0)]},
    "two": {"q": [("c", 0.9), ("a", 0.1)]},
    "bare": {"q": [("d", None)]},
}


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    records: list[Record] = [Prompt(PromptKey("s", ref), ref) for ref in ("q", "p")]
    records += [Image(ImageKey("c", name)) for name in "abcd"] + [System("other", "retriever", "elsewhere")]
    records += [Image(ImageKey("elsewhere", "x")), System("painter")]
    records.append(Answer(PromptKey("s", "q"), "other", 0, ImageKey("elsewhere", "x"), 1.0))
    for system, lists in RUNS.items():
        records.append(System(system, "retriever", "c"))
        for ref, answers in lists.items():
            for place, (image, score) in enumerate(answers):
                records.append(Answer(PromptKey("s", ref), system, place, ImageKey("c", image), score))
    with study_of(tmp_path / "study", records) as made:
        yield made


def test_reciprocal_ranks_by_hand(study: Study) -> None:
    done = fuse(study, "both", ["one", "two"])
    assert (done.prompts, done.answers, done.rule) == (2, 4, "rrf(constant=60)")
    found = rows(study, "both")
    assert [name for name, _ in found["q"]] == ["a", "c", "b"]
    assert [score for _, score in found["q"]] == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62])
    # Only one of them answered p.
    assert found["p"] == [("b", pytest.approx(1 / 61))]


def test_scores_first_places_and_k(study: Study) -> None:
    fuse(study, "sum", ["one", "two"], rule="combsum")
    assert rows(study, "sum")["q"] == [("a", 1.0), ("c", 1.0), ("b", 0.5)]
    fuse(study, "mnz", ["one", "two"], rule="combmnz", scaling="z", k=1)
    # a: (10 - 2) / SD of 10, 6, 2, from both engines, so twice; c: 2 from both, so 4; b is in one list only.
    assert rows(study, "mnz")["q"] == [("a", pytest.approx(2 * 8 / (32 / 3) ** 0.5))]
    fuse(study, "top", ["one", "two"], first=1)
    assert [name for name, _ in rows(study, "top")["q"]] == ["a", "c"]


def test_twice_is_as_once_and_undone_at_once(study: Study) -> None:
    first, again = fuse(study, "both", ["one", "two"]), fuse(study, "both", ["one", "two"])
    assert again.already and again.number == first.number
    with pytest.raises(ConflictError):
        fuse(study, "both", ["one", "two"], rule="combsum")
    assert not fuse(study, "both", ["one", "two"], rule="combsum", replace=True).already
    undo(study, reading.fetch_rows(study, "SELECT max(id) FROM source")[0][0])
    assert rows(study, "both") == {}


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"of": ["one"]}, UsageError, "one ranking alone"),
        ({"of": ["one", "tow"]}, UsageError, "Did you mean two"),
        ({"of": ["one", "painter"]}, UsageError, "no retriever called 'painter'"),
        ({"of": ["one", "one"]}, UsageError, "named twice"),
        ({"of": ["one", "other"]}, ConflictError, "different collections: c, elsewhere"),
        ({"of": ["one", "bare"], "rule": "combsum"}, DataError, "1 answers have none"),
        ({"rule": "borda"}, UsageError, "cannot be 'borda'"),
        ({"scaling": "max"}, UsageError, "cannot be 'max'"),
        ({"k": 0}, UsageError, "1 or more"),
        ({"first": 0}, UsageError, "1 or more"),
        ({"system": "one"}, UsageError, "from itself"),
        ({"system": "painter"}, UsageError, "is a generator"),
        ({"system": " "}, UsageError, "needs a name"),
    ],
)
def test_wrong_calls_are_refused(
    study: Study, told: dict[str, object], error: type[Exception], said: str
) -> None:
    call = {"system": "both", "of": ["one", "two"], **told}
    with pytest.raises(error, match=said):
        fuse(study, **call)  # type: ignore[arg-type]
    assert rows(study, "both") == {}


@pytest.mark.parametrize("rule", ["combsum", "combmnz"])
def test_distances_are_not_added_up(study: Study, rule: str) -> None:
    records: list[Record] = [System("far", "retriever", "c")]
    for place, (image, score) in enumerate([("b", 0.1), ("a", 0.1), ("d", 7.0)]):
        records.append(Answer(PromptKey("s", "q"), "far", place, ImageKey("c", image), score))
    put(study, records, "far")
    with pytest.raises(
        DataError, match="the scores of far rise along its rankings: they are distances"
    ) as no:
        fuse(study, "both", ["one", "far"], rule=rule)
    assert "rrf" in no.value.remedy and "trec" not in no.value.remedy
    assert rows(study, "both") == {}
    # By rank they do no harm: b has 1/61 and 1/62, a has 1/61 and 1/62, d has 1/63.
    fuse(study, "both", ["one", "far"])
    assert {name for name, _ in rows(study, "both")["q"][:2]} == {"a", "b"}


def test_engines_without_scores_fuse_by_rank(study: Study) -> None:
    fuse(study, "ranks", ["two", "bare"])
    assert [name for name, _ in rows(study, "ranks")["q"]] == ["c", "d", "a"]
