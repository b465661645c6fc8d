"""A bridge between images and texts: a joint space fitted in closed form on captioned images.

Frozen image features and frozen text vectors are joined in two ways, which are concatenated. Kernel ridge
regression predicts the vector of an image's caption; regularised canonical correlation finds the directions
in which images and captions vary together. Both use one Gaussian kernel of images.
Sources: C. Saunders, A. Gammerman and V. Vovk, Ridge regression in dual variables, ICML (1998); D. Hardoon,
S. Szedmak and J. Shawe-Taylor, Canonical correlation analysis, Neural Computation 16 (2004).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product

import numpy as np

from sightline.statistics.folds import k_fold
from sightline.statistics.grouping import Array, Indices

WIDTH = 0.5
"""The kernel is exp(-WIDTH |a - b|^2) of directions a and b."""
NEAREST = 10
"""Nearest captions by which it is measured how much of a hub an image is."""
BLOCK = 2048
"""Rows computed at once."""
REFERENCES = 2000
"""Captions of the fit that are kept to measure hubs."""
MOST_IMAGES = 4000
"""More images are sampled down to this number: time grows with its cube."""
LEAST_IMAGES = 20
TINY = 1e-12


@dataclass(frozen=True)
class Settings:
    """Regularisation of ridge and of canonical correlation, and the number of canonical directions."""

    ridge: float = 0.3
    canonical: float = 3.0
    dimensions: int = 50


GRID = tuple(Settings(*values) for values in product((0.1, 0.3, 1.0), (1.0, 3.0, 10.0), (30, 100)))


@dataclass(frozen=True)
class Bridge:
    """A fitted bridge: nothing but arrays, so that it can be stored as such."""

    centre: Array
    landmarks: Array
    offset: Array
    image_map: Array
    ridge_columns: int
    text_centre: Array
    text_map: Array
    references: Array

    def image(self, features: Array) -> Array:
        """Images in the joint space, one row each, of length 1; a row with NaN stays NaN.

        With s(t, i) the mean of both parts' cosines and h(i) the mean s of the image's 10 nearest captions of
        the fit, a text's row times an image's row is proportional to s(t, i) - h(i) / 2: images near to
        every text (hubs) would otherwise be ranked first everywhere (CSLS, Conneau et al. 2018).
        """
        if len(features) > BLOCK:
            parts = [self.image(features[start : start + BLOCK]) for start in range(0, len(features), BLOCK)]
            return np.concatenate(parts)
        seen = _kernel(_directions(features, self.centre), self.landmarks)
        mapped = self._halves(seen @ self.image_map - self.offset)
        near = self.references @ mapped.T
        k = min(NEAREST, len(near))
        hub = np.partition(near, -k, axis=0)[-k:].mean(axis=0)[:, None]
        # The last column makes every row equally long without changing a single product.
        rest = np.sqrt(np.maximum(1.25 - (mapped**2).sum(axis=1, keepdims=True) - hub**2 / 4, 0))
        return np.hstack([mapped, -hub / 2, rest]) / np.sqrt(1.25)

    def text(self, vectors: Array) -> Array:
        """Texts in the joint space, one row each, of length 1."""
        mapped = self._texts(vectors)
        rows = np.hstack([mapped, np.ones((len(mapped), 1)), np.zeros((len(mapped), 1))])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _texts(self, vectors: Array) -> Array:
        centred = vectors - self.text_centre
        return self._halves(np.hstack([centred, centred @ self.text_map]))

    def _halves(self, rows: Array) -> Array:
        first, second = rows[:, : self.ridge_columns], rows[:, self.ridge_columns :]
        return np.hstack([_unit(first), _unit(second)]) / np.sqrt(2)

    def arrays(self) -> dict[str, Array]:
        """The arrays to store, by name."""
        return {each.name: np.asarray(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Bridge:
        """The bridge whose arrays these are; ValueError where their shapes do not agree."""
        names = [each.name for each in fields(cls)]
        if missing := [name for name in names if name not in arrays]:
            raise ValueError(f"there is no {', '.join(missing)}")
        values = {name: np.asarray(arrays[name], dtype=np.float64) for name in names}
        if not all(np.isfinite(array).all() for array in values.values()):
            raise ValueError("a number is not finite")
        columns = int(values.pop("ridge_columns"))
        bridge = cls(ridge_columns=columns, **values)
        width = columns + bridge.text_map.shape[1]
        fits = (
            bridge.landmarks.shape == (len(bridge.image_map), len(bridge.centre))
            and bridge.image_map.shape[1] == len(bridge.offset) == bridge.references.shape[1] == width
            and len(bridge.text_map) == len(bridge.text_centre) == columns
        )
        if not fits:
            raise ValueError("the shapes of its arrays do not agree")
        return bridge


def fit(images: Array, captions: Array, owner: Indices, settings: Settings, *, seed: int = 0) -> Bridge:
    """Fit a bridge on images x features and captions x numbers; `owner` is the row of a caption's image."""
    return _Base(images, captions, owner, seed).bridge(settings)


