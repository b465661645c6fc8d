"""The sections of a report: verbs' results as they are, and the few tables that only a report has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from sightline import registry
from sightline.comparison.breakdown import breakdown, main_tags
from sightline.comparison.compare import Comparison, compare
from sightline.comparison.preferences import Preferences, preference_questions, preferences
from sightline.comparison.queries import queries
from sightline.comparison.trust import trust
from sightline.comparison.values import ranking_measures, scores_by_system
from sightline.data.check import SEVERITIES, check
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Estimate, absent, direction_said, plural
from sightline.judging.charts import label_pictures
from sightline.measures.rankings import rankings_for
from sightline.prediction.fit import LEAST
from sightline.records import Finding, Question
from sightline.rendering.blocks import Block, Figure, Findings, Grid, Section
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.document import Fact, NextStep, section_of
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.report.prediction_figures import prediction_figures
from sightline.report.stored_predictions import best, quality_table, read_predictions, scatter_figure
from sightline.statistics.intervals import mean_interval
from sightline.study import reading
from sightline.study.study import Study
from sightline.variability.figures import variability_pictures
from sightline.variability.variability import read_variability

Colours = Mapping[str, Colour]

MOST_BREAKDOWNS = 2
ON_THE_MAP = 1000
"""Prompts on the map of a report; `sightline figures` draws all."""


def facts(study: Study) -> list[Fact]:
    """What the study holds."""
    counts = reading.counts(study)
    named = counts["image"] - counts["image_file"]
    kinds = ("prompt", "system", "answer", "image", "judgement", "annotator", "truth")
    notes = {"image": f"{named:,} known by name only" if named else ""}
    return [
        Fact(kind if counts[kind] == 1 else f"{kind}s", counts[kind], notes.get(kind, ""))
        for kind in kinds
        if counts[kind]
    ]


def comparisons(study: Study, asked: Sequence[Question], seed: int) -> list[Comparison]:
    """The systems compared on every question that has truth about them; engines by measures of rankings."""
    known = set(reading.about_systems(study))
    names = [question.name for question in asked if question.name in known]
    compared = (compare(study, name, seed=seed) for name in (*names, *ranking_measures(study)))
    return [each for each in compared if isinstance(each, Comparison)]


def rankings(compared: Sequence[Comparison], asked: Sequence[Question], colours: Colours) -> list[Section]:
    """Every comparison, the headline first."""
    wordings = {question.name: question.wording for question in asked}
    made = []
    for number, each in enumerate(compared, 1):
        # The first finding is the answer at the top of the page already.
        anchor, title, said = "ranking", "The ranking", ""
        if number > 1:
            anchor, title, said = f"ranking-{number}", f"The ranking by {each.by}", each.sentence
        lead = " ".join(part for part in (wordings.get(each.by), each.brief, said) if part)
        made.append(section_of(each, anchor, title, lead, figures=each.figures(colours), notes=()))
    return made


def preferred(study: Study) -> list[Preferences]:
    """The systems by every question of preference."""
    return [preferences(study, name) for name in preference_questions(study)]


def preference_sections(found: Sequence[Preferences], colours: Colours, answered: bool) -> list[Section]:
    """Every ranking by votes between systems; the first one's finding may be the page's answer already."""
    return [
        section_of(
            each,
            f"preference-{number}",
            f"Preferences on {each.by}",
            " ".join([*([] if answered and number == 1 else [each.sentence]), *each.notes]),
            figures=each.figures(colours),
            notes=(),
        )
        for number, each in enumerate(found, 1)
    ]


def breakdowns(study: Study, head: Comparison, colours: Colours) -> list[Section]:
    """The headline comparison split by the study's main tags."""
    tags = main_tags(study)[:MOST_BREAKDOWNS]
    split = [breakdown(study, head.by, tag) for tag in tags]
    return [
        section_of(each, f"by-{number}", f"By {each.tag}", figures=each.figures(colours))
        for number, each in enumerate(split, 1)
    ]


def measure_trust(study: Study) -> Section:
    """The strongest measures against every question."""
    result = trust(study)
    brief = result.brief
    notes = [*brief.notes]
    if len(brief.rows) < len(result.rows):
        more = len(result.rows) - len(brief.rows)
        notes.append(f"{more} more rows, every statistic and the tests between measures: sightline trust")
    without = ["levels", "differences"]
    return section_of(
        brief, "trust", "Measures against people", result.sentence, notes=notes, without=without
    )


