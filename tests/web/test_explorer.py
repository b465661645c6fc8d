"""The explorer over the wire: whom it lets in, what it sends, what is done with chosen rows."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from sightline.data.export import export
from sightline.data.import_ import import_
from sightline.judging.annotate import annotate
from sightline.judging.store import tokens
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, System
from sightline.report.explorer import explorer as explorer_module
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load
from sightline.web.app import create_explorer
from sightline.web.guarding import rules_for

EVIL = "<img src=x onerror=alert(1)>"
SQL = "x'); DROP TABLE image_tag; --"


@dataclass
class Shown:
    """A server that shows a study, and its owner's client."""

    url: str
    study: Study
    http: httpx.Client

    def get(self, path: str, status: int = 200) -> Any:
        reply = self.http.get(path)
        assert reply.status_code == status, (path, reply.status_code, reply.text)
        return reply.json()

    def act(self, action: str, status: int = 200, **body: Any) -> Any:
        reply = self.http.post("/api/view/act", json={"action": action, **body})
        assert reply.status_code == status, (reply.status_code, reply.text)
        return reply.json()

    def ids(self, query: str) -> list[int]:
        return [row["id"] for row in self.get(f"/api/view/rows?{query}")["rows"]]

    def keys(self, query: str = "") -> list[str]:
        return [row["key"] for row in self.get(f"/api/view/rows?{query}")["rows"]]


@pytest.fixture
def study(tmp_path: Path, png: Callable[..., bytes]) -> Iterator[Study]:
    """Two systems, two prompts, one sample each, one of them a failure; photos that answer nothing."""
    files = tmp_path / "files"
    files.mkdir()
    records: list[Any] = [System("ours"), System(EVIL)]
    for number in range(2):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"{EVIL} number {number}", {"skill": EVIL}))
        for system in ("ours", EVIL):
            if (system, number) == (EVIL, 1):
                records.append(Answer(prompt, system, 0, None, failure=EVIL))
                continue
            name = f"{number}{'a' if system == 'ours' else 'b'}.png"
            (files / name).write_bytes(png((60 * number, 90, 40 + len(system)), (300, 200)))
            image = ImageKey("c", name)
            records += [Image(image, str(files / name)), Answer(prompt, system, 0, image)]
    (files / "photo.gif").write_bytes(png("white", form="GIF"))
    (files / "photo.tiff").write_bytes(png("blue", form="TIFF"))
    (files / "broken.png").write_bytes(png("red")[:40])
    for name in ("photo.gif", "photo.tiff", "broken.png"):
        records.append(Image(ImageKey("photos", name), str(files / name)))
    with create_study(tmp_path / "study") as made:
        load(made, records, importer="test", path="files", digest="1", keep_broken=True)
        yield made


