"""How a function becomes a verb: a command, a function of the Python interface and a page of the reference.

    @verb("analyse")
    def compare(
        study: Study,
        by: Annotated[str | None, option("the question or measure to compare by")] = None,
    ) -> Comparison:
        '''Compare systems: which is better, by how much, and how sure that is.'''

A verb whose name has two words, such as "suite make", is one of a family: `sightline suite make`.

A parameter is stated once, here, with its help. `study` is the study that is opened; `listener` receives
progress; a parameter without `option` or `argument` is for Python alone.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

GROUPS: Mapping[str, str] = {
    "set up": "Set up",
    "collect": "Collect",
    "judge": "Judge",
    "measure": "Measure",
    "analyse": "Analyse",
    "share": "Share",
}
FAMILIES: Mapping[str, tuple[str, str]] = {
    "suite": (
        "collect",
        "List, make and export suites: prompts that test one skill each, with what their images must show.",
    ),
}
"""Commands that have commands of their own: the group of each, and the one line that help has for it."""
TYPES = {str: "text", int: "integer", float: "number", bool: "flag", Path: "path"}
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Given:
    """How a parameter is given on the command line.

    `name` is what is typed (`--by`), by default the parameter's own name; `shown` what help says of a default
    that is None; `positional` parameters have no name. `least` is the smallest number allowed.
    """

    help: str
    name: str = ""
    metavar: str = ""
    shown: str = ""
    positional: bool = False
    least: float | None = None


def option(
    help: str, name: str = "", *, metavar: str = "", shown: str = "", least: float | None = None
) -> Given:
    """A parameter that is given by name."""
    return Given(help, name, metavar, shown, least=least)


def argument(help: str, metavar: str = "", *, shown: str = "") -> Given:
    """A parameter that is given by its place."""
    return Given(help, metavar=metavar, shown=shown, positional=True)


SEED = option("Use this seed: the same seed gives the same result.")
WORKERS = option(
    "Compute in this many processes, or by this many workers of a cluster.",
    shown="one per core; on a cluster, as many as it has room for",
    least=1,
)
ON = option(
    "Compute on this Ray cluster: HOST:6379, ray://HOST:10001, auto, or ray for one on this machine.",
    metavar="ADDRESS",
)
GPUS = option("Give each worker of the cluster so many graphics cards, or a part of one.", least=0)


@dataclass(frozen=True)
class Verb:
    """What a decorated function is on the command line."""

    group: str
    name: str
    creates: bool = False
    epilog: str = ""


def verb(group: str, name: str = "", *, creates: bool = False) -> Callable[[F], F]:
    """Declare a function to be a verb of a group; with `creates` a study that is not there yet is made."""
    if group not in GROUPS:
        raise ValueError(f"no group of commands is called {group!r}")
    family, _, word = name.partition(" ")
    if word and FAMILIES.get(family, ("", ""))[0] != group:
        raise ValueError(f"no family of commands in {group!r} is called {family!r}")

    def declare(function: F) -> F:
        made = Verb(group, name or function.__name__.strip("_").replace("_", "-"), creates)
        setattr(function, "verb", made)  # noqa: B010
        return function

    return declare


def described(function: Callable[..., Any]) -> dict[str, Any]:
    """A verb as data: what the command line, the reference and forms are made from."""
    declared: Verb = getattr(function, "verb")  # noqa: B009
    scope = getattr(inspect.getmodule(function), "__dict__", {})
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        entry = _parameter(function, parameter, scope)
        if entry is not None:
            parameters.append(entry)
    text = inspect.getdoc(function) or ""
    return {
        "name": declared.name,
        "group": declared.group,
        "summary": text.split("\n", 1)[0],
        "help": text,
        "module": function.__module__,
        "function": function.__name__,
        "creates": declared.creates,
        "progress": "listener" in inspect.signature(function).parameters,
        "parameters": parameters,
    }


def _parameter(
    function: Callable[..., Any], parameter: inspect.Parameter, scope: Mapping[str, Any]
) -> dict[str, Any] | None:
    where = f"{function.__module__}.{function.__name__}: {parameter.name}"
    if parameter.name == "study":
        return {"name": "study", "type": "study", "positional": True, "required": True}
    try:
        annotation = eval(parameter.annotation, dict(scope)) if isinstance(parameter.annotation, str) else (
            parameter.annotation
        )  # fmt: skip
    except NameError:
        annotation = None  # a type that is only imported for the type checker: for Python alone
    given = next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Given)), None)
    required = parameter.default is inspect.Parameter.empty
    if given is None:
        if required:
            raise TypeError(f"{where} has neither a default nor option(...) or argument(...)")
        return None
    kind, many, choices = _type(get_args(annotation)[0], where)
    name = given.name or f"--{parameter.name.strip('_').replace('_', '-')}"
    default = None if required else parameter.default
    return {
        "name": parameter.name,
        "type": kind,
        "many": many,
        "choices": choices,
        "positional": given.positional,
        "flag": "" if given.positional else name,
        "required": required,
        "default": list(default) if isinstance(default, tuple) else default,
        "help": given.help,
        "metavar": given.metavar,
        "shown": given.shown,
        "least": given.least,
    }


def _type(annotation: Any, where: str) -> tuple[str, str, list[str]]:
    """The type of a parameter: its name, whether it is repeatable ("list", "mapping" or ""), and choices."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        inner = [each for each in get_args(annotation) if each is not type(None)]
        typed = [each for each in inner if get_origin(each) is not Callable]  # functions are for Python alone
        known = [each for each in typed if each is not Path] or typed
        several = [each for each in known if each is not str and get_origin(each) is not None]
        return _type((several or known)[0], where)
    if origin is Annotated:
        return _type(get_args(annotation)[0], where)
    if origin is Literal:
        return "choice", "", [str(each) for each in get_args(annotation)]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "text", "mapping", []
    if isinstance(origin, type) and issubclass(origin, Sequence):
        kind, _, choices = _type(get_args(annotation)[0], where)
        return kind, "list", choices
    if annotation in TYPES:
        return TYPES[annotation], "", []
    raise TypeError(f"{where} has a type that no command line can give: {annotation}")
