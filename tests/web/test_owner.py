"""The owner's page: what its addresses answer, whom they let in, and what a browser makes of them."""

from __future__ import annotations

import csv
import io
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sightline.rendering.theme import PAPER

RELEVANCE = (
    '[screening]\nrules = ["one_value(least=4)"]\n[annotate.relevance]\nmode = "binary_relevance(images=2)"\n'
    "per_item = 2\nprice = 0.5\n"
)
YES_NO = '[annotate.fits]\nmode = "yes_no"\nper_item = 2\n[annotate.other]\nmode = "preference"\npairs = 1\n'
EVIL = "<img src=x onerror=alert(1)>"


def judge(server: Any, client: Callable[[str], Any], name: str, value: Any, pages: int) -> Any:
    """Somebody judges so many pages over the wire."""
    who = client(server.invite(name))
    for _ in range(pages):
        work = who.work()
        if not work["pages"]:
            break
        who.answer_page(work["pages"][0], value)
    return who


def post(who: Any, what: str, status: int = 200, **body: Any) -> Any:
    reply = who.http.post(f"/api/owner/{what}", json=body)
    assert reply.status_code == status, (reply.status_code, reply.text)
    return reply.json()


def owner_page(who: Any, round: str = "") -> Any:
    return who.get(f"/api/owner/overview{f'?round={round}' if round else ''}")


def overview(who: Any, round: str = "") -> Any:
    return owner_page(who, round)["overview"]


def disputes(who: Any) -> Any:
    return overview(who)["disputes"]["relevance"]


