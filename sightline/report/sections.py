"""The sections of a report: verbs' results as they are, and the few tables that only a report has."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import polars as pl

from sightline import registry
from sightline.comparison.breakdown import GroupMean, breakdown, main_tags
from sightline.comparison.compare import Comparison
from sightline.comparison.distinct import distinct
from sightline.comparison.preferences import Preferences, listed
from sightline.comparison.queries import queries
from sightline.comparison.trust import trust
from sightline.comparison.values import ranking_measures
from sightline.data.check import SEVERITIES, stored_check
from sightline.errors import DataError, SightlineError, UsageError
from sightline.estimate import FEW, Cell, Estimate, absent, direction_said, plural
from sightline.extension import Configured
from sightline.judging.charts import label_pictures
from sightline.judging.enrolled import Enrolled, enrolled_table
from sightline.measures.by_system import scores_by_system
from sightline.measures.system_scores import system_estimates
from sightline.records import Finding
from sightline.rendering.blocks import Block, Findings, Grid, Heading, Note, Section
from sightline.rendering.document import Fact, section_of
from sightline.rendering.shown import Scale
from sightline.rendering.tables import Column, Table
from sightline.report.making import Making
from sightline.report.prediction_figures import prediction_figures
from sightline.report.stored_predictions import (
    best,
    quality_table,
    read_predictions,
    scatter_figure,
)
from sightline.statistics.intervals import mean_interval
from sightline.study import listing, predicted, reading
from sightline.study.blocks import answers_to
from sightline.study.study import Study
from sightline.variability.charts import reuse_figure
from sightline.variability.gallery import MOST_PICTURES, Shown, by_prompt
from sightline.variability.reuse import CURVE_SETS, curve_axis, read_curves
from sightline.variability.scale import level_notes
from sightline.variability.variability import Variability, read_variability

MOST_BREAKDOWNS = 2
ON_THE_MAP = 1000
"""Prompts on the map of a report; `sightline figures` draws all."""
MANY = 6
"""Systems above which a table has a row for each, not a column."""
ENDS = 3
"""Prompts shown at each end of variability."""
SMALL = 192
"""Pixels of a picture in a row of many."""


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


def ranking(making: Making) -> list[Section]:
    """Every comparison of the systems, the headline first."""
    wordings = {question.name: question.wording for question in making.asked}
    made = []
    for number, each in enumerate(making.compared, 1):
        anchor, title = "ranking", "The ranking"
        if len(making.compared) > 1:
            anchor, title = f"ranking-{number}" if number > 1 else anchor, f"The ranking by {each.by}"
        lead = " ".join(part for part in (wordings.get(each.by), each.brief, each.sentence) if part)
        made.append(_compared(each, anchor, title, lead, making, f"By {each.by}"))
    return made


def preferred(making: Making) -> list[Section]:
    """Every ranking by votes between systems."""
    return [
        _compared(
            each,
            f"preference-{number}",
            f"Preferences on {each.by}",
            " ".join([each.sentence, *each.notes]),
            making,
        )
        for number, each in enumerate(making.preferred, 1)
    ]


def _compared(
    each: Comparison | Preferences, anchor: str, title: str, lead: str, making: Making, short: str = ""
) -> Section:
    """Charts, the systems, whether they can be told apart, and every pair."""
    tables = {name: table for name, table in each.tables().items() if table.rows}
    first = tables.pop("systems")
    pairs = tables.pop("pairs", None)
    blocks: list[Block] = [*each.figures(making.colours).values(), Grid.of(first, "All systems")]
    blocks += distinct(each)
    if pairs is not None:
        blocks.append(Grid(pairs, f"Every pair ({len(pairs.rows):,})"))
    blocks += [Grid.of(table, table.caption or "The numbers") for table in tables.values()]
    return Section(anchor, title, lead, blocks, short if len(making.compared) > 1 else "")


def breakdowns(making: Making) -> list[Section]:
    """The headline comparison split by the tags that the study names, or its main ones."""
    if making.head is None:
        return []
    tags = making.settings.breakdown or main_tags(making.study)[:MOST_BREAKDOWNS]
    made = []
    for number, tag in enumerate(tags, 1):
        each = breakdown(making.study, making.head.by, tag)
        blocks: list[Block] = [*each.blocks(making.colours)]
        blocks += [Grid(table, f"The numbers ({len(table.rows):,} rows)") for table in each.tables().values()]
        blocks += [Note(note) for note in each.notes]
        lead = " ".join(part for part in (_small(each.rows, tag), each.sentence) if part)
        made.append(Section(f"by-{number}", f"By {tag}", lead, blocks))
    return made


def _small(rows: Sequence[GroupMean], tag: str) -> str:
    """A warning where most groups rest on few prompts."""
    sizes: dict[str, int] = {}
    for each in rows:
        sizes[each.group] = max(sizes.get(each.group, 0), each.mean.n)
    few = sum(n < FEW for n in sizes.values())
    if not few:
        return ""
    which = f"{'All' if few == len(sizes) else few} of the {len(sizes)} values" if few > 1 else "One value"
    return f"{which} of {tag} {'have' if few > 1 else 'has'} fewer than {FEW} prompts: read them with care."


def measure_trust(making: Making) -> list[Section]:
    """The strongest measures against every question; what is worth nothing is named, not drawn."""
    result = trust(making.study)
    brief = result.brief
    worthless = [each for each in brief.rows if each.worthless]
    notes = [*brief.notes]
    if len(brief.rows) < len(result.rows):
        more = len(result.rows) - len(brief.rows)
        notes.append(f"{more} more rows, every statistic and the tests between measures: sightline trust")
    said = result.sentence
    if worthless:
        by: dict[str, list[str]] = {}
        for each in worthless:
            by.setdefault(each.question, []).append(each.measure)
        named = "; ".join(f"{listed(names)} for {question}" for question, names in by.items())
        said = f"Worth nothing here, since their agreement with people may be chance: {named}. {said}"
    kept = replace(brief, rows=[each for each in brief.rows if not each.worthless])
    blocks: list[Block] = [*kept.figures().values()]
    tables = {name: table for name, table in brief.tables().items() if name not in ("levels", "differences")}
    blocks += [Grid.of(table) for table in tables.values() if table.rows]
    blocks += [Note(note) for note in notes]
    return [Section("trust", "Measures against people", said, blocks)]


def query_analysis(making: Making) -> list[Section]:
    """What goes with a query being hard, where rankings were measured."""
    by = next(iter(ranking_measures(making.study)), None)
    if by is None:
        return []
    result = queries(making.study, by)
    lead = (
        f"{result.sentence} A positive correlation means that queries with more of it are answered better; "
        "depth counts the steps from the root of WordNet, so abstract words have small depths."
    )
    return [section_of(result, "queries", "What makes a query hard", lead, without=["queries"])]


def variability(making: Making) -> list[Section]:
    """How alike the images of one prompt are, as it was measured."""
    result = read_variability(making.study)
    systems = sorted(result.systems, key=lambda each: -(each.similarity.value or 0))
    blocks: list[Block] = [*result.figures(making.colours).values()]
    columns = [Column("system"), Column("similarity", result.axis, estimate=True)]
    rows = [(each.system, each.similarity) for each in systems]
    blocks.append(Grid.of(Table(columns, rows, "Variability"), "All systems"))
    distance = registry.configure("distance", result.scale.distance)
    bounded = result.reference is not None or distance.spec.range == (0, 1)
    ends = (0.0, 1.0) if bounded else (None, None)
    blocks += _varied(making, result.prompts, Scale(result.axis, "none", *ends))
    blocks += _reused(making, result)
    home = shlex.quote(str(making.study.home))
    drawn = "Maps and overlays" if result.scale.levels else "Maps, overlays and curves of reuse"
    blocks.append(Note(f"{drawn} are drawn by: sightline figures {home} FOLDER"))
    normalised = "normalised " if result.reference is not None else ""
    lead = (
        f"1 minus the mean {normalised}distance over all pairs of a prompt's images ({result.measure}); 1 "
        "means that they all look the same. Neither end is better in itself."
    )
    lead = " ".join([lead, *level_notes(result.scale)])
    return [Section("variability", "Variability", lead, blocks)]


def _reused(making: Making, result: Variability) -> list[Block]:
    """The curve of reuse, where the study's scale says from when on two images look the same."""
    levels = result.scale.levels
    curves = [] if levels is None else read_curves(making.study, result)
    if levels is None or not curves:
        return []
    note = f"Up to {CURVE_SETS} prompts of a system were looked at; sightline reuse looks at all."
    axis = curve_axis(result.scale)
    figure = reuse_figure(
        curves, high=levels[-1], levels=levels, axis=axis, colours=making.colours, note=note
    )
    return [Heading("How many images before they repeat"), figure]


