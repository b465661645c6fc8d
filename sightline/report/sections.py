"""The sections of a report, each read from the study as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sightline import registry
from sightline.comparison.compare import (
    Comparison,
    TagMean,
    breakdown,
    compare,
    main_tags,
    ranking_measures,
    scores_by_system,
    values_by,
)
from sightline.comparison.queries import query_analysis
from sightline.comparison.query_tables import query_tables
from sightline.comparison.trust import trust
from sightline.data import check as checking
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Direction, Estimate, absent, format_cell
from sightline.measures.rankings import rankings_for, relevance
from sightline.prediction.fit import LEAST
from sightline.records import Prompt, Question
from sightline.rendering import document as doc
from sightline.rendering.blocks import Block
from sightline.rendering.report_values import quantity
from sightline.rendering.shown import Finding, Scale, Severity, ShownPrompt, Thumbnail
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.statistics.intervals import mean_interval, stratified_mean_interval, within
from sightline.study import reading, rollup
from sightline.study.relevance import rules
from sightline.study.study import Study
from sightline.variability import figures as picturing
from sightline.variability.variability import read_variability

SHOWN = 4
"""Prompts shown at each end."""
PICTURES = 2
"""Pictures a system and prompt."""
ENOUGH = 4
"""Prompts a group must have to be called a weak spot."""


def scale(question: Question | None, name: str, direction: str = "higher") -> Scale:
    """What a question's numbers mean."""
    if question is None:
        return Scale(name, _direction(direction))
    return Scale(name, _direction(question.direction), question.low, question.high)


def _direction(told: str) -> Direction:
    return "higher" if told == "higher" else "lower" if told == "lower" else "none"


def facts(study: Study) -> list[doc.Fact]:
    """What the study holds."""
    counts = reading.counts(study)
    named = counts["image"] - counts["image_file"]
    told = [
        doc.Fact("prompts", counts["prompt"]),
        doc.Fact("systems", counts["system"]),
        doc.Fact("answers", counts["answer"]),
        doc.Fact("images", counts["image"], f"{named:,} known by name only" if named else ""),
        doc.Fact("judgements", counts["judgement"]),
        doc.Fact("annotators", counts["annotator"]),
        doc.Fact("truths", counts["truth"]),
    ]
    return [fact for fact in told if fact.count]


def comparisons(study: Study, asked: Sequence[Question], seed: int) -> list[Comparison]:
    """The systems compared on every question that has truth about them; engines by measures of rankings."""
    settled = set(reading.about_systems(study))
    names = [question.name for question in asked if question.name in settled]
    return [compare(study, name, seed=seed) for name in (*names, *ranking_measures(study))]


def ranking(compared: Comparison, question: Question | None) -> doc.Ranking:
    """A comparison as the report shows it."""
    systems = [
        doc.RankedSystem(placed.system, quantity(placed.mean), placed.best_rank, placed.worst_rank)
        for placed in compared.systems
    ]
    differences = [
        doc.Difference(
            pair.first,
            pair.second,
            quantity(pair.difference),
            pair.p,
            pair.p_adjusted,
            _verdict(pair.first, pair.second, pair.difference, pair.significant, compared.direction),
        )
        for pair in compared.pairs
    ]
    averaged = ", each system's images of a prompt averaged first" if question is not None else ""
    method = (
        f"Means over prompts{averaged}; Student's 95 % intervals. "
        "Differences are paired by prompt; p by sign flips, adjusted after Holm."
    )
    summary = question.wording if question is not None else compared.brief
    return doc.Ranking(_scale_of(compared, question), systems, differences, summary, method)


def _scale_of(compared: Comparison, question: Question | None) -> Scale:
    if question is not None:
        return scale(question, compared.by)
    return Scale(compared.by, _direction(compared.direction), compared.low, compared.high)


def _verdict(first: str, second: str, difference: Estimate, significant: bool, direction: str) -> str:
    if difference.value is None:
        return "no prompt in common"
    if not significant:
        return "cannot be told apart"
    if direction == "none":
        return "they differ"
    first_wins = (difference.value > 0) == (direction != "lower")
    return f"{first if first_wins else second} is better"


def breakdowns(study: Study, head: Comparison, questions: dict[str, Question]) -> list[doc.Breakdown]:
    """The headline question split by the study's main tags."""
    found = []
    for tag in main_tags(study)[:2]:
        cells = breakdown(study, head.by, tag)
        shown = [doc.BreakdownCell(cell.group, cell.system, quantity(cell.mean)) for cell in cells]
        summary = _weak_spot(cells, head)
        found.append(doc.Breakdown(tag, scale(questions.get(head.by), head.by), shown, summary))
    return found


