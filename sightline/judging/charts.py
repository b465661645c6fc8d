"""Charts and tables of a round: labels, annotators, control items, and how far people agree.

Each comes from the same rows twice: as a drawing, and as a table with the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from sightline.estimate import Cell, absent, clean
from sightline.judging.labels import CATEGORIES, LabelCount, QueryCategories, labels_given
from sightline.judging.round_people import RoundAnnotator
from sightline.rendering.blocks import Block, Figure, Grid, Heading
from sightline.rendering.charts import (
    LABEL_LIMIT,
    ROW,
    WIDE,
    Dot,
    Spec,
    chart,
    dot_interval,
    quantity_axis,
    row_axis,
    short_names,
    unique,
)
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, ALARM, CARD, INK, MUTED, SERIES, Colour, system_colours
from sightline.study import reading
from sightline.study.study import Study

MOST_QUERIES = 40
"""Rows of a chart that is still read; the table has them all."""
SHADES = (ACCENT, SERIES[2], MUTED, SERIES[1], ALARM)
"""From one end of five categories to the other; told apart on light and dark alike."""


def labels_chart(rows: Sequence[LabelCount], *, wide: bool = True) -> Spec:
    """Bars of how often each answer was given, the systems side by side; of many systems, all together."""
    width = WIDE if wide else 340
    if len({row.system for row in rows}) > len(SERIES):
        # More than can be told apart by their colours: the table has each.
        rows = _all_together(rows)
    systems, labels = unique(row.system for row in rows), unique(row.label for row in rows)
    names, said = short_names(systems, LABEL_LIMIT if wide else 16), short_names(labels)
    colours = system_colours(systems)
    values = [
        {"label": said[row.label], "system": names[row.system], "n": row.n, "text": f"{row.n:,}"}
        for row in rows
    ]
    order = [names[name] for name in systems]
    scale = {"domain": order, "range": [colours[name].light for name in systems]}
    place: Spec = {
        "x": {
            "field": "label",
            "type": "nominal",
            "sort": [said[label] for label in labels],
            "axis": {
                "title": None,
                "grid": False,
                "labelAngle": 0,
                "labelExpr": "datum.label" if wide else "split(datum.label, ' ')",
                "labelColor": INK.light,
                "labelFontSize": 13 if wide else 10,
            },
        },
        "xOffset": {"field": "system", "sort": order},
        "y": {**quantity_axis("judgements", "none", None, ticks=5), "field": "n", "scale": {"zero": True}},
    }
    legend = {"title": None, "columns": len(systems) if wide else 2} if len(systems) > 1 else None
    bars: Spec = {
        "mark": {"type": "bar", "cornerRadiusEnd": 3, "stroke": CARD.light, "strokeWidth": 1},
        "encoding": {
            **place,
            "color": {"field": "system", "type": "nominal", "scale": scale, "sort": order, "legend": legend},
        },
    }
    layers = [bars]
    if wide and len(rows) <= 30:
        text = {"type": "text", "dy": -8, "fontSize": 11, "color": MUTED.light}
        layers.append({"mark": text, "encoding": {**place, "text": {"field": "text"}}})
    spec = chart(values, layers, width, 240)
    most = max(rows, key=lambda row: row.n, default=None)
    often = f" Most often: {most.label} for {most.system}, {most.n:,} times." if most else ""
    spec["description"] = clean(
        f"Bars of how often each of {len(labels)} answers was given to {len(systems)} systems.{often}"
    )
    return spec


def _all_together(rows: Sequence[LabelCount]) -> list[LabelCount]:
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        counts[row.question, row.label] = counts.get((row.question, row.label), 0) + row.n
    return [LabelCount(question, "all systems", label, n) for (question, label), n in counts.items()]


def labels_table(rows: Sequence[LabelCount]) -> Table:
    """How often each answer was given, one row per system."""
    systems, labels = unique(row.system for row in rows), unique(row.label for row in rows)
    counts = {(row.system, row.label): row.n for row in rows}
    columns = [
        Column("system"),
        *(Column(f"label_{n}", label) for n, label in enumerate(labels)),
        Column("all"),
    ]
    body: list[list[Cell]] = []
    for system in systems:
        numbers = [counts.get((system, label), 0) for label in labels]
        body.append([system, *numbers, sum(numbers)])
    return Table(columns, body, "Judgements by answer and system")


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


def annotators_chart(rows: Sequence[RoundAnnotator], question: str, *, wide: bool = True) -> Spec:
    """A dot with its interval for each annotator's agreement with the others; who has none is omitted."""
    known = [(row, agreement) for row in rows if (agreement := row.agreement.get(question))]
    dots = [Dot(f"{row.name} ({row.judgements:,})", each) for row, each in known if each.value is not None]
    ends = [end for dot in dots for end in (dot.estimate.value, dot.estimate.low) if end is not None]
    lowest = min(ends, default=0.0)
    return dot_interval(
        dots,
        axis=_coefficient(rows, question),
        direction="higher",
        domain=(min(0.0, math.floor(5 * lowest) / 5), 1.0),
        colours={dot.label: ACCENT for dot in dots},
        width=WIDE if wide else 340,
    )


