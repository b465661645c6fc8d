"""Do a system's images look like the reference, and are they as varied? By nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sightline.errors import UsageError
from sightline.extension import ImageEncoder, NoValue, Picture, Value, measure, needs
from sightline.measures.of_system._compared import compared
from sightline.statistics import feature_sets
from sightline.statistics.feature_sets import LEAST, Array, Interval

KYNKAANNIEMI, NAEEM = "Kynkaanniemi et al. 2019", "Naeem et al. 2020"


def _among(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    encoder: ImageEncoder,
    function: Callable[[Array, Array, int], Interval],
    k: int,
) -> Value | NoValue:
    if k < 1:
        raise UsageError(f"k={k}: there is no such neighbour", remedy="For example k=5.")
    return compared(images, reference, encoder, lambda own, other: function(own, other, k), max(LEAST, k + 1))


@measure.of_system(direction="higher", range=(0, 1), source=KYNKAANNIEMI, licence="Apache-2.0", version=2)
def set_precision(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0"),
    collection: str = "",
    k: int = 5,
) -> Value | NoValue:
    """Proportion of a system's images that lie among those of the reference: how real they look.

    Among them is an image that is as near to one of the reference as that one's `k`-th neighbour there.
    """
    return _among(images, reference, encoder, feature_sets.precision, k)


@measure.of_system(direction="higher", range=(0, 1), source=KYNKAANNIEMI, licence="Apache-2.0", version=2)
def set_recall(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0"),
    collection: str = "",
    k: int = 5,
) -> Value | NoValue:
    """Proportion of the reference that lies among a system's images: how much of its variety is there."""
    return _among(images, reference, encoder, feature_sets.recall, k)


@measure.of_system(direction="higher", range=(0, None), source=NAEEM, licence="Apache-2.0", version=2)
def set_density(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0"),
    collection: str = "",
    k: int = 5,
) -> Value | NoValue:
    """How densely the reference surrounds a system's images: precision that outliers lift less."""
    return _among(images, reference, encoder, feature_sets.density, k)


@measure.of_system(direction="higher", range=(0, 1), source=NAEEM, licence="Apache-2.0", version=2)
def set_coverage(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0"),
    collection: str = "",
    k: int = 5,
) -> Value | NoValue:
    """Proportion of the reference with an image of the system nearer than its own `k`-th neighbour."""
    return _among(images, reference, encoder, feature_sets.coverage, k)
