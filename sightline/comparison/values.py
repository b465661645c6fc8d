"""A system's value on each prompt, by a question or a measure, and who judged it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Direction
from sightline.extension import Configured
from sightline.measures.by_system import imported_as, reads_stored, scored_measure, scores_by_system
from sightline.measures.rankings import Ranked, rankings_for
from sightline.statistics.crossed import MIN_RATERS, Panel
from sightline.study import reading, rollup
from sightline.study.groups import families_of
from sightline.study.study import SETTINGS_FILE, Study


@dataclass(frozen=True)
class Basis:
    """A system's value on each prompt, what it is a value of, and which values can occur.

    `ranked` are the rankings that were measured, where they are.
    """

    values: pl.DataFrame
    name: str
    direction: Direction
    low: float | None
    high: float | None
    measure: Configured | None = None
    ranked: Ranked | None = None


class Raters(NamedTuple):
    """The votes behind values, or None and why intervals are over prompts alone, in words.

    `n` counts the raters, None where they are not known. `only` says for whom a result holds where there are
    too few raters to go beyond them: "for these raters".
    """

    panel: Panel | None = None
    said: str = ""
    n: int | None = None
    only: str = ""


class Grid(NamedTuple):
    """Units x systems with NaN where a value is missing; a unit is a prompt, or a family of prompts.

    `unit` is the row of each prompt in `prompts`. `raters` has the votes on the same units and systems.
    `plain` are the systems' means over all prompts, each
    counted by itself, as they are often published.
    """

    matrix: NDArray[np.float64]
    systems: Sequence[str]
    prompts: Sequence[int]
    unit: NDArray[np.int64]
    raters: Raters
    plain: Sequence[float]

    @property
    def panel(self) -> Panel | None:
        return self.raters.panel

    @property
    def families(self) -> str:
        """What a reader must know where prompts are fewer units than they look."""
        if len(self.matrix) == len(self.prompts):
            return ""
        return (
            f"{len(self.prompts):,} prompts count as {len(self.matrix):,}: rephrasings, prompts of the same "
            "words and captions of one image are averaged, since they are no independent evidence."
        )


def bases_of(study: Study, by: str | Sequence[str] | None) -> list[Basis]:
    """The values by each question or measure named, once each; rankings are read once for all."""
    bases: dict[str, Basis] = {}
    ranked = None
    for name in names_of(by) or [""]:
        basis = values_by(study, name or None, ranked)
        ranked = basis.ranked or ranked
        bases.setdefault(basis.name, basis)
    return list(bases.values())


def names_of(by: str | Sequence[str] | None) -> list[str]:
    """Names separated by commas; those between parentheses belong to a measure's parameters."""
    words = [] if by is None else [by] if isinstance(by, str) else list(by)
    names = [
        name
        for word in words
        for name in ([word] if "(" in word else [part.strip() for part in word.split(",") if part.strip()])
    ]
    return list(dict.fromkeys(names))


THESE = "for these raters"
FAILURES = ("left out", "worst")


def failed(study: Study, prompts: Sequence[int]) -> tuple[dict[str, int], str]:
    """How many answers of each system to these prompts failed, and how they count, in words."""
    lost = reading.answered(study).filter((pl.col("lost") > 0) & pl.col("prompt_id").is_in(list(prompts)))
    rule = failure_rule(study)
    counts = dict(lost.group_by("system").agg(pl.col("lost").sum()).iter_rows())
    return counts, "are left out" if rule == "left out" else "count as the worst value of the scale"


def failure_rule(study: Study) -> str:
    """What study.toml says of answers that failed: [compare] failures = "left out" or "worst"."""
    rule = str(study.settings.get("compare", {}).get("failures", "left out"))
    if rule not in FAILURES:
        raise UsageError(
            f"[compare] failures = {rule!r} is not known",
            where=str(study.home / SETTINGS_FILE),
            remedy=near(rule, FAILURES),
        )
    return rule


