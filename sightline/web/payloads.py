"""What the annotation pages send and receive: the contract between browser and server."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from sightline.judging import Receipt
from sightline.records import BOTH_BAD, Question

ROUTES = "/api"
MOST_ANSWERS = 200
"""Answers in one request; a browser that was long without network sends its queue in several."""
MOST_STEPS = 50
PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {} for kind in ("image/png", "image/jpeg", "image/webp", "image/gif")}}
}
CSV_OUT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}


def image(data: bytes, media_type: str) -> Response:
    """An image that no browser keeps: in another round or study its address leads to another."""
    return Response(data, media_type=media_type)


def image_of_task(data: bytes, media_type: str) -> Response:
    """An image that a browser keeps for a day: its address has the random key of a task."""
    headers = {"Cache-Control": "private, max-age=86400, immutable"}
    return Response(data, media_type=media_type, headers=headers)


def csv_file(text: str, name: str) -> Response:
    """A table that is saved as a file."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


class Strict(BaseModel):
    """Unknown fields and values of another type are refused: a slip would otherwise be silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Label(Strict):
    """One choice of a question; `key` is the number on the keyboard that takes it.

    A choice without a value is sent as the reason `skipped`.
    """

    value: float | None
    text: str
    key: str
    skipped: str | None = None


class Asked(Strict):
    """A question as the page shows it: buttons for labels and steps, a slider on an interval scale."""

    name: str
    wording: str
    scale: str
    low: float | None
    high: float | None
    step: float | None
    labels: list[Label]
    slider: bool


def asked(question: Question, both_bad: str = "") -> Asked:
    """A question with its labels, or else the steps of an ordered scale; the first nine have a key.

    `both_bad` are the words of one more choice, that neither image of a pair is good.
    """
    choices = [(float(value), text) for value, text in question.labels.items()] or _steps(question)
    neither = [Label(value=None, text=both_bad, key="", skipped=BOTH_BAD)] if both_bad else []
    return Asked(
        name=question.name,
        wording=question.wording or question.name,
        scale=question.scale,
        low=question.low,
        high=question.high,
        step=question.step,
        labels=[
            Label(value=value, text=text, key=str(number) if number < 10 else "")
            for number, (value, text) in enumerate(choices, 1)
        ]
        + neither,
        slider=question.scale == "interval",
    )


def _steps(question: Question) -> list[tuple[float, str]]:
    low, high, step = question.low, question.high, question.step
    if question.scale == "interval" or low is None or high is None or not step:
        return []
    count = round((high - low) / step) + 1
    values = [round(low + number * step, 9) for number in range(min(count, MOST_STEPS))]
    return [(value, f"{value:g}") for value in values]


class ExampleShown(Strict):
    """A worked example among the instructions; `image` is an address where the study gives a picture."""

    shown: str
    answer: str
    why: str
    image: str | None = None


class Task(Strict):
    """What an annotator is asked to do; the same for everybody of a round.

    `task` names study, round and annotator in a browser that several links were opened in: sent back as the
    header X-Task, answers that wait for one can never go to another.
    """

    task: str
    round: str
    title: str
    layout: str
    images: int
    questions: list[Asked]
    keys: dict[str, str]
    instructions: str
    examples: list[ExampleShown]
    skip_reasons: list[str]
    shows_prompt: bool
    linked: bool
    languages: list[str]
    remarks: list[str]


class Progress(Strict):
    """How far an annotator is: tasks of this session and of all, and whether a rest is due."""

    annotator: str
    language: str | None
    pages_done: int
    pages_left: int
    session: int
    session_done: int
    session_pages: int
    rest_until: str | None
    state: str
    seconds: int


class Given(Strict):
    """An answer given before, as the page shows it when somebody goes back."""

    question: str
    value: float | None
    skipped: str | None


class Noted(Strict):
    """A comment, a flag or marked regions, as the page shows them; `part` counts a slot's images as shown."""

    kind: str
    slot: int
    part: int
    text: str
    boxes: list[list[float]]


class Slot(Strict):
    """One thing to judge: its images in the order they are shown (one; A and B; or reference, A and B)."""

    slot: int
    images: list[str]
    given: list[Given]


class Page(Strict):
    """One page; `number` counts the annotator's pages from 1."""

    page: str
    number: int
    session: int
    state: str
    prompt: str | None
    original: str | None
    linked: bool
    slots: list[Slot]
    noted: list[Noted] = []


class Work(Strict):
    """Pages at hand, the next ones included so that images can be fetched ahead, and how far one is.

    `pages` is empty when there is no more to do, while paused, and during a rest.
    """

    progress: Progress
    pages: list[Page]


class Answer(Strict):
    """One answer: a value, or a reason for skipping. `key` is made by the browser, new for each answer.

    `took_ms` is the time the page was in view until this answer.
    """

    key: Annotated[str, Field(min_length=16, max_length=64, pattern=r"^[0-9A-Za-z-]+$")]
    task: Annotated[str, Field(min_length=32, max_length=32, pattern=r"^[0-9a-f]+$", alias="page")]
    slot: Annotated[int, Field(ge=0, le=1000)]
    question: Annotated[str, Field(min_length=1, max_length=200)]
    value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    skipped: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    took_ms: Annotated[int, Field(ge=0, le=2_000_000_000)] | None = None


Fraction = Annotated[float, Field(ge=0, le=1)]


class Remark(Strict):
    """What is noted about a task: a comment, a flag, or the regions of one image; empty, it is withdrawn.

    Regions are [left, top, right, bottom] as fractions of the image's width and height.
    """

    key: Annotated[str, Field(min_length=16, max_length=64, pattern=r"^[0-9A-Za-z-]+$")]
    task: Annotated[str, Field(min_length=32, max_length=32, pattern=r"^[0-9a-f]+$", alias="page")]
    kind: Literal["comment", "flag", "regions"]
    text: Annotated[str, Field(max_length=1000)] = ""
    slot: Annotated[int, Field(ge=0, le=1000)] = 0
    part: Annotated[int, Field(ge=0, le=2)] = 0
    boxes: Annotated[
        list[Annotated[list[Fraction], Field(min_length=4, max_length=4)]], Field(max_length=20)
    ] = []


class Answers(Strict):
    """Answers and remarks, each in the order they were given; at least one of either."""

    answers: Annotated[list[Answer], Field(max_length=MOST_ANSWERS)] = []
    remarks: Annotated[list[Remark], Field(max_length=MOST_ANSWERS)] = []

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.answers and not self.remarks:
            raise ValueError("there is no answer")
        return self


class Receipts(Strict):
    """One receipt per answer, in the order sent. Whatever is stored or known is on disk.

    `pages` are those that were assigned now, in place of what was finished.
    """

    receipts: list[Receipt]
    progress: Progress
    pages: list[Page]


class LinkedPrompt(Strict):
    """A prompt that this one builds on, with the same system's images of it."""

    prompt: str
    images: list[str]


class Linked(Strict):
    """All of them."""

    prompts: list[LinkedPrompt]


class Language(Strict):
    """The language an annotator wants prompts in; none for the original."""

    language: Annotated[str, Field(max_length=16, pattern=r"^[A-Za-z0-9-]*$")] | None = None


class Fault(Strict):
    """What went wrong and what to do."""

    error: str
    remedy: str = ""
