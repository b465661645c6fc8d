"""Distances of embeddings: L2 and cosine, over any encoder, each image encoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.extension import Picture
from sightline.testing.inputs import encoded


def picture(seed: int, size: tuple[int, int] = (40, 64)) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    return encoded(Image.fromarray(pixels))


class Fixed:
    """Points in the plane by order of arrival, and how often it was asked."""

    def __init__(self, *points: tuple[float, float]) -> None:
        self.points = np.array(points)
        self.calls: list[int] = []

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        self.calls.append(len(images))
        return self.points[: len(images)]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # (3, 0), (0, 4), (6, 0), (0, 0): by Pythagoras, by angle (90 degrees, none, nowhere), along the axes.
        ("euclidean", [0, 5, 3, 3]),
        ("sqeuclidean", [0, 25, 9, 9]),
        ("cosine", [0, 1, 0, 1]),
        ("cityblock", [0, 7, 3, 3]),
    ],
)
def test_metrics_by_hand(metric: str, expected: list[float]) -> None:
    encoder = Fixed((3, 0), (0, 4), (6, 0), (0, 0))
    function = registry.configure("distance", f"embedding(metric={metric})").load({"encoder": encoder})
    found = function([picture(n) for n in range(4)])
    assert found[0].tolist() == expected
    assert encoder.calls == [4], "all-pairs work encodes every image once"


def test_clip_through_transformers(small_checkpoint: Callable[[str], Path]) -> None:
    clip_checkpoint = small_checkpoint("clip")
    """A checkpoint of the user's own, against the library's call and the definitions of both distances."""
    import torch
    from transformers import CLIPImageProcessorPil, CLIPModel

    images = [picture(n, size) for n, size in enumerate([(40, 64), (64, 40), (33, 90)])]
    told = {"model": str(clip_checkpoint), "sha256": content_hash(clip_checkpoint)}
    clip = str(registry.configure("encoder", "clip", **told))
    model = CLIPModel.from_pretrained(clip_checkpoint).eval()
    shown = CLIPImageProcessorPil.from_pretrained(clip_checkpoint)(
        [Image.fromarray(image.rgb) for image in images], return_tensors="pt"
    )
    with torch.no_grad():
        output = model.get_image_features(**shown)
    rows = (output if isinstance(output, torch.Tensor) else output.pooler_output).double().numpy()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = registry.configure("distance", f"embedding(encoder={clip}, metric=cosine)").load()(images)
    np.testing.assert_allclose(cosine, 1 - rows @ rows.T, atol=1e-4)
    euclidean = registry.configure("distance", f"embedding(encoder={clip})").load()(images)
    # Vectors of length 1: |a - b|^2 = 2 (1 - cos).
    np.testing.assert_allclose(euclidean**2, 2 * cosine, atol=1e-4)
    assert cosine[0, 1] > 1e-4
