"""The command line: one file a command, which translates, calls a stage and shows what came of it.

Nothing but typer is imported until a command runs, and then only that command: `sightline --help` is there
at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (by default this process's own) and give its exit code."""
    from sightline.cli._app import build
    from sightline.cli._errors import readable_streams

    readable_streams()
    try:
        build()(args=None if arguments is None else list(arguments), prog_name="sightline")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
