"""Work on what somebody else made, in processes of their own with limited memory and processor time.

A file can be made so that reading it takes all memory, or for ever, or ends the process. Such work is a
function of a module, called in a small process that is started once and used again; data goes there and
results come back through shared memory. Whatever happens to that process is an error about one file here.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from typing import Any

from sightline.cores import cores
from sightline.errors import DataError

Buffer = bytes | bytearray | memoryview
Task = Callable[..., tuple[Any, Iterable[Buffer]]]
"""Called with the data and the arguments; gives facts that JSON can hold, and bytes, part by part."""

MEGABYTE = 1_000_000
WAIT_SECONDS = 120.0
"""How long an answer may take by the clock, on a machine that has much else to do."""
LARGE = 16 * MEGABYTE
"""Shared memory beyond this is given back after use."""
_START = "import sys; sys.path[:] = sys.argv[4:]; from sightline.bounded import serve; serve(*sys.argv[1:4])"


class Unfinished(DataError):
    """The work on a file was ended by a limit of time, or ended its process; it may succeed another time."""


class Crew:
    """Processes for one kind of work: at most `most` at once, each with `memory` bytes of its own."""

    def __init__(self, memory: int, most: int | None = None) -> None:
        self.memory = memory
        self._most = most or min(4, cores())
        self._reset()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            # A copy of this process must not talk to the same workers.
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._free = threading.BoundedSemaphore(self._most)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._flights: dict[tuple[Any, ...], Future[tuple[Any, bytes]]] = {}

    def run(
        self, task: Task, data: bytes = b"", *arguments: Any, seconds: float, where: str = ""
    ) -> tuple[Any, bytes]:
        """The facts and bytes that a task gives, or the DataError it raises.

        `seconds` of processor time are allowed. The same work asked for twice at once is done once.
        """
        key = (task, data, arguments)
        with self._lock:
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = Future()
        if not mine:
            return flight.result()
        try:
            flight.set_result(self._run(task, data, arguments, seconds, where))
        except BaseException as error:
            flight.set_exception(error)
        finally:
            with self._lock:
                self._flights.pop(key, None)
        return flight.result()

    def _run(
        self, task: Task, data: bytes, arguments: tuple[Any, ...], seconds: float, where: str
    ) -> tuple[Any, bytes]:
        with self._free:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            worker = worker or _Worker(self.memory)
            try:
                answer, payload = worker.work(task, data, arguments, seconds)
            except (OSError, EOFError) as error:
                raise _ended(worker.end(), isinstance(error, TimeoutError), seconds, where) from None
            except BaseException:
                worker.end()
                raise
            with self._lock:
                self._idle.append(worker)
        return _facts(answer, self.memory, where), payload

    def close(self) -> None:
        """End the processes that are idle; more are started when there is more to do."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end(at_once=True)


def _facts(answer: dict[str, Any], memory: int, where: str) -> Any:
    if "facts" in answer:
        return answer["facts"]
    if "refused" in answer:
        what, at, remedy = answer["refused"]
        raise DataError(what, where=at, remedy=remedy)
    if "memory" in answer:
        raise DataError(
            f"it needs more than {memory // MEGABYTE:,} MB of memory to be read",
            where=where,
            remedy="Make it smaller, or leave it out.",
        )
    raise RuntimeError(f"in a worker process: {answer['raised']}")


def _ended(code: int | None, late: bool, seconds: float, where: str) -> Unfinished:
    if late or code == -signal.SIGPROF:
        limit = f"{seconds:g} s of processor time" if not late else f"{WAIT_SECONDS:g} s"
        what = f"reading it took more than {limit}"
    else:
        what = f"the process that read it ended unexpectedly ({_cause(code)})"
    return Unfinished(what, where=where, remedy="Make it smaller or simpler, or leave it out.")


def _cause(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


class _Worker:
    """A process, our end of the line to it, and the memory we share."""

    def __init__(self, memory: int) -> None:
        ours, theirs = socket.socketpair()
        self._shared = _shared_memory()
        paths = [os.path.abspath(path) for path in sys.path]
        numbers = [str(theirs.fileno()), str(self._shared), str(memory)]
        # Threads of arithmetic libraries each want memory, and one file gives them little to do.
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, *numbers, *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), self._shared),
                env={**os.environ, **threads, "POLARS_MAX_THREADS": "1"},
                # Ctrl-C is for us; a worker ends when our end of the line is closed.
                process_group=0,
            )
        ours.settimeout(WAIT_SECONDS)
        self._line = ours

    def work(
        self, task: Task, data: bytes, arguments: tuple[Any, ...], seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        _write(self._shared, data, 0)
        _send(self._line, [task.__module__, task.__qualname__, len(data), seconds, arguments])
        answer = _receive(self._line)
        if answer is None:
            raise EOFError
        size = int(answer.get("size", 0))
        payload = os.pread(self._shared, size, 0) if size else b""
        if max(size, len(data)) > LARGE:
            os.ftruncate(self._shared, 0)
        return answer, payload

    def end(self, at_once: bool = False) -> int | None:
        """End the process; its exit code, if it had ended by itself."""
        self._line.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if at_once else 0.5)
        code = self._process.returncode
        if code is None:
            # Who has changed users since may not kill it; without its line it ends by itself.
            with suppress(PermissionError):
                self._process.kill()
            self._process.wait()
        os.close(self._shared)
        return code


def _shared_memory() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("sightline")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write(handle: int, data: Buffer, at: int) -> int:
    view = memoryview(data)
    done = 0
    while done < len(view):
        done += os.pwrite(handle, view[done:], at + done)
    return done


def _send(line: socket.socket, message: Any) -> None:
    packed = json.dumps(message).encode()
    line.sendall(len(packed).to_bytes(4, "big") + packed)


def _receive(line: socket.socket) -> Any:
    """The next message; None where the other end is closed."""
    start = _exactly(line, 4)
    body = start and _exactly(line, int.from_bytes(start, "big"))
    return json.loads(body) if body else None


def _exactly(line: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = line.recv(size - len(parts))
        if not part:
            return b""
        parts += part
    return parts


def serve(line: str, shared: str, memory: str) -> None:
    """A worker: does what it is asked until nobody is there to ask."""
    import resource

    most = int(memory)
    for limit, value in (
        (resource.RLIMIT_DATA, most),
        (resource.RLIMIT_FSIZE, most),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        within = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (within, within))
    # Having once freed a block this large, glibc keeps as much instead of taking it anew page by page.
    bytes(30 << 20)
    asking = socket.socket(fileno=int(line))
    while (request := _receive(asking)) is not None:
        _send(asking, _answer(int(shared), *request))


def _answer(
    shared: int, module: str, name: str, size: int, seconds: float, arguments: list[Any]
) -> dict[str, Any]:
    # Ends this process when so much processor time has passed, whatever it is doing.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        data = os.pread(shared, size, 0) if size else b""
        facts, parts = getattr(import_module(module), name)(data, *arguments)
        at = 0
        for part in parts:
            at += _write(shared, part, at)
        return {"facts": facts, "size": at}
    except DataError as error:
        return {"refused": [error.what, error.where, error.remedy]}
    except MemoryError:
        return {"memory": True}
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            return {"memory": True}
        return {"raised": f"{type(error).__name__}: {error}"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


READERS = Crew(900 * MEGABYTE, most=1)
"""For tables and pickles; pictures have processes of their own, with less memory."""
