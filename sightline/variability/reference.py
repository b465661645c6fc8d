"""References: the distribution of a distance over same-prompt pairs, fitted, written and found again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sightline import registry
from sightline.data.sources import Source
from sightline.data.sources.arrays import read_arrays
from sightline.errors import DataError, UsageError, near
from sightline.extension import Configured
from sightline.records import Reference as Published
from sightline.statistics.reference import Reference, fitted
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.study.writing.references import references
from sightline.variability.set_distances import configured, set_distances

SAMPLE = "sample"
"""The name of the references that ship, one per light distance, from the sample study."""
SHIPPED = Path(__file__).parent / "references"
FIELDS = ("distances", "distance", "identity", "n", "date", "squared")


def reference_of(
    study: Study,
    *,
    distance: str,
    without: Collection[tuple[int, int]] = (),
    listener: Listener | None = None,
) -> Reference:
    """The reference of a distance from all pairs of images that one system gave one prompt.

    `without` has sets to exclude, by prompt and system: those with a blank image, say.
    """
    measure = configured(distance)
    parts = [
        each.matrix[np.triu_indices(len(each.matrix), 1)]
        for each in set_distances(study, measure, listener=listener)
        if each.matrix is not None and (each.prompt_id, each.system_id) not in without
    ]
    if not parts:
        raise DataError(
            "no prompt has two or more images of one system with their files here",
            where=study.name,
            remedy="A reference needs several samples per prompt: import images with their files.",
        )
    return fitted(
        np.concatenate(parts), measure.short, measure.identity, datetime.now(UTC).date().isoformat()
    )


def write_reference(reference: Reference, path: str | Path) -> Path:
    """Keep a reference as an .npz file of plain arrays."""
    file = Path(path)
    if file.suffix != ".npz":
        raise UsageError(f"{file} is not an .npz file", remedy=f"Name it {file.name}.npz.")
    try:
        with file.open("wb") as stream:
            arrays: dict[str, Any] = {name: np.asarray(getattr(reference, name)) for name in FIELDS}
            np.savez_compressed(stream, **arrays)
    except OSError as error:
        raise DataError(f"it cannot be written ({error.strerror})", where=str(file)) from None
    return file


def read_reference(path: str | Path) -> Reference:
    """A reference as we write it, or W1KP's published one (cdf_xy.npz: squared distances by DreamSim)."""
    file = Path(path)
    if not file.is_file():
        raise DataError("there is no such file", where=str(file), remedy="Look at the path again.")
    arrays = read_arrays(file, str(file))
    if {"x", "y"} <= set(arrays):
        (record,) = registry.configure("importer", "w1kp_cdf").load()(Source(file))
        return _of_record(record)
    missing = [name for name in FIELDS if name not in arrays]
    if missing:
        raise DataError(
            f"it has no {', '.join(missing)}",
            where=str(file),
            remedy="Expected a file of sightline fit-reference, or W1KP's cdf_xy.npz.",
        )
    try:
        return Reference(
            arrays["distances"].astype(np.float64),
            str(arrays["distance"]),
            str(arrays["identity"]),
            int(arrays["n"]),
            str(arrays["date"]),
            bool(arrays["squared"]),
        )
    except (TypeError, ValueError) as error:
        raise DataError(f"not a reference ({error})", where=str(file), remedy="Fit it again.") from None


def find_reference(name: str, distance: str | Configured, study: Study | None = None) -> Reference:
    """The reference that is meant: `sample`, a file, or the name of one that was imported into the study.

    A reference of another distance, or of another encoder, is an error: scales cannot be compared.
    """
    measure = distance if isinstance(distance, Configured) else registry.configure("distance", distance)
    if name == SAMPLE:
        found = _shipped(measure)
    elif Path(name).is_file():
        found = read_reference(name)
    else:
        known = {record.name: record for record in (references(study) if study is not None else ())}
        if name not in known:
            raise UsageError(
                f"there is no reference {name!r}",
                remedy=f"A file, {SAMPLE}, or one that was imported. {near(name, [*known, SAMPLE])}",
            )
        found = _of_record(known[name])
    refuse_other(found, measure)
    return found


def of_distance(name: str, study: Study) -> str | None:
    """The distance that a reference is of, by file or by the name of an imported one; None for `sample`."""
    if name == SAMPLE:
        return None
    if Path(name).is_file():
        found = read_reference(name)
        return found.distance if found.identity else _euclidean(found.distance)
    by_name = {record.name: record.distance for record in references(study)}
    return _euclidean(by_name[name]) if name in by_name else None


def _euclidean(name: str) -> str:
    """The distance that was published by its name alone: Euclidean, between the vectors of an encoder."""
    if registry.has("distance", name):
        metrics = "metric" in registry.configure("distance", name).arguments
        return f"{name}(metric=euclidean)" if metrics else name
    return f"embedding(encoder={name})" if registry.has("encoder", name) else name


def refuse_other(reference: Reference, distance: Configured) -> None:
    """Raise unless the reference is of this very distance."""
    if reference.identity:
        same, what = reference.identity == distance.identity, reference.distance
        if not same and reference.distance == distance.short:
            what += " of another version"
    else:
        # Published by name alone. Squares are those of the Euclidean distance between an encoder's vectors.
        same, what = _by_name(reference, distance), reference.distance
        what = f"the Euclidean distance of {what}" if reference.squared else what
    if not same:
        raise UsageError(
            f"the reference is of {what}, not of {distance.short}",
            remedy=f"Fit one: sightline fit-reference STUDY FILE --distance '{distance.short}'",
        )


def _by_name(reference: Reference, distance: Configured) -> bool:
    """Whether a distance is the one that was published under a name."""
    if distance.arguments.get("metric") == "euclidean":
        encoders = {each.short for each in distance.nested() if each.spec.kind == "encoder"}
        return reference.distance in {distance.name, *encoders}
    return (
        reference.distance == distance.short and not reference.squared and "metric" not in distance.arguments
    )


def _shipped(distance: Configured) -> Reference:
    file = SHIPPED / f"{distance.name}.npz"
    if not file.is_file():
        there = ", ".join(sorted(each.stem for each in SHIPPED.glob("*.npz")))
        raise UsageError(
            f"no reference of {distance.short} ships",
            remedy=f"There are: {there}. Fit your own: sightline fit-reference STUDY FILE",
        )
    return read_reference(file)


def _of_record(record: Published) -> Reference:
    return Reference(
        np.asarray(record.values, dtype=np.float64),
        record.distance,
        "",
        len(record.values),
        "",
        record.squared,
    )
