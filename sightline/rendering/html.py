"""Documents and results as one HTML page that needs nothing from elsewhere and runs one script: its own."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.estimate import FEW, clean, direction_said
from sightline.rendering import charts
from sightline.rendering.document import Document
from sightline.rendering.shown import Renderable
from sightline.rendering.theme import css_variables

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


def policy(script: str) -> str:
    """The Content-Security-Policy of a page that may run this script, and nothing else from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _labels(names: Sequence[str], limit: int) -> dict[str, str]:
    """Short labels that a line may end in after the signs that names of systems are joined by."""
    short = charts.short_names(names, limit)
    return {name: re.sub(r"([/_:.…])", "\\1\u200b", label) for name, label in short.items()}


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
    script = (templates / "page.js").read_text("utf-8")
    environment.globals["script"] = Markup(script)
    environment.globals["policy"] = Markup(policy(script))
    environment.globals["colours"] = Markup(css_variables())
    environment.filters["labels"] = _labels
    environment.globals["direction_said"] = direction_said
    environment.globals["few"] = FEW
    return environment
