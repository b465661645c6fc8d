"""From a picture to what a network sees, with Pillow and numpy alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_DEVIATION = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class Preprocessing:
    """Scaling, cropping and normalising, as a checkpoint's preprocessor_config.json says.

    The shorter side is scaled to `shortest`, or the longer to `longest` with black around it to a square, or
    the whole to `size`; then the middle of `crop` is taken.
    """

    shortest: int | None
    size: tuple[int, int]
    crop: tuple[int, int] | None
    resample: int
    scale: float
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    longest: int | None = None

    @classmethod
    def read(cls, folder: Path, default: Mapping[str, Any]) -> Preprocessing:
        """Read the file; what it leaves out is as in `default`, the values the library's class has."""
        file = folder / "preprocessor_config.json"
        return cls.of({**default, **(json.loads(file.read_text("utf-8")) if file.is_file() else {})})

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Preprocessing:
        """From settings in the library's words."""
        size = settings["size"] if isinstance(settings["size"], dict) else {"shortest_edge": settings["size"]}
        crop = settings.get("crop_size")
        crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop
        return cls(
            shortest=size.get("shortest_edge"),
            longest=size.get("longest_edge"),
            size=(int(size.get("height", 0)), int(size.get("width", 0))),
            crop=(crop["height"], crop["width"]) if settings.get("do_center_crop") and crop else None,
            resample=int(settings["resample"]),
            scale=float(settings.get("rescale_factor", 1 / 255)),
            mean=tuple(settings["image_mean"]),
            deviation=tuple(settings["image_std"]),
        )

    def __call__(self, rgb: np.ndarray) -> np.ndarray:
        """Channels first, as numbers that a network takes."""
        return self.normal(self.pixels(rgb))

    def pixels(self, rgb: np.ndarray) -> np.ndarray:
        """Scaled and cropped, still as bytes."""
        import numpy as np
        from PIL import Image

        scaled = Image.fromarray(rgb).resize(self._target(*rgb.shape[:2]), Image.Resampling(self.resample))
        pixels = np.asarray(scaled)
        crop = self.crop if self.longest is None else (self.longest, self.longest)
        return pixels if crop is None else _middle(pixels, *crop)

    def normal(self, pixels: np.ndarray) -> np.ndarray:
        """Bytes as channels around 0."""
        import numpy as np

        channels = pixels.transpose(2, 0, 1).astype(np.float32) * np.float32(self.scale)
        mean, deviation = (np.array(each, np.float32)[:, None, None] for each in (self.mean, self.deviation))
        return np.asarray((channels - mean) / deviation)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        """Width and height after scaling."""
        if self.longest is not None:
            ratio = self.longest / max(height, width)
            return max(1, round(width * ratio)), max(1, round(height * ratio))
        if self.shortest is None:
            return self.size[1], self.size[0]
        short, long = sorted((height, width))
        longer = int(self.shortest * long / short)
        return (longer, self.shortest) if height <= width else (self.shortest, longer)


def _middle(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """The middle of an image; where it is too small, black around it."""
    import numpy as np

    out = np.zeros((height, width, 3), dtype=pixels.dtype)
    top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
    inside = pixels[max(top, 0) : max(top, 0) + height, max(left, 0) : max(left, 0) + width]
    down, right = max(-top, 0), max(-left, 0)
    out[down : down + inside.shape[0], right : right + inside.shape[1]] = inside
    return out
