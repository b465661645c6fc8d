"""What the owner should look at in a running round, without any rule being set.

Three habits show without knowing the right answers: haste that leaves no time to look, one and the same
answer whatever is shown, and answers that go against the others' or have nothing to do with them. An alert
excludes nobody. The limits are such that attentive people are rarely named, also where an answer is nearly
always the same or few items are judged: docs/rounds.md has the simulation and its figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np

from sightline.estimate import Estimate
from sightline.judging import agreement
from sightline.judging.agreement import Coefficient
from sightline.judging.round_people import RoundAnnotator, key_of
from sightline.judging.round_votes import QuestionVotes
from sightline.judging.store.round_numbers import RoundVotes
from sightline.records import Votes

LEAST_TIMED = 10
"""Tasks with a time before anybody is called hasty."""
FIRST_SECONDS, NEXT_SECONDS = 0.5, 0.2
"""Nobody sees something new and chooses in less than half a second, or chooses again in less than a fifth:
the reaction alone, without looking, takes as long."""
MUCH_FASTER = 0.2
"""So much of the others' time is absurd; people of one panel seldom differ by more than a factor of three."""
LEAST_OTHERS = 2
"""Others that are needed to say what is usual."""
LEAST_CONSTANT = 8
ALONE_CONSTANT = 60
"""Answers to call constant where others judged too, and where nobody else did."""
CHANCE = 0.001
"""An attentive person would give one answer throughout less often than this."""
LEAST_SHARED = 10
LEAST_UNRELATED = 20
"""Items shared with others to call somebody contrary, and unrelated to the others."""
CONTRARY = -0.5
"""An alpha that needs no interval to be called negative."""
SURE = 0.99
"""Confidence of the intervals that say so."""
AGREEING = 0.2
"""The others' alpha among themselves from which on somebody unrelated to them stands out."""
UNRELATED = 1 / 3
"""So much of it or less, and surely less than all of it, is unrelated."""


@dataclass(frozen=True)
class Alert:
    """Something to look at, in words: whose (by key) and on which question, either empty where it is all."""

    annotator: str
    question: str
    kind: str
    text: str


class Pace(NamedTuple):
    """Somebody's median seconds per task, the least that such tasks take, and how many were timed."""

    seconds: float
    least: float
    n: int


def paces(everything: RoundVotes, ids: Sequence[int]) -> dict[int, Pace]:
    """The pace of everybody who was timed, by their number among `ids`."""
    found = {}
    for number, who in enumerate(ids):
        own = everything.by == who
        if own.any():
            least = FIRST_SECONDS + NEXT_SECONDS * (float(np.median(everything.answers[own])) - 1)
            found[number] = Pace(float(np.median(everything.seconds[own])), least, int(own.sum()))
    return found


def alerts(
    people: Sequence[RoundAnnotator],
    asked: Mapping[str, QuestionVotes],
    together: Mapping[str, Coefficient],
    timed: Mapping[int, Pace],
) -> list[Alert]:
    """All alerts of a round: of questions first, then of people in their order.

    `asked` holds the judgements that count, `together` the agreement of all on each question.
    """
    found = [
        Alert("", name, "agreement", f"people agree less than by chance ({each}): is the question clear?")
        for name, each in together.items()
        if _surely_negative(each)
    ]
    if not asked:
        return found
    by_number: dict[int, list[tuple[str, str, str]]] = {}
    for number, text in hasty(timed).items():
        by_number.setdefault(number, []).append(("", "speed", text))
    for name, part in asked.items():
        for kind, said in (("constant", constant(part)), ("agreement", astray(part))):
            for number, text in said.items():
                by_number.setdefault(number, []).append((name, kind, text))
    annotators = next(iter(asked.values())).votes.annotators
    keys = {key_of(each.panel, each.name): number for number, each in enumerate(annotators)}
    for person in people:
        if person.excluded is None:
            found += [Alert(person.key, *each) for each in by_number.get(keys[person.key], ())]
    return found


