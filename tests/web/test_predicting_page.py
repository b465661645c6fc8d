"""The page that predicts prompts, in a real browser."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.prediction import SHIPPED, SHOWN, predict_prompts, rank
from sightline.web.predicting import pieces

ROUND = '[annotate.r]\nmode = "yes_no"\nper_item = 3\n'
PROMPTS = ["A dog catching a red frisbee on the grass", "A man riding a wave on top of a surfboard"]
EVIL = "<img src=x onerror=alert(1)>"
SMALL = {"prompts": 2, "images": 1}


@pytest.fixture
def opened(open_page: Any, live: Any) -> Callable[..., Any]:
    """Opens the page by the link on the owner's."""

    def open_(**more: Any) -> Any:
        page = open_page(live(ROUND, **SMALL).owner(), **more)
        page.get_by_role("link", name="Predict prompts").click()
        page.locator("#ask .primary:enabled").wait_for()
        return page

    return open_


def begin(page: Any, *prompts: str) -> None:
    # The tier that is everywhere, and fast.
    page.select_option("[name=tier]", "small")
    page.fill("#prompts", "\n".join(prompts))
    page.get_by_role("button", name="Predict", exact=True).click()


def ask(page: Any, *prompts: str) -> None:
    """Ask, and wait until all is there."""
    begin(page, *prompts)
    page.locator("#results").wait_for(state="visible")
    page.locator("#working").wait_for(state="hidden")


def hold_up(page: Any, *prompts: str) -> list[Any]:
    """Ask, and keep what is sent from the server until it is let through."""
    held: list[Any] = []
    page.route("**/api/owner/predict", lambda route: held.append(route))
    page.select_option("[name=tier]", "small")
    page.fill("#prompts", "\n".join(prompts))
    page.keyboard.press("Control+Enter")
    return held


def written(page: Any) -> list[str]:
    """The prompts as they are shown, without the signs of their words."""
    return page.locator("#predictions .text > bdi").evaluate_all(
        "all => all.map(one => [...one.childNodes].map(each => each.data ?? each.firstChild.data).join(''))"
    )


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (320, "light"),
        pytest.param(390, "dark", marks=pytest.mark.slow),
        pytest.param(1280, "light", marks=pytest.mark.slow),
        (1280, "dark"),
    ],
)
def test_figures_words_and_tier_are_shown(opened: Any, width: int, scheme: str) -> None:
    page = opened(viewport={"width": width, "height": 900}, color_scheme=scheme)
    ask(page, *PROMPTS)
    found = predict_prompts(PROMPTS, tier="small")
    assert page.locator("#said").inner_text() == "2 prompts predicted."
    assert page.locator("#tier").inner_text().startswith(f"By the {found.tier} tier")
    cards = page.locator("#predictions > li")
    assert cards.count() == 2
    for place, prediction in enumerate(found.predictions):
        bars = cards.nth(place).locator("svg.scale")
        assert bars.count() == 3
        for number, (target, scale) in enumerate(SHIPPED.items()):
            expected = prediction.expected[target]
            low, high = scale.low, scale.high
            # What is heard and what is seen: the words, and where the line stands on its scale.
            said = bars.nth(number).get_attribute("aria-label").replace("−", "-")
            assert said.startswith(f"{scale.title} {expected.value:.2f}, interval {expected.low:.2f} to ")
            at = float(bars.nth(number).locator(".value").get_attribute("x1").rstrip("%"))
            assert at == pytest.approx(100 * (expected.value - low) / (high - low), abs=1e-6)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_are_marked_by_more_than_colour(opened: Any) -> None:
    page = opened()
    prompts = [*PROMPTS, "the concept of regret", "seven clocks and a receipt, none of them sharp"]
    ask(page, *prompts)
    found = predict_prompts(prompts, tier="small")
    signs = {"easier": "+", "harder": "−"}
    for target in SHOWN:
        page.locator(f"input[value='{target}']").check()
        wanted = [
            (piece.text, "easier" if piece.adds > 0 else "harder")
            for prediction in found.predictions
            for piece in pieces(prediction.prompt, prediction.effects[target])
            if piece.adds is not None
        ]
        marks = page.locator("#predictions mark").evaluate_all(
            "marks => marks.map(mark => [mark.firstChild.data, mark.classList[0],"
            " mark.querySelector('sup').textContent, mark.querySelector('.hidden').textContent])"
        )
        assert marks == [[text, kind, signs[kind], f" (makes it {kind})"] for text, kind in wanted]
        assert {kind for _, kind in wanted} == set(signs)
    legend = page.locator(".legend mark")
    styles = [each.evaluate("each => getComputedStyle(each).textDecorationStyle") for each in legend.all()]
    assert styles == ["solid", "wavy"]


