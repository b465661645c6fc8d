"""Predicted relevance: how probably each ranked image is relevant, from judged images of other queries.

An example is a query with an image that an engine ranked for it. Its features: the engine's score
(standardised within the engine), how far it falls below the first of the ranking, 1 / rank, how similar the
query is to the nearest caption of the image, and to the image itself where an encoder has both in one space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from sightline.errors import DataError, ExtensionError, UsageError
from sightline.records import Examples, Prompt, Rankings
from sightline.statistics.folds import grouped_k_fold
from sightline.statistics.search import unit
from sightline.study import reading
from sightline.study.groups import groups_of
from sightline.study.study import Study
from sightline.systems.retrieve import UnkeptPicture

FEATURES = ("score", "below the first", "1 / rank", "nearest caption", "image")
FEWEST = 2
"""Queries without which nothing can be held out."""
BLOCK = 65_536
"""Captions whose similarity is worked out at once."""


@dataclass(frozen=True)
class PredictedRelevance:
    """One probability per place, NaN below the depth asked for, and the fold whose model gave it.

    `gain` is the known gain of each place, NaN where nobody judged it.
    """

    probability: np.ndarray
    gain: np.ndarray
    fold: np.ndarray
    offsets: np.ndarray
    prompt: np.ndarray
    system: np.ndarray
    learned_from: int
    relevant: int


class Context(Protocol):
    """What is known about the rankings: the study, its runs as a table, and their prompts."""

    study: Study
    table: Rankings

    @property
    def prompts(self) -> Mapping[int, Prompt]: ...


class _Places(NamedTuple):
    """The first places of all rankings: row in the run, ranking, rank from 0, prompt, system, image."""

    row: np.ndarray
    ranking: np.ndarray
    rank: np.ndarray
    prompt: np.ndarray
    system: np.ndarray
    image: np.ndarray


def predicted_relevance(
    context: Context, predictor: Any, encoder: Any, *, depth: int, min_rel: float, folds: int, seed: int
) -> PredictedRelevance:
    """How probably each of the first `depth` images of every ranking is relevant to its query.

    Nothing judged of a query, of one in the same words or of what it rephrases, is learned from when its own
    images are predicted.
    """
    if folds < 2:
        raise UsageError(f"{folds} folds hold nothing out", remedy="At least 2, usually 5.")
    if depth < 1:
        raise UsageError(f"depth is {depth}", remedy="Look at 1 place or more.")
    table = context.table
    places = _first(context, depth)
    relevant = np.where(np.isfinite(table.gains[places.row]), table.gains[places.row] >= min_rel, 0.0)
    # Of which prompts any gain is known: an image that nobody judged counts as not relevant there.
    judged = (np.diff(table.ideal_offsets) > 0)[places.ranking]
    prompts, number = np.unique(places.prompt, return_inverse=True)
    group = groups_of(context.study, prompts.tolist())[number]
    known = np.unique(group[judged])
    if len(known) < FEWEST:
        raise DataError(
            "relevance cannot be predicted: fewer than 2 queries with rankings have been judged",
            remedy="Judge or import relevance of some images of more queries.",
        )
    x = _examples(context, places, encoder)
    prepare = getattr(predictor, "prepare", None)
    x = x if prepare is None else prepare(x)
    fold = np.full(len(places.row), -1, dtype=np.int64)
    fold[judged] = grouped_k_fold(group[judged], min(folds, len(known)), seed=seed)
    # A query that nobody judged is held out with those in its words that somebody did.
    of_group = np.full(group.max() + 1, -1, dtype=np.int64)
    of_group[group[judged]] = fold[judged]
    fold = of_group[group]
    predictions = np.full(len(places.row), np.nan)
    for number in np.unique(fold):
        # Fold -1 holds the queries that nobody judged in any words: all that is known may speak of them.
        learn, guess = np.flatnonzero(judged & (fold != number)), np.flatnonzero(fold == number)
        model = predictor.fit(x.take(learn), relevant[learn, None])
        predictions[guess] = np.clip(model.predict(x.take(guess))[:, 0], 0.0, 1.0)
    probability, folded = np.full(len(table.gains), np.nan), np.full(len(table.gains), -1, dtype=np.int64)
    probability[places.row], folded[places.row] = predictions, fold
    assert table.prompts is not None and table.systems is not None
    return PredictedRelevance(
        probability, table.gains, folded, table.offsets, table.prompts, table.systems,
        int(judged.sum()), int(relevant[judged].sum()),
    )  # fmt: skip


def _first(context: Context, depth: int) -> _Places:
    table = context.table
    assert table.prompts is not None and table.systems is not None and table.images is not None
    lengths = np.diff(table.offsets)
    ranking = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(len(ranking)) - np.repeat(table.offsets[:-1], lengths)
    row = np.flatnonzero(rank < depth)
    mine = ranking[row]
    return _Places(row, mine, rank[row], table.prompts[mine], table.systems[mine], table.images[row])


def _examples(context: Context, places: _Places, encoder: Any) -> Examples:
    files = dict(reading.images(context.study).select("image_id", "sha256").iter_rows())
    queries, number = np.unique(places.prompt, return_inverse=True)
    texts = [context.prompts[key].text for key in queries.tolist()]
    asked = unit(np.asarray(encoder.text(texts), dtype=np.float32))
    columns = [
        *_of_scores(context, places),
        1 / (places.rank + 1.0),
        _nearest_caption(context.study, places, encoder, asked, number, texts),
        _of_image(context.study, places, encoder, asked, number, files),
    ]
    shown = {
        key: UnkeptPicture(context.study.files, files[key])
        for key in np.unique(places.image).tolist()
        if files[key] is not None
    }
    prompts: list[Prompt] = [context.prompts[key] for key in places.prompt.tolist()]
    pictures = [[shown[key]] if key in shown else [] for key in places.image.tolist()]
    return Examples(prompts, np.stack(columns, axis=1), FEATURES, pictures)


def _of_scores(context: Context, places: _Places) -> tuple[np.ndarray, np.ndarray]:
    """The score in standard deviations of its engine's, and how far below the first of its ranking it is."""
    table = context.table
    assert table.scores is not None
    score = table.scores[places.row]
    scaled, below = np.full(len(score), np.nan), np.full(len(score), np.nan)
    first = table.scores[table.offsets[:-1][places.ranking]]
    for system in np.unique(places.system):
        mine = (places.system == system) & np.isfinite(score)
        if mine.any():
            spread = float(score[mine].std()) or 1.0
            scaled[mine] = (score[mine] - score[mine].mean()) / spread
            below[mine] = (score[mine] - first[mine]) / spread
    return scaled, below


