"""The guard, asked over real sockets: sizes, slowness, origins, names, and what replies carry."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from sightline.errors import UsageError
from sightline.web.guarding import ALWAYS, POLICY, Allowance, Guard, Rules, rules_for
from sightline.web.serving import Limits

RULES = Rules(
    hosts=rules_for("127.0.0.1", ["https://judge.example.org"]).hosts,
    public="https://judge.example.org",
    body=Allowance(1_000, 1.0),
    larger={"/upload": Allowance(100_000, 2.0)},
    silence=0.5,
)


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @property
    def fault(self) -> dict[str, str]:
        found = json.loads(self.body)
        assert set(found) == {"error", "remedy"}
        return dict(found)


def application() -> FastAPI:
    app = FastAPI()
    app.state.received = []
    app.state.ended = []

    @app.get("/")
    def home() -> PlainTextResponse:
        return PlainTextResponse("here", headers={"server": "secret", "x-frame-options": "ALLOWALL"})

    @app.get("/picture")
    def picture() -> PlainTextResponse:
        return PlainTextResponse("x", headers={"cache-control": "private, max-age=60"})

    @app.post("/echo")
    def echo(sent: dict[str, Any]) -> dict[str, Any]:
        app.state.received.append(sent)
        return sent

    @app.post("/upload")
    async def upload(request: Request) -> dict[str, int]:
        size = 0
        try:
            async for piece in request.stream():
                size += len(piece)
        except Exception as fault:
            app.state.ended.append(type(fault).__name__)
            raise
        app.state.received.append(size)
        return {"size": size}

    @app.post("/deaf")
    async def deaf(request: Request) -> JSONResponse:
        return JSONResponse({"read": 0})

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("the password is swordfish")

    @app.get("/j/{token}")
    def link(token: str) -> None:
        raise RuntimeError("no")

    @app.get("/said-500")
    def said() -> PlainTextResponse:
        return PlainTextResponse("SELECT secret FROM somewhere", status_code=500)

    return app


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return application()


@pytest.fixture(scope="module")
def served(run_server: Any) -> Callable[[Any], Any]:
    """Runs an application, and gives its port."""

    @contextmanager
    def run(app: Any) -> Iterator[int]:
        with run_server(app, Limits(linger_seconds=0.3, stop_seconds=2)) as (url, _):
            yield int(url.rsplit(":", 1)[1])

    return run


@pytest.fixture(scope="module")
def port(app: FastAPI, served: Any) -> Iterator[int]:
    with served(Guard(app, RULES)) as number:
        yield number


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request as bytes; `headers` with _ for -, an empty one is left out."""
    given = {
        "Host": "localhost",
        "X-Sightline": "1",
        "Content-Type": "application/json",
        "Connection": "close",
    }
    given |= {"Content-Length": str(len(body))} if body else {}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def read(opened: socket.socket, began: float) -> Reply:
    """All that comes until the other side closes; a test that waits for nothing fails after a minute."""
    opened.settimeout(60)
    parts = []
    while piece := opened.recv(65_536):
        parts.append(piece)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Reply(int(first.split()[1]), headers, body, time.monotonic() - began)


def ask(port: int, *pieces: bytes, pause: float = 0.0) -> Reply:
    """Send the pieces with pauses between them, then read the reply."""
    began = time.monotonic()
    with connect(port) as opened:
        for n, piece in enumerate(pieces):
            time.sleep(pause if n else 0)
            try:
                opened.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
        return read(opened, began)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


