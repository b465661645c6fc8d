"""Preferences: systems ranked by votes between their images, or by orders of several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sightline.errors import DataError
from sightline.estimate import Cell, Estimate, absent, format_cell
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.statistics.preference_ranking import (
    BOTH_BAD,
    PreferencePair,
    PreferenceRanking,
    rank_by_orders,
    rank_by_votes,
)
from sightline.study import reading, rollup
from sightline.study.groups import families_of
from sightline.study.study import Study

MOST_IN_MATRIX = 12


@dataclass(frozen=True)
class Preferences(Result):
    """Systems by strength, from the votes on one question; the mean of a system is its win rate."""

    by: str
    ranking: PreferenceRanking
    orders: bool = False
    where: str = ""
    others: Sequence[tuple[str, Mapping[str, Estimate]]] = ()
    """Means on further questions or measures, by system."""

    @property
    def winner(self) -> str | None:
        """The system that is significantly stronger than every other, if the votes can name one."""
        return self.ranking.first

    @property
    def systems(self) -> Sequence[str]:
        return [each.system for each in self.ranking.systems]

    @property
    def sentence(self) -> str:
        """The outcome in a sentence or two."""
        ranked = self.ranking
        best = ranked.systems[0]
        cast = f"{ranked.votes:,} {'orders' if self.orders else 'votes'} on {ranked.prompts:,} prompts"
        rate = format_cell(best.win_rate, "%")
        if self.winner is not None:
            return f"{best.system} is preferred to every other system on {self.by}: it wins {rate} ({cast})."
        level = [each.system for each in ranked.systems if each.best_rank == 1 and each is not best]
        named = f"; it is not significantly stronger than {', '.join(level)}" if level else ""
        return f"{best.system} is the strongest on {self.by}, with a win rate of {rate} ({cast}){named}."

    @property
    def notes(self) -> Sequence[str]:
        ranked = self.ranking
        made = [f"{self._how} {self._over}".strip()]
        bad = int(np.triu(ranked.both_bad).sum())
        if bad:
            say = "1 vote says that both are bad: it counts as a tie, and is shown."
            many = f"{bad:,} votes say that both are bad: they count as ties, and are shown."
            made.append(say if bad == 1 else many)
        low = [number for number, weight in enumerate(ranked.reliability) if weight < 0.25]
        if low:
            who = "1 rater is" if len(low) == 1 else f"{len(low)} raters are"
            made.append(f"{who} so inconsistent as to count less than a quarter of the average.")
        return made

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def facts(self) -> Mapping[str, Any]:
        ranked = self.ranking
        return {
            **super().facts(), "winner": self.winner, "votes": ranked.votes, "prompts": ranked.prompts,
            "raters": ranked.raters, "over": ranked.over, "variance_from_raters": ranked.rater_part,
        }  # fmt: skip

    def tables(self) -> dict[str, Table]:
        ranked = self.ranking
        columns = [
            Column("system"),
            Column("mean", "win rate", "higher", format="%", estimate=True),
            Column("rank"),
            Column("strength", direction="higher", estimate=True),
            Column("elo", "Elo scale", direction="higher", format=".0f", estimate=True),
            Column("expected", "win rate against all", "higher", format="%", estimate=True, detail=True),
            Column("votes"),
            Column("wins", detail=True),
            Column("losses", detail=True),
            Column("ties"),
            Column("both_bad", "both bad"),
            *(Column(name, f"mean {name}", estimate=True) for name, _ in self.others),
        ]
        rows: list[tuple[Cell, ...]] = [
            (
                each.system, each.win_rate, _ranks(each.best_rank, each.worst_rank), each.strength, each.elo,
                each.expected_win_rate, each.votes, each.wins, each.losses, each.ties, each.both_bad,
                *(means.get(each.system, absent("no value")) for _, means in self.others),
            )
            for each in ranked.systems
        ]  # fmt: skip
        kept = f" where {self.where}" if self.where else ""
        made = {
            "systems": Table(columns, rows, f"Systems by preference on {self.by}{kept}"),
            "pairs": Table(
                [
                    Column("pair", "systems"), Column("first", detail=True), Column("second", detail=True),
                    Column("verdict"),
                    Column("probability", "first is preferred", format="%", estimate=True),
                    Column("difference", "difference in strength", format="+", estimate=True),
                    Column("p", format="p"), Column("p_adjusted", "p after Holm", format="p"),
                    Column("significant", detail=True), Column("votes"), Column("first_wins", detail=True),
                    Column("second_wins", detail=True), Column("ties", detail=True),
                    Column("both_bad", detail=True),
                ],
                [_pair(each) for each in ranked.pairs],
                "Every two systems: the probability that the first is preferred to the second",
            ),
        }  # fmt: skip
        if len(ranked.names) <= MOST_IN_MATRIX:
            made["wins"] = self._matrix()
        return made

    def _matrix(self) -> Table:
        ranked = self.ranking
        place = {name: number for number, name in enumerate(ranked.names)}
        order = [place[name] for name in self.systems]
        columns = [Column("system"), *(Column(f"over_{ranked.names[j]}", ranked.names[j]) for j in order)]
        rows = [(ranked.names[i], *("" if i == j else int(ranked.wins[i, j]) for j in order)) for i in order]
        return Table(columns, rows, "Votes for the system of the row against that of the column")

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """Each system's strength on the Elo scale as a dot with its interval."""
        dots = [Dot(each.system, each.elo) for each in self.ranking.systems if each.elo.value is not None]
        if not dots:
            return {}
        return {
            "strength": Figure.of(
                lambda width: dot_interval(
                    dots, axis="strength (Elo scale)", direction="higher", colours=colours, width=width
                ),
                f"Each dot is a system's strength on the Elo scale, each line its interval. {self._over}",
            )
        }

    @property
    def _how(self) -> str:
        model = "Plackett and Luce" if self.orders else "Bradley and Terry"
        return f"Strengths are those of {model}; 400 points of the Elo scale are odds of ten to one."

    @property
    def _over(self) -> str:
        ranked = self.ranking
        if not ranked.over:
            return f"There are no intervals: {ranked.reason}."
        why = f": {ranked.reason}" if ranked.reason else ""
        return f"The 95 % intervals are over {ranked.over}{why}."


