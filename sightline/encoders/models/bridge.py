"""A joint space of texts and images that was fitted on a study's own captioned images."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import content_hash
from sightline.errors import DataError, UsageError
from sightline.extension import ImageEncoder, JointEncoder, Picture, TextEncoder, encoder, needs
from sightline.statistics.bridge import Bridge
from sightline.weights import by_name

DIGITS = 16
"""So many digits of the content's sha256 are in the name of a fitted bridge."""
ALIKE = 0.999
"""A probe's cosine to what was seen at the fit; another encoder gives another vector."""


def encoders_inside(given: Mapping[str, Any]) -> dict[str, str]:
    """The encoders that a bridge was fitted with, as its file says: nobody has to write them again."""
    file = place_of(str(given.get("path") or ""))
    if not file.is_file():
        return {}
    try:
        about = json.loads(str(_read(file)["about"]))
    except (KeyError, ValueError, DataError):
        # What is wrong with the file is said when it is loaded.
        return {}
    return {f"{name}_encoder": str(about[name]) for name in ("image", "text") if name in about}


def place_of(path: str) -> Path:
    """The file of a bridge: the one so called, or the one that was fitted here under this name."""
    given = Path(path)
    if path and not given.is_file() and given.name == path:
        return by_name("bridges", path)
    return given


@encoder(
    encodes=("text", "image"),
    filled_by=encoders_inside,
    source="Saunders et al. 1998; Hardoon et al. 2004; Conneau et al. 2018",
    licence="Apache-2.0",
)
def bridge(
    *,
    path: str = "",
    image_encoder: ImageEncoder = needs("encoder", "efficientnet_lite0(stages=(6, 8), views=6)"),
    text_encoder: TextEncoder = needs("encoder", "sentence"),
) -> JointEncoder:
    """Texts and images in the space of a fitted bridge, of length 1; equal products mean equal rank.

    `path` is a file that fitting a bridge wrote, or the name of one that was fitted on this machine: it ends
    in the hash of its content, so that the name stands for this bridge and no other. `image_encoder` and
    `text_encoder` are those it was fitted with, by default as its file says, which is checked by a probe. The
    loaded encoder's `about` tells on how many images of which collection it was fitted, when, and how often
    it found images that it had not seen.
    """
    if not path:
        raise UsageError(
            "bridge needs the path of a fitted bridge",
            remedy="sightline bridge STUDY COLLECTION fits one on captioned images and tells how to use it.",
        )
    arrays = _read(place_of(path))
    try:
        about: Mapping[str, Any] = json.loads(str(arrays["about"]))
        fitted = Bridge.restored(
            {
                name: arrays[name]
                for name in arrays
                if arrays[name].dtype.kind == "f" or name == "ridge_columns"
            }
        )
        probe = Picture(arrays["probe_image"].tobytes(), name="probe")
        seen, said = arrays["probe_image_vector"], arrays["probe_text_vector"]
        text = str(arrays["probe_text"])
    except (KeyError, ValueError) as error:
        raise DataError(f"this is no fitted bridge ({error})", where=path) from None
    encoder = _BridgeEncoder(fitted, image_encoder, text_encoder, about)
    checks = (("image", image_encoder.image([probe]), seen), ("text", text_encoder.text([text]), said))
    for what, vectors, expected in checks:
        if not _alike(np.asarray(vectors), expected):
            raise UsageError(
                f"this bridge was fitted on another {what} encoder: {about.get(what)}",
                remedy=f"bridge(path={path!r}, image_encoder={about.get('image')}, "
                f"text_encoder={about.get('text')})",
            )
    return encoder


class _BridgeEncoder:
    def __init__(
        self, fitted: Bridge, image: ImageEncoder, text: TextEncoder, about: Mapping[str, Any]
    ) -> None:
        self._fitted = fitted
        self._image = image
        self._text = text
        self.about = about

    def __repr__(self) -> str:
        return f"<bridge fitted on {self.about.get('images')} images of {self.about.get('collection')}>"

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        features = np.asarray(self._image.image(images), dtype=np.float64)
        return self._fitted.image(features).astype(np.float32)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text its encoder does not read."""
        return list(self._text.unread(texts)) if hasattr(self._text, "unread") else [0] * len(texts)

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return self._fitted.text(np.asarray(self._text.text(texts), dtype=np.float64)).astype(np.float32)


def _alike(found: np.ndarray, expected: np.ndarray) -> bool:
    one, two = found.ravel(), expected.ravel()
    if one.shape != two.shape:
        return False
    return bool(one @ two >= ALIKE * np.linalg.norm(one) * np.linalg.norm(two))


def _read(file: Path) -> dict[str, np.ndarray]:
    if not file.is_file():
        raise UsageError(
            f"there is no fitted bridge {file.name}",
            remedy="Fit it first (sightline bridge), or give the path of its file.",
        )
    digest = content_hash(file)[:DIGITS]
    if not file.stem.endswith(digest):
        raise DataError(
            f"the name of a fitted bridge ends in the hash of its content, here {digest}",
            where=str(file),
            remedy="Another bridge under the same name? Take the file that the fit wrote, or rename it.",
        )
    try:
        with np.load(file, allow_pickle=False) as opened:
            return {name: opened[name] for name in opened.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"this is no fitted bridge ({error})", where=str(file)) from None
