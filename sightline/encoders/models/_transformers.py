"""What CLIP and SigLIP share: finding a checkpoint, preprocessing without torchvision, and encoding."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightline.encoders.models._files import checked, content_hash
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Picture
from sightline.weights import offline

BATCH = 32
COMPANIONS = ("*.json", "*.txt", "*.model")
"""What the library reads besides weights: configuration, tokenizer and preprocessing."""


@dataclass(frozen=True)
class Pin:
    """A checkpoint of the hub, fixed by its commit and by the sha256 of its weights."""

    model: str
    revision: str
    file: str
    sha256: str


def checkpoint(name: str, model: str, revision: str, sha256: str, pin: Pin) -> Path:
    """The folder of a checkpoint: one the user gave, or the hub's own, from its cache or fetched if allowed.

    A folder is given as `model`, or for the pinned model as SIGHTLINE_WEIGHTS_<NAME>. Another model of the
    hub needs its revision, a commit, and a folder the sha256 of its files: a name or a path alone would mean
    other weights tomorrow, under which what is kept of today's would be found. The pin knows the weights
    alone; SIGHTLINE_WEIGHTS_<NAME>_SHA256, of all files, also holds the tokenizer and the preprocessing.
    """
    if Path(model).is_dir():
        spec = f"{name}(model={model!r}, sha256={content_hash(Path(model))!r})"
        if not sha256:
            raise UsageError(f"{name}: a folder is pinned by the hash of its files", remedy=f"Write {spec}.")
        return checked(Path(model), sha256, model, f"If the change is meant, write {spec}.")
    pinned = pin if model == pin.model and revision in ("", pin.revision) else None
    variable = f"SIGHTLINE_WEIGHTS_{name.upper()}"
    given = os.environ.get(variable)
    if given and pinned:
        return _given(Path(given), pinned, variable)
    commit = pinned.revision if pinned else revision
    if len(commit) != 40:
        raise UsageError(
            f"{name}: {model!r} is no folder here, and as a model of the hub it has no revision",
            remedy="Give a folder with the checkpoint, or revision= the 40 digits of a commit.",
        )
    found = _from_hub(name, model, commit, pinned, variable)
    return _checked(found, pinned, f"{model}@{commit}") if pinned else found


def _from_hub(name: str, model: str, commit: str, pinned: Pin | None, variable: str) -> Path:
    from importlib import import_module

    snapshot_download = import_module("huggingface_hub").snapshot_download
    # It tells every attempt; one error at the end says as much.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

    wanted = [*COMPANIONS, pinned.file if pinned else "*.safetensors"]
    try:
        return Path(snapshot_download(model, revision=commit, allow_patterns=wanted, local_files_only=True))
    except Exception as error:  # its own errors differ between releases; all mean: not in the cache
        absent = error
    if offline():
        raise MissingPackage(
            f"no weights for {name} on this machine ({model}, not in the hub's cache)",
            remedy=f"Give a folder: {name}(model='...') or {variable}, or allow the hub by unsetting "
            "SIGHTLINE_OFFLINE and HF_HUB_OFFLINE.",
        ) from absent
    try:
        return Path(snapshot_download(model, revision=commit, allow_patterns=wanted))
    except Exception as error:  # no network, no such model, no leave: reported to the user as it is
        raise MissingPackage(
            f"no weights for {name}: the hub did not give {model} ({type(error).__name__})",
            remedy=f"Try again with a network, or give a folder: {name}(model='...') or {variable}. "
            "Without either, sightline bridge fits a joint space on captioned images of your own.",
        ) from error


def _given(folder: Path, pin: Pin, variable: str) -> Path:
    """A folder in place of the pinned checkpoint: its weights, and all of it if its sha256 is given."""
    said = f"{variable}={folder}"
    _checked(folder, pin, said)
    expected = os.environ.get(f"{variable}_SHA256", "")
    if not expected:
        return folder
    return checked(folder, expected, said, f"Correct {variable}_SHA256, or take the files it is of.")


def _checked(folder: Path, pin: Pin, said: str) -> Path:
    """A folder in which the library finds the pinned weights, and no others."""
    if not (folder / pin.file).is_file():
        raise DataError(f"there is no {pin.file} in it", where=said)
    another = "Another checkpoint is given by its folder: model='...'."
    checked(folder / pin.file, pin.sha256, said, another)
    for other in _instead(folder, pin.file):
        raise DataError(
            f"{other} would be loaded in place of {pin.file}, or on top of it",
            where=said,
            remedy=f"Take it out of the folder. {another}",
        )
    return folder


def _instead(folder: Path, file: str) -> list[str]:
    """What the library would prefer to a weights file, or change it by."""
    # adapter_config.json names further weights, which are loaded on top wherever peft is installed.
    others = ["adapter_config.json"]
    if not file.endswith(".safetensors"):
        others += ["model.safetensors", "model.safetensors.index.json"]
    found = [other for other in others if (folder / other).exists()]
    config = folder / "config.json"
    settings = json.loads(config.read_text("utf-8")) if config.is_file() else {}
    chosen = settings.get("transformers_weights")
    return [*found, *([str(chosen)] if chosen not in (None, file) else [])]


@dataclass(frozen=True)
class Preprocessing:
    """From a picture to what the network sees, as the checkpoint's preprocessor_config.json says."""

    shortest: int | None
    size: tuple[int, int]
    crop: tuple[int, int] | None
    resample: int
    scale: float
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def read(cls, folder: Path, default: Mapping[str, Any]) -> Preprocessing:
        """Read the file; what it leaves out is as in `default`, the values the library's class has."""
        file = folder / "preprocessor_config.json"
        settings = {**default, **(json.loads(file.read_text("utf-8")) if file.is_file() else {})}
        size = settings["size"] if isinstance(settings["size"], dict) else {"shortest_edge": settings["size"]}
        crop = settings.get("crop_size")
        crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop
        return cls(
            shortest=size.get("shortest_edge"),
            size=(int(size.get("height", 0)), int(size.get("width", 0))),
            crop=(crop["height"], crop["width"]) if settings.get("do_center_crop") and crop else None,
            resample=int(settings["resample"]),
            scale=float(settings.get("rescale_factor", 1 / 255)),
            mean=np.array(settings["image_mean"], dtype=np.float32)[:, None, None],
            deviation=np.array(settings["image_std"], dtype=np.float32)[:, None, None],
        )

    def __call__(self, rgb: np.ndarray) -> np.ndarray:
        from PIL import Image

        height, width = rgb.shape[:2]
        target = self.size
        if self.shortest is not None:
            short, long = sorted((height, width))
            longer = int(self.shortest * long / short)
            target = (self.shortest, longer) if height <= width else (longer, self.shortest)
        scaled = Image.fromarray(rgb).resize(target[::-1], Image.Resampling(self.resample))
        pixels = np.asarray(scaled)
        if self.crop is not None:
            pixels = _middle(pixels, *self.crop)
        channels = pixels.transpose(2, 0, 1).astype(np.float32) * np.float32(self.scale)
        return (channels - self.mean) / self.deviation


