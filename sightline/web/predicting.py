"""The page that predicts prompts: what is expected of them before anything is generated or searched.

It reads nothing of a study and writes nowhere.
"""

# Annotations are not postponed here: FastAPI could not find those that name what is made inside `routes`.
import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.templating import Jinja2Templates
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from sightline.errors import UsageError
from sightline.prediction import (
    SHIPPED,
    SHOWN,
    TIERS,
    Prediction,
    Predictions,
    TargetScale,
    predict_prompts,
    rank,
)
from sightline.rendering.tables import Column, Table
from sightline.web.guarding import MIB, Allowance
from sightline.web.payloads import CSV_OUT, ROUTES, Strict, csv_file
from sightline.web.session import FAULTS

ADDRESS = ROUTES + "/owner/predict"
MOST_PROMPTS, MOST_CHARACTERS = 500, 100_000
"""What one request may ask for; whoever has more has a file, which the command takes."""
MOST_EXPLAINED = 20
"""As many where words are weighed: that takes a prediction for each word."""
MOST_LISTED = 100
"""Prompts of a list that the page asks the words of."""
MOST_KEPT = 1_000
"""Prompts whose prediction is remembered."""
ALLOWED = {ADDRESS: Allowance(2 * MIB, 60.0)}
"""So many characters fit, however they are written down."""
TITLES = {name: scale.title for name, scale in SHIPPED.items()}
LEAST = 0.005
"""What adds less would show as 0.00, and is not marked."""
MOST_WORDS = 4
"""Words that are shown with their numbers, of those that make a prompt easier and of the others."""
LONGEST = 5
"""Parts that a word may have: black-and-white has three."""
PART = re.compile(r"\w+")

Made = TypeVar("Made")
Prompts = Annotated[list[str], Field(min_length=1, json_schema_extra={"maxItems": MOST_PROMPTS})]
Candidates = Annotated[list[str], Field(min_length=1, json_schema_extra={"maxItems": MOST_EXPLAINED - 1})]
Tier = Annotated[str, Field(pattern=f"^({'|'.join(TIERS)})$")] | None


class Ask(Strict):
    """Prompts to predict, by the best tier that can run here unless one is named.

    At most 500 prompts, and 100,000 characters in all. `explain` weighs their words, of at most 20 prompts.
    """

    prompts: Prompts
    tier: Tier = None
    explain: bool = False


class AskWhich(Strict):
    """A prompt and rewordings of it, to be ranked by what is expected of each."""

    prompt: str
    candidates: Candidates
    by: Annotated[str, Field(pattern=f"^({'|'.join(SHOWN)})$")] = SHOWN[0]
    tier: Tier = None


class Piece(Strict):
    """A piece of a prompt, with what it adds where it is a word that makes the prompt easier or harder."""

    text: str
    adds: float | None


@dataclass(frozen=True)
class Words:
    """`pieces` put together are the prompt; `easier` and `harder` have the words that matter most."""

    pieces: Sequence[Piece]
    easier: Sequence[tuple[str, float]]
    harder: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class ExplainedPrediction(Prediction):
    """A prediction with the prompt's words by target."""

    words: Mapping[str, Words] = field(default_factory=dict)


class PredictionsPage(Strict):
    """Which tier predicted and why not a better one, the coverage of its intervals, and the predictions."""

    tier: str
    why: str
    coverage: float
    targets: Mapping[str, TargetScale]
    predictions: Sequence[ExplainedPrediction]


def routes(admit: Callable[[Request], None], study: str) -> APIRouter:
    """The page and what it asks, for whom `admit` lets in; it raises NoSession for others.

    `study` is the name of the one that is judged here, whose page it links to; it may be empty.
    """

    def admitted(request: Request) -> None:
        admit(request)

    router = APIRouter(responses=FAULTS, dependencies=[Depends(admitted)])
    templates = Jinja2Templates(Path(__file__).parent / "templates")
    # One at a time: people judge on this machine meanwhile, and weights are not loaded twice.
    turn = asyncio.Semaphore(1)
    known = Known()

    async def work(what: Callable[[], Made]) -> Made:
        async with turn:
            return await run_in_threadpool(what)

    async def predicted(body: Ask) -> Predictions:
        _bounded(body.prompts, MOST_EXPLAINED if body.explain else MOST_PROMPTS)
        return await work(lambda: known.predict(body.prompts, body.tier, body.explain))

    @router.get("/owner/predict", include_in_schema=False)
    async def page(request: Request) -> Response:
        limits = {"prompts": MOST_PROMPTS, "characters": MOST_CHARACTERS, "listed": MOST_LISTED}
        context = {"study": study, "tiers": TIERS, "targets": TITLES, "limits": limits}
        return templates.TemplateResponse(request, "predict.html.jinja", context)

    @router.post(ADDRESS, tags=["predict"])
    async def ask(body: Ask) -> PredictionsPage:
        return shown(await predicted(body))

    @router.post(ADDRESS + "/table.csv", tags=["predict"], response_class=Response, responses=CSV_OUT)
    async def table(body: Ask) -> Response:
        return csv_file(as_table(await predicted(body)).to_csv(), "predicted")

    @router.post(ADDRESS + "/suggest", tags=["predict"])
    async def suggest(body: AskWhich) -> PredictionsPage:
        _bounded([body.prompt, *body.candidates], MOST_EXPLAINED)
        return await work(lambda: shown(rank(body.prompt, body.candidates, by=body.by, tier=body.tier)))

    return router


