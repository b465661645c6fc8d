"""A study small enough to compute every answer of the explorer by hand, on SQLite and on PostgreSQL.

Its rows, in the order of prompts: 0 and 1 alpha's two samples of "a red dog", 2 beta's; 3 alpha's "a blue
cat", 4 beta's failure; 5 alpha's "Red CAT on a mat", whose file is not here, 6 beta's; 7 a photo that answers
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sightline.records import (
    Annotator,
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    ImageTag,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.report.explorer.explorer import Explorer
from sightline.study.contents import current_inputs
from sightline.study.schema import database, tables
from sightline.study.study import Study
from sightline.study.writing.loading import load

P = [PromptKey("s", str(n)) for n in range(3)]
ROWS = [("alpha", 0, 0), ("alpha", 0, 1), ("beta", 0, 0), ("alpha", 1, 0), ("beta", 1, 0)]
ROWS += [("alpha", 2, 0), ("beta", 2, 0)]
FAILED, NO_FILE = 4, 5
TRUTH = {0: 0.5, 1: 1.0, 2: 0.2, 6: 0.9}
SCORE = {0: 0.1, 1: 0.2, 2: 0.3, 6: 0.4}


def image_of(row: int) -> ImageKey:
    return ImageKey("drawn", f"{row}.png")


def records(folder: Path, png: Callable[..., bytes]) -> Iterator[Record]:
    yield Question("quality", "interval", 0, 1, labels={"1": "perfect"}, direction="higher")
    yield Question("taste", "nominal", 0, 1)
    texts = ("a red dog", "a blue cat", "Red CAT on a mat")
    for key, text, skill in zip(P, texts, ("colour", "colour", "place"), strict=True):
        yield Prompt(key, text, {"skill": skill})
    yield System("alpha")
    yield System("beta")
    for row, (system, prompt, position) in enumerate(ROWS):
        if row == FAILED:
            yield Answer(P[prompt], system, position, None, failure="<b>refused</b>")
            continue
        path = folder / f"{row}.png"
        path.write_bytes(png((row * 30, 10, 10), (8 + row, 6)))
        yield Image(image_of(row), None if row == NO_FILE else str(path))
        settings = {"steps": 10 * (row + 1), "sampler": "ddim"} if system == "alpha" else None
        yield Answer(P[prompt], system, position, image_of(row), None, row, settings)
    path = folder / "photo.png"
    path.write_bytes(png("white", (20, 10)))
    yield Image(ImageKey("photos", "photo.png"), str(path), ("a photo",), tags={"blur": "no"})
    yield ImageTag(image_of(2), "blur", "yes", P[0])
    ann, bob, eve = (AnnotatorKey("people", name) for name in ("ann", "bob", "eve"))
    for who, excluded in ((ann, None), (bob, None), (eve, "asleep")):
        yield Annotator(who, "annotator", None, excluded)

    def vote(row: int, value: float, who: AnnotatorKey | None, **more: Any) -> Judgement:
        item = Item(P[ROWS[row][1]], image=image_of(row))
        return Judgement("quality", item, value, who, took_ms=1_500, **more)

    yield from (vote(0, 1, ann), vote(0, 0.5, bob), vote(0, 0, None))
    yield vote(1, 1, None, n=2)
    yield from (vote(2, 0.2, ann), vote(2, 0.9, eve))
    yield from (vote(6, 0.1, ann), vote(6, 0.9, ann, revision=1))
    yield Judgement("taste", Item(P[0], image=image_of(0), image_b=image_of(2)), 0, ann)
    for row, value in TRUTH.items():
        yield Truth("quality", Item(P[ROWS[row][1]], image=image_of(row)), value, value - 0.1, value + 0.1, 3)


@pytest.fixture
def filled(study: Study, tmp_path: Path, png: Callable[..., bytes]) -> Study:
    """The study of this file, scored and predicted."""
    folder = tmp_path / "files"
    folder.mkdir()
    load(study, records(folder, png), importer="test", path="files", digest="1")
    add_measures(study)
    return study


@pytest.fixture
def explorer(filled: Study) -> Explorer:
    return Explorer(filled)


def add_measures(study: Study) -> None:
    """Measures of each kind, one with verdicts, and predictions of two prompts."""
    with database.writing(study.engine) as connection:
        ids = dict(database.fetch(connection, "SELECT name, id FROM image"))
        images = {row: ids[f"{row}.png"] for row in (*range(4), 5, 6)}
        prompts = [row[0] for row in database.fetch(connection, "SELECT id FROM prompt ORDER BY id")]
        alpha = database.fetch(connection, "SELECT id FROM system WHERE name = 'alpha'")[0][0]
        of_answer = {
            (prompts[ROWS[row][1]], 0, images[row]): value for row, value in {0: 1.0, 2: None}.items()
        }
        values: dict[str, tuple[str, str, dict[tuple[int, int, int], float | None]]] = {
            "sharp": ("of_image", "higher", {(0, 0, images[row]): value for row, value in SCORE.items()}),
            "fits": ("of_answer", "none", of_answer),
            "long": ("of_prompt", "none", {(prompts[0], 0, 0): 7.0}),
            "varied": ("of_set", "none", {(prompts[0], alpha, 0): 3.0}),
            "stale": ("of_image", "none", {(0, 0, images[0]): 9.0}),
        }
        for name, (kind, direction, scores) in values.items():
            measure = database.add_one(
                connection, tables.measure, kind=kind, spec=name, version=1, direction=direction,
                identity=name * 8,
            )  # fmt: skip
            now = current_inputs(connection, kind) or {}
            for key, value in scores.items():
                inputs = 0 if name == "stale" else now[key]
                row = (measure, *key, inputs, value, None if value is not None else "it cannot be told")
                columns = ["measure_id", "prompt_id", "system_id", "image_id", "inputs", "value", "reason"]
                database.insert(connection, tables.score, columns, [row])
                if name == "fits":
                    said = {"verdict": "yes" if value else "cannot tell", "boxes": [{"box": [0, 0, 1, 1]}]}
                    row = (measure, *key, database.as_json(said))
                    columns = ["measure_id", "prompt_id", "system_id", "image_id", "json"]
                    database.insert(connection, tables.evidence, columns, [row])
        settlement = database.fetch(connection, "SELECT max(id) FROM settlement")[0][0]
        fit = database.add_one(
            connection, tables.fit, spec="ridge", settlement_id=settlement, split="", train_sha="", seed=0,
            identity="ridge",
        )  # fmt: skip
        columns = ["fit_id", "prompt_id", "system_id", "image_id", "value", "low", "high"]
        rows = [(fit, prompts[0], 0, 0, 0.4, 0.3, 0.6), (fit, prompts[1], 0, 0, 0.6, 0.5, 0.7)]
        database.insert(connection, tables.prediction, columns, rows)
