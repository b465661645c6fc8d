"""Truth: votes, screened and brought together by a rule, become settled values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.extension import Configured
from sightline.judging.controls import best_votes, controls_of
from sightline.judging.store import rounds
from sightline.records import Controls, Votes
from sightline.statistics.agreement import Agreement, krippendorff_alpha
from sightline.study import reading
from sightline.study.study import SETTINGS_FILE, Study
from sightline.study.writing import settling

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class LeftOut:
    """An annotator whose votes do not count, by which rule and on which numbers."""

    annotator: str
    rule: str
    reason: str


@dataclass(frozen=True)
class Settlement:
    """What one question settled to."""

    question: str
    rule: str
    settlement_id: int
    settled: int
    without: int
    votes: int
    annotators: int
    left_out: Sequence[LeftOut]
    agreement: Agreement
    superseded: int = 0
    controls: int = 0
    adjudicated: int = 0
    skipped_rules: Sequence[str] = ()


REPEATS = ("all", "first", "last")


def truth(
    study: Study,
    question: str | None = None,
    *,
    rule: str | None = None,
    screening: Sequence[str] | None = None,
) -> list[Settlement]:
    """Settle one question, or every question that has votes, by the rules given or those of study.toml."""
    names = [question] if question else [asked.name for _, asked in reading.questions(study)]
    found = []
    for name in names:
        votes, subjects, _ = reading.votes(study, name)
        if len(votes.value) == 0:
            if question:
                raise DataError(f"nobody has judged {name!r} yet", remedy="Import judgements first.")
            continue
        found.append(_settle(study, name, rule, screening, votes, subjects, strict=question is not None))
    if not found:
        raise DataError(
            "there are no judgements to settle",
            where=study.name,
            remedy="Import judgements (sightline import), or truth that somebody published.",
        )
    return found


def _settle(
    study: Study,
    name: str,
    rule: str | None,
    screening: Sequence[str] | None,
    everything: Votes,
    parts: pl.DataFrame,
    strict: bool,
) -> Settlement:
    subjects = parts["item_id"].to_list()
    _refuse_off_scale(study, everything)
    consensus = _rule(study, name, rule, everything)
    rules = (
        list(study.settings.get("screening", {}).get("rules", [])) if screening is None else list(screening)
    )
    screens = [registry.configure("screening", told) for told in rules]
    votes, decided, left_out, gone = _by_role(study, everything, subjects)
    known = controls_of(study, votes, subjects)
    screened, numbers, skipped = _screen_round(study, name, screens, gone, strict)
    left_out += screened
    counted = _of_people(study, _once(study, _without(votes, numbers | gone)))
    controls = int(counted.control.sum())
    if known is not None or strict:
        counted = _best(study, counted, known)
    counted = replace(counted.where(~counted.control), pairs=_pairs(parts))
    settled = consensus.load()(counted)
    names = dict(zip(counted.annotators, _labels(counted), strict=True))
    left_out += [LeftOut(names[each.annotator], consensus.short, each.reason) for each in settled.left_out]
    agreement = krippendorff_alpha(
        counted.item,
        counted.value,
        n=counted.n,
        scale=counted.question.scale,  # type: ignore[arg-type]
    )
    # Control items, the reference photos among them, are no part of what is being judged.
    judged = {subjects[int(number)] for number in np.unique(votes.item[~votes.control])}
    rows = [
        (
            subject,
            _or_none(value),
            _or_none(low),
            _or_none(high),
            int(n),
            None if _known(value) else why or "undecided",
        )
        for subject, value, low, high, n, why in zip(
            subjects, settled.value, settled.low, settled.high, settled.n, settled.reason, strict=True
        )
        if subject in judged or subject in decided
    ]
    rows = [(row[0], decided[row[0]], None, None, row[4], None) if row[0] in decided else row for row in rows]
    key, _ = reading.question(study, name)
    notes = {
        "left_out": [[out.annotator, out.rule, out.reason] for out in left_out],
        "agreement": agreement.value,
        "agreement_n": agreement.n,
        "agreement_low": agreement.low,
        "agreement_high": agreement.high,
        "superseded": votes.superseded,
        "controls": controls,
        "adjudicated": sorted(decided),
        "annotators": _tally(counted, votes),
    }
    printed = "; ".join(str(screen) for screen in screens)
    settlement_id = settling.settle(study, key, str(consensus), printed, rows, votes.up_to, notes)
    values = sum(row[1] is not None for row in rows)
    heads = len({int(number) for number in counted.annotator if number >= 0})
    total = int(counted.n.sum())
    return Settlement(
        name,
        consensus.short,
        settlement_id,
        values,
        len(rows) - values,
        total,
        heads,
        left_out,
        agreement,
        votes.superseded,
        controls,
        len(decided),
        skipped,
    )


def _refuse_off_scale(study: Study, votes: Votes) -> None:
    """One 999 on a scale to 5 would move everything: it is put right first, never averaged in."""
    asked = votes.question
    low = -np.inf if asked.low is None else asked.low
    high = np.inf if asked.high is None else asked.high
    off = votes.value[(votes.value < low) | (votes.value > high)]
    if len(off):
        raise DataError(
            f"{len(off)} votes on {asked.name!r} are off its scale {low:g} to {high:g}, such as {off[0]:g}",
            where=study.name,
            remedy=f"sightline check {study.home} names them. Correct the file and import it with --replace, "
            "or correct the scale.",
        )


def _rule(study: Study, name: str, rule: str | None, votes: Votes) -> Configured:
    scale = votes.question.scale
    usual = "majority" if scale == "nominal" else "mean"
    told = rule or study.settings.get("truth", {}).get("rule", usual)
    if isinstance(told, dict):
        told = told.get(name, usual)
    consensus = registry.configure("consensus", str(told))
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


def _by_role(
    study: Study, votes: Votes, subjects: Sequence[int]
) -> tuple[Votes, dict[int, float], list[LeftOut], set[int]]:
    """Votes without the adjudicator's, what was decided, and whom the owner left out."""
    people = reading.annotators(study)
    labels = _labels(votes)
    roles, reasons = people["role"].to_list(), people["left_out"].to_list()
    judges = {number for number, role in enumerate(roles) if role == "adjudicator"}
    own = np.isin(votes.annotator, sorted(judges))
    decided = {
        subjects[item]: float(value) for item, value in zip(votes.item[own], votes.value[own], strict=True)
    }
    cast = set(np.unique(votes.annotator).tolist())
    gone = {number for number, reason in enumerate(reasons) if reason is not None and number in cast}
    left_out = [LeftOut(labels[number], "owner", str(reasons[number])) for number in sorted(gone)]
    return votes.where(~own), decided, left_out, gone


