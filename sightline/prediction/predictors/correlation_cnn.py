"""A small network that looks at how alike the images of a prompt are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import ImageEncoder, needs, predictor
from sightline.prediction.predictors._network import (
    FEWEST_HELD,
    Descent,
    ImageNetwork,
    Standard,
    descend,
    descended,
    first_weights,
)
from sightline.prediction.predictors._parts import marks, settled_columns
from sightline.prediction.predictors._pictured import image_vectors, names_of, seen, unit, with_images
from sightline.records import Examples

FILTERS = (64, 128, 256, 512)
DENSE = 1024
BATCH = 256
RATES = (1e-3, 3e-4, 1e-4, 1e-5)
DECAYS = (0.0, 0.01, 0.1)


@predictor(sees="images", extra="torch", source="Poesina et al. 2025 (PQPP)", licence="Apache-2.0")
class correlation_cnn(ImageNetwork):
    """A convolutional network on the matrix of cosines between the images of a prompt.

    Systems whose images agree have understood the prompt, and an engine whose first answers agree has found
    something. `encoder` turns images into vectors. The matrix is of the first `most` images of all systems
    together (4 x 4 for two generators of two images), or, with `apart`, of the first `most` of each system,
    stacked as channels (25 x 25 for each search engine). Its side is that of the most images learned from;
    where there are fewer the rest is 0. Four blocks of 3 x 3 convolutions (64, 128, 256, 512 filters), ReLU
    and 2 x 2 max pooling are followed by dense layers of 1024 and of one unit a target. A 4 x 4 matrix does
    not survive four poolings: one that would leave nothing is left out. Least squares by AdamW with
    `learning_rate` and weight decay `decay` in batches of `batch`, for at most `epochs` epochs; a fifth of
    the examples is held out, and after `patience` epochs without progress on them the best weights are taken.
    With `grid` the rates 1e-3, 3e-4, 1e-4 and 1e-5 and the decays 0, 0.01 and 0.1 are all tried, and the pair
    with the least held-out error is taken.
    All chance comes from `seed`. A prompt without images gets the mean of the truth.
    """

    def __init__(
        self,
        *,
        encoder: ImageEncoder = needs("encoder", "colour_layout"),
        most: int = 25,
        apart: bool = False,
        epochs: int = 25,
        learning_rate: float = 0.0003,
        decay: float = 0.01,
        batch: int = 64,
        patience: int = 5,
        grid: bool = False,
        seed: int = 0,
    ) -> None:
        if most < 1:
            raise UsageError(f"correlation_cnn: most={most}", remedy="Look at 1 image or more.")
        super().__init__(
            Descent(epochs, learning_rate, decay, batch, patience, seed).check("correlation_cnn")
        )
        self._encoder = encoder
        self._most = most
        self._apart = apart
        self._grid = grid
        self._channels: tuple[str, ...] = ()
        self._side = 0

    def prepare(self, x: Examples) -> Examples:
        return with_images(x, self._encoder)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        list(settled_columns(truth))
        names, there = self._images(x)[1:]
        self._channels = tuple(np.unique(names[there]).tolist())
        widest = [int((there & (names == name)).sum(axis=1).max(initial=0)) for name in self._channels]
        self._side = min(self._most, max(widest, default=0))
        if not self._side:
            raise DataError("none of the prompts has an image that could be read")
        matrices, owned = self._matrices(x)
        rows = np.flatnonzero(owned.any(axis=(1, 2)) & np.isfinite(truth).any(axis=1))
        self._truth = Standard.of(truth)
        target, settled = self._truth.apply(truth)
        matrices, target, settled = matrices[rows], target[rows], settled[rows]
        rng = np.random.default_rng(self._how.seed)
        weights = first_weights(self._shapes(truth.shape[1]), rng)
        # The last layer starts at 0: an untrained network says the mean.
        weights["out"] *= 0.0
        import torch

        def loss(live: Mapping[str, Any], part: np.ndarray, chance: Any) -> Any:
            predicted = _forward(live, torch.from_numpy(matrices[part]))
            error = (predicted - torch.from_numpy(target[part])) ** 2 * torch.from_numpy(settled[part])
            return error.sum() / max(float(settled[part].sum()), 1.0)

        self._weights = self._best(weights, len(rows), loss, rng)
        return self

    def _best(
        self, weights: Mapping[str, np.ndarray], rows: int, loss: Any, rng: Any
    ) -> dict[str, np.ndarray]:
        """What was learned; with `grid`, by the pair of rate and decay with the least held-out loss."""
        if not self._grid or rows < FEWEST_HELD:
            return descend(weights, rows, loss, self._how, rng)
        tried = [self._how._replace(learning_rate=rate, decay=decay) for rate in RATES for decay in DECAYS]
        # From one seed: all hold the same rows out and start from the same weights.
        made = [
            descended(weights, rows, loss, how, np.random.default_rng([self._how.seed, 1])) for how in tried
        ]
        best = int(np.argmin([left for _, left in made]))
        self._how = tried[best]
        return made[best][0]

    def _shapes(self, targets: int) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {}
        inputs, side = len(self._channels), self._side
        for block, filters in enumerate(FILTERS):
            shapes[f"conv{block}"] = (filters, inputs, 3, 3)
            shapes[f"conv{block}.base"] = (filters,)
            inputs, side = filters, side // 2 if side > 1 else side
        return shapes | {
            "dense": (DENSE, inputs * side * side),
            "dense.base": (DENSE,),
            "out": (targets, DENSE),
            "out.base": (targets,),
        }

    def _images(self, x: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vectors of length 1, the channel that each image belongs to, and which images there are."""
        vectors = image_vectors(x, self._encoder)
        there = seen(vectors)
        names = names_of(x, vectors.shape[1])
        if not self._apart:
            names = np.full(names.shape, "", dtype=np.str_)
        return unit(np.where(there[:, :, None], vectors, 0.0)), names, there

    def _matrices(self, x: Examples) -> tuple[np.ndarray, np.ndarray]:
        """Cosines as examples x channels x side x side, and which places hold an image."""
        vectors, names, there = self._images(x)
        unknown = sorted(set(np.unique(names[there]).tolist()) - set(self._channels))
        if unknown:
            raise DataError(
                f"nothing was learned of the images of {', '.join(unknown)}",
                remedy=f"Learned from: {', '.join(self._channels)}.",
            )
        placed = np.zeros((len(x), len(self._channels), self._side, vectors.shape[2]))
        owned = np.zeros(placed.shape[:3], dtype=bool)
        for channel, name in enumerate(self._channels):
            mine = there & (names == name)
            rank = np.cumsum(mine, axis=1) - 1
            row, image = np.nonzero(mine & (rank < self._side))
            placed[row, channel, rank[row, image]] = vectors[row, image]
            owned[row, channel, rank[row, image]] = True
        return placed @ placed.transpose(0, 1, 3, 2), owned

    def _network(self, matrices: np.ndarray) -> np.ndarray:
        import torch

        weights = {name: torch.from_numpy(array) for name, array in self._weights.items()}
        values = np.zeros((len(matrices), len(self._truth.mean)))
        with torch.no_grad():
            for start in range(0, len(matrices), BATCH):
                part = torch.from_numpy(matrices[start : start + BATCH])
                values[start : start + BATCH] = _forward(weights, part).numpy()
        return values * self._truth.deviation + self._truth.mean

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x):
            return np.zeros((0, len(self._truth.mean)))
        matrices, owned = self._matrices(x)
        empty = owned.sum(axis=(1, 2)) == 0
        return np.where(empty[:, None], self._truth.mean, self._network(matrices))

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each image adds to the base, which is what the network says of no image at all.

        Images are shown to it one more at a time, from the first on and from the last on; an image's part is
        the mean of the two steps that its coming makes. All together they are the prediction.
        """
        return [self._explained(x.take(np.array([row]))) for row in range(len(x))]

    def _explained(self, one: Examples) -> dict[str, float]:
        (matrix,), (owned,) = self._matrices(one)
        ends = marks(len(self._truth.mean))
        places = np.argwhere(owned)
        if not len(places):
            return {f"base{end}": float(mean) for end, mean in zip(ends, self._truth.mean, strict=True)}
        flat = np.zeros((2, len(places) + 1, *owned.shape), dtype=bool)
        for way, order in enumerate((places, places[::-1])):
            for n, (channel, place) in enumerate(order):
                flat[way, n + 1 :, channel, place] = True
        shown = flat.reshape(-1, *owned.shape)
        outputs = self._network(matrix * shown[:, :, :, None] * shown[:, :, None, :])
        steps = np.diff(outputs.reshape(2, len(places) + 1, -1), axis=1)
        parts = (steps[0] + steps[1, ::-1]) / 2
        found: dict[str, float] = {}
        for target, end in enumerate(ends):
            found[f"base{end}"] = float(outputs[0, target])
            for (channel, place), part in zip(places.tolist(), parts[:, target], strict=True):
                whose = f"{self._channels[channel]} " if self._channels[channel] else ""
                found[f"{whose}image {place + 1}{end}"] = float(part)
        return found

    def state(self) -> dict[str, np.ndarray]:
        channels = np.array(self._channels, dtype=np.str_)
        return {"channels": channels, "side": np.array(self._side), **super().state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._channels = tuple(str(name) for name in state["channels"])
        self._side = int(state["side"])
        return super().restore(state)


def _forward(weights: Mapping[str, Any], matrices: Any) -> Any:
    from torch.nn.functional import max_pool2d, relu

    held = matrices
    for block in range(len(FILTERS)):
        held = relu(_convolved(held, weights[f"conv{block}"], weights[f"conv{block}.base"]))
        if held.shape[-1] > 1:
            held = max_pool2d(held, 2)
    held = relu(held.flatten(1) @ weights["dense"].T + weights["dense.base"])
    return held @ weights["out"].T + weights["out.base"]


def _convolved(held: Any, weights: Any, base: Any) -> Any:
    """A 3 x 3 convolution that keeps the side, as one product: torch's own is slow in double precision."""
    from torch.nn.functional import unfold

    rows, channels, side, _ = held.shape
    patches = unfold(held, 3, padding=1).transpose(0, 1).reshape(channels * 9, -1)
    made = weights.reshape(len(weights), -1) @ patches + base[:, None]
    return made.reshape(len(weights), rows, side, side).transpose(0, 1)
