"""Documents and results as one HTML page that needs nothing from elsewhere and runs no script."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.estimate import clean, direction_said
from sightline.rendering import charts
from sightline.rendering.document import Document
from sightline.rendering.shown import Renderable
from sightline.rendering.theme import FONT, css_variables

if TYPE_CHECKING:
    from jinja2 import Environment


def render(document: Document) -> str:
    """A document as a complete HTML page; the same document always gives the same text."""
    date = f"{document.made_at.day} {document.made_at:%B %Y, %H:%M}"
    page = _environment().get_template("report.html.jinja")
    return clean(page.render(report=document, date=date)) + "\n"


def page(result: Renderable, *, whole: bool = True) -> str:
    """A verb's result as a complete HTML document, or as a part of one such as a cell of a notebook."""
    return clean(_environment().get_template("result.html.jinja").render(result=result, whole=whole)) + "\n"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    templates = Path(__file__).parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Both make their markup from escaped parts; all else goes through the template's escaping.
    environment.filters["svg"] = lambda spec: Markup(charts.render(spec))
    environment.filters["table"] = lambda table: Markup(table.to_html())
    environment.globals["style"] = Markup((templates / "style.css").read_text("utf-8"))
    environment.globals["colours"] = Markup(css_variables())
    environment.globals["font"] = Markup(FONT)
    environment.globals["direction_said"] = direction_said
    return environment
