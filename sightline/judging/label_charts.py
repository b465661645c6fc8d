"""Which answers people gave, by system: a chart for each question whose answers are labels."""

from __future__ import annotations

from sightline.judging.charts import labels_chart, labels_table
from sightline.judging.labels import labels_given
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
                "How often each answer was given to a system's images, by everybody who judged, without "
                "control items.",
            )
            title = Heading(f"Answers to {asked.name}, by system")
            blocks += [title, drawing, Grid(labels_table(rows), "The answers in numbers")]
    return blocks