def images(dispute: Any) -> list[str]:
    return [f"/api/owner/images/{dispute['item']}/{n}" for n in range(dispute["images"])]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the study of the next fixture is kept once made: judging it takes longer than most tests."""
    return tmp_path_factory.mktemp("judged") / "study"


@pytest.fixture
def disputed(judged: Path, tmp_path: Path, live: Any, client: Any) -> tuple[Any, Any]:
    """Ann says 1 to everything, bob 0: all that both judged is in dispute."""
    if not judged.exists():
        server = live(RELEVANCE, name="first")
        judge(server, client, "ann", 1, 20)
        judge(server, client, "bob", 0, 20)
        server.stop()
        shutil.copytree(tmp_path / "first", judged)
    shutil.copytree(judged, tmp_path / "study")
    server = live(RELEVANCE)
    return server, client(server.owner())


# -- the numbers --------------------------------------------------------------------------------------------


def test_the_overview_counts_what_was_judged(disputed: Any) -> None:
    _, who = disputed
    page = owner_page(who)
    told = page["overview"]
    progress = told["progress"]
    # Eight prompts of four images, two a page, judged twice: 16 items, 32 pages, 64 judgements.
    assert (progress["items"], progress["wanted"], progress["done"]) == (16, 32, 32)
    assert (progress["judgements_wanted"], progress["judgements"]) == (64, 64)
    assert told["cost"]["so_far"] == told["cost"]["at_end"] == "16.00"
    assert [person["name"] for person in told["people"]] == ["ann", "bob"]
    for person in told["people"]:
        assert (person["done"], person["judgements"], person["seconds"]) == (16, 32, 1.5)
        assert person["risks"][0]["rule"] == "one_value(least=4)"
        assert person["link_expires"] is not None
    # Nobody agrees with anybody: all pairs differ, 32 items. Alpha = 1 - 63 x 64 / (64^2 - 2 x 32^2).
    assert told["agreement"]["relevance"]["value"] == pytest.approx(1 - 63 * 64 / 2048)
    assert len(told["disputes"]["relevance"]) == 20
    (asked,) = page["questions"]
    assert {label["text"] for label in asked["labels"]} == {"relevant", "irrelevant"}
    assert {chart["name"]: chart["reason"] for chart in page["charts"]} == {
        "labels": "",
        "annotators": "",
        "categories": "",
        "controls": "No control item was answered yet.",
    }
    # Ann and bob each gave one answer to all, and all they share is in dispute.
    assert {(each["annotator"], each["kind"]) for each in told["alerts"]} == {
        ("", "agreement"),
        *((name, kind) for name in ("ann", "bob") for kind in ("constant", "agreement")),
    }
    assert page["rounds"] == ["relevance"] and told["state"] == "open"


def test_rounds_are_chosen_by_name(live: Any, client: Any) -> None:
    who = client(live(YES_NO).owner())
    assert overview(who)["round"] == "fits"
    assert overview(who, "other")["round"] == "other"
    reply = who.http.get("/api/owner/overview?round=othre")
    assert reply.status_code == 400 and "other" in reply.json()["remedy"]


# -- actions ------------------------------------------------------------------------------------------------


def test_an_invitation_opens_the_judging_page(live: Any, client: Any) -> None:
    server = live(RELEVANCE)
    who = client(server.owner())
    made = post(who, "invite", round="relevance", name="Zoë", role="annotator", days=3, language=None)
    assert made["link"].startswith(f"{server.url}/j/")
    annotator = client(made["link"])
    assert annotator.get("/api/task")["round"] == "relevance"
    assert post(who, "revoke", round="relevance", name="Zoë")["message"].startswith("1 link")
    assert annotator.http.get("/api/task").status_code == 401
    assert overview(who)["people"][0]["link_expires"] is None


def test_pausing_is_felt_at_once(live: Any, client: Any) -> None:
    server = live(RELEVANCE)
    who, annotator = client(server.owner()), client(server.invite("ann"))
    assert annotator.work()["progress"]["state"] == "open"
    post(who, "pause", round="relevance")
    assert annotator.work()["progress"]["state"] == "paused"
    assert overview(who)["state"] == "paused"
    post(who, "resume", round="relevance")
    assert annotator.work()["progress"]["state"] == "open"


def test_deciding_a_dispute(disputed: Any) -> None:
    server, who = disputed
    first = disputes(who)[0]
    said = post(who, "adjudicate", question="relevance", item=first["item"], value=1)
    assert said["message"] == "relevance: decided."
    assert "already" in post(who, "adjudicate", question="relevance", item=first["item"], value=1)["message"]
    assert "revised" in post(who, "adjudicate", question="relevance", item=first["item"], value=0)["message"]
    assert [row["value"] for row in server.answers() if row["annotator"] == "owner"] == [1.0, 0.0]
    refused = post(who, "adjudicate", 400, question="relevance", item=first["item"], value=7)
    assert "off the scale" in refused["error"]


def test_judging_again(disputed: Any, client: Any) -> None:
    server, who = disputed
    said = post(who, "again", round="relevance", share=0.25, by="other", seed=1)
    assert said["message"] == "4 of 16 finished items are judged again by somebody else."
    judge(server, client, "cat", 1, 4)
    told = overview(who)
    assert (told["progress"]["again"], told["progress"]["again_done"]) == (4, 4)
    (again,) = told["rejudged"]
    assert (again["by"], again["same"]["n"]) == ("other", 8)


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("invite", {"round": "relevanc", "name": "a"}, 400),
        ("invite", {"round": "relevance", "name": ""}, 422),
        ("invite", {"round": "relevance", "name": "a", "role": "owner"}, 422),
        ("invite", {"round": "relevance", "name": "a", "days": 1000}, 422),
        ("invite", {"round": "relevance", "name": "a", "more": 1}, 422),
        ("revoke", {"round": "relevance", "name": "nobody"}, 400),
        ("exclude", {"name": "nobody", "reason": "x"}, 400),
        ("exclude", {"name": "ann", "reason": ""}, 422),
        ("restore", {"name": "ann"}, 400),
        ("adjudicate", {"question": "relevance", "item": 0, "value": 1}, 422),
        ("adjudicate", {"question": "relevance", "item": 10**9, "value": 1}, 400),
        ("again", {"round": "relevance", "share": 2}, 422),
        ("again", {"round": "relevance", "by": "me"}, 422),
        ("pause", {}, 422),
    ],
)
def test_wrong_requests_are_told_why(
    live: Any, client: Any, what: str, body: dict[str, Any], status: int
) -> None:
    server = live(RELEVANCE)
    server.invite("ann")
    who = client(server.owner())
    told = post(who, what, status, **body)
    assert set(told) == {"error", "remedy"} and told["error"]


# -- tables, charts, images ---------------------------------------------------------------------------------


def test_judgements_go_out_and_come_back(disputed: Any, live: Any, client: Any) -> None:
    _, who = disputed
    reply = who.http.get("/api/owner/judgements.csv?round=relevance")
    assert reply.headers["content-type"].startswith("text/csv")
    assert 'filename="judgements-relevance.csv"' in reply.headers["content-disposition"]
    table = list(csv.DictReader(io.StringIO(reply.text)))
    assert len(table) == 64

    def send(content: str, status: int = 200) -> Any:
        back = who.http.post(
            "/api/owner/judgements?name=mine.csv", content=content, headers={"Content-Type": "text/csv"}
        )
        assert back.status_code == status, back.text
        return back.json()

    assert {key: send(reply.text)[key] for key in ("added", "known")} == {"added": 0, "known": 64}
    table[3]["value"] = "0.0" if table[3]["value"] == "1.0" else "1.0"
    assert send(_written(table), 409)["error"].startswith("mine.csv:5: ")
    fresh = client(live(RELEVANCE, name="fresh").owner())
    back = fresh.http.post("/api/owner/judgements", content=reply.text, headers={"Content-Type": "text/csv"})
    assert back.json()["added"] == 64
    assert overview(fresh)["progress"]["done"] == 32


@pytest.mark.parametrize("name", ["labels", "annotators", "categories"])
def test_charts_come_light_and_dark_and_as_tables(disputed: Any, name: str) -> None:
    _, who = disputed
    drawn = {
        who.http.get(f"/api/owner/charts/{name}.svg?theme={theme}&width={width}").text
        for theme in ("light", "dark")
        for width in ("wide", "narrow")
    }
    assert len(drawn) == 4 and all(each.startswith("<svg") for each in drawn)
    table = who.get(f"/api/owner/charts/{name}.json?question=relevance")
    assert table["rows"] and all(len(row) == len(table["headings"]) for row in table["rows"])
    told = who.http.get(f"/api/owner/charts/{name}.csv")
    assert told.headers["content-type"].startswith("text/csv")
    assert len(told.text.splitlines()) == len(table["rows"]) + 1


def test_charts_that_there_are_none_of(live: Any, client: Any) -> None:
    who = client(live(RELEVANCE).owner())
    assert {chart["name"]: chart["reason"] for chart in owner_page(who)["charts"]} == {
        "labels": "Nobody has answered yet.",
        "annotators": "Agreement takes two: so far nobody has answered.",
        "categories": "No two people differ on an image so far.",
        "controls": "No control item was answered yet.",
    }
    assert who.http.get("/api/owner/charts/labels.svg").status_code == 404
    assert who.http.get("/api/owner/charts/nonsense.svg").status_code == 422
    assert who.http.get("/api/owner/charts/labels.svg?theme=pink").status_code == 422


def test_images_of_disputes_do_not_tell_their_maker(disputed: Any) -> None:
    _, who = disputed
    for dispute in disputes(who):
        for address in images(dispute):
            reply = who.http.get(address)
            assert reply.status_code == 200 and reply.headers["content-type"] == "image/png"
            assert b"made by" not in reply.content and b"diffusion" not in reply.content
    assert who.http.get("/api/owner/images/999999/0").status_code == 404
    assert who.http.get(images(dispute)[0][:-1] + "1").status_code == 404


# -- in a browser -------------------------------------------------------------------------------------------


@pytest.fixture
def opened(open_page: Any) -> Callable[..., Any]:
    """Opens the owner's page."""

    def open_(server: Any, **more: Any) -> Any:
        page = open_page(server.owner(), **more)
        page.locator("#all").wait_for(state="visible")
        return page

    return open_


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (320, "light"),
        pytest.param(390, "dark", marks=pytest.mark.slow),
        pytest.param(1200, "light", marks=pytest.mark.slow),
        (1200, "dark"),
    ],
)
def test_the_page_fits_and_follows_the_scheme(disputed: Any, opened: Any, width: int, scheme: str) -> None:
    server, _ = disputed
    page = opened(server, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator("#charts img").first.wait_for(state="visible")
    for image in page.locator("#charts img").all():
        image.scroll_into_view_if_needed()
        _until(lambda image=image: image.evaluate("each => each.complete && each.naturalWidth > 0"))
        assert f"theme={scheme}" in image.evaluate("each => each.currentSrc")
        assert ("width=narrow" in image.evaluate("each => each.currentSrc")) == (width < 700)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == _rgb(getattr(PAPER, scheme))
    assert page.locator("#share").inner_text() == "100 %"


def test_numbers_move_while_one_looks(live: Any, client: Any, opened: Any) -> None:
    server = live(RELEVANCE)
    page = opened(server)
    assert page.locator("#share").inner_text() == "0 %"
    judge(server, client, "ann", 1, 8)
    page.get_by_text("25 %", exact=True).wait_for()
    assert page.locator("#people-list tbody tr").count() == 1


def test_inviting_shows_the_link_once(live: Any, client: Any, opened: Any) -> None:
    server = live(RELEVANCE)
    page = opened(server)
    page.get_by_label("Name").fill(EVIL)
    page.get_by_role("button", name="Make a link").click()
    page.locator("#link").wait_for(state="visible")
    link = page.locator("#link-text").input_value()
    assert client(link).get("/api/task")["round"] == "relevance"
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied").wait_for()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#link-text")).to_have_value("")
    assert link.rpartition("/")[2] not in page.content()
    # The name is text wherever it stands.
    assert page.locator("#people-list tbody th bdi").inner_text() == EVIL
    assert page.locator("#people-list img").count() == 0


