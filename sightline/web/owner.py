"""The addresses of the owner's page: how a round stands, and what the owner does about it."""

# Annotations are not postponed here: FastAPI could not find those that name what is made inside `routes`.
import threading
import time
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response, Security
from fastapi.responses import JSONResponse
from fastapi.templating import Jinja2Templates
from starlette.concurrency import run_in_threadpool

from sightline.errors import DataError, StudyError
from sightline.judging import oversee
from sightline.judging.store import round_numbers, rounds
from sightline.web import payloads_owner as p
from sightline.web.owner_charts import CHARTS, Drawing, drawing, table
from sightline.web.owner_view import shown
from sightline.web.payloads import ROUTES, Fault
from sightline.web.session import FAULTS, owner_cookie, require_owner
from sightline.web.state import State

OLDEST = 15.0
"""Seconds after which numbers are worked out anew though nothing was added: time itself goes by."""
KEEP = {"Cache-Control": "private, max-age=86400, immutable"}
PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {} for kind in ("image/png", "image/jpeg", "image/webp", "image/gif")}}
}
CSV_IN = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}}
CSV_OUT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}
RoundName = Annotated[str | None, Query(min_length=1, max_length=64)]
Seen = Annotated[int, Path(ge=1, le=2**53)]


def routes(state: State) -> APIRouter:
    """Every address of the owner's page."""

    async def owner(request: Request) -> None:
        await run_in_threadpool(require_owner, state, request)

    router = APIRouter(responses=FAULTS, dependencies=[Security(owner_cookie), Depends(owner)])
    templates = Jinja2Templates(FilePath(__file__).parent / "templates")
    _watch(router, state, templates)
    _act(router, state)
    _tables(router, state)
    return router


def _round(state: State, name: str | None) -> str:
    """The round that is asked for, or the first that is open here."""
    if name is not None:
        return rounds.get_round(state.study, name).name
    return next(iter(state.opened.values())).round.name


