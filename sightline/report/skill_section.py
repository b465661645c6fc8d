"""The section of a report on skills: what each system can do by verdict, and how far verdicts hold."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.rendering.blocks import Block, Grid, Heading, Note, Section
from sightline.report.making import Making
from sightline.skills.skill_profile import skill_profile
from sightline.skills.verify import read_verification

PROFILE = ("profile", "pairs", "effects", "regressions", "prerequisites")
"""The tables of a profile that a report shows; the command shows all."""
VERIFIED = ("agreement", "cannot_tell")


def skills_section(making: Making) -> Sequence[Section]:
    """The skill profile by the verdicts that the study holds, and their agreement with people."""
    profile = skill_profile(making.study)
    verified = read_verification(making.study, seed=making.seed)
    blocks: list[Block] = [*profile.figures(making.colours).values()]
    for name, table in profile.tables().items():
        if name in PROFILE and table.rows:
            blocks.append(Grid.of(table, table.caption))
    tables = verified.tables()
    if verified.agreement:
        blocks += [Heading("Can the verdicts be trusted?"), Grid.of(tables["rates"], "Corrected match rates")]
    blocks += [Grid.of(tables[name], tables[name].caption) for name in VERIFIED if tables[name].rows]
    blocks += [Note(note) for note in (*profile.notes, *verified.notes)]
    lead = f"{profile.sentence} {verified.sentence}"
    return [Section("skills", "What each system can do", lead, blocks, "Skills")]
