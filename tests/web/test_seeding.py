"""Seeds of queries: searched and chosen, extended to images that look alike, and sent to a round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from sightline.data.imports import undo
from sightline.errors import DataError, UsageError
from sightline.judging.rounds import round_names
from sightline.judging.store import tokens
from sightline.records import Image, ImageKey
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load
from sightline.systems import Seeding
from sightline.web.app import create_explorer
from sightline.web.guarding import rules_for

API = "/api/view/seeds"
COLOURS = {"red": "a red sunset", "tan": "a tan dog on sand", "blue": "a blue sea", "navy": "a dark blue sea"}


@pytest.fixture
def study(tmp_path: Path, png: Callable[..., bytes]) -> Iterator[Study]:
    records = []
    for colour, caption in COLOURS.items():
        file = tmp_path / f"{colour}.png"
        file.write_bytes(png(colour))
        records.append(Image(ImageKey("photos", file.name), str(file), [caption]))
    with create_study(tmp_path / "study") as made:
        load(made, records, importer="test", path="photos", digest="1")
        yield made


@pytest.fixture
def served(study: Study, run_server: Any) -> Iterator[tuple[str, httpx.Client]]:
    with ExitStack() as stack:
        url, _ = stack.enter_context(run_server(create_explorer(study, rules=rules_for("127.0.0.1"))))
        http = stack.enter_context(httpx.Client(base_url=url, headers={"X-Sightline": "1"}, timeout=60))
        token, _ = tokens.issue_token(study, "owner", 1, keep_others=True)
        http.get(f"/j/{token}")
        yield f"{url}/j/{token}", http


def test_seeds_are_replaced_and_what_was_searched_is_kept(study: Study) -> None:
    seeding = Seeding(study)
    found = seeding.search("photos", "blue sea")
    assert {hit.name for hit in found.hits[:2]} == {"blue.png", "navy.png"}
    assert "caption_words" in found.engine
    ids = {hit.name: hit.image for hit in seeding.search("photos", "sea sunset dog").hits}
    both = [ids["blue.png"], ids["red.png"]]
    first = seeding.choose("holidays", both, ["blue sea", "beach"], kind="conceptual")
    assert (first.query.text, len(first.query.seeds)) == ("holidays", 2)
    assert reading.tags(study).rows()[0][1:] == ("kind", "conceptual")
    again = seeding.choose("holidays", [ids["blue.png"]], ["ocean"], query=first.query.id)
    assert list(again.query.seeds) == [ids["blue.png"]]
    assert list(again.query.searched) == ["blue sea", "beach", "ocean"]
    assert seeding.extend("photos", "grown", 1).pairs == 2
    # A pool uses the query, not its seeds: these are still replaced, and undone by themselves.
    more = seeding.choose("", [ids["navy.png"]], query=first.query.id)
    undo(study, more.number)
    assert seeding.queries()[0].seeds == ()


def test_captions_that_come_later_are_searched(study: Study) -> None:
    seeding = Seeding(study)
    assert not seeding.search("photos", "holiday").hits
    more = [Image(ImageKey("photos", "tan.png"), None, ["our holiday"])]
    load(study, more, importer="test", path="captions", digest="2")
    assert seeding.search("photos", "holiday").hits[0].name == "tan.png"


def test_what_cannot_be_chosen(study: Study) -> None:
    seeding = Seeding(study)
    with pytest.raises(DataError, match="no image number 99"):
        seeding.choose("x", [99])
    with pytest.raises(DataError, match="no image is chosen"):
        seeding.choose("x", [])
    with pytest.raises(UsageError, match="needs a text"):
        seeding.choose("  ", [1])
    with pytest.raises(DataError, match="no prompt number 7"):
        seeding.choose("x", [1], query=7)
    with pytest.raises(UsageError, match="no collection called 'photo'"):
        seeding.search("photo", "x")
    assert reading.prompts(study).height == 0


def test_only_the_owner_and_only_whole_requests(served: Any) -> None:
    _, http = served
    assert http.post(API, json={"text": "x", "images": []}).status_code == 422
    assert http.get(f"{API}/search", params={"collection": "none", "q": "x"}).status_code == 400
    with httpx.Client(base_url=http.base_url, headers={"X-Sightline": "1"}) as stranger:
        assert stranger.get(API).status_code == 401
        assert stranger.post(f"{API}/extend", json={"collection": "photos"}).status_code == 401


def test_the_page(served: Any, study: Study, open_page: Any) -> None:
    link, _ = served
    page = open_page(link)
    page.get_by_role("link", name="Seeds").click()
    page.locator("#text").fill("a day at the sea")
    page.locator("#search").fill("blue sea")
    page.locator("#search").press("Enter")
    page.locator("#found", has_text="images by caption_words").wait_for()
    page.get_by_role("button", name="Seed: a blue sea").click()
    page.locator("#said", has_text="1 image marked. Tried: blue sea.").wait_for()
    page.locator("#keep").click()
    page.locator("#made", has_text="a day at the sea").wait_for()
    page.locator("#neighbours").fill("1")
    page.get_by_role("button", name="Extend and declare a round").click()
    page.locator("#extended", has_text="--round seeds").wait_for()
    assert round_names(study) or "seeds" in (study.home / "study.toml").read_text()
    assert reading.truths(study, "seed").height == 1