class Known:
    """What was predicted last: the page asks in parts, then for words, then for all of it as a table."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str | None, str], Prediction] = OrderedDict()
        self._about: dict[str | None, Predictions] = {}

    def predict(self, prompts: Sequence[str], tier: str | None, explain: bool) -> Predictions:
        """Predictions; effects of words that are known already are included without being asked for."""
        missing = [
            each for each in dict.fromkeys(prompts) if self._lacks(self._held.get((tier, each)), explain)
        ]
        if missing:
            fresh = predict_prompts(missing, tier=tier, explain=explain)
            self._about[tier] = replace(fresh, predictions=())
            self._held.update({(tier, each.prompt): each for each in fresh.predictions})
        for each in prompts:
            self._held.move_to_end((tier, each))
        made = replace(self._about[tier], predictions=[self._held[tier, each] for each in prompts])
        while len(self._held) > MOST_KEPT:
            self._held.popitem(last=False)
        return made

    @staticmethod
    def _lacks(prediction: Prediction | None, explain: bool) -> bool:
        return prediction is None or (explain and not prediction.effects and not prediction.refused)


def _bounded(prompts: Sequence[str], most: int) -> None:
    """Refuse what would keep the machine from those who judge on it."""
    remedy = "Send them in parts, or give the file to sightline predict."
    if len(prompts) > most:
        raise UsageError(f"{len(prompts):,} prompts are too many: {most} at once", remedy=remedy)
    length = sum(map(len, prompts))
    if length > MOST_CHARACTERS:
        raise UsageError(f"{length:,} characters are too many: {MOST_CHARACTERS:,} at once", remedy=remedy)


def shown(predictions: Predictions) -> PredictionsPage:
    """Predictions as the page receives them."""
    return PredictionsPage(
        tier=predictions.tier,
        why=predictions.why,
        coverage=predictions.coverage,
        targets=SHIPPED,
        predictions=[_explained(each) for each in predictions.predictions],
    )


def _explained(prediction: Prediction) -> ExplainedPrediction:
    effects = {
        target: prediction.effects.get(target, ()) for target in SHOWN if target in prediction.expected
    }
    words = {
        target: Words(pieces(prediction.prompt, each), _telling(each, 1), _telling(each, -1))
        for target, each in effects.items()
    }
    return ExplainedPrediction(**vars(prediction), words=words)


def _strongest(words: Sequence[tuple[str, float]]) -> dict[str, tuple[str, float]]:
    """The words that add something, strongest first; of one that stands there twice, where it adds more."""
    strongest: dict[str, tuple[str, float]] = {}
    for word, adds in sorted(words, key=lambda each: -abs(each[1])):
        if abs(adds) >= LEAST and (key := _key(word)):
            strongest.setdefault(key, (word, adds))
    return strongest


def _telling(words: Sequence[tuple[str, float]], sign: int) -> list[tuple[str, float]]:
    """The words that move a prediction most in one direction."""
    return [each for each in _strongest(words).values() if sign * each[1] > 0][:MOST_WORDS]


def pieces(prompt: str, words: Sequence[tuple[str, float]]) -> list[Piece]:
    """The prompt cut where a word that matters begins or ends; put together, they are the prompt again.

    A word is found in any case and between any punctuation; the longest that begins at a place is taken.
    """
    effects = {key: adds for key, (_, adds) in _strongest(words).items()}
    longest = max((len(PART.findall(key)) for key in effects), default=0)
    spots = [match.span() for match in PART.finditer(prompt)]
    marked: list[tuple[int, int, float]] = []
    place = 0
    while effects and place < len(spots):
        for parts in range(min(longest, LONGEST, len(spots) - place), 0, -1):
            start, end = spots[place][0], spots[place + parts - 1][1]
            if (effect := effects.get(_plain(prompt[start:end]))) is not None:
                marked.append((start, end, effect))
                break
        place += parts
    ends = [(0, 0, 0.0), *marked, (len(prompt), len(prompt), 0.0)]
    made: list[Piece] = []
    for (_, before, _), (start, end, adds) in pairwise(ends):
        made.append(Piece(text=prompt[before:start], adds=None))
        made.append(Piece(text=prompt[start:end], adds=adds))
    return [piece for piece in made if piece.text]


def _key(word: str) -> str:
    """A word as it is looked for: without case, and without what stands around it."""
    spots = [match.span() for match in PART.finditer(word)]
    return _plain(word[spots[0][0] : spots[-1][1]]) if spots else ""


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def as_table(predictions: Predictions) -> Table:
    """A prediction as a table, with the columns that `sightline predict --file` writes, and the words."""
    columns = [Column("prompt")]
    for target in SHOWN:
        columns += [Column(target), Column(f"{target}_low"), Column(f"{target}_high")]
    columns += [Column(name) for name in ("easier", "harder", "warnings", "reason", "tier")]
    rows = []
    for each in predictions.predictions:
        row: list[str | float] = [each.prompt]
        for target in SHOWN:
            expected = each.expected.get(target)
            ends = (expected.value, expected.low, expected.high) if expected else ()
            row += ["" if end is None else end for end in ends or (None, None, None)]
        words = each.effects.get(SHOWN[0], ())
        for sign in (1, -1):
            row.append(", ".join(f"{word} {adds:+.2f}" for word, adds in _telling(words, sign)))
        rows.append([*row, "; ".join(each.warnings), each.refused, predictions.tier])
    return Table(columns, rows)
