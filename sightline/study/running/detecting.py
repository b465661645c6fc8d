"""Detecting: what is in an image, computed once per detector and content, kept batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightline.errors import DataError
from sightline.extension import Configured, Detector
from sightline.pictures import Picture
from sightline.study.running.embedding import Cached, encoders_of, loaded_over, models_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.validate import validated_scene
from sightline.study.study import Study
from sightline.study.writing.detections import keep_detections, known_detections
from sightline.study.writing.scenes import known_scenes

BATCH = 16

Scene = Mapping[str, Any]


@dataclass(frozen=True)
class Detections:
    """Scenes by content, and the reasons of contents that have none."""

    scenes: Mapping[str, Scene]
    without: Mapping[str, str] = field(default_factory=dict)

    def outside(self, outcome: str) -> int:
        """How many boxes reached beyond the image ("clipped") or were outside it ("dropped")."""
        return sum(int(scene.get(outcome) or 0) for scene in self.scenes.values())


def detect_images(
    study: Study, detector: Configured, contents: Sequence[str], listener: Listener | None = None
) -> Detections:
    """What a detector sees in images of the study, by sha256: read where it is known, else computed."""
    distinct = list(dict.fromkeys(contents))
    if detector.spec.details["of_study"]:
        return _known(study, distinct)
    scenes: dict[str, Scene] = dict(known_detections(study, detector.identity, distinct))
    missing = [content for content in distinct if content not in scenes]
    without: dict[str, str] = {}
    meter = Meter(f"{detector.short}: images", len(distinct), listener)
    meter.add(known=len(scenes))
    loaded = loaded_over(study, detector) if missing else None
    for start in range(0, len(missing), BATCH):
        pictures = list(_readable(study, missing[start : start + BATCH], without))
        scenes |= _detected(study, detector, loaded, pictures)
        meter.add(computed=len(missing[start : start + BATCH]))
    meter.finish()
    return Detections(scenes, without)


def _known(study: Study, contents: Sequence[str]) -> Detections:
    """What the study itself knows to be in images, where it does and its sources agree."""
    accounts = known_scenes(study, contents)
    without = {
        content: "what is in it is not known"
        if content not in accounts
        else "what is known of it under one name differs from what is known under another"
        for content in contents
        if len(accounts.get(content, ())) != 1
    }
    return Detections({key: each[0] for key, each in accounts.items() if len(each) == 1}, without)


class Seeing:
    """A detector that reads what a study knows of an image, and computes and keeps the rest.

    The model itself is loaded only when something is missing. What is made up, such as a crop, is not kept.
    """

    def __init__(self, study: Study, detector: Configured) -> None:
        self._study = study
        self._detector = detector

    def detect(self, images: Sequence[Picture]) -> list[Scene]:
        if self._detector.spec.details["of_study"]:
            known = _known(self._study, [image.sha256 for image in images])
            for image in images:
                if image.sha256 in known.without:
                    raise DataError(known.without[image.sha256], where=image.name)
            return [known.scenes[image.sha256] for image in images]
        files = [image for image in images if not image.made_up]
        scenes: dict[str, Scene] = dict(
            known_detections(self._study, self._detector.identity, [image.sha256 for image in files])
        )
        missing = {image.sha256: image for image in images if image.sha256 not in scenes}
        if missing:
            loaded = loaded_over(self._study, self._detector)
            scenes |= _detected(self._study, self._detector, loaded, list(missing.values()))
        return [scenes[image.sha256] for image in images]


def loaded_with(study: Study, extension: Configured) -> Any:
    """An extension loaded, with encoders and detectors inside it answering from what the study holds."""
    inside: dict[str, Any] = {name: Cached(study, each) for name, each in encoders_of(extension)}
    inside |= {name: Seeing(study, each) for name, each in models_of(extension, "detector")}
    return extension.load(inside)


def _detected(
    study: Study, detector: Configured, loaded: Detector | None, pictures: Sequence[Picture]
) -> dict[str, Scene]:
    if loaded is None or not pictures:
        return {}
    seen = validated_scene(detector.spec, loaded.detect(pictures), len(pictures))
    scenes: dict[str, Scene] = {picture.sha256: scene for picture, scene in zip(pictures, seen, strict=True)}
    keep_detections(
        study, detector.identity, {each.sha256: scenes[each.sha256] for each in pictures if not each.made_up}
    )
    return scenes


def _readable(study: Study, contents: Sequence[str], without: dict[str, str]) -> Iterator[Picture]:
    for content in contents:
        try:
            picture = study.files.picture(content)
            _ = picture.rgb
        except DataError as error:
            without[content] = error.what
            continue
        yield picture
