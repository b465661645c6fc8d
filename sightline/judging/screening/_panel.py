"""What the rules share: each annotator's judgements, and judgements paired with known answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from sightline.errors import UsageError
from sightline.records import AnnotatorKey, Controls, Votes


def by_annotator(votes: Votes, rows: np.ndarray) -> Iterator[tuple[AnnotatorKey, np.ndarray]]:
    """Each named annotator who cast any of these votes, and at which places of `rows` theirs are."""
    who = votes.annotator[rows]
    if who.size == 0:
        return
    order = np.argsort(who, kind="stable")
    numbers, start = np.unique(who[order], return_index=True)
    for number, own in zip(numbers, np.split(order, start[1:]), strict=True):
        if number >= 0:
            yield votes.annotators[int(number)], own


def cast(votes: Votes) -> np.ndarray:
    """The rows that hold a vote."""
    return np.flatnonzero(~np.isnan(votes.value))


@dataclass(frozen=True)
class Answered:
    """Votes on control items, one row per judgement and voucher.

    `vote` and `control` are rows of the votes and of the controls; `given` is the vote's value, and
    `expected` itself where it lies within the control's tolerance.
    """

    vote: np.ndarray
    control: np.ndarray
    given: np.ndarray
    expected: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """Whether the vote is the expected answer, within the control's tolerance."""
        return np.equal(self.given, self.expected)


def answered(votes: Votes, controls: Controls | None, kinds: Collection[str]) -> Answered:
    """Every vote on an item with a control of these kinds, with each answer that is vouched for.

    An expected value that is not known (NaN) is the good end of the question's scale.
    """
    nothing = np.zeros(0, dtype=np.int64)
    if controls is None or len(controls.item) == 0:
        return Answered(nothing, nothing, np.zeros(0), np.zeros(0))
    asked = votes.question
    best = asked.low if asked.direction == "lower" else asked.high
    expected = np.where(np.isnan(controls.expected), np.nan if best is None else best, controls.expected)
    usable = np.isin(np.asarray(controls.kind, dtype=str), sorted(kinds)) & ~np.isnan(expected)
    control = np.flatnonzero(usable)
    control = control[np.argsort(controls.item[control], kind="stable")]
    at = controls.item[control]
    rows = cast(votes)
    first, last = np.searchsorted(at, votes.item[rows]), np.searchsorted(at, votes.item[rows], side="right")
    times = last - first
    vote = np.repeat(rows, times)
    begin = np.repeat(first - (np.cumsum(times) - times), times)
    control = control[begin + np.arange(vote.size)]
    right, given = expected[control], votes.value[vote]
    near = np.abs(given - right) <= controls.tolerance[control]
    return Answered(vote, control, np.where(near, right, given), right)


def trusted(controls: Controls | None) -> set[str]:
    """The names of control annotators, who vouch for others and are not screened by their own answers."""
    if controls is None:
        return set()
    return {by for by, kind in zip(controls.by, controls.kind, strict=True) if kind == "annotator"}


def is_trusted(annotator: AnnotatorKey, names: Collection[str]) -> bool:
    """Whether an annotator is one of the control annotators, given as NAME or PANEL/NAME."""
    return annotator.name in names or f"{annotator.panel}/{annotator.name}" in names


# Shares are compared as counts, 0.07 x 100 being a little more than 7.
ROUNDING = 1e-9


def refuse(rule: str, parameter: str, value: object, fits: bool, wanted: str) -> None:
    """Stop where a parameter makes no sense, naming what would."""
    if not fits:
        raise UsageError(f"{rule}: {parameter}={value!r} is not {wanted}", remedy=f"Give {wanted}.")
