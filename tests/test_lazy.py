"""The Python interface: every public name is visible, typed, and loaded when it is first used."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import sightline

PACKAGE = Path(sightline.__file__).parent
LAZY = sorted(
    str(file.parent.relative_to(PACKAGE.parent)).replace("/", ".")
    for file in PACKAGE.rglob("__init__.py")
    if "lazy(__name__" in file.read_text("utf-8")
)


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_importing_loads_nothing_heavy() -> None:
    program = "import sightline, sys; dir(sightline); print('numpy' in sys.modules, 'polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_verb_wins_over_the_module_of_its_name() -> None:
    import sightline.comparison.compare
    import sightline.report.report

    assert callable(sightline.report) and callable(sightline.comparison.compare)
    assert sys.modules["sightline.report"] is not sightline.report
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sightline.nothing  # noqa: B018


def test_every_verb_is_in_the_interface() -> None:
    from sightline.cli.adapter import index

    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    named = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    missing = [name for name, each in index().items() if (each["module"], each["function"]) not in named]
    assert missing == []
