"""Who can see and do what: annotators only their own work, nobody anything without a link, and no tricks."""

from __future__ import annotations

import base64
import csv
import http.client
import io
import itertools
import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
from sqlalchemy import text

from sightline.judging import oversee
from sightline.judging.store import tokens
from sightline.study.schema import database
from sightline.web.guarding import POLICY

ROUND = '[annotate.r]\nmode = "yes_no"\nper_item = 3\nahead = 40\nsession_pages = 200\n'
CONTROLS = '[annotate.r.controls]\npages = 1\nof = 4\ntag = "control"\n'
SYSTEMS = ("alpha-diffusion", "beta-engine")
COOKIES = {"annotator": "sightline", "owner": "sightline_owner"}


def token_of(link: str) -> str:
    return link.rpartition("/j/")[2]


# One client for all: making one takes longer than the request, as it reads certificates it does not need.
PLAIN = httpx.Client(timeout=60, trust_env=False)


def asked(
    server: Any, method: str, path: str, token: str = "", cookie: str = "sightline", **more: Any
) -> httpx.Response:
    """A request with a token in a cookie, and nothing kept from one to the next."""
    headers = {"X-Sightline": "1"} | ({"Cookie": f"{cookie}={token}"} if token else {})
    return bare(server, method, path, headers, **more)


def bare(server: Any, method: str, path: str, headers: dict[str, str], **more: Any) -> httpx.Response:
    """A request with these headers alone."""
    try:
        return PLAIN.request(method, server.url + path, headers=headers, **more)
    finally:
        PLAIN.cookies.clear()


