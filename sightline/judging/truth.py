"""Truth: judgements, screened and aggregated by a rule, become consensus values."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Estimate, plural
from sightline.extension import Configured
from sightline.judging.controls import best_votes, controls_of
from sightline.judging.enrolled import Enrolled, enrolled, enrolled_table
from sightline.judging.reopening import give_places
from sightline.judging.store import overseeing, round_numbers, rounds
from sightline.records import Controls, Votes
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.agreement import krippendorff_alpha
from sightline.study import reading, relevance, rollup
from sightline.study.counting import chooses
from sightline.study.machines import machine_names
from sightline.study.study import SETTINGS_FILE, Study
from sightline.study.writing import settling
from sightline.verbs import argument, option, verb

if TYPE_CHECKING:
    import polars as pl

REPEATS = ("all", "first", "last")
WARN = ("speed", "one_value")
"""Screening rules whose findings are reported without excluding anybody: [screening] warn in study.toml."""


@dataclass(frozen=True)
class Excluded:
    """An annotator whose judgements do not count, by which rule and on which numbers."""

    annotator: str
    rule: str
    reason: str


@dataclass(frozen=True)
class QuestionTruth:
    """The truth of one question: `items` have a consensus value, `undecided` ones a reason why not.

    `judgements` and `annotators` are those that count. `agreement` is Krippendorff's alpha of these, after
    exclusion, and `agreement_everyone` that of everybody who judged: excluding people raises it by itself.
    """

    question: str
    rule: str
    settlement_id: int
    items: int
    undecided: int
    judgements: int
    annotators: int
    excluded: Sequence[Excluded]
    agreement: Estimate
    agreement_everyone: Estimate
    superseded: int = 0
    controls: int = 0
    adjudicated: int = 0
    skipped_rules: Sequence[str] = ()
    suspects: Sequence[Excluded] = ()
    reopened: Mapping[str, int] = field(default_factory=dict)
    """By round: how many judgements are wanted of others, in the place of excluded annotators' judgements."""
    enrolled: Enrolled | None = None

    @property
    def notes(self) -> Iterator[str]:
        """What a reader must know besides the numbers."""
        if self.superseded:
            were = "was" if self.superseded == 1 else "were"
            yield f"{plural(self.superseded, 'verdict')} {were} given again later; the latest counts."
        if self.controls:
            do = "does" if self.controls == 1 else "do"
            yield f"{plural(self.controls, 'judgement')} of control items {do} not count."
        for rule in self.skipped_rules:
            yield f"{rule} was not applied: nobody has judged control items."
        if self.adjudicated:
            were = "was" if self.adjudicated == 1 else "were"
            yield f"{plural(self.adjudicated, 'item')} {were} decided by the owner."
        for round_, missing in self.reopened.items():
            are = "judgement is" if missing == 1 else "judgements are"
            yield (
                f"{missing:,} {are} wanted again in the round {round_}, in the place of those of excluded "
                "annotators: sightline annotate STUDY"
            )
        for each in self.suspects:
            yield (
                f"{each.annotator} counts, but {each.rule} would exclude them: {each.reason}. "
                f"To exclude them, add {each.rule} to [screening] rules in study.toml."
            )


@dataclass(frozen=True)
class Truth(Result):
    """The truth of every question asked for; `compares` says whether it tells systems apart."""

    questions: Sequence[QuestionTruth]
    compares: bool = False

    @property
    def notes(self) -> Sequence[str]:
        return [f"{each.question}: {note}" for each in self.questions for note in each.notes]

    @property
    def next(self) -> Sequence[str]:
        return ("sightline compare STUDY" if self.compares else "sightline status STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [
            *map(Column, ("question", "rule")),
            Column("items", "items with a value"),
            *map(Column, ("undecided", "judgements", "annotators", "excluded")),
            Column("agreement_everyone", "agreement, everyone", "higher", estimate=True),
            Column("agreement", "agreement, after exclusion", "higher", estimate=True),
        ]
        rows = [
            (each.question, each.rule, each.items, each.undecided, each.judgements, each.annotators,
             len(each.excluded), each.agreement_everyone, each.agreement)
            for each in self.questions
        ]  # fmt: skip
        excluded = [
            (one.annotator, each.question, one.rule, one.reason)
            for each in self.questions
            for one in each.excluded
        ]
        suspects = [
            (one.annotator, each.question, one.rule, one.reason)
            for each in self.questions
            for one in each.suspects
        ]
        names = [*map(Column, ("annotator", "question", "rule", "reason"))]
        return {
            "settlements": Table(columns, rows, "Truth"),
            "enrolled": enrolled_table(
                {each.question: each.enrolled for each in self.questions if each.enrolled is not None}
            ),
            "left_out": Table(names, excluded, "Excluded annotators"),
            "suspects": Table(names, suspects, "Annotators to look at, not excluded"),
        }