def _middle(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """The middle of an image; where it is too small, black around it."""
    out = np.zeros((height, width, 3), dtype=pixels.dtype)
    top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
    inside = pixels[max(top, 0) : max(top, 0) + height, max(left, 0) : max(left, 0) + width]
    down, right = max(-top, 0), max(-left, 0)
    out[down : down + inside.shape[0], right : right + inside.shape[1]] = inside
    return out


def two_towers(
    name: str, kind: str, given: tuple[str, str, str], pin: Pin, default: Mapping[str, Any], *, pad: bool
) -> TwoTowers:
    """The checkpoint that is given as (model, revision, sha256), loaded by a class of the library."""
    import transformers

    folder = checkpoint(name, *given, pin)
    model, tokenizer = (
        getattr(transformers, each).from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        for each in (kind, "AutoTokenizer")
    )
    return TwoTowers(model, tokenizer, Preprocessing.read(folder, default), pad_to_the_end=pad)


class TwoTowers:
    """A text and an image network of the transformers library that end in one space."""

    def __init__(
        self, model: Any, tokenizer: Any, preprocessing: Preprocessing, *, pad_to_the_end: bool
    ) -> None:
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._preprocessing = preprocessing
        self._padding = "max_length" if pad_to_the_end else True
        self._longest = int(model.config.text_config.max_position_embeddings)
        self._dimensions = int(self._text_rows(["a"]).shape[1])

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return _unit(self._text_rows(texts))

    def text_norms(self, texts: Sequence[str]) -> np.ndarray:
        """The length of every text's embedding before it is made 1."""
        return np.linalg.norm(self._text_rows(texts).astype(np.float64), axis=1)

    def _text_rows(self, texts: Sequence[str]) -> np.ndarray:
        rows = []
        for start in range(0, len(texts), BATCH):
            inputs = self._tokenizer(
                list(texts[start : start + BATCH]),
                padding=self._padding,
                truncation=True,
                max_length=self._longest,
                return_tensors="pt",
            )
            rows.append(self._called(self._model.get_text_features, inputs))
        return np.concatenate(rows) if rows else self._nothing()

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        rows = [
            self.encode([self.prepare(image) for image in images[start : start + BATCH]])
            for start in range(0, len(images), BATCH)
        ]
        return np.concatenate(rows) if rows else self._nothing()

    def prepare(self, image: Picture) -> np.ndarray:
        return self._preprocessing(image.rgb)

    def encode(self, prepared: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        inputs = {"pixel_values": torch.from_numpy(np.stack(prepared))}
        return _unit(self._called(self._model.get_image_features, inputs))

    def _called(self, function: Any, inputs: Mapping[str, Any]) -> np.ndarray:
        import torch

        with torch.inference_mode():
            found = function(**inputs)
        # A tensor in version 4 of the library, and in version 5 an output that holds it.
        tensor = found if isinstance(found, torch.Tensor) else found.pooler_output
        return np.asarray(tensor.float().numpy())

    def _nothing(self) -> np.ndarray:
        return np.zeros((0, self._dimensions), dtype=np.float32)


def _unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
