"""From truth about images to truth about systems and prompts.

A truth may be of a prompt with an image, of an image, of a system's answers to a prompt, or of a prompt.
Images are given back to whoever answered with them; a generator's value on a prompt is the mean over its
images there, a prompt's value the mean over systems: every system weighs the same, however many images
it gave. A search engine has no such mean: it would be over those of its answers that somebody happened to
judge, and blind to their order; measures of a ranking say how good it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import Configured
from sightline.study import blocks, reading
from sightline.study.counting import chooses
from sightline.study.study import Study

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


def of_answers(study: Study, question: str) -> pl.DataFrame:
    """The truth of each answer: system_id, system, prompt_id, position, image_id, sha256, value, n."""
    return _of_answers(reading.answers(study), _settled(study, question))


def answer_parts(study: Study, question: str) -> Iterator[pl.DataFrame]:
    """The same in parts, each of all answers to some prompts."""
    return (answers_in(study, question, block) for block in blocks.blocks(study))


def answers_in(study: Study, question: str, block: blocks.Block) -> pl.DataFrame:
    """The same of a block of prompts."""
    truths = blocks.truths(study, question, block).drop_nulls("value")
    return _of_answers(blocks.answers(study, block), truths)


def _of_answers(answers: pl.DataFrame, truths: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    truths = truths.filter(_alone())
    answers = answers.filter(pl.col("image_id").is_not_null())
    keep = ["system_id", "system", "prompt_id", "position", "image_id", "sha256"]
    parts = []
    for on, condition in (
        (["system_id", "prompt_id", "image_id"], (pl.col("prompt_id") > 0) & (pl.col("system_id") > 0)),
        (["prompt_id", "image_id"], (pl.col("prompt_id") > 0) & (pl.col("system_id") == 0)),
        (["image_id"], (pl.col("prompt_id") == 0) & (pl.col("system_id") == 0)),
    ):
        chosen = truths.filter(condition & (pl.col("image_id") > 0)).select([*on, "value", "n"])
        parts.append(answers.join(chosen, on=on, how="inner").select([*keep, "value", "n"]))
    return pl.concat(parts).unique(["system_id", "prompt_id", "position"], keep="first", maintain_order=True)


def of_images(study: Study, question: str) -> pl.DataFrame:
    """The truth of each image that was judged by itself and answers no prompt: image_id, value."""
    import polars as pl

    parts = ("prompt_id", "system_id")
    alone = _alone() & (pl.col("image_id") > 0) & pl.all_horizontal(pl.col(name) == 0 for name in parts)
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null()).select("image_id")
    truths = _settled(study, question).filter(alone).join(answers, on="image_id", how="anti")
    return truths.select("image_id", "value").unique("image_id", keep="first", maintain_order=True)


def _settled(study: Study, question: str) -> pl.DataFrame:
    return reading.truths(study, question).drop_nulls("value")


def rule_of(study: Study, question: str) -> Configured | None:
    """The consensus rule that gave the truth of a question; None where it was published or is not here."""
    newest = reading.newest_settlement(study, question)
    rules = {row["settlement_id"]: row for row in reading.settlements(study).iter_rows(named=True)}
    if newest is None or not rules[newest]["up_to"]:
        return None
    try:
        return registry.configure("consensus", str(rules[newest]["rule"]))
    except UsageError:
        return None


def ends_of(study: Study, question: str) -> tuple[float | None, float | None]:
    """Between which values the truth of a question lies: those of its rule, of its scale, or 0 and 1.

    A proportion lies between 0 and 1 whatever the scale; where no ends are declared and nobody said anything
    but 0 and 1, so does the mean.
    """
    rule = rule_of(study, question)
    if rule is not None and rule.spec.range != (None, None):
        return rule.spec.range
    asked = reading.question(study, question)[1]
    if reading.only_yes_and_no(study, question) and not _beyond(study, question):
        asked = reading.with_ends(asked)
    return asked.low, asked.high


def _beyond(study: Study, question: str) -> bool:
    """Whether the strongest settlement gave a value outside 0 and 1; what is published was looked at."""
    query = "SELECT 1 FROM truth WHERE settlement_id = :settlement AND (value < 0 OR value > 1) LIMIT 1"
    return bool(reading.fetch_rows(study, query, settlement=reading.newest_settlement(study, question) or 0))


def by_system(study: Study, question: str) -> pl.DataFrame:
    """A system's value on a prompt: prompt_id, system_id, system, value, images."""
    return _rolled(study, question)[0]


