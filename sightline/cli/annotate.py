"""sightline annotate: let people judge images, in a browser or on sheets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed, StudyAt, listed
from sightline.cli._output import Output, quoted
from sightline.errors import UsageError

LOCAL = ("127.0.0.1", "localhost", "::1")


@command("annotate")
def annotate(
    study: StudyAt,
    round: Annotated[
        list[str] | None,
        typer.Option(
            "--round",
            metavar="NAME",
            help="A round of study.toml; repeatable.",
            show_default="all that study.toml declares",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="Add a round of this mode to study.toml: see sightline list annotation_mode.",
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only tell how much work it is and what it costs.")
    ] = False,
    invite: Annotated[
        str | None,
        typer.Option("--invite", metavar="A,B,C", help="Print a link for each of these annotators."),
    ] = None,
    days: Annotated[float, typer.Option("--days", help="How long links are good for.")] = 30,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8000,
    public: Annotated[
        str | None,
        typer.Option(
            "--public",
            metavar="ADDRESS",
            help="The address people reach it by, such as https://judge.example.org.",
        ),
    ] = None,
    sheets: Annotated[
        Path | None,
        typer.Option("--sheets", metavar="FOLDER", help="Write a sheet for each annotator instead."),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", metavar="QUESTION", help="With --sheets: what is asked.")
    ] = None,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="A,B,C", help="With --sheets: who judges.")
    ] = None,
    per_item: Annotated[
        int | None,
        typer.Option(
            "--per-item",
            min=1,
            help="With --sheets: how many people judge each image.",
            show_default="3, or all if fewer",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite", metavar="SUITE", help="With --sheets: only prompts of this suite.", show_default="all"
        ),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Let people judge images, in a browser or on sheets.

    Serves the rounds that study.toml declares, and prints the owner's link. Stop with Ctrl+C at any time.
    """
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    if sheets is None and (question or annotators or per_item or suite):
        raise UsageError(
            "--question, --annotators, --per-item and --suite belong to --sheets",
            remedy="A round of judging in the browser is declared in study.toml: [annotate.NAME].",
        )
    with open_study(study) as opened:
        if sheets is not None:
            _write_sheets(opened, study, sheets, question, annotators, per_item, suite, seed, output)
            return
        names = list(round or [])
        if mode is not None:
            from sightline.judging.annotate import declare

            added = declare(opened, mode)
            names = [*names, added] if added not in names else names
        if plan:
            _show_plan(opened, names, output)
            return
        _serve(opened, study, names, listed(invite or ""), days, host, port, public or "", output)


def _show_plan(study: Any, names: list[str], output: Output) -> None:
    from sightline.judging.annotate import declared
    from sightline.judging.planning import plan_of
    from sightline.judging.rounds import refuse_conflicts, round_settings
    from sightline.rendering.tables import Column, Table

    known = declared(study)
    refuse_conflicts(study)
    rows = []
    for name in names or known:
        settings = round_settings(study, name)
        found = plan_of(study, settings)
        rows.append((name, settings.mode, found.items, found.per_item, found.work, found.control_pages,
                     found.control_images, found.repeats, found.tasks, str(found.cost)))  # fmt: skip
    columns = [
        Column("round"),
        Column("mode"),
        Column("items"),
        Column("per_item", "judgements an item"),
        Column("work", "pages of work"),
        Column("control_pages", "control pages"),
        Column("control_images", "control images"),
        Column("repeats", "repeated"),
        Column("tasks", "pages in all"),
        Column("cost"),
    ]
    output.show(Table(columns, rows, "The plan"))


def _serve(
    study: Any,
    address: str,
    names: list[str],
    invited: list[str],
    days: float,
    host: str,
    port: int,
    public: str,
    output: Output,
) -> None:
    from sightline.judging.annotate import annotate as open_rounds
    from sightline.judging.oversee import invite
    from sightline.judging.store import tokens
    from sightline.web.app import create_app
    from sightline.web.guarding import rules_for
    from sightline.web.serving import serve

    rounds = open_rounds(study, names)
    links = [(each.round.name, name, invite(study, each.round.name, name, days=days).token)
             for each in rounds for name in invited]  # fmt: skip
    owner, _ = tokens.issue(study, "owner", days)
    rules = rules_for(host, [public] if public else [])

    def ready(at: str) -> None:
        base = (public or at).rstrip("/")
        for each in rounds:
            kept = f", {each.adopted} pages judged elsewhere" if each.adopted else ""
            output.say(
                f"{each.round.name}: {each.items} items, {each.controls} controls, "
                f"{each.settings.per_item} judgements each{kept}"
            )
        output.say(f"Owner's page: {base}/j/{owner}")
        for round_name, name, token in links:
            output.say(f"Link for {name} ({round_name}): {base}/j/{token}")
        if host not in LOCAL and not public.startswith("https://"):
            output.say("Anybody on the way can read links sent over http: put it behind https, see --public.")
        output.say("Judging goes on until Ctrl+C; nothing is lost by stopping.")

    serve(create_app(study, rounds, public=public, rules=rules), host, port, ready)
    output.next(f"sightline truth {quoted(address)}", "settle the votes")


def _write_sheets(
    study: Any,
    address: str,
    folder: Path,
    question: str | None,
    annotators: str | None,
    per_item: int | None,
    suite: str | None,
    seed: int,
    output: Output,
) -> None:
    from sightline.judging.sheets import sheets
    from sightline.rendering.tables import Column, Table

    if question is None or annotators is None:
        raise UsageError(
            "sheets need a question and annotators", remedy="Add --question NAME --annotators A,B,C."
        )
    names = listed(annotators)
    done = sheets(
        study,
        folder,
        question=question,
        annotators=names,
        per_item=per_item or max(1, min(3, len(names))),
        seed=seed,
        suite=suite,
    )
    rows = [(sheet.annotator, sheet.items, sheet.folder) for sheet in done.sheets]
    output.show(
        Table(
            [Column("annotator"), Column("images"), Column("folder")],
            rows,
            f"{done.question}: {done.items} images",
        ),
        question=done.question,
        seed=done.seed,
        images=done.items,
    )
    # The stage knows the study by its name; a person needs the path that was typed.
    back = done.how_back.partition("SHEET.csv")[2]
    output.next(
        f"sightline import {quoted(address)} SHEET.csv{back}", "for each sheet that comes back filled in"
    )
