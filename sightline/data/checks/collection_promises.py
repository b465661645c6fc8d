"""Collections that are not what their name says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sightline.data.checks import FEW, Material, gathered, image_examples
from sightline.extension import check
from sightline.records import Finding

if TYPE_CHECKING:
    import polars as pl


class Promise(NamedTuple):
    """What a name stands for: its words, how many images, and how many captions each image has at least."""

    words: tuple[str, ...]
    sizes: tuple[int, ...]
    captions: int
    known_as: str


# The first whose words all occur in the name counts, so the narrower come first. Sizes are those of the
# published sets; where releases differ, each is allowed.
KNOWN = (
    Promise(("coco", "5k"), (5_000,), 5, "the 5k test set of MS-COCO"),
    Promise(("coco", "1k"), (1_000,), 5, "a 1k test fold of MS-COCO"),
    Promise(("coco", "val2017"), (5_000,), 5, "MS-COCO val2017"),
    Promise(("coco", "train2017"), (118_287,), 5, "MS-COCO train2017"),
    Promise(("coco", "val2014"), (40_504,), 5, "MS-COCO val2014"),
    Promise(("coco", "train2014"), (82_783,), 5, "MS-COCO train2014"),
    Promise(("flickr30k", "1k"), (1_000,), 5, "the 1k test set of Flickr30k"),
    Promise(("flickr30k", "test"), (1_000,), 5, "the 1k test set of Flickr30k"),
    Promise(("flickr30k",), (31_783, 31_014), 5, "Flickr30k"),
    Promise(("flickr8k", "1k"), (1_000,), 5, "the 1k test set of Flickr8k"),
    Promise(("flickr8k", "test"), (1_000,), 5, "the 1k test set of Flickr8k"),
    Promise(("flickr8k",), (8_000, 8_091, 8_092), 5, "Flickr8k"),
    Promise(("visualgenome",), (108_077, 108_249), 0, "Visual Genome"),
    Promise(("coco",), (), 5, "MS-COCO"),
)
# Not part of a longer word: the 5k of "photos-5k", never that of a name such as w1kp.
THOUSANDS = re.compile(r"(?<![a-z0-9])(\d+)k(?![a-z0-9])")


@check(severity="warning", source="ConQA; Karpathy and Fei-Fei 2015", licence="Apache-2.0")
def collection_promises(material: Material) -> Iterator[Finding]:
    """Collections of another size, or with fewer captions an image, than their name promises.

    The two traps: the wrong image set under the right name, and one caption an image instead of five; both
    make retrieval easier or harder than the benchmark of that name. Well-known sets are known by the words of
    their names; a number of thousands as a word of its own ("photos-5k") is a promise as well, met by what
    rounds to it. Captions are looked at where the collection has any, on images that are more than a name. A
    name without a size ("coco") promises captions alone, and breaking that is a note.
    """
    import polars as pl

    images = material.scan("images")
    more = (pl.col("captions") > 0) | pl.col("sha256").is_not_null()
    counted = gathered(
        images.group_by("collection").agg(
            pl.len(),
            pl.col("image_id").min().alias("first"),
            more.sum().alias("held"),
            pl.col("captions").filter(more).sum(),
        )
    ).sort("first")
    for name, size, _, held, captions in counted.iter_rows():
        of = images.filter(pl.col("collection") == name)
        promise = _promise(name)
        if promise is None:
            thousands = THOUSANDS.search(name.lower())
            if thousands and round(size / 1000) != int(thousands[1]):
                yield Finding(
                    f"images in {name}, whose name promises some {int(thousands[1]):,},000",
                    size,
                    image_examples(material, _first_ids(of)),
                    "Import the whole set, or rename the collection after what it holds.",
                )
            continue
        if promise.sizes and size not in promise.sizes:
            yield Finding(
                f"images in {name}, whose name promises {promise.known_as} with "
                f"{' or '.join(f'{each:,}' for each in promise.sizes)}",
                size,
                image_examples(material, _first_ids(of)),
                "Results on it are not comparable with published ones: import the whole set, or rename it.",
            )
        few = of.filter(more & (pl.col("captions") < promise.captions))
        lacking = int(gathered(few.select(pl.len())).item())
        if captions and lacking:
            yield Finding(
                f"images of {name} with fewer captions than the {promise.captions} that "
                f"{promise.known_as} has ({captions / held:.2f} on average)",
                lacking,
                image_examples(material, _first_ids(few)),
                "Import all captions: with fewer, a search by captions is another, harder task.",
                "warning" if promise.sizes else "note",
            )


def _first_ids(images: pl.LazyFrame) -> list[int]:
    return gathered(images.select("image_id").head(FEW))["image_id"].to_list()


def _promise(name: str) -> Promise | None:
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    for promise in KNOWN:
        # The 5k of "coco25k" is none.
        if all(re.search(rf"(?<!\d){word}", plain) for word in promise.words):
            return promise
    return None