def _asked_of_people(study: Study) -> list[str]:
    machines = machine_names(study)
    return [asked.name for _, asked in reading.questions(study) if asked.name not in machines]


@verb("judge")
def truth(
    study: Study,
    question: Annotated[
        str | None, argument("The question to aggregate.", "[QUESTION]", shown="every question")
    ] = None,
    *,
    rule: Annotated[
        str | None,
        option(
            "Aggregate by this consensus rule: see sightline list consensus.",
            metavar="RULE",
            shown="as study.toml says",
        ),
    ] = None,
    screening: Annotated[
        Sequence[str] | None,
        option(
            "Exclude annotators by this screening rule: see sightline list screening; repeatable.",
            "--screen",
            metavar="RULE",
            shown="as study.toml says",
        ),
    ] = None,
    no_screen: Annotated[bool, option("Exclude nobody.")] = False,
) -> Truth:
    """Aggregate judgements into truth, and measure how far annotators agree.

    Agreement is Krippendorff's alpha, of everyone and after exclusion: 1 is perfect, 0 is chance. Judgements
    and Fleiss' kappa are shown per annotator too. Whom the rules of study.toml exclude loses their places in
    the rounds: what they judged is given to others. A question on which models alone voted is aggregated only
    where it is named.
    """
    if screening and no_screen:
        raise UsageError("--screen and --no-screen exclude each other", remedy="Give one of them.")
    rules = [] if no_screen else screening
    # What models voted is aggregated where it is asked for by name, never along with what people say.
    names = [question] if question else _asked_of_people(study)
    done, empty = [], []
    for name in names:
        votes, items, _ = reading.votes(study, name)
        if len(votes.value) == 0:
            bad = int(reading.ballots(study, name)["n"].sum())
            if question and not bad:
                raise DataError(f"nobody has judged {name!r} yet", remedy="Import judgements first.")
            empty += [f"{bad:,} judgements of {name}"] if bad else []
            continue
        done.append(_aggregate(study, name, rule, rules, votes, items, strict=question is not None))
    if not done and empty:
        raise DataError(
            f"{' and '.join(empty)} say that both are bad: they prefer neither side, so there is no truth",
            where=study.name,
            remedy=f"sightline compare {shlex.quote(str(study.home))} counts them.",
        )
    if not done:
        raise DataError(
            "there are no judgements to aggregate",
            where=study.name,
            remedy="Import judgements (sightline import), or truth that somebody published.",
        )
    compares = bool(reading.about_systems(study)) or any(rollup.ranks_systems(study, name) for name in names)
    return Truth(done, compares=compares)


