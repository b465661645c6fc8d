"""How Sightline is extended: one decorated function or class is a whole extension.

    @measure.of_image(direction="higher", range=(0, None), source="Pech-Pacheco 2000", licence="Apache-2.0")
    def sharpness(images: Sequence[Picture], *, blur: float = 0.0) -> Values:
        '''Variance of the Laplacian: how crisp the finest detail is.'''

Keyword-only arguments are the parameters, each with a default; `needs()` asks for another extension. A family
of extensions may share a file. `aliases` are other names for it; one with a reason, as in
`aliases={"clipscore": "CLIPScore is 2.5 times this cosine"}`, is not the same thing and is only suggested.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sightline.errors import ExtensionError, MissingPackage, UsageError, near
from sightline.estimate import DIRECTIONS, Direction
from sightline.pictures import Picture
from sightline.records import NoValue, Value
from sightline.weights import Weights, find

if TYPE_CHECKING:
    import numpy as np

Values: TypeAlias = "np.ndarray | Sequence[float | Value | NoValue]"


class TextEncoder(Protocol):
    """Turns texts into rows of vectors."""

    def text(self, texts: Sequence[str]) -> np.ndarray:
        """One row per text."""


class ImageEncoder(Protocol):
    """Turns images into rows of vectors."""

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        """One row per image."""


class JointEncoder(TextEncoder, ImageEncoder, Protocol):
    """Puts texts and images into one space."""


@dataclass(frozen=True)
class Needs:
    """The default of a parameter that is itself an extension."""

    kind: str
    spec: str


def needs(kind: str, spec: str) -> Any:
    """Ask for another extension of this kind, by default the one that `spec` describes."""
    return Needs(kind, spec)


@dataclass(frozen=True)
class Parameter:
    """A keyword-only argument of an extension."""

    name: str
    default: Any
    annotation: str = ""

    @property
    def nested(self) -> bool:
        return isinstance(self.default, Needs)


@dataclass(frozen=True)
class Spec:
    """The declaration of an extension, as data."""

    kind: str
    name: str
    meaning: str
    direction: Direction = "none"
    range: tuple[float | None, float | None] = (None, None)
    source: str = ""
    licence: str = ""
    version: int = 1
    extra: str | None = None
    packages: tuple[str, ...] = ()
    weights: Weights | None = None
    parallel: bool = True
    parameters: tuple[Parameter, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    origin: str = "sightline"
    aliases: Mapping[str, str] = field(default_factory=dict)

    def parameter(self, name: str) -> Parameter:
        """The parameter of this name, or an error that suggests similar names."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        known = [parameter.name for parameter in self.parameters]
        remedy = near(name, known) if known else "It takes no parameters."
        raise UsageError(f"{self.name} has no parameter {name!r}", remedy=remedy)

    @property
    def distribution(self) -> str:
        """The installed package whose extras this may need; for a file of the plugins folder that is ours."""
        return "sightline" if "/" in self.origin else self.origin

    def missing(self) -> list[str]:
        """What must be installed before this extension can run; empty if everything is."""
        absent = [name for name in self.packages if not _installed(name)]
        if self.extra is not None:
            absent += [
                name for name in _extra_packages(self.distribution, self.extra) if not _installed(name)
            ]
        return absent

    def how_to_install(self) -> str:
        """The command that provides what is missing."""
        wanted = [f"'{self.distribution}[{self.extra}]'"] if self.extra is not None else []
        return " ".join(["pip install", *wanted, *self.packages])


class Extension:
    """A decorated function or class together with its Spec."""

    def __init__(self, spec: Spec, target: Callable[..., Any]) -> None:
        self.spec = spec
        self.target = target
        self.__doc__ = target.__doc__
        self.__name__ = spec.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        open_needs = [p.name for p in self.spec.parameters if p.nested and p.name not in kwargs]
        if open_needs:
            raise UsageError(
                f"{self.spec.name} needs {', '.join(open_needs)}",
                remedy="Pass it, or go through sightline.registry.configure(...).load().",
            )
        return self.target(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.spec.kind} {self.spec.name}>"


