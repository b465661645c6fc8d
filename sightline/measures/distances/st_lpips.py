"""LPIPS with a network that a shift by a few pixels hardly changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sightline.checkpoints import tensors
from sightline.device import Batches, device, inference, numbers, precision
from sightline.errors import UsageError
from sightline.extension import Card, Picture, Weights, distance, find
from sightline.measures.distances._networks import distinct, scaled

WEIGHTS = Weights(
    sha256="b356b382f96010f77d085ee8343ecd9fd322d0a56e8de2b2d0549fafcad8b9ee",
    package="stlpips_pytorch:stlpips_pytorch/weights/vST0.0/alex_shift_tolerant.pth",
)
PLAN = (("slice1.0", 2, False), ("slice2.5", 2, True), ("slice3.9", 1, True), ("slice4.11", 1, False),
        ("slice5.13", 1, False))  # fmt: skip
"""Of each convolution: its name, its margin, whether maxima and a blur come before it."""
EPSILON = 1e-10
LEAST = 32


@distance(
    range=(0, None),
    extra="torch",
    weights=WEIGHTS,
    source="Ghildyal and Liu 2022 (ST-LPIPS)",
    licence="Apache-2.0 (code); BSD-2-Clause (weights)",
    aliases=("stlpips", "shift_tolerant_lpips"),
    card=Card(
        trained_on="BAPPS: choices between distorted patches of 64 pixels, over AlexNet on ImageNet",
        biases="Made for copies of one picture; by design blind to small shifts.",
        tested="narrow layers with random weights; equal to torch's own layers to 1e-4. Compared once with "
        "the authors' code and weights, outside the tests",
        trust="not measured here",
    ),
)
def st_lpips(images: Sequence[Picture], *, side: int = 64) -> np.ndarray:
    """Shift-tolerant LPIPS: learned perceptual distance over an AlexNet with blurs instead of strides.

    As lpips, with every place where the network skips pixels blurred first, so that an image that is shifted
    by a pixel is hardly further away. Every image is first scaled to `side` x `side` pixels. The package that
    carries the weights is used for nothing else: pip install --no-deps stlpips_pytorch.
    """
    if side < LEAST:
        raise UsageError(f"st_lpips: side={side}", remedy=f"At least {LEAST}.")
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    shown, places = distinct(images)
    parts = Batches(16).run(lambda part: _features(part, side), shown)
    found = np.zeros((len(shown), len(shown)))
    for layer, weights in enumerate(_network(device(), precision())[1]):
        rows = np.concatenate([part[layer] for part in parts]).astype(np.float64)
        heavy = np.repeat(weights, rows.shape[1] // len(weights))
        products = (rows * heavy) @ rows.T
        squares = np.diag(products)
        found += squares[:, None] + squares - 2 * products
    upper = np.triu(np.maximum(found, 0), 1)
    return np.asarray((upper + upper.T)[np.ix_(places, places)])


def _features(images: Sequence[Picture], side: int) -> list[np.ndarray]:
    """Of each layer, one row per image: activations of length 1 at each place, over the places' root."""
    import torch
    from torch.nn import functional

    layers, _, shift, scale = _network(device(), precision())
    pixels = torch.from_numpy(np.stack([scaled(image, side) for image in images])).to(device())
    seen = (2 * pixels - 1 - shift) / scale
    made = []
    with inference():
        for n, ((kernel, base), (_, margin, pooled)) in enumerate(zip(layers, PLAN, strict=True)):
            if pooled:
                seen = _blurred(functional.max_pool2d(seen, 3, stride=1))
            seen = functional.conv2d(seen, kernel, base, padding=margin)
            seen = functional.relu(_blurred(seen) if n == 0 else seen)
            length = (seen.float() ** 2).sum(dim=1, keepdim=True).sqrt() + EPSILON
            size = float(seen.shape[2] * seen.shape[3]) ** 0.5
            made.append(numbers((seen.float() / length / size).flatten(1)))
    return made


def _blurred(seen: Any) -> Any:
    """Every second place of the image after a blur of 3 x 3, mirrored at its edges."""
    import torch
    from torch.nn import functional

    line = torch.tensor([0.25, 0.5, 0.25], device=seen.device)
    kernel = torch.outer(line, line).expand(seen.shape[1], 1, 3, 3)
    padded = functional.pad(seen, (2, 2, 2, 2), mode="reflect")
    return functional.conv2d(padded, kernel, stride=2, groups=seen.shape[1])


@lru_cache(maxsize=1)
def _network(where: str, exactness: str) -> tuple[list[tuple[Any, Any]], list[np.ndarray], Any, Any]:
    """Convolutions, the weights of what is compared, and what pixels are scaled by."""
    state = tensors(find("st_lpips", WEIGHTS))
    layers = [
        tuple(state[f"net.{name}.{part}"].to(where) for part in ("weight", "bias")) for name, _, _ in PLAN
    ]
    heads = [state[f"lin{n}.model.1.weight"].double().numpy().ravel() for n in range(len(PLAN))]
    shift, scale = (state[f"scaling_layer.{name}"].to(where) for name in ("shift", "scale"))
    return layers, heads, shift, scale
