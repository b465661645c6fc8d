"""What every distance does with what a file may hold: odd modes and sizes, copies, one image, none."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline import registry
from sightline.errors import DataError, MissingPackage
from sightline.extension import Extension, Picture

COSINE = "embedding(encoder={}, metric=cosine)"
SMALLER = {"dists": "dists(side=32)"}
EVERY = [
    *(
        SMALLER.get(each.spec.name, each.spec.name)
        for each in registry.everything("distance")
        if isinstance(each, Extension)
    ),
    "lpips(net=vgg)",
    "embedding(metric=cosine)",
    COSINE.format("efficientnet_lite0"),
]
# Weights that are not installed with the tests; what each computes is tested with weights of its own.
ELSEWHERE = ("dists", "dreamsim", "st_lpips")
every_distance = pytest.mark.parametrize("text", EVERY)


def loaded(text: str) -> Callable[[Sequence[Picture]], np.ndarray]:
    distance = registry.configure("distance", text)
    if distance.name in ELSEWHERE and distance.state != "ready":
        pytest.skip(f"not needed here: {distance.name}: {distance.state}")
    try:
        function: Callable[[Sequence[Picture]], np.ndarray] = distance.load()
    except MissingPackage as error:
        pytest.skip(error.what)
    return function


def saved(image: Image.Image, form: str = "PNG", **told: Any) -> Picture:
    file = io.BytesIO()
    image.save(file, form, **told)
    return Picture(file.getvalue())


@cache
def scene() -> Image.Image:
    """Four flat colours in blocks: what a palette, a first frame or a mask can hold without loss."""
    y, x = np.mgrid[:40, :56]
    colours = np.array([[200, 30, 40], [20, 20, 20], [250, 250, 240], [40, 90, 220]], dtype=np.uint8)
    return Image.fromarray(colours[(x // 9 + 2 * (y // 7)) % 4])


@cache
def odd() -> dict[str, tuple[Picture, Picture]]:
    """A file of each kind, and the plain RGB image that it stands for."""
    rgb = scene()
    palette = rgb.quantize(4)
    grey = rgb.convert("L")
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    alpha = Image.fromarray(np.linspace(0, 255, 40 * 56).reshape(40, 56).astype(np.uint8))
    clear = rgb.copy()
    clear.putalpha(alpha)
    over_white = Image.alpha_composite(Image.new("RGBA", rgb.size, "white"), clear).convert("RGB")
    upside = Image.Exif()
    upside[0x0112] = 3
    return {
        "palette": (saved(palette), saved(palette.convert("RGB"))),
        "alpha": (saved(clear), saved(over_white)),
        "16-bit": (saved(deep), saved(Image.merge("RGB", [grey] * 3))),
        "CMYK": (saved(rgb.convert("CMYK"), "TIFF"), saved(rgb.convert("CMYK").convert("RGB"))),
        "animated": (
            saved(palette, "GIF", save_all=True, append_images=[Image.new("P", rgb.size, 3)]),
            saved(palette.convert("RGB")),
        ),
        "two levels": (saved(rgb.convert("1")), saved(rgb.convert("1").convert("RGB"))),
        "turned": (saved(rgb, "PNG", exif=upside), saved(rgb.rotate(180))),
    }


@cache
def shapes() -> tuple[Picture, ...]:
    """One pixel, lines, a large and a tall image, and images without any content."""
    rgb = scene()
    sizes = [(1, 1), (300, 2), (2, 300), (400, 310), (37, 90)]
    flat = [Image.new("RGB", (30, 30), colour) for colour in ((0, 0, 0), (255, 255, 255), (9, 9, 9))]
    return (*(saved(rgb.resize(size)) for size in sizes), *(saved(each) for each in flat))


@every_distance
def test_a_matrix_of_distances_whatever_the_files_hold(text: str) -> None:
    images = [*(file for file, _ in odd().values()), *shapes()]
    found = loaded(text)(images)
    low, high = registry.configure("distance", text).spec.range
    assert found.shape == (len(images), len(images)) and found.dtype == np.float64
    assert np.isfinite(found).all()
    assert (found == found.T).all() and (np.diag(found) == 0).all()
    assert low == 0 and found.min() >= 0 and (high is None or found.max() <= high)
    assert found.max() > 0.1, "different images differ"
    alone = loaded(text)([images[9], images[0], images[0]])
    assert alone[0] == pytest.approx(found[9, [9, 0, 0]], abs=1e-4), "a pair does not depend on the company"
    assert alone[1, 2] <= 1e-6, "copies are equal"


@every_distance
@pytest.mark.parametrize("kind", list(odd()))
def test_a_file_counts_as_the_image_it_shows(text: str, kind: str) -> None:
    file, shown = odd()[kind]
    other = shapes()[3]
    found = loaded(text)([file, shown, other])
    # The networks work with single precision; nothing else may tell two files of equal pixels apart.
    assert found[0, 1] == pytest.approx(0, abs=1e-4)
    assert found[0, 2] == pytest.approx(found[1, 2], abs=1e-4)


@every_distance
def test_what_is_no_image_is_said(text: str) -> None:
    with pytest.raises(DataError, match="not a readable image"):
        loaded(text)([saved(scene()), Picture(b"\x89PNG\r\n\x1a\n but no more", name="broken.png")])
