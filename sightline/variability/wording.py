"""Language analysis: which features of a prompt go with its images being alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.language import w1kp
from sightline.language.keywords import TOP
from sightline.language.w1kp import Extracted, Norms, Sources
from sightline.statistics.associations import (
    Associated,
    Bin,
    Correction,
    Trend,
    associations,
    binned,
    trend,
)
from sightline.statistics.factors import Factors, factor_analysis
from sightline.statistics.mixed import MixedModel, mixed_model
from sightline.study import listing, reading
from sightline.study.study import Study
from sightline.variability.variability import Variability, read_variability

EFFECTS = ("concreteness", "senses", "clip_norm", "word_frequency")
"""The features of W1KP's mixed model."""


@dataclass(frozen=True)
class LanguageAnalysis:
    """A study's prompts with their features and similarity, and what goes with what.

    `prompts` has a row a prompt: prompt_id, text, the features and `similarity`, the mean over systems after
    each system's own level was taken out.
    `associated` are over those rows; `curves` tell feature -> system -> similarity in bins. `notes` say what
    could not be told and why.
    """

    measure: str
    prompts: pl.DataFrame
    extracted: Extracted
    associated: Sequence[Associated]
    factors: Factors | None
    mixed: MixedModel | None
    curves: Mapping[str, Mapping[str, Sequence[Bin]]]
    notes: Sequence[str]


@dataclass(frozen=True)
class SettingAnalysis:
    """Similarity along a setting of the generators; `without` counts prompts of a system by why left out."""

    setting: str
    measure: str
    values: pl.DataFrame
    trend: Trend
    without: dict[str, int]


def language_analysis(
    study: Study,
    *,
    distance: str | None = None,
    similarity: Variability | None = None,
    clip: str | None = None,
    concreteness: str | Path | None = None,
    glove: str | Path | None = None,
    keywords: Sequence[str] | None = None,
    effects: Sequence[str] = EFFECTS,
    factors: int | None = None,
    correction: Correction = "holm",
    bins: int = 10,
    sources: Sources | None = None,
) -> LanguageAnalysis:
    """Relate the features of a study's prompts to how alike their images are, as far as it was measured.

    `similarity` is a result at hand, such as one normalised by a reference, instead of what the study keeps.

    `clip` is an encoder whose text embeddings have a length; `concreteness` and `glove` are files of the
    user's; `sources` replaces all three. The number of factors is Kaiser's unless it is given.
    """
    found = read_variability(study, distance=distance) if similarity is None else similarity
    by_system = found.prompts.select("prompt_id", "system", pl.col("value").alias("similarity"))
    # Systems differ in how alike their images are; which of them answered a prompt must not speak for it.
    level = pl.col("similarity").mean()
    centred = by_system.with_columns(pl.col("similarity") - level.over("system") + level)
    mean = centred.group_by("prompt_id").agg(pl.col("similarity").mean())
    prompts = reading.prompts(study).select("prompt_id", "text").join(mean, on="prompt_id").sort("prompt_id")
    if sources is None:
        norms = None if clip is None else text_norms(clip)
        sources = Sources.find(concreteness=concreteness, glove=glove, clip=norms)
    extracted = w1kp.extract(prompts["text"].to_list(), sources=sources, keywords=keywords)
    if unknown := next((name for name in effects if name not in extracted.columns), None):
        raise UsageError(f"there is no feature {unknown!r}", remedy=near(unknown, extracted.columns))
    features = {name: each for name, each in extracted.columns.items() if not np.isnan(each).all()}
    table = prompts.with_columns(pl.Series(name, each) for name, each in extracted.columns.items())
    rows = by_system.join(table.drop("similarity"), on="prompt_id").sort("system", "prompt_id")
    notes = _gaps(extracted)
    return LanguageAnalysis(
        found.measure,
        table.select("prompt_id", "text", *extracted.columns, "similarity"),
        extracted,
        associations(features, table["similarity"].to_numpy(), correction=correction),
        _factors(features, factors, notes),
        _mixed(rows, effects, notes),
        _curves(rows, list(features), bins),
        notes,
    )


def text_norms(encoder: str) -> Norms:
    """The lengths of an encoder's text embeddings before they are made 1, as a function of texts."""
    configured = registry.configure("encoder", encoder)
    configured.require()
    norms: Norms | None = getattr(configured.load(), "text_norms", None)
    if norms is None:
        raise UsageError(
            f"{encoder} gives texts as vectors of length 1 and does not tell their own lengths",
            remedy="Name an encoder that does, such as clip.",
        )
    return norms


def setting_analysis(
    study: Study,
    setting: str,
    *,
    distance: str | None = None,
    similarity: Variability | None = None,
    bins: int = 10,
) -> SettingAnalysis:
    """How alike images are along a setting they were made with, such as the guidance scale.

    Only prompts of a system whose images all share one value count, since their similarity is then that
    value's own. Slopes are within prompts, whichever system made the images.
    """
    found = read_variability(study, distance=distance) if similarity is None else similarity
    told = _settings(study, setting)
    joined = found.prompts.join(told, on=["prompt_id", "system"], how="left").sort("prompt_id", "system")
    one = pl.col("values") == 1
    without = {
        f"no answer tells {setting!r}": joined["values"].null_count(),
        "its images were made with several values": joined.filter(pl.col("values") > 1).height,
        "the value is not a number": joined.filter(one & pl.col("setting").is_null()).height,
    }
    without = {reason: n for reason, n in without.items() if n}
    kept = joined.filter(one & pl.col("setting").is_not_null())
    values = kept.select("prompt_id", "system", "setting", pl.col("value").alias("similarity"))
    if (left := values["setting"].n_unique()) < 2:
        said = "; ".join(f"{reason}: {n}" for reason, n in without.items())
        raise DataError(
            f"similarity cannot be set against {setting!r}, of which {left} value(s) are left ({said})",
            where=study.name,
            remedy="Import the images of each value as a system of its own, with the setting in its answers.",
        )
    columns = values["setting"].to_numpy(), values["similarity"].to_numpy()
    along = trend(*columns, values["prompt_id"].to_list(), bins=bins)
    return SettingAnalysis(setting, found.measure, values, along, without)


def _settings(study: Study, setting: str) -> pl.DataFrame:
    """prompt_id, system, number of different values of the setting, and its value as a number."""
    answers, settings = listing.named_answers(study)
    values = [None if each is None else each.get(setting) for each in settings]
    known = {
        (suite, ref): prompt
        for prompt, suite, ref in reading.prompts(study).select("prompt_id", "suite", "ref").iter_rows()
    }
    rows = [
        (known[suite, ref], system, repr(value), _number(value))
        for (suite, ref, system), value in zip(
            answers.select("suite", "prompt_id", "system").iter_rows(), values, strict=True
        )
        if value is not None
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
        f"Left out of the factor analysis: {', '.join(names)} ({why})." for why, names in reasons.items()
    ]
    return found


def _mixed(rows: pl.DataFrame, effects: Sequence[str], notes: list[str]) -> MixedModel | None:
    known = [name for name in effects if not rows[name].is_nan().all()]
    if absent := [name for name in effects if name not in known]:
        notes.append(f"Left out of the mixed model, since nothing is known of it: {', '.join(absent)}.")
    try:
        # A prompt's similarities under several systems go together, which plain errors would not allow for.
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
