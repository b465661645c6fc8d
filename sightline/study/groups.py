"""Which prompts a predictor learns from and which it is tried on: grouped folds, or a published split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError, UsageError, near
from sightline.statistics.folds import grouped_k_fold
from sightline.study import reading
from sightline.study.captions import folded
from sightline.study.study import Study

Indices = NDArray[np.int64]

WAYS = ("folds", "published")
TAG = "split"
"""The tag that says which part of a published split a prompt is in."""
NAMES: Mapping[str, str] = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
    "test": "test",
}


@dataclass(frozen=True)
class Part:
    """Rows to learn from and rows to try the predictor on; none is in both."""

    learn: Indices
    guess: Indices


@dataclass(frozen=True)
class Split:
    """The parts of a split. `name` is kept with the predictions; `said` and `notes` are for people."""

    name: str
    said: str
    parts: Sequence[Part]
    notes: Sequence[str] = ()

    def fold(self, n: int) -> Indices:
        """The part in which each of n rows is tried, -1 where it is in none."""
        found = np.full(n, -1, dtype=np.int64)
        for number, part in enumerate(self.parts):
            found[part.guess] = number
        return found


def split_by(way: str, study: Study, prompts: Mapping[int, str], groups: Indices, k: int, seed: int) -> Split:
    """The split of these prompts (by id, with their text): `folds` or `published`."""
    if way not in WAYS:
        raise UsageError(f"there is no split {way!r}", remedy=near(way, WAYS))
    return in_folds(groups, k, seed) if way == "folds" else published(study, prompts, groups)


def groups_of(study: Study, prompts: Iterable[int]) -> Indices:
    """A number for each prompt, by id: the same for prompts of the same words and rephrasings of one prompt.

    What is relevant to a rephrasing is relevant to its original: held apart, one would tell the other's
    truth.
    """
    texts = dict(reading.prompts(study).select("prompt_id", "text").iter_rows())
    links = reading.links(study).filter(pl.col("kind") == "rephrases")
    leader: dict[object, object] = {}

    def find(each: object) -> object:
        while (above := leader.setdefault(each, each)) != each:
            leader[each] = leader[above]
            each = above
        return each

    for prompt, text in texts.items():
        leader[find(prompt)] = find(folded(text))
    for prompt, original in links.select("prompt_id", "to_prompt_id").iter_rows():
        leader[find(prompt)] = find(original)
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(find(prompt), len(numbers)) for prompt in prompts], dtype=np.int64)


def families_of(study: Study, prompts: Iterable[int]) -> Indices:
    """A number for each prompt, by id: the same for those that are one piece of evidence about a system.

    Rephrasings go with their original, originals with those of the same words, and captions of an image with
    its other captions. Two originals do not become one because a rephrasing of either reads the same.
    """
    texts = dict(reading.prompts(study).select("prompt_id", "text").iter_rows())
    links = reading.links(study).filter(pl.col("kind") == "rephrases")
    above = dict(links.select("prompt_id", "to_prompt_id").iter_rows())
    owners: dict[str, set[int]] = {}
    for image, caption in reading.captions(study).select("image_id", "caption").iter_rows():
        owners.setdefault(folded(caption), set()).add(image)
    numbers: dict[object, int] = {}
    found = []
    for prompt in prompts:
        seen = {prompt}
        while (original := above.get(prompt)) is not None and original not in seen:
            seen.add(original)
            prompt = original
        words = folded(texts[prompt])
        images = owners.get(words, set())
        family: object = next(iter(images)) if len(images) == 1 else words
        found.append(numbers.setdefault(family, len(numbers)))
    return np.array(found, dtype=np.int64)


def in_folds(groups: Indices, k: int, seed: int) -> Split:
    """Every prompt tried once, on a model that learned from the other folds; groups stay together."""
    if k < 2:
        raise UsageError(f"{k} folds hold nothing out", remedy="At least 2, usually 5 or 10.")
    different = len(np.unique(groups))
    if different < k:
        raise DataError(
            f"only {different} different prompts have truth, too few for {k} folds",
            remedy="Judge more prompts, or ask for fewer folds.",
        )
    fold = grouped_k_fold(groups, k, seed=seed)
    parts = [Part(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(k)]
    together = len(groups) - different
    notes = (
        [f"{together:,} prompts are another's words or rephrase it, and stay with it."] if together else []
    )
    return Split(f"{k}-fold", f"{k} folds", parts, notes)


def published(study: Study, prompts: Mapping[int, str], groups: Indices) -> Split:
    """Learned from train and validation and tried on test; without a test, from train on validation."""
    tags = reading.tags(study).filter(pl.col("name") == TAG)
    splits = {prompt: NAMES.get(value.strip().lower()) for prompt, _, value in tags.iter_rows()}
    place = [splits.get(prompt) for prompt in prompts]
    rows = {
        name: np.array([row for row, each in enumerate(place) if each == name], dtype=np.int64)
        for name in ("train", "validation", "test")
    }
    if len(rows["test"]):
        learn, guess = np.sort(np.concatenate([rows["train"], rows["validation"]])), rows["test"]
        said = "train and validation -> test" if len(rows["validation"]) else "train -> test"
    else:
        learn, guess, said = rows["train"], rows["validation"], "train -> validation"
    if not len(learn) or not len(guess):
        raise DataError(
            "the prompts with truth carry no published split to learn from and to be tried on",
            where=study.name,
            remedy=f"Tag prompts {TAG}=train, {TAG}=validation or {TAG}=test when you import them, "
            "or let folds be drawn: --split folds",
        )
    notes = []
    without = sum(each is None for each in place)
    if without:
        notes.append(f"{without:,} prompts with truth are in no part of the split and were left out.")
    shared = int(np.isin(groups[guess], groups[learn]).sum())
    if shared:
        notes.append(
            f"As published, {shared:,} of {len(guess):,} prompts tried are in the words of one learned from."
        )
    return Split(f"published: {said}", f"the published split, {said}", [Part(learn, guess)], notes)
