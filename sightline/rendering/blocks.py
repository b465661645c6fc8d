"""The few kinds of block a section is set from; each has a macro of the same name in the templates."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sightline.estimate import (
    Estimate,
    clean,
    decimals_for,
    format_interval,
    format_n,
    format_number,
    is_absent,
    shared_decimals,
)
from sightline.records import Finding
from sightline.rendering.charts import NARROW, WIDE, Spec
from sightline.rendering.shown import Scale, ShownPrompt, Thumbnail
from sightline.rendering.tables import Table
from sightline.rendering.theme import ACCENT, Colour

SHORT_PROMPT = 260
LONGEST_PROMPT = 4000
THUMBNAILS_SHOWN = 12
LONGEST_OPEN_TABLE = 12

_PICTURE_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


@dataclass(frozen=True)
class Heading:
    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Figure:
    """A chart drawn twice: for a page and for a phone, of which the style sheet shows one.

    Without a narrow drawing the wide one serves both.
    """

    kind: ClassVar[str] = "figure"
    wide: Spec
    narrow: Spec | None
    caption: str = ""
    legend: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(
        cls, draw: Callable[[int], Spec], caption: str = "", legend: Sequence[tuple[str, str]] = ()
    ) -> Figure:
        """The chart that a function draws for a width, in both widths."""
        return cls(draw(WIDE), draw(NARROW), caption, legend)


@dataclass(frozen=True)
class Note:
    kind: ClassVar[str] = "note"
    text: str


@dataclass(frozen=True)
class Grid:
    """A table; with a summary it is folded away under these words."""

    kind: ClassVar[str] = "grid"
    table: Table
    summary: str = ""

    @classmethod
    def of(cls, table: Table, summary: str = "The numbers") -> Grid:
        """A short table stands open; a long one is folded."""
        rows = len(table.rows)
        return cls(table, f"{summary} ({rows:,} rows)" if rows > LONGEST_OPEN_TABLE else "")


@dataclass(frozen=True)
class Picture:
    source: str
    alt: str
    reason: str
    system: str
    colour: str
    value: str
    support: str


@dataclass(frozen=True)
class Card:
    """One prompt as it is shown: its text (shortened, with the rest folded), value, tags, pictures."""

    text: str
    rest: str
    left_out: int
    value: str
    interval: str
    n: str
    reason: str
    meter: tuple[float, float, float] | None
    tags: Sequence[tuple[str, str]]
    pictures: Sequence[Picture]
    more_pictures: Sequence[Picture]
    columns: tuple[int, int]
    note: str
    truth: str = ""
    truth_at: float | None = None
    rough: bool = False


@dataclass(frozen=True)
class Cards:
    """Prompts under each other; `paired`, two and two side by side where the page is wide."""

    kind: ClassVar[str] = "cards"
    cards: Sequence[Card]
    scale: Scale | None
    paired: bool = False


@dataclass(frozen=True)
class Gallery:
    """Prompts with their images, each folded under its text: many can be looked through and searched."""

    kind: ClassVar[str] = "gallery"
    cards: Sequence[Card]
    scale: Scale | None
    label: str


@dataclass(frozen=True)
class HeatCell:
    """A value with its n and how strongly it is coloured, from 0 to 1; or the reason why there is none."""

    value: str
    n: str = ""
    strength: float = 0.0
    reason: str = ""
    few: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A table whose cells are coloured by their value; a wide one scrolls under its row headings."""

    kind: ClassVar[str] = "heat_map"
    title: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell]]]
    caption: str = ""


@dataclass(frozen=True)
class Matrix:
    """Every two things compared, however many: a square for each pair, with what it says on pointing at it.

    Rows and columns are in one order; `cells` hold the state of the row against the column ("above", "below",
    "level", "untested", or "" on the diagonal), a number where there is room, and what it says. `said` is
    what a screen reader says of the whole.
    """

    kind: ClassVar[str] = "matrix"
    names: Sequence[str]
    cells: Sequence[Sequence[tuple[str, str, str]]]
    said: str
    legend: Sequence[tuple[str, str]]
    caption: str = ""


