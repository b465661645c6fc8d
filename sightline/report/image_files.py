"""Charts as files: each as SVG and PNG, and a page that shows them all with their prompts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.errors import StudyError
from sightline.rendering import charts
from sightline.rendering.blocks import Block, Figure, Section
from sightline.rendering.charts import Spec
from sightline.rendering.document import Document, NextStep
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import CARD, INK, MUTED
from sightline.study.study import Study

PAGE = "index.html"
SCALE = 2.0
"""Pixels of a PNG for each of the drawing's own: sharp in print and on fine screens."""


@dataclass(frozen=True)
class Drawing:
    """A chart with the name of its file, and the title and subtitle it has on its own."""

    name: str
    title: str
    subtitle: str
    figure: Figure


@dataclass(frozen=True)
class Figures(Result):
    """Blocks for a page, the charts among them, and the files that were written, the page first.

    `notes` say what was omitted and why.
    """

    blocks: Sequence[Block]
    drawings: Sequence[Drawing]
    notes: Sequence[str] = ()
    files: Sequence[Path] = ()
    variability: Sequence[Block] = ()

    @property
    def sentence(self) -> str:
        return f"{len(self.drawings):,} charts: {self.files[0]}" if self.files else ""

    def facts(self) -> Mapping[str, Any]:
        return {"files": [str(file) for file in self.files]}

    def figures(self) -> dict[str, Figure]:
        return {each.name: each.figure for each in self.drawings}

    def tables(self) -> dict[str, Table]:
        rows = [(file_name(each.name), each.title, each.subtitle) for each in self.drawings]
        columns = [Column("file", "files (.svg, .png)"), Column("title"), Column("subtitle", "of")]
        return {"": Table(columns, rows, "Charts")}


def write_figures(study: Study, drawn: Figures, folder: Path) -> list[Path]:
    """Write every chart as SVG and PNG on a light ground, and the page; gives the files, the page first."""
    import vl_convert

    from sightline.rendering.html import render

    made = {PAGE: render(_page(study, drawn)).encode()}
    for drawing in drawn.drawings:
        svg = charts.render(standing_alone(drawing), "light")
        made[f"{file_name(drawing.name)}.svg"] = svg.encode()
        made[f"{file_name(drawing.name)}.png"] = vl_convert.svg_to_png(svg, scale=SCALE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in made.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise StudyError(f"cannot write the charts ({error.strerror})", where=str(folder)) from None
    return [folder / name for name in made]


def standing_alone(drawing: Drawing) -> Spec:
    """A chart that needs no page around it: with its title, and a ground of its own."""
    title = {
        "text": drawing.title,
        "subtitle": drawing.subtitle,
        "subtitleColor": MUTED.light,
        "subtitleFontSize": 12,
        "subtitlePadding": 6,
        "anchor": "start",
        "color": INK.light,
        "fontSize": 16,
        "fontWeight": 600,
        "offset": 18,
    }
    room = {"left": 20, "top": 20, "right": 28, "bottom": 20}
    return {**drawing.figure.wide, "title": title, "background": CARD.light, "padding": room}


def file_name(name: str) -> str:
    """A name that every file system accepts."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "picture"


def _page(study: Study, drawn: Figures) -> Document:
    said = "The prompts by how hard they are, what was predicted for them, and the truth."
    lead = " ".join([said, *drawn.notes])
    sections = [Section("prediction", "Prediction", lead, drawn.blocks)] if drawn.blocks else []
    if drawn.variability:
        about = "How alike the images of one prompt are, shown by the images themselves."
        sections.append(Section("variability", "Variability", about, drawn.variability))
    return Document(
        title=str(study.settings.get("study", {}).get("name") or study.name),
        answer="How hard are the prompts, and how well was that predicted?",
        made_at=datetime.now(UTC),
        sections=sections,
        next_steps=[NextStep("See the whole study.", f"sightline report {shlex.quote(str(study.home))}")],
    )
