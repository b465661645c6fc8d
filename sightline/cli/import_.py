"""sightline import: bring data into a study, look at it beforehand, or take it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli._app import command
from sightline.cli._errors import Stopped
from sightline.cli._options import AsCsv, AsJson, StudyAt, pairs
from sightline.cli._output import Output, quoted
from sightline.cli._progress import counted
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.data.import_ import Claim, Preview, Skipped
    from sightline.rendering.tables import Table

EXAMPLES = 3
"""Records of each kind that a preview shows."""


@command("import")
def import_(
    study: StudyAt,
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="The file or folder to import.", show_default=False)
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="LAYOUT",
            help="The layout, where it is not recognised: see sightline list importer.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="OURS=THEIRS", help="A column of another name; repeatable."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="A parameter of the layout, such as suite=coco; repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would come in; nothing is written.")
    ] = False,
    keep_broken: Annotated[
        bool,
        typer.Option("--keep-broken", help="Record unreadable images as broken instead of refusing all."),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take back an earlier import of the same path first.")
    ] = False,
    undo: Annotated[
        int | None,
        typer.Option(
            "--undo", metavar="NUMBER", help="Take back the import of this number.", show_default=False
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the imports of the study.")] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Bring prompts, images, judgements or truth into a study.

    The layout is recognised: plain CSV, JSONL or Parquet tables, folders of images such as SYSTEM/PROMPT.png,
    and the layouts of published data sets. All comes in or nothing does, and the same data again changes
    nothing. A study that is not there yet is made.
    """
    output = Output(json=json, csv=csv)
    if (path is not None) + (undo is not None) + list_ != 1:
        raise UsageError(
            "import takes a PATH, or --undo NUMBER, or --list, and one of them at a time",
            remedy="For example: sightline import my-study images/",
        )
    if list_:
        _list(output, study)
        return
    if undo is not None:
        _undo(output, study, undo)
        return
    assert path is not None
    told: dict[str, Any] = {
        "format": format_,
        "columns": pairs(column or (), "--column", "prompt=caption"),
        "options": pairs(option or (), "--option", "suite=coco"),
    }
    if dry_run:
        _preview(output, study, path, told)
        return
    _import(output, study, path, told, keep_broken, replace)


def _import(
    output: Output, study: str, path: Path, told: Mapping[str, Any], keep_broken: bool, replace: bool
) -> None:
    from sightline.data.import_ import import_ as bring_in
    from sightline.study.study import open_or_create

    new = "://" not in study and not Path(study).exists()
    with open_or_create(study) as opened, counted("records") as progress:
        try:
            done = bring_in(opened, path, **told, keep_broken=keep_broken, replace=replace, progress=progress)
        except KeyboardInterrupt:
            raise Stopped("Stopped. Nothing was imported; run the same command again.") from None
    if new:
        output.say(f"Made a new study: {study}")
    output.say(_recognised(done.importer, done.claims))
    if done.already:
        output.say(f"The study holds exactly this already, as import {done.source_id}. Nothing was changed.")
    _skipped(output, done.skipped)
    caption = "It holds" if done.already else "Brought in"
    output.show(
        _counts(done.counts, caption),
        layout=done.importer,
        path=done.path,
        number=done.source_id,
        already=done.already,
        skipped=[skip.__dict__ for skip in done.skipped],
    )
    back = f"sightline import {quoted(study)} --undo {done.source_id}"
    output.say(f"This is import {done.source_id}; to take it back: {back}")
    following = (
        "truth" if done.counts.get("judgements") else "check" if done.counts.get("answers") else "status"
    )
    output.next(f"sightline {following} {quoted(study)}")


def _preview(output: Output, study: str, path: Path, told: Mapping[str, Any]) -> None:
    from sightline.data.import_ import preview
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study

    if Path(study).exists() or "://" in study:
        open_study(study).close()
    found: Preview = preview(path, **told, examples=EXAMPLES)
    output.say(_recognised(found.importer, found.claims))
    output.say(found.sentence)
    _skipped(output, found.skipped)
    rows = [(type(record).__name__.lower(), _shown(record), record.at) for record in found.examples]
    examples = Table([Column("record"), Column("content"), Column("where")], rows, "The first of them")
    output.show(
        {"counts": _counts(found.counts, "Would come in"), "examples": examples},
        layout=found.importer,
        path=found.path,
        systems=list(found.systems),
        image_bytes=found.image_bytes,
        skipped=[skip.__dict__ for skip in found.skipped],
    )
    output.say("Nothing was written.")
    output.next(f"sightline import {quoted(study)} {quoted(path)}", "without --dry-run")


def _list(output: Output, study: str) -> None:
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study
    from sightline.study.writing.loading import sources

    with open_study(study) as opened:
        found = sources(opened)
    columns = [Column("number"), Column("layout"), Column("path"), Column("at"), Column("brought_in")]
    rows = [
        (
            row["id"],
            row["importer"],
            row["path"],
            row["at"],
            ", ".join(f"{n:,} {kind}" for kind, n in (row["counts"] or {}).items()),
        )
        for row in found
    ]
    output.show(Table(columns, rows, "Imports, oldest first"))
    if not rows:
        output.say("Nothing was imported yet.")
        output.next(f"sightline import {quoted(study)} PATH")
    else:
        output.next(f"sightline import {quoted(study)} --undo NUMBER", "to take one back")


def _undo(output: Output, study: str, number: int) -> None:
    from sightline.data.import_ import undo
    from sightline.study.study import open_study

    with open_study(study) as opened:
        gone = undo(opened, number)
    output.say(f"Import {number} is taken back.")
    output.show(_counts(gone, "Taken out"), number=number)
    output.next(f"sightline status {quoted(study)}")


def _recognised(importer: str, claims: Sequence[Claim]) -> str:
    from sightline import registry

    name = importer.partition("(")[0]
    if not claims:
        return f"Read as {importer}, as you said."
    evidence = registry.get("importer", name).spec.details.get("claims")
    why = (evidence.__doc__ or "").strip().split("\n")[0] if callable(evidence) else ", ".join(evidence or ())
    others = [claim.importer for claim in claims if claim.confidence > 0 and claim.importer != name]
    also = f" Less likely: {', '.join(others)} (--format takes another)." if others else ""
    return f"Recognised as {importer}: {why}{also}"


def _skipped(output: Output, skipped: Sequence[Skipped]) -> None:
    for skip in skipped:
        examples = ", ".join(skip.examples) + (", ..." if skip.count > len(skip.examples) else "")
        output.say(f"{'Noted' if skip.noted else 'Left out'}: {skip.count:,} {skip.reason}: {examples}")


def _counts(counts: Mapping[str, int], caption: str) -> Table:
    from sightline.rendering.tables import Column, Table

    rows = [(_plural(kind), n) for kind, n in counts.items() if n]
    return Table([Column("what"), Column("n")], rows, caption)


def _plural(kind: str) -> str:
    return kind.replace("_", " ") + ("" if kind.endswith("s") else "s")


def _shown(record: Any) -> str:
    """What a record says, without what is empty."""
    parts = []
    for name, value in record._asdict().items():
        if (
            name != "at"
            and value not in (None, "", (), {})
            and value != type(record)._field_defaults.get(name)
        ):
            parts.append(f"{name}={_short(value)}")
    return ", ".join(parts)


def _short(value: Any) -> str:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return "/".join(_short(part) for part in value if part is not None)
    text = str(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 60 else text[:57] + "..."
