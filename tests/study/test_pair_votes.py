"""Votes between systems and orders of systems, read back from what was judged: small cases by hand."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.judging import assignment
from sightline.judging.store import answering, rounds, tokens
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.rounds import NewItem, NewSlot
from sightline.judging.truth import truth
from sightline.records import (
    BOTH_BAD,
    AnnotatorKey,
    Answer,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
)
from sightline.study import reading, rollup
from sightline.study.schema import database
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

P1, P2 = PromptKey("s", "1"), PromptKey("s", "2")
A1, A2, B1, C1 = (ImageKey("c", name) for name in ("a1", "a2", "b1", "c1"))
ANN, BEN, CAT = (AnnotatorKey("people", name) for name in ("ann", "ben", "cat"))
BETTER = Question("better", "nominal", 0, 1, direction="none")
ORDER = Question("order", "ordinal", 1, step=1, direction="lower")
Row = tuple[Any, ...]


@pytest.fixture
def study(study: Study) -> Study:
    """a answers prompt 1 with a1 and a2, b with b1, c with c1, which retriever r found too."""
    records: list[Record] = [
        Prompt(P1, "one"),
        Prompt(P2, "two"),
        System("r", "retriever", "c"),
        Answer(P1, "a", 0, A1),
        Answer(P1, "a", 1, A2),
        Answer(P1, "b", 0, B1),
        Answer(P1, "c", 0, C1),
        Answer(P1, "r", 0, C1),
        BETTER,
        ORDER,
    ]
    load(study, records, importer="test", path="answers", digest="0")
    return study


def vote(item: Item, value: float | None, who: AnnotatorKey | None = ANN, **more: Any) -> Judgement:
    return Judgement("better", item, value, who, skipped=BOTH_BAD if value is None else None, **more)


def ranks(who: AnnotatorKey | None, group: str, **given: float) -> list[Judgement]:
    return [
        Judgement("order", Item(P1, name), rank, who, group=group, at=name) for name, rank in given.items()
    ]


def put(study: Study, *records: Record, digest: str = "1") -> Study:
    load(study, records, importer="test", path=digest, digest=digest)
    return study


def votes(study: Study) -> list[Row]:
    return [row[:-1] for row in rollup.pair_votes(study, "better").iter_rows()]


def test_images_systems_ties_and_both_bad(study: Study) -> None:
    put(
        study,
        vote(Item(P1, image=A1, image_b=B1), 0.0),
        vote(Item(P1, image=B1, image_b=A1), 1.0, BEN),
        vote(Item(P1, "b", system_b="c"), 0.5),
        vote(Item(P2, "c", system_b="a"), None, CAT),
        vote(Item(image=A2, image_b=C1), 1.0, None),
    )
    # Each vote has its own sides: the second puts b first and was given to the second side, a.
    assert votes(study) == [
        (1, 0, "a", "b", 0.0),
        (1, 1, "b", "a", 1.0),
        (1, 0, "b", "c", 0.5),
        (2, 2, "c", "a", None),
        (1, -1, "a", "c", 1.0),
    ]
    assert rollup.pair_votes(study, "better")["group"].n_unique() == 5


def test_what_says_nothing_about_two_systems_is_left_out(study: Study) -> None:
    put(
        study,
        vote(Item(P1, image=A1, image_b=A2), 0.0),
        vote(Item(P2, image=A1, image_b=B1), 0.0),
        vote(Item(P1, image=A1, image_b=B1, image_c=C1), 0.0),
        vote(Item(P1, image=A1), 1.0),
        vote(Item(P1, "a", system_b="b"), 1.0, control=True),
    )
    assert votes(study) == []


def test_values_that_are_no_choice_between_two_sides(study: Study) -> None:
    alike = Question("alike", "ordinal", 1, 5)
    put(study, alike, Judgement("alike", Item(P1, image=A1, image_b=B1), 1.0, ANN))
    assert rollup.pair_votes(study, "alike").is_empty()
    put(study, Judgement("near", Item(P1, image=A1, image_b=B1), 0.7, ANN), digest="2")
    assert rollup.pair_votes(study, "near").is_empty()


def test_revisions_repetitions_counts_and_groups(study: Study) -> None:
    pair = Item(P1, "a", system_b="b")
    put(
        study,
        vote(pair, 0.0),
        vote(pair, None, revision=1),
        vote(pair, 1.0, BEN),
        vote(pair, 0.0, BEN, repetition=1),
        vote(pair, 1.0, None, n=3),
        vote(Item(P1, "a", system_b="b"), 0.0, CAT, group="g"),
        vote(Item(P1, "a", system_b="c"), 0.0, CAT, group="g"),
    )
    # The changed mind counts, of repetitions the first; three anonymous votes are three rows.
    assert votes(study) == [
        (1, 0, "a", "b", None),
        (1, 1, "a", "b", 1.0),
        *[(1, -1, "a", "b", 1.0)] * 3,
        (1, 2, "a", "b", 0.0),
        (1, 2, "a", "c", 0.0),
    ]
    groups = rollup.pair_votes(study, "better")["group"].to_list()
    assert groups[-1] == groups[-2] and len(set(groups)) == 6


def test_an_image_of_two_systems_speaks_for_both(study: Study) -> None:
    put(study, Answer(P1, "d", 0, B1), vote(Item(P1, image=A1, image_b=B1), 0.0))
    assert votes(study) == [(1, 0, "a", "b", 0.0), (1, 0, "a", "d", 0.0)]


def test_only_annotators_that_the_truth_counted(study: Study) -> None:
    pairs = [Item(P1, a, system_b=b) for a in "abc" for b in "abc" if a != b]
    put(
        study,
        *(vote(pair, float(number % 2)) for number, pair in enumerate(pairs)),
        *(vote(pair, 1.0, BEN) for pair in pairs),
        vote(pairs[0], None, CAT),
        *ranks(ANN, "1", a=1, b=2, c=3),
    )
    assert {row[1] for row in votes(study)} == {0, 1, 2}
    result = truth(study, "better", screening=["one_value(least=3)"])
    assert [each.annotator for each in result.questions[0].excluded] == ["ben"]
    # Ben always said 1; Cat, who only said that both are bad, is in no settlement and still counts.
    assert {row[1] for row in votes(study)} == {0, 2}


def test_orders(study: Study) -> None:
    put(
        study,
        *ranks(ANN, "x", c=1, a=2, b=3),
        *ranks(ANN, "y", c=2, a=1),
        *ranks(None, "z", a=1, b=1),
        *ranks(BEN, "alone", a=1),
        *(
            Judgement("order", Item(P1, image=image), rank, BEN, group="images")
            for image, rank in ((B1, 1), (A1, 2), (A2, 3))
        ),
    )
    rows = rollup.order_votes(study, "order").rows(named=True)
    found: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for row in rows:
        found.setdefault((row["annotator"], row["group"]), []).append((row["system"], row["rank"]))
    assert {who: [order for (by, _), order in found.items() if by == who] for who in (-1, 0, 1)} == {
        -1: [[("a", 1), ("b", 1)]],
        0: [[("c", 1), ("a", 2), ("b", 3)], [("a", 1), ("c", 2)]],
        1: [[("b", 1), ("a", 2), ("a", 3)]],
    }
    assert {row["prompt_id"] for row in rows} == {1}


def test_pairs_of_systems_are_no_values_of_systems(study: Study) -> None:
    put(study, vote(Item(P1, "a", system_b="b"), 0.0))
    truth(study, "better")
    assert rollup.by_system(study, "better").is_empty()
    assert rollup.votes_by_system(study, "better").is_empty()
    assert rollup.of_answers(study, "better").is_empty()


def test_bradley_terry_reads_the_second_side_at_the_top(tmp_path: Path) -> None:
    study = create_study(tmp_path / "s")
    pair = Item(P1, "a", system_b="b")
    put(study, Prompt(P1, "one"), BETTER, *(vote(pair, 1.0, AnnotatorKey("p", str(n))) for n in range(9)))
    truth(study, "better", rule="bradley_terry")
    assert reading.truths(study, "better")["value"].item() > 0.7


def test_votes_of_an_ab_round_whatever_side_was_shown_first(study: Study) -> None:
    (asked,) = registry.configure("annotation_mode", "preference").load()().questions
    settings: dict[str, Any] = {
        "per_item": 5, "session_pages": 50, "rest_minutes": 5, "ahead": 20, "hold_hours": 1, "repeat": 0,
        "controls": {"pages": 0, "of": 5}, "swaps": True,
    }  # fmt: skip
    # a1 is image 1, b1 image 3 and c1 image 4; a is better than b, and b than c.
    items = [NewItem("work", [NewSlot((1, 0, a, b, 0))]) for a, b in ((1, 3), (3, 4), (4, 1))]
    round_ = rounds.open_round(study, "ab", "preference", [asked], settings, 1, items)
    swapped = set()
    with database.writing(study.engine) as connection:
        for name in ("ann", "ben", "cat", "dan", "eva"):
            who = tokens.annotator(connection, name)
            at = datetime(2026, 5, 1, tzinfo=UTC)
            for task in assignment.assign(connection, round_, who, "annotator", at).tasks:
                left, right = task.slots[0].shown
                value = 0.0 if left < right else 1.0
                sent = SubmittedAnswer(f"k{task.ordinal}", task.key, 0, "preference", value, None, None)
                answering.record_answers(connection, round_, who, [sent], "2026-05-01T12:00:00Z")
                swapped.add(task.slots[0].swapped)
    assert swapped == {False, True}
    found = Counter(
        rollup.pair_votes(study, "preference").select("system", "system_b", "outcome").iter_rows()
    )
    assert found == {("a", "b", 0.0): 5, ("b", "c", 0.0): 5, ("c", "a", 1.0): 5}


def test_a_pair_is_one_item_whichever_side_came_first(tmp_path: Path) -> None:
    prompt = PromptKey("s", "1")
    shown = Item(prompt, "x", system_b="y"), Item(prompt, "y", system_b="x")
    ann, ben, cat = (AnnotatorKey("people", name) for name in ("ann", "ben", "cat"))
    rows = [(0, ann, 0.0), (1, ben, 1.0), (1, cat, 0.5), (1, ann, 0.0)]
    records: list[Record] = [Question("better", "nominal", 0, 1), Prompt(prompt, "a scene")]
    records += [Judgement("better", shown[side], value, who) for side, who, value in rows]
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        votes, items, _ = reading.votes(study, "better")
        assert items.height == 1 and votes.item.tolist() == [0, 0, 0, 0]
        # Of ben, the second side is x: as a vote on (x, y) that is 0. Ann was asked again, and changed sides.
        assert votes.value.tolist() == [0.0, 0.0, 0.5, 1.0]
        assert votes.repetition.tolist() == [0, 0, 0, 1] and votes.given.tolist() == [0.0, 1.0, 0.5, 0.0]
        (found,) = truth(study, "better").questions
        assert (found.items, found.judgements) == (1, 3)


def test_controls_and_other_scales_keep_their_sides(tmp_path: Path) -> None:
    prompt = PromptKey("s", "1")
    shown = Item(prompt, "x", system_b="y"), Item(prompt, "y", system_b="x")
    records: list[Record] = [
        Question("better", "nominal", 0, 1),
        Question("alike", "ordinal", 1, 5),
        Prompt(prompt, "a scene"),
    ]
    for number, item in enumerate(shown):
        who = AnnotatorKey("people", str(number))
        records.append(Judgement("alike", item, 1.0, who))
        records.append(Judgement("better", item, 1.0, who, control=number == 1))
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        for question in ("alike", "better"):
            votes, items, _ = reading.votes(study, question)
            assert items.height == 2 and votes.value.tolist() == [1.0, 1.0]
