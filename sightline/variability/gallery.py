"""Rows of thumbnails with what they are worth together: prompts by variability, one prompt across systems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sightline.estimate import Estimate, clean, shared_decimals
from sightline.rendering.blocks import SHORT_PROMPT, Picture, Row, Rows, meter, parts, picture
from sightline.rendering.shown import Scale, Thumbnail
from sightline.rendering.theme import ACCENT, Colour

MOST_PICTURES = 8
"""Thumbnails in a row."""
MOST_ROWS = 12
"""Rows of one block: with MOST_PICTURES this bounds what a page has to carry."""


@dataclass(frozen=True)
class Shown:
    """The images of a prompt and a system: their thumbnails, how alike they are, and how many are blank."""

    prompt: str
    system: str
    similarity: Estimate
    thumbnails: Sequence[Thumbnail]
    blank: int = 0


def by_prompt(
    shown: Sequence[Shown],
    scale: Scale,
    colours: Mapping[str, Colour],
    among: Sequence[Shown] = (),
    caption: str = "",
) -> Rows:
    """One row per prompt, in the order given, such as the most varied first.

    Rows shown `among` others have the same decimals and as many columns as they.
    """
    return _rows(shown, scale, colours, among, [each.prompt for each in shown], "", caption)


def across_systems(
    shown: Sequence[Shown], scale: Scale, colours: Mapping[str, Colour], caption: str = ""
) -> Rows:
    """One prompt in the systems that answered it: one row per system, in the order given."""
    prompts = {each.prompt for each in shown}
    if len(prompts) != 1:
        raise ValueError(f"one prompt is needed, not {len(prompts)}")
    title = _cut(next(iter(prompts)))
    return _rows(shown, scale, colours, (), [each.system for each in shown], title, caption)


def _rows(
    shown: Sequence[Shown],
    scale: Scale,
    colours: Mapping[str, Colour],
    among: Sequence[Shown],
    titles: Sequence[str],
    title: str,
    caption: str,
) -> Rows:
    decimals = shared_decimals((each.similarity for each in (*shown, *among)), scale.domain)
    widest = max((min(len(each.thumbnails), MOST_PICTURES) for each in (*shown, *among)), default=0)
    rows = [
        _row(each, words, scale, colours, decimals, titled_by_system=bool(title))
        for each, words in zip(shown[:MOST_ROWS], titles, strict=False)
    ]
    left = len(shown) - len(rows)
    if left:
        caption = f"{caption} {left} more {'rows are' if left > 1 else 'row is'} not drawn.".strip()
    return Rows(rows, scale, (max(1, min(widest, 4)), max(1, min(widest, 4))), title, caption)


def _row(
    shown: Shown,
    title: str,
    scale: Scale,
    colours: Mapping[str, Colour],
    decimals: int,
    *,
    titled_by_system: bool,
) -> Row:
    value, interval, n, reason = parts(shown.similarity, decimals)
    colour = colours.get(shown.system, ACCENT)
    return Row(
        title=_cut(title),
        colour="" if colour == ACCENT else colour.name,
        tags=[] if titled_by_system or not shown.system else [("system", shown.system)],
        value=value,
        interval=interval,
        n=n,
        reason=reason,
        meter=meter(shown.similarity, scale),
        pictures=_pictures(shown, colours),
        note=_note(shown),
    )


def _pictures(shown: Shown, colours: Mapping[str, Colour]) -> list[Picture]:
    drawn = shown.thumbnails[:MOST_PICTURES]
    text, whose = clean(shown.prompt).strip()[:120], f" by {shown.system}" if shown.system else ""
    return [
        dataclasses.replace(
            picture(thumbnail, text, colours), alt=f"image {n} of {len(shown.thumbnails)}{whose}: {text}"
        )
        for n, thumbnail in enumerate(drawn, start=1)
    ]


def _note(shown: Shown) -> str:
    """What the row does not show, or shows and must be known."""
    count = len(shown.thumbnails)
    drawn = min(count, MOST_PICTURES)
    missing = sum(1 for thumbnail in shown.thumbnails if thumbnail.data is None)
    said = []
    if drawn < count:
        said.append(f"{drawn} of {count:,} images are drawn.")
    if missing:
        said.append(f"{missing} {'have' if missing > 1 else 'has'} no picture here.")
    if shown.blank:
        said.append(f"{shown.blank} of {count:,} {'are' if shown.blank > 1 else 'is'} blank (one colour).")
    return " ".join(said)


def _cut(text: str) -> str:
    words = clean(text).strip() or "(a prompt without text)"
    return words if len(words) <= SHORT_PROMPT else f"{words[:SHORT_PROMPT]}…"
