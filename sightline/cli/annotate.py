"""sightline annotate: let people judge images, in a browser or on sheets."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sightline.cli._errors import guarded
from sightline.cli._serving import EXPOSED, is_exposed, serving
from sightline.cli.adapter import SETTINGS, STUDY, check_form, faces, show
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.judging import Declared
    from sightline.study.study import Study

VALUES = {
    "per_item": "per_item",
    "sample": "sample",
    "overlap": "overlap",
    "rest": "rest_minutes",
    "seed": "seed",
}
"""Options that say what study.toml says of a round, and the keys they stand for."""
SHEETS = "With --sheets:"
MANY = 500
"""Images that take long enough to prepare to say so."""


@click.command("annotate", context_settings=SETTINGS)
@click.argument("study", metavar="STUDY", help=STUDY)
@click.option(
    "--round",
    "rounds",
    multiple=True,
    metavar="NAME",
    help="Serve this round of study.toml; repeatable.",
    show_default="all that study.toml declares",
)
@click.option(
    "--mode", metavar="MODE", help="Add a round of this mode to study.toml: see list annotation_mode."
)
@click.option("--plan", is_flag=True, help="Only say how much work it is and what it costs.")
@click.option("--invite", metavar="A,B,C", default="", help="Print a link for each of these annotators.")
@click.option(
    "--control",
    metavar="A,B,C",
    default="",
    help="Print a link for each of these control annotators: they judge the controls, and the others are "
    "measured by their answers.",
)
@click.option(
    "--links", metavar="FILE", help="Write all links to this file, which only you can read, and print none."
)
@click.option(
    "--revoke",
    metavar="A,B,C",
    default="",
    help="Only revoke the links of these annotators; owner stands for your own.",
)
@click.option(
    "--again",
    type=click.FloatRange(min=0, max=1),
    metavar="PROPORTION",
    help="Only have this proportion of the finished work judged again, such as 0.2, and say how far what "
    "was judged again agrees; 0 only says it.",
)
@click.option(
    "--again-by",
    type=click.Choice(["other", "same"]),
    default="other",
    show_default=True,
    help="With --again: who judges again, somebody else or the same person.",
)
@serving(port=8000, days=30.0)
@click.option("--sheets", metavar="FOLDER", help="Write one sheet per annotator instead.")
@click.option("--question", metavar="QUESTION", help=f"{SHEETS} ask this question.")
@click.option("--annotators", metavar="A,B,C", default="", help=f"{SHEETS} who judges.")
@click.option(
    "--per-item",
    type=click.IntRange(min=1),
    help="Let so many people judge each item.",
    show_default="as study.toml says; of a new round and of sheets 3, or all if fewer",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    help="Judge so many prompts, sampled at random.",
    show_default="all",
)
@click.option(
    "--overlap",
    type=click.IntRange(min=0),
    help="Give the first so many items to everybody: a pilot set.",
    show_default="none",
)
@click.option(
    "--rest",
    type=click.FloatRange(min=0),
    metavar="MINUTES",
    help="Let a break take so long.",
    show_default="10",
)
@click.option("--suite", metavar="SUITE", help=f"{SHEETS} only prompts of this suite.", show_default="all")
@click.option(
    "--seed",
    type=int,
    help="Use this seed: it decides who judges what.",
    show_default="0, or as study.toml says",
)
@guarded
def annotate(study: str, **words: Any) -> None:
    """Let people judge images, in a browser or on sheets.

    Serves the rounds that study.toml declares, and prints the owner's link; the one before is revoked. Stop
    with Ctrl+C at any time. --mode, --per-item, --sample, --overlap, --rest and --seed are written into
    study.toml once everything was checked; --plan writes nothing, and neither does a command that fails.
    """
    from sightline import judging
    from sightline.study.study import open_study

    form = {name: words.pop(name) for name in ("as_json", "as_csv", "to_file")}
    check_form(form)
    values = {key: words.pop(name) for name, key in VALUES.items()}
    values = {key: value for key, value in values.items() if value is not None}
    for_sheets = {name: words.pop(name) for name in ("question", "suite")}
    annotators, folder = _listed(words.pop("annotators")), words.pop("sheets")
    _refuse_mixed(words, values, folder, annotators, for_sheets)
    with open_study(study) as opened:
        if folder is not None:
            made = judging.sheets(opened, folder, annotators=annotators, **values, **for_sheets)
            show(made, address=study, **form)
            return
        if leaving := _listed(words.pop("revoke")):
            show(judging.revoke_links(opened, leaving), address=study, **form)
            return
        share, by = words.pop("again"), words.pop("again_by")
        if share is not None:
            drawn = judging.judge_again(opened, words["rounds"], share, by, int(values.get("seed", 0)))
            show(drawn, address=study, **form)
            return
        invited = list(dict.fromkeys(_listed(words.pop("invite"))))
        control = list(dict.fromkeys(_listed(words.pop("control"))))
        if both := sorted({*invited} & {*control}):
            raise UsageError(
                f"{', '.join(both)} cannot both judge and control",
                remedy="Name them once: --invite or --control.",
            )
        mode, names = words.pop("mode"), words.pop("rounds")
        declared = judging.declare(opened, mode, names, people=len(invited), values=values)
        if words.pop("plan"):
            show(judging.plan_rounds(opened, declared.names, invited), address=study, **form)
            return
        _serve(opened, declared, invited, control, to_stderr=form["as_json"] or form["as_csv"], **words)


def _refuse_mixed(
    words: Mapping[str, Any],
    values: Mapping[str, float],
    folder: str | None,
    annotators: Sequence[str],
    for_sheets: Mapping[str, Any],
) -> None:
    """Raise where options belong to different things to do."""
    if folder is None and (annotators or any(for_sheets.values())):
        raise UsageError(
            "--question, --annotators and --suite belong to --sheets",
            remedy="A round of judging in the browser is declared in study.toml: [annotate.NAME].",
        )
    if folder is not None and not (for_sheets["question"] and annotators):
        raise UsageError(
            "sheets need a question and annotators", remedy="Add --question NAME --annotators A,B,C."
        )
    browser = [f"--{name}" for name in ("mode", "invite", "control", "plan") if words[name]]
    browser += ["--round"] if words["rounds"] else []
    browser += [
        f"--{name}" for name, key in VALUES.items() if key in values and key not in ("per_item", "seed")
    ]
    if folder is not None and browser:
        raise UsageError(f"{', '.join(browser)} and --sheets exclude each other", remedy="Leave one out.")
    if words["again"] is not None and (
        words["mode"] or words["invite"] or words["plan"] or folder is not None or set(values) - {"seed"}
    ):
        raise UsageError(
            "--again goes with --round and --seed alone", remedy="Judge again first, then run the rest."
        )
    if words["revoke"] and (browser or values or folder is not None):
        raise UsageError("--revoke stands alone", remedy="Revoke first, then run the rest.")


annotate.params += faces()


def _serve(
    study: Study,
    declared: Declared,
    invite: Sequence[str],
    control: Sequence[str],
    *,
    links: str | None,
    days: float,
    host: str,
    port: int,
    public: str,
    proxy: str,
    to_stderr: bool,
) -> None:
    from sightline import judging
    from sightline.estimate import clean
    from sightline.web.app import create_app
    from sightline.web.guarding import rules_for
    from sightline.web.serving import listen, serve, trusted_networks

    def say(line: str) -> None:
        click.echo(clean(line), err=to_stderr)

    # Whatever can be refused is refused before anything is written.
    rules = rules_for(host, [public] if public else [])
    file = None if links is None else _writable(Path(links))
    trusted_networks(proxy)
    sockets = listen(host, port)
    try:
        opened = judging.annotate(
            study, declared.names, declared=declared, invite=invite, control=control, days=days
        )
    except BaseException:
        for each in sockets:
            each.close()
        raise
    rounds, invitations = opened.rounds, opened.invitations
    if declared.text is not None:
        say(f"The settings of {', '.join(declared.names)} are in {study.home / 'study.toml'}.")
    images = judging.PreparedImages(study)
    missing = images.missing(rounds)
    if len(missing) > MANY:
        say(f"Preparing {len(missing):,} images.")
    prepared = images.prepare(missing)
    if prepared.failed:
        sha256, why = prepared.failed[0]
        many = len(prepared.failed)
        say(f"{many} {'image' if many == 1 else 'images'} cannot be shown, the first {sha256[:12]}: {why}")

    def ready(at: str) -> None:
        base = (public or at).rstrip("/")
        for each in rounds:
            adopted = f", {each.adopted} tasks judged elsewhere" if each.adopted else ""
            say(
                f"{each.round.name}: {each.items} items, {each.controls} controls, "
                f"{each.settings.per_item} judgements each{adopted}"
            )
            if more := judging.people_missing(study, each.round.id):
                people = "1 more person is" if more == 1 else f"{more} more people are"
                say(f"{each.round.name}: {people} needed to reach that. Invite them: --invite NAME.")
        # Not before the port is ours: a server that cannot start must not end the session of one that runs.
        owner, expires = judging.issue_token(study, "owner", days)
        if file is not None:
            rows = [("owner", "", owner, expires)]
            rows += [(link.name, link.round, link.token, link.expires) for link in invitations]
            _write_links(file, [(*row[:2], f"{base}/j/{row[2]}", row[3]) for row in rows])
            say(f"Links are in {file}, which only you can read.")
        else:
            say(f"Owner's page: {base}/j/{owner}")
            for link in invitations:
                role = ", control annotator" if link.role == "control" else ""
                say(f"Link for {link.name} ({link.round}{role}): {base}/j/{link.token}")
        if is_exposed(host, public):
            say(EXPOSED)
        say("Judging continues until Ctrl+C; nothing is lost by stopping.")

    app = create_app(study, rounds, public=public, rules=rules)
    serve(app, host, port, ready, proxies=proxy, sockets=sockets)
    say("Next: sightline truth STUDY")


def _writable(file: Path) -> Path:
    if file.is_dir() or not os.access(file.absolute().parent, os.W_OK):
        raise UsageError("the links cannot be written here", where=str(file), remedy="Choose another file.")
    return file


def _write_links(file: Path, rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Put a table in the place of a file, never readable by anybody else."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, newline="", encoding="utf-8", delete=False) as out:
        csv.writer(out).writerows([("name", "round", "link", "expires"), *rows])
    os.replace(out.name, file)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
