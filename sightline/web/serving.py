"""Running an application on a port of this machine, against slow, greedy and broken clients as well.

One process with one loop. What a client may hold, and for how long, is in `Limits`; what it may ask is the
guard's matter (guarding.py).
"""

from __future__ import annotations

import asyncio
import errno
import functools
import ipaddress
import logging
import signal
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sightline.errors import SightlineError, UsageError
from sightline.web.guarding import raw_reply
from sightline.web.payloads import Fault

log = logging.getLogger("sightline.web")

SPARE_FILES = 256
"""Open files that are not connections: the study's database, images, logs."""


@dataclass(frozen=True)
class Limits:
    """What clients may hold, and for how long (seconds).

    `per_address` keeps one client from taking every connection. A laboratory behind one address shares it (a
    browser opens up to six). Clients on this machine are not counted, since a proxy is often one of them, nor
    are trusted proxies.
    """

    connections: int = 2_000
    per_address: int = 500
    head_bytes: int = 16 * 1024
    head_seconds: float = 10.0
    idle_seconds: int = 10
    linger_seconds: float = 2.0
    stall_seconds: float = 60.0
    stop_seconds: int = 10


def serve(
    app: Any,
    host: str,
    port: int,
    on_ready: Callable[[str], None],
    *,
    limits: Limits | None = None,
    proxies: str = "",
    sockets: list[socket.socket] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then let requests in flight finish; `on_ready` gets the address.

    Port 0 takes a free one. `proxies` names the addresses, with commas between, whose word on the client's
    address and scheme (X-Forwarded-For, X-Forwarded-Proto) is taken; by default nobody's. `sockets`
    listen there already.
    """
    trusted_networks(proxies)
    sockets = listen(host, port) if sockets is None else sockets
    server = Server(app, on_ready=on_ready, limits=limits or Limits(), proxies=proxies)
    try:
        server.run(sockets=sockets)
    except SystemExit as left:
        raise SightlineError("the server could not start", remedy="What is logged above says why.") from left
    finally:
        for opened in sockets:
            opened.close()


def trusted_networks(proxies: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Addresses and networks with commas between; a name or a star is an error."""
    networks = []
    for given in (each.strip() for each in proxies.split(",") if each.strip()):
        try:
            networks.append(ipaddress.ip_network(given))
        except ValueError:
            raise UsageError(
                f"{given!r} is not the address of a proxy",
                remedy="Give its address, or a network as 10.0.0.0/24; several with commas between.",
            ) from None
    return networks


def listen(host: str, port: int) -> list[socket.socket]:
    """A socket that listens, or a UsageError that says why there is none."""
    if not 0 <= port <= 65_535:
        raise UsageError(f"there is no port {port}", remedy="Ports go up to 65535; port 0 takes a free one.")
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as fault:
        raise UsageError(f"{host!r} is not an address of this machine", remedy="Try 127.0.0.1.") from fault
    # A name may stand for two addresses; with port 0 each would get a port of its own, so one it is.
    family, kind, protocol, _, address = sorted(addresses, key=lambda one: one[0] != socket.AF_INET)[0]
    opened = socket.socket(family, kind, protocol)
    try:
        # Else a server that was killed could not come back on its port for a minute.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(1_024)
        opened.setblocking(False)
    except OSError as fault:
        opened.close()
        raise _why_not(fault, host, port) from fault
    return [opened]


def _why_not(fault: OSError, host: str, port: int) -> UsageError:
    if fault.errno == errno.EADDRINUSE:
        return UsageError(
            f"port {port} of {host} is taken by another program",
            remedy="Stop that program, or choose another port; port 0 takes a free one.",
        )
    if fault.errno == errno.EACCES:
        return UsageError(f"port {port} needs more rights", remedy="Choose a port above 1023.")
    return UsageError(f"cannot listen on {host}, port {port}: {fault.strerror}", remedy="Try 127.0.0.1.")


class Server(uvicorn.Server):
    """A uvicorn server with our limits that ends quietly; `should_exit = True` ends it from elsewhere."""

    def __init__(
        self, app: Any, *, on_ready: Callable[[str], None], limits: Limits, proxies: str = ""
    ) -> None:
        addresses: Counter[str] = Counter()
        most = _connections_possible(limits.connections)
        networks = trusted_networks(proxies)
        trusted = ",".join(str(each) for each in networks)
        config = uvicorn.Config(
            app,
            http=functools.partial(  # type: ignore[arg-type]
                Protocol, limits=limits, most=most, addresses=addresses, proxies=networks
            ),
            ws="none",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=bool(trusted),
            forwarded_allow_ips=trusted,
            h11_max_incomplete_event_size=limits.head_bytes,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=limits.stop_seconds,
        )
        super().__init__(config)
        # Anybody can send nonsense; a line for each would fill the log.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self.on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell the address."""
        await super().startup(sockets)
        if self.started and sockets:
            self.on_ready(address_of(sockets[0]))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and at once when asked twice. Unlike uvicorn, raise no signal again: a stop is no failure."""
        self.force_exit = self.force_exit or (self.should_exit and sig == signal.SIGINT)
        self.should_exit = True


def address_of(opened: socket.socket) -> str:
    """Where a browser on this machine finds a socket; a socket for all addresses is found on the loopback."""
    host, port = opened.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if opened.family == socket.AF_INET6 else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _connections_possible(wanted: int) -> int:
    """As many connections as asked for, or as this process may have open files."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < needed:
            possible = max(1, soft - SPARE_FILES)
            log.warning("only %d connections at once: the limit of open files is %d", possible, soft)
            return possible
    return wanted


class Protocol(H11Protocol):
    """One connection, which must not be held for nothing.

    uvicorn stops waiting for a first byte, but not for the rest of a head, for a body after the reply, nor
    for a client that does not read.
    """

    def __init__(
        self,
        *arguments: Any,
        limits: Limits,
        most: int,
        addresses: Counter[str],
        proxies: Sequence[Any] = (),
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self.proxies = proxies
        self.limits, self.most, self.addresses = limits, most, addresses
        # A log of requests would hold the links, and a link lets in whoever reads it. Not left to settings
        # of a logger, which other code may change.
        self.access_log = False
        self.head_timer: asyncio.TimerHandle | None = None
        self.write_timer: asyncio.TimerHandle | None = None
        self.counted = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(Lingering(transport, self))  # type: ignore[arg-type]
        address = self.client[0] if self.client else ""
        if address and not _is_here(address) and not self._is_proxy(address):
            self.counted = address
            self.addresses[address] += 1
        if len(self.connections) > self.most or self.addresses[self.counted] > self.limits.per_address > 0:
            self.refuse(503, "Service Unavailable", "Too many connections at once.", "Try again in a moment.")
        else:
            self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        for timer in (self.head_timer, self.write_timer):
            if timer is not None:
                timer.cancel()
        self.head_timer = self.write_timer = None
        if self.counted:
            self.addresses[self.counted] -= 1
            if not self.addresses[self.counted]:
                del self.addresses[self.counted]
            self.counted = ""
        self._lingering.lost()
        super().connection_lost(exc)
        # Left alone by uvicorn after an error on the line.
        self._unset_keepalive_if_required()

    def _is_proxy(self, address: str) -> bool:
        return any(ipaddress.ip_address(address) in network for network in self.proxies)

    @property
    def _lingering(self) -> Lingering:
        assert isinstance(self.transport, Lingering)
        return self.transport

    def data_received(self, data: bytes) -> None:
        """Read on, unless all that still comes is thrown away."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch_head()

    def _watch_head(self) -> None:
        """Let a head take so long from its first byte, or from the connection's start, and no longer."""
        waiting = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        # Between requests uvicorn's own timer runs until the next byte.
        waiting = waiting and self.timeout_keep_alive_task is None
        if waiting and self.head_timer is None:
            self.head_timer = self.loop.call_later(self.limits.head_seconds, self._head_too_slow)
        elif not waiting and self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _head_too_slow(self) -> None:
        self.head_timer = None
        if self.conn.trailing_data[0]:
            self.refuse(408, "Request Timeout", "The request took too long to arrive.", "Send it again.")
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer nonsense, if no other answer is on its way."""
        self.refuse(400, "Bad Request", "This is not a request as HTTP has it.", "")

    def refuse(self, status: int, phrase: str, error: str, remedy: str) -> None:
        """Reply without asking the application, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(raw_reply(status, phrase, Fault(error=error, remedy=remedy)))
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        # Of a request that was not looked at, the rest may still be on its way.
        self._lingering.close(still_sending=True)
        self._watch_head()

    def on_response_complete(self) -> None:
        """Go on to the next request; not if this one's body is still coming, which nobody will read."""
        if self.conn.their_state is h11.SEND_BODY:
            self.transport.close()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """A full buffer must not stay full."""
        super().pause_writing()
        self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self.write_timer is not None:
            self.write_timer.cancel()
            self.write_timer = None

    def _watch_writing(self, left: int) -> None:
        def look() -> None:
            now = self.transport.get_write_buffer_size()
            if now < left:
                self._watch_writing(now)
            else:
                self.transport.abort()

        self.write_timer = self.loop.call_later(self.limits.stall_seconds, look)

    def _unsupported_upgrade_warning(self) -> None:
        """Whoever asks for a web socket gets a plain reply."""


class Lingering:
    """A transport whose close() neither loses the reply nor waits for ever.

    Closing while the client still sends makes the system reset the connection, and the client then throws
    away what it has not read yet: the reply that says why. So we say that nothing more will come, go on
    reading for a moment, and close then. And what a client does not fetch is dropped after a while.
    """

    def __init__(self, real: asyncio.Transport, protocol: Protocol) -> None:
        self.real, self.protocol = real, protocol
        self.closing = False
        self.timer: asyncio.TimerHandle | None = None

    def close(self, still_sending: bool = False) -> None:
        """Close, after a moment if the client still sends."""
        if self.closing:
            return
        self.closing = True
        conn, limits = self.protocol.conn, self.protocol.limits
        unread = still_sending or conn.their_state is h11.SEND_BODY or bool(conn.trailing_data[0])
        if unread and self.real.can_write_eof() and not self.real.is_closing():
            self.real.write_eof()
            self.real.resume_reading()
            self.timer = self.protocol.loop.call_later(limits.linger_seconds, self._close)
        else:
            self._close()

    def _close(self) -> None:
        left = self.real.get_write_buffer_size()
        self.real.close()
        if left:
            self.timer = self.protocol.loop.call_later(self.protocol.limits.stall_seconds, self._look, left)

    def _look(self, before: int) -> None:
        left = self.real.get_write_buffer_size()
        if left < before:
            self.timer = self.protocol.loop.call_later(self.protocol.limits.stall_seconds, self._look, left)
        else:
            self.real.abort()

    def lost(self) -> None:
        """The connection is no more."""
        self.closing = True
        if self.timer is not None:
            self.timer.cancel()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self.closing or self.real.is_closing()

    def abort(self) -> None:
        """Close at once."""
        self.closing = True
        self.real.abort()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the real transport's."""
        return getattr(self.real, name)


def _is_here(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True
