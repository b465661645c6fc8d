"""The server, against clients that are slow, greedy or broken, and its own start and end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sightline.errors import SightlineError, UsageError
from sightline.web import serving
from sightline.web.serving import Limits, Server, address_of, listen, serve

QUICK = Limits(
    connections=20,
    per_address=0,
    head_bytes=4_096,
    head_seconds=0.6,
    idle_seconds=1,
    linger_seconds=0.3,
    stall_seconds=0.5,
    stop_seconds=2,
)
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = 30_000_000


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Says hello; /slow takes a second, /large sends much, /deaf leaves the body unread."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(1.0)
    size = LARGE if scope["path"] == "/large" else 5
    if scope["path"] != "/deaf":
        while (await receive()).get("more_body"):
            pass
    headers = [(b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for start in range(0, size, 1_000_000):
        piece = b"hello" if size == 5 else b"x" * min(1_000_000, size - start)
        await send({"type": "http.response.body", "body": piece, "more_body": start + len(piece) < size})


@pytest.fixture(scope="module")
def served(run_server: Any) -> Callable[[Limits], Any]:
    """Runs the application with these limits, and gives its port and server."""

    @contextmanager
    def run(limits: Limits) -> Iterator[tuple[int, Server]]:
        with run_server(app, limits) as (url, server):
            yield int(url.rsplit(":", 1)[1]), server

    return run


@pytest.fixture(scope="module")
def port(served: Any) -> Iterator[int]:
    with served(QUICK) as (number, _):
        yield number


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def until_closed(opened: socket.socket) -> bytes:
    """All that comes until the other side closes; TimeoutError if it does not."""
    parts = []
    try:
        while piece := opened.recv(65_536):
            parts.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def hello(opened: socket.socket, request: bytes = GET) -> bool:
    """Whether the reply to a request is the whole usual one; head and body may come apart."""
    opened.sendall(request)
    reply = b""
    while not reply.endswith(b"hello"):
        piece = opened.recv(1_000)
        if not piece:
            return False
        reply += piece
    return reply.startswith(b"HTTP/1.1 200 ")


def took(began: float) -> float:
    return time.monotonic() - began


# -- slow and greedy clients --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "sent", "reply", "seconds"),
    [(False, b"", b"", 0.5), (True, b"", b"", 0.8), (True, b"GET / HT", b"HTTP/1.1 408 ", 0.5)],
    ids=["without a word", "idle", "slow head after a request"],
)
def test_a_connection_that_keeps_waiting_is_closed(
    port: int, used: bool, sent: bytes, reply: bytes, seconds: float
) -> None:
    with connect(port) as opened:
        assert not used or hello(opened)
        began = time.monotonic()
        opened.sendall(sent)
        last = until_closed(opened)
    assert last.startswith(reply) and bool(last) == bool(reply)
    assert took(began) > seconds


def test_a_slow_head_is_closed_however_it_drips(port: int) -> None:
    """A header line every 0.2 s keeps the line busy; the head must still be whole within 0.6 s."""
    began = time.monotonic()
    with connect(port) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\n")
        opened.settimeout(0.2)
        reply = b""
        while not reply and took(began) < 60:
            try:
                opened.sendall(b"X-A: b\r\n")
                reply = opened.recv(1_000)
            except TimeoutError:
                continue
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]


def test_a_head_in_two_pieces_is_read(served: Any) -> None:
    with served(Limits(head_seconds=2, stop_seconds=2)) as (port, _), connect(port) as opened:
        opened.sendall(GET[:20])
        time.sleep(0.1)
        assert hello(opened, GET[20:])
        # Its timer must not end the next request.
        time.sleep(1.4)
        assert hello(opened, GET.replace(b"/ ", b"/slow ", 1))


def test_a_head_without_end_is_refused(port: int) -> None:
    with connect(port) as opened:
        try:
            for _ in range(100):
                opened.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000)
                time.sleep(0.001)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert until_closed(opened).startswith(b"HTTP/1.1 400 ")


def test_a_body_nobody_reads_does_not_hold_the_connection(port: int) -> None:
    """It is read for a moment, so that the reply arrives, and then the connection ends."""
    began = time.monotonic()
    with connect(port) as opened:
        assert hello(opened, b"POST /deaf HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while took(began) < 60:
                opened.sendall(b"5\r\nxxxxx\r\n")
                time.sleep(0.01)


def test_a_client_that_does_not_read_is_cut_off(served: Any) -> None:
    limits = Limits(stall_seconds=2, stop_seconds=2)
    with served(limits) as (port, server), connect(port) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        opened.sendall(GET.replace(b"/ ", b"/large ", 1))
        began = time.monotonic()
        time.sleep(0.3)
        assert len(server.server_state.connections) == 1
        while server.server_state.connections and took(began) < 60:
            time.sleep(0.05)
        assert not server.server_state.connections


def test_a_slow_reader_gets_everything(served: Any) -> None:
    """Slower than the patience for a stalled reader in all, but never stalled."""
    limits = Limits(stall_seconds=2, stop_seconds=2)
    with served(limits) as (port, _), connect(port) as opened:
        opened.sendall(
            GET.replace(b"/ ", b"/large ", 1).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        )
        got, began = 0, time.monotonic()
        while piece := opened.recv(1_000_000):
            got += len(piece)
            time.sleep(len(piece) / 10_000_000)
        assert got > LARGE and took(began) > 2.5


# -- too many --------------------------------------------------------------------


def refused(port: int) -> bool:
    with connect(port) as opened:
        opened.sendall(GET)
        return opened.recv(1_000).startswith(b"HTTP/1.1 503 ")


def wait_for(server: Server, connections: int) -> None:
    began = time.monotonic()
    while len(server.server_state.connections) != connections:
        assert took(began) < 60
        time.sleep(0.01)


@pytest.mark.parametrize("limit", ["connections", "per_address"])
def test_connections_are_limited_and_freed(served: Any, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(serving, "_is_here", lambda address: False)
    limits = Limits(**{limit: 4}, head_seconds=30, linger_seconds=0.1, stop_seconds=1)
    with served(limits) as (port, server):
        held = [connect(port) for _ in range(4)]
        wait_for(server, 4)
        assert refused(port)
        held.pop().close()
        wait_for(server, 3)
        assert not refused(port)
        for opened in held:
            opened.close()


def test_this_machine_is_not_counted(served: Any) -> None:
    with served(Limits(per_address=1, stop_seconds=1)) as (port, _), connect(port), connect(port):
        assert not refused(port)


# -- broken clients --------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\nX\x00: c\r\n\r\n",
    ],
)
def test_nonsense_is_answered_once_and_closed(port: int, raw: bytes) -> None:
    with connect(port) as opened:
        opened.sendall(raw)
        reply = until_closed(opened)
    assert reply.startswith(b"HTTP/1.1 400 ") and reply.count(b"HTTP/1.1") == 1
    assert b"content-security-policy" in reply


def test_nonsense_after_a_request_does_not_spoil_its_reply(port: int) -> None:
    for path in (b"/", b"/slow"):
        with connect(port) as opened:
            opened.sendall(GET.replace(b"/ ", path + b" ", 1) + b"\x00\x01nonsense\r\n\r\n" * 50)
            reply = until_closed(opened)
        assert reply.startswith(b"HTTP/1.1 200 ") and b"hello" in reply
        assert reply.count(b"HTTP/1.1 400 ") == 1


def test_a_body_that_turns_to_nonsense_is_answered_once(port: int) -> None:
    with connect(port) as opened:
        opened.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        time.sleep(0.1)
        opened.sendall(b"5\r\nhelloZZZ\r\n")
        reply = until_closed(opened)
    assert reply.startswith(b"HTTP/1.1 400 ") and reply.count(b"HTTP/1.1") == 1


def test_requests_one_after_the_other_are_answered_in_order(port: int) -> None:
    with connect(port) as opened:
        opened.sendall(GET * 10 + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        reply = until_closed(opened)
    assert reply.count(b"HTTP/1.1 200 ") == reply.count(b"hello") == 11


def test_the_server_outlives_a_storm(port: int) -> None:
    """Half-open, reset, chattering and silent clients; afterwards it answers as before."""
    for n in range(60):
        with connect(port) as opened:
            opened.sendall([b"", b"GET", GET, os.urandom(50), GET[:-2]][n % 5])
            if n % 3 == 0:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    time.sleep(0.5)
    with connect(port) as opened:
        assert hello(opened)


# -- start and end --------------------------------------------------------------------


def test_a_taken_port_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 is taken") as told:
            serve(app, "127.0.0.1", port, print)
        assert "port 0" in told.value.remedy


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("192.0.2.1", 0, "192.0.2.1"),
        ("no.such.host.invalid", 0, "no.such.host.invalid"),
        ("300.1.1.1", 0, "300.1.1.1"),
        ("127.0.0.1", -1, "no port -1"),
        ("127.0.0.1", 70_000, "no port 70000"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_told(host: str, port: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        serve(app, host, port, print)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_the_address_is_one_a_browser_can_open(host: str) -> None:
    [opened] = listen(host, 0)
    with opened:
        assert address_of(opened).startswith("http://127.0.0.1:")
        assert int(address_of(opened).rsplit(":", 1)[1]) > 1_023


def test_the_address_of_the_sixth_kind_has_brackets() -> None:
    try:
        [opened] = listen("::1", 0)
    except UsageError:
        pytest.skip("not needed here: this machine has no IPv6 loopback")
    with opened:
        assert address_of(opened).startswith("http://[::1]:")


def test_an_application_that_cannot_start_is_told() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    with pytest.raises(SightlineError, match="could not start"):
        serve(fails, "127.0.0.1", 0, print)


PROGRAM = """
import asyncio, sys
from sightline.web.serving import Limits, serve

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                print("put away", flush=True)
                return
    print("asked", flush=True)
    await asyncio.sleep(float(scope["path"].strip("/") or 0))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})