@dataclass(frozen=True)
class Findings:
    kind: ClassVar[str] = "findings"
    findings: Sequence[Finding]


@dataclass(frozen=True)
class PlacedPicture:
    """A picture on a map: where its middle lies, in per cent of the map's width and height, and its badge."""

    picture: Picture
    left: float
    top: float
    badge: str


@dataclass(frozen=True)
class Map:
    """Pictures laid out in a plane, each a square of `side` per cent of the width.

    `shape` is width / height. The legend gives a letter, a name and a colour; a map of many pictures scrolls
    on a phone instead of shrinking them past recognition.
    """

    kind: ClassVar[str] = "map"
    label: str
    pictures: Sequence[PlacedPicture]
    side: float
    shape: float
    caption: str = ""
    legend: Sequence[tuple[str, str, str]] = ()
    scrolls: bool = False


@dataclass(frozen=True)
class Row:
    """One row of pictures: whose they are (a prompt or a system) and what they are worth together."""

    title: str
    colour: str
    tags: Sequence[tuple[str, str]]
    value: str
    interval: str
    n: str
    reason: str
    meter: tuple[float, float, float] | None
    pictures: Sequence[Picture]
    note: str


@dataclass(frozen=True)
class Rows:
    """Rows of pictures set under each other, all with the same columns; `title` is what they share."""

    kind: ClassVar[str] = "rows"
    rows: Sequence[Row]
    scale: Scale | None
    columns: tuple[int, int]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Overlay:
    """Two pictures and the one made of both, the first in green and the second in magenta."""

    kind: ClassVar[str] = "overlay"
    title: str
    first: Picture
    second: Picture
    both: Picture
    value: str
    what: str
    caption: str = ""
    note: str = ""


Block = Heading | Note | Figure | Grid | Cards | Gallery | HeatMap | Matrix | Findings | Map | Rows | Overlay


@dataclass(frozen=True)
class Section:
    """A section of the page: an anchor, a heading, a sentence that says it all, and blocks."""

    anchor: str
    title: str
    lead: str
    blocks: Sequence[Block]
    short: str = ""
    """What the contents call it, where the title is long."""


def cards(
    prompts: Sequence[ShownPrompt],
    scale: Scale | None,
    colours: Mapping[str, Colour],
    among: Sequence[ShownPrompt] = (),
) -> Cards:
    """Prompts made ready for the page, with the same decimals as the prompts they are shown `among`."""
    together = [*prompts, *among]
    domain = scale.domain if scale else None
    of_means = shared_decimals((prompt.mean for prompt in together), domain)
    of_pictures = shared_decimals((shown.value for prompt in together for shown in prompt.thumbnails), domain)
    return Cards([_card(prompt, scale, colours, of_means, of_pictures) for prompt in prompts], scale)


def gallery(
    prompts: Sequence[ShownPrompt], scale: Scale | None, colours: Mapping[str, Colour], label: str
) -> Gallery:
    """The same prompts, each folded under its text."""
    return Gallery(cards(prompts, scale, colours).cards, scale, label)


