"""Who is named in a running round: attentive people hardly ever, bots of every kind. All by simulation.

Attentive people see the truth of an item and err; each item is judged by `per_item` of the panel, as in a
round. `skew` is how often the truth is the commoner answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import pytest

from sightline.judging.round_alerts import Pace, astray, constant, hasty
from sightline.judging.round_votes import QuestionVotes
from sightline.records import AnnotatorKey, Question, Votes

Kind = Literal["yes_no", "grades", "slider", "pairs"]
Answer = Callable[[np.random.Generator, np.ndarray], np.ndarray]
QUESTIONS = {
    "yes_no": Question("fits", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}),
    "grades": Question("grade", "ordinal", 0, 3, 1, {"0": "a", "1": "b", "2": "c", "3": "d"}),
    "slider": Question("quality", "interval", 1, 5, 0.1),
    "pairs": Question("preference", "ordinal", 0, 1, labels={"0": "A", "1": "B"}),
}


class Round(NamedTuple):
    """What is judged, by how many, and how well people see."""

    kind: Kind
    people: int = 4
    items: int = 40
    per_item: int = 3
    skew: float = 0.5
    error: float = 0.15


def attentive(round_: Round, rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """What somebody who looks answers."""
    if round_.kind == "slider":
        return np.round(np.clip(truth + rng.normal(0, 4 * round_.error, truth.shape), 1, 5), 1)
    if round_.kind == "grades":
        slip = rng.choice([-1, 1], truth.shape) * (rng.random(truth.shape) < 2 * round_.error)
        return np.clip(truth + slip, 0, 3)
    return np.where(rng.random(truth.shape) < round_.error, 1 - truth, truth)


def truths(round_: Round, rng: np.random.Generator) -> np.ndarray:
    common = rng.random(round_.items) < round_.skew
    if round_.kind == "slider":
        return np.where(common, rng.uniform(3.5, 5, round_.items), rng.uniform(1, 3.5, round_.items))
    if round_.kind == "grades":
        return np.where(common, 3.0, rng.integers(0, 3, round_.items))
    return common.astype(np.float64)


def drawn(round_: Round, seed: int, bot: Answer | None = None) -> QuestionVotes:
    """A round judged by attentive people; where there is a bot it has number 0 and answers as it is shown."""
    rng = np.random.default_rng(seed)
    truth = truths(round_, rng)
    rows = []
    for item in range(round_.items):
        for who in rng.permutation(round_.people)[: round_.per_item].tolist():
            rows.append((item, who))
    item, who = np.array(rows).T
    value = attentive(round_, rng, truth[item])
    mirrored = (rng.random(len(rows)) < 0.5) & (round_.kind == "pairs")
    if bot is not None:
        own = who == 0
        said = bot(rng, np.where(mirrored[own], 1 - truth[item[own]], truth[item[own]]))
        value[own] = np.where(mirrored[own], 1 - said, said)
    ones = np.ones(len(rows), dtype=np.int64)
    votes = Votes(
        item, who, value, ones, ones, np.full(len(rows), 9e3), np.zeros(len(rows), np.bool_), ones - 1,
        round_.items, [AnnotatorKey("annotators", str(n)) for n in range(round_.people)],
        QUESTIONS[round_.kind], mirrored=mirrored,
    )  # fmt: skip
    return QuestionVotes("q", votes, list(range(round_.items)), mirrored & False, round_.kind == "pairs")


def named(part: QuestionVotes) -> set[int]:
    return {*constant(part), *astray(part)}


def ever_named(part: QuestionVotes, looks: int) -> set[int]:
    """Who is named at any of so many looks while the items are judged one after the other."""
    ends = np.linspace(0, part.votes.items, looks + 1)[1:]
    return set().union(*(named(part.where(part.votes.item < end)) for end in ends))


def false_alarms(round_: Round, rounds: int, looks: int = 1) -> float:
    """The share of attentive people who are named."""
    every = [ever_named(drawn(round_, seed), looks) for seed in range(rounds)]
    return sum(map(len, every)) / (rounds * round_.people)


def found(round_: Round, bot: Answer, rounds: int) -> float:
    """The share of bots that are named when all is judged."""
    return sum(0 in named(drawn(round_, seed, bot)) for seed in range(rounds)) / rounds


def values_of(kind: Kind) -> np.ndarray:
    return (
        np.array([1.0, 2.5, 4.0, 5.0])
        if kind == "slider"
        else np.array([float(each) for each in QUESTIONS[kind].labels])
    )


def one_answer(kind: Kind) -> Answer:
    return lambda rng, truth: np.full(truth.shape, values_of(kind)[0])


def at_random(kind: Kind) -> Answer:
    return lambda rng, truth: rng.choice(values_of(kind), truth.shape)


def turned_round(kind: Kind) -> Answer:
    low, high = (1, 5) if kind == "slider" else (0, 3) if kind == "grades" else (0, 1)
    return lambda rng, truth: low + high - truth


def paces(people: int, tasks: int, seed: int, bot: float = 0.0) -> dict[int, Pace]:
    """Log-normal times about 8 s: people differ by a factor of 1.6 (SD), tasks of one person by 1.8."""
    rng = np.random.default_rng(seed)
    own = np.log(8) + rng.normal(0, np.log(1.6), people)
    seconds = np.exp(own[:, None] + rng.normal(0, np.log(1.8), (people, tasks)))
    medians = np.median(seconds, axis=1)
    if bot:
        medians[0] = bot
    return {number: Pace(float(median), 0.5, tasks) for number, median in enumerate(medians)}


HONEST = [
    Round("yes_no"),
    Round("yes_no", skew=0.95),
    Round("yes_no", skew=0.99, items=100),
    Round("yes_no", items=12, per_item=2, people=2),
    Round("yes_no", items=12, skew=0.9),
    Round("yes_no", error=0.3),
    Round("grades", skew=0.9),
    Round("grades", items=15),
    Round("slider"),
    Round("slider", items=12, people=3),
    Round("pairs"),
    Round("pairs", skew=0.95),
    Round("pairs", items=12, people=3, error=0.3),
]
KINDS: tuple[Kind, ...] = ("yes_no", "grades", "slider", "pairs")
MANY = 60


@pytest.mark.parametrize("round_", HONEST, ids=str)
def test_attentive_people_are_hardly_ever_named(round_: Round) -> None:
    # Of 400 rounds each, 0 to 1.2 %; looked at ten times while judging goes on, 0 to 2.0 %.
    assert false_alarms(round_, MANY, looks=3) <= 0.03


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_gives_one_answer_is_named(kind: Kind) -> None:
    assert found(Round(kind, items=20), one_answer(kind), MANY) >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_answers_at_random_is_named_in_time(kind: Kind) -> None:
    # About 60 answers of their own.
    assert found(Round(kind, items=80), at_random(kind), MANY) >= 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_turns_the_scale_round_is_named(kind: Kind) -> None:
    assert found(Round(kind, items=40), turned_round(kind), MANY) >= 0.95


def test_one_answer_is_right_where_everybody_gives_it() -> None:
    everyone = drawn(Round("yes_no", skew=1.0, error=0.0), 0)
    assert constant(everyone) == {} and astray(everyone) == {}
    alone = drawn(Round("yes_no", people=1, per_item=1, items=59, skew=1.0, error=0.0), 0)
    assert constant(alone) == {}
    many = drawn(Round("yes_no", people=1, per_item=1, items=60, skew=1.0, error=0.0), 0)
    assert constant(many) == {
        0: "gave “yes” in all of 60 answers; nobody else judged these items yet: look at a few"
    }


def test_the_chance_of_one_answer_by_hand() -> None:
    # One says yes to eight items, the only other no to all: (0 + u) / 2 each, u = (0 + 1) / (8 + 2) = .1.
    # .05 to the eighth is far below a thousandth.
    part = drawn(Round("yes_no", people=2, per_item=2, items=8, skew=0.0, error=0.0), 0)
    part.votes.value[part.votes.annotator == 0] = 1
    said = "going by the others' answers to them, an attentive person would less than once in 1,000"
    assert constant(part)[0] == f"gave “yes” in all of 8 answers; {said}"
    # The other said no to all as well: as unlikely, going by the first. One of the two is astray, and nobody
    # can tell which; both are named.
    assert set(constant(part)) == {0, 1}


def test_people_of_unlike_pace_are_not_hasty_and_bots_are() -> None:
    rounds = 2_000
    named = sum(len(hasty(paces(5, 20, seed))) for seed in range(rounds)) / (5 * rounds)
    assert named <= 0.005
    for seconds in (0.05, 0.4):
        assert all(0 in hasty(paces(5, 20, seed, seconds)) for seed in range(50))
    assert sum(0 in hasty(paces(5, 20, seed, 0.8)) for seed in range(200)) >= 180
    # Nobody is hasty after nine tasks, and of two slow people neither is.
    assert hasty({0: Pace(0.01, 0.5, 9)}) == {} == hasty({0: Pace(1.0, 0.5, 50), 1: Pace(9.0, 0.5, 50)})
    assert hasty({0: Pace(0.3, 0.5, 10)}) == {
        0: "takes 0.3 s per task (median of 10); to look and choose takes 0.5 s at the very least"
    }
    three = {0: Pace(1.5, 0.5, 12), 1: Pace(9.0, 0.5, 12), 2: Pace(10.0, 0.5, 12)}
    assert hasty(three) == {0: "takes 1.5 s per task (median of 12), the others 9.5 s"}