def _rolled(study: Study, question: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The values of systems on prompts, and of prompts that were judged by themselves."""
    import polars as pl

    def made() -> tuple[pl.DataFrame, pl.DataFrame]:
        found = [_rolled_in(study, question, block) for block in blocks.blocks(study)]
        return pl.concat(each for each, _ in found), pl.concat(each for _, each in found)

    return reading.once(study, ("rolled up", question), made)


def _rolled_in(study: Study, question: str, block: blocks.Block) -> tuple[pl.DataFrame, pl.DataFrame]:
    import polars as pl

    systems = reading.systems(study).select("system_id", "system", "kind")
    truths = blocks.truths(study, question, block).drop_nulls("value")
    own = truths.filter((pl.col("prompt_id") > 0) & (pl.col("system_id") == 0) & (pl.col("image_id") == 0))
    whole = (
        truths.filter(
            _alone() & (pl.col("prompt_id") > 0) & (pl.col("system_id") > 0) & (pl.col("image_id") == 0)
        )
        .join(systems, on="system_id")
        .select("prompt_id", "system_id", "system", "value", pl.lit(0, pl.Int64).alias("images"))
    )
    rolled = (
        _of_answers(blocks.answers(study, block, "generator"), truths)
        .group_by("prompt_id", "system_id", "system")
        .agg(pl.col("value").mean(), pl.len().cast(pl.Int64).alias("images"))
        .select("prompt_id", "system_id", "system", "value", "images")
    )
    both = pl.concat([whole, rolled]).unique(["prompt_id", "system_id"], keep="first", maintain_order=True)
    return both.sort("prompt_id", "system_id"), own.select(
        "prompt_id", "value", pl.lit(0, pl.Int64).alias("systems")
    )


def votes_by_system(study: Study, question: str) -> pl.DataFrame:
    """The votes behind `by_system`: prompt_id, system, item, annotator, value, n, session, ms.

    Annotator -1 is anonymous; ms is what a vote took, NaN where it is not known. Those of the
    annotators that the settlement counted, on what generators answered.
    """
    import polars as pl

    settlement = reading.newest_settlement(study, question)
    notes = {} if settlement is None else reading.settlement_notes(study, settlement)
    votes, items, _ = reading.votes(study, question)
    cast = pl.DataFrame(
        {name: getattr(votes, name) for name in ("item", "annotator", "value", "n", "control", "session")}
        | {"ms": votes.took_ms}
    ).filter(~pl.col("control"))
    if "counted" in notes:
        named = [[each.panel, each.name] for each in votes.annotators]
        counted = [number for number, each in enumerate(named) if each in notes["counted"]]
        cast = cast.filter(pl.col("annotator").is_in([*counted, -1]))
    parts = items.with_row_index("item").with_columns(pl.col("item").cast(pl.Int64))
    parts = parts.filter(_alone()).drop("image_b", "image_c", "system_b", "item_id")
    direct = parts.filter((pl.col("system_id") > 0) & (pl.col("prompt_id") > 0))
    direct = direct.join(reading.systems(study).select("system_id", "system"), on="system_id")
    images = parts.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0)).drop("system_id")
    columns = ["item", "prompt_id", "system"]
    owned = [direct.select(columns)]
    for block in blocks.blocks(study):
        answers = blocks.answers(study, block, "generator").drop_nulls("image_id")
        answers = answers.select("prompt_id", "system_id", "system", "image_id").unique(maintain_order=True)
        asked = images.filter(pl.col("prompt_id") > 0).join(answers, on=["prompt_id", "image_id"])
        alone = images.filter(pl.col("prompt_id") == 0).drop("prompt_id").join(answers, on="image_id")
        owned += [asked.select(columns), alone.select(columns)]
    return (
        cast.join(pl.concat(owned), on="item", how="inner")
        # An image that answered twice is an item of each of its answers.
        .with_columns(item=pl.struct("item", "prompt_id", "system").rank("dense").cast(pl.Int64))
        .select("prompt_id", "system", "item", "annotator", "value", "n", "session", "ms")
        .sort("item", "annotator")
    )


def pair_votes(study: Study, question: str) -> pl.DataFrame:
    """The votes between two systems: prompt_id, annotator (-1 = anonymous), system, system_b, outcome, group.

    The outcome is 0 where `system` was preferred, 1 where `system_b` was, .5 for a tie and null where both
    are bad. Votes with the same `group` came of one look. Those of the annotators that the settlement
    counted, one row per vote; an image that several generators answered with speaks for each. Values that
    are no choice between two sides, and two images of one system, are left out. `prompt_id` is 0 where a
    vote between systems names no prompt.
    """
    import polars as pl

    cast = _counted(study, question).filter(
        ((pl.col("image_b") > 0) | (pl.col("system_b") > 0)) & (pl.col("image_c") == 0)
    )
    schema: dict[str, Any] = {"prompt_id": pl.Int64, "annotator": pl.Int64}
    schema |= {"system": pl.String, "system_b": pl.String, "outcome": pl.Float64, "group": pl.Int64}
    if not chooses(reading.question(study, question)[1], cast["value"].drop_nulls()):
        return pl.DataFrame(schema=schema)
    both = (pl.col("system_id") > 0) & (pl.col("system_b") > 0)
    names = reading.systems(study).select(pl.col("system_id").alias("key"), pl.col("system").alias("name"))
    direct = cast.filter(both).select(
        "id", "prompt_id", "group", "annotator", "value", "n", a="system_id", b="system_b"
    )
    gave = _generated(study)
    sides = cast.filter(~both & (pl.col("image_id") > 0) & (pl.col("image_b") > 0))
    named = sides.filter(pl.col("prompt_id") > 0)
    alone = sides.filter(pl.col("prompt_id") == 0).drop("prompt_id")
    joined = [
        part.join(gave.select("prompt_id", "image_id", a="system_id"), on=on).join(
            gave.select("prompt_id", image_b="image_id", b="system_id"), on=["prompt_id", "image_b"]
        )
        for part, on in ((named, ["prompt_id", "image_id"]), (alone, ["image_id"]))
    ]
    rows = pl.concat([direct, *(part.select(direct.columns) for part in joined)])
    return (
        rows.filter(pl.col("a") != pl.col("b"))
        .join(names.rename({"key": "a", "name": "system"}), on="a")
        .join(names.rename({"key": "b", "name": "system_b"}), on="b")
        .sort("id", "prompt_id", "a", "b")
        .with_columns(pl.int_ranges(pl.col("n")).alias("copy"))
        .explode("copy")
        .with_columns(group=_numbered(), outcome=pl.col("value"))
        .select([pl.col(name).cast(kind) for name, kind in schema.items()])
    )


def ranks_systems(study: Study, question: str) -> bool:
    """Whether anybody compared systems on this question: by votes between two, or by orders of several."""
    return not pair_votes(study, question).is_empty() or not order_votes(study, question).is_empty()


def order_votes(study: Study, question: str) -> pl.DataFrame:
    """The orders that annotators gave: prompt_id, annotator (-1 = anonymous), group, system, rank.

    One row per system and order, 1 for the best rank, equal ranks for ties; `group` numbers the orders. Those
    of the annotators that the settlement counted. A system with several images in an order has several rows;
    orders that do not tell two systems apart are left out.
    """
    import polars as pl

    cast = _counted(study, question).filter(
        (pl.col("group") != "") & pl.col("value").is_not_null() & _alone()
    )
    names = reading.systems(study).select("system_id", "system")
    direct = cast.filter(pl.col("system_id") > 0)
    images = cast.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0)).drop("system_id")
    gave = _generated(study)
    columns = ["id", "prompt_id", "annotator", "group", "system_id", "value"]
    rows = pl.concat(
        [
            direct.select(columns),
            images.filter(pl.col("prompt_id") > 0).join(gave, on=["prompt_id", "image_id"]).select(columns),
        ]
    )
    return (
        rows.join(names, on="system_id")
        .with_columns(group=pl.struct("prompt_id", "annotator", "group").rank("dense").cast(pl.Int64) - 1)
        .filter(pl.col("system").n_unique().over("group") > 1)
        .sort("group", "value", "id", "system_id")
        .select("prompt_id", "annotator", "group", "system", rank="value")
    )


def _alone() -> pl.Expr:
    """Whether an item is no pair."""
    import polars as pl

    return (pl.col("image_b") == 0) & (pl.col("system_b") == 0)


def _numbered() -> pl.Expr:
    """One number per group of a prompt and annotator, and one per vote that is in none."""
    import polars as pl

    own = pl.when(pl.col("group") == "").then(pl.col("id")).otherwise(0).alias("own")
    return pl.struct("prompt_id", "annotator", "group", own, "copy").rank("dense").cast(pl.Int64) - 1


def _generated(study: Study) -> pl.DataFrame:
    """Which generator answered which prompt with which image: prompt_id, system_id, image_id."""
    import polars as pl

    answers = reading.answers(study, "generator").filter(pl.col("image_id").is_not_null())
    return answers.select("prompt_id", "system_id", "image_id").unique(maintain_order=True)


def _counted(study: Study, question: str) -> pl.DataFrame:
    """The ballots of the annotators that the settlement counted, those of repetitions as study.toml says.

    `annotator` numbers them as `votes_by_system` does, -1 where nobody is named. Who only said that both are
    bad is in no settlement, and counts unless the owner excluded them.
    """
    import polars as pl

    people = reading.annotators(study).with_row_index("annotator")
    cast = reading.ballots(study, question)
    settlement = reading.newest_settlement(study, question)
    notes = {} if settlement is None else reading.settlement_notes(study, settlement)
    kept = people.filter((pl.col("role") == "annotator") & pl.col("left_out").is_null())
    if "counted" in notes:
        chosen = pl.DataFrame(notes["counted"], schema={"panel": pl.String, "name": pl.String}, orient="row")
        valued = cast.filter(pl.col("value").is_not_null()).select("annotator_id").unique()
        kept = pl.concat(
            [
                people.join(chosen, on=["panel", "name"], how="semi"),
                kept.join(valued, on="annotator_id", how="anti"),
            ]
        )
    numbers = kept.select("annotator_id", pl.col("annotator").cast(pl.Int64))
    nobody = pl.DataFrame({"annotator_id": [0], "annotator": [-1]})
    cast = cast.join(pl.concat([numbers, nobody]), on="annotator_id", how="inner", maintain_order="left")
    repeats = str(study.settings.get("truth", {}).get("repeats", "first"))
    if repeats == "all":
        return cast
    times = pl.col("repetition")
    wanted = (times.min() if repeats == "first" else times.max()).over("annotator_id", "item_id", "group")
    return cast.filter((pl.col("annotator") < 0) | (times == wanted))


def by_prompt_of_systems(study: Study, question: str) -> pl.DataFrame:
    """A prompt's value as the mean over the systems that have one there: prompt_id, value, systems."""
    import polars as pl

    return (
        by_system(study, question)
        .group_by("prompt_id")
        .agg(pl.col("value").mean(), pl.len().cast(pl.Int64).alias("systems"))
        .sort("prompt_id")
    )


def by_prompt(study: Study, question: str) -> pl.DataFrame:
    """A prompt's value: prompt_id, value, systems (0 where the truth is of the prompt itself)."""
    import polars as pl

    own = _rolled(study, question)[1]
    rolled = by_prompt_of_systems(study, question)
    return pl.concat([own, rolled]).unique("prompt_id", keep="first", maintain_order=True).sort("prompt_id")


def matrix(values: pl.DataFrame) -> tuple[np.ndarray, list[int], list[str]]:
    """Prompts x systems with NaN where a system has no value, the prompt ids, and the systems' names."""
    import numpy as np

    if values.is_empty():
        raise DataError("there is nothing to compare: no system has a value on any prompt")
    prompts = values["prompt_id"].unique().sort().to_list()
    systems = values.select("system_id", "system").unique().sort("system_id")
    row = {prompt: i for i, prompt in enumerate(prompts)}
    column = {system: i for i, system in enumerate(systems["system_id"].to_list())}
    table = np.full((len(prompts), len(column)), np.nan)
    for prompt, system, value in values.select("prompt_id", "system_id", "value").iter_rows():
        table[row[prompt], column[system]] = value
    return table, prompts, systems["system"].to_list()
