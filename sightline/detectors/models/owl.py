"""OWL-ViT and OWLv2: objects of any description, found by comparing parts of an image with phrases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sightline.checkpoints import Pin
from sightline.detectors.models._transformers import (
    Found,
    Looking,
    Model,
    check_limits,
    corners,
    loaded,
    phrases_of,
)
from sightline.errors import DataError, UsageError
from sightline.extension import Detector, detector

OWLVIT = Pin(
    "google/owlvit-base-patch32",
    "cbc355fb364588351c5d51c7f74465e8e7ec6f72",
    megabytes=613,
    licence="Apache-2.0",
)
OWLV2 = Pin(
    "google/owlv2-base-patch16-ensemble",
    "cfd3195ba4ea9592eec887ded089f4c08eff231d",
    megabytes=620,
    licence="Apache-2.0",
)
LONGEST = 16
"""Tokens of a phrase that the text network reads."""


@detector(
    sees=("objects",),
    phrases="phrases",
    sure=0.1,
    extra="torch",
    checkpoint=OWLVIT,
    source="Minderer et al. 2022 (OWL-ViT)",
    licence="Apache-2.0",
    parallel=False,
    parameters={"phrases": ("ball", "car")},
)
def owlvit(
    *,
    phrases: tuple[str, ...] = (),
    model: str = OWLVIT.model,
    revision: str = OWLVIT.revision,
    sha256: str = "",
    least: float = 0.05,
    overlap: float = 0.7,
    template: str = "a photo of a {}",
) -> Detector:
    """Boxes around whatever `phrases` name, with confidence and colours.

    `model` is a folder with a checkpoint of transformers' OwlViTForObjectDetection, with the `sha256` of its
    files, or a name on the hub with its `revision`, a commit. Each phrase is put into the `template`. A box
    holds the phrase that fits it best; boxes below the confidence `least` are left out, and of boxes of one
    phrase that overlap by more than `overlap` only the surest stays. Confidences are low:
    verdicts count from 0.1 on.
    """
    check_limits("owlvit", least, overlap)
    asked = _asked("owlvit", phrases, template)
    ready = loaded(
        OWLVIT, "owlvit", "OwlViTForObjectDetection", "OwlViTImageProcessor", model, revision, sha256
    )
    return _Owl(ready, least, overlap, asked, padded=False)


@detector(
    sees=("objects",),
    phrases="phrases",
    sure=0.2,
    extra="torch",
    checkpoint=OWLV2,
    source="Minderer et al. 2023 (OWLv2)",
    licence="Apache-2.0",
    parallel=False,
    parameters={"phrases": ("ball", "car")},
)
def owlv2(
    *,
    phrases: tuple[str, ...] = (),
    model: str = OWLV2.model,
    revision: str = OWLV2.revision,
    sha256: str = "",
    least: float = 0.1,
    overlap: float = 0.7,
    template: str = "a photo of a {}",
) -> Detector:
    """Boxes around whatever `phrases` name, with confidence and colours; more exact than `owlvit`.

    As `owlvit`, with a checkpoint of transformers' Owlv2ForObjectDetection as `model` and `revision` or
    `sha256`, the `template` for each phrase, and `least` and `overlap` for confidence and overlap of boxes.
    """
    check_limits("owlv2", least, overlap)
    asked = _asked("owlv2", phrases, template)
    ready = loaded(OWLV2, "owlv2", "Owlv2ForObjectDetection", "Owlv2ImageProcessor", model, revision, sha256)
    return _Owl(ready, least, overlap, asked, padded=True)


def _asked(name: str, phrases: Any, template: str) -> dict[str, str]:
    """What is looked for, by the text that the network reads."""
    if template.count("{}") != 1:
        raise UsageError(f"{name}: template={template!r}", remedy='It has one {}, as in "a photo of a {}".')
    return {template.format(each): each for each in phrases_of(name, phrases)}


class _Owl(Looking):
    def __init__(
        self, model: Model, least: float, overlap: float, asked: dict[str, str], *, padded: bool
    ) -> None:
        super().__init__(model, least, overlap)
        if model.tokenizer is None:
            raise DataError("there is no tokenizer in the checkpoint", remedy="It has tokenizer_config.json.")
        self._asked = asked
        self._padded = padded

    def found(self, rgb: np.ndarray) -> Iterator[Found]:
        texts = self.model.tokenizer(
            list(self._asked), padding="max_length", truncation=True, max_length=LONGEST, return_tensors="pt"
        )
        seen = self.model.network(
            input_ids=texts["input_ids"], attention_mask=texts["attention_mask"], **self.pixels(rgb)
        )
        logits = seen.logits[0].float()
        # Very sure ones would all be 1: the largest is taken before.
        best = logits.argmax(-1).tolist()
        scores = logits.max(-1).values.sigmoid().tolist()
        height, width = rgb.shape[:2]
        # OWLv2 sees the picture in the upper left corner of a square.
        side = max(height, width)
        scale = (side / width, side / height) if self._padded else (1.0, 1.0)
        names = list(self._asked.values())
        for box, phrase, score in zip(corners(seen.pred_boxes[0], *scale), best, scores, strict=True):
            yield names[phrase], box.tolist(), score
