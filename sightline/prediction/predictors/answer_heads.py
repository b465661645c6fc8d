"""Small trainable networks on the image of an answer, after three networks for image quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import ImageEncoder, Picture, needs, predictor
from sightline.prediction.predictors._network import (
    Descent,
    ImageNetwork,
    Standard,
    descend,
    dropout,
    first_weights,
)
from sightline.prediction.predictors._parts import explanations, settled_columns
from sightline.prediction.predictors._pictured import image_vectors, with_images
from sightline.records import Examples

BATCH = 64
SIDE, GRID = 32, 3
PATCHES = "patches"
Inputs = Mapping[str, np.ndarray]


class _AnswerNetwork(ImageNetwork):
    """What the heads share: inputs in units of what was learned from, descent on squares, and one reason.

    An answer whose image has no vector gets the mean of the truth.
    """

    INPUTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, how: Descent) -> None:
        super().__init__(how)
        self._units: dict[str, np.ndarray] = {}

    def _inputs(self, x: Examples) -> Inputs:
        raise NotImplementedError

    def _shapes(self, inputs: Inputs, targets: int) -> dict[str, tuple[int, ...]]:
        raise NotImplementedError

    def _forward(self, live: Mapping[str, Any], given: Mapping[str, Any], rng: Any) -> Any:
        raise NotImplementedError

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        import torch

        truth = np.asarray(truth, dtype=np.float64)
        list(settled_columns(truth))
        inputs = self._inputs(x)
        rows = np.flatnonzero(_there(inputs) & np.isfinite(truth).any(axis=1))
        if not len(rows):
            raise DataError("none of the answers has an image that could be read")
        self._units = {}
        for name in self.INPUTS:
            self._units |= _units(name, inputs[name][rows])
        self._truth = Standard.of(truth)
        target, settled = self._truth.apply(truth)
        rng = np.random.default_rng(self._how.seed)
        weights = first_weights(self._shapes(inputs, truth.shape[1]), rng)
        # The last layer starts at 0: an untrained network says the same of all images.
        weights["out"] *= 0.0

        def loss(live: Mapping[str, Any], part: np.ndarray, chance: np.random.Generator | None) -> Any:
            mine = rows[part]
            said = self._forward(live, self._scaled(inputs, mine), chance)
            wanted, known = (torch.from_numpy(each[mine]) for each in (target, settled))
            return (((said - wanted) ** 2) * known).sum() / max(float(settled[mine].sum()), 1.0)

        self._weights = descend(weights, len(rows), loss, self._how, rng)
        return self

    def _scaled(self, inputs: Inputs, rows: np.ndarray) -> dict[str, Any]:
        import torch

        return {
            name: torch.from_numpy(
                (inputs[name][rows].astype(np.float64) - self._units[f"{name}.centre"])
                / self._units[f"{name}.spread"]
            )
            for name in self.INPUTS
        }

    def predict(self, x: Examples) -> np.ndarray:
        import torch

        made = np.tile(self._truth.mean, (len(x), 1))
        if not len(x):
            return made
        inputs = self._inputs(x)
        self._check(inputs)
        rows = np.flatnonzero(_there(inputs))
        weights = {name: torch.from_numpy(array) for name, array in self._weights.items()}
        with torch.no_grad():
            for start in range(0, len(rows), BATCH):
                mine = rows[start : start + BATCH]
                said = self._forward(weights, self._scaled(inputs, mine), None).numpy()
                made[mine] = said * self._truth.deviation + self._truth.mean
        return made

    def _check(self, inputs: Inputs) -> None:
        for name in self.INPUTS:
            wanted, given = self._units[f"{name}.centre"].shape[-1], inputs[name].shape[-1]
            if wanted not in (1, given):
                raise DataError(f"learned from vectors of {wanted} numbers, but given {given}")

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What the image as a whole adds to the base, the mean truth."""
        if not len(x):
            return []
        parts = self.predict(x) - self._truth.mean
        columns = [parts[:, [target]] for target in range(parts.shape[1])]
        return explanations(self._truth.mean, ["image"], columns)

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), **{f"units.{name}": each.copy() for name, each in self._units.items()}}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._units = {
            name.removeprefix("units."): np.array(state[name], dtype=np.float64)
            for name in state
            if name.startswith("units.")
        }
        return super().restore(state)


class _OverEncoders(_AnswerNetwork):
    """Heads over two encoders of images: one of what is seen, one of how it is rendered."""

    INPUTS = ("content", "rendering")

    def __init__(self, content: ImageEncoder, rendering: ImageEncoder, how: Descent) -> None:
        super().__init__(how)
        self._encoders = {"content": content, "rendering": rendering}

    def prepare(self, x: Examples) -> Examples:
        for encoder in self._encoders.values():
            x = with_images(x, encoder)
        return x

    def _inputs(self, x: Examples) -> Inputs:
        return {name: _mean(image_vectors(x, encoder)) for name, encoder in self._encoders.items()}