def annotators_table(rows: Sequence[RoundAnnotator], question: str) -> Table:
    """Judgements and agreement of each annotator (table 1 of PQPP)."""
    heading = f"{_coefficient(rows, question)} with the others"
    columns = [
        Column("annotator"),
        Column("judgements"),
        Column("agreement", heading, "higher", estimate=True),
    ]
    known = [(row, agreement) for row in rows if (agreement := row.agreement.get(question))]
    return Table(columns, [[row.name, row.judgements, each] for row, each in known], "Annotators")


def _coefficient(rows: Sequence[RoundAnnotator], question: str) -> str:
    """Which coefficient it is, with its scale."""
    names = (each.name for row in rows if (each := row.agreement.get(question)))
    return next(names, "agreement")


def validation_chart(rows: Sequence[RoundAnnotator], *, wide: bool = True) -> Spec:
    """Bars of control items passed and failed, one row per annotator."""
    names = short_names([row.name for row in rows])
    parts = (("passed", ACCENT), ("failed", ALARM))
    values = [piece for row in rows for piece in _pieces(names[row.name], parts, (row.passed, row.failed))]
    longest = max((row.passed + row.failed for row in rows), default=1)
    spec = _stacked(
        values, [said for said, _ in parts], "control items", (0, max(1, longest)), len(rows), wide
    )
    failed = sum(row.failed for row in rows)
    spec["description"] = clean(
        f"Bars of control items passed and failed by {len(rows)} annotators; "
        f"{failed} of {failed + sum(row.passed for row in rows)} failed."
    )
    return spec


def validation_table(rows: Sequence[RoundAnnotator]) -> Table:
    """Control items of each annotator, with the proportion passed."""
    columns = [
        Column("annotator"),
        Column("passed"),
        Column("failed"),
        Column("share", "passed", "higher", format="%"),
    ]
    body: list[list[Cell]] = []
    for row in rows:
        total = row.passed + row.failed
        share: Cell = row.passed / total if total else absent("no control item yet")
        body.append([row.name, row.passed, row.failed, share])
    return Table(columns, body, "Control items by annotator")


