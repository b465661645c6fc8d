"""Wording: which features of a prompt are associated with its images being alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Estimate
from sightline.language import w1kp
from sightline.language.keywords import TOP
from sightline.language.w1kp import Extracted, Norms, Sources
from sightline.rendering.blocks import Figure
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.associations import (
    Associated,
    Bin,
    Correction,
    Trend,
    associations,
    binned,
    trend,
)
from sightline.statistics.factors import Factors, factor_analysis, loading_table
from sightline.statistics.intervals import mean_interval
from sightline.statistics.mixed import MixedModel, mixed_model
from sightline.statistics.reference import Reference
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.charts import feature_figure, setting_figure
from sightline.variability.scale import REFERENCE, missing_notes, scale_of
from sightline.variability.set_images import settings_of
from sightline.variability.variability import Variability, measured, read_variability
from sightline.verbs import argument, option, verb

EFFECTS = ("concreteness", "senses", "clip_norm", "word_frequency")
"""The features of W1KP's mixed model."""
SHOWN = 20
"""Rows that a terminal shows."""
MEASURED = option("Use this distance.", metavar="DISTANCE", shown="that of the study's scale")


@dataclass(frozen=True)
class WordingAnalysis(Result):
    """A study's prompts with their features and similarity, and which features are associated with it.

    `prompts` has one row per prompt: prompt_id, text, the features and `similarity`, the mean over systems
    after each system's own mean was subtracted. `associated` are over those rows; `curves` are feature ->
    system -> similarity in bins. `along` is similarity along a setting, where one was named.
    """

    measure: str
    prompts: pl.DataFrame
    extracted: Extracted
    associated: Sequence[Associated]
    factors: Factors | None
    mixed: MixedModel | None
    curves: Mapping[str, Mapping[str, Sequence[Bin]]]
    along: SettingEffect | None = None
    notes: Sequence[str] = ()

    @property
    def strongest_first(self) -> list[Associated]:
        """The associations by the size of their correlation."""
        return sorted(self.associated, key=lambda one: -abs(one.correlation.value or 0.0))

    @property
    def sentence(self) -> str:
        """How many features are associated with similarity, and which most."""
        known = [each.name for each in self.strongest_first if each.is_significant()]
        if not known:
            return "No feature is significantly associated with similarity (p after Holm below .05)."
        strongest = ", ".join(known[:5])
        counted = f"{len(known)} of {len(self.associated)} features are associated with similarity"
        return f"{counted}, most strongly {strongest}."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def facts(self) -> dict[str, Any]:
        """The measure of similarity."""
        return {"measure": self.measure}

    def tables(self) -> dict[str, Table]:
        made = {"associated": self._associated()}
        if self.factors is not None:
            names = [f"factor {number + 1}" for number in range(self.factors.factors)]
            loadings = [
                [
                    row.name,
                    *(value if marked else "" for value, marked in zip(row.values, row.marked, strict=True)),
                ]
                for row in loading_table(self.factors)
            ]
            title = f"Loadings of {len(names)} factors over {self.factors.n:,} prompts; blank below .3"
            made["factors"] = Table([Column("feature"), *map(Column, names)], loadings, title, SHOWN)
        if self.mixed is not None:
            made["model"] = _model_table(self.mixed, "One intercept per system; standard errors over prompts")
        if self.along is not None:
            made |= {f"setting_{name}": table for name, table in self.along.tables().items()}
        return made

    def figures(self) -> dict[str, Figure]:
        """Similarity against each feature, the strongest correlation first."""
        similarity = self.prompts["similarity"].to_numpy()
        made = {}
        for each in self.strongest_first:
            values = self.prompts[each.name].to_numpy()
            if len(np.unique(values[~np.isnan(values)])) > 1:
                made[each.name] = feature_figure(values, similarity, name=each.name)
        return {**(self.along.figures() if self.along is not None else {}), **made}

    def _associated(self) -> Table:
        columns = [
            Column("feature"),
            Column("rho", "Spearman's rho", estimate=True),
            Column("p", "p after Holm", format="p"),
            Column("significant"),
            Column("mean", "mean of the feature"),
        ]
        rows: list[list[Cell]] = [
            [each.name, each.correlation, each.p_corrected, each.is_significant(), each.mean]
            for each in self.strongest_first
        ]
        title = f"Association with similarity over {self.prompts.height:,} prompts, strongest first"
        return Table(columns, rows, title, SHOWN)


