"""The cosine between an image and its prompt in a joint space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import JointEncoder, NoValue, Picture, Values, measure, needs
from sightline.records import Prompt


@measure.of_answer(
    direction="higher",
    range=(-1, 1),
    source="Hessel et al. 2021 (CLIPScore)",
    licence="Apache-2.0",
    aliases={"clipscore": "CLIPScore is 2.5 times this cosine with clip, and never below 0."},
)
def embedding_similarity(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
) -> Values:
    """Cosine between prompt and image in a space that holds both, such as CLIP's or a fitted bridge's.

    With `clip` this is the CLIPScore without its factor of 2.5 and its floor at zero. Values of different
    encoders are on different scales: compare images under one encoder only.
    """
    if not prompts:
        return []
    places: dict[str, int] = {}
    rows = [places.setdefault(prompt.text, len(places)) for prompt in prompts]
    texts = _unit(encoder.text(list(places)))[rows]
    seen = _unit(encoder.image(images))
    cosines = (texts * seen).sum(axis=1)
    return [
        NoValue("the prompt is empty")
        if not prompt.text.strip() or not text.any()
        else NoValue("the encoder has no vector of the image")
        if not (np.isfinite(image).all() and image.any())
        else float(np.clip(cosine, -1, 1))
        for prompt, text, image, cosine in zip(prompts, texts, seen, cosines, strict=True)
    ]


def _unit(rows: np.ndarray) -> np.ndarray:
    wide = np.asarray(rows, dtype=np.float64)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12))
