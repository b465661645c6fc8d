"""Calls to an endpoint that workers make, while the ledger stays with whoever gave the work.

A `Desk` here answers what a worker's client asks before and after each call: is the reply known, is it its
turn, is there money left, and keep this reply. So however many workers there are, one ledger and one pace
serve all of them, and a reply is stored here before its worker goes on.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from sightline.addresses import Settings
from sightline.endpoints import Call, Endpoint, Pace, Stopped, Unanswered
from sightline.errors import SightlineError
from sightline.study.running.on_ray import LOCAL
from sightline.study.running.place import Place, run_work
from sightline.study.running.work import Done

T = TypeVar("T")
R = TypeVar("R")

MOST = 1 << 26
"""Bytes of one message."""
CONNECT_SECONDS = 10.0
BATCHES = 4
"""A batch holds so many times the calls that its worker makes at once: few then wait for the slowest."""


@dataclass(frozen=True)
class Line:
    """How a worker reaches the desk, and the secret by which each knows the other."""

    host: str
    port: int
    secret: bytes = field(repr=False)


class Desk:
    """Answers for a client's ledger and pace; calls in flight are counted here for all workers together."""

    def __init__(self, client: Endpoint, host: str = "127.0.0.1") -> None:
        self._client = client
        self._socket = socket.create_server((host, 0))
        self._closed = False
        self._room = threading.Semaphore(client.settings.in_flight)
        self.line = Line(host, self._socket.getsockname()[1], secrets.token_bytes(32))
        threading.Thread(target=self._accept, name="desk", daemon=True).start()

    def close(self) -> None:
        """Take no further connection."""
        self._closed = True
        # The thread that waits for connections wakes up by one.
        with suppress(OSError):
            socket.create_connection((self.line.host, self.line.port), CONNECT_SECONDS).close()
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connected, _ = self._socket.accept()
            except OSError:
                return
            line = Connection(connected.detach())
            threading.Thread(target=self._serve, args=(line,), name="desk", daemon=True).start()

    def _serve(self, line: Connection) -> None:
        in_flight: list[str] = []
        try:
            with line:
                deliver_challenge(line, self.line.secret)
                answer_challenge(line, self.line.secret)
                while True:
                    name, arguments = json.loads(line.recv_bytes(MOST))
                    line.send_bytes(json.dumps(self._answer(name, arguments, in_flight)).encode())
        except (EOFError, OSError, AuthenticationError, ValueError):
            pass  # a worker that is gone, or somebody who is none
        finally:
            for _ in in_flight:
                self._room.release()

    def _answer(self, name: str, arguments: Sequence[Any], in_flight: list[str]) -> Mapping[str, Any]:
        try:
            return {"is": _ASKED[name](self, in_flight, *arguments)}
        except Unanswered as error:
            return {"unanswered": str(error)}
        except SightlineError as error:
            stopped = isinstance(error, Stopped)
            return {"stopped": stopped, "said": [error.what, error.where, error.remedy]}
        except Exception as error:
            return {"stopped": False, "said": [f"{type(error).__name__}: {error}", "", ""]}

    def _known(self, in_flight: list[str], key: str) -> Mapping[str, Any] | None:
        return self._client.ledger.known(key)

    def _sent(
        self, in_flight: list[str], key: str, model: str, held: float, limit: float | None
    ) -> float | None:
        self._room.acquire()
        in_flight.append(key)
        refused: float | None = 0.0
        try:
            refused = self._client.ledger.sent(key, model, held, limit)
        finally:
            if refused is not None:
                self._leave(in_flight, key)
        return refused

    def _settled(self, in_flight: list[str], call: Mapping[str, Any]) -> None:
        self._client.ledger.settled(Call(**call))
        self._leave(in_flight, call["key"])

    def _leave(self, in_flight: list[str], key: str) -> None:
        in_flight.remove(key)
        self._room.release()


_ASKED: Mapping[str, Callable[..., Any]] = {
    "known": Desk._known,
    "sent": Desk._sent,
    "settled": Desk._settled,
    **{
        name: lambda desk, _, *arguments, name=name: getattr(desk._client.pace, name)(*arguments)
        for name in ("wait", "hold_off", "answered", "failed")
    },
}