@dataclass(frozen=True)
class Configured:
    """An extension with every parameter filled in: what is run, cached and printed."""

    extension: Extension
    arguments: Mapping[str, Any]

    @property
    def spec(self) -> Spec:
        return self.extension.spec

    @property
    def name(self) -> str:
        return self.extension.spec.name

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={_printed(value)}" for name, value in self.arguments.items())
        return f"{self.name}({inside})" if inside else self.name

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def short(self) -> str:
        """The printed form without defaults."""
        kept = []
        for name, value in self.arguments.items():
            default = self.spec.parameter(name).default
            if isinstance(value, Configured):
                if value.short != default.spec:
                    kept.append(f"{name}={value.short}")
            elif value != default:
                kept.append(f"{name}={_printed(value)}")
        return f"{self.name}({', '.join(kept)})" if kept else self.name

    @property
    def identity(self) -> str:
        """sha256 of everything that determines a result: kind, name, version, weights and parameters."""
        spec = self.spec
        content = {
            "kind": spec.kind,
            "name": spec.name,
            "version": spec.version,
            "weights": spec.weights.sha256 if spec.weights else None,
            "arguments": {
                name: {"identity": value.identity} if isinstance(value, Configured) else _jsonable(value)
                for name, value in sorted(self.arguments.items())
            },
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def nested(self) -> Iterator[Configured]:
        """Every extension inside this one, itself included."""
        yield self
        for value in self.arguments.values():
            if isinstance(value, Configured):
                yield from value.nested()

    def require(self) -> None:
        """Raise with the install command if anything this needs is absent."""
        for inner in self.nested():
            absent = inner.spec.missing()
            if absent:
                raise MissingPackage(
                    f"{inner.name} needs {', '.join(absent)}, not installed here",
                    remedy=inner.spec.how_to_install(),
                )

    def load(self, replacing: Mapping[str, Any] | None = None) -> Any:
        """The function with its parameters bound, the unfitted predictor, or the loaded encoder.

        `replacing` gives objects to use in place of nested extensions, by parameter name, such as an encoder
        that reads a study's vectors. A dot leads to inner ones: {"distance.encoder": ready}. What is replaced
        need not be installed, and what is loaded this way is not shared.
        """
        if replacing:
            return self._load_with(replacing)
        if self.identity not in _loaded:
            self.require()
            arguments = {
                name: value.load() if isinstance(value, Configured) else value
                for name, value in self.arguments.items()
            }
            made = self._made(arguments)
            if inspect.isclass(self.extension.target):
                # A predictor holds its fit: it is never shared.
                return made
            _loaded[self.identity] = made
        return _loaded[self.identity]

    def _load_with(self, replacing: Mapping[str, Any]) -> Any:
        Configured(self.extension, {}).require()
        for name in replacing:
            first = name.partition(".")[0]
            if not self.spec.parameter(first).nested:
                raise UsageError(f"{self.name}: {first} is no extension that could be replaced")
        arguments = {}
        for name, value in self.arguments.items():
            inside = {
                key.removeprefix(f"{name}."): ready
                for key, ready in replacing.items()
                if key.startswith(f"{name}.")
            }
            if name in replacing:
                arguments[name] = replacing[name]
            else:
                arguments[name] = value.load(inside) if isinstance(value, Configured) else value
        return self._made(arguments)

    def _made(self, arguments: Mapping[str, Any]) -> Any:
        target = self.extension.target
        if inspect.isclass(target):
            return target(**arguments)
        if self.spec.kind == "encoder":
            file = [find(self.spec.name, self.spec.weights)] if self.spec.weights else []
            return target(*file, **arguments)
        return partial(target, **arguments)


_loaded: dict[str, Any] = {}


def _printed(value: Any) -> str:
    return str(value) if isinstance(value, Configured) else repr(value)


def _jsonable(value: Any) -> Any:
    # 10 and 10.0 are the same parameter; so are a list and a tuple.
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    raise UsageError(f"a parameter cannot be a {type(value).__name__}")


def _installed(distribution: str) -> bool:
    from importlib import metadata

    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _extra_packages(distribution: str, extra: str) -> list[str]:
    """The packages of an extra, from the metadata of the distribution that offers it."""
    import re
    from importlib import metadata

    try:
        required = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        required = []
    pattern = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    return [re.split(r"[\s\[<>=!~;(]", line)[0] for line in required if pattern.search(line)]


def _spec(kind: str, target: Callable[..., Any], declared: dict[str, Any], details: dict[str, Any]) -> Spec:
    name = target.__name__
    meaning = (inspect.getdoc(target) or "").strip().split("\n")[0]
    if not meaning:
        raise ExtensionError(
            f"{kind} {name} has no docstring", remedy="Its first line is its meaning: write one."
        )
    direction = declared.get("direction", "none")
    if direction not in DIRECTIONS:
        raise ExtensionError(
            f"{kind} {name}: direction {direction!r}", remedy=f"One of {', '.join(DIRECTIONS)}."
        )
    _need_methods(kind, name, target)
    aliases = declared.pop("aliases", ())
    declared["aliases"] = dict(aliases) if isinstance(aliases, Mapping) else dict.fromkeys(aliases, "")
    signature = inspect.signature(target)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if parameter.default is inspect.Parameter.empty:
            raise ExtensionError(f"{kind} {name}: parameter {parameter.name} has no default")
        annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
        parameters.append(Parameter(parameter.name, parameter.default, annotation))
    return Spec(
        kind=kind, name=name, meaning=meaning, parameters=tuple(parameters), details=details, **declared
    )


METHODS: Mapping[str, tuple[str, ...]] = {
    "predictor": ("fit", "predict", "explain", "state", "restore"),
}
"""The methods that a class of a kind must have."""


def _need_methods(kind: str, name: str, target: Callable[..., Any]) -> None:
    wanted = METHODS.get(kind, ())
    if wanted and not inspect.isclass(target):
        raise ExtensionError(f"{kind} {name} is not a class", remedy=f"Write one with {', '.join(wanted)}.")
    absent = [method for method in wanted if not callable(getattr(target, method, None))]
    if absent:
        raise ExtensionError(
            f"{kind} {name} has no {' and no '.join(absent)}",
            remedy=f"Every {kind} has {', '.join(wanted)}: docs/extending.md shows one.",
        )


_COMMON = (
    *("direction", "range", "source", "licence", "version", "extra", "packages", "weights", "parallel"),
    *("aliases", "parameters"),
)


def _decorator(kind: str, **allowed: Any) -> Callable[..., Callable[[Callable[..., Any]], Extension]]:
    """A decorator for one kind; `allowed` are the details only this kind has, with their defaults."""

    def declare(**declared: Any) -> Callable[[Callable[..., Any]], Extension]:
        details = {name: declared.pop(name, default) for name, default in allowed.items()}
        # Parameters of its example, where it cannot run with its defaults (it calls a user's program).
        details["parameters"] = declared.pop("parameters", {})
        unknown = set(declared) - set(_COMMON)
        if unknown:
            raise ExtensionError(
                f"@{kind} does not take {', '.join(sorted(unknown))}",
                remedy=near(sorted(unknown)[0], [*_COMMON, *allowed]),
            )

        def decorate(target: Callable[..., Any]) -> Extension:
            return Extension(_spec(kind, target, dict(declared), details), target)

        return decorate

    return declare


class _Measure:
    """`@measure.of_prompt(...)` and so on: the target of a measure decides what its function receives.

    `feature=False` excludes a measure of prompts from the default features of predictors: it is slow, or
    needs something that is not on every machine. `rests_on` says what a measure of a ranking uses:
    "relevance" (of its images), its "run" (images and scores; no judgements), the "runs" of all engines for
    its prompt, or "everything" (all runs and all relevance). `beyond=True` says that it also uses the
    captions or the images that were searched; with ("against", "collection") only where the argument
    `against` is "collection".
    """

    of_prompt = staticmethod(_decorator("of_prompt", scale="value", feature=True))
    of_image = staticmethod(_decorator("of_image", scale="value"))
    of_answer = staticmethod(_decorator("of_answer", scale="value"))
    of_set = staticmethod(_decorator("of_set", scale="value"))
    of_ranking = staticmethod(
        _decorator(
            "of_ranking",
            scale="value",
            nan="no relevant image is known",
            rests_on="relevance",
            beyond=False,
        )
    )


measure = _Measure()
distance = _decorator("distance")
encoder = _decorator("encoder", encodes=("text",), dimensions=None)
predictor = _decorator("predictor", sees="prompt")
importer = _decorator("importer", claims=(), files={}, before={})
exporter = _decorator("exporter", suffix="")
consensus = _decorator("consensus", scales=("nominal", "ordinal", "interval"))
screening = _decorator("screening", needs_controls=False)
annotation_mode = _decorator("annotation_mode")
task = _decorator("task", skill="")
generator = _decorator("generator")
retriever = _decorator("retriever")
check = _decorator("check", severity="warning", measures=())

MEASURE_KINDS = ("of_prompt", "of_image", "of_answer", "of_set", "of_ranking")
KINDS = (
    *MEASURE_KINDS,
    "distance",
    "encoder",
    "predictor",
    "importer",
    "exporter",
    "consensus",
    "screening",
    "annotation_mode",
    "task",
    "generator",
    "retriever",
    "check",
)


def from_origin(extension: Extension, origin: str) -> Extension:
    """The same extension, with the package or file it came from."""
    return Extension(replace(extension.spec, origin=origin), extension.target)


__all__ = [
    "DIRECTIONS",
    "KINDS",
    "MEASURE_KINDS",
    "Configured",
    "Extension",
    "ImageEncoder",
    "JointEncoder",
    "Needs",
    "NoValue",
    "Parameter",
    "Picture",
    "Spec",
    "TextEncoder",
    "Value",
    "Values",
    "Weights",
    "annotation_mode",
    "check",
    "consensus",
    "distance",
    "encoder",
    "exporter",
    "find",
    "from_origin",
    "generator",
    "importer",
    "measure",
    "needs",
    "predictor",
    "retriever",
    "screening",
    "task",
]
