"""Scores of systems: all images of each, most measures against a reference collection of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from sightline.errors import DataError, UsageError, near
from sightline.estimate import Estimate, absent
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.study import reading, scores
from sightline.study.collections import images_of
from sightline.study.contents import hashed
from sightline.study.running.calls import compute_once
from sightline.study.running.detecting import loaded_with
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.run import Ran
from sightline.study.study import Study


def score_systems(
    study: Study, measures: Sequence[Configured], listener: Listener | None = None
) -> list[Ran]:
    """Bring measures of systems up to date; features of images are computed once per study and encoder."""
    systems = _systems(study)
    meter = Meter(", ".join(measure.short for measure in measures), len(systems) * len(measures), listener)
    ran = []
    for measure in measures:
        reference = reference_of(study, measure)
        ran.append(_score(study, measure, systems, reference, meter))
    meter.finish()
    return ran


def _score(
    study: Study,
    measure: Configured,
    systems: Mapping[int, tuple[str, ...]],
    reference: tuple[str, ...],
    meter: Meter,
) -> Ran:
    key = scores.register(study, measure)
    items = [
        scores.Target(0, system, 0, hashed(sorted(own), sorted(reference)), None, own)
        for system, own in systems.items()
    ]
    todo, copies = scores.known(study, key, items)
    ran = Ran(str(measure), len(items), known=len(items) - len(todo))
    scores.write(study, key, copies)
    meter.add(known=ran.known)
    if todo:
        function, others = loaded_with(study, measure), _pictures(study, reference)
    for item in todo:
        call = partial(function, _pictures(study, item.contents), others)
        ran.dropped += scores.write(study, key, [(item, compute_once(measure, call))])
        ran.computed += 1
        meter.add(computed=1)
    ran.reasons = scores.reasons(study, key)
    ran.notes += _warnings(study, measure)
    return ran


def _pictures(study: Study, contents: Sequence[str]) -> list[Picture]:
    """The images whose files are here; one that is no image has no features later."""
    lost = study.files.lost(contents)
    return [study.files.picture(content) for content in contents if content not in lost]


def _systems(study: Study) -> dict[int, tuple[str, ...]]:
    """The contents of every system's images, each once, in the order of prompts."""
    answers = reading.answers(study).filter(pl.col("sha256").is_not_null())
    ordered = answers.sort("system_id", "prompt_id", "position").select("system_id", "sha256")
    found: dict[int, dict[str, None]] = {}
    for system, content in ordered.iter_rows():
        found.setdefault(int(system), {})[str(content)] = None
    return {system: tuple(contents) for system, contents in found.items()}


def reference_of(study: Study, measure: Configured) -> tuple[str, ...]:
    """The contents of the reference collection that a measure names, or of the only one without answers."""
    if not measure.spec.details["reference"]:
        return ()
    named = str(measure.arguments["collection"])
    images = reading.images(study).filter(pl.col("sha256").is_not_null())
    known = images["collection"].unique(maintain_order=True).to_list()
    if named:
        if named not in known:
            raise UsageError(f"there is no collection {named!r} with images here", remedy=near(named, known))
        return tuple(images_of(study, named)["sha256"].drop_nulls().unique(maintain_order=True).to_list())
    answered = set(reading.answers(study)["image_id"].drop_nulls().to_list())
    free = images.filter(~pl.col("image_id").is_in(list(answered)))
    collections = free["collection"].unique(maintain_order=True).to_list()
    whole = [each for each in collections if not set(_ids(images, each)) & answered]
    if len(whole) != 1:
        example = f"{measure.name}(collection={(whole or ['photos'])[0]!r})"
        what = "several collections answer" if whole else "no collection answers"
        raise DataError(
            f"{measure.name} needs a reference: {what} no prompt",
            where=study.name,
            remedy=f"Import images to compare with, or name their collection: {example}",
        )
    return tuple(images_of(study, whole[0])["sha256"].drop_nulls().unique(maintain_order=True).to_list())


def _ids(images: pl.DataFrame, collection: str) -> list[int]:
    return [int(key) for key in images.filter(pl.col("collection") == collection)["image_id"]]


def _warnings(study: Study, measure: Configured) -> list[str]:
    said = {
        str(each["warning"])
        for each in scores.system_evidence(study, measure.identity).values()
        if each.get("warning")
    }
    return [f"{measure.short}: {each}." for each in sorted(said)]


def system_estimates(study: Study, measure: Configured) -> dict[str, Estimate]:
    """Each system's value with its interval, or the reason why there is none; n counts its images."""
    names = dict(reading.systems(study).select("system_id", "system").iter_rows())
    evidence = scores.system_evidence(study, measure.identity)
    found: dict[str, Estimate] = {}
    for row in reading.scores(study, measure.identity).iter_rows(named=True):
        system, known = int(row["system_id"]), evidence.get(int(row["system_id"]), {})
        if row["value"] is None:
            found[names[system]] = absent(str(row["reason"]))
            continue
        low, high, n = (known.get(name) for name in ("low", "high", "n"))
        found[names[system]] = Estimate(
            float(row["value"]),
            None if low is None else float(str(low)),
            None if high is None else float(str(high)),
            int(str(n or 0)),
            direction=measure.spec.direction,
        )
    return found
