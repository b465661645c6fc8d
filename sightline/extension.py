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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sightline.arrays import content_hash
from sightline.checkpoints import Pin, stand_in
from sightline.checkpoints import content_hash as hash_of
from sightline.device import precision
from sightline.errors import ExtensionError, MissingPackage, UsageError, near
from sightline.estimate import DIRECTIONS, Direction
from sightline.pictures import Picture
from sightline.records import NoValue, Value
from sightline.weights import Weights, find, here, origin_of

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


class Detector(Protocol):
    """Says what is in images."""

    def detect(self, images: Sequence[Picture]) -> Sequence[Mapping[str, Any]]:
        """One scene per image: {"objects": [{"kind", "box", "confidence"}], "text": [{"text", "box", ...}]}.

        A box is [left, top, right, bottom] as fractions of width and height.
        """


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


TORCH = "torch"
"""The extra whose extensions run networks on the device that is set, in the precision that is set."""


@dataclass(frozen=True)
class Card:
    """What a reader of a learned score must know: what it learned from, its biases, how far it was tested.

    `trust` says how well it was found to follow people here; `tested` how its code was tested.
    """

    trained_on: str
    biases: str
    tested: str
    trust: str = "not measured here: its weights were not available"


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
    checkpoint: Pin | None = None
    """Where the weights of its default model come from, where the library loads them."""
    card: Card | None = None
    content_of: tuple[str, ...] = ()
    """Parameters that name a file: its content, not its name, makes a result what it is."""

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
        """The printed form without defaults; of imported scores the name that their measure has elsewhere."""
        if self.spec.details.get("computed") is False and self.arguments.get("name"):
            return f"{self.arguments['name']}{IMPORTED}"
        kept = []
        filled = filled_by(self.spec, self.arguments)
        for name, value in self.arguments.items():
            default = self.spec.parameter(name).default
            if isinstance(value, Configured):
                if value.short != default.spec and filled.get(name) not in (str(value), value.short):
                    kept.append(f"{name}={value.short}")
            elif value != default:
                kept.append(f"{name}={_printed(value)}")
        return f"{self.name}({', '.join(kept)})" if kept else self.name

    @property
    def identity(self) -> str:
        """sha256 of everything that determines a result: kind, name, version, weights, parameters."""
        spec = self.spec
        content: dict[str, Any] = {
            "kind": spec.kind,
            "name": spec.name,
            "version": spec.version,
            "weights": spec.weights.sha256 if spec.weights else None,
            "arguments": {
                name: {"content": content_hash(value) or value}
                if name in spec.content_of
                else {"identity": value.identity}
                if isinstance(value, Configured)
                else _jsonable(value)
                for name, value in sorted(self.arguments.items())
            },
        }
        if spec.checkpoint is not None and self.arguments.get("model") == spec.checkpoint.model:
            other = stand_in(spec.name, spec.checkpoint)
            if other is not None:
                content["folder"] = hash_of(other)
        if spec.extra == TORCH and precision() != "float32":
            content["precision"] = precision()
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def nested(self) -> Iterator[Configured]:
        """Every extension inside this one, itself included."""
        yield self
        for value in self.arguments.values():
            if isinstance(value, Configured):
                yield from value.nested()

    def absent_weights(self) -> str:
        """Where weights that it needs would come from, if they are not on this machine; loads nothing."""
        spec, model = self.spec, str(self.arguments.get("model", ""))
        pin = spec.checkpoint
        defaults = {each.name: each.default for each in spec.parameters}
        if pin is not None and model != defaults.get("model", ""):
            pin = None if Path(model).exists() else Pin(model, str(self.arguments.get("revision", "")))
        if pin is not None and not pin.here(spec.name):
            return pin.origin
        if spec.weights is not None and not here(spec.name, spec.weights):
            return ", ".join([origin_of(spec.weights), *([spec.licence] if not spec.weights.page else [])])
        return ""

    @property
    def state(self) -> str:
        """What is missing to use it: "ready", a command that installs it, or where its weights come from."""
        for inner in self.nested():
            if inner.spec.missing():
                return inner.spec.how_to_install()
        for inner in self.nested():
            absent = inner.absent_weights()
            if absent:
                whose = "" if inner is self else f" of {inner.name}"
                return f"weights{whose} absent ({absent})"
        return "ready"

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
            if not self.spec.parameter(first).nested and name != self.spec.details.get("endpoint"):
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
        if self.spec.kind in LOADED:
            file = [find(self.spec.name, self.spec.weights)] if self.spec.weights else []
            return target(*file, **arguments)
        return partial(target, **arguments)


_loaded: dict[str, Any] = {}
LOADED = ("encoder", "detector")
"""Kinds whose function gives an object that is loaded once; it receives the file of its weights, if any."""


