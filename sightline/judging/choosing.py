"""Adaptive choice of the next comparison: among a round's open items, one that says most about the order.

What is chosen follows from the seed and from the votes up to a checkpoint: two servers, or one that was
killed, choose the same. Between checkpoints nothing is fitted, so that assigning stays a few look-ups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sightline.judging.ordering import Purpose, generator
from sightline.judging.store import comparisons
from sightline.judging.store.comparisons import Vote
from sightline.judging.store.rounds import Round
from sightline.statistics.next_comparison import (
    EXPLORE,
    Belief,
    belief_from_orders,
    belief_from_votes,
    chances_of_sets,
)

BETWEEN = 20
"""Ballots between two checkpoints; of many, a twentieth of those cast."""
AT_ONCE = 50
"""Items looked up in one query."""
MOST_VOTES = 50_000
"""Judgements from which on nothing is fitted any more: it would hold up the server and change little."""


@dataclass(frozen=True)
class Sets:
    """The sets of systems that a round's items compare: members (sets x systems), and the items of each."""

    systems: Sequence[int]
    members: np.ndarray
    items: Sequence[Sequence[int]]


@dataclass(frozen=True)
class _Known:
    sets: Sets
    checkpoint: int = -1
    votes: Mapping[object, Vote] = field(default_factory=dict)
    chances: np.ndarray = field(default_factory=lambda: np.zeros(0))


_known: WeakKeyDictionary[Any, dict[int, _Known]] = WeakKeyDictionary()


def choose(
    connection: Any, round_: Round, annotator_id: int, number: int, start: int, most: int
) -> int | None:
    """The item of work for an annotator's task of this number; None leaves it to chance.

    One task in ten is left to chance, and so is everything once no set that says anything is open: every
    pair stays reachable, and adaptive choice only changes what comes first.
    """
    rng = generator(round_.seed, Purpose.CHOICE, annotator_id, number)
    if rng.random() < EXPLORE:
        return None
    known = _at_checkpoint(connection, round_)
    useful = np.flatnonzero(known.chances > 0)
    # Drawing without replacement with these chances is sorting by such keys (Efraimidis and Spirakis 2006).
    order = useful[np.argsort(np.log(rng.random(useful.size)) / known.chances[useful])[::-1]]
    for windows in _together(_turned(known.sets.items[each], start) for each in order):
        items = [item for window in windows for item in window]
        given = comparisons.open_items(connection, annotator_id, items, most)
        for window in windows:
            still = [item for item in window if item in given]
            if still:
                # Those least often given first, so that a set is compared on many prompts.
                return min(still, key=given.__getitem__)
    return None


def _together(sets: Iterable[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Sets of items in turn, cut or joined so that one query looks at about as many items as it should."""
    waiting: list[Sequence[int]] = []
    for each in sets:
        for first in range(0, len(each), AT_ONCE):
            waiting.append(each[first : first + AT_ONCE])
            if sum(map(len, waiting)) >= AT_ONCE:
                yield waiting
                waiting = []
    if waiting:
        yield waiting


def _turned(items: Sequence[int], start: int) -> Sequence[int]:
    first = start % len(items)
    return [*items[first:], *items[:first]]


def _at_checkpoint(connection: Any, round_: Round) -> _Known:
    """What is known at the last checkpoint; only the votes since the one before are read."""
    kept = _known.setdefault(connection.engine, {})
    known = kept.get(round_.id) or _Known(sets_of(comparisons.compared(connection, round_.id)))
    sets, orders = known.sets, bool(round_.settings.get("orders"))
    a_ballot = int(sets.members.sum(axis=1).max(initial=1)) if orders else 1
    count = min(comparisons.count_votes(connection, round_), MOST_VOTES)
    checkpoint = last_checkpoint(count, BETWEEN * a_ballot)
    if known.checkpoint != checkpoint:
        # After an import was undone everything is read anew.
        before = known.votes if checkpoint > known.checkpoint else {}
        after = max((vote.id for vote in before.values()), default=0)
        fresh = comparisons.votes_up_to(connection, round_, checkpoint, after) if checkpoint else []
        votes: dict[object, Vote] = dict(before) | {vote.place: vote for vote in fresh}
        gone = comparisons.not_counted(connection)
        counted = [vote for vote in votes.values() if vote.annotator_id not in gone]
        chances = chances_of_sets(belief_of(counted, sets.systems, orders), sets.members, round_.seed)
        known = kept[round_.id] = _Known(sets, checkpoint, votes, chances)
    return known


def sets_of(compared: dict[int, tuple[int, ...]]) -> Sets:
    """The different sets of systems among items."""
    systems = sorted({system for each in compared.values() for system in each})
    items: dict[tuple[int, ...], list[int]] = {}
    for item, each in compared.items():
        items.setdefault(each, []).append(item)
    members = np.zeros((len(items), len(systems)))
    for row, each in enumerate(items):
        members[row, np.searchsorted(systems, each)] = 1
    return Sets(systems, members, list(items.values()))


def last_checkpoint(votes: int, between: int) -> int:
    """The number of votes that the choice rests on, once there are so many."""
    reached = 0
    while (after := reached + max(between, reached // 20)) <= votes:
        reached = after
    return reached


def belief_of(votes: Sequence[Vote], systems: Sequence[int], orders: bool) -> Belief:
    """What votes say of the strengths of these systems; both_bad counts as a tie."""
    place = {system: number for number, system in enumerate(systems)}
    if orders:
        ballots: dict[tuple[object, ...], dict[int, float]] = {}
        for vote in votes:
            if vote.group and vote.value is not None and vote.system in place and vote.system_b is None:
                ballot = ballots.setdefault(
                    (vote.annotator_id, vote.prompt_id, vote.group, vote.repetition), {}
                )
                ballot.setdefault(place[vote.system], vote.value)
        rows = [
            (number, system, rank)
            for number, ballot in enumerate(ballots.values())
            for system, rank in ballot.items()
        ]
        group, system, rank = (np.array(column) for column in zip(*rows, strict=True)) if rows else [()] * 3
        return belief_from_orders(group, system, rank, len(systems))
    pairs = [
        (place[vote.system], place[vote.system_b], 0.5 if vote.value is None else 1 - vote.value)
        for vote in votes
        if vote.system in place and vote.system_b in place and vote.system != vote.system_b
        for _ in range(vote.n)
    ]
    a, b, part = (np.array(column) for column in zip(*pairs, strict=True)) if pairs else [()] * 3
    return belief_from_votes(a, b, part, len(systems))
