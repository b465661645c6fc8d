"""Fit what `niqe`, `brisque_refit` and `mixed_distortion` ship: fit_naturalness.py DIR

DIR holds the photographs of Debian's package lomiri-wallpapers-16.04 (dpkg-deb -x, usr/share/backgrounds);
the others are in the packages scikit-image and scikit-learn. ATTRIBUTION.md next to what is fitted names all
of them; their licences are free. Nobody's judgements are read: the target of the regression is a measure with
a reference.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import correlate, gaussian_filter
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.svm import SVR

from sightline.measures.of_image.distortions import mixed_terms, single_distortions
from sightline.measures.of_image.naturalness import PATCH, SHIPPED, brisque_row, patch_features
from sightline.records import NoValue
from sightline.statistics.natural_scenes import block_means, grey_levels, surroundings

DEBIAN = (
    "Picture_0B_by_freespace", "Picture_1A_by_freespace", "Wine_by_Jakkub_Mede",
    "aitzgorri_by_Aitzol_Berasategi", "friends_by_Aitzol_Berasategi", "life_by_Aitzol_Berasategi",
    "picosdeeuropa_by_Aitzol_Berasategi",
    "seeding_by_Clements_Engelhardt", "sunset_by_Aitzol_Berasategi",
)  # fmt: skip
SCIKIT_IMAGE = ("coffee", "chelsea", "camera")
SCIKIT_LEARN = ("china.jpg", "flower.jpg")
SIDES = (1024, 640)
PATCH_SIDES = (1536, 1280, 1024, 896, 768, 640, 512)
"""Photographs are measured at these lengths of their longer side; larger ones are full of a camera's blur."""
SHARP = 0.75
"""Patches count that are at least so sharp, of the sharpest one of their photograph."""
CROP = 448
NOISE = (3, 6, 12, 20, 32, 50)
BLUR = (0.6, 1.0, 1.5, 2.2, 3.2, 5.0)
JPEG = (60, 35, 22, 14, 9, 5)
JPEG2000 = (20, 40, 70, 110, 160, 240)


def photographs(folder: Path) -> list[Image.Image]:
    from skimage import data
    from sklearn.datasets import load_sample_image

    found = [Image.open(folder / f"{name}.jpg").convert("RGB") for name in DEBIAN]
    found += [Image.fromarray(getattr(data, name)()).convert("RGB") for name in SCIKIT_IMAGE]
    return [*found, *(Image.fromarray(load_sample_image(name)) for name in SCIKIT_LEARN)]


def scaled(photograph: Image.Image, side: int) -> np.ndarray:
    factor = min(1.0, side / max(photograph.size))
    size = (round(photograph.width * factor), round(photograph.height * factor))
    return np.asarray(photograph.resize(size, Image.Resampling.LANCZOS))