IMPORTED = " (imported)"
"""What the name of a measure is followed by whose scores were computed elsewhere."""


def filled_by(spec: Spec, given: Mapping[str, Any]) -> Mapping[str, str]:
    """What an extension derives from some arguments for others, such as the encoders of a fitted file."""
    derive = spec.details.get("filled_by")
    return derive(given) if derive is not None else {}


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
    *("aliases", "parameters", "content_of", "checkpoint", "card"),
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

        if details.get("rests_on") in ("run", "runs") and details.get("nan") == allowed.get("nan"):
            details["nan"] = "the ranking is empty, or its scores do not tell"

        def decorate(target: Callable[..., Any]) -> Extension:
            return Extension(_spec(kind, target, dict(declared), details), target)

        return decorate

    return declare


_DESCRIBED = {"described_by": None, "computed": True}


class _Measure:
    """`@measure.of_prompt(...)` and so on: the target of a measure decides what its function receives.

    `feature=False` excludes a measure of prompts from the default features of predictors: it is slow, or
    needs something that is not on every machine. `rests_on` says what a measure of a ranking uses:
    "relevance" (of its images), its "run" (images and scores; no judgements), the "runs" of all engines for
    its prompt, or "everything" (all runs and all relevance). `beyond=True` says that it also uses the
    captions or the images that were searched; with ("against", "collection") only where the argument
    `against` is "collection". `reference=False` says that a measure of a system needs no reference
    collection; otherwise its parameter `collection` names it. `described_by` is a function that gives
    direction and range from the parameters, where they depend on them. `computed=False` says that its values
    are imported, and that nothing computes them here. `endpoint` names the parameter that is the endpoint
    which a measure of answers calls: it is given one answer at a time, many at once.
    """

    of_prompt = staticmethod(_decorator("of_prompt", scale="value", feature=True, **_DESCRIBED))
    of_image = staticmethod(_decorator("of_image", scale="value", **_DESCRIBED))
    of_answer = staticmethod(
        _decorator("of_answer", scale="value", filled_by=None, endpoint="", **_DESCRIBED)
    )
    of_set = staticmethod(_decorator("of_set", scale="value", **_DESCRIBED))
    of_ranking = staticmethod(
        _decorator(
            "of_ranking",
            scale="value",
            nan="no relevant image is known",
            rests_on="relevance",
            beyond=False,
        )
    )
    of_system = staticmethod(_decorator("of_system", scale="value", reference=True, **_DESCRIBED))


measure = _Measure()
distance = _decorator("distance")
encoder = _decorator("encoder", encodes=("text",), dimensions=None, filled_by=None)
detector = _decorator("detector", sees=("objects",), vocabulary=(), phrases="", sure=0.5, of_study=False)
predictor = _decorator("predictor", sees="prompt")
importer = _decorator("importer", claims=(), files={}, before={}, suite=None, closed=False)
exporter = _decorator("exporter", suffix="")
consensus = _decorator("consensus", scales=("nominal", "ordinal", "interval"))
screening = _decorator("screening", needs_controls=False)
annotation_mode = _decorator("annotation_mode")
task = _decorator("task", skill="")
generator = _decorator("generator", endpoint="", repeatable=False)
retriever = _decorator("retriever")
check = _decorator("check", severity="warning", measures=())
verdict = _decorator("verdict", decides="", skills=(), looks_at_picture=False)

MEASURE_KINDS = ("of_prompt", "of_image", "of_answer", "of_set", "of_ranking", "of_system")
KINDS = (
    *MEASURE_KINDS,
    "distance",
    "encoder",
    "detector",
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
    "verdict",
)


def described(extension: Extension, arguments: Mapping[str, Any]) -> Extension:
    """The extension with direction and range as its parameters say, where it declares that they do."""
    describe = extension.spec.details.get("described_by")
    if describe is None:
        return extension
    return Extension(replace(extension.spec, **describe(arguments)), extension.target)


def from_origin(extension: Extension, origin: str) -> Extension:
    """The same extension, with the package or file it came from."""
    return Extension(replace(extension.spec, origin=origin), extension.target)


__all__ = [
    "DIRECTIONS",
    "KINDS",
    "MEASURE_KINDS",
    "Card",
    "Configured",
    "Detector",
    "Extension",
    "ImageEncoder",
    "JointEncoder",
    "Needs",
    "NoValue",
    "Parameter",
    "Picture",
    "Pin",
    "Spec",
    "TextEncoder",
    "Value",
    "Values",
    "Weights",
    "annotation_mode",
    "check",
    "consensus",
    "detector",
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
    "verdict",
]
