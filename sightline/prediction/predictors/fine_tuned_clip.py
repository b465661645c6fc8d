"""CLIP trained further, end to end, on prompts and the images that answered them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from sightline.checkpoints import Pin, checkpoint, content_hash, from_library
from sightline.errors import DataError, UsageError
from sightline.extension import predictor
from sightline.pictures import Picture
from sightline.prediction.predictors._network import Descent
from sightline.prediction.predictors._parts import marks, settled_columns
from sightline.preprocessing import CLIP_DEVIATION, CLIP_MEAN, Preprocessing
from sightline.records import Examples
from sightline.statistics.folds import grouped_k_fold
from sightline.weights import cache_folder

if TYPE_CHECKING:
    from sightline.prediction.predictors._clip_tuning import PairNetwork, Pairs
    from sightline.prediction.predictors._tuning import Arrays, Epoch

PIN = Pin(
    "openai/clip-vit-base-patch32",
    "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268",
    "pytorch_model.bin",
    "a63082132ba4f97a80bea76823f544493bffa8082296d62d71581a4feff1576f",
    605,
    "MIT",
)
HELD = 10
"""One example of so many is held out to stop early; with fewer different prompts none is."""


@predictor(
    sees="images",
    extra="torch",
    checkpoint=PIN,
    source="Poesina et al. 2025 (PQPP); Hu et al. 2022",
    licence="Apache-2.0 (code); MIT (weights of OpenAI)",
)
class fine_tuned_clip:
    """CLIP tuned end to end on prompts and their images, under dense layers of 512 and 256; mean over images.

    Both networks of CLIP are tuned, not only a head over frozen vectors as in image_text_head: with t and v
    the vectors of prompt and image, of length 1, (t, v, t v, t - v) goes through two dense layers with ReLU
    and a dropout of 0.5, and one logistic unit a target says how relevant the image is. What is predicted of
    a prompt is the mean over its images; every target is scaled to [0, 1], and the mean squared error is
    least. `model` is a folder with a checkpoint of transformers' CLIPModel and the `sha256` of its files, or
    a name on the hub with its `revision`; the default is pinned.

    With `rank` above 0 every dense layer of both networks stays as it is and a product of two matrices of
    that rank is learned and added to it: the file is small. With 0 all weights are tuned. AdamW with
    `learning_rate` and weight decay `decay` in batches of `batch` prompts, for at most `epochs` epochs; a
    tenth of the examples is held out, and after `patience` epochs without progress on them the best weights
    are taken. All chance comes from `seed`. It runs on the device that is set, in single precision, and goes
    on after an interruption from the checkpoint of the last epoch. A prompt without images gets the mean.
    """

    def __init__(
        self,
        *,
        model: str = PIN.model,
        revision: str = "",
        sha256: str = "",
        rank: int = 8,
        epochs: int = 25,
        learning_rate: float = 0.0001,
        decay: float = 0.01,
        batch: int = 256,
        patience: int = 5,
        seed: int = 0,
    ) -> None:
        self._how = Descent(epochs, learning_rate, decay, batch, patience, seed).check("fine_tuned_clip")
        if rank < 0:
            raise UsageError(f"fine_tuned_clip: rank={rank}", remedy="From 0.")
        self._folder = checkpoint("fine_tuned_clip", model, revision, sha256, PIN)
        self._identity = content_hash(self._folder)
        self._rank = rank
        self._network: PairNetwork | None = None
        self._learned: Arrays = {}
        self._low, self._span, self._mean = np.zeros(0), np.zeros(0), np.zeros(0)
        self.listener: Callable[[Epoch], None] | None = None
        """Called after every epoch, once its checkpoint is written; what it raises ends the fit."""

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        from sightline.prediction.predictors._tuning import Task, tune

        truth = np.asarray(truth, dtype=np.float64)
        list(settled_columns(truth))
        self._low, self._mean = np.nanmin(truth, axis=0), np.nanmean(truth, axis=0)
        self._span = np.nanmax(truth, axis=0) - self._low
        seen = np.array([bool(shown) for shown in x.pictures], dtype=bool)
        rows = np.flatnonzero(np.isfinite(truth).any(axis=1) & (seen if len(seen) else False))
        if not len(rows):
            raise DataError("none of the prompts has an image that could be read")
        x, truth = x.take(rows), truth[rows]
        self._network = None
        settled = np.isfinite(truth)
        span = np.where(self._span > 0, self._span, 1.0)
        wanted = np.where(settled, (truth - self._low) / span, 0.0).astype(np.float32)
        held = _held(x, self._how.seed)
        every = np.arange(len(x))
        task = Task(wanted, settled.astype(np.float32), every[~held], every[held])
        with self._pairs(x, truth.shape[1]) as pairs:
            file = cache_folder() / "tuning" / self._key(x, truth) / "clip.npz"
            self._learned = tune(pairs.network, pairs, task, self._how, file, self.listener).best
            pairs.network.take(self._learned)
        return self

    def _pairs(self, x: Examples, targets: int) -> Pairs:
        """Prompts and images as the network takes them; it is loaded once."""
        import torch
        import transformers

        from sightline.prediction.predictors._clip_tuning import PairNetwork, Pairs

        if self._network is None:
            with torch.random.fork_rng(devices=[]):
                clip = from_library("fine_tuned_clip", self._folder, transformers.CLIPModel)
            self._network = PairNetwork(clip, targets, self._rank)
            if self._learned:
                self._network.take(self._learned)
        tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
        side = int(self._network.clip.config.vision_config.image_size)
        default = {"size": {"shortest_edge": side}, "crop_size": side, "do_center_crop": True, "resample": 3}
        preprocessing = Preprocessing.read(
            self._folder, {**default, "image_mean": CLIP_MEAN, "image_std": CLIP_DEVIATION}
        )
        shown: Sequence[Sequence[Picture]] = x.pictures or [[]] * len(x)
        return Pairs(self._network, tokenizer, preprocessing, [p.text for p in x.prompts], shown)

    def _key(self, x: Examples, truth: np.ndarray) -> str:
        """Everything that decides the outcome."""
        import torch
        import transformers

        from sightline.device import device
        from sightline.prediction.predictors import _clip_tuning, _tuning

        shown = [[picture.sha256 for picture in mine] for mine in x.pictures]
        described = [
            self._identity, self._rank, list(self._how), torch.__version__, transformers.__version__,
            device(), [prompt.text for prompt in x.prompts], shown, truth.shape,
        ]  # fmt: skip
        key = hashlib.sha256(json.dumps(described).encode())
        key.update(np.ascontiguousarray(truth).tobytes())
        # Another arithmetic must not take up where this one was.
        for file in (_tuning.__file__, _clip_tuning.__file__, __file__):
            key.update(Path(file).read_bytes())
        return key.hexdigest()

    def predict(self, x: Examples) -> np.ndarray:
        made = np.tile(self._mean, (len(x), 1))
        seen = np.flatnonzero([bool(shown) for shown in x.pictures]) if len(x) else np.zeros(0, dtype=int)
        if len(seen):
            with self._pairs(x.take(seen), len(self._mean)) as pairs:
                made[seen] = self._low + self._span * pairs.said(np.arange(len(seen)))
        return made

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """How far each image lies above or below the base, the mean truth; together the prediction."""
        ends = marks(len(self._mean))
        reasons: list[dict[str, float]] = [
            {f"base{end}": float(mean) for end, mean in zip(ends, self._mean, strict=True)}
            for _ in range(len(x))
        ]
        seen = np.flatnonzero([bool(shown) for shown in x.pictures]) if len(x) else np.zeros(0, dtype=int)
        if not len(seen):
            return reasons
        with self._pairs(x.take(seen), len(self._mean)) as pairs:
            for row, values in zip(seen.tolist(), pairs.of_images(), strict=True):
                part = (self._low + self._span * values - self._mean) / len(values)
                for image, one in enumerate(part.tolist(), 1):
                    reasons[row] |= {f"image {image}{end}": x for end, x in zip(ends, one, strict=True)}
        return reasons

    def state(self) -> dict[str, np.ndarray]:
        learned = {f"learned.{name}": array.copy() for name, array in self._learned.items()}
        return {
            "encoder": np.array(self._identity),
            "low": self._low.copy(),
            "span": self._span.copy(),
            "mean": self._mean.copy(),
            **learned,
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        if str(state["encoder"]) != self._identity:
            raise DataError(
                "this was learned on top of another checkpoint",
                remedy="Give the model that it was learned with.",
            )
        self._low, self._span, self._mean = (np.array(state[name]) for name in ("low", "span", "mean"))
        start = "learned."
        self._learned = {
            name.removeprefix(start): np.array(state[name], dtype=np.float32)
            for name in state
            if name.startswith(start)
        }
        self._network = None
        return self


def _held(x: Examples, seed: int) -> np.ndarray:
    """Which examples are held out: about a tenth, prompts of the same words on one side."""
    words = np.array([" ".join(prompt.text.lower().split()) for prompt in x.prompts])
    if len(np.unique(words)) < HELD:
        return np.zeros(len(x), dtype=np.bool_)
    return np.asarray(grouped_k_fold(words, HELD, seed=seed) == 0)