# -- headers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request("GET", "/"), 200),
        (request("GET", "/nothing"), 404),
        (request("DELETE", "/"), 405),
        (request("POST", "/echo", b"{"), 422),
        (request("POST", "/echo", b"{}", X_Sightline=""), 403),
        (request("GET", "/", Host="evil.example"), 400),
        (request("POST", "/echo", b"x" * 1_001), 413),
        (request("GET", "/broken"), 500),
        (request("GET", "/", Cookie="c=" + "x" * 17_000), 431),
        (b"nonsense\r\n\r\n", 400),
        (request("GET", "/").replace(b"HTTP/1.1", b"HTTP/9.9"), 505),
        (request("GET", "/", Cookie="c=" + "x" * 300_000), 400),
    ],
)
def test_every_reply_carries_the_headers(port: int, raw: bytes, status: int) -> None:
    reply = ask(port, raw)
    assert reply.status == status
    assert {name: reply.headers.get(name.decode()) for name, _ in ALWAYS} == {
        name: value.decode() for name, value in ALWAYS
    }
    assert reply.headers["cache-control"] == "no-store"
    assert "server" not in reply.headers
    if reply.headers["content-type"] == "application/json" and status not in (404, 405, 422):
        assert reply.fault["error"]


def test_the_policy_names_only_this_site() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in POLICY and "http" not in POLICY and "*" not in POLICY


def test_a_route_may_say_how_long_its_reply_keeps(port: int) -> None:
    assert ask(port, request("GET", "/picture")).headers["cache-control"] == "private, max-age=60"


# -- bodies -------------------------------------------------------------------------------------------------


def test_a_body_within_the_limit_arrives(port: int) -> None:
    body = json.dumps({"a": "x" * 900}).encode()
    assert json.loads(ask(port, request("POST", "/echo", body)).body) == json.loads(body)
    pieces = [chunk(body[:10]), chunk(body[10:]), b"0\r\n\r\n"]
    reply = ask(port, request("POST", "/echo", Transfer_Encoding="chunked"), *pieces, pause=0.05)
    assert (reply.status, json.loads(reply.body)) == (200, json.loads(body))


def test_a_larger_body_only_where_the_table_says(port: int, app: FastAPI) -> None:
    body = b"x" * 100_000
    assert json.loads(ask(port, request("POST", "/upload", body)).body) == {"size": 100_000}
    assert ask(port, request("POST", "/upload", body + b"x")).status == 413
    assert ask(port, request("POST", "/uploads", body)).status == 413
    assert Rules(larger={"/a": Allowance(1, 1), "/a/b": Allowance(2, 2)}).allowance("/a/b/c").most == 2


def test_an_announced_size_is_refused_before_it_comes(port: int) -> None:
    reply = ask(port, request("POST", "/echo", Content_Length="1000000000"))
    assert reply.status == 413
    assert reply.fault["error"] == "The request is larger than 0.976562 KiB."
    assert reply.headers["connection"] == "close"


@pytest.mark.parametrize("path", ["/echo", "/upload"])
def test_a_body_of_unknown_size_is_counted(port: int, app: FastAPI, path: str) -> None:
    before = len(app.state.received)
    pieces = [chunk(b"x" * 20_000) for _ in range(6)]
    reply = ask(port, request("POST", path, Transfer_Encoding="chunked"), *pieces, b"0\r\n\r\n", pause=0.01)
    assert reply.status == 413
    assert len(app.state.received) == before


def test_an_application_that_streams_learns_that_the_rest_will_not_come(port: int, app: FastAPI) -> None:
    app.state.ended.clear()
    pieces = [chunk(b"x" * 30_000) for _ in range(4)]
    assert ask(port, request("POST", "/upload", Transfer_Encoding="chunked"), *pieces).status == 413
    assert app.state.ended == ["ClientDisconnect"]


@pytest.mark.parametrize("path", ["/echo", "/deaf", "/nothing"])
def test_a_body_without_end_is_cut_off(port: int, path: str) -> None:
    """Whether or not the application reads it; the client gets its reply, then the connection ends."""
    began = time.monotonic()
    with connect(port) as opened:
        opened.sendall(request("POST", path, Transfer_Encoding="chunked", Connection=""))
        sent = 0
        while time.monotonic() - began < 60:
            try:
                sent += opened.send(chunk(b"x" * 1_000))
            except (BrokenPipeError, ConnectionResetError):
                break
        took = time.monotonic() - began
    assert took < 60, f"{sent} bytes were taken in {took:.1f} s"


