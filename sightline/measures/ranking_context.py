"""The context of rankings: queries, captions, engines run again, predicted relevance.

Most measures of a ranking need none of it: nothing here is read before it is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline import registry
from sightline.errors import SightlineError
from sightline.extension import Configured
from sightline.language.search_words import search_words
from sightline.measures.predicted_relevance import predicted_relevance
from sightline.records import Candidates, NoValue, Prompt
from sightline.statistics.ranking_difficulty import noisy_queries
from sightline.study import listing, reading
from sightline.study.captions import owners, wordings
from sightline.study.running.embedding import Cached, encoders_of, loaded_over
from sightline.study.study import Study
from sightline.systems.retrieve import candidates_of, search_groups, with_folder

if TYPE_CHECKING:
    import polars as pl

    from sightline.records import Rankings

BLOCK = 4_000_000
"""Scores of queries x images that are held at once while a whole collection is scored."""
NOT_OURS = "the engine was not run here and cannot be run again"
ONE_WORD = "a query of one word has none to drop"
NO_VECTOR = 'the engine does not encode its query as a vector: use noise="words"'


class RankingContext:
    """What a study knows about its rankings; the table is set once it is made."""

    table: Rankings

    def __init__(self, study: Study, left_out: Sequence[int] = ()) -> None:
        self.study = study
        self._left_out = np.array(left_out, dtype=np.int64)
        self._collection_scores: list[float | NoValue] | None = None

    def loaded(self, measure: Configured) -> Any:
        """A measure ready to be called, its encoders reading from the study's vectors."""
        return loaded_over(self.study, measure) if any(encoders_of(measure)) else measure.load()

    @cached_property
    def prompts(self) -> dict[int, Prompt]:
        """The prompts of the rankings, by id."""
        return reading.prompt_records(self.study, np.unique(self._asked).tolist())

    @property
    def _asked(self) -> np.ndarray:
        assert self.table.prompts is not None
        return self.table.prompts

    def texts(self) -> list[str]:
        return [self.prompts[key].text for key in self._asked.tolist()]

    @cached_property
    def searched(self) -> bytes:
        """A digest of the collections that the ranked images are of: their images, files and captions."""
        images = self._images
        files = reading.images(self.study).join(images, on="image_id", how="semi").sort("image_id")
        said = reading.captions(self.study).join(images, on="image_id", how="semi").sort("image_id", "n")
        digest = hashlib.sha256(np.sort(self._left_out).tobytes())
        for table in (files.select("image_id", "sha256"), said.select("image_id", "caption")):
            # One text of all rows, with the length of each, so that no two tables have the same digest.
            keys, texts = table.to_series(0).to_numpy(), table.to_series(1).fill_null("")
            digest.update(keys.tobytes() + texts.str.len_bytes().to_numpy().tobytes())
            digest.update("".join(texts.to_list()).encode())
        return digest.digest()

    @cached_property
    def _images(self) -> pl.DataFrame:
        """image_id of all images of the collections that the ranked ones are of."""
        import polars as pl

        assert self.table.images is not None
        images = reading.images(self.study).select("image_id", "collection")
        searched = images.filter(pl.col("image_id").is_in(np.unique(self.table.images)))["collection"]
        known = images.filter(pl.col("collection").is_in(searched.unique().implode()))
        return known.select("image_id").sort("image_id")

    def caption_words(self) -> tuple[Any, np.ndarray]:
        return self._caption_words

    @cached_property
    def _caption_words(self) -> tuple[Any, np.ndarray]:
        from sklearn.feature_extraction.text import CountVectorizer

        assert self.table.images is not None
        said = reading.captions(self.study).join(self._images, on="image_id", how="semi")
        ids = self._images["image_id"].to_numpy()
        row = np.searchsorted(ids, said["image_id"].to_numpy())
        texts: list[list[str]] = [[] for _ in ids]
        for number, caption in zip(row.tolist(), said["caption"].to_list(), strict=True):
            texts[number].append(caption)
        documents = [" \n ".join(captions) for captions in texts]
        counter = CountVectorizer(analyzer=search_words, dtype=np.float64)
        if not any(map(search_words, documents)):
            counter.set_params(vocabulary=[""])
        return counter.fit_transform(documents), np.searchsorted(ids, self.table.images)

    def collection_scores(self) -> list[float | NoValue]:
        if self._collection_scores is None:
            found: list[float | NoValue] = [NoValue(NOT_OURS)] * len(self._asked)
            for rows, again in self._engines():
                if isinstance(again, str):
                    values: Sequence[float | NoValue] = [NoValue(again)] * len(rows)
                else:
                    values = again.means([self.prompts[key] for key in self._asked[rows].tolist()])
                for row, value in zip(rows.tolist(), values, strict=True):
                    found[row] = value
            self._collection_scores = found
        return self._collection_scores

    def asked_again(
        self, k: int, *, noise: str, share: float, seed: int
    ) -> tuple[np.ndarray, np.ndarray, list[str | None]]:
        found: list[np.ndarray] = [np.zeros(0, dtype=np.int64)] * len(self._asked)
        why: list[str | None] = [NOT_OURS] * len(self._asked)
        lengths = np.diff(self.table.offsets)
        for rows, again in self._engines():
            asked = [self.prompts[key] for key in self._asked[rows].tolist()]
            for row, reason in zip(rows.tolist(), _reasons(again, asked, noise), strict=True):
                why[row] = reason
            if isinstance(again, str) or (noise == "vector" and not again.encodes):
                continue
            if noise == "words":
                asked = [query._replace(text=fewer_words(query.text, share, seed)) for query in asked]
            # No deeper than the run goes: what it did not keep cannot be found again.
            depth = min(k, int(lengths[rows].max(initial=1)))
            nudge = (share, seed) if noise == "vector" else None
            for row, images in zip(rows.tolist(), again.images(asked, depth, nudge), strict=True):
                found[row] = images[~np.isin(images, self._left_out)]
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in found])]).astype(np.int64)
        return np.concatenate([*found, np.zeros(0, dtype=np.int64)]), offsets, why

    def _engines(self) -> list[tuple[np.ndarray, AskedAgain | str]]:
        """The rankings of each engine that was run here with the engine, or why it cannot be run again."""
        assert self.table.systems is not None
        return [
            (np.flatnonzero(self.table.systems == system), self._again(self._settings[system]))
            for system in np.unique(self.table.systems).tolist()
            if system in self._settings
        ]

    @cached_property
    def _settings(self) -> dict[int, dict[str, Any]]:
        """How each engine that was run here was run, by system."""
        answers, settings = listing.named_answers(self.study)
        ids = dict(reading.systems(self.study).select("system", "system_id").iter_rows())
        found: dict[int, dict[str, Any]] = {}
        for system, run in zip(answers["system"].to_list(), settings, strict=True):
            if run is not None and "retriever" in run and ids[system] not in found:
                found[ids[system]] = dict(run)
        return found

    def _again(self, settings: dict[str, Any]) -> AskedAgain | str:
        try:
            engine = registry.configure("retriever", str(settings["retriever"]))
            engine.require()
            if engine.spec.version != settings["version"]:
                return f"{engine.name} has changed since it was run"
            own = bool(settings.get("without_own"))
            return AskedAgain(self.study, engine, str(settings["collection"]), own)
        except SightlineError as error:
            return f"the engine cannot be run again: {error.what}"

    def relevance(
        self, predictor: Any, encoder: Any, *, depth: int, min_rel: float, folds: int, seed: int
    ) -> np.ndarray:
        return predicted_relevance(
            self, predictor, encoder, depth=depth, min_rel=min_rel, folds=folds, seed=seed
        ).probability


