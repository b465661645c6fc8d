"""Keeping what consensus rules settle, what predictors predict, and whom screening leaves out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select

from sightline.errors import ConflictError
from sightline.study.schema import database, tables
from sightline.study.schema.storable import now
from sightline.study.study import Study

TruthRow = tuple[int, float | None, float | None, float | None, int | None, str | None]
PredictionRow = tuple[int, int, int, int | None, float | None, float | None, float | None, str | None]


def settle(
    study: Study,
    question_id: int,
    rule: str,
    screening: str,
    rows: Sequence[TruthRow],
    up_to: int,
    notes: Mapping[str, Any] | None = None,
) -> int:
    """Keep a settlement of (item, value, low, high, n, reason); the same votes and rule settle once.

    `up_to` is the newest judgement these truths have seen; `notes` says who was left out and how far the
    others agree.
    """
    with database.writing(study.engine) as connection:
        _refuse_outdated(connection, question_id, up_to)
        identity = _identity("settled", question_id, rule, screening, up_to, list(rows))
        table = tables.settlement
        known = connection.execute(select(table.c.id).where(table.c.identity == identity)).scalar()
        newest = select(func.max(table.c.id)).where(table.c.question_id == question_id)
        if known is not None and known == connection.execute(newest).scalar():
            return int(known)
        if known is not None:
            # Another rule was in force since: the old settlement stays as history, this one counts from now.
            past = table.update().where(table.c.id == known)
            connection.execute(past.values(identity=_identity("past", identity, known)))
        key = database.add_one(
            connection,
            table,
            question_id=question_id,
            rule=rule,
            screening=screening,
            up_to=up_to,
            identity=identity,
            at=now(),
            notes=database.as_json(None if notes is None else dict(notes)),
        )
        columns = ["settlement_id", "item_id", "value", "low", "high", "n", "reason"]
        database.insert(connection, tables.truth, columns, [(key, *row) for row in rows])
        return key


def _refuse_outdated(connection: Connection, question_id: int, up_to: int) -> None:
    """Refuse truth of judgements that were undone while it was computed: keys are never given out twice."""
    query = select(tables.judgement.c.question_id).where(tables.judgement.c.id == up_to)
    if up_to and connection.execute(query).scalar() != question_id:
        raise ConflictError(
            "judgements were removed from the study while their truth was computed; nothing was stored",
            remedy="Run it again.",
        )


def keep_predictions(
    study: Study,
    spec: str,
    settlement_id: int,
    split: str,
    train_sha: str,
    seed: int,
    rows: Sequence[PredictionRow],
) -> int:
    """Keep predictions of (prompt, system, image, fold, value, low, high, reason) under their fit."""
    identity = _identity("fit", spec, settlement_id, split, train_sha, seed)
    with database.writing(study.engine) as connection:
        before = connection.execute(select(tables.fit.c.id).where(tables.fit.c.identity == identity)).scalar()
        if before is not None:
            # Made again, it is the newest: readers go by the number of a fit.
            connection.execute(delete(tables.prediction).where(tables.prediction.c.fit_id == before))
            connection.execute(delete(tables.fit).where(tables.fit.c.id == before))
        known = database.add_one(
            connection,
            tables.fit,
            spec=spec,
            settlement_id=settlement_id,
            split=split,
            train_sha=train_sha,
            seed=seed,
            identity=identity,
        )
        columns = ["fit_id", "prompt_id", "system_id", "image_id", "fold", "value", "low", "high", "reason"]
        database.upsert(connection, tables.prediction, columns, [(known, *row) for row in rows], replace=True)
        return known


def note_events(study: Study, actor: str, what: str, events: Iterable[Mapping[str, Any]]) -> None:
    """Append to the study's log; it is never changed."""
    with database.writing(study.engine) as connection:
        note_within(connection, actor, what, events)


def note_within(connection: Connection, actor: str, what: str, events: Iterable[Mapping[str, Any]]) -> None:
    """Append to the study's log within an open transaction."""
    at = now()
    rows = [(at, actor, what, database.as_json(dict(row))) for row in events]
    database.add(connection, tables.event, ["at", "actor", "what", "json"], rows)


def _identity(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
