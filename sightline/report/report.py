"""Report: one self-contained page that says what the study found, and how sure that is."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from sightline.comparison.compare import Comparison
from sightline.comparison.preferences import Preferences
from sightline.errors import DataError, StudyError
from sightline.rendering.blocks import Section
from sightline.rendering.document import Document
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import system_colours
from sightline.report import sections
from sightline.report.prompt_cards import gallery_section, prompts_section
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
    """Write the findings as one self-contained HTML page."""
    from sightline.rendering.html import render

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
    """The report as data; what the study does not hold yet is omitted and named as a next step."""
    with reading.remembering():
        return _built(study, seed)


def _built(study: Study, seed: int) -> Document:
    # Checks compute measures of their own, which other sections show: they come first.
    checked = _or_none(lambda: sections.checks(study))
    asked = [question for _, question in reading.questions(study)]
    compared = sections.comparisons(study, asked, seed)
    preferred = sections.preferred(study)
    head = compared[0] if compared else None
    named = [each.system for comparison in compared for each in comparison.systems]
    named += [name for each in preferred for name in each.systems if name not in named]
    colours = system_colours(named or reading.systems(study)["system"].to_list())
    made: list[Section | None] = [
        *sections.rankings(compared, asked, colours),
        *sections.preference_sections(preferred, colours, head is None),
    ]
    if head is not None:
        made += sections.breakdowns(study, head, colours)
        made.append(prompts_section(study, head, colours))
    else:
        made.append(gallery_section(study, colours))
    made += [
        _or_none(lambda: sections.variability(study, colours)),
        _or_none(lambda: sections.measure_trust(study)),
        sections.prediction(study, asked, colours, seed),
        sections.measures(study),
        sections.query_analysis(study),
        sections.annotators(study, asked),
        checked,
        sections.gaps(study),
    ]
    imported = [f"import {row['importer']} (number {row['id']}, {row['at']})" for row in sources(study)]
    return Document(
        title=str(study.settings.get("study", {}).get("name") or study.name),
        answer=_answer(head or next(iter(preferred), None), study),
        made_at=datetime.now(UTC),
        sections=[each for each in made if each is not None],
        facts=sections.facts(study),
        next_steps=sections.next_steps(study),
        commands=[*imported, f"sightline report {study.home}"],
        provenance=_provenance(study, seed),
    )


def _answer(head: Comparison | Preferences | None, study: Study) -> str:
    """The whole study in a sentence or two."""
    if head is not None:
        return head.sentence
    counts = reading.counts(study)
    if counts["truth"] and not counts["answer"]:
        return f"{counts['truth']:,} published truths about {counts['prompt']:,} prompts are here."
    return (
        f"{counts['answer']:,} answers of {counts['system']} systems to {counts['prompt']:,} prompts are "
        "here, but no judgements yet: which system is better is not known."
    )


def _or_none(make: Callable[[], Section]) -> Section | None:
    """A section, or None where the study lacks what it needs."""
    try:
        return make()
    except DataError:
        return None


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
