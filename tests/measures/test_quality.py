"""Quality without a reference: independent implementations, hand arithmetic, TID2013, and bad input."""

from __future__ import annotations

import csv
import importlib.util
import io
import sys
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFilter

from sightline import registry
from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_image.contrast_quality import contrast_quality
from sightline.measures.of_image.detail import spatial_information
from sightline.measures.of_image.distortions import blockiness, edge_sharpness, jpeg_quality
from sightline.measures.of_image.naturalness import brisque_row, niqe, piqe
from sightline.statistics.natural_scenes import grey_levels
from sightline.study.running.calls import compute_picture

ATTRIBUTES = ("brightness", "contrast", "colourfulness", "sharpness", "noise", "spatial_information")


def picture(pixels: Any, format: str = "PNG", **options: Any) -> Picture:
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(np.asarray(pixels, dtype=np.uint8))
    file = io.BytesIO()
    image.save(file, format, **options)
    return Picture(file.getvalue())


def value(found: Any) -> float:
    assert not isinstance(found, NoValue), found.reason
    return found.value if isinstance(found, Value) else float(found)


@cache
def photo() -> np.ndarray:
    """A photograph that scikit-learn carries."""
    from sklearn.datasets import load_sample_image

    return np.ascontiguousarray(load_sample_image("china.jpg")[:384, :512])


def grainy(sigma: float) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, sigma, photo().shape)
    return np.clip(photo() + noise, 0, 255).round().astype(np.uint8)


def softened(radius: float) -> Image.Image:
    return Image.fromarray(photo()).filter(ImageFilter.GaussianBlur(radius))


def test_attributes_have_no_better_end() -> None:
    assert {registry.find_measure(name).spec.direction for name in ATTRIBUTES} == {"none"}


def test_spatial_information_is_that_of_scipys_sobel() -> None:
    from scipy.ndimage import sobel

    y = photo() @ np.array([0.2126, 0.7152, 0.0722])
    expected = np.hypot(sobel(y, axis=0), sobel(y, axis=1))[1:-1, 1:-1].std()
    assert value(spatial_information([picture(photo())])[0]) == pytest.approx(expected)
    # A step from 0 to 255: two of the six inner columns have 4 x 255, the others 0.
    step = np.zeros((8, 8, 3))
    step[:, 4:] = 255
    spread = 4 * 255 * np.sqrt(1 / 3 * 2 / 3)
    assert value(spatial_information([picture(step)])[0]) == pytest.approx(spread)


