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

from sightline import judging
from sightline.errors import DataError, StudyError
from sightline.estimate import format_cell, format_n
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import render
from sightline.rendering.tables import Table
from sightline.study.schema import database
from sightline.web import payloads_owner as p
from sightline.web.payloads import PICTURE, ROUTES, Fault, asked
from sightline.web.session import FAULTS, owner_cookie, require_owner
from sightline.web.state import State

OLDEST = 15.0
"""Seconds after which numbers are computed again though nothing was added: time itself goes by."""
KEEP = {"Cache-Control": "private, max-age=86400, immutable"}
CSV_IN = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}}
CSV_OUT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}
RoundName = Annotated[str | None, Query(min_length=1, max_length=64)]
ItemId = Annotated[int, Path(ge=1, le=2**53)]
# The renderer of charts is one for the whole process.
_ONE = threading.Lock()


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
        return judging.get_round(state.study, name).name
    return next(iter(state.opened.values())).round.name


def _page(state: State, name: str, version: tuple[int, ...]) -> p.OwnerPage:
    """Everything the page shows of a round."""
    found = judging.overview(state.study, name)
    round_ = judging.get_round(state.study, name)
    with database.reading(state.study.engine) as connection:
        languages = judging.languages(connection)
    wanted = round_.settings.get("languages") or languages
    questions = [question for _, question in round_.questions]
    return p.OwnerPage(
        study=state.study.name,
        rounds=[each.name for each in judging.rounds_of(state.study)],
        title=str(round_.settings.get("title") or name),
        version="-".join(str(number) for number in version),
        languages=[each for each in languages if each in wanted],
        questions=[asked(question) for question in questions],
        charts=judging.offered_charts(found, questions),
        overview=found,
    )


