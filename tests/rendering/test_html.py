import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from sightline.estimate import Estimate, absent
from sightline.records import Finding
from sightline.rendering import charts
from sightline.rendering.blocks import (
    LONGEST_PROMPT,
    THUMBNAILS_SHOWN,
    Figure,
    Findings,
    Grid,
    Heading,
    Note,
    Section,
    cards,
    picture_columns,
    picture_type,
)
from sightline.rendering.charts import Dot
from sightline.rendering.document import Document, Fact, NextStep, section_of
from sightline.rendering.html import render
from sightline.rendering.shown import Scale, ShownPrompt, Thumbnail
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import system_colours

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every element must be closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def page_of(*sections: Section, **parts: Any) -> str:
    return render(Document("Study", "An answer.", datetime(2026, 1, 2, 3, 4, tzinfo=UTC), sections, **parts))


def card_page(*prompts: ShownPrompt, scale: Scale | None = None) -> str:
    systems = system_colours({each.system for prompt in prompts for each in prompt.thumbnails})
    return page_of(Section("prompts", "Prompts", "", [cards(prompts, scale, systems)]))


def test_the_whole_report_is_well_formed_and_stands_alone(report: Document) -> None:
    text = render(report)
    page = Page(text)
    assert len(page.all("script")) == 1 and not page.all("link")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "poster", "srcset"):
            address = attributes.get(name) or "#"
            assert address.startswith(("#", "data:image/")), address
    assert "@import" not in text and "url(http" not in text
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(identities)) == len(identities)
    targets = {attributes["href"] for attributes in page.all("a")}
    assert targets <= {f"#{identity}" for identity in identities}


def test_the_whole_report_says_everything(report: Document) -> None:
    words = Page(render(report)).words
    for said in (
        "careful is the best of 3 systems",
        "4.12 [3.95, 4.28] n 24",
        "+0.91 [+0.65, +1.18] n 24",
        "<0.001",
        "careful is better",
        "not significantly different",
        "seven yellow squares and no circle",
        "2.04 [1.73, 2.32] n 18",
        "only 3 prompts ask for text",
        "image cannot be decoded",
        "the prompt asks for no text",
        "sightline import sample answers.csv",
        "↑ higher is better",
    ):
        assert said in words, said


def test_headings_pictures_charts_and_tables_are_named(report: Document) -> None:
    page = Page(render(report))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if tag in ("h1", "h2", "h3", "h4")]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.all("img") and all(attributes.get("alt") for attributes in page.all("img"))
    assert page.all("svg") and all(attributes.get("aria-label") for attributes in page.all("svg"))
    assert tags.count("caption") == tags.count("table") > 5
    assert page.all("html")[0]["lang"] == "en"


def test_the_same_report_gives_the_same_page(report: Document) -> None:
    first = render(report)
    page_of()
    assert render(report) == first


def test_every_chart_is_there_for_page_and_phone(report: Document) -> None:
    page = Page(render(report))
    classes = [attributes.get("class") for attributes in page.all("div")]
    assert classes.count("wide") == classes.count("narrow") == 5


def test_a_page_without_sections() -> None:
    words = Page(page_of()).words
    assert "An answer." in words and "What comes next" not in words
    step = NextStep("Ask more people.", "sightline annotate sample")
    assert "Ask more people." in Page(page_of(next_steps=[step])).words


@pytest.mark.parametrize("count", [1, 2, 30])
def test_any_number_of_systems(count: int, comparison_of: Any, breakdown_of: Any) -> None:
    names = [f"system {n}" for n in range(count)]
    sections = [
        section_of(comparison_of(names), "ranking", "The ranking"),
        section_of(breakdown_of(["counting"], names), "by-1", "By skill"),
    ]
    page = Page(page_of(*sections))
    for name in names:
        assert name in page.words
    assert page.all("svg")
    assert (f"({count * (count - 1) // 2:,} rows)" in page.words) == (count == 30)


