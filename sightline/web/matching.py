"""The addresses of the page where images are dropped and matched to prompts by hand."""

# Annotations are not postponed here: FastAPI could not find those that name what is made inside `routes`.
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi.templating import Jinja2Templates
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from sightline.data import Guess, MatchedImage, PromptChoices, guess_prompts, prompt_choices, take_image
from sightline.web.explorer import ADDRESS as VIEW
from sightline.web.guarding import MIB, Allowance
from sightline.web.payloads import Strict
from sightline.web.session import FAULTS, cookie_scheme, require_owner
from sightline.web.state import State

ADDRESS = VIEW + "/match"
LARGEST = 64
"""MiB of one image that is sent by a browser."""
ALLOWED = {
    f"{ADDRESS}/images": Allowance(LARGEST * MIB, 300.0),
    f"{ADDRESS}/names": Allowance(MIB, 60.0),
}
IMAGE_IN = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
SystemName = Annotated[str, Query(max_length=200)]


class FileNames(Strict):
    """The names of files that were dropped, and the system that made them."""

    names: Annotated[list[Name], Field(min_length=1, max_length=2_000)]
    system: Annotated[str, Field(max_length=200)] = ""


def routes(state: State) -> APIRouter:
    """Every address of the page."""

    def owner(request: Request) -> None:
        require_owner(state, request)

    router = APIRouter(
        responses=FAULTS, dependencies=[Security(cookie_scheme(state, "owner")), Depends(owner)]
    )
    templates = Jinja2Templates(FilePath(__file__).parent / "templates")

    @router.get("/match", include_in_schema=False)
    def page(request: Request) -> Response:
        return templates.TemplateResponse(request, "match.html.jinja", {"study": state.study.name})

    @router.get(ADDRESS + "/prompts", tags=["match"])
    def prompts(
        q: Annotated[str, Query(max_length=1_000)] = "",
        system: SystemName = "",
        offset: Annotated[int, Query(ge=0, le=2**40)] = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> PromptChoices:
        return prompt_choices(state.study, q, system, offset, limit)

    @router.post(ADDRESS + "/names", tags=["match"])
    def names(body: FileNames) -> list[Guess]:
        return guess_prompts(state.study, body.names, body.system)

    @router.post(ADDRESS + "/images", tags=["match"], openapi_extra=IMAGE_IN)
    async def images(
        request: Request,
        name: Annotated[str, Query(min_length=1, max_length=1_000)],
        prompt: Annotated[int, Query(ge=1, le=2**53)],
        system: Annotated[str, Query(min_length=1, max_length=200)],
        sample: Annotated[int | None, Query(ge=0, lt=1_000_000)] = None,
        number: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    ) -> MatchedImage:
        data = await request.body()
        return await run_in_threadpool(take_image, state.study, data, name, prompt, system, sample, number)

    return router
