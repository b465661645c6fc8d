"""How many prompts, images and raters a study needs, from the votes of a pilot."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError
from sightline.statistics.components import Components, Design, components
from sightline.statistics.crossed import Panel
from sightline.study import reading, rollup
from sightline.study.groups import families_of
from sightline.study.study import Study

IMAGES = (1, 2, 3, 4, 6, 8)
PER_IMAGE = (2, 3, 4, 5, 7, 10)
"""Judgements per image: from two on, since one alone does not show how far raters differ."""
RATERS = (3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 100, 200)
MOST_PROMPTS = 100_000
MOST_SHOWN = 6
NEARLY = 1.5
"""The fewest raters are taken whose work is at most so many times the least."""
FEW_PROMPTS, FEW_RATERS = 20, 5
BREAK = 5.0
"""A judgement that took more than so many times the median counts as that: somebody had a break."""


@dataclass(frozen=True)
class Goal:
    """What a design is to reach: an interval no wider than `width`, a `difference` found with 80 % power."""

    width: float | None = None
    difference: float | None = None

    @property
    def said(self) -> str:
        parts = []
        if self.width is not None:
            parts.append(f"intervals of means no wider than {self.width:g}")
        if self.difference is not None:
            parts.append(f"80 % power for a difference of {self.difference:g}")
        return " and ".join(parts)


@dataclass(frozen=True)
class Pilot:
    """What the votes on a question show: where their variance comes from and how long one took."""

    question: str
    parts: Components
    votes: int
    systems: int
    prompts: int
    raters: int
    per_session: int | None
    seconds: float | None

    @property
    def notes(self) -> list[str]:
        notes = []
        if self.parts.images is None:
            notes.append("Every prompt has one image per system here, so designs with more are not planned.")
        if self.parts.raters is None:
            notes.append(
                "The raters are not known, or nobody judged twice: how far they differ is not known, and "
                "the designs say nothing about other raters."
            )
        if self.prompts < FEW_PROMPTS or 0 < self.raters < FEW_RATERS:
            notes.append(
                f"{self.prompts} prompts and {self.raters} raters are a small pilot: the figures are rough."
            )
        return notes


@dataclass(frozen=True)
class PlannedDesign:
    """A design that reaches the goal, what it takes, and what it gives."""

    prompts: int
    images: int
    raters: int
    per_image: int
    judgements: int
    hours: float | None
    cost: float | None
    width: float
    detectable: float | None


def pilot_of(study: Study, question: str | None) -> Pilot:
    """The votes on a question (by default the first with any) as a pilot."""
    asked = [each.name for _, each in reading.questions(study)] if question is None else [question]
    votes = pl.DataFrame()
    for name in asked:
        votes = rollup.votes_by_system(study, name)
        if not votes.is_empty():
            break
    if votes.is_empty():
        what = f"{question} has no votes" if question else "there are no votes"
        raise DataError(
            f"{what} on single images of systems to plan from",
            where=study.name,
            remedy="Let a few people judge a pilot: 20 prompts, three raters on every image. "
            "sightline annotate STUDY",
        )
    named = votes["annotator"].min() != -1 and votes["n"].max() == 1
    if named and votes["annotator"].n_unique() < 2:
        raise DataError(
            "one rater judged the pilot: how far raters differ cannot be seen",
            where=study.name,
            remedy="Let at least two, better five or more, people judge the same images.",
        )
    if votes["item"].n_unique() < 2:
        raise DataError(
            "one image was judged: how far prompts and images differ cannot be seen",
            where=study.name,
            remedy="Judge the images of some 20 prompts.",
        )
    panel, session = _panel(study, votes, named)
    try:
        parts = components(panel, session)
    except ValueError as error:
        raise DataError(
            str(error),
            where=study.name,
            remedy="A pilot needs two or more prompts, and images that two or more raters judged.",
        ) from None
    if parts.total == 0:
        raise DataError(
            "all votes of the pilot are equal: there is no variance to plan with",
            where=study.name,
            remedy="Judge more prompts, or check the question's scale.",
        )
    sittings = votes.group_by("annotator", "session").len()["len"] if session is not None else None
    return Pilot(
        name,
        parts,
        int(votes["n"].sum()),
        panel.shape[0],
        panel.shape[1],
        panel.shape[2] if named else 0,
        None if sittings is None else max(1, round(float(np.mean(sittings.to_numpy())))),
        _seconds(votes),
    )


def _panel(study: Study, votes: pl.DataFrame, named: bool) -> tuple[Panel, np.ndarray | None]:
    """The votes as arrays, and their sessions where a rater had several; counted votes one by one."""
    if not named:
        votes = votes.select(pl.all().repeat_by("n").explode()) if votes["n"].max() != 1 else votes
        votes = votes.with_row_index("row").with_columns(annotator=pl.col("row").cast(pl.Int64)).drop("row")
    prompts = votes["prompt_id"].unique().sort().to_list()
    unit = dict(zip(prompts, families_of(study, prompts).tolist(), strict=True))
    dense = {
        name: votes[name].rank("dense").cast(pl.Int64).to_numpy() - 1
        for name in ("system", "item", "annotator", "session")
    }
    panel = Panel(
        votes["prompt_id"].replace_strict(unit, return_dtype=pl.Int64).to_numpy(),
        dense["system"],
        dense["item"],
        dense["annotator"],
        votes["value"].to_numpy(),
    )
    several = named and (votes.group_by("annotator").agg(pl.col("session").n_unique())["session"] > 1).any()
    return panel, dense["session"] if several else None


def _seconds(votes: pl.DataFrame) -> float | None:
    took = votes.filter(pl.col("ms").is_not_nan() & (pl.col("ms") > 0))["ms"].to_numpy()
    if not took.size:
        return None
    return float(np.minimum(took, BREAK * np.median(took)).mean()) / 1000


def designs_for(
    pilot: Pilot,
    goal: Goal,
    *,
    raters: int | None = None,
    prompts: int | None = None,
    seconds: float | None = None,
    price: float | None = None,
) -> list[PlannedDesign]:
    """Designs that reach the goal, the one to take first; none where no design does.

    With as many raters as given; else as the pilot had, unless more of them save a third of the work: then
    with the fewest who do. The cheapest designs with other numbers of raters follow, the cheapest of all
    among them.
    """
    if goal.difference is not None and pilot.systems < 2:
        raise DataError(
            "the pilot has one system: how far prompts and raters differ between systems cannot be seen",
            remedy="Judge two systems in the pilot, or ask for --width instead.",
        )
    most = prompts or MOST_PROMPTS
    counts = [raters] if raters is not None else sorted({*RATERS, max(3, pilot.raters)})
    # Where raters cannot be told apart their number changes nothing.
    if pilot.parts.raters is None and raters is None:
        counts = [max(PER_IMAGE)]
    found: dict[int, list[PlannedDesign]] = {}
    for count in counts:
        made = [
            _cheapest(pilot, goal, Design(most, images, count, per_image), seconds, price)
            for images in (IMAGES if pilot.parts.images is not None else IMAGES[:1])
            for per_image in PER_IMAGE
            if per_image <= count or pilot.parts.raters is None
        ]
        known = sorted((each for each in made if each is not None), key=lambda each: each.judgements)
        if known:
            found[count] = known
    if not found:
        return []
    least = min(each[0].judgements for each in found.values())
    enough = [count for count, each in found.items() if each[0].judgements <= NEARLY * least]
    usual = max(3, pilot.raters)
    chosen = usual if usual in enough else min(enough)
    fewer = [count for count in found if count < chosen]
    more, last = [], found[chosen][0].judgements
    for count in (count for count in found if count > chosen):
        if found[count][0].judgements < 0.95 * last:
            more.append(count)
            last = found[count][0].judgements
    cheapest = min(found, key=lambda count: (found[count][0].judgements, count))
    others = sorted({*fewer[-2:], *({usual} & {*found}), *more[:2], cheapest} - {chosen})
    return [*found[chosen][:MOST_SHOWN], *(found[count][0] for count in others)]


def _cheapest(
    pilot: Pilot, goal: Goal, design: Design, seconds: float | None, price: float | None
) -> PlannedDesign | None:
    """The design with the fewest prompts that reaches the goal, among those up to the design's."""
    per_prompt = pilot.systems * design.images * design.per_image
    sittings = 1
    if pilot.per_session is not None:
        # As many sessions as the fewest prompts would make: more sessions only help.
        sittings = max(1, ceil(2 * per_prompt / design.raters / pilot.per_session))

    def reached(prompts: int) -> tuple[float, float | None]:
        sized = design._replace(prompts=prompts)
        apart = pilot.parts.detectable(sized, pilot.systems) if pilot.systems > 1 else None
        return pilot.parts.width(sized, sittings), apart

    def short(prompts: int) -> bool:
        width, apart = reached(prompts)
        wide = goal.width is not None and width > goal.width
        return wide or (goal.difference is not None and apart is not None and apart > goal.difference)

    if short(design.prompts):
        return None
    # More prompts never make it worse.
    asked = range(2, design.prompts + 1)[
        bisect_left(range(2, design.prompts), True, key=lambda n: not short(n))
    ]
    width, apart = reached(asked)
    votes = asked * per_prompt
    hours = None if seconds is None else votes * seconds / 3600
    return PlannedDesign(
        asked,
        design.images,
        design.raters,
        design.per_image,
        votes,
        hours,
        None if hours is None or price is None else hours * price,
        width,
        apart,
    )


def floor_of(pilot: Pilot, goal: Goal, raters: int, prompts: int | None) -> float:
    """The best that so many raters can reach of the goal's first part, however many prompts."""
    design = Design(
        prompts or MOST_PROMPTS,
        1 if pilot.parts.images is None else IMAGES[-1],
        raters,
        max(2, min(10, raters)),
    )
    if goal.width is not None:
        return pilot.parts.width(design)
    return pilot.parts.detectable(design, pilot.systems)


def check_number(name: str, value: float | None) -> None:
    """Refuse a number that means nothing."""
    if value is not None and not (np.isfinite(value) and value > 0):
        raise UsageError(f"--{name} is {value:g}", remedy="Give a number above 0.")
