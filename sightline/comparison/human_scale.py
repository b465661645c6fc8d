"""Human scale: what a measure's values mean on the scale of people's judgements."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from sightline.arrays import load_arrays, save_arrays
from sightline.comparison.items import chosen, matched, scored, truths_of, units_of
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Estimate
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.correlation import spearman
from sightline.statistics.grouping import Array
from sightline.statistics.human_scale import HumanScale, Method, fit_human_scale
from sightline.study import reading
from sightline.study.study import Study
from sightline.verbs import SEED, argument, option, verb

FORMAT = 1
LEAST_ITEMS, LEAST_PROMPTS = 30, 10
SHOWN = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
WRITTEN = "One that sightline human-scale --save wrote."


@dataclass(frozen=True)
class Meaning:
    """One value of a measure: its percentile in the reference, and the score people would give."""

    value: float
    percentile: float
    score: Estimate


@dataclass(frozen=True)
class HumanScaleResult(Result):
    """What values of a measure mean, as fitted to this study or to the one a stored scale came from."""

    measure: str
    question: str
    scale: HumanScale
    rank_correlation: Estimate | None
    values: Sequence[Meaning]
    source: str
    file: str = ""

    @property
    def sentence(self) -> str:
        low, high = self.values[0], self.values[-1]
        ends = [one.score for one in (low, high) if one.score.low is not None]
        if not ends:
            return f"{self.measure}: too few items for a band."
        width = float(np.mean([(one.high or 0) - (one.low or 0) for one in ends]))
        return (
            f"{self.measure} of {low.value:.3g} means {self.question} {low.score.value:.2f}, "
            f"{high.value:.3g} means {high.score.value:.2f}; the band is about {width:.2f} wide."
        )

    @property
    def notes(self) -> Sequence[str]:
        about = f"{self.scale.method} mapping of {self.scale.n:,} items of {self.source}"
        said = [f"{about}; {self.scale.covered * 100:.0f} % of held-out items lie in the 90 % band."]
        if self.rank_correlation is not None and (self.rank_correlation.value or 0) ** 2 < 0.04:
            said.append("The measure hardly follows people here: its values mean little.")
        return [*said, *([f"Saved: {self.file}"] if self.file else [])]

    @property
    def next(self) -> Sequence[str]:
        if not self.file:
            return ()
        return (f"sightline human-scale OTHER {shlex.quote(self.measure)} --use {shlex.quote(self.file)}",)

    def facts(self) -> dict[str, Any]:
        """The mapping, and where it is from."""
        about = {name: getattr(self, name) for name in ("measure", "question", "source", "file")}
        return {**about, **{name: getattr(self.scale, name) for name in ("method", "covered", "n")}}

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("value", self.measure),
            Column("percentile", "percentile in the reference", format=".1f"),
            Column("score", f"{self.question}, 90 % band", estimate=True),
        ]
        rows: list[list[Cell]] = [[each.value, each.percentile, each.score] for each in self.values]
        return {"": Table(columns, rows, f"What {self.measure} means on the scale of {self.question}")}


@verb("analyse", "human-scale")
def human_scale(
    study: Study,
    measure: Annotated[str, argument("The scored measure whose values are mapped.", "MEASURE")],
    *,
    question: Annotated[
        str, option("Map onto the scale of this question.", metavar="QUESTION", shown="the first with truth")
    ] = "",
    method: Annotated[Method, option("Map by the five-parameter logistic, or by any monotone curve.")] = (
        "logistic"
    ),
    value: Annotated[
        float | Sequence[float], option("Say what this value means; repeatable.", metavar="VALUE")
    ] = (),
    use: Annotated[
        str | Path | None,
        option("Use this stored scale and its reference in place of the study's truth.", metavar="FILE"),
    ] = None,
    save: Annotated[
        str | Path | None, option("Store the scale, with its reference, in this .npz file.", metavar="FILE")
    ] = None,
    seed: Annotated[int, SEED] = 0,
) -> HumanScaleResult:
    """Say what a measure's values mean: the score people would give, with a band, and a percentile.

    The mapping is fitted to items that people judged and the measure scored. The band covers 90 % of items
    whose prompt was held out. A stored scale gives other studies the same meaning, and percentiles against
    the same reference.

    \b
    sightline human-scale my-study brisque --question quality --save quality.npz
    sightline human-scale other-study brisque --use quality.npz
    """
    own = chosen(scored(study, measure), measure, [])[0]
    x = own.scores["value"].to_numpy().astype(np.float64)
    if use is not None:
        if question or save is not None:
            raise UsageError("a stored scale has its question and its file", remedy="Leave out --use.")
        scale, about = load_scale(Path(use), own.name)
        return HumanScaleResult(
            own.name, about["question"], scale, None, _meanings(scale, _values(value, x), about),
            f"{about['source']} ({use})",
        )  # fmt: skip
    asked = reading.question(study, question or _first(study))[1]
    on = matched(study, truths_of(study, asked.name), own, units_of(study))
    units = 0 if on is None else on.frame["unit"].n_unique()
    if on is None or len(on.frame) < LEAST_ITEMS or units < LEAST_PROMPTS:
        n = 0 if on is None else len(on.frame)
        raise DataError(
            f"only {n} items of {units} prompts have {own.name} and a truth of {asked.name!r}",
            where=study.name,
            remedy=f"A scale needs {LEAST_ITEMS} items of {LEAST_PROMPTS} prompts: judge or score more.",
        )
    a, b = (on.frame[name].to_numpy().astype(np.float64) for name in ("measure", "people"))
    if np.ptp(a) == 0:
        raise DataError(
            f"{own.name} is the same for all items", where=study.name, remedy="Use another measure."
        )
    scale = fit_human_scale(a, b, on.frame["unit"].to_numpy(), method=method, seed=seed)
    about = {"question": asked.name, "low": asked.low, "high": asked.high, "source": study.name}
    if save is not None:
        plain, arrays = scale.state()
        save_arrays(
            Path(save), {"format": FORMAT, "scale": plain, "measure": own.name, "about": about}, arrays
        )
    return HumanScaleResult(
        own.name, asked.name, scale, spearman(a, b), _meanings(scale, _values(value, x), about), study.name,
        "" if save is None else str(save),
    )  # fmt: skip


def load_scale(path: Path, measure: str) -> tuple[HumanScale, dict[str, Any]]:
    """A stored scale of this measure, and what it is about."""
    description, arrays = load_arrays(path, "a stored scale", WRITTEN)
    if "scale" not in description or description.get("format") != FORMAT:
        raise DataError("this is not a stored scale", where=str(path), remedy=WRITTEN)
    if description["measure"] != measure:
        raise UsageError(
            f"this scale is of {description['measure']}, not of {measure}",
            remedy="Use a scale of the same measure.",
        )
    try:
        return HumanScale.restored(description["scale"], arrays), dict(description["about"])
    except (KeyError, TypeError, ValueError):
        raise DataError("this stored scale is damaged", where=str(path), remedy=WRITTEN) from None


def _first(study: Study) -> str:
    for _, asked in reading.questions(study):
        if reading.newest_settlement(study, asked.name) is not None:
            return asked.name
    raise DataError("no question has truth yet", where=study.name, remedy="sightline truth STUDY")


def _values(given: float | Sequence[float], x: Array) -> Array:
    wanted = [given] if isinstance(given, int | float) else list(given)
    return np.array(wanted, dtype=np.float64) if wanted else np.unique(np.quantile(x, SHOWN))


def _meanings(scale: HumanScale, values: Array, about: dict[str, Any]) -> list[Meaning]:
    least = -np.inf if about["low"] is None else float(about["low"])
    most = np.inf if about["high"] is None else float(about["high"])
    score, low, high = (np.clip(each, least, most) for each in (scale(values), *scale.band(values)))
    made = []
    rows = zip(values, scale.percentile(values), score, low, high, strict=True)
    for value, percent, at, *band in rows:
        banded = np.isfinite(band).all()
        ends = [float(end) if banded else None for end in band]
        meant = Estimate(float(at), ends[0], ends[1], n=scale.n)
        made.append(Meaning(float(value), float(percent), meant))
    return made
