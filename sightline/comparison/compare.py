"""Compare: which system is better, by how much, and how sure that is."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import polars as pl

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Direction, absent
from sightline.extension import MEASURE_KINDS, Configured
from sightline.measures.rankings import UNJUDGED, Overlap, Ranked, overlap, place, rankings_for
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.statistics import comparison
from sightline.statistics.comparison import Pair, Standing
from sightline.statistics.intervals import within
from sightline.study import reading, rollup
from sightline.study.study import Study
from sightline.verbs import SEED, option, verb

SURE = 0.05
"""Below this p a difference is significant."""


@dataclass(frozen=True)
class Comparison(Result):
    """The systems on one question or measure, best first.

    `notes` say what a measure of rankings counted as not relevant, `overlaps` what engines have in common.
    """

    by: str
    direction: Direction
    prompts: int
    systems: Sequence[Standing]
    pairs: Sequence[Pair]
    where: str = ""
    low: float | None = None
    high: float | None = None
    permutations: int = 10_000
    test: str = "sign_flip"
    notes: Sequence[str] = ()
    overlaps: Sequence[Overlap] = ()
    brief: str = ""
    """The notes in a sentence, for a page with little room."""

    @property
    def least_p(self) -> float:
        """The smallest adjusted p that sign flips can reach: 2 / 2^n or one draw, times the pairs (Holm)."""
        most = max((pair.difference.n for pair in self.pairs), default=0)
        exact = 2.0 ** (1 - most) if self.test == "sign_flip" else 0.0
        return float(min(1.0, max(exact, 1 / (self.permutations + 1)) * len(self.pairs)))

    @property
    def sentence(self) -> str:
        """The outcome in a sentence or two."""
        best = self.systems[0]
        over = f"over {best.mean.n:,} prompt{'' if best.mean.n == 1 else 's'}"
        if best.mean.value is None:
            return f"No system has a value on {self.by} yet."
        figure = f"{best.mean.value:.2f}{self._scale()}"
        if best.mean.low is not None and best.mean.high is not None:
            figure += f" [{best.mean.low:.2f}, {best.mean.high:.2f}]"
        if len(self.systems) == 1:
            return f"{best.system} reaches {figure} on {self.by} {over}. No other system has a value here."
        if self.least_p >= SURE:
            level = [placed.system for placed in self.systems if placed.mean.value == best.mean.value]
            leads = "is ahead" if self.direction != "none" else "has the highest"
            ahead = f"{best.system} {leads}" if len(level) == 1 else f"{_listed(level)} are level"
            return (
                f"{self.prompts} prompts are too few to tell {len(self.systems)} systems apart on {self.by}: "
                f"the smallest p they allow is {self.least_p:.2g}. So far {ahead}: {figure}.{self._neither()}"
            )
        tied = [placed.system for placed in self.systems if placed.best_rank == 1]
        if len(tied) == len(self.systems):
            alike = f"{_listed(tied)} cannot be told apart on {self.by} {over}"
            return f"{alike}; {best.system} has {figure}.{self._neither()}"
        if self.direction == "none":
            return f"{best.system} has the highest {self.by}: {figure} {over}.{self._neither()}"
        if len(tied) > 1:
            return (
                f"{_listed(tied)} lead on {self.by} and cannot be told apart {over}; "
                f"{best.system} has {figure}."
            )
        first = f"{best.system} is the best of {len(self.systems)} systems on {self.by}: {figure} {over}."
        if len({placed.mean.n for placed in self.systems}) > 1:
            first += " Not all systems answered the same prompts: their order comes from those they share."
        if all(pair.significant for pair in self.pairs):
            return first + " All differences are significant."
        unsure = [f"{pair.first} and {pair.second}" for pair in self.pairs if not pair.significant]
        return first + (f" {'; '.join(unsure)} cannot be told apart." if len(unsure) <= 3 else "")

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def tables(self) -> dict[str, Table]:
        kept = f" where {self.where}" if self.where else ""
        made = {
            "systems": Table(
                [
                    Column("system"),
                    Column("mean", f"mean {self.by}", self.direction, estimate=True),
                    Column("rank"),
                ],
                [(each.system, each.mean, _ranks(each)) for each in self.systems],
                f"Systems by {self.by} over {self.prompts:,} prompts{kept}",
            ),
            "pairs": Table(
                [
                    Column("pair", "systems"),
                    Column("first", detail=True),
                    Column("second", detail=True),
                    Column("verdict"),
                    Column("difference", format="+", estimate=True),
                    Column("p", format="p"),
                    Column("p_adjusted", "p after Holm", format="p"),
                    Column("p_bh", "p after BH", format="p", detail=True),
                    Column("significant", detail=True),
                    Column("detectable", "detectable effect"),
                ],
                [self._pair(each) for each in self.pairs],
                f"Differences in {self.by}, first minus second, over the prompts that both answered",
            ),
        }
        if self.overlaps:
            made["overlap"] = Table(
                [Column("first"), Column("second"), Column("share", "images in common", estimate=True)],
                [(each.first, each.second, each.share) for each in self.overlaps],
                f"Images in common among the first {self.overlaps[0].k}: images of both by images of either",
            )
        return made

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """Each system's mean as a dot with its interval."""
        dots = [Dot(each.system, each.mean) for each in self.systems if each.mean.value is not None]
        if not dots:
            return {}
        domain = None if self.low is None or self.high is None else (self.low, self.high)
        how = "sign flips" if self.test == "sign_flip" else "the bootstrap"
        figure = Figure.of(
            lambda width: dot_interval(
                dots, axis=self.by, direction=self.direction, domain=domain, colours=colours, width=width
            ),
            f"Each dot is a system's mean {self.by} over prompts, each line its 95 % interval (Student's t). "
            f"Differences are paired by prompt; p by {how}, adjusted after Holm.",
        )
        return {"means": figure}

    def _pair(self, pair: Pair) -> tuple[Cell, ...]:
        tested = (absent("not tested") if p is None else p for p in (pair.p, pair.p_adjusted, pair.p_bh))
        detectable = absent(pair.undetectable or "not known") if pair.detectable is None else pair.detectable
        names = f"{pair.first} − {pair.second}", pair.first, pair.second, self._verdict(pair)
        return *names, pair.difference, *tested, pair.significant, detectable

    def _verdict(self, pair: Pair) -> str:
        if pair.difference.value is None:
            return "no prompt in common"
        if not pair.significant:
            return "cannot be told apart"
        if self.direction == "none":
            return "they differ"
        first = (pair.difference.value > 0) == (self.direction != "lower")
        return f"{pair.first if first else pair.second} is better"

    def _neither(self) -> str:
        return " Neither end of it is better." if self.direction == "none" else ""

    def _scale(self) -> str:
        if self.high is None or self.low is None:
            return ""
        return f" of {self.high:g}" if self.low == 0 else f" on a scale from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Basis:
    """A system's value on each prompt, what it is a value of, and which values can occur.

    `ranked` are the rankings that were measured, where they are.
    """

    values: pl.DataFrame
    name: str
    direction: Direction
    low: float | None
    high: float | None
    measure: Configured | None = None
    ranked: Ranked | None = None


