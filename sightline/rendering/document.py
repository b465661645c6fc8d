"""What a report says, as plain frozen data: the report stage fills it in, `html.render` sets it.

Every section is optional. Where one is None the report says what is missing and which command comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sightline.estimate import Direction, Estimate
from sightline.rendering.blocks import Block
from sightline.rendering.charts import Spec
from sightline.rendering.shown import Finding, Scale, ShownPrompt
from sightline.rendering.tables import Table


@dataclass(frozen=True)
class Fact:
    """One thing the study holds: "24 prompts"; the note says more in a few words."""

    name: str
    count: int
    note: str = ""


@dataclass(frozen=True)
class Share:
    """A share or other side figure of one system, with its own direction."""

    name: str
    value: Estimate
    direction: Direction = "none"
    format: str = "%"


@dataclass(frozen=True)
class RankedSystem:
    """One system of a ranking; the rank range holds every rank that the uncertainty allows."""

    name: str
    mean: Estimate
    rank_low: int | None = None
    rank_high: int | None = None
    shares: Sequence[Share] = ()


@dataclass(frozen=True)
class Difference:
    """Two systems compared: first minus second, and in words what that means."""

    first: str
    second: str
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    verdict: str


@dataclass(frozen=True)
class Ranking:
    """The systems on one question, best first."""

    scale: Scale
    systems: Sequence[RankedSystem]
    differences: Sequence[Difference] = ()
    summary: str = ""
    method: str = ""


@dataclass(frozen=True)
class BreakdownCell:
    """One system's mean over the prompts of one group."""

    group: str
    system: str
    mean: Estimate


@dataclass(frozen=True)
class Breakdown:
    """The means split by the values of one tag."""

    tag: str
    scale: Scale
    cells: Sequence[BreakdownCell]
    summary: str = ""


@dataclass(frozen=True)
class Prompts:
    """The hardest and the easiest prompts, and how the means of all prompts are spread."""

    scale: Scale
    hardest: Sequence[ShownPrompt] = ()
    easiest: Sequence[ShownPrompt] = ()
    all_means: Sequence[float] = ()
    summary: str = ""


@dataclass(frozen=True)
class SystemVariability:
    """How alike one system's images of one prompt are, over all prompts."""

    system: str
    score: Estimate


@dataclass(frozen=True)
class Variability:
    """How alike the images of one prompt are; `scale.direction` is usually "none": neither end is better.

    `pictures` are blocks made ready elsewhere, such as maps and overlays of the images themselves.
    """

    scale: Scale
    systems: Sequence[SystemVariability] = ()
    most_varied: Sequence[ShownPrompt] = ()
    most_uniform: Sequence[ShownPrompt] = ()
    summary: str = ""
    pictures: Sequence[Block] = ()


@dataclass(frozen=True)
class MeasureTrust:
    """How well an automatic measure follows people's judgement on one question."""

    measure: str
    direction: Direction
    question: str
    correlation: Estimate


@dataclass(frozen=True)
class Trust:
    """The measures against people; the correlation's name is said, since several are in use."""

    measures: Sequence[MeasureTrust]
    coefficient: str = "Spearman's rank correlation"
    summary: str = ""


@dataclass(frozen=True)
class PredictorResult:
    """How well a predictor does on prompts it has not seen.

    Where there are `figures`, they are shown in place of the correlation.
    """

    name: str
    correlation: Estimate
    error: Estimate | None = None
    figures: Sequence[Share] = ()


@dataclass(frozen=True)
class Prediction:
    """How predictable the truth of a prompt is, and the prompts expected to be hard.

    `points` are (predicted, true) of the predictor named in `shown`, each predicted while it was held out.
    `pictures` are blocks made ready elsewhere, such as maps of the prompts.
    """

    target: Scale
    predictors: Sequence[PredictorResult]
    shown: str = ""
    points: Sequence[tuple[float, float]] = ()
    next_hardest: Sequence[ShownPrompt] = ()
    validation: str = ""
    summary: str = ""
    pictures: Sequence[Block] = ()


@dataclass(frozen=True)
class Annotator:
    """One judge; `excluded` says why the judgements do not count, or is empty."""

    name: str
    judgements: int
    agreement: Estimate
    excluded: str = ""


@dataclass(frozen=True)
class Agreement:
    """How far the judges agree on one question, and by which coefficient."""

    question: str
    coefficient: str
    value: Estimate


@dataclass(frozen=True)
class Judges:
    """Who judged, how far they agree, and who was left out; `pictures` are blocks made ready elsewhere."""

    annotators: Sequence[Annotator] = ()
    agreement: Sequence[Agreement] = ()
    summary: str = ""
    pictures: Sequence[Block] = ()


@dataclass(frozen=True)
class Checks:
    """What was checked and what came of it; no finding among many items is a result too."""

    checked: str
    findings: Sequence[Finding] = ()


@dataclass(frozen=True)
class Gap:
    """What could not be computed, how often, and why."""

    what: str
    reason: str
    count: int
    remedy: str = ""


@dataclass(frozen=True)
class NextStep:
    """What would make the study say more, and the command that does it."""

    what: str
    command: str


@dataclass(frozen=True)
class Chart:
    """A chart of an extra section; `narrow` is the same chart drawn for a phone."""

    spec: Spec
    narrow: Spec | None = None
    caption: str = ""


@dataclass(frozen=True)
class Extra:
    """A section that this document has no word for: text, charts, tables."""

    title: str
    text: str = ""
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Provenance:
    """How the report was made: enough to make it again."""

    commands: Sequence[str] = ()
    versions: Sequence[tuple[str, str]] = ()
    seeds: Sequence[tuple[str, int]] = ()
    rules: Sequence[tuple[str, str]] = ()
    measures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Report:
    """The whole report.

    `study` is how the study is named on the command line. The first ranking is the headline. `gallery` is for
    a study without truth: some prompts with their pictures. Where `next_steps` is empty, the sections that
    are absent say which command brings them.
    """

    title: str
    answer: str
    made_at: datetime
    study: str = "STUDY"
    facts: Sequence[Fact] = ()
    rankings: Sequence[Ranking] = ()
    breakdowns: Sequence[Breakdown] = ()
    prompts: Prompts | None = None
    gallery: Sequence[ShownPrompt] = ()
    variability: Variability | None = None
    trust: Trust | None = None
    prediction: Prediction | None = None
    judges: Judges | None = None
    checks: Checks | None = None
    extras: Sequence[Extra] = ()
    gaps: Sequence[Gap] = ()
    next_steps: Sequence[NextStep] = ()
    provenance: Provenance | None = None