class _Fresh:
    """What was computed last, until there is something new."""

    def __init__(self) -> None:
        self._held: dict[Any, tuple[Any, float, float, Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, version: tuple[int, ...], make: Callable[[], Any]) -> Any:
        """The value for a key, computed again where the version changed or it has grown old."""
        with self._lock:
            known = self._held.get(key)
            now = time.monotonic()
            # What took long to compute is shown for ten times as long: annotators share this machine. What
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

    def overview_of(name: str | None) -> p.OwnerPage:
        chosen = _round(state, name)
        version = judging.newest(state.study)
        return numbers.get(chosen, version, lambda: _page(state, chosen, version))

    @router.get(ROUTES + "/owner/overview", tags=["owner"])
    async def overview(round: RoundName = None) -> p.OwnerPage:
        return await run_in_threadpool(overview_of, round)

    def chart_of(name: str, round: str | None, question: str | None) -> tuple[Figure, Table]:
        chosen = _round(state, round)
        found: tuple[Figure, Table] | None = drawings.get(
            (name, chosen, question),
            judging.newest(state.study),
            lambda: judging.round_chart(state.study, chosen, name, question),
        )
        if found is None:
            raise HTTPException(404, "there is nothing to draw yet")
        return found

    def svg_of(figure: Figure, theme: Literal["light", "dark"], width: str) -> str:
        with _ONE:
            return render(figure.narrow if figure.narrow and width == "narrow" else figure.wide, theme)

    ChartName = Annotated[str, Path(pattern=f"^({'|'.join(judging.CHARTS)})$")]
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
        figure, _ = await run_in_threadpool(chart_of, name, round, question)
        svg = await run_in_threadpool(svg_of, figure, theme, width)
        return Response(svg, media_type="image/svg+xml")

    @router.get(
        ROUTES + "/owner/charts/{name}.csv", tags=["owner"], response_class=Response, responses=CSV_OUT
    )
    async def chart_csv(name: ChartName, round: RoundName = None, question: Question = None) -> Response:
        _, table = await run_in_threadpool(chart_of, name, round, question)
        return _csv(table.to_csv(), name)

    @router.get(ROUTES + "/owner/charts/{name}.json", tags=["owner"])
    async def chart_table(name: ChartName, round: RoundName = None, question: Question = None) -> p.TableText:
        _, table = await run_in_threadpool(chart_of, name, round, question)
        return _as_text(table)

    @router.get(
        ROUTES + "/owner/images/{item}/{n}", tags=["owner"], response_class=Response, responses=PICTURE
    )
    async def image(item: ItemId, n: Annotated[int, Path(ge=0, le=2)]) -> Response:
        def get() -> tuple[bytes, str]:
            image_id = judging.image_of(state.study, item, n)
            if image_id is None:
                raise HTTPException(404, "there is no such image")
            return state.images.get(image_id)

        data, media = await run_in_threadpool(get)
        return Response(data, media_type=media, headers=KEEP)


def _as_text(table: Table) -> p.TableText:
    """A table as the page shows it: texts."""
    rows = [
        [
            f"{format_cell(cell, column.format)} {format_n(cell)}".strip()
            for column, cell in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    ]
    return p.TableText(
        caption=table.caption, headings=[column.heading for column in table.columns], rows=rows
    )


def _csv(text: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _act(router: APIRouter, state: State) -> None:
    study = state.study

    async def do(action: Callable[..., Any], *words: Any) -> Any:
        result = await run_in_threadpool(action, study, *words)
        state.forget()
        return result

    def post(name: str) -> Callable[..., Any]:
        return router.post(f"{ROUTES}/owner/{name}", tags=["owner"])

    @post("invite")
    async def invite(request: Request, body: p.Invite) -> p.Invited:
        words = (body.round, body.name, body.role, body.days, body.language or None)
        invitation = await do(judging.invite, *words)
        base = state.public or str(request.base_url).rstrip("/")
        return p.Invited(link=f"{base}/j/{invitation.token}", expires=invitation.expires)

    @post("revoke")
    async def revoke(body: p.PersonOfRound) -> p.Done:
        valid = await do(judging.revoke, body.round, body.name)
        return p.Done(message=f"{valid} {'link' if valid == 1 else 'links'} of {body.name} revoked.")

    @post("pause")
    async def pause(body: p.OfRound) -> p.Done:
        await do(judging.pause, body.round)
        return p.Done(message=f"{body.round} is paused: no new tasks are assigned.")

    @post("resume")
    async def resume(body: p.OfRound) -> p.Done:
        await do(judging.resume, body.round)
        return p.Done(message=f"{body.round} resumes.")

    @post("exclude")
    async def exclude(body: p.Exclude) -> p.Done:
        await do(judging.exclude, body.name, body.reason)
        return p.Done(message=f"The judgements of {body.name} no longer count; they stay in the study.")

    @post("restore")
    async def restore(body: p.Restore) -> p.Done:
        await do(judging.restore, body.name)
        return p.Done(message=f"The judgements of {body.name} count again.")

    @post("adjudicate")
    async def adjudicate(body: p.Adjudicate) -> p.Done:
        decision = await do(judging.adjudicate, body.question, body.item, body.value)
        how = "decided so already" if not decision.fresh else "revised" if decision.revision else "decided"
        return p.Done(message=f"{body.question}: {how}.")

    @post("again")
    async def again(body: p.JudgeAgain) -> p.Done:
        sample = await do(judging.again, body.round, body.share, body.by, body.seed)
        return p.Done(message=sample.sentence)


def _tables(router: APIRouter, state: State) -> None:
    @router.get(ROUTES + "/owner/judgements.csv", tags=["owner"], response_class=Response, responses=CSV_OUT)
    async def download(round: RoundName = None) -> Response:
        def make() -> tuple[str, str]:
            chosen = _round(state, round)
            return judging.judgements_csv(state.study, chosen), f"judgements-{chosen}"

        return _csv(*await run_in_threadpool(make))

    @router.post(
        ROUTES + "/owner/judgements", tags=["owner"], response_model=p.Uploaded, openapi_extra=CSV_IN
    )
    async def upload(
        request: Request, name: Annotated[str, Query(max_length=200)] = "judgements.csv"
    ) -> Response:
        data = await request.body()
        try:
            added = await run_in_threadpool(judging.take_in, state.study, data, name)
        except DataError as error:
            if type(error) is StudyError:
                raise
            # The row is what the owner needs to know.
            what = f"{error.where}: {error.what}" if error.where else error.what
            return JSONResponse(Fault(error=what, remedy=error.remedy).model_dump(), 409)
        state.forget()
        return JSONResponse({**added.facts(), "message": added.sentence})
