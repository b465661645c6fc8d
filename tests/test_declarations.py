"""What every extension declares: name, meaning, source, and an identity that is the same everywhere."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from processes import printed

from sightline import registry
from sightline.extension import DIRECTIONS, Configured, Extension

HEAVY = ("torch", "sklearn", "scipy", "polars", "PIL", "sqlalchemy", "pandas", "transformers")
FOUND = list(registry.everything())
EXTENSIONS = [each for each in FOUND if isinstance(each, Extension)]
every_extension = pytest.mark.parametrize(
    "extension", EXTENSIONS, ids=[f"{each.spec.kind}-{each.spec.name}" for each in EXTENSIONS]
)


def configured(extension: Extension) -> Configured:
    return registry.configure(extension.spec.kind, extension.spec.name)


def test_every_file_on_a_shelf_is_an_extension() -> None:
    assert [each for each in FOUND if not isinstance(each, Extension)] == []
    assert len({(each.spec.kind, each.spec.name) for each in EXTENSIONS}) == len(EXTENSIONS)


@every_extension
def test_declaration(extension: Extension) -> None:
    spec = extension.spec
    assert spec.meaning.endswith("."), "the first line of the docstring is a whole sentence"
    assert spec.direction in DIRECTIONS
    assert spec.source and spec.licence
    assert spec.version >= 1
    low, high = spec.range
    assert low is None or high is None or low < high
    for parameter in spec.parameters:
        assert parameter.annotation, f"{parameter.name} has no type"


@cache
def elsewhere() -> dict[str, str]:
    """Identities as another process computes them, with another seed of hash()."""
    program = (
        "import json; from sightline import registry\n"
        "told = [registry.configure(e.spec.kind, e.spec.name) for e in registry.everything()]\n"
        "print(json.dumps({f'{c.spec.kind} {c.name}': c.identity for c in told}))"
    )
    return dict(printed(program, PYTHONHASHSEED="4242"))


@every_extension
def test_identity_is_the_same_everywhere(extension: Extension) -> None:
    assert elsewhere()[f"{extension.spec.kind} {extension.spec.name}"] == configured(extension).identity


def another(value: Any) -> Any:
    match value:
        case Configured():
            for name, inner in value.arguments.items():
                return registry.configure(value.spec.kind, value.name, **{name: another(inner)})
            others = [name for name in registry.names(value.spec.kind) if name != value.name]
            return registry.configure(value.spec.kind, others[0])
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case tuple():
            return (*value, *(value[:1] or (1,)))
        case None:
            return 7
    raise AssertionError(f"no other value known for {value!r}")


@every_extension
def test_every_parameter_is_part_of_the_identity(extension: Extension) -> None:
    ready = configured(extension)
    for name, value in ready.arguments.items():
        changed = Configured(extension, {**ready.arguments, name: another(value)})
        assert changed.identity != ready.identity, name


@every_extension
def test_the_printed_form_reads_back(extension: Extension) -> None:
    ready = configured(extension)
    changed = Configured(extension, {name: another(value) for name, value in ready.arguments.items()})
    for each in (ready, changed):
        kind = extension.spec.kind
        assert registry.configure(kind, str(each)).identity == each.identity
        if extension.spec.details.get("computed", True):
            assert registry.configure(kind, each.short).identity == each.identity
        else:
            # Scores from elsewhere go by the name they have there; their scale is the study's.
            assert registry.configure(kind, each.short).arguments["name"] == each.arguments["name"]


def test_files_load_nothing_heavy() -> None:
    program = (
        "import sys, json; from sightline import registry\n"
        "from sightline.extension import KINDS\n"
        "heavy = set(json.loads(sys.argv[1])); found = {}\n"
        "for kind in KINDS:\n"
        "    for name in registry.names(kind):\n"
        "        registry.get(kind, name)\n"
        "        now = heavy & set(sys.modules); heavy -= now\n"
        "        if now: found[f'{kind} {name}'] = sorted(now)\n"
        "print(json.dumps(found))"
    )
    assert printed(program, json.dumps(HEAVY)) == {}
