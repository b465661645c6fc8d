"""Answers, judgements and truths: what an import says about prompts, systems and images."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from sightline.errors import ConflictError, DataError
from sightline.records import Answer, Item, Judgement, Truth
from sightline.study.schema import database, tables
from sightline.study.schema.storable import (
    INT64,
    finite,
    finite_or_none,
    now,
    refuse_bad_text,
    refuse_long_text,
    whole,
)
from sightline.study.writing.entities import Entities
from sightline.study.writing.items import Ids, item_ids


class Facts:
    """Writes the facts of one import, each checked against what the study holds."""

    def __init__(self, connection: Connection, source_id: int, entities: Entities) -> None:
        self.connection = connection
        self.source_id = source_id
        self.entities = entities
        self.counts: Counter[str] = Counter()
        self._settings: dict[str, int] = {}
        self._settlements: dict[tuple[int, str], int] = {}
        self._anonymous: Counter[str] = Counter()

    # -- answers ----------------------------------------------------------------------------------------

    def answers(self, records: Sequence[Answer]) -> None:
        """Write answers; one that is there already must be the same."""
        if not records:
            return
        entities = self.entities
        entities.find_prompts((record.prompt, record.at) for record in records)
        entities.find_images((record.image, record.at) for record in records if record.image is not None)
        refuse_bad_text((record.failure, record.at) for record in records if record.failure is not None)
        rows: dict[tuple[int, int, int], tuple[object, ...]] = {}
        first: dict[tuple[int, int, int], Answer] = {}
        for record in records:
            if (record.image is None) == (record.failure is None):
                raise DataError("an answer has either an image or a failure", where=record.at)
            key = (
                entities.system(record.system, at=record.at),
                entities.prompt_id(record.prompt),
                whole(record.position, "position", record.at),
            )
            row: tuple[object, ...] = (
                None if record.image is None else entities.image_id(record.image),
                None if record.score is None else finite(record.score, "score", record.at),
                None if record.seed is None else whole(record.seed, "seed", record.at, -INT64 - 1, INT64),
                None if not record.settings else self._settings_id(record),
                record.failure,
            )
            if rows.setdefault(key, row) != row:
                raise _twice(record)
            first.setdefault(key, record)
        for known in self._known_answers(rows):
            key = (known[0], known[1], known[2])
            if rows.pop(key) != known[3:-1]:
                raise _twice(first[key])
            entities.lean_on(known[-1])
        columns = ["system_id", "prompt_id", "position", "image_id", "score", "seed", "settings_id"]
        columns += ["failure", "source_id"]
        fresh = [(*key, *row, self.source_id) for key, row in rows.items()]
        named = [row[0] for row in rows.values() if isinstance(row[0], int)]
        for table, ids in (
            (tables.system, (key[0] for key in rows)),
            (tables.prompt, (key[1] for key in rows)),
            (tables.image, named),
        ):
            database.require_ids(self.connection, table, ids)
        database.insert(self.connection, tables.answer, columns, fresh)
        self.counts["answers"] += len(fresh)

    def _known_answers(self, keys: Iterable[tuple[int, int, int]]) -> list[tuple[Any, ...]]:
        names = ("system_id", "prompt_id", "position")
        database.matching(self.connection, [(name, "BIGINT") for name in names], list(keys))
        return database.fetch(
            self.connection,
            "SELECT a.system_id, a.prompt_id, a.position, a.image_id, a.score, a.seed, a.settings_id, "
            "a.failure, a.source_id FROM wanted w JOIN answer a "
            "ON a.system_id = w.system_id AND a.prompt_id = w.prompt_id AND a.position = w.position",
        )

    def _settings_id(self, record: Answer) -> int:
        encoded = database.as_json(dict(record.settings or {}), record.at)
        assert encoded is not None
        if encoded not in self._settings:
            sha256 = hashlib.sha256(encoded.encode()).hexdigest()
            table = tables.settings
            known = self.connection.execute(select(table.c.id).where(table.c.sha256 == sha256)).scalar()
            if known is None:
                (known,) = database.fresh_ids(self.connection, table, 1)
                database.insert(self.connection, table, ["id", "sha256", "json"], [(known, sha256, encoded)])
            if len(self._settings) > 10_000:
                self._settings.clear()
            self._settings[encoded] = int(known)
        return self._settings[encoded]

    # -- items --------------------------------------------------------------------------------------------

    def items(self, named: Sequence[tuple[Item, str]]) -> list[int]:
        """The ids of what was judged, made if need be, in the order given."""
        entities = self.entities
        entities.find_prompts((s.prompt, at) for s, at in named if s.prompt is not None)
        pictures = [
            (key, at) for s, at in named for key in (s.image, s.image_b, s.image_c) if key is not None
        ]
        entities.find_images(pictures)
        wanted = [self._ids(item, at) for item, at in named]
        return item_ids(self.connection, wanted)

    def _ids(self, item: Item, at: str) -> Ids:
        entities = self.entities
        if not any(item):
            raise DataError(
                "nothing is named that was judged", where=at, remedy="Name a prompt, a system or an image."
            )
        return (
            entities.prompt_id(item.prompt),
            0 if item.system is None else entities.system(item.system, at=at),
            entities.image_id(item.image),
            entities.image_id(item.image_b),
            entities.image_id(item.image_c),
            0 if item.system_b is None else entities.system(item.system_b, at=at),
        )

    # -- judgements -------------------------------------------------------------------------------------

    def judgements(self, records: Sequence[Judgement]) -> None:
        """Append judgements; the same one again is not counted twice, another value for it is an error."""
        if not records:
            return
        items = self.items([(record.item, record.at) for record in records])
        refuse_bad_text((text, j.at) for j in records for text in (j.session, j.skipped, j.time, j.group))
        refuse_bad_text((text, j.at) for j in records for text in j.annotator or ())
        self.entities.find_annotators(record.annotator for record in records if record.annotator is not None)
        rows: dict[str, tuple[object, ...]] = {}
        first: dict[str, Judgement] = {}
        for record, item in zip(records, items, strict=True):
            key, row = self._judgement(record, item)
            if rows.setdefault(key, row)[7:10] != row[7:10]:
                raise _disagrees(record)
            first.setdefault(key, record)
        database.matching(self.connection, [("key", "TEXT")], [(key,) for key in rows])
        known = database.fetch(
            self.connection,
            "SELECT j.key, j.value, j.skipped, j.n, j.source_id FROM wanted w "
            "JOIN judgement j ON j.key = w.key",
        )
        known += self._given_on_pages(rows)
        for key, *held, owner in known:
            if key in rows and rows.pop(key)[7:10] != tuple(held):
                raise _disagrees(first[key])
            self.entities.lean_on(owner)
        ids = database.fresh_ids(self.connection, tables.judgement, len(rows))
        columns = [
            "id",
            "key",
            "question_id",
            "item_id",
            "annotator_id",
            "repetition",
            "revision",
            "group_name",
            "value",
        ]
        columns += ["skipped", "n", "session", "control", "took_ms", "at", "source_id"]
        fresh = [(i, *row, self.source_id) for i, row in zip(ids, rows.values(), strict=True)]
        database.insert(self.connection, tables.judgement, columns, fresh)
        self.counts["judgements"] += len(fresh)

    def _given_on_pages(self, rows: Mapping[str, tuple[object, ...]]) -> list[tuple[Any, ...]]:
        """Judgements that were given in a browser, under keys of its own, and come again in a table."""
        # Pages give no groups.
        named = {row[1:6]: key for key, row in rows.items() if row[3] is not None and not row[6]}
        names = ("question_id", "item_id", "annotator_id", "repetition", "revision")
        database.matching(self.connection, [(name, "BIGINT") for name in names], list(named))
        same = " AND ".join(f"j.{name} = w.{name}" for name in names)
        found = database.fetch(
            self.connection,
            f"SELECT {', '.join('j.' + name for name in names)}, j.value, j.skipped, j.n, j.source_id "
            f"FROM wanted w JOIN judgement j ON {same} AND j.group_name = '' WHERE j.source_id IS NULL",
        )
        return [(named[tuple(row[:5])], *row[5:]) for row in found]

    def _judgement(self, record: Judgement, item: int) -> tuple[str, tuple[object, ...]]:
        """The key that the same judgement always has, and its row."""
        at = record.at
        if (record.value is None) == (record.skipped is None):
            raise DataError("a judgement has either a value or a reason why it was skipped", where=at)
        n = whole(record.n, "number of votes", at, low=1)
        if n > 1 and record.annotator is not None:
            raise DataError(f"n = {n} votes", where=at, remedy="Only anonymous votes can be counted.")
        refuse_long_text(record.time, 40, "time", at)
        value = finite_or_none(record.value, "judgement", at)
        took = None if record.took_ms is None else whole(record.took_ms, "time taken in milliseconds", at)
        question = self.entities.question(record.question)
        annotator = self.entities.annotator_id(record.annotator)
        repetition, revision = (
            whole(record.repetition, "repetition", at),
            whole(record.revision, "revision", at),
        )
        key = _key(annotator, question, item, repetition, revision, *([record.group] if record.group else []))
        if annotator is None:
            # Equal anonymous votes are different people: the second of a file is the second of the study.
            base = _key(key, value, record.skipped)
            key = _key(base, self._anonymous[base])
            self._anonymous[base] += 1
        row = (key, question, item, annotator, repetition, revision, record.group, value, record.skipped, n)
        return key, (*row, record.session, int(record.control), took, record.time)

    # -- truths -----------------------------------------------------------------------------------------

    def truths(self, records: Sequence[Truth]) -> None:
        """Write published truths; one settlement a question and rule holds those of all sources."""
        if not records:
            return
        items = self.items([(record.item, record.at) for record in records])
        rows: dict[tuple[int, int], tuple[object, ...]] = {}
        at: dict[tuple[int, int], str] = {}
        refuse_bad_text((record.rule, record.at) for record in records)
        for record, item in zip(records, items, strict=True):
            question = self.entities.question(record.question)
            key = (self._settlement(question, record.rule), item)
            row = (
                finite(record.value, "truth", record.at),
                finite_or_none(record.low, "lower end of the truth", record.at),
                finite_or_none(record.high, "upper end of the truth", record.at),
                None if record.n is None else whole(record.n, "number of votes", record.at),
            )
            if rows.setdefault(key, row) != row:
                raise ConflictError(
                    f"two truths of {record.question!r} for the same thing",
                    where=record.at,
                    remedy="Leave one of the two rows out, or name their rules in a `rule` column.",
                )
            at.setdefault(key, record.at)
        database.matching(self.connection, [("settlement_id", "BIGINT"), ("item_id", "BIGINT")], list(rows))
        known = database.fetch(
            self.connection,
            "SELECT t.settlement_id, t.item_id, t.value, t.low, t.high, t.n, t.source_id FROM wanted w "
            "JOIN truth t ON t.settlement_id = w.settlement_id AND t.item_id = w.item_id",
        )
        for settlement, item, *held, owner in known:
            if rows.pop((settlement, item)) != tuple(held):
                raise ConflictError(
                    "the study holds another truth for this",
                    where=at[settlement, item],
                    remedy="Undo the earlier import (sightline undo STUDY N), or use --replace.",
                )
            self.entities.lean_on(owner)
        columns = ["settlement_id", "item_id", "value", "low", "high", "n", "source_id"]
        fresh = [(*key, *row, self.source_id) for key, row in rows.items()]
        database.insert(self.connection, tables.truth, columns, fresh)
        self.counts["truths"] += len(fresh)

    def _settlement(self, question: int, rule: str) -> int:
        if (question, rule) not in self._settlements:
            identity = hashlib.sha256(f"imported:{question}:{rule}".encode()).hexdigest()
            table = tables.settlement
            known = self.connection.execute(select(table.c.id).where(table.c.identity == identity)).scalar()
            if known is None:
                (known,) = database.fresh_ids(self.connection, table, 1)
                columns = ["id", "question_id", "rule", "screening", "up_to", "identity", "at", "source_id"]
                row = (known, question, rule, "", 0, identity, now(), self.source_id)
                database.insert(self.connection, table, columns, [row])
            self._settlements[question, rule] = int(known)
        return self._settlements[question, rule]


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _twice(record: Answer) -> ConflictError:
    return ConflictError(
        f"system {record.system!r} has another answer to this prompt at position {record.position}",
        where=record.at,
        remedy="Number the answers in a `position` column; or undo the earlier import, or use --replace.",
    )


def _disagrees(record: Judgement) -> ConflictError:
    if record.annotator is None:
        return ConflictError(
            f"the study counts another number of such votes on {record.question!r} than {record.n}",
            where=record.at,
            remedy="Undo the earlier import (sightline undo STUDY N), or use --replace.",
        )
    return ConflictError(
        f"the same annotator gave another answer to {record.question!r} about the same thing",
        where=record.at,
        remedy="Mark a changed mind by a `revision` column (0, 1, ...), a repeat on purpose by `repetition`.",
    )
