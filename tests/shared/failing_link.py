"""A way to PostgreSQL that can fail as networks do: silence instead of an error.

Used by tests/web/test_half_dead.py and benchmarks/annotation_load.py.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit


class Link:
    """Forwards connections to a server; says nothing more on those that are stalled, and closes none.

    `stall()`: connections that are open now; later ones work, as after a router forgot them. `hold()`: all,
    until `heal()`. `stall_at(b"COMMIT")`: the connection that next sends this, once it did not pass it on.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        query = parse_qs(parts.query)
        self._host = query["host"][0] if "host" in query else parts.hostname or "127.0.0.1"
        self._port = parts.port or 5432
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        user = parts.username or "postgres"
        self.address = f"{parts.scheme}://{user}@127.0.0.1:{port}{parts.path}"
        self._open = threading.Event()
        self._open.set()
        self._closed = False
        self._stalled: set[int] = set()
        self._at = b""
        self._number = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        """Every connection that is open now goes silent for good."""
        self._stalled |= set(range(self._number))

    def stall_at(self, said: bytes) -> None:
        """The connection that sends this next goes silent for good, before it arrives."""
        self._at = said

    def hold(self) -> None:
        """Nothing passes."""
        self._open.clear()

    def heal(self) -> None:
        """Everything but stalled connections passes again."""
        self._open.set()

    def close(self) -> None:
        """End all connections."""
        self._closed = True
        self._open.set()
        for each in [self._listening, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                number, self._number = self._number, self._number + 1
                far = self._connect()
                self._sockets += [near, far]
                for source, target, upward in ((near, far, True), (far, near, False)):
                    threading.Thread(
                        target=self._pump, args=(source, target, number, upward), daemon=True
                    ).start()

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        far = socket.socket(socket.AF_UNIX)
        far.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return far

    def _pump(self, source: socket.socket, target: socket.socket, number: int, upward: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if upward and self._at and re.search(self._at, data):
                    self._at = b""
                    self._stalled.add(number)
                self._open.wait()
                if number in self._stalled and not self._closed:
                    return
                target.sendall(data)
            if number not in self._stalled:
                target.shutdown(socket.SHUT_WR)


@contextmanager
def failing_link(address: str) -> Iterator[Link]:
    """A link to the PostgreSQL at an address, open until the end of the block."""
    link = Link(address)
    try:
        yield link
    finally:
        link.close()
