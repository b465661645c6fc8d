"""Answers, judgements and truths: what an import says about prompts, systems and images."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

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
from sightline.study.writing.unlisted import Unlisted


class Facts:
    """Writes the facts of one import, each checked against what the study holds."""

    def __init__(self, entities: Entities, closed: bool = False) -> None:
        self.connection = entities.connection
        self.entities = entities
        self.counts: Counter[str] = Counter()
        self._unlisted = Unlisted(entities.connection) if closed else None
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
        if self._unlisted is not None:
            refuse_bad_text((each.system, each.at) for each in records)
            refuse_bad_text((text, each.at) for each in records for text in each.image or ())
            self._unlisted.refuse(records)
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
        self.counts["answers"] += entities.keep(
            tables.answer,
            ["system_id", "prompt_id", "position"],
            ["image_id", "score", "seed", "settings_id", "failure"],
            rows,
            lambda key, _: _twice(first[key]),
        )

    def _settings_id(self, record: Answer) -> int:
        encoded = database.as_json(dict(record.settings or {}), record.at)
        assert encoded is not None
        if encoded not in self._settings:
            sha256 = hashlib.sha256(encoded.encode()).hexdigest()
            table = tables.settings
            known = self.connection.execute(select(table.c.id).where(table.c.sha256 == sha256)).scalar()
            if known is None:
                known = database.add_one(self.connection, table, sha256=sha256, json=encoded)
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
        known = database.look_up(
            self.connection,
            tables.judgement,
            ["key"],
            [(key,) for key in rows],
            ["value", "skipped", "n", "source_id"],
        )
        known += self._given_on_pages(rows)
        for key, *held, owner in known:
            if key in rows and rows.pop(key)[7:10] != tuple(held):
                raise _disagrees(first[key])
            self.entities.lean_on(owner)
        columns = ["key", "question_id", "item_id", "annotator_id", "repetition", "revision", "group_name"]
        columns += ["value", "skipped", "n", "session", "control", "took_ms", "at"]
        self.entities.add(tables.judgement, columns, list(rows.values()))
        self.counts["judgements"] += len(rows)

    def _given_on_pages(self, rows: Mapping[str, tuple[object, ...]]) -> list[tuple[Any, ...]]:
        """Judgements that were given in a browser, under keys of its own, and come again in a table."""
        named = {row[1:7]: key for key, row in rows.items() if row[3] is not None}
        names = ("question_id", "item_id", "annotator_id", "repetition", "revision", "group_name")
        columns = ("value", "skipped", "n", "source_id")
        held = database.look_up(self.connection, tables.judgement, names, list(named), columns)
        return [(named[row[:6]], *row[6:]) for row in held if row[-1] is None]

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
                    remedy="Are these judgements of several people? Add a column `annotator`, which may be "
                    "empty. If they are truths, leave one of the rows out, or name their rules in `rule`.",
                )
            at.setdefault(key, record.at)
        self.counts["truths"] += self.entities.keep(
            tables.truth,
            ["settlement_id", "item_id"],
            ["value", "low", "high", "n"],
            rows,
            lambda key, _: ConflictError(
                "the study holds another truth for this",
                where=at[key],
                remedy="Undo the earlier import (sightline undo STUDY N), or use --replace.",
            ),
        )

    def _settlement(self, question: int, rule: str) -> int:
        if (question, rule) not in self._settlements:
            identity = hashlib.sha256(f"imported:{question}:{rule}".encode()).hexdigest()
            table = tables.settlement
            known = self.connection.execute(select(table.c.id).where(table.c.identity == identity)).scalar()
            if known is None:
                columns = ["question_id", "rule", "screening", "up_to", "identity", "at"]
                (known,) = self.entities.add(table, columns, [(question, rule, "", 0, identity, now())])
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