def _weak_spot(cells: Sequence[TagMean], head: Comparison) -> str:
    """The worst group of a system that lies below its own mean by more than its interval, if there is one."""
    sign = -1.0 if head.direction == "lower" else 1.0
    overall = {placed.system: placed.mean.value for placed in head.systems}
    weak = []
    for cell in cells:
        end, own = (cell.mean.high if sign > 0 else cell.mean.low), overall[cell.system]
        sure = end is not None and own is not None and sign * end < sign * own
        if cell.mean.value is not None and cell.mean.n >= ENOUGH and sure:
            weak.append((sign * cell.mean.value, cell))
    if not weak:
        return f"No group of {ENOUGH} or more prompts stands out below its system's own mean."
    worst = min(weak, key=lambda each: each[0])[1]
    return (
        f"The weakest spot among groups of {ENOUGH} or more prompts is {worst.system} on {worst.group}: "
        f"{format_cell(quantity(worst.mean))} over {worst.mean.n}; overall {overall[worst.system]:.2f}."
    )


def prompts(study: Study, head: Comparison, questions: dict[str, Question]) -> doc.Prompts:
    """The hardest and the easiest prompts, with pictures."""
    values = values_by(study, head.by).values.group_by("prompt_id")
    means = values.agg(pl.col("value").mean(), pl.len().cast(pl.Int64).alias("systems"))
    spread = means.sort("value", "prompt_id", descending=[head.direction == "lower", False])
    asked = head.by in questions
    answers = rollup.of_answers(study, head.by) if asked else _ranked_answers(study)
    judged = asked and not answers.is_empty()
    shown_answers = answers if judged or not asked else reading.answers(study).with_columns(_NO_VALUE)
    rows = list(spread.iter_rows(named=True))
    hard = rows[:SHOWN]
    easy = rows[SHOWN:][-SHOWN:][::-1]
    texts = reading.prompt_records(study, [row["prompt_id"] for row in (*hard, *easy)])

    def shown(row: dict[str, object]) -> ShownPrompt:
        key = int(str(row["prompt_id"]))
        mine = shown_answers.filter(pl.col("prompt_id") == key)
        worth: Estimate = Estimate(float(str(row["value"])), n=int(str(row["systems"])))
        if judged:
            inside = stratified_mean_interval(mine["value"].to_numpy(), mine["system_id"].to_numpy())
            worth = quantity(within(inside, head.low, head.high))
        record = texts[key]
        return ShownPrompt(record.text, worth, _few_tags(record), thumbnails(study, mine))

    return doc.Prompts(
        _scale_of(head, questions.get(head.by)),
        [shown(row) for row in hard],
        [shown(row) for row in easy],
        spread["value"].to_list(),
        "A prompt's value is the mean over systems, each weighing the same"
        + (
            "; the interval comes from how far a system's own images of the prompt differ." if judged else "."
        ),
    )


def _ranked_answers(study: Study) -> pl.DataFrame:
    """The first answers of search engines with what is known of their relevance."""
    first = reading.answers(study, "retriever").filter(pl.col("image_id").is_not_null())
    first = first.sort("system_id", "prompt_id", "position").group_by("system_id", "prompt_id").head(PICTURES)
    try:
        known = relevance(study, rules(study))
    except DataError:  # engines may be ranked by a measure that needs no relevance
        return first.with_columns(_NO_VALUE)
    return first.drop("score").join(known, on=["prompt_id", "image_id"], how="left")


_NO_VALUE = pl.lit(None, pl.Float64).alias("value")


def _few_tags(record: Prompt) -> list[tuple[str, str]]:
    return [(name, value) for name, value in sorted(record.tags.items()) if len(value) <= 40][:3]


def thumbnails(study: Study, answers: pl.DataFrame, each: int = PICTURES) -> list[Thumbnail]:
    """The first pictures of every system among these answers."""
    found = []
    for (_, system), rows in answers.sort("system_id", "position").group_by(
        ["system_id", "system"], maintain_order=True
    ):
        for row in rows.head(each).iter_rows(named=True):
            found.append(_thumbnail(study, str(system), row))
    return found


