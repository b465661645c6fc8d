"""One client for every OpenAI-compatible endpoint: chat with images, and the generation of images.

Calls wait their turn (a bound on those in flight, calls per minute, a spend limit), are repeated after faults
that pass (429, time-outs, 5xx, resets), and are kept by a ledger as soon as their reply arrives. A key comes
from the environment, goes into one header, and is struck out of whatever a server sends back.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from sightline.addresses import Settings, checked_address, key_of
from sightline.errors import DataError, SightlineError, UsageError
from sightline.replies import (
    MOST_IMAGE,
    MOST_REPLY,
    MOST_SAID,
    READ,
    TOKEN_LETTERS,
    WRITTEN,
    Drawn,
    Malformed,
    Reply,
    cleaned,
    counted,
    estimated_cost,
    estimated_tokens,
    read_chat,
    read_image,
)

T = TypeVar("T")
OPTIONAL = ("response_format", "logprobs", "top_logprobs", "seed", "max_tokens")
"""Fields of a request that a server may refuse: it is asked again without them."""
REPLY = [each.name for each in fields(Reply)]
REFUSALS = ("content_filter", "content_policy", "moderation", "safety")
"""What the code of an error holds that says no to this content."""


class Unanswered(Exception):
    """A call got no usable answer this time; a later run tries it again."""


class Stopped(SightlineError):
    """No further call is made: the spend limit is reached, or nothing answers."""


@dataclass(frozen=True)
class Call:
    """A call as the ledger keeps it; `state` is reply, refused or failed."""

    key: str
    model: str
    state: str = "reply"
    attempts: int = 1
    tokens_in: int = 0
    tokens_out: int = 0
    images: int = 0
    cost: float | None = None
    held: float = 0.0
    """What was held back from the spend limit for it; what it did cost counts instead."""
    estimated: bool = False
    """Whether the server said nothing of tokens."""
    reason: str = ""
    reply: Mapping[str, Any] | None = None


class Ledger(Protocol):
    """Keeps what was sent and what came back, before anything else is done with it."""

    def known(self, key: str) -> Mapping[str, Any] | None:
        """The reply to the same request, if one arrived."""

    def sent(self, key: str, model: str, held: float = 0.0, limit: float | None = None) -> float | None:
        """Note that a call is about to be made, which may cost as much as is held back for it.

        Where that could exceed the limit nothing is noted, and what is spent so far is given.
        """

    def settled(self, call: Call) -> None:
        """Keep what became of it."""


class Memory:
    """A ledger for use without a study: it ends with the process."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self._held = 0.0
        self._lock = threading.Lock()

    def known(self, key: str) -> Mapping[str, Any] | None:
        call = self.calls.get(key)
        return None if call is None else call.reply

    def sent(self, key: str, model: str, held: float = 0.0, limit: float | None = None) -> float | None:
        with self._lock:
            spent = self.spent() + self._held
            if limit is not None and spent + held > limit:
                return spent
            self._held += held
        return None

    def settled(self, call: Call) -> None:
        with self._lock:
            self.calls[call.key] = call
            self._held -= call.held

    def spent(self) -> float:
        """What all calls cost so far."""
        return sum(call.cost or 0.0 for call in self.calls.values())