def test_prompts_are_put_in_order(opened: Any) -> None:
    page = opened()
    prompts = [*PROMPTS, "the concept of regret", "?!?"]
    ask(page, *prompts)
    found = {each.prompt: each for each in predict_prompts(prompts, tier="small").predictions}

    assert written(page) == prompts
    for target in ("hbpp", "rr"):
        page.locator(f"input[value='{target}']").check()
        known = [each for each in prompts if found[each].expected]
        known.sort(key=lambda each: found[each].expected[target].value)
        others = [each for each in prompts if not found[each].expected]
        page.select_option("#order", "hard")
        assert written(page) == [*known, *others]
        page.select_option("#order", "easy")
        assert written(page) == [*reversed(known), *others]


def test_odd_prompts_say_so_and_markup_is_text(opened: Any) -> None:
    page = opened()
    ask(page, EVIL, "?!?", "犬が走っている")
    cards = page.locator("#predictions > li")
    assert written(page) == [EVIL, "?!?", "犬が走っている"]
    assert page.locator("#predictions img").count() == 0
    for place in (1, 2):
        assert cards.nth(place).locator(".care li, .refused").count() >= 1


def parts_of(page: Any) -> list[Any]:
    """What the page asks for from now on."""
    sent: list[Any] = []

    def look(request: Any) -> None:
        if request.url.endswith("/api/owner/predict"):
            sent.append(request.post_data_json)

    page.on("request", look)
    return sent


@pytest.mark.slow
def test_it_shows_that_it_works(opened: Any) -> None:
    page = opened()
    held = hold_up(page, PROMPTS[0])
    page.locator("#working").wait_for(state="visible")
    assert page.locator("#working-said").inner_text() == "Predicting …"
    assert page.get_by_role("button", name="Predict", exact=True).is_disabled()
    # Asking again while it works sends nothing.
    page.keyboard.press("Control+Enter")
    page.get_by_text("The first time takes longer").wait_for()
    assert len(held) == 1
    held[0].continue_()
    # The figures are there while words are still weighed, and one may ask for something else.
    page.locator("#results").wait_for(state="visible")
    page.get_by_text("Weighing words").wait_for()
    assert page.locator("#predictions svg").count() == 3 and page.locator("#predictions mark").count() == 0
    assert page.get_by_role("button", name="Predict", exact=True).is_enabled()
    held[1].continue_()
    page.locator("#predictions mark").first.wait_for()
    page.locator("#working").wait_for(state="hidden")


def test_it_can_be_stopped(opened: Any) -> None:
    page = opened()
    held = hold_up(page, *(f"a dog and {number} cats" for number in range(30)))
    page.get_by_text("Predicting: 0 of 30").wait_for()
    held[0].continue_()
    page.get_by_text("Predicting: 4 of 30").wait_for()
    assert page.locator("#bar").evaluate("bar => bar.value") == pytest.approx(4 / 30)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    assert not page.locator("#working").is_visible() and page.locator(".prediction").count() == 4
    # What comes after all is not shown, and nothing more is asked for.
    with page.expect_response("**/api/owner/predict"):
        held[1].continue_()
    page.wait_for_timeout(300)
    assert len(held) == 2 and page.locator(".prediction").count() == 4


def test_the_keyboard_keeps_its_place_while_words_come_in(opened: Any) -> None:
    page = opened()
    held = hold_up(page, *PROMPTS)
    page.get_by_text("Predicting: 0 of 2").wait_for()
    held[0].continue_()
    page.get_by_text("Weighing words").wait_for()
    page.get_by_role("button", name="Reword").nth(1).focus()
    held[1].continue_()
    page.locator("#predictions mark").first.wait_for()
    assert page.evaluate("document.activeElement.dataset.key") == "reword-1"


def test_faults_are_told_and_what_was_shown_stays(opened: Any) -> None:
    page = opened()
    ask(page, PROMPTS[0])
    sent = parts_of(page)
    for prompts, said in (
        (["a dog"] * 501, "501 prompts are too many: 500 at once"),
        (["x" * 50_001] * 2, "100,002 characters are too many: 100,000 at once"),
    ):
        page.fill("#prompts", "\n".join(prompts))
        page.get_by_role("button", name="Predict", exact=True).click()
        page.locator("#failed").get_by_text(said).wait_for()
    assert page.locator("#predictions > li").count() == 1 and sent == []
    page.context.clear_cookies()
    begin(page, PROMPTS[1])
    page.locator("#failed").get_by_text("you need the link that you were sent").wait_for()
    assert page.get_by_role("button", name="Predict", exact=True).is_enabled()


@pytest.mark.parametrize(
    ("name", "held", "wanted"),
    [
        ("list.txt", "\ufeffa dog\r\n\r\n  a cat \n", ["a dog", "a cat"]),
        ("one.csv", "a dog\na cat\n", ["a dog", "a cat"]),
        (
            "many.csv",
            'id;Prompt\n1;"a ""big""\ndog; brown"\n2;\n3;"\'=cat"\n',
            ['a "big" dog; brown', "=cat"],
        ),
        ("t.csv", 'caption\tn\n"a dog, a cat"\t2', ["a dog, a cat"]),
    ],
)
def test_files_are_read(opened: Any, tmp_path: Path, name: str, held: str, wanted: list[str]) -> None:
    page = opened()
    file = tmp_path / name
    file.write_text(held, "utf-8", newline="")
    page.set_input_files("#file", file)
    page.get_by_text(f"{len(wanted)} prompt{'s' if len(wanted) > 1 else ''} of {name}.").wait_for()
    assert page.input_value("#prompts").split("\n") == wanted