@pytest.fixture
def shown(study: Study, run_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    monkeypatch.setattr(explorer_module, "FRESH_SECONDS", 0.0)
    with ExitStack() as stack:
        url, _ = stack.enter_context(run_server(create_explorer(study, rules=rules_for("127.0.0.1"))))
        http = stack.enter_context(httpx.Client(base_url=url, headers={"X-Sightline": "1"}, timeout=60))
        token, _ = tokens.issue_token(study, "owner", 1, keep_others=True)
        reply = http.get(f"/j/{token}")
        assert (reply.status_code, reply.headers["location"]) == (303, "/view")
        yield Shown(url, study, http)


ADDRESSES = [
    "/view", "/match", "/api/view/match/prompts", "/api/view/study", "/api/view/fields", "/api/view/rows",
    "/api/view/rows/a-1-1-0",
    "/api/view/prompts/1", "/api/view/chart?by=system", "/api/view/export",
    f"/api/view/thumbs/{'0' * 64}.webp", f"/api/view/images/{'0' * 64}",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_nobody_else_is_let_in(shown: Shown, address: str) -> None:
    assert httpx.get(shown.url + address).status_code == 401
    with httpx.Client(base_url=shown.url, headers={"X-Sightline": "1"}) as stranger:
        for cookie in ("", "forged", "session.0.1.x"):
            stranger.cookies.set("sightline_owner", cookie)
            assert stranger.get(address).status_code == 401


def test_annotators_are_not_let_in(live: Any, client: Any) -> None:
    server = live('[annotate.r]\nmode = "yes_no"\n')
    ann = client(server.invite("ann"))
    token = server.links["ann"].rpartition("/j/")[2]
    for address in ADDRESSES:
        assert ann.http.get(address).status_code == 401
        # Nor where the annotator's token is put into the owner's cookie.
        assert httpx.get(server.url + address, cookies={"sightline_owner": token}).status_code == 401
    assert ann.http.post("/api/view/act", json={"action": "tag", "state": "", "name": "x"}).status_code == 401
    # The owner of a study that is judged sees both under one cookie.
    owner = client(server.owner())
    assert owner.get("/api/view/rows?limit=1")["total"] == 40
    assert owner.http.get("/owner").status_code == 200


def test_an_annotators_link_does_not_open_the_explorer(shown: Shown, study: Study) -> None:
    (study.home / "study.toml").write_text('[annotate.r]\nmode = "yes_no"\n')
    from sightline.judging.oversee import invite
    from sightline.study.study import open_study

    with open_study(study.home) as opened:
        annotate(opened)
        link = invite(opened, "r", "ann", "annotator").token
    assert httpx.get(f"{shown.url}/j/{link}").status_code == 403
    assert httpx.get(f"{shown.url}/judge").status_code == 404


def test_a_second_link_leaves_the_first_alone(shown: Shown, study: Study) -> None:
    tokens.issue_token(study, "owner", 1, keep_others=True)
    assert shown.get("/api/view/study")["rows"] == 7
    tokens.issue_token(study, "owner", 1)
    assert shown.http.get("/api/view/study").status_code == 401


def test_another_site_cannot_act(shown: Shown) -> None:
    body = {"action": "fail", "state": ""}
    bare = shown.http.post("/api/view/act", json=body, headers={"X-Sightline": ""})
    foreign = shown.http.post("/api/view/act", json=body, headers={"Origin": "https://evil.example"})
    assert (bare.status_code, foreign.status_code) == (403, 403)
    assert reading.image_tags(shown.study).is_empty()


def test_what_it_shows_is_what_the_study_holds(shown: Shown) -> None:
    about = shown.get("/api/view/study")
    assert (about["rows"], about["prompts"]) == (7, 2)
    assert [each["name"] for each in about["systems"]] == ["ours", EVIL]
    rows = shown.get("/api/view/rows?show=system&limit=2")
    assert rows["total"] == 7 and len(rows["rows"]) == 2 and rows["rows"][0]["values"] == {"system": "ours"}
    detail = shown.get(f"/api/view/rows/{rows['rows'][0]['key']}?blind=0&sort=random")
    assert detail["row"]["key"] == rows["rows"][0]["key"] and detail["neighbours"]["total"] == 7
    chart = shown.get("/api/view/chart?by=tag:skill")
    assert [row["n"] for row in chart["rows"]] == [2, 2]
    fields = shown.get("/api/view/fields?of=tag:skill&system=ours")["fields"]
    assert fields[0]["values"] == [{"value": EVIL, "n": 2}]
    assert [len(each["rows"]) for each in shown.get("/api/view/prompts/1")["systems"]] == [1, 1]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("rows?offset=-1", 422),
        ("rows?limit=100000", 422),
        ("rows?sort=nothing", 400),
        ("rows?layout=pair", 400),
        ("rows?f.tag:skill=%00&q=%ff", 200),
        ("rows?offset=1000000", 200),
        ("rows/a-1-1-9", 400),
        ("rows/..%2f..%2fetc", 404),
        ("rows/x", 422),
        ("prompts/999", 400),
        ("chart?by=", 422),
        ("chart?by=nothing", 400),
        ("thumbs/../../study.toml.webp", 404),
        (f"thumbs/{'G' * 64}.webp", 422),
        (f"thumbs/{'0' * 64}.webp", 404),
        (f"images/{'0' * 64}", 404),
        ("export?format=exe", 422),
        ("export?sort=nothing", 400),
        ("export?keys=a-1-1-9", 400),
    ],
)
def test_what_makes_no_sense_gets_a_fault(shown: Shown, path: str, status: int) -> None:
    reply = shown.http.get(f"/api/view/{path}")
    assert reply.status_code == status, reply.text
    if status >= 400:
        assert reply.json()["error"] or reply.json()["detail"]


def test_pictures(shown: Shown, study: Study) -> None:
    rows = shown.get("/api/view/rows")["rows"]
    first = shown.http.get(rows[0]["thumb"])
    assert first.headers["content-type"] == "image/webp" and first.content[8:12] == b"WEBP"
    assert (
        "immutable" in first.headers["cache-control"] and first.headers["x-content-type-options"] == "nosniff"
    )
    from PIL import Image as Pillow

    assert Pillow.open(io.BytesIO(first.content)).size == (256, 171)
    small = shown.http.get(rows[0]["thumb"].replace("size=256", "size=20"))
    assert Pillow.open(io.BytesIO(small.content)).size == (128, 85)
    sha256 = rows[0]["full"].rpartition("/")[2]
    assert sorted(path.name for path in (study.home / "thumbnails").rglob("*.webp")) == [f"{sha256}.webp"] * 2
    assert shown.http.get(rows[0]["full"]).content == study.files.read(sha256)
    kinds = [shown.http.get(row["full"]).headers["content-type"] for row in rows if row["prompt_id"] is None]
    # A TIFF is no file for a browser, and what is broken says so.
    assert kinds == ["image/gif", "image/png", "image/svg+xml"]


