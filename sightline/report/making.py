"""What the sections of a report share: the study, its comparisons, colours, settings, room for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sightline.comparison.compare import Comparison, compare
from sightline.comparison.preferences import Preferences, preference_questions, preferences
from sightline.comparison.values import ranking_measures
from sightline.records import Question
from sightline.rendering.theme import Colour, system_colours
from sightline.report.album import Album
from sightline.report.headline import enough
from sightline.report.settings import ReportTable
from sightline.study import listing, reading, rollup
from sightline.study.study import Study


@dataclass(frozen=True)
class Making:
    """One report in the making; each part is read when a section first asks for it."""

    study: Study
    settings: ReportTable
    album: Album
    seed: int = 0

    @cached_property
    def asked(self) -> Sequence[Question]:
        return [question for _, question in reading.questions(self.study)]

    @cached_property
    def compared(self) -> Sequence[Comparison]:
        """The systems on every question with truth about them; engines by measures of their rankings."""
        known = set(reading.about_systems(self.study))
        names = [question.name for question in self.asked if question.name in known]
        found = [
            compare(self.study, name, seed=self.seed) for name in (*names, *ranking_measures(self.study))
        ]
        return [each for each in found if isinstance(each, Comparison)]

    @cached_property
    def preferred(self) -> Sequence[Preferences]:
        """The systems by every question of preference."""
        return [preferences(self.study, name) for name in preference_questions(self.study)]

    @cached_property
    def votes(self) -> dict[str, int]:
        """The votes behind each question or measure; where truth came without votes, the truths."""
        cast = listing.votes_by_question(self.study)
        found: list[Comparison | Preferences] = [*self.compared, *self.preferred]
        return {each.by: cast.get(each.by, 0) or self._values(each) for each in found}

    def _values(self, found: Comparison | Preferences) -> int:
        if isinstance(found, Preferences):
            return found.ranking.votes
        if found.by in {question.name for question in self.asked}:
            return rollup.by_system(self.study, found.by).height
        return sum(each.mean.n for each in found.systems)

    @cached_property
    def leading(self) -> Sequence[Comparison | Preferences]:
        """What a headline may speak of: questions; of measures of rankings, which rest on one, the first."""
        asked = {question.name for question in self.asked}
        questions = [each for each in self.compared if each.by in asked]
        return [*questions, *self.preferred] or list(self.compared[:1])

    @cached_property
    def head(self) -> Comparison | None:
        """The comparison that prompts and tags are shown by: the first that the headline speaks of."""
        spoken = [each for each in enough(self.leading, self.votes) if isinstance(each, Comparison)]
        return next(iter([*spoken, *self.compared]), None)

    @cached_property
    def colours(self) -> dict[str, Colour]:
        named = [each.system for comparison in self.compared for each in comparison.systems]
        named += [name for each in self.preferred for name in each.systems]
        return system_colours(named or reading.systems(self.study)["system"].to_list())
