"""What measures over a joint space share: the cosine of every prompt and image, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sightline.extension import JointEncoder, NoValue, Picture, Value, Values
from sightline.records import UNREAD, Prompt


def similarity(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    encoder: JointEncoder,
    *,
    prefix: str = "",
    of: Callable[[float], float] = lambda cosine: cosine,
) -> Values:
    """`of` the cosine of each prompt, after `prefix`, and image."""
    if not prompts:
        return []
    texts = Texts(encoder, [prefix + prompt.text for prompt in prompts])
    seen = unit(encoder.image(images))
    made: list[Value | NoValue] = []
    for prompt, image in zip(prompts, seen, strict=True):
        text = texts.vector(prefix + prompt.text)
        if not prompt.text.strip() or not text.any():
            made.append(NoValue("the prompt is empty"))
        elif not np.isfinite(text).all():
            made.append(NoValue("the encoder has no vector of the prompt"))
        elif not (np.isfinite(image).all() and image.any()):
            made.append(NoValue("the encoder has no vector of the image"))
        else:
            cosine = float(np.clip((text * image).sum(), -1, 1))
            made.append(Value(of(cosine), texts.evidence(prefix + prompt.text)))
    return made


class Texts:
    """Texts encoded once each, and how much of each the encoder did not read."""

    def __init__(self, encoder: Any, texts: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        rows = unit(encoder.text(distinct)) if distinct else ()
        self._rows = dict(zip(distinct, rows, strict=True))
        unread = encoder.unread(distinct) if distinct and hasattr(encoder, "unread") else ()
        self._unread = dict(zip(distinct, unread, strict=False))

    def vector(self, text: str) -> np.ndarray:
        return np.asarray(self._rows[text])

    def evidence(self, text: str) -> dict[str, int] | None:
        left = self._unread.get(text)
        return {UNREAD: left} if left else None


def unit(rows: np.ndarray) -> np.ndarray:
    """Vectors of length 1 in double precision; one of zeros stays as it is."""
    wide = np.asarray(rows, dtype=np.float64)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12))
