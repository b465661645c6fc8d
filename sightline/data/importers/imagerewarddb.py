"""ImageRewardDB: images of prompts of DiffusionDB with ratings and ranks by experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sightline.data.sources import Once, Source
from sightline.data.sources.rows import Layout, Row
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Image, ImageKey, Item, Prompt, PromptKey, Question, Record, Truth

RATINGS = {
    "overall_rating": "overall",
    "image_text_alignment_rating": "alignment",
    "fidelity_rating": "fidelity",
}
NEEDED = ("image_path", "prompt_id", "prompt", "rank", "overall_rating")
KNOWN = (*NEEDED, *RATINGS, "classification", "image_amount_in_total")
RANK = "preference_rank"
TABLES = (".parquet", ".csv", ".jsonl")


def claims(source: Source) -> float:
    """Entries with image_path, prompt_id, prompt, rank and overall_rating: JSON, or a table of them."""
    files = source.shards(*TABLES)[:2]
    if any(set(NEEDED) <= set(source.header(file)) for file in files):
        return 0.95
    for file in source.shards(".json")[:2]:
        _, first = next(source.entries(file), (0, None))
        if isinstance(first, dict) and set(NEEDED) <= first.keys():
            return 0.95
    return 0.0


@importer(
    claims=claims,
    source="Xu et al. 2023, ImageRewardDB (THUDM/ImageRewardDB)",
    licence="Apache-2.0",
    files={
        "db/images/train/train_1/train_1.json": '[\n{"image_path": "images/train/train_1/a.png", '
        '"prompt_id": "000864-0061", "prompt": "a holy woman", "classification": "People", '
        '"image_amount_in_total": 2, "rank": 1, "overall_rating": 5, "image_text_alignment_rating": 6, '
        '"fidelity_rating": 4},\n{"image_path": "images/train/train_1/b.png", "prompt_id": "000864-0061", '
        '"prompt": "a holy woman", "classification": "People", "image_amount_in_total": 2, "rank": 2, '
        '"overall_rating": 2, "image_text_alignment_rating": 3, "fidelity_rating": 3}\n]\n',
        "db/images/train/train_1/a.png": "red",
        "db/images/train/train_1/b.png": "tan",
    },
)
def imagerewarddb(
    source: Source, *, suite: str = "imagerewarddb", collection: str = "imagerewarddb"
) -> Iterator[Record]:
    """ImageRewardDB: ratings 1-7 (overall, alignment, fidelity) and the rank of each image of a prompt.

    Read from the JSON files next to the images, or from metadata-train.parquet and the like. The ratings are
    published without the people who gave them, so they are truth, not judgements.
    """
    once = Once()
    for row in _rows(source):
        at = row.at
        prompt = PromptKey(suite, row.text("prompt_id"))
        tags = {"classification": row.text("classification")} if row.text("classification", None) else {}
        if once.new(prompt):
            yield Prompt(prompt, row.text("prompt"), tags, at=at)
        name = row.text("image_path")
        key = ImageKey(collection, name)
        path = source.picture(name, at) or source.picture(name.rpartition("/")[2], at)
        if path is not None:
            yield Image(key, path, at=at)
        item = Item(prompt, image=key)
        for column, question in RATINGS.items():
            value = row.number(column, None)
            if value is None:
                continue
            if not 1 <= value <= 7:
                raise row.wrong(column, "between 1 and 7", "Correct or remove the row.")
            if once.new(question):
                yield Question(question, "ordinal", 1, 7, 1, at=at)
            yield Truth(question, item, value, at=at)
        if once.new(RANK):
            yield Question(RANK, "ordinal", 1, None, 1, direction="lower", at=at)
        yield Truth(RANK, item, row.number("rank"), at=at)


def _rows(source: Source) -> Iterator[Row]:
    tables = [file for file in source.shards(*TABLES) if set(NEEDED) <= set(source.header(file))]
    for file in tables:
        yield from source.rows(file, required=NEEDED, known=KNOWN)
    for file in [] if tables else source.shards(".json"):
        for number, entry in source.entries(file):
            if not isinstance(entry, dict) or not set(NEEDED) <= entry.keys():
                raise DataError(
                    f"it has not all of {', '.join(NEEDED)}",
                    where=f"{file}:entry {number}",
                    remedy="Give the JSON files as they were published.",
                )
            yield _row(entry, file, number)


def _row(entry: Mapping[str, Any], file: str, number: int) -> Row:
    layout = Layout(file, {name: n for n, name in enumerate(entry)}, ":entry ")
    return Row(list(entry.values()), layout, number)
