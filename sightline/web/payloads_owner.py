"""What the owner's page sends and receives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sightline.web.payloads import Label, Strict

Name = Annotated[str, Field(min_length=1, max_length=200)]
RoundName = Annotated[str, Field(min_length=1, max_length=64)]


class Figure(Strict):
    """An estimate with its 95 % limits and what it rests on, or the reason why there is none."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class ProgressShown(Strict):
    """Pages and judgements of work, wanted and in, and the end as the last hour's pace predicts it."""

    items: int
    wanted: int
    done: int
    share: float
    judgements_wanted: int
    judgements_in: int
    handed: int
    open: int
    skipped: int
    lapsed: int
    again: int
    again_done: int
    rate: Figure
    expected: str | None
    earliest: str | None
    latest: str | None


class RiskShown(Strict):
    """A screening rule that would leave somebody out."""

    rule: str
    question: str
    reason: str


class AgreementShown(Strict):
    """The agreement on one question."""

    question: str
    figure: Figure


class PersonShown(Strict):
    """One annotator; `link` is until when a link lets them in.

    `key` is the name by which actions know them, with the panel where they were not invited here.
    """

    key: str
    name: str
    invitable: bool
    role: str
    language: str | None
    link: str | None
    done: int
    skipped: int
    open: int
    judgements: int
    seconds: float | None
    agreement: list[AgreementShown]
    passed: int
    failed: int
    reference: Figure
    risks: list[RiskShown]
    left_out: str | None


class TimesShown(Strict):
    """Seconds a page takes: the median, and the middle half."""

    median: float | None
    low: float | None
    high: float | None
    n: int


class CostShown(Strict):
    """Money as decimal text, so that no cent is lost on the way."""

    price: str
    fee: str
    pages: int
    so_far: str
    pages_at_end: int
    at_end: str


class VoteShown(Strict):
    """Who said what."""

    annotator: str
    value: float


class DisputeShown(Strict):
    """Something people disagree on, its images, and what was decided."""

    item: int
    prompt: str | None
    images: list[str]
    votes: list[VoteShown]
    spread: float
    decided: float | None


class DisputesOf(Strict):
    """The disputes of one question, with the answers it has; a slider where there are no labels."""

    question: str
    wording: str
    labels: list[Label]
    low: float | None
    high: float | None
    step: float | None
    disputes: list[DisputeShown]


class CheckedShown(Strict):
    """Work judged again against the first judgements: agreement, and the share of equal answers."""

    by: str
    question: str
    agreement: Figure
    same: Figure


class ChartShown(Strict):
    """A chart that there is something to draw for; its address takes `theme` and `width`."""

    name: str
    question: str
    title: str
    about: str


class TableShown(Strict):
    """A table of texts."""

    caption: str
    headings: list[str]
    rows: list[list[str]]


class Overview(Strict):
    """Everything the owner's page shows; `version` changes when there is something new."""

    study: str
    round: str
    rounds: list[str]
    title: str
    mode: str
    state: str
    at: str
    version: str
    languages: list[str]
    progress: ProgressShown
    people: list[PersonShown]
    agreement: list[AgreementShown]
    times: TimesShown
    cost: CostShown | None
    disputes: list[DisputesOf]
    checked: list[CheckedShown]
    charts: list[ChartShown]
    troubles: list[str]


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
    """Whose votes do not count any more, and why."""

    name: Name
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class Restore(Strict):
    """Whose votes count again."""

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


class TakenInShown(Strict):
    """What became of a table of judgements."""

    added: int
    known: int
    open: int
    message: str