def test_a_broken_picture_says_why_and_is_not_kept(shown: Shown) -> None:
    (row,) = shown.get("/api/view/rows?is=defect")["rows"]
    for address in (row["thumb"], row["full"]):
        reply = shown.http.get(address)
        assert reply.status_code == 200 and reply.headers["content-type"] == "image/svg+xml"
        assert reply.headers["cache-control"] == "no-store" and "readable" in reply.headers["x-reason"]
    assert row["defect"]


def test_tags_are_set_and_taken_away(shown: Shown) -> None:
    keys = shown.keys("is=ok&q=number")
    done = shown.act("tag", keys=keys[:2], name="odd", value=EVIL)
    assert done["n"] == 2 and shown.ids(done["address"].partition("?")[2]) == [0, 1]
    shown.act("tag", keys=keys[:1], name="odd", value="plain")
    assert shown.ids("f.tag:odd=plain") == [0]
    assert shown.get("/api/view/rows?limit=1")["rows"][0]["tags"] == {"skill": EVIL, "odd": "plain"}
    assert shown.act("untag", state="system=ours", name="odd")["n"] == 2
    assert shown.ids("f.tag:odd=plain&f.tag:odd=" + EVIL) == [1]
    for name in (SQL, EVIL, "a" * 200, "名前"):
        shown.act("tag", state="is=unanswered", name=name, value=SQL)
        assert {each["id"] for each in shown.get("/api/view/fields")["fields"]} > {f"tag:{name}"}
    assert reading.image_tags(shown.study).height == 1 + 4 * 3


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x"}, 422),
        ({"name": "x", "keys": [], "value": "y"}, 422),
        ({"name": "x", "keys": ["a-1-1-0"], "state": ""}, 422),
        ({"name": "", "state": ""}, 400),
        ({"name": "a" * 201, "state": ""}, 400),
        ({"name": "a\0b", "state": ""}, 409),
        ({"name": "x", "state": "sort=nothing"}, 400),
        ({"name": "x", "keys": ["a-9-9-9"]}, 400),
        ({"name": "x", "keys": ["'; --"]}, 422),
        ({"name": "x", "state": "", "more": 1}, 422),
    ],
)
def test_what_cannot_be_tagged_is_refused(shown: Shown, body: dict[str, Any], status: int) -> None:
    shown.act("tag", status, **body)
    assert reading.image_tags(shown.study).is_empty()


def test_failures_are_marked_with_a_reason(shown: Shown) -> None:
    done = shown.act("fail", state="q=number", value="six fingers")
    assert (
        done["n"] == 3 and done["skipped"] == {"failed answers": 1} and "1 failed answers" in done["message"]
    )
    assert shown.ids("f.tag:failure=six+fingers") == [0, 1, 2]
    assert shown.act("unfail", state="system=ours")["n"] == 2
    assert shown.ids("f.tag:failure=six+fingers") == [1]


def test_a_round_has_exactly_the_rows_sent_to_it(shown: Shown, study: Study) -> None:
    before = (study.home / "study.toml").read_text()
    done = shown.act("round", keys=shown.keys("system=ours"), name="again", mode="yes_no", per_item=2)
    assert done["n"] == 2 and done["command"].endswith("--round again")
    assert "again" in shown.get("/api/view/study")["rounds"]
    settings = (study.home / "study.toml").read_text()
    assert settings.startswith(before.rstrip("\n")) and 'where = "tag:round.again"' in settings
    from sightline.study.study import open_study

    with open_study(study.home) as opened:
        (round_,) = annotate(opened, ["again"]).rounds
        assert (round_.items, round_.settings.per_item) == (2, 2)
        query = (
            "SELECT s.prompt_id, s.image_id FROM round_item_slot l JOIN item s ON s.id = l.item_id ORDER BY 1"
        )
        judged = [tuple(row) for row in reading.fetch_rows(opened, query)]
    rows = shown.get("/api/view/rows?system=ours")["rows"]
    assert judged == [(row["prompt_id"], row["image_id"]) for row in rows]


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"name": "a b", "mode": "yes_no"}, 400, "cannot be called"),
        ({"name": "x]\n[store", "mode": "yes_no"}, 400, "cannot be called"),
        ({"name": "r", "mode": "nothing"}, 400, "nothing"),
        ({"name": "r", "mode": "yes_no", "state": "is=unanswered"}, 400, "none of these"),
        ({"name": "r", "mode": "yes_no", "state": "is=failed"}, 400, "none of these"),
        ({"name": "r", "mode": "yes_no", "per_item": 0}, 422, "per_item"),
    ],
)
def test_a_refused_round_leaves_no_trace(
    shown: Shown, study: Study, body: dict[str, Any], status: int, why: str
) -> None:
    before = (study.home / "study.toml").read_text()
    assert why in shown.act("round", status, **{"state": "", **body})["error"]
    assert (study.home / "study.toml").read_text() == before and reading.image_tags(study).is_empty()


