"""Writes sightline/extensions.json, the index of the extensions on our shelves. Run it by `make docs`.

A test fails when the file in the repository is not what this gives.
"""

from __future__ import annotations

import json
from importlib import import_module

from sightline.registry import HOUSE, INDEX, SHELVES, extensions_in


def text() -> str:
    """The index as it stands in the repository."""
    extensions: dict[str, dict[str, str]] = {kind: {} for kind in SHELVES}
    aliases: dict[str, dict[str, tuple[str, str]]] = {}
    for shelf in sorted(set(SHELVES.values())):
        for file in sorted((HOUSE / shelf).glob("[!_]*.py")):
            module = f"{shelf.replace('/', '.')}.{file.stem}"
            for extension in extensions_in(import_module(f"sightline.{module}")):
                spec = extension.spec
                if spec.name in extensions[spec.kind]:
                    raise SystemExit(f"two extensions are called {spec.name} ({spec.kind})")
                extensions[spec.kind][spec.name] = module
                for alias, reason in spec.aliases.items():
                    aliases.setdefault(spec.kind, {})[alias] = (spec.name, reason)
    ordered = {kind: dict(sorted(names.items())) for kind, names in extensions.items()}
    return json.dumps({"extensions": ordered, "aliases": aliases}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    INDEX.write_text(text(), encoding="utf-8")
