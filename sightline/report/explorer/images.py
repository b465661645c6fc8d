"""Pictures as the explorer shows them: small ones made once, large ones as stored where that is safe."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from sightline.errors import DataError, StudyError
from sightline.estimate import clean
from sightline.judging import redrawn
from sightline.pictures import image_size
from sightline.report.store import details
from sightline.study.schema import database
from sightline.study.study import Study

SIZES = (128, 256, 512)
"""Longest sides of thumbnails: few, so that each is made for few addresses."""
STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
    b"GIF8": "image/gif",
}
"""What every browser shows, and nothing that could hold a script."""
LONGEST_LINE = 34
_PLACEHOLDER = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 256 256" width="256" height="256" role="img">'
    '<title>{title}</title><rect width="256" height="256" fill="#8883"/>'
    '<path d="M96 84h64v56H96zM96 132l20-22 14 14 12-10 18 18" fill="none" stroke="#888" stroke-width="3"/>'
    '<path d="M84 152 172 72" stroke="#888" stroke-width="3"/>'
    '<text x="128" y="182" font-family="sans-serif" font-size="13" fill="#888" text-anchor="middle">{lines}'
    "</text></svg>"
)


@dataclass(frozen=True)
class ExplorerPicture:
    """The bytes of a picture; `reason` says why it is only a placeholder."""

    data: bytes
    media_type: str
    reason: str = ""


def thumbnail(study: Study, sha256: str, size: int) -> ExplorerPicture | None:
    """A small WebP of an image of the study, or a placeholder that says why there is none."""
    if _defect(study, sha256) is None:
        return None
    side = next((each for each in SIZES if each >= size), SIZES[-1])
    try:
        return ExplorerPicture(study.files.thumbnail(sha256, side, "WEBP"), "image/webp")
    except DataError as error:
        return _unless_down(error)


def image(study: Study, sha256: str) -> ExplorerPicture | None:
    """An image of the study: its file where a browser can be given it, else drawn again as PNG."""
    if _defect(study, sha256) is None:
        return None
    try:
        data = study.files.read(sha256)
        # A file that claims more pixels than we would decode could take the browser's memory as well.
        image_size(data, sha256)
        media = next((media for start, media in STARTS.items() if data.startswith(start)), None)
        if media is None:
            return ExplorerPicture(redrawn(data, sha256), "image/png")
        return ExplorerPicture(data, media)
    except DataError as error:
        return _unless_down(error)


def _defect(study: Study, sha256: str) -> str | None:
    with database.reading(study.engine) as connection:
        return details.knows_content(connection, sha256)


def _unless_down(error: DataError) -> ExplorerPicture:
    if type(error) is StudyError:
        raise error
    return placeholder(error.what)


def placeholder(reason: str) -> ExplorerPicture:
    """A grey picture that says why there is none."""
    said = clean(reason)
    lines: list[str] = [""]
    for word in said.split():
        if len(lines[-1]) + len(word) >= LONGEST_LINE and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()[:LONGEST_LINE]
    spans = "".join(
        f'<tspan x="128" dy="{17 if n else 0}">{escape(line)}</tspan>' for n, line in enumerate(lines[:4])
    )
    drawn = _PLACEHOLDER.format(title=escape(said), lines=spans)
    header = "".join(letter if " " <= letter <= "~" else "?" for letter in said)[:200]
    return ExplorerPicture(drawn.encode(), "image/svg+xml", header)
