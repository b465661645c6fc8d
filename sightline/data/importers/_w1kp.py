"""What W1KP's folders, triplets and crowd work share: how an image is called, and what was asked."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Once, Source
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
        reference, a, b = (
            image_of(collection, system, home, seed) for home, seed in zip(homes, seeds, strict=True)
        )
        item = Item(None, system, reference, a, b)
        proportion, right = row.number("judgement", None), row.text("ground_truth", None)
        if proportion is not None:
            if not 0 <= proportion <= 1:
                raise row.wrong("judgement", "a share from 0 to 1", "It is the share that chose A.")
            yield Truth(CLOSER.name, item, proportion, at=row.at)
        if right is not None:
            if right not in seeds[1:]:
                what = f"ground_truth {right!r} is the seed neither of A nor of B"
                raise row.error(what, "It names the right one: seed1 or seed2.")
            yield Truth(CLOSER.name, item, float(right == seeds[1]), rule="control", at=row.at)
        if proportion is None and right is None:
            source.skip(row.at, "triplets that nobody has judged: nothing is known of them yet")