@predictor(sees="answer", extra="torch", source="Zhang et al. 2020 (DB-CNN)", licence="Apache-2.0")
class bilinear_head(_OverEncoders):
    """Bilinear pooling of two encodings of an image, after DB-CNN: every product of their numbers is seen.

    `content` and `rendering` encode the image; each is reduced to `units` numbers, their outer product
    is taken with the signed square root and scaled to length 1, and one linear layer follows. AdamW with
    `learning_rate` and weight decay `decay` for at most `epochs` epochs in batches of `batch`, stopped after
    `patience` epochs without progress on a fifth held out; chance comes from `seed`.
    """

    def __init__(
        self,
        *,
        content: ImageEncoder = needs("encoder", "colour_layout"),
        rendering: ImageEncoder = needs("encoder", "colour_layout"),
        units: int = 16,
        epochs: int = 60,
        learning_rate: float = 0.003,
        decay: float = 0.01,
        batch: int = 64,
        patience: int = 8,
        seed: int = 0,
    ) -> None:
        how = Descent(epochs, learning_rate, decay, batch, patience, seed).check("bilinear_head")
        super().__init__(content, rendering, how)
        self._hidden = _at_least_one("bilinear_head", units)

    def _shapes(self, inputs: Inputs, targets: int) -> dict[str, tuple[int, ...]]:
        shapes = {name: (self._hidden, inputs[name].shape[1]) for name in self.INPUTS}
        return {**shapes, "out": (targets, self._hidden**2), "out.base": (targets,)}

    def _forward(self, live: Mapping[str, Any], given: Mapping[str, Any], rng: Any) -> Any:
        import torch

        first, second = (given[name] @ live[name].T for name in self.INPUTS)
        products = (first[:, :, None] * second[:, None, :]).flatten(1)
        # The root of an exact 0 has no slope.
        rooted = torch.sign(products) * torch.sqrt(products.abs() + 1e-8)
        pooled = rooted / (rooted.norm(dim=1, keepdim=True) + 1e-8) * self._hidden
        return dropout(pooled, rng) @ live["out"].T + live["out.base"]


@predictor(sees="answer", extra="torch", source="Su et al. 2020 (HyperIQA)", licence="Apache-2.0")
class hyper_head(_OverEncoders):
    """A network whose weights depend on what is seen, after HyperIQA: content sets how rendering is judged.

    From the image as `content` encodes it, `units` numbers are made that give the weights of a small layer;
    this layer reads the image as `rendering` encodes it, reduced to `units` numbers as well. AdamW with
    `learning_rate` and weight decay `decay` for at most `epochs` epochs in batches of `batch`, stopped after
    `patience` epochs without progress on a fifth held out; chance comes from `seed`.
    """

    def __init__(
        self,
        *,
        content: ImageEncoder = needs("encoder", "colour_layout"),
        rendering: ImageEncoder = needs("encoder", "colour_layout"),
        units: int = 16,
        epochs: int = 60,
        learning_rate: float = 0.003,
        decay: float = 0.01,
        batch: int = 64,
        patience: int = 8,
        seed: int = 0,
    ) -> None:
        how = Descent(epochs, learning_rate, decay, batch, patience, seed).check("hyper_head")
        super().__init__(content, rendering, how)
        self._hidden = _at_least_one("hyper_head", units)

    def _shapes(self, inputs: Inputs, targets: int) -> dict[str, tuple[int, ...]]:
        hidden = self._hidden
        return {
            **{name: (hidden, inputs[name].shape[1]) for name in self.INPUTS},
            **{f"{name}.base": (hidden,) for name in self.INPUTS},
            "hyper": (hidden * hidden, hidden),
            "hyper.base": (hidden * hidden,),
            "out": (targets, hidden),
            "out.base": (targets,),
        }

    def _forward(self, live: Mapping[str, Any], given: Mapping[str, Any], rng: Any) -> Any:
        import torch

        seen, read = (torch.relu(given[name] @ live[name].T + live[f"{name}.base"]) for name in self.INPUTS)
        made = (dropout(seen, rng) @ live["hyper"].T + live["hyper.base"]) / self._hidden**0.5
        layer = made.reshape(-1, self._hidden, self._hidden)
        judged = torch.relu((layer @ read[:, :, None]).squeeze(2))
        return judged @ live["out"].T + live["out.base"]


