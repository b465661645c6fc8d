"""Records into tables: in batches, all or nothing, twice the same as once, and undoable.

One transaction holds a whole import. Each batch finds the keys it needs with one join a table, so memory
is bounded by the batch and not by the study. What is there already and equal is left alone; what
contradicts it is an error that names the row.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from sightline.errors import DataError
from sightline.records import (
    Annotator,
    Answer,
    Assignment,
    Image,
    ImageKey,
    ImageTag,
    Judgement,
    JudgingRound,
    KnownAnswer,
    Prompt,
    Question,
    Record,
    Reference,
    Remark,
    RoundSlot,
    Score,
    System,
    Truth,
)
from sightline.study.schema import database, tables
from sightline.study.schema.storable import now
from sightline.study.study import Study
from sightline.study.vectors import refuse_moved
from sightline.study.writing.decisions import Decisions
from sightline.study.writing.entities import Entities
from sightline.study.writing.facts import Facts
from sightline.study.writing.references import keep_references
from sightline.study.writing.scoring import Scores
from sightline.study.writing.undoing import undo_within

BATCH_BYTES = 64 * 1024**2
"""Of images that a batch may carry."""


@dataclass(frozen=True)
class Loaded:
    """What an import did: the source it is recorded under, and how many records of each kind came in.

    `restored` counts images that the study held, but whose files were lost, and that it has again.
    """

    source_id: int
    already: bool
    counts: dict[str, int]
    restored: int = 0


def load(
    study: Study,
    records: Iterable[Record],
    *,
    importer: str,
    path: str,
    digest: str,
    batch: int = 20_000,
    keep_broken: bool = False,
    replace: bool = False,
    extend: int | None = None,
    progress: Callable[[int], None] | None = None,
    skip: Callable[[str, str], None] | None = None,
    closed: bool = False,
    dry_run: bool = False,
) -> Loaded:
    """Write records to the study as one source; a source of the same content is not loaded again.

    `extend` names a source that these records are to belong to as well: work that commits step by step is
    undone as a whole. `skip` receives scores of what the study does not hold, and why they are left out;
    without it they are an error. `closed` refuses answers of engines with images that a known collection does
    not hold. `dry_run` does all of it, and then takes it back.
    """
    with database.writing(study.engine) as connection:
        refuse_moved(connection, study.vectors.moved)
        study.files.refresh()
        known = _known_source(connection, importer, digest, extend)
        source_id, before = known or (_new_source(connection, importer, path, digest, replace, dry_run), {})
        entities = Entities(study, connection, source_id, keep_broken, keep_files=not dry_run)
        if known is not None and extend is None:
            loaded = Loaded(source_id, True, before, restored=_restore(entities, records))
        else:
            with _fewer_collections(10 * batch):
                added = _load_all(entities, records, batch, progress, skip, closed)
            counts = {kind: before.get(kind, 0) + added.get(kind, 0) for kind in {**before, **added}}
            connection.execute(
                tables.source.update().where(tables.source.c.id == source_id).values(counts=counts)
            )
            loaded = Loaded(source_id, False, counts)
        if dry_run:
            connection.rollback()
        study.files.sync()
        return loaded


def _restore(entities: Entities, records: Iterable[Record]) -> int:
    """Put back image files of a source that the study has lost; gives how many images have theirs again."""
    query = "SELECT c.name, i.name, i.sha256 FROM image i JOIN collection c ON c.id = i.collection_id"
    rows = database.fetch(entities.connection, query)
    held = {ImageKey(*key): sha256 for *key, sha256 in rows if sha256}
    lost = entities.study.files.lost(held.values())
    if not lost:
        return 0
    wanted = (
        Image(record.key, record.path, at=record.at, data=record.data)
        for record in records
        if isinstance(record, Image)
        and (record.path is not None or record.data is not None)
        and held.get(record.key) in lost
    )
    entities.keep_broken = True
    keys: set[ImageKey] = set()
    for chunk in _chunks(wanted, 20_000):
        images = [image for image in chunk if isinstance(image, Image)]
        entities.images(images)
        keys |= {image.key for image in images}
    return len(keys)


def _known_source(
    connection: Connection, importer: str, digest: str, extend: int | None
) -> tuple[int, dict[str, int]] | None:
    """The source to add to, or the one that holds the same content; and what came in under it."""
    source = tables.source.c
    same = (source.importer == importer, source.sha256 == digest)
    wanted = same if extend is None else (source.id == extend,)
    known = connection.execute(select(source.id, source.counts).where(*wanted)).first()
    if known is None and extend is not None:
        raise DataError(
            f"import number {extend} was undone while it was being added to", remedy="Start again."
        )
    return None if known is None else (int(known.id), dict(known.counts or {}))


def _new_source(
    connection: Connection, importer: str, path: str, digest: str, replace: bool, dry_run: bool
) -> int:
    """A source with a number of its own; `replace` undoes what was imported from the same path before."""
    if replace:
        # The newest first: it may repeat what the older ones tell.
        source = tables.source.c
        query = select(source.id, source.importer).where(source.path == path).order_by(source.id.desc())
        for source_id, by in connection.execute(query).fetchall():
            # Another layout read from the same file is another import.
            if by.partition("(")[0] == importer.partition("(")[0]:
                undo_within(connection, source_id)
    # PostgreSQL does not take back a number it has handed out: a dry run must not use one up.
    number = 0 if dry_run else _fresh_number(connection)
    columns = ["id", "importer", "path", "sha256", "at"]
    database.insert(connection, tables.source, columns, [(number, importer, path, digest, now())])
    return number


def _fresh_number(connection: Connection) -> int:
    """A number no import has had, not even one that was undone: somebody may have noted it down."""
    (key,) = database.fresh_ids(connection, tables.source, 1)
    setting = tables.setting
    last = connection.execute(select(setting.c.value).where(setting.c.name == "last_import")).scalar()
    number = max(int(key), int(last or 0) + 1)
    database.upsert(connection, setting, ["name", "value"], [("last_import", str(number))], replace=True)
    return number


@contextmanager
def _fewer_collections(new_objects: int) -> Iterator[None]:
    # A batch is tens of thousands of tuples without cycles, which Python's collector would walk for nothing.
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], new_objects), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _load_all(
    entities: Entities,
    records: Iterable[Record],
    batch: int,
    progress: Callable[[int], None] | None,
    skip: Callable[[str, str], None] | None,
    closed: bool,
) -> dict[str, int]:
    facts = Facts(entities, closed)
    decisions = Decisions(entities, facts)
    scores = Scores(entities, skip)
    done = 0
    for chunk in _chunks(records, batch):
        entities.forget_many()
        by_kind: dict[type, list[Any]] = {}
        for record in chunk:
            by_kind.setdefault(type(record), []).append(record)
        entities.questions(by_kind.get(Question, []))
        entities.systems(by_kind.get(System, []))
        entities.prompts(by_kind.get(Prompt, []))
        entities.images(by_kind.get(Image, []))
        entities.image_tags(by_kind.get(ImageTag, []))
        facts.answers(by_kind.get(Answer, []))
        decisions.annotators(by_kind.get(Annotator, []))
        decisions.known_answers(by_kind.get(KnownAnswer, []))
        decisions.rounds(by_kind.get(JudgingRound, []))
        decisions.slots(by_kind.get(RoundSlot, []))
        decisions.assignments(by_kind.get(Assignment, []))
        decisions.remarks(by_kind.get(Remark, []))
        facts.judgements(by_kind.get(Judgement, []))
        facts.truths(by_kind.get(Truth, []))
        scores.scores(by_kind.get(Score, []))
        facts.counts["references"] += keep_references(entities, by_kind.get(Reference, []))
        done += len(chunk)
        if progress is not None:
            progress(done)
    if not done:
        raise DataError("there is nothing in it to import", remedy="See the formats: sightline list importer")
    scores.finish()
    entities.finish()
    decisions.finish()
    counts = entities.counts + facts.counts + decisions.counts + scores.counts
    return {kind: n for kind, n in counts.items() if n}


def _chunks(records: Iterable[Record], size: int) -> Iterator[list[Record]]:
    """The records in batches, smaller ones where they carry the bytes of images."""
    chunk: list[Record] = []
    held = 0
    for record in records:
        chunk.append(record)
        held += len(record.data or b"") if type(record) is Image else 0
        if len(chunk) >= size or held >= BATCH_BYTES:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


def undo(study: Study, source_id: int, *, dry_run: bool = False) -> dict[str, int]:
    """Undo an import: remove its facts, and every prompt, image and system that only it contains.

    Gives how many rows of each kind that removes; with `dry_run` they stay.
    """
    with database.writing(study.engine) as connection:
        whole = connection.begin_nested()
        gone = undo_within(connection, source_id)
        if dry_run:
            whole.rollback()
        return gone


def sources(study: Study) -> list[dict[str, Any]]:
    """Every import that is in the study, oldest first."""
    with database.reading(study.engine) as connection:
        rows = connection.execute(select(tables.source).order_by(tables.source.c.id)).mappings()
        return [dict(row) for row in rows]