@dataclass(frozen=True)
class SettingEffect(Result):
    """Similarity along a setting of the generators; `without` counts prompts of a system by why excluded."""

    setting: str
    measure: str
    values: pl.DataFrame
    trend: Trend
    without: Mapping[str, int]

    @property
    def notes(self) -> Sequence[str]:
        said = missing_notes(self.without)
        return [*said, f"No slope: {self.trend.reason}."] if self.trend.reason else said

    def facts(self) -> dict[str, Any]:
        """The setting, the measure, and how many sets are excluded."""
        return {"setting": self.setting, "measure": self.measure, "without": dict(self.without)}

    def figures(self) -> dict[str, Figure]:
        """Similarity along the setting, a line per system."""
        groups = self.values.group_by("setting", "system", maintain_order=True).agg("similarity")
        rows = [
            (setting, system, mean)
            for setting, system, values in groups.iter_rows()
            if (mean := mean_interval(np.asarray(values))).value is not None
        ]
        return {"setting": setting_figure(rows, name=self.setting.replace("_", " "))} if rows else {}

    def tables(self) -> dict[str, Table]:
        columns = [Column("setting", self.setting), Column("similarity", estimate=True)]
        rows = [(step.x, step.y) for step in self.trend.steps]
        made = {"steps": Table(columns, rows, f"Similarity along {self.setting} by {self.measure}")}
        if self.trend.slope is not None:
            made["slope"] = _model_table(self.trend.slope, "Within prompts")
        return made


def _model_table(model: MixedModel, title: str) -> Table:
    """The slopes of a mixed model."""
    columns = [Column("term"), Column("slope", estimate=True), Column("p", format="p")]
    rows = [(each.name, Estimate(each.value, each.low, each.high, model.n), each.p) for each in model.fixed]
    return Table(columns, rows, title)


@verb("analyse")
def wording(
    study: Study,
    *,
    distance: Annotated[str | None, MEASURED] = None,
    reference: Annotated[str | Reference | None, REFERENCE] = None,
    concreteness: Annotated[
        str | Path | None,
        option(
            "Read the concreteness ratings of Brysbaert et al. from this file.",
            metavar="FILE",
            shown="SIGHTLINE_CONCRETENESS",
        ),
    ] = None,
    clip: Annotated[
        str | None,
        option("Measure the norm of this encoder's text embeddings, such as clip.", metavar="ENCODER"),
    ] = None,
    senses: Annotated[
        str | Path | None,
        option(
            "Count senses of WordNet as one that this file puts into one line, such as those of Snow et al.",
            metavar="FILE",
            shown="SIGHTLINE_MERGED_SENSES",
        ),
    ] = None,
    setting: Annotated[
        str | None,
        option("Also analyse similarity along this setting of the generators, such as guidance_scale."),
    ] = None,
    factors: Annotated[
        int | None, option("Extract this many factors.", shown="by Kaiser's criterion", least=1)
    ] = None,
    similarity: Variability | None = None,
    glove: str | Path | None = None,
    keywords: Sequence[str] | None = None,
    effects: Sequence[str] = EFFECTS,
    correction: Correction = "holm",
    bins: int = 10,
    sources: Sources | None = None,
    listener: Listener | None = None,
) -> WordingAnalysis:
    """Relate features of the wording to variability.

    The 56 features of W1KP and the proportion of keywords, against how alike a prompt's images are: rank
    correlations with Holm's correction, factors, and a mixed model with one intercept per system. Measure
    variability first. --to page.html also has a chart for every feature.

    \b
    sightline wording my-study --concreteness Concreteness_ratings.txt
    """
    found = similarity or _similarity(study, distance, reference, listener)
    along = None if setting is None else setting_effect(study, setting, similarity=found, bins=bins)
    by_system = found.prompts.select("prompt_id", "system", pl.col("value").alias("similarity"))
    # Systems differ in how alike their images are; which of them answered a prompt must not matter.
    level = pl.col("similarity").mean()
    centred = by_system.with_columns(pl.col("similarity") - level.over("system") + level)
    mean = centred.group_by("prompt_id").agg(pl.col("similarity").mean())
    prompts = reading.prompts(study).select("prompt_id", "text").join(mean, on="prompt_id").sort("prompt_id")
    if sources is None:
        norms = None if clip is None else text_norms(clip)
        sources = Sources.find(concreteness=concreteness, glove=glove, clip=norms, merged=senses)
    extracted = w1kp.extract(prompts["text"].to_list(), sources=sources, keywords=keywords)
    if unknown := next((name for name in effects if name not in extracted.columns), None):
        raise UsageError(f"there is no feature {unknown!r}", remedy=near(unknown, extracted.columns))
    features = {name: each for name, each in extracted.columns.items() if not np.isnan(each).all()}
    table = prompts.with_columns(pl.Series(name, each) for name, each in extracted.columns.items())
    rows = by_system.join(table.drop("similarity"), on="prompt_id").sort("system", "prompt_id")
    notes = _gaps(extracted)
    return WordingAnalysis(
        found.measure,
        table.select("prompt_id", "text", *extracted.columns, "similarity"),
        extracted,
        associations(features, table["similarity"].to_numpy(), correction=correction),
        _factors(features, factors, notes),
        _mixed(rows, effects, notes),
        _curves(rows, list(features), bins),
        along,
        [*notes, *(along.notes if along is not None else ())],
    )


def text_norms(encoder: str) -> Norms:
    """The norms of an encoder's text embeddings before normalisation, as a function of texts."""
    configured = registry.configure("encoder", encoder)
    configured.require()
    norms: Norms | None = getattr(configured.load(), "text_norms", None)
    if norms is None:
        raise UsageError(
            f"{encoder} gives texts as vectors of length 1, without their own lengths",
            remedy="Name an encoder that does, such as clip.",
        )
    return norms


