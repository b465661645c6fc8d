"""Tags of images: imported with them, or set by the study's owner while looking at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightline.errors import ConflictError
from sightline.study.schema import database, tables
from sightline.study.schema.storable import refuse_bad_text
from sightline.study.study import Study
from sightline.study.writing.keeping import Keeper

KEY = ["image_id", "prompt_id", "name"]


def keep_image_tags(keeper: Keeper, records: Sequence[tuple[int, int, Mapping[str, str], str]]) -> int:
    """Write tags of images, given as (image id, prompt id or 0, tags, place); none may differ."""
    refuse_bad_text((str(text), at) for _, _, tags, at in records for pair in tags.items() for text in pair)
    wanted: dict[tuple[int, int, str], tuple[str]] = {}
    places: dict[tuple[int, int, str], str] = {}
    for image, prompt, tags, at in records:
        for name, value in tags.items():
            key = (image, prompt, name)
            places.setdefault(key, at)
            if wanted.setdefault(key, (str(value),)) != (str(value),):
                raise _another_value(name, wanted[key][0], str(value), at)
    return keeper.keep(
        tables.image_tag,
        KEY,
        ["value"],
        wanted,
        lambda key, held: _another_value(key[2], held[0], wanted[key][0], places[key]),
    )


def set_image_tags(study: Study, items: Sequence[tuple[int, int]], name: str, value: str | None) -> int:
    """Tag images, given as (image id, prompt id or 0); None removes the tag. Gives how many there are."""
    refuse_bad_text([(name, "the tag"), (value or "", "the tag")])
    rows = [(image, prompt, name) for image, prompt in dict.fromkeys(items)]
    with database.writing(study.engine) as connection:
        if value is None:
            statement = "DELETE FROM image_tag WHERE image_id = ? AND prompt_id = ? AND name = ?"
            database.execute_many(connection, statement, rows)
        else:
            columns, cells = [*KEY, "value"], [(*row, value) for row in rows]
            database.upsert(connection, tables.image_tag, columns, cells, replace=True)
    return len(rows)


def _another_value(name: str, held: str, value: str, at: str) -> ConflictError:
    return ConflictError(
        f"tag {name} of this image is both {held!r} and {value!r}",
        where=at,
        remedy="Correct one of the two, or import into a collection of its own: --option collection=NAME.",
    )
