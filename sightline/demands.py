"""What a prompt demands of an image, what is seen in the image, and the verdict that follows from both.

`read_expects` reads the column `expects` of a prompt, `read_scene` what a detector saw or what is known of an
image; a verdict (`sightline list verdict`) decides one demand, and `sightline.skills.deciding.decide` all.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sightline.errors import DataError
from sightline.pictures import Picture

YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"
VERDICTS = (YES, NO, CANNOT_TELL)
DEMANDS = ("presence", "count", "absence", "colour", "size", "attribute", "relation", "text")
"""Kinds of demands, in the order in which they are decided and listed."""
SURE = 0.5
"""The confidence from which on an object counts as seen, unless its detector says otherwise."""
Box = tuple[float, float, float, float]
_KEYS = ("objects", "relation", "relations", "absent", "text", "complete")
_OF_OBJECT = ("kind", "count", "at_least", "colour", "size", "attributes")
_OF_RELATION = ("first", "where", "second")
_ALIKE = 0.75
"""A key this similar to one of ours is a mistake in writing, not something of somebody else's."""


@dataclass(frozen=True)
class Wanted:
    """Objects of one kind that a prompt asks for; None where it leaves something open.

    `count` is exact unless `at_least` is true.
    """

    kind: str
    count: int | None = None
    at_least: bool = False
    colour: str | None = None
    size: str | None = None
    attributes: tuple[str, ...] = ()


NOTHING = Wanted("")


class Relation(NamedTuple):
    """How objects of one kind stand to those of another: `where` is such as "left of", "above", "near"."""

    first: str
    where: str
    second: str


NO_RELATION = Relation("", "", "")


@dataclass(frozen=True)
class Expects:
    """What must be seen in an image that follows its prompt.

    `complete` says whether that is all the prompt asks for; None where nobody said.
    """

    objects: tuple[Wanted, ...] = ()
    relations: tuple[Relation, ...] = ()
    absent: tuple[str, ...] = ()
    text: str = ""
    complete: bool | None = None

    def demands(self) -> Iterator[Demand]:
        """Every single demand, so that each can hold or fail by itself.

        Objects that are asked for must be there; a number that is more than "at least one" is a demand of
        its own, as are colour, size and attributes. A count of 0 asks for absence.
        """
        for kind in DEMANDS:
            for wanted in self.objects:
                yield from self._of(kind, wanted)
            if kind == "absence":
                yield from (Demand(kind, self, Wanted(each)) for each in self.absent)
            if kind == "relation":
                yield from (Demand(kind, self, relation=each) for each in self.relations)
            if kind == "text" and self.text:
                yield Demand(kind, self, text=self.text)

    def _of(self, kind: str, wanted: Wanted) -> Iterator[Demand]:
        none = wanted.count == 0 and not wanted.at_least
        counted = wanted.count is not None and not (wanted.at_least and wanted.count <= 1)
        asked = {
            "presence": not none,
            "count": counted and not none,
            "absence": none,
            "colour": wanted.colour is not None and not none,
            "size": wanted.size is not None and not none,
        }
        if asked.get(kind):
            yield Demand(kind, self, wanted)
        if kind == "attribute" and not none:
            yield from (Demand(kind, self, wanted, text=each) for each in wanted.attributes)

    def kinds(self) -> tuple[str, ...]:
        """Every kind of object that is named, each once: what an open-vocabulary detector is asked for."""
        named = [each.kind for each in self.objects]
        named += [kind for each in self.relations for kind in (each.first, each.second)]
        return tuple(sorted({*named, *self.absent}))


@dataclass(frozen=True)
class Demand:
    """One thing that holds of an image or does not; `expects` is the whole it belongs to.

    Of presence, count, absence, colour and size `wanted` is what it is about; of an attribute also `text`.
    """

    kind: str
    expects: Expects = field(repr=False)
    wanted: Wanted = NOTHING
    relation: Relation = NO_RELATION
    text: str = ""

    @property
    def about(self) -> str:
        """The demand in words: "3 cat", "no dog", "red ball", "dog left of cat"."""
        kind, count = self.wanted.kind, self.wanted.count
        match self.kind:
            case "count":
                return f"{'at least ' if self.wanted.at_least else ''}{count} {kind}"
            case "absence":
                return f"no {kind}"
            case "colour":
                return f"{self.wanted.colour} {kind}"
            case "size":
                return f"{self.wanted.size} {kind}"
            case "attribute":
                return f"{self.text} {kind}"
            case "relation":
                return " ".join(self.relation)
            case "text":
                return f"the text {self.text!r}"
        return kind


