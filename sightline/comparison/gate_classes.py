"""Classes of prompts that a gate tests: prompts with a tag, of a suite, or predicted to be hard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline.comparison.where import prompts_where
from sightline.errors import UsageError, near
from sightline.selection.difficulty import expected_of, target_of
from sightline.study import reading
from sightline.study.study import Study

WHOLE = "all prompts"
LEVELS = ("hard", "middle", "easy")
MOST_VALUES = 16
"""A tag with more values than this names things, not classes; it must be asked for by name."""


@dataclass(frozen=True)
class PromptClass:
    """A class and its prompts; `named` if a user asked for this very one, so that it has to be tested."""

    name: str
    prompts: frozenset[int]
    named: bool = True


@dataclass(frozen=True)
class Classes:
    """The classes in the order asked, and notes on how they were made."""

    classes: Sequence[PromptClass]
    notes: Sequence[str] = ()


def classes_of(
    study: Study, words: Sequence[str], *, every: bool = False, tier: str | None = None, kind: str = ""
) -> Classes:
    """The classes that words name, and with `every` all prompts and each value of each tag; else all prompts.

    `tag=value` is the prompts with that tag, `tag` each of its values in turn, `value` the one tag that has
    it, `suite=name` a suite. `difficulty:hard`, `middle` and `easy` are thirds of the prompts by what the
    shipped predictor predicts for them, `difficulty` all three; `kind` is that of the systems they are for.
    """
    prompts = reading.prompts(study)
    tags = reading.tags(study)
    selected: list[PromptClass] = []
    notes: list[str] = []
    if every or not words:
        selected.append(PromptClass(WHOLE, frozenset(prompts["prompt_id"].to_list())))
    levels = [level for word in words for level in _levels(word, tags)]
    thirds = _thirds(prompts, tier, kind, notes) if levels else {}
    for word in words:
        chosen = _levels(word, tags)
        named = len(chosen) == 1
        selected += [PromptClass(f"difficulty:{level}", thirds[level], named) for level in chosen]
        if not chosen:
            selected += _meant(study, word.strip(), prompts, tags)
    if every:
        selected += _every(tags, prompts.height, notes)
    first = {each.name: each for each in reversed(sorted(selected, key=lambda each: not each.named))}
    return Classes([first[name] for name in dict.fromkeys(each.name for each in selected)], notes)


def _levels(word: str, tags: pl.DataFrame) -> tuple[str, ...]:
    """Which levels of difficulty a word asks for; a study's own tag of that name goes before ours."""
    name, separator, level = (part.strip() for part in word.partition(":"))
    if name != "difficulty" or (not separator and name in tags["name"]):
        return ()
    if not separator:
        return LEVELS
    if level not in LEVELS:
        raise UsageError(f"there is no difficulty {level!r}", remedy=near(level, LEVELS))
    return (level,)


def _thirds(
    prompts: pl.DataFrame, tier: str | None, kind: str, notes: list[str]
) -> dict[str, frozenset[int]]:
    """Prompts by level: as equal thirds as can be by rising prediction, ties in the order of the study."""
    target = target_of({kind})
    prediction = expected_of(prompts["text"].to_list(), target, tier)
    values = np.array([np.nan if each is None else each.value for each in prediction.expected])
    keys = prompts["prompt_id"].to_numpy()
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    parts = np.array_split(order, len(LEVELS))
    notes.append(f"Difficulty is {prediction.how}: thirds of {len(known):,} prompts, the hardest first.")
    if len(known) < len(values):
        notes.append(
            f"{len(values) - len(known):,} prompts have no predicted difficulty: {prediction.refusals}."
        )
    return {level: frozenset(keys[part].tolist()) for level, part in zip(LEVELS, parts, strict=True)}


def _meant(study: Study, word: str, prompts: pl.DataFrame, tags: pl.DataFrame) -> list[PromptClass]:
    name, separator, value = word.partition("=")
    suites = prompts["suite"].unique().sort().to_list()
    if separator and not (name == "suite" and name not in tags["name"]):
        return [PromptClass(word, frozenset(prompts_where(study, word)))]
    if separator:
        if value not in suites:
            raise UsageError(f"there is no suite called {value!r}", remedy=near(value, suites))
        return [_suite(prompts, value)]
    if word in tags["name"]:
        return _values_of(tags, word)
    having = tags.filter(pl.col("value") == word)
    names = having["name"].unique().sort().to_list()
    if len(names) == 1 and word not in suites:
        return [PromptClass(f"{names[0]}={word}", frozenset(having["prompt_id"].to_list()))]
    if not names and word in suites:
        return [_suite(prompts, word)]
    if names:
        ways = [f"{each}={word}" for each in names] + ([f"suite={word}"] if word in suites else [])
        raise UsageError(f"{word!r} means several classes", remedy=f"Write {' or '.join(ways)}.")
    known = {*tags["name"], *suites, *(f"difficulty:{level}" for level in LEVELS)}
    few = tags.group_by("name").agg(pl.col("value").unique())
    known |= {value for values in few["value"] if len(values) <= MOST_VALUES for value in values}
    raise UsageError(f"there is no class of prompts called {word!r}", remedy=near(word, known))


def _suite(prompts: pl.DataFrame, name: str) -> PromptClass:
    chosen = prompts.filter(pl.col("suite") == name)
    return PromptClass(f"suite={name}", frozenset(chosen["prompt_id"].to_list()))


def _values_of(tags: pl.DataFrame, name: str) -> list[PromptClass]:
    chosen = tags.filter(pl.col("name") == name).group_by("value").agg("prompt_id").sort("value")
    return [
        PromptClass(f"{name}={value}", frozenset(keys), named=False) for value, keys in chosen.iter_rows()
    ]


def _every(tags: pl.DataFrame, total: int, notes: list[str]) -> list[PromptClass]:
    """Each value of each tag, except a split, which says how data was divided for learning."""
    sizes = tags.group_by("name").agg(pl.col("value").n_unique()).sort("name")
    names = [str(name) for name, values in sizes.iter_rows() if values <= MOST_VALUES and name != "split"]
    large = [str(name) for name, values in sizes.iter_rows() if values > MOST_VALUES]
    if large:
        notes.append(
            f"No classes are made of {', '.join(large)}: more than {MOST_VALUES} values. Name one you want."
        )
    found = [each for name in names for each in _values_of(tags, name)]
    # The same prompts under another name would be one more test to correct for.
    return [each for each in found if len(each.prompts) < total]
