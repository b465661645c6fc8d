"""The judgements of a round, question by question, with the people numbered as the study numbers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline.judging.store.overseeing import Person
from sightline.judging.store.round_numbers import AGAIN, RoundVotes
from sightline.judging.store.rounds import Round
from sightline.records import AnnotatorKey, Votes
from sightline.study.counting import chooses


@dataclass(frozen=True)
class QuestionVotes:
    """The judgements of one question of a round.

    `items` are the ids of what was judged; `again` marks judgements of work that others judged before.
    `sides`: values are choices between two sides, of which either might have come first.
    """

    name: str
    votes: Votes
    items: Sequence[int]
    again: np.ndarray
    sides: bool = False

    def where(self, keep: np.ndarray) -> QuestionVotes:
        """The judgements at which `keep` is true."""
        return replace(self, votes=self.votes.where(keep), again=self.again[keep])


def by_question(
    round_: Round, everything: RoundVotes, people: Sequence[Person], paired: bool
) -> list[QuestionVotes]:
    """The answers with a value to every question of a round; `paired` where it is about pairs of images."""
    ids = np.array([person.id for person in people], dtype=np.int64)
    annotators = [AnnotatorKey(person.panel, person.name) for person in people]
    parts = []
    for key, question in round_.questions:
        rows = np.flatnonzero((everything.question == key) & ~np.isnan(everything.value))
        items, item = np.unique(everything.item[rows], return_inverse=True)
        votes = Votes(
            item=item,
            annotator=np.searchsorted(ids, everything.annotator[rows]),
            value=everything.value[rows],
            n=np.ones(len(rows), dtype=np.int64),
            session=everything.session[rows],
            took_ms=everything.took_ms[rows],
            control=everything.control[rows] == 1,
            repetition=everything.repetition[rows],
            items=len(items),
            annotators=annotators,
            question=question,
            up_to=everything.up_to,
            mirrored=everything.swapped[rows] == 1,
        )
        sides = paired and chooses(question, np.unique(votes.value).tolist())
        parts.append(
            QuestionVotes(question.name, votes, items.tolist(), everything.kind[rows] == AGAIN, sides)
        )
    return parts


def excluded(people: Sequence[Person]) -> list[int]:
    """The numbers of those whom the owner excluded."""
    return [number for number, person in enumerate(people) if person.left_out is not None]
