"""Errors as messages for people and exit codes for scripts."""

from __future__ import annotations

import errno
import functools
import io
import os
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any

import click

from sightline.errors import DataError, SightlineError

STOPPED = 130
BROKEN_PIPE = 141
UNEXPECTED = 70
_STUDY = re.compile(r"(?<![-\w])STUDY(?![-\w])")

_REMEDIES = {
    errno.ENOSPC: "Free some space and run this again.",
    errno.EDQUOT: "Free some space and run this again.",
    errno.EACCES: "Check your permissions.",
    errno.EPERM: "Check your permissions.",
    errno.EROFS: "The disk is read-only: choose a place where you may write.",
    errno.ENOENT: "Check the path.",
    errno.EISDIR: "Name a file.",
    errno.ENOTDIR: "Name a folder.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n), or use --workers 1.",
}


class Stopped(SightlineError):
    """The user pressed Ctrl-C."""

    exit_code = STOPPED


def guarded(function: Callable[..., Any]) -> Callable[..., None]:
    """The command with errors shown as messages with an exit code, without a traceback."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            code = function(*args, **kwargs)
            sys.stdout.flush()
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except BrokenPipeError:
            # The reader closed the pipe. The interpreter flushes once more at exit and must not fail.
            _redirect_to_null()
            code = BROKEN_PIPE
        except KeyboardInterrupt as error:
            usual = "Stopped. What was done is kept; run the same command again to resume."
            code = report(Stopped(str(error) or usual), prefix="")
        except Stopped as error:
            code = report(error, prefix="")
        except SightlineError as error:
            code = report(_at(error, kwargs.get("study")))
        except OSError as error:
            code = report(_of_the_system(error))
        except MemoryError:
            code = report(
                DataError("there is not enough memory", remedy="Close other programs, or use --workers 1.")
            )
        except Exception as error:
            code = _unexpected(error)
        if code:
            raise SystemExit(int(code))

    return run


def _at(error: SightlineError, address: Any) -> SightlineError:
    """The error with the study that the command was given in the commands of its remedy."""
    if isinstance(address, str):
        error.remedy = _STUDY.sub(lambda _: shlex.quote(address), error.remedy)
    return error


def report(error: SightlineError, prefix: str = "Error: ") -> int:
    """Print an error to standard error, and return its exit code."""
    from sightline.estimate import clean

    # File names and prompts may hold anything, also terminal control characters.
    click.echo(clean(f"{prefix}{error}"), err=True)
    return error.exit_code


def readable_streams() -> None:
    """Replace characters that the terminal cannot show instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _of_the_system(error: OSError) -> SightlineError:
    where = str(error.filename) if error.filename is not None else ""
    what = error.strerror or str(error) or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0, "Check the file or disk and run this again.")
    return DataError(what[:1].lower() + what[1:], where=where, remedy=remedy)


def _unexpected(error: Exception) -> int:
    if os.environ.get("SIGHTLINE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
        return UNEXPECTED
    from sightline.estimate import clean

    text = f"{type(error).__name__}: {error}".rstrip(": ")
    click.echo(
        clean(
            f"Sorry, Sightline met something it was not prepared for ({text}).\n"
            "  This is our mistake. SIGHTLINE_DEBUG=1 shows where it happened; please report it with that."
        ),
        err=True,
    )
    return UNEXPECTED


def _redirect_to_null() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (io.UnsupportedOperation, ValueError):
        pass  # standard output is no file here, so nothing is flushed into it at the end
    finally:
        os.close(nowhere)
