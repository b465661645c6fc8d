"""DETR: objects of fixed classes, found by a transformer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import Pin, checkpoint
from sightline.detectors.models._coco import CLASSES
from sightline.detectors.models._transformers import (
    Found,
    Looking,
    check_limits,
    corners,
    labels,
    loaded,
)
from sightline.extension import Detector, detector

PIN = Pin(
    "facebook/detr-resnet-50",
    "1d5f47bd3bdd2c4bbfa585418ffe6da5028b4c0b",
    megabytes=167,
    licence="Apache-2.0",
)


def _vocabulary(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The classes of the checkpoint; those of the default one are COCO's."""
    model = str(arguments["model"])
    if model == PIN.model:
        return CLASSES
    if Path(model).is_dir():
        return labels(Path(model))
    return labels(checkpoint("detr", model, str(arguments["revision"]), str(arguments["sha256"])))


@detector(
    sees=("objects",),
    vocabulary=_vocabulary,
    sure=0.7,
    extra="torch",
    checkpoint=PIN,
    source="Carion et al. 2020 (DETR); Lin et al. 2014 (COCO)",
    licence="Apache-2.0",
    parallel=False,
)
def detr(
    *,
    model: str = PIN.model,
    revision: str = PIN.revision,
    sha256: str = "",
    least: float = 0.4,
    overlap: float = 1.0,
) -> Detector:
    """Boxes around objects of a checkpoint's classes, by default COCO's 80, with confidence and colours.

    `model` is a folder with a checkpoint of transformers' DetrForObjectDetection, with the `sha256` of its
    files, or a name on the hub with its `revision`, a commit. Boxes below the confidence `least` are left
    out; of boxes of one class that overlap by more than `overlap`, only the surest stays. The default
    checkpoint needs the package timm for its image network.
    """
    check_limits("detr", least, overlap)
    ready = loaded(PIN, "detr", "DetrForObjectDetection", "DetrImageProcessor", model, revision, sha256)
    return _Detr(ready, least, overlap)


class _Detr(Looking):
    def found(self, rgb: np.ndarray) -> Iterator[Found]:
        seen = self.model.network(**self.pixels(rgb))
        # The last class is "no object".
        probabilities = seen.logits[0].softmax(-1)[:, :-1].float().numpy()
        names = self.model.network.config.id2label
        for box, row in zip(corners(seen.pred_boxes[0]), probabilities, strict=True):
            best = int(row.argmax())
            yield names[best], box.tolist(), float(row[best])