class Thing(NamedTuple):
    """An object that was seen, or is known to be there: then its confidence is None.

    `colours` are the basic colours that cover it, with their proportions; None where nobody looked.
    """

    kind: str
    box: Box | None = None
    confidence: float | None = None
    colours: Mapping[str, float] | None = None
    size: str | None = None
    attributes: tuple[str, ...] | None = None


class Line(NamedTuple):
    """A line of text that was read, or is known to be there: then its confidence is None."""

    text: str
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class Scene:
    """What is in an image as far as somebody looked.

    `things` or `lines` is None where nobody looked for objects, or for text. `vocabulary` has the kinds that
    were looked for: what it does not have may be there unseen; None is every kind there is. `sure` is the
    confidence from which on the detector's objects count as seen. `clipped` and `dropped` count boxes that
    were partly or wholly outside the image.
    """

    things: tuple[Thing, ...] | None = None
    lines: tuple[Line, ...] | None = None
    vocabulary: tuple[str, ...] | None = ()
    sure: float = SURE
    clipped: int = 0
    dropped: int = 0
    picture: Picture | None = field(default=None, compare=False, repr=False)


class Mark(NamedTuple):
    """A box that a verdict rests on, with what is in it."""

    label: str
    box: Box
    confidence: float | None = None


class Decision(NamedTuple):
    """What was decided of one demand."""

    demand: str
    about: str
    verdict: str
    confidence: float | None
    why: str


@dataclass(frozen=True)
class Verdict:
    """Whether what was demanded is there: yes, no or cannot tell, and what that rests on.

    `why` is one plain sentence. `checked` is the verdict on what could be checked, where the prompt asks for
    more than that; `decisions` has every single demand.
    """

    verdict: str
    why: str
    confidence: float | None = None
    boxes: tuple[Mark, ...] = ()
    text: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    checked: str = ""

    @property
    def value(self) -> float | None:
        """1 for yes, 0 for no, None for cannot tell."""
        return {YES: 1.0, NO: 0.0}.get(self.verdict)

    def evidence(self) -> dict[str, Any]:
        """What is stored with the score: plain values, with boxes as the explorer draws them."""
        made: dict[str, Any] = {"verdict": self.verdict, "why": self.why}
        if self.confidence is not None:
            made["confidence"] = round(self.confidence, 4)
        if self.checked:
            made["checked"] = self.checked
        if self.text:
            made["text"] = list(self.text)
        if self.decisions:
            made["demands"] = [
                {key: value for key, value in each._asdict().items() if value is not None}
                for each in self.decisions
            ]
        made["boxes"] = [
            {key: list(value) if key == "box" else value for key, value in each._asdict().items()}
            if each.confidence is not None
            else {"label": each.label, "box": list(each.box)}
            for each in self.boxes
        ]
        return made


def read_expects(raw: Mapping[str, Any] | None, where: str = "") -> Expects:
    """The `expects` of a prompt, checked; keys that are not ours, such as `questions`, are left alone."""
    if raw is None:
        return Expects()
    if not isinstance(raw, Mapping):
        raise _wrong("expects", raw, "a JSON object", where)
    _refuse_misspelt("expects", raw, _KEYS, where)
    objects = [_wanted(each, f"objects[{n}]", where) for n, each in enumerate(_list(raw, "objects", where))]
    listed = _list(raw, "relations", where)
    if raw.get("relation") is not None:
        listed = [raw["relation"], *listed]
    complete = raw.get("complete")
    if complete is not None and not isinstance(complete, bool):
        raise _wrong("complete", complete, "true or false", where)
    absent = [_word(each, f"absent[{n}]", where) for n, each in enumerate(_list(raw, "absent", where))]
    text = raw.get("text")
    return Expects(
        tuple(objects),
        tuple(_relation(each, f"relations[{n}]", where) for n, each in enumerate(listed)),
        tuple(absent),
        "" if text is None else _word(text, "text", where),
        complete,
    )


def _wanted(raw: Any, name: str, where: str) -> Wanted:
    if not isinstance(raw, Mapping):
        raise _wrong(name, raw, 'an object such as {"kind": "ball", "count": 2}', where)
    _refuse_misspelt(name, raw, _OF_OBJECT, where)
    count, at_least = raw.get("count"), raw.get("at_least")
    if count is not None and (
        isinstance(count, bool) or not isinstance(count, int | float) or count != count
    ):
        raise _wrong(f"{name}.count", count, "a whole number, or null where any number will do", where)
    if count is not None and (count < 0 or count != int(count)):
        raise _wrong(f"{name}.count", count, "a whole number of 0 or more", where)
    if at_least is not None and not isinstance(at_least, bool):
        raise _wrong(f"{name}.at_least", at_least, "true or false", where)
    listed = _list(raw, "attributes", where, name)
    attributes = [_word(each, f"{name}.attributes[{n}]", where) for n, each in enumerate(listed)]
    # What else is said of an object is demanded as well, though no verdict of ours may know how to look.
    attributes += [
        f"{key} {value}"
        for key, value in raw.items()
        if key not in _OF_OBJECT and value not in (None, "", [])
    ]
    colour, size = (
        None if raw.get(key) in (None, "") else _word(raw[key], f"{name}.{key}", where)
        for key in ("colour", "size")
    )
    kind = _word(raw.get("kind"), f"{name}.kind", where)
    return Wanted(
        kind, None if count is None else int(count), bool(at_least), colour, size, tuple(attributes)
    )