class Pace:
    """When a call may be made: in its turn at so many a minute, and never once nothing answers any more."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._not_before = 0.0
        self._next_turn = 0.0
        self._failures = 0
        self._stopped = ""

    def stop(self) -> None:
        """Let no further request begin."""
        self._closing.set()

    def wait(self) -> None:
        """Wait until the server may be asked again, and until this call's turn at so many a minute."""
        while not self._closing.is_set():
            if self._stopped:
                raise Stopped(
                    self._stopped,
                    where=self._settings.name,
                    remedy="What arrived is stored. Check the endpoint and run the same command again.",
                )
            with self._lock:
                now = time.monotonic()
                ready = max(self._not_before, self._next_turn)
                if now >= ready:
                    if self._settings.per_minute:
                        self._next_turn = max(now, self._next_turn) + 60.0 / self._settings.per_minute
                    return
            self._closing.wait(min(ready - now, 1.0))
        raise Unanswered("the run was stopped")

    def pause(self, seconds: float) -> None:
        """Wait before a call is repeated."""
        if self._closing.wait(seconds):
            raise Unanswered("the run was stopped")

    def hold_off(self, seconds: float) -> None:
        """Have all calls wait so long: whoever is next would meet the same."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def answered(self) -> None:
        """Note that the endpoint answers."""
        with self._lock:
            self._failures = 0

    def failed(self, reason: str) -> None:
        """Note a call without an answer; after many in a row no further one is made."""
        if self._closing.is_set():
            return
        with self._lock:
            self._failures += 1
            if self._failures >= max(8, self._settings.in_flight):
                self._stopped = f"the last {self._failures} calls got no answer: {reason}"


class _Again(Exception):
    """A fault that may pass; `wait` is how long the server asks to wait."""

    def __init__(self, reason: str, wait: float = 0.0, *, few: bool = False, adapted: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.few = few
        """Whether it is worth one repetition alone: a body that cannot be read was perhaps paid for."""
        self.adapted = adapted
        """Whether the request is now another one, without what the server does not know."""


class Endpoint:
    """A client of one endpoint, for many threads at once."""

    def __init__(self, settings: Settings, ledger: Ledger | None = None, pace: Pace | None = None) -> None:
        import httpx

        self.settings = settings
        self.ledger = ledger if ledger is not None else Memory()
        self.pace = pace if pace is not None else Pace(settings)
        self._key = key_of(settings)
        limits = httpx.Limits(
            max_connections=settings.in_flight + 4, max_keepalive_connections=settings.in_flight
        )
        waits = httpx.Timeout(settings.timeout, connect=min(10.0, settings.timeout), pool=None)
        # Redirects are not followed: they would carry the key elsewhere.
        self._http = httpx.Client(timeout=waits, limits=limits, follow_redirects=False)
        self._lock = threading.Lock()
        self._without: set[str] = set()

    def stop(self) -> None:
        """Begin no further request; those under way still come back and are kept."""
        self.pace.stop()

    def close(self) -> None:
        """Let go of the connections."""
        self.stop()
        self._http.close()

    def chat(self, body: Mapping[str, Any]) -> Reply:
        """The reply to a chat request: one that is known already, or one that is asked for now."""
        key = request_key(self.settings.name, "chat/completions", body)
        known = self.ledger.known(key)
        if known is not None:
            return Reply(**{name: known[name] for name in REPLY if name in known})
        made, usage, attempts = self._call("chat/completions", body, key, MOST_REPLY, read_chat)
        state = "refused" if made.refusal else "reply"
        reason = made.refusal or made.fault
        self._keep(key, body, usage, attempts, state=state, reply=asdict(made), reason=reason)
        return made

    def image(self, body: Mapping[str, Any]) -> Drawn:
        """The image that a request for one gives; the image itself is not kept by the ledger."""
        key = request_key(self.settings.name, "images/generations", body)
        made, usage, attempts = self._call("images/generations", body, key, MOST_IMAGE, self._read_image)
        state, images = "refused" if made.refusal else "reply", int(bool(made.data))
        self._keep(key, body, usage, attempts, state=state, images=images, reason=made.refusal)
        return made

    def sends(self, field: str) -> bool:
        """Whether requests hold this field: false once the server has refused it."""
        return field not in self._without

    def _call(
        self, path: str, body: Mapping[str, Any], key: str, most: int, read: Callable[[Mapping[str, Any]], T]
    ) -> tuple[Any, Mapping[str, Any], int]:
        """What was read of the reply, its usage, and how often it was asked for."""
        attempts, held = 0, self._held(body)
        model = str(body.get("model", ""))
        try:
            while True:
                self.pace.wait()
                if not attempts:
                    spent = self.ledger.sent(key, model, held, self.settings.spend)
                    if spent is not None:
                        raise self._overspent(spent)
                attempts += 1
                try:
                    made: Any = self._read(path, body, most, read)
                    self.pace.answered()
                    return *made, attempts
                except _Again as again:
                    self._wait_or_give_up(again, attempts)
        except (Unanswered, SightlineError) as error:
            said = error.what if isinstance(error, SightlineError) else str(error)
            if isinstance(error, Unanswered):
                self.pace.failed(said)
            if attempts:
                self.ledger.settled(Call(key, model, "failed", attempts, cost=0.0, held=held, reason=said))
            raise

    def _read(
        self, path: str, body: Mapping[str, Any], most: int, read: Callable[[Mapping[str, Any]], T]
    ) -> T:
        try:
            return read(self._post(path, body, most))
        except Malformed as error:
            raise _Again(str(error), few=True) from None

    def _wait_or_give_up(self, again: _Again, attempts: int) -> None:
        if again.adapted and attempts <= len(OPTIONAL):
            return
        tries = min(1, self.settings.retries) if again.few else self.settings.retries
        if attempts > tries or again.wait > self.settings.longest_wait:
            raise Unanswered(str(again)) from None
        if again.wait:
            self.pace.hold_off(again.wait)
        else:
            self.pace.pause(self._pause(attempts))

    def _pause(self, attempts: int) -> float:
        # Drawn at random, so that calls that failed together do not come back together.
        longest = min(self.settings.longest_wait, self.settings.backoff * 2 ** (attempts - 1))
        return longest * random.uniform(0.5, 1.0)

    def _held(self, body: Mapping[str, Any]) -> float:
        """What a call may cost at most, where there is a spend limit to hold it back from."""
        if self.settings.spend is None:
            return 0.0
        model = str(body.get("model", ""))
        if model not in self.settings.prices:
            raise UsageError(
                f"the endpoint has a spend limit, but no price of {model!r}",
                where=self.settings.name,
                remedy=f'Add it to study.toml: [endpoint.{self.settings.name}.prices] "{model}" = '
                "{ input = 2.5, output = 10 }  (by a million tokens; image = by an image)",
            )
        return estimated_cost(body, self.settings.prices[model])

    def _overspent(self, spent: float) -> Stopped:
        return Stopped(
            f"the spend limit of {self.settings.spend:g} is reached: {spent:.4g} is spent, with "
            "what calls in flight, or without an answer, may cost",
            where=self.settings.name,
            remedy="What arrived is stored. Raise spend in study.toml and run it again.",
        )

    def _keep(
        self, key: str, body: Mapping[str, Any], usage: Mapping[str, Any], attempts: int, **more: Any
    ) -> None:
        model = str(body.get("model", ""))
        tokens_in, tokens_out = counted(usage, *READ), counted(usage, *WRITTEN)
        guessed = "messages" in body and (tokens_in is None or tokens_out is None)
        if guessed:
            said = len(str((more.get("reply") or {}).get("text", "")))
            tokens_in = estimated_tokens(body) if tokens_in is None else tokens_in
            tokens_out = said // TOKEN_LETTERS if tokens_out is None else tokens_out
        tokens_in, tokens_out = tokens_in or 0, tokens_out or 0
        cost = None
        if model in self.settings.prices:
            price = self.settings.prices[model]
            cost = (tokens_in * price.input + tokens_out * price.output) / 1e6
            cost += more.get("images", 0) * price.image
        more |= {"tokens_in": tokens_in, "tokens_out": tokens_out, "estimated": guessed, "cost": cost}
        self.ledger.settled(Call(key, model, attempts=attempts, held=self._held(body), **more))

    def _post(self, path: str, body: Mapping[str, Any], most: int) -> Mapping[str, Any]:
        url = f"{self.settings.address}/{path}"
        status, headers, raw = self._request("POST", url, most, self._sent(body))
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        if status == 200 and isinstance(answer, dict):
            return answer
        if status == 200:
            raise _Again(f"the endpoint sent {_kind(headers, raw)} instead of a JSON object", few=True)
        return self._refused(status, headers, answer, raw, body)

    def _sent(self, body: Mapping[str, Any]) -> bytes:
        kept = {name: value for name, value in body.items() if name not in self._without}
        if "max_tokens" in self._without and "max_tokens" in body:
            kept["max_completion_tokens"] = body["max_tokens"]
        return json.dumps(kept, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")

    def _refused(
        self, status: int, headers: Mapping[str, str], answer: Any, raw: bytes, body: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """A reply that says no as a refusal, or what is to be done about any other status."""
        error = answer.get("error") if isinstance(answer, dict) else None
        words = error or raw[:2000].decode("utf-8", "replace")
        details = error if isinstance(error, dict) else {"message": words}
        message = " ".join(str(details.get("message") or "").split())[:MOST_SAID]
        reason = f"the endpoint answered {status}" + (f": {message}" if message else "")
        if status in (408, 409, 425, 429) or status >= 500:
            raise _Again(reason, retry_after(headers))
        code = f"{details.get('code')} {details.get('type')}".lower()
        if any(word in code for word in REFUSALS):
            return {"refused": message or code}
        if status in (400, 422):
            param = str(details.get("param"))
            dropped = {each for each in OPTIONAL if each in body and (each in message or each == param)}
            if dropped:
                # Another call may have learnt the same a moment ago: this one is repeated all the same.
                with self._lock:
                    self._without |= dropped | ({"top_logprobs"} if "logprobs" in dropped else set())
                raise _Again(reason, adapted=True)
            raise Unanswered(reason)
        remedies = {
            401: "Check the key in the environment variable that study.toml names.",
            403: "Check the key and what it is allowed to do.",
            404: "Check the address (it ends in /v1 for most servers) and the name of the model.",
        }
        if status in remedies:
            raise DataError(reason, where=self.settings.name, remedy=remedies[status])
        raise Unanswered(reason)

    def _request(
        self, method: str, url: str, most: int, content: bytes | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body, within the limits of time and size; faults that may pass are _Again."""
        import httpx

        headers = {"Content-Type": "application/json"} if content is not None else {}
        if self._key and content is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        until = time.monotonic() + self.settings.timeout
        parts, size = [], 0
        try:
            with self._http.stream(method, url, content=content, headers=headers) as response:
                for part in response.iter_bytes():
                    size += len(part)
                    if size > most:
                        break
                    if time.monotonic() > until:
                        raise _Again(f"the endpoint took longer than {self.settings.timeout:g} seconds")
                    parts.append(part)
                status, sent_back = response.status_code, dict(response.headers)
        except httpx.TimeoutException:
            raise _Again(f"the endpoint took longer than {self.settings.timeout:g} seconds") from None
        except httpx.RequestError as error:
            said = self._struck(str(error)) or type(error).__name__
            raise _Again(f"the connection failed ({said})") from None
        raw = b"".join(parts)
        for written in {self._key, self._key.replace("/", "\\/")} - {""}:  # JSON may write / as \/
            raw = raw.replace(written.encode(), b"[key]")
        if size > most and status == 200:
            raw = json.dumps({"oversized": most}).encode()
        return status, sent_back, raw

    def _struck(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _read_image(self, answer: Mapping[str, Any]) -> tuple[Drawn, Mapping[str, Any]]:
        drawn, usage = read_image(answer)
        return (drawn._replace(data=self._fetched(drawn.url), url="") if drawn.url else drawn), usage

    def _fetched(self, url: str) -> bytes:
        """The image at an address that an endpoint gives: of its own host, or of one that is allowed."""
        try:
            place, own = urlsplit(url), urlsplit(self.settings.address)
            allowed = place.hostname in self.settings.images_from and place.scheme == "https"
            same = (place.scheme, place.hostname, place.port) == (own.scheme, own.hostname, own.port)
        except ValueError:
            place, allowed, same = urlsplit(""), False, False
        if not (allowed or same) or place.username is not None:
            host = cleaned(place.hostname or "another place")[:100]
            raise DataError(
                f"the endpoint wants an image to be fetched from {host}, which is not its own host",
                where=self.settings.name,
                remedy=f"Allow it in study.toml: [endpoint.{self.settings.name}] images_from = [{host!r}]",
            )
        # Without the key: only the endpoint itself receives it.
        status, _, raw = self._request("GET", url, MOST_IMAGE)
        if status != 200:
            raise _Again(f"the image at the address that the endpoint gave: status {status}", few=True)
        return raw


class Rehearsal(Endpoint):
    """An endpoint that makes no call: it counts what would be called, and what that may cost at most."""

    def __init__(self, settings: Settings, ledger: Ledger | None = None) -> None:
        self.settings = settings
        self.ledger = ledger if ledger is not None else Memory()
        self.calls = self.tokens_in = self.tokens_out = self.images = 0
        self.cost = 0.0
        self.models: set[str] = set()
        self.unpriced: set[str] = set()

    def close(self) -> None:
        pass

    def chat(self, body: Mapping[str, Any]) -> Reply:
        if self.ledger.known(request_key(self.settings.name, "chat/completions", body)) is None:
            self._count(body)
        return Reply(fault="it was not asked for")

    def image(self, body: Mapping[str, Any]) -> Drawn:
        self._count(body)
        self.images += 1
        return Drawn(refusal="it was not asked for")

    def _count(self, body: Mapping[str, Any]) -> None:
        model = str(body["model"])
        self.calls += 1
        self.models.add(model)
        self.tokens_in += estimated_tokens(body)
        self.tokens_out += int(body.get("max_tokens", 0))
        if model in self.settings.prices:
            self.cost += estimated_cost(body, self.settings.prices[model])
        else:
            self.unpriced.add(model)


def connect(endpoint: str | Endpoint) -> Endpoint:
    """The client of an endpoint: one that is connected already, or that of an address."""
    return endpoint if isinstance(endpoint, Endpoint) else _connected(endpoint)


_clients: dict[str, Endpoint] = {}


def _connected(address: str) -> Endpoint:
    if address not in _clients:
        _clients[address] = Endpoint(Settings(address, checked_address(address, address)))
    return _clients[address]


def request_key(name: str, path: str, body: Mapping[str, Any]) -> str:
    """What makes two requests the same: the endpoint's name, the path and the whole body."""
    content = json.dumps([name, path, body], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


def _kind(headers: Mapping[str, str], raw: bytes) -> str:
    if raw.lstrip()[:1] == b"<" or "html" in headers.get("content-type", ""):
        return "a page of HTML"
    return "half a reply" if raw.lstrip()[:1] in (b"{", b"[") else "something"


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to wait: a number, or a date; 0 where it says nothing."""
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
        return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0
