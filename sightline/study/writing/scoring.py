"""Scores that were computed elsewhere, or that come back from an export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from sightline import registry
from sightline.errors import ConflictError, DataError, SightlineError
from sightline.estimate import DIRECTIONS
from sightline.extension import MEASURE_KINDS, Configured
from sightline.records import PromptKey, Score
from sightline.study.contents import NAME_ONLY, Key, current_inputs
from sightline.study.schema import database, tables
from sightline.study.schema.storable import INT64, finite_or_none, refuse_bad_text, refuse_long_text, whole
from sightline.study.writing.entities import Entities

IMPORTED = {
    "of_prompt": "imported_of_prompt",
    "of_image": "imported_of_image",
    "of_answer": "imported",
    "of_set": "imported_of_set",
    "of_system": "imported_of_system",
}
"""The measures under which scores from elsewhere are kept."""
EXPORTED = (*MEASURE_KINDS, "verdict")
"""Kinds of scores that an export holds: of measures, and verdicts on answers."""
KEYS = ["measure_id", "prompt_id", "system_id", "image_id"]
Skip = Callable[[str, str], None]
Outcome = tuple[float | None, str | None]
"""The value of a score, or the reason why there is none."""


class Scores:
    """Writes the scores of one import.

    A score of something that the study does not hold is left out and named; one that contradicts another is
    an error.
    """

    def __init__(self, entities: Entities, skip: Skip | None = None) -> None:
        self.entities = entities
        self.connection = entities.connection
        self.counts: Counter[str] = Counter()
        self._skip = skip
        self._seen = 0
        self._first = ("", "")
        self._measures: dict[tuple[object, ...], int] = {}

    def scores(self, records: Sequence[Score]) -> None:
        """Write scores: of measures from elsewhere, and of our own that were exported."""
        if not records:
            return
        self._seen += len(records)
        refuse_bad_text(
            (text, r.at) for r in records for text in (r.measure, r.reason, r.direction, r.identity)
        )
        known = self._resolved(self._named(records))
        for ours in (True, False):
            part = [(record, key) for record, key in known if bool(record.identity) == ours]
            rows = self._rows(part)
            if ours:
                self._restore(rows)
            else:
                self._keep(rows)

    def finish(self) -> None:
        """Complain where not one score was of anything in the study; give contents to those by name."""
        if self._seen and not self.counts["scores"] and self._first[1]:
            example, reason = self._first
            raise DataError(
                f"none of the {self._seen:,} scores is of what the study holds: {reason}",
                where=example,
                remedy="Import the prompts and answers first. If ids differ, name the column or the suite: "
                "--column prompt_id=THEIRS --option suite=NAME",
            )
        settle_inputs(self.connection)

    def _leave_out(self, record: Score, reason: str, what: str) -> None:
        if self._skip is None:
            raise DataError(f"{reason}: {what}", where=record.at, remedy="Import what it is of first.")
        self._first = self._first if self._first[1] else (record.at, f"{reason}: {what}")
        self._skip(f"{record.at} ({what})", reason)

    # -- what a score is of -----------------------------------------------------------------------------

    def _named(self, records: Sequence[Score]) -> list[tuple[Score, Key]]:
        """The scores with prompt, system and image as ids; without those of what the study lacks."""
        entities = self.entities
        prompts = entities.known_prompts({r.item.prompt for r in records if r.item.prompt is not None})
        images = entities.known_images({r.item.image for r in records if r.item.image is not None})
        made = []
        for record in records:
            prompt, system, image, *_ = record.item
            ids = (
                0 if prompt is None else prompts.get(prompt),
                0 if system is None else entities.known_system(system),
                0 if image is None else images.get(image),
            )
            if ids[0] is None:
                said = prompt.ref if isinstance(prompt, PromptKey) else prompt.text if prompt else ""
                self._leave_out(record, "scores of prompts that the study does not have", said[:60])
            elif ids[1] is None:
                self._leave_out(record, "scores of systems that the study does not have", system or "")
            elif ids[2] is None:
                name = image.name if image is not None else ""
                self._leave_out(record, "scores of images that the study does not have", name)
            else:
                made.append((record, (ids[0], ids[1], ids[2])))
        return made

    def _resolved(self, known: Sequence[tuple[Score, Key]]) -> list[tuple[Score, Key]]:
        """The same with the image of an answer that is named by its prompt and system."""
        asked = sorted({(s, p) for r, (p, s, i) in known if _is_answer(r) and p and s})
        rows = database.look_up(
            self.connection, tables.answer, ["system_id", "prompt_id"], asked, ["position", "image_id"]
        )
        answers: dict[tuple[int, int], dict[int, int | None]] = {}
        for system, prompt, position, image in rows:
            answers.setdefault((system, prompt), {})[position] = image
        made = []
        for record, (prompt, system, image) in known:
            if not (_is_answer(record) and prompt and system):
                made.append((record, (prompt, system, image)))
                continue
            if not image:
                image = self._answer(record, answers.get((system, prompt), {})) or 0
            elif image not in answers.get((system, prompt), {}).values():
                reason = "scores of images that the system did not answer the prompt with"
                self._leave_out(record, reason, record.item.image.name if record.item.image else "")
                continue
            if image:
                made.append((record, (prompt, 0, image)))
        return made

    def _answer(self, record: Score, given: Mapping[int, int | None]) -> int | None:
        """The image of a system's answer to a prompt; None, and named, where there is none."""
        system = record.item.system or ""
        if record.position is not None:
            given = {at: image for at, image in given.items() if at == record.position}
        elif len(given) > 1:
            raise DataError(
                f"{system} has {len(given)} answers to this prompt: which one does the score belong to?",
                where=record.at,
                remedy="Add a column `image` or `position`; or, if a score is of all of them, "
                "--option whole=true",
            )
        image = next(iter(given.values()), None)
        if image is None:
            failed = "answers that failed" if given else "answers that the study does not have"
            self._leave_out(record, f"scores of {failed}", system)
        return image

    # -- measures ---------------------------------------------------------------------------------------

    def _measure(self, record: Score, kind: str) -> int:
        named = (kind, record.measure, record.direction, record.low, record.high, record.identity)
        if named not in self._measures:
            self._measures[named] = self._enter(record, kind)
        return self._measures[named]

    def _enter(self, record: Score, kind: str) -> int:
        row = self._exported(record) if record.identity else self._foreign(record, kind)
        table = tables.measure
        held = self.connection.execute(select(table.c.id).where(table.c.identity == row["identity"])).scalar()
        return int(held) if held is not None else database.add_one(self.connection, table, **row)

    def _foreign(self, record: Score, kind: str) -> dict[str, Any]:
        """A measure from elsewhere, under its name; the study knows one scale for each name."""
        if not record.measure.strip():
            raise DataError("measure is empty", where=record.at, remedy="Fill in the cell or remove the row.")
        if record.direction and record.direction not in DIRECTIONS:
            raise DataError(
                f"direction must be one of {', '.join(DIRECTIONS)}, not {record.direction!r}",
                where=record.at,
                remedy="Leave it empty where it is known by the measure's name.",
            )
        asked = {
            "name": record.measure,
            "direction": record.direction,
            "low": record.low,
            "high": record.high,
        }
        measure = registry.configure(kind, IMPORTED[kind], **asked)
        for identity, spec in self._same_name(kind, record.measure):
            if identity != measure.identity:
                raise ConflictError(
                    f"the study has scores of {record.measure} on another scale: {spec}",
                    where=record.at,
                    remedy="Give the same direction and range, or another name. --replace corrects it.",
                )
        return _row(measure)

    def _same_name(self, kind: str, name: str) -> list[tuple[str, str]]:
        table = tables.measure
        start = f"{IMPORTED[kind]}(name={name!r},"
        rows = self.connection.execute(select(table.c.identity, table.c.spec).where(table.c.kind == kind))
        return [(identity, spec) for identity, spec in rows if spec.startswith(start)]

    def _exported(self, record: Score) -> dict[str, Any]:
        """One of our own measures, as its export described it; as it is here where it still is the same."""
        if record.kind not in EXPORTED or len(record.identity) != 64:
            raise DataError(
                f"this is not the score of a measure that Sightline exported ({record.kind})",
                where=record.at,
                remedy="Export again, or leave the columns kind, version, identity and inputs out.",
            )
        try:
            here = registry.configure(record.kind, record.measure)
        except SightlineError:
            here = None  # an extension that is not installed here
        if here is not None and here.identity == record.identity:
            return _row(here)
        return {
            "kind": record.kind,
            "spec": record.measure,
            "version": whole(record.version, "version", record.at),
            "direction": record.direction if record.direction in DIRECTIONS else "none",
            "identity": record.identity,
        }

    # -- rows -------------------------------------------------------------------------------------------

    def _rows(self, known: Sequence[tuple[Score, Key]]) -> dict[tuple[int, ...], tuple[Score, Outcome, int]]:
        """Each score by its key: the record, its value or reason, and the hash of what it is of."""
        kinds = [record.kind or kind_of(record) for record, _ in known]
        now: dict[str, Mapping[Key, int]] = {}
        for kind in set(kinds):
            keys = [key for (_, key), own in zip(known, kinds, strict=True) if own == kind]
            now[kind] = current_inputs(self.connection, kind, keys) or {}
        rows: dict[tuple[int, ...], tuple[Score, Outcome, int]] = {}
        for (record, key), kind in zip(known, kinds, strict=True):
            outcome = _outcome(record)
            inputs = record.inputs
            if inputs is None:
                inputs = now[kind].get(key, NAME_ONLY)
            if not -INT64 - 1 <= inputs <= INT64:
                raise DataError("inputs is no 64-bit number", where=record.at, remedy="Export again.")
            measure = (self._measure(record, kind), *key)
            earlier = rows.setdefault(measure, (record, outcome, inputs))
            if earlier[1] != outcome:
                raise ConflictError(
                    f"{record.measure} has two scores here: {_short(earlier[1])} at {earlier[0].at}, and "
                    f"{_short(outcome)}",
                    where=record.at,
                    remedy="Leave one of the rows out. Where a system has several answers to a prompt, tell "
                    "them apart by `image` or `position`.",
                )
        return rows

    def _keep(self, rows: Mapping[tuple[int, ...], tuple[Score, Outcome, int]]) -> None:
        """Scores from elsewhere: what the study holds must be the same."""
        held = {row[:4]: row[4:] for row in self._held(rows)}
        for key, (value, reason, _, owner) in held.items():
            record, outcome, _ = rows[key]
            if outcome != (value, reason):
                raise ConflictError(
                    f"the study holds another score of {record.measure} for this, {_short((value, reason))}",
                    where=record.at,
                    remedy="Undo the earlier import (sightline undo STUDY N), or use --replace.",
                )
            self.entities.lean_on(owner)
        self._write({key: row for key, row in rows.items() if key not in held})

    def _restore(self, rows: Mapping[tuple[int, ...], tuple[Score, Outcome, int]]) -> None:
        """Scores of our own measures that come back: they fill gaps; what the study computed itself stays."""
        stays = set()
        held = self._held(rows)
        keys: dict[str, list[Key]] = {}
        for row in held:
            keys.setdefault(rows[row[:4]][0].kind, []).append(row[1:4])
        current = {kind: current_inputs(self.connection, kind, each) or {} for kind, each in keys.items()}
        for row in held:
            key, inputs, owner = row[:4], row[6], row[7]
            record, _, brought = rows[key]
            now = current[record.kind].get(row[1:4])
            if inputs == brought or now in (None, NAME_ONLY, inputs):
                stays.add(key)
                self.entities.lean_on(owner)
        fresh = {key: row for key, row in rows.items() if key not in stays}
        for table in ("evidence", "score"):
            where = " AND ".join(f"{name} = ?" for name in KEYS)
            database.execute_many(self.connection, f"DELETE FROM {table} WHERE {where}", list(fresh))
        self._write(fresh)

    def _held(self, rows: Mapping[tuple[int, ...], Any]) -> list[tuple[Any, ...]]:
        columns = ["value", "reason", "inputs", "source_id"]
        return database.look_up(self.connection, tables.score, KEYS, list(rows), columns)

    def _write(self, rows: Mapping[tuple[int, ...], tuple[Score, Outcome, int]]) -> None:
        source = self.entities.source_id
        columns = [*KEYS, "inputs", "value", "reason", "source_id"]
        cells = [(*key, inputs, *outcome, source) for key, (_, outcome, inputs) in rows.items()]
        database.insert(self.connection, tables.score, columns, cells)
        evidence = [
            (*key, database.as_json(record.evidence, record.at))
            for key, (record, _, _) in rows.items()
            if record.evidence is not None
        ]
        database.insert(self.connection, tables.evidence, [*KEYS, "json"], evidence)
        self.counts["scores"] += len(rows)


