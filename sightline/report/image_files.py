"""Pictures as files: each chart as SVG and PNG, and a page that shows them all with their prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sightline.errors import StudyError
from sightline.rendering import charts
from sightline.rendering import document as doc
from sightline.rendering.blocks import Block, Figure
from sightline.rendering.charts import Spec
from sightline.rendering.shown import Scale
from sightline.rendering.theme import CARD, INK, MUTED
from sightline.study.study import Study

PAGE = "index.html"
SCALE = 2.0
"""Pixels of a PNG for each of the drawing's own: sharp in print and on fine screens."""


@dataclass(frozen=True)
class Drawing:
    """A chart with the name of its file, and the title and the line below it where it stands alone."""

    name: str
    title: str
    below: str
    figure: Figure


@dataclass(frozen=True)
class Pictured:
    """Blocks for a page, the charts among them, and what was left out and why, one sentence each."""

    blocks: Sequence[Block]
    drawings: Sequence[Drawing]
    notes: Sequence[str]
    files: Sequence[Path] = field(default=())


def write_pictures(study: Study, found: Pictured, folder: Path) -> list[Path]:
    """Write every chart as SVG and PNG on a light ground, and the page; gives the files, the page first."""
    import vl_convert

    from sightline.rendering.html import render

    made = {PAGE: render(_page(study, found)).encode()}
    for drawing in found.drawings:
        svg = charts.render(standing_alone(drawing), "light")
        made[f"{file_name(drawing.name)}.svg"] = svg.encode()
        made[f"{file_name(drawing.name)}.png"] = vl_convert.svg_to_png(svg, scale=SCALE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in made.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise StudyError(f"cannot write the pictures ({error.strerror})", where=str(folder)) from None
    return [folder / name for name in made]


def standing_alone(drawing: Drawing) -> Spec:
    """A chart that needs no page around it: with its title, and a ground of its own."""
    title = {
        "text": drawing.title,
        "subtitle": drawing.below,
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
    """A name that every file system takes."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "picture"


def _page(study: Study, found: Pictured) -> doc.Report:
    """The pictures as a report of one section."""
    title = str(study.settings.get("study", {}).get("name") or study.name)
    said = "The prompts by how hard they are, what was predicted of them, and what came true."
    whole = doc.NextStep("see the whole study", f"sightline report {study.home}")
    return doc.Report(
        title=title,
        answer="How hard are the prompts, and how well was that predicted?",
        made_at=datetime.now(UTC),
        study=str(study.home),
        prediction=doc.Prediction(
            Scale("difficulty"), (), summary=" ".join([said, *found.notes]), pictures=found.blocks
        ),
        next_steps=[whole],
    )