def test_script_in_every_text_is_only_text(comparison_of: Any) -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    missing = absent(evil)
    prompt = ShownPrompt(evil, missing, ((evil, evil),), (Thumbnail(None, evil, reason=evil),), evil)
    spec = charts.dot_interval([Dot(evil, Estimate(1), evil)], axis=evil)
    blocks = [
        Heading(evil),
        Note(evil),
        Figure(spec, None, evil, [(evil, "accent")]),
        Grid(Table([Column(evil)], [(evil,), (missing,)], evil), evil),
        cards([prompt], Scale(evil, "lower", 0, 1), {}),
        Findings([Finding(evil, 1, (evil,), evil, "error")]),
    ]
    hostile = Document(
        evil,
        evil,
        datetime(2026, 1, 2, tzinfo=UTC),
        [Section("one", evil, evil, blocks), section_of(comparison_of([evil, "b"]), "two", evil, evil)],
        [Fact(evil, 1, evil)],
        [NextStep(evil, evil)],
        [evil],
        [Table([Column("name", evil)], [(evil,)], evil)],
    )
    page = Page(render(hostile))
    assert len(page.all("script")) == 1 and not page.all("img"), "the page's own script alone"
    assert not [1 for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.words.count("<script>alert(1)</script>") > 30


def test_a_huge_prompt_is_shortened_and_says_by_how_much() -> None:
    text = "word " * 20_000
    page = card_page(ShownPrompt(text, Estimate(2, 1, 3, 4)))
    assert len(page) < 60_000
    # 99,999 characters once stripped; the first part ends at the last space before 260, at 259
    assert f"({99_999 - 259 - LONGEST_PROMPT:,} more characters)" in Page(page).words


def test_text_of_any_script_direction_and_kind_is_kept_apart() -> None:
    prompts = [
        ShownPrompt("قطة حمراء على كرسي", Estimate(2, 1, 3, 4)),
        ShownPrompt("🐈‍⬛ and 🚀", Estimate(2, 1, 3, 4)),
        ShownPrompt("bell\x07 escape\x1b[31m nul\x00 half\ud83d", Estimate(2, 1, 3, 4)),
        ShownPrompt("  ", Estimate(2, 1, 3, 4)),
    ]
    text = card_page(*prompts)
    text.encode("utf-8")
    page = Page(text)
    assert "قطة حمراء على كرسي" in page.words and "🐈‍⬛ and 🚀" in page.words
    assert "\x1b" not in text and "\x00" not in text and "a prompt without text" in page.words
    assert [a["dir"] for a in page.all("p") if a.get("class") == "prompt"] == ["auto"] * 4


def test_a_missing_thumbnail_says_why(picture: Callable[[int], bytes]) -> None:
    thumbnails = (
        Thumbnail(None, "careful", reason="known by name only"),
        Thumbnail(b"<svg onload='alert(1)'></svg>", "sloppy"),
        Thumbnail(b"", "empty"),
        Thumbnail(picture(3), "drawn", Estimate(4, 3, 5, 2)),
    )
    page = Page(card_page(ShownPrompt("a red circle", thumbnails=thumbnails)))
    assert len(page.all("img")) == 1
    assert "known by name only" in page.words and "not a picture a browser can show" in page.words
    assert "no picture here" in page.words and "4.0 [3.0, 5.0] n 2" in page.words


def test_many_thumbnails_are_folded(picture: Callable[[int], bytes]) -> None:
    data = picture(1)
    shown = ShownPrompt("p", thumbnails=[Thumbnail(data, f"s{n}") for n in range(THUMBNAILS_SHOWN + 3)])
    page = Page(card_page(shown))
    assert len(page.all("img")) == THUMBNAILS_SHOWN + 3 and "3 more pictures" in page.words


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"<svg></svg>", None),
        (b"RIFF\x00\x00\x00\x00WAVE", None),
        (b"", None),
    ],
)
def test_pictures_are_known_by_their_bytes(data: bytes, kind: str | None) -> None:
    assert picture_type(data) == kind


def test_rows_of_pictures_are_even() -> None:
    assert [picture_columns(n)[0] for n in (1, 4, 6, 7, 8, 9, 10, 11, 12)] == [1, 4, 6, 7, 4, 5, 5, 6, 6]
    for count in range(2, THUMBNAILS_SHOWN + 1):
        # nowhere is one picture alone in the last of several rows
        assert all(count <= columns or count % columns != 1 for columns in picture_columns(count)), count


@pytest.mark.parametrize("count", [6, 7])
def test_dots_stand_under_pictures_while_they_tell_systems_apart(
    picture: Callable[[int], bytes], count: int
) -> None:
    data = picture(1)
    thumbnails = [Thumbnail(data, f"system {n}", Estimate(n / 7)) for n in range(count)]
    shown = ShownPrompt("p", Estimate(0.0952, n=7), thumbnails=thumbnails)
    easy = ShownPrompt("q", Estimate(1.0, n=7))
    text = card_page(shown, easy, scale=Scale("quality", "higher", 0, 1))
    assert ('<i class="dot"' in text) == (count == 6)
    page = Page(text)
    assert next(a["title"] for a in page.all("span") if a.get("class") == "system") == "system 0"
    # 0/7, 1/7 and 5/7 with the two decimals of a scale from 0 to 1, as the prompts' own values
    for value in ("0.00", "0.14", "0.71", "0.10 n 7", "1.00 n 7"):
        assert value in page.words


def test_systems_that_share_a_colour_are_not_drawn_as_dots(breakdown_of: Any) -> None:
    split = breakdown_of(["x", "y"], ["system 0", "system 1"])
    for count, drawn in ((3, "figure"), (7, "heat_map")):
        colours = system_colours(f"system {n}" for n in range(count))
        assert [block.kind for block in split.blocks(colours)] == [drawn]


def test_a_heat_map_has_n_in_each_cell_and_the_fewer_as_columns(breakdown_of: Any) -> None:
    groups, systems = [f"group {g}" for g in range(14)], [f"system {s}" for s in range(7)]
    for down, across in ((groups, systems), (groups[:3], systems)):
        (heat,) = breakdown_of(down, across).blocks()
        longer, shorter = sorted((down, across), key=len, reverse=True)
        assert [name for name, _ in heat.rows] == longer and list(heat.columns) == shorter
        assert heat.corner == ("system" if longer is systems else "skill")
        page = Page(page_of(Section("by", "By skill", "", [heat])))
        # every cell of the fixture rests on 5 prompts
        assert page.words.count("n 5") == len(down) * len(across)
        assert len([1 for cell in page.all("td") if cell.get("class") == "few"]) == len(down) * len(across)


def test_a_result_is_a_section_with_its_finding_charts_tables_and_notes(comparison_of: Any) -> None:
    compared = replace(comparison_of(), notes=["Some are unjudged."])
    section = section_of(compared, "ranking", "The ranking", without=["pairs"])
    assert section.lead == compared.sentence
    assert [block.kind for block in section.blocks] == ["figure", "grid", "note"]
    assert "Some are unjudged." in Page(page_of(section)).words
