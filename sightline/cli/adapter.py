"""Commands made from verbs: one adapter reads an index of their signatures, parses, calls and prints.

The index is written from the signatures by `make docs`, and a test compares them. Help is shown from it
alone: a verb's module is imported when the verb runs.
"""

from __future__ import annotations

import json
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
from sightline.cores import cores
from sightline.errors import UsageError, near
from sightline.verbs import FAMILIES

if TYPE_CHECKING:
    from sightline.rendering.result import Result

INDEX = Path(__file__).with_name("commands.json")
STUDY = "The study: its folder, or its PostgreSQL address."
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@cache
def index() -> Mapping[str, Mapping[str, Any]]:
    """Every verb by the name of its command, as sightline.verbs.described gives it."""
    return {each["name"]: each for each in json.loads(INDEX.read_text("utf-8"))}


class Family(click.Group):
    """A command that has commands of its own, each made from a verb: `sightline suite make`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name.partition(" ")[2] for name in index() if name.startswith(f"{self.name} ")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = f"{self.name} {cmd_name}"
        return command(name) if name in index() else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            raise click.UsageError(f"No such command {args[0]!r}. {near(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)


def family(name: str) -> click.Command:
    """The command of a family of verbs."""
    _, summary = FAMILIES[name]
    return Family(name, help=summary, short_help=summary, context_settings=SETTINGS, no_args_is_help=True)


def command(name: str) -> click.Command:
    """The command of a verb."""
    entry = index()[name]
    given = [_parameter(each) for each in entry["parameters"]]
    own = {each["flag"] for each in entry["parameters"] if each["type"] != "study"}
    call = guarded(lambda **words: _run(entry, words))
    return VerbCommand(
        name.rpartition(" ")[2],
        callback=call,
        params=[*given, *(each for each in faces() if each.opts[0] not in own)],
        help=entry["help"],
        short_help=entry["summary"],
        context_settings=SETTINGS,
    )


NEARER = {
    ("import", "list"): "imports",
    ("compare", "between"): "compare-sets",
    ("bridge", "answers"): "bridge-answers",
    ("wording", "setting"): "setting-effect",
    ("variability", "calibrate"): "calibrate",
}
"""Options that somebody may look for on a command, and the command that does it."""


class VerbCommand(click.Command):
    """A command that refers to another one where an option has its name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = error.option_name.lstrip("-")
            name = NEARER.get((str(self.name), option), option)
            if name not in index():
                raise
            what = f"No such option {error.option_name!r}: use the command sightline {name}."
            raise click.UsageError(what, ctx) from None


def faces() -> list[click.Option]:
    """The options of every command that shows a result, as show() takes them."""
    to_file = "Write the result to a .html, .json, .csv, .tex, .md, .txt or .png file."
    return [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, and nothing else."),
        click.Option(["--csv", "as_csv"], is_flag=True, help="Print CSV, and nothing else."),
        click.Option(["--to", "to_file"], metavar="FILE", help=to_file),
    ]


def check_form(given: Mapping[str, Any]) -> None:
    """Refuse two forms at once, before anything is computed."""
    if given["as_json"] and given["as_csv"]:
        raise UsageError("--json and --csv exclude each other", remedy="Give one of them.")


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
    # To click an explicit default of None is a default: nothing would be required.
    default: dict[str, Any] = {} if entry["required"] or entry["many"] else {"default": entry["default"]}
    if entry["positional"]:
        nargs = -1 if entry["many"] else 1
        return click.Argument(
            [entry["name"]], metavar=metavar, type=kind, nargs=nargs, required=entry["required"],
            help=entry["help"], **default,
        )  # fmt: skip
    if entry["type"] == "flag":
        names = [entry["flag"]] if not entry["default"] else [f"{entry['flag']}/--no-{entry['flag'][2:]}"]
        return click.Option(
            [*names, entry["name"]], is_flag=True, default=entry["default"], help=entry["help"]
        )
    shows = entry["shown"] or (entry["default"] not in (None, "", [], {}) and not entry["many"])
    return click.Option(
        [entry["flag"], entry["name"]], metavar=metavar, type=kind, multiple=bool(entry["many"]),
        required=entry["required"], help=entry["help"], show_default=shows, **default,
    )  # fmt: skip


def _run(entry: Mapping[str, Any], words: dict[str, Any]) -> int:
    wanted = {name: words.pop(name, None) for name in ("as_json", "as_csv", "to_file")}
    check_form(wanted)
    address = words.pop("study", None)
    given = {each["name"]: each for each in entry["parameters"]}
    values = {name: _value(given[name], word) for name, word in words.items()}
    by_core = "workers" in given and given["workers"]["shown"].startswith("one per core")
    if by_core and values["workers"] is _LEFT_OUT and not words.get("on"):
        values["workers"] = cores()
    values = {name: value for name, value in values.items() if value is not _LEFT_OUT}
    function = getattr(import_module(entry["module"]), entry["function"])
    with ExitStack() as stack:
        if address is not None:
            dry_run = bool(values.get("dry_run"))
            values["study"] = stack.enter_context(_opened(address, entry["creates"], dry_run))
        if entry["progress"]:
            from sightline.cli._progress import watched

            values["listener"] = stack.enter_context(watched())
        else:
            from sightline.cli._progress import waiting

            stack.enter_context(waiting(entry["name"]))
        result = function(**values)
    show(result, address=address or "", **wanted)
    return int(result.exit_code)


_LEFT_OUT = object()


def _value(entry: Mapping[str, Any], word: Any) -> Any:
    """A typed value as the verb takes it; what is not typed is left to the verb's default."""
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


def _opened(address: str, creates: bool, dry_run: bool) -> Any:
    from sightline.study.study import open_or_create, open_study

    return open_or_create(address, temporary=dry_run) if creates else open_study(address)


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
