"""Engines answer with images of their collection: names it does not hold are refused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sqlalchemy import Connection, select

from sightline.errors import DataError
from sightline.records import Answer, ImageKey
from sightline.study.schema import database, tables
from sightline.study.schema.naming import CONTENT

SHOWN = 3


class Unlisted:
    """Finds answers of engines that are not in their collection, where the study knows what it holds.

    It does once files or captions of the collection's images were imported. From then on another name is a
    mistake: the run is over another set of images.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Of few systems and collections, asked once: what is imported together is ordered by images first.
        self._searches = cache(self._is_retriever)
        self._listed = cache(self._has_files_or_captions)

    def refuse(self, answers: Iterable[Answer]) -> None:
        """Raise an error that names the first images a listed collection does not hold."""
        first: dict[ImageKey, Answer] = {}
        for answer in answers:
            key = answer.image
            if key is not None and self._searches(answer.system) and self._listed(key.collection):
                first.setdefault(key, answer)
        asked = [key for key in first if not key.name.startswith(CONTENT)]
        homes = {name: self._listed(name) for name in {key.collection for key in asked}}
        wanted = [(homes[key.collection], key.name) for key in asked]
        rows = database.look_up(self._connection, tables.image, ["collection_id", "name"], wanted, ["id"])
        held = {(home, name) for home, name, _ in rows}
        absent = [key for key in asked if (homes[key.collection], key.name) not in held]
        if not absent:
            return
        answer = first[absent[0]]
        names = ", ".join(repr(key.name) for key in absent[:SHOWN])
        more = f" and {len(absent) - SHOWN:,} more" if len(absent) > SHOWN else ""
        raise DataError(
            f"{answer.system} answers with {names}{more}: not in collection {absent[0].collection!r}",
            where=answer.at,
            remedy="Is the run over another set of images? Name that collection: --option collection=NAME. "
            "Otherwise import the missing images first.",
        )

    def _is_retriever(self, system: str) -> bool:
        query = select(tables.system.c.kind).where(tables.system.c.name == system)
        return self._connection.execute(query).scalar() == "retriever"

    def _has_files_or_captions(self, collection: str) -> int:
        """The id of a collection whose images have files or captions; 0 otherwise."""
        image, caption, home = tables.image, tables.caption, tables.collection
        mine = select(image.c.collection_id).join(home, home.c.id == image.c.collection_id)
        mine = mine.where(home.c.name == collection)
        with_file = mine.where(image.c.sha256.is_not(None))
        with_caption = mine.join(caption, caption.c.image_id == image.c.id)
        for query in (with_file, with_caption):
            found = self._connection.execute(query.limit(1)).scalar()
            if found is not None:
                return int(found)
        return 0