def query_analysis(study: Study) -> Section | None:
    """What goes with a query being hard, where rankings were measured."""
    by = next(iter(ranking_measures(study)), None)
    if by is None:
        return None
    result = queries(study, by)
    lead = (
        f"{result.sentence} A positive correlation means that queries with more of it are answered better; "
        "depth counts the steps from the root of WordNet, so abstract words have small depths."
    )
    return section_of(result, "queries", "What makes a query hard", lead, without=["queries"])


def variability(study: Study, colours: Colours) -> Section:
    """How alike the images of one prompt are."""
    result = read_variability(study)
    what = "similarity of a prompt's images"
    systems = sorted(result.systems, key=lambda each: -(each.similarity.value or 0))
    dots = [Dot(each.system, each.similarity) for each in systems if each.similarity.value is not None]
    blocks: list[Block] = []
    if dots:
        chart = Figure.of(
            lambda width: dot_interval(dots, axis=what, colours=colours, width=width),
            f"Each dot is a system's mean {what}, each line its 95 % interval.",
        )
        blocks.append(chart)
    columns = [Column("system"), Column("similarity", what, estimate=True)]
    blocks.append(
        Grid.of(Table(columns, [(each.system, each.similarity) for each in systems], "Variability"))
    )
    with suppress(DataError):  # images may have been removed since they were measured
        blocks += variability_pictures(study, colours=colours).blocks
    lead = (
        f"1 minus the mean distance over all pairs of a prompt's images ({result.measure}); 1 means that "
        "they all look the same. Neither end is better in itself."
    )
    return Section("variability", "Variability", lead, blocks)


def prediction(study: Study, asked: Sequence[Question], colours: Colours, seed: int) -> Section | None:
    """How well the truth of a prompt can be predicted, for the first question with predictions."""
    for question in asked:
        predictions = read_predictions(study, question.name)
        shown = best(predictions)
        if shown is None:
            continue
        blocks: list[Block] = [scatter_figure(shown)]
        blocks.append(Grid.of(quality_table(question.name, predictions), "All predictors"))
        with suppress(DataError):  # too few prompts may be left
            blocks += prediction_figures(study, most=ON_THE_MAP, colours=colours, seed=seed).blocks
        lead = f"How well {question.name} can be predicted before anybody has judged."
        return Section("prediction", "Prediction", lead, blocks)
    return None


def annotators(study: Study, asked: Sequence[Question]) -> Section | None:
    """Who judged, how far they agree, and who was excluded and why."""
    agreement: list[tuple[Cell, ...]] = []
    people: dict[str, tuple[int, Estimate, str]] = {}
    for question in asked:
        settlement = reading.newest_settlement(study, question.name)
        notes = {} if settlement is None else reading.settlement_notes(study, settlement)
        if "annotators" not in notes:
            continue
        coefficient = f"Krippendorff's alpha ({question.scale})"
        both = (_agreement(notes, each) for each in ("agreement_everyone", "agreement"))
        agreement.append((question.name, coefficient, *both))
        excluded = {name: f"{question.name}: {reason} ({rule})" for name, rule, reason in notes["left_out"]}
        for name, n, r, low, high, shared in notes["annotators"]:
            own = absent("no item in common") if r is None else Estimate(r, low, high, shared)
            count, first, why = people.get(name, (0, own, ""))
            why = "; ".join(part for part in (why, excluded.get(name, "")) if part)
            people[name] = (count + n, first, why)
    if not agreement:
        return None
    columns = [
        Column("question"),
        Column("coefficient"),
        Column("everyone", "agreement, everyone", "higher", estimate=True),
        Column("value", "agreement, after exclusion", "higher", estimate=True),
    ]
    blocks: list[Block] = [
        Grid.of(Table(columns, agreement, "Agreement of the annotators"), "Every question")
    ]
    if people:
        columns = [
            Column("annotator"),
            Column("judgements"),
            Column("agreement", "agreement with the others", "higher", estimate=True),
            Column("counted"),
        ]
        rows = [
            (name, count, own, f"excluded: {why}" if why else "yes")
            for name, (count, own, why) in sorted(people.items())
        ]
        blocks.append(Grid.of(Table(columns, rows, "The annotators"), "All annotators"))
    out = sum(bool(why) for _, _, why in people.values())
    lead = f"{plural(len(people), 'annotator')} judged; {out or 'none'} excluded."
    return Section("judges", "The annotators", lead, [*blocks, *label_pictures(study)])


def _agreement(notes: Mapping[str, Any], name: str) -> Estimate:
    noted = notes.get(name)
    return Estimate(**noted) if isinstance(noted, dict) else absent("aggregated by an earlier version")


