"""The applications around one study: the one that people judge in, and the explorer for its owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
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
from sightline.rendering.theme import stylesheet
from sightline.report import Explorer
from sightline.study.study import Study
from sightline.version import __version__
from sightline.web import annotator, explorer, matching, owner, seeding
from sightline.web import predicting as prediction
from sightline.web.guarding import Allowance, Guard, Rules
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
TEMPLATES = Jinja2Templates(HERE / "templates")
THREADS = 12
"""Reading threads; as many as the database has connections to spare."""
UNAVAILABLE = ("The study cannot be reached at the moment; nothing was kept.", "Send it again in a moment.")
RETRY_SECONDS = "2"
SCREENED_EVERY = 20.0
"""Seconds after which new judgements are screened: whoever fails the rules loses their places to others."""
log = logging.getLogger("sightline.web")


def create_app(
    study: Study, opened: Sequence[OpenRound], *, public: str = "", rules: Rules | None = None
) -> Guard:
    """The application for these rounds of a study, behind its guard; `public` is its address from outside."""
    state = make_state(study, opened, public)
    app = _application("Sightline annotation", state)
    app.include_router(annotator.routes(state))
    app.include_router(owner.routes(state))
    app.include_router(
        prediction.routes(lambda request: require_owner(state, request), study.name),
        dependencies=[Security(cookie_scheme(state, "owner"))],
    )
    app.include_router(explorer.routes(state, Explorer(study)))
    app.include_router(matching.routes(state))
    app.include_router(seeding.routes(state))
    _entrance(app, state, home="/owner")
    _judge(app, state)
    return _guarded(app, rules, prediction.ALLOWED, explorer.ALLOWED, matching.ALLOWED, seeding.ALLOWED)


def create_explorer(study: Study, *, public: str = "", rules: Rules | None = None) -> Guard:
    """The application that shows a study to its owner and to nobody else."""
    state = make_state(study, (), public)
    app = _application("Sightline explorer", state)
    shown = Explorer(study)
    # Before the first page is asked for; every field that it can be filtered by follows while it is shown.
    shown.snapshot()
    shown.warm()
    app.include_router(explorer.routes(state, shown))
    app.include_router(matching.routes(state))
    app.include_router(seeding.routes(state))
    _entrance(app, state, home="/view")
    return _guarded(app, rules, explorer.ALLOWED, matching.ALLOWED, seeding.ALLOWED)


def _guarded(app: FastAPI, rules: Rules | None, *larger: Mapping[str, Allowance]) -> Guard:
    rules = rules or Rules()
    more = {path: allowed for each in larger for path, allowed in each.items()}
    return Guard(app, replace(rules, larger={**more, **rules.larger}))


def _application(title: str, state: State) -> FastAPI:
    """An application with the files of its pages and its faults, and a writer that ends with it."""

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        import anyio.to_thread

        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        screening = asyncio.create_task(_keep_screening(state))
        yield
        screening.cancel()
        await run_in_threadpool(state.committer.close)

    app = FastAPI(
        title=title,
        version=__version__,
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
    )
    app.state.sightline = state
    serve_static(app)
    _faults(app)
    return app


async def _keep_screening(state: State) -> None:
    """Give the items of whoever fails the screening rules to others, while people judge."""
    seen: tuple[int, ...] = ()
    while state.opened:
        await asyncio.sleep(SCREENED_EVERY)
        try:
            version = await run_in_threadpool(judging.newest, state.study)
            for each in state.opened.values() if version != seen else ():
                await run_in_threadpool(judging.reopen, state.study, each.round.name)
            seen = version
        except Exception:
            # A rule that fails, or a database that is away for a moment, must not end the judging.
            log.exception("the screening rules could not be applied")


def serve_static(app: FastAPI) -> None:
    """What pages are made of: the look they share, made from the theme, and their own styles and scripts."""
    look = stylesheet()

    @app.get("/static/look.css", include_in_schema=False)
    async def shared_look() -> Response:
        return Response(look, media_type="text/css")

    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")


def _entrance(app: FastAPI, state: State, home: str) -> None:
    """Where links lead; `home` is the owner's page."""

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
            return refused(request, why, own=not state.opened)
        where, kind = (home, "owner") if holder.role == "owner" else ("/judge", "annotator")
        secure, own = is_secure(state, request), kind == "owner"
        # Behind the owner's link an address of the explorer can be sent whole.
        asked = f"?{request.url.query}" if own and request.url.query else ""
        reply = RedirectResponse(where + asked, 303)
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
        return RedirectResponse(home if known or not state.opened else "/judge", 303)


def _judge(app: FastAPI, state: State) -> None:

    @app.get("/judge", include_in_schema=False)
    def judge(request: Request) -> Response:
        who = annotator_of(state, request)
        shown = {"title": who.round.settings.get("title") or who.round.name}
        return TEMPLATES.TemplateResponse(request, "judge.html.jinja", shown)


def refused(request: Request, why: str, status: int = 403, *, own: bool = False) -> HTMLResponse:
    """A page for people who are not let in, with the reason; `own` where only the owner would be."""
    shown = {"why": why, "own": own}
    return TEMPLATES.TemplateResponse(request, "refused.html.jinja", shown, status_code=status)


def _faults(app: FastAPI) -> None:
    @app.exception_handler(NoSession)
    async def no_session(request: Request, error: NoSession) -> Response:
        if request.url.path.startswith("/api"):
            return fault(401, str(error), "Open the link that you were sent.")
        return refused(request, str(error), 401, own=request.url.path != "/judge")

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
        if request.url.path.startswith(("/api/owner", "/api/view")):
            return fault(409, error.what, error.remedy)
        log.error("%s", error)
        return fault(409, "Something of the study is missing or damaged.", "Tell the study's owner.")


def fault(status: int, error: str, remedy: str = "", headers: Any = None) -> JSONResponse:
    """An error as every caller gets it."""
    return JSONResponse(Fault(error=error, remedy=remedy).model_dump(), status, headers=headers)
