"""Which answers people gave, by system: a chart for each question whose answers are labels."""

from __future__ import annotations

import numpy as np

from sightline.judging.charts import Labelled, labels_chart, labels_table
from sightline.judging.labels import MOST_LABELS, label_of
from sightline.judging.store import round_numbers
from sightline.rendering.blocks import Block, Figure, Grid, Heading
from sightline.study import reading
from sightline.study.study import Study


def label_pictures(study: Study) -> list[Block]:
    """Bars of how often each answer was given to each system, and the same in numbers (PQPP, figure 4)."""
    blocks: list[Block] = []
    for _, asked in reading.questions(study):
        rows = labels_given(study, asked.name)
        if rows:
            drawing = Figure(
                labels_chart(rows),
                labels_chart(rows, wide=False),
                "How often each answer was given to a system's images, by everybody who judged; control "
                "items are left out.",
            )
            title = Heading(f"Answers to {asked.name}, by system")
            blocks += [title, drawing, Grid(labels_table(rows), "The answers in numbers")]
    return blocks


def labels_given(study: Study, question: str) -> list[Labelled]:
    """How often each answer to a question was given, by system; none where answers are numbers on a scale."""
    _, asked = reading.question(study, question)
    if asked.scale == "interval":
        return []
    votes, subjects, _ = reading.votes(study, question)
    votes = votes.where(~votes.control)
    values, place = np.unique(votes.value, return_inverse=True)
    if not 0 < len(values) <= MOST_LABELS:
        return []
    ids = subjects["item_id"].to_list()
    systems = round_numbers.systems_of(study, ids)
    counts: dict[str, np.ndarray] = {}
    for item, number, n in zip(votes.item.tolist(), place.tolist(), votes.n.tolist(), strict=True):
        # An image that several systems gave counts for each of them.
        for name in systems.get(ids[item], []):
            counts.setdefault(name, np.zeros(len(values), dtype=np.int64))[number] += n
    return [
        Labelled(name, label_of(asked, float(value)), int(counts[name][number]))
        for name in sorted(counts)
        for number, value in enumerate(values)
    ]
