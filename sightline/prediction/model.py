"""The predictor that ships, or one from a file: what it expects of a prompt, and which words make it so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from sightline.errors import DataError, MissingPackage, UsageError, near
from sightline.estimate import Direction, Estimate
from sightline.language.collection_statistics import terms
from sightline.prediction import fitted
from sightline.prediction.fitted import Fitted
from sightline.statistics.conformal import LEAST_IN_BIN
from sightline.weights import only_what_is_here

TIERS = ("small", "medium", "large")
TARGETS = (
    "hbpp",
    "p_at_10",
    "rr",
    "hbpp.glide",
    "hbpp.sdxl",
    "p_at_10.clip",
    "p_at_10.blip2",
    "rr.clip",
    "rr.blip2",
)
ONE_WIDTH = (
    "Intervals have one width and hold over all prompts together: to hold for the hardest and the easiest "
    f"too, {2 * LEAST_IN_BIN} held-out prompts with different predictions are needed."
)
LONG, MOST, CHARACTERS = 40, 1_000, 20_000
"""More words than nearly all that were learned from have, and how many words and characters are read."""
AT_ONCE = 4_096
WORD = re.compile(r"\w+")
EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf]")


@dataclass(frozen=True)
class TargetScale:
    """What a target is called, the ends of its scale where it has them, and what it means."""

    title: str
    low: float | None = None
    high: float | None = None
    direction: Direction = "higher"
    meaning: str = ""

    @property
    def sign(self) -> int:
        """-1 where lower is better."""
        return -1 if self.direction == "lower" else 1


SHIPPED: Mapping[str, TargetScale] = {
    "hbpp": TargetScale("HBPP", -1, 2, meaning="how well generated images match the prompt, by people"),
    "p_at_10": TargetScale("P@10", 0, 1, meaning="proportion of relevant images among the first ten"),
    "rr": TargetScale("RR", 0, 1, meaning="1 / rank of the first relevant image"),
}
SHOWN = tuple(SHIPPED)


@dataclass(frozen=True)
class Prediction:
    """What is expected of one prompt by target, what makes it so, and what to be careful about.

    Intervals cover 90 % of prompts of the same kind that are predicted about the same. `effects` has for each
    target the words (or features) with what each adds, largest effect first. A prompt that cannot be
    predicted has no expectations, and `refused` says why.
    """

    prompt: str
    expected: Mapping[str, Estimate] = field(default_factory=dict)
    effects: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    refused: str = ""


@dataclass(frozen=True)
class Model:
    """A fitted predictor: a tier of the one that ships, or one from a file.

    `why` says what a better tier lacks here.
    """

    name: str
    fitted: Fitted
    ships: bool = True
    why: str = ""

    @property
    def scales(self) -> Mapping[str, TargetScale]:
        """The targets that are shown, the first of which ranks rewordings."""
        if self.ships:
            return SHIPPED
        directions = self.fitted.about.get("directions", {})
        return {
            name: TargetScale(name, *_ends(self.fitted, name), directions.get(name, "higher"))
            for name in self.fitted.targets
        }

    def predict(self, prompts: Sequence[str], *, explain: bool = True) -> list[Prediction]:
        """What is expected of these prompts, in their order.

        A word's effect is what the prediction loses when the word is left out; without `explain` it is not
        computed, which is many times faster.
        """
        checked = [_check(prompt, self.fitted) for prompt in prompts]
        texts = [text for text, prediction in checked if not prediction.refused]
        raw = self.fitted.values(texts)
        values, low, high = (_clipped(self.fitted, each) for each in (raw, *self.fitted.limits(texts, raw)))
        effects = iter(_effects(self.fitted, texts, values) if explain else [{}] * len(texts))
        rows = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
        return [
            prediction
            if prediction.refused
            else replace(prediction, expected=_expected(self.fitted, *next(rows)), effects=next(effects))
            for _, prediction in checked
        ]


def load_model(tier: str | None = None, model: str | Path | None = None) -> Model:
    """The predictor in a file that `sightline fit --save` wrote, or a tier of the one that ships.

    Without a tier it is the best that can run here.
    """
    if model is not None:
        if tier is not None:
            raise UsageError("a tier and a model of your own exclude each other", remedy="Name one of them.")
        return Model(str(model), fitted.load(Path(model)), ships=False)
    if tier is None:
        name, why = best_tier()
        return Model(name, shipped(name), why=why)
    name = tier_named(tier)
    return Model(name, shipped(name))


def best_tier() -> tuple[str, str]:
    """The best tier that can run here, and what the better ones lack; empty for the best.

    Weights are fetched from the hub only for a tier that is named.
    """
    lacking = []
    for tier in reversed(TIERS):
        try:
            with only_what_is_here():
                shipped(tier)
        except (MissingPackage, DataError, ImportError, OSError) as error:
            lacking.append(f"{tier}: {error}")
        else:
            return tier, "; ".join(lacking)
    raise DataError("the shipped predictor is missing", remedy="Install Sightline again.")


def tier_named(tier: str) -> str:
    """The tier of this name, or an error that suggests similar names."""
    if tier not in TIERS:
        raise UsageError(f"the shipped predictor has no tier {tier!r}", remedy=near(tier, TIERS))
    return tier


@lru_cache(maxsize=len(TIERS))
def shipped(tier: str) -> Fitted:
    """The fitted predictor of a tier; what it needs and is not here is an error that says so."""
    with resources.as_file(resources.files("sightline.prediction") / "shipped" / f"pqpp_{tier}.npz") as file:
        return fitted.load(file)


def _check(prompt: str, used: Fitted) -> tuple[str, Prediction]:
    """The text that is predicted, and the warnings about it, or why it is refused."""
    if not prompt.strip():
        return "", Prediction(prompt, refused="The prompt is empty.")
    if not any(letter.isalnum() for letter in prompt):
        return "", Prediction(prompt, refused="There is no word in it.")
    text, warnings = prompt, []
    words = sum(1 for _ in WORD.finditer(prompt))
    if len(prompt) > CHARACTERS:
        text = prompt[:CHARACTERS]
        warnings.append(f"Of {len(prompt):,} characters only the first {CHARACTERS:,} are read.")
    places = list(WORD.finditer(text))
    if len(places) > MOST:
        text = text[: places[MOST - 1].end()]
        warnings.append(f"Of {words:,} words only the first {MOST:,} are read.")
    if words > LONG:
        warnings.append(
            f"{words:,} words are more than the predictor was fitted on, up to {LONG}: do not trust it. "
            "The effects of single words are not computed."
        )
    if EMOJI.search(prompt):
        warnings.append("Emoji are not read.")
    strange = _strange(text, used)
    return text, Prediction(prompt, warnings=[*warnings, *([strange] if strange else [])])


def _strange(text: str, used: Fitted) -> str:
    """A warning about a text most of whose words the predictor does not know."""
    distinct = dict.fromkeys(terms(text))
    unknown = [term for term in distinct if not used.terms.knows(term)]
    if not distinct or len(unknown) <= len(distinct) / 2:
        return ""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(not letter.isascii() for letter in letters) > len(letters) / 4:
        return "It does not look like English, the only language that the predictor was fitted on."
    return (
        f"{len(unknown)} of {len(distinct)} words were in no prompt that it was fitted on, such as "
        f"{unknown[0][:30]!r}: another language, or another kind of prompt. Do not trust it."
    )


def _clipped(used: Fitted, values: np.ndarray) -> np.ndarray:
    """Values within the scales of their targets."""
    ends = [_ends(used, target) for target in used.targets]
    low = [-np.inf if low is None else low for low, _ in ends]
    high = [np.inf if high is None else high for _, high in ends]
    return np.asarray(np.clip(values, low, high))


def _ends(used: Fitted, target: str) -> tuple[float | None, float | None]:
    ends = used.about.get("ends", {}).get(target)
    if ends is not None:
        return ends[0], ends[1]
    scale = SHIPPED.get(target.partition(".")[0])
    return (None, None) if scale is None else (scale.low, scale.high)


def _expected(
    used: Fitted, values: Sequence[float], lows: Sequence[float], highs: Sequence[float]
) -> dict[str, Estimate]:
    rows = zip(used.targets, values, lows, highs, strict=True)
    return {target: interval(value, low, high) for target, value, low, high in rows}


def interval(value: float, low: float, high: float) -> Estimate:
    """An expected value; without an interval where an end is unknown or infinite."""
    return Estimate(value, low, high) if np.isfinite(low) and np.isfinite(high) else Estimate(value)


def _effects(
    used: Fitted, texts: Sequence[str], whole: np.ndarray
) -> list[dict[str, Sequence[tuple[str, float]]]]:
    """What each word of each text adds: the prediction minus the one without the word."""
    places = [[at for at in _explained(text) if WORD.search(_without(text, at))] for text in texts]
    shorter = [_without(text, at) for text, words in zip(texts, places, strict=True) for at in words]
    values = np.vstack(
        [whole[:0], *(used.values(shorter[at : at + AT_ONCE]) for at in range(0, len(shorter), AT_ONCE))]
    )
    ends = np.cumsum([0, *map(len, places)])
    made: list[dict[str, Sequence[tuple[str, float]]]] = []
    for words, start, row in zip(places, ends, whole, strict=False):
        parts = row - _clipped(used, values[start : start + len(words)])
        made.append(
            {
                target: sorted(
                    ((at.group(), float(part)) for at, part in zip(words, column, strict=True)),
                    key=lambda word: -abs(word[1]),
                )
                for target, column in zip(used.targets, parts.T, strict=True)
            }
        )
    return made


def _explained(text: str) -> list[re.Match[str]]:
    """The words to weigh: all, or none of a text so long that leaving one out means nothing."""
    words = list(WORD.finditer(text))
    return words if len(words) <= LONG else []


def _without(text: str, at: re.Match[str]) -> str:
    return " ".join((text[: at.start()] + text[at.end() :]).split())
