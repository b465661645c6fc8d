"""The scale that a study's similarities are on, kept in the study: a distance, a reference and cut-offs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline.errors import StudyError
from sightline.statistics.calibration import PUBLISHED
from sightline.statistics.reference import Reference
from sightline.study.schema import database, tables
from sightline.study.study import Study

NAME = "variability"
"""The scale's name among what the study knows of itself: it goes along with a copy and a backup."""


@dataclass(frozen=True)
class StudyScale:
    """A distance in its printed form, what it is normalised by, and where the levels begin.

    `cut_offs` are None where nobody gave any; `named` is the reference as it was given.
    """

    distance: str
    reference: Reference | None = None
    cut_offs: tuple[float, ...] | None = None
    named: str = ""

    @property
    def levels(self) -> tuple[float, ...] | None:
        """Where low, medium and high begin: W1KP's where none were given, of distances as they are none."""
        if self.cut_offs is None and self.reference is not None:
            return PUBLISHED
        return self.cut_offs

    @property
    def published(self) -> bool:
        """Whether the levels are those of W1KP because nobody gave others."""
        return self.cut_offs is None and self.reference is not None


def keep_scale(study: Study, scale: StudyScale) -> None:
    """Make this the scale of the study."""
    value: dict[str, Any] = {"distance": scale.distance, "cut_offs": scale.cut_offs, "named": scale.named}
    if (found := scale.reference) is not None:
        value["reference"] = {
            "distances": np.asarray(found.distances).tolist(),
            "distance": found.distance,
            "identity": found.identity,
            "n": found.n,
            "date": found.date,
            "squared": found.squared,
        }
    with database.writing(study.engine) as connection:
        rows = [(NAME, json.dumps(value))]
        database.upsert(connection, tables.setting, ["name", "value"], rows, replace=True)


def kept_scale(study: Study) -> StudyScale | None:
    """The scale of the study, None before variability was measured."""
    with database.reading(study.engine) as connection:
        rows = database.fetch(connection, "SELECT value FROM setting WHERE name = :name", {"name": NAME})
    if not rows:
        return None
    try:
        value = json.loads(rows[0][0])
        reference, cuts = value.get("reference"), value["cut_offs"]
        if reference is not None:
            reference["distances"] = np.asarray(reference["distances"], dtype=np.float64)
        return StudyScale(
            str(value["distance"]),
            None if reference is None else Reference(**reference),
            None if cuts is None else tuple(float(cut) for cut in cuts),
            str(value["named"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StudyError(
            f"the scale of the study cannot be read ({error})",
            where=study.name,
            remedy="Restore a backup, or remove the row `variability` of the table `setting`.",
        ) from None