def _row(measure: Configured) -> dict[str, Any]:
    spec = measure.spec
    about = {"kind": spec.kind, "spec": str(measure), "version": spec.version}
    return {**about, "direction": spec.direction, "identity": measure.identity}


def _is_answer(record: Score) -> bool:
    return (record.kind or kind_of(record)) == "of_answer"


def kind_of(record: Score) -> str:
    """What a score from elsewhere is of, by what its row names."""
    item = record.item
    if item.prompt is None:
        return "of_image" if item.image is not None else "of_system"
    if item.system is None and item.image is None:
        return "of_prompt"
    return "of_set" if record.whole else "of_answer"


def _outcome(record: Score) -> Outcome:
    value = finite_or_none(record.value, "score", record.at)
    if (value is None) == (record.reason is None):
        raise DataError("a score has either a value or a reason why there is none", where=record.at)
    refuse_long_text(record.reason, 2_000, "reason", record.at)
    return value, record.reason


def _short(outcome: Outcome) -> str:
    value, reason = outcome
    return f"none ({reason})" if value is None else f"{value:g}"


def settle_inputs(connection: Connection) -> None:
    """Bind imported scores of images that were known by name to the contents that have come since."""
    query = (
        "SELECT m.id, m.kind FROM measure m WHERE EXISTS "
        "(SELECT 1 FROM score c WHERE c.measure_id = m.id AND c.inputs = 0)"
    )
    for measure, kind in database.fetch(connection, query):
        rows = database.fetch(
            connection,
            "SELECT prompt_id, system_id, image_id FROM score WHERE measure_id = ? AND inputs = 0",
            [measure],
        )
        now = current_inputs(connection, kind, [(p, s, i) for p, s, i in rows]) or {}
        settled = [(inputs, measure, *key) for key, inputs in now.items() if inputs != NAME_ONLY]
        where = " AND ".join(f"{name} = ?" for name in KEYS)
        database.execute_many(
            connection, f"UPDATE score SET inputs = ? WHERE {where} AND inputs = 0", settled
        )
