"""Links, the cookies they leave, and how fast whoever has one may ask."""

from __future__ import annotations

import csv
import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from sightline.errors import UsageError
from sightline.judging import oversee
from sightline.judging.store import tokens
from sightline.web.app import create_app
from sightline.web.guarding import rules_for
from sightline.web.pacing import Pace, Paces
from sightline.web.serving import trusted_networks

ROUND = '[annotate.r]\nmode = "yes_no"\nper_item = 3\n'
PUBLIC = "https://judge.example.org"


def state_of(server: Any) -> Any:
    return server.app.app.state.sightline


# -- the owner ----------------------------------------------------------------------------------------------


def test_a_new_link_of_the_owner_ends_the_one_before(live: Any, client: Any) -> None:
    server = live(ROUND)
    first = server.owner()
    before = client(first)
    assert before.http.get("/owner").status_code == 200
    after = client(server.owner(fresh=True))
    state_of(server).forget()
    assert before.http.get("/owner").status_code == 401
    assert httpx.get(first).status_code == 403
    assert after.http.get("/owner").status_code == 200


def test_the_owners_cookie_is_not_the_link_and_ends_soon(live: Any) -> None:
    server = live(ROUND)
    link = server.owner()
    token = link.rpartition("/j/")[2]
    cookie = httpx.get(link).headers["set-cookie"]
    assert token not in cookie and f"Max-Age={12 * 3600};" in cookie
    reply = httpx.get(f"{server.url}/owner", headers={"Cookie": f"sightline_owner={token}"})
    assert reply.status_code == 401


def test_whoever_is_excluded_is_let_in_no_more(live: Any, client: Any) -> None:
    server = live(ROUND)
    ann, bob, owner = client(server.invite("ann")), client(server.invite("bob")), client(server.owner())
    page = ann.work()["pages"][0]
    body = {"name": "ann", "reason": "too fast"}
    assert owner.http.post("/api/owner/exclude", json=body).status_code == 200
    answer = {"key": "a-key-of-my-own-1", "page": page["page"], "slot": 0, "question": "match", "value": 1}
    assert ann.http.post("/api/answers", json={"answers": [answer]}).status_code == 401
    assert ann.http.get(page["slots"][0]["images"][0]).status_code == 401
    assert httpx.get(server.links["ann"]).status_code == 403
    assert bob.work()["pages"] and server.answers() == []
    owner.http.post("/api/owner/restore", json={"name": "ann"})
    assert httpx.get(server.links["ann"]).status_code == 403, "restored, but with a new link"
    assert client(server.invite("ann")).work()["pages"]


# -- https ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_behind_https_cookies_belong_to_this_host_alone(live: Any, scheme: str) -> None:
    """Whether the server learns of https from its public address alone, or from a proxy as well."""
    server = live(ROUND)
    app = create_app(server.study, server.opened, public=PUBLIC, rules=rules_for("127.0.0.1", [PUBLIC]))
    links = {"sightline": server.invite("ann"), "sightline_owner": server.owner()}
    with TestClient(app, base_url=f"{scheme}://judge.example.org", follow_redirects=False) as browser:
        for name, link in links.items():
            reply = browser.get("/j/" + link.rpartition("/j/")[2])
            browser.cookies.clear()
            first, *parts = reply.headers["set-cookie"].split("; ")
            assert first.startswith(f"__Host-{name}=")
            assert {"Secure", "HttpOnly", "Path=/"} <= set(parts) and "domain" not in str(parts).lower()
            assert reply.headers["strict-transport-security"] == "max-age=31536000"
            where = "/owner" if name == "sightline_owner" else "/judge"
            value = first.partition("=")[2]
            assert browser.get(where, headers={"Cookie": first}).status_code == 200
            # Anybody on the way could have set this one over http.
            assert browser.get(where, headers={"Cookie": f"{name}={value}"}).status_code == 401
        described = browser.get("/openapi.json").json()["components"]["securitySchemes"]
        assert {each["name"] for each in described.values()} == {f"__Host-{name}" for name in links}


def test_plain_http_promises_nothing_about_https(live: Any) -> None:
    server = live(ROUND)
    reply = httpx.get(server.invite("ann"))
    assert "strict-transport-security" not in reply.headers
    assert reply.headers["set-cookie"].startswith("sightline=")


# -- proxies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxies", "expected"),
    [
        ("", ["http", "127.0.0.1"]),
        ("10.0.0.1", ["http", "127.0.0.1"]),
        ("127.0.0.1", ["https", "203.0.113.9"]),
        ("10.0.0.1, 127.0.0.0/8", ["https", "203.0.113.9"]),
    ],
)
def test_only_trusted_proxies_are_believed(run_server: Any, proxies: str, expected: list[str]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            body = json.dumps([scope["scheme"], scope["client"][0]]).encode()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})

    headers = {"X-Forwarded-For": "198.51.100.1, 203.0.113.9", "X-Forwarded-Proto": "https"}
    with run_server(app, proxies=proxies) as (url, _):
        assert httpx.get(url, headers=headers).json() == expected


