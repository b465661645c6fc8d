"""sightline score: automatic measures of a study, or of single image files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Workers, cores
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched
from sightline.errors import DataError, UsageError, near


@command("score")
def score(
    first: Annotated[
        str, typer.Argument(metavar="STUDY|MEASURE", help="A study; or, without one, a measure of an image.")
    ],
    others: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MEASURE|FILE",
            help="Measures of the study; or image files, and more measures before them.",
            show_default="the measures of study.toml",
        ),
    ] = None,
    workers: Workers = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> int:
    """Compute automatic measures of a study or of image files.

    Only what is not known yet is computed, and every batch is kept as soon as it is done.

    \b
    sightline score my-study
    sightline score my-study sharpness "precision(k=5)"
    sightline score sharpness *.png
    """
    output = Output(json=json, csv=csv)
    words = [first, *(others or ())]
    if "://" in first or _is_study(first) or (os.path.isdir(first) and not _is_measure(first)):
        _of_study(output, first, words[1:], cores(workers))
        return 0
    if not _is_measure(first):
        raise UsageError(
            f"there is neither a study nor a measure called {first!r}", remedy=near(first, _measures())
        )
    files = next((n for n, word in enumerate(words) if n and not _is_measure(word)), len(words))
    return _of_files(output, words[:files], _images(words[files:]))


def _of_study(output: Output, study: str, measures: Sequence[str], workers: int) -> None:
    from sightline.measures.score import chosen_measures
    from sightline.measures.score import score as bring_up_to_date
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study

    with open_study(study) as opened, watched() as listener:
        chosen = chosen_measures(opened, list(measures))
        ran = bring_up_to_date(opened, [str(each) for each in chosen], workers=workers, listener=listener)
    rows = [
        (
            measure.short,
            measure.spec.kind.replace("_", " "),
            measure.spec.direction,
            done.total,
            done.known,
            done.computed,
            sum(done.reasons.values()),
        )
        for measure, done in zip(chosen, ran, strict=True)
    ]
    columns = [
        Column("measure"),
        Column("kind", "of what"),
        Column("direction", "which is better"),
        Column("total"),
        Column("known", "known before"),
        Column("computed", "computed now"),
        Column("without", "without a value"),
    ]
    reasons = [
        (measure.short, reason, n)
        for measure, done in zip(chosen, ran, strict=True)
        for reason, n in done.reasons.most_common()
    ]
    tables = {
        "measures": Table(columns, rows, "Scores"),
        "reasons": Table(
            [Column("measure"), Column("reason"), Column("n")], reasons, "Why there is no value"
        ),
    }
    notes = list(dict.fromkeys(note for done in ran for note in done.notes))
    output.show(tables, notes=notes)
    output.say(*notes)
    twins = sum(done.total - done.known - done.computed for done in ran)
    if twins:
        output.say(f"{twins:,} have the same content as others and share their values.")
    about_systems = [each for each in chosen if each.spec.kind != "of_prompt"]
    # By a measure of which neither end is better no system is the best.
    tells = next((each for each in about_systems if each.spec.direction != "none"), None)
    if tells is not None:
        output.next(f"sightline compare {quoted(study)} --by {quoted(tells.short)}")
    elif about_systems:
        output.next(f"sightline report {quoted(study)}")
    else:
        output.next(f"sightline fit {quoted(study)}")


def _of_files(output: Output, measures: Sequence[str], files: Sequence[str]) -> int:
    from sightline import registry
    from sightline.estimate import Cell, absent
    from sightline.measures.score import score_files
    from sightline.rendering.tables import Column, Table

    found = score_files(measures, files)
    chosen = [registry.find_measure(name) for name in measures]
    columns = [Column("file")]
    columns += [Column(each.short, each.short, each.spec.direction) for each in chosen]
    # score_files answers measure by measure, each over all files in their order.
    by_measure = [found[n * len(files) : (n + 1) * len(files)] for n in range(len(chosen))]
    rows: list[list[Cell]] = []
    for path, *outcomes in zip(files, *by_measure, strict=True):
        cells: list[Cell] = [path]
        cells += [
            absent(each.reason or "no value") if each.value is None else each.value for each in outcomes
        ]
        rows.append(cells)
    output.show(Table(columns, rows))
    without = dict.fromkeys(each.path for each in found if each.value is None)
    return DataError.exit_code if any(_unreadable(path) for path in without) else 0


def _unreadable(path: str) -> bool:
    from sightline.pictures import Picture

    try:
        return Picture(path=path).rgb is None
    except DataError:
        return True


def _images(words: Sequence[str]) -> list[str]:
    """The files named, and the images of the folders named."""
    from sightline.data.sources import IMAGES, natural

    found: list[str] = []
    for word in words:
        if os.path.isdir(word):
            inside = [str(path) for path in Path(word).iterdir() if path.suffix.lower() in IMAGES]
            if not inside:
                raise DataError("there are no images in this folder", where=word, remedy="Name image files.")
            found += sorted(inside, key=natural)
        else:
            found.append(word)
    return found


def _is_study(word: str) -> bool:
    from sightline.study.study import DATABASE_FILE, SETTINGS_FILE

    return any(os.path.exists(os.path.join(word, name)) for name in (DATABASE_FILE, SETTINGS_FILE))


def _is_measure(word: str) -> bool:
    """Whether a word names a measure; a file of that very name is meant as the file."""
    return not os.path.isfile(word) and word.partition("(")[0].partition("@")[0].strip() in _measures()


def _measures() -> set[str]:
    from sightline import registry
    from sightline.extension import MEASURE_KINDS

    return {name for kind in MEASURE_KINDS for name in registry.names(kind)}
