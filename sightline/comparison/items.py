"""What a measure and what people say about the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import UsageError, near
from sightline.estimate import Direction
from sightline.measures.by_system import imported_as, imported_names, scores_by_system
from sightline.statistics.grouping import Array
from sightline.statistics.levels import Flags, Items
from sightline.statistics.logistic import LEAST_PAIRS, Logistic, fit_logistic
from sightline.study import blocks, listing, reading, rollup
from sightline.study.groups import families_of
from sightline.study.study import Study

KEY = ["prompt_id", "system_id", "image_id"]
REFERENCE = "reference"
"""The tag of an image that names what it was made from: images of one reference resemble each other."""


@dataclass(frozen=True)
class Scored:
    """A measure with its values, or a question with its truth; `on` names what a value belongs to."""

    name: str
    kind: str
    direction: Direction
    scores: pl.DataFrame
    on: Sequence[str]


@dataclass(frozen=True)
class Units:
    """What is left out together: the family of every prompt, and of images that answer none their group.

    An image that `of_image` does not name is a group by itself. `images` says what those groups are: the
    images themselves, or the references that they were made from.
    """

    of_prompt: Mapping[int, int]
    of_image: Mapping[int, int]
    images: str = "images"


@dataclass(frozen=True)
class Truths:
    """The truth of a question about answers, about systems on prompts and about prompts.

    Where it is about no answer, `answers` are the judged images that answer nothing: prompt and system 0.
    """

    answers: pl.DataFrame
    pairs: pl.DataFrame
    prompts: pl.DataFrame

    def matching(self, on: Sequence[str]) -> pl.DataFrame:
        if "image_id" in on:
            return self.answers
        return self.pairs if "system_id" in on else self.prompts


@dataclass(frozen=True)
class Matched:
    """Items with both values: a frame of the key and columns `people` and `measure`, and the same as arrays.

    `once` and `distinct` are as `at_levels` wants them, None where nothing stands twice.
    """

    frame: pl.DataFrame
    items: Items
    once: Items | None
    distinct: Flags | None


def truths_of(study: Study, question: str) -> Truths:
    """The truth of a question, each frame with the columns of the key and `value`, missing parts 0."""
    zero = {name: pl.lit(0, pl.Int64).alias(name) for name in KEY}
    parts = (part.select(*KEY, "value") for part in rollup.answer_parts(study, question))
    answers = pl.concat(parts).unique(KEY, keep="first", maintain_order=True)
    if answers.is_empty():
        answers = rollup.of_images(study, question).with_columns(zero["prompt_id"], zero["system_id"])
    pairs = rollup.by_system(study, question).with_columns(zero["image_id"])
    prompts = rollup.by_prompt(study, question).with_columns(zero["system_id"], zero["image_id"])
    return Truths(*(each.select(*KEY, "value") for each in (answers, pairs, prompts)))


def scored(study: Study, name: str = "") -> list[Scored]:
    """Every measure that has values; those that `check` computed for itself only where one is named."""
    own = set() if name else listing.computed_for_checks(study)
    known = reading.measures(study).iter_rows(named=True)
    # A measure of a system has one value per system: too few to agree with anybody.
    rows = [
        row for row in known if row["values"] and row["identity"] not in own and row["kind"] != "of_system"
    ]
    return [each for row in rows for each in _parts(study, row)]


def asked(study: Study, question: str) -> list[Scored]:
    """A question's truth in the place of a measure, about the smallest things that it is about."""
    _, about = reading.question(study, question)
    truths = truths_of(study, question)
    kinds = [(truths.answers, KEY), (truths.pairs, KEY[:2]), (truths.prompts, KEY[:1])]
    return [Scored(question, "question", about.direction, frame, on) for frame, on in kinds if len(frame)]


def chosen(measures: Sequence[Scored], name: str, questions: Sequence[str]) -> list[Scored]:
    """The measures of this name, with any parameters."""
    called = {name, _printed(name)}
    alike = [each for each in measures if called & {each.name, each.name.partition("(")[0].partition("@")[0]}]
    if not alike:
        imported = imported_as(name, [each.name for each in measures])
        alike = [each for each in measures if each.name in imported]
    if not alike:
        known = [*questions, *dict.fromkeys(each.name for each in measures)]
        known += imported_names([each.name for each in measures])
        what = f"there is neither a question nor a scored measure called {name!r}"
        raise UsageError(what, remedy=near(name, known))
    return alike


def _printed(name: str) -> str:
    """A measure as it is printed, however its parameters were written: quotes may be left out."""
    try:
        return registry.find_measure(name).short if "(" in name else name
    except UsageError:
        return name


