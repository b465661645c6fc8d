"""What the detectors of the transformers library share: checkpoint, preprocessing with Pillow, and boxes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sightline.checkpoints import Pin, checkpoint
from sightline.detectors.models._coloured import seen_object
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Picture

Found = tuple[str, Sequence[float], float]
"""Kind, corners as fractions and confidence of one object."""


class Model(NamedTuple):
    """A network with what turns pictures and texts into its inputs."""

    network: Any
    images: Any
    tokenizer: Any


@cache
def loaded(
    pin: Pin, name: str, architecture: str, processor: str, model: str, revision: str, sha256: str
) -> Model:
    """A checkpoint, loaded once whatever phrases it is asked for."""
    import transformers

    folder = checkpoint(name, model, revision, sha256, pin)
    options = {"local_files_only": True}
    # Since version 5 of the library the one that needs no torchvision has a name of its own.
    own = getattr(transformers, f"{processor}Pil", None) or getattr(transformers, processor)
    try:
        network = getattr(transformers, architecture).from_pretrained(
            folder, trust_remote_code=False, **options
        )
    except ImportError as error:
        raise MissingPackage(
            f"this checkpoint of {name} needs a package that is not installed ({str(error).strip()[:200]})",
            remedy="pip install timm, or give a checkpoint whose config.json says use_timm_backbone: false.",
        ) from None
    tokenizer = None
    if (folder / "tokenizer_config.json").is_file():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **options)
    return Model(network.eval(), own.from_pretrained(folder, **options), tokenizer)


def labels(folder: Path) -> tuple[str, ...]:
    """The classes of a checkpoint, without those that are none."""
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"config.json cannot be read ({error})", where=str(folder)) from None
    named: Mapping[str, str] = config.get("id2label") or {}
    return tuple(dict.fromkeys(label for label in named.values() if label.strip() not in ("", "N/A")))


def phrases_of(name: str, phrases: Any) -> tuple[str, ...]:
    """What a detector is asked to look for, each phrase once."""
    listed = (phrases,) if isinstance(phrases, str) else tuple(phrases)
    if not listed or not all(isinstance(each, str) and each.strip() for each in listed):
        raise UsageError(
            f"{name} looks for what it is asked for, and there is no phrase",
            remedy=f"For example {name}(phrases=('dog', 'red ball')); verify asks for what a prompt names.",
        )
    return tuple(dict.fromkeys(each.strip() for each in listed))


def check_limits(name: str, least: float, overlap: float) -> None:
    """Refuse a confidence or an overlap that is none."""
    if not 0 <= least <= 1 or not 0 < overlap <= 1:
        raise UsageError(
            f"{name}: least={least}, overlap={overlap}", remedy="For example least=0.3, overlap=0.7."
        )


class Looking:
    """A detector over a network that looks at one picture at a time: padding would change what it sees."""

    def __init__(self, model: Model, least: float, overlap: float) -> None:
        self.model = model
        self.least = least
        self.overlap = overlap

    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        return [{"objects": self._objects(image.rgb)} for image in images]

    def _objects(self, rgb: np.ndarray) -> list[dict[str, Any]]:
        import torch

        with torch.inference_mode():
            everything = [each for each in self.found(rgb) if each[2] >= self.least]
        return [seen_object(rgb, *each) for each in separate(everything, self.overlap)]

    def found(self, rgb: np.ndarray) -> Iterator[Found]:
        """Every box of a picture with the kind it most probably holds."""
        raise NotImplementedError

    def pixels(self, rgb: np.ndarray) -> dict[str, Any]:
        """The picture as the network sees it."""
        from PIL import Image

        inputs = self.model.images(images=[Image.fromarray(rgb)], return_tensors="pt")
        return {name: inputs[name] for name in ("pixel_values", "pixel_mask") if name in inputs}


def corners(boxes: Any, across: float = 1.0, down: float = 1.0) -> np.ndarray:
    """Left, top, right and bottom of boxes given by centre, width and height."""
    x, y, width, height = np.asarray(boxes.float().numpy(), dtype=np.float64).T
    sides = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    return np.stack(sides, axis=1) * (across, down, across, down)


def separate(found: Sequence[Found], overlap: float) -> list[Found]:
    """The surest of boxes of one kind that overlap by more than `overlap` (intersection over union)."""
    kept: list[Found] = []
    for each in sorted(found, key=lambda one: -one[2]):
        same = [other[1] for other in kept if other[0] == each[0]]
        if all(_shared(each[1], other) <= overlap for other in same):
            kept.append(each)
    return kept


def _shared(one: Sequence[float], two: Sequence[float]) -> float:
    across = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    down = max(0.0, min(one[3], two[3]) - max(one[1], two[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, two)]
    return across * down / max(sum(areas) - across * down, 1e-12)
