"""What CLIP, SigLIP, DINO and open_clip share: a checkpoint of the library, loaded once, in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import Pin, checkpoint, from_library
from sightline.device import Batches, at_once, device, inference, numbers, placed
from sightline.errors import DataError
from sightline.extension import Picture
from sightline.preprocessing import Preprocessing


def two_towers(
    name: str, kind: str, given: tuple[str, str, str], pin: Pin, default: Mapping[str, Any], *, pad: bool
) -> TwoTowers:
    """The checkpoint that is given as (model, revision, sha256), loaded by a class of the library."""
    import transformers

    folder = checkpoint(name, *given, pin)
    model = from_library(name, folder, getattr(transformers, kind))
    return TwoTowers(
        model, tokenizer_of(folder), Preprocessing.read(folder, default), "max_length" if pad else True
    )


def tokenizer_of(folder: Path) -> Any:
    """The tokenizer in the folder of a checkpoint."""
    import transformers

    try:
        return transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # its own errors differ between releases; all mean: there is none
        raise DataError(
            f"no tokenizer can be read here: {str(error).splitlines()[0][:200]}",
            where=str(folder),
            remedy="The folder of a checkpoint holds tokenizer.json, or vocab.json and merges.txt.",
        ) from error


class Images:
    """An image network of the transformers library; `features` gives its vectors of pixel values."""

    def __init__(self, model: Any, preprocessing: Preprocessing) -> None:
        self._model = placed(model)
        self._preprocessing = preprocessing
        self._batches = Batches()
        self._dimensions = 0

    @property
    def together(self) -> int:
        """How many images to prepare for one call."""
        return at_once()

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        return self.encode([self.prepare(image) for image in images])

    def prepare(self, image: Picture) -> np.ndarray:
        return self._preprocessing(image.rgb)

    def encode(self, prepared: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        def rows(part: Sequence[np.ndarray]) -> np.ndarray:
            pixels = torch.from_numpy(np.stack(part)).to(device())
            return self._called(self.features, {"pixel_values": pixels})

        found = self._batches.run(rows, prepared)
        return unit(np.concatenate(found)) if found else self._nothing()

    def features(self, pixel_values: Any) -> Any:
        return self._model(pixel_values=pixel_values).last_hidden_state[:, 0]

    def _called(self, function: Any, inputs: Mapping[str, Any]) -> np.ndarray:
        import torch

        with inference():
            found = function(**inputs)
        # A tensor in version 4 of the library, and in version 5 an output that holds it.
        return numbers(found if isinstance(found, torch.Tensor) else found.pooler_output)

    def _nothing(self) -> np.ndarray:
        if not self._dimensions:
            grey = np.full((8, 8, 3), 128, dtype=np.uint8)
            self._dimensions = int(self.encode([self._preprocessing(grey)]).shape[1])
        return np.zeros((0, self._dimensions), dtype=np.float32)


class TwoTowers(Images):
    """A text and an image network of the transformers library that end in one space."""

    def __init__(self, model: Any, tokenizer: Any, preprocessing: Preprocessing, padding: str | bool) -> None:
        super().__init__(model, preprocessing)
        self._tokenizer = tokenizer
        self._padding = padding
        self._longest = int(model.config.text_config.max_position_embeddings)
        self._dimensions = int(self._text_rows(["a"]).shape[1])

    @property
    def logit_scale(self) -> float:
        """What the model multiplies cosines by."""
        return float(self._model.logit_scale.detach().exp())

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return unit(self._text_rows(texts))

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are beyond what the model reads."""
        found = self._tokenizer(list(texts), truncation=False, verbose=False)["input_ids"] if texts else []
        return [max(0, len(tokens) - self._longest) for tokens in found]

    def text_norms(self, texts: Sequence[str]) -> np.ndarray:
        """The length of every text's embedding before it is made 1."""
        return np.linalg.norm(self._text_rows(texts).astype(np.float64), axis=1)

    def _text_rows(self, texts: Sequence[str]) -> np.ndarray:
        def rows(part: Sequence[str]) -> np.ndarray:
            inputs = self._tokenizer(
                list(part),
                padding=self._padding,
                truncation=True,
                max_length=self._longest,
                return_tensors="pt",
            )
            return self._called(self._model.get_text_features, inputs.to(device()))

        found = self._batches.run(rows, texts)
        return np.concatenate(found) if found else self._nothing()

    def features(self, pixel_values: Any) -> Any:
        return self._model.get_image_features(pixel_values=pixel_values)


def unit(rows: np.ndarray) -> np.ndarray:
    """Vectors of length 1; one that is not finite is not a number throughout, so that none is kept of it."""
    made = np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
    made[~np.isfinite(made).all(axis=1)] = np.nan
    return made
