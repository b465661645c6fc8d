"""The program: its commands in the groups of the work, each loaded when it is called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from sightline.cli import adapter
from sightline.cli.adapter import SETTINGS
from sightline.cli.annotate import annotate
from sightline.cli.score import score
from sightline.cli.view import view
from sightline.device import DEVICE, PRECISION, PRECISIONS
from sightline.errors import UsageError, near
from sightline.verbs import FAMILIES, GROUPS
from sightline.version import __version__

SHELLS = ("bash", "zsh", "fish")


class Program(click.Group):
    """Commands by name, each loaded when it is called; loading all for a help page would take longer."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*summaries()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        made = summaries().get(cmd_name) is not None and cmd_name not in OWN
        return parser(cmd_name) if made else self.commands.get(cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"No such command {args[0]!r}. {near(args[0], [*summaries()])}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _first(args))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS.values()}
        for name, (group, summary) in summaries().items():
            grouped[GROUPS[group]].append((name, summary))
        for title, rows in grouped.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


ANYWHERE = {"--device": DEVICE, "--precision": PRECISION}
"""Options of the whole program that may also stand behind a command, and the variables that they set."""


def _first(args: Sequence[str]) -> list[str]:
    """The same words with the options of the whole program before the command."""
    words, first, left = list(args), [], []
    while words:
        word = words.pop(0)
        if word == "--":
            left += [word, *words]
            break
        if word in ANYWHERE and words:
            first += [word, words.pop(0)]
        elif word.partition("=")[0] in ANYWHERE:
            first.append(word)
        else:
            left.append(word)
    return [*first, *left]


def summaries() -> dict[str, tuple[str, str]]:
    """Every command with its group and the one line that help has for it; a family of them is one."""
    verbs = {
        name: (str(each["group"]), str(each["summary"]))
        for name, each in adapter.index().items()
        if " " not in name
    }
    verbs |= {
        name: FAMILIES[name]
        for name in dict.fromkeys(each.split(" ")[0] for each in adapter.index() if " " in each)
    }
    own = {name: (OWN_GROUPS.get(name, "set up"), each.get_short_help_str(100)) for name, each in OWN.items()}
    return {**verbs, **own}


def parser(name: str) -> click.Command:
    """What parses a command: its arguments, options and help."""
    if name in FAMILIES:
        return adapter.family(name)
    return adapter.command(name) if name in adapter.index() else OWN[name]


@click.command("help", context_settings=SETTINGS)
@click.argument("command", required=False, nargs=-1, help="The command; without one, all of them.")
@click.pass_context
def help_(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Show help for a command."""
    program = ctx.parent.command if ctx.parent is not None else build()
    assert isinstance(program, Program)
    if not command:
        click.echo(program.get_help(ctx.parent or ctx))
        return
    if program.get_command(ctx, command[0]) is None:
        raise UsageError(f"there is no command {command[0]!r}", remedy=near(command[0], [*summaries()]))
    program.main(args=[*command, "--help"], prog_name="sightline", standalone_mode=True)


@click.command("completion", context_settings=SETTINGS)
@click.argument("shell", type=click.Choice(SHELLS), help="The shell.")
def completion(shell: str) -> None:
    """Print the script that completes commands and options in a shell.

    \b
    eval "$(sightline completion bash)"          in ~/.bashrc
    eval "$(sightline completion zsh)"           in ~/.zshrc
    sightline completion fish | source           in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(build(), {}, "sightline", "_SIGHTLINE_COMPLETE").source())


OWN: Mapping[str, click.Command] = {
    "annotate": annotate,
    "score": score,
    "view": view,
    "help": help_,
    "completion": completion,
}
OWN_GROUPS: Mapping[str, str] = {"annotate": "judge", "score": "measure", "view": "analyse"}


def build() -> Program:
    """The whole command line."""
    program = Program(
        "sightline",
        commands=dict(OWN),
        help="The workbench for judging text-to-image systems, generators and search engines alike.",
        epilog="Start with: sightline demo. With your own: sightline import my-study FOLDER.",
        context_settings=SETTINGS,
        no_args_is_help=True,
    )
    version = click.version_option(
        __version__, message="sightline %(version)s", help="Show the version and exit."
    )
    plugins = click.option(
        "--no-plugins",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_without_plugins,
        help="Use no extensions of others; SIGHTLINE_NO_PLUGINS=1 does the same.",
    )
    device = click.option(
        "--device",
        metavar="DEVICE",
        expose_value=False,
        is_eager=True,
        callback=_set,
        help="Run networks on auto, cpu, cuda, cuda:1 or mps, wherever it stands; SIGHTLINE_DEVICE.",
    )
    precision = click.option(
        "--precision",
        type=click.Choice(PRECISIONS),
        expose_value=False,
        is_eager=True,
        callback=_set,
        help="Run networks in mixed precision, which counts as another measure; SIGHTLINE_PRECISION.",
    )
    return plugins(device(precision(version(program))))


def _set(ctx: click.Context, parameter: click.Parameter, given: str | None) -> None:
    """Set the variable of an option, where worker processes look as well, until the command has ended."""
    if given is None:
        return
    variable = ANYWHERE[parameter.opts[0]]
    before = os.environ.get(variable)
    os.environ[variable] = given

    def restore() -> None:
        os.environ.pop(variable, None)
        if before is not None:
            os.environ[variable] = before

    ctx.call_on_close(restore)


def _without_plugins(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if not given:
        return
    from sightline.registry import NO_PLUGINS

    if NO_PLUGINS not in os.environ:
        # In the environment, since worker processes look there as well.
        os.environ[NO_PLUGINS] = "1"
        ctx.call_on_close(lambda: os.environ.pop(NO_PLUGINS, None))
