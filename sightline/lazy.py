"""Packages whose names are loaded when they are first used.

A package states its public names once, as imports for the type checker:

    if TYPE_CHECKING:
        from sightline.comparison.compare import Comparison as Comparison
        from sightline.comparison.compare import compare as compare
    lazy(__name__, __file__)

Those imports are read from the source and executed name by name, so `import sightline` loads nothing heavy
while editors and type checkers see everything.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that imports a public name on first access."""

    _homes: dict[str, tuple[str, str]]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        module, original = self._homes[name]
        value = getattr(import_module(module), original)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing the module `compare` of a package binds it to the package as `compare`; the verb wins.
        if not (isinstance(value, ModuleType) and name in self._homes):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._homes})


def lazy(package: str, file: str) -> list[str]:
    """Make a package load its public names lazily; returns the names for its `__all__`."""
    homes: dict[str, tuple[str, str]] = {}
    for node in ast.parse(Path(file).read_text("utf-8")).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for inner in node.body:
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    for alias in inner.names:
                        homes[alias.asname or alias.name] = (inner.module, alias.name)
    module = sys.modules[package]
    module.__dict__["_homes"] = homes
    for name in homes:
        module.__dict__.pop(name, None)
    module.__class__ = LazyPackage
    return sorted(homes)
