"""What to say of data whose layout is not known."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from sightline import registry
from sightline.data.sources import TABLES, Source
from sightline.errors import DataError, near
from sightline.extension import Extension


def unknown_layout(source: Source, warnings: Sequence[str]) -> DataError:
    """What is wrong with a source whose layout no importer knows, and the options that could help."""
    known = [each.spec for each in registry.everything("importer") if isinstance(each, Extension)]
    looked = "\n".join([*(f"    {spec.name}: {spec.meaning}" for spec in known), *warnings])
    what = "its layout is not known"
    hint = "Say which it is with --format NAME"
    if source.is_table():
        columns = [name for name in source.header(source.the_file()) if name]
        what = f"no importer knows a table with the columns {', '.join(columns)}"
        wanted = ("prompt", "image", "system", "caption", "question", "value", "annotator", "measure")
        close = [f"{ours}={theirs}" for theirs in columns for ours in _close(theirs, wanted, columns)]
        if close and not warnings:
            pairs = " ".join(f"--column {shlex.quote(pair)}" for pair in close)
            remedy = f"Name the columns: {pairs}. All layouts: sightline list importer"
            return DataError(what, where=str(source.path), remedy=remedy)
        hint = "Name the columns: " + " ".join(f"--column {pair}" for pair in close or ["prompt=THEIRS"])
    elif not source.is_file:
        tables = [file for file in source.files() if file.lower().endswith(TABLES)]
        if tables:
            hint = f"Import a file of it, for example {source.path / tables[0]}"
        elif not source.folders() and not tables:
            what = "there is nothing in this folder that could be imported"
    return DataError(what, where=str(source.path), remedy=f"{hint}. Looked for:\n{looked}")


def _close(theirs: str, wanted: Iterable[str], columns: Sequence[str]) -> list[str]:
    hint = near(theirs, [name for name in wanted if name not in columns])
    return [hint.removeprefix("Did you mean ").rstrip("?").split(" or ")[0]] if "Did you mean" in hint else []