def _varied(making: Making, prompts: pl.DataFrame, scale: Scale) -> list[Block]:
    """The most and the least varied prompts with their images."""
    ends = {
        "Most varied prompts": prompts.head(ENDS),
        "Least varied prompts": prompts[ENDS:].tail(ENDS)[::-1],
    }
    texts = dict(reading.prompts(making.study).select("prompt_id", "text").iter_rows())

    def shown(row: dict[str, Any]) -> Shown:
        prompt = row["prompt_id"]
        answers = answers_to(making.study, prompt, "generator")
        mine = answers.filter(pl.col("system_id") == row["system_id"])
        thumbnails = making.album.thumbnails(mine.drop("score"), MOST_PICTURES, SMALL)
        return Shown(texts[prompt], row["system"], Estimate(row["value"]), thumbnails)

    sets = {title: [shown(row) for row in end.iter_rows(named=True)] for title, end in ends.items()}
    among = [each for end in sets.values() for each in end]
    blocks: list[Block] = []
    for title, end in sets.items():
        if end:
            blocks += [Heading(title), by_prompt(end, scale, making.colours, among)]
    return blocks


def prediction(making: Making) -> list[Section]:
    """How well the truth of a prompt can be predicted; what tells nothing is said first, and not drawn."""
    known = {asked.name: read_predictions(making.study, asked.name) for asked in making.asked}
    for name in predicted.predicted_measures(making.study):
        with suppress(SightlineError):  # the measure, or what it needs, may be gone
            known[name] = read_predictions(making.study, name)
    chosen = {name: shown for name, stored in known.items() if (shown := best(stored)) is not None}
    if not chosen:
        return []
    useless = [name for name, shown in chosen.items() if not shown.tells]
    useful = [name for name in chosen if name not in useless]
    said = [f"{chosen[name].verdict} It is not drawn." for name in useless]
    if useful:
        said.append(f"How well {listed(useful)} can be predicted before anybody has judged.")
        said += [chosen[name].verdict for name in useful if chosen[name].worth != "useful"]
    blocks: list[Block] = []
    for name in [*useful, *useless]:
        if name in useful:
            blocks.append(scatter_figure(chosen[name]))
        blocks.append(Grid.of(quality_table(name, known[name]), "All predictors"))
    drawable = [asked.name for asked in making.asked if asked.name in useful]
    if drawable:
        with suppress(DataError):  # too few prompts may be left
            drawn = prediction_figures(
                making.study,
                stored=True,
                questions=drawable,
                most=ON_THE_MAP,
                colours=making.colours,
                album=making.album,
                seed=making.seed,
            )
            blocks += [*drawn.blocks, *(Note(note) for note in drawn.notes)]
    return [Section("prediction", "Prediction", " ".join(said), blocks)]


