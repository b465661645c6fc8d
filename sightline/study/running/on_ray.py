"""A crew on a Ray cluster: each worker is an actor that loads the work once.

A worker must be what this machine is: the same Python, Ray and Sightline, the same extensions, and the image
files in sight. That is asked of each one when it is hired, so that a result never depends on who computed it.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

from sightline.cores import cores
from sightline.errors import MissingPackage, SightlineError, UsageError
from sightline.study.files import ImageFiles
from sightline.study.running.work import Answer, Lost, Placed, Work
from sightline.version import __version__

LOCAL = "ray"
"""The address of a cluster that is started on this machine and ends with this process."""
CLIENT = "ray://"
PROBE_SECONDS = 5.0
JOIN_SECONDS = 60.0
"""So long joining may take: Ray itself tries for minutes where it does not see all ports of a cluster."""
START_SECONDS = 60.0
"""So long a cluster may take to start the first of its workers."""
LOOK_SECONDS = 1.0
"""How often a wait for answers is interrupted, so that Ctrl-C is met soon."""
OBJECTS = 200_000_000
"""Bytes that a cluster on this machine shares between its processes: batches and results are small."""

_HANDED_ON = re.compile(
    r"(SIGHTLINE|HF|TRANSFORMERS|FSSPEC)_.*|AWS_(ENDPOINT_URL.*|REGION|DEFAULT_REGION|PROFILE)"
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_BEGINNING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of HTTP/2, which all of Ray's servers speak, begins."""


class Unreachable(SightlineError):
    """A cluster does not answer, or has no room."""


@dataclass
class _Worker:
    """An actor, the references to what it was asked for, and the machine it is on once that is known."""

    actor: Any
    about: Any
    loaded: Any
    node: str = ""
    tickets: dict[int, Any] = field(default_factory=dict)


class RayCrew:
    """Actors on the cluster at an address, by default as many as it has room for.

    Two batches are at each actor, so that none waits for the network; the results of no more are in memory.
    """

    depth = 2
    spread = True

    def __init__(self, work: Work[Any, Any], on: str, workers: int = 0, gpus: float = 0.0) -> None:
        self._ray = join(on, workers)
        self._gpus = gpus
        room = self._room()
        if not room:
            raise UsageError(_no_room(self._resources(), gpus), where=on, remedy="Ask for less with --gpus.")
        if workers > room:
            raise UsageError(
                f"the cluster has room for {room} workers, not {workers}",
                where=on,
                remedy="A worker takes one CPU, and what --gpus says. Give fewer --workers.",
            )
        packed = self._ray.cloudpickle.dumps(work)
        remote = self._ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0, scheduling_strategy="SPREAD")
        made = remote(_actor_class())
        self._make = lambda: made.remote(environment(), expected_of(work), packed)
        self._crew: dict[int, _Worker] = {}
        try:
            self._hire_all(on, workers or room)
        except BaseException:
            self.close()
            raise

    def give(self, worker: int, ticket: int, batch: Sequence[Any]) -> None:
        if worker not in self._crew:
            self._crew[worker] = self._hire()
        hired = self._crew[worker]
        hired.tickets[ticket] = hired.actor.compute.remote(batch)

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        refs = {ref: (n, ticket) for n, each in self._crew.items() for ticket, ref in each.tickets.items()}
        patience = LOOK_SECONDS if seconds is None else min(seconds, LOOK_SECONDS)
        ended, _ = self._ray.wait(list(refs), num_returns=1, timeout=patience)
        if ended:
            ended, _ = self._ray.wait(list(refs), num_returns=len(refs), timeout=0)
        found: list[tuple[int, int, Answer]] = []
        for ref in sorted(ended, key=lambda ref: refs[ref][1]):
            number, ticket = refs[ref]
            if number not in self._crew:
                continue
            answer = self._taken(number, ref)
            if isinstance(answer, Lost):
                # The batch that was under way is the first; what waited behind it is not answered.
                ticket = next(iter(self._crew[number].tickets))
                self._dismiss(self._crew.pop(number))
            else:
                del self._crew[number].tickets[ticket]
            found.append((number, ticket, answer))
        return found

    def close(self) -> None:
        for worker in self._crew.values():
            self._dismiss(worker)
        self._crew = {}

    def _hire(self) -> _Worker:
        actor = self._make()
        return _Worker(actor, actor.about.remote(), actor.load.remote())

    def _hire_all(self, on: str, size: int) -> None:
        """Start the workers and ask each whether it is what this machine is."""
        self._crew = {number: self._hire() for number in range(size)}
        refs = [worker.about for worker in self._crew.values()]
        ready, _ = self._ray.wait(refs, num_returns=size, timeout=START_SECONDS)
        if not ready:
            raise Unreachable(
                f"the cluster started no worker within {START_SECONDS:g} s",
                where=on,
                remedy="It may be busy: look at `ray status`, and try again when there is room.",
            )
        for worker in self._crew.values():
            if worker.about not in ready:
                self._dismiss(worker)
        started = [worker for worker in self._crew.values() if worker.about in ready]
        self.size = len(started)
        self._crew = dict(enumerate(started))
        for number, worker in enumerate(started):
            try:
                worker.node, refused = self._ray.get(worker.about)
            except self._ray.exceptions.RayTaskError as error:
                raise Unreachable(f"a worker could not be started: {_first(error)}", where=on) from None
            except self._ray.exceptions.RayError:
                # Ended while it was hired, as it may at any moment: its number gets another one.
                del self._crew[number]
                continue
            if refused is not None:
                raise SightlineError(refused[0], where=on, remedy=refused[1])

    def _taken(self, number: int, ref: Any) -> Answer:
        """What a worker answered, or that it is lost."""
        try:
            answer = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            return RuntimeError(f"in a worker of the cluster:\n{error}")
        except self._ray.exceptions.RayError as error:
            return self._loss(self._crew[number], error)
        if isinstance(answer, tuple):
            return SightlineError(answer[0], remedy=answer[1])
        result: Answer = answer
        return result

    def _loss(self, worker: _Worker, error: Exception) -> Lost:
        alive = {each["NodeID"] for each in self._ray.nodes() if each["Alive"]}
        node = worker.node or self._known(worker.about, ("", None))[0]
        if node and node not in alive:
            replaced = self._room() >= len(self._crew)
            return Lost("its machine left the cluster", by_batch=False, replaced=replaced)
        loaded = self._known(worker.loaded, "") is None
        memory = isinstance(error, self._ray.exceptions.OutOfMemoryError) or "memory monitor" in str(error)
        reason = "its machine was out of memory" if memory else "its process ended unexpectedly"
        return Lost(reason, by_batch=loaded)

    def _known(self, ref: Any, otherwise: Any) -> Any:
        """What a reference gave, if it did before its worker ended."""
        try:
            return self._ray.get(ref, timeout=0)
        except self._ray.exceptions.RayError:
            return otherwise

    def _dismiss(self, worker: _Worker) -> None:
        # Of a cluster that is gone nothing needs to be ended.
        try:
            self._ray.kill(worker.actor)
        except Exception:
            return

    def _resources(self) -> list[Mapping[str, float]]:
        return [each["Resources"] for each in self._ray.nodes() if each["Alive"]]

    def _room(self) -> int:
        """How many workers the machines of the cluster have room for, if nobody else needs it."""
        return sum(_fits(each, self._gpus) for each in self._resources())