@verb("analyse")
def setting_effect(
    study: Study,
    setting: Annotated[str, argument("The setting, such as guidance_scale.", "SETTING")],
    *,
    distance: Annotated[str | None, MEASURED] = None,
    reference: Annotated[str | Reference | None, REFERENCE] = None,
    similarity: Variability | None = None,
    bins: int = 10,
    listener: Listener | None = None,
) -> SettingEffect:
    """Analyse how alike images are along a setting of the generators.

    Only prompts of a system whose images all share one value count, since their similarity is then that of
    the value. Slopes are within prompts, whichever system made the images.
    """
    found = similarity or _similarity(study, distance, reference, listener)
    settings = _settings(study, setting)
    joined = found.prompts.join(settings, on=["prompt_id", "system"], how="left").sort("prompt_id", "system")
    one = pl.col("values") == 1
    without = {
        f"no answer has {setting!r}": joined["values"].null_count(),
        "its images were made with several values": joined.filter(pl.col("values") > 1).height,
        "the value is not a number": joined.filter(one & pl.col("setting").is_null()).height,
    }
    without = {reason: n for reason, n in without.items() if n}
    kept = joined.filter(one & pl.col("setting").is_not_null())
    values = kept.select("prompt_id", "system", "setting", pl.col("value").alias("similarity"))
    if (left := values["setting"].n_unique()) < 2:
        said = "; ".join(f"{reason}: {n}" for reason, n in without.items())
        raise DataError(
            f"there is no trend along {setting!r}, of which {left} value(s) are left ({said})",
            where=study.name,
            remedy="Import the images of each value as a system of its own, with the setting in its answers.",
        )
    columns = values["setting"].to_numpy(), values["similarity"].to_numpy()
    along = trend(*columns, values["prompt_id"].to_list(), bins=bins)
    return SettingEffect(setting, found.measure, values, along, without)


def _similarity(
    study: Study, distance: str | None, reference: str | Reference | None, listener: Listener | None
) -> Variability:
    """Similarity on the study's scale as it is stored, or measured on the one that is given."""
    if reference is None:
        return read_variability(study, distance=distance)
    return measured(study, scale_of(study, distance, reference), listener=listener)


def _settings(study: Study, setting: str) -> pl.DataFrame:
    """prompt_id, system, number of different values of the setting, and its value as a number."""
    rows = [
        (prompt, system, repr(value), _number(value))
        for prompt, system, settings in settings_of(study)
        if (value := settings.get(setting)) is not None
    ]
    schema = {"prompt_id": pl.Int64, "system": pl.String, "value": pl.String, "setting": pl.Float64}
    return (
        pl.DataFrame(rows, schema=schema, orient="row")
        .group_by("prompt_id", "system")
        .agg(pl.col("value").n_unique().alias("values"), pl.col("setting").first())
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if np.isfinite(value) else None


def _gaps(extracted: Extracted) -> list[str]:
    n = len(next(iter(extracted.columns.values())))
    by_reason: dict[tuple[str, int], list[str]] = {}
    for name, reasons in extracted.missing.items():
        for reason, times in reasons.items():
            by_reason.setdefault((reason, times), []).append(name)
    notes = [
        f"{', '.join(names)}: no value for {times} of {n} prompts, since {reason}."
        for (reason, times), names in by_reason.items()
    ]
    if len(extracted.keywords) < TOP:
        notes.append(f"The prompts have {len(extracted.keywords)} trailing keywords, fewer than {TOP}.")
    return notes


def _factors(columns: Mapping[str, w1kp.Array], factors: int | None, notes: list[str]) -> Factors | None:
    try:
        found = factor_analysis(columns, factors=factors)
    except ValueError as error:
        notes.append(f"No factor analysis: {error}.")
        return None
    reasons: dict[str, list[str]] = {}
    for name, why in found.left_out.items():
        reasons.setdefault(why, []).append(name)
    notes += [
        f"Excluded from the factor analysis: {', '.join(names)} ({why})." for why, names in reasons.items()
    ]
    return found


def _mixed(rows: pl.DataFrame, effects: Sequence[str], notes: list[str]) -> MixedModel | None:
    known = [name for name in effects if not rows[name].is_nan().all()]
    if absent := [name for name in effects if name not in known]:
        notes.append(f"Excluded from the mixed model, since it has no values: {', '.join(absent)}.")
    try:
        # A prompt's similarities under several systems are correlated: hence clustered standard errors.
        return mixed_model(
            rows["similarity"].to_numpy(),
            {name: rows[name].to_numpy() for name in known},
            rows["system"].to_list(),
            clusters=rows["prompt_id"].to_list(),
        )
    except ValueError as error:
        notes.append(f"No mixed model: {error}.")
        return None


def _curves(rows: pl.DataFrame, names: Sequence[str], bins: int) -> dict[str, dict[str, Sequence[Bin]]]:
    by_system = rows.partition_by("system", as_dict=True, maintain_order=True)
    return {
        name: {
            str(system): binned(mine[name].to_numpy(), mine["similarity"].to_numpy(), bins=bins)
            for (system,), mine in by_system.items()
        }
        for name in names
    }