def annotators(making: Making) -> list[Section]:
    """Who judged, how far they agree, and who was excluded and why."""
    study, asked = making.study, making.asked
    agreement: list[tuple[Cell, ...]] = []
    people: dict[str, tuple[int, Estimate, str]] = {}
    of_each: dict[str, Enrolled] = {}
    for question in asked:
        settlement = reading.newest_settlement(study, question.name)
        notes = {} if settlement is None else reading.settlement_notes(study, settlement)
        if "annotators" not in notes:
            continue
        coefficient = f"Krippendorff's alpha ({question.scale})"
        both = (_agreement(notes, each) for each in ("agreement_everyone", "agreement"))
        agreement.append((question.name, coefficient, *both))
        if notes.get("enrolled"):
            of_each[question.name] = Enrolled.of_notes(notes["enrolled"])
        excluded = {name: f"{question.name}: {reason} ({rule})" for name, rule, reason in notes["left_out"]}
        for name, n, r, low, high, shared in notes["annotators"]:
            own = absent("no item in common") if r is None else Estimate(r, low, high, shared)
            count, first, why = people.get(name, (0, own, ""))
            why = "; ".join(part for part in (why, excluded.get(name, "")) if part)
            people[name] = (count + n, first, why)
    if not agreement:
        return []
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
    if of_each:
        blocks.append(Grid.of(enrolled_table(of_each), "Every question"))
    out = sum(bool(why) for _, _, why in people.values())
    lead = f"{plural(len(people), 'annotator')} judged; {out or 'none'} excluded."
    return [Section("judges", "The annotators", lead, [*blocks, *label_pictures(study)])]


