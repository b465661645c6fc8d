"""sightline annotate: let people judge images, in a browser or on sheets."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sightline.cli._errors import guarded
from sightline.cli.adapter import SETTINGS, STUDY, check_form, faces, show
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.study.study import Study

LOCAL = ("127.0.0.1", "localhost", "::1")
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
    "--links", metavar="FILE", help="Write all links to this file, which only you can read, and print none."
)
@click.option(
    "--revoke",
    metavar="A,B,C",
    default="",
    help="Only revoke the links of these annotators; owner stands for your own.",
)
@click.option("--days", default=30.0, show_default=True, help="Let links expire after so many days.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Listen here; 0.0.0.0 admits other machines."
)
@click.option(
    "--port",
    default=8000,
    type=click.IntRange(0, 65535),
    show_default=True,
    help="Listen on this port; 0 takes any free one.",
)
@click.option(
    "--public", metavar="ADDRESS", default="", help="Print links to this address: https://judge.example.org."
)
@click.option(
    "--proxy",
    metavar="A,B",
    default="",
    help="Believe what these proxies say of clients: addresses or networks.",
)
@click.option("--sheets", metavar="FOLDER", help="Write one sheet per annotator instead.")
@click.option("--question", metavar="QUESTION", help=f"{SHEETS} ask this question.")
@click.option("--annotators", metavar="A,B,C", default="", help=f"{SHEETS} who judges.")
@click.option(
    "--per-item",
    type=click.IntRange(min=1),
    help=f"{SHEETS} how many people judge each image.",
    show_default="3, or all if fewer",
)
@click.option("--suite", metavar="SUITE", help=f"{SHEETS} only prompts of this suite.", show_default="all")
@click.option("--seed", default=0, show_default=True, help="Use this seed: it decides who judges what.")
@guarded
def annotate(study: str, **words: Any) -> None:
    """Let people judge images, in a browser or on sheets.

    Serves the rounds that study.toml declares, and prints the owner's link; the one before is revoked. Stop
    with Ctrl+C at any time.
    """
    from sightline import judging
    from sightline.study.study import open_study

    form = {name: words.pop(name) for name in ("as_json", "as_csv", "to_file")}
    check_form(form)
    for_sheets = {name: words.pop(name) for name in ("question", "per_item", "suite")}
    annotators, folder, seed = _listed(words.pop("annotators")), words.pop("sheets"), words.pop("seed")
    if folder is None and (annotators or any(for_sheets.values())):
        raise UsageError(
            "--question, --annotators, --per-item and --suite belong to --sheets",
            remedy="A round of judging in the browser is declared in study.toml: [annotate.NAME].",
        )
    if folder is not None and not (for_sheets["question"] and annotators):
        raise UsageError(
            "sheets need a question and annotators", remedy="Add --question NAME --annotators A,B,C."
        )
    with open_study(study) as opened:
        if folder is not None:
            made = judging.sheets(opened, folder, annotators=annotators, seed=seed, **for_sheets)
            show(made, address=study, **form)
            return
        mode, names = words.pop("mode"), list(words.pop("rounds"))
        if mode is not None and (added := judging.declare(opened, mode)) not in names:
            names.append(added)
        if leaving := _listed(words.pop("revoke")):
            show(judging.revoke_links(opened, leaving), address=study, **form)
            return
        if words.pop("plan"):
            show(judging.plan(opened, names), address=study, **form)
            return
        _serve(opened, names, to_stderr=form["as_json"] or form["as_csv"], **words)


annotate.params += faces()


def _serve(
    study: Study,
    names: Sequence[str],
    *,
    invite: str,
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
    from sightline.web.serving import serve

    def say(line: str) -> None:
        click.echo(clean(line), err=to_stderr)

    rules = rules_for(host, [public] if public else [])
    file = None if links is None else _writable(Path(links))
    rounds = judging.annotate(study, names).rounds
    images = judging.PreparedImages(study)
    missing = images.missing(rounds)
    if len(missing) > MANY:
        say(f"Preparing {len(missing):,} images.")
    prepared = images.prepare(missing)
    if prepared.failed:
        sha256, why = prepared.failed[0]
        many = len(prepared.failed)
        say(f"{many} {'image' if many == 1 else 'images'} cannot be shown, the first {sha256[:12]}: {why}")
    invitations = [
        judging.invite(study, each.round.name, name, days=days) for each in rounds for name in _listed(invite)
    ]

    def ready(at: str) -> None:
        base = (public or at).rstrip("/")
        for each in rounds:
            adopted = f", {each.adopted} tasks judged elsewhere" if each.adopted else ""
            say(
                f"{each.round.name}: {each.items} items, {each.controls} controls, "
                f"{each.settings.per_item} judgements each{adopted}"
            )
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
                say(f"Link for {link.name} ({link.round}): {base}/j/{link.token}")
        if host not in LOCAL and not public.startswith("https://"):
            say("Anybody on the way can read links sent over http: put it behind https, see --public.")
        say("Judging continues until Ctrl+C; nothing is lost by stopping.")

    serve(create_app(study, rounds, public=public, rules=rules), host, port, ready, proxies=proxy)
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
