"""The analysis of queries as tables, for the terminal and for the report."""

from __future__ import annotations

from sightline.reporting.quantities import Missing
from sightline.reporting.tables import Column, Table
from sightline.stages.query_analysis import FEATURES, QueryAnalysis
from sightline.stages.report_values import quantity
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
    cells = {(each.feature, each.system): quantity(each.correlation) for each in found.related}
    return Table(
        [Column("feature", "of a query"), *(Column(name, name, estimate=True) for name in systems)],
        [[FEATURES[name], *(cells[name, system] for system in systems)] for name in _features(found)],
        f"Spearman's rank correlation with {found.by} over queries",
    )


def _described(found: QueryAnalysis) -> Table:
    told = {(each.tag, each.group): f"{each.tag} {each.group}".strip() for each in found.described}
    means = {(each.tag, each.group, each.feature): quantity(each.mean) for each in found.described}
    features = _features(found)
    return Table(
        [Column("queries"), *(Column(name, FEATURES[name], estimate=True) for name in features)],
        [[said, *(means.get((*key, name)) for name in features)] for key, said in told.items()],
        "What the queries are like: means over queries",
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
    none = Missing("not known")
    hardest = found.queries.sort("value", descending=found.direction == "lower", nulls_last=True)
    rows = [
        [none if cell is None else cell for cell in row]
        for row in hardest.select("text", "value", *features).iter_rows()
    ]
    columns = [Column("query"), Column("value", f"mean {found.by}")]
    return Table([*columns, *(Column(name, FEATURES[name]) for name in features)], rows, "Hardest first")


def _features(found: QueryAnalysis) -> list[str]:
    return list(dict.fromkeys(each.feature for each in found.related))
