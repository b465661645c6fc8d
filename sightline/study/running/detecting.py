"""Detecting: what is in an image, computed once per detector and content, kept batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from sightline.errors import DataError
from sightline.extension import Configured, Detector
from sightline.pictures import Picture
from sightline.study.files import ImageFiles
from sightline.study.running.embedding import Cached, encoders_of, loaded_over, models_of
from sightline.study.running.place import HERE, Place, run_work
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.validate import validated_scene
from sightline.study.scores import QUARANTINED
from sightline.study.study import Study
from sightline.study.writing.detections import keep_detections, known_detections
from sightline.study.writing.scenes import known_scenes

BATCH = 16

Scene = Mapping[str, Any]


@dataclass(frozen=True)
class DetectWork:
    """Detecting what is in images, given by sha256, whose files are at an address."""

    extensions: tuple[tuple[str, str], ...]
    files: str
    repeatable: bool = True

    @classmethod
    def of(cls, detector: Configured, files: ImageFiles) -> DetectWork:
        """The work of this detector."""
        return cls((("detector", str(detector)),), files.root)

    def load(self) -> Callable[[Sequence[str]], list[tuple[Scene | None, str | None]]]:
        from sightline.registry import configure

        detector = configure(*self.extensions[0])
        loaded: Detector = detector.load()
        files = ImageFiles(self.files)

        def detect(contents: Sequence[str]) -> list[tuple[Scene | None, str | None]]:
            without: dict[str, str] = {}
            pictures = list(_readable(files, contents, without))
            scenes = _scenes(detector, loaded, pictures)
            return [(scenes.get(content), without.get(content)) for content in contents]

        return detect

    def quarantined(self, item: str, reason: str) -> tuple[Scene | None, str | None]:
        return None, QUARANTINED + reason


@dataclass(frozen=True)
class Detections:
    """Scenes by content, and the reasons of contents that have none."""

    scenes: Mapping[str, Scene]
    without: Mapping[str, str] = field(default_factory=dict)

    def outside(self, outcome: str) -> int:
        """How many boxes reached beyond the image ("clipped") or were outside it ("dropped")."""
        return sum(int(scene.get(outcome) or 0) for scene in self.scenes.values())


def detect_images(
    study: Study,
    detector: Configured,
    contents: Sequence[str],
    listener: Listener | None = None,
    place: Place = HERE,
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
    batches = (missing[start : start + BATCH] for start in range(0, len(missing), BATCH))
    if place.crew and not any(encoders_of(detector)):
        with closing(run_work(DetectWork.of(detector, study.files), batches, place)) as done:
            for batch, results in done:
                found = dict(zip(batch, results, strict=True))
                rows = {content: scene for content, (scene, _) in found.items() if scene is not None}
                without |= {content: why for content, (_, why) in found.items() if why is not None}
                keep_detections(study, detector.identity, rows)
                scenes |= rows
                meter.add(computed=len(batch))
    else:
        loaded = loaded_over(study, detector) if missing else None
        for batch in batches:
            pictures = list(_readable(study.files, batch, without))
            scenes |= _detected(study, detector, loaded, pictures)
            meter.add(computed=len(batch))
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
    scenes = _scenes(detector, loaded, pictures)
    keep_detections(
        study, detector.identity, {each.sha256: scenes[each.sha256] for each in pictures if not each.made_up}
    )
    return scenes


def _scenes(detector: Configured, loaded: Detector, pictures: Sequence[Picture]) -> dict[str, Scene]:
    if not pictures:
        return {}
    seen = validated_scene(detector.spec, loaded.detect(pictures), len(pictures))
    return {picture.sha256: scene for picture, scene in zip(pictures, seen, strict=True)}


def _readable(files: ImageFiles, contents: Sequence[str], without: dict[str, str]) -> Iterator[Picture]:
    for content in contents:
        try:
            picture = files.picture(content)
            _ = picture.rgb
        except DataError as error:
            without[content] = error.what
            continue
        yield picture