def preference_questions(study: Study) -> list[str]:
    """The questions by which systems can be ranked: votes between the images of two, or orders of several."""
    return [asked.name for _, asked in reading.questions(study) if is_preference(study, asked.name)]


def is_preference(study: Study, name: str) -> bool:
    """Whether a name is that of a question by which systems are compared directly."""
    if name not in {asked.name for _, asked in reading.questions(study)}:
        return False
    if name in reading.about_systems(study):
        return False
    return rollup.ranks_systems(study, name)


def preferences(
    study: Study,
    question: str,
    prompts: Sequence[int] | None = None,
    where: str = "",
    confidence: float = 0.95,
) -> Preferences:
    """The systems ranked by the votes on one question; families of prompts are one cluster."""
    orders = rollup.order_votes(study, question)
    votes = orders if not orders.is_empty() else rollup.pair_votes(study, question)
    if prompts is not None:
        votes = votes.filter(pl.col("prompt_id").is_in(list(prompts)))
    if votes.is_empty():
        raise DataError(
            f"nobody has compared systems on {question}" + (f" where {where}" if where else ""),
            where=study.name,
            remedy="Import votes between two systems, or ask for them: sightline annotate STUDY",
        )
    known = votes["prompt_id"].unique().sort()
    known = known.filter(known > 0)
    family = dict(zip(known, families_of(study, known).tolist(), strict=True))
    # A vote that names no prompt is a prompt of its own.
    alone = -1 - np.arange(len(votes))
    unit = votes["prompt_id"].replace_strict(family, default=-1, return_dtype=pl.Int64).to_numpy()
    unit = np.unique(np.where(unit < 0, alone, unit), return_inverse=True)[1]
    columns = ["system"] if not orders.is_empty() else ["system", "system_b"]
    names = sorted({str(name) for column in columns for name in votes[column].unique()})
    place = {name: number for number, name in enumerate(names)}
    first, *second = (
        votes[column].replace_strict(place, return_dtype=pl.Int64).to_numpy() for column in columns
    )
    rater = votes["annotator"].to_numpy()
    if second:
        said = 1 - votes["outcome"].cast(pl.Float64).to_numpy()
        said = np.where(votes["outcome"].is_null().to_numpy(), BOTH_BAD, said)
        ranking = rank_by_votes(unit, rater, first, second[0], said, names, confidence=confidence)
    else:
        group, rank = votes["group"].to_numpy(), votes["rank"].to_numpy()
        ranking = rank_by_orders(group, first, rank, unit, rater, names, confidence=confidence)
    return Preferences(question, ranking, orders=not second, where=where)


def _ranks(best: int, worst: int) -> str:
    return f"{best}" if best == worst else f"{best}-{worst}"


def _pair(pair: PreferencePair) -> tuple[Cell, ...]:
    untested = absent("not tested")
    verdict = "not significant"
    if pair.significant and pair.difference.value is not None:
        verdict = f"{pair.first if pair.difference.value > 0 else pair.second} is better"
    names = f"{pair.first} − {pair.second}", pair.first, pair.second, verdict
    tested = (untested if p is None else p for p in (pair.p, pair.p_adjusted))
    counts = pair.votes, pair.first_wins, pair.second_wins, pair.ties, pair.both_bad
    return *names, pair.probability, pair.difference, *tested, pair.significant, *counts
