"""What a user can get wrong: every error says what happened, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SightlineError(Exception):
    """Something a person can put right; shown without a traceback."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        said = f"{self.where}: {self.what}" if self.where else self.what
        return f"{said}\n  {self.remedy}" if self.remedy else said

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders; keyword-only arguments need telling how to come back.
        return (_again, (type(self), self.what, self.where, self.remedy))


def _again(kind: type[SightlineError], what: str, where: str, remedy: str) -> SightlineError:
    return kind(what, where=where, remedy=remedy)


class UsageError(SightlineError):
    """The command or call itself is wrong: an unknown name, a parameter that does not exist."""

    exit_code = 2


class MissingPackage(UsageError):
    """An extension needs a package that is not installed."""


class DataError(SightlineError):
    """The data at hand is at fault: a file, a row, an image, a study."""

    exit_code = 3


class ConflictError(DataError):
    """New data contradicts what the study already holds."""


class StudyError(DataError):
    """A study cannot be opened, made or written to."""


class ExtensionError(SightlineError):
    """An extension broke its promise: wrong length, a value out of its range, NaN without a reason."""

    exit_code = 3


def near(name: str, known: Iterable[str]) -> str:
    """A remedy that suggests the known names nearest to a wrong one."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    if close:
        return "Did you mean " + " or ".join(close) + "?"
    if not names:
        return ""
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"There are: {shown}."
