"""Which labels people gave: by system, and how far they agree on each query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.judging import agreement
from sightline.judging.round_votes import QuestionVotes, by_question, excluded
from sightline.judging.store import overseeing, round_numbers
from sightline.judging.store.rounds import get_round
from sightline.records import Question, Votes
from sightline.statistics.grouping import sum_by
from sightline.study import reading
from sightline.study.study import Study

CATEGORIES = (
    "fully relevant",
    "majority relevant",
    "unsure",
    "majority irrelevant",
    "fully irrelevant",
)
MOST_LABELS = 12
"""A question with more different answers is a matter of numbers, not of labels."""


@dataclass(frozen=True)
class LabelCount:
    """How often one answer was given to the images of a system; answers come in the order of their values."""

    question: str
    system: str
    label: str
    n: int


@dataclass(frozen=True)
class QueryCategories:
    """A query's items by how far people agree on them: counts in the order of CATEGORIES."""

    question: str
    prompt_id: int
    prompt: str
    counts: Sequence[int]


def labels_by_system(study: Study, round: str) -> list[LabelCount]:
    """How often each answer was given in a round, by system, without controls (PQPP, figure 4)."""
    return [each for part in _counting(study, round) for each in _label_counts(study, part.votes, part.items)]


def labels_given(study: Study, question: str) -> list[LabelCount]:
    """How often each answer to a question was given in the whole study, by system, without controls."""
    if reading.question(study, question)[1].scale == "interval":
        return []
    votes, items, _ = reading.votes(study, question)
    return _label_counts(study, votes.where(~votes.control), items["item_id"].to_list())


def _label_counts(study: Study, votes: Votes, items: Sequence[int]) -> list[LabelCount]:
    """By system and label; none where answers are numbers on a scale."""
    asked = votes.question
    values, place = np.unique(votes.value, return_inverse=True)
    if asked.scale == "interval" or not 0 < len(values) <= MOST_LABELS:
        return []
    systems = round_numbers.systems_of(study, items)
    counts: Counter[tuple[str, int]] = Counter()
    for item, number, n in zip(votes.item.tolist(), place.tolist(), votes.n.tolist(), strict=True):
        # An image that several systems returned counts for each of them.
        for name in systems.get(items[item], []):
            counts[name, number] += n
    return [
        LabelCount(asked.name, name, label_of(asked, float(value)), counts[name, number])
        for name in sorted({name for name, _ in counts})
        for number, value in enumerate(values)
    ]


def categories_by_query(study: Study, round: str) -> list[QueryCategories]:
    """How far people agree on the items of each query, the most doubtful queries first.

    Judgements on the good side of the middle of the scale call an item relevant, those on the other
    irrelevant, those in the middle are unsure. Fully (ir)relevant: all say so; majority: more than half do;
    else unsure. Items with one judgement are ignored. Source: the categories of Rodriguez et al. 2024
    (ConQA), figures 3 and 4; the rule is ours.
    """
    found = []
    for part in _counting(study, round):
        asked = part.votes.question
        if not leans(asked):
            continue
        assert asked.low is not None and asked.high is not None
        kept = agreement.counted(part.votes)
        lean = np.sign(kept.value - (asked.low + asked.high) / 2) * (-1 if asked.direction == "lower" else 1)
        category = category_of(*(sum_by(kept.item, lean == way, kept.items) for way in (1.0, -1.0, 0.0)))
        shown = round_numbers.shown(study, part.items)
        by_query: dict[int, list[int]] = {}
        texts: dict[int, str] = {}
        for item, number in zip(part.items, category.tolist(), strict=True):
            prompt = shown[item]
            if number < 0 or prompt.prompt is None:
                continue
            texts[prompt.prompt_id] = prompt.prompt
            by_query.setdefault(prompt.prompt_id, [0] * len(CATEGORIES))[number] += 1
        rows = [QueryCategories(part.name, key, texts[key], counts) for key, counts in by_query.items()]
        found += sorted(rows, key=lambda row: (unanimous(row.counts), row.prompt_id))
    return found


def category_of(relevant: np.ndarray, irrelevant: np.ndarray, unsure: np.ndarray) -> np.ndarray:
    """The place in CATEGORIES of each item by its numbers of judgements; -1 for fewer than two."""
    total = relevant + irrelevant + unsure
    rules = [total < 2, relevant == total, irrelevant == total, 2 * relevant > total, 2 * irrelevant > total]
    return np.select(rules, [-1, 0, 4, 1, 3], default=2)


def label_of(question: Question, value: float) -> str:
    """An answer in words, or as a number where it has none."""
    return next((text for label, text in question.labels.items() if float(label) == value), f"{value:g}")


def leans(question: Question) -> bool:
    """Whether answers lie on a good or a bad side of a middle."""
    return question.low is not None and question.high is not None and question.direction != "none"


def unanimous(counts: Sequence[int]) -> float:
    """The proportion of items on which all say the same."""
    return (counts[0] + counts[-1]) / max(1, sum(counts))


def _counting(study: Study, name: str) -> list[QuestionVotes]:
    """The judgements of each question that count: no controls, nobody whom the owner excluded."""
    round_ = get_round(study, name)
    people = overseeing.people(study)
    parts = by_question(round_, round_numbers.votes(study, round_.id), people, paired=False)
    gone = excluded(people)
    return [part.where(~part.votes.control & ~np.isin(part.votes.annotator, gone)) for part in parts]