def test_the_reply_to_a_body_without_end_arrives(port: int) -> None:
    pieces = [chunk(b"x" * 1_000)] * 300
    reply = ask(port, request("POST", "/echo", Transfer_Encoding="chunked"), *pieces)
    assert reply.status == 413 and "larger" in reply.fault["error"]


def test_more_than_was_announced_is_not_body(port: int, app: FastAPI) -> None:
    """What follows the announced length would be the next request, if the connection went on."""
    app.state.received.clear()
    reply = ask(port, request("POST", "/echo", b'{"a":1}' + b"x" * 5_000, Content_Length="7"))
    assert (reply.status, app.state.received) == (200, [{"a": 1}])


def test_less_than_was_announced_times_out(port: int, app: FastAPI) -> None:
    app.state.received.clear()
    reply = ask(port, request("POST", "/echo", b'{"a":1}', Content_Length="500"))
    assert reply.status == 408 and reply.seconds > 0.4
    assert app.state.received == []


def test_a_drip_is_cut_off_in_all(port: int) -> None:
    """A byte every 0.2 s is never silent for 0.5 s, but all of it must be there within a second."""
    began = time.monotonic()
    with connect(port) as opened:
        opened.sendall(request("POST", "/echo", Content_Length="500"))
        opened.settimeout(0.2)
        first = b""
        for _ in range(300):
            opened.sendall(b"x")
            try:
                first = opened.recv(100)
                break
            except TimeoutError:
                continue
    assert first.startswith(b"HTTP/1.1 408") and time.monotonic() - began > 0.4


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "1, 2", "٣"])
def test_a_length_that_is_none_is_refused(port: int, length: str) -> None:
    raw = request("POST", "/echo").replace(
        b"Connection:", f"Content-Length: {length}\r\nConnection:".encode()
    )
    assert ask(port, raw + b"{}").status == 400


def test_two_ways_to_tell_the_length_do_not_smuggle(port: int, app: FastAPI) -> None:
    app.state.received.clear()
    hidden = request("POST", "/echo", b'{"hidden":1}')
    body = b"0\r\n\r\n" + hidden
    raw = request("POST", "/echo", body, Transfer_Encoding="chunked", Connection="keep-alive")
    assert ask(port, raw).status == 400
    assert app.state.received == []


# -- origins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"X_Sightline": ""}, 403),
        ({"X_Sightline": "0"}, 403),
        ({"Origin": "http://localhost"}, 200),
        ({"Origin": "http://localhost:80"}, 200),
        ({"Origin": "HTTP://LOCALHOST"}, 200),
        ({"Origin": "https://judge.example.org"}, 200),
        ({"Origin": "https://judge.example.org:443"}, 200),
        ({"Origin": "http://judge.example.org"}, 403),
        ({"Origin": "https://localhost"}, 403),
        ({"Origin": "http://localhost:81"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://localhost@evil.example"}, 403),
        ({"Origin": "http://evil@localhost"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:99999999"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain", "X_Sightline": ""}, 403),
    ],
)
def test_only_own_pages_change_something(
    port: int, app: FastAPI, headers: dict[str, str], status: int
) -> None:
    app.state.received.clear()
    reply = ask(port, request("POST", "/echo", b"{}", **headers))
    assert reply.status == status
    assert app.state.received == ([{}] if status == 200 else [])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"])
def test_every_unsafe_method_is_guarded_and_reading_is_not(port: int, method: str) -> None:
    assert ask(port, request(method, "/echo", b"{}", X_Sightline="")).status == 403
    assert ask(port, request("GET", "/", X_Sightline="", Origin="http://evil.example")).status == 200


def test_two_origins_are_one_too_many(port: int) -> None:
    raw = request("POST", "/echo", b"{}", Origin="http://localhost")
    assert ask(port, raw.replace(b"Origin:", b"Origin: http://localhost\r\nOrigin:")).status == 403


