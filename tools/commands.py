"""Writes sightline/cli/commands.json, the index of all verbs, from their signatures. Run it by `make docs`.

A test fails when the file in the repository is not what this gives.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from sightline.cli.adapter import INDEX
from sightline.verbs import GROUPS, described

PACKAGES = (
    "study", "data", "encoders", "systems", "judging", "measures", "skills", "variability", "prediction",
    "selection", "comparison", "report", "reproductions", "samples", "testing",
)  # fmt: skip


def verbs() -> list[dict[str, Any]]:
    """Every verb that a package names, by group, then in the order of the packages."""
    found: dict[str, dict[str, Any]] = {}
    for name in PACKAGES:
        package = import_module(f"sightline.{name}")
        for public in getattr(package, "_homes", {}):
            function = getattr(package, public)
            if hasattr(function, "verb"):
                entry = described(function)
                found[entry["name"]] = entry
    groups = [*GROUPS]
    return sorted(found.values(), key=lambda each: groups.index(each["group"]))


def text() -> str:
    """The index as it stands in the repository."""
    return json.dumps(verbs(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    Path(INDEX).write_text(text(), encoding="utf-8")
