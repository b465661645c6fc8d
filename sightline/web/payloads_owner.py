"""What the owner's page sends and receives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sightline.judging import ChartTitle, Overview
from sightline.web.payloads import Asked, Strict

Name = Annotated[str, Field(min_length=1, max_length=200)]
RoundName = Annotated[str, Field(min_length=1, max_length=64)]


class TableText(Strict):
    """A table of texts."""

    caption: str
    headings: list[str]
    rows: list[list[str]]


class OwnerPage(Strict):
    """Everything the owner's page shows; `version` changes when there is something new."""

    study: str
    rounds: list[str]
    title: str
    version: str
    languages: list[str]
    questions: list[Asked]
    charts: list[ChartTitle]
    overview: Overview


class Invite(Strict):
    """Let somebody in to a round."""

    round: RoundName
    name: Name
    role: Literal["annotator", "control"] = "annotator"
    days: Annotated[int, Field(ge=1, le=366)] = 30
    language: Annotated[str, Field(max_length=16)] | None = None


class Invited(Strict):
    """The link, which is shown this once."""

    link: str
    expires: str


class OfRound(Strict):
    """A round."""

    round: RoundName


class PersonOfRound(Strict):
    """Somebody in a round."""

    round: RoundName
    name: Name


class Exclude(Strict):
    """Whose judgements no longer count, and why."""

    name: Name
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class Restore(Strict):
    """Whose judgements count again."""

    name: Name


class Adjudicate(Strict):
    """What is decided on a dispute."""

    question: Name
    item: Annotated[int, Field(ge=1, le=2**53)]
    value: Annotated[float, Field(allow_inf_nan=False)]


class JudgeAgain(Strict):
    """How much of the finished work is judged again, and by whom."""

    round: RoundName
    share: Annotated[float, Field(gt=0, le=1)] = 0.2
    by: Literal["other", "same"] = "other"
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0


class Done(Strict):
    """What was done, in one sentence."""

    message: str


class Uploaded(Done):
    """What became of a table of judgements: rows added, already in the study, and left without an answer."""

    added: int
    known: int
    open: int
    tasks: int
