"""Verify: does each image show what its prompt asks for? Verdicts with evidence, and people's correction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline.demands import CANNOT_TELL
from sightline.errors import StudyError
from sightline.estimate import Cell, absent, format_cell, plural
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import system_colours
from sightline.skills import labelling
from sightline.skills.corrected import (
    ALL,
    MatchRate,
    SkillAgreement,
    agreement_by_skill,
    apart,
    next_to_label,
    rates,
)
from sightline.skills.matches import (
    Matches,
    StoredVerdicts,
    answers_of,
    by_people,
    by_verdict,
    skill_tag,
    stored_verdicts,
    without_corrections,
    yes_no_question,
)
from sightline.skills.verifying import Decided, decide_answers, way_of
from sightline.study import listing, reading
from sightline.study.running.progress import Listener
from sightline.study.study import SETTINGS_FILE, Study
from sightline.verbs import SEED, option, verb

SETTING = "verify"
SETTINGS = ("detector", "reader", "verdicts", "question", "yes_from", "per")
WIDTH = 0.1
SHOWN = 15
MOSTLY = 0.5
"""The proportion of answers that cannot be decided above which a rate of the others is called out."""


@dataclass(frozen=True)
class Verification(Result):
    """Match rates of systems by skill, how far verdicts agree with people, and what to label next."""

    by: str
    question: str
    per: str
    width: float
    rows: Sequence[MatchRate]
    agreement: Sequence[SkillAgreement]
    reasons: Sequence[tuple[str, int, str]]
    label_next: Sequence[Sequence[Cell]]
    answers: int
    decided: int
    cached: int
    computed: int
    corrections: int = 0
    notes: Sequence[str] = ()
    written: str = ""

    @property
    def sentence(self) -> str:
        counted = f"{self.decided:,} of {plural(self.answers, 'answer')} have a yes or no"
        if not self.decided:
            why = self.reasons[0][2].rstrip(".") if self.reasons else "nothing is known"
            return f"No answer has a yes or no. The most frequent reason: {why}."
        best = [each for each in self.rows if each.skill == ALL and each.verdict.value is not None]
        shown = ", ".join(f"{each.system} {100 * (each.verdict.value or 0):.0f} %" for each in best)
        text = f"{counted}; match rates by verdict: {shown}."
        whole = next((each for each in self.agreement if each.skill == ALL), None)
        if whole is not None and whole.accuracy.value is not None:
            text += (
                f" Verdict and people ({self.question}) agree on {100 * whole.accuracy.value:.0f} % of "
                f"{plural(whole.both_yes + whole.only_verdict + whole.only_people + whole.both_no, 'answer')}"
                f" (kappa {format_cell(whole.kappa)})."
            )
        return text

    @property
    def next(self) -> Sequence[str]:
        if self.label_next and not self.written:
            return (
                "sightline verify STUDY --round NAME   # a round of what to label next",
                "sightline skill-profile STUDY",
            )
        return ("sightline skill-profile STUDY", "sightline view STUDY")

    def tables(self) -> dict[str, Table]:
        people = bool(self.agreement)
        columns = [
            Column("system"),
            Column("skill"),
            Column("answers"),
            Column("verdict", "match rate by verdict", "higher", estimate=True),
            Column("cannot_tell", "cannot tell", format="%"),
        ]
        if people:
            columns += [
                Column("people", "people alone", "higher", estimate=True),
                Column("corrected", "corrected by people", "higher", estimate=True),
                Column("needed", f"more labels for width {self.width:g}"),
            ]
        columns += [Column("needed_alone", f"labels for width {self.width:g} without verdicts")]
        return {
            "rates": Table(columns, [self._row(each, people) for each in self.rows], "Match rates"),
            "agreement": _agreement_table(self.agreement, self.question),
            "cannot_tell": Table(
                [Column("demand"), Column("answers"), Column("example")],
                self.reasons,
                "What the verdict cannot tell",
                SHOWN,
            ),
            "label_next": Table(
                [*map(Column, labelling.COLUMNS)], self.label_next, "What to label next, at random", SHOWN
            ),
        }

    def _row(self, each: MatchRate, people: bool) -> tuple[Cell, ...]:
        undecided_share = each.undecided_share.value
        cells: list[Cell] = [each.system, each.skill, each.answers, each.verdict]
        cells.append(absent("no answers") if undecided_share is None else undecided_share)
        if people:
            needed: Cell = absent(each.unreachable or "not known")
            cells += [each.people, each.corrected, needed if each.needed is None else each.needed]
        alone: Cell = absent("not known") if each.needed_alone is None else each.needed_alone
        return (*cells, alone)

    def figures(self) -> dict[str, Figure]:
        """Match rates of systems by skill, by verdict."""
        colours = system_colours([each.system for each in self.rows])
        skills = [skill for skill in dict.fromkeys(each.skill for each in self.rows) if skill != ALL] or [ALL]
        dots = [
            Dot(skill, each.verdict, each.system)
            for skill in skills
            for each in self.rows
            if each.skill == skill and each.verdict.value is not None
        ]
        if not dots:
            return {}
        systems = dict.fromkeys(dot.series for dot in dots)
        figure = Figure.of(
            lambda width: dot_interval(
                dots, axis="match rate", direction="higher", domain=(0, 1), colours=colours, width=width
            ),
            f"Match rates by verdict with 95 % intervals ({self.by}).",
            [(name, colours[name].name) for name in systems],
        )
        return {"rates": figure}


def _agreement_table(rows: Sequence[SkillAgreement], question: str) -> Table:
    columns = [
        Column("skill"),
        Column("n", "answers both decide"),
        Column("accuracy", "same answer", "higher", estimate=True),
        Column("kappa", "Cohen's kappa", "higher", estimate=True),
        Column("both_yes", "both yes"),
        Column("only_verdict", "yes by verdict only"),
        Column("only_people", "yes by people only"),
        Column("both_no", "both no"),
        Column("undecided", "judged, verdict cannot tell"),
    ]
    cells = [
        (
            each.skill, each.both_yes + each.only_verdict + each.only_people + each.both_no, each.accuracy,
            each.kappa, each.both_yes, each.only_verdict, each.only_people, each.both_no, each.undecided,
        )
        for each in rows
    ]  # fmt: skip
    return Table(columns, cells, f"Verdicts against people on {question}")


@verb("measure")
def verify(
    study: Study,
    *,
    detector: Annotated[
        str | None,
        option(
            "Look for objects with this detector, or with nothing: see sightline list detector.",
            metavar="DETECTOR",
            shown="as study.toml says, else ssd_mobilenet_v2(least=0.1)",
        ),
    ] = None,
    reader: Annotated[
        str | None,
        option(
            "Read text with this detector, or with nothing.",
            metavar="DETECTOR",
            shown="as study.toml says, else rapidocr",
        ),
    ] = None,
    verdicts: Annotated[
        Sequence[str],
        option(
            'Decide by this verdict, such as "count(sure=0.6)"; repeatable.', "--verdict", metavar="VERDICT"
        ),
    ] = (),
    question: Annotated[
        str | None,
        option(
            "Compare with people's answers to this question.",
            metavar="QUESTION",
            shown="as study.toml says, else the yes/no question with a truth",
        ),
    ] = None,
    yes_from: Annotated[
        float | None,
        option("Count a truth from this value on as a match, where the question is not yes or no."),
    ] = None,
    per: Annotated[
        str | None, option("Show rates per value of this tag.", metavar="TAG", shown="skill, else task")
    ] = None,
    width: Annotated[
        float, option("Say how many labels an interval of this width needs.", least=0.001)
    ] = WIDTH,
    label: Annotated[
        int | None,
        option("Draw this many answers to label next.", least=1, shown="as many as the width needs"),
    ] = None,
    to_label: Annotated[
        str | Path | None, option("Write the answers to label next to a CSV file.", metavar="FILE")
    ] = None,
    round: Annotated[
        str | None, option("Declare a round of yes or no of the answers to label next.", metavar="NAME")
    ] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> Verification:
    """Decide whether images show what their prompts ask for.

    Detectors look at each image once; verdicts follow from what they see and what the prompt expects: yes,
    no or cannot tell, each with its evidence. What is known is not decided again. Where people judged a
    random sample, their judgement says how far verdicts can be trusted and corrects the match rates
    (prediction-powered inference).
    """
    asked = _settings(
        study,
        detector=detector, reader=reader, verdicts=list(verdicts) or None, question=question,
        yes_from=yes_from, per=per,
    )  # fmt: skip
    way, notes = way_of(asked["detector"], asked["reader"], asked["verdicts"] or ())
    tag = skill_tag(study, asked["per"])
    answers = answers_of(study, tag)
    # Whatever can be refused is refused before detectors begin to look.
    people = _people(study, answers, asked, notes)
    labelling.refuse_wrong(study, to_label, round)
    ran = decide_answers(study, way, listener)
    return _verified(
        study, stored_verdicts(study, ran.identity), ran, answers, tag, people, width=width, label=label,
        to_label=to_label, round=round, seed=seed, notes=notes,
    )  # fmt: skip


def read_verification(study: Study, *, width: float = WIDTH, seed: int = 0) -> Verification:
    """The newest verdicts that the study holds, with everything that follows; nothing is decided."""
    asked = _settings(study)
    stored = stored_verdicts(study)
    tag = skill_tag(study, asked["per"])
    answers = answers_of(study, tag)
    notes: list[str] = []
    people = _people(study, answers, asked, notes)
    return _verified(
        study, stored, None, answers, tag, people, width=width, label=None, to_label=None, round=None,
        seed=seed, notes=notes,
    )  # fmt: skip


def _settings(study: Study, **given: Any) -> dict[str, Any]:
    """What was asked for, and where nothing was what [verify] of study.toml says."""
    table = study.settings.get(SETTING, {})
    where = f"{study.home / SETTINGS_FILE} [{SETTING}]"
    if not isinstance(table, Mapping):
        raise StudyError("this must be a table", where=where)
    for key in table:
        if key not in SETTINGS:
            raise StudyError(
                f"there is no setting {key!r}", where=where, remedy=f"One of {', '.join(SETTINGS)}."
            )
    return {key: table.get(key) if given.get(key) is None else given[key] for key in SETTINGS}


def _verified(
    study: Study,
    stored: StoredVerdicts,
    ran: Decided | None,
    answers: pl.DataFrame,
    tag: str,
    judged: tuple[Matches | None, int, str],
    *,
    width: float,
    label: int | None,
    to_label: str | Path | None,
    round: str | None,
    seed: int,
    notes: list[str],
) -> Verification:
    verdicts = by_verdict(study, answers, stored)
    people, corrections, question = judged
    found = rates(verdicts, people, width)
    drawn = next_to_label(verdicts, people, found, label, seed)
    listed = labelling.listed(study, verdicts, drawn)
    written = labelling.write(listed, to_label) if to_label is not None else ""
    if round is not None:
        notes.append(labelling.declare(study, verdicts, drawn, round))
        written = written or round
    if people is not None:
        notes += _about_sample(verdicts, people)
    if ran is not None:
        notes += _about_run(ran)
    notes += _about_undecided(found)
    return Verification(
        by=stored.name,
        question=question,
        per=tag,
        width=width,
        rows=found,
        agreement=[] if people is None else agreement_by_skill(verdicts, people),
        reasons=undecided_by_demand(study, stored),
        label_next=listed,
        answers=len(verdicts),
        decided=int(np.sum(~np.isnan(verdicts.match))),
        cached=0 if ran is None else ran.known,
        computed=0 if ran is None else ran.computed,
        corrections=corrections,
        notes=notes,
        written=written,
    )


def _people(
    study: Study, answers: pl.DataFrame, asked: Mapping[str, Any], notes: list[str]
) -> tuple[Matches | None, int, str]:
    question = asked["question"] or yes_no_question(study)
    if question is None:
        notes.append("Nobody judged by yes or no: how far verdicts can be trusted is not known.")
        return None, 0, ""
    people, corrections = without_corrections(study, by_people(study, answers, question, asked["yes_from"]))
    if corrections:
        notes.append(
            f"{plural(corrections, 'answer')} judged only to correct a verdict count neither in the "
            "agreement nor in the corrected rates: they are no random sample."
        )
    return (None if np.isnan(people.match).all() else people), corrections, question


def _about_sample(verdicts: Matches, people: Matches) -> list[str]:
    if not np.isnan(people.match).any():
        return ["Every answer is judged: the rates of people are those of all."]
    differing = apart(verdicts, people)
    if differing:
        return [
            f"Judged and unjudged answers of {', '.join(differing)} differ significantly in their verdicts: "
            "corrected rates hold only if the judged ones were drawn at random."
        ]
    return ["Corrected rates hold if the judged answers were drawn at random from all."]


def undecided_by_demand(study: Study, stored: StoredVerdicts) -> list[tuple[str, int, str]]:
    """Of the answers without a yes or no: the demand that could not be decided, how many, and an example."""
    open_ = stored.frame.filter(pl.col("reason").is_not_null()).select("prompt_id", "image_id", "reason")
    evidence = listing.evidence(study, stored.identity).select("prompt_id", "image_id", "evidence")
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for _, _, reason, seen in open_.join(evidence, on=["prompt_id", "image_id"], how="left").iter_rows():
        known = reading.decoded(seen) if seen is not None else {}
        demands = [each for each in known.get("demands", ()) if each["verdict"] == CANNOT_TELL]
        weak = {each["demand"]: each["why"] for each in demands}
        for demand, why in (weak or {"the prompt as a whole": known.get("why") or str(reason)}).items():
            counts[demand] += 1
            examples.setdefault(demand, why)
    return [(demand, n, examples[demand]) for demand, n in counts.most_common()]


def _about_undecided(found: Sequence[MatchRate]) -> list[str]:
    """Where most answers cannot be decided, those that can are no fair sample of the skill."""
    mostly = [
        each.skill for each in found if each.skill != ALL and (each.undecided_share.value or 0) > MOSTLY
    ]
    if not mostly or all(each.verdict.value is None for each in found):
        return []
    return [
        f"Of most answers to {', '.join(dict.fromkeys(mostly))} the verdict cannot tell: what it says of the "
        "rest says little about the skill."
    ]


def _about_run(ran: Decided) -> list[str]:
    notes = [f"{ran.known:,} answers were decided before, {ran.computed:,} now."]
    notes += [f"{n:,} verdicts were not kept: {why}." for why, n in ran.dropped.items()]
    off = [f"{n:,} {what}" for what, n in ran.boxes.items() if n]
    if off:
        notes.append(f"Boxes that reached beyond their image: {', '.join(off)}.")
    return notes