def hasty(timed: Mapping[int, Pace]) -> dict[int, str]:
    """Who takes less time than it takes to look, or a fifth of what the others take."""
    enough = {number: pace for number, pace in timed.items() if pace.n >= LEAST_TIMED}
    found = {}
    for number, pace in enough.items():
        others = [each.seconds for other, each in enough.items() if other != number]
        usual = median(others) if len(others) >= LEAST_OTHERS else 0.0
        own = f"takes {pace.seconds:.1f} s per task (median of {pace.n})"
        if pace.seconds < pace.least:
            found[number] = f"{own}; to look and choose takes {pace.least:.1f} s at the very least"
        elif pace.seconds < MUCH_FASTER * usual:
            found[number] = f"{own}, the others {usual:.1f} s"
    return found


def constant(part: QuestionVotes) -> dict[int, str]:
    """Who gave one answer throughout, where an attentive person would not have.

    The chance that such a person does is the product, over the items, of how often others gave that answer to
    the item as it was shown, drawn towards how often they gave it at all.
    """
    votes = part.votes.where(~part.votes.control)
    found = {}
    for number in np.unique(votes.annotator).tolist():
        own = votes.annotator == number
        given = votes.given[own]
        if len(given) < LEAST_CONSTANT or (given != given[0]).any():
            continue
        said = f"gave {_label(votes, given[0])} in all of {len(given)} answers"
        chance = _chance_of_same(votes, own, float(given[0]), part.sides)
        if chance is None:
            if len(given) >= ALONE_CONSTANT:
                found[number] = f"{said}; nobody else judged these items yet: look at a few"
        elif chance < CHANCE:
            why = "though sides are drawn at random" if part.sides else "going by the others' answers to them"
            found[number] = f"{said}; {why}, an attentive person would less than once in {1 / CHANCE:,.0f}"
    return found


def _label(votes: Votes, value: float) -> str:
    labels = {float(key): text for key, text in votes.question.labels.items()}
    return f"“{labels[value]}”" if value in labels else f"{value:g}"


def _chance_of_same(votes: Votes, own: np.ndarray, value: float, sides: bool) -> float | None:
    """The chance that somebody who looks gives this answer to all of these items; None if nobody can tell."""
    rest = votes.where(~own)
    mirrored = votes.mirrored[own] if votes.mirrored is not None else np.zeros(int(own.sum()), dtype=np.bool_)
    low, high = votes.question.low or 0.0, 1.0 if votes.question.high is None else votes.question.high
    # What the others would have had to say of the item as it lies, to say this of it as it was shown.
    wanted = np.where(mirrored, low + high - value, value)
    labels = max(len(votes.question.labels), len(np.unique(votes.value)), 2)
    if sides:
        usual = 1 / labels if len(votes.question.labels) == 2 else (1 - (votes.value == 0.5).mean()) / 2
    elif len(rest.value):
        usual = (float((rest.value == value).sum()) + 1) / (len(rest.value) + labels)
    else:
        return None
    judged = np.bincount(rest.item, minlength=votes.items)
    logs = 0.0
    for item, said in zip(votes.item[own].tolist(), wanted.tolist(), strict=True):
        same = int((rest.value[rest.item == item] == said).sum()) if judged[item] else 0
        logs += float(np.log((same + usual) / (judged[item] + 1)))
    return float(np.exp(logs))


def _surely_negative(alpha: Estimate) -> bool:
    """Whether agreement is below chance; without an interval only where it is far below."""
    if alpha.value is None or alpha.n < LEAST_SHARED:
        return False
    return alpha.high < 0 if alpha.high is not None else alpha.value < CONTRARY


def astray(part: QuestionVotes) -> dict[int, str]:
    """Who surely says the opposite of the others, or what has nothing to do with what they say."""
    found = {}
    for number, alpha in agreement.alpha_of_each(part.votes, part.sides, SURE).items():
        if alpha.value is None:
            continue
        own = f"{alpha.name} {alpha.value:.2f} over {alpha.n} items".replace("-", "−")
        if _surely_negative(alpha):
            found[number] = f"says rather the opposite of the others, {own}: was the scale read wrongly?"
        elif alpha.n >= LEAST_UNRELATED and alpha.value < UNRELATED and alpha.high is not None:
            rest = part.votes.where(part.votes.annotator != number)
            usual = agreement.alpha(rest, part.sides, resamples=0).value
            if usual and usual >= AGREEING and alpha.value < UNRELATED * usual and alpha.high < usual:
                said = "gives answers that have little to do with the others'"
                found[number] = f"{said}, {own}, the others' among themselves {usual:.2f}"
    return found