def _of_people(study: Study, votes: Votes) -> Votes:
    """Without the votes of those who only judge controls beforehand."""
    roles = reading.annotators(study)["role"].to_list()
    trusted = [number for number, role in enumerate(roles) if role == "control"]
    return votes.where(~np.isin(votes.annotator, trusted))


def _once(study: Study, votes: Votes) -> Votes:
    """Of an annotator's votes on the same item, asked again on purpose: all, or the first or last."""
    told = str(study.settings.get("truth", {}).get("repeats", "first"))
    if told not in REPEATS:
        raise UsageError(
            f"[truth] repeats = {told!r} is not known",
            where=str(study.home / SETTINGS_FILE),
            remedy=near(told, REPEATS),
        )
    if told == "all" or not votes.repetition.any():
        return votes
    order = votes.repetition if told == "first" else -votes.repetition
    best: dict[tuple[int, int], int] = {}
    for row in np.lexsort((order,)):
        best.setdefault((int(votes.item[row]), int(votes.annotator[row])), int(row))
    keep = votes.annotator < 0
    keep[sorted(best.values())] = True
    return votes.where(keep)


def _best(study: Study, votes: Votes, controls: Controls | None) -> Votes:
    """At most so many votes an item as study.toml allows: those of whoever agrees best with the controls."""
    most = study.settings.get("truth", {}).get("most_votes")
    if most is None:
        return votes
    where = str(study.home / SETTINGS_FILE)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise UsageError(
            f"[truth] most_votes = {most!r} is no number of votes", where=where, remedy="Such as 3."
        )
    if controls is None:
        raise UsageError(
            "[truth] most_votes needs control items, to tell whose votes are best",
            where=where,
            remedy="Declare [annotate.NAME.controls], or take most_votes out.",
        )
    return votes.where(best_votes(votes, controls, most) | votes.control)


