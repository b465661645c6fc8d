"""Looking: what detectors see in images of a study, in the form in which verdicts use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightline import registry
from sightline.demands import SURE, Expects, Scene, read_scene
from sightline.errors import UsageError
from sightline.extension import Configured
from sightline.records import NoValue
from sightline.study.running.detecting import detect_images
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.study.writing.scenes import known_kinds

SEES = ("objects", "text")
Ask = tuple[str, Expects]
"""The content of an image by its sha256, and what its prompt expects of it."""


@dataclass(frozen=True)
class Looked:
    """A scene for each image that was asked for, or why there is none; boxes beyond the image are counted."""

    scenes: Sequence[Scene | NoValue]
    clipped: int = 0
    dropped: int = 0


@dataclass
class _Parts:
    """What the detectors give for one ask, put together."""

    raw: dict[str, Any] = field(default_factory=dict)
    vocabulary: tuple[str, ...] | None = ()
    sure: float = SURE
    reasons: list[str] = field(default_factory=list)


def look(
    study: Study,
    asks: Sequence[Ask],
    detectors: Iterable[str | Configured],
    *,
    pictures: bool = False,
    listener: Listener | None = None,
) -> Looked:
    """What detectors see in images, each computed once per content and stored.

    One detector may see objects and one may read text. An open-vocabulary detector looks for the kinds that
    the prompt of each image names. With `pictures` scenes hold the image, for verdicts that look at it.
    """
    ready = configured(detectors)
    parts = [_Parts() for _ in asks]
    for detector in ready:
        _add(study, detector, asks, parts, listener)
    scenes = [_scene(study, content, each, pictures) for (content, _), each in zip(asks, parts, strict=True)]
    seen = [each for each in scenes if isinstance(each, Scene)]
    return Looked(scenes, sum(each.clipped for each in seen), sum(each.dropped for each in seen))


def configured(detectors: Iterable[str | Configured]) -> list[Configured]:
    """The detectors by their names, at most one for objects and one for text."""
    ready = [
        each if isinstance(each, Configured) else registry.configure("detector", each) for each in detectors
    ]
    for what in SEES:
        both = [each.name for each in ready if what in each.spec.details["sees"]]
        if len(both) > 1:
            raise UsageError(
                f"{' and '.join(both)} both see {what}", remedy="Choose one: objects seen twice count twice."
            )
    if not ready:
        raise UsageError("there is no detector", remedy="Name one: sightline list detector has them.")
    return ready


def asking(detector: Configured, expects: Expects) -> Configured:
    """The detector as it looks for what a prompt names; one of a fixed vocabulary stays as it is.

    The phrases are among its parameters, so that what it saw is stored for these phrases alone.
    """
    named = detector.spec.details["phrases"]
    if not named or detector.arguments[named]:
        return detector
    return Configured(detector.extension, {**detector.arguments, named: expects.kinds()})


def vocabulary_of(detector: Configured, study: Study | None = None) -> tuple[str, ...] | None:
    """The kinds that a detector looks for; None for every kind there is, empty where it does not say."""
    details = detector.spec.details
    if details["of_study"]:
        return known_kinds(study) if study is not None else ()
    if details["phrases"]:
        return tuple(detector.arguments[details["phrases"]])
    declared = details["vocabulary"]
    return declared(detector.arguments) if callable(declared) else declared


def _add(
    study: Study,
    detector: Configured,
    asks: Sequence[Ask],
    parts: Sequence[_Parts],
    listener: Listener | None,
) -> None:
    groups: dict[str, tuple[Configured, list[int]]] = {}
    for place, (_, expects) in enumerate(asks):
        asked = asking(detector, expects)
        if "objects" in asked.spec.details["sees"] and asked.spec.details["phrases"] and not expects.kinds():
            continue
        groups.setdefault(asked.identity, (asked, []))[1].append(place)
    for asked, places in groups.values():
        seen = detect_images(study, asked, [asks[place][0] for place in places], listener)
        vocabulary = vocabulary_of(asked, study)
        for place in places:
            content = asks[place][0]
            if content in seen.without:
                parts[place].reasons.append(seen.without[content])
                continue
            _merge(parts[place].raw, seen.scenes[content])
            if "objects" in asked.spec.details["sees"]:
                parts[place].vocabulary = vocabulary
                parts[place].sure = asked.spec.details["sure"]


def _merge(raw: dict[str, Any], seen: Mapping[str, Any]) -> None:
    for key, value in seen.items():
        raw[key] = raw.get(key, 0) + value if key in ("clipped", "dropped") else value


def _scene(study: Study, content: str, parts: _Parts, pictures: bool) -> Scene | NoValue:
    if not parts.raw and parts.reasons:
        return NoValue("; ".join(dict.fromkeys(parts.reasons)))
    picture = study.files.picture(content) if pictures else None
    return read_scene(parts.raw, parts.vocabulary, sure=parts.sure, picture=picture)
