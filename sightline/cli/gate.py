"""sightline gate: fail a build when a new system falls below a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed, StudyAt, listed
from sightline.cli._output import Output, figure, quoted
from sightline.cli._progress import waiting
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.comparison.gate import Gated
    from sightline.rendering.tables import Table

CODES = {"passed": 0, "fell": 1, "could not tell": 4}


@command("gate")
def gate(
    study: StudyAt,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The system that must not have fallen.")],
    against: Annotated[
        str, typer.Option("--against", metavar="BASELINE", help="The system it is held against.")
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="QUESTION|MEASURE",
            help="What decides: a question with truth, or a measure with scores; repeatable.",
            show_default="the first question with truth",
        ),
    ] = None,
    class_: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="A class of prompts: TAG=VALUE, a TAG for each of its values, suite=NAME, or "
            "difficulty:hard, middle or easy; repeatable.",
            show_default="all prompts",
        ),
    ] = None,
    all_classes: Annotated[
        bool, typer.Option("--all-classes", help="All prompts, and each value of each tag.")
    ] = False,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            metavar="M",
            help="Tolerate a fall up to M, and pass only if it is shown to be no larger; NAME=M for one of "
            "several --by.",
            show_default="0",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="The chance of a false alarm, over everything that is tested.")
    ] = 0.05,
    least: Annotated[
        int, typer.Option("--least", metavar="N", help="Test no class with fewer prompts in common.")
    ] = 10,
    complete: Annotated[
        bool, typer.Option("--complete", help="Do not pass where NEW lacks values that BASELINE has.")
    ] = False,
    tier: Annotated[
        str | None,
        typer.Option(
            "--tier",
            metavar="small|medium|large",
            help="Which shipped predictor tells the difficulty; name one to have the same classes anywhere.",
            show_default="the best that runs here",
        ),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> int:
    """Fail a build when a new system falls below a baseline.

    Exit codes: 0 passed, 1 fell, 4 could not tell (too few prompts, or a margin that is neither kept nor
    broken for sure), 2 wrong usage, 3 data at fault. Values are paired over the prompts both systems have one
    on and tested by one-sided sign flips; p is adjusted after Holm for all classes and measures.
    """
    from sightline.comparison.gate import gate as hold
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, waiting("comparing"):
        found = hold(
            opened,
            new,
            against,
            [name for word in by or () for name in _names(word)],
            classes=class_ or (),
            all_classes=all_classes,
            margin=_margin(margin or []),
            alpha=alpha,
            least=least,
            complete=complete,
            tier=tier,
            seed=seed,
        )
    code = CODES[found.verdict]
    output.show(
        _table(found, output.for_programs),
        verdict=found.verdict,
        exit_code=code,
        new=found.new,
        baseline=found.baseline,
        alpha=found.alpha,
        margin={row.by: row.margin for row in found.rows},
        sentence=found.sentence,
        notes=list(found.notes),
    )
    output.say(*found.notes)
    output.say(found.sentence)
    if found.verdict == "fell":
        first = next(row for row in found.rows if row.ruling.verdict == "fell")
        output.next(f"sightline compare {quoted(study)} --by {quoted(first.by)}", "all systems, every pair")
    return code


def _names(word: str) -> list[str]:
    """Names separated by commas; those between parentheses belong to a measure's parameters."""
    return [word] if "(" in word else listed(word)


def _margin(words: list[str]) -> float | dict[str, float]:
    """One number for all, or `name=number` words."""
    if len(words) < 2 and "=" not in "".join(words):
        return _number(words[0]) if words else 0.0
    # Parameters of a measure have = in them too: the last one is before the number.
    told: dict[str, float] = {}
    for word in words:
        name, separator, value = word.rpartition("=")
        if not separator or name in told:
            raise UsageError(f"cannot read --margin {word!r} beside others", remedy="Write NAME=M once each.")
        told[name] = _number(value)
    return told


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UsageError(f"cannot read --margin {word!r}", remedy="Write --margin 0.1") from None


def _table(found: Gated, for_programs: bool) -> Table:
    """Every class; programs get the direction and the reason as well, which people read in words."""
    from sightline.estimate import ARROWS, absent
    from sightline.rendering.tables import Column, Table

    rows = []
    for row in found.rows:
        ruling = row.ruling
        untold = absent(ruling.reason or "not tested")
        flat = absent("the differences do not vary") if ruling.p is not None else untold
        rows.append(
            (
                row.group,
                row.by if for_programs else f"{row.by} {ARROWS[row.direction]}",  # type: ignore[index]
                row.prompts,
                untold if row.baseline is None else row.baseline,
                untold if row.new is None else row.new,
                figure(ruling.difference),
                *(untold if p is None else p for p in (ruling.p, ruling.p_holm)),
                flat if ruling.detectable is None else ruling.detectable,
                ruling.verdict,
                *((row.direction, row.missing, ruling.reason) if for_programs else ()),
            )
        )
    level = f"{1 - 2 * found.alpha:.0%}".replace("%", " %")
    columns = [
        Column("class"),
        Column("by"),
        Column("prompts"),
        Column("baseline", found.baseline),
        Column("new", found.new),
        Column("difference", format="+", estimate=True),
        Column("p", "p of a fall", format="p"),
        Column("p_holm", "p after Holm", format="p"),
        Column("detectable", "detectable fall"),
        Column("verdict"),
    ]
    if for_programs:
        columns += [Column("direction"), Column("missing"), Column("reason")]
    return Table(columns, rows, f"{found.new} against {found.baseline} (difference with {level} interval)")
