"""Fit a reference: the distribution of a distance over a study's own pairs, to normalise distances by."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.reference import Reference
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.reference import reference_of, write_reference
from sightline.variability.scale import (
    DISTANCE,
    NO_REFERENCE,
    WITHOUT_BLANK,
    reference_facts,
    reference_notes,
    scale_of,
)
from sightline.variability.variability import measured_blank
from sightline.verbs import argument, verb

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class FittedReference(Result):
    """A reference, and the file that it was written to."""

    reference: Reference
    file: str

    @property
    def notes(self) -> Sequence[str]:
        return reference_notes(self.reference)

    @property
    def next(self) -> Sequence[str]:
        distance = shlex.quote(self.reference.distance)
        return (f"sightline variability STUDY --distance {distance} --reference {shlex.quote(self.file)}",)

    def facts(self) -> dict[str, Any]:
        """The reference without its distances, and the file."""
        return {"reference": reference_facts(self.reference), "file": self.file}

    def tables(self) -> dict[str, Table]:
        distances = np.quantile(self.reference.distances, QUANTILES).tolist()
        columns = [Column("share", "proportion of pairs", format="%"), Column("distance")]
        rows = list(zip(QUANTILES, distances, strict=True))
        return {"": Table(columns, rows, f"Quantiles of {self.reference.distance}")}


@verb("measure")
def fit_reference(
    study: Study,
    file: Annotated[str | Path, argument("Write the reference to this .npz file.", "FILE")],
    *,
    distance: Annotated[str | None, DISTANCE] = None,
    without_blank: Annotated[bool, WITHOUT_BLANK] = False,
    listener: Listener | None = None,
) -> FittedReference:
    """Fit the reference of a distance to a study's pairs of images of one prompt.

    variability, calibrate and reuse normalise distances by it: a normalised distance is the proportion of
    same-prompt pairs that are closer (W1KP).
    """
    blank = measured_blank(study, listener) if without_blank else set()
    chosen = scale_of(study, distance, NO_REFERENCE).distance
    reference = reference_of(study, distance=chosen, without=blank, listener=listener)
    return FittedReference(reference, str(write_reference(reference, file)))
