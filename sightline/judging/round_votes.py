"""The votes of a round, question by question, with the people numbered as the study numbers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline.judging.store.overseeing import Person
from sightline.judging.store.round_numbers import AGAIN, RoundVotes
from sightline.judging.store.rounds import Round
from sightline.records import AnnotatorKey, Votes


@dataclass(frozen=True)
class OfQuestion:
    """The votes on one question of a round.

    `subjects` are the ids of the votes' items; `again` marks votes on work that others judged before.
    """

    name: str
    votes: Votes
    subjects: Sequence[int]
    again: np.ndarray

    def where(self, keep: np.ndarray) -> OfQuestion:
        """The votes at which `keep` is true."""
        return replace(self, votes=self.votes.where(keep), again=self.again[keep])


def of_question(
    round_: Round, everything: RoundVotes, people: Sequence[Person], question_id: int
) -> OfQuestion:
    """The answers with a value to one question, people numbered as the study does."""
    question = next(each for key, each in round_.questions if key == question_id)
    rows = np.flatnonzero((everything.question == question_id) & ~np.isnan(everything.value))
    subjects, item = np.unique(everything.item[rows], return_inverse=True)
    ids = np.array([person.id for person in people], dtype=np.int64)
    votes = Votes(
        item=item,
        annotator=np.searchsorted(ids, everything.annotator[rows]),
        value=everything.value[rows],
        n=np.ones(len(rows), dtype=np.int64),
        session=everything.session[rows],
        took_ms=everything.took_ms[rows],
        control=everything.control[rows] == 1,
        repetition=everything.repetition[rows],
        items=len(subjects),
        annotators=[AnnotatorKey(person.panel, person.name) for person in people],
        question=question,
        up_to=everything.up_to,
    )
    return OfQuestion(question.name, votes, subjects.tolist(), everything.kind[rows] == AGAIN)