def test_excluding_asks_for_a_reason_first(disputed: Any, opened: Any) -> None:
    server, who = disputed
    page = opened(server)
    row = page.locator("#people-list tbody tr").nth(1)
    row.get_by_role("button", name="Exclude").click()
    page.get_by_role("button", name="Cancel").click()
    assert overview(who)["people"][1]["excluded"] is None
    row.get_by_role("button", name="Exclude").click()
    page.locator("#ask-yes").click()
    # Without a reason nothing is sent, and the question stays.
    assert page.locator("#ask").is_visible()
    page.get_by_label("Reason").fill("always no")
    page.locator("#ask-yes").click()
    row.get_by_text("excluded", exact=True).wait_for()
    assert overview(who)["people"][1]["excluded"] == "always no" and disputes(who) == []
    row.get_by_role("button", name="Restore").click()
    row.get_by_role("button", name="Exclude").wait_for()
    assert overview(who)["people"][1]["excluded"] is None and len(disputes(who)) == 20


def test_revoking_and_pausing_ask_first(disputed: Any, opened: Any) -> None:
    server, who = disputed
    page = opened(server)
    page.locator("#people-list tbody tr").first.get_by_role("button", name="Revoke").click()
    page.keyboard.press("Escape")
    assert overview(who)["people"][0]["link_expires"] is not None
    page.locator("#people-list tbody tr").first.get_by_role("button", name="Revoke").click()
    page.locator("#ask-yes").click()
    page.get_by_text("revoked").wait_for()
    assert overview(who)["people"][0]["link_expires"] is None
    page.get_by_role("button", name="Pause").click()
    page.locator("#ask-yes").click()
    page.locator("#paused").wait_for(state="visible")
    page.get_by_role("button", name="Resume").click()
    page.locator("#paused").wait_for(state="hidden")
    assert overview(who)["state"] == "open"


