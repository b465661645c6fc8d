"""Judgements that are missing, out of range, in conflict or without items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import (
    FEW,
    Material,
    answers_by,
    blocks,
    few,
    gathered,
    item_examples,
    outside,
    prompt_examples,
)
from sightline.extension import check
from sightline.records import Finding

if TYPE_CHECKING:
    import polars as pl


@check(severity="warning", source="Achterberg et al. 2023 (GIMBRR)", licence="Apache-2.0")
def judgements_in_conflict(material: Material) -> Iterator[Finding]:
    """Items judged more than once by the same annotator, or listed more than once where nobody is named.

    A changed mind is a revision and no conflict: the latest counts. A second repetition is either a repeat on
    purpose or a row that stands twice; where its value differs, the two are in conflict, and where it does
    not, the vote counts twice. The first is a warning, the second a note. A pair with its sides swapped is
    the same item.
    """
    import polars as pl

    votes = _in_one_order(material)
    found = [
        gathered(votes.filter(some))
        .group_by("question", "annotator", "item_id")
        .agg(
            pl.col("place").first(),
            pl.struct("repetition", "swapped").n_unique().alias("times"),
            pl.col("value").n_unique().alias("values"),
            pl.col("prompt_id").first(),
            pl.col("system_id").first(),
            pl.col("image_id").first(),
        )
        .filter(pl.col("times") > 1)
        for some in blocks(votes)
    ]
    if not found:
        return
    asked = pl.concat(found).sort("place")
    for (question,), rows in asked.group_by(["question"], maintain_order=True):
        conflict = rows.filter(pl.col("values") > 1)
        if not conflict.is_empty():
            yield Finding(
                f"items whose judgements of {question} by one hand contradict each other",
                conflict.height,
                item_examples(material, conflict),
                "Find out which holds and take the other out, or have a third person decide.",
            )
        yield Finding(
            f"items judged more than once on {question} by one hand ({conflict.height} in conflict)",
            rows.height,
            item_examples(material, rows),
            "If they are repeats on purpose all is well; if rows stand twice, take the copies out.",
            "note",
        )


def _in_one_order(material: Material) -> pl.LazyFrame:
    """Judgements, choices between two sides as if the smaller key had come first; `swapped` where not."""
    import polars as pl

    votes = material.scan("judgements").with_row_index("place")
    bounds = [q.name for q in material.questions if q.low in (None, 0.0) and q.high in (None, 1.0)]
    chooses = pl.col("value").is_in([0.0, 0.5, 1.0]).all()
    choices = gathered(votes.group_by("question").agg(chooses)).filter("value")["question"].to_list()
    sided = ((pl.col("image_b") > 0) | (pl.col("system_b") > 0)) & (pl.col("image_c") == 0)
    choice = pl.col("question").is_in([name for name in bounds if name in choices])
    pair = sided & choice & pl.col("annotator").is_not_null()
    later = pl.when(pl.col("system_b") > 0).then(pl.col("system_id") > pl.col("system_b"))
    swapped = pair & later.otherwise(pl.col("image_id") > pl.col("image_b"))
    sides = pl.concat_str(
        [
            pl.col("prompt_id"),
            pl.max_horizontal("system_id", "system_b"), pl.min_horizontal("system_id", "system_b"),
            pl.max_horizontal("image_id", "image_b"), pl.min_horizontal("image_id", "image_b"),
        ],
        separator=" ",
    )  # fmt: skip
    return votes.with_columns(swapped=swapped).with_columns(
        item_id=pl.when(pair).then(sides).otherwise(pl.col("item_id").cast(pl.String)),
        value=pl.when("swapped").then(1 - pl.col("value")).otherwise("value"),
    )


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def judgements_missing(material: Material, *, share: float = 0.5) -> Iterator[Finding]:
    """Prompts judged for other systems of the suite and not for one that was judged on most of them.

    A system judged on less than `share` of the prompts was judged on a sample, which is no fault, and neither
    is a pair that was not compared. A judgement of a prompt with an image counts for the system that gave the
    image.
    """
    import polars as pl

    given = _judged(material)
    asked = given.select("question", "suite", "prompt_id").unique()
    systems = given.group_by("question", "suite", "system_id").agg(pl.len().alias("judged"))
    whole = asked.group_by("question", "suite").agg(pl.len().alias("all"))
    most = systems.join(whole, on=["question", "suite"]).filter(pl.col("judged") >= share * pl.col("all"))
    lacking = (
        most.select("question", "suite", "system_id")
        .join(asked, on=["question", "suite"])
        .join(given, on=["question", "system_id", "prompt_id"], how="anti")
        .join(material.systems.select("system_id", "system"), on="system_id")
        .sort("question", "system", "prompt_id")
    )
    for (question, system), rows in lacking.group_by(["question", "system"], maintain_order=True):
        yield Finding(
            f"prompts without a judgement of {question} for {system} that others were judged on",
            rows.height,
            prompt_examples(material, rows["prompt_id"]),
            "Judge them as well, or compare the systems on the prompts that all were judged on.",
        )


def _judged(material: Material) -> pl.DataFrame:
    """Each question, system and prompt with at least one judgement."""
    import polars as pl

    alone = (pl.col("image_b") == 0) & (pl.col("system_b") == 0)
    votes = material.scan("judgements").filter((pl.col("prompt_id") > 0) & alone)
    votes = votes.select("question", "system_id", "prompt_id", "image_id")
    columns = ["question", "system_id", "prompt_id"]
    found = [gathered(votes.filter(pl.col("system_id") > 0).select(columns).unique())]
    gave = answers_by(material, "generator").select("system_id", "prompt_id", "image_id")
    of_images = votes.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0)).drop("system_id")
    for some in blocks(of_images, gave):
        judged = gathered(of_images.filter(some)).unique()
        owned = judged.join(gathered(gave.filter(some)), on=["prompt_id", "image_id"])
        found.append(owned.select(columns).unique())
    suites = material.prompts.select("prompt_id", "suite")
    return pl.concat(found).unique().join(suites, on="prompt_id")


def _sides(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, those of pairs once more with the second side in place of the first."""
    import polars as pl

    second = rows.filter((pl.col("image_b") > 0) | (pl.col("system_b") > 0)).with_columns(
        pl.when(pl.col("system_b") > 0)
        .then(pl.col("system_b"))
        .otherwise(pl.col("system_id"))
        .alias("system_id"),
        pl.col("image_b").alias("image_id"),
        side=pl.lit(1),
    )
    return pl.concat([rows, second])


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def judgements_one_value(material: Material, *, least: int = 10) -> Iterator[Finding]:
    """Annotators who gave one value throughout a question, over at least `least` judgements.

    Where everybody else said the same as well, the question and not the annotator is at fault; both are
    reported, since neither helps to tell systems apart.
    """
    import polars as pl

    votes = material.scan("judgements").with_row_index("place").filter(pl.col("annotator").is_not_null())
    constant = (
        gathered(
            votes.group_by("question", "annotator").agg(
                pl.col("place").min(),
                pl.len().alias("votes"),
                pl.col("value").min(),
                pl.col("value").max().alias("most"),
            )
        )
        .filter((pl.col("value") == pl.col("most")) & (pl.col("votes") >= least))
        .sort("place")
    )
    for (question,), rows in constant.group_by(["question"], maintain_order=True):
        examples = (
            f"{who}: {value:g}, {votes} times"
            for who, votes, value in rows.select("annotator", "votes", "value").iter_rows()
        )
        yield Finding(
            f"annotators who answered {question} with one value throughout",
            rows.height,
            few(examples),
            'Exclude them with the screening rule "one_value" in study.toml, or look at what they saw.',
        )


