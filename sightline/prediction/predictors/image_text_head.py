"""A small network on a prompt and each of its images in the joint space of an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from sightline.errors import DataError, UsageError, near
from sightline.extension import JointEncoder, needs, predictor
from sightline.prediction.predictors._network import (
    Descent,
    ImageNetwork,
    Standard,
    descend,
    dropout,
    first_weights,
)
from sightline.prediction.predictors._parts import marks, settled_columns, with_wording, wording
from sightline.prediction.predictors._pictured import image_vectors, seen, unit, with_images
from sightline.records import Examples

HIDDEN = (512, 256)
BATCH = 256
LOSSES = ("squares", "chances")


@predictor(sees="images", extra="torch", source="Poesina et al. 2025 (PQPP)", licence="Apache-2.0")
class image_text_head(ImageNetwork):
    """Dense layers of 512 and 256 over the joint embedding of a prompt and each image; the mean over images.

    With t and v the vectors of prompt and image by `encoder`, of length 1, the input is (t, v, t v, t - v);
    each dense layer has ReLU and a dropout of 0.5, and one unit a target says how relevant the image is. What
    is predicted of a prompt is the mean over its images. Learned from examples of one image each, it learns
    the relevance of images, as in the paper; of prompts with several images, what their mean must be. With
    `loss` "squares" the mean squared error is least; with "chances" the truth lies from 0 to 1 (relevant or
    not), the unit is a logistic one and the cross-entropy is least. AdamW with `learning_rate` and
    weight decay `decay` in batches of `batch` prompts, for at most `epochs` epochs; a fifth of the examples
    is held out, and after `patience` epochs without progress on them the best weights are taken. All chance
    comes from `seed`. A prompt without images gets the mean of the truth.
    """

    def __init__(
        self,
        *,
        encoder: JointEncoder = needs("encoder", "clip"),
        loss: Literal["squares", "chances"] = "squares",
        epochs: int = 25,
        learning_rate: float = 0.001,
        decay: float = 0.01,
        batch: int = 64,
        patience: int = 5,
        seed: int = 0,
    ) -> None:
        if loss not in LOSSES:
            raise UsageError(f"image_text_head: there is no loss {loss!r}", remedy=near(loss, LOSSES))
        super().__init__(
            Descent(epochs, learning_rate, decay, batch, patience, seed).check("image_text_head")
        )
        self._encoder = encoder
        self._chances = loss == "chances"

    def prepare(self, x: Examples) -> Examples:
        return with_images(with_wording(x, self._encoder), self._encoder)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        import torch

        truth = np.asarray(truth, dtype=np.float64)
        list(settled_columns(truth))
        if self._chances and ((truth < 0) | (truth > 1)).any():
            raise DataError("chances are learned from truth that lies from 0 to 1")
        self._weights = {}
        texts, images, there = self._vectors(x)
        rows = np.flatnonzero(there.any(axis=1) & np.isfinite(truth).any(axis=1))
        if not len(rows):
            raise DataError("none of the prompts has an image that could be read")
        self._truth = Standard.of(truth)
        if self._chances:
            self._truth = Standard(self._truth.mean, np.ones(truth.shape[1]))
        target, settled = self._truth.apply(truth)
        if self._chances:
            target = target + settled * self._truth.mean
        rng = np.random.default_rng(self._how.seed)
        weights = first_weights(_shapes(4 * texts.shape[1], truth.shape[1]), rng)
        # The last layer starts at 0: an untrained network says the same of all images.
        weights["out"] *= 0.0

        def loss(live: Mapping[str, Any], part: np.ndarray, chance: np.random.Generator | None) -> Any:
            mine = rows[part]
            said = _forward(live, _joined(texts[mine], images[mine], there[mine]), chance)
            wanted, known = (torch.from_numpy(each[mine]) for each in (target, settled))
            predicted = self._mean(said, there[mine])
            if self._chances:
                error = -(
                    wanted * torch.log(predicted + 1e-12) + (1 - wanted) * torch.log(1 - predicted + 1e-12)
                )
            else:
                error = (predicted - wanted) ** 2
            return (error * known).sum() / max(float(settled[mine].sum()), 1.0)

        self._weights = descend(weights, len(rows), loss, self._how, rng)
        return self

    def _mean(self, said: Any, there: np.ndarray) -> Any:
        """What is said of each prompt: the mean over its images, whose rows come prompt by prompt."""
        import torch

        owner = torch.from_numpy(np.nonzero(there)[0])
        values = torch.sigmoid(said) if self._chances else said
        added = torch.zeros((len(there), said.shape[1]), dtype=torch.float64).index_add(0, owner, values)
        return added / torch.from_numpy(np.maximum(there.sum(axis=1), 1).astype(np.float64))[:, None]

    def _vectors(self, x: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Texts and images as vectors of length 1, and which images there are."""
        texts, images = np.asarray(wording(x, self._encoder)), image_vectors(x, self._encoder)
        if images.shape[1] and texts.shape[1] != images.shape[2]:
            raise DataError(
                f"the encoder gives texts {texts.shape[1]} numbers and images {images.shape[2]}",
                remedy="image_text_head needs an encoder with texts and images in one space, such as clip.",
            )
        width = self._weights["dense0"].shape[1] // 4 if self._weights else texts.shape[1]
        if len(x) and self._weights and texts.shape[1] != width:
            raise DataError(f"learned from vectors of {width} numbers, but given {texts.shape[1]}")
        there = seen(images)
        return unit(texts), unit(np.where(there[:, :, None], images, 0.0)), there

    def _of_images(self, x: Examples) -> tuple[np.ndarray, np.ndarray]:
        """What is said of each image, examples x images x targets, and which images there are."""
        import torch

        texts, images, there = self._vectors(x)
        weights = {name: torch.from_numpy(array) for name, array in self._weights.items()}
        found = np.zeros((*there.shape, len(self._truth.mean)))
        with torch.no_grad():
            for start in range(0, len(x), BATCH):
                part = slice(start, start + BATCH)
                if not there[part].any():
                    continue
                said = _forward(weights, _joined(texts[part], images[part], there[part]), None)
                values = torch.sigmoid(said) if self._chances else said
                found[part][there[part]] = values.numpy()
        if not self._chances:
            found = found * self._truth.deviation + self._truth.mean
        return found, there

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x):
            return np.zeros((0, len(self._truth.mean)))
        found, there = self._of_images(x)
        count = there.sum(axis=1)[:, None]
        total = np.where(there[:, :, None], found, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), self._truth.mean)

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """How far each image lies above or below the base, the mean truth; together the prediction."""
        if not len(x):
            return []
        found, there = self._of_images(x)
        ends = marks(len(self._truth.mean))
        reasons: list[Mapping[str, float]] = []
        for values, mine in zip(found, there, strict=True):
            each: dict[str, float] = {}
            for target, end in enumerate(ends):
                base = float(self._truth.mean[target])
                each[f"base{end}"] = base
                for image in np.flatnonzero(mine).tolist():
                    each[f"image {image + 1}{end}"] = float((values[image, target] - base) / mine.sum())
            reasons.append(each)
        return reasons


def _shapes(inputs: int, targets: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, units in enumerate(HIDDEN):
        shapes[f"dense{layer}"], shapes[f"dense{layer}.base"] = (units, inputs), (units,)
        inputs = units
    return shapes | {"out": (targets, inputs), "out.base": (targets,)}


def _joined(texts: np.ndarray, images: np.ndarray, there: np.ndarray) -> np.ndarray:
    """One row per image: its prompt's vector, its own, their product and their difference."""
    owner, image = np.nonzero(there)
    t, v = texts[owner], images[owner, image]
    # Numbers of vectors of length 1 are about 1 / sqrt(d): brought to about 1, as the first weights expect.
    size = np.sqrt(texts.shape[1])
    return np.hstack([t * size, v * size, t * v * size**2, (t - v) * size])


def _forward(weights: Mapping[str, Any], joined: np.ndarray, chance: np.random.Generator | None) -> Any:
    import torch

    held = torch.from_numpy(joined)
    for layer in range(len(HIDDEN)):
        held = torch.relu(held @ weights[f"dense{layer}"].T + weights[f"dense{layer}.base"])
        held = dropout(held, chance)
    return held @ weights["out"].T + weights["out.base"]
