"""The addresses of the explorer: rows of a study, filtered and paged, pictures of them, and what is done."""

# Annotations are not postponed here: FastAPI could not find those that name what is made inside `routes`.
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response, Security
from fastapi.responses import StreamingResponse
from fastapi.templating import Jinja2Templates

from sightline.report import (
    Acted,
    ChartView,
    Detail,
    Explorer,
    ExplorerPicture,
    FieldsView,
    Page,
    PromptView,
    StudyView,
)
from sightline.web import payloads_view as p
from sightline.web.guarding import MIB, Allowance
from sightline.web.pacing import Pace, Paces
from sightline.web.payloads import PICTURE, ROUTES
from sightline.web.session import FAULTS, cookie_scheme, require_owner
from sightline.web.state import State

ADDRESS = ROUTES + "/view"
ALLOWED = {f"{ADDRESS}/{name}": Allowance(4 * MIB, 60.0) for name in ("act", "export")}
"""So many keys fit."""
PACE = Pace(6_000, 600)
"""A grid that is scrolled fast asks for hundreds of thumbnails a second."""
KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
"""The address of a picture holds the hash of its content."""
EXPORTED = {"csv": "text/csv; charset=utf-8", "zip": "application/zip"}
Sha256 = Annotated[str, Path(min_length=64, max_length=64, pattern="^[0-9a-f]+$")]
Key = Annotated[str, Path(min_length=3, max_length=80, pattern="^[ai](-[0-9]+)+$")]
FieldName = Annotated[str, Query(min_length=1, max_length=1_000, examples=["position"])]
PICTURES: dict[int | str, dict[str, Any]] = {
    200: {"content": {**PICTURE[200]["content"], "image/svg+xml": {}}}
}
"""What cannot be shown is a drawing that says why."""


def routes(state: State, explorer: Explorer) -> APIRouter:
    """Every address of the explorer."""
    paces = Paces(PACE)

    def owner(request: Request) -> None:
        require_owner(state, request, paces)

    router = APIRouter(
        responses=FAULTS, dependencies=[Security(cookie_scheme(state, "owner")), Depends(owner)]
    )
    _page(router, state)
    _look(router, explorer)
    _pictures(router, explorer)
    _act(router, state, explorer)
    return router


def _page(router: APIRouter, state: State) -> None:
    templates = Jinja2Templates(FilePath(__file__).parent / "templates")

    @router.get("/view", include_in_schema=False)
    def page(request: Request) -> Response:
        shown = {"study": state.study.name, "judged": bool(state.opened)}
        return templates.TemplateResponse(request, "view.html.jinja", shown)


def _look(router: APIRouter, explorer: Explorer) -> None:
    def get(path: str) -> Callable[..., Any]:
        return router.get(ADDRESS + path, tags=["view"])

    @get("/study")
    def study() -> StudyView:
        return explorer.about()

    @get("/fields")
    def fields(
        request: Request,
        of: Annotated[list[str] | None, Query(max_length=100)] = None,
        counts: Annotated[int, Query(ge=0, le=1)] = 1,
    ) -> FieldsView:
        return explorer.fields(request.url.query, of or (), counts=bool(counts))

    @get("/rows")
    def rows(
        request: Request,
        offset: Annotated[int, Query(ge=0, le=2**40)] = 0,
        limit: Annotated[int, Query(ge=0, le=500)] = 120,
    ) -> Page:
        return explorer.rows(request.url.query, offset, limit)

    @get("/rows/{key}")
    def row(request: Request, key: Key, blind: Annotated[int, Query(ge=0, le=1)] = 1) -> Detail:
        return explorer.detail(key, request.url.query, blind=bool(blind))

    @get("/prompts/{prompt_id}")
    def prompt(request: Request, prompt_id: Annotated[int, Path(ge=1, le=2**53)]) -> PromptView:
        return explorer.prompt(prompt_id, request.url.query)

    @get("/chart")
    def chart(request: Request, by: FieldName, of: FieldName | None = None) -> ChartView:
        return explorer.chart(request.url.query, by, of)


def _pictures(router: APIRouter, explorer: Explorer) -> None:
    def get(path: str) -> Callable[..., Any]:
        return router.get(ADDRESS + path, tags=["view"], response_class=Response, responses=PICTURES)

    def sent(picture: ExplorerPicture | None) -> Response:
        if picture is None:
            raise HTTPException(404, "there is no such image in this study")
        # What cannot be shown today may be repaired tomorrow.
        headers = KEPT if not picture.reason else {"X-Reason": picture.reason}
        return Response(picture.data, media_type=picture.media_type, headers=headers)

    @get("/thumbs/{sha256}.webp")
    def thumbnail(sha256: Sha256, size: Annotated[int, Query(ge=1, le=512)] = 256) -> Response:
        return sent(explorer.thumbnail(sha256, size))

    @get("/images/{sha256}")
    def image(sha256: Sha256) -> Response:
        return sent(explorer.image(sha256))


def _act(router: APIRouter, state: State, explorer: Explorer) -> None:
    @router.post(ADDRESS + "/act", tags=["view"])
    def act(body: p.Act) -> Acted:
        words = body.model_dump(include={"name", "value", "mode", "per_item"})
        return explorer.act(body.action, body.keys, body.state, **words)

    def sent(keys: list[str] | None, query: str | None, form: Literal["csv", "zip"]) -> Response:
        # What is wrong with the question is said before the reply begins.
        parts = explorer.export(keys, query, form)
        name = "".join(
            letter if letter.isascii() and letter.isalnum() else "-" for letter in state.study.name
        )
        headers = {"Content-Disposition": f'attachment; filename="{name}-rows.{form}"'}
        return StreamingResponse(parts, media_type=EXPORTED[form], headers=headers)

    files: dict[int | str, dict[str, Any]] = {200: {"content": {media: {} for media in EXPORTED.values()}}}

    @router.get(ADDRESS + "/export", tags=["view"], response_class=Response, responses=files)
    def export(
        request: Request,
        format: Literal["csv", "zip"] = "csv",
        keys: Annotated[list[p.Key] | None, Query(max_length=500)] = None,
    ) -> Response:
        return sent(keys, None if keys else request.url.query, format)

    @router.post(ADDRESS + "/export", tags=["view"], response_class=Response, responses=files)
    def export_chosen(body: p.ExportRows) -> Response:
        return sent(body.keys, body.state, body.format)