# -- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:8000", 200),
        ("localhost.", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("judge.example.org", 200),
        ("evil.example", 400),
        ("localhost.evil.example", 400),
        ("localhost@evil.example", 400),
        ("evil.example@localhost", 400),
        ("localhost:x", 400),
        ("169.254.169.254", 400),
        ("0.0.0.0", 400),
        ("localhost/evil", 400),
        ("", 400),
    ],
)
def test_the_name_asked_for_must_be_ours(port: int, host: str, status: int) -> None:
    assert ask(port, request("GET", "/", Host=host)).status == status


@pytest.mark.parametrize(
    ("bind", "public", "hosts", "any_address", "shown"),
    [
        ("127.0.0.1", [], set(), False, ""),
        ("192.168.1.7", [], {"192.168.1.7"}, False, ""),
        ("[2001:db8::1]", [], {"2001:db8::1"}, False, ""),
        ("0.0.0.0", ["judge.example.org"], {"judge.example.org"}, True, ""),
        ("::", ["a.example", "https://B.example/"], {"a.example", "b.example"}, True, "https://B.example/"),
    ],
)
def test_rules_follow_the_address(
    bind: str, public: list[str], hosts: set[str], any_address: bool, shown: str
) -> None:
    rules = rules_for(bind, public)
    assert rules.hosts == hosts | {"localhost", "127.0.0.1", "::1"}
    assert (rules.any_address, rules.public) == (any_address, shown)


@pytest.mark.parametrize("given", ["", "ftp://x.example", "https://x.example/path", "https://"])
def test_a_public_address_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="not a public address"):
        rules_for("0.0.0.0", [given])


def test_numbers_pass_where_all_addresses_are_served(served: Any) -> None:
    with served(Guard(application(), rules_for("0.0.0.0"))) as port:
        assert ask(port, request("GET", "/", Host="10.1.2.3:8000")).status == 200
        assert ask(port, request("GET", "/", Host="[fe80::1]")).status == 200
        assert ask(port, request("GET", "/", Host="rebound.example")).status == 400


# -- failures -----------------------------------------------------------------------------------------------


def added(app: FastAPI) -> Any:
    app.add_middleware(Guard, rules=RULES)
    return app


@pytest.mark.parametrize("how", [added, lambda app: Guard(app, RULES)], ids=["as middleware", "around"])
def test_a_failure_tells_a_number_and_nothing_else(
    served: Any, how: Callable[[FastAPI], Any], caplog: pytest.LogCaptureFixture
) -> None:
    with served(how(application())) as port, caplog.at_level(logging.ERROR, logger="sightline.web"):
        reply = ask(port, request("GET", "/broken"))
        assert reply.status == 500 and b"swordfish" not in reply.body
        number = reply.fault["error"].split("reference ")[1].rstrip(").")
        assert len(number) == 8
        [entry] = [entry for entry in caplog.records if number in entry.getMessage()]
        assert entry.exc_info and "swordfish" in str(entry.exc_info[1])
        assert ask(port, request("GET", "/")).status == 200


def test_a_500_of_the_application_is_replaced_too(port: int) -> None:
    reply = ask(port, request("GET", "/said-500"))
    assert reply.status == 500 and b"SELECT" not in reply.body and "reference" in reply.fault["error"]


def test_a_link_is_not_logged(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        assert ask(port, request("GET", "/j/sEcReT-token")).status == 500
    assert any("/j/..." in entry.getMessage() for entry in caplog.records)
    assert not any("sEcReT" in entry.getMessage() for entry in caplog.records)


def test_a_client_that_leaves_is_no_failure(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        for path in ("/echo", "/upload"):
            with connect(port) as opened:
                opened.sendall(request("POST", path, b"{", Content_Length="500"))
        time.sleep(0.3)
        assert ask(port, request("GET", "/")).status == 200
    assert [entry.getMessage() for entry in caplog.records] == []


def test_web_sockets_are_turned_away(port: int) -> None:
    upgrade = {"Upgrade": "websocket", "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    raw = request("GET", "/", Connection="Upgrade", Sec_WebSocket_Version="13", **upgrade)
    with connect(port) as opened:
        opened.sendall(raw)
        assert opened.recv(100).startswith(b"HTTP/1.1 200")