class Remote(Pace):
    """The ledger and the pace of whoever gave the work, as a worker sees them."""

    def __init__(self, line: Line, settings: Settings) -> None:
        super().__init__(settings)
        self._line = line
        self._mine = threading.local()

    def known(self, key: str) -> Mapping[str, Any] | None:
        known: Mapping[str, Any] | None = self._ask("known", key)
        return known

    def sent(self, key: str, model: str, held: float = 0.0, limit: float | None = None) -> float | None:
        refused: float | None = self._ask("sent", key, model, held, limit)
        return refused

    def settled(self, call: Call) -> None:
        self._ask("settled", asdict(call))

    def wait(self) -> None:
        self._ask("wait")

    def hold_off(self, seconds: float) -> None:
        self._ask("hold_off", seconds)

    def answered(self) -> None:
        self._ask("answered")

    def failed(self, reason: str) -> None:
        self._ask("failed", reason)

    def _ask(self, name: str, *arguments: Any) -> Any:
        # Each thread has a line of its own: one that waits for its turn keeps nobody else from asking.
        if not hasattr(self._mine, "line"):
            self._mine.line = _connected(self._line)
        try:
            self._mine.line.send_bytes(json.dumps([name, arguments]).encode())
            answer = json.loads(self._mine.line.recv_bytes(MOST))
        except (EOFError, OSError):
            raise SightlineError("the run that this call was made for has ended") from None
        if "unanswered" in answer:
            raise Unanswered(answer["unanswered"])
        if "said" in answer:
            what, where, remedy = answer["said"]
            raise (Stopped if answer["stopped"] else SightlineError)(what, where=where, remedy=remedy)
        return answer["is"]


def _connected(line: Line) -> Connection:
    try:
        reached = socket.create_connection((line.host, line.port), CONNECT_SECONDS)
        reached.settimeout(None)
        made = Connection(reached.detach())
        answer_challenge(made, line.secret)
        deliver_challenge(made, line.secret)
    except (OSError, EOFError, AuthenticationError) as error:
        raise SightlineError(
            f"a worker cannot reach the machine that keeps the replies ({error})",
            where=f"{line.host}:{line.port}",
            remedy="Let workers connect to it, or leave --on out: calls are then made from this machine.",
        ) from None
    return made


@dataclass(frozen=True)
class CallWork(ABC, Generic[T, R]):
    """Work of which each item calls an endpoint, several at once; a subclass says what is done to an item."""

    line: Line
    settings: Settings
    at_once: int

    @property
    def repeatable(self) -> bool:
        return False  # a call may cost money

    @abstractmethod
    def caller(self, client: Endpoint) -> Callable[[T], R]:
        """The function of one item, with what it needs loaded."""

    @abstractmethod
    def quarantined(self, item: T, reason: str) -> R: ...

    def load(self) -> Callable[[Sequence[T]], list[R | Stopped]]:
        remote = Remote(self.line, self.settings)
        call = self.caller(Endpoint(self.settings, remote, remote))
        pool = ThreadPoolExecutor(self.at_once, thread_name_prefix="call")

        def guarded(item: T) -> R | Stopped:
            try:
                return call(item)
            except Stopped as error:  # the others of its batch were paid for
                return error

        def compute(items: Sequence[T]) -> list[R | Stopped]:
            under_way = [pool.submit(guarded, item) for item in items]
            # All come back before any failure is raised: their replies are being kept.
            failures = [each.exception() for each in under_way]
            for failure in failures:
                if failure is not None:
                    raise failure
            return [each.result() for each in under_way]

        return compute


def run_remote_calls(
    work: CallWork[T, R], items: Iterator[T], place: Place, client: Endpoint, size: int | None = None
) -> Generator[Done[T, R], None, None]:
    """Have workers make the calls of these items; what stops them is raised when those under way are back."""
    stopped: list[Stopped] = []

    def batches() -> Iterator[Sequence[T]]:
        while not stopped and (batch := list(islice(items, size or BATCHES * work.at_once))):
            yield batch

    with closing(run_work(work, batches(), place)) as done:
        try:
            for batch, results in done:
                pairs = list(zip(batch, results, strict=True))
                stopped += [each for each in results if isinstance(each, Stopped)]
                good = [(item, each) for item, each in pairs if not isinstance(each, Stopped)]
                if good:
                    yield [item for item, _ in good], [each for _, each in good]
        except GeneratorExit:
            # Nobody wants more, but what is under way was paid for: no further call begins, these come back.
            client.stop()
            stopped.append(Stopped("the run was stopped"))
            for _ in done:
                pass
            raise
    if stopped:
        raise stopped[0]


@contextmanager
def desk_of(client: Endpoint, place: Place) -> Iterator[Line]:
    """A desk that the workers of a place can reach."""
    desk = Desk(client, _host(place))
    try:
        yield desk.line
    finally:
        desk.close()


def calls_at_once(client: Endpoint, place: Place) -> int:
    """How many calls a worker makes at once, so that all of them together make as many as are allowed."""
    return -(-client.settings.in_flight // max(1, place.workers))


def _host(place: Place) -> str:
    """The address of this machine as the workers of a place see it."""
    if place.on in ("", LOCAL):
        return "127.0.0.1"
    if place.on == "auto":
        import ray

        return str(ray.util.get_node_ip_address())
    there = urlsplit(place.on if "://" in place.on else f"ray://{place.on}")
    # No packet is sent: the system says from which of its addresses it would be.
    family = socket.AF_INET6 if ":" in (there.hostname or "") else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        way.connect((there.hostname, there.port))
        return str(way.getsockname()[0])
