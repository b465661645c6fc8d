"""Prompts with their images, as cards: the hardest, the easiest, or some of a study without judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from sightline.comparison.compare import Comparison
from sightline.comparison.values import values_by
from sightline.estimate import Estimate
from sightline.records import Prompt
from sightline.rendering import charts
from sightline.rendering.blocks import Block, Figure, Heading, Section, cards, gallery
from sightline.rendering.shown import Scale, ShownPrompt
from sightline.report import shown_answers
from sightline.report.album import SIDES, Album
from sightline.report.making import Making
from sightline.report.shown_answers import ShownAnswers
from sightline.statistics.intervals import within
from sightline.statistics.pooling import METHOD, partial_pooling
from sightline.study import reading, rollup
from sightline.study.study import Study

SHOWN = 4
"""Prompts shown at each end."""
PICTURES = 2
"""Images per system and prompt."""
EACH = (shown_answers.MOST, 4, 2, 1)
"""Images of a system and prompt among all images, the first number that fits."""
SMALL = 256
"""Pixels of a side below which fewer images of a system are shown instead."""
FIRST_PART, REST = 0.25, 0.92
"""The part of the room for pictures that the first prompts take, and that all images take of what is left."""


def scale_of(study: Study, name: str) -> Scale:
    """The scale of a question."""
    _, asked = reading.question(study, name)
    return Scale(name, asked.direction, *rollup.ends_of(study, name))


def prompts_section(making: Making) -> list[Section]:
    """The hardest and the easiest prompts with their images, and how the means of all are distributed."""
    if making.head is None:
        return []
    ranked = _by_difficulty(making, making.head)
    rows, head = ranked.order, making.head
    ends = {"Hardest": rows[:SHOWN], "Easiest": rows[SHOWN:][-SHOWN:][::-1]}
    chosen = [key for end in ends.values() for key in end]
    texts = reading.prompt_records(making.study, chosen)
    side = ranked.answers.side(making.album, chosen, PICTURES, FIRST_PART) or SIDES[-1]
    answers = ranked.answers.first(chosen, PICTURES)

    def shown(key: int) -> ShownPrompt:
        pictures = making.album.thumbnails(answers[key], PICTURES, side) if key in answers else []
        return ShownPrompt(texts[key].text, ranked.pooled[key], few_tags(texts[key]), pictures)

    prompts = {title: [shown(key) for key in end] for title, end in ends.items() if end}
    among = [each for end in prompts.values() for each in end]
    blocks: list[Block] = []
    for title, end in prompts.items():
        blocks += [Heading(title), cards(end, ranked.scale, making.colours, among)]
    if ranked.means:
        histogram = Figure.of(
            lambda width: charts.histogram(
                ranked.means, axis=f"mean {head.by} per prompt", domain=ranked.scale.domain, width=width
            ),
            f"The distribution of the means of {len(ranked.means):,} prompts.",
        )
        blocks += [Heading("All prompts"), histogram]
    drawn = any(each.method.startswith(METHOD) for each in ranked.pooled.values())
    lead = (
        "The value of a prompt is its mean less what systems differ by"
        f"{', partially pooled: the ends of a list are partly luck' if drawn else ''}. "
        f"The 95 % interval is over the {'images' if ranked.judged else 'systems'} of the prompt."
    )
    return [Section("prompts", "Hardest and easiest prompts", lead, blocks)]


class Ranked(NamedTuple):
    """Prompts from hard to easy: their pooled values, plain means, and the answers that show them."""

    order: list[int]
    pooled: dict[int, Estimate]
    means: list[float]
    answers: ShownAnswers
    scale: Scale
    judged: bool


def _by_difficulty(making: Making, head: Comparison) -> Ranked:
    return reading.once(making.study, ("by difficulty", head.by), lambda: _ranked(making, head))


def _ranked(making: Making, head: Comparison) -> Ranked:
    study = making.study
    values = values_by(study, head.by).values
    asked = head.by in {question.name for question in making.asked}
    answers = shown_answers.judged(study, head.by) if asked else shown_answers.ranked(study)
    judged = asked and not answers.counts.is_empty()
    if asked and not judged:
        answers = shown_answers.unjudged(study)
    means = values.group_by("prompt_id").agg(pl.col("value").mean()).sort("prompt_id")
    pooled = _pooled(answers.values if judged else values, head)
    worst = -1.0 if head.direction == "lower" else 1.0
    known = [key for key in means["prompt_id"].to_list() if key in pooled]
    # Equal means may differ in their last bits.
    order = sorted(known, key=lambda key: (round(worst * (pooled[key].value or 0.0), 12), key))
    scale = Scale(head.by, head.direction, head.low, head.high)
    return Ranked(order, pooled, means["value"].to_list(), answers, scale, judged)


def images_section(making: Making) -> list[Section]:
    """Every prompt with its images, folded: from hard to easy where that is known, else as imported."""
    study, head = making.study, making.head
    ranked = None if head is None else _by_difficulty(making, head)
    answers = shown_answers.unjudged(study) if ranked is None else ranked.answers
    with_file = set(answers.counts.filter(pl.col("files") > 0)["prompt_id"].to_list())
    given = answers.counts.sort("system_id", "prompt_id")["prompt_id"].unique(maintain_order=True)
    order = given.to_list() if ranked is None else ranked.order
    order = [key for key in order if key in with_file]
    if not order:
        return []
    chosen, each, side = _that_fit(making.album, answers, order)
    if not chosen:
        return []
    texts = reading.prompt_records(study, chosen)
    by_prompt = answers.first(chosen, each)
    prompts = [
        ShownPrompt(
            texts[key].text,
            None if ranked is None else ranked.pooled[key],
            few_tags(texts[key]),
            making.album.thumbnails(by_prompt[key], each, side),
        )
        for key in chosen
    ]
    of = int(answers.counts["files"].sum())
    shown = sum(picture.data is not None for prompt in prompts for picture in prompt.thumbnails)
    what = f"{shown:,} of {of:,} images" if shown < of else f"All {of:,} images"
    which = f"{len(chosen):,} of {len(order):,} prompts" if len(chosen) < len(order) else "every prompt"
    how = "from the hardest to the easiest" if ranked is not None else "in the order of the study"
    lead = f"{what}, for {which}, {how}. Press a prompt to see its images, and an image to see it larger."
    scale, colours = None if ranked is None else ranked.scale, making.colours
    blocks: list[Block] = []
    if ranked is None:
        blocks.append(cards(prompts[: 2 * SHOWN], None, colours))
        prompts = prompts[2 * SHOWN :]
    if prompts:
        blocks.append(gallery(prompts, scale, colours, "Prompts with their images"))
    return [Section("images", "The images", lead, blocks)]


def _that_fit(album: Album, answers: ShownAnswers, order: Sequence[int]) -> tuple[list[int], int, int]:
    """Prompts, images of each system, and the side in pixels, so that as much as possible fits the page.

    Fewer images of a system come before fewer prompts, and prompts that are left out are so evenly.
    """
    for each in EACH:
        side = answers.side(album, order, each, REST)
        if side is not None and (side >= SMALL or each == 1):
            return list(order), each, side
    for part in (2, 4, 8, 16, 32, 64, 128):
        some = list(order)[::part]
        side = answers.side(album, some, 1, REST)
        if side is not None:
            return some, 1, side
    return [], 1, SIDES[-1]


def _pooled(values: pl.DataFrame, head: Comparison) -> dict[int, Estimate]:
    """The mean of each prompt, systems allowed for, drawn to the mean of all."""
    known = values.filter(pl.col("value").is_not_null())
    centre = float(known["value"].mean() or 0.0)  # type: ignore[arg-type]
    own = known.with_columns(value=pl.col("value") - pl.col("value").mean().over("system_id") + centre)
    groups = {
        int(str(prompt)): part["value"].to_numpy()
        for (prompt,), part in own.sort("prompt_id").group_by(["prompt_id"], maintain_order=True)
    }
    estimates = partial_pooling(list(groups.values()))
    return {
        prompt: within(estimate, head.low, head.high)
        for prompt, estimate in zip(groups, estimates, strict=True)
    }


def few_tags(record: Prompt) -> Sequence[tuple[str, str]]:
    """Up to three short tags of a prompt."""
    return [(name, value) for name, value in sorted(record.tags.items()) if len(value) <= 40][:3]