def test_one_click_decides(disputed: Any, opened: Any) -> None:
    server, who = disputed
    first, second = disputes(who)[:2]
    page = opened(server)
    card = page.locator(".dispute").first
    assert card.locator("img").get_attribute("src") == images(first)[0]
    assert [each.inner_text() for each in card.locator(".votes li").all()] == [
        "bob irrelevant",
        "ann relevant",
    ]
    card.get_by_role("button", name="relevant", exact=True).click()
    page.get_by_text("relevance: decided.").wait_for()
    # It sinks below what is still open, and the next one stands first.
    expect(page.locator(".dispute").first.locator("img")).to_have_attribute("src", images(second)[0])
    kept = [row for row in server.answers() if row["annotator"] == "owner"]
    assert [(row["item_id"], row["value"]) for row in kept] == [(first["item"], 1.0)]


ALIKE = ["nothing alike", "slightly alike", "fairly alike", "very alike", "the same"]
MEASURE = """card => {
  const boxes = (selector, name) => Object.fromEntries([...card.querySelectorAll(selector)].map(
    each => [name(each).textContent, each.getBoundingClientRect().toJSON()]));
  const caption = each => each.querySelector("figcaption");
  return { buttons: boxes(".decide button", each => each), figures: boxes("figure", caption) };
}"""
PAIRS = '[annotate.better]\nmode = "{mode}"\nper_item = 2\n'