def _pairs(parts: pl.DataFrame) -> np.ndarray | None:
    """Who is compared with whom, where every item has two to choose from.

    The same image of another prompt, or beside another reference, is somebody else.
    """
    import polars as pl

    if parts.is_empty() or not (parts["image_b"] > 0).all():
        return None
    triplets = bool((parts["image_c"] > 0).all())
    if not triplets and not (parts["image_c"] == 0).all():
        return None
    beside = pl.col("image_id") if triplets else pl.lit(0)
    both = ("image_b", "image_c") if triplets else ("image_id", "image_b")
    ends = [
        parts.select("prompt_id", beside.alias("beside"), pl.col(end).alias("image")).rows() for end in both
    ]
    number: dict[object, int] = {}
    pairs = zip(*ends, strict=True)
    return np.array([[number.setdefault(end, len(number)) for end in pair] for pair in pairs])


def _screen_round(
    study: Study, name: str, screens: Sequence[Configured], gone: set[int], strict: bool
) -> tuple[list[LeftOut], set[int], list[str]]:
    """Whom the rules leave out, by their votes on any question of the rounds that ask this one.

    Whoever fails the attention checks of a round is left out with all answers given in it, whatever the
    question. Also the rules that could not be applied for want of controls; `strict` raises instead.
    """
    together = {name}
    for each in rounds.rounds(study):
        asked = {question.name for _, question in each.questions}
        together |= asked if name in asked else set()
    left_out: list[LeftOut] = []
    numbers: set[int] = set()
    applied: set[str] = set()
    everybody: set[int] = set()
    for other in sorted(together, key=lambda each: (each != name, each)):
        votes, parts, _ = reading.votes(study, other)
        if len(votes.value) == 0:
            continue
        subjects = parts["item_id"].to_list()
        votes = _without(_by_role(study, votes, subjects)[0], gone)
        if other == name:
            everybody = set(_of_people(study, votes.where(~votes.control)).annotator.tolist())
        known = controls_of(study, votes, subjects)
        usable = [each for each in screens if known is not None or not each.spec.details["needs_controls"]]
        applied |= {str(each) for each in usable}
        told = "" if other == name else f", judging {other}"
        for number, screen, reason in _failing(votes, usable, known):
            if number not in numbers:
                left_out.append(LeftOut(_labels(votes)[number], screen.short, f"{reason}{told}"))
            numbers.add(number)
    skipped = [screen.short for screen in screens if str(screen) not in applied]
    if skipped and strict:
        raise UsageError(
            f"{skipped[0]} needs control items with known answers, and nobody has judged any",
            remedy="Declare [annotate.NAME.controls] in study.toml, or leave the rule out; "
            "`sightline list screening` shows the others.",
        )
    if everybody and everybody <= numbers:
        raise DataError(
            "the screening rules leave nobody: every annotator is excluded",
            remedy="Loosen [screening] rules in study.toml.",
        )
    return left_out, numbers, skipped


def _failing(
    votes: Votes, screens: Sequence[Configured], controls: Controls | None
) -> Iterator[tuple[int, Configured, str]]:
    place = {annotator: number for number, annotator in enumerate(votes.annotators)}
    for screen in screens:
        for exclusion in screen.load()(votes, controls):
            yield place[exclusion.annotator], screen, exclusion.reason


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
    """For each annotator: name, votes, and correlation with the mean of the others that count."""
    from sightline.statistics.correlation import pearson
    from sightline.statistics.grouping import sum_by

    total = sum_by(counted.item, counted.value * counted.n, votes.items)
    count = sum_by(counted.item, counted.n.astype(np.float64), votes.items)
    told: list[list[object]] = []
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
        told.append([label, int(own.sum()), r.value, r.low, r.high, r.n])
    return told


def _known(value: float) -> bool:
    return math.isfinite(value)


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
