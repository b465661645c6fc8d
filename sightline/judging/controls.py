"""Control items: what the right answers are, and who vouches for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sightline.records import Controls, Votes
from sightline.statistics.agreement import cohen_kappa
from sightline.study import reading
from sightline.study.study import Study


class _Vouched(NamedTuple):
    item: int
    expected: float
    tolerance: float
    kind: str
    by: str


def controls_of(study: Study, votes: Votes, item_ids: Sequence[int]) -> Controls | None:
    """The controls of a question; None where nobody judged any.

    `item_ids` are the ids of the votes' items. Answers are known beforehand, or obvious (an image compared
    with itself), or those of trusted people: annotators whose role is control, on what others were shown
    as a control.
    """
    rows = _known(study, votes, item_ids)
    known = {row.item for row in rows}
    rows += [row for row in _plain(study, votes, item_ids) if row.item not in known]
    rows += _trusted(study, votes)
    if not rows:
        return None
    return Controls(
        np.array([row.item for row in rows], dtype=np.int64),
        np.array([row.expected for row in rows], dtype=np.float64),
        np.array([row.tolerance for row in rows], dtype=np.float64),
        [row.kind for row in rows],
        [row.by for row in rows],
    )


def _known(study: Study, votes: Votes, item_ids: Sequence[int]) -> list[_Vouched]:
    question_id, _ = reading.question(study, votes.question.name)
    place = {subject: number for number, subject in enumerate(item_ids)}
    return [
        _Vouched(place[subject], expected, tolerance, kind, kind)
        for subject, kind, expected, tolerance in reading.known_answers(study, question_id)
        if subject in place
    ]


def _plain(study: Study, votes: Votes, item_ids: Sequence[int]) -> list[_Vouched]:
    """Controls that came in by import: the reference among the two to choose from, an image and itself."""
    items = np.unique(votes.item[votes.control]).tolist()
    low, high = votes.question.low, votes.question.high
    if not items or low is None or high is None:
        return []
    parts = reading.items(study, [item_ids[item] for item in items])
    rows = []
    for item, (reference, a, b) in zip(
        items, parts.select("image_id", "image_b", "image_c").iter_rows(), strict=True
    ):
        if not a or reference not in (a, b):
            continue
        expected = low if b and reference == b else high
        rows.append(_Vouched(item, expected, 0.0, "attention", "attention"))
    return rows


def _trusted(study: Study, votes: Votes) -> list[_Vouched]:
    people = reading.annotators(study).select("name", "role").iter_rows()
    names = {number: name for number, (name, role) in enumerate(people) if role == "control"}
    theirs = np.isin(votes.annotator, list(names))
    shown = np.isin(votes.item, votes.item[votes.control & ~theirs])
    kept = votes.where(theirs & shown)
    return [
        _Vouched(int(item), float(value), 0.0, "annotator", names[int(who)])
        for item, value, who in zip(kept.item, kept.value, kept.annotator, strict=True)
    ]


def best_votes(votes: Votes, controls: Controls, most: int) -> np.ndarray:
    """Which votes remain if an item keeps those of the `most` annotators who agree best with the controls.

    Agreement is the mean of Cohen's kappas with everybody who vouches for control answers; who judged no
    control comes last. Anonymous votes all remain. Source: PQPP keeps three annotations a prompt.
    """
    kappas = np.full(len(votes.annotators), -np.inf)
    # A photo's right answer never varies, so that it has no kappa to speak of; known answers and attention
    # checks count where nobody judged controls beforehand.
    kinds = ["annotator"] if "annotator" in controls.kind else ["known", "attention"]
    usable = np.isin(np.array(controls.kind), kinds)
    vouchers = sorted({by for by, take in zip(controls.by, usable, strict=True) if take})
    expected = np.full((len(vouchers), votes.items), np.nan)
    tolerance = np.zeros_like(expected)
    for number, by in enumerate(vouchers):
        rows = np.flatnonzero(usable & (np.array(controls.by) == by))
        expected[number, controls.item[rows]] = controls.expected[rows]
        tolerance[number, controls.item[rows]] = controls.tolerance[rows]
    for who in np.unique(votes.annotator[votes.annotator >= 0]):
        own = votes.annotator == who
        items, given = votes.item[own], votes.value[own]
        found = []
        for right, near in zip(expected[:, items], tolerance[:, items], strict=True):
            found.append(cohen_kappa(np.where(np.abs(given - right) <= near, right, given), right).value)
        known = [value for value in found if value is not None]
        kappas[who] = np.mean(known) if known else -np.inf
    keep = votes.annotator < 0
    rank = np.where(keep, np.inf, kappas[votes.annotator])
    order = np.lexsort((votes.annotator, -rank, votes.item))
    taken: dict[int, set[int]] = {}
    for row in order:
        people = taken.setdefault(int(votes.item[row]), set())
        who = int(votes.annotator[row])
        if who in people or (who >= 0 and len(people) < most):
            people.add(who)
            keep[row] = True
    return keep