@pytest.mark.parametrize("proxies", ["*", "proxy.example.org", "10.0.0.1,*", "10.0.0.1/8", "10.0.0.0/99"])
def test_a_proxy_is_an_address(proxies: str) -> None:
    with pytest.raises(UsageError, match="not the address of a proxy"):
        trusted_networks(proxies)


# -- pace -------------------------------------------------------------------------------------------------


def test_a_pace_lets_through_a_burst_and_then_so_many_per_second() -> None:
    now = 0.0
    paces = Paces(Pace(10, 2), lambda: now)
    assert [paces.take("ann") for _ in range(12)] == [0.0] * 10 + [0.5, 0.5]
    assert paces.take("bob", 10) == 0.0
    now = 1.0
    # Two have come in: one of three is missing, which takes half a second.
    assert paces.take("ann", 3) == 0.5 and paces.take("ann", 2) == 0.0
    now = 1000.0
    assert paces.take("ann", 11) == 0.0 and paces.take("ann") > 0, "what is left never exceeds the burst"


def test_who_asks_too_fast_waits_and_others_do_not(live: Any, client: Any) -> None:
    server = live(ROUND)
    ann, bob, owner = client(server.invite("ann")), client(server.invite("bob")), client(server.owner())
    state_of(server).requests = Paces(Pace(5, 1e-3), lambda: 0.0)
    replies = [ann.http.get("/api/task") for _ in range(7)]
    assert [reply.status_code for reply in replies] == [200] * 5 + [429] * 2
    assert replies[-1].headers["retry-after"] == "1000" and "too fast" in replies[-1].json()["error"]
    assert bob.http.get("/api/task").status_code == 200
    assert [owner.http.get("/owner").status_code for _ in range(6)] == [200] * 5 + [429]


def test_answers_that_come_too_fast_are_not_kept_and_can_be_sent_again(live: Any, client: Any) -> None:
    server = live(ROUND + "ahead = 20\n")
    ann = client(server.invite("ann"))
    pages = ann.work()["pages"]
    now = 0.0
    state_of(server).answers = Paces(Pace(4, 1), lambda: now)
    answers = [
        {"key": f"a-key-of-my-own-{n}", "page": page["page"], "slot": 0, "question": "match", "value": 1}
        for n, page in enumerate(pages[:6])
    ]
    assert ann.http.post("/api/answers", json={"answers": answers[:4]}).status_code == 200
    assert ann.http.post("/api/answers", json={"answers": answers[4:]}).status_code == 429
    assert len(server.answers()) == 4
    now = 2.0
    assert ann.http.post("/api/answers", json={"answers": answers[4:]}).status_code == 200
    assert len(server.answers()) == 6


# -- the command ------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def until(status: int, link: str) -> None:
    end = time.monotonic() + 60
    while httpx.get(link).status_code != status:
        assert time.monotonic() < end, f"{link} never gave {status}"
        time.sleep(0.2)


@pytest.mark.slow
def test_links_go_to_a_file_and_are_revoked_by_command(live: Any, tmp_path: Path) -> None:
    server = live(ROUND)
    server.stop()
    home, file, port = server.study.home, tmp_path / "links.csv", free_port()
    file.write_text("an older file that everybody can read")
    file.chmod(0o644)
    command = [sys.executable, "-m", "sightline", "annotate", str(home)]
    more = ["--port", str(port), "--invite", "ann", "--links", str(file), "--proxy", "127.0.0.1"]
    with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            printed = ""
            while "Judging continues" not in printed:
                printed += (line := running.stdout.readline())
                assert line, printed
            assert "/j/" not in printed and str(file) in printed
            assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
            rows = list(csv.DictReader(file.open()))
            assert [(row["name"], row["round"]) for row in rows] == [("owner", ""), ("ann", "r")]
            links = [row["link"] for row in rows]
            assert [httpx.get(link).status_code for link in links] == [303, 303]
            # One that cannot start leaves the link of the one that runs alone.
            taken = subprocess.run(
                [*command, "--port", str(port)], capture_output=True, text=True, check=False
            )
            assert taken.returncode == 2 and "is taken" in taken.stderr
            time.sleep(2.5)
            assert httpx.get(links[0]).status_code == 303
            gone = subprocess.run(
                [*command, "--revoke", "owner,ann"], capture_output=True, text=True, check=True
            )
            assert "2 links of owner, ann revoked." in gone.stdout
            for link in links:
                until(403, link)
        finally:
            running.terminate()


def test_links_are_revoked_by_name(live: Any) -> None:
    server = live(ROUND)
    server.invite("ann"), server.invite("ann"), server.invite("bob"), server.owner()
    revoked = oversee.revoke_links(server.study, ["ann", "owner"])
    assert dict(revoked.links) == {"ann": 2, "owner": 1}
    assert revoked.sentence == "3 links of ann, owner revoked."
    with pytest.raises(UsageError, match="nobody is called 'zoe'"):
        oversee.revoke_links(server.study, ["bob", "zoe"])
    key = tokens.signing_key(server.study)
    token = server.links["bob"].rpartition("/j/")[2]
    assert isinstance(tokens.token_holder(server.study, key, token), tokens.Holder), "all or nothing"
