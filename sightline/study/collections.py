"""Which images of a study are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.errors import UsageError, near
from sightline.study import reading
from sightline.study.study import Study

if TYPE_CHECKING:
    import polars as pl


def images_of(study: Study, collection: str) -> pl.DataFrame:
    """The images of a collection; an unknown collection is an error that suggests similar names."""
    import polars as pl

    images = reading.images(study)
    chosen = images.filter(pl.col("collection") == collection)
    if chosen.is_empty():
        known = images["collection"].unique().to_list()
        raise UsageError(f"there is no collection called {collection!r}", remedy=near(collection, known))
    return chosen
