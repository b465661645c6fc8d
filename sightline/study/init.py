"""Init: create an empty study."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sightline.errors import UsageError
from sightline.rendering.result import Result
from sightline.study.study import SETTINGS_FILE, create_study
from sightline.verbs import argument, option, verb


@dataclass(frozen=True)
class NewStudy(Result):
    """A study that was created, and where its settings are."""

    study: str
    settings: str

    @property
    def sentence(self) -> str:
        return f"Created the study {self.study}. Its settings are in {self.settings}."

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline import {shlex.quote(self.study)} PATH",)


DATABASE = option(
    "Store the records in an empty PostgreSQL database: postgresql://user@host/name.",
    metavar="ADDRESS",
    shown="a file in the folder",
)
IMAGES = option(
    "Store the images elsewhere, such as s3://bucket/path; only with --database.",
    metavar="ADDRESS",
    shown="the folder",
)


def refuse_images_alone(images: str, database: str) -> None:
    """Raise where a study in a folder is to have its images elsewhere from the beginning."""
    if images and not database:
        raise UsageError(
            "--images goes with --database", remedy="A study in a folder keeps its images in that folder."
        )


@verb("set up")
def init(
    path: Annotated[str | Path, argument("The folder to create it in.", "STUDY")],
    *,
    database: Annotated[str, DATABASE] = "",
    images: Annotated[str, IMAGES] = "",
) -> NewStudy:
    """Create an empty study with a commented settings file.

    To work alone, a folder is enough. A team shares a study with --database and --images.
    """
    refuse_images_alone(images, database)
    with create_study(path, database_address=database, images=images) as made:
        return NewStudy(str(path), str(made.home / SETTINGS_FILE))
