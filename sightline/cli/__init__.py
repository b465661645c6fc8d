"""The command line: commands made from the verbs, which parse words, call a verb and show its result.

Nothing heavy is imported until a command runs, and then only what that command needs.
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
