"""The program: its commands in the groups of the work, each loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click
import typer

from sightline.cli import adapter
from sightline.cli._errors import guarded
from sightline.cli.adapter import SETTINGS
from sightline.cli.annotate import annotate
from sightline.cli.score import score
from sightline.errors import UsageError, near
from sightline.verbs import GROUPS
from sightline.version import __version__

# Commands that are not yet made from a verb: name -> group and summary.
LEGACY: Mapping[str, tuple[str, str]] = {
    "demo": ("set up", "See the whole flow work on a sample study."),
    "list": ("set up", "List every measure, layout, rule and other extension."),
    "reproduce": ("share", "Obtain a paper's figures anew, and hold them against print."),
}
TAKEN_BY_PYTHON = ("import", "list")
SHELLS = ("bash", "zsh", "fish")

Function = Callable[..., Any]
_built: dict[str, Any] = {}


class Program(click.Group):
    """Commands by name, each loaded when it is called; loading all for a help page would take longer."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*summaries()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in adapter.index():
            return adapter.command(cmd_name)
        return Legacy(cmd_name) if cmd_name in LEGACY else self.commands.get(cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"No such command {args[0]!r}. {near(args[0], [*summaries()])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS.values()}
        for name, (group, summary) in summaries().items():
            grouped[GROUPS[group]].append((name, summary))
        for title, rows in grouped.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def summaries() -> dict[str, tuple[str, str]]:
    """Every command with its group and the one line that help has for it."""
    verbs = {name: (str(each["group"]), str(each["summary"])) for name, each in adapter.index().items()}
    old = {name: each for name, each in LEGACY.items() if name not in verbs}
    own = {name: (OWN_GROUPS.get(name, "set up"), each.get_short_help_str(100)) for name, each in OWN.items()}
    return {**old, **verbs, **own}


class Legacy(click.Command):
    """A command that typer still parses."""

    def __init__(self, name: str) -> None:
        super().__init__(name, add_help_option=False)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = args
        return args

    def invoke(self, ctx: click.Context) -> Any:
        return parser(str(self.name)).main(args=ctx.args, prog_name=f"sightline {self.name}")


def parser(name: str) -> Any:
    """What parses a command: its arguments, options and help."""
    if name in adapter.index():
        return adapter.command(name)
    if name in OWN:
        return OWN[name]
    import_module(f"{__package__}.{name}{'_' if name in TAKEN_BY_PYTHON else ''}")
    return _built[name]


def command(name: str) -> Callable[[Function], Function]:
    """Make a function a command of typer's; an exit code is what it returns, 0 where it returns nothing."""

    def add(function: Function) -> Function:
        alone = typer.Typer(
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings=SETTINGS,
        )
        alone.command(name)(guarded(function))
        _built[name] = typer.main.get_command(alone)
        return function

    return add


@click.command("help", context_settings=SETTINGS)
@click.argument("command", required=False, help="The command; without one, all of them.")
@click.pass_context
def help_(ctx: click.Context, command: str | None) -> None:
    """Show help for a command."""
    program = ctx.parent.command if ctx.parent is not None else build()
    assert isinstance(program, Program)
    if command is None:
        click.echo(program.get_help(ctx.parent or ctx))
        return
    if program.get_command(ctx, command) is None:
        raise UsageError(f"there is no command {command!r}", remedy=near(command, [*summaries()]))
    program.main(args=[command, "--help"], prog_name="sightline", standalone_mode=True)


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
    "annotate": annotate, "score": score, "help": help_, "completion": completion,
}  # fmt: skip
OWN_GROUPS: Mapping[str, str] = {"annotate": "judge", "score": "measure"}


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
    return version(program)
