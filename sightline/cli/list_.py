"""sightline list: every extension there is, and what is missing to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson
from sightline.cli._output import Output
from sightline.errors import SightlineError, UsageError, near

if TYPE_CHECKING:
    from sightline.estimate import Cell
    from sightline.extension import Spec
    from sightline.registry import Broken

ALWAYS = ("name", "meaning", "direction", "source", "licence", "origin", "to_use_it")
MORE = ("parameters", "range", "version")
TITLES = {"direction": "better", "origin": "from", "to_use_it": "to use it"}


@command("list")
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="A kind such as of_image, importer or predictor; measure means every kind of measure.",
            show_default="every kind",
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Show parameters, range and version as well.")] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """List every measure, layout, rule and other extension.

    Each with its meaning, which direction is better, source, licence, where it comes from and what is missing
    to use it. An extension that cannot be read is listed with its error.
    """
    from sightline import registry
    from sightline.extension import KINDS, MEASURE_KINDS
    from sightline.registry import Broken
    from sightline.rendering.tables import Column, Table

    output = Output(json=json, csv=csv)
    if kind is not None and kind != "measure" and kind not in KINDS:
        raise UsageError(
            f"there is no kind of extension called {kind!r}", remedy=near(kind, [*KINDS, "measure"])
        )
    kinds = KINDS if kind is None else MEASURE_KINDS if kind == "measure" else (kind,)
    found: dict[str, list[dict[str, Cell]]] = {}
    for each in kinds:
        try:
            extensions = list(registry.everything(each))
        except SightlineError as error:
            # Two of one name: neither can be used, and the other kinds are still worth seeing.
            found[each] = [_blank(each, "?", "", f"broken: {error.what}. {error.remedy}")]
            continue
        found[each] = [_broken(one) if isinstance(one, Broken) else _row(one.spec) for one in extensions]
    wanted = [*ALWAYS, *(MORE if all_ else ())]
    if output.for_programs:
        names = ["kind", *wanted]
        rows = [[row[name] for name in names] for each in kinds for row in found[each]]
        output.show(Table([Column(name) for name in names], rows))
        return
    for each in kinds:
        if not found[each]:
            continue
        columns = [Column(name, TITLES.get(name, "")) for name in wanted]
        output.show(Table(columns, [[row[name] for name in wanted] for row in found[each]], _spoken(each)))
        output.say("")
    total = sum(len(rows) for rows in found.values())
    output.say(f"{total} extensions. Your own: one file in {registry.plugins_folder()}, or a package.")


def _row(spec: Spec) -> dict[str, Cell]:
    missing = spec.missing()
    row = _blank(spec.kind, spec.name, spec.origin, spec.how_to_install() if missing else "ready")
    low, high = spec.range
    told: dict[str, Cell] = {
        "meaning": spec.meaning,
        "direction": "" if spec.direction == "none" else spec.direction,
        "source": spec.source,
        "licence": spec.licence,
        "parameters": ", ".join(
            f"{each.name}={each.default.spec if each.nested else each.default!r}" for each in spec.parameters
        ),
        "range": "" if low is None and high is None else f"{_end(low)} to {_end(high)}",
        "version": str(spec.version),
    }
    return {**row, **told}


def _broken(broken: Broken) -> dict[str, Cell]:
    return _blank(broken.kind, broken.name, broken.origin, f"broken: {broken.why}")


def _blank(kind: str, name: str, origin: str, to_use_it: str) -> dict[str, Cell]:
    row: dict[str, Cell] = {column: "" for column in ("kind", *ALWAYS, *MORE)}
    return {**row, "kind": kind, "name": name, "origin": origin, "to_use_it": to_use_it}


def _end(limit: float | None) -> str:
    return "any" if limit is None else f"{limit:g}"


def _spoken(kind: str) -> str:
    return f"measure {kind.replace('_', ' ')} ({kind})" if kind.startswith("of_") else kind