@predictor(sees="answer", extra="torch", source="Kang et al. 2014 (CNNIQA)", licence="Apache-2.0")
class patch_cnn(_AnswerNetwork):
    """A small convolutional network on patches of the image, after CNNIQA: no encoder is needed.

    Nine patches of 32 pixels, evenly spread, of the locally normalised luma; `kernels` kernels of 7 pixels,
    the highest and the lowest response of each, a dense layer of `units`, and the mean over patches. AdamW
    with `learning_rate` and weight decay `decay` for at most `epochs` epochs in batches of `batch`, stopped
    after `patience` epochs without progress on a fifth held out; chance comes from `seed`.
    """

    INPUTS = (PATCHES,)

    def __init__(
        self,
        *,
        kernels: int = 16,
        units: int = 32,
        epochs: int = 40,
        learning_rate: float = 0.003,
        decay: float = 0.01,
        batch: int = 32,
        patience: int = 8,
        seed: int = 0,
    ) -> None:
        super().__init__(Descent(epochs, learning_rate, decay, batch, patience, seed).check("patch_cnn"))
        self._kernels = _at_least_one("patch_cnn", kernels)
        self._hidden = _at_least_one("patch_cnn", units)

    def prepare(self, x: Examples) -> Examples:
        return replace(x, vectors={**x.vectors, PATCHES: self._inputs(x)[PATCHES]})

    def _inputs(self, x: Examples) -> Inputs:
        if PATCHES in x.vectors:
            return {PATCHES: x.vectors[PATCHES]}
        if len(x) and not x.pictures:
            raise DataError("the images of the answers are needed, and none were given")
        empty = np.full((GRID * GRID, SIDE, SIDE), np.nan, dtype=np.float32)
        rows = [_patches(mine[0]) if mine else empty for mine in x.pictures]
        return {PATCHES: np.stack(rows) if rows else np.zeros((0, *empty.shape), dtype=np.float32)}

    def _shapes(self, inputs: Inputs, targets: int) -> dict[str, tuple[int, ...]]:
        return {
            "kernels": (self._kernels, 1, 7, 7),
            "kernels.base": (self._kernels,),
            "dense": (self._hidden, 2 * self._kernels),
            "dense.base": (self._hidden,),
            "out": (targets, self._hidden),
            "out.base": (targets,),
        }

    def _forward(self, live: Mapping[str, Any], given: Mapping[str, Any], rng: Any) -> Any:
        import torch

        patches = given[PATCHES]
        count = len(patches)
        # In single precision, for which convolutions are many times faster.
        single = patches.reshape(-1, 1, SIDE, SIDE).float()
        seen = torch.nn.functional.conv2d(single, live["kernels"].float(), live["kernels.base"].float())
        seen = seen.double()
        pooled = torch.cat([seen.amax((2, 3)), -seen.amin((2, 3))], dim=1)
        hidden = dropout(torch.relu(pooled @ live["dense"].T + live["dense.base"]), rng)
        return (hidden @ live["out"].T + live["out.base"]).reshape(count, GRID * GRID, -1).mean(dim=1)


def _at_least_one(name: str, units: int) -> int:
    if units < 1:
        raise UsageError(f"{name}: {units} units learn nothing", remedy="1 or more, usually 16.")
    return units


def _there(inputs: Inputs) -> np.ndarray:
    flat = [np.isfinite(each.reshape(len(each), -1)).all(axis=1) for each in inputs.values()]
    return np.logical_and.reduce(flat)


def _units(name: str, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The centre of each number and one spread for all; of patches, which are normalised, one of each."""
    wide = np.asarray(rows, dtype=np.float64)
    centre = wide.mean(axis=0) if wide.ndim == 2 else np.zeros(1)
    spread = float(np.sqrt(((wide - centre) ** 2).mean()))
    return {f"{name}.centre": centre, f"{name}.spread": np.array(spread if spread > 1e-12 else 1.0)}


def _mean(several: np.ndarray) -> np.ndarray:
    """The mean vector of each example's images, NaN where none has one."""
    there = np.isfinite(several).all(axis=2)
    count = there.sum(axis=1)[:, None]
    total = np.where(there[:, :, None], several, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _patches(picture: Picture) -> np.ndarray:
    """Patches on a grid, each pixel relative to the mean and deviation of its surroundings."""
    from PIL import Image
    from scipy.ndimage import uniform_filter

    try:
        image = Image.fromarray(picture.rgb).convert("L")
    except DataError:
        return np.full((GRID * GRID, SIDE, SIDE), np.nan, dtype=np.float32)
    if min(image.size) < SIDE:
        image = image.resize((max(SIDE, image.width), max(SIDE, image.height)), Image.Resampling.BICUBIC)
    luma = np.asarray(image, dtype=np.float64)
    mean = uniform_filter(luma, 7)
    deviation = np.sqrt(np.maximum(uniform_filter(luma**2, 7) - mean**2, 0))
    normal = (luma - mean) / (deviation + 1)
    down, across = (np.linspace(0, size - SIDE, GRID).astype(int) for size in luma.shape)
    parts = [normal[top : top + SIDE, left : left + SIDE] for top in down for left in across]
    return np.stack(parts).astype(np.float32)