@check(severity="error", source="Sightline", licence="Apache-2.0")
def judgements_out_of_range(material: Material) -> Iterator[Finding]:
    """Judgements below the low or above the high end of their question's scale, or between its steps.

    Steps count on nominal and ordinal scales alone: a slider's step is a matter of the page.
    """
    wrong = outside(material, material.scan("judgements"))
    for (question, low, high), rows in wrong.group_by(
        ["question", "scale_low", "scale_high"], maintain_order=True
    ):
        yield Finding(
            f"judgements of {question} outside {_ends(low, high)}",
            int(rows["n"].sum()),
            few(_by_whom(rows)),
            "Correct the scale of the question in study.toml, or the values and import them again.",
        )
    yield from _between_steps(material)


@check(severity="warning", source="Sightline; Tukey 1977 for fences", licence="Apache-2.0")
def scales_undeclared(material: Material, *, far: float = 10, share: float = 0.01) -> Iterator[Finding]:
    """Questions whose scale has no ends, and values far from all others on them.

    Without ends nothing is off the scale, and means have no range to keep to. A value is far if it lies more
    than `far` times the interquartile range, or the smallest step between values if that is more, from the
    median, and no more than `share` of the judgements do. Choices between two sides need no scale.
    """
    import polars as pl

    sided = (pl.col("image_b") > 0) | (pl.col("system_b") > 0)
    for question in material.questions:
        if question.low is not None and question.high is not None:
            continue
        rows = material.scan("judgements").filter((pl.col("question") == question.name) & ~sided)
        # Of a scale without ends all values are held at once, 8 bytes each: their quartiles are exact.
        values = gathered(rows.select("value"))["value"]
        if values.is_empty():
            continue
        if question.direction == "lower" and question.low == 1 and question.high is None:
            continue  # The ranks of orders go as far as there are images.
        low, middle, high = (float(values.quantile(q) or 0.0) for q in (0.25, 0.5, 0.75))
        least = min(values.unique().sort().diff().drop_nulls().to_list(), default=0.0)
        far_off = (pl.col("value") - middle).abs() > far * max(high - low, least)
        n = int(gathered(rows.filter(far_off).select(pl.len())).item())
        if 0 < n <= max(1, share * len(values)):
            off = gathered(rows.filter(far_off).head(FEW))
            yield Finding(
                f"judgements of {question.name} far from all others",
                n,
                few(_by_whom(off)),
                "Is it a slip of the keyboard? Correct the table and import it again with --replace.",
            )
        ends = [float(each) for each in (values.min(), values.max())]  # type: ignore[arg-type]
        seen = f"values from {ends[0]:g} to {ends[1]:g} were seen"
        yield Finding(
            f"no scale is declared for {question.name}: {seen}",
            len(values),
            [],
            "Import the judgements with the columns scale_low and scale_high (--replace): truth then refuses "
            "what is off the scale, and intervals keep to it.",
            "note",
        )