def _agreement(notes: Mapping[str, Any], name: str) -> Estimate:
    noted = notes.get(name)
    return Estimate(**noted) if isinstance(noted, dict) else absent("aggregated by an earlier version")


def checks(making: Making) -> list[Section]:
    """What the integrity rules find in what is stored."""
    result, left = stored_check(making.study)
    findings = [each.finding for each in result.findings]
    findings += [Finding(f"{rule} is switched off: {why}", 0, severity="note") for rule, why in result.off]
    findings.sort(key=lambda each: SEVERITIES.index(each.severity))
    checked = result.checked.rstrip(". ")
    lead = f"{plural(len(findings), 'finding')} in {checked}." if findings else f"Nothing found in {checked}."
    blocks: list[Block] = [Findings(findings)] if findings else []
    if left:
        home = shlex.quote(str(making.study.home))
        rules = f"{plural(len(left), 'rule')} {'needs' if len(left) == 1 else 'need'}"
        lead += f" {rules} measures of the images that are not computed yet: sightline check {home}"
    return [Section("checks", "What the checks found", lead, blocks, "Checks")]


def measures(making: Making) -> list[Section]:
    """Every measure of an image, answer or ranking by system; by collection where nothing is answered."""
    study = making.study
    if not reading.counts(study)["system"]:
        return _image_measures(study)
    systems = reading.systems(study).filter(pl.col("answers") > 0)["system"].to_list()
    found: list[tuple[Configured, list[Estimate]]] = []
    for row in reading.measures(study).iter_rows(named=True):
        if row["kind"] == "of_prompt" or not row["values"]:
            continue
        try:
            measure = registry.find_measure(str(row["measure"]))
        except UsageError:
            continue  # scored by an extension that is not installed here
        if row["kind"] == "of_system":
            known = system_estimates(study, measure)
            found.append((measure, [known.get(name, absent("no score")) for name in systems]))
            continue
        values = scores_by_system(study, str(measure))
        low, high = measure.spec.range
        own = {str(name): part["value"].to_numpy() for (name,), part in values.group_by(["system"])}
        none = absent("no score")
        cells = [mean_interval(own[name], low=low, high=high) if name in own else none for name in systems]
        found.append((measure, cells))
    if not found or not systems:
        return []
    table = (
        _by_system(found, systems) if len(systems) > max(MANY, len(found)) else _by_measure(found, systems)
    )
    lead = "Automatic measures of every system's images."
    lead += _from_elsewhere(study, [each for each, _ in found])
    return [Section("measures", "What the measures say", lead, [Grid.of(table, "All measures")])]


