"""What people judged and what a measure scored of the same systems, by families of prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.comparison.values import Basis, raters_of, unit_means
from sightline.errors import UsageError
from sightline.extension import Configured
from sightline.measures.by_system import scored_measure, scores_by_system
from sightline.statistics.crossed import Panel, Variance
from sightline.statistics.prediction_powered import Powered, powered_mean
from sightline.statistics.significance import holm
from sightline.study import reading, rollup
from sightline.study.groups import families_of
from sightline.study.study import Study

Array = NDArray[np.float64]

ALIKE = 0.01
"""Below this p, after Holm, judged and unjudged prompts differ in the measure."""


class Units(NamedTuple):
    """Units x systems: the truth, the measure of all answers and of the judged ones; NaN where unknown.

    `answered` says where a system has an answer at all: these are the units that a mean is over.
    """

    truth: Array
    measure: Array
    of_judged: Array
    answered: NDArray[np.bool_]
    systems: Sequence[str]
    prompts: int
    panel: Panel | None
    raters: str

    def fit(self, first: int, second: int | None = None) -> Powered | None:
        """The powered mean of a system, or of the difference of two.

        An answer without a score counts as one of the mean score: any guess is valid, and the mean leaves
        the answer's part to people.
        """
        columns = [first] if second is None else [first, second]
        sign = np.array([1.0, -1.0])[: len(columns)]
        truth, measure, own = (each[:, columns] @ sign for each in (self.truth, self.measure, self.of_judged))
        inside = self.answered[:, columns].all(axis=1)
        known = measure[inside & ~np.isnan(measure)]
        usual = float(known.mean()) if known.size else 0.0
        measure = np.where(inside, np.where(np.isnan(measure), usual, measure), np.nan)
        return powered_mean(truth, measure, np.where(np.isnan(own), measure, own))

    def with_raters(self, fit: Powered, first: int, second: int | None = None) -> Variance:
        """The variance of a powered mean or difference, with what raters add to it."""
        if self.panel is None:
            return fit.variance
        columns = [first] if second is None else [first, second]
        judged: NDArray[np.bool_] = ~np.isnan(self.truth[:, columns].sum(axis=1))
        both = self.panel.variance(fit.variance.prompts, first, second, units=judged[: self.panel.shape[1]])
        return both if both.raters else fit.variance

    def at_ends(self, system: int, scale: tuple[float | None, float | None]) -> bool:
        """Whether all judgements of a system are at the two ends of the scale, as yes and no are."""
        judged = self.truth[~np.isnan(self.truth[:, system]), system]
        return bool(np.isin(judged, [end for end in scale if end is not None]).all())

    def apart(self) -> list[str]:
        """The systems whose judged prompts differ from the others in the measure (Welch's t test, Holm)."""
        from scipy.stats import ttest_ind

        names, tests = [], []
        for number, name in enumerate(self.systems):
            column, judged = self.measure[:, number], ~np.isnan(self.truth[:, number])
            known = ~np.isnan(column)
            inside, outside = column[known & judged], column[known & ~judged]
            if min(inside.size, outside.size) > 1 and inside.std() + outside.std() > 0:
                names.append(name)
                tests.append(float(ttest_ind(inside, outside, equal_var=False).pvalue))
        return [name for name, p in zip(names, holm(tests), strict=True) if p < ALIKE]


def measured(study: Study, name: str, basis: Basis) -> tuple[str, pl.DataFrame, pl.DataFrame]:
    """The measure's name, and its value per prompt and system: of all answers, and of the judged ones."""
    settled = reading.about_systems(study)
    if name == basis.name:
        raise UsageError(f"{name} cannot predict itself", remedy="Name a measure, or another question.")
    if name in settled:
        values = rollup.by_system(study, name)
        return name, values, values
    chosen = scored_measure(study, name, settled)
    if chosen.spec.kind in ("of_set", "of_ranking"):
        values = scores_by_system(study, str(chosen))
        return chosen.short, values, values
    every = _scored_answers(study, chosen)
    judged = rollup.of_answers(study, basis.name).select("prompt_id", "system_id", "position")
    mean = pl.col("value").mean()
    by = ["prompt_id", "system_id", "system"]
    some = every.join(judged, on=["prompt_id", "system_id", "position"], how="semi")
    whole = every.group_by(by).agg(mean)
    own = some.group_by(by).agg(mean)
    # Where people judged a system's answers to a prompt as a whole, all of them were judged.
    rest = whole.join(own, on=by, how="anti")
    return chosen.short, whole, pl.concat([own, rest])


def _scored_answers(study: Study, measure: Configured) -> pl.DataFrame:
    on = {"of_image": ["image_id"], "of_answer": ["prompt_id", "image_id"], "of_prompt": ["prompt_id"]}[
        measure.spec.kind
    ]
    scores = reading.scores(study, measure.identity).filter(pl.col("value").is_not_null())
    answers = reading.answers(study, "generator").filter(pl.col("image_id").is_not_null()).drop("score")
    return answers.join(scores.select([*on, "value"]), on=on)


def units_of(study: Study, basis: Basis, scores: pl.DataFrame, of_judged: pl.DataFrame) -> Units:
    systems = basis.values.select("system_id", "system").unique().sort("system_id")["system"].to_list()
    scores = scores.filter(pl.col("system").is_in(systems))
    judged = basis.values["prompt_id"].unique().sort().to_list()
    answers = reading.answers(study).filter(
        pl.col("system").is_in(systems) & pl.col("image_id").is_not_null()
    )
    others = answers["prompt_id"].unique().sort().to_list()
    # Judged prompts first: their units have the numbers that the panel of raters has.
    prompts = list(dict.fromkeys([*judged, *others]))
    unit = families_of(study, prompts)
    row = {prompt: number for number, prompt in enumerate(prompts)}
    column = {system: number for number, system in enumerate(systems)}

    def matrix(values: pl.DataFrame) -> Array:
        table = np.full((len(prompts), len(systems)), np.nan)
        for prompt, system, value in values.select("prompt_id", "system", "value").iter_rows():
            if system in column and prompt in row:
                table[row[prompt], column[system]] = value
        return table

    truth, own = matrix(basis.values), matrix(of_judged)
    own[np.isnan(truth)] = np.nan  # of a family, the measure of those prompts that were judged
    panel, raters, *_ = raters_of(study, basis, dict(zip(prompts, unit.tolist(), strict=True)), systems)
    given = matrix(answers.select("prompt_id", "system", value=pl.lit(1.0)).unique())
    truth, measure, own, given = (unit_means(each, unit) for each in (truth, matrix(scores), own, given))
    answered = ~np.isnan(given) | ~np.isnan(truth)
    return Units(truth, measure, own, answered, systems, len(prompts), panel, raters)
