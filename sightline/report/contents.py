"""The parts of a report, by the names that study.toml chooses them by.

A part is a function of the report in the making that gives its sections, none where the study has nothing for
it. A new kind of result is one more entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sightline.errors import DataError
from sightline.rendering.blocks import Section
from sightline.report import sections
from sightline.report.making import Making
from sightline.report.prompt_cards import images_section, prompts_section
from sightline.report.skill_section import skills_section

PARTS: Mapping[str, Callable[[Making], Sequence[Section]]] = {
    "ranking": sections.ranking,
    "preferences": sections.preferred,
    "breakdown": sections.breakdowns,
    "skills": skills_section,
    "prompts": prompts_section,
    "images": images_section,
    "variability": sections.variability,
    "trust": sections.measure_trust,
    "prediction": sections.prediction,
    "measures": sections.measures,
    "queries": sections.query_analysis,
    "annotators": sections.annotators,
    "checks": sections.checks,
    "gaps": sections.gaps,
}
LAST = "images"
"""Made after all others: it takes the room for pictures that they leave."""


def contents(making: Making) -> list[Section]:
    """The sections that were chosen, or all there is something for, in their order."""
    chosen = making.settings.sections or tuple(PARTS)
    made = {name: _made(name, making) for name in sorted(chosen, key=lambda name: name == LAST)}
    return [section for name in chosen for section in made[name]]


def _made(name: str, making: Making) -> Sequence[Section]:
    try:
        return PARTS[name](making)
    except DataError:
        return ()  # the study lacks what this part is about; "What comes next" says what would add it
