"""What W1KP's folders, triplets and crowd work share: how an image is called, and what was asked."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Once, Row, Source
from sightline.records import ImageKey, Item, Question, Record, System, Truth

TRIPLETS = "2afc.jsonl"
TRIPLET_COLUMNS = ("ref_seed", "seed1", "seed2", "id", "model_name")
CLOSER = Question(
    "closer_to_reference",
    "ordinal",
    0.0,
    1.0,
    labels={"1": "A", "0": "B"},
    wording="Which of A and B is closer to the reference?",
    direction="none",
)
"""1 is A, 0 is B; of several workers the share that chose A."""


def image_of(collection: str, system: str, prompt: str, seed: str) -> ImageKey:
    """An image as the folder layout calls it, whether or not the folder is at hand."""
    return ImageKey(collection, f"{system}/{prompt}/{seed}/image.png")


def triplet(reference: ImageKey, a: ImageKey, b: ImageKey, system: str) -> Item:
    """The subject of a forced choice: the reference first, then A and B."""
    return Item(None, system, reference, a, b)


def triplets(source: Source, file: str, collection: str) -> Iterator[Record]:
    """The triplets of a 2afc.jsonl with what is settled about them."""
    once = Once()
    yield CLOSER._replace(at=file)
    for row in source.rows(file, required=TRIPLET_COLUMNS):
        system = row.text("model_name")
        if once.new(system):
            yield System(system, at=row.at)
        prompt = row.text("id")
        seeds = (row.text("ref_seed"), row.text("seed1"), row.text("seed2"))
        # B may be of another prompt.
        homes = (prompt, prompt, row.text("id2", prompt))
        keys = [image_of(collection, system, home, seed) for home, seed in zip(homes, seeds, strict=True)]
        subject = triplet(keys[0], keys[1], keys[2], system)
        share, right = row.number("judgement", None), row.text("ground_truth", None)
        if share is not None:
            if not 0 <= share <= 1:
                raise row.wrong("judgement", "a share from 0 to 1", "It is the share that chose A.")
            yield Truth(CLOSER.name, subject, share, at=row.at)
        if right is not None:
            yield Truth(CLOSER.name, subject, _right(row, right, seeds), rule="control", at=row.at)
        if share is None and right is None:
            source.skip(row.at, "triplets that nobody has judged: nothing is known of them yet")


def _right(row: Row, right: str, seeds: tuple[str, str, str]) -> float:
    if right not in seeds[1:]:
        what = f"ground_truth {right!r} is the seed neither of A nor of B"
        raise row.error(what, "It names the right one: seed1 or seed2.")
    return float(right == seeds[1])