def _from_elsewhere(study: Study, measures: Sequence[Configured]) -> str:
    """Which measures were imported, and from which files."""
    files = listing.imported_measures(study)
    known = [PurePath(path).name for each in measures for path in files.get(each.identity, ())]
    if not known:
        return ""
    return f" Scores of those marked as imported were computed elsewhere: {', '.join(dict.fromkeys(known))}."


MEANS = "Means over prompts with 95 % intervals; n prompts"


def _by_measure(found: Sequence[tuple[Configured, list[Estimate]]], systems: Sequence[str]) -> Table:
    columns = [Column("measure"), Column("direction")]
    columns += [Column(f"mean_{system}", system, estimate=True) for system in systems]
    rows: list[list[Cell]] = [
        [each.short, direction_said(each.spec.direction), *cells] for each, cells in found
    ]
    return Table(columns, rows, MEANS)


def _by_system(found: Sequence[tuple[Configured, list[Estimate]]], systems: Sequence[str]) -> Table:
    """The same with a row for each system, where they are many."""
    columns = [Column("system")]
    columns += [Column(str(each), each.short, each.spec.direction, estimate=True) for each, _ in found]
    rows: list[list[Cell]] = [
        [name, *(cells[place] for _, cells in found)] for place, name in enumerate(systems)
    ]
    return Table(columns, rows, MEANS)


def _image_measures(study: Study) -> list[Section]:
    """Every measure of images that answer nothing, by collection."""
    images = reading.images(study).select("image_id", "collection")
    names = images["collection"].unique(maintain_order=True).to_list()
    rows: list[Sequence[Cell]] = []
    for row in reading.measures(study).filter(pl.col("kind") == "of_image").iter_rows(named=True):
        values = reading.scores(study, str(row["identity"])).drop_nulls("value").join(images, on="image_id")
        cells = []
        for name in names:
            own = values.filter(pl.col("collection") == name)["value"].to_numpy()
            cells.append(mean_interval(own) if len(own) else absent("no score"))
        rows.append((str(row["measure"]), direction_said(row["direction"]), *cells))
    if not rows:
        return []
    columns = [Column("measure"), Column("direction")]
    columns += [Column(f"mean_{name}", name, estimate=True) for name in names]
    table = Table(columns, rows, "Means over images with 95 % intervals; n images")
    lead = "Automatic measures of the images of every collection."
    return [Section("measures", "What the measures say", lead, [Grid.of(table, "All measures")])]


def gaps(making: Making) -> list[Section]:
    """What could not be computed, how often, and why."""
    study = making.study
    counts = reading.counts(study)
    rows: list[tuple[str, int, str, str]] = []
    named = counts["image"] - counts["image_file"]
    if named and counts["image_file"]:
        rows.append(("images without their files", named, "known by name only", "Import the files."))
    for row in reading.measures(study).iter_rows(named=True):
        if row["without"]:
            measure = str(row["measure"]).partition("(")[0]
            often = list(listing.reasons(study, str(row["identity"])).items())[:5]
            rows += [(measure, n, reason, "") for reason, n in often]
    if not rows:
        return []
    columns = [
        Column("what"), Column("count", "how many"), Column("reason", "why"), Column("remedy", "what to do")
    ]  # fmt: skip
    total = plural(sum(row[1] for row in rows), "value")
    lead = f"{total} could not be computed; none was replaced by a guess or a zero."
    table = Table(columns, rows, "What could not be computed, and why")
    return [Section("gaps", "What could not be computed", lead, [Grid.of(table, "All reasons")], "Gaps")]