def _thumbnail(study: Study, system: str, row: dict[str, object]) -> Thumbnail:
    value = row.get("value")
    worth = Estimate(float(str(value))) if value is not None else None
    sha256 = row.get("sha256")
    if sha256 is None:
        return Thumbnail(None, system, worth, "the file is not here")
    try:
        return Thumbnail(study.images.thumbnail(str(sha256)), system, worth)
    except DataError as error:
        return Thumbnail(None, system, worth, error.what)


def gallery(study: Study) -> list[ShownPrompt]:
    """Some prompts with pictures, for a study that nobody has judged."""
    answers = reading.answers(study).filter(pl.col("sha256").is_not_null())
    chosen = answers["prompt_id"].unique(maintain_order=True).to_list()[: 2 * SHOWN]
    texts = reading.prompt_records(study, chosen)
    return [
        ShownPrompt(
            texts[key].text,
            None,
            _few_tags(texts[key]),
            thumbnails(study, answers.filter(pl.col("prompt_id") == key).drop("score")),
        )
        for key in chosen
    ]


def variability(study: Study) -> doc.Variability:
    """How alike the images of one prompt are."""
    found = read_variability(study)
    systems = sorted(found.systems, key=lambda alike: -(alike.similarity.value or 0))
    return doc.Variability(
        Scale("similarity of a prompt's images", "none"),
        [doc.SystemVariability(alike.system, quantity(alike.similarity)) for alike in systems],
        summary=f"1 minus the mean distance over all pairs of a prompt's images ({found.measure}); "
        "1 means they all look the same. Neither end is better in itself.",
    )


def variability_pictures(study: Study, colours: Mapping[str, Colour]) -> Sequence[Block]:
    """The most and least varied prompts, maps, overlays and curves of what was measured."""
    return picturing.variability_pictures(study, colours=colours).blocks


def trusted(study: Study) -> doc.Trust:
    """Every measure against every question."""
    found = trust(study)
    rows = [
        doc.MeasureTrust(each.measure, _direction(each.direction), each.question, quantity(each.correlation))
        for each in sorted(found.rows, key=lambda a: (a.question, -abs(a.correlation.value or 0)))
    ]
    return doc.Trust(rows)


def judges(study: Study, asked: Sequence[Question]) -> doc.Judges | None:
    """Who judged, how far they agree, and who was left out and why."""
    people: dict[str, doc.Annotator] = {}
    agreement = []
    for question in asked:
        settlement = reading.newest_settlement(study, question.name)
        if settlement is None:
            continue
        notes = reading.settlement_notes(study, settlement)
        if "annotators" not in notes:
            continue
        value: Estimate = absent("not defined for these votes")
        if notes.get("agreement") is not None:
            ends = (notes.get("agreement_low"), notes.get("agreement_high"))
            value = Estimate(float(notes["agreement"]), *ends, n=int(notes["agreement_n"]))
        agreement.append(doc.Agreement(question.name, f"Krippendorff's alpha ({question.scale})", value))
        out = {name: f"{question.name}: {reason} ({rule})" for name, rule, reason in notes["left_out"]}
        for name, n, r, low, high, shared in notes["annotators"]:
            told: Estimate = absent("no item in common")
            if r is not None:
                told = Estimate(r, low, high, shared) if low is not None else Estimate(r, n=shared)
            before = people.get(name)
            why = "; ".join(part for part in (before.excluded if before else "", out.get(name, "")) if part)
            count = n + (before.judgements if before else 0)
            people[name] = doc.Annotator(name, count, before.agreement if before else told, why)
    if not agreement:
        return None
    return doc.Judges(sorted(people.values(), key=lambda a: a.name), agreement)


def checks(study: Study) -> doc.Checks:
    """What the integrity rules found."""
    found = checking.check(study)
    findings = [
        Finding(told.what, told.n, _severity(told.severity), told.examples, told.remedy)
        for told in (each.finding for each in found.findings)
    ]
    findings += [Finding(f"{rule} is switched off: {reason}", 0, "note") for rule, reason in found.off]
    return doc.Checks(found.checked, findings)


def _severity(told: str) -> Severity:
    return "error" if told == "error" else "note" if told == "note" else "warning"