def ranks(bridge: Bridge, images: Array, captions: Array, owner: Indices) -> Indices:
    """For each caption how many images rank before its own; ties rank before it."""
    texts, rows = bridge.text(captions), bridge.image(images).T
    before = np.empty(len(owner), dtype=np.int64)
    for start in range(0, len(owner), BLOCK):
        part = slice(start, start + BLOCK)
        scores = texts[part] @ rows
        own = scores[np.arange(len(scores)), owner[part]]
        before[part] = (scores >= own[:, None]).sum(axis=1) - 1
    return before


def choose(
    images: Array,
    captions: Array,
    owner: Indices,
    *,
    folds: int = 5,
    seed: int = 0,
) -> Settings:
    """The settings with the highest mean reciprocal rank of captions of held-out images.

    More than MOST_IMAGES images are sampled down to that number: more would not choose better.
    """
    images, captions, owner = _drawn(images, captions, owner, seed)
    scores = np.zeros(len(GRID))
    for seen, held in _cuts(len(images), folds, seed):
        base = _Base(*_part(images, captions, owner, seen), seed)
        shown = _part(images, captions, owner, held)
        for number, settings in enumerate(GRID):
            scores[number] += (1 / (1 + ranks(base.bridge(settings), *shown))).sum()
    return GRID[int(scores.argmax())]


Part = tuple[Indices, "Bridge"]
"""The images of a fold, and a bridge that was fitted without them."""


@dataclass(frozen=True)
class HeldOut:
    """Captions whose image was held out: that image, its rank from 0, and among how many images."""

    fitted_on: int
    image: Indices
    rank: Indices
    among: Indices

    def hits(self, k: int) -> Array:
        """1 for each caption whose image is among the first k."""
        return (self.rank < k).astype(np.float64)

    def chance(self, k: int) -> float:
        """The expected hit rate of guessing."""
        return float(np.minimum(1.0, k / self.among).mean())


def cross_validate(
    images: Array,
    captions: Array,
    owner: Indices,
    *,
    folds: int = 5,
    seed: int = 0,
    shares: Sequence[float] = (0.25, 0.5, 1.0),
    done: Callable[[], None] = lambda: None,
    kept: list[Part] | None = None,
) -> list[HeldOut]:
    """Rank the held-out images of each fold by bridges fitted on fractions (`shares`) of the other images.

    Nested: settings are chosen by cross-validation within the training images, never by those held out.
    `kept` is given the bridges that were fitted on all images but those of a fold. More than MOST_IMAGES
    images are sampled down to that number first, and nothing is given to `kept`.
    """
    if len(images) > MOST_IMAGES:
        images, captions, owner = _drawn(images, captions, owner, seed)
        kept = None
    results: list[HeldOut] = []
    for share in shares:
        parts, sizes = [], []
        for fold, (seen, held) in enumerate(_cuts(len(images), folds, seed)):
            order = np.random.default_rng((seed, fold)).permutation(seen)
            used = np.sort(order[: max(round(share * len(seen)), 2 * folds)])
            shown = _part(images, captions, owner, used)
            fitted = fit(*shown, choose(*shown, folds=folds, seed=seed), seed=seed)
            rank = ranks(fitted, *_part(images, captions, owner, held))
            parts.append((owner[np.isin(owner, held)], rank, np.full(rank.size, len(held))))
            sizes.append(len(used))
            if kept is not None and len(used) == len(seen):
                kept.append((held, fitted))
            done()
        columns = (np.concatenate(each).astype(np.int64) for each in zip(*parts, strict=True))
        results.append(HeldOut(round(float(np.mean(sizes))), *columns))
    return results


def cross_fitted(
    images: Array, captions: Array, owner: Indices, *, folds: int = 5, seed: int = 0
) -> Iterator[Part]:
    """For each fold the images held out, and the bridge whose settings and fit do not depend on them."""
    for seen, held in _cuts(len(images), folds, seed):
        shown = _part(images, captions, owner, seen)
        yield held, fit(*shown, choose(*shown, folds=folds, seed=seed), seed=seed)


