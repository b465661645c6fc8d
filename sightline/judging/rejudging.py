"""Judging again: a sample of the finished work as quality control, and how far it agrees with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightline.errors import UsageError
from sightline.estimate import plural
from sightline.judging.oversee import Rejudging, again
from sightline.judging.overview import Rejudged, overview
from sightline.judging.store import rounds as stored
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.study import Study

WHOSE = {"other": "by somebody else (between raters)", "same": "by the same person (within raters)"}


@dataclass(frozen=True)
class RoundAgain:
    """What of a round is judged again: the sample drawn now, items drawn and done so far, and agreement."""

    round: str
    drawn: Rejudging | None
    wanted: int
    done: int
    rejudged: Sequence[Rejudged]


@dataclass(frozen=True)
class JudgedAgain(Result):
    """Work that is judged again as quality control, round by round."""

    rounds: Sequence[RoundAgain]
    share: float
    by: str

    @property
    def sentence(self) -> str:
        said = [f"{each.round}: {each.drawn.sentence}" for each in self.rounds if each.drawn is not None]
        done, wanted = (sum(getattr(each, name) for each in self.rounds) for name in ("done", "wanted"))
        return " ".join([*said, f"{done:,} of {plural(wanted, 'item')} drawn to be judged again are done."])

    @property
    def next(self) -> Sequence[str]:
        if any(each.done < each.wanted for each in self.rounds):
            return ("sightline annotate STUDY", "sightline annotate STUDY --again 0   # how far they agree")
        return ("sightline truth STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("round"),
            Column("question"),
            Column("judged_again", "judged again"),
            Column("n", "judgements"),
            Column("same", "same answer", "higher", estimate=True),
            Column("agreement", "agreement", "higher", estimate=True),
            Column("coefficient"),
        ]
        rows = [
            (each.round, one.question, WHOSE[one.by], one.same.n, one.same, one.agreement, one.agreement.name)
            for each in self.rounds
            for one in each.rejudged
        ]
        return {"agreement": Table(columns, rows, "What was judged again, against the first judgements")}


def judge_again(
    study: Study, rounds: Sequence[str] = (), share: float = 0.2, by: str = "other", seed: int = 0
) -> JudgedAgain:
    """Draw a random sample of the finished work to be judged again, and say how far repeats agree.

    `share` is the proportion of all work with a finished task, what was drawn before included; 0 draws
    nothing. Those who judge find it among their tasks. Source: Achterberg et al. (GIMBRR), a fifth.
    """
    names = list(rounds) or [each.name for each in stored.rounds_of(study)]
    if not names:
        raise UsageError(
            "no round was opened yet",
            where=study.name,
            remedy=f"Open one: sightline annotate {study.name} --mode yes_no",
        )
    made = []
    for name in names:
        drawn = again(study, name, share, by, seed) if share else None
        now = overview(study, name)
        made.append(RoundAgain(name, drawn, now.progress.again, now.progress.again_done, now.rejudged))
    return JudgedAgain(made, share, by)
