"""PQPP as published: prompts with human truth for generators and search engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sightline.data.sources import Row, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)

TABLE = "dataset.csv"
RELEVANT = "retrieval_groundtruth.pickle"
SPLITS = ("train", "validation", "test")
COLUMNS = ("id", "image_id", "best_caption", "avg_generative_score", "retrieval_avg_pk", "retrieval_avg_rr")
TRUTHS = (
    ("hbpp", "sdxl", "sdxl_score"),
    ("hbpp", "glide", "glide_score"),
    ("hbpp", None, "avg_generative_score"),
    ("p_at_10", "clip", "clip_pk"),
    ("p_at_10", "blip2", "blip2_pk"),
    ("p_at_10", None, "retrieval_avg_pk"),
    ("rr", "clip", "clip_rr"),
    ("rr", "blip2", "blip2_rr"),
    ("rr", None, "retrieval_avg_rr"),
)
QUESTIONS = (
    Question("hbpp", "interval", -1.0, 2.0, wording="How well do the generated images fit the prompt?"),
    Question("p_at_10", "interval", 0.0, 1.0, wording="Proportion of relevant images among the first ten."),
    Question("rr", "interval", 0.0, 1.0, wording="Reciprocal rank of the first relevant image."),
    Question("relevance", "ordinal", 0.0, 1.0, 1.0, wording="Is the image relevant to the prompt?"),
)
GENERATED = {"sdxl": (4, 5), "glide": (7, 8)}
PHOTO = 6
ENOUGH_ROWS = 30
"""Rows after which it is known whether the relevance belongs to the table; 1 in 57 lacks its photo."""


def claims(source: Source) -> float:
    """dataset/dataset.csv, or dataset.csv itself in a folder, with PQPP's columns."""
    there = (source.has_table(under + TABLE, COLUMNS) for under in ("dataset/", ""))
    return 0.95 * (not source.is_file and any(there))


@importer(
    claims=claims,
    source="Poesina et al. 2025, PQPP",
    licence="CC-BY-4.0",
    files={
        "pqpp/dataset/dataset.csv": "id,image_id,best_caption,avg_generative_score,retrieval_avg_pk,"
        "retrieval_avg_rr\n1,7,a dog,1.5,0.2,0.5\n2,8,a cat,-0.5,0.1,0.25\n",
        "pqpp/dataset/train.csv": "id\n1\n",
        "pqpp/dataset/validation.csv": "id\n2\n",
    },
)
def pqpp(
    source: Source, *, suite: str = "pqpp", collection: str = "coco", generated: str = "pqpp"
) -> Iterator[Record]:
    """PQPP: prompts with splits, HBPP, P@10 and RR per system and on average, and their relevant images.

    The values are those of dataset.csv; the files of the splits only say which split a prompt is in.
    """
    under = "dataset/" if source.has("dataset/" + TABLE) else ""
    splits = _splits(source, under)
    relevant = _relevant(source, under + RELEVANT) if source.has(under + RELEVANT) else None
    for question in QUESTIONS:
        yield question._replace(at=under + TABLE)
    for name in GENERATED:
        yield System(name, at=under + TABLE)
    for name in ("clip", "blip2"):
        yield System(name, "retriever", collection, under + TABLE)
    lacking = 0
    for number, row in enumerate(source.rows(under + TABLE, required=COLUMNS)):
        key = PromptKey(suite, row.text("id"))
        own = row.text("image_id")
        tags = {"split": splits[key.ref]} if key.ref in splits else {}
        images: Sequence[str] = ()
        if relevant is not None:
            images = relevant.get(number, ())
            distinct = set(images)
            if len(distinct) < len(images):
                tags["relevant_repeated"] = str(len(images) - len(distinct))
            if own not in distinct:
                tags["own_image_missing"] = "1"
                lacking += 1
                _refuse_strangers(under + RELEVANT, lacking, number + 1)
        yield Prompt(key, row.text("best_caption"), tags, at=row.at)
        photo = source.picture(f"images/{own}/image_{PHOTO}.png", row.at)
        yield Image(ImageKey(collection, own), photo, (row.text("best_caption"),), row.at)
        yield from _generated(source, key, own, generated, row.at)
        yield from _truths(row, key)
        for name in dict.fromkeys(images):
            yield Truth("relevance", Item(key, image=ImageKey(collection, name)), 1.0, at=row.at)


def _refuse_strangers(file: str, lacking: int, rows: int) -> None:
    """The relevance is keyed by row number: if most rows lack their own photo, it belongs to other rows."""
    if rows >= ENOUGH_ROWS and lacking > rows / 3:
        raise DataError(
            f"{lacking} of the first {rows} prompts lack their own photo: it belongs to another {TABLE}",
            where=file,
            remedy="Put back the whole table it was published with, or take this file out of the folder.",
        )


def _splits(source: Source, under: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for split in SPLITS:
        file = f"{under}{split}.csv"
        if not source.has(file):
            source.skip(file, "files of a split that are not here")
            continue
        for row in source.rows(file, required=("id",)):
            earlier = found.setdefault(row.text("id"), split)
            if earlier != split:
                raise row.error(f"prompt {row.text('id')} is in {earlier}.csv as well", "Keep it in one.")
    return found


def _relevant(source: Source, file: str) -> dict[int, list[str]]:
    found: Any = source.pickle(file)
    if not isinstance(found, dict):
        raise DataError("not a table of image ids by row number", where=file, remedy="Obtain the file again.")
    judged: dict[int, list[str]] = {}
    for number, ids in found.items():
        if not isinstance(number, int) or not isinstance(ids, list):
            raise DataError(
                f"entry {number!r} is not a list by row number", where=file, remedy="Obtain it again."
            )
        judged[number] = [str(each) for each in ids]
    return judged


def _generated(source: Source, key: PromptKey, own: str, collection: str, at: str) -> Iterator[Record]:
    for system, numbers in GENERATED.items():
        for position, number in enumerate(numbers):
            file = f"images/{own}/image_{number}.png"
            path = source.picture(file, at)
            if path is not None:
                image = ImageKey(collection, file)
                yield Image(image, path, at=at)
                yield Answer(key, system, position, image, at=at)


def _truths(row: Row, key: PromptKey) -> Iterator[Truth]:
    for question, system, column in TRUTHS:
        if column in row:
            yield Truth(question, Item(key, system), row.number(column), at=row.at)