def _nearest_caption(
    study: Study, places: _Places, encoder: Any, asked: np.ndarray, number: np.ndarray, texts: Sequence[str]
) -> np.ndarray:
    """The highest cosine of the query with a caption of the image, but for one that is the query itself."""
    from sightline.study.captions import folded

    wanted = np.unique(places.image)
    said = reading.captions(study).filter(pl.col("image_id").is_in(wanted)).sort("image_id")
    found = np.full(len(places.row), np.nan)
    if said.is_empty():
        return found
    captions = said["caption"].to_list()
    vectors = unit(np.asarray(encoder.text(captions), dtype=np.float32))
    plain = {text: n for n, text in enumerate(dict.fromkeys(map(folded, captions)))}
    of_caption = np.array([plain[folded(each)] for each in captions])
    own = np.array([plain.get(folded(text), -1) for text in texts])[number]
    start = np.searchsorted(said["image_id"].to_numpy(), places.image, side="left")
    count = np.searchsorted(said["image_id"].to_numpy(), places.image, side="right") - start
    for at in range(int(count.max(initial=0))):
        for first in range(0, len(found), BLOCK):
            rows = np.arange(first, min(first + BLOCK, len(found)))
            rows = rows[count[rows] > at]
            caption = start[rows] + at
            rows, caption = (each[of_caption[caption] != own[rows]] for each in (rows, caption))
            cosine = (asked[number[rows]] * vectors[caption]).sum(axis=1)
            found[rows] = np.fmax(found[rows], cosine)
    return found


def _of_image(
    study: Study,
    places: _Places,
    encoder: Any,
    asked: np.ndarray,
    number: np.ndarray,
    files: dict[int, str | None],
) -> np.ndarray:
    """The cosine between the query and the image, where the encoder sees images too."""
    found = np.full(len(places.row), np.nan)
    keys = [key for key in np.unique(places.image).tolist() if files[key] is not None]
    if not keys or not _sees(encoder):
        return found
    pictures = [UnkeptPicture(study.files, str(files[key])) for key in keys]
    vectors = np.array(encoder.image(pictures), dtype=np.float32)
    seen = np.isfinite(vectors).all(axis=1)
    vectors[~seen] = 0
    vectors = unit(vectors)
    place = np.searchsorted(np.array(keys), places.image)
    there = (place < len(keys)) & (np.array([*keys, -1])[np.minimum(place, len(keys))] == places.image)
    there &= np.append(seen, False)[place]
    found[there] = (asked[number[there]] * vectors[place[there]]).sum(axis=1)
    return found


def _sees(encoder: Any) -> bool:
    """Whether an encoder of texts encodes images too: one that answers for another is asked."""
    try:
        return hasattr(encoder, "image") and encoder.image([]) is not None
    except ExtensionError:
        return False
