"""The settings that an export has: taken over by a new study, since its truth would differ without them."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from sightline.data.sources import Source
from sightline.errors import DataError, SightlineError
from sightline.study.study import DATABASE_FILE, SETTINGS_FILE, Study, adopt_settings, is_template
from sightline.study.writing.copying import without_store

FILES = "files"
"""The folder of an export with the files that its settings name, whose names may be those of tables."""
OWN = ("images", "thumbnails", "vectors", DATABASE_FILE, SETTINGS_FILE)
"""What a study's folder holds that no settings may name."""


def named_files(settings: Mapping[str, Any]) -> Iterator[str]:
    """The files that rounds of study.toml name: of control answers, and pictures of examples."""
    tables = settings.get("annotate", {})
    for table in tables.values() if isinstance(tables, Mapping) else ():
        if not isinstance(table, Mapping):
            continue
        controls, examples = table.get("controls"), table.get("examples")
        cells = [controls.get("file")] if isinstance(controls, Mapping) else []
        cells += [each.get("image") for each in examples or () if isinstance(each, Mapping)]
        yield from (name for name in cells if isinstance(name, str) and name)


def take_over_settings(study: Study, source: Source, *, dry_run: bool = False) -> None:
    """Give a study that has no settings of its own those of the export, with the files they name.

    What is not taken over is listed among what the import left out; `dry_run` lists the same, and
    writes nothing.
    """
    file = source.root / SETTINGS_FILE
    if not file.is_file():
        return
    if not is_template(study):
        source.skip(SETTINGS_FILE, "settings: the study has its own settings; compare the two files")
        return
    said = without_store(file.read_text("utf-8"))
    try:
        settings = tomllib.loads(said)
        files = {name: source.picture(f"{FILES}/{name}", SETTINGS_FILE) for name in named_files(settings)}
        if "store" in settings:
            raise DataError("they name another database")
        adopt_settings(study, said, dry_run=dry_run)
    except (tomllib.TOMLDecodeError, SightlineError) as error:
        source.skip(SETTINGS_FILE, f"settings that are not taken over ({error})")
        return
    source.note(SETTINGS_FILE, "settings of the export, taken over by the study")
    for name, path in files.items():
        target = study.home / name
        if path is None or target.exists() or PurePosixPath(name).parts[0].startswith(OWN):
            source.skip(name, "files that the settings name: not in the export, or in the study already")
            continue
        if dry_run:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
