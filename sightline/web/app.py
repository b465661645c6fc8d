"""The annotation application: one FastAPI app around one study."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sightline import judging
from sightline.errors import DataError, SightlineError, StudyError
from sightline.judging import OpenRound
from sightline.study.study import Study
from sightline.version import __version__
from sightline.web import annotator, owner
from sightline.web import predicting as prediction
from sightline.web.guarding import Guard, Rules
from sightline.web.payloads import Fault
from sightline.web.session import (
    NoSession,
    TooFast,
    annotator_of,
    cookie_name,
    cookie_scheme,
    is_secure,
    require_owner,
)
from sightline.web.state import State, make_state

HERE = Path(__file__).parent
THREADS = 12
"""Reading threads; as many as the database has connections to spare."""
UNAVAILABLE = ("The study cannot be reached at the moment; nothing was kept.", "Send it again in a moment.")
RETRY_SECONDS = "2"
log = logging.getLogger("sightline.web")


def create_app(
    study: Study, opened: Sequence[OpenRound], *, public: str = "", rules: Rules | None = None
) -> Guard:
    """The application for these rounds of a study, behind its guard; `public` is its address from outside."""
    state = make_state(study, opened, public)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        import anyio.to_thread

        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield
        await run_in_threadpool(state.committer.close)

    app = FastAPI(
        title="Sightline annotation",
        version=__version__,
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    app.state.sightline = state
    templates = Jinja2Templates(HERE / "templates")
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.include_router(annotator.routes(state))
    app.include_router(owner.routes(state))
    app.include_router(
        prediction.routes(lambda request: require_owner(state, request), study.name),
        dependencies=[Security(cookie_scheme(state, "owner"))],
    )
    _pages(app, state, templates)
    _faults(app, templates)
    rules = rules or Rules()
    return Guard(app, replace(rules, larger={**prediction.ALLOWED, **rules.larger}))


def _pages(app: FastAPI, state: State, templates: Jinja2Templates) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> dict[str, bool]:
        return {"ok": True}

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> dict[str, bool]:
        await state.write(lambda _: None)
        return {"ok": True}

    @app.get("/j/{token}", include_in_schema=False)
    def enter(request: Request, token: str) -> Response:
        holder = state.holder(token)
        if isinstance(holder, str) or (holder.role != "owner" and holder.round_id not in state.opened):
            why = holder if isinstance(holder, str) else "this round is not being judged at the moment"
            return refused(request, templates, why)
        where, kind = ("/owner", "owner") if holder.role == "owner" else ("/judge", "annotator")
        secure, own = is_secure(state, request), kind == "owner"
        reply = RedirectResponse(where, 303)
        reply.set_cookie(
            cookie_name(kind, secure),
            judging.start_session(state.secret, token) if own else token,
            httponly=True,
            samesite="lax",
            secure=secure,
            path="/",
            max_age=judging.SESSION_HOURS * 3600 if own else 366 * 24 * 3600,
        )
        return reply

    @app.get("/", include_in_schema=False)
    async def front(request: Request) -> Response:
        known = cookie_name("owner", is_secure(state, request)) in request.cookies
        return RedirectResponse("/owner" if known else "/judge", 303)

    @app.get("/judge", include_in_schema=False)
    def judge(request: Request) -> Response:
        who = annotator_of(state, request)
        shown = {"title": who.round.settings.get("title") or who.round.name}
        return templates.TemplateResponse(request, "judge.html.jinja", shown)


def refused(request: Request, templates: Jinja2Templates, why: str, status: int = 403) -> HTMLResponse:
    """A page for people who are not let in, with the reason."""
    return templates.TemplateResponse(request, "refused.html.jinja", {"why": why}, status_code=status)


def _faults(app: FastAPI, templates: Jinja2Templates) -> None:
    @app.exception_handler(NoSession)
    async def no_session(request: Request, error: NoSession) -> Response:
        if request.url.path.startswith("/api"):
            return fault(401, str(error), "Open the link that you were sent.")
        return refused(request, templates, str(error), 401)

    @app.exception_handler(TooFast)
    async def too_fast(_: Request, error: TooFast) -> Response:
        return fault(429, str(error), "Wait a moment.", {"Retry-After": str(error.wait)})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first.get("loc", ()))
        return fault(422, f"{where}: {first.get('msg', 'not valid')}", "See /openapi.json.")

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> Response:
        return fault(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(SightlineError)
    async def ours(request: Request, error: SightlineError) -> Response:
        if type(error) is StudyError:
            # No fault of whoever asks: they keep it and try again. What failed may name hosts and folders.
            log.error("%s", error)
            return fault(503, *UNAVAILABLE, {"Retry-After": RETRY_SECONDS})
        if not isinstance(error, DataError):
            return fault(400, error.what, error.remedy)
        if request.url.path.startswith("/api/owner"):
            return fault(409, error.what, error.remedy)
        log.error("%s", error)
        return fault(409, "Something of the study is missing or damaged.", "Tell the study's owner.")


def fault(status: int, error: str, remedy: str = "", headers: Any = None) -> JSONResponse:
    """An error as every caller gets it."""
    return JSONResponse(Fault(error=error, remedy=remedy).model_dump(), status, headers=headers)
