"""A system's score on each prompt, by a measure that the study was scored by."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import polars as pl

from sightline import registry
from sightline.errors import UsageError, near
from sightline.extension import IMPORTED, MEASURE_KINDS, Configured
from sightline.measures.rankings import rankings_for
from sightline.published import plain_name
from sightline.study import blocks, reading
from sightline.study.study import Study

_as_stored: ContextVar[bool] = ContextVar("as_stored", default=False)


@contextmanager
def as_stored() -> Iterator[None]:
    """Within it rankings are read as they were scored, not measured again: for a page that computes nothing.

    A measure of rankings may ask a model or an engine; what is out of date is then said, not mended.
    """
    before = _as_stored.set(True)
    try:
        yield
    finally:
        _as_stored.reset(before)


def reads_stored() -> bool:
    """Whether rankings are read as they were scored."""
    return _as_stored.get()


def scored_measure(study: Study, by: str, settled: Sequence[str]) -> Configured:
    """The measure a user means: as written if it is scored, else the one scored form of that name."""
    forms = [str(row["measure"]) for row in reading.measures(study).iter_rows(named=True) if row["values"]]
    name = by.partition("(")[0].partition("@")[0]
    alike = [form for form in forms if form.partition("(")[0] == name]
    elsewhere = imported_as(by, forms)
    if not alike and len(elsewhere) == 1:
        return registry.find_measure(elsewhere[0])
    if not alike:
        remedy = near(by, [*settled, *(form.partition("(")[0] for form in forms), *imported_names(forms)])
        if any(name in registry.names(kind) for kind in MEASURE_KINDS):
            remedy = f"Compute it first: sightline score {study.name} {shlex.quote(by)}"
        raise UsageError(f"there is neither a question nor a scored measure called {by!r}", remedy=remedy)
    asked = registry.find_measure(by)
    if str(asked) in alike:
        return asked
    if by == name and len(alike) == 1:
        return registry.find_measure(alike[0])
    raise UsageError(f"{asked.short} is not scored in this study", remedy=f"Scored are: {'; '.join(alike)}.")


def imported_names(forms: Sequence[str]) -> dict[str, str]:
    """The names of measures from elsewhere among printed forms, short or whole, and the form of each."""
    found = {}
    for form in forms:
        if form.endswith(IMPORTED):
            found[form.removesuffix(IMPORTED)] = form
        elif form.startswith("imported"):
            measure = registry.find_measure(form)
            if not measure.spec.details["computed"]:
                found[str(measure.arguments["name"])] = form
    return found


def imported_as(name: str, forms: Sequence[str]) -> list[str]:
    """The forms under which a measure of this name was imported, whatever separates its words."""
    wanted = plain_name(name.removesuffix(IMPORTED))
    return [form for own, form in imported_names(forms).items() if plain_name(own) == wanted]


def scores_by_system(study: Study, measure: str) -> pl.DataFrame:
    """A system's mean score on each prompt.

    Rankings are measured again: judgements, settings and answers may have changed since they were scored, and
    finding that out costs more than the measure. Within `as_stored` they are read.
    """
    configured = registry.find_measure(measure)
    kind = configured.spec.kind
    if kind == "of_ranking" and not reads_stored():
        return rankings_for(study, configured).values(configured)
    if kind in ("of_set", "of_ranking"):
        scores = reading.scores(study, configured.identity).filter(pl.col("value").is_not_null())
        systems = reading.systems(study).select("system_id", "system")
        return scores.join(systems, on="system_id").select("prompt_id", "system_id", "system", "value")
    on = {"of_image": ["image_id"], "of_answer": ["prompt_id", "image_id"]}.get(kind)
    if on is None:
        what = (
            "of all images of a system: it has no value of a prompt"
            if kind == "of_system"
            else ("of a prompt: it does not tell systems apart")
        )
        raise UsageError(f"{measure} is a measure {what}")
    return reading.once(
        study, ("scores by system", configured.identity), lambda: _means(study, configured, on)
    )


def _means(study: Study, measure: Configured, on: Sequence[str]) -> pl.DataFrame:
    """The mean score of what a system answered each prompt with."""
    parts = []
    for block in blocks.blocks(study):
        scores = blocks.scores(study, measure.identity, measure.spec.kind, block).drop_nulls("value")
        answers = blocks.answers(study, block).drop_nulls("image_id").drop("score")
        given = answers.join(scores.select([*on, "value"]), on=list(on))
        means = given.group_by("prompt_id", "system_id", "system").agg(pl.col("value").mean())
        parts.append(means.sort("prompt_id", "system_id"))
    return pl.concat(parts)
