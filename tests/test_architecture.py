"""The rules of the house that a program can check: which way imports point, what is heavy, what is long."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sightline"
LONGEST = 600

SHELVES = [
    "importers", "exporters", "annotation_modes", "screening", "consensus", "backbones", "retrievers",
    "generators", "distances", "measures", "tasks", "predictors", "checks",
]  # fmt: skip

GROUND = {"errors", "pictures", "records", "statistics", "language"}
MIDDLE = {"judging", "execution", "reporting", "store", "registry", "extension", "sources"} | GROUND
# Room -> rooms it may import besides itself. A room not listed here is an error: say where it belongs.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "pictures": {"errors"},
    "records": {"errors", "pictures"},
    "statistics": {"errors", "records"},
    # Words of a prompt: tokens, WordNet. Pure, but it reads a dictionary that the machine has.
    "language": {"errors"},
    # Rows of files that know their file and line: what importers are handed.
    "sources": {"errors", "records"},
    # What an image file tells besides its pixels is taken out of it.
    "blinding": {"errors", "pictures"},
    "weights": {"errors", "records"},
    "extension": {"errors", "records", "pictures", "weights"},
    "registry": {"extension", "records", "errors"},
    "store": {"records", "errors", "pictures"},
    "execution": {"extension", "registry", "store"} | GROUND,
    # Judging reads votes, answers and files of known answers; it stands beside execution, above the store.
    "judging": {"extension", "registry", "store", "sources"} | GROUND,
    "reporting": {"extension"} | GROUND,
    # The best tier of the predictor that ships is looked for without fetching weights unasked.
    "stages": {"weights"} | MIDDLE,
    "samples": {"stages"} | MIDDLE,
    "reproductions": {"stages"} | MIDDLE,
    "web": {"stages", "blinding"} | MIDDLE,
    "commands": {"web", "reproductions", "samples", "stages"} | MIDDLE,
    "__main__": {"commands"},
    "__init__": set(),
} | {shelf: {"extension"} | GROUND for shelf in SHELVES}
ALLOWED["importers"] = ALLOWED["importers"] | {"sources"}
# An encoder is handed one file of weights; what else it reads, such as its vocabulary, it has to find.
ALLOWED["backbones"] = ALLOWED["backbones"] | {"weights"}
# Fine-tuning goes on where it was stopped, from what it left in the cache folder.
ALLOWED["predictors"] = ALLOWED["predictors"] | {"weights"}
# Published weights of LPIPS are pickled arrays, and the reader that lets nothing else through is there.
ALLOWED["distances"] = ALLOWED["distances"] | {"sources"}
# The lazy Python interface, `import sightline`, is the stages by another name.
MAY_USE_THE_INTERFACE = {"commands", "web", "reproductions", "samples"}
DATABASES = {"sqlalchemy", "sqlite3", "psycopg", "psycopg2", "aiosqlite"}
HEAVY = {
    "torch", "numpy", "scipy", "sklearn", "polars", "PIL", "sqlalchemy", "fastapi", "starlette", "uvicorn",
    "pydantic", "pandas", "pyarrow", "rich", "jinja2", "fsspec", "vl_convert", "statsmodels", "transformers",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    module: str
    line: int


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[Import]:
    """Every module that the source of `module` imports, at the top or inside functions, spelled in full.

    `from sightline import x` counts as sightline.x, and import_module("...") with a literal counts as well.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (Import(alias.name, node.lineno) for alias in node.names)
            case ast.ImportFrom():
                base = node.module or ""
                if node.level:
                    parts = module.split(".")
                    kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
                    base = ".".join([*kept, *([base] if base else [])])
                if base == "sightline":
                    yield from (Import(f"sightline.{alias.name}", node.lineno) for alias in node.names)
                else:
                    yield Import(base, node.lineno)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield Import(name, node.lineno)


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def wrong_imports(source: str, module: str, is_package: bool = False) -> list[str]:
    """What the source imports against the rules, one sentence each."""
    room = room_of(module)
    if room not in ALLOWED:
        return [f"{module}: room {room!r} has no place in the architecture; list it in ALLOWED"]
    found = []
    for item in imports(ast.parse(source), module, is_package):
        where = f"{module}:{item.line}"
        top = item.module.split(".")[0]
        if top in DATABASES and room != "store":
            found.append(f"{where}: imports {item.module}; all SQL lives in sightline/store")
        if top != "sightline" or item.module == "sightline.__version__":
            continue
        target = room_of(item.module)
        if item.module == "sightline" or target not in ALLOWED:
            if room not in MAY_USE_THE_INTERFACE:
                found.append(f"{where}: uses {item.module}, the interface for users, inside the house")
        elif target == room:
            # What several extensions of one shelf share lives there in a module with a leading underscore.
            shared = item.module.rpartition(".")[2].startswith("_")
            if room in SHELVES and item.module != f"sightline.{room}" and not shared:
                found.append(f"{where}: imports {item.module}; extensions need() each other")
        elif target not in ALLOWED[room]:
            found.append(f"{where}: {room} must not import {target} ({item.module})")
    return found


