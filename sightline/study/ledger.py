"""The calls of a study to endpoints: kept as they are made, so that no reply is paid for twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from sightline.addresses import Settings, checked_address
from sightline.arrays import content_hash
from sightline.endpoints import Call, Endpoint, Rehearsal
from sightline.errors import UsageError, near
from sightline.extension import Configured
from sightline.regular import read_regular
from sightline.study import listing
from sightline.study.schema import database
from sightline.study.settings import EndpointTable
from sightline.study.study import SETTINGS_FILE, Study
from sightline.study.writing.settling import note_events, note_within

ACTOR = "endpoint"
"""Who notes calls in the study's log."""
MOST_RUBRIC = 100_000
"""Bytes of a file that a judge is given, such as a rubric."""


@dataclass(frozen=True)
class BillLine:
    """What one purpose cost at one endpoint with one model, over all runs.

    `sent` counts calls; of those, `replies` came back, `refused` were refusals, `failed` got no usable
    answer, and `lost` were under way when a process ended: a provider may have charged for them. `repeats`
    counts the requests beyond the first that calls took.
    """

    endpoint: str
    model: str
    purpose: str
    sent: int = 0
    replies: int = 0
    refused: int = 0
    failed: int = 0
    repeats: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    images: int = 0
    cost: float | None = None
    unpriced: int = 0
    """Replies of models without a price."""

    @property
    def lost(self) -> int:
        return self.sent - self.replies - self.refused - self.failed

    def plus(self, call: Mapping[str, Any]) -> BillLine:
        """The line with one more call that was settled."""
        cost = call.get("cost")
        state = str(call["state"])
        return replace(
            self,
            replies=self.replies + (state == "reply"),
            refused=self.refused + (state == "refused"),
            failed=self.failed + (state == "failed"),
            repeats=self.repeats + max(0, int(call.get("attempts", 1)) - 1),
            tokens_in=self.tokens_in + int(call.get("tokens_in", 0)),
            tokens_out=self.tokens_out + int(call.get("tokens_out", 0)),
            images=self.images + int(call.get("images", 0)),
            cost=self.cost if cost is None or state == "failed" else (self.cost or 0.0) + float(cost),
            unpriced=self.unpriced + (cost is None and state != "failed"),
        )


def bill_lines(study: Study) -> list[BillLine]:
    """What calls were made of a study so far, by endpoint, model and purpose."""
    lines: dict[tuple[str, str, str], BillLine] = {}
    for what, noted in listing.events(study, ACTOR):
        if what not in ("sent", "call"):
            continue
        key = (str(noted["endpoint"]), str(noted["model"]), str(noted["purpose"]))
        line = lines.get(key) or BillLine(*key)
        lines[key] = replace(line, sent=line.sent + int(noted["n"])) if what == "sent" else line.plus(noted)
    return [lines[key] for key in sorted(lines)]


@dataclass
class _Entry:
    """A line that waits to be committed; `refused` is what was spent where a limit forbids the call."""

    what: str
    noted: Mapping[str, Any]
    limit: float | None = None
    refused: float | None = None


