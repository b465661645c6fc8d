"""Which labels people gave: by system, and how far they are of one mind on each query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.judging import agreement
from sightline.judging.round_votes import OfQuestion, of_question
from sightline.judging.store import overseeing, round_numbers
from sightline.judging.store.rounds import get_round
from sightline.records import Question
from sightline.statistics.grouping import sum_by
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
    """How often one answer was given to the images of a system."""

    question: str
    system: str
    label: str
    value: float
    n: int


@dataclass(frozen=True)
class OfQuery:
    """A query's items by how far people are of one mind on them, in the order of CATEGORIES."""

    question: str
    prompt_id: int
    prompt: str
    counts: Sequence[int]


def labels_by_system(study: Study, round: str) -> list[LabelCount]:
    """How often each answer was given, by system and over all systems, controls left out (PQPP, figure 4)."""
    found = []
    for part in _counting(study, round):
        asked = part.votes.question
        values, place = np.unique(part.votes.value, return_inverse=True)
        if asked.scale == "interval" or not 0 < len(values) <= MOST_LABELS:
            continue
        systems = round_numbers.systems_of(study, part.subjects)
        counts: Counter[tuple[str, int]] = Counter()
        for item, number in zip(part.votes.item.tolist(), place.tolist(), strict=True):
            # An image that several systems gave counts for each of them.
            for name in systems.get(part.subjects[item], []):
                counts[name, number] += 1
        names = sorted({name for name, _ in counts})
        found += [
            LabelCount(part.name, name, label_of(asked, float(value)), float(value), counts[name, number])
            for name in names
            for number, value in enumerate(values)
        ]
    return found


def categories_by_query(study: Study, round: str) -> list[OfQuery]:
    """How far people are of one mind on the items of each query, the most doubtful queries first.

    Votes on the good side of the middle of the scale call an item relevant, those on the other irrelevant,
    those in the middle are unsure. Fully (ir)relevant: all votes say so; majority: more than half of all
    votes do; else unsure. Items with one vote are left out. Source: the categories of Rodriguez et al. 2024
    (ConQA), figures 3 and 4; the rule is ours.
    """
    found = []
    for part in _counting(study, round):
        asked = part.votes.question
        if asked.low is None or asked.high is None or asked.direction == "none":
            continue
        kept = agreement.counted(part.votes)
        lean = np.sign(kept.value - (asked.low + asked.high) / 2) * (-1 if asked.direction == "lower" else 1)
        category = category_of(*(sum_by(kept.item, lean == way, kept.items) for way in (1.0, -1.0, 0.0)))
        shown = round_numbers.shown(study, part.subjects)
        by_query: dict[int, list[int]] = {}
        texts: dict[int, str] = {}
        for subject, number in zip(part.subjects, category.tolist(), strict=True):
            prompt = shown[subject]
            if number < 0 or prompt.prompt is None:
                continue
            texts[prompt.prompt_id] = prompt.prompt
            by_query.setdefault(prompt.prompt_id, [0] * len(CATEGORIES))[number] += 1
        rows = [OfQuery(part.name, key, texts[key], counts) for key, counts in by_query.items()]
        found += sorted(rows, key=lambda row: (_of_one_mind(row.counts), row.prompt_id))
    return found


def category_of(relevant: np.ndarray, irrelevant: np.ndarray, unsure: np.ndarray) -> np.ndarray:
    """The place in CATEGORIES of each item by its numbers of votes; -1 for fewer than two votes."""
    total = relevant + irrelevant + unsure
    rules = [
        total < 2,
        relevant == total,
        irrelevant == total,
        2 * relevant > total,
        2 * irrelevant > total,
    ]
    return np.select(rules, [-1, 0, 4, 1, 3], default=2)


def label_of(question: Question, value: float) -> str:
    """An answer in words, or as a number where it has none."""
    return next((said for told, said in question.labels.items() if float(told) == value), f"{value:g}")


def _of_one_mind(counts: Sequence[int]) -> float:
    return (counts[0] + counts[-1]) / max(1, sum(counts))


def _counting(study: Study, name: str) -> list[OfQuestion]:
    """The votes on each question that count: no controls, nobody whom the owner left out."""
    round_ = get_round(study, name)
    everything = round_numbers.votes(study, round_.id)
    people = overseeing.people(study)
    gone = [number for number, person in enumerate(people) if person.left_out is not None]
    parts = [of_question(round_, everything, people, key) for key, _ in round_.questions]
    return [part.where(~part.votes.control & ~np.isin(part.votes.annotator, gone)) for part in parts]
