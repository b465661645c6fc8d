"""The program itself: its commands, its version, and how a function becomes a command of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sightline.cli._errors import guarded
from sightline.version import __version__

# The help page, in the order of the work. A test holds each line against the command's own docstring.
COMMANDS: Mapping[str, str] = {
    "demo": "See the whole flow work on a sample study.",
    "init": "Make an empty study with a commented settings file.",
    "status": "Tell what is in a study, and what comes next.",
    "import": "Bring prompts, images, judgements or truth into a study.",
    "export": "Write tables of a study to files, or copy it whole.",
    "check": "Check the data: duplicates, gaps, blank images and more.",
    "select": "Choose a few prompts that stand for many.",
    "suite": "Make prompts that test one skill.",
    "rephrase": "Word prompts anew; what is relevant stays the same.",
    "generate": "Let a generator draw the prompts of a study.",
    "bridge": "Fit a search engine's eye on your own captioned images.",
    "retrieve": "Let a search engine answer the prompts of a study.",
    "pool": "Gather the images that people are to judge for each prompt.",
    "annotate": "Let people judge images, in a browser or on sheets.",
    "truth": "Settle votes into truth, and tell how far people agree.",
    "score": "Compute automatic measures of a study or of image files.",
    "variability": "Tell how alike a system's images of one prompt are.",
    "wording": "Tell what in the wording goes with variability.",
    "predict": "Foretell how hard prompts are, and tell how well that works.",
    "trust": "Tell how well each measure agrees with people.",
    "compare": "Tell which system is better, and how sure that is.",
    "gate": "Fail a build when a new system falls below a baseline.",
    "queries": "Tell what goes with a query being hard.",
    "report": "Write the findings as one self-contained HTML page.",
    "reproduce": "Obtain a paper's figures anew, and hold them against print.",
    "cache": "Show what is kept of computed things, or let go of it.",
    "list": "List every measure, layout, rule and other extension.",
}
TAKEN_BY_PYTHON = ("import", "list")
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

Function = Callable[..., Any]
_built: dict[str, Any] = {}


class OneAtATime(TyperGroup):
    """Commands by name, each imported when it is called; loading all for a help page would take longer."""

    def __init__(self, **told: Any) -> None:
        super().__init__(**told)
        # Misspelt commands are compared with these names.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        import_module(f"{__package__}.{cmd_name}{'_' if cmd_name in TAKEN_BY_PYTHON else ''}")
        return _built[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _typer(**more: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
        **more,
    )


def command(name: str) -> Callable[[Function], Function]:
    """Make a function a command; an exit code is what it returns, 0 where it returns nothing."""

    def add(function: Function) -> Function:
        alone = _typer()
        alone.command(name)(guarded(function))
        _built[name] = typer.main.get_command(alone)
        return function

    return add


def build() -> Any:
    """The whole command line."""
    app = _typer(
        cls=OneAtATime,
        no_args_is_help=True,
        epilog="Start with: sightline demo. With your own: sightline import my-study FOLDER.",
    )
    app.callback()(sightline)
    return typer.main.get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sightline {__version__}")
        raise typer.Exit


def sightline(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The workbench for judging text-to-image systems, generators and search engines alike."""