class StudyLedger:
    """Keeps the calls of one purpose in the study's log; calls that end together are committed together.

    Before a call that a spend limit concerns, what all processes spent or hold back is read in the very
    transaction that notes the call: however many there are, together they stay below the limit.
    """

    def __init__(self, study: Study, endpoint: Settings, purpose: str) -> None:
        self._study = study
        self._endpoint = endpoint
        self._purpose = purpose
        self._known: dict[str, Mapping[str, Any]] = {}
        self._spent = self._held = 0.0
        self._queue = threading.Lock()
        self._commit = threading.Lock()
        self._pending: list[_Entry] = []
        self._last = self._committed = self._read = 0
        self.elsewhere: Counter[str] = Counter()
        """Replies that are not used since another server gave them under this name, by its address."""
        with database.reading(study.engine) as connection:
            self._catch_up(connection)

    def known(self, key: str) -> Mapping[str, Any] | None:
        return self._known.get(key)

    def sent(self, key: str, model: str, held: float = 0.0, limit: float | None = None) -> float | None:
        noted = {"model": model, "n": 1, **({"held": held} if held else {})}
        return self._write(_Entry("sent", noted, limit)).refused

    def settled(self, call: Call) -> None:
        noted = {**asdict(call), "address": self._endpoint.address}
        self._write(_Entry("call", noted))
        self._remember(noted)

    def spent(self) -> float:
        """What all calls to this endpoint cost so far, by whichever process."""
        with self._commit, database.reading(self._study.engine) as connection:
            self._catch_up(connection)
            return self._spent

    def lines(self) -> list[BillLine]:
        """The bill of this purpose, over all runs."""
        named = (self._endpoint.name, self._purpose)
        return [line for line in bill_lines(self._study) if (line.endpoint, line.purpose) == named]

    def notes(self) -> list[str]:
        """What a reader must know of replies under this name that are not used."""
        name, address = self._endpoint.name, self._endpoint.address
        return [
            f"Replies of {name} that came from {other} ({n:,}) are not used at {address}. If it moved, "
            f'add moved_from = ["{other}"] to [endpoint.{name}] in study.toml; if not, choose another name: '
            "scores and votes of both are stored under this one."
            for other, n in sorted(self.elsewhere.items())
        ]

    def _catch_up(self, connection: Connection) -> None:
        """Read what was noted since the last time, by this process or another."""
        for key, what, noted in listing.events_after(connection, ACTOR, self._read):
            self._read = key
            if what not in ("sent", "call") or noted["endpoint"] != self._endpoint.name:
                continue
            if what == "sent":
                self._held += float(noted.get("held", 0.0))
                continue
            self._held -= float(noted.get("held", 0.0))
            self._spent += float(noted.get("cost") or 0.0)
            # Replies of earlier versions do not say where they came from: they are taken for this server's.
            there = noted.get("address", self._endpoint.address)
            if there in (self._endpoint.address, *self._endpoint.moved_from):
                self._remember(noted)
            elif noted.get("reply") is not None:
                self.elsewhere[there] += 1

    def _remember(self, noted: Mapping[str, Any]) -> None:
        if noted.get("reply") is not None:
            self._known[str(noted["key"])] = noted["reply"]

    def _write(self, entry: _Entry) -> _Entry:
        entry.noted = {**entry.noted, "endpoint": self._endpoint.name, "purpose": self._purpose}
        with self._queue:
            self._pending.append(entry)
            self._last += 1
            mine = self._last
        with self._commit:
            if self._committed >= mine:
                return entry  # whoever was here before took it along
            with self._queue:
                batch, self._pending, upto = self._pending, [], self._last
            try:
                self._store(batch)
            except BaseException:
                with self._queue:
                    self._pending[:0] = batch
                raise
            self._committed = upto
        return entry

    def _store(self, batch: Sequence[_Entry]) -> None:
        # That a call was sent matters only if the process is killed; a reply was paid for.
        durable = any(entry.what == "call" for entry in batch)
        with database.writing(self._study.engine, durable=durable) as connection:
            if any(entry.limit is not None for entry in batch):
                self._catch_up(connection)
            self._grant(batch)
            for kind in ("sent", "call"):
                rows = [each.noted for each in batch if each.what == kind and each.refused is None]
                if rows:
                    note_within(connection, ACTOR, kind, rows)

    def _grant(self, batch: Sequence[_Entry]) -> None:
        """Refuse the calls for which the limit leaves too little, after all that comes before them."""
        spent = self._spent + self._held
        for entry in sorted(batch, key=lambda each: each.what):  # what came back first: it frees what it held
            held = float(entry.noted.get("held", 0.0))
            if entry.what == "call":
                spent += float(entry.noted.get("cost") or 0.0) - held
                continue
            refused = entry.limit is not None and spent + held > entry.limit
            entry.refused = spent if refused else None
            spent += 0.0 if refused else held


def endpoint_settings(study: Study, name: str) -> Settings:
    """An endpoint by its name in study.toml, or by its address."""
    tables = study.settings.get("endpoint", {})
    where = f"{study.home / SETTINGS_FILE} [endpoint.{name}]"
    if name in tables:
        return EndpointTable.read(tables[name], where).settings(name, where)
    if name and "://" not in name:
        raise UsageError(
            f"no endpoint is called {name!r}",
            where=str(study.home / SETTINGS_FILE),
            remedy=near(name, tables) or f'Add it: [endpoint.{name}] address = "http://localhost:8000/v1"',
        )
    return Settings(name, checked_address(name, study.name))


def endpoint_argument(extension: Configured) -> str | None:
    """What an extension that calls an endpoint was given as its name; None of one that calls none."""
    parameter = extension.spec.details.get("endpoint")
    return str(extension.arguments[parameter]) if parameter else None


def connected(study: Study, extension: Configured, purpose: str) -> Endpoint | None:
    """The endpoint that an extension calls, with the study's ledger; None of one that calls none."""
    name = endpoint_argument(extension)
    if name is None:
        return None
    settings = endpoint_settings(study, name)
    _note_files(study, extension)
    return Endpoint(settings, StudyLedger(study, settings, purpose))


def rehearsed(study: Study, extension: Configured, purpose: str) -> Rehearsal:
    """The endpoint of an extension that makes no call: it counts what would be called."""
    settings = endpoint_settings(study, endpoint_argument(extension) or "")
    return Rehearsal(settings, StudyLedger(study, settings, purpose))


def loaded_at(extension: Configured, endpoint: Endpoint) -> Any:
    """An extension loaded with this endpoint."""
    return extension.load({str(extension.spec.details["endpoint"]): endpoint})


def _note_files(study: Study, extension: Configured) -> None:
    """Keep the text of each file that an extension was given, once: the study says what was asked."""
    noted = {entry["sha256"] for what, entry in listing.events(study, ACTOR) if what == "file"}
    for parameter in extension.spec.content_of:
        path = str(extension.arguments[parameter])
        digest = content_hash(path)
        if digest is None or digest in noted:
            continue
        with suppress(UnicodeDecodeError):
            text = read_regular(Path(path), most=MOST_RUBRIC).decode("utf-8")
            note_events(study, ACTOR, "file", [{"sha256": digest, "name": Path(path).name, "text": text}])
