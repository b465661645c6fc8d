"""Commands made from verbs: one adapter reads an index of their signatures, parses, calls and prints.

The index is written from the signatures by `make docs`, and a test compares them. Help is shown from it
alone: a verb's module is imported when the verb runs.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sightline.cli._errors import guarded
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.rendering.result import Result

INDEX = Path(__file__).with_name("commands.json")
STUDY = "The study: its folder, or its PostgreSQL address."


@cache
def index() -> Mapping[str, Mapping[str, Any]]:
    """Every verb by the name of its command, as sightline.verbs.described gives it."""
    return {each["name"]: each for each in json.loads(INDEX.read_text("utf-8"))}


def command(name: str) -> click.Command:
    """The command of a verb."""
    entry = index()[name]
    given = [_parameter(each) for each in entry["parameters"]]
    own = {each["flag"] for each in entry["parameters"] if each["type"] != "study"}
    faces = [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, and nothing else."),
        click.Option(["--csv", "as_csv"], is_flag=True, help="Print CSV, and nothing else."),
        click.Option(
            ["--to", "to_file"],
            metavar="FILE",
            help="Write the result to a .html, .json, .csv, .tex or .txt file.",
        ),
    ]
    faces = [each for each in faces if each.opts[0] not in own]
    call = guarded(lambda **words: _run(entry, words))
    return click.Command(
        name,
        callback=call,
        params=[*given, *faces],
        help=entry["help"],
        short_help=entry["summary"],
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )


def _parameter(entry: Mapping[str, Any]) -> click.Parameter:
    if entry["type"] == "study":
        return click.Argument(["study"], metavar="STUDY", help=STUDY)
    kind: Any = {
        "text": click.STRING,
        "integer": click.INT if entry["least"] is None else click.IntRange(min=int(entry["least"])),
        "number": click.FLOAT if entry["least"] is None else click.FloatRange(min=entry["least"]),
        "path": click.STRING,
        "flag": click.BOOL,
        "choice": click.Choice(entry["choices"]) if entry["choices"] else click.STRING,
    }[entry["type"]]
    metavar = entry["metavar"] or None
    if entry["positional"]:
        nargs = -1 if entry["many"] else 1
        return click.Argument(
            [entry["name"]], metavar=metavar, type=kind, nargs=nargs, required=entry["required"],
            help=entry["help"], default=None if nargs == -1 else entry["default"],
        )  # fmt: skip
    if entry["type"] == "flag":
        names = [entry["flag"]] if not entry["default"] else [f"{entry['flag']}/--no-{entry['flag'][2:]}"]
        return click.Option(
            [*names, entry["name"]], is_flag=True, default=entry["default"], help=entry["help"]
        )
    shows = entry["shown"] or (entry["default"] not in (None, "", [], {}) and not entry["many"])
    return click.Option(
        [entry["flag"], entry["name"]], metavar=metavar, type=kind, multiple=bool(entry["many"]),
        required=entry["required"], default=None if entry["many"] else entry["default"],
        help=entry["help"], show_default=shows,
    )  # fmt: skip


def _run(entry: Mapping[str, Any], words: dict[str, Any]) -> int:
    faces = {name: words.pop(name, None) for name in ("as_json", "as_csv", "to_file")}
    if faces["as_json"] and faces["as_csv"]:
        raise UsageError("--json and --csv exclude each other", remedy="Give one of them.")
    address = words.pop("study", None)
    given = {each["name"]: each for each in entry["parameters"]}
    values = {name: _value(given[name], word) for name, word in words.items()}
    values = {name: value for name, value in values.items() if value is not _LEFT_OUT}
    function = getattr(import_module(entry["module"]), entry["function"])
    with ExitStack() as stack:
        if address is not None:
            values["study"] = stack.enter_context(_opened(address, creates=entry["creates"]))
        if entry["progress"]:
            from sightline.cli._progress import watched

            values["listener"] = stack.enter_context(watched())
        else:
            from sightline.cli._progress import waiting

            stack.enter_context(waiting(entry["name"]))
        result = function(**values)
    show(result, address=address or "", **faces)
    return int(result.exit_code)


_LEFT_OUT = object()


def _value(entry: Mapping[str, Any], word: Any) -> Any:
    """A typed value as the verb takes it; what is not typed is left to the verb's default."""
    if entry["name"] == "workers" and word is None:
        return _cores()
    if entry["many"] == "mapping":
        return _pairs(word, entry["flag"], entry["metavar"])
    if entry["many"]:
        return list(word) if word else _LEFT_OUT
    return _LEFT_OUT if word is None else word


def _pairs(words: tuple[str, ...], flag: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"cannot read {flag} {word!r}", remedy=f"Write {flag} {example or 'NAME=VALUE'}")
        if name.strip() in pairs:
            raise UsageError(f"{flag} gives {name.strip()!r} twice", remedy="Leave one of them out.")
        pairs[name.strip()] = value
    return pairs


def _opened(address: str, *, creates: bool) -> Any:
    from sightline.study.study import open_or_create, open_study

    return open_or_create(address) if creates else open_study(address)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def show(
    result: Result,
    *,
    address: str = "",
    as_json: bool | None = None,
    as_csv: bool | None = None,
    to_file: str | None = None,
) -> None:
    """Print a result; text for people never mixes with data for programs."""
    if to_file:
        click.echo(f"Written: {result.write(to_file)}", err=bool(as_json or as_csv))
    if as_json:
        _data(result.to_json())
    elif as_csv:
        _data(result.to_csv())
    elif not to_file:
        from sightline.rendering.terminal import text

        click.echo(text(result, study=shlex.quote(address) if address else "STUDY"), nl=False)


def _data(text: str) -> None:
    """Write data as UTF-8, whatever the encoding of the terminal."""
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(text)
    else:
        binary.write(text.encode("utf-8", "replace"))
        binary.flush()
