"""Finds extensions: ours, those of other packages' entry points, and a folder of single files.

All three work alike: a look-up finds a name, imports that one file, and takes the decorated object of that
name. Names are listed without importing anything except files of the plugins folder, whose kind is only known
once they are read.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any

from sightline.errors import ExtensionError, UsageError, near
from sightline.extension import (
    IMPORTED,
    KINDS,
    MEASURE_KINDS,
    Configured,
    Extension,
    Needs,
    Parameter,
    described,
    filled_by,
    from_origin,
)

SHELVES: Mapping[str, str] = {
    **{kind: f"measures/{kind}" for kind in MEASURE_KINDS},
    "distance": "measures/distances",
    "encoder": "encoders/models",
    "detector": "detectors/models",
    "predictor": "prediction/predictors",
    "importer": "data/importers",
    "exporter": "data/exporters",
    "consensus": "judging/consensus",
    "screening": "judging/screening",
    "annotation_mode": "judging/modes",
    "task": "skills/tasks",
    "generator": "systems/generators",
    "retriever": "systems/retrievers",
    "check": "data/checks",
    "verdict": "skills/verdicts",
}
HOUSE = Path(__file__).parent
INDEX = HOUSE / "extensions.json"
NO_PLUGINS = "SIGHTLINE_NO_PLUGINS"
PATH = re.compile(r"""=\s*((?:[^\s'"(),=]*[/\\])?[^\s'"(),=/\\]*\.[A-Za-z]\w*)\s*(?=[,)])""")
"""The value of a parameter that is the name of a file, written without quotes."""


@dataclass(frozen=True)
class Place:
    """Where an extension of a known kind and name is defined."""

    kind: str
    name: str
    origin: str
    module: str
    file: Path | None = None


@dataclass(frozen=True)
class Broken:
    """An extension that could not be read, and why; listed, never hidden."""

    kind: str
    name: str
    origin: str
    why: str


def plugins_wanted() -> bool:
    """Whether extensions of others are looked for; SIGHTLINE_NO_PLUGINS forbids it, as --no-plugins does."""
    return os.environ.get(NO_PLUGINS, "") in ("", "0")


def plugins_folder() -> Path:
    """The folder of single-file extensions: SIGHTLINE_PLUGINS, or `plugins` in the user's settings."""
    given = os.environ.get("SIGHTLINE_PLUGINS")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "sightline" / "plugins"


def places(kind: str) -> dict[str, Place]:
    """Every extension of a kind by name, without importing ours and those of packages."""
    _known_kind(kind)
    by_name: dict[str, Place] = {}
    for place in (*_on_shelf(kind), *_in_packages(kind), *_in_folder(kind)):
        earlier = by_name.get(place.name)
        if earlier is not None and earlier.module != place.module:
            raise ExtensionError(
                f"two extensions are called {place.name} ({kind}): "
                f"one of {earlier.origin}, one of {place.origin}",
                remedy="Rename or remove one of them.",
            )
        by_name[place.name] = place
    return by_name


def names(kind: str) -> list[str]:
    """The names of all extensions of a kind."""
    return sorted(places(kind))


def has(kind: str, name: str) -> bool:
    """Whether there is an extension of this kind and name, or one that the name is an alias of."""
    known = places(kind)
    alias = aliases(kind).get(name.lower(), ("", "different"))
    return _written(kind, name, known) is not None or alias[1] == ""


def _written(kind: str, name: str, known: Mapping[str, Place]) -> str | None:
    """A name as it is known: CLIPScore and clipscore are the same to whoever cites it.

    Not so among measures of rankings, where Recall@k of papers is another measure than recall.
    """
    small = name if kind == "of_ranking" else name.lower()
    return next((each for each in (name, small) if each in known), None)


def aliases(kind: str) -> dict[str, tuple[str, str]]:
    """Other names of extensions: what each stands for, and the reason where it is only the nearest thing."""
    ours = shelf_index()["aliases"].get(kind, {})
    known = {alias: (str(name), str(reason)) for alias, (name, reason) in ours.items()}
    for place in (*_in_packages(kind), *_in_folder(kind)):
        try:
            spec = _load(place).spec
        except Exception:  # a plug-in that cannot be read is reported where it is used
            continue
        known |= {alias: (spec.name, reason) for alias, reason in spec.aliases.items()}
    return known


def get(kind: str, name: str) -> Extension:
    """The extension of this kind and name or alias, or an error that suggests similar names."""
    known = places(kind)
    written = _written(kind, name, known)
    if written is not None:
        return _load(known[written])
    meant, reason = aliases(kind).get(name.lower(), ("", ""))
    if meant and not reason:
        return _load(known[meant])
    raise UsageError(
        f"there is no {_spoken(kind)} called {name!r}",
        remedy=f"The nearest is {meant}: {reason}" if meant else near(name, known),
    )


def everything(kind: str | None = None) -> Iterator[Extension | Broken]:
    """All extensions, of one kind or of every kind; those that fail to load come as Broken."""
    for each in KINDS if kind is None else (kind,):
        for name, place in sorted(places(each).items()):
            try:
                yield _load(place)
            except Exception as error:  # a plug-in may fail in any way; the others are still listed
                yield Broken(each, name, place.origin, f"{type(error).__name__}: {error}")


def find_measure(text: str) -> Configured:
    """A measure of any kind from its printed form."""
    name = "imported" if text.endswith(IMPORTED) else _parse(text)[0]
    kind = next((each for each in MEASURE_KINDS if has(each, name)), None)
    kind = kind or next((each for each in MEASURE_KINDS if name.lower() in aliases(each)), None)
    if kind is not None:
        return configure(kind, text)
    known = [each for every in MEASURE_KINDS for each in places(every)]
    raise UsageError(f"there is no measure called {name!r}", remedy=near(name, known))


def configure(kind: str, text: str, **overrides: Any) -> Configured:
    """An extension from its printed form, such as `precision(k=20)`, `precision@20` or `ssim`.

    The text is parsed, never evaluated; what it leaves out is filled in from the defaults.
    """
    if text.endswith(IMPORTED):
        name = "imported" if kind == "of_answer" else f"imported_{kind}"
        return _fill(get(kind, name), {"name": text.removesuffix(IMPORTED), **overrides})
    name, given = _parse(text)
    return _fill(get(kind, name), {**given, **overrides})


def _fill(extension: Extension, given: Mapping[str, Any]) -> Configured:
    spec = extension.spec
    for name in given:
        spec.parameter(name)
    plain = {
        each.name: _plain(spec.name, each, given[each.name])
        for each in spec.parameters
        if each.name in given and not each.nested
    }
    given = {**filled_by(spec, plain), **given}
    arguments: dict[str, Any] = {}
    for parameter in spec.parameters:
        value = given.get(parameter.name, parameter.default)
        if parameter.nested:
            arguments[parameter.name] = _nested(parameter, value)
        else:
            arguments[parameter.name] = _plain(spec.name, parameter, value)
    return Configured(described(extension, arguments), arguments)


def _nested(parameter: Parameter, value: Any) -> Configured:
    kind = parameter.default.kind
    if isinstance(value, Configured) and value.spec.kind == kind:
        return value
    if isinstance(value, Needs):
        return configure(kind, value.spec)
    if isinstance(value, str):
        return configure(kind, value)
    if isinstance(value, ast.expr):
        name, given = _call(value, f"{parameter.name}=...")
        return _fill(get(kind, name), given)
    raise UsageError(f"{parameter.name} must name a {_spoken(kind)}, not {str(value)!r}")


def _plain(owner: str, parameter: Parameter, value: Any) -> Any:
    if isinstance(value, ast.expr):
        value = _literal(owner, parameter.name, value)
    if isinstance(value, float) and not isfinite(value):
        raise UsageError(f"{owner}: {parameter.name} must be finite, not {value!r}")
    default = parameter.default
    if value is None and (default is None or "None" in parameter.annotation):
        return value
    if default is None:
        fits = _annotated(parameter.annotation, value)
    elif isinstance(default, bool) or isinstance(value, bool):
        fits = isinstance(default, bool) and isinstance(value, bool)
    elif isinstance(default, float):
        fits = isinstance(value, int | float)
        value = float(value) if fits else value
    elif isinstance(default, list | tuple):
        fits = isinstance(value, list | tuple)
        value = tuple(value) if fits else value
    else:
        fits = isinstance(value, type(default))
    if not fits:
        raise UsageError(
            f"{owner}: {parameter.name} must be {_article(_wanted(parameter))}, not {value!r}",
            remedy=f"For example {parameter.name}={default!r}.",
        )
    return value


def _wanted(parameter: Parameter) -> str:
    return parameter.annotation if parameter.default is None else type(parameter.default).__name__


def _annotated(annotation: str, value: Any) -> bool:
    """Whether a value fits the annotation of a default of None; an unknown annotation allows anything."""
    types = {"int": int, "float": int | float, "str": str, "bool": bool, "tuple": list | tuple}
    named = [
        types.get(part.strip().partition("[")[0]) for part in annotation.split("|") if part.strip() != "None"
    ]
    if None in named or not named:
        return True
    if isinstance(value, bool):
        return bool in named
    return any(isinstance(value, each) for each in named if each is not None)


def _literal(owner: str, name: str, tree: ast.expr) -> Any:
    if isinstance(tree, ast.Name):
        return tree.id
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UsageError(
            f"{owner}: {name} is not a plain value", remedy="A number, text, or a tuple."
        ) from None


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        tree = None
    if tree is None or any(isinstance(each, ast.Attribute) for each in ast.walk(tree)):
        # A path without quotes: own.npz reads as an attribute, folder/own.npz as a division.
        try:
            tree = ast.parse(PATH.sub(lambda found: f"={found[1]!r}", text.strip()), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise _unreadable(text) from None
    return _call(tree, text)


def _unreadable(text: str, remedy: str = "Write a name, name@10, or name(parameter=value).") -> UsageError:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return UsageError(f"cannot read {shown!r}", remedy=remedy)


def _call(tree: ast.expr, text: str) -> tuple[str, dict[str, Any]]:
    if isinstance(tree, ast.Name):
        return tree.id, {}
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return _parse(tree.value)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult) and isinstance(tree.left, ast.Name):
        return tree.left.id, {"k": tree.right}
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        if tree.args or any(keyword.arg is None for keyword in tree.keywords):
            raise _unreadable(text, "Parameters are given by name: name(parameter=value).")
        given = {keyword.arg: keyword.value for keyword in tree.keywords if keyword.arg}
        if len(given) < len(tree.keywords):
            raise _unreadable(text, "It gives a parameter twice.")
        return tree.func.id, given
    raise _unreadable(text)


def _known_kind(kind: str) -> None:
    if kind not in SHELVES:
        raise UsageError(f"there is no kind of extension called {kind!r}", remedy=near(kind, SHELVES))


@cache
def shelf_index() -> Mapping[str, Any]:
    """Where each of our extensions is, by kind and name, and their aliases: written by `make docs`."""
    return dict(json.loads(INDEX.read_text("utf-8")))


def _on_shelf(kind: str) -> Iterator[Place]:
    for name, module in shelf_index()["extensions"].get(kind, {}).items():
        yield Place(kind, name, "sightline", f"sightline.{module}")


@cache
def _entry_points() -> Sequence[Any]:
    from importlib import metadata

    points = metadata.entry_points()
    ours = [group for group in points.groups if group.startswith("sightline.")]
    return [point for group in ours for point in points.select(group=group)]


def _in_packages(kind: str) -> Iterator[Place]:
    for point in _entry_points() if plugins_wanted() else ():
        if point.group == f"sightline.{kind}":
            origin = point.dist.name if point.dist is not None else "an installed package"
            yield Place(kind, point.name, origin, point.value.partition(":")[0])


def _in_folder(kind: str) -> Iterator[Place]:
    for file in _plugin_files():
        module = _plugin_module(str(file), file.stat().st_mtime_ns)
        if isinstance(module, BaseException):
            # Its kind is unknown as long as it does not load; it is listed with the measures of images.
            if kind == "of_image":
                yield Place(kind, file.stem, f"plugins/{file.name}", f"sightline_plugins.{file.stem}", file)
            continue
        own = extensions_in(module)
        if not own and kind == "of_image":
            yield Place(kind, file.stem, f"plugins/{file.name}", module.__name__, file)
        for extension in own:
            if extension.spec.kind == kind:
                yield Place(kind, extension.spec.name, f"plugins/{file.name}", module.__name__, file)


def extensions_in(module: ModuleType) -> list[Extension]:
    """The extensions that a module declares itself, in the order of their declaration."""
    declared = [each for each in vars(module).values() if isinstance(each, Extension)]
    return [each for each in declared if getattr(each.target, "__module__", "") == module.__name__]


def _plugin_files() -> list[Path]:
    folder = plugins_folder()
    if not plugins_wanted() or not folder.is_dir():
        return []
    files = [file for file in sorted(folder.glob("*.py")) if not file.stem.startswith("_")]
    # Whoever can write there could have any program run here; an empty folder does no harm.
    for path in (folder, *files) if files else ():
        _refuse_shared(path)
    return files


def _refuse_shared(path: Path) -> None:
    """Raise if somebody other than this user and root can change what will be run."""
    status = path.stat()
    by_group = bool(status.st_mode & stat.S_IWGRP) and not _is_private(status.st_gid)
    if status.st_mode & stat.S_IWOTH or by_group:
        why = "others can write to it"
    elif status.st_uid not in (os.geteuid(), 0):
        why = "it belongs to somebody else"
    else:
        return
    raise ExtensionError(
        f"plug-ins are not run from here: {why}",
        where=str(path),
        remedy=f"chmod go-w {path}, make it yours, or run with --no-plugins.",
    )


def _is_private(group: int) -> bool:
    """Whether a group is root's, or the one of the user's own name that many systems give everybody."""
    import grp
    import pwd

    try:
        return group == 0 or grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False


@cache
def _plugin_module(path: str, changed: int) -> ModuleType | BaseException:
    file = Path(path)
    name = f"sightline_plugins.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while it is being read.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a plug-in may fail in any way; it is reported when used
        del sys.modules[name]
        return error
    return module


@cache
def _load(place: Place) -> Extension:
    if place.file is not None:
        module = _plugin_module(str(place.file), place.file.stat().st_mtime_ns)
        if isinstance(module, BaseException):
            raise ExtensionError(
                f"it cannot be read ({type(module).__name__}: {module})", where=place.origin
            ) from module
    else:
        module = importlib.import_module(place.module)
    extension = getattr(module, place.name, None)
    if not isinstance(extension, Extension):
        raise ExtensionError(
            f"there is no extension called {place.name!r} in it",
            where=place.origin if place.file else place.module,
            remedy="Declare it with one of the decorators of sightline.extension.",
        )
    if extension.spec.kind != place.kind:
        raise ExtensionError(
            f"{place.name} is registered as {place.kind} but declared as {extension.spec.kind}",
            where=place.module,
        )
    return extension if place.origin == "sightline" else from_origin(extension, place.origin)


def _spoken(kind: str) -> str:
    return "measure " + kind.replace("_", " ") if kind in MEASURE_KINDS else kind.replace("_", " ")


def _article(noun: str) -> str:
    spoken = {
        "int | None": "a whole number or None",
        "str": "text",
        "int": "a whole number",
        "float": "a number",
        "bool": "True or False",
    }
    return spoken.get(noun, noun)