def test_contrast_quality_is_scikit_images_similarity_to_the_equalised() -> None:
    from skimage.metrics import structural_similarity

    grey = grey_levels(photo())
    counts = np.bincount(grey.astype(int).ravel(), minlength=256)
    equalised = np.round(255 * np.cumsum(counts) / counts.sum())[grey.astype(int)]
    full = structural_similarity(
        grey, equalised, gaussian_weights=True, use_sample_covariance=False, data_range=255
    )  # fmt: skip
    (found,) = contrast_quality([picture(photo())])
    assert found.value == pytest.approx(full, abs=1e-6)
    share = counts[counts > 0] / counts.sum()
    assert found.evidence["entropy"] == pytest.approx(-(share * np.log2(share)).sum(), abs=1e-5)
    flat = (photo() // 4 + 96).astype(np.uint8)
    assert value(contrast_quality([picture(flat)])[0]) < found.value


# Neither can be pinned next to what Sightline needs: one wants numpy 1, the other another build of OpenCV.
BY_HAND = "is installed by hand, as benchmarks/quality.py says"


def test_piqe_is_that_of_pypiqe() -> None:
    pytest.importorskip("cv2", reason="pypiqe needs opencv")
    theirs = pytest.importorskip("pypiqe", reason=f"not needed here: pypiqe {BY_HAND}").piqe
    for pixels in (photo(), grainy(15), np.asarray(softened(2)), photo()[:250, :301]):
        expected = theirs(np.ascontiguousarray(pixels[:, :, ::-1]))[0]
        assert value(piqe([picture(pixels)])[0]) == pytest.approx(expected, rel=1e-3)


def test_the_features_of_brisque_are_those_of_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    cv2 = pytest.importorskip("cv2", reason="the package brisque needs opencv")
    theirs = _brisque_package(monkeypatch)
    for pixels in (photo(), grainy(15), np.asarray(softened(1.5))):
        grey = grey_levels(pixels)
        small = cv2.resize(grey / 255, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
        rows = [theirs.calculate_brisque_features(each, 7, 7 / 6) for each in (grey / 255, small)]
        expected = np.array([float(np.ravel(each)[0]) for each in np.concatenate(rows)])
        np.testing.assert_allclose(brisque_row(pixels), expected, rtol=2e-3, atol=2e-4)


def _brisque_package(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package's features, without the libraries that only its regression and downloads need."""
    spec = importlib.util.find_spec("brisque")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip(f"not needed here: the package brisque {BY_HAND}")
    for name in ("libsvm", "libsvm.svmutil", "requests", "scipy.ndimage.filters"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["libsvm"].svmutil = sys.modules["libsvm.svmutil"]  # type: ignore[attr-defined]
    package = types.ModuleType("brisque")
    package.__path__ = list(spec.submodule_search_locations)
    monkeypatch.setitem(sys.modules, "brisque", package)
    from brisque.brisque import BRISQUE  # type: ignore[import-not-found]

    return BRISQUE.__new__(BRISQUE)


def test_blockiness_and_jpeg_quality_by_hand() -> None:
    # Upright stripes, 8 wide, of 100 and 120, on a slope down of 1 per row: across, every border is a step of
    # 20 and all else 0; down, every step is 1. So B = (20 + 1) / 2, A = (0 + 1) / 2.
    rows, columns = np.mgrid[:32, :32]
    pixels = np.repeat((100 + 20 * (columns // 8 % 2) + rows)[:, :, None], 3, axis=2)
    assert value(blockiness([picture(pixels)])[0]) == pytest.approx(21)
    # No step changes its sign.
    (found,) = jpeg_quality([picture(pixels)])
    assert isinstance(found, NoValue)
    # With a row of grain the rate is known: S = a + b B^c A^d Z^e, the constants as published.
    (found,) = jpeg_quality([picture(photo())])
    parts = [found.evidence[name] for name in ("blockiness", "activity", "zero_crossings")]
    logs = np.array([-0.02398886, 0.01601664, 0.00642859]) @ np.log(parts)
    assert found.value == pytest.approx(-245.8909 + 261.9373 * np.exp(logs), abs=1e-3)


def test_compression_makes_blocks() -> None:
    values = [
        (value(blockiness([image])[0]), value(jpeg_quality([image])[0]))
        for image in (picture(photo(), "JPEG", quality=quality) for quality in (90, 50, 25, 10))
    ]
    ratios, qualities = zip(*values, strict=True)
    assert list(ratios) == sorted(ratios) and list(qualities) == sorted(qualities, reverse=True)


def test_an_edge_is_as_wide_as_its_slope() -> None:
    def ramp(width: int) -> np.ndarray:
        line = np.clip((np.arange(128) - 60) * (200 / width), 0, 200)
        return np.repeat(np.tile(line, (64, 1))[:, :, None], 3, axis=2)

    sharp, soft = edge_sharpness([picture(ramp(2)), picture(ramp(8))])
    # Contrast above 50: blur is just noticed at 3 pixels, so that 2 pass and 8 do not.
    assert (sharp.value, sharp.evidence["mean_width"]) == (1.0, 2.0)
    assert (soft.value, soft.evidence["mean_width"]) == (0.0, 8.0)


def test_blur_is_seen_by_edges() -> None:
    found = [value(edge_sharpness([picture(softened(radius))])[0]) for radius in (0, 0.7, 1.2, 2)]
    assert found == sorted(found, reverse=True) and found[0] > 10 * found[-1]


def test_niqe_of_a_photograph_is_low_and_rises_with_every_distortion() -> None:
    clean = value(niqe([picture(photo())])[0])
    assert clean < 6
    for worse in (grainy(25), softened(2), Image.open(io.BytesIO(picture(photo(), "JPEG", quality=10).data))):
        assert value(niqe([picture(worse)])[0]) > 1.3 * clean


CLAIMS = {
    "niqe": {1: "up", 8: "up", 10: "up", 11: "up"},
    "brisque": {1: "up", 8: "up", 10: "up", 11: "up"},
    "brisque_refit": {1: "up", 8: "up", 10: "up", 11: "up"},
    "piqe": {1: "up", 8: "up", 10: "up", 11: "up"},
    "mixed_distortion": {1: "up", 8: "up", 10: "up", 11: "up"},
    "blockiness": {10: "up"},
    "jpeg_quality": {10: "down"},
    "edge_sharpness": {8: "down", 11: "down"},
    "noise": {1: "up"},
    "sharpness": {8: "down", 11: "down"},
}
"""Which types of TID2013 a measure claims to see (1 noise, 8 blur, 10 JPEG, 11 JPEG 2000), and its sign."""


@pytest.mark.parametrize("name", CLAIMS)
def test_monotone_in_the_level_of_what_it_claims_to_see(data: Path, name: str) -> None:
    measure = registry.find_measure(name)
    if measure.spec.missing():
        pytest.skip(f"not needed here: {name} needs {measure.spec.missing()}")
    function = measure.load()
    with (data / "tid2013" / "mos.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["type"]) in CLAIMS[name]]
    images = [Picture(path=data / "tid2013" / row["file"]) for row in rows]
    keys = [(int(row["type"]), int(row["level"]), row["ref"]) for row in rows]
    found = dict(zip(keys, function(images), strict=True))
    for kind, way in CLAIMS[name].items():
        means = [
            np.mean([value(each) for (of, at, _), each in found.items() if (of, at) == (kind, level)])
            for level in range(1, 6)
        ]
        steps = np.diff(means) * (1 if way == "up" else -1)
        assert (steps > 0).all(), f"{name} on type {kind}: {means}"


def _animated() -> Picture:
    frames = [Image.fromarray(grainy(sigma)[:64, :64]).convert("P") for sigma in (0, 30)]
    return picture(frames[0], "GIF", save_all=True, append_images=frames[1:])


BAD: dict[str, Callable[[], Picture]] = {
    "grayscale": lambda: picture(Image.fromarray(photo()).convert("L")),
    "alpha": lambda: picture(Image.fromarray(np.dstack([photo(), photo()[:, :, 0]]))),
    "palette": lambda: picture(Image.fromarray(photo()).convert("P")),
    "16-bit": lambda: picture(Image.fromarray(photo()[:, :, 0].astype(np.uint16) * 257)),
    "CMYK": lambda: picture(Image.fromarray(photo()).convert("CMYK"), "JPEG"),
    "animated": _animated,
    "1x1": lambda: picture(np.full((1, 1, 3), 90)),
    "2x2": lambda: picture(photo()[:2, :2]),
    "wide": lambda: picture(np.tile(photo()[:10], (1, 40, 1))[:, :20_000]),
    "tall": lambda: picture(np.tile(photo()[:, :10], (53, 1, 1))[:20_000]),
    "constant": lambda: picture(np.full((128, 128, 3), 77)),
    "black": lambda: picture(np.zeros((128, 128, 3))),
    "white": lambda: picture(np.full((128, 128, 3), 255)),
    "two colours": lambda: picture(np.repeat(np.tile([0, 255], (128, 64))[:, :, None], 3, axis=2)),
    "a dot": lambda: picture(np.pad(np.full((1, 1, 3), 255), ((64, 63), (64, 63), (0, 0)))),
}
WHOLE = ("grayscale", "alpha", "palette", "16-bit", "CMYK")


# Those that look at pixels themselves: not what is imported, nor what asks an encoder.
OTHERS = ("aesthetic", "clip_iqa", "imported_of_image")
OFFLINE = [name for name in registry.names("of_image") if name not in OTHERS]


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("name", OFFLINE)
def test_bad_input_has_a_value_or_a_true_reason(name: str, what: str) -> None:
    measure = registry.find_measure(name)
    if measure.spec.missing():
        pytest.skip(f"not needed here: {name} needs {measure.spec.missing()}")
    if measure.spec.origin != "sightline":
        pytest.skip("a measure of another package")
    image = BAD[what]()
    with np.errstate(all="raise", under="ignore"):
        outcome = compute_picture(measure, image)
    if what in WHOLE:
        assert outcome.value is not None, outcome.reason
    if outcome.value is not None:
        return
    assert outcome.reason is not None and "raised" not in outcome.reason
    height, width = image.rgb.shape[:2]
    if outcome.reason.startswith("scaled down to 512 pixels"):
        assert min(height, width) * 512 / max(height, width) < 2.5
    elif "less than" in outcome.reason:
        said = [int(word) for word in outcome.reason.split() if word.isdecimal()]
        assert min(height, width) < (said[0] if said else 3)
    elif "one grey" in outcome.reason or "no two neighbouring" in outcome.reason:
        assert np.ptp(image.rgb) == 0
    elif "too regular" in outcome.reason:
        assert what == "two colours"


def test_a_grey_picture_is_itself_however_it_is_stored() -> None:
    grey = Image.fromarray(photo()).convert("L")
    stored = [picture(grey), picture(grey.convert("RGB")), picture(grey.convert("RGBA"))]
    for name in ("niqe", "piqe", "brisque_refit", "contrast_quality", "mixed_distortion"):
        first, *others = (value(each) for each in registry.find_measure(name).load()(stored))
        assert others == [first, first]