def measured(study: Study) -> list[doc.Extra]:
    """Every measure of an image or answer by system, as a table."""
    systems = reading.systems(study).filter(pl.col("answers") > 0)["system"].to_list()
    rows: list[Sequence[Cell]] = []
    for row in reading.measures(study).iter_rows(named=True):
        if row["kind"] == "of_prompt" or not row["values"]:
            continue
        try:
            measure = registry.find_measure(str(row["measure"]))
        except UsageError:
            continue  # scored by an extension that is not installed here
        cells: list[Estimate] = []
        try:
            values = scores_by_system(study, str(measure))
        except DataError as error:
            cells = [absent(error.what)] * len(systems)  # what it rests on has been taken out since
        else:
            for system in systems:
                mine = values.filter(pl.col("system") == system)["value"].to_numpy()
                known = within(mean_interval(mine), *measure.spec.range)
                cells.append(known if len(mine) else absent("no score"))
        better = {"higher": "↑ higher is better", "lower": "↓ lower is better"}.get(
            measure.spec.direction, ""
        )
        rows.append((measure.short, better, *cells))
    if not rows or not systems:
        return []
    columns = [Column("measure"), Column("direction")]
    columns += [Column(system, system, estimate=True) for system in systems]
    table = Table(columns, rows, "Means over prompts with 95 % intervals; n prompts.")
    return [
        doc.Extra("What the measures say", "Automatic measures of every system's images.", tables=[table])
    ]


def queries(study: Study) -> list[doc.Extra]:
    """What goes with a query being hard, where rankings were measured."""
    by = next(iter(ranking_measures(study)), None)
    if by is None:
        return []
    found = query_analysis(study, by)
    text = " ".join(
        [
            f"What goes with the values of {found.by} over {found.queries.height:,} queries. A positive "
            "correlation means that queries with more of it are answered better; depth counts the steps from "
            "the root of WordNet, so that abstract words lie at small depths.",
            *found.notes,
        ]
    )
    tables = [table for name, table in query_tables(found).items() if name != "queries" and table.rows]
    return [doc.Extra("What makes a query hard", text, tables=tables)]


def gaps(study: Study) -> list[doc.Gap]:
    """What could not be computed, how often, and why."""
    counts = reading.counts(study)
    found = []
    named = counts["image"] - counts["image_file"]
    if named and counts["image_file"]:
        found.append(doc.Gap("images without their files", "known by name only", named, "Import the files."))
    for row in reading.measures(study).iter_rows(named=True):
        if not row["without"]:
            continue
        for reason, n in _reasons(study, row).value_counts(sort=True).head(5).iter_rows():
            found.append(doc.Gap(str(row["measure"]).partition("(")[0], str(reason), int(n)))
    return found


def _reasons(study: Study, measure: Mapping[str, object]) -> pl.Series:
    """Why things have no value; of rankings as they stand, since relevance may have changed."""
    if measure["kind"] != "of_ranking":
        told = reading.scores(study, str(measure["identity"]))["reason"].to_list()
    else:
        try:
            chosen = registry.find_measure(str(measure["measure"]))
        except UsageError:
            return pl.Series("reason", [], pl.String)  # scored by an extension that is not installed here
        try:
            told = [outcome.reason for outcome in rankings_for(study, chosen).outcomes(chosen)]
        except DataError as error:
            told = [error.what]  # what it rests on has been taken out since
    return pl.Series("reason", told, pl.String).drop_nulls()


def next_steps(study: Study) -> list[doc.NextStep]:
    """What would make this study say more: only what can work on it."""
    counts, home = reading.counts(study), study.home
    steps = []
    if counts["judgement"] and not counts["truth"]:
        steps.append(doc.NextStep("settle the votes", f"sightline truth {home}"))
    if not counts["judgement"] and not counts["truth"] and counts["image_file"]:
        steps.append(doc.NextStep("ask people", f"sightline annotate {home} --mode two_sliders"))
    kinds = set(reading.measures(study)["kind"].to_list())
    if counts["image_file"] and "of_image" not in kinds:
        steps.append(doc.NextStep("measure the images", f"sightline score {home}"))
    answers = reading.answers(study, "generator").filter(pl.col("sha256").is_not_null())
    several = answers.group_by("system_id", "prompt_id").len().filter(pl.col("len") > 1)
    if "of_set" not in kinds and not several.is_empty():
        steps.append(
            doc.NextStep("see how much the images of a prompt vary", f"sightline variability {home}")
        )
    if not counts["prediction"] and counts["truth"] and counts["prompt"] >= LEAST:
        steps.append(doc.NextStep("predict how hard prompts are", f"sightline fit {home}"))
    return steps
