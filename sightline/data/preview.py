"""How an import is shown before it is made: its records in short, and its options as a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightline.records import Record


def shown(record: Record) -> str:
    """The content of a record without what is empty or a default."""
    defaults = type(record)._field_defaults
    return ", ".join(
        f"{name}={_short(value)}"
        for name, value in record._asdict().items()
        if name != "at" and value not in (None, "", (), {}) and value != defaults.get(name)
    )


def _short(value: Any) -> str:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return "/".join(_short(part) for part in value if part is not None)
    text = str(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def chosen(
    one: Mapping[str, Any], many: Mapping[str, Mapping[str, Any] | None], flags: Mapping[str, bool]
) -> list[str]:
    """Options as words of the command line."""
    words = [f"--{name}={value}" for name, value in one.items() if value is not None]
    for name, pairs in many.items():
        words += [f"--{name}={key}={value}" for key, value in (pairs or {}).items()]
    return [*words, *(f"--{name}" for name, given in flags.items() if given)]
