"""Pick-a-Pic: two images of a prompt, and which of them a user of the web application preferred."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.importers._preferences import Preferences
from sightline.data.sources import TABLES, Row, Source
from sightline.extension import importer
from sightline.records import Record

NEEDED = ("caption", "image_0_uid", "image_1_uid", "label_0", "label_1")
KNOWN = (
    *NEEDED,
    *("jpg_0", "jpg_1", "model_0", "model_1", "user_id", "created_at", "has_label", "ranking_id"),
    *("are_different", "best_image_uid", "image_0_url", "image_1_url", "num_example_per_prompt"),
    *("__index_level_0__", "__index_level_0", "index"),
)
UNLABELLED = "pairs without a label"


def claims(source: Source) -> float:
    """A table with caption, image_0_uid, image_1_uid, label_0 and label_1."""
    files = source.shards(*TABLES)[:4]
    return 0.95 * any(set(NEEDED) <= set(source.header(file)) for file in files)


@importer(
    claims=claims,
    source="Kirstain et al. 2023, Pick-a-Pic (yuvalkirstain/pickapic_v1, _v2, with and without images)",
    licence="Apache-2.0",
    files={
        "pickapic.csv": "caption,image_0_uid,image_1_uid,label_0,label_1,model_0,model_1,user_id,ranking_id,"
        "has_label\na dog,u1,u2,1.0,0.0,SDXL,SD,7,1,True\na dog,u1,u3,0.5,0.5,SDXL,SD,8,2,True\n"
    },
)
def pickapic(source: Source, *, suite: str = "pickapic", collection: str = "pickapic") -> Iterator[Record]:
    """Pick-a-Pic v1 or v2, Parquet files with or without images: pairs, and whom a user preferred.

    The users are the annotators; a user who was shown the same pair again repeats it. Labels of 0.5 are ties.
    """
    made = Preferences(suite, collection, "pickapic")
    for file in source.shards(*TABLES):
        if not set(NEEDED) <= set(source.header(file)):
            source.skip(file, "files that are no table of pairs")
            continue
        for row in source.rows(file, required=NEEDED, known=KNOWN):
            yield from _pair(source, made, row)


def _pair(source: Source, made: Preferences, row: Row) -> Iterator[Record]:
    at, names = row.at, (row.text("image_0_uid"), row.text("image_1_uid"))
    prompt, records = made.prompt(row.text("caption"), at)
    yield from records
    for side, name in enumerate(names):
        data = row.get(f"jpg_{side}")
        system = row.text(f"model_{side}", "")
        held = data if isinstance(data, bytes) and data else None
        if f"jpg_{side}" in row and held is None:
            source.skip(f"{at} (jpg_{side})", "images without bytes, known by name")
        yield from made.image(prompt, name, at, system=system, data=held)
    if not row.flag("has_label", True):
        source.skip(at, UNLABELLED)
        return
    first, second = row.number("label_0"), row.number("label_1")
    if first + second != 1 or first not in (0, 0.5, 1):
        raise row.error(
            f"the labels are {first:g} and {second:g}", "They must be 1 and 0, 0 and 1, or 0.5 twice."
        )
    if names[0] == names[1]:
        source.skip(at, "pairs of an image with itself")
        return
    when = row.text("created_at", None)
    yield from made.vote(prompt, *names, second, at, annotator=row.text("user_id", ""), time=_time(when))


def _time(said: str | None) -> str | None:
    return None if said is None else said.replace(" ", "T")[:40]