@verb("analyse")
def compare(
    study: Study,
    by: Annotated[
        str | None,
        option(
            "Compare by this question with truth, or this measure with scores.",
            metavar="QUESTION|MEASURE",
            shown="the first question with truth",
        ),
    ] = None,
    *,
    where: Annotated[str, option("Keep only the prompts with this tag.", metavar="TAG=VALUE")] = "",
    test: Annotated[comparison.PairedTest, option("Use this paired test of two systems.")] = "sign_flip",
    seed: Annotated[int, SEED] = 0,
) -> Comparison:
    """Compare systems: which is better, by how much, and how sure that is.

    Means have 95 % intervals over prompts. Pairs are tested by sign flips (or the bootstrap) over the prompts
    both answered; p is adjusted after Holm, and after Benjamini and Hochberg, for all pairs. The minimum
    detectable effect is the difference that so many prompts would find with a power of 80 %.
    """
    if test not in comparison.PAIRED_TESTS:
        raise UsageError(f"there is no test {test!r}", remedy=near(test, comparison.PAIRED_TESTS))
    basis = values_by(study, by)
    values, name = basis.values, basis.name
    kept = tagged(study, where) if where else None
    if kept is not None:
        values = values.filter(pl.col("prompt_id").is_in(kept))
    if values["system_id"].n_unique() < 1:
        raise DataError(f"no system has a value of {name}" + (f" where {where}" if where else ""))
    matrix, prompts, systems = rollup.matrix(values)
    compared = comparison.compare(matrix, systems, direction=basis.direction, seed=seed, test=test)
    standings = [replace(each, mean=within(each.mean, basis.low, basis.high)) for each in compared.standings]
    notes, overlaps, brief = _about_rankings(study, basis, kept)
    return Comparison(
        by=name,
        direction=basis.direction,
        prompts=len(prompts),
        systems=standings,
        pairs=compared.pairs,
        where=where,
        low=basis.low,
        high=basis.high,
        permutations=compared.permutations,
        test=test,
        notes=notes,
        overlaps=overlaps,
        brief=brief,
    )