def top_level_imports_of_the_house(source: str) -> list[int]:
    """Lines on which a module imports from sightline as soon as it is imported itself."""
    lazy: set[int] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if function or typing_only:
            lazy |= {item.line for item in imports(node, "sightline", True)}
    named = [item for item in imports(tree, "sightline", True) if item.module.split(".")[0] == "sightline"]
    return sorted({item.line for item in named} - lazy)


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def kept_files() -> list[Path]:
    """The files that are, or would be, under version control; all of the checkout where there is no git."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        parts = [ROOT / part for part in ("sightline", "tests", "benchmarks", "tools")]
        names = [path for part in parts for path in part.rglob("*")]
    return sorted({path for path in names if path.is_file() and "__pycache__" not in path.parts})


# Put together from pieces, so that this file does not find itself.
OF_ONE_MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.~}>)-])/" + r"(?:tmp|root|opt|home)/[\w.]",
            r"(?<![\w.~}>)-])/" + r"work/(?:main|shared|\.library)\b",
            r"\bpypi" + r"\.org|pythonhosted" + r"\.org|registry\.npm" + r"js|deb\.debian" + r"\.org",
            r"--(?:extra-)?index" + r"-url[ =]\S*(?:://|\$)|--find" + r"-links[ =]\S",
        ]
    )
)


def test_the_rules_themselves_point_one_way() -> None:
    order = list(graphlib.TopologicalSorter(ALLOWED).static_order())
    assert order.index("errors") < order.index("store") < order.index("stages") < order.index("commands")


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_point_one_way(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert wrong_imports(source, module_name(path), path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sightline.store.tables", "from sightline.stages.score import score"),
        ("sightline.store.tables", "def f():\n    from sightline.stages import score"),
        ("sightline.store.tables", "from ..execution import run"),
        ("sightline.statistics.fit", "import sightline.store"),
        ("sightline.records", "from sightline.extension import Spec"),
        ("sightline.records", "from .extension import Spec"),
        ("sightline.extension", "from sightline import registry"),
        ("sightline.measures.of_image.sharpness", "from sightline.execution import run"),
        ("sightline.measures.of_image.sharpness", "from sightline.measures.of_image.contrast import rms"),
        ("sightline.measures.of_image.sharpness", "from .contrast import contrast"),
        ("sightline.measures.of_image.sharpness", "from sightline.store.images import read"),
        ("sightline.stages.score", "from sightline.measures.of_image import sharpness"),
        ("sightline.stages.score", "from sightline.commands import main"),
        ("sightline.stages.annotate", "from sightline.web import app"),
        ("sightline.stages.score", "import sightline"),
        ("sightline.stages.score", "from sightline import compare"),
        ("sightline.stages.score", "import sqlite3"),
        ("sightline.web.app", "from sqlalchemy import text"),
        ("sightline.stages.score", "from importlib import import_module\nimport_module('sightline.web')"),
        ("sightline.stages.score", "if TYPE_CHECKING:\n    from sightline.web import App"),
        ("sightline.utilities", "import os"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert len(wrong_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "sightline.store.tables",
            "import sqlalchemy\nfrom sightline.errors import near\nfrom . import files",
        ),
        ("sightline.measures.of_image.sharpness", "import numpy\nfrom sightline.extension import measure"),
        ("sightline.measures.of_image.sharpness", "from sightline.statistics.correlation import pearson"),
        ("sightline.stages.score", "from sightline.execution.run import run\nimport sightline.stages.check"),
        ("sightline.commands.serve", "def f():\n    from sightline.web.app import app\n    import sightline"),
        ("sightline.reporting.html", "from sightline import __version__"),
    ],
)
def test_a_right_import_is_not(module: str, source: str) -> None:
    assert wrong_imports(source, module) == []


def test_relative_imports_of_a_package_start_at_itself() -> None:
    source = "from .stages import score\nfrom . import web"
    found = [item.module for item in imports(ast.parse(source), "sightline", True)]
    assert found == ["sightline.stages", "sightline.web"]


def test_the_interface_loads_nothing_by_itself() -> None:
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    assert top_level_imports_of_the_house(source) == []
    planted = "import os\nfrom sightline.stages.score import score\ndef f():\n    from sightline import web\n"
    assert top_level_imports_of_the_house(planted) == [2]
    assert top_level_imports_of_the_house("if TYPE_CHECKING:\n    from sightline.store import open\n") == []


def test_files_can_be_read_in_one_sitting() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in kept_files()
        if path.suffix in {".py", ".js", ".css", ".html"}
    }
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def loaded_by(source: str, *arguments: str) -> set[str]:
    """The top-level modules in memory when a fresh interpreter has run the source to its end."""
    report = "import atexit, sys; atexit.register(lambda: sys.stderr.write('\\n' + ' '.join(sys.modules)));"
    done = subprocess.run(
        [sys.executable, "-c", report + source, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in done.stderr.splitlines()[-1].split()}


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_by("from sightline.commands import main; sys.exit(main())", "--help")
    assert "sightline" in loaded
    assert sorted(loaded.intersection(HEAVY)) == []


def test_something_heavy_would_be_noticed() -> None:
    assert "numpy" in loaded_by("import numpy").intersection(HEAVY)


def test_no_file_names_one_machine_or_registry() -> None:
    found = []
    for path in kept_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # pictures and arrays
        lines = enumerate(text.splitlines(), start=1)
        found += [f"{path.relative_to(ROOT)}:{n}: {line}" for n, line in lines if OF_ONE_MACHINE.search(line)]
    assert found == []


@pytest.mark.parametrize(
    ("line", "one_machine"),
    [
        ("open('/" + "tmp/x')", True),
        ("PATH=/" + "root/.cache", True),
        ("see /" + "work/shared/DESIGN.md", True),
        ("https://" + "pypi" + ".org/simple", True),
        ("--index" + "-url https://example.org", True),
        ("--find" + "-links wheels", True),
        ("../shared/data", False),
        ("@app.get('/work/next')", False),
        ("static/home/page.css", False),
        ("{root}/tmp/x", False),
        ("--no-emit-index" + "-url", False),
    ],
)
def test_what_counts_as_one_machine(line: str, one_machine: bool) -> None:
    assert bool(OF_ONE_MACHINE.search(line)) == one_machine
