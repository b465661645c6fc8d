"""How long to wait for PostgreSQL: a network that forgets a connection gives no error, only silence."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from sqlalchemy import Engine, event

CONNECTING = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": "sightline",
}
"""Settings of libpq (seconds, `tcp_user_timeout` milliseconds); an address that gives others keeps them."""
PING_SECONDS = 3.0
"""How long a connection that was idle may take to show that it is alive."""
IDLE_SECONDS = 10
"""How long PostgreSQL waits for the next statement of a server's transaction, which may hold the lock."""


def limit(engine: Engine, seconds: float) -> None:
    """Let every statement fail that takes longer: for a server, where somebody waits for each."""
    engine.update_execution_options(patience=seconds)


def of(options: Any) -> float | None:
    """The limit among the execution options of an engine or connection."""
    found: float | None = options.get("patience")
    return found


def watch(engine: Engine) -> None:
    """Make the connections of an engine keep to its limit, also where nothing at all is replied."""
    import psycopg

    class Watched(psycopg.Connection[Any]):
        seconds: float | None = PING_SECONDS

        def wait(self, gen: Any, *options: Any, **named: Any) -> Any:
            if self.seconds is not None:
                gen = self._until(gen, time.monotonic() + self.seconds)
            return super().wait(gen, *options, **named)

        def _until(self, gen: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and time.monotonic() > deadline:
                        # Whatever it may still say belongs to a question that nobody asks any more.
                        self.pgconn.finish()
                        raise psycopg.OperationalError(f"no reply within {self.seconds:g} seconds")
                    wanted = gen.send(ready)
            except StopIteration as done:
                return done.value

    @event.listens_for(engine, "do_connect")
    def connect(_: Any, __: Any, arguments: Any, named: dict[str, Any]) -> Any:
        return Watched.connect(*arguments, **{**CONNECTING, **named})

    @event.listens_for(engine, "checkout")
    def taken(connection: Any, _: Any, __: Any) -> None:
        connection.seconds = of(engine.get_execution_options())

    @event.listens_for(engine, "checkin")
    def returned(connection: Any, _: Any) -> None:
        if connection is not None:
            connection.seconds = PING_SECONDS