def _with_failures(study: Study, basis: Basis) -> Basis:
    """The values with answers that failed as the worst value of the scale, where the study says so."""
    if failure_rule(study) == "left out" or basis.direction == "none":
        return basis
    worst = basis.high if basis.direction == "lower" else basis.low
    if worst is None:
        raise UsageError(
            f"[compare] failures = 'worst' needs a scale with an end, and {basis.name} has none",
            where=str(study.home / SETTINGS_FILE),
            remedy="Give the question its low and high, or count failures as left out.",
        )
    both = basis.values.select("prompt_id", "system_id", "system", "value").join(
        reading.answered(study), on=["prompt_id", "system_id", "system"], how="full", coalesce=True
    )
    value = pl.col("value")
    good, lost = pl.col("good").clip(1), pl.col("lost")
    mixed = (value * good + worst * lost) / (good + lost)
    values = both.with_columns(
        value=pl.when(value.is_null() & (lost > 0)).then(worst)
        .when(value.is_not_null() & (lost.fill_null(0) > 0)).then(mixed).otherwise(value)
    )  # fmt: skip
    kept = values.filter(pl.col("value").is_not_null()).sort("prompt_id", "system_id")
    return replace(basis, values=kept.select("prompt_id", "system_id", "system", "value"))


def grid_of(study: Study, basis: Basis, prompts: Sequence[int] | None = None) -> Grid:
    """The values of a basis as a matrix, families of prompts averaged, with the votes behind them."""
    values = basis.values
    if prompts is not None:
        values = values.filter(pl.col("prompt_id").is_in(list(prompts)))
    matrix, kept, systems = rollup.matrix(values)
    unit = families_of(study, kept)
    plain = np.nanmean(matrix, axis=0).tolist()
    matrix = unit_means(matrix, unit)
    raters = raters_of(study, basis, dict(zip(kept, unit.tolist(), strict=True)), systems)
    return Grid(matrix, systems, kept, unit, raters, plain)


