"""[report] in study.toml: which sections, which tags to break down by, and how large a page may be."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from sightline.errors import StudyError, near
from sightline.study import reading
from sightline.study.settings import Table, Texts
from sightline.study.study import SETTINGS_FILE, Study

MEGABYTES = 20.0
"""What a mail takes."""


class ReportTable(Table):
    """[report]."""

    sections: Texts = Field((), min_length=1, description='a list such as ["ranking", "prompts"]')
    breakdown: Texts = Field((), description='a list of tags such as ["skill"]')
    megabytes: float = Field(MEGABYTES, ge=1, le=1000, description="a number from 1 to 1000")


def report_settings(study: Study, sections: Collection[str]) -> ReportTable:
    """The settings of the report, with every name checked against the sections and the study's tags."""
    where = f"{study.home / SETTINGS_FILE} [report]"
    table = ReportTable.read(study.settings.get("report", {}), where)
    for name in table.sections:
        if name not in sections:
            raise StudyError(f"there is no section {name!r}", where=where, remedy=near(name, sections))
    tags = reading.tags(study)["name"].unique().sort().to_list()
    for name in table.breakdown:
        if name not in tags:
            raise StudyError(f"no prompt has a tag {name!r}", where=where, remedy=near(name, tags))
    return table
