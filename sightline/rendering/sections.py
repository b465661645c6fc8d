"""From the document to sections of blocks: what is charted, what is tabled, what is folded away."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from sightline.estimate import Cell, direction_said
from sightline.rendering import charts
from sightline.rendering.blocks import Block, Figure, Findings, Grid, Heading, Section, cards
from sightline.rendering.charts import NARROW, WIDE, Dot, Spec
from sightline.rendering.document import (
    Breakdown,
    Checks,
    Gap,
    Judges,
    NextStep,
    Prediction,
    Prompts,
    Provenance,
    Ranking,
    Report,
    Trust,
    Variability,
)
from sightline.rendering.shown import ShownPrompt
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, Colour, system_colours

Colours = Mapping[str, Colour]

LONGEST_OPEN_TABLE = 12
MOST_GROUPS = 40
MOST_SERIES_IN_DOTS = 4
MOST_COLUMNS_ON_A_PHONE = 9


def sections(report: Report) -> list[Section]:
    """Every section the report has something for, in reading order."""
    colours = system_colours(system_names(report))
    made = [_ranking(ranking, index, colours) for index, ranking in enumerate(report.rankings)]
    made += [_breakdown(breakdown, index, colours) for index, breakdown in enumerate(report.breakdowns)]
    if report.prompts:
        made.append(_prompts(report.prompts, colours))
    if report.gallery:
        shown = cards(report.gallery, None, colours)
        lead = f"{_counted(len(report.gallery), 'prompt')} of the study, with what was answered."
        made.append(Section("gallery", "A look at the images", lead, [shown]))
    if report.variability:
        made.append(_variability(report.variability, colours))
    if report.trust:
        made.append(_trust(report.trust))
    if report.prediction:
        made.append(_prediction(report.prediction, colours))
    for index, extra in enumerate(report.extras):
        blocks: list[Block] = [Figure(chart.spec, chart.narrow, chart.caption) for chart in extra.charts]
        blocks += [_grid(table, "The numbers") for table in extra.tables]
        made.append(Section(f"extra-{index + 1}", extra.title, extra.text, blocks))
    if report.judges:
        made.append(_judges(report.judges))
    if report.checks:
        made.append(_checks(report.checks))
    if report.gaps:
        made.append(_gaps(report.gaps))
    return made


def system_names(report: Report) -> set[str]:
    """Every system named anywhere, so that its colour is the same everywhere."""
    names = {system.name for ranking in report.rankings for system in ranking.systems}
    names |= {cell.system for breakdown in report.breakdowns for cell in breakdown.cells}
    shown: list[ShownPrompt] = list(report.gallery)
    if report.prompts:
        shown += [*report.prompts.hardest, *report.prompts.easiest]
    if report.variability:
        names |= {system.system for system in report.variability.systems}
        shown += [*report.variability.most_varied, *report.variability.most_uniform]
    if report.prediction:
        shown += report.prediction.next_hardest
    names |= {thumbnail.system for prompt in shown for thumbnail in prompt.thumbnails}
    return names - {""}


def next_steps(report: Report) -> Sequence[NextStep]:
    """What to do next: as the report says, else what would bring each section that is absent."""
    if report.next_steps:
        return report.next_steps
    missing = (
        (report.checks, "Nothing was checked: broken, blank or doubled images may be among them.", "check"),
        (report.judges, "Nobody's judgement is here yet: ask people.", "annotate"),
        (report.prompts, "No truth is settled, so no prompt can be called hard or easy.", "truth"),
        (report.rankings, "The systems are not compared, so there is no ranking.", "compare"),
        (report.trust, "No measure was held against people's judgement.", "trust"),
        (report.variability, "How alike the images of one prompt are is not known.", "variability"),
        (report.prediction, "Which prompts will be hard is not predicted.", "predict"),
    )
    return [
        NextStep(what, f"sightline {verb} {report.study}") for section, what, verb in missing if not section
    ]


def provenance_tables(provenance: Provenance) -> list[Table]:
    """How the report was made, as small tables."""
    made = (
        ("Versions", "part", "version", provenance.versions),
        ("Seeds", "of", "seed", provenance.seeds),
        ("Rules", "rule", "as set", provenance.rules),
        ("Measures", "measure", "identity", provenance.measures),
    )
    return [
        Table(
            (Column("name", first), Column("value", second)),
            [(name, str(value)) for name, value in rows],
            title,
        )
        for title, first, second, rows in made
        if rows
    ]


def _ranking(ranking: Ranking, index: int, colours: Colours) -> Section:
    scale = ranking.scale
    dots = [Dot(row.name, row.mean) for row in ranking.systems if row.mean.value is not None]
    blocks: list[Block] = []
    if dots:
        blocks.append(
            _figure(
                lambda width: charts.dot_interval(
                    dots,
                    axis=scale.name,
                    direction=scale.direction,
                    domain=scale.domain,
                    colours=colours,
                    width=width,
                ),
                f"Each dot is a system's mean {scale.name}, each line its interval. {ranking.method}".strip(),
            )
        )
    blocks.append(_grid(_ranking_table(ranking), "The ranking in numbers"))
    if ranking.differences:
        blocks.append(Heading("Can they be told apart?"))
        blocks.append(_grid(_difference_table(ranking), "The differences in numbers"))
    lead = ranking.summary or _counted(len(ranking.systems), "system") + f" by {scale.name}, best first."
    anchor = "ranking" if index == 0 else f"ranking-{index + 1}"
    title = "The ranking" if index == 0 else f"The ranking by {scale.name}"
    return Section(anchor, title, lead, blocks)


def _ranking_table(ranking: Ranking) -> Table:
    scale = ranking.scale
    shares = {share.name: share for system in ranking.systems for share in system.shares}
    ranked = any(system.rank_low is not None for system in ranking.systems)
    columns = [Column("system"), Column("mean", f"mean {scale.name}", scale.direction, estimate=True)]
    columns += [Column("rank", "rank (1 is best)")] if ranked else []
    columns += [
        Column(f"share_{index}", share.name, share.direction, format=share.format)
        for index, share in enumerate(shares.values())
    ]
    rows: list[list[Cell]] = []
    for system in ranking.systems:
        own = {share.name: share.value for share in system.shares}
        row: list[Cell] = [system.name, system.mean]
        row += [_rank(system.rank_low, system.rank_high)] if ranked else []
        rows.append(row + [own.get(name) for name in shares])
    return Table(columns, rows, f"Systems by {scale.name}")


def _difference_table(ranking: Ranking) -> Table:
    columns = (
        Column("systems"),
        Column("verdict"),
        Column("difference", format="+", estimate=True),
        Column("p", "p", format="p"),
        Column("p_adjusted", "p, Holm-adjusted", format="p"),
    )
    rows: list[list[Cell]] = [
        [f"{pair.first} − {pair.second}", pair.verdict, pair.difference, pair.p, pair.p_adjusted]
        for pair in ranking.differences
    ]
    better = direction_said(ranking.scale.direction)
    caption = f"Differences in {ranking.scale.name}{f' ({better})' if better else ''}, first minus second"
    return Table(columns, rows, caption)


def _breakdown(breakdown: Breakdown, index: int, colours: Colours) -> Section:
    scale = breakdown.scale
    groups = list(dict.fromkeys(cell.group for cell in breakdown.cells))
    drawn = set(groups[:MOST_GROUPS])
    dots = [
        Dot(cell.group, cell.mean, cell.system)
        for cell in breakdown.cells
        if cell.mean.value is not None and cell.group in drawn
    ]
    systems = list(dict.fromkeys(cell.system for cell in breakdown.cells))
    better = direction_said(scale.direction)
    blocks: list[Block] = []
    caption = "Every number with its n is in the table below."
    if len(groups) > MOST_GROUPS:
        caption = f"The first {MOST_GROUPS} of {len(groups)} values are drawn; all are in the table below."
    # Systems that share the accent cannot be told apart within a row of dots.
    told_apart = len(systems) == 1 or all(colours[name] != ACCENT for name in systems)
    if dots and told_apart and len(systems) <= MOST_SERIES_IN_DOTS:
        blocks.append(
            _figure(
                lambda width: charts.dot_interval(
                    dots,
                    axis=scale.name,
                    direction=scale.direction,
                    domain=scale.domain,
                    colours=colours,
                    width=width,
                ),
                f"Mean {scale.name} with its interval for each {breakdown.tag}. {caption}",
                [(name, colours[name].name) for name in systems],
            )
        )
    elif dots:
        drawing = _figure(
            lambda width: charts.heatmap(
                dots, axis=scale.name, direction=scale.direction, domain=scale.domain, width=width
            ),
            f"Mean {scale.name}{f' ({better})' if better else ''}: the stronger the colour, the higher. "
            f"{caption}",
        )
        if min(len(drawn), len(systems)) > MOST_COLUMNS_ON_A_PHONE:
            drawing = dataclasses.replace(drawing, narrow=None, scrolls=True)
        blocks.append(drawing)
    blocks.append(Grid(_breakdown_table(breakdown, groups, systems), f"The numbers for each {breakdown.tag}"))
    lead = breakdown.summary or f"Mean {scale.name}, split by {breakdown.tag}."
    return Section(f"by-{index + 1}", f"By {breakdown.tag}", lead, blocks)


def _breakdown_table(breakdown: Breakdown, groups: Sequence[str], systems: Sequence[str]) -> Table:
    """A row for each group and a column for each system, or the other way round where systems are many."""
    direction = breakdown.scale.direction
    means = {(cell.group, cell.system): cell.mean for cell in breakdown.cells}
    caption = f"Mean {breakdown.scale.name} for each {breakdown.tag}"
    rows: list[list[Cell]]
    if len(systems) > len(groups):
        columns = [Column("system")]
        columns += [Column(f"group_{n}", name, direction, estimate=True) for n, name in enumerate(groups)]
        rows = [[name, *(means.get((group, name)) for group in groups)] for name in systems]
    else:
        columns = [Column("group", breakdown.tag)]
        columns += [Column(f"system_{n}", name, direction, estimate=True) for n, name in enumerate(systems)]
        rows = [[group, *(means.get((group, name)) for name in systems)] for group in groups]
    return Table(columns, rows, caption)


def _prompts(prompts: Prompts, colours: Colours) -> Section:
    blocks: list[Block] = []
    for title, shown in (("Hardest", prompts.hardest), ("Easiest", prompts.easiest)):
        if shown:
            blocks.append(Heading(title))
            blocks.append(cards(shown, prompts.scale, colours, [*prompts.hardest, *prompts.easiest]))
    if len(prompts.all_means):
        blocks.append(Heading("All prompts"))
        blocks.append(
            _figure(
                lambda width: charts.histogram(
                    prompts.all_means,
                    axis=f"mean {prompts.scale.name}, prompt by prompt",
                    domain=prompts.scale.domain,
                    width=width,
                ),
                f"How the means of {_counted(len(prompts.all_means), 'prompt')} are spread.",
            )
        )
    lead = prompts.summary or f"The prompts with the worst and the best mean {prompts.scale.name}."
    return Section("prompts", "Hardest and easiest prompts", lead, blocks)


def _variability(variability: Variability, colours: Colours) -> Section:
    scale = variability.scale
    dots = [Dot(row.system, row.score) for row in variability.systems if row.score.value is not None]
    blocks: list[Block] = []
    if dots:
        blocks.append(
            _figure(
                lambda width: charts.dot_interval(
                    dots,
                    axis=scale.name,
                    direction=scale.direction,
                    domain=scale.domain,
                    colours=colours,
                    width=width,
                ),
                f"Each dot is a system's mean {scale.name}, each line its interval.",
            )
        )
    columns = (Column("system"), Column("score", scale.name, scale.direction, estimate=True))
    if variability.systems:
        rows: list[list[Cell]] = [[row.system, row.score] for row in variability.systems]
        blocks.append(Grid(Table(columns, rows, f"Systems by {scale.name}"), "Variability in numbers"))
    for title, shown in (
        ("Most varied", variability.most_varied),
        ("Most uniform", variability.most_uniform),
    ):
        if shown:
            blocks.append(Heading(title))
            both = [*variability.most_varied, *variability.most_uniform]
            blocks.append(cards(shown, scale, colours, both))
    blocks += variability.pictures
    lead = variability.summary or f"How alike the images of one prompt are: {scale.name}."
    return Section("variability", "Variability", lead, blocks)


def _trust(trust: Trust) -> Section:
    questions = list(dict.fromkeys(row.question for row in trust.measures))
    measures = list(dict.fromkeys((row.measure, row.direction) for row in trust.measures))
    found = {(row.measure, row.question): row.correlation for row in trust.measures}
    columns = [Column("measure"), Column("direction")]
    columns += [Column(f"question_{n}", name, estimate=True) for n, name in enumerate(questions)]
    rows: list[list[Cell]] = [
        [
            measure,
            direction_said(direction),
            *(found.get((measure, question)) for question in questions),
        ]
        for measure, direction in measures
    ]
    lead = trust.summary or (
        f"{trust.coefficient} of each measure with people's judgement: 1 agrees fully, 0 not at all, "
        "−1 is the opposite. A measure whose lower values are better should correlate negatively; one "
        "without an arrow has no better end."
    )
    table = Table(columns, rows, f"Measures against people: {trust.coefficient}")
    return Section("trust", "Measures against people", lead, [_grid(table, "All measures")])


def _prediction(prediction: Prediction, colours: Colours) -> Section:
    target = prediction.target
    blocks: list[Block] = []
    if len(prediction.points):
        held = f" {prediction.validation}" if prediction.validation else ""
        who = f" by {prediction.shown}" if prediction.shown else ""
        prompts = _counted(len(prediction.points), "prompt")
        what = f"Each dot is one of {prompts},"
        if len(prediction.points) > charts.MOST_POINTS:
            what = f"The stronger a square, the more of the {prompts} lie in it; each was"
        blocks.append(
            _figure(
                lambda width: charts.scatter(
                    prediction.points,
                    x_axis=f"predicted {target.name}",
                    y_axis=f"true {target.name}",
                    domain=target.domain,
                    width=width,
                ),
                f"{what} predicted{who} while held out; on the dashed line prediction and truth agree.{held}",
            )
        )
    columns, rows = _predictor_table(prediction)
    if rows:
        blocks.append(_grid(Table(columns, rows, f"How well {target.name} is predicted"), "All predictors"))
    blocks += prediction.pictures
    if prediction.next_hardest:
        blocks.append(Heading("Expected to be hardest next"))
        blocks.append(cards(prediction.next_hardest, target, colours))
    lead = prediction.summary or f"How well {target.name} can be told before anybody has judged."
    return Section("prediction", "Prediction", lead, blocks)


def _predictor_table(prediction: Prediction) -> tuple[list[Column], list[list[Cell]]]:
    predictors = prediction.predictors
    figures = {share.name: share for row in predictors for share in row.figures}
    with_error = any(row.error is not None for row in predictors)
    columns = [Column("predictor")]
    cells: list[list[Cell]] = [[row.name] for row in predictors]
    if figures:
        columns += [
            Column(f"figure_{index}", share.name, share.direction, format=share.format, estimate=True)
            for index, share in enumerate(figures.values())
        ]
        for cell, row in zip(cells, predictors, strict=True):
            own = {share.name: share.value for share in row.figures}
            cell += [own.get(name) for name in figures]
    else:
        columns.append(Column("correlation", "correlation with truth", "higher", estimate=True))
        for cell, row in zip(cells, predictors, strict=True):
            cell.append(row.correlation)
    if with_error:
        columns.append(Column("error", "typical error", "lower", estimate=True))
        for cell, row in zip(cells, predictors, strict=True):
            cell.append(row.error)
    return columns, cells


def _judges(judges: Judges) -> Section:
    blocks: list[Block] = []
    if judges.agreement:
        columns = (
            Column("question"),
            Column("coefficient"),
            Column("value", "agreement", "higher", estimate=True),
        )
        rows: list[list[Cell]] = [[row.question, row.coefficient, row.value] for row in judges.agreement]
        blocks.append(_grid(Table(columns, rows, "How far the judges agree"), "Agreement on every question"))
    if judges.annotators:
        people = (
            Column("annotator"),
            Column("judgements", "judgements"),
            Column("agreement", "agreement with the others", "higher", estimate=True),
            Column("counted", "counted"),
        )
        cells: list[list[Cell]] = [
            [
                person.name,
                person.judgements,
                person.agreement,
                f"left out: {person.excluded}" if person.excluded else "yes",
            ]
            for person in judges.annotators
        ]
        blocks.append(_grid(Table(people, cells, "The judges"), "All judges"))
    blocks += judges.pictures
    left_out = sum(1 for person in judges.annotators if person.excluded)
    lead = judges.summary or (
        f"{_counted(len(judges.annotators), 'annotator')} judged; {left_out or 'none'} "
        f"{'were' if left_out > 1 else 'was'} left out."
    )
    return Section("judges", "The judges", lead, blocks)


def _checks(checks: Checks) -> Section:
    order = ("error", "warning", "note")
    findings = sorted(checks.findings, key=lambda finding: order.index(finding.severity))
    checked = checks.checked.rstrip(". ")
    lead = f"{_counted(len(findings), 'finding')} in {checked}."
    if not findings:
        lead = f"Nothing was found amiss in {checked}."
    return Section("checks", "What the checks found", lead, [Findings(findings)] if findings else [])


def _gaps(gaps: Sequence[Gap]) -> Section:
    columns = (
        Column("what"),
        Column("count", "how many"),
        Column("reason", "why"),
        Column("remedy", "what to do"),
    )
    rows: list[list[Cell]] = [[gap.what, gap.count, gap.reason, gap.remedy] for gap in gaps]
    total = sum(gap.count for gap in gaps)
    lead = f"{_counted(total, 'value')} could not be computed; none was replaced by a guess or a zero."
    table = Table(columns, rows, "What could not be computed, and why")
    return Section("gaps", "What could not be computed", lead, [_grid(table, "All reasons")])


def _figure(draw: Callable[[int], Spec], caption: str, legend: Sequence[tuple[str, str]] = ()) -> Figure:
    return Figure(draw(WIDE), draw(NARROW), caption, legend)


def _grid(table: Table, summary: str) -> Grid:
    """A short table stands open; a long one is folded."""
    rows = len(table.rows)
    return Grid(table, f"{summary} ({rows:,} rows)" if rows > LONGEST_OPEN_TABLE else "")


def _rank(low: int | None, high: int | None) -> Cell:
    if low is None:
        return None
    return str(low) if high is None or high == low else f"{low} to {high}"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