def _ranks(standing: Standing) -> str:
    best, worst = standing.best_rank, standing.worst_rank
    return f"{best}" if best == worst else f"{best}-{worst}"


def _about_rankings(
    study: Study, basis: Basis, prompts: Sequence[int] | None
) -> tuple[Sequence[str], Sequence[Overlap], str]:
    """What a reader of a ranking measure needs to know: unjudged images, and images that engines share."""
    if basis.measure is None or basis.ranked is None:
        return (), (), ""
    measure, ranked = basis.measure, basis.ranked
    shared = overlap(study, place(measure) or 10, ranked=ranked, prompts=prompts)
    notes = ranked.notes_for(measure, prompts)
    if basis.direction == "none" and measure.spec.details["rests_on"] in UNJUDGED:
        predicts = "it predicts which queries are easy, not which engine is better"
        notes.insert(0, f"{basis.name} needs no judgement: {predicts}.")
    return notes, shared, ranked.brief_for(measure, prompts)


def values_by(study: Study, by: str | None, ranked: Ranked | None = None) -> Basis:
    """A system's value on each prompt by a question or a measure; `ranked` if rankings were read before."""
    questions = {asked.name: asked for _, asked in reading.questions(study)}
    settled = reading.about_systems(study)
    if by is None:
        known = settled or ranking_measures(study)
        if not known:
            remedy = _by_ranking(study) or "Aggregate the judgements first: sightline truth STUDY"
            raise DataError("there is no truth to compare by", where=study.name, remedy=remedy)
        by = known[0]
    if by in questions:
        if by not in settled:
            remedy = _by_ranking(study) or "sightline truth STUDY"
            raise DataError(f"{by} has no truth about systems yet", remedy=remedy)
        asked = questions[by]
        return Basis(rollup.by_system(study, by), by, asked.direction, asked.low, asked.high)
    chosen = _scored(study, by, settled)
    spec = chosen.spec
    low, high = spec.range
    if spec.kind == "of_ranking":
        ranked = rankings_for(study, chosen, ranked)
        return Basis(ranked.values(chosen), chosen.short, spec.direction, low, high, chosen, ranked)
    return Basis(scores_by_system(study, str(chosen)), chosen.short, spec.direction, low, high, chosen)


