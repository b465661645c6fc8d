"""Links that let people in: signed, expiring, revocable, and kept only as a hash."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, text

from sightline.errors import UsageError
from sightline.records import AnnotatorKey
from sightline.study.schema import database, tables
from sightline.study.schema.storable import now, refuse_bad_text
from sightline.study.study import Study

PANEL = "people"
"""The panel of annotators who judge here; the same that a table of judgements comes in under."""
ROLES = ("annotator", "control")
LONGEST_DAYS = 366
SESSION_HOURS = 12
"""How long the owner's browser is let in by one opening of the link."""


@dataclass(frozen=True)
class Holder:
    """Whom a token lets in: an annotator to a round, or an owner to the study."""

    role: str
    annotator_id: int | None
    round_id: int | None
    expires: str


def signing_key(study: Study) -> bytes:
    """The key that this study's links are signed with, made when first needed."""
    with database.reading(study.engine) as connection:
        found = _secret(connection)
    if found is None:
        with database.writing(study.engine) as connection:
            return _signing_key(connection)
    return bytes.fromhex(found)


def _signing_key(connection: Connection) -> bytes:
    found = _secret(connection)
    if found is None:
        found = secrets.token_hex(32)
        database.insert(connection, tables.setting, ["name", "value"], [("secret", found)])
    return bytes.fromhex(found)


def _secret(connection: Connection) -> str | None:
    found = connection.execute(text("SELECT value FROM setting WHERE name = 'secret'")).scalar()
    return None if found is None else str(found)


def issue_token(
    study: Study,
    role: str,
    days: float,
    annotator_id: int | None = None,
    round_id: int | None = None,
    *,
    keep_others: bool = False,
) -> tuple[str, str]:
    """A new token and when it expires. The owner has one at a time: a new one revokes those before.

    With `keep_others` it does not: looking at a study must not end the session of whoever has it judged.
    """
    with database.writing(study.engine) as connection:
        return issue_within(connection, role, days, annotator_id, round_id, keep_others=keep_others)


def check_days(days: float) -> None:
    """Raise where a link cannot be valid for so long."""
    if not 0 < days <= LONGEST_DAYS:
        raise UsageError(f"a link cannot be valid for {days:g} days", remedy=f"Between 0 and {LONGEST_DAYS}.")