def _aggregate(
    study: Study,
    name: str,
    rule: str | None,
    screening: Sequence[str] | None,
    everything: Votes,
    parts: pl.DataFrame,
    strict: bool,
) -> QuestionTruth:
    items = parts["item_id"].to_list()
    _refuse_off_scale(study, everything)
    consensus = _rule(study, name, rule, everything, parts)
    settings = study.settings.get("screening", {})
    rules = list(settings.get("rules", [])) if screening is None else list(screening)
    screens = [registry.configure("screening", each) for each in rules]
    warnings = [registry.configure("screening", each) for each in settings.get("warn", WARN)]
    votes, decided, excluded, gone = _by_role(study, everything, items)
    known = controls_of(study, votes, items)
    screened, numbers, skipped = _screen_round(study, name, screens, gone, strict)
    excluded += screened
    suspects, _, _ = _screen_round(study, name, warnings, gone | numbers, strict=False, warn=True)
    everyone = _of_people(study, _once(study, votes))
    counted = _without(everyone, numbers | gone)
    controls = int(counted.control.sum())
    if known is not None or strict:
        counted = _best(study, counted, known)
    counted = replace(counted.where(~counted.control), pairs=_pairs(parts))
    values = consensus.load()(counted)
    names = dict(zip(counted.annotators, _labels(counted), strict=True))
    excluded += [Excluded(names[each.annotator], consensus.short, each.reason) for each in values.left_out]
    unused = {counted.annotators.index(each.annotator) for each in values.left_out}
    counted = _without(counted, unused)
    sides = _has_sides(counted, parts)
    agreement, of_everyone = _agreement(counted, sides), _agreement(everyone.where(~everyone.control), sides)
    # Control items, the reference photos among them, are no part of what is being judged.
    judged = {items[int(number)] for number in np.unique(votes.item[~votes.control])}
    rows: list[tuple[int, float | None, float | None, float | None, int, str | None]] = []
    for item, value, low, high, n, why in zip(
        items, values.value, values.low, values.high, values.n, values.reason, strict=True
    ):
        if item in decided:
            rows.append((item, decided[item], None, None, int(n), None))
        elif item in judged:
            reason = None if math.isfinite(value) else why or "undecided"
            rows.append((item, _or_none(value), _or_none(low), _or_none(high), int(n), reason))
    people = enrolled(counted)
    reopened = _reopened(study, name, numbers) if screening is None else {}
    key, _ = reading.question(study, name)
    notes = {
        "left_out": [[each.annotator, each.rule, each.reason] for each in excluded],
        "agreement": _noted(agreement),
        "agreement_everyone": _noted(of_everyone),
        "enrolled": None if people is None else people.noted(),
        "superseded": votes.superseded,
        "controls": controls,
        "adjudicated": sorted(decided),
        "annotators": _tally(counted, votes),
        "counted": [
            [each.panel, each.name]
            for number, each in enumerate(counted.annotators)
            if (counted.annotator == number).any()
        ],
    }
    printed = "; ".join(str(screen) for screen in screens)
    settlement_id = settling.settle(study, key, str(consensus), printed, rows, votes.up_to, notes)
    with_value = sum(row[1] is not None for row in rows)
    return QuestionTruth(
        question=name,
        rule=consensus.short,
        settlement_id=settlement_id,
        items=with_value,
        undecided=len(rows) - with_value,
        judgements=int(counted.n.sum()),
        annotators=len(np.unique(counted.annotator[counted.annotator >= 0])),
        excluded=excluded,
        agreement=agreement,
        agreement_everyone=of_everyone,
        superseded=votes.superseded,
        controls=controls,
        adjudicated=len(decided),
        skipped_rules=skipped,
        reopened=reopened,
        enrolled=people,
        suspects=[each for each in suspects if each.annotator not in {one.annotator for one in excluded}],
    )


def _reopened(study: Study, question: str, numbers: set[int]) -> dict[str, int]:
    """Give the places of whom the study's own rules exclude to others, in the rounds that ask a question."""
    people = overseeing.people(study)
    wanted: dict[str, int] = {}
    for each in rounds.rounds_of(study):
        if any(asked.name == question for _, asked in each.questions):
            give_places(study, each, [people[number].id for number in numbers])
            missing = round_numbers.freed(study, each.id)
            wanted |= {each.name: missing} if missing else {}
    return wanted


def _agreement(votes: Votes, sides: bool) -> Estimate:
    scale = votes.question.scale
    return krippendorff_alpha(votes.item, votes.value, n=votes.n, scale=scale, sides=sides)  # type: ignore[arg-type]


def _has_sides(votes: Votes, parts: pl.DataFrame) -> bool:
    """Whether all votes are choices between two sides, of which either might have come first."""
    paired = bool(((parts["image_b"] > 0) | (parts["system_b"] > 0)).all())
    triplets = bool((parts["image_c"] > 0).any())
    return paired and not triplets and chooses(votes.question, votes.value.tolist())


def _noted(found: Estimate) -> dict[str, float | int | str | None]:
    return {
        "value": found.value, "low": found.low, "high": found.high, "n": found.n, "reason": found.reason
    }  # fmt: skip


def _refuse_off_scale(study: Study, votes: Votes) -> None:
    """One 999 on a scale to 5 would move everything: it is never averaged in."""
    asked = votes.question
    low = -np.inf if asked.low is None else asked.low
    high = np.inf if asked.high is None else asked.high
    off = votes.value[(votes.value < low) | (votes.value > high)]
    if len(off):
        raise DataError(
            f"{len(off)} judgements of {asked.name!r} are off its scale {low:g} to {high:g}, "
            f"such as {off[0]:g}",
            where=study.name,
            remedy=f"sightline check {study.home} names them. Correct the file and import it with --replace, "
            "or correct the scale.",
        )