def categories_chart(rows: Sequence[QueryCategories], *, wide: bool = True) -> Spec:
    """Bars of a query's items by how far people agree, as proportions; the first MOST_QUERIES."""
    shown = list(rows[:MOST_QUERIES])
    keys = [f"{number}\0{row.prompt}" for number, row in enumerate(shown)]
    names = dict(
        zip(keys, short_names([row.prompt for row in shown], 34 if wide else 20).values(), strict=False)
    )
    if len(names) < len(shown) or len({row.prompt for row in shown}) < len(shown):
        # Two queries of one wording are two rows.
        names = {key: f"{number}. {shown[number].prompt}"[:34] for number, key in enumerate(keys)}
    parts = list(zip(CATEGORIES, SHADES, strict=True))
    values = []
    for key, row in zip(keys, shown, strict=True):
        total = max(1, sum(row.counts))
        values += _pieces(names[key], parts, [n / total for n in row.counts])
    spec = _stacked(values, list(CATEGORIES), "proportion of the query's images", (0, 1), len(shown), wide)
    more = f" The {len(shown)} most doubtful of {len(rows)}." if len(rows) > len(shown) else ""
    totals = [sum(row.counts[place] for row in rows) for place in range(len(CATEGORIES))]
    counts = ", ".join(f"{n:,} {said}" for said, n in zip(CATEGORIES, totals, strict=True))
    spec["description"] = clean(f"Bars of how far people agree on the images of each query: {counts}.{more}")
    return spec


def categories_table(rows: Sequence[QueryCategories]) -> Table:
    """Every query's items by how far people agree, and all together."""
    columns = [
        Column("query"),
        *(Column(f"category_{n}", said) for n, said in enumerate(CATEGORIES)),
        Column("all"),
    ]
    body: list[list[Cell]] = [[row.prompt, *row.counts, sum(row.counts)] for row in rows]
    if len(rows) > 1:
        totals = [sum(row.counts[place] for row in rows) for place in range(len(CATEGORIES))]
        body.append(["all queries", *totals, sum(totals)])
    return Table(columns, body, "Agreement on items, by query")


def bars(rows: Sequence[tuple[str, int]], axis: str, *, wide: bool = True) -> Spec:
    """A bar of counts for each name."""
    names = short_names([name for name, _ in rows], 34 if wide else 20)
    values = [piece for name, n in rows for piece in _pieces(names[name], ((axis, ACCENT),), (n,))]
    longest = max((n for _, n in rows), default=1)
    spec = _stacked(values, [axis], axis, (0, max(1, longest)), len(rows), wide)
    spec["description"] = clean(f"Bars of {axis} for {len(rows)} names, at most {longest:,}.")
    return spec


def _pieces(row: str, parts: Sequence[tuple[str, Colour]], sizes: Sequence[float]) -> list[Spec]:
    """The parts of a row, laid end to end."""
    ends = pairwise(accumulate(sizes, initial=0))
    return [
        {"row": row, "part": part, "colour": colour.light, "from": start, "to": end}
        for (part, colour), (start, end) in zip(parts, ends, strict=True)
    ]


def _stacked(
    values: list[Spec], parts: Sequence[str], axis: str, domain: tuple[float, float], rows: int, wide: bool
) -> Spec:
    """Rows of pieces laid end to end, with a legend that needs no colour scale of its own."""
    width = WIDE if wide else 340
    shades = {value["part"]: value["colour"] for value in values}
    drawn = [part for part in parts if part in shades]
    quantity = quantity_axis(axis, "none", domain, ticks=5 if wide else 3)
    if domain == (0, 1):
        quantity["axis"]["format"] = "%"
    else:
        quantity["axis"] |= {"tickMinStep": 1, "format": "d"}
    columns = 1 if not wide else 3 if len(drawn) > 3 else 0
    colour: Spec = {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": drawn, "range": [shades[part] for part in drawn]},
        "legend": {"title": None, "columns": columns, "symbolType": "square", "labelLimit": 200},
    }
    layer: Spec = {
        "mark": {"type": "bar", "height": {"band": 0.72}, "stroke": CARD.light, "strokeWidth": 1},
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                "axis": {**row_axis(width), "grid": False, "labelLimit": 260 if wide else 120},
            },
            "x": {**quantity, "field": "from"},
            "x2": {"field": "to"},
            "color": colour,
        },
    }
    height = (ROW if rows <= 15 else 20) * max(1, rows)
    return chart([value for value in values if value["to"] > value["from"]], [layer], width, height)
