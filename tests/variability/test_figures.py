"""Variability in pictures: what is chosen, what is passed over and said, what a page has to carry."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.data.import_ import import_
from sightline.errors import DataError, UsageError
from sightline.measures.score import score
from sightline.rendering.blocks import Block, Figure, Findings, Heading, Map, Overlay, Rows, Section
from sightline.rendering.document import Document
from sightline.rendering.html import render
from sightline.rendering.theme import SERIES
from sightline.study.study import Study, create_study
from sightline.variability.figures import Pictured, variability_pictures
from sightline.variability.reference import reference_of
from sightline.variability.reuse import reuse
from sightline.variability.set_images import ImageSets, varying_setting
from sightline.variability.store import StudyScale
from sightline.variability.variability import measured, variability

BLACK = (0, 0, 0)


def png(shades: list[int] | tuple[int, int, int], side: int = 48) -> bytes:
    """Stripes of these greys, or one colour throughout."""
    rows = np.zeros((side, side, 3), dtype=np.uint8)
    if isinstance(shades, tuple):
        rows[:] = shades
    else:
        for n, shade in enumerate(shades):
            rows[n * side // len(shades) : (n + 1) * side // len(shades)] = shade
    out = io.BytesIO()
    Pillow.fromarray(rows).save(out, "PNG")
    return out.getvalue()


def stripes(*starts: int) -> list[bytes | None]:
    """Images of four greys each; two images share a grey, and so some of their histogram, or none."""
    return [png([start, start + 40, start + 80, 250]) for start in starts]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, study_of: Callable[..., Study]) -> Iterator[Study]:
    """`same` repeats itself except on p0, `wild` hardly does; p3 has blank images, p4 one that is missing."""
    samples: dict[tuple[str, str], list[bytes | None]] = {
        ("same", "p0"): stripes(0, 33, 66, 99),
        ("same", "p1"): stripes(0, 0, 0, 0),
        ("same", "p2"): stripes(5, 5, 5, 40),
        ("same", "p3"): [*stripes(0, 0), png(BLACK), png(BLACK)],
        ("same", "p4"): [*stripes(0, 0, 33), None],
        ("wild", "p0"): stripes(0, 33, 66, 99),
        ("wild", "p1"): stripes(0, 33, 66, 99),
        ("wild", "p2"): stripes(0, 33, 66, 66),
    }
    texts = {f"p{n}": f"a prompt called p{n}" for n in range(5)}
    study = study_of(tmp_path_factory.mktemp("mixed"), samples, texts)
    variability(study, distance="colour_histogram")
    yield study
    study.close()


@pytest.fixture(scope="module")
def pictured(mixed: Study) -> Pictured:
    return variability_pictures(mixed)


def under(blocks: Pictured, title: str) -> list[Block]:
    """The blocks between a heading that starts so and the next."""
    found: list[Block] = []
    inside = False
    for block in blocks.blocks:
        if isinstance(block, Heading):
            inside = block.text.startswith(title)
        elif inside:
            found.append(block)
    return found


def one(blocks: Pictured, title: str) -> Any:
    (block,) = under(blocks, title)
    return block


def test_the_ends_are_the_least_and_the_most_alike(pictured: Pictured) -> None:
    """`same` repeats one image on p1: similarity 1. All images differ on p0 of both and p1 of `wild`."""
    varied, alike = one(pictured, "Most varied"), one(pictured, "Least varied")
    assert isinstance(varied, Rows) and isinstance(alike, Rows)
    assert (alike.rows[0].title, alike.rows[0].tags, alike.rows[0].value) == (
        "a prompt called p1",
        [("system", "same")],
        "1.00",
    )
    values = [float(row.value) for row in (*varied.rows, *reversed(alike.rows))]
    assert values == sorted(values)
    assert all(row.interval and row.n == "n 4" and len(row.pictures) == 4 for row in varied.rows)


def test_blank_and_missing_images_are_passed_over_and_said(pictured: Pictured) -> None:
    shown = [row.title for block in pictured.blocks if isinstance(block, Rows) for row in block.rows]
    assert not {"a prompt called p3", "a prompt called p4"}.intersection(shown)
    assert sorted(pictured.notes) == [
        "prompts of a system passed over for blank images (one colour): 1",
        "prompts of a system passed over for images that cannot be shown (refused by a filter): 1",
    ]
    findings = one(pictured, "What these pictures leave out")
    assert isinstance(findings, Findings) and sum(each.n for each in findings.findings) == 2


def test_the_same_prompt_is_shown_in_every_system_where_they_differ_most(pictured: Pictured) -> None:
    first, second = under(pictured, "The same prompt")
    assert isinstance(first, Rows) and isinstance(second, Rows)
    assert first.title == "a prompt called p1" and [row.title for row in first.rows] == ["wild", "same"]
    assert second.title == "a prompt called p2"


def test_the_map_shows_all_images_of_the_prompt_with_the_most(mixed: Study, pictured: Pictured) -> None:
    drawn = one(pictured, "A map")
    assert isinstance(drawn, Map)
    assert "p1" in drawn.label and len(drawn.pictures) == 8
    assert [name for _, name, _ in drawn.legend] == ["same", "wild"]
    wanted = one(variability_pictures(mixed, prompt="p3"), "A map")
    assert "p3" in wanted.label and "Blank (one colour): 2 of the images." in wanted.caption
    wanted = one(variability_pictures(mixed, prompt="a prompt called p4"), "A map")
    assert len(wanted.pictures) == 3 and "Not here: 1 of 4 images (refused by a filter)." in wanted.caption
    with pytest.raises(UsageError, match="there is no prompt 'p9'"):
        variability_pictures(mixed, prompt="p9")


def test_the_most_similar_pair_is_no_pair_of_black_images(pictured: Pictured) -> None:
    same, wild = under(pictured, "The two most similar")
    assert isinstance(same, Overlay) and isinstance(wild, Overlay)
    assert (same.value, same.first.system, same.second.system) == ("0", "same, image 1", "same, image 2")
    assert "same, pixel by pixel" in same.note and same.title == "a prompt called p1"
    assert (wild.title, wild.first.system, wild.second.system) == (
        "a prompt called p2",
        "wild, image 3",
        "wild, image 4",
    )


def test_the_curve_of_reuse_is_of_each_system_and_of_the_stage_where_given(
    mixed: Study, pictured: Pictured
) -> None:
    figure = one(pictured, "How many images")
    assert isinstance(figure, Figure) and "dashed" not in figure.caption
    points = {(p["series"], p["x"]): p["value"] for p in figure.wide["data"]["values"]}
    assert {key for key in points} == {(name, k) for name in ("same", "wild") for k in (2, 3, 4)}
    # Three sound prompts of `same`; of four images of p1 and p2 two are always equal: 1 of those, p0's own.
    assert points["same", 4] > points["wild", 4]
    told = reuse(mixed, distance="colour_histogram", cut_off=0.9)
    with_cut = one(variability_pictures(mixed, reuse=told), "How many images")
    assert "dashed line at 0.9" in with_cut.caption and "good for" in with_cut.caption


def test_with_a_reference_every_distance_is_read_on_its_scale(mixed: Study) -> None:
    reference = reference_of(mixed, distance="colour_histogram")
    found = measured(mixed, StudyScale(reference.distance, reference))
    pictured = variability_pictures(mixed, found=found)
    rows = one(pictured, "Least varied").rows
    least = found.prompts.filter(found.prompts["system"] == "same")["value"].max()
    assert float(rows[0].value) == pytest.approx(least, abs=0.01)
    assert rows[0].value != "1.00"  # F(0) is the share of pairs that are equal, and counts as distance
    assert "colour_histogram, normalised" in one(pictured, "A map").caption
    with pytest.raises(UsageError, match="colour_histogram"):
        variability_pictures(mixed, distance="ssim", found=found)


def test_measures_of_the_prompt_are_held_against_similarity(mixed: Study) -> None:
    score(mixed, "words")
    figure = one(variability_pictures(mixed), "Similarity against what the prompt is like")
    assert "(words)" in figure.caption
    assert {point["x"] for point in figure.wide["data"]["values"]} == {4}


def test_similarity_against_a_setting_splits_a_prompt_with_several(
    tmp_path: Path, study_of: Callable[..., Study]
) -> None:
    """Images 1 and 2 were made at guidance 1 and differ, images 3 and 4 at 9 and are equal."""
    images = [*stripes(0, 33), *stripes(66, 66)]
    samples = {("a", f"p{n}"): images for n in range(5)}
    study = study_of(tmp_path, samples, settings={key: [1, 1, 9, 9] for key in samples})
    variability(study, distance="colour_histogram")
    found = varying_setting(study)
    assert found is not None and found[0] == "guidance"
    assert set(map(tuple, found[1].values())) == {(1, 1, 9, 9)}
    figure = one(variability_pictures(study), "Similarity against guidance")
    points = {point["x"]: point["value"] for point in figure.wide["data"]["values"]}
    # Steps of 32: greys 0, 40, 80, 250 lie in cells 0, 1, 2, 7 and 33, 73, 113, 250 in 1, 2, 3, 7.
    assert points == pytest.approx({1: 3 / 4, 9: 1.0})
    study.close()


def test_a_study_without_sets_says_so(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    study = study_of(tmp_path, {("a", "p"): stripes(0)})
    with pytest.raises(DataError, match="no prompt has two or more images"):
        variability_pictures(study)
    study.close()


def test_two_images_are_enough_for_rows_and_too_few_for_maps_and_curves(
    tmp_path: Path, study_of: Callable[..., Study]
) -> None:
    study = study_of(tmp_path, {("a", "p"): stripes(0, 33)})
    variability(study, distance="colour_histogram")
    found = variability_pictures(study)
    kinds = [block.kind for block in found.blocks]
    assert "rows" in kinds and "overlay" in kinds and "map" not in kinds and "figure" not in kinds
    assert one(found, "Most varied").rows[0].interval == ""
    study.close()


def test_a_file_that_is_gone_is_shown_as_missing(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    study = study_of(tmp_path, {("a", "p"): stripes(0, 33, 66)})
    variability(study, distance="colour_histogram")
    sha256 = str(ImageSets(study, "ssim").answers["sha256"][0])
    (study.home / "images" / sha256[:2] / sha256).unlink()
    found = variability_pictures(study)
    assert "cannot be shown" in found.notes[0] and "missing from the study" in found.notes[0]
    assert [block.kind for block in found.blocks if block.kind == "rows"] == []
    study.close()


def page_of(pictured: Pictured) -> str:
    section = Section("variability", "Variability", "", pictured.blocks)
    return render(Document("t", "a", datetime.now(UTC), [section]))


def test_the_report_sets_the_pictures(pictured: Pictured) -> None:
    page = page_of(pictured)
    assert page.count('class="map"') == 1 and page.count("picture-rows") > 4
    assert page.count("in magenta:") == 2
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert len(page) < 400_000
    assert 'alt=""' not in page


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1200, "light")])
def test_the_pictures_fit_a_phone(
    chromium: str, pictured: Pictured, tmp_path: Path, width: int, scheme: Any
) -> None:
    from playwright.sync_api import sync_playwright

    file = tmp_path / "report.html"
    file.write_text(page_of(pictured), "utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0 && image.alt)")
        sizes = page.evaluate(
            "[...document.querySelectorAll('.map figure, .overlay img, .picture-rows img')]"
            ".map(each => each.getBoundingClientRect()).map(each => [each.width, each.height, each.right])"
        )
        assert min(size[0] for size in sizes) > 40 and max(size[2] for size in sizes) <= width
        assert all(size[1] == pytest.approx(size[0], abs=1) for size in sizes)
        edge = page.evaluate("getComputedStyle(document.querySelector('.map img')).borderTopColor")
        shade = getattr(SERIES[0], scheme).removeprefix("#")
        assert edge == f"rgb({', '.join(str(int(shade[n : n + 2], 16)) for n in (0, 2, 4))})"
        assert said == []
        browser.close()


def test_the_same_study_gives_the_same_pictures(mixed: Study, pictured: Pictured) -> None:
    assert one(variability_pictures(mixed), "A map") == one(pictured, "A map")


@pytest.mark.slow
def test_visor_in_pictures(data: Path, tmp_path: Path) -> None:
    """Two systems, 100 prompts, four samples each, some of them black: every picture is there and small."""
    study = create_study(tmp_path / "study")
    import_(study, data / "visor")
    variability(study, distance="colour_histogram")
    found = variability_pictures(study)
    assert [block.kind for block in found.blocks if block.kind not in ("heading", "figure")] == [
        "rows", "rows", "rows", "rows", "map", "overlay", "overlay", "findings",
    ]  # fmt: skip
    assert "blank" in found.notes[0]
    rows = one(found, "Least varied").rows
    assert all(float(row.value) < 0.999 for row in rows)
    study.close()
