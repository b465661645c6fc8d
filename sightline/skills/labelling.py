"""What to label next: as rows, as a CSV file, and as a round of judging."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import judging
from sightline.errors import StudyError, UsageError
from sightline.estimate import Cell, plural
from sightline.judging.rounds import round_names
from sightline.skills.matches import Matches
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.image_tags import set_image_tags

COLUMNS = ("suite", "prompt_id", "prompt", "system", "position", "collection", "image", "skill", "verdict")
MODE = "yes_no"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
TAG = "round."
YES = "yes"


def listed(study: Study, verdicts: Matches, rows: NDArray[np.int64]) -> list[list[Cell]]:
    """The answers at these rows by their names, in the order in which they were drawn."""
    if not rows.size:
        return []
    prompts = {
        int(each["prompt_id"]): each
        for each in reading.prompts(study).select("prompt_id", "suite", "ref", "text").iter_rows(named=True)
    }
    names = reading.images(study).filter(pl.col("image_id").is_in(verdicts.image[rows].tolist()))
    images = {int(key): (place, name) for key, place, name in names.select(
        "image_id", "collection", "name"
    ).iter_rows()}  # fmt: skip
    made: list[list[Cell]] = []
    for row in rows.tolist():
        about = prompts[int(verdicts.prompt[row])]
        value = verdicts.match[row]
        said = "cannot tell" if np.isnan(value) else "yes" if value else "no"
        made.append([
            about["suite"], about["ref"], about["text"], str(verdicts.system[row]),
            int(verdicts.position[row]), *images[int(verdicts.image[row])], str(verdicts.skill[row]), said,
        ])  # fmt: skip
    return made


def refuse_wrong(study: Study, to: str | Path | None, round: str | None) -> None:
    """Raise where the answers to label next could not be written, or the round not be declared."""
    if to is not None and Path(to).suffix.lower() != ".csv":
        raise UsageError(f"{Path(to).name} is no CSV file", remedy="Name a file that ends in .csv.")
    if round is not None and not NAME.fullmatch(round):
        raise UsageError(
            f"a round cannot be called {round[:80]!r}",
            remedy="Letters and digits, with dots, dashes and underscores between them, 64 at most.",
        )
    if round is not None and round in round_names(study):
        raise UsageError(f"there is a round called {round!r} already", remedy="Choose another name.")


def write(rows: Sequence[Sequence[Cell]], to: str | Path) -> str:
    """The rows as a CSV file; the verdict is left out, so that it leads nobody astray."""
    path = Path(to)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS[:-1])
            writer.writerows(row[:-1] for row in rows)
    except OSError as error:
        raise StudyError(f"cannot write the file ({error.strerror})", where=str(path)) from None
    return str(path)


def declare(study: Study, verdicts: Matches, rows: NDArray[np.int64], name: str) -> str:
    """Declare a round of exactly these answers: they get a tag, and the round asks for it."""
    if not rows.size:
        raise UsageError(
            "there is nothing to label next: every answer is judged, or the rates are as exact as was asked",
            remedy="Ask for a smaller --width, for another --question, or add answers.",
        )
    judging.declare_round(study, MODE, name, where=f"tag:{TAG}{name}", per_item=1)
    pairs = [(int(verdicts.image[row]), int(verdicts.prompt[row])) for row in rows.tolist()]
    set_image_tags(study, list(dict.fromkeys(pairs)), f"{TAG}{name}", YES)
    command = f"sightline annotate {shlex.quote(study.address)} --round {name}"
    return f"The round {name} has {plural(len(pairs), 'answer')}, drawn at random: {command}"