def _relation(raw: Any, name: str, where: str) -> Relation:
    if not isinstance(raw, Mapping):
        raise _wrong(
            name, raw, 'an object such as {"first": "dog", "where": "left of", "second": "cat"}', where
        )
    _refuse_misspelt(name, raw, _OF_RELATION, where)
    return Relation(*(_word(raw.get(key), f"{name}.{key}", where) for key in _OF_RELATION))


def _list(raw: Mapping[str, Any], key: str, where: str, name: str = "") -> Sequence[Any]:
    value = raw.get(key)
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong(f"{name}.{key}".lstrip("."), value, "a list", where)
    return value


def _word(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(name, value, "text that is not empty", where)
    return value.strip()


def _refuse_misspelt(name: str, raw: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in raw:
        meant = difflib.get_close_matches(str(key), known, 1, _ALIKE) if key not in known else []
        if meant or key == "color":
            raise DataError(
                f"{name} has {key!r}, which is not read",
                where=where,
                remedy=f"Write {(meant or ['colour'])[0]!r}.",
            )


def _wrong(name: str, value: Any, wanted: str, where: str) -> DataError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return DataError(f"{name} is {shown}", where=where, remedy=f"It must be {wanted}.")


def read_scene(
    raw: Mapping[str, Any],
    vocabulary: Sequence[str] | None = (),
    *,
    sure: float = SURE,
    picture: Picture | None = None,
    where: str = "",
) -> Scene:
    """A scene as it is stored, of a detector or known of an image, in a form that verdicts use.

    Boxes are clipped to the image, those outside it or without extent dropped, and both counted. A scene
    that says `complete` has everything in it, whatever was looked for.
    """
    counts = {"clipped": int(raw.get("clipped") or 0), "dropped": int(raw.get("dropped") or 0)}
    things = _read(raw, "objects", _thing, counts, where)
    lines = _read(raw, "text", _line, counts, where)
    everything = raw.get("complete") is True
    if everything:
        things, lines = things or (), lines or ()
    known = None if everything or vocabulary is None else tuple(vocabulary)
    return Scene(things, lines, known, sure, picture=picture, **counts)


def _read(raw: Mapping[str, Any], key: str, read: Any, counts: dict[str, int], where: str) -> Any:
    if raw.get(key) is None:
        return None
    made = []
    for n, each in enumerate(_list(raw, key, where)):
        if not isinstance(each, Mapping):
            raise _wrong(f"{key}[{n}]", each, "an object", where)
        box, outcome = clipped_box(each["box"]) if each.get("box") is not None else (None, "")
        if outcome:
            counts[outcome] += 1
        if outcome != "dropped":
            made.append(read(each, box, f"{key}[{n}]", where))
    return tuple(made)


def _thing(raw: Mapping[str, Any], box: Box | None, name: str, where: str) -> Thing:
    colour, colours, attributes = raw.get("colour"), raw.get("colours"), raw.get("attributes")
    if colours is None and colour is not None:
        colours = {str(colour): 1.0}
    return Thing(
        _word(raw.get("kind"), f"{name}.kind", where),
        box,
        raw.get("confidence"),
        colours,
        raw.get("size"),
        None if attributes is None else tuple(map(str, attributes)),
    )


def _line(raw: Mapping[str, Any], box: Box | None, name: str, where: str) -> Line:
    return Line(_word(raw.get("text"), f"{name}.text", where), box, raw.get("confidence"))


def clipped_box(box: Any) -> tuple[Box | None, str]:
    """A box within the image and "", "clipped" or "dropped": what had to be done to it."""
    sides = tuple(box) if isinstance(box, Sequence) and not isinstance(box, str) else ()
    numbers = len(sides) == 4 and all(
        isinstance(side, int | float) and not isinstance(side, bool) and math.isfinite(side) for side in sides
    )
    if not numbers:
        return None, "dropped"
    left, top, right, bottom = (float(side) for side in sides)
    inside = (max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0))
    if inside[0] >= inside[2] or inside[1] >= inside[3]:
        return None, "dropped"
    return inside, "" if inside == (left, top, right, bottom) else "clipped"