class _Fresh:
    """What was worked out last, until there is something new."""

    def __init__(self) -> None:
        self._held: dict[Any, tuple[Any, float, float, Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, version: tuple[int, ...], make: Callable[[], Any]) -> Any:
        """The value for a key, made anew where the version changed or it has grown old."""
        with self._lock:
            known = self._held.get(key)
            now = time.monotonic()
            # What took long to work out is shown for ten times as long: annotators share this machine. What
            # the owner did shows at once.
            acted = known is not None and known[0][-1] != version[-1]
            if known is None or acted or now > known[2] or (known[0] != version and now > known[1]):
                if len(self._held) > 100:
                    self._held.clear()
                made = make()
                took = time.monotonic() - now
                kept = now + took
                known = self._held[key] = (version, kept + 10 * took, kept + OLDEST + 10 * took, made)
            return known[3]


def _watch(router: APIRouter, state: State, templates: Jinja2Templates) -> None:
    numbers, drawings = _Fresh(), _Fresh()

    @router.get("/owner", include_in_schema=False)
    async def page(request: Request) -> Response:
        return templates.TemplateResponse(request, "owner.html.jinja", {"study": state.study.name})

    def overview_of(name: str | None) -> p.Overview:
        chosen = _round(state, name)
        version = round_numbers.newest(state.study)
        return numbers.get(chosen, version, lambda: shown(state, chosen, version))

    @router.get(ROUTES + "/owner/overview", tags=["owner"])
    async def overview(round: RoundName = None) -> p.Overview:
        return await run_in_threadpool(overview_of, round)

    def drawing_of(name: str, round: str | None, question: str | None) -> Drawing:
        chosen = _round(state, round)
        version = round_numbers.newest(state.study)
        found: Drawing | None = drawings.get(
            (name, chosen, question), version, lambda: drawing(state.study, chosen, name, question)
        )
        if found is None:
            raise HTTPException(404, "there is nothing to draw yet")
        return found

    ChartName = Annotated[str, Path(pattern=f"^({'|'.join(CHARTS)})$")]
    Question = Annotated[str | None, Query(min_length=1, max_length=200)]

    @router.get(
        ROUTES + "/owner/charts/{name}.svg",
        tags=["owner"],
        response_class=Response,
        responses={200: {"content": {"image/svg+xml": {}}}},
    )
    async def chart(
        name: ChartName,
        round: RoundName = None,
        question: Question = None,
        theme: Literal["light", "dark"] = "light",
        width: Literal["wide", "narrow"] = "wide",
    ) -> Response:
        found = await run_in_threadpool(drawing_of, name, round, question)
        svg = await run_in_threadpool(found.svg, theme, width == "wide")
        return Response(svg, media_type="image/svg+xml")

    @router.get(
        ROUTES + "/owner/charts/{name}.csv", tags=["owner"], response_class=Response, responses=CSV_OUT
    )
    async def chart_csv(name: ChartName, round: RoundName = None, question: Question = None) -> Response:
        found = await run_in_threadpool(drawing_of, name, round, question)
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return Response(found.table.to_csv(), media_type="text/csv; charset=utf-8", headers=headers)

    @router.get(ROUTES + "/owner/charts/{name}.json", tags=["owner"])
    async def chart_table(
        name: ChartName, round: RoundName = None, question: Question = None
    ) -> p.TableShown:
        found = await run_in_threadpool(drawing_of, name, round, question)
        return table(found.table)

    @router.get(
        ROUTES + "/owner/images/{subject}/{n}", tags=["owner"], response_class=Response, responses=PICTURE
    )
    async def image(subject: Seen, n: Annotated[int, Path(ge=0, le=2)]) -> Response:
        def get() -> tuple[bytes, str]:
            found = round_numbers.image_of(state.study, subject, n)
            if found is None:
                raise HTTPException(404, "there is no such image")
            return state.images.get(found)

        data, media = await run_in_threadpool(get)
        return Response(data, media_type=media, headers=KEEP)


def _act(router: APIRouter, state: State) -> None:
    study = state.study

    async def do(action: Callable[[], Any]) -> Any:
        found = await run_in_threadpool(action)
        state.forget()
        return found

    @router.post(ROUTES + "/owner/invite", tags=["owner"])
    async def invite(request: Request, told: p.Invite) -> p.Invited:
        made = await do(
            lambda: oversee.invite(study, told.round, told.name, told.role, told.days, told.language or None)
        )
        base = state.public or str(request.base_url).rstrip("/")
        return p.Invited(link=f"{base}/j/{made.token}", expires=made.expires)

    @router.post(ROUTES + "/owner/revoke", tags=["owner"])
    async def revoke(told: p.PersonOfRound) -> p.Done:
        good = await do(lambda: oversee.revoke(study, told.round, told.name))
        return p.Done(message=f"{good} {'link' if good == 1 else 'links'} of {told.name} taken back.")

    @router.post(ROUTES + "/owner/pause", tags=["owner"])
    async def pause(told: p.OfRound) -> p.Done:
        await do(lambda: oversee.pause(study, told.round))
        return p.Done(message=f"{told.round} is paused: nobody gets new pages.")

    @router.post(ROUTES + "/owner/resume", tags=["owner"])
    async def resume(told: p.OfRound) -> p.Done:
        await do(lambda: oversee.resume(study, told.round))
        return p.Done(message=f"{told.round} goes on.")

    @router.post(ROUTES + "/owner/exclude", tags=["owner"])
    async def exclude(told: p.Exclude) -> p.Done:
        await do(lambda: oversee.exclude(study, told.name, told.reason))
        return p.Done(message=f"The votes of {told.name} do not count any more; they stay in the study.")

    @router.post(ROUTES + "/owner/restore", tags=["owner"])
    async def restore(told: p.Restore) -> p.Done:
        await do(lambda: oversee.restore(study, told.name))
        return p.Done(message=f"The votes of {told.name} count again.")

    @router.post(ROUTES + "/owner/adjudicate", tags=["owner"])
    async def adjudicate(told: p.Adjudicate) -> p.Done:
        kept = await do(lambda: oversee.adjudicate(study, told.question, told.item, told.value))
        said = "decided so already" if not kept.fresh else "decided anew" if kept.revision else "decided"
        return p.Done(message=f"{told.question}: {said}.")

    @router.post(ROUTES + "/owner/again", tags=["owner"])
    async def again(told: p.JudgeAgain) -> p.Done:
        drawn = await do(lambda: oversee.again(study, told.round, told.share, told.by, told.seed))
        before = f" {drawn.before} were drawn before." if drawn.before else ""
        whom = "somebody else" if drawn.by == "other" else "the same person"
        return p.Done(
            message=f"{drawn.drawn} of {drawn.done} finished items are judged again by {whom}.{before}"
        )


def _tables(router: APIRouter, state: State) -> None:
    @router.get(ROUTES + "/owner/judgements.csv", tags=["owner"], response_class=Response, responses=CSV_OUT)
    async def download(round: RoundName = None) -> Response:
        def make() -> tuple[str, str]:
            chosen = _round(state, round)
            return chosen, oversee.judgements_csv(state.study, chosen)

        name, told = await run_in_threadpool(make)
        headers = {"Content-Disposition": f'attachment; filename="judgements-{name}.csv"'}
        return Response(told, media_type="text/csv; charset=utf-8", headers=headers)

    @router.post(
        ROUTES + "/owner/judgements", tags=["owner"], response_model=p.TakenInShown, openapi_extra=CSV_IN
    )
    async def upload(
        request: Request, name: Annotated[str, Query(max_length=200)] = "judgements.csv"
    ) -> Response:
        data = await request.body()
        try:
            found = await run_in_threadpool(oversee.take_in, state.study, data, name)
        except DataError as error:
            if type(error) is StudyError:
                raise
            # The row is what the owner needs to know.
            said = f"{error.where}: {error.what}" if error.where else error.what
            return JSONResponse(Fault(error=said, remedy=error.remedy).model_dump(), 409)
        state.forget()
        told = p.TakenInShown(added=found.added, known=found.known, open=found.open, message=found.message)
        return JSONResponse(told.model_dump())
