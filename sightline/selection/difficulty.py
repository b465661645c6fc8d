"""How hard each prompt of a study will be, or how unsure that is: where judging is best spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.errors import DataError, MissingPackage, UsageError, near
from sightline.estimate import Estimate
from sightline.prediction.model import TIERS, interval, tier_named
from sightline.prediction.predict import Predictions, predict_prompts
from sightline.study import predicted, reading, rollup
from sightline.study.study import Study

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

PREFERENCES = ("hard", "unsure", "easy")
SHARE = 0.2
"""The proportion of the other prompts that a choice is spread over as well, so that few are alike."""
FLAT = 1e-9
"""Widths that differ by less than this proportion of the widest count as equal."""


@dataclass(frozen=True)
class Expectations:
    """What the shipped predictor expects of texts by one target; None where it refused one."""

    expected: Sequence[Estimate | None]
    how: str
    tier: str
    refusals: str = ""


@dataclass(frozen=True)
class Priorities:
    """How much each prompt is wanted, NaN where it must not be chosen, with what is expected of it."""

    want: np.ndarray
    expected: Sequence[Estimate | None]
    how: str
    notes: Sequence[str] = ()


def target_of(kinds: Collection[str]) -> str:
    """What the shipped predictor is asked for: precision for search engines, else what people think."""
    return "p_at_10" if set(kinds) == {"retriever"} else "hbpp"


def expected_of(texts: Sequence[str], target: str, tier: str | None = None) -> Expectations:
    """What the shipped predictor expects of texts, how it was made, and by reason how many it refused."""
    made = predict_prompts(texts, tier=tier, explain=False)
    expected = [prediction.expected.get(target) for prediction in made.predictions]
    if texts and all(each is None for each in expected):
        raise DataError(f"the shipped predictor refused all {len(texts):,} prompts: {_refusals(made)}")
    how = f"{target} predicted by the {made.tier} tier of the shipped predictor"
    return Expectations(expected, how, made.tier, _refusals(made))


def priorities(
    study: Study,
    prompts: pl.DataFrame,
    n: int,
    *,
    prefer: str = "hard",
    question: str | None = None,
    judged: bool = False,
    tier: str | None = None,
    vectors_of: Callable[[Sequence[str]], np.ndarray],
) -> Priorities:
    """How much each of these prompts is wanted: the lower its expectation, the more (or the higher).

    Expectations are the predictions stored in the study for the question, if they cover n of the prompts to
    choose from and at least half of them; otherwise, or with a named `tier`, those of the shipped predictor.
    Unsure is where predictors of the study, or tiers of the shipped one, disagree most (standard deviation);
    with a single one, the widest interval; if all are equally wide, the prompt farthest from those with
    truth. Prompts with truth of the question are excluded unless `judged`.
    """
    import numpy as np

    if prefer not in PREFERENCES:
        raise UsageError(f"prompts are not preferred {prefer!r}", remedy=near(prefer, PREFERENCES))
    tier = None if tier is None else tier_named(tier)
    asked = question or _first_settled(study)
    if question is not None:
        reading.question(study, question)
    keys = prompts["prompt_id"].to_numpy()
    known = np.isin(keys, _with_truth(study, asked) if asked else [])
    free = np.ones(len(keys), dtype=bool) if judged else ~known
    notes = [] if judged or not known.any() else [f"{known.sum():,} prompts have a truth of {asked} already."]
    if free.sum() < n:
        return Priorities(np.where(free, 0.0, np.nan), [None] * len(keys), f"prefer={prefer}", notes)
    guesses = None if tier or asked is None else _kept(study, asked, keys, prefer)
    if guesses is not None:
        covered = guesses.covered & free
        if covered.sum() < max(n, free.sum() / 2):
            notes.append(
                f"Stored predictions of {asked} cover {covered.sum():,} of the {free.sum():,} prompts to "
                "choose from: the shipped predictor is used instead."
            )
            guesses = None
    if guesses is None:
        kinds = set(reading.systems(study)["kind"].to_list())
        guesses = _shipped(prompts["text"].to_list(), target_of(kinds), tier, prefer, free)
    uncovered = int((free & ~guesses.covered).sum())
    if uncovered:
        notes.append(f"{uncovered:,} prompts are never chosen: {guesses.without}.")
    if prefer == "unsure":
        want, why = _unsure(guesses, prompts["text"].to_list(), known, vectors_of)
    else:
        want, why = (-1 if (prefer == "hard") == guesses.higher else 1) * guesses.mean, ""
    want = np.where(free & guesses.covered, want, np.nan)
    return Priorities(want, guesses.expected(), f"prefer={prefer}{why}, {guesses.how}", notes)


def among(want: np.ndarray, texts: Sequence[str], n: int) -> np.ndarray:
    """The rows to spread a choice of n over, in rising order: the n most wanted and a fifth of the others.

    Ties go by the rows' order, and of rows with the same words only the most wanted one counts.
    """
    import numpy as np

    ranked = [int(row) for row in np.argsort(-want, kind="stable") if not np.isnan(want[row])]
    first: dict[str, int] = {}
    for row in ranked:
        first.setdefault(" ".join(texts[row].casefold().split()), row)
    rows = list(first.values())
    if len(rows) < n:
        return np.array(sorted(rows), dtype=np.int64)
    return np.array(sorted(rows[: n + int(SHARE * (len(rows) - n))]), dtype=np.int64)


@dataclass(frozen=True)
class _Guesses:
    """Expectations by predictor (predictors x prompts, NaN = none), and limits of what is expected."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    how: str
    without: str
    higher: bool = True

    @property
    def covered(self) -> np.ndarray:
        import numpy as np

        return np.asarray(~np.isnan(self.values).all(axis=0))

    @property
    def mean(self) -> np.ndarray:
        return _mean(self.values)

    def expected(self) -> list[Estimate | None]:
        import numpy as np

        rows = zip(self.mean.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [None if np.isnan(value) else interval(value, low, high) for value, low, high in rows]


def _first_settled(study: Study) -> str | None:
    names = [asked.name for _, asked in reading.questions(study)]
    return next((name for name in names if reading.newest_settlement(study, name) is not None), None)


def _with_truth(study: Study, question: str) -> list[int]:
    import polars as pl

    own = reading.truths(study, question).filter(pl.col("value").is_not_null() & (pl.col("prompt_id") > 0))
    return [*own["prompt_id"].to_list(), *rollup.by_prompt(study, question)["prompt_id"].to_list()]


def _kept(study: Study, question: str, keys: np.ndarray, prefer: str) -> _Guesses | None:
    """Stored predictions; None where the question has no direction and one is needed."""
    import numpy as np

    settlement = reading.newest_settlement(study, question)
    _, asked = reading.question(study, question)
    if settlement is None or (asked.direction == "none" and prefer != "unsure"):
        return None
    rows = predicted.predictions(study, settlement)
    names = rows["spec"].unique(maintain_order=True).to_list()
    if not names:
        return None
    place = {key: column for column, key in enumerate(keys.tolist())}
    values, low, high = (np.full((len(names), len(keys)), np.nan) for _ in range(3))
    for spec, key, value, least, most in rows.select("spec", "prompt_id", "value", "low", "high").iter_rows():
        if key in place:
            cell = names.index(spec), place[key]
            values[cell] = value
            low[cell], high[cell] = (np.nan if limit is None else limit for limit in (least, most))
    how = f"{question} predicted by {' and '.join(names)}"
    without = f"no prediction of {question} is stored"
    return _Guesses(values, _mean(low), _mean(high), how, without, asked.direction != "lower")


def _shipped(texts: Sequence[str], target: str, tier: str | None, prefer: str, free: np.ndarray) -> _Guesses:
    """What the shipped predictor expects of the free prompts: its best tier, or all it has here if unsure."""
    import numpy as np

    rows = np.flatnonzero(free).tolist()
    chosen = [texts[row] for row in rows]
    tiers = [expected_of(chosen, target, tier)]
    if prefer == "unsure" and tier is None:
        tiers += _other_tiers(chosen, target, tiers[0])
    values, low, high = (np.full((len(tiers), len(texts)), np.nan) for _ in range(3))
    for number, each in enumerate(tiers):
        for row, expected in zip(rows, each.expected, strict=True):
            if expected is not None:
                # None becomes NaN.
                values[number, row] = expected.value
                low[number, row], high[number, row] = expected.low, expected.high
    how = "; ".join(each.how for each in tiers)
    return _Guesses(values, low[0], high[0], how, tiers[0].refusals)


def _other_tiers(texts: Sequence[str], target: str, best: Expectations) -> list[Expectations]:
    """The tiers that can run here besides the best one."""
    others = []
    for tier in TIERS:
        if tier == best.tier:
            continue
        try:
            others.append(expected_of(texts, target, tier))
        except (DataError, MissingPackage, ImportError, OSError):
            continue
    return others


def _unsure(
    guesses: _Guesses,
    texts: Sequence[str],
    known: np.ndarray,
    vectors_of: Callable[[Sequence[str]], np.ndarray],
) -> tuple[np.ndarray, str]:
    """How unsure each prompt's expectation is, and by which criterion."""
    import numpy as np

    counted = (~np.isnan(guesses.values)).sum(axis=0)
    if len(guesses.values) > 1 and (counted > 1).any():
        squares = np.nansum((guesses.values - guesses.mean) ** 2, axis=0)
        apart = np.sqrt(squares / np.where(counted, counted, 1))
        return apart, f" (where {len(guesses.values)} predictions disagree)"
    width = guesses.high - guesses.low
    known_widths = width[guesses.covered & ~np.isnan(width)]
    if known_widths.size and np.ptp(known_widths) > FLAT * known_widths.max():
        return np.nan_to_num(width, nan=float(known_widths.max())), " (where intervals are widest)"
    if not known.any():
        raise DataError(
            "it is not known where predictions are unsure: there is one predictor with intervals of one "
            "width, and no prompt with truth",
            remedy="Fit a second predictor (sightline fit STUDY --with trees), or --prefer hard.",
        )
    return _distance(vectors_of(texts), known), " (far from prompts with truth)"


def _distance(vectors: np.ndarray, known: np.ndarray, block: int = 1_024) -> np.ndarray:
    """The cosine distance of each row to the nearest of the known rows; among these, to another one."""
    import numpy as np

    from sightline.statistics.search import unit

    rows = unit(vectors).astype(np.float64)
    learned = np.flatnonzero(known)
    found = np.empty(len(rows))
    for start in range(0, len(rows), block):
        part = np.arange(start, min(start + block, len(rows)))
        cosines = rows[part] @ rows[learned].T
        cosines[part[:, None] == learned[None, :]] = -1.0
        found[part] = 1 - cosines.max(axis=1)
    return found


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean of each column over what is known of it, NaN where nothing is."""
    import numpy as np

    n = (~np.isnan(values)).sum(axis=0)
    return np.asarray(np.nansum(values, axis=0) / np.where(n, n, np.nan))


def _refusals(found: Predictions) -> str:
    reasons = Counter(prediction.refused for prediction in found.predictions if prediction.refused)
    return "; ".join(f"{n:,} refused ({reason})" for reason, n in reasons.items())