def _rule(study: Study, name: str, rule: str | None, votes: Votes, parts: pl.DataFrame) -> Configured:
    scale = votes.question.scale
    usual = _usual(study, votes, parts) if scale == "nominal" else "mean"
    chosen = rule or study.settings.get("truth", {}).get("rule", usual)
    if isinstance(chosen, dict):
        chosen = chosen.get(name, usual)
    consensus = registry.configure("consensus", str(chosen))
    if scale not in consensus.spec.details["scales"]:
        fits = [
            each
            for each in registry.names("consensus")
            if scale in registry.get("consensus", each).spec.details["scales"]
        ]
        raise UsageError(
            f"the rule {consensus.name} is not for {scale} questions such as {name!r}",
            remedy=f"Fitting rules: {', '.join(fits)}.",
        )
    return consensus


def _usual(study: Study, votes: Votes, parts: pl.DataFrame) -> str:
    """The rule for labels: of two, the proportion of the higher one, since a majority of two people is both.

    The majority remains for more labels, for pairs of images (which of them is better), and where rankings
    need to know whether an image is relevant.
    """
    asked = votes.question
    given = votes.value[~np.isnan(votes.value)].tolist()
    values = sorted({*map(float, asked.labels), *given})
    rankings = "retriever" in reading.systems(study)["kind"].to_list()
    ranked = rankings and asked.name == relevance.rules(study).relevance
    if len(values) > 2 or ranked or bool((parts["image_b"] > 0).any()):
        return "majority"
    top = asked.high if asked.high is not None else values[-1]
    return "proportion" if top == asked.high else f"proportion(top={top:g})"


def _by_role(
    study: Study, votes: Votes, items: Sequence[int]
) -> tuple[Votes, dict[int, float], list[Excluded], set[int]]:
    """Judgements without the adjudicator's, what was decided, and whom the owner excluded."""
    labels, reasons = _labels(votes), reading.annotators(study)["left_out"].to_list()
    own = np.isin(votes.annotator, _of_role(study, "adjudicator"))
    decided = {
        items[item]: float(value) for item, value in zip(votes.item[own], votes.value[own], strict=True)
    }
    cast = set(np.unique(votes.annotator).tolist())
    gone = {number for number, reason in enumerate(reasons) if reason is not None and number in cast}
    excluded = [Excluded(labels[number], "owner", str(reasons[number])) for number in sorted(gone)]
    return votes.where(~own), decided, excluded, gone


def _of_people(study: Study, votes: Votes) -> Votes:
    """Without the judgements of control annotators."""
    return votes.where(~np.isin(votes.annotator, _of_role(study, "control")))


def _of_role(study: Study, wanted: str) -> list[int]:
    roles = reading.annotators(study)["role"].to_list()
    return [number for number, role in enumerate(roles) if role == wanted]


def _once(study: Study, votes: Votes) -> Votes:
    """Of an annotator's judgements of the same item, asked again on purpose: all, or the first or last."""
    which = str(study.settings.get("truth", {}).get("repeats", "first"))
    if which not in REPEATS:
        raise UsageError(
            f"[truth] repeats = {which!r} is not known",
            where=str(study.home / SETTINGS_FILE),
            remedy=near(which, REPEATS),
        )
    if which == "all" or not votes.repetition.any():
        return votes
    order = np.argsort(votes.repetition if which == "first" else -votes.repetition, kind="stable")
    pairs = np.column_stack([votes.item, votes.annotator])[order]
    keep = votes.annotator < 0
    keep[order[np.unique(pairs, axis=0, return_index=True)[1]]] = True
    return votes.where(keep)


def _best(study: Study, votes: Votes, controls: Controls | None) -> Votes:
    """At most as many judgements per item as study.toml allows: of those who agree best with the controls."""
    most = study.settings.get("truth", {}).get("most_votes")
    if most is None:
        return votes
    where = str(study.home / SETTINGS_FILE)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise UsageError(
            f"[truth] most_votes = {most!r} is no number of judgements", where=where, remedy="Such as 3."
        )
    if controls is None:
        raise UsageError(
            "[truth] most_votes needs control items, to tell whose judgements are best",
            where=where,
            remedy="Declare [annotate.NAME.controls], or take most_votes out.",
        )
    return votes.where(best_votes(votes, controls, most) | votes.control)


