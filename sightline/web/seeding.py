"""The addresses of the page where seeds of queries are chosen, extended and sent to judging."""

# Annotations are not postponed here: FastAPI could not find those that name what is made inside `routes`.
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi.templating import Jinja2Templates
from pydantic import Field

from sightline import judging
from sightline.study.study import Study
from sightline.systems import ChosenSeeds, Seeding, SeedQuery, SeedSearch
from sightline.web.explorer import ADDRESS as VIEW
from sightline.web.guarding import MIB, Allowance
from sightline.web.payloads import Strict
from sightline.web.session import FAULTS, cookie_scheme, require_owner
from sightline.web.state import State

ADDRESS = VIEW + "/seeds"
ALLOWED = {f"{ADDRESS}/search": Allowance(MIB, 300.0), f"{ADDRESS}/extend": Allowance(MIB, 600.0)}
Id = Annotated[int, Field(ge=1, le=2**53)]
Text = Annotated[str, Field(max_length=500)]
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class SeedPlaces(Strict):
    """The collections that can be searched, and the queries there are."""

    collections: list[str]
    queries: list[SeedQuery]


class Chosen(Strict):
    """Images that a query is written for, and the wordings that were searched on the way."""

    text: Text = ""
    query: Id | None = None
    kind: Annotated[str, Field(max_length=100)] = ""
    images: Annotated[list[Id], Field(min_length=1, max_length=1_000)]
    searched: Annotated[list[Text], Field(max_length=200, default_factory=list)]


class Extend(Strict):
    """How far to extend every query's seeds, and the round that has them judged."""

    collection: Annotated[str, Field(min_length=1, max_length=1_000)]
    name: Name = "seeds"
    neighbours: Annotated[int, Field(ge=1, le=10_000)] = 100
    mode: Annotated[str, Field(max_length=200)] = "ternary_relevance"


class Extended(Strict):
    """The pool that was made, and the command that has it judged."""

    pairs: int
    queries: int
    said: str
    command: str


def routes(state: State) -> APIRouter:
    """Every address of the page."""

    def owner(request: Request) -> None:
        require_owner(state, request)

    router = APIRouter(
        responses=FAULTS, dependencies=[Security(cookie_scheme(state, "owner")), Depends(owner)]
    )
    templates = Jinja2Templates(FilePath(__file__).parent / "templates")
    seeding = Seeding(state.study)

    @router.get("/seeds", include_in_schema=False)
    def page(request: Request) -> Response:
        return templates.TemplateResponse(request, "seeds.html.jinja", {"study": state.study.name})

    @router.get(ADDRESS, tags=["seeds"])
    def places() -> SeedPlaces:
        return SeedPlaces(collections=seeding.collections(), queries=seeding.queries())

    @router.get(ADDRESS + "/search", tags=["seeds"])
    def search(
        collection: Annotated[str, Query(min_length=1, max_length=1_000)],
        q: Annotated[str, Query(min_length=1, max_length=500)],
        engine: Annotated[str, Query(max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 60,
    ) -> SeedSearch:
        return seeding.search(collection, q, engine, limit)

    @router.post(ADDRESS, tags=["seeds"])
    def choose(body: Chosen) -> ChosenSeeds:
        return seeding.choose(body.text, body.images, body.searched, body.query, body.kind)

    @router.post(ADDRESS + "/extend", tags=["seeds"])
    def extend(body: Extend) -> Extended:
        return _extended(state.study, seeding, body)

    return router


def _extended(study: Study, seeding: Seeding, body: Extend) -> Extended:
    """The pool, and a round of it: one that is declared already stays as it is."""
    made = seeding.extend(body.collection, body.name, body.neighbours)
    if body.name not in judging.round_names(study):
        judging.declare_round(study, body.mode, body.name, systems=[made.name])
    return Extended(
        pairs=made.pairs,
        queries=made.prompts,
        said=made.how,
        command=f"sightline annotate {study.address} --round {body.name}",
    )
