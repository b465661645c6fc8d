"""Statistics about the annotators, as Table 1 of PQPP has them: judgements and Fleiss' kappa per person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sightline.estimate import Cell, Estimate, absent
from sightline.judging.agreement import counted
from sightline.records import Votes
from sightline.rendering.tables import Column, Table
from sightline.statistics.agreement import fleiss_by_annotator, fleiss_kappa

MOST_LABELS = 20
"""With more different answers than this they are no labels, and nobody could agree on one by chance."""
NO_LABELS = "Fleiss' kappa is for labels"
TITLE = "Judgements and Fleiss' kappa per annotator"


@dataclass(frozen=True)
class Enrolled:
    """How much each annotator judged and how far they agree with those who judged the same items.

    Over `annotators`: the least, the mean and the most `judgements` per person, and likewise of their Fleiss'
    kappas, which `of_all` has of everybody together. Control items and repeats do not count.
    """

    annotators: int
    judgements: tuple[int, float, int]
    least: Estimate
    mean: Estimate
    most: Estimate
    of_all: Estimate

    def noted(self) -> dict[str, Any]:
        """As plain values, to be kept with the truth."""
        kappas = {name: _plain(getattr(self, name)) for name in ("least", "mean", "most", "of_all")}
        return {"annotators": self.annotators, "judgements": list(self.judgements), **kappas}

    @classmethod
    def of_notes(cls, notes: Mapping[str, Any]) -> Enrolled:
        """The statistics that were kept."""
        few, mean, many = notes["judgements"]
        kappas = (Estimate(**notes[name]) for name in ("least", "mean", "most", "of_all"))
        return cls(int(notes["annotators"]), (int(few), float(mean), int(many)), *kappas)


def enrolled(votes: Votes) -> Enrolled | None:
    """The statistics about those who cast these votes; None where nobody is known by name."""
    kept = counted(votes)
    kept = kept.where(kept.annotator >= 0)
    people, often = np.unique(kept.annotator, return_counts=True)
    if not people.size:
        return None
    judgements = int(often.min()), float(often.mean()), int(often.max())
    given = np.unique(kept.value).size
    if votes.question.scale == "interval" or given > MOST_LABELS:
        return Enrolled(people.size, judgements, *[absent(NO_LABELS)] * 4)
    by_person, mean = fleiss_by_annotator(kept.item, kept.annotator, kept.value)
    known = sorted(
        (each for each in by_person.values() if each.value is not None), key=lambda each: each.value or 0.0
    )
    ends = (known[0], known[-1]) if known else (absent("nobody shares two items with others"),) * 2
    return Enrolled(people.size, judgements, ends[0], mean, ends[1], fleiss_kappa(kept.item, kept.value))


def enrolled_table(by_question: Mapping[str, Enrolled]) -> Table:
    """Table 1 of PQPP, question by question."""
    columns = [
        Column("question"),
        Column("annotators"),
        Column("statistic"),
        Column("least", estimate=True),
        Column("mean", estimate=True),
        Column("most", estimate=True),
        Column("of_all", "all together", estimate=True),
    ]
    rows: list[Sequence[Cell]] = []
    for question, each in by_question.items():
        few, mean, many = each.judgements
        total = round(mean * each.annotators)
        rows.append((question, each.annotators, "judgements per annotator", few, mean, many, total))
        kappas = (each.least, each.mean, each.most, each.of_all)
        rows.append((question, each.annotators, "Fleiss' kappa", *kappas))
    return Table(columns, rows, TITLE)


def _plain(found: Estimate) -> dict[str, Any]:
    kept = ("value", "low", "high", "n", "reason")
    return {name: value for name, value in asdict(found).items() if name in kept}