@pytest.mark.parametrize(
    ("mode", "pictures", "buttons"),
    [
        ("preference(tie=True)", ["A", "B"], ["A", "no difference", "B"]),
        ("two_afc", ["A", "reference", "B"], ["A", "B"]),
        ("similarity_rating", ["A", "B"], ALIKE),
    ],
)
def test_buttons_stand_in_the_order_of_the_pictures(
    live: Any, client: Any, opened: Any, mode: str, pictures: list[str], buttons: list[str]
) -> None:
    server = live(PAIRS.format(mode=mode), prompts=3, images=3)
    values = (5.0, 1.0) if mode == "similarity_rating" else (1.0, 0.0)
    for name, value in zip(("ann", "bob"), values, strict=True):
        judge(server, client, name, value, 40)
    page = opened(server)
    card = page.locator(".dispute").first
    assert [each.inner_text() for each in card.locator("figcaption").all()] == pictures
    shown = card.locator(".decide button")
    assert [each.inner_text() for each in shown.all()] == buttons
    # From the left to the right, and each of A and B beneath its picture. All are measured at one moment:
    # charts further up may arrive between two.
    measured = card.evaluate(MEASURE)
    boxes = measured["buttons"]
    for name, place in measured["figures"].items():
        if name in boxes:
            middle = boxes[name]["x"] + boxes[name]["width"] / 2
            assert place["x"] <= middle <= place["x"] + place["width"]
            assert boxes[name]["y"] > place["y"] + place["height"]
    card.get_by_role("button", name=buttons[0], exact=True).click()
    page.get_by_text(": decided.").wait_for()


def test_what_stands_out_is_told_without_rules(live: Any, client: Any, opened: Any) -> None:
    server = live(PAIRS.format(mode="yes_no"), prompts=10, images=1)
    judge(server, client, "ann", 1, 40)
    bob = client(server.invite("bob"))
    for _ in range(40):
        if pages := bob.work()["pages"]:
            bob.answer_page(pages[0], 0, took_ms=90)
    page = opened(server)
    told = page.locator("#alerts")
    assert told.locator("li").filter(has_text="bob takes 0.1 s per task (median of 20); to look").count() == 1
    assert told.locator("li").filter(has_text="bob gave “no” in all of 20 answers").count() == 1
    row = page.locator("#people-list tbody tr").filter(has_text="bob")
    assert row.locator(".tag").inner_text() == "worth a look"
    row.get_by_role("button", name="Exclude").click()
    page.get_by_label("Reason").fill("a script")
    page.locator("#ask-yes").click()
    # Whoever is excluded is no longer told of, nor is what came of them.
    told.wait_for(state="hidden")


def test_charts_with_nothing_to_show_say_so(live: Any, opened: Any) -> None:
    page = opened(live(PAIRS.format(mode="yes_no"), prompts=2, images=1))
    said = [each.inner_text() for each in page.locator(".chart figcaption").all()]
    assert said == [
        "Nobody has answered yet.",
        "Agreement takes two: so far nobody has answered.",
        "No two people differ on an image so far.",
        "No control item was answered yet.",
    ]
    assert page.locator("#charts img").count() == page.locator("#alerts li").count() == 0


def test_judging_again_and_tables(disputed: Any, opened: Any, tmp_path: Any) -> None:
    server, _ = disputed
    page = opened(server)
    page.get_by_role("button", name="Draw").click()
    page.locator("#ask-yes").click()
    page.get_by_text("3 of 16 finished items are judged again").wait_for()
    with page.expect_download() as download:
        page.locator("#download").click()
    path = tmp_path / "back.csv"
    download.value.save_as(path)
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("0 judgements added, 64 already in the study").wait_for()
    table = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    table[3]["value"] = "0.0" if table[3]["value"] == "1.0" else "1.0"
    path.write_text(_written(table), "utf-8")
    # The form is emptied once the first table is in.
    expect(page.locator("input[type=file]")).to_have_value("")
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("back.csv:5: ").wait_for()
    assert len(server.answers()) == 64


def test_the_keyboard_keeps_its_place_while_numbers_move(disputed: Any, client: Any, opened: Any) -> None:
    server, _ = disputed
    page = opened(server)
    button = page.locator("#people-list tbody tr").nth(1).get_by_role("button", name="Exclude")
    button.focus()
    server.invite("cat")
    page.locator("#people-list tbody tr").nth(2).wait_for()
    assert page.evaluate("document.activeElement.dataset.key") == "exclude-bob"