def pristine(photos: list[Image.Image]) -> tuple[np.ndarray, np.ndarray, int]:
    rows = []
    for photo in photos:
        for side in PATCH_SIDES:
            grey = grey_levels(scaled(photo, side))
            whole = grey[: grey.shape[0] // PATCH * PATCH, : grey.shape[1] // PATCH * PATCH]
            sharpness = block_means(surroundings(whole, "nearest")[1], PATCH)
            features = patch_features(grey)
            if len(features) == len(sharpness):
                rows.append(features[sharpness > SHARP * sharpness.max()])
    every = np.concatenate(rows)
    return every.mean(axis=0), np.cov(every, rowvar=False), len(every)


def distorted(rgb: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    def through(format: str, **options: object) -> np.ndarray:
        file = io.BytesIO()
        Image.fromarray(rgb).save(file, format, **options)
        return np.asarray(Image.open(file).convert("RGB"))

    def grainy(sigma: float) -> np.ndarray:
        return np.clip(rgb + random.normal(0, sigma, rgb.shape), 0, 255).round().astype(np.uint8)

    def blurred(sigma: float) -> np.ndarray:
        return gaussian_filter(rgb.astype(float), (sigma, sigma, 0)).round().astype(np.uint8)

    return [
        *map(grainy, NOISE),
        *map(blurred, BLUR),
        *(through("JPEG", quality=quality) for quality in JPEG),
        *(through("JPEG2000", quality_mode="rates", quality_layers=[rate]) for rate in JPEG2000),
    ]


def gmsd(one: np.ndarray, other: np.ndarray) -> float:
    """Gradient magnitude similarity deviation (Xue et al. 2014): 0 for equal pictures, about .35 at worst."""
    prewitt = np.array([[1, 0, -1]] * 3) / 3

    def magnitude(rgb: np.ndarray) -> np.ndarray:
        grey = correlate(grey_levels(rgb), np.full((2, 2), 0.25), mode="nearest")[::2, ::2]
        return np.hypot(correlate(grey, prewitt), correlate(grey, prewitt.T))

    a, b = magnitude(one), magnitude(other)
    return float(((2 * a * b + 170) / (a * a + b * b + 170)).std())


def examples(photos: list[Image.Image]) -> tuple[np.ndarray, ...]:
    """BRISQUE's features, the terms of mixed distortions, targets and photographs."""
    random = np.random.default_rng(0)
    rows, terms, targets, groups = [], [], [], []
    for number, photo in enumerate(photos):
        for side in SIDES:
            whole = scaled(photo, side)
            top, left = ((length - min(CROP, length)) // 2 for length in whole.shape[:2])
            rgb = np.ascontiguousarray(whole[top : top + CROP, left : left + CROP])
            for each in (rgb, *distorted(rgb, random)):
                row, single = brisque_row(each), single_distortions(each)
                if not isinstance(row, NoValue) and not isinstance(single, NoValue):
                    rows.append(row)
                    terms.append(mixed_terms(single))
                    targets.append(100 * min(1.0, gmsd(rgb, each) / 0.3))
                    groups.append(number)
    return np.array(rows), np.array(terms), np.array(targets), np.array(groups)


def main(folder: Path) -> None:
    photos = photographs(folder)
    mean, covariance, patches = pristine(photos)
    print(f"{len(photos)} photographs, {patches} sharp patches")
    x, terms, y, group = examples(photos)
    weights = Ridge(alpha=1.0, fit_intercept=False).fit(terms, y).coef_
    left = cross_val_predict(Ridge(alpha=1.0, fit_intercept=False), terms, y, groups=group, cv=GroupKFold(7))
    print("mixed_distortion:", [round(float(each), 4) for each in weights], spearmanr(left, y).statistic)
    low, high = x.min(axis=0), x.max(axis=0)
    scaled_x = -1 + 2 * (x - low) / (high - low)
    best = max(
        (float(spearmanr(held(scaled_x, y, group, c, gamma), y).statistic), c, gamma)
        for c in (30.0, 100.0, 300.0)
        for gamma in (0.02, 0.05, 0.1)
    )
    model = SVR(C=best[1], gamma=best[2], epsilon=4.0).fit(scaled_x, y)
    print(f"{len(y)} pictures; left-out photographs: Spearman {best[0]:.3f}, C {best[1]}, gamma {best[2]}")
    SHIPPED.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        SHIPPED, mean=mean, covariance=covariance, vectors=model.support_vectors_.astype(np.float32),
        coefficients=model.dual_coef_[0], gamma=best[2], rho=-model.intercept_[0],
        ranges=np.stack([low, high]),
    )  # fmt: skip
    print(SHIPPED, SHIPPED.stat().st_size)


def held(x: np.ndarray, y: np.ndarray, group: np.ndarray, c: float, gamma: float) -> np.ndarray:
    model = SVR(C=c, gamma=gamma, epsilon=4.0)
    return cross_val_predict(model, x, y, groups=group, cv=GroupKFold(7))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
