"""sightline init: make an empty study."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._output import Output, quoted


@command("init")
def init(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The folder to make it in.")],
    database: Annotated[
        str,
        typer.Option(
            "--database",
            metavar="ADDRESS",
            help="Keep the records in PostgreSQL: postgresql://user@host/name.",
            show_default="a file in the folder",
        ),
    ] = "",
    images: Annotated[
        str,
        typer.Option(
            "--images",
            metavar="ADDRESS",
            help="Keep the images elsewhere, such as s3://bucket/path; only with --database.",
            show_default="the folder",
        ),
    ] = "",
) -> None:
    """Make an empty study with a commented settings file.

    For work on your own a folder is all it takes. A team shares one with --database and --images.
    """
    from sightline.errors import UsageError
    from sightline.study.study import SETTINGS_FILE, create_study

    if images and not database:
        raise UsageError(
            "--images goes with --database", remedy="A study in a folder keeps its images in that folder."
        )
    with create_study(study, database_address=database, images=images) as made:
        home = made.home
    output = Output()
    output.say(f"Made the study {study}. Its settings are in {home / SETTINGS_FILE}.")
    output.next(
        f"sightline import {quoted(study)} PATH", "bring in prompts and the images that answered them"
    )