def checks(study: Study) -> Section:
    """What the integrity rules found."""
    result = check(study)
    findings = [each.finding for each in result.findings]
    findings += [Finding(f"{rule} is switched off: {why}", 0, severity="note") for rule, why in result.off]
    findings.sort(key=lambda each: SEVERITIES.index(each.severity))
    checked = result.checked.rstrip(". ")
    lead = f"{plural(len(findings), 'finding')} in {checked}." if findings else f"Nothing found in {checked}."
    return Section("checks", "What the checks found", lead, [Findings(findings)] if findings else [])


def measures(study: Study) -> Section | None:
    """Every measure of an image, answer or ranking by system."""
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
            cells = [absent(error.what)] * len(systems)  # what it rests on has been removed since
        else:
            for system in systems:
                mine = values.filter(pl.col("system") == system)["value"].to_numpy()
                mean = mean_interval(mine, low=measure.spec.range[0], high=measure.spec.range[1])
                cells.append(mean if len(mine) else absent("no score"))
        rows.append((measure.short, direction_said(measure.spec.direction), *cells))
    if not rows or not systems:
        return None
    columns = [Column("measure"), Column("direction")]
    columns += [Column(f"mean_{system}", system, estimate=True) for system in systems]
    table = Table(columns, rows, "Means over prompts with 95 % intervals; n prompts")
    lead = "Automatic measures of every system's images."
    return Section("measures", "What the measures say", lead, [Grid.of(table, "All measures")])


def gaps(study: Study) -> Section | None:
    """What could not be computed, how often, and why."""
    counts = reading.counts(study)
    rows: list[tuple[str, int, str, str]] = []
    named = counts["image"] - counts["image_file"]
    if named and counts["image_file"]:
        rows.append(("images without their files", named, "known by name only", "Import the files."))
    for row in reading.measures(study).iter_rows(named=True):
        if row["without"]:
            reasons = _reasons(study, row).value_counts(sort=True).head(5)
            measure = str(row["measure"]).partition("(")[0]
            rows += [(measure, int(n), str(reason), "") for reason, n in reasons.iter_rows()]
    if not rows:
        return None
    columns = [
        Column("what"), Column("count", "how many"), Column("reason", "why"), Column("remedy", "what to do")
    ]  # fmt: skip
    total = plural(sum(row[1] for row in rows), "value")
    lead = f"{total} could not be computed; none was replaced by a guess or a zero."
    table = Table(columns, rows, "What could not be computed, and why")
    return Section("gaps", "What could not be computed", lead, [Grid.of(table, "All reasons")])


def _reasons(study: Study, measure: Mapping[str, object]) -> pl.Series:
    """Why there is no value; of rankings as they are now, since relevance may have changed."""
    if measure["kind"] != "of_ranking":
        reasons = reading.scores(study, str(measure["identity"]))["reason"].to_list()
    else:
        try:
            chosen = registry.find_measure(str(measure["measure"]))
        except UsageError:
            return pl.Series("reason", [], pl.String)  # scored by an extension that is not installed here
        try:
            reasons = [outcome.reason for outcome in rankings_for(study, chosen).outcomes(chosen)]
        except DataError as error:
            reasons = [error.what]  # what it rests on has been removed since
    return pl.Series("reason", reasons, pl.String).drop_nulls()


def next_steps(study: Study) -> list[NextStep]:
    """What would add to this study: only what can work on it."""
    counts, home = reading.counts(study), study.home
    steps = []
    if counts["judgement"] and not counts["truth"]:
        steps.append(NextStep("Aggregate the votes.", f"sightline truth {home}"))
    if not counts["judgement"] and not counts["truth"] and counts["image_file"]:
        steps.append(
            NextStep("Let people judge the images.", f"sightline annotate {home} --mode two_sliders")
        )
    kinds = set(reading.measures(study)["kind"].to_list())
    if counts["image_file"] and "of_image" not in kinds:
        steps.append(NextStep("Measure the images.", f"sightline score {home}"))
    answers = reading.answers(study, "generator").filter(pl.col("sha256").is_not_null())
    several = answers.group_by("system_id", "prompt_id").len().filter(pl.col("len") > 1)
    if "of_set" not in kinds and not several.is_empty():
        steps.append(NextStep("See how much the images of a prompt vary.", f"sightline variability {home}"))
    if not counts["prediction"] and counts["truth"] and counts["prompt"] >= LEAST:
        steps.append(NextStep("Predict how hard prompts are.", f"sightline fit {home}"))
    return steps