def operations(server: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation that the application describes."""
    for path, methods in asked(server, "GET", "/openapi.json").json()["paths"].items():
        for method, told in methods.items():
            yield method.upper(), path, told


def filled(path: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: "0" * 32 if found[1] == "page" else "1", path)


# -- others' work -------------------------------------------------------------------------------------------


def test_nothing_of_another_annotator_can_be_reached(live: Any, client: Any) -> None:
    server = live(ROUND)
    ann, bob = client(server.invite("ann")), client(server.invite("bob"))
    theirs = bob.work()["pages"]
    bob.answer_page(theirs[0], 1)
    mine = {page["page"] for page in ann.work()["pages"]}
    assert mine and not mine & {page["page"] for page in theirs}
    for page in theirs[:5]:
        for address in (page["slots"][0]["images"][0], f"/api/linked/{page['page']}/0"):
            assert bob.http.get(address).status_code == 200
            assert ann.http.get(address).status_code == 404
        (receipt,) = ann.answer_page(page, 0)["receipts"]
        assert (receipt["status"], receipt["reason"]) == ("refused", "there is no such task")
    assert ann.get("/api/pages?last=100")["pages"] == []
    assert [row["annotator"] for row in server.answers()] == ["bob"]


def test_what_is_refused_does_not_tell_whether_a_page_exists(live: Any, client: Any) -> None:
    server = live(ROUND)
    ann, bob = client(server.invite("ann")), client(server.invite("bob"))
    there, nowhere = bob.work()["pages"][0]["page"], "f" * 32
    for address in ("/api/images/{}/0/0", "/api/linked/{}/0", "/api/linked/{}/0/0/0"):
        replies = [ann.http.get(address.format(key)) for key in (there, nowhere)]
        assert replies[0].status_code == replies[1].status_code == 404
        assert replies[0].content == replies[1].content


def test_one_annotators_keys_do_not_stand_for_anothers_answers(live: Any, client: Any) -> None:
    server = live(ROUND)
    for name in ("ann", "bob"):
        who = client(server.invite(name))
        (receipt,) = who.answer_page(who.work()["pages"][0], 1, key="the-very-same-key-1")["receipts"]
        assert receipt["status"] == "stored"
    assert [row["annotator"] for row in server.answers()] == ["ann", "bob"]


def test_replies_tell_nothing_of_makers_files_controls_or_other_people(live: Any, client: Any) -> None:
    server = live(ROUND + CONTROLS)
    server.invite("bob-who-is-elsewhere")
    ann = client(server.invite("ann"))
    pages = ann.work()["pages"]
    assert len(pages) > 10
    replies = [ann.http.get(path) for path in ("/judge", "/api/task", "/api/work")]
    for page in pages:
        replies += [ann.http.get(address) for slot in page["slots"] for address in slot["images"]]
        beside = ann.http.get(f"/api/linked/{page['page']}/0")
        replies.append(beside)
        for each in beside.json()["prompts"]:
            replies += [ann.http.get(address) for address in each["images"]]
    told = [{"page": page["page"], "slot": 0, "question": "match", "value": 1} for page in pages]
    made = {"answers": [{"key": f"a-key-for-a-page-{n:04d}", **each} for n, each in enumerate(told)]}
    replies += [ann.http.post("/api/answers", json=made), ann.http.get("/api/pages?last=100")]
    assert {reply.status_code for reply in replies} == {200}
    assert sum(row["control"] for row in server.answers()) > 0, "there were controls to tell of"

    files = server.rows("SELECT name, sha256 FROM image WHERE sha256 IS NOT NULL")
    names, sums = [row["name"] for row in files], [row["sha256"] for row in files]
    assert len(names) > 20 and len(sums) > 20
    hidden = [*SYSTEMS, *names, *sums, "bob-who-is-elsewhere", str(server.study.home), "made by"]
    for reply in replies:
        seen = reply.content + repr(reply.headers.multi_items()).encode() + str(reply.url).encode()
        assert [word for word in hidden if word.encode() in seen] == [], reply.url
        if reply.headers["content-type"] == "application/json" and not reply.url.path.endswith("/task"):
            assert b"control" not in reply.content and b"expected" not in reply.content


# -- controls look like all else ------------------------------------------------------------------------


def shape(told: Any) -> Any:
    """What a reply looks like without what it says."""
    if isinstance(told, dict):
        return {key: shape(value) for key, value in told.items()}
    if isinstance(told, list):
        return [shape(value) for value in told]
    return re.sub(r"[0-9a-f]{32}", "KEY", told) if isinstance(told, str) and "/" in told else type(told)


def controls_of(server: Any) -> set[str]:
    """The keys of the pages that are controls."""
    query = "SELECT p.key, i.kind FROM task p JOIN round_item i ON i.id = p.round_item_id"
    return {row["key"] for row in server.rows(query) if row["kind"] == "control"}


def test_control_pages_look_like_the_rest(ann_at: Any) -> None:
    server, ann = ann_at(ROUND + CONTROLS)
    pages = ann.work()["pages"]
    control = controls_of(server)
    kinds = [page["page"] in control for page in pages]
    assert 0 < sum(kinds) < len(kinds)

    def looks(of_control: bool) -> set[str]:
        found = set()
        for page in pages:
            if (page["page"] in control) == of_control:
                # Whether a prompt builds on others is the prompt's own, and differs among the rest as well.
                picture = ann.http.get(page["slots"][0]["images"][0])
                names = sorted(set(picture.headers) - {"date"})
                values = [picture.headers[name] for name in names if name != "content-length"]
                found.add(repr((shape(page), picture.status_code, names, values)))
        return found

    assert looks(True) == looks(False)
    for page in pages:
        ann.answer_page(page, 1)
    past = ann.get("/api/pages?last=100")["pages"]
    assert len({repr(shape(page)) for page in past}) == 1


# -- links ------------------------------------------------------------------------


def refuses(server: Any, token: str) -> bool:
    """Whether a token lets nobody in, by link and by cookie."""
    paths = {"annotator": ("/api/task", "/judge"), "owner": ("/api/owner/overview", "/owner")}
    return asked(server, "GET", f"/j/{token}").status_code in (403, 404, 405) and all(
        asked(server, "GET", path, token, COOKIES[kind]).status_code == 401
        for kind in paths
        for path in paths[kind]
    )


def test_links_that_were_not_made_here_let_nobody_in(live: Any) -> None:
    server, other = live(ROUND), live(ROUND, name="another-study")
    good = token_of(server.invite("ann"))
    body, _, signature = good.partition(".")
    assert asked(server, "GET", "/api/task", good).status_code == 200
    forged = [
        body,
        f"{body}.",
        f".{signature}",
        good[:-1],
        good[:-1] + ("A" if good[-1] != "A" else "B"),
        f"x{good}",
        f"{good}.{signature}",
        good.lower(),
        "." * 50,
        "null",
        "A" * 5_000,
        "' OR '1'='1",
        "%00",
        token_of(other.invite("ann")),
        token_of(other.owner()),
    ]
    assert [token for token in forged if not refuses(server, token.replace(" ", "%20"))] == []
    assert asked(server, "GET", "/api/task", good).status_code == 200


def test_a_role_cannot_be_written_into_a_link(live: Any) -> None:
    server = live(ROUND)
    body, _, signature = token_of(server.invite("ann")).partition(".")
    told = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    told["role"] = "owner"
    changed = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    assert refuses(server, f"{changed}.{signature}")


def test_expired_and_revoked_links_let_nobody_in(live: Any) -> None:
    server = live(ROUND)
    good, owner = token_of(server.invite("ann")), server.session()
    gone = token_of(server.invite("bob"))
    oversee.revoke(server.study, "r", "bob")
    old = token_of(server.invite("cat"))
    past = (datetime.now(UTC) - timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with database.writing(server.study.engine) as connection:
        cat = "(SELECT id FROM annotator WHERE name = 'cat')"
        query = f"UPDATE token SET expires = :past WHERE annotator_id = {cat}"
        connection.execute(text(query), {"past": past})
    assert refuses(server, gone) and refuses(server, old)
    assert asked(server, "GET", "/api/task", good).status_code == 200
    # One that is in use ends as well, a moment later at most.
    assert asked(server, "GET", "/owner", owner, COOKIES["owner"]).status_code == 200
    oversee.revoke(server.study, "r", "ann")
    with database.writing(server.study.engine) as connection:
        connection.execute(text("UPDATE token SET revoked = :past WHERE role = 'owner'"), {"past": past})
    time.sleep(2.2)
    assert refuses(server, good) and refuses(server, owner)


def test_links_are_kept_only_as_hashes(live: Any) -> None:
    server = live(ROUND)
    made = [token_of(server.invite("ann")), token_of(server.owner())]
    tables = [row["name"] for row in server.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    held = "".join(repr(server.rows(f'SELECT * FROM "{table}"')) for table in tables)
    assert "token" in tables and len(held) > 1_000
    assert not any(token in held or token.partition(".")[2] in held for token in made)


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(live: Any) -> None:
    server = live(ROUND)
    for link, name in ((server.invite("ann"), "sightline"), (server.owner(), "sightline_owner")):
        reply = asked(server, "GET", "/j/" + token_of(link))
        assert reply.status_code == 303
        parts = reply.headers["set-cookie"].lower().split("; ")
        assert parts[0].startswith(f"{name}=")
        assert "httponly" in parts and "samesite=lax" in parts and "secure" not in parts
        assert "no-store" in reply.headers["cache-control"]


# -- owner and annotators ------------------------------------------------------------------------


def test_every_operation_asks_who_is_there(live: Any) -> None:
    """With no link, with the other kind's link in either cookie, and with both the wrong way round."""
    server = live(ROUND)
    tokens_of = {"annotator": token_of(server.invite("ann")), "owner": server.session()}
    seen = {"annotator": 0, "owner": 0}
    for method, path, _ in operations(server):
        kind = "owner" if path.startswith(("/api/owner", "/api/view")) else "annotator"
        other = "annotator" if kind == "owner" else "owner"
        seen[kind] += 1
        told: dict[str, Any] = {"json": {}} if method == "POST" else {}
        at = filled(path)
        swapped = f"{COOKIES[kind]}={tokens_of[other]}; {COOKIES[other]}={tokens_of[kind]}"
        replies = [
            asked(server, method, at, **told),
            asked(server, method, at, tokens_of[other], COOKIES[other], **told),
            asked(server, method, at, tokens_of[other], COOKIES[kind], **told),
            bare(server, method, at, {"X-Sightline": "1", "Cookie": swapped}, **told),
        ]
        assert [reply.status_code for reply in replies] == [401] * 4, (method, path)
        assert all(set(reply.json()) == {"error", "remedy"} for reply in replies)
        allowed = asked(server, method, at, tokens_of[kind], COOKIES[kind], **told)
        assert allowed.status_code not in (401, 403, 500), (method, path)
    assert seen["annotator"] >= 8 and seen["owner"] >= 10
    for path in ("/owner", "/owner/predict", "/view"):
        for cookie in COOKIES.values():
            assert asked(server, "GET", path, tokens_of["annotator"], cookie).status_code == 401
        assert asked(server, "GET", path, tokens_of["owner"], COOKIES["owner"]).status_code == 200


def test_everything_that_changes_something_is_guarded_from_other_sites(live: Any) -> None:
    server = live(ROUND)
    cookies = f"sightline={token_of(server.invite('ann'))}; sightline_owner={server.session()}"
    changing = [path for method, path, _ in operations(server) if method != "GET"]
    assert len(changing) >= 10
    # Reading by POST is no way round.
    for path in [path for _, path, _ in operations(server)]:
        ways: list[dict[str, str]] = [{}, {"X-Sightline": "1", "Origin": "https://evil.example"}]
        for headers in ways:
            reply = bare(server, "POST", filled(path), {"Cookie": cookies, **headers}, json={})
            assert reply.status_code == 403, path


def test_every_kind_of_reply_is_dressed_by_the_guard(ann_at: Any) -> None:
    server, ann = ann_at(ROUND)
    image = ann.work()["pages"][0]["slots"][0]["images"][0]
    token, owner = token_of(server.links["ann"]), server.session()
    cookies = f"sightline={token}; sightline_owner={owner}"
    paths = "/judge /owner /api/task /static/judge.css /healthz /openapi.json /none /j/nobody"
    paths += " /api/owner/overview /api/owner/judgements.csv"
    for path in [*paths.split(), image, f"/j/{token}"]:
        reply = bare(server, "GET", path, {"Cookie": cookies})
        assert reply.headers["content-security-policy"] == POLICY, path
        assert reply.headers["x-content-type-options"] == "nosniff" and "server" not in reply.headers
        assert "public" not in reply.headers.get("cache-control", "") or path.startswith("/static")
        assert path != image or "private" in reply.headers["cache-control"]
        assert bare(server, "GET", path, {"Cookie": cookies, "Host": "rebound.example"}).status_code == 400


# -- files ------------------------------------------------------------------------

CLIMBS = [
    "../../../../secret.txt",
    "..%2f..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "%2e%2e%2f%2e%2e%2fsecret.txt",
    "..%252f..%252fsecret.txt",
    "..%5c..%5csecret.txt",
    "....//....//secret.txt",
    "%c0%ae%c0%ae%c0%afsecret.txt",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "file:%2f%2f%2fetc%2fpasswd",
    "../app.py",
    "..%2fapp.py",
    "../templates/judge.html.jinja",
    "..%2f..%2fstudy.toml",
    "..%2f..%2fstudy.sqlite",
    "judge.css%00.png",
    "%00",
    "CON",
    "~root",
    "..",
    ".",
    "",
]
MARKS = (b"TOP SECRET", b"root:x:", b"SQLite format", b"[annotate.", b"def create_app", b"{{ title")


def raw_get(server: Any, path: str, cookies: str) -> tuple[int, bytes]:
    """A GET whose path goes out exactly as it is."""
    where = urlsplit(server.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        connection.putheader("Cookie", cookies)
        connection.endheaders()
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_no_path_leads_to_a_file(live: Any, tmp_path: Any) -> None:
    server = live(ROUND)
    for folder in (server.study.home, tmp_path):
        (folder / "secret.txt").write_text("TOP SECRET")
    cookies = f"sightline={token_of(server.invite('ann'))}; sightline_owner={server.session()}"
    assert raw_get(server, "/static/judge.css", cookies)[0] == 200
    assert raw_get(server, "/api/owner/overview", cookies)[0] == 200
    places = [path for method, path, _ in operations(server) if method == "GET" and "{" in path]
    assert len(places) >= 6
    starts = ["/static/", "/static/judge/", "/", "/j/", "/api/", "/api/owner/"]
    asked_for = [start + climb for start in starts for climb in CLIMBS if start + climb != "/"]
    for path in places:
        for name, climb in itertools.product(re.findall(r"\{(\w+)\}", path), CLIMBS):
            asked_for.append(filled(path.replace(f"{{{name}}}", climb, 1)))
    wrong = []
    for path in asked_for:
        status, body = raw_get(server, path, cookies)
        if status not in (400, 403, 404, 405, 422) or any(mark in body for mark in MARKS):
            wrong.append((path, status, body[:80]))
    assert wrong == []


# -- words ------------------------------------------------------------------------

INJECTIONS = [
    "'; DROP TABLE judgement; --",
    "' OR '1'='1",
    '" OR ""="',
    "1; SELECT pg_sleep(5)",
    "x' UNION SELECT value FROM setting --",
    "%' AND 1=0 UNION ALL SELECT sqlite_version() --",
    ":annotator_id",
    "%s%s%n{0}{name}",
    "\\'; --",
    "Robert'); DROP TABLE annotator;--",
]


def texts_of(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """A body that fits a schema, with its free texts marked as None."""
    told = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    made: dict[str, Any] = {}
    for name, field in told["properties"].items():
        kinds = [field, *field.get("anyOf", [])]
        if any("enum" in kind or "const" in kind for kind in kinds):
            continue
        if any(kind.get("type") == "string" for kind in kinds):
            made[name] = None
        elif name in told.get("required", []):
            made[name] = 1
    return made


def test_words_of_sql_are_words(ann_at: Any) -> None:
    """In every text of every body and every query parameter: no fault, nothing changed, nothing leaked."""
    server, ann = ann_at(ROUND)
    ann.answer_page(ann.work()["pages"][0], 1)
    secret = tokens.signing_key(server.study).hex()
    cookies = f"sightline={token_of(server.links['ann'])}; sightline_owner={server.session()}"
    headers = {"Cookie": cookies, "X-Sightline": "1"}
    whole = asked(server, "GET", "/openapi.json").json()
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in ("judgement", "prompt", "image"))
    counted = server.rows(f"SELECT {counts}")
    tried = 0
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as http_client:
        for (method, path, told), evil in itertools.product(list(operations(server)), INJECTIONS):
            replies = []
            for each in told.get("parameters", []):
                if each["in"] == "query":
                    replies.append(http_client.request(method, filled(path), params={each["name"]: evil}))
            content = told.get("requestBody", {}).get("content", {})
            if "application/json" in content and path != "/api/answers":
                body = texts_of(content["application/json"]["schema"], whole)
                for name in [name for name, value in body.items() if value is None]:
                    sent = {key: "r" if value is None else value for key, value in body.items()}
                    replies.append(http_client.post(filled(path), json={**sent, name: evil}))
            if "text/csv" in content:
                table = "annotator,prompt,system,image,question,value\n" + f"{evil}," * 4 + "match,1\n"
                replies.append(http_client.post(path, content=table, headers={"Content-Type": "text/csv"}))
            for reply in replies:
                tried += 1
                assert reply.status_code < 500, (path, evil, reply.text)
                assert reply.elapsed.total_seconds() < 60 and secret not in reply.text
    assert tried > 100
    assert counted == server.rows(f"SELECT {counts}")


def test_a_reason_is_kept_as_it_was_written(ann_at: Any) -> None:
    server, ann = ann_at(ROUND)
    pages = ann.work()["pages"]
    for page, evil in zip(pages, [*INJECTIONS, "<script>alert(1)</script>"], strict=False):
        (receipt,) = ann.answer_page(page, None, skipped=evil)["receipts"]
        assert receipt["status"] == "stored"
        told = {"page": page["page"], "slot": 0, "question": evil, "value": 1}
        assert ann.send(told)["receipts"][0]["status"] == "refused"
    kept = [row["skipped"] for row in server.answers()]
    assert kept == [*INJECTIONS, "<script>alert(1)</script>"][: len(kept)] and len(kept) > 8


def test_formulas_in_names_and_reasons_are_not_run_by_a_spreadsheet(live: Any, client: Any) -> None:
    server = live('[annotate.r]\nmode = "yes_no"\nper_item = 4\n')
    for name in ('=HYPERLINK("http://evil.example")', "+1+1", "@SUM(1)", "-2+3"):
        ann = client(server.invite(name))
        ann.answer_page(ann.work()["pages"][0], 1)
    table = asked(server, "GET", "/api/owner/judgements.csv", server.session(), COOKIES["owner"])
    assert table.status_code == 200
    cells = [cell for line in csv.reader(io.StringIO(table.text)) for cell in line]
    assert any("HYPERLINK" in cell for cell in cells)
    assert [cell for cell in cells if cell[:1] in "=+@" or re.match(r"-\d+\+", cell)] == [""] * cells.count(
        ""
    )


def test_a_reason_in_the_address_is_not_part_of_a_page(live: Any) -> None:
    server = live(ROUND)
    for path in ("/j/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/%3Cscript%3E", "/owner?round=%3Cscript%3E"):
        reply = asked(server, "GET", path)
        assert reply.status_code >= 400 and "<script>" not in reply.text.lower()
    reply = asked(server, "GET", "/api/owner/overview?round=%3Cscript%3E", server.session(), COOKIES["owner"])
    assert reply.status_code in (400, 404, 409) and reply.headers["content-type"] == "application/json"
