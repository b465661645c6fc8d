"""What predictors are shown of a prompt: measures of it, and how its words are spread over a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import DataError
from sightline.extension import Configured
from sightline.language.collection_statistics import STATISTICS, CollectionStatistics
from sightline.prediction.ranking_features import ranking_features
from sightline.records import Examples, Prompt, PromptKey
from sightline.study import reading
from sightline.study.captions import folded, owners, wordings
from sightline.study.running.progress import Listener
from sightline.study.running.run import run_together
from sightline.study.running.validate import gate
from sightline.study.study import Study

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ENOUGH_CAPTIONS = 50
"""With fewer captioned images than this, the prompts learned from tell more about how common words are."""

MOST_WORDS = 300
"""Every pair of words is looked up: what comes after these would take minutes and tell nothing."""


def prompt_measures(named: Sequence[str] = ()) -> list[Configured]:
    """The measures of a prompt that are features and can run here, and those asked for by name.

    What is asked for by name must run: an error says what it lacks.
    """
    every = (registry.configure("of_prompt", name) for name in registry.names("of_prompt"))
    chosen = {
        measure.identity: measure
        for measure in every
        if measure.spec.details["feature"] and not measure.spec.missing()
    }
    for spec in named:
        measure = registry.configure("of_prompt", spec)
        measure.load()
        chosen[measure.identity] = measure
    return list(chosen.values())


def examples(
    study: Study,
    ids: Sequence[int],
    measures: Sequence[Configured] | None = None,
    listener: Listener | None = None,
) -> Examples:
    """These prompts with measures of a prompt as features, scored now where they were not."""
    records = reading.prompt_records(study, ids)
    chosen = prompt_measures() if measures is None else list(measures)
    if chosen:
        run_together(study, chosen, listener=listener)
    columns = []
    for measure in chosen:
        scores = reading.scores(study, measure.identity)
        known = dict(zip(scores["prompt_id"].to_list(), scores["value"].to_list(), strict=True))
        columns.append([np.nan if known.get(key) is None else known[key] for key in ids])
    features = np.array(columns, dtype=np.float64).T.reshape(len(ids), len(chosen))
    return Examples([records[key] for key in ids], features, [measure.short for measure in chosen])


class Described:
    """Prompts with truth as examples, cut so that nothing about what is held out reaches what is learned.

    Measures are of a prompt alone. Statistics of a collection are those of the study's captions without the
    image whose caption the prompt is; where there are few captions, those of the prompts learned from,
    without the prompt's own group. Either way a prompt learned from is looked at as a new one would be.
    With `rankings`, what search engines answered is known as well, and a prompt that was not asked has none.
    """

    def __init__(
        self,
        study: Study,
        prompts: Mapping[int, str],
        measures: Sequence[Configured],
        groups: Indices,
        *,
        rankings: bool = False,
        listener: Listener | None = None,
    ) -> None:
        self.x = examples(study, list(prompts), measures, listener)
        self.of_rankings: list[str] = []
        if rankings:
            columns, self.of_rankings = ranking_features(study, list(prompts))
            names = [*self.x.feature_names, *self.of_rankings]
            self.x = replace(self.x, features=np.hstack([self.x.features, columns]), feature_names=names)
        self._measures = list(measures)
        self._groups = groups
        self._group_of = {
            folded(text): int(group) for text, group in zip(prompts.values(), groups, strict=True)
        }
        self._captions = _captions(study)
        self.counted_from = "the prompts learned from"
        if self._captions is not None:
            self._collection = _counted(self._captions)
            own = owners(wordings(study, prompts), self._captions)
            self._fixed = self._of_collection(list(prompts.values()), own)
            self.counted_from = f"the captions of {len(self._captions):,} images"

    @property
    def names(self) -> list[str]:
        """The features, in the order of their columns."""
        return [*self.x.feature_names, *STATISTICS]

    def cut(self, x: Examples, learn: Indices, guess: Indices) -> tuple[Examples, Examples]:
        """What is learned from and what is guessed, of `x`: these prompts with whatever else they carry."""
        if self._captions is not None:
            counted = self._fixed
        else:
            collection, document = self._learned(learn)
            texts = [prompt.text for prompt in self.x.prompts]
            counted = _table(collection, texts, [document.get(int(group)) for group in self._groups])
        return self._with(x, learn, counted[learn]), self._with(x, guess, counted[guess])

    def new(self, texts: Sequence[str]) -> Examples:
        """Prompts that are not of the study, seen by a model that learned from all that are."""
        records = [Prompt(PromptKey("new", str(number)), text) for number, text in enumerate(texts)]
        columns = []
        for measure in self._measures:
            outcomes = gate(measure.spec, measure.load()(records), len(records))
            columns.append([np.nan if each.value is None else each.value for each in outcomes])
        features = np.array(columns, dtype=np.float64).T.reshape(len(records), len(columns))
        if self._captions is not None:
            counted = self._of_collection(texts, owners([{folded(text)} for text in texts], self._captions))
        else:
            collection, document = self._learned(np.arange(len(self.x)))
            groups = [self._group_of.get(folded(text), -1) for text in texts]
            counted = _table(collection, texts, [document.get(group) for group in groups])
        return Examples(records, np.hstack([features, counted]), self.names)

    def _with(self, x: Examples, rows: Indices, counted: Array) -> Examples:
        taken = x.take(rows)
        return replace(taken, features=np.hstack([taken.features, counted]), feature_names=self.names)

    def _of_collection(self, texts: Sequence[str], own: Sequence[Sequence[int]]) -> Array:
        return _table(self._collection, texts, [images[0] if images else None for images in own])

    def _learned(self, rows: Indices) -> tuple[CollectionStatistics | None, dict[int, int]]:
        """Statistics in which a group of prompts is a document, and the document of each group."""
        together: dict[int, list[str]] = {}
        for row in rows.tolist():
            together.setdefault(int(self._groups[row]), []).append(self.x.prompts[row].text)
        return _counted(list(together.values())), {group: number for number, group in enumerate(together)}


def _captions(study: Study) -> list[list[str]] | None:
    """The captions of every image that has one with words, if there are enough such images."""
    found: dict[int, list[str]] = {}
    for image, _, caption in reading.captions(study).iter_rows():
        if any(map(str.isalnum, caption)):
            found.setdefault(image, []).append(caption)
    return list(found.values()) if len(found) >= ENOUGH_CAPTIONS else None


def _counted(captions: Sequence[Sequence[str]]) -> CollectionStatistics | None:
    try:
        return CollectionStatistics(captions)
    except DataError:
        # Not one of them has a word that is no stop word: there is nothing to count.
        return None


def _table(
    counted: CollectionStatistics | None, texts: Sequence[str], without: Sequence[int | None]
) -> Array:
    table = np.full((len(texts), len(STATISTICS)), np.nan)
    if counted is not None:
        for row, (text, own) in enumerate(zip(texts, without, strict=True)):
            shortened = " ".join(text.split()[:MOST_WORDS])
            table[row] = list(counted.of(shortened, without=own).values())
    return table