def _card(
    prompt: ShownPrompt,
    scale: Scale | None,
    colours: Mapping[str, Colour],
    of_means: int,
    of_pictures: int,
) -> Card:
    text = clean(prompt.text).strip() or "(a prompt without text)"
    short, rest = _shortened(text)
    pictures = [picture(thumbnail, text, colours, of_pictures) for thumbnail in prompt.thumbnails]
    value, interval, n, reason = parts(prompt.mean, of_means)
    truth = None if prompt.truth is None else meter(Estimate(prompt.truth), scale)
    return Card(
        text=short,
        rest=rest[:LONGEST_PROMPT],
        left_out=max(0, len(rest) - LONGEST_PROMPT),
        value=value,
        interval=interval,
        n=n,
        reason=reason,
        meter=meter(prompt.mean, scale),
        tags=prompt.tags,
        pictures=pictures[:THUMBNAILS_SHOWN],
        more_pictures=pictures[THUMBNAILS_SHOWN:],
        columns=picture_columns(min(len(pictures), THUMBNAILS_SHOWN)),
        note=prompt.note,
        truth="" if prompt.truth is None else format_number(prompt.truth, decimals=of_means),
        truth_at=None if truth is None else truth[2],
        rough=prompt.mean is not None and prompt.mean.rough,
    )


def picture_columns(count: int) -> tuple[int, int]:
    """Pictures in a row on a page and on a phone: as even as can be, so that none is left alone."""

    def evenest(*choices: int) -> int:
        return min(choices, key=lambda columns: (-count % columns, -columns))

    return count if count <= 7 else evenest(4, 5, 6, 7), 3 if count <= 3 else evenest(3, 4)


def picture(
    thumbnail: Thumbnail, prompt: str, colours: Mapping[str, Colour], decimals: int | None = None
) -> Picture:
    """A thumbnail as a data address; what is no picture is shown as missing, never passed to the browser."""
    source, reason = "", thumbnail.reason
    if thumbnail.data:
        kind = picture_type(thumbnail.data)
        if kind:
            source = f"data:{kind};base64,{base64.b64encode(thumbnail.data).decode('ascii')}"
        else:
            reason = reason or "not a picture a browser can show"
    whose = f"{thumbnail.system}: " if thumbnail.system else ""
    value, interval, n, _ = parts(thumbnail.value, decimals)
    colour = colours.get(thumbnail.system, ACCENT)
    return Picture(
        source=source,
        alt=f"{whose}{prompt[:120]}",
        reason=reason or "no picture here",
        system=thumbnail.system,
        # Where systems share the accent, a dot would not identify one.
        colour="" if colour == ACCENT else colour.name,
        value="" if is_absent(thumbnail.value) else value,
        support=f"{interval} {n}".strip(),
    )


def picture_type(data: bytes) -> str | None:
    """The media type by the first bytes, of the four kinds every browser shows and that hold no script."""
    for start, kind in _PICTURE_STARTS:
        if data.startswith(start):
            return kind
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _shortened(text: str) -> tuple[str, str]:
    """The beginning of a long text, cut at a space where one is near, and what follows."""
    if len(text) <= SHORT_PROMPT:
        return text, ""
    cut = text.rfind(" ", SHORT_PROMPT - 40, SHORT_PROMPT)
    cut = cut if cut > 0 else SHORT_PROMPT
    return text[:cut], text[cut:]


def parts(quantity: Estimate | None, decimals: int | None) -> tuple[str, str, str, str]:
    """A quantity as the page sets it: value, interval, n, or the reason why there is none."""
    if quantity is None:
        return "", "", "", ""
    if quantity.value is None:
        return "-", "", "", quantity.reason or "no value"
    places = decimals_for(quantity) if decimals is None else decimals
    value = format_number(quantity.value, decimals=places)
    return value, format_interval(quantity, decimals=places), format_n(quantity), ""


def meter(quantity: Estimate | None, scale: Scale | None) -> tuple[float, float, float] | None:
    """Where the interval starts, how wide it is and where the value lies, in per cent of the scale."""
    if quantity is None or quantity.value is None or scale is None or scale.domain is None:
        return None
    start, end = scale.domain
    if end <= start:
        return None

    def place(number: float) -> float:
        return round(100 * min(1.0, max(0.0, (number - start) / (end - start))), 1)

    low = quantity.value if quantity.low is None else quantity.low
    high = quantity.value if quantity.high is None else quantity.high
    return place(low), round(place(high) - place(low), 1), place(quantity.value)
