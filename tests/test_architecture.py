"""The rules of the house that a program can check: which way imports point, what is heavy, what is long."""

from __future__ import annotations

import ast
import graphlib
import importlib.util
import pkgutil
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

# Each package may import from itself, from those before it, and from the modules at the top (the foundation).
ORDER = [
    "statistics", "language", "rendering", "study", "data", "encoders", "systems", "judging", "detectors",
    "measures", "skills", "variability", "prediction", "selection", "comparison", "report", "reproductions",
    "samples", "testing", "web", "cli",
]  # fmt: skip
FOUNDATION = {
    "records", "errors", "estimate", "extension", "registry", "pictures", "pickles", "weights", "version",
    "lazy", "verbs", "arrays", "cores", "bounded", "decoding", "regular", "parquet", "expects", "demands",
    "checkpoints", "device", "preprocessing", "published",
    "addresses", "replies", "endpoints", "chat",
}  # fmt: skip
# Files of a shelf hold extensions: besides plain libraries they use the foundation, statistics, language and
# the shared helpers of its own shelf, whose names begin with an underscore; importers also the sources.
SHELVES = {
    f"sightline.{shelf}": {"statistics", "language"}
    for shelf in (
        "data.importers", "data.exporters", "data.checks", "encoders.models", "systems.generators",
        "systems.retrievers", "judging.modes", "judging.screening", "judging.consensus", "measures.of_prompt",
        "measures.of_image", "measures.of_answer", "measures.of_set", "measures.of_ranking",
        "measures.distances", "skills.tasks", "skills.verdicts", "detectors.models", "prediction.predictors",
    )
}  # fmt: skip
SOURCES = "sightline.data.sources"
# The two faces translate, call verbs and render: of a feature they see only what its package names.
FACES = {"cli", "web"}
OPEN_TO_FACES = {"study", "rendering"}
# The lazy Python interface, `import sightline`, is the verbs by another name.
MAY_USE_THE_INTERFACE = {"cli", "web", "reproductions", "samples"}
DATABASES = {"sqlalchemy", "sqlite3", "psycopg", "psycopg2", "aiosqlite"}
HEAVY = {
    "torch", "numpy", "scipy", "sklearn", "polars", "PIL", "sqlalchemy", "fastapi", "starlette", "uvicorn",
    "pydantic", "pandas", "pyarrow", "rich", "jinja2", "fsspec", "vl_convert", "statsmodels", "transformers",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    names: tuple[str, ...] = ()


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
                    yield Import(base, node.lineno, tuple(alias.name for alias in node.names))
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield Import(name, node.lineno)


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def shelf_of(module: str) -> str | None:
    return next((shelf for shelf in SHELVES if module == shelf or module.startswith(f"{shelf}.")), None)


def wrong_imports(source: str, module: str, is_package: bool = False) -> list[str]:
    """What the source imports against the rules, one sentence each."""
    room, shelf = room_of(module), shelf_of(module)
    if room not in {*ORDER, *FOUNDATION, "__init__", "__main__"}:
        return [f"{module}: room {room!r} has no place in the architecture; list it in ORDER"]
    found = []
    for item in imports(ast.parse(source), module, is_package):
        where = f"{module}:{item.line}"
        top, target = item.module.split(".")[0], room_of(item.module)
        if top in DATABASES and room != "study" and not module.startswith(f"sightline.{room}.store"):
            found.append(f"{where}: imports {item.module}; SQL lives in study/ and in a feature's store")
        if top != "sightline":
            continue
        folder = module if is_package else module.rpartition(".")[0]
        hidden = [name for name in item.names if name.startswith("_") and not name.startswith("__")]
        if hidden and item.module != folder:
            found.append(f"{where}: imports {', '.join(hidden)}, private to {item.module}")
        home, _, name = item.module.rpartition(".")
        if name.startswith("_") and home != folder:
            found.append(f"{where}: imports {item.module}, private to its folder")
        if room in ("__init__", "__main__") or target in FOUNDATION:
            if room in FOUNDATION and target == "__init__":
                found.append(f"{where}: uses the interface for users inside the house")
            continue
        if target not in ORDER:
            if room not in MAY_USE_THE_INTERFACE:
                found.append(f"{where}: uses {item.module}, the interface for users, inside the house")
        elif room in FOUNDATION or ORDER.index(target) > ORDER.index(room):
            found.append(f"{where}: {room} comes before {target} ({item.module})")
        elif room in FACES and target not in {*FACES, *OPEN_TO_FACES} and item.module.count(".") > 1:
            found.append(f"{where}: a face imports {item.module}; use what sightline.{target} names")
        elif shelf is not None and target not in SHELVES[shelf]:
            own = item.module == shelf or (home == shelf and name.startswith("_"))
            reads = shelf == "sightline.data.importers" and item.module.startswith(SOURCES)
            if not own and not reads:
                found.append(f"{where}: imports {item.module}; extensions need() each other")
    return found


def graph() -> dict[str, set[str]]:
    """Which module of the house imports which, at the top or inside functions."""
    known = {module_name(path): path for path in modules()}
    made: dict[str, set[str]] = {}
    for module, path in known.items():
        made[module] = set()
        for item in imports(ast.parse(path.read_text("utf-8")), module, path.name == "__init__.py"):
            inner = {f"{item.module}.{name}" for name in item.names} & known.keys()
            made[module] |= inner or ({item.module} & known.keys())
    return made


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


def test_every_room_is_there_or_comes_with_an_issue() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms == {*ORDER}
    assert {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"} == FOUNDATION


def test_no_module_imports_itself_through_others() -> None:
    # A package's own __init__ names its modules; what comes back from them is not a cycle of ideas.
    inner = {
        module: {name for name in names if not module.startswith(f"{name}.")}
        for module, names in graph().items()
    }
    graphlib.TopologicalSorter(inner).prepare()


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_point_one_way(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert wrong_imports(source, module_name(path), path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sightline.study.reading", "from sightline.measures.score import score"),
        ("sightline.study.reading", "def f():\n    from sightline.measures import score"),
        ("sightline.study.reading", "from ..data import export"),
        ("sightline.statistics.fit", "import sightline.study"),
        ("sightline.records", "from sightline.study import Study"),
        ("sightline.records", "from .statistics import folds"),
        ("sightline.measures.of_image.sharpness", "from sightline.study.running import run"),
        ("sightline.measures.of_image.sharpness", "from sightline.measures.of_image.contrast import rms"),
        ("sightline.measures.of_image.sharpness", "from .contrast import contrast"),
        ("sightline.measures.of_image.sharpness", "from sightline.data.sources import rows"),
        ("sightline.data.importers.coco", "from sightline.study.reading import prompts"),
        ("sightline.measures.score", "from sightline.comparison import compare"),
        ("sightline.comparison.compare", "from sightline.cli import main"),
        ("sightline.judging.annotate", "from sightline.web import app"),
        ("sightline.measures.score", "import sightline"),
        ("sightline.measures.score", "from sightline import compare"),
        ("sightline.measures.score", "import sqlite3"),
        ("sightline.web.app", "from sqlalchemy import text"),
        ("sightline.web.app", "from sightline.judging.rounds import Round"),
        ("sightline.cli.score", "from sightline.measures.score import score"),
        ("sightline.measures.score", "from importlib import import_module\nimport_module('sightline.web')"),
        ("sightline.measures.score", "if TYPE_CHECKING:\n    from sightline.web import App"),
        ("sightline.measures.score", "from sightline.study.reading import _rows"),
        ("sightline.samples.study", "from sightline.data.importers._geneval import read"),
        ("sightline.utilities", "import os"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert len(wrong_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sightline.study.reading", "import sqlalchemy\nfrom sightline.errors import near"),
        ("sightline.judging.store.rounds", "import sqlalchemy"),
        ("sightline.measures.of_image.sharpness", "import numpy\nfrom sightline.extension import measure"),
        ("sightline.measures.of_image.sharpness", "from sightline.statistics.correlation import pearson"),
        ("sightline.measures.of_image.sharpness", "from sightline.measures.of_image._family import shared"),
        ("sightline.data.importers.coco", "from sightline.data.sources.rows import Row"),
        ("sightline.measures.score", "from sightline.study.running.run import run"),
        ("sightline.cli.serve", "def f():\n    from sightline.web.app import app\n    import sightline"),
        (
            "sightline.cli.score",
            "from sightline.measures import score\nfrom sightline.study.study import open_study",
        ),
        ("sightline.rendering.html", "from sightline.version import __version__"),
    ],
)
def test_a_right_import_is_not(module: str, source: str) -> None:
    assert wrong_imports(source, module) == []


def test_relative_imports_of_a_package_start_at_itself() -> None:
    source = "from .measures import score\nfrom . import web"
    found = [item.module for item in imports(ast.parse(source), "sightline", True)]
    assert found == ["sightline.measures", "sightline.web"]


def test_the_interface_loads_nothing_by_itself() -> None:
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    assert len(top_level_imports_of_the_house(source)) == 2  # lazy, version
    planted = "import os\nimport sightline.web\ndef f():\n    from sightline import web\n"
    assert top_level_imports_of_the_house(planted) == [2]
    assert top_level_imports_of_the_house("if TYPE_CHECKING:\n    from sightline.study import open\n") == []


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
    loaded = loaded_by("from sightline.cli import main; sys.exit(main())", "--help")
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


def test_scripts_import_what_the_package_has():
    lost = []
    for script in sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("tools/*.py")]):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("sightline"):
                continue
            for name in node.names:
                try:
                    pkgutil.resolve_name(f"{node.module}:{name.name}")
                except (ImportError, AttributeError):
                    if importlib.util.find_spec(f"{node.module}.{name.name}") is None:
                        lost.append(f"{script.name}:{node.lineno}: {node.module} has no {name.name}")
    assert lost == []


def opens_images(source: str) -> list[int]:
    """The lines on which a source has Pillow open a file, under whatever name it imports it."""
    tree = ast.parse(source)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "PIL"
        for alias in node.names
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "open"
        if isinstance(node.func.value, ast.Name) and node.func.value.id in names
    ]


def test_image_files_are_opened_in_one_module_only() -> None:
    assert opens_images("from PIL import Image as P\nP.open(f)\nopen(f)\nQ.open(f)") == [2]
    found = {module_name(path) for path in modules() if opens_images(path.read_text("utf-8"))}
    # The others open what they have just made: charts, and compressed versions of a picture.
    own = {"sightline.rendering.result", "sightline.encoders.models.quality_statistics"}
    assert found == {"sightline.decoding", *own}
