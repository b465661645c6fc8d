"""Errors that a user can correct: each says what happened, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import accumulate

MOST_LISTED = 240
"""Letters of a list of names in a remedy."""


class SightlineError(Exception):
    """An error that a user can correct; shown without a traceback."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        message = f"{self.where}: {self.what}" if self.where else self.what
        return f"{message}\n  {self.remedy}" if self.remedy else message

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are pickled between processes, which keyword-only arguments do not survive by themselves.
        return (_restore, (type(self), self.what, self.where, self.remedy))


def _restore(kind: type[SightlineError], what: str, where: str, remedy: str) -> SightlineError:
    return kind(what, where=where, remedy=remedy)


class UsageError(SightlineError):
    """The command or call itself is wrong: an unknown name, a parameter that does not exist."""

    exit_code = 2


class MissingPackage(UsageError):
    """An extension needs a package that is not installed."""


class DataError(SightlineError):
    """The data is wrong: a file, a row, an image, a study."""

    exit_code = 3


class ConflictError(DataError):
    """New data contradicts what the study already holds."""


class StudyError(DataError):
    """A study cannot be opened, created or written to."""


class ExtensionError(SightlineError):
    """An extension violates its protocol: wrong length, a value out of range, NaN without a reason."""

    exit_code = 3


def near(name: str, known: Iterable[str]) -> str:
    """A remedy that suggests the known names most similar to a wrong one."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    if close:
        return "Did you mean " + " or ".join(close) + "?"
    if not names:
        return ""
    # Names may be as long as a measure with all its parameters: a few lines of them are read, not more.
    ends = accumulate(len(each) + 2 for each in names)
    shown = max(1, sum(end <= MOST_LISTED for end in ends))
    more = f" and {len(names) - shown} more" if shown < len(names) else ""
    return f"There are: {', '.join(names[:shown])}{more}."
