"""JSON that says one thing only: no key twice, no NaN, no characters that text cannot hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _no_constant(said: str) -> Any:
    raise ValueError(f"{said} is not a JSON number")


_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


def parse_json(text: str) -> Any:
    """JSON without repeated keys, NaN, NUL or halves of characters; ValueError says what is wrong."""
    try:
        found = _decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # Only an escape can bring in what no UTF-8 text may hold; without one there is nothing to look for.
    if "\\u" in text:
        for each in _texts(found):
            if "\0" in each:
                raise ValueError("it holds a NUL character")
            try:
                each.encode()
            except UnicodeEncodeError:
                raise ValueError("it holds half a character (a lone surrogate)") from None
    return found


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
