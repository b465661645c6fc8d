"""Prompts with their images, as cards: the hardest, the easiest, or some of a study without judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sightline.comparison.compare import Comparison
from sightline.comparison.values import values_by
from sightline.errors import DataError
from sightline.estimate import Estimate
from sightline.measures.rankings import relevance
from sightline.records import Prompt
from sightline.rendering import charts
from sightline.rendering.blocks import Block, Figure, Heading, Section, cards
from sightline.rendering.shown import Scale, ShownPrompt, Thumbnail
from sightline.rendering.theme import Colour
from sightline.statistics.intervals import within
from sightline.statistics.pooling import METHOD, partial_pooling
from sightline.study import reading, rollup
from sightline.study.relevance import rules
from sightline.study.study import Study

SHOWN = 4
"""Prompts shown at each end."""
PICTURES = 2
"""Images per system and prompt."""
_NO_VALUE = pl.lit(None, pl.Float64).alias("value")


def scale_of(study: Study, name: str) -> Scale:
    """The scale of a question."""
    _, asked = reading.question(study, name)
    return Scale(name, asked.direction, *rollup.ends_of(study, name))


def prompts_section(study: Study, head: Comparison, colours: Mapping[str, Colour]) -> Section:
    """The hardest and the easiest prompts with their images, and how the means of all are distributed."""
    scale = Scale(head.by, head.direction, head.low, head.high)
    values = values_by(study, head.by).values
    asked = head.by in {question.name for _, question in reading.questions(study)}
    answers = rollup.of_answers(study, head.by) if asked else _ranked_answers(study)
    judged = asked and not answers.is_empty()
    if asked and not judged:
        answers = reading.answers(study).with_columns(_NO_VALUE)
    means = values.group_by("prompt_id").agg(pl.col("value").mean()).sort("prompt_id")
    pooled = _pooled(answers if judged else values, head)
    worst = -1.0 if head.direction == "lower" else 1.0
    rows = sorted(means["prompt_id"].to_list(), key=lambda key: (worst * (pooled[key].value or 0.0), key))
    ends = {"Hardest": rows[:SHOWN], "Easiest": rows[SHOWN:][-SHOWN:][::-1]}
    texts = reading.prompt_records(study, [key for end in ends.values() for key in end])

    def shown(key: int) -> ShownPrompt:
        mine = answers.filter(pl.col("prompt_id") == key)
        return ShownPrompt(texts[key].text, pooled[key], few_tags(texts[key]), thumbnails(study, mine))

    prompts = {title: [shown(key) for key in end] for title, end in ends.items() if end}
    among = [each for end in prompts.values() for each in end]
    blocks: list[Block] = []
    for title, end in prompts.items():
        blocks += [Heading(title), cards(end, scale, colours, among)]
    every = means["value"].to_list()
    if every:
        histogram = Figure.of(
            lambda width: charts.histogram(
                every, axis=f"mean {scale.name} per prompt", domain=scale.domain, width=width
            ),
            f"The distribution of the means of {len(every):,} prompts.",
        )
        blocks += [Heading("All prompts"), histogram]
    drawn = any(each.method.startswith(METHOD) for each in pooled.values())
    lead = (
        "The value of a prompt is its mean less what systems differ by"
        f"{', partially pooled: the ends of a list are partly luck' if drawn else ''}. "
        f"The 95 % interval is over the {'images' if judged else 'systems'} of the prompt."
    )
    return Section("prompts", "Hardest and easiest prompts", lead, blocks)


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


def gallery_section(study: Study, colours: Mapping[str, Colour]) -> Section | None:
    """Some prompts with their images, for a study without judgements."""
    answers = reading.answers(study).filter(pl.col("sha256").is_not_null())
    chosen = answers["prompt_id"].unique(maintain_order=True).to_list()[: 2 * SHOWN]
    if not chosen:
        return None
    texts = reading.prompt_records(study, chosen)
    prompts = [
        ShownPrompt(
            texts[key].text,
            None,
            few_tags(texts[key]),
            thumbnails(study, answers.filter(pl.col("prompt_id") == key).drop("score")),
        )
        for key in chosen
    ]
    lead = f"{len(prompts):,} of the study's prompts, with the images that systems returned."
    return Section("gallery", "A look at the images", lead, [cards(prompts, None, colours)])


def thumbnails(study: Study, answers: pl.DataFrame, each: int = PICTURES) -> list[Thumbnail]:
    """The first images of every system among these answers."""
    by_system = answers.sort("system_id", "position").group_by(["system_id", "system"], maintain_order=True)
    return [
        _thumbnail(study, str(system), row)
        for (_, system), rows in by_system
        for row in rows.head(each).iter_rows(named=True)
    ]


def _thumbnail(study: Study, system: str, row: Mapping[str, object]) -> Thumbnail:
    value = row.get("value")
    estimate = Estimate(float(str(value))) if value is not None else None
    sha256 = row.get("sha256")
    if sha256 is None:
        return Thumbnail(None, system, estimate, "the file is not here")
    try:
        return Thumbnail(study.files.thumbnail(str(sha256)), system, estimate)
    except DataError as error:
        return Thumbnail(None, system, estimate, error.what)


def _ranked_answers(study: Study) -> pl.DataFrame:
    """The first answers of search engines with what is known of their relevance."""
    first = reading.answers(study, "retriever").filter(pl.col("image_id").is_not_null())
    first = first.sort("system_id", "prompt_id", "position").group_by("system_id", "prompt_id").head(PICTURES)
    try:
        known = relevance(study, rules(study))
    except DataError:  # engines may be ranked by a measure that needs no relevance
        return first.with_columns(_NO_VALUE)
    return first.drop("score").join(known, on=["prompt_id", "image_id"], how="left")


def few_tags(record: Prompt) -> Sequence[tuple[str, str]]:
    """Up to three short tags of a prompt."""
    return [(name, value) for name, value in sorted(record.tags.items()) if len(value) <= 40][:3]