def _pairs(parts: pl.DataFrame) -> np.ndarray | None:
    """What is compared, where every item has two sides: first the one that the top of the scale speaks for.

    Of a pair that is the second side, of a triplet A. The same image or system of another prompt, or compared
    with another reference, is another side.
    """
    import polars as pl

    images, systems, triplets = (parts[name] > 0 for name in ("image_b", "system_b", "image_c"))
    if parts.is_empty():
        return None
    if images.all() and triplets.all():
        both, reference = ("image_b", "image_c"), pl.col("image_id")
    elif images.all() and not triplets.any():
        both, reference = ("image_b", "image_id"), pl.lit(0)
    elif systems.all() and not images.any():
        both, reference = ("system_b", "system_id"), pl.lit(0)
    else:
        return None
    ends = [
        parts.select("prompt_id", reference.alias("reference"), pl.col(end).alias("side")).rows()
        for end in both
    ]
    number: dict[object, int] = {}
    pairs = zip(*ends, strict=True)
    return np.array([[number.setdefault(end, len(number)) for end in pair] for pair in pairs])


def _screen_round(
    study: Study, name: str, screens: Sequence[Configured], gone: set[int], strict: bool, warn: bool = False
) -> tuple[list[Excluded], set[int], list[str]]:
    """Whom the rules exclude, by their judgements of any question of the rounds that ask this one.

    Whoever fails the attention checks of a round is excluded with all answers given in it, whatever the
    question. Also the rules that could not be applied because nobody judged controls; `strict` raises. To
    `warn`, nobody need be left.
    """
    together = {name}
    for each in rounds.rounds_of(study):
        asked = {question.name for _, question in each.questions}
        together |= asked if name in asked else set()
    excluded: list[Excluded] = []
    numbers: set[int] = set()
    applied: set[str] = set()
    everybody: set[int] = set()
    for other in sorted(together, key=lambda each: (each != name, each)):
        votes, parts, _ = reading.votes(study, other)
        if len(votes.value) == 0:
            continue
        items = parts["item_id"].to_list()
        votes = _without(_by_role(study, votes, items)[0], gone)
        if other == name:
            everybody = set(_of_people(study, votes.where(~votes.control)).annotator.tolist())
        known = controls_of(study, votes, items)
        usable = [each for each in screens if known is not None or not each.spec.details["needs_controls"]]
        applied |= {str(each) for each in usable}
        judging = "" if other == name else f", judging {other}"
        for screen in usable:
            for out in screen.load()(votes, known):
                number = votes.annotators.index(out.annotator)
                if number not in numbers:
                    reason = f"{out.reason}{judging}"
                    excluded.append(Excluded(_labels(votes)[number], screen.short, reason))
                numbers.add(number)
    skipped = [screen.short for screen in screens if str(screen) not in applied]
    if skipped and strict:
        raise UsageError(
            f"{skipped[0]} needs control items with known answers, and nobody has judged any",
            remedy="Declare [annotate.NAME.controls] in study.toml, or remove the rule; "
            "`sightline list screening` shows the others.",
        )
    if everybody and everybody <= numbers and not warn:
        raise DataError(
            "the screening rules leave nobody: every annotator is excluded",
            remedy="Loosen [screening] rules in study.toml.",
        )
    return excluded, numbers, skipped


def _labels(votes: Votes) -> list[str]:
    """Annotators' names, with the panel where two panels have the same name."""
    names = [annotator.name for annotator in votes.annotators]
    return [
        annotator.name if names.count(annotator.name) == 1 else f"{annotator.panel}/{annotator.name}"
        for annotator in votes.annotators
    ]


def _without(votes: Votes, numbers: set[int]) -> Votes:
    return votes.where(~np.isin(votes.annotator, sorted(numbers)))


def _tally(counted: Votes, votes: Votes) -> list[list[object]]:
    """For each annotator: name, judgements, and correlation with the mean of the others that count."""
    from sightline.statistics.correlation import pearson
    from sightline.statistics.grouping import sum_by

    total = sum_by(counted.item, counted.value * counted.n, votes.items)
    count = sum_by(counted.item, counted.n.astype(np.float64), votes.items)
    tallies: list[list[object]] = []
    for number, label in enumerate(_labels(votes)):
        own = votes.annotator == number
        if not own.any():
            continue
        own_total = sum_by(votes.item[own], votes.value[own], votes.items)
        own_count = sum_by(votes.item[own], np.ones(int(own.sum())), votes.items)
        inside = float((counted.annotator == number).any())
        others = count - inside * own_count
        shared = (own_count > 0) & (others > 0)
        rest = (total - inside * own_total)[shared] / others[shared]
        r = pearson(own_total[shared] / own_count[shared], rest)
        tallies.append([label, int(own.sum()), r.value, r.low, r.high, r.n])
    return tallies


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