def _reasons(again: AskedAgain | str, asked: Sequence[Prompt], noise: str) -> list[str | None]:
    """Why each query cannot be run again with this noise; None where it can."""
    if isinstance(again, str):
        return [again] * len(asked)
    if noise == "vector":
        return [None if again.encodes else NO_VECTOR] * len(asked)
    return [None if len(query.text.split()) > 1 else ONE_WORD for query in asked]


class AskedAgain:
    """An engine as it was run, to be run again over the same collection as it stands."""

    def __init__(self, study: Study, engine: Configured, collection: str, without_own: bool) -> None:
        self._study = study
        self._engine = engine
        self._without_own = without_own
        self._candidates = with_folder(study, candidates_of(study, collection), engine)
        known = reading.images(study).select("collection", "name", "image_id").rows()
        ids = {(home, name): key for home, name, key in known}
        self._ids = np.array([ids[key.collection, key.name] for key in self._candidates.keys])

    @property
    def encodes(self) -> bool:
        """Whether the query becomes a vector."""
        return any(encoders_of(self._engine))

    def images(
        self, queries: Sequence[Prompt], k: int, nudge: tuple[float, int] | None = None
    ) -> list[np.ndarray]:
        """The ids of the first k images of each query, its vector moved by a fraction of its length."""
        search = self._loaded(nudge)
        found: dict[int, np.ndarray] = {}
        for group, seen in self._groups(queries):
            indices = search(seen, [_asked(queries[number]) for number in group], k)[0]
            found |= {number: self._ids[row[row >= 0]] for number, row in zip(group, indices, strict=True)}
        return [found[number] for number in range(len(queries))]

    def means(self, queries: Sequence[Prompt]) -> list[float]:
        """The mean score of each query over all images that the engine can answer with.

        An engine that compares words gives images without a common word no score: theirs is 0.
        """
        search = self._loaded(None)
        images = len(self._ids)
        size = max(1, BLOCK // max(1, images))
        found = np.full(len(queries), np.nan)
        for group, seen in self._groups(queries):
            for start in range(0, len(group), size):
                part = list(group[start : start + size])
                scores = np.asarray(search(seen, [_asked(queries[number]) for number in part], images)[1])
                scored = np.isfinite(scores)
                among = scored.sum(axis=1) if self.encodes else np.full(len(part), images)
                found[part] = np.where(scored, scores, 0.0).sum(axis=1) / np.maximum(among, 1)
        return found.tolist()

    def _groups(self, queries: Sequence[Prompt]) -> list[tuple[Sequence[int], Candidates]]:
        """The queries that are asked together, by number, and what they are asked of: as the run had it."""
        if not self._without_own:
            return [(range(len(queries)), self._candidates)]
        rows = reading.prompts(self._study).iter_rows()
        known = {(suite, ref): (key, text) for key, suite, ref, text in rows}
        # What a query says of itself is its wording in the study, whatever noise took away from it.
        own = dict(known[query.key.suite, query.key.ref] for query in queries)
        texts = wordings(self._study, own)
        return list(search_groups(self._candidates, texts, owners(texts, self._candidates.captions)))

    def _loaded(self, nudge: tuple[float, int] | None) -> Callable[[Candidates, Sequence[Prompt], int], Any]:
        encoders: dict[str, Any] = {}
        for name, each in encoders_of(self._engine):
            encoder = Cached(self._study, each)
            encoders[name] = encoder if nudge is None else _Nudged(encoder, *nudge)
        return self._engine.load(encoders or None)


class _Asked(str):
    """A query, which differs from a caption by its type: both pass through the same encoder."""


def _asked(query: Prompt) -> Prompt:
    return query._replace(text=_Asked(query.text))


class _Nudged:
    """An encoder that adds noise to the vectors of queries, and of nothing else."""

    def __init__(self, encoder: Any, share: float, seed: int) -> None:
        self._encoder = encoder
        self._share = share
        self._seed = seed

    def image(self, images: Any) -> np.ndarray:
        return np.asarray(self._encoder.image(images))

    def text(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.asarray(self._encoder.text([str(text) for text in texts]), dtype=np.float32)
        for number, text in enumerate(texts):
            if isinstance(text, _Asked):
                # Seeded by the text: the noise is the same whatever else is encoded with it.
                seed = _seed_of(text, self._seed)
                rows[number] = noisy_queries(rows[number][None], share=self._share, seed=seed)[0]
        return rows


def _seed_of(text: str, seed: int) -> int:
    """A seed for one text, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed} {text}".encode()).digest()[:8], "big")


def fewer_words(text: str, share: float, seed: int) -> str:
    """The text with each word dropped with probability `share`: at least one, never all."""
    words = text.split()
    if len(words) < 2:
        return text
    chance = np.random.default_rng(_seed_of(text, seed)).random(len(words))
    kept = chance >= share
    kept[np.argmin(chance)] = False
    kept[np.argmax(chance)] = True
    return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)
