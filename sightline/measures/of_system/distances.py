"""Distances between the images of a system and a reference collection: FID and KID."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import ImageEncoder, NoValue, Picture, Value, measure, needs
from sightline.measures.of_system._compared import compared
from sightline.statistics.feature_sets import Array, Interval, frechet, frechet_infinity, kernel_distance


@measure.of_system(
    direction="lower",
    source="Heusel et al. 2017 (FID); Chong and Forsyth 2020 (FID-infinity)",
    licence="Apache-2.0",
    version=2,
)
def fid(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0"),
    collection: str = "",
    unbiased: bool = True,
    seed: int = 0,
) -> Value | NoValue:
    """Frechet distance between the features of a system's images and of a reference collection.

    |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)) of the features that `encoder` gives. Few images make it too
    large, by about 1/n; `unbiased` extrapolates to infinitely many (FID-infinity, by the jackknife over both
    sets; near 0 it may fall below). There is an interval from 50 images and 1.5 images a feature in either
    set on; `unbiased=False` has none. Published values rest on an Inception network: with another encoder
    the scale is another.

    `collection` is the reference, by default the one collection of the study that answers no prompt.
    """

    def distance(own: Array, other: Array) -> Interval:
        if unbiased:
            return frechet_infinity(own, other, seed)
        return Interval(frechet(own, other), None, None, "no interval of a distance with its bias")

    return compared(images, reference, encoder, distance)


@measure.of_system(direction="lower", source="Binkowski et al. 2018 (KID)", licence="Apache-2.0", version=2)
def kid(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0"),
    collection: str = "",
) -> Value | NoValue:
    """Squared maximum mean discrepancy between features of a system's images and of a reference collection.

    The kernel is (a.b / d + 1)^3; the U-statistic has no bias, so that small sets may be compared, and falls
    below 0 by chance where there is no difference. The interval is the jackknife's over both sets, from 50
    images in either on.
    `collection` is the reference, by default the one collection of the study that answers no prompt.
    """
    return compared(images, reference, encoder, kernel_distance)
