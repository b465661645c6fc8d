"""Report: one self-contained page that says what the study found, and how sure that is."""

from __future__ import annotations

import os
import platform
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from sightline.errors import StudyError
from sightline.measures.by_system import as_stored
from sightline.rendering.document import Document
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.report.album import Album
from sightline.report.contents import PARTS, contents
from sightline.report.headline import headline
from sightline.report.making import Making
from sightline.report.sections import facts
from sightline.report.settings import report_settings
from sightline.report.steps import next_steps, stale
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import sources
from sightline.verbs import SEED, option, verb
from sightline.version import __version__


@dataclass(frozen=True)
class Report(Result):
    """Where the page is, and what it holds."""

    path: Path
    document: Document

    @property
    def sentence(self) -> str:
        size = self.path.stat().st_size / 1e6
        return f"The report: {self.path} ({size:.1f} MB, one file, nothing loaded from elsewhere)"

    def facts(self) -> dict[str, str]:
        return {"path": str(self.path), "answer": self.document.answer}

    def tables(self) -> dict[str, Table]:
        rows = [(each.title, each.lead) for each in self.document.sections]
        return {"sections": Table([Column("section"), Column("finding")], rows, self.document.title)}


@verb("share")
def report(
    study: Study,
    to: Annotated[
        str | Path | None, option("Write to this file.", metavar="FILE", shown="report.html in the study")
    ] = None,
    *,
    open_: Annotated[bool, option("Open it in a browser.")] = False,
    seed: Annotated[int, SEED] = 0,
) -> Report:
    """Write the findings as one self-contained HTML page.

    It shows what the study holds and computes nothing: what is out of date is said with the command that
    refreshes it. Its sections, the tags to break down by and the room for pictures are set in study.toml
    ([report]).
    """
    from sightline.rendering.html import render

    if not reading.counts(study)["image"]:
        reading.need_prompts(study)
    path = Path(to) if to is not None else study.home / "report.html"
    document = build(study, seed=seed)
    page = render(document)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=".html")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise StudyError(f"cannot write the report ({error.strerror})", where=str(path)) from None
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return Report(path, document)


def build(study: Study, *, seed: int = 0) -> Document:
    """The report as data, of what the study holds: nothing is measured, fitted or written.

    What the study does not hold yet is omitted and named as a next step; what is out of date is said, with
    the command that refreshes it.
    """
    with reading.remembering(), as_stored():
        return _built(study, seed)


def _built(study: Study, seed: int) -> Document:
    settings = report_settings(study, PARTS)
    making = Making(study, settings, Album(study, settings.megabytes), seed)
    answer, more = headline(making.leading, making.votes)
    imported = [f"import {row['importer']} (number {row['id']}, {row['at']})" for row in sources(study)]
    return Document(
        title=str(study.settings.get("study", {}).get("name") or study.name),
        answer=answer or _holds(study),
        more=more,
        made_at=datetime.now(UTC),
        stale=stale(study),
        sections=contents(making),
        facts=facts(study),
        next_steps=next_steps(study),
        commands=[*imported, f"sightline report {shlex.quote(str(study.home))}"],
        provenance=_provenance(study, seed),
    )


def _holds(study: Study) -> str:
    """What a study without anything to compare holds, in a sentence."""
    counts = reading.counts(study)
    if not counts["prompt"]:
        about = f"{counts['image']:,} images that answer no prompt are here"
        return f"{about}, with {counts['truth']:,} published truths." if counts["truth"] else f"{about}."
    if counts["truth"] and not counts["answer"]:
        return f"{counts['truth']:,} published truths about {counts['prompt']:,} prompts are here."
    held = (
        f"{counts['answer']:,} answers of {counts['system']} systems to {counts['prompt']:,} prompts are here"
    )
    if counts["truth"] or counts["judgement"]:
        return f"{held}; which system is better is not known."
    return f"{held}, but no judgements yet: which system is better is not known."


def _provenance(study: Study, seed: int) -> list[Table]:
    import numpy
    import polars

    versions = [
        ("sightline", __version__),
        ("python", platform.python_version()),
        ("numpy", numpy.__version__),
        ("polars", polars.__version__),
    ]
    rules = [
        (
            str(row["question"]),
            f"{row['rule']}, screened by {row['screening'] or 'no rule'}, computed {row['at']}",
        )
        for row in reading.settlements(study).iter_rows(named=True)
    ]
    measures = [
        (str(row["measure"]), f"version {row['version']}, identity {str(row['identity'])[:16]}")
        for row in reading.measures(study).iter_rows(named=True)
    ]
    parts: Sequence[tuple[str, str, str, Sequence[tuple[str, str]]]] = (
        ("Versions", "package", "version", versions),
        ("Seeds", "of", "seed", [("comparison", str(seed))]),
        ("Truth", "question", "rule", rules),
        ("Measures", "measure", "identity", measures),
    )
    return [
        Table([Column("name", first), Column("value", second)], rows, title)
        for title, first, second, rows in parts
        if rows
    ]