def matched(study: Study, truths: Truths, each: Scored, units: Units) -> Matched | None:
    """The items that a measure and people have a value of, or None where there are none."""
    on, truth, scores = list(each.on), truths.matching(each.on), each.scores
    if "image_id" in on and truth.is_empty() and each.kind in ("of_image", "of_answer"):
        # People judged the answers of a system as a whole: its images' mean is about the same thing.
        on, truth = KEY[:2], truths.pairs
        given = (blocks.answers(study, block).drop_nulls("image_id") for block in blocks.blocks(study))
        own = scores.select([*each.on, "value"])
        rows = (part.select(KEY).join(own, on=list(each.on)) for part in given)
        scores = pl.concat(part.group_by(on).agg(pl.col("value").mean()) for part in rows)
    both = (
        truth.rename({"value": "people"})
        .join(scores.select([*on, pl.col("value").alias("measure")]), on=on)
        .filter(pl.col("people").is_finite() & pl.col("measure").is_finite())
        .sort(KEY)
    )
    if both.is_empty():
        return None
    answering = bool(both["prompt_id"].max())
    column, groups = ("prompt_id", units.of_prompt) if answering else ("image_id", units.of_image)
    frame = both.with_columns(both[column].replace(groups).alias("unit"))
    drawn = "prompts" if answering else units.images
    # An image that answered several prompts counts once, with the mean of what people said of it.
    means = frame.group_by(on, maintain_order=True).agg(
        pl.col("people").mean(), pl.col("measure", "unit").first(),
        *(pl.col(name).first() for name in KEY if name not in on),
    )  # fmt: skip
    mapping = _mapping(means["measure"].to_numpy(), means["people"].to_numpy())
    once = _items(means, mapping, drawn) if len(means) < len(frame) else None
    first = frame.select(pl.struct("prompt_id", "image_id").is_first_distinct()).to_series().to_numpy()
    items = _items(frame, mapping, drawn)
    return Matched(frame, items, once, None if "system_id" in on or first.all() else first)


def shared(first: Matched, second: Matched) -> tuple[Matched, Matched]:
    """Two measures on the items that both have a value of."""
    if first.frame.select(KEY).equals(second.frame.select(KEY)):
        return first, second
    return _on(first, second), _on(second, first)


def _on(one: Matched, other: Matched) -> Matched:
    keys = one.frame.select(KEY).with_row_index("row").join(other.frame.select(KEY), on=KEY, how="semi")
    return rows_of(one, keys["row"].sort().to_numpy())


def rows_of(one: Matched, rows: np.ndarray) -> Matched:
    """Some of the items; those that belong to several prompts or systems stand as often as they occur."""
    distinct = None if one.distinct is None else one.distinct[rows]
    return Matched(one.frame[rows.tolist()], one.items.of(rows), None, distinct)


def _items(frame: pl.DataFrame, mapping: Logistic | None, drawn: str) -> Items:
    measure, people = _rounded(frame["measure"].to_numpy()), _rounded(frame["people"].to_numpy())
    system = frame["system_id"].to_numpy()
    mapped = np.full(len(measure), np.nan) if mapping is None else mapping(measure)
    return Items(
        measure, mapped, people, frame["prompt_id"].to_numpy(), frame["unit"].to_numpy(),
        np.where(system > 0, system, -1), drawn,
    )  # fmt: skip


def _rounded(values: Array) -> Array:
    """Values without the last bits, in which equal means may differ."""
    size = float(np.abs(values).max()) or 1.0
    return np.asarray(np.round(values / size, 12) * size)


def _mapping(measure: Array, people: Array) -> Logistic | None:
    constant = np.ptp(measure) <= 1e-13 * np.abs(measure).max() or np.ptp(people) == 0
    return None if constant or len(measure) < LEAST_PAIRS else fit_logistic(measure, people)


def units_of(study: Study) -> Units:
    """The family of every prompt, by id; of every image its reference where a tag names one."""
    prompts = reading.prompts(study)["prompt_id"].to_list()
    families = dict(zip(prompts, families_of(study, prompts).tolist(), strict=True))
    tags = reading.image_tags(study).filter((pl.col("name") == REFERENCE) & (pl.col("prompt_id") == 0))
    if tags.is_empty():
        return Units(families, {})
    # Below 0, where no image's own id can be.
    numbers = tags.select("image_id", -pl.col("value").rank("dense").cast(pl.Int64))
    return Units(families, dict(numbers.iter_rows()), "references")


def _parts(study: Study, measure: Mapping[str, object]) -> list[Scored]:
    """A measure as one, or by engine where each has a scale of its own.

    Rankings are measured as they stand, since what is kept may be older.
    """
    kept = reading.score_values(study, str(measure["identity"]))
    kind, direction = str(measure["kind"]), cast(Direction, measure["direction"])
    on = {"of_prompt": KEY[:1], "of_image": KEY[2:], "of_answer": [KEY[0], KEY[2]]}.get(kind, KEY[:2])
    try:
        found = registry.find_measure(str(measure["measure"]))
    except UsageError:
        # It was scored by an extension that is not installed here.
        return [Scored(str(measure["measure"]), kind, direction, kept, on)]
    if kind != "of_ranking":
        return [Scored(found.short, kind, direction, kept, on)]
    values = scores_by_system(study, str(found))
    engines = values["system"].unique().sort().to_list()
    if found.spec.details["rests_on"] != "run" or len(engines) < 2:
        return [Scored(found.short, kind, direction, values, on)]
    return [
        Scored(f"{found.short} of {name}", kind, direction, values.filter(pl.col("system") == name), on)
        for name in engines
    ]
