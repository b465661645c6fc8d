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
from sightline.web import payloads
from sightline.web import payloads_owner as p
from sightline.web.payloads import CSV_OUT, PICTURE, ROUTES, Fault, asked, csv_file
from sightline.web.session import FAULTS, cookie_scheme, require_owner
from sightline.web.state import State

OLDEST = 15.0
"""Seconds after which numbers are computed again though nothing was added: time itself goes by."""
CSV_IN = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}}
RoundName = Annotated[str | None, Query(min_length=1, max_length=64)]
ItemId = Annotated[int, Path(ge=1, le=2**53)]
# The renderer of charts is one for the whole process.
_ONE = threading.Lock()


def routes(state: State) -> APIRouter:
    """Every address of the owner's page."""

    def owner(request: Request) -> None:
        require_owner(state, request)

    router = APIRouter(
        responses=FAULTS, dependencies=[Security(cookie_scheme(state, "owner")), Depends(owner)]
    )
    templates = Jinja2Templates(FilePath(__file__).parent / "templates")
    _watch(router, state, templates)
    _act(router, state)
    return router


def _round(state: State, name: str | None) -> str:
    """The round that is asked for, or the first that is open here."""
    if name is not None:
        return judging.get_round(state.study, name).name
    return next(iter(state.opened.values())).round.name


def _page(state: State, name: str, version: tuple[int, ...]) -> p.OwnerPage:
    """Everything the page shows of a round, after whoever fails the rules has lost their places."""
    judging.reopen(state.study, name)
    overview = judging.overview(state.study, name)
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
        charts=judging.offered_charts(state.study, overview, questions),
        overview=overview,
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

    @router.get(ROUTES + "/owner/overview", tags=["owner"])
    def overview(round: RoundName = None) -> p.OwnerPage:
        chosen, version = _round(state, round), judging.newest(state.study)
        return numbers.get(chosen, version, lambda: _page(state, chosen, version))

    def chart_of(name: str, round: str | None, question: str | None) -> tuple[Figure, Table]:
        chosen = _round(state, round)
        drawn: tuple[Figure, Table] | None = drawings.get(
            (name, chosen, question),
            judging.newest(state.study),
            lambda: judging.round_chart(state.study, chosen, name, question),
        )
        if drawn is None:
            raise HTTPException(404, "there is nothing to draw yet")
        return drawn

    ChartName = Annotated[str, Path(pattern=f"^({'|'.join(judging.CHARTS)})$")]
    Question = Annotated[str | None, Query(min_length=1, max_length=200)]

    def get_file(path: str, responses: dict[int | str, dict[str, Any]]) -> Callable[..., Any]:
        return router.get(
            f"{ROUTES}/owner/{path}", tags=["owner"], response_class=Response, responses=responses
        )

    @get_file("charts/{name}.svg", {200: {"content": {"image/svg+xml": {}}}})
    def chart(
        name: ChartName,
        round: RoundName = None,
        question: Question = None,
        theme: Literal["light", "dark"] = "light",
        width: Literal["wide", "narrow"] = "wide",
    ) -> Response:
        figure, _ = chart_of(name, round, question)
        with _ONE:
            svg = render(figure.narrow if figure.narrow and width == "narrow" else figure.wide, theme)
        return Response(svg, media_type="image/svg+xml")

    @get_file("charts/{name}.csv", CSV_OUT)
    def chart_csv(name: ChartName, round: RoundName = None, question: Question = None) -> Response:
        return csv_file(chart_of(name, round, question)[1].to_csv(), name)

    @router.get(ROUTES + "/owner/charts/{name}.json", tags=["owner"])
    def chart_table(name: ChartName, round: RoundName = None, question: Question = None) -> p.TableText:
        return _as_text(chart_of(name, round, question)[1])

    @get_file("images/{item}/{n}", PICTURE)
    def image(item: ItemId, n: Annotated[int, Path(ge=0, le=2)]) -> Response:
        image_id = judging.image_of(state.study, item, n)
        if image_id is None:
            raise HTTPException(404, "there is no such image")
        return payloads.image(*state.images.get(image_id))

    @get_file("judgements.csv", CSV_OUT)
    def download(round: RoundName = None) -> Response:
        chosen = _round(state, round)
        return csv_file(judging.judgements_csv(state.study, chosen), f"judgements-{chosen}")


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


def _act(router: APIRouter, state: State) -> None:
    study = state.study

    def do(action: Callable[..., Any], *words: Any) -> Any:
        result = action(study, *words)
        state.forget()
        return result

    def post(name: str) -> Callable[..., Any]:
        return router.post(f"{ROUTES}/owner/{name}", tags=["owner"])

    @post("invite")
    def invite(request: Request, body: p.Invite) -> p.Invited:
        words = (body.round, body.name, body.role, body.days, body.language or None)
        invitation = do(judging.invite, *words)
        base = state.public or str(request.base_url).rstrip("/")
        return p.Invited(link=f"{base}/j/{invitation.token}", expires=invitation.expires)

    @post("revoke")
    def revoke(body: p.PersonOfRound) -> p.Done:
        valid = do(judging.revoke, body.round, body.name)
        return p.Done(message=f"{valid} {'link' if valid == 1 else 'links'} of {body.name} revoked.")

    @post("pause")
    def pause(body: p.OfRound) -> p.Done:
        do(judging.pause, body.round)
        return p.Done(message=f"{body.round} is paused: no new tasks are assigned.")

    @post("resume")
    def resume(body: p.OfRound) -> p.Done:
        do(judging.resume, body.round)
        return p.Done(message=f"{body.round} resumes.")

    @post("exclude")
    def exclude(body: p.Exclude) -> p.Done:
        do(judging.exclude, body.name, body.reason)
        return p.Done(
            message=f"The judgements of {body.name} no longer count; they stay in the study. "
            "Their links are revoked."
        )

    @post("restore")
    def restore(body: p.Restore) -> p.Done:
        do(judging.restore, body.name)
        return p.Done(message=f"The judgements of {body.name} count again. To judge, they need a new link.")

    @post("adjudicate")
    def adjudicate(body: p.Adjudicate) -> p.Done:
        decision = do(judging.adjudicate, body.question, body.item, body.value)
        how = "decided so already" if not decision.fresh else "revised" if decision.revision else "decided"
        return p.Done(message=f"{body.question}: {how}.")

    @post("again")
    def again(body: p.JudgeAgain) -> p.Done:
        sample = do(judging.again, body.round, body.share, body.by, body.seed)
        return p.Done(message=sample.sentence)

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
