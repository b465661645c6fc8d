"""Images that are dropped on a page and matched to prompts by hand: over the wire, and in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from sightline.data.imports import imports, undo
from sightline.judging.store import tokens
from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load
from sightline.web.app import create_explorer
from sightline.web.guarding import rules_for

API = "/api/view/match"


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    texts = {"12": "a red ball", "c2": "two dogs", "c3": "<img src=x onerror=alert(1)>"}
    with create_study(tmp_path / "study") as made:
        prompts = [Prompt(PromptKey("s", ref), text, {"skill": "counting"}) for ref, text in texts.items()]
        load(made, prompts, importer="test", path="prompts", digest="1")
        yield made


@pytest.fixture
def served(study: Study, run_server: Any) -> Iterator[tuple[str, httpx.Client]]:
    with ExitStack() as stack:
        url, _ = stack.enter_context(run_server(create_explorer(study, rules=rules_for("127.0.0.1"))))
        http = stack.enter_context(httpx.Client(base_url=url, headers={"X-Sightline": "1"}, timeout=60))
        token, _ = tokens.issue_token(study, "owner", 1, keep_others=True)
        http.get(f"/j/{token}")
        yield f"{url}/j/{token}", http


def sent(http: httpx.Client, data: bytes, status: int = 200, **values: Any) -> Any:
    values = {"name": "a.png", "prompt": 1, "system": "ours", **values}
    reply = http.post(f"{API}/images", params=values, content=data)
    assert reply.status_code == status, reply.text
    return reply.json()


def test_images_are_taken_in_as_one_import(served: Any, study: Study, png: Callable[..., bytes]) -> None:
    _, http = served
    guesses = http.post(f"{API}/names", json={"names": ["p12_2.png", "c2_0.png", "cat.png"]}).json()
    # p<ID>_<n> counts from 1, <id>_<sample> from 0.
    assert [(each["prompt"] or {}).get("ref") for each in guesses] == ["12", "c2", None]
    assert [each["sample"] for each in guesses] == [1, 0, None]
    first = sent(http, png("red"), sample=1)
    assert (first["sample"], first["prompt_id"]) == (1, 1)
    # Without a sample it is the next one.
    assert sent(http, png("tan"), number=first["number"])["sample"] == 2
    assert sent(http, png("tan"), prompt=2, number=first["number"])["number"] == first["number"]
    shown = http.get(f"{API}/prompts", params={"system": "ours", "q": "red BALL"}).json()
    assert [(each["ref"], each["samples"]) for each in shown["prompts"]] == [("12", [1, 2])]
    assert reading.answers(study).height == 3 and len(imports(study).frame()) == 2
    undo(study, first["number"])
    assert reading.answers(study).height == 0 and reading.images(study).height == 0


def test_what_cannot_be_taken_in_is_refused_and_nothing_is_kept(
    served: Any, study: Study, png: Callable[..., bytes]
) -> None:
    _, http = served
    sent(http, png("red"), sample=0)
    # Quoted: what stands first in a message gets a capital letter on the page, which a name must not.
    assert "the system 'ours' has an image" in sent(http, png("blue"), 409, sample=0)["error"]
    assert "not a readable image" in sent(http, b"no image at all", 409)["error"]
    assert "a.png" in sent(http, png("red")[:40], 409)["error"]
    assert "not called like an image" in sent(http, png("red"), 409, name="a.svg")["error"]
    assert "no prompt number 99" in sent(http, png("red"), 409, prompt=99)["error"]
    # The import of the prompts is no import of matched images: nothing is added to it.
    assert "none of matched images" in sent(http, png("red"), 409, number=1)["error"]
    assert http.post(f"{API}/images", params={"name": "a.png", "prompt": 1}, content=b"x").status_code == 422
    assert sent(http, png("red"), 422, sample=-1)
    assert reading.answers(study).height == 1
    with httpx.Client(base_url=http.base_url, headers={"X-Sightline": "1"}) as stranger:
        assert stranger.post(f"{API}/names", json={"names": ["a.png"]}).status_code == 401
        assert sent_by_stranger(stranger, png("red")) == 401
    http.headers.pop("X-Sightline")
    assert http.post(f"{API}/names", json={"names": ["a.png"]}).status_code == 403


def sent_by_stranger(http: httpx.Client, data: bytes) -> int:
    values = {"name": "a.png", "prompt": 1, "system": "ours"}
    return http.post(f"{API}/images", params=values, content=data).status_code


def test_an_image_may_be_larger_than_other_requests(study: Study) -> None:
    rules = create_explorer(study).rules
    assert rules.allowance(f"{API}/images").most == 64 * 1024**2
    assert rules.allowance(f"{API}/prompts") == rules.body


def test_the_page(
    served: Any, study: Study, open_page: Any, tmp_path: Path, png: Callable[..., bytes]
) -> None:
    link, _ = served
    page = open_page(link)
    page.get_by_role("link", name="Add images").click()
    page.locator("#system").fill("painter")
    files = {
        "p12_1.png": png("red"),
        "holiday.png": png("blue"),
        "broken.png": b"\x89PNG no",
        "notes.txt": b"x",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    page.locator("#files").set_input_files([tmp_path / name for name in files])
    page.locator("#failed", has_text="1 file left").wait_for()
    page.locator("#said", has_text="3 images: 1 matched, 2 not matched").wait_for()
    # The first image without a prompt is chosen; a click on a prompt matches it and goes on to the next.
    page.locator("#search").fill("dogs")
    page.locator("#found", has_text="1 prompt.").wait_for()
    page.locator("#prompts button").click()
    page.locator("#prompts button").click()
    page.get_by_role("button", name="Add 3 images").click()
    page.locator("#said", has_text="1 matched, 0 not matched, 2 added").wait_for()
    trouble = page.locator(".item .trouble", has_text="broken").inner_text()
    assert trouble.startswith("broken.png: not a readable image")
    found = reading.answers(study).select("system", "prompt_id", "position").rows()
    assert sorted(found) == [("painter", 1, 0), ("painter", 2, 0)]
