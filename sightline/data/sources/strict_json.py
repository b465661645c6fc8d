"""JSON that says one thing only: no key twice, no NaN, no characters that text cannot hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MOST_CONTAINERS = 2_000_000
DEEPEST = 100
"""Lists and objects within each other: more would only break what is done with them."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name!r} is there twice")
            seen.add(name)
    return found


def _no_constant(said: str) -> Any:
    raise ValueError(f"{said} is not a JSON number")


_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


def parse_json(text: str) -> Any:
    """JSON without repeated keys, NaN, NUL or halves of characters; ValueError says what is wrong."""
    # Three bytes of text can be a list, which takes seventy of memory, or an object, which takes two hundred.
    if len(text) > MOST_CONTAINERS and text.count("[") + text.count("{") > MOST_CONTAINERS:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects")
    try:
        found = _decoder.decode(text)
        if text.count("[") + text.count("{") > DEEPEST:
            _refuse_deep(found)
        # Only an escape can bring in what no UTF-8 text may hold; without one there is nothing to look for.
        if "\\u" in text:
            _refuse_odd(found)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return found


def _refuse_deep(found: Any) -> None:
    level = [found]
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _refuse_odd(found: Any) -> None:
    for each in _texts(found):
        if "\0" in each:
            raise ValueError("it holds a NUL character")
        try:
            each.encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half a character (a lone surrogate)") from None


def _texts(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict):
        for name, value in found.items():
            yield name
            yield from _texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from _texts(value)


def parse_first(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at a place of a text, and where it ends; ValueError as in `parse_json`."""
    try:
        _, end = _decoder.raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return parse_json(text[start:end]), end