def _fits(resources: Mapping[str, float], gpus: float) -> int:
    cpus, cards = int(resources.get("CPU", 0)), resources.get("GPU", 0.0)
    if not gpus:
        return cpus
    # A worker with a part of a card has it from one card.
    return min(cpus, int(cards) * int(1 / gpus + 1e-9) if gpus < 1 else int(cards / gpus))


def _no_room(resources: Sequence[Mapping[str, float]], gpus: float) -> str:
    cpus, cards = (sum(each.get(name, 0) for each in resources) for name in ("CPU", "GPU"))
    return (
        f"the cluster has no room for a worker with {gpus:g} graphics cards: it has {cpus:g} CPUs and "
        f"{cards:g} graphics cards on {len(resources)} machines"
    )


_joined = ""


def join(on: str, workers: int = 0) -> Any:
    """The ray module, connected to this cluster; one on this machine is started where it is asked for.

    The connection is kept until this process ends, or `leave`: another crew comes sooner. A connection that
    somebody else made in this process is used as it is.
    """
    global _joined
    ray = _imported(on)
    if ray.is_initialized():
        if _joined == on or (not _joined and on in (LOCAL, "auto", ray.get_runtime_context().gcs_address)):
            return ray
        if not _joined:
            raise UsageError("this process is connected to another Ray cluster", where=on, remedy="Leave it.")
        leave()
    arguments: dict[str, Any] = {"address": on}
    if on == LOCAL:
        arguments = {
            "address": "local",
            "num_cpus": max(workers, cores()),
            "include_dashboard": False,
            "object_store_memory": OBJECTS,
        }
    elif on != "auto":
        _probe(on)
    attempt = partial(
        ray.init, **arguments, log_to_driver=False, logging_level="ERROR", namespace="sightline"
    )
    # What is started here ends with the thread that started it: that must be this one.
    failure = _failure(attempt) if on == LOCAL else _bounded(partial(_failure, attempt))
    if failure:
        raise Unreachable(
            f"cannot join the Ray cluster: {failure}",
            where=on,
            remedy="Is it up (ray status), and are Python and Ray the same there as here? If it asks for a "
            "token: RAY_AUTH_MODE=token, with the token in RAY_AUTH_TOKEN or ~/.ray/auth_token.",
        )
    _joined = on
    return ray


def _failure(call: Callable[[], object]) -> str:
    """Why a call failed; nothing where it did not."""
    try:
        call()
    except (Exception, SystemExit) as error:
        return _first(error)
    return ""


