"""The distances within every set of images that one system gave one prompt, each set's computed once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, MissingPackage
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.statistics.reference import Reference
from sightline.study import reading
from sightline.study.running.embedding import images_embedded, loaded_over
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study

DISTANCES = (
    "embedding(encoder=efficientnet_lite0(stages=(6, 7, 8)), metric=cosine)",
    "lpips",
    "colour_histogram",
)
"""Best first, by how well they separate images of one prompt from others (benchmarks/visor_auc.py)."""
FEW = "fewer than two images"
CHANGED = "its images have changed since: measure variability again"
PAGE = 16
"""Sets between two commits: all that a killed process can lose."""
Measure = Callable[[Sequence[Picture]], np.ndarray]


@dataclass(frozen=True)
class SetDistances:
    """The images of a prompt and a system in order, and their distances, or the reason why there are none."""

    prompt_id: int
    system_id: int
    system: str
    images: Sequence[int]
    matrix: np.ndarray | None
    reason: str | None = None


def configured(distance: str | Configured) -> Configured:
    """A distance by its printed form, or an error that says what it lacks."""
    found = registry.configure("distance", distance) if isinstance(distance, str) else distance
    found.require()
    return found


def best_distance() -> str:
    """The first of DISTANCES that can be loaded here; the last needs nothing."""
    for name in DISTANCES[:-1]:
        try:
            registry.configure("distance", name).load()
        except (MissingPackage, ImportError):
            continue
        return name
    return DISTANCES[-1]


def set_distances(
    study: Study,
    distance: Configured,
    *,
    reference: Reference | None = None,
    stored: bool = False,
    listener: Listener | None = None,
) -> Iterator[SetDistances]:
    """Every generator's images of every prompt, a set at a time; with `reference` distances are normalised.

    Exact duplicates are kept: an image that a system gave twice counts twice. What the study holds, vectors
    of images or distances within sets, is read, and what is computed is kept. With `stored` nothing is
    computed, and a set that was not compared yet has that for its reason.
    """
    answers = reading.answers(study, "generator").filter(pl.col("sha256").is_not_null())
    every = answers["sha256"].unique(maintain_order=True).to_list()
    unknown = _unknown(study, distance, every) if stored else set()
    if not stored:
        _embed_all(study, distance, every, listener)
    measure: Measure = loaded_over(study, distance)
    groups = iter(answers.group_by(["prompt_id", "system_id"], maintain_order=True))
    meter = Meter(distance.short, answers.select("prompt_id", "system_id").n_unique(), listener)
    while page := [rows for _, rows in islice(groups, PAGE)]:
        contents = [rows["sha256"].to_list() for rows in page]
        kept = _Kept(study, distance, contents)
        for rows, mine in zip(page, contents, strict=True):
            matrix, reason = kept.known(mine), None
            meter.add(known=int(matrix is not None), computed=int(matrix is None))
            if (
                matrix is None
                and stored
                and len(mine) > 1
                and (unknown is None or not unknown.isdisjoint(mine))
            ):
                reason = CHANGED
            elif matrix is None:
                matrix, reason = kept.keep(mine, *_distances(study, measure, mine))
            if matrix is not None and reference is not None:
                matrix = reference.normalise_matrix(matrix)
            prompt, system, name = rows.select("prompt_id", "system_id", "system").row(0)
            yield SetDistances(prompt, system, name, rows["image_id"].to_list(), matrix, reason)
        kept.write()
    meter.finish()


def distances_to_first(
    study: Study,
    distance: Configured,
    groups: Sequence[Sequence[str | None]],
    *,
    listener: Listener | None = None,
) -> tuple[np.ndarray, list[str | None]]:
    """For small groups of images: the distances of all others to the first, one row per group.

    A row of NaN, and its reason, where a file is missing or cannot be read. The same group is worked out
    once.
    """
    width = max((len(group) for group in groups), default=1) - 1
    found = np.full((len(groups), width), np.nan)
    reasons: list[str | None] = [None] * len(groups)
    _embed_all(study, distance, dict.fromkeys(each for group in groups for each in group if each), listener)
    measure: Measure = loaded_over(study, distance)
    meter = Meter(distance.short, len(groups), listener)
    done: dict[tuple[str | None, ...], tuple[np.ndarray | None, str | None]] = {}
    for number, group in enumerate(groups):
        key = tuple(group)
        if key not in done:
            present = [each for each in group if each]
            complete = len(present) == len(group)
            done[key] = _distances(study, measure, present) if complete else (None, "a file is not here")
        matrix, reasons[number] = done[key]
        if matrix is not None:
            found[number, : len(group) - 1] = matrix[0, 1:]
        meter.add(computed=1)
    meter.finish()
    return found, reasons


class _Kept:
    """Distances within sets that the study holds, as vectors of their pairs by what the sets contain.

    Only those of distances without an encoder: with one the images' vectors are kept, and the rest is quick.
    They are kept in single precision, and so are those just computed: a second run gives the same.
    """

    def __init__(self, study: Study, distance: Configured, sets: Sequence[Sequence[str]]) -> None:
        self._vectors = study.vectors
        self._identity = distance.identity
        self._wanted = not any(each.spec.kind == "encoder" for each in distance.nested())
        self._found: dict[str, np.ndarray] = {}
        self._fresh: dict[int, dict[str, np.ndarray]] = {}
        for size in sorted({len(each) for each in sets if len(each) > 1}) if self._wanted else ():
            names = [_name(each) for each in sets if len(each) == size]
            rows, known = self._vectors.get(self._under(size), names)
            self._found |= {names[place]: rows[place] for place in np.flatnonzero(known)}

    def known(self, contents: Sequence[str]) -> np.ndarray | None:
        """The distances within this set, if the study holds them."""
        found = self._found.get(_name(contents))
        return None if found is None else _square(found)

    def keep(
        self, contents: Sequence[str], matrix: np.ndarray | None, reason: str | None
    ) -> tuple[np.ndarray | None, str | None]:
        """Take what was computed; what could not be is tried again next time."""
        if matrix is None or not self._wanted:
            return matrix, reason
        pairs = matrix[np.triu_indices(len(matrix), 1)].astype(np.float32)
        self._fresh.setdefault(len(contents), {})[_name(contents)] = pairs
        return _square(pairs), None

    def write(self) -> None:
        """Commit what was taken."""
        for size, rows in self._fresh.items():
            self._vectors.put(self._under(size), list(rows), np.stack(list(rows.values())))

    def _under(self, size: int) -> str:
        return hashlib.sha256(f"{self._identity} within {size}".encode()).hexdigest()


def _name(contents: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(contents).encode()).hexdigest()


def _square(pairs: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import squareform

    return np.asarray(squareform(pairs.astype(np.float64)))


def _embed_all(
    study: Study, distance: Configured, contents: Iterable[str], listener: Listener | None
) -> None:
    """Embed every image in large batches beforehand; sets then find their vectors in the study."""
    for inner in distance.arguments.values():
        if isinstance(inner, Configured) and inner.spec.kind == "encoder":
            images_embedded(study, inner, list(contents), listener)


def _unknown(study: Study, distance: Configured, contents: Sequence[str]) -> set[str] | None:
    """The images without a vector in the study; None where a distance has no encoder, and sets are kept."""
    inner = [each for each in distance.arguments.values() if isinstance(each, Configured)]
    encoders = [each for each in inner if each.spec.kind == "encoder"]
    if not encoders:
        return None
    known = [study.vectors.known(each.identity, contents) for each in encoders]
    return {each for each in contents if any(each not in some for some in known)}


def _distances(
    study: Study, measure: Measure, contents: Sequence[str]
) -> tuple[np.ndarray | None, str | None]:
    if len(contents) < 2:
        return None, FEW
    try:
        matrix = np.asarray(measure([study.files.picture(each) for each in contents]), dtype=np.float64)
    except DataError as error:
        return None, f"one of the images: {error.what}"
    if not np.isfinite(matrix).all():
        return None, "one of the images cannot be read"
    return matrix, None