@pytest.mark.parametrize(
    ("name", "held", "said"),
    [
        ("empty.txt", b" \n", "empty.txt holds no prompts"),
        ("odd.csv", b"id,words\n1,dog\n", "odd.csv has no column named prompt. Its columns are id, words."),
        ("latin.txt", b"caf\xe9\n", "latin.txt is not text in UTF-8"),
        ("large.txt", b"a dog\n" * 400_000, "large.txt is larger than 2 MB"),
    ],
)
def test_files_that_cannot_be_read(opened: Any, tmp_path: Path, name: str, held: bytes, said: str) -> None:
    page = opened()
    page.fill("#prompts", "kept")
    (tmp_path / name).write_bytes(held)
    page.set_input_files("#file", tmp_path / name)
    page.locator("#failed").get_by_text(said).wait_for()
    assert page.input_value("#prompts") == "kept"


def test_a_file_can_be_dropped_and_the_table_downloaded(opened: Any, tmp_path: Path) -> None:
    page = opened()
    transfer = page.evaluate_handle(
        "told => { const made = new DataTransfer();"
        " made.items.add(new File([told], 'mine.csv', { type: 'text/csv' })); return made; }",
        "prompt\n" + "\n".join([*PROMPTS, "'-a dog"]),
    )
    page.dispatch_event("#ask", "drop", {"dataTransfer": transfer})
    page.get_by_text("3 prompts of mine.csv.").wait_for()
    page.select_option("[name=tier]", "small")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("3 prompts predicted.").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    path = tmp_path / "predicted.csv"
    download.value.save_as(path)
    assert download.value.suggested_filename == "predicted.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert [row["prompt"] for row in rows] == [*PROMPTS, "'-a dog"]
    found = predict_prompts([*PROMPTS, "-a dog"], tier="small")
    values = [each.expected["rr"].value for each in found.predictions]
    assert [float(row["rr"]) for row in rows] == pytest.approx(values, abs=1e-9)
    # What was downloaded is read again as the prompts it came from.
    page.set_input_files("#file", path)
    page.get_by_text("3 prompts of predicted.csv.").wait_for()
    assert page.input_value("#prompts").split("\n") == [*PROMPTS, "-a dog"]


def test_rewordings_are_ranked_beneath(opened: Any) -> None:
    page = opened()
    ask(page, PROMPTS[0])
    page.get_by_role("button", name="Reword").click()
    assert page.input_value("#reword-prompt") == PROMPTS[0]
    assert page.evaluate("document.activeElement.id") == "candidates"
    candidates = ["the notion of regret", "a dog in the grass"]
    page.keyboard.type("\n".join(candidates))
    page.select_option("[name=by]", "p_at_10")
    page.get_by_role("button", name="Rank").click()
    page.locator("#ranked > li").first.wait_for()
    found = rank(PROMPTS[0], candidates, by="p_at_10", tier="small")
    assert page.locator("#ranked .rank").all_inner_texts() == ["1.", "2.", "3."]
    own = [each.prompt == PROMPTS[0] for each in found.predictions].index(True)
    tagged = [card.locator(".tag").count() for card in page.locator("#ranked > li").all()]
    assert tagged == [int(place == own) for place in range(3)]
    values = [f"{each.expected['p_at_10'].value:.2f}" for each in found.predictions]
    assert page.locator("#ranked .picked dd:first-of-type").all_inner_texts() == values
    assert page.locator("#ranked-said").inner_text()


def test_a_long_list_is_shown_in_parts(opened: Any) -> None:
    page = opened()
    sent = parts_of(page)
    ask(page, *(f"a dog and {number} cats" for number in range(130)))
    assert page.locator("#said").inner_text() == "130 prompts predicted."
    assert page.locator(".prediction").count() == 100
    # Words would take as many predictions as there are of them.
    assert page.get_by_text("Words are weighed in lists of up to 100 prompts.").is_visible()
    assert page.locator("#predictions mark").count() == 0 and not page.locator(".legend").is_visible()
    page.get_by_role("button", name="Show 30 more prompts").click()
    assert page.locator(".prediction").count() == 130
    # It was asked for in parts, each prompt once.
    assert len(sent) > 2 and sum(len(each["prompts"]) for each in sent) == 130
    # The keyboard goes on where it was.
    place = "[...document.querySelectorAll('.prediction')].indexOf(document.activeElement.closest('li'))"
    assert page.evaluate(place) == 100