NOTED = '[annotate.r]\nmode = "preference"\nper_item = 2\ncomment = true\nflag = true\nregions = true\n'
BOXES = [[0.5, 0.25, 0.75, 0.75], [0.0, 0.0, 0.25, 0.125]]


def noted(live: Any, client: Any) -> Any:
    """A server on which ann comments on her first task, flags the second and marks an image of the third."""
    server = live(NOTED)
    ann = client(server.invite("ann"))
    tasks = []
    for _ in range(3):
        (task, *_) = ann.work()["pages"]
        tasks.append(task["page"])
        ann.answer_page(task, 1)
    remarks = [
        {"kind": "comment", "text": f"six fingers {EVIL}"},
        {"kind": "flag", "text": "the image is cut off"},
        {"kind": "regions", "part": 1, "boxes": BOXES},
    ]
    made = [
        {"key": f"remark-of-ann-{n:08d}", "page": task, **remark}
        for n, (task, remark) in enumerate(zip(tasks, remarks, strict=True))
    ]
    assert ann.http.post("/api/answers", json={"remarks": made}).status_code == 200
    return server


def test_what_annotators_noted_is_shown(live: Any, client: Any, opened: Any) -> None:
    server = noted(live, client)
    page = opened(server)
    part = page.locator("#remarks-part")
    expect(part.locator("p.n").first).to_have_text("1 task flagged, 1 comment, 1 image with regions")
    first, second, third = part.locator(".remark").all()
    assert first.locator("p").all_inner_texts()[:2] == ["Flag by ann, task 2", "the image is cut off"]
    assert second.locator(".said").inner_text() == f"six fingers {EVIL}"
    stored = server.rows("SELECT part FROM remark WHERE kind = 'regions'")[0]["part"]
    assert third.locator("p.n").inner_text() == f"2 regions of {'AB'[stored]} by ann, task 3"
    # Over the image, where they were marked: the first from the middle on, half as high.
    third.scroll_into_view_if_needed()
    page.wait_for_function(
        "() => document.querySelectorAll('.remark')[2].querySelector('img').naturalWidth > 0"
    )
    image, box = third.locator("img").bounding_box(), third.locator(".box").first.bounding_box()
    assert image and box and box["x"] - image["x"] == pytest.approx(image["width"] / 2, abs=1)
    assert box["height"] == pytest.approx(image["height"] / 2, abs=1)
    third.locator(".picture").click()
    expect(page.locator("#zoom-marks .box")).to_have_count(2)
    expect(page.locator("#zoom-marks button").first).to_be_hidden()
    assert page.inner_text("#zoom-name") == f"2 regions of {'AB'[stored]} by ann"
    page.keyboard.press("Escape")
    # The page has one enlarged image: that of a remark without regions has none.
    second.locator(".picture").click()
    expect(page.locator("#zoom-marks .box")).to_have_count(0)


def test_a_round_without_remarks_has_no_part_for_them(live: Any, opened: Any) -> None:
    expect(opened(live(NOTED)).locator("#remarks-part")).to_be_hidden()


def test_the_explorer_is_a_click_away_and_leads_back(live: Any, opened: Any) -> None:
    page = opened(live(NOTED))
    page.get_by_role("link", name="Explore images").click()
    page.locator("#board img").first.wait_for()
    page.get_by_role("link", name="Judging").click()
    page.locator("#all").wait_for(state="visible")
    assert page.url.endswith("/owner")


def test_a_lost_session_is_told(disputed: Any, opened: Any) -> None:
    server, _ = disputed
    page = opened(server)
    page.context.clear_cookies()
    page.get_by_text("you need the link that you were sent").wait_for()


def test_tokens_are_not_kept_in_the_page(live: Any, opened: Any) -> None:
    server = live(RELEVANCE)
    page = opened(server)
    assert page.url == f"{server.url}/owner"
    (token,) = [each["value"] for each in page.context.cookies() if each["name"] == "sightline_owner"]
    assert token and token not in page.content()
    assert page.evaluate("document.cookie") == ""


def _written(table: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue()


def _until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def _rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"