def _between_steps(material: Material) -> Iterator[Finding]:
    import polars as pl

    for question in material.questions:
        if question.step is None or question.step <= 0 or question.scale == "interval":
            continue
        steps = (pl.col("value") - (question.low or 0.0)) / question.step
        # A tie lies half way between the two sides of a pair, whatever the step.
        paired = (pl.col("image_b") > 0) | (pl.col("system_b") > 0)
        tie = paired & (pl.col("value") == 0.5) & pl.lit((question.low, question.high) == (0, 1))
        between = (pl.col("question") == question.name) & ((steps - steps.round()).abs() > 1e-6) & ~tie
        rows = gathered(material.scan("judgements").filter(between))
        if not rows.is_empty():
            counted = rows["value"].value_counts(sort=True)
            yield Finding(
                f"judgements of {question.name} between the steps of {question.step:g} of its scale",
                int(rows["n"].sum()),
                few(f"{value:g}, {times} times" for value, times in counted.iter_rows()),
                "Were they averaged, or given on another scale? If they hold, correct the question's step.",
            )


def _by_whom(rows: pl.DataFrame) -> Iterator[str]:
    for value, who in rows.select("value", "annotator").iter_rows():
        yield f"{value:g} by {who or 'somebody unnamed'}"


def _ends(low: object, high: object) -> str:
    return f"its scale from {'anything' if low is None else low} to {'anything' if high is None else high}"


@check(severity="error", source="Sightline", licence="Apache-2.0")
def judgements_without_items(material: Material) -> Iterator[Finding]:
    """Judgements and truths of answers that do not exist.

    A prompt that does not exist is refused on import. What remains is a system judged on a prompt it did not
    answer, an image judged as a system's answer that it did not give, and a generated image judged under a
    prompt that it was not made for. Systems without any answer here are left out: much published data holds
    judgements alone.
    """
    for what in ("judgements", "truths"):
        yield from _of(material, what, material.scan(what))


def _of(material: Material, what: str, rows: pl.LazyFrame) -> Iterator[Finding]:
    import polars as pl

    answers = material.scan("answers").select("system_id", "prompt_id", "image_id")
    active = gathered(answers.select("system_id").unique())["system_id"].to_list()
    generators = material.systems.filter(kind="generator")["system_id"].to_list()
    # Of generators only: a search engine may leave out any image, and people judge pools.
    generated = pl.col("system_id").is_in(generators)
    parts = ["question", "prompt_id", "system_id", "image_id", "system_b", "image_b"]
    about = rows.filter(pl.col("prompt_id") > 0).select(parts).with_row_index("place")
    found: list[list[pl.DataFrame]] = [[], [], []]
    for some in blocks(about, answers):
        given = gathered(answers.filter(some))
        made = given.filter(generated)
        sides = _sides(gathered(about.filter(some)).with_columns(side=pl.lit(0)))
        of_system = sides.filter(pl.col("system_id").is_in([key for key in active if key]))
        found[0].append(of_system.join(given, on=["system_id", "prompt_id"], how="anti"))
        answered = of_system.join(made, on=["system_id", "prompt_id"], how="semi")
        of_image = answered.filter(pl.col("image_id") > 0)
        found[1].append(of_image.join(made, on=["system_id", "prompt_id", "image_id"], how="anti"))
        of_image = sides.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0))
        found[2].append(of_image.join(given, on=["prompt_id", "image_id"], how="anti"))
    if not found[0]:
        return
    unanswered, another, misplaced = (pl.concat(each).sort("side", "place") for each in found)
    # An image that no generator made may be judged under any prompt.
    elsewhere = answers.filter(generated & pl.col("image_id").is_in(misplaced["image_id"].unique().to_list()))
    misplaced = misplaced.join(
        gathered(elsewhere.select("image_id").unique()), on="image_id", how="semi", maintain_order="left"
    )
    kinds = (
        (unanswered, f"{what} of systems on prompts that they did not answer"),
        (another, f"{what} of images as answers of a system that did not give them"),
        (misplaced, f"{what} of images under prompts that they were not made for"),
    )
    for wrong, said in kinds:
        for (question,), listed in wrong.group_by(["question"], maintain_order=True):
            yield Finding(
                f"{said} ({question})",
                listed.height,
                item_examples(material, listed),
                "Import the missing answers, or correct the prompt, system or image that these rows name.",
            )
