"""Pictures as files: each chart as SVG and PNG, and a page that shows them all with their prompts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.errors import StudyError
from sightline.reporting import charts
from sightline.reporting import document as doc
from sightline.reporting.charts import Spec
from sightline.reporting.theme import CARD, INK, MUTED
from sightline.store.study import Study

if TYPE_CHECKING:
    from sightline.stages.prediction_pictures import Drawing, Pictured

PAGE = "index.html"
SCALE = 2.0
"""Pixels of a PNG for each of the drawing's own: sharp in print and on fine screens."""


def write_pictures(study: Study, found: Pictured, folder: Path) -> list[Path]:
    """Write every chart as SVG and PNG on a light ground, and the page; gives the files, the page first."""
    import vl_convert

    from sightline.reporting.html import render

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
    said = "The prompts by how hard they are, what was foretold of them, and what came true."
    whole = doc.NextStep("see the whole study", f"sightline report {study.home}")
    return doc.Report(
        title=title,
        answer="How hard are the prompts, and how well was that foretold?",
        made_at=datetime.now(UTC),
        study=str(study.home),
        prediction=doc.Prediction(
            doc.Scale("difficulty"), (), summary=" ".join([said, *found.notes]), pictures=found.blocks
        ),
        next_steps=[whole],
    )
