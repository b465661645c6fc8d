"""Charts of judging: what is drawn is what was counted, in light and dark, wide and narrow."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image as Pillow

from sightline.estimate import is_absent
from sightline.judging import charts
from sightline.judging.agreement import Coefficient
from sightline.judging.labels import LabelCount, QueryCategories, labels_given
from sightline.judging.round_people import RoundAnnotator
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
)
from sightline.rendering.blocks import Figure, Grid, Heading
from sightline.rendering.charts import Spec, render
from sightline.rendering.theme import ACCENT, ALARM, CARD, SERIES
from sightline.study.study import create_study
from sightline.study.writing.loading import load

LABELS = [LabelCount("q", s, label, n) for s, label, n in (
    ("sdxl", "no", 3), ("sdxl", "low", 5), ("sdxl", "high", 12), ("glide", "no", 9), ("glide", "low", 0),
    ("glide", "high", 1),
)]  # fmt: skip


def judged(name: str, n: int, *ends: float, of: int = 0, reason: str | None = None) -> RoundAnnotator:
    alpha = Coefficient(*(ends or (None,)), n=of, reason=reason, name="Krippendorff's alpha (nominal)")
    return RoundAnnotator(name, judgements=n, agreement={"q": alpha})


def query(text: str, counts: list[int]) -> QueryCategories:
    return QueryCategories("q", 1, text, counts)


PEOPLE = [judged("ann", 40, 0.6, 0.4, 0.8, of=30), judged("bob", 7, -0.1, -0.33, 0.2, of=7),
          judged("new", 1, reason="no item was judged by both")]  # fmt: skip
TRIED = [RoundAnnotator("ann", passed=9, failed=1), RoundAnnotator("bob", passed=2, failed=6)]
QUERIES = [query("a dog", [1, 1, 2, 0, 0]), query("a cat", [4, 0, 0, 0, 0])]
ALL = {
    "labels": lambda wide: charts.labels_chart(LABELS, wide=wide),
    "annotators": lambda wide: charts.annotators_chart(PEOPLE, "q", wide=wide),
    "validation": lambda wide: charts.validation_chart(TRIED, wide=wide),
    "categories": lambda wide: charts.categories_chart(QUERIES, wide=wide),
}


def texts(spec: Spec) -> list[str]:
    return [each.text for each in ElementTree.fromstring(render(spec, "light")).iter() if each.text]


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_every_chart_is_drawn_in_the_colours_of_its_page(name: str, wide: bool) -> None:
    light, dark = (render(ALL[name](wide), theme) for theme in ("light", "dark"))
    assert ElementTree.fromstring(light).tag.endswith("svg")
    # A file of its own knows no CSS variables, and nothing of the other page's colours may be left.
    assert "var(" not in light + dark
    assert light != dark
    drawn = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', dark))
    left = {colour.light for colour in (ACCENT, ALARM, CARD, *SERIES)} & drawn
    assert left == set()
    assert "script" not in light and "http" not in light.replace("http://www.w3.org", "")
    # A narrow chart fits a phone.
    assert wide or float(ElementTree.fromstring(light).attrib["viewBox"].split()[2]) <= 345


def test_labels_stand_in_their_order_with_their_numbers() -> None:
    spec = charts.labels_chart(LABELS)
    shown = texts(spec)
    places = [shown.index(label) for label in ("no", "low", "high")]
    assert places == sorted(places)
    assert {"3", "5", "12", "9", "0", "1"} <= set(shown)
    assert spec["description"].endswith("Most often: high for sdxl, 12 times.")
    table = charts.labels_table(LABELS)
    assert [list(row) for row in table.rows] == [["sdxl", 3, 5, 12, 20], ["glide", 9, 0, 1, 10]]
    assert [column.heading for column in table.columns] == ["system", "no", "low", "high", "all"]


def test_annotators_have_judgements_and_agreement() -> None:
    spec = charts.annotators_chart(PEOPLE, "q")
    shown = texts(spec)
    assert "ann (40)" in shown and "bob (7)" in shown
    assert not any("new" in each for each in shown)
    assert any("0.60 [0.40, 0.80]" in each and "n 30" in each for each in shown)
    # The axis reaches down to the lowest limit.
    scale = spec["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"] == pytest.approx([-0.4, 1.0])
    shown_csv = charts.annotators_table(PEOPLE, "q").to_csv()
    assert shown_csv.splitlines()[1] == "ann,40,0.6,0.4,0.8,30,"
    assert shown_csv.splitlines()[3].endswith("no item was judged by both")


def test_control_items_are_laid_end_to_end() -> None:
    values = charts.validation_chart(TRIED)["data"]["values"]
    assert [(v["row"], v["part"], v["from"], v["to"]) for v in values] == [
        ("ann", "passed", 0, 9), ("ann", "failed", 9, 10), ("bob", "passed", 0, 2), ("bob", "failed", 2, 8),
    ]  # fmt: skip
    table = charts.validation_table([*TRIED, RoundAnnotator("new")])
    assert [row[3] for row in table.rows][:2] == [0.9, 0.25]
    assert is_absent(table.rows[2][3])


def test_categories_are_proportions_of_a_query() -> None:
    spec = charts.categories_chart(QUERIES)
    values = [(v["row"], v["part"], v["from"], v["to"]) for v in spec["data"]["values"]]
    assert values == [
        ("a dog", "fully relevant", 0, 0.25), ("a dog", "majority relevant", 0.25, 0.5),
        ("a dog", "unsure", 0.5, 1.0), ("a cat", "fully relevant", 0, 1.0),
    ]  # fmt: skip
    assert "5 fully relevant, 1 majority relevant, 2 unsure" in spec["description"]
    table = charts.categories_table(QUERIES)
    assert list(table.rows[-1]) == ["all queries", 5, 1, 2, 0, 0, 8]


def test_two_queries_of_one_wording_are_two_rows_and_many_are_cut_with_a_word() -> None:
    twice = [query("a dog", [1, 0, 0, 0, 0]), query("a dog", [0, 0, 0, 0, 1])]
    assert len({v["row"] for v in charts.categories_chart(twice)["data"]["values"]}) == 2
    many = [query(f"query {n}", [1, 0, 0, 0, 0]) for n in range(100)]
    spec = charts.categories_chart(many)
    assert len(spec["data"]["values"]) == charts.MOST_QUERIES
    assert "The 40 most doubtful of 100." in spec["description"]
    assert len(charts.categories_table(many).rows) == 101


def test_hostile_text_is_drawn_as_text_and_nothing_as_nothing() -> None:
    evil = '<script>alert(1)</script>&"\x00'
    for draw, rows in (
        (charts.labels_chart, [LabelCount("q", evil, evil, 1)]),
        (charts.validation_chart, [RoundAnnotator(evil, passed=1)]),
        (charts.categories_chart, [query(evil, [1, 0, 0, 0, 0])]),
    ):
        assert "<script" not in render(draw(rows), "light")
        assert render(draw([]), "light").startswith("<svg")
    assert render(charts.annotators_chart([], "q"), "light").startswith("<svg")


def test_answers_by_label_and_system(tmp_path: Path) -> None:
    asked = Question("relevance", "ordinal", -1, 2, 1, labels={"2": "high", "0": "none"})
    some: list[Record] = [asked]
    for system, values in (("one", (2, 2, 0)), ("two", (0, 0, 1))):
        for n, value in enumerate(values):
            key, name = PromptKey("s", str(n)), f"{system}-{n}.png"
            shade = (40 * n, 80, 160 if system == "one" else 10)
            Pillow.new("RGB", (8, 8), shade).save(tmp_path / name)
            image = ImageKey("i", name)
            some += [Prompt(key, f"p {n}"), Image(image, str(tmp_path / name)), Answer(key, system, 0, image)]
            some += [Judgement("relevance", Item(key, image=image), float(value), AnnotatorKey("p", "a"))]
    with create_study(tmp_path / "study") as study:
        load(study, some, importer="test", path="test", digest="1")
        given = {(row.system, row.label): row.n for row in labels_given(study, "relevance")}
        assert given == {
            ("one", "none"): 1,
            ("one", "1"): 0,
            ("one", "high"): 2,
            ("two", "none"): 2,
            ("two", "1"): 1,
            ("two", "high"): 0,
        }
        title, drawing, numbers = charts.label_pictures(study)
        assert isinstance(title, Heading) and title.text == "Answers to relevance, by system"
        assert isinstance(drawing, Figure) and drawing.narrow is not None and isinstance(numbers, Grid)


def test_answers_on_a_scale_of_numbers_are_no_labels(tmp_path: Path) -> None:
    key, vote = PromptKey("s", "1"), AnnotatorKey("p", "a")
    some: list[Record] = [Question("fit", "interval", 0, 5), Prompt(key, "p")]
    with create_study(tmp_path / "study") as study:
        load(study, [*some, Judgement("fit", Item(key), 3.0, vote)], importer="t", path="p", digest="1")
        assert labels_given(study, "fit") == [] and charts.label_pictures(study) == []