class _Base:
    """What all settings share: the kernel, the captions and their decompositions."""

    def __init__(self, images: Array, captions: Array, owner: Indices, seed: int) -> None:
        images, captions, owner = _drawn(images, captions, owner, seed)
        counts = np.bincount(owner, minlength=len(images))
        if not counts.all():
            raise ValueError("every image needs a caption")
        self.captions = captions
        self.seed = seed
        self.centre = _roots(images).mean(axis=0)
        self.landmarks = _directions(images, self.centre)
        values, vectors = np.linalg.eigh(_kernel(self.landmarks, self.landmarks))
        kept = values > 1e-9 * values[-1]
        self.values, self.vectors = values[kept], vectors[:, kept]
        mean_captions = np.zeros((len(images), captions.shape[1]))
        np.add.at(mean_captions, owner, captions)
        mean_captions /= counts[:, None]
        self.text_centre = mean_captions.mean(axis=0)
        self.mean_captions = mean_captions - self.text_centre
        self._canonical: dict[float, tuple[Array, Array, Array]] = {}

    def bridge(self, settings: Settings) -> Bridge:
        """The bridge of these settings."""
        ridge = self.vectors / (self.values + settings.ridge) @ (self.vectors.T @ self.mean_captions)
        if settings.canonical not in self._canonical:
            self._canonical[settings.canonical] = self.canonical(settings.canonical)
        image_map, offset, text_map = self._canonical[settings.canonical]
        d = min(settings.dimensions, text_map.shape[1])
        columns = ridge.shape[1]
        plain = Bridge(
            centre=self.centre,
            landmarks=self.landmarks,
            offset=np.concatenate([np.zeros(columns), offset[:d]]),
            image_map=np.hstack([ridge, image_map[:, :d]]),
            ridge_columns=columns,
            text_centre=self.text_centre,
            text_map=text_map[:, :d],
            references=np.zeros((0, columns + d)),
        )
        chosen = self.captions
        if len(chosen) > REFERENCES:
            rows = np.random.default_rng(self.seed).choice(len(chosen), REFERENCES, replace=False)
            chosen = chosen[np.sort(rows)]
        return Bridge(**{**plain.__dict__, "references": plain._texts(chosen)})

    def canonical(self, strength: float) -> tuple[Array, Array, Array]:
        """Maps of kernel rows and of centred texts onto canonical directions, weighted by correlation.

        With covariances S, each regularised by `strength` times its mean variance, the directions are the
        singular vectors of Sxx^-1/2 Sxy Syy^-1/2; x is the image in the kernel's principal axes.
        """
        middle, left, right = self.thin
        n = len(self.landmarks)
        scaled = [part.sizes / np.sqrt(n) / part.deviations(strength, n) for part in (left, right)]
        cross = scaled[0][:, None] * (left.rows.T @ right.rows) * scaled[1]
        u, correlation, v = np.linalg.svd(cross, full_matrices=False)
        # Either sign is right; one is fixed, so that a fit is the same on every machine.
        turn = np.where(u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])] < 0, -1.0, 1.0)
        u, v = u * turn, v * turn[:, None]
        onto = left.columns / left.deviations(strength, n) @ u * correlation
        to_axes = self.vectors / np.sqrt(self.values)
        texts = right.columns / right.deviations(strength, n) @ v.T * correlation
        return to_axes @ onto, middle @ onto, texts

    @cached_property
    def thin(self) -> tuple[Array, _Thin, _Thin]:
        """The mean image in the kernel's axes, and the decompositions of centred images and captions."""
        axes = self.vectors * np.sqrt(self.values)
        middle = axes.mean(axis=0)
        return middle, _Thin.of(axes - middle), _Thin.of(self.mean_captions)


@dataclass(frozen=True)
class _Thin:
    """A centred matrix as rows diag(sizes) columns', without the directions in which nothing varies."""

    rows: Array
    sizes: Array
    columns: Array

    @classmethod
    def of(cls, matrix: Array) -> _Thin:
        rows, sizes, columns = np.linalg.svd(matrix, full_matrices=False)
        kept = sizes > 1e-9 * max(float(sizes[0]), TINY)
        return cls(rows[:, kept], sizes[kept], columns[kept].T)

    def deviations(self, strength: float, n: int) -> Array:
        """Square roots of the regularised variances along the columns."""
        variances = self.sizes**2 / n
        return np.asarray(np.sqrt(variances + strength * variances.sum() / len(self.columns)))


def _roots(features: Array) -> Array:
    # Square roots: a few channels that are always active would otherwise decide every distance.
    return np.asarray(np.sign(features) * np.sqrt(np.abs(features)), dtype=np.float64)


def _directions(features: Array, centre: Array) -> Array:
    return _unit(_roots(features) - centre)


def _kernel(a: Array, b: Array) -> Array:
    return np.asarray(np.exp(-2 * WIDTH * (1 - a @ b.T)))


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))


def _cuts(n: int, folds: int, seed: int) -> list[tuple[Indices, Indices]]:
    fold = k_fold(n, folds, seed=seed)
    return [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(folds)]


def _drawn(images: Array, captions: Array, owner: Indices, seed: int) -> tuple[Array, Array, Indices]:
    """All images with their captions, or a sample of MOST_IMAGES."""
    if len(images) <= MOST_IMAGES:
        return images, captions, owner
    drawn = np.random.default_rng(seed).choice(len(images), MOST_IMAGES, replace=False)
    return _part(images, captions, owner, np.sort(drawn))


def _part(images: Array, captions: Array, owner: Indices, rows: Indices) -> tuple[Array, Array, Indices]:
    place = np.full(len(images), -1)
    place[rows] = np.arange(len(rows))
    mine = place[owner] >= 0
    return images[rows], captions[mine], place[owner[mine]]
