"""The guard before every page: who may send what, how much and how fast, and what every reply carries.

Plain ASGI around any application. It must be the outermost layer (`Guard(app)`, or the middleware that is
added last), since it also writes the reply where the application fails.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sightline.errors import UsageError
from sightline.web.payloads import Fault

Headers = list[tuple[bytes, bytes]]

log = logging.getLogger("sightline.web")

KIB, MIB = 1024, 1024 * 1024
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
GUARD_HEADER = b"x-sightline"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
ALWAYS: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]
"""On every reply; a route cannot weaken them. Addresses hold tokens, hence no referrer."""
NO_STORE = (b"cache-control", b"no-store")
"""Unless the route says otherwise, as it does for images and static files."""
HSTS = (b"strict-transport-security", b"max-age=31536000")
"""Over https: browsers then never ask this host by http, where a link could be read on the way."""
OURS = frozenset(name for name, _ in [*ALWAYS, HSTS]) | {b"server"}


class Allowance(NamedTuple):
    """How much a request may send, and within how many seconds all of it."""

    most: int
    seconds: float


USUAL = Allowance(64 * KIB, 20.0)
UPLOADS: Mapping[str, Allowance] = {"/api/owner/judgements": Allowance(64 * MIB, 300.0)}
"""Beginnings of paths where more may come than everywhere else."""


@dataclass(frozen=True)
class Rules:
    """What the guard asks of a request.

    `hosts`: names that a Host header may give, as `rules_for` gathers them; empty accepts any. `any_address`
    accepts numbers besides: a page of another site can make its own name point here (DNS rebinding), but not
    a number. `public`: scheme and host as people see them, where a proxy stands before the server.
    `silence`: seconds without a byte of a body that was announced. `head`: bytes of address and headers.
    """

    hosts: frozenset[str] = frozenset()
    any_address: bool = False
    public: str = ""
    body: Allowance = USUAL
    larger: Mapping[str, Allowance] = field(default_factory=lambda: UPLOADS)
    silence: float = 20.0
    head: int = 16 * KIB

    def allowance(self, path: str) -> Allowance:
        """What a request to this path may send: the longest beginning in the table decides."""
        fitting = [start for start in self.larger if path == start or path.startswith(start + "/")]
        return self.larger[max(fitting, key=len)] if fitting else self.body


def rules_for(bind: str, public: Sequence[str] = ()) -> Rules:
    """The rules of a server bound to an address; `public` are further names or addresses people reach it by.

    Each is a host name, or an address as https://judge.example.org; the first such is the public one.
    """
    names, shown = {"localhost", "127.0.0.1", "::1"}, ""
    for given in public:
        parts = urlsplit(given if "://" in given else f"//{given}")
        if not parts.hostname or parts.path.strip("/") or parts.scheme not in ("", "http", "https"):
            raise UsageError(
                f"{given!r} is not a public address",
                remedy="Give a host name, or an address as https://judge.example.org.",
            )
        names.add(parts.hostname)
        shown = shown or (given if parts.scheme else "")
    wild = bind in ("", "0.0.0.0", "::")
    if not wild:
        names.add(bind.lower().strip("[]"))
    return Rules(hosts=frozenset(names), any_address=wild, public=shown)


class Refused(Exception):
    """A request that goes no further, with the reply it gets."""

    def __init__(self, status: int, error: str, remedy: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.fault = Fault(error=error, remedy=remedy)


class Guard:
    """The application with the guard before it."""

    def __init__(self, app: ASGIApp, rules: Rules | None = None) -> None:
        self.app = app
        self.rules = rules or Rules()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _Exchange(self.rules, scope, receive, send).run(self.app)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self.app(scope, receive, send)


class _Exchange:
    """One request and its reply."""

    def __init__(self, rules: Rules, scope: Scope, receive: Receive, send: Send) -> None:
        self.rules, self.scope = rules, scope
        self._receive, self._send = receive, send
        self.headers: Headers = scope["headers"]
        self.allowed = rules.allowance(scope["path"])
        self.deadline = 0.0
        self.arrived = 0
        self.whole = not self._announces_body()
        self.refused: Refused | None = None
        self.started = self.withheld = False

    async def run(self, app: ASGIApp) -> None:
        self.deadline = asyncio.get_running_loop().time() + self.allowed.seconds
        try:
            self._check()
            await app(self.scope, self.receive, self.send)
        except Refused as refused:
            self.refused = refused
        except ClientDisconnect:
            # The wrapped receive tells an application that reads too much the same: see below.
            if self.refused is None:
                return
        except Exception as failure:
            if self.refused is None:
                await self._broken(failure)
                return
        if self.refused is not None:
            await self._reply(self.refused)
        elif self.withheld:
            await self._broken(None)

    def _check(self) -> None:
        """Refuse what the head alone gives away."""
        head = len(self.scope.get("raw_path") or b"") + len(self.scope.get("query_string") or b"")
        if head + sum(len(name) + len(value) + 4 for name, value in self.headers) > self.rules.head:
            raise Refused(431, "The head of the request is too long.", "Clear this site's cookies.")
        if self.scope["http_version"] not in ("1.0", "1.1"):
            raise Refused(505, "This server speaks HTTP/1.1.")
        if self.rules.hosts:
            check_host(self.rules, self._values(b"host"))
        if self.scope["method"] not in SAFE:
            self._check_origin()
        said = self._values(b"content-length")
        if said and self._values(b"transfer-encoding"):
            # A proxy before us might believe the other one, and take the rest for somebody's next request.
            raise Refused(400, "The request tells its length in two ways.")
        if any(int(length) > self.allowed.most for length in said if length.isdigit()):
            raise self._too_much()

    def _check_origin(self) -> None:
        """Refuse what a page of another site could have made the browser send.

        A form of another site cannot set a header of its own, and a script there may not without our consent.
        """
        if self._values(GUARD_HEADER) != ["1"]:
            raise Refused(
                403, "The header X-Sightline: 1 is missing.", "Whatever changes something carries it."
            )
        if not set(self._values(b"sec-fetch-site")) <= {"same-origin", "none"}:
            raise Refused(403, "This request came from another site.", "Open the study's own page.")
        origins = self._values(b"origin")
        if origins:
            own = {_origin(f"{self.scope['scheme']}://{host}") for host in self._values(b"host")}
            own |= {_origin(self.rules.public)} if self.rules.public else set()
            if len(origins) > 1 or _origin(origins[0]) not in own - {None}:
                raise Refused(
                    403,
                    "This request came from a page of another address.",
                    "Open the study's own page. Behind a proxy, the server needs its public address.",
                )

    async def receive(self) -> Message:
        """The next piece of the body, counted and timed.

        An application that would read beyond the limit learns that the client has left, which every
        framework knows how to end with; whatever it then replies gives way to the refusal.
        """
        if self.whole:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(self.deadline - now, self.rules.silence))):
                message = await self._receive()
        except TimeoutError:
            self.refused = Refused(408, "The request took too long to arrive.", "Send it again.")
            return {"type": "http.disconnect"}
        if message["type"] == "http.request":
            self.arrived += len(message.get("body", b""))
            self.whole = not message.get("more_body", False)
            if self.arrived > self.allowed.most:
                self.refused, self.whole = self._too_much(), False
                return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        """Pass a reply on with the headers of the house; keep back what a refusal or a failure replaces."""
        if message["type"] == "http.response.start":
            if self.refused is not None or message["status"] == 500:
                self.withheld = True
                return
            self.started = True
            message = {**message, "headers": self._dressed(list(message.get("headers", [])))}
        if not self.withheld:
            await self._send(message)

    async def _reply(self, refused: Refused) -> None:
        if self.started:
            # Too late for another reply: leaving it unfinished makes the server close the connection.
            return
        self.started = True
        body, headers = _as_json(refused.fault)
        await self._send(
            {"type": "http.response.start", "status": refused.status, "headers": self._dressed(headers)}
        )
        await self._send({"type": "http.response.body", "body": body})

    async def _broken(self, failure: Exception | None) -> None:
        """Log what failed under a number, and tell the number alone."""
        number = secrets.token_hex(4)
        where = _shown(self.scope["path"])
        log.error("fault %s in %s %s", number, self.scope["method"], where, exc_info=failure)
        remedy = "Try again. If it happens again, tell the study's owner the reference."
        await self._reply(Refused(500, f"Something went wrong here (reference {number}).", remedy))

    def _dressed(self, headers: Headers) -> Headers:
        kept = [(name.lower(), value) for name, value in headers if name.lower() not in OURS]
        names = {name for name, _ in kept}
        kept += ALWAYS
        if self.scope["scheme"] == "https" or self.rules.public.startswith("https://"):
            kept.append(HSTS)
        if b"cache-control" not in names:
            kept.append(NO_STORE)
        if not self.whole and b"connection" not in names:
            # The rest of the body would be read for nothing, for as long as somebody sends.
            kept.append((b"connection", b"close"))
        return kept

    def _announces_body(self) -> bool:
        lengths = self._values(b"content-length")
        return bool(self._values(b"transfer-encoding")) or any(length != "0" for length in lengths)

    def _values(self, name: bytes) -> list[str]:
        return [value.decode("latin-1").strip() for key, value in self.headers if key == name]

    def _too_much(self) -> Refused:
        most = self.allowed.most
        size = f"{most // MIB} MiB" if most >= MIB else f"{most / KIB:g} KiB"
        return Refused(413, f"The request is larger than {size}.", "Send it in smaller parts.")


def check_host(rules: Rules, given: Sequence[str]) -> None:
    """Refuse a Host header that does not name this server."""
    name = _host_name(given[0]) if len(given) == 1 else None
    known = name is not None and (name in rules.hosts or (rules.any_address and _is_address(name)))
    if not known:
        raise Refused(
            400,
            "This server does not go by that name.",
            "Use the address it was started with, or start it with this name as a public one.",
        )


def raw_reply(status: int, phrase: str, fault: Fault) -> bytes:
    """A whole reply as bytes, for faults that happen before there is a request."""
    body, headers = _as_json(fault)
    headers += [(b"connection", b"close"), *ALWAYS, NO_STORE]
    lines = [f"HTTP/1.1 {status} {phrase}".encode(), *(name + b": " + value for name, value in headers)]
    return b"\r\n".join([*lines, b"", body])


def _as_json(fault: Fault) -> tuple[bytes, Headers]:
    body = fault.model_dump_json().encode()
    return body, [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port; None if it is none."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment or not parts.hostname:
        return None
    return parts.hostname.removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address, however it is written; None for what is no address."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    return parts.scheme, parts.hostname.removesuffix("."), port


def _shown(path: str) -> str:
    """A path fit for a log: links hold secrets, and a path may hold line breaks."""
    return "/j/..." if path.startswith("/j/") else repr(path)[:200]