def unit_means(matrix: NDArray[np.float64], unit: NDArray[np.int64]) -> NDArray[np.float64]:
    """The means of the rows (prompts) of each unit, NaN where none has a value."""
    units = int(unit.max(initial=-1)) + 1
    if units == len(matrix):
        return matrix[np.argsort(unit)]
    known = ~np.isnan(matrix)
    sums, counts = np.zeros((2, units, matrix.shape[1]))
    np.add.at(sums, unit, np.where(known, matrix, 0.0))
    np.add.at(counts, unit, known)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def raters_of(study: Study, basis: Basis, unit: dict[int, int], systems: Sequence[str]) -> Raters:
    """The votes behind the values, or why the intervals are over prompts alone."""
    if basis.measure is not None:
        return Raters()
    votes = rollup.votes_by_system(study, basis.name).filter(
        pl.col("prompt_id").is_in(list(unit)) & pl.col("system").is_in(list(systems))
    )
    alone = "The 95 % intervals are over prompts alone:"
    if votes.is_empty():
        return Raters(None, f"{alone} the truth came without votes.")
    if votes["annotator"].min() == -1 or votes["n"].max() != 1:
        why = "the votes are anonymous or counted, so nobody knows how far raters differ"
        return Raters(None, f"{alone} {why}.", None, THESE)
    place = {name: number for number, name in enumerate(systems)}
    panel = Panel(
        votes["prompt_id"].replace_strict(unit, return_dtype=pl.Int64).to_numpy(),
        votes["system"].replace_strict(place, return_dtype=pl.Int64).to_numpy(),
        votes["item"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        votes["annotator"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        _as_counted(study, basis.name, votes["value"].to_numpy()),
        (len(systems), max(unit.values()) + 1),
    )
    raters = panel.shape[2]
    if raters < MIN_RATERS:
        who = "one rater judged" if raters == 1 else f"only {raters} raters judged"
        only = "for this rater" if raters == 1 else THESE
        return Raters(None, f"{alone} {who}, so the result holds {only}.", raters, only)
    if panel.repeated < 0.5:
        why = "most items were judged by one rater, so nobody knows how far raters differ"
        return Raters(None, f"{alone} {why}.", raters, THESE)
    return Raters(panel, f"The 95 % intervals are over prompts and {raters} raters.", raters)


def _as_counted(study: Study, question: str, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Votes in the unit of the truth: where the rule counts those for the top, 1 for it and 0 for others."""
    rule = rollup.rule_of(study, question)
    if rule is None or "top" not in rule.arguments or rule.spec.range != (0, 1):
        return value
    asked = reading.question(study, question)[1]
    top = asked.high if rule.arguments["top"] is None else float(rule.arguments["top"])
    if top is None:
        return value
    return np.asarray(value == top if asked.scale == "nominal" else value >= top, dtype=np.float64)


def values_by(study: Study, by: str | None, ranked: Ranked | None = None) -> Basis:
    """A system's value on each prompt by a question or a measure; `ranked` if rankings were read before."""
    return _with_failures(study, _values_by(study, by, ranked))


def _need_systems(study: Study) -> None:
    counts = reading.counts(study)
    if counts["image"] and not counts["system"]:
        raise DataError(
            "there are no systems to compare: the images answer no prompts",
            where=study.name,
            remedy="Set measures of images against people with sightline trust STUDY, or compare how "
            "collections are distributed with sightline distributions STUDY MEASURE.",
        )


def _values_by(study: Study, by: str | None, ranked: Ranked | None) -> Basis:
    questions = {asked.name: asked for _, asked in reading.questions(study)}
    settled = reading.about_systems(study)
    if by is None:
        known = settled or ranking_measures(study)
        if not known:
            _need_systems(study)
            remedy = _by_ranking(study) or "Aggregate the judgements first: sightline truth STUDY"
            raise DataError("there is no truth to compare by", where=study.name, remedy=remedy)
        by = known[0]
    if by in questions:
        if by not in settled:
            remedy = _by_ranking(study) or "sightline truth STUDY"
            raise DataError(f"{by} has no truth about systems yet", remedy=remedy)
        asked = questions[by]
        return Basis(rollup.by_system(study, by), by, asked.direction, *rollup.ends_of(study, by))
    chosen = scored_measure(study, by, settled)
    spec = chosen.spec
    low, high = spec.range
    if spec.kind == "of_ranking" and not reads_stored():
        ranked = rankings_for(study, chosen, ranked)
        return Basis(ranked.values(chosen), chosen.short, spec.direction, low, high, chosen, ranked)
    if spec.kind == "of_ranking":
        try:
            ranked = rankings_for(study, chosen, ranked)
        except DataError:  # only what is said of gaps rests on them
            ranked = None
        values = scores_by_system(study, str(chosen))
        return Basis(values, chosen.short, spec.direction, low, high, chosen, ranked)
    return Basis(scores_by_system(study, str(chosen)), chosen.short, spec.direction, low, high, chosen)


def _by_ranking(study: Study) -> str:
    """What to do where the systems are search engines."""
    if "retriever" not in reading.systems(study)["kind"].to_list():
        return ""
    return "Search engines are compared by measures of their rankings: sightline score STUDY ndcg@10"


def ranking_measures(study: Study) -> list[str]:
    """The measures of rankings that are scored, have a better end and still a value, NDCG first."""
    scored = reading.measures(study).filter((pl.col("kind") == "of_ranking") & (pl.col("values") > 0))
    forms = [str(form) for form in scored["measure"]]
    by_form = {form: registry.find_measure(form) for form in forms}
    good, ranked = [], None
    if reads_stored():
        good = [form for form in forms if by_form[form].spec.direction != "none"]
        return sorted(good, key=lambda form: not form.startswith("ndcg"))
    for form in forms:
        if by_form[form].spec.direction == "none":
            continue
        try:
            ranked = rankings_for(study, by_form[form], ranked)
            if not ranked.values(by_form[form]).is_empty():
                good.append(form)
        except DataError:
            # Judgements that a predictor learned from may have been taken out since.
            if by_form[form].spec.details["rests_on"] != "everything":
                raise
    return sorted(good, key=lambda form: not form.startswith("ndcg"))


def system_measure(study: Study, name: str) -> Configured | None:
    """The measure of systems that a name means; None where it means something else."""
    bare = name.partition("(")[0].partition("@")[0].strip()
    if registry.has("of_system", bare):
        return scored_measure(study, name, ())
    held = reading.measures(study).filter((pl.col("kind") == "of_system") & (pl.col("values") > 0))
    elsewhere = imported_as(name, [str(form) for form in held["measure"]])
    return registry.find_measure(elsewhere[0]) if len(elsewhere) == 1 else None