serve(app, "127.0.0.1", int(sys.argv[1]), lambda address: print(address, flush=True),
      limits=Limits(stop_seconds=int(sys.argv[2])))
print("ended", flush=True)
"""


@contextmanager
def program(port: int = 0, stop_seconds: int = 5) -> Iterator[tuple[subprocess.Popen[str], int]]:
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(port), str(stop_seconds)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    try:
        yield started, int(started.stdout.readline().rsplit(":", 1)[1])
    finally:
        started.kill()
        started.communicate()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_finishes_what_is_in_flight(how: signal.Signals) -> None:
    with program() as (process, port), connect(port) as idle, connect(port) as busy:
        busy.sendall(GET.replace(b"/ ", b"/1.0 ", 1))
        assert process.stdout is not None and process.stdout.readline() == "asked\n"
        process.send_signal(how)
        assert until_closed(busy).endswith(b"hello")
        assert until_closed(idle) == b""
        told, _ = process.communicate(timeout=60)
        assert (process.returncode, told) == (0, "put away\nended\n")


def test_a_stop_does_not_wait_for_ever() -> None:
    with program(stop_seconds=1) as (process, port), connect(port) as busy:
        busy.sendall(GET.replace(b"/ ", b"/600 ", 1))
        assert process.stdout is not None and process.stdout.readline() == "asked\n"
        process.terminate()
        told, _ = process.communicate(timeout=60)
        assert told == "put away\nended\n"


def test_a_killed_server_comes_back_on_its_port() -> None:
    with program() as (process, port), connect(port) as opened:
        assert hello(opened)
        process.kill()
        process.wait(60)
        with program(port) as (_, again), connect(again) as anew:
            assert again == port
            assert hello(anew)
