"""Grounding DINO: objects of any description, found by reading the phrases together with the image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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

PIN = Pin(
    "IDEA-Research/grounding-dino-tiny",
    "a2bb814dd30d776dcf7e30523b00659f4f141c71",
    megabytes=689,
    licence="Apache-2.0",
)


@detector(
    sees=("objects",),
    phrases="phrases",
    sure=0.35,
    extra="torch",
    checkpoint=PIN,
    source="Liu et al. 2023 (Grounding DINO)",
    licence="Apache-2.0",
    parallel=False,
    parameters={"phrases": ("ball", "car")},
)
def grounding_dino(
    *,
    phrases: tuple[str, ...] = (),
    model: str = PIN.model,
    revision: str = PIN.revision,
    sha256: str = "",
    least: float = 0.25,
    overlap: float = 0.7,
) -> Detector:
    """Boxes around whatever `phrases` name, with confidence and colours.

    `model` is a folder with a checkpoint of transformers' GroundingDinoForObjectDetection, with the `sha256`
    of its files, or a name on the hub with its `revision`, a commit. The phrases are read in one sentence,
    with full stops between them. The confidence of a box for a phrase is the largest over the phrase's
    tokens; it holds the phrase with the largest. Boxes below the confidence `least` are left out, and of
    boxes of one phrase that overlap by more than `overlap` only the surest stays.
    """
    check_limits("grounding_dino", least, overlap)
    asked = phrases_of("grounding_dino", phrases)
    ready = loaded(
        PIN,
        "grounding_dino",
        "GroundingDinoForObjectDetection",
        "GroundingDinoImageProcessor",
        model,
        revision,
        sha256,
    )
    return _Grounded(ready, least, overlap, asked)


class _Grounded(Looking):
    def __init__(self, model: Model, least: float, overlap: float, asked: Sequence[str]) -> None:
        super().__init__(model, least, overlap)
        if model.tokenizer is None:
            raise DataError("there is no tokenizer in the checkpoint", remedy="It has tokenizer_config.json.")
        self._asked = asked
        self._sentence, spans = sentence(asked)
        encoded = model.tokenizer(self._sentence, return_tensors="pt", return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        longest = int(getattr(model.network.config, "max_text_len", 256))
        if len(offsets) > longest:
            raise UsageError(
                f"grounding_dino reads {longest} tokens, and {len(asked)} phrases have {len(offsets)}",
                remedy="Ask for fewer kinds at once.",
            )
        self._texts = {name: encoded[name] for name in encoded}
        self._tokens = [
            [
                place
                for place, (start, end) in enumerate(offsets)
                if start < end and start >= left and end <= right
            ]
            for left, right in spans
        ]

    def found(self, rgb: np.ndarray) -> Iterator[Found]:
        seen = self.model.network(**self._texts, **self.pixels(rgb))
        logits = seen.logits[0].float().numpy()
        of_phrases = np.stack([logits[:, tokens].max(axis=1) for tokens in self._tokens], axis=1)
        for box, row in zip(corners(seen.pred_boxes[0]), of_phrases, strict=True):
            best = int(row.argmax())
            yield self._asked[best], box.tolist(), float(1 / (1 + np.exp(-row[best])))


def sentence(phrases: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The phrases as the network reads them, "a dog. a red ball.", and where each of them stands."""
    text, spans = "", []
    for each in phrases:
        plain = each.lower().strip(" .")
        spans.append((len(text) + 2, len(text) + 2 + len(plain)))
        text += f"a {plain}. "
    return text.strip(), spans
