"""What goes with variability, as tables and as a page of its own with a plot for every feature."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sightline.errors import StudyError
from sightline.estimate import Cell, Estimate, absent
from sightline.rendering import document as doc
from sightline.rendering.blocks import Figure, Grid, Note, Section
from sightline.rendering.tables import Column, Table
from sightline.statistics.factors import loading_table
from sightline.statistics.mixed import MixedModel
from sightline.study.study import Study
from sightline.variability.charts import feature_figure
from sightline.variability.wording import LanguageAnalysis
from sightline.version import __version__

NONE = "No feature goes with similarity by significant would (p after Holm below .05)."


def wording_tables(found: LanguageAnalysis) -> dict[str, Table]:
    """Correlations strongest first, loadings of the factors, and the model with an intercept a system."""
    tables = {"associated": _associated(found)}
    if found.factors is not None:
        names = [f"factor {number + 1}" for number in range(found.factors.factors)]
        rows: list[list[Cell]] = []
        for row in loading_table(found.factors):
            shown = zip(row.values, row.marked, strict=True)
            rows.append([row.name, *(value if marked else "" for value, marked in shown)])
        tables["factors"] = Table(
            [Column("feature"), *(Column(name) for name in names)],
            rows,
            f"Loadings of {len(names)} factors over {found.factors.n:,} prompts; blank below .3",
        )
    if found.mixed is not None:
        tables["model"] = model_table(found.mixed, "An intercept for every system; errors over prompts")
    return tables


def model_table(model: MixedModel, title: str) -> Table:
    """The slopes of a mixed model."""
    columns = [Column("term"), Column("slope", estimate=True), Column("p", format="p")]
    rows: list[list[Cell]] = [
        [each.name, Estimate(each.value, each.low, each.high, model.n), each.p] for each in model.fixed
    ]
    return Table(columns, rows, title)


def sentence(found: LanguageAnalysis) -> str:
    """What was found, in a sentence."""
    known = [each for each in found.associated if each.is_significant()]
    if not known:
        return NONE
    named = ", ".join(
        each.name for each in sorted(known, key=lambda one: -abs(one.correlation.value or 0))[:5]
    )
    return f"{len(known)} of {len(found.associated)} features go with similarity, most of all {named}."


def write_wording(study: Study, found: LanguageAnalysis, to: str | Path) -> Path:
    """Write the analysis as one self-contained HTML page, with similarity against every feature."""
    from sightline.rendering.html import render

    similarity = found.prompts["similarity"].to_numpy()
    charts: list[Figure] = []
    for each in sorted(found.associated, key=lambda one: -abs(one.correlation.value or 0.0)):
        values = found.prompts[each.name].to_numpy()
        if len(np.unique(values[~np.isnan(values)])) < 2:
            continue
        charts.append(feature_figure(values, similarity, name=each.name))
    grids = [Grid.of(table) for table in wording_tables(found).values()]
    sections = [
        Section("associated", "What goes with similarity", "", grids),
        Section(
            "features", "Similarity against each feature", "From the strongest correlation down.", charts
        ),
    ]
    if found.notes:
        sections.append(Section("gaps", "What is not known", "", [Note(note) for note in found.notes]))
    page = doc.Document(
        title=f"{study.name}: wording and variability",
        answer=sentence(found),
        made_at=datetime.now(UTC),
        facts=[doc.Fact("prompts", found.prompts.height), doc.Fact("features", len(found.extracted.columns))],
        sections=sections,
        next_steps=[doc.NextStep("The study as a whole.", f"sightline report {study.name}")],
        commands=[f"sightline {__version__}, {found.measure}"],
    )
    path = Path(to)
    try:
        path.write_text(render(page), encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot write the page ({error.strerror})", where=str(path)) from None
    return path


def _associated(found: LanguageAnalysis) -> Table:
    unknown = absent("not defined")
    rows: list[list[Cell]] = [
        [
            each.name,
            each.correlation,
            unknown if each.p_corrected is None else each.p_corrected,
            each.is_significant(),
            unknown if each.mean is None else each.mean,
        ]
        for each in sorted(found.associated, key=lambda one: -abs(one.correlation.value or 0.0))
    ]
    columns = [
        Column("feature"),
        Column("rho", "Spearman's rho", estimate=True),
        Column("p", "p after Holm", format="p"),
        Column("significant", "significant"),
        Column("mean", "mean of the feature"),
    ]
    title = f"What goes with similarity over {found.prompts.height:,} prompts, strongest first"
    return Table(columns, rows, title)
