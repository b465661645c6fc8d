"""Answers, judgements and truths: what an import says about prompts, systems and images."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, select

from sightline.errors import ConflictError, DataError
from sightline.records import Answer, Judgement, Subject, Truth
from sightline.store import database, tables
from sightline.store.entities import Entities

Ids = tuple[int, int, int, int, int]


class Facts:
    """Writes the facts of one import, each checked against what the study holds."""

    def __init__(self, connection: Connection, source_id: int, entities: Entities) -> None:
        self.connection = connection
        self.source_id = source_id
        self.entities = entities
        self.counts: Counter[str] = Counter()
        self._settings: dict[str, int] = {}
        self._settlements: dict[tuple[int, str], int] = {}

    # -- answers ----------------------------------------------------------------------------------------

    def answers(self, records: Sequence[Answer]) -> None:
        """Write answers; one that is there already must be the same."""
        if not records:
            return
        entities = self.entities
        entities.find_prompts((record.prompt, record.at) for record in records)
        entities.find_images((record.image, record.at) for record in records if record.image is not None)
        rows: dict[tuple[int, int, int], tuple[object, ...]] = {}
        at: dict[tuple[int, int, int], str] = {}
        for record in records:
            _whole(record)
            key = (entities.system(record.system), entities.prompt_id(record.prompt), record.position)
            image = None if record.image is None else entities.image_id(record.image)
            settings = (
                None if not record.settings else self._settings_id(database.as_json(dict(record.settings)))
            )
            row: tuple[object, ...] = (image, record.score, record.seed, settings, record.failure)
            if rows.setdefault(key, row) != row:
                raise _twice(record)
            at.setdefault(key, record.at)
        for key, known in self._known_answers(rows).items():
            if rows.pop(key) != known:
                first = next(record for record in records if record.at == at[key])
                raise _twice(first)
        columns = [
            "system_id",
            "prompt_id",
            "position",
            "image_id",
            "score",
            "seed",
            "settings_id",
            "failure",
            "source_id",
        ]
        fresh = [(*key, *row, self.source_id) for key, row in rows.items()]
        database.insert(self.connection, tables.answer, columns, fresh)
        self.counts["answers"] += len(fresh)

    def _known_answers(
        self, keys: Iterable[tuple[int, int, int]]
    ) -> dict[tuple[int, int, int], tuple[object, ...]]:
        database.matching(
            self.connection,
            [("system_id", "BIGINT"), ("prompt_id", "BIGINT"), ("position", "BIGINT")],
            list(keys),
        )
        rows = self.connection.exec_driver_sql(
            "SELECT a.system_id, a.prompt_id, a.position, a.image_id, a.score, a.seed, a.settings_id, a.failure "
            "FROM wanted w JOIN answer a "
            "ON a.system_id = w.system_id AND a.prompt_id = w.prompt_id AND a.position = w.position"
        )
        return {(row[0], row[1], row[2]): tuple(row[3:]) for row in rows}

    def _settings_id(self, told: str | None) -> int:
        assert told is not None
        if told not in self._settings:
            sha256 = hashlib.sha256(told.encode()).hexdigest()
            table = tables.settings
            known = self.connection.execute(select(table.c.id).where(table.c.sha256 == sha256)).scalar()
            if known is None:
                (known,) = database.fresh_ids(self.connection, table, 1)
                database.insert(self.connection, table, ["id", "sha256", "json"], [(known, sha256, told)])
            if len(self._settings) > 10_000:
                self._settings.clear()
            self._settings[told] = int(known)
        return self._settings[told]

    # -- subjects ---------------------------------------------------------------------------------------

    def subjects(self, told: Sequence[tuple[Subject, str]]) -> list[int]:
        """The ids of what was judged, made if need be, in the order given."""
        entities = self.entities
        entities.find_prompts((s.prompt, at) for s, at in told if s.prompt is not None)
        pictures = [(key, at) for s, at in told for key in (s.image, s.image_b, s.image_c) if key is not None]
        entities.find_images(pictures)
        wanted = [self._ids(subject, at) for subject, at in told]
        distinct = list(dict.fromkeys(wanted))
        names = ("prompt_id", "system_id", "image_id", "image_b", "image_c")
        database.matching(self.connection, [(name, "BIGINT") for name in names], distinct)
        same = " AND ".join(f"s.{name} = w.{name}" for name in names)
        rows = self.connection.exec_driver_sql(
            f"SELECT s.id, {', '.join(f's.{name}' for name in names)} FROM wanted w JOIN subject s ON {same}"
        )
        found: dict[Ids, int] = {tuple(row[1:]): int(row[0]) for row in rows}
        fresh = [ids for ids in distinct if ids not in found]
        keys = database.fresh_ids(self.connection, tables.subject, len(fresh))
        made = [(key, *ids) for key, ids in zip(keys, fresh, strict=True)]
        database.insert(self.connection, tables.subject, ["id", *names], made)
        found.update(zip(fresh, keys, strict=True))
        return [found[ids] for ids in wanted]

    def _ids(self, subject: Subject, at: str) -> Ids:
        entities = self.entities
        if not any(subject):
            raise DataError(
                "nothing is named that was judged", where=at, remedy="Name a prompt, a system or an image."
            )
        return (
            entities.prompt_id(subject.prompt),
            0 if subject.system is None else entities.system(subject.system),
            entities.image_id(subject.image),
            entities.image_id(subject.image_b),
            entities.image_id(subject.image_c),
        )

    # -- judgements -------------------------------------------------------------------------------------

    def judgements(self, records: Sequence[Judgement]) -> None:
        """Append judgements; the same one again is not counted twice, another value for it is an error."""
        if not records:
            return
        subjects = self.subjects([(record.subject, record.at) for record in records])
        self.entities.find_annotators(record.annotator for record in records if record.annotator is not None)
        rows: dict[str, tuple[object, ...]] = {}
        at: dict[str, str] = {}
        for record, subject in zip(records, subjects, strict=True):
            question = self.entities.question(record.question)
            _sound(record)
            annotator = self.entities.annotator_id(record.annotator)
            told = (annotator, question, subject, record.occasion, record.revision)
            key = _key(*told) if annotator is not None else _key(*told, record.value, record.skipped)
            row = (
                key, question, subject, annotator, record.occasion, record.revision, record.value, record.skipped,
                record.n, record.session, int(record.control), record.took_ms, record.time,
            )  # fmt: skip
            if rows.setdefault(key, row)[6:9] != row[6:9]:
                raise _disagrees(record)
            at.setdefault(key, record.at)
        database.matching(self.connection, [("key", "TEXT")], [(key,) for key in rows])
        known = self.connection.exec_driver_sql(
            "SELECT j.key, j.value, j.skipped, j.n FROM wanted w JOIN judgement j ON j.key = w.key"
        )
        for key, value, skipped, n in known:
            if rows.pop(key)[6:9] != (value, skipped, n):
                raise _disagrees(next(record for record in records if record.at == at[key]))
        ids = database.fresh_ids(self.connection, tables.judgement, len(rows))
        columns = [
            "id",
            "key",
            "question_id",
            "subject_id",
            "annotator_id",
            "occasion",
            "revision",
            "value",
            "skipped",
        ]
        columns += ["n", "session", "control", "took_ms", "at", "source_id"]
        fresh = [(i, *row, self.source_id) for i, row in zip(ids, rows.values(), strict=True)]
        database.insert(self.connection, tables.judgement, columns, fresh)
        self.counts["judgements"] += len(fresh)

    # -- truths -----------------------------------------------------------------------------------------

    def truths(self, records: Sequence[Truth]) -> None:
        """Write published truths; one settlement a question and rule holds those of all sources."""
        if not records:
            return
        subjects = self.subjects([(record.subject, record.at) for record in records])
        rows: dict[tuple[int, int], tuple[object, ...]] = {}
        at: dict[tuple[int, int], str] = {}
        for record, subject in zip(records, subjects, strict=True):
            if not math.isfinite(record.value):
                raise DataError(
                    f"the truth is {record.value}", where=record.at, remedy="Leave out what is not known."
                )
            question = self.entities.question(record.question)
            key = (self._settlement(question, record.rule), subject)
            row = (record.value, record.low, record.high, record.n)
            if rows.setdefault(key, row) != row:
                raise ConflictError(f"two truths of {record.question} for the same thing", where=record.at)
            at.setdefault(key, record.at)
        database.matching(
            self.connection, [("settlement_id", "BIGINT"), ("subject_id", "BIGINT")], list(rows)
        )
        known = self.connection.exec_driver_sql(
            "SELECT t.settlement_id, t.subject_id, t.value, t.low, t.high, t.n FROM wanted w "
            "JOIN truth t ON t.settlement_id = w.settlement_id AND t.subject_id = w.subject_id"
        )
        for settlement, subject, *held in known:
            if rows.pop((settlement, subject)) != tuple(held):
                raise ConflictError(
                    "the study holds another truth for this",
                    where=at[settlement, subject],
                    remedy="Undo the earlier import (sightline import STUDY --undo N), or use --replace.",
                )
        columns = ["settlement_id", "subject_id", "value", "low", "high", "n", "source_id"]
        fresh = [(*key, *row, self.source_id) for key, row in rows.items()]
        database.insert(self.connection, tables.truth, columns, fresh)
        self.counts["truths"] += len(fresh)

    def _settlement(self, question: int, rule: str) -> int:
        if (question, rule) not in self._settlements:
            identity = hashlib.sha256(f"imported:{question}:{rule}".encode()).hexdigest()
            table = tables.settlement
            known = self.connection.execute(select(table.c.id).where(table.c.identity == identity)).scalar()
            if known is None:
                from sightline.store.loading import now

                (known,) = database.fresh_ids(self.connection, table, 1)
                columns = ["id", "question_id", "rule", "screening", "up_to", "identity", "at", "source_id"]
                row = (known, question, rule, "", 0, identity, now(), self.source_id)
                database.insert(self.connection, table, columns, [row])
            self._settlements[question, rule] = int(known)
        return self._settlements[question, rule]


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _whole(record: Answer) -> None:
    if (record.image is None) == (record.failure is None):
        raise DataError("an answer has either an image or a failure", where=record.at)
    if record.position < 0:
        raise DataError(f"position {record.position} is below 0", where=record.at)
    if record.score is not None and not math.isfinite(record.score):
        raise DataError(f"the score is {record.score}", where=record.at, remedy="Leave the cell empty.")


def _sound(record: Judgement) -> None:
    if (record.value is None) == (record.skipped is None):
        raise DataError("a judgement has either a value or a reason why it was skipped", where=record.at)
    if record.value is not None and not math.isfinite(record.value):
        raise DataError(
            f"the judgement is {record.value}", where=record.at, remedy="Leave out what is not known."
        )
    if record.n < 1 or (record.n > 1 and record.annotator is not None):
        raise DataError(
            f"n = {record.n} votes", where=record.at, remedy="Only anonymous votes can be counted."
        )


def _twice(record: Answer) -> ConflictError:
    return ConflictError(
        f"system {record.system!r} has another answer to this prompt at position {record.position}",
        where=record.at,
        remedy="Number the answers in a `position` column; or undo the earlier import, or use --replace.",
    )


def _disagrees(record: Judgement) -> ConflictError:
    return ConflictError(
        f"the same annotator gave another answer to {record.question!r} about the same thing",
        where=record.at,
        remedy="Mark a changed mind by a `revision` column (0, 1, ...), a repeat on purpose by `occasion`.",
    )
