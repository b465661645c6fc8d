"""RichHF-18K: fine-grained scores that people gave to images of Pick-a-Pic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from sightline.data.importers._samples import split_of
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Image, ImageKey, Item, Question, Record, Truth

SCORES = {
    "artifact_score": "plausibility",
    "misalignment_score": "alignment",
    "aesthetics_score": "aesthetics",
    "overall_score": "overall",
}


def claims(source: Source) -> float:
    """TFRecord files: train.tfrecord, dev.tfrecord, test.tfrecord."""
    return 0.9 * bool(source.shards(".tfrecord"))


@importer(
    claims=claims,
    source="Liang et al. 2024, RichHF-18K (google-research-datasets/richhf-18k)",
    licence="Apache-2.0",
    files={
        "test.tfrecord": '[{"filename": "test/u1.png", "artifact_score": 0.75, "misalignment_score": 1.0, '
        '"aesthetics_score": 0.5, "overall_score": 0.5, "prompt_misalignment_label": "1 1"}]'
    },
)
def richhf(source: Source, *, collection: str = "pickapic") -> Iterator[Record]:
    """RichHF-18K: four scores of 0 to 1 of each image, of which 1 is the best, as published: means of people.

    Images are those of Pick-a-Pic, named by their uid there: import that as well, into the same study. The
    words that an image missed become its tag `misaligned_words`: how many there are. Heatmaps are left out.
    """
    asked = False
    for file in source.shards(".tfrecord"):
        for at, features in source.tfrecords(file):
            name = features.get("filename")
            if not isinstance(name, bytes):
                raise DataError("it names no image", where=at, remedy="Get the file again.")
            uid = PurePosixPath(name.decode("utf-8", "replace")).stem
            key = ImageKey(collection, uid)
            tags = {"split": split_of(file)} if split_of(file) else {}
            label = features.get("prompt_misalignment_label")
            if isinstance(label, bytes):
                tags["misaligned_words"] = str(label.decode("utf-8", "replace").split().count("0"))
            yield Image(key, at=at, tags=tags)
            for feature, question in SCORES.items():
                value = features.get(feature)
                if value is None:
                    source.skip(f"{at} ({feature})", "scores that a record lacks")
                    continue
                if not isinstance(value, float) or not 0 <= value <= 1:
                    raise DataError(
                        f"{feature} is {value!r}, not between 0 and 1", where=at, remedy="Get the file again."
                    )
                if not asked:
                    yield from (Question(each, "interval", 0, 1, at=at) for each in SCORES.values())
                    asked = True
                yield Truth(question, Item(image=key), value, at=at)
            if "artifact_map" in features or "misalignment_map" in features:
                source.skip(at, "heatmaps, which have no place in a study yet")
