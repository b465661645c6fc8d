"""What every importer promises, checked on the files of its own example."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sightline.data.import_ import import_, recognise
from sightline.data.imports import undo
from sightline.data.sources import Source
from sightline.extension import Configured
from sightline.study import reading
from sightline.study.study import create_study

IMAGES = (".png", ".jpg", ".jpeg")


def check_importer(ready: Configured, need: Callable[[Any, str], None]) -> Any:
    """Import the example once and twice, and undo it; returns the counts of what was imported."""
    spec = ready.spec
    files = example_files(spec.name, spec.details["files"], spec.details["example"])
    need(files, "it brings an example: files={'name.csv': 'text', 'a.png': 'red'}, or a table as example=")
    with tempfile.TemporaryDirectory() as made:
        start = write_files(Path(made), files)
        recognised, _ = recognise(Source(start))
        need(recognised.spec.name == spec.name, "its own example is recognised as its own")
        with create_study(Path(made) / "study") as study:
            first = import_(study, start, format=str(ready))
            need(sum(first.counts.values()) > 0, "its example holds something to import")
            again = import_(study, start, format=str(ready))
            need(again.already, "importing the same files again changes nothing")
            assert first.number is not None
            undo(study, first.number)
            left = len(reading.prompts(study)) + len(reading.images(study)) + len(reading.answers(study))
            need(left == 0, "undone, nothing is left")
    return {name: count for name, count in sorted(first.counts.items()) if count}


def example_files(name: str, files: Mapping[str, str], table: str) -> dict[str, str]:
    """The files of an example: as declared, or the one table it shows."""
    if files:
        return dict(files)
    first, _, rest = table.partition("\n")
    if first.startswith("{"):
        json.loads(first)
        return {f"{name}.jsonl": table}
    return {f"{name}.csv": table} if rest.strip() and "," in first else {}


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write an example, images as squares of the colour given for them; returns the path to import.

    That is the folder of all files, or the first file where they are not in one folder.
    """
    from PIL import Image

    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix.lower() in IMAGES:
            out = io.BytesIO()
            Image.new("RGB", (4, 4), text).save(out, "PNG" if file.suffix.lower() == ".png" else "JPEG")
            file.write_bytes(out.getvalue())
        else:
            file.write_text(text, encoding="utf-8")
    tops = {name.split("/", 1)[0] for name in files if "/" in name}
    first = next(iter(files))
    return folder / tops.pop() if len(tops) == 1 and "/" in first else folder / first
