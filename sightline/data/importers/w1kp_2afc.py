"""W1KP's triplets: which of two images is closer to a third."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.importers._w1kp import TRIPLET_COLUMNS, triplets
from sightline.data.sources import Source
from sightline.extension import importer
from sightline.records import Record


def claims(source: Source) -> float:
    """JSON lines with ref_seed, seed1, seed2, id and model_name."""
    if not source.is_table() or not source.the_file().lower().endswith((".jsonl", ".ndjson")):
        return 0.0
    return 0.95 * (set(TRIPLET_COLUMNS) <= set(source.header(source.the_file())))


@importer(
    claims=claims,
    source="Tang et al. 2024, W1KP",
    licence="MIT",
    files={
        "2afc.jsonl": '{"ref_seed": "3", "seed1": "1", "seed2": "2", "id": "0", "model_name": "sdxl", '
        '"judgement": 0.4}\n{"ref_seed": "1", "seed1": "1", "seed2": "2", "id": "0", "model_name": "sdxl", '
        '"ground_truth": "1"}\n'
    },
)
def w1kp_2afc(source: Source, *, collection: str = "w1kp") -> Iterator[Record]:
    """W1KP's 2afc.jsonl: triplets (reference, A, B) of a system, with the proportion of workers that chose A.

    `judgement` is imported as truth, since it does not say who chose or how many; `ground_truth`, the seed of
    the right one of an attention check, is truth by the rule `control`. Images are known as the folder
    layout calls them, system/prompt/seed/image.png; the whole folder brings this file in as well.
    """
    yield from triplets(source, source.the_file(), collection)
