"""List: every extension there is, what is missing to use it, and whether it keeps its promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from sightline import registry
from sightline.errors import SightlineError, UsageError, near
from sightline.estimate import Cell
from sightline.extension import KINDS, MEASURE_KINDS, Spec
from sightline.registry import Broken
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.verbs import argument, option, verb

ALWAYS = ("name", "meaning", "direction", "source", "licence", "origin", "to_use_it")
MORE = ("parameters", "range", "version")
TITLES = {"origin": "from", "to_use_it": "to use it"}
OTHER_WORDS = {"backbone": ("encoder",), "measure": MEASURE_KINDS}
"""Words for kinds besides their names."""


@dataclass(frozen=True)
class Extensions(Result):
    """The extensions of some kinds, one row per extension; those that cannot be loaded say why."""

    kinds: Sequence[str]
    rows: Sequence[dict[str, Cell]]
    all_: bool = False

    @property
    def sentence(self) -> str:
        where = f"one file in {registry.plugins_folder()}, or a package"
        return f"{len(self.rows)} extensions. Your own: {where}."

    def tables(self) -> dict[str, Table]:
        columns = [Column("kind", detail=len(self.kinds) == 1)]
        columns += [Column(name, TITLES.get(name, "")) for name in ALWAYS]
        columns += [Column(name, detail=not self.all_) for name in MORE]
        return {"": Table(columns, [[row[column.name] for column in columns] for row in self.rows])}


@verb("set up", "list")
def list_extensions(
    kind: Annotated[
        str | None,
        argument(
            "A kind such as of_image, importer or predictor; measure means every kind of measure.",
            "[KIND]",
            shown="every kind",
        ),
    ] = None,
    *,
    all_: Annotated[bool, option("Show parameters, range and version as well.")] = False,
    test: Annotated[
        str | None, option("Run the conformance suite on this extension.", metavar="NAME")
    ] = None,
) -> Result:
    """List every measure, importer, rule and other extension.

    Each with its meaning, direction, source, licence, origin and what is missing to use it. An extension that
    cannot be loaded is listed with its error.
    """
    if kind is not None and kind not in OTHER_WORDS and kind not in KINDS:
        raise UsageError(
            f"there is no kind of extension called {kind!r}", remedy=near(kind, [*KINDS, *OTHER_WORDS])
        )
    kinds = KINDS if kind is None else OTHER_WORDS.get(kind, (kind,))
    if test is not None:
        from sightline.testing.conformance import check_extension

        return check_extension(test, kind if len(kinds) == 1 else None)
    rows: list[dict[str, Cell]] = []
    for each in kinds:
        try:
            extensions = list(registry.everything(each))
        except SightlineError as error:
            # Two of one name: neither can be used, and the other kinds are still worth seeing.
            rows.append(_blank(each, "?", "", f"broken: {error.what}. {error.remedy}"))
            continue
        rows += [_broken(one) if isinstance(one, Broken) else _row(one.spec) for one in extensions]
    return Extensions(kinds, rows, all_)


def _row(spec: Spec) -> dict[str, Cell]:
    low, high = spec.range
    parameters = [
        f"{each.name}={each.default.spec if each.nested else each.default!r}" for each in spec.parameters
    ]
    return {
        **_blank(spec.kind, spec.name, spec.origin, spec.how_to_install() if spec.missing() else "ready"),
        "meaning": spec.meaning,
        "direction": "" if spec.direction == "none" else spec.direction,
        "source": spec.source,
        "licence": spec.licence,
        "parameters": ", ".join(parameters),
        "range": "" if low is None and high is None else f"{_end(low)} to {_end(high)}",
        "version": str(spec.version),
    }


def _broken(broken: Broken) -> dict[str, Cell]:
    return _blank(broken.kind, broken.name, broken.origin, f"broken: {broken.why}")


def _blank(kind: str, name: str, origin: str, to_use_it: str) -> dict[str, Cell]:
    row: dict[str, Cell] = dict.fromkeys((*ALWAYS, *MORE), "")
    return {**row, "kind": kind, "name": name, "origin": origin, "to_use_it": to_use_it}


def _end(limit: float | None) -> str:
    return "any" if limit is None else f"{limit:g}"