def issue_within(
    connection: Connection,
    role: str,
    days: float,
    annotator_id: int | None = None,
    round_id: int | None = None,
    *,
    keep_others: bool = False,
) -> tuple[str, str]:
    """The same within an open transaction."""
    check_days(days)
    expires = (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    claims = {"role": role, "a": annotator_id, "r": round_id, "x": expires, "n": secrets.token_hex(8)}
    body = _encoded(json.dumps(claims, separators=(",", ":")).encode())
    token = f"{body}.{_encoded(_sign(_signing_key(connection), body))}"
    columns = ["hash", "annotator_id", "round_id", "role", "made", "expires"]
    row = (_hash(token), annotator_id, round_id, role, now(), expires)
    if role == "owner" and not keep_others:
        revoke_owner(connection)
    database.insert(connection, tables.token, columns, [row])
    return token, expires


def token_holder(study: Study, key: bytes, token: str) -> Holder | str:
    """Whom a token lets in, or the reason why it lets nobody in: forged, expired or revoked."""
    body, _, signature = token.partition(".")
    return _known(study, _hash(token)) if _signed(key, body, signature) else "this link was not made here"


def start_session(key: bytes, token: str) -> str:
    """What the owner's browser keeps instead of the token: valid for a few hours, and as long as the link."""
    until = int(datetime.now(UTC).timestamp()) + SESSION_HOURS * 3600
    body = f"session.{_hash(token)}.{until}"
    return f"{body}.{_encoded(_sign(key, body))}"


def session_holder(study: Study, key: bytes, session: str) -> Holder | str:
    """Whom a session lets in, or the reason why nobody."""
    body, _, signature = session.rpartition(".")
    kind, _, rest = body.partition(".")
    hashed, _, until = rest.partition(".")
    if kind != "session" or not _signed(key, body, signature):
        return "you need the link that you were sent"
    if int(until) <= datetime.now(UTC).timestamp():
        return "you were away for too long; open your link again"
    return _known(study, hashed)


def _known(study: Study, hashed: str) -> Holder | str:
    with database.reading(study.engine) as connection:
        row = connection.execute(
            text("SELECT role, annotator_id, round_id, expires, revoked FROM token WHERE hash = :hash"),
            {"hash": hashed},
        ).first()
    if row is None:
        return "this link is not known any more"
    if row[4] is not None:
        return "this link was revoked"
    if row[3] <= now():
        return f"this link was valid until {row[3]}"
    return Holder(row[0], row[1], row[2], row[3])


def access(study: Study) -> object:
    """Everything that who may do what rests on; it equals an earlier one if nothing of it changed since."""
    with database.reading(study.engine) as connection:
        return [
            database.fetch(connection, query)
            for query in (
                "SELECT hash FROM token WHERE revoked IS NULL ORDER BY hash",
                "SELECT id, name, role, language, excluded FROM annotator "
                "WHERE id IN (SELECT annotator_id FROM token) ORDER BY id",
                "SELECT id, state, CAST(settings AS TEXT) FROM round ORDER BY id",
                "SELECT max(id) FROM round_item",
            )
        ]


def revoke(connection: Connection, annotator_id: int, round_id: int | None = None) -> int:
    """Revoke every link of an annotator to a round, or to all; how many were still valid."""
    within = "" if round_id is None else " AND round_id = :r"
    return _revoke(connection, f"annotator_id = :a{within}", {"a": annotator_id, "r": round_id})


def revoke_owner(connection: Connection) -> int:
    """Revoke the owner's links; how many were still valid."""
    return _revoke(connection, "role = 'owner'", {})


def _revoke(connection: Connection, whose: str, values: Mapping[str, Any]) -> int:
    asked = {**values, "now": now()}
    valid = text(f"SELECT count(*) FROM token WHERE {whose} AND revoked IS NULL AND expires > :now")
    counted = connection.execute(valid, asked).scalar_one()
    connection.execute(text(f"UPDATE token SET revoked = :now WHERE {whose} AND revoked IS NULL"), asked)
    return int(counted)


def annotator(
    connection: Connection,
    name: str,
    role: str = "annotator",
    language: str | None = None,
    panel: str = PANEL,
) -> int:
    """The id of an annotator of a panel, by default the study's own; a role once given stays."""
    said = name.strip()
    if not said or len(said) > 200:
        who = "whoever decides" if role == "adjudicator" else "an annotator"
        raise UsageError(f"{who} needs a name of at most 200 characters", remedy="Give one.")
    refuse_bad_text([(said, f"the {'adjudicator' if role == 'adjudicator' else 'annotator'}'s name")])
    table = tables.annotator
    query = text("SELECT id, role FROM annotator WHERE panel = :panel AND name = :name")
    row = connection.execute(query, {"panel": panel, "name": said}).first()
    if row is not None:
        if row[1] != role:
            raise UsageError(
                f"{said!r} takes part as {row[1]} already", remedy=f"Invite the {role} by another name."
            )
        if language is not None:
            set_language(connection, int(row[0]), language)
        return int(row[0])
    (key,) = database.fresh_ids(connection, table, 1)
    columns = ["id", "panel", "name", "role", "language"]
    database.insert(connection, table, columns, [(key, panel, said, role, language)])
    return int(key)


def set_language(connection: Connection, annotator_id: int, language: str | None) -> None:
    """The language an annotator reads prompts in; none for the original."""
    query = text("UPDATE annotator SET language = :language WHERE id = :a")
    connection.execute(query, {"language": language or None, "a": annotator_id})


def person_of(connection: Connection, annotator_id: int) -> dict[str, Any]:
    """An annotator: key, role, language and the owner's reason to exclude them."""
    row = connection.execute(
        text("SELECT panel, name, role, language, excluded FROM annotator WHERE id = :a"),
        {"a": annotator_id},
    ).one()
    return {
        "key": AnnotatorKey(row[0], row[1]),
        "name": row[1],
        "role": row[2],
        "language": row[3],
        "left_out": row[4],
    }


def _signed(key: bytes, body: str, signature: str) -> bool:
    return hmac.compare_digest(_encoded(_sign(key, body)).encode(), signature.encode("utf-8", "replace"))


def _sign(key: bytes, body: str) -> bytes:
    return hmac.new(key, body.encode("utf-8", "replace"), hashlib.sha256).digest()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
