"""What the explorer shows, as it goes to its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightline.estimate import Estimate

Value = float | str | None


@dataclass(frozen=True)
class SystemCount:
    """A system and how many answers it gave."""

    name: str
    kind: str
    n: int


@dataclass(frozen=True)
class StudyView:
    """A study at a glance; `version` changes once it holds something else."""

    name: str
    rows: int
    prompts: int
    systems: Sequence[SystemCount]
    blind_default: bool
    rounds: Sequence[str]
    modes: Sequence[str]
    report: bool
    version: str
    verdict: str = ""
    """The field of the newest verdicts, if there are any."""


@dataclass(frozen=True)
class ValueCount:
    """A value of a category and the rows that have it; "" stands for none."""

    value: str
    n: int


@dataclass(frozen=True)
class Bin:
    """A part of a number's range and the rows in it: from `low` to below `high`, which the last includes."""

    low: float
    high: float
    n: int


@dataclass(frozen=True)
class FieldView:
    """One thing to filter and sort by; what counts are the rows that all other filters leave.

    `bins` and `values` are None where a field was not counted: nobody asked, or there are too many fields of
    its kind. `whole` if all numbers are.
    """

    id: str
    label: str
    group: str
    type: str
    direction: str
    low: float | None
    high: float | None
    n: int
    missing: int
    values: Sequence[ValueCount] | None = None
    more: int = 0
    bins: Sequence[Bin] | None = None
    whole: bool = False


@dataclass(frozen=True)
class FieldsView:
    """Every field of the study."""

    fields: Sequence[FieldView]


@dataclass(frozen=True)
class SeenView:
    """What a verdict on an answer rests on: boxes as fractions of the image, and what was read.

    `corrected` is what the owner says instead.
    """

    verdict: str
    why: str
    boxes: Sequence[Mapping[str, Any]]
    text: Sequence[str]
    corrected: str | None = None


@dataclass(frozen=True)
class RowView:
    """An answer, or an image that answers nothing."""

    id: int
    key: str
    prompt_id: int | None
    prompt: str | None
    system: str | None
    position: int | None
    image_id: int | None
    thumb: str | None
    full: str | None
    width: int | None
    height: int | None
    failure: str | None
    defect: str | None
    tags: Mapping[str, str]
    values: Mapping[str, Value]
    seen: SeenView | None = None
    samples: int | None = None
    matches: bool = True


@dataclass(frozen=True)
class PromptCells:
    """One prompt across systems: the first sample of each, None where it did not answer."""

    prompt_id: int
    prompt: str
    cells: Sequence[RowView | None]


@dataclass(frozen=True)
class PairCells:
    """One prompt answered by two systems; `difference` is that of the field sorted by, A minus B."""

    prompt_id: int
    prompt: str
    a: RowView | None
    b: RowView | None
    difference: float | None


@dataclass(frozen=True)
class Page:
    """Some of the rows that a state leaves; `systems` are the columns where prompts are shown across them."""

    total: int
    offset: int
    version: str
    rows: Sequence[RowView | PromptCells | PairCells]
    systems: Sequence[str] = ()


@dataclass(frozen=True)
class VoteView:
    """One judgement, of `n` people; `compared_with` are the other images that were shown with this one."""

    question: str
    value: float | None
    label: str
    skipped: str | None
    annotator: str
    at: str | None
    seconds: float | None
    control: bool
    excluded: str | None
    n: int
    compared_with: Sequence[int]
    side: str


@dataclass(frozen=True)
class TruthView:
    """A consensus value about a row; `counts` if it is the one that the study goes by."""

    question: str
    rule: str
    estimate: Estimate
    counts: bool
    of: str


@dataclass(frozen=True)
class ScoreView:
    """A score with what it rests on; `of` is what was measured, `current` if that is still the same.

    `source` is the file that a score from elsewhere was imported from, empty where it was computed here.
    """

    measure: str
    kind: str
    of: str
    value: float | None
    direction: str
    low: float | None
    high: float | None
    reason: str | None
    current: bool
    evidence: Any = None
    source: str = ""


@dataclass(frozen=True)
class PredictionView:
    """What a predictor expected."""

    question: str
    predictor: str
    estimate: Estimate


@dataclass(frozen=True)
class Neighbours:
    """The keys of the rows before and after, in the order of the state, and the row's place in it from 1."""

    previous: str | None
    next: str | None
    place: int | None
    total: int


@dataclass(frozen=True)
class Detail:
    """Everything about a row."""

    row: RowView
    prompt: Mapping[str, Any] | None
    image: Mapping[str, Any] | None
    answer: Mapping[str, Any] | None
    provenance: Mapping[str, Any]
    siblings: Sequence[RowView]
    votes: Sequence[VoteView]
    truths: Sequence[TruthView]
    scores: Sequence[ScoreView]
    predictions: Sequence[PredictionView]
    neighbours: Neighbours


@dataclass(frozen=True)
class SystemRows:
    """The answers of a system to a prompt."""

    system: str
    rows: Sequence[RowView]


@dataclass(frozen=True)
class PromptView:
    """A prompt and all answers to it."""

    prompt: Mapping[str, Any]
    systems: Sequence[SystemRows]


@dataclass(frozen=True)
class ChartRow:
    """A bar, dot or cell, and the address of the images behind it; `n` counts rows, the mean's prompts."""

    system: str | None
    value: str | None
    n: int
    mean: Estimate | None
    address: str


@dataclass(frozen=True)
class ChartView:
    """A field by system, or by system and category."""

    by: str
    of: str | None
    rows: Sequence[ChartRow]
    more: int = 0


@dataclass(frozen=True)
class Acted:
    """What was done, in one sentence; `address` leads to it, `command` serves it."""

    n: int
    message: str
    address: str | None = None
    command: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
