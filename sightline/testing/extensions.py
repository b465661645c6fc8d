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


@dataclass(frozen=True)
class ExtensionCard(Result):
    """What one extension is: its parameters, what it learned from, how it was tested, how to use it."""

    spec: Spec
    state: str

    @property
    def sentence(self) -> str:
        return f"{self.spec.kind} {self.spec.name}: {self.spec.meaning}"

    def tables(self) -> dict[str, Table]:
        return {"": Table([Column("field"), Column("value")], [*self._rows()])}

    def _rows(self) -> list[tuple[str, Cell]]:
        row, card = _row(self.spec, self.state), self.spec.card
        aliases = [alias for alias, reason in self.spec.aliases.items() if not reason]
        rows: list[tuple[str, Cell]] = [("to use it", self.state)]
        rows += [(name, row[name]) for name in ("direction", "range", "parameters", "source", "licence")]
        rows.append(("also called", ", ".join(aliases)))
        if self.spec.checkpoint is not None:
            rows.append(("weights", self.spec.checkpoint.origin))
        if card is not None:
            rows += [("trained on", card.trained_on), ("known biases", card.biases)]
            rows += [("tested", card.tested), ("follows people", card.trust)]
        return [(name, value) for name, value in rows if value != ""]


@verb("set up", "list")
def list_extensions(
    kind: Annotated[
        str | None,
        argument(
            "A kind such as of_image, importer or predictor, measure for every kind of measure; or the name "
            "of one extension.",
            "[KIND|NAME]",
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

    Each with its meaning, direction, source, licence, origin and what is missing to use it: ready, the
    command that installs it, or where weights that are not on this machine come from, with their size and
    licence. An extension that cannot be loaded is listed with its error. With a name, its card: what it was
    trained on, known biases and how it was tested.
    """
    if kind is not None and kind not in OTHER_WORDS and kind not in KINDS:
        return _card(kind)
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
        rows += [
            _broken(one) if isinstance(one, Broken) else _row(one.spec, _state(one.spec))
            for one in extensions
        ]
    return Extensions(kinds, rows, all_)


def _card(name: str) -> ExtensionCard:
    """The card of an extension of any kind; a name of several kinds is that of the first."""
    for kind in KINDS:
        if registry.has(kind, name):
            spec = registry.get(kind, name).spec
            return ExtensionCard(spec, _state(spec))
    known = [each for kind in KINDS for each in registry.names(kind)]
    raise UsageError(
        f"there is no kind of extension and no extension called {name!r}",
        remedy=near(name, [*KINDS, *OTHER_WORDS, *known]),
    )


def _state(spec: Spec) -> str:
    """What is missing to use an extension as it is."""
    try:
        return registry.configure(spec.kind, spec.name).state
    except SightlineError as error:
        # What it needs by default cannot be found: as true an answer as any.
        return spec.how_to_install() if spec.missing() else f"broken: {error.what}"


def _row(spec: Spec, state: str) -> dict[str, Cell]:
    low, high = spec.range
    parameters = [
        f"{each.name}={each.default.spec if each.nested else each.default!r}" for each in spec.parameters
    ]
    return {
        **_blank(spec.kind, spec.name, spec.origin, state),
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
