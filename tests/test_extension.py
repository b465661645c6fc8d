"""One decorated function is a whole extension."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import pytest

from sightline import extension, registry
from sightline.errors import MissingPackage, UsageError
from sightline.extension import (
    KINDS,
    Configured,
    Extension,
    Weights,
    distance,
    encoder,
    from_origin,
    measure,
    needs,
)
from sightline.pictures import Picture


def declared(**details: object) -> Extension:
    @measure.of_image(**details)
    def glow(images: object, *, radius: float = 2.0, name: str = "x") -> object:
        """How much an image glows.

        More words that are not its meaning.
        """
        return [radius, name]

    assert isinstance(glow, Extension)
    return glow


def configured(**arguments: object) -> Configured:
    return Configured(declared(), {"radius": 2.0, "name": "x", **arguments})


def test_a_function_becomes_data() -> None:
    spec = declared(direction="higher", range=(0, 1), source="us", licence="MIT", version=3).spec
    assert (spec.kind, spec.name, spec.meaning) == ("of_image", "glow", "How much an image glows.")
    assert (spec.direction, spec.range, spec.version) == ("higher", (0, 1), 3)
    assert (spec.source, spec.licence) == ("us", "MIT")
    parameters = [(each.name, each.default, each.annotation) for each in spec.parameters]
    assert parameters == [("radius", 2.0, "float"), ("name", "x", "str")]
    assert declared()([], radius=1.0) == [1.0, "x"], "it can still be called"


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_decorator_for_every_kind(kind: str) -> None:
    methods = {name: lambda self: None for name in extension.METHODS.get(kind, ())}
    target = type("something", (), {"__doc__": "Does nothing.", **methods})
    decorate = getattr(measure, kind, None) or getattr(extension, kind)
    assert decorate()(target).spec.kind == kind


def test_identity_is_the_documented_hash() -> None:
    content = {
        "kind": "of_image", "name": "glow", "version": 1, "weights": None,
        "arguments": {"name": "x", "radius": 2.0},
    }  # fmt: skip
    expected = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    assert configured().identity == expected


def test_identity_knows_version_weights_and_kind_but_not_words() -> None:
    def glow() -> None:
        """Glow."""

    def same() -> None:
        """Other words."""

    same.__name__ = "glow"
    plain = Configured(distance()(glow), {})
    assert plain.identity == Configured(distance(source="x", licence="y")(same), {}).identity
    weights = [encoder(weights=Weights(letter * 64)) for letter in "ab"]
    others = [distance(version=2), encoder(), *weights]
    identities = {Configured(decorate(glow), {}).identity for decorate in others}
    assert len(identities | {plain.identity}) == 5


def test_parameters_are_plain_and_compared_as_numbers() -> None:
    assert configured(radius=10).identity == configured(radius=10.0).identity
    assert configured(radius=1).identity != configured(radius=True).identity
    with pytest.raises(UsageError, match="cannot be a dict"):
        _ = configured(radius={}).identity


def test_short_form_leaves_out_defaults() -> None:
    assert configured().short == "glow"
    assert configured(name="a 'b'").short == "glow(name=\"a 'b'\")"
    assert registry.configure("of_set", "pairwise_mean(distance=ssim)").short == "pairwise_mean"


def test_direct_calls_must_fill_what_it_needs() -> None:
    from sightline.measures.of_set.similarity import pairwise_mean
    from sightline.prediction.predictors.linear import ridge

    for incomplete in (lambda: pairwise_mean([]), ridge):
        with pytest.raises(UsageError, match="needs"):
            incomplete()


def test_encoders_are_loaded_once_and_predictors_never_shared() -> None:
    encoder = registry.configure("encoder", "hashed_words")
    assert encoder.load() is encoder.load()
    predictor = registry.configure("predictor", "ridge")
    assert predictor.load() is not predictor.load()


def test_something_ready_takes_the_place_of_what_is_nested() -> None:
    class Ready:
        def image(self, images: Sequence[object]) -> np.ndarray:
            return np.arange(float(len(images)))[:, None] * 3

    distance = registry.configure("distance", "embedding")
    assert distance.load({"encoder": Ready()})([None, None]).tolist() == [[0, 3], [3, 0]]
    images = [Picture(b"one"), Picture(b"two")]
    deeper = registry.configure("of_set", "pairwise_mean(distance=embedding)")
    assert deeper.load({"distance.encoder": Ready()})(images) == 1 - 3
    with pytest.raises(UsageError, match="no extension that could be replaced"):
        distance.load({"metric": Ready()})
    with pytest.raises(UsageError, match="no parameter"):
        distance.load({"encodr": Ready()})
    assert not isinstance(distance.load().keywords["encoder"], Ready), "what was handed in is not shared"


def test_what_is_replaced_need_not_be_installed() -> None:
    @encoder(packages=("no-such-package",))
    def absent() -> None:
        """Cannot be had."""

    @measure.of_image()
    def glow(images: object, *, encoder: object = needs("encoder", "absent")) -> object:
        """How much an image glows."""
        return encoder

    nested = Configured(glow, {"encoder": Configured(absent, {})})
    with pytest.raises(MissingPackage, match="absent needs no-such-package"):
        nested.load()
    assert nested.load({"encoder": "ready"})([]) == "ready"


@pytest.mark.parametrize(
    ("origin", "package"),
    [("sightline", "sightline"), ("their-package", "their-package"), ("plugins/glow.py", "sightline")],
)
def test_the_origin_decides_whose_extra_is_installed_but_not_the_identity(origin: str, package: str) -> None:
    moved = from_origin(declared(extra="torch"), origin)
    assert moved.spec.origin == origin
    assert moved.spec.how_to_install() == f"pip install '{package}[torch]'"
    assert Configured(moved, {}).identity == Configured(declared(), {}).identity
