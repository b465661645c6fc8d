"""What a prompt asks for, in one form: the skills that suites test, and `expects`, the demands on an image.

`expects` of a prompt is a JSON object; every key may be absent:

    objects    [{"kind", "count", "at_least", "colour", "size", "attributes"}]
    relation   {"first": kind, "where": "left of", "second": kind}; several of them in `relations`
    absent     [kind]: what must not be there
    text       what must be written in the image
    complete   true only if these demands are all that the prompt asks for

A `count` is exact unless `at_least` is true; without a count the object must be there. What "a dog" asks for
is at least one; a number word is exact. A horse with a yellow saddle expects more than a horse: where the
rest has no place in this form, `complete` is false, and an image that meets the demands may still be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

COGNITIVE: Mapping[str, str] = {
    "single_object": "one object",
    "multiple_objects": "several objects together",
    "counting": "an exact number of objects",
    "arithmetic": "numbers that must be worked out",
    "directed_actions": "who does what to whom",
    "spatial": "where objects are relative to each other",
    "unusual_arrangements": "objects arranged as they hardly ever are",
    "conditional": "which of two objects fits a condition",
    "compositional": "an object with a colour, a material or another characteristic",
    "negation": "something that must not be there",
    "chimeras": "parts of one animal on another",
    "text_rendering": "written text",
    "typos": "misspelled words",
}
"""What our own suite tests: GIMBRR's eleven skills, the single objects they use, and typos."""
SKILLS: Mapping[str, str] = {
    **COGNITIVE,
    "complex": "several skills at once",
    "detail": "a longer description",
    "knowledge": "rare words, definitions and facts",
    "style": "style, medium or point of view",
    "general": "no skill in particular",
}
"""Every value that the tag `skill` has in our own and in published suites."""


def thing(kind: str, count: int | None = 1, *, at_least: bool = True, **more: Any) -> dict[str, Any]:
    """One entry of `objects`, by default at least one; `more` are colour, size and attributes."""
    return {"kind": kind, "count": count, "at_least": at_least, **more}


def sound(expects: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Demands in the form above, and what was wrong with them: each wrong part is taken out.

    What lacks a part is no longer complete. Keys of other origin are kept as they are.
    """
    kept, wrong = dict(expects), list[str]()
    if "objects" in kept:
        kept["objects"] = _objects(kept["objects"], wrong)
    if kept.get("relation") is not None and not _is_relation(kept["relation"]):
        wrong.append("a relation without first, where and second")
        kept["relation"] = None
    if "relations" in kept:
        given = kept["relations"] if isinstance(kept["relations"], Sequence) else [None]
        kept["relations"] = [each for each in given if _is_relation(each)]
        if len(kept["relations"]) < len(given):
            wrong.append("a relation without first, where and second")
    if kept.get("absent") is not None and not _are_texts(kept["absent"]):
        wrong.append("absent is not a list of kinds")
        kept.pop("absent")
    if kept.get("text") is not None and not isinstance(kept["text"], str):
        wrong.append("text is not a text")
        kept["text"] = None
    if "complete" in kept and not isinstance(kept["complete"], bool):
        wrong.append("complete is neither true nor false")
        kept.pop("complete")
    if wrong:
        kept["complete"] = False
    return kept, wrong


def _objects(given: Any, wrong: list[str]) -> list[dict[str, Any]]:
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        wrong.append("objects is not a list")
        return []
    kept = []
    for each in given:
        if not isinstance(each, Mapping) or not isinstance(each.get("kind"), str) or not each["kind"].strip():
            wrong.append("an object without a kind")
            continue
        entry = dict(each)
        count = entry.get("count")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            wrong.append(f"a count that is no number: {str(count)[:40]!r}")
            entry["count"] = None
        if not isinstance(entry.get("at_least", False), bool):
            wrong.append("at_least is neither true nor false")
            entry.pop("at_least")
        if entry.get("attributes") is not None and not _are_texts(entry["attributes"]):
            wrong.append("attributes is not a list of texts")
            entry.pop("attributes")
        kept.append(entry)
    return kept


def _is_relation(given: Any) -> bool:
    return isinstance(given, Mapping) and all(
        isinstance(given.get(name), str) for name in ("first", "where", "second")
    )


def _are_texts(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)
