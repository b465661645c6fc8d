"""Predict: how well will prompts do, by a predictor that was fitted beforehand and ships with Sightline."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from sightline.errors import DataError, MissingPackage, UsageError, near
from sightline.language.collection_statistics import terms
from sightline.prediction import fitted
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
SHOWN = TARGETS[:3]
ENDS: Mapping[str, tuple[float, float]] = {"hbpp": (-1.0, 2.0), "p_at_10": (0.0, 1.0), "rr": (0.0, 1.0)}
OTHER_NAMES = {"torch": "large"}
"""The full tier was fitted with torch at hand and runs without it; whoever asks for torch means this one."""
LONG, MOST, CHARACTERS = 40, 1_000, 20_000
"""More words than nearly all that were learned from have, and how many words and characters are read."""
AT_ONCE = 4_096
WORD = re.compile(r"\w+")
EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf]")


@dataclass(frozen=True)
class Expected:
    """What is expected of a prompt, and an interval that holds 9 times in 10 on prompts of the same kind."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """What is expected of one prompt by target, which words make it so, and what to be careful about.

    `words` has for each target the words with what each adds, largest effect first. A prompt that nothing
    can be said of has no expectations, and `refused` says why.
    """

    prompt: str
    expected: Mapping[str, Expected] = field(default_factory=dict)
    words: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    refused: str = ""


@dataclass(frozen=True)
class Predictions:
    """Predictions in the order asked, which tier of the predictor made them, and why not a better one."""

    tier: str
    why: str
    coverage: float
    predictions: Sequence[Prediction]
    targets: Sequence[str] = TARGETS


def predict(
    prompts: Sequence[str],
    *,
    tier: str | None = None,
    model: Path | None = None,
    explain: bool = True,
) -> Predictions:
    """What is expected of these prompts by the best tier of the shipped predictor that can run here.

    `model` is a predictor of your own instead: a file that `sightline predict STUDY --save` wrote. A word's
    effect is what the prediction loses when the word is left out; with `explain` false it is not worked out,
    which is many times faster.
    """
    used, name, why = _chosen(tier, model)
    read = [_read(prompt, used) for prompt in prompts]
    told = [text for text, prediction in read if not prediction.refused]
    values = _on_scale(used, used.values(told))
    words = iter(_words(used, told, values) if explain else [{}] * len(told))
    rows = iter(values)
    predictions = [
        prediction
        if prediction.refused
        else replace(prediction, expected=_expected(used, next(rows)), words=next(words))
        for _, prediction in read
    ]
    return Predictions(name, why, used.coverage, predictions, tuple(used.targets))


def suggest(
    prompt: str,
    candidates: Sequence[str],
    *,
    by: str = "hbpp",
    tier: str | None = None,
    model: Path | None = None,
    explain: bool = True,
) -> Predictions:
    """The prompt and its candidate rewordings, the one of which most is expected first.

    Whatever cannot be predicted comes last. A candidate given twice, or equal to the prompt, counts once.
    """
    different = list(dict.fromkeys([prompt, *candidates]))
    found = predict(different, tier=tier, model=model, explain=explain)
    if by not in found.targets:
        raise UsageError(f"nothing is predicted of {by!r}", remedy=near(by, found.targets))

    def order(prediction: Prediction) -> float:
        return -_sign(by, model) * prediction.expected[by].value if prediction.expected else np.inf

    return replace(found, predictions=sorted(found.predictions, key=order))


def _sign(target: str, model: Path | None) -> float:
    """-1 where less is better, as a model of one's own may say; of what ships, more always is."""
    told = {} if model is None else fitted.load(model).about.get("directions", {})
    return -1.0 if told.get(target) == "lower" else 1.0