def test_a_round_cannot_be_declared_twice(shown: Shown) -> None:
    shown.act("round", state="is=ok&q=number", name="r", mode="yes_no")
    assert "already" in shown.act("round", 400, state="", name="r", mode="yes_no")["error"]


def test_rows_as_a_table(shown: Shown) -> None:
    shown.act("tag", state="is=unanswered", name="=formula", value="=1+1")
    reply = shown.http.get("/api/view/export?sort=-prompt&show=system")
    assert reply.headers["content-disposition"] == 'attachment; filename="study-rows.csv"'
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [row["key"] for row in rows] == shown.keys("sort=-prompt")
    assert rows[0]["prompt"] == f"{EVIL} number 1" and rows[1]["failure"] == EVIL and rows[1]["image"] == ""
    assert rows[-1]["tag:=formula"] == "'=1+1"
    chosen = shown.http.post("/api/view/export", json={"keys": shown.keys()[:1], "format": "csv"})
    assert len(chosen.text.splitlines()) == 2


def test_rows_with_their_images(shown: Shown, study: Study) -> None:
    reply = shown.http.get("/api/view/export?format=zip")
    with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        rows = list(csv.DictReader(io.TextIOWrapper(archive.open("rows.csv"), "utf-8")))
        assert len(rows) == 7 and len(names) == 7 and all(".." not in name for name in names)
        for row in rows:
            if row["image"]:
                assert archive.read(row["image"]) == study.files.read(row["sha256"])
    assert [row["image"] for row in rows if not row["image"]] == [""]


def test_tags_of_images_come_back_with_an_export(shown: Shown, study: Study, tmp_path: Path) -> None:
    shown.act("tag", state="system=ours", name="seen", value="yes")
    shown.act("tag", state="is=unanswered", name="seen", value=EVIL)
    export(study, tmp_path / "out")
    with create_study(tmp_path / "other") as other:
        import_(other, tmp_path / "out")
        names = (
            "SELECT i.name, t.prompt_id > 0, t.name, t.value FROM image_tag t "
            "JOIN image i ON i.id = t.image_id ORDER BY 1"
        )
        assert reading.fetch_rows(other, names) == reading.fetch_rows(study, names)
        assert reading.image_tags(other).height == 5


def test_a_study_of_images_alone(tmp_path: Path, png: Callable[..., bytes], run_server: Any) -> None:
    (tmp_path / "a.png").write_bytes(png())
    with create_study(tmp_path / "study") as made:
        load(
            made, [Image(ImageKey("c", "a.png"), str(tmp_path / "a.png"))], importer="t", path="t", digest="t"
        )
        with run_server(create_explorer(made)) as (url, _), httpx.Client(base_url=url) as http:
            http.get(f"/j/{tokens.issue_token(made, 'owner', 1)[0]}")
            assert http.get("/api/view/rows").json()["rows"][0]["system"] is None
            assert http.get("/view").status_code == 200
            assert http.get("/").headers["location"] == "/view"


def test_an_address_can_be_sent_behind_the_owners_link(shown: Shown, study: Study) -> None:
    state = "sort=-position&system=alpha&f.tag:skill=a+b"
    token = tokens.issue_token(study, "owner", 1, keep_others=True)[0]
    reply = httpx.get(f"{shown.url}/j/{token}?{state}")
    assert (reply.status_code, reply.headers["location"]) == (303, f"/view?{state}")
    # Without the link, its owner hears where to get one; nobody "leads the study" but them.
    page = httpx.get(f"{shown.url}/view?{state}").text
    assert "sightline view" in page and "Ask the people" not in page
    assert "sightline view" in httpx.get(f"{shown.url}/j/nonsense").text