def _by_ranking(study: Study) -> str:
    """What to do where the systems are search engines."""
    if "retriever" not in reading.systems(study)["kind"].to_list():
        return ""
    return "Search engines are compared by measures of their rankings: sightline score STUDY ndcg@10"


def ranking_measures(study: Study) -> list[str]:
    """The measures of rankings that are scored, have a better end and still a value, NDCG first."""
    scored = reading.measures(study).filter((pl.col("kind") == "of_ranking") & (pl.col("values") > 0))
    forms = [str(form) for form in scored["measure"]]
    by_form = {form: registry.find_measure(form) for form in forms}
    good, ranked = [], None
    for form in forms:
        if by_form[form].spec.direction == "none":
            continue
        try:
            ranked = rankings_for(study, by_form[form], ranked)
            if not ranked.values(by_form[form]).is_empty():
                good.append(form)
        except DataError:
            # Judgements that a predictor learned from may have been taken out since.
            if by_form[form].spec.details["rests_on"] != "everything":
                raise
    return sorted(good, key=lambda form: not form.startswith("ndcg"))


def _scored(study: Study, by: str, settled: Sequence[str]) -> Configured:
    """The measure a user means: as written if it is scored, else the one scored form of that name."""
    forms = [str(row["measure"]) for row in reading.measures(study).iter_rows(named=True) if row["values"]]
    name = by.partition("(")[0].partition("@")[0]
    alike = [form for form in forms if form.partition("(")[0] == name]
    if not alike:
        remedy = near(by, [*settled, *(form.partition("(")[0] for form in forms)])
        if any(name in registry.names(kind) for kind in MEASURE_KINDS):
            remedy = f"Compute it first: sightline score {study.name} {shlex.quote(by)}"
        raise UsageError(f"there is neither a question nor a scored measure called {by!r}", remedy=remedy)
    asked = registry.find_measure(by)
    if str(asked) in alike:
        return asked
    if by == name and len(alike) == 1:
        return registry.find_measure(alike[0])
    raise UsageError(f"{asked.short} is not scored in this study", remedy=f"Scored are: {'; '.join(alike)}.")


def scores_by_system(study: Study, measure: str) -> pl.DataFrame:
    """A system's mean score on each prompt.

    Rankings are measured again: judgements, settings and answers may have changed since they were scored, and
    finding that out costs more than the measure.
    """
    configured = registry.find_measure(measure)
    if configured.spec.kind == "of_ranking":
        return rankings_for(study, configured).values(configured)
    scores = reading.scores(study, configured.identity).filter(pl.col("value").is_not_null())
    kind = configured.spec.kind
    if kind == "of_set":
        systems = reading.systems(study).select("system_id", "system")
        return scores.join(systems, on="system_id").select("prompt_id", "system_id", "system", "value")
    on = {"of_image": ["image_id"], "of_answer": ["prompt_id", "image_id"]}.get(kind)
    if on is None:
        raise UsageError(f"{measure} is a measure of a prompt: it does not tell systems apart")
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    return (
        answers.drop("score")
        .join(scores.select([*on, "value"]), on=on)
        .group_by("prompt_id", "system_id", "system")
        .agg(pl.col("value").mean())
        .sort("prompt_id", "system_id")
    )


def tagged(study: Study, where: str) -> list[int]:
    """The prompts with a tag, written `name=value`."""
    name, separator, value = where.partition("=")
    tags = reading.tags(study)
    if not separator:
        raise UsageError(f"cannot read {where!r}", remedy="Write a tag and its value: --where skill=counting")
    known = tags.filter(pl.col("name") == name)
    if known.is_empty():
        raise UsageError(f"no prompt has a tag {name!r}", remedy=near(name, tags["name"].unique().to_list()))
    ids = known.filter(pl.col("value") == value)["prompt_id"].to_list()
    if not ids:
        raise UsageError(
            f"no prompt has {name} = {value!r}", remedy=near(value, known["value"].unique().to_list())
        )
    return [int(prompt) for prompt in ids]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1]