def _bounded(call: Callable[[], str]) -> str:
    """What a call gives that may never return."""
    given: list[str] = []
    thread = threading.Thread(target=lambda: given.append(call()), daemon=True)
    thread.start()
    thread.join(JOIN_SECONDS)
    return given[0] if given else f"it did not answer within {JOIN_SECONDS:g} s"


def leave() -> None:
    """Leave the cluster that was joined; one that was started here ends."""
    global _joined
    if _joined:
        import ray

        ray.shutdown()
        _joined = ""


def need_ray(on: str) -> None:
    """Raise with the install command where a package is absent that this address needs."""
    if find_spec("ray") is None:
        raise MissingPackage("--on needs ray, not installed here", remedy='pip install "sightline[ray]"')
    if on.startswith(CLIENT) and find_spec("grpc") is None:
        raise MissingPackage(
            f"an address that begins with {CLIENT} needs grpcio, not installed here",
            remedy='pip install "ray[client]", or give the address of the cluster itself: --on HOST:6379',
        )


def _imported(on: str) -> Any:
    need_ray(on)
    if "ray" not in sys.modules:
        # Nothing is sent to Ray's makers, and what is lost is said by us, not between the lines of a result.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
    import ray

    return ray


def _probe(on: str) -> None:
    """Refuse an address at which no cluster answers: Ray itself would try for minutes."""
    host, _, port = on.removeprefix(CLIENT).rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS) as line:
            if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
                return
            line.settimeout(PROBE_SECONDS)
            line.sendall(_BEGINNING)
            said = line.recv(9)
    except OSError as error:
        raise Unreachable(
            f"no Ray cluster answers there ({error.strerror or error})",
            where=on,
            remedy="Is it up, and is the port open from here? On its head: ray status",
        ) from None
    if said[3:4] != b"\x04":
        raise Unreachable(
            "what answers there is not a Ray cluster",
            where=on,
            remedy="The head of a cluster listens at HOST:6379, its server for clients at ray://HOST:10001.",
        )


def _first(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def environment() -> dict[str, str]:
    """What workers must know of our environment; keys and passwords stay here."""
    ours = {name: value for name, value in os.environ.items() if _HANDED_ON.fullmatch(name)}
    return {name: value for name, value in ours.items() if not _SECRET.search(name)}


def expected_of(work: Work[Any, Any]) -> dict[str, Any]:
    """What a worker must be and have to do this work as it would be done here."""
    from sightline.registry import configure

    expected: dict[str, Any] = {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "ray": _imported("").__version__,
        "sightline": __version__,
        "extensions": [],
        "file": "",
    }
    if isinstance(work, Placed):
        expected["extensions"] = [(*each, configure(*each).identity) for each in work.extensions]
        expected["file"] = _any_file(work.files)
    return expected


def _any_file(address: str) -> str:
    """One of the image files, which every machine must see; none where they are at an address for all."""
    folder = ImageFiles(address).folder if address else None
    if folder is None:
        return ""
    found = next((path for path in (folder / "images").glob("*/*") if path.is_file()), None)
    return str(found.absolute() if found is not None else "")


def _actor_class() -> type:
    """The class of a worker.

    It is made here so that it is sent as it is, and not by name: a machine without Sightline, or with
    another version, must be able to say so.
    """

    class Worker:
        def __init__(self, environment: dict[str, str], expected: dict[str, Any], packed: bytes) -> None:
            import os
            import socket

            os.environ.update(environment)
            self.host = socket.gethostname()
            self.expected = expected
            self.packed = packed
            self.refused: tuple[str, str] | None = None
            self.answer: Any = None

        def about(self) -> tuple[str, tuple[str, str] | None]:
            import platform

            import ray

            try:
                from sightline.version import __version__ as version
            except ImportError:
                version = ""
            here = {
                "python": ".".join(platform.python_version_tuple()[:2]),
                "ray": ray.__version__,
                "sightline": version,
            }
            for name, title in (("python", "Python"), ("ray", "Ray"), ("sightline", "Sightline")):
                if not here[name]:
                    self.refused = (
                        f"{title} is not installed on {self.host}",
                        f'Install it there: pip install "sightline[ray]=={self.expected[name]}"',
                    )
                elif here[name] != self.expected[name]:
                    self.refused = (
                        f"{self.host} has {title} {here[name]}, this machine {self.expected[name]}",
                        f"Install the same version of {title} on all machines.",
                    )
                if self.refused:
                    return ray.get_runtime_context().get_node_id(), self.refused
            from sightline.study.running.ray_worker import refusal

            self.refused = refusal(self.expected, self.host)
            return ray.get_runtime_context().get_node_id(), self.refused

        def load(self) -> None:
            if self.refused is None:
                from sightline.study.running.ray_worker import loaded

                self.answer = loaded(self.packed, self.host)

        def compute(self, batch: Any) -> Any:
            return self.refused or self.answer(batch)

    return Worker