def best_tier() -> tuple[str, str]:
    """The best tier that can run here, and in a sentence what the better ones lack; empty for the best.

    Nothing large is fetched for it unasked: whoever names a tier lets its weights come from the hub.
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


def _chosen(tier: str | None, model: Path | None) -> tuple[fitted.Fitted, str, str]:
    if model is not None:
        if tier is not None:
            raise UsageError("a tier and a model of your own exclude each other", remedy="Name one of them.")
        return fitted.load(model), str(model), ""
    if tier is None:
        name, why = best_tier()
        return shipped(name), name, why
    name = tier_named(tier)
    return shipped(name), name, ""


def tier_named(tier: str) -> str:
    """The tier of this name or other name, or an error that suggests near ones."""
    name = OTHER_NAMES.get(tier, tier)
    if name not in TIERS:
        raise UsageError(f"the shipped predictor has no tier {tier!r}", remedy=near(tier, TIERS))
    return name


@lru_cache(maxsize=len(TIERS))
def shipped(tier: str) -> fitted.Fitted:
    """The fitted predictor of a tier; what it needs and is not here is an error that says so."""
    with resources.as_file(resources.files("sightline.prediction") / "shipped" / f"pqpp_{tier}.npz") as file:
        return fitted.load(file)


def _read(prompt: str, used: fitted.Fitted) -> tuple[str, Prediction]:
    """The text that is predicted, and what has to be said of it before."""
    if not prompt.strip():
        return "", Prediction(prompt, refused="The prompt is empty.")
    if not any(letter.isalnum() for letter in prompt):
        return "", Prediction(prompt, refused="There is no word in it: nothing to go by.")
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
            f"{words:,} words are more than it has learned from, up to {LONG}: do not trust it. "
            "Words are not weighed one by one."
        )
    if EMOJI.search(prompt):
        warnings.append("Emoji are not read.")
    strange = _strange(text, used)
    return text, Prediction(prompt, warnings=[*warnings, *([strange] if strange else [])])


def _strange(text: str, used: fitted.Fitted) -> str:
    """What is to be said of a text whose words the predictor does not know."""
    distinct = dict.fromkeys(terms(text))
    unknown = [term for term in distinct if not used.terms.knows(term)]
    if not distinct or len(unknown) <= len(distinct) / 2:
        return ""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(not letter.isascii() for letter in letters) > len(letters) / 4:
        return "It does not look like English, the only language that the predictor has learned."
    return (
        f"{len(unknown)} of {len(distinct)} words were in no prompt that was learned from, such as "
        f"{unknown[0][:30]!r}: another language, or another kind of prompt. Do not trust it."
    )


def _on_scale(used: fitted.Fitted, values: np.ndarray) -> np.ndarray:
    low, high = zip(*[_ends(used, target) for target in used.targets], strict=True)
    return np.asarray(np.clip(values, low, high))


def _ends(used: fitted.Fitted, target: str) -> tuple[float, float]:
    told = used.about.get("ends", {}).get(target)
    if told is not None:
        return (-np.inf if told[0] is None else told[0], np.inf if told[1] is None else told[1])
    return ENDS.get(target.partition(".")[0], (-np.inf, np.inf))


def _expected(used: fitted.Fitted, values: np.ndarray) -> dict[str, Expected]:
    found = {}
    for target, value, width in zip(used.targets, values.tolist(), used.widths, strict=True):
        low, high = _ends(used, target)
        found[target] = Expected(value, max(low, value - width), min(high, value + width))
    return found


def _words(
    used: fitted.Fitted, texts: Sequence[str], whole: np.ndarray
) -> list[dict[str, Sequence[tuple[str, float]]]]:
    """What each word of each text adds: the prediction less the one without the word."""
    places = [[at for at in _explained(text) if WORD.search(_without(text, at))] for text in texts]
    shorter = [_without(text, at) for text, listed in zip(texts, places, strict=True) for at in listed]
    values = np.vstack(
        [whole[:0], *(used.values(shorter[at : at + AT_ONCE]) for at in range(0, len(shorter), AT_ONCE))]
    )
    ends = np.cumsum([0, *map(len, places)])
    told: list[dict[str, Sequence[tuple[str, float]]]] = []
    for listed, start, row in zip(places, ends, whole, strict=False):
        effects = row - _on_scale(used, values[start : start + len(listed)])
        told.append(
            {
                target: sorted(
                    ((at.group(), float(effect)) for at, effect in zip(listed, column, strict=True)),
                    key=lambda word: -abs(word[1]),
                )
                for target, column in zip(used.targets, effects.T, strict=True)
            }
        )
    return told


def _explained(text: str) -> list[re.Match[str]]:
    """The words to weigh: all, or none of a text so long that leaving one out tells nothing."""
    found = list(WORD.finditer(text))
    return found if len(found) <= LONG else []


def _without(text: str, at: re.Match[str]) -> str:
    return " ".join((text[: at.start()] + text[at.end() :]).split())
