"""The analysis of queries as tables, for the terminal and for the report."""

from __future__ import annotations

from sightline.comparison.queries import FEATURES, QueryAnalysis
from sightline.estimate import Cell, absent
from sightline.rendering.report_values import quantity
from sightline.rendering.tables import Column, Table
from sightline.statistics.votes import CATEGORIES


def query_tables(found: QueryAnalysis) -> dict[str, Table]:
    """What goes with a query being hard, what the queries are like, how far votes agree, and every query."""
    return {
        "related": _related(found),
        "described": _described(found),
        "agreed": _agreed(found),
        "queries": _queries(found),
    }


def _related(found: QueryAnalysis) -> Table:
    systems = list(dict.fromkeys(each.system for each in found.related))
    cells: dict[tuple[str, str], list[Cell]] = {
        (each.feature, each.system): [
            quantity(each.correlation),
            absent(each.correlation.reason or "not tested") if each.p_bh is None else each.p_bh,
        ]
        for each in found.related
    }
    columns = [Column("feature", "of a query")]
    for name in systems:
        columns += [Column(name, name, estimate=True), Column(f"{name} p_bh", "p after BH", format="p")]
    return Table(
        columns,
        [
            [FEATURES[name], *(cell for system in systems for cell in cells[name, system])]
            for name in _features(found)
        ],
        f"Spearman's rank correlation with {found.by} over queries; "
        "p after Benjamini and Hochberg for all of them",
    )


def _described(found: QueryAnalysis) -> Table:
    """A line a feature and group: beside one another groups are compared."""
    rows = [
        [
            f"{each.tag} {each.group}".strip(),
            FEATURES[name],
            quantity(each.mean),
            absent("not known") if each.sd is None else each.sd,
        ]
        for name in _features(found)
        for each in found.described
        if each.feature == name
    ]
    return Table(
        [
            Column("queries"),
            Column("feature", "of a query"),
            Column("mean", estimate=True),
            Column("sd", "± sd"),
        ],
        rows,
        "What the queries are like: means over queries, and the spread of the queries themselves",
    )


def _agreed(found: QueryAnalysis) -> Table:
    return Table(
        [
            Column("queries"),
            Column("images", "judged images"),
            *(Column(name, name.replace("_", " "), format="%") for name in CATEGORIES),
        ],
        [
            [f"{each.tag} {each.group}".strip(), each.total, *(n / each.total for n in each.counts.values())]
            for each in found.agreed
        ],
        "How far votes on an image agree",
    )


def _queries(found: QueryAnalysis) -> Table:
    features = _features(found)
    none = absent("not known")
    hardest = found.queries.sort("value", descending=found.direction == "lower", nulls_last=True)
    rows = [
        [none if cell is None else cell for cell in row]
        for row in hardest.select("text", "value", *features).iter_rows()
    ]
    columns = [Column("query"), Column("value", f"mean {found.by}")]
    return Table([*columns, *(Column(name, FEATURES[name]) for name in features)], rows, "Hardest first")


def _features(found: QueryAnalysis) -> list[str]:
    return list(dict.fromkeys(each.feature for each in found.related))
