"""The peer of annotation_load.py: a Starlette route that inserts one row per request, and nothing else.

python benchmarks/bare_route.py FILE-OR-ADDRESS --port 8100
"""

from __future__ import annotations

import queue
import sqlite3
import sys
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def serve(target: str, port: int) -> None:
    """Serve a route that keeps one row per request in a transaction of its own, and nothing else."""
    fields = ("key", "page", "slot", "question", "value", "took_ms")
    free: queue.Queue[Any] = queue.Queue()
    postgresql = target.startswith("postgresql")
    mark = "%s" if postgresql else "?"
    insert = f"INSERT INTO bare ({', '.join(fields)}) VALUES ({', '.join([mark] * len(fields))})"
    for _ in range(8 if postgresql else 1):
        if postgresql:
            import psycopg

            free.put(psycopg.connect(target.replace("+psycopg", "")))
        else:
            made = sqlite3.connect(target, check_same_thread=False)
            made.execute("PRAGMA journal_mode=WAL")
            made.execute("PRAGMA synchronous=FULL")
            free.put(made)

    def keep(answer: dict[str, Any]) -> None:
        connection = free.get()
        try:
            connection.execute(insert, [answer[field] for field in fields])
            connection.commit()
        finally:
            free.put(connection)

    async def answers(request: Request) -> JSONResponse:
        [answer] = (await request.json())["answers"]
        await run_in_threadpool(keep, answer)
        return JSONResponse({"receipts": [{"key": answer["key"], "status": "stored"}], "pages": []})

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"ok": True})

    routes = [Route("/api/answers", answers, methods=["POST"]), Route("/healthz", healthz)]
    uvicorn.run(Starlette(routes=routes), port=port, http="h11", access_log=False, log_level="error")


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[3]))
