"""What a database says, as what a user can do."""

from __future__ import annotations

import sqlite3

from sightline.errors import StudyError


def from_driver(error: BaseException | None) -> bool:
    """Whether a database's driver raised this."""
    return isinstance(error, sqlite3.Error) or type(error).__module__.startswith("psycopg")


def explanation(error: BaseException | None, where: str, seconds: float) -> StudyError | None:
    """What to say of an error of a driver, which waited so long for a lock; None of any other error."""
    if not from_driver(error):
        return None
    said = str(error).strip()
    low = said.lower()
    if "readonly" in low or "read-only" in low:
        what, remedy = "the study cannot be written to", "Check the disk and your permissions, or copy it."
    elif "locked" in low or "lock timeout" in low:
        what = f"another process has been writing to the study for {seconds:g} seconds"
        remedy = "Wait until it is done and run this again; nothing was changed."
    elif ("disk" in low and "full" in low) or "no space left" in low:
        what, remedy = "the disk is full", "Free some space and run this again; nothing was changed."
    elif "not a database" in low or "malformed" in low:
        what, remedy = f"the study's database is damaged ({said})", "Restore it from a copy."
    elif "foreign key constraint" in low:
        what = f"the study was changed meanwhile: what this refers to is gone ({said.splitlines()[0]})"
        remedy = "Run it again; nothing was changed."
    elif "password" in low:
        what = f"the database refuses the password: {said}"
        remedy = "Give it in the environment (PGPASSWORD) or in ~/.pgpass; study.toml never holds it."
    elif "unable to open" in low:
        what, remedy = "the study's database cannot be opened", "Check its folder and your permissions."
    elif "too many clients" in low or "connection slots" in low:
        what = f"the database takes no more connections: {said}"
        remedy = "Lower pool_size in [store] of study.toml, raise max_connections, or put PgBouncer in front."
    elif any(each in low for each in ("terminating connection", "closed the connection", "connection is")):
        what = f"the connection to the database was lost: {said.splitlines()[0]}"
        remedy = "Run it again: what was not confirmed was not changed."
    elif any(kind.__name__ == "OperationalError" for kind in type(error).__mro__):
        what, remedy = f"the database does not answer: {said}", "Check its address and that it is running."
    else:
        return None
    return StudyError(what, where=where, remedy=remedy)
