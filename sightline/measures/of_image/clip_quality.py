"""What CLIP says of an image alone: the LAION aesthetic score and CLIP-IQA."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import folder_of, tensors
from sightline.errors import DataError, UsageError
from sightline.extension import (
    Card,
    ImageEncoder,
    JointEncoder,
    NoValue,
    Picture,
    Value,
    Values,
    Weights,
    find,
    measure,
    needs,
)

LARGE = "clip(model='openai/clip-vit-large-patch14', revision='32bd64288804d66eefd0ccbe215aa642df71cc41')"
HEAD = Weights(
    sha256="21dd590f3ccdc646f0d53120778b296013b096a035a2718c9cb0d511bff0f1e0",
    page="github.com/christophschuhmann/improved-aesthetic-predictor: sac+logos+ava1-l14-linearMSE.pth, "
    "4 MB, Apache-2.0",
)
UNSEEN = NoValue("the encoder has no vector of the image")


@measure.of_image(
    direction="higher",
    extra="torch",
    weights=HEAD,
    parallel=False,
    source="Schuhmann 2022 (LAION aesthetic predictor v2)",
    licence="Apache-2.0",
    aliases=("laion_aesthetic", "aesthetic_score"),
    card=Card(
        trained_on="ratings from 1 to 10 in SAC, LAION-Logos and AVA, over OpenAI's CLIP ViT-L/14",
        biases="Western photographic taste; favours faces, bokeh and painterly images; says nothing of "
        "whether a prompt was followed. Values are no proportion: most images lie between 4 and 7.",
        tested="random head and small random checkpoint; equal to torch's own layers to 1e-4",
    ),
)
def aesthetic(
    images: Sequence[Picture],
    *,
    head: str = "",
    head_sha256: str = "",
    encoder: ImageEncoder = needs("encoder", LARGE),
) -> Values:
    """LAION aesthetic score: a small network over the image's CLIP vector, trained on ratings from 1 to 10.

    The dense layers, without anything between them, are those of the authors' file, found as
    SIGHTLINE_WEIGHTS_AESTHETIC, or of another file `head` (.safetensors or .pth) with its `head_sha256`. The
    vector of `encoder` has length 1.
    """
    if not images:
        return []
    layers = _layers(head, head_sha256)
    vectors = np.asarray(encoder.image(images), dtype=np.float64)
    if vectors.shape[1] != layers[0][0].shape[1]:
        raise UsageError(
            f"aesthetic: the head takes {layers[0][0].shape[1]} numbers and the encoder gives "
            f"{vectors.shape[1]}",
            remedy="Use the encoder that the head was trained over; by default CLIP ViT-L/14.",
        )
    said = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    for weight, base in layers:
        said = said @ weight.T + base
    return [Value(float(value)) if np.isfinite(value) else UNSEEN for value in said[:, 0]]


@lru_cache(maxsize=2)
def _layers(head: str, sha256: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and bases of the dense layers, first to last."""
    file = folder_of("aesthetic", Path(head), sha256, "head") if head else find("aesthetic", HEAD)
    state = tensors(file)
    names = sorted((name for name in state if name.endswith("weight")), key=_place)
    found = [(_double(state[name]), _double(state[name[: -len("weight")] + "bias"])) for name in names]
    fits = all(one[0].shape[0] == two[0].shape[1] for one, two in pairwise(found))
    if not found or not fits or found[-1][0].shape[0] != 1:
        raise DataError("this is no head of dense layers that ends in one number", where=str(file))
    return found


def _place(name: str) -> int:
    return next((int(part) for part in name.split(".") if part.isdecimal()), 0)


def _double(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.double().numpy())


@measure.of_image(
    direction="higher",
    range=(0, 1),
    source="Wang et al. 2023 (CLIP-IQA)",
    licence="Apache-2.0",
    aliases=("clipiqa",),
    card=Card(
        trained_on="400 million captioned images of the web (OpenAI's CLIP); nothing was trained on quality",
        biases="Sensitive to the wording of the two texts; takes subjects that people photograph well for "
        "good photos.",
        tested="small random checkpoint; equal to the softmax over transformers' CLIPModel to 1e-4",
    ),
)
def clip_iqa(
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    good: str = "Good photo.",
    bad: str = "Bad photo.",
) -> Values:
    """CLIP-IQA: how much nearer an image is to "Good photo." than to "Bad photo." under CLIP.

    The softmax of the scaled cosines of the image with the texts `good` and `bad`; with other opposites
    ("Colorful photo.", "Dull photo.") it measures those. The paper's network is a ResNet-50 without position
    embeddings; by default `encoder` is CLIP ViT-B/32, so that values differ from the paper's.
    """
    if not images:
        return []
    try:
        scale = float(encoder.logit_scale)  # type: ignore[attr-defined]
    except AttributeError:
        raise UsageError(
            "clip_iqa needs an encoder that has learned a scale of cosines", remedy="Such as clip or siglip."
        ) from None
    texts, seen = (_unit(rows) for rows in (encoder.text([good, bad]), encoder.image(images)))
    margin = scale * (seen @ (texts[0] - texts[1]))
    return [
        Value(float(1 / (1 + np.exp(-np.clip(each, -700, 700))))) if np.isfinite(each) else UNSEEN
        for each in margin
    ]


def _unit(rows: np.ndarray) -> np.ndarray:
    wide = np.asarray(rows, dtype=np.float64)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12))
