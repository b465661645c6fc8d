"""PostgreSQL that goes silent: no request hangs, nothing acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from failing_link import Link, failing_link
from PIL import Image as Pillow
from sqlalchemy import text

from sightline.judging.annotate import annotate
from sightline.judging.oversee import invite
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.schema import database, patience
from sightline.study.study import create_study, open_study
from sightline.study.writing.loading import load
from sightline.web import state
from sightline.web.app import create_app
from sightline.web.guarding import rules_for

SETTINGS = '[annotate.r]\nmode = "yes_no"\nper_item = 1\n'


class Judging:
    """A served study whose database is behind a link that can fail, and one annotator."""

    def __init__(self, link: Link, url: str, token: str, address: str) -> None:
        self.link, self.address = link, address
        self.http = httpx.Client(base_url=url, headers={"X-Sightline": "1"}, timeout=60)
        assert self.http.get(f"/j/{token}").status_code == 303
        self.page = self.http.get("/api/work").json()["pages"][0]["page"]

    def answer(self, key: str) -> httpx.Response:
        answer = {"key": key, "page": self.page, "slot": 0, "question": "match", "value": 1.0}
        return self.http.post("/api/answers", json={"answers": [answer]})

    def until_stored(self, key: str) -> tuple[str, list[httpx.Response]]:
        """Send an answer again as the page does, until there is a receipt; what was replied before it."""
        failed: list[httpx.Response] = []
        for _ in range(60):
            reply = self.answer(key)
            if reply.status_code == 200:
                return reply.json()["receipts"][0]["status"], failed
            failed.append(reply)
            time.sleep(0.2)
        raise AssertionError([each.text for each in failed])

    def stored(self) -> int:
        with open_study(self.address) as study, database.reading(study.engine) as connection:
            return int(connection.execute(text("SELECT count(*) FROM judgement")).scalar_one())


@pytest.fixture
def judging(
    postgres_url: str,
    tmp_path: Path,
    run_server: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Judging]:
    monkeypatch.setattr(patience, "PING_SECONDS", 1.0)
    monkeypatch.setattr(patience, "IDLE_SECONDS", 3)
    monkeypatch.setitem(patience.CONNECTING, "connect_timeout", 2)
    monkeypatch.setattr(state, "PATIENCE", 3.0)
    records: list[Record] = []
    for number in range(6):
        key, image = PromptKey("s", str(number)), ImageKey("c", f"{number}.png")
        file = tmp_path / image.name
        Pillow.new("RGB", (16, 16), (number, 0, 0)).save(file)
        records += [Prompt(key, f"dog {number}"), Image(image, str(file)), Answer(key, "sd", 0, image)]
    settings = f'{SETTINGS}[store]\ndatabase = "{postgres_url}"\n'
    with create_study(tmp_path / "s", database_address=postgres_url, settings=settings) as made:
        load(made, records, importer="test", path="test", digest="test")
    with failing_link(postgres_url) as link:
        (tmp_path / "s" / "study.toml").write_text(SETTINGS + f'[store]\ndatabase = "{link.address}"\n')
        with open_study(tmp_path / "s") as study:
            rounds = annotate(study).rounds
            token = invite(study, "r", "ann").token
            app = create_app(study, rounds, rules=rules_for("127.0.0.1"))
            with run_server(app) as (url, _):
                begun = Judging(link, url, token, postgres_url)
                yield begun
                begun.http.close()
                link.close()


def test_connections_that_went_silent_are_replaced(judging: Judging) -> None:
    judging.link.stall()
    status, failed = judging.until_stored(secrets.token_hex(12))
    assert status == "stored" and judging.stored() == 1
    assert {reply.status_code for reply in failed} <= {503}
    assert judging.http.get("/readyz").status_code == 200


def test_a_connection_that_goes_silent_at_the_commit_holds_up_nobody_for_long(judging: Judging) -> None:
    judging.link.stall_at(b"COMMIT")
    key = secrets.token_hex(12)
    reply = judging.answer(key)
    assert reply.status_code == 503 and reply.headers["retry-after"].isdigit()
    # PostgreSQL ends the transaction that nobody will ever commit; until then it has the writer's lock.
    status, _ = judging.until_stored(key)
    assert status == "stored" and judging.stored() == 1


@pytest.mark.slow
def test_a_database_out_of_reach_is_told_without_its_address(judging: Judging) -> None:
    judging.link.hold()
    try:
        replies = [judging.answer(secrets.token_hex(12)), judging.http.get("/readyz")]
        assert [each.status_code for each in replies] == [503, 503]
        assert all(each.headers["retry-after"].isdigit() for each in replies)
        assert judging.http.get("/healthz").status_code == 200
        other = judging.http.get("/api/task")
        assert other.status_code == 503
        said = " ".join(each.text for each in [*replies, other])
        assert all(part not in said for part in ("127.0.0.1", "5432", "postgres", "host", "t_", "psycopg"))
    finally:
        judging.link.heal()
    status, _ = judging.until_stored(secrets.token_hex(12))
    assert status == "stored" and judging.stored() == 1
