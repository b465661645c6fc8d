"""What the owner of a study does while people judge. Every action is recorded in the study's log."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.data.sources import Source
from sightline.data.sources.plain import EXPORT_NOTE, EXPORT_VERSION
from sightline.errors import DataError, UsageError, near
from sightline.estimate import plural
from sightline.judging.assignment import adopt
from sightline.judging.store import overseeing, rounds, showing, tokens
from sightline.judging.store.overseeing import OWNER, Decision
from sightline.records import Judgement, Question
from sightline.rendering.result import Result
from sightline.study import listing, reading
from sightline.study.schema import database
from sightline.study.schema.naming import CONTENT
from sightline.study.study import Study
from sightline.study.writing.entities import Entities
from sightline.study.writing.items import item_ids

BY = {"other": "again", "same": "repeat"}
"""Who judges again, and the kind of item that comes of it."""
MOST_BYTES = 64 * 1024**2
FORMAT = "judgements"


@dataclass(frozen=True)
class Invitation(Result):
    """What lets an annotator in to a round; the token is shown once and stored nowhere."""

    round: str
    name: str
    token: str
    expires: str
    role: str = "annotator"

    @property
    def sentence(self) -> str:
        return f"{self.name} may judge {self.round} until {self.expires}."


@dataclass(frozen=True)
class RevokedLinks(Result):
    """How many valid links of each person were revoked."""

    links: Mapping[str, int]

    @property
    def sentence(self) -> str:
        many = sum(self.links.values())
        return f"{many} {'link' if many == 1 else 'links'} of {', '.join(self.links)} revoked."


@dataclass(frozen=True)
class Rejudging(Result):
    """A sample drawn to be judged again: of `done` finished items, `before` were drawn earlier."""

    by: str
    done: int
    before: int
    drawn: int

    @property
    def sentence(self) -> str:
        whom = "somebody else" if self.by == "other" else "the same person"
        before = f" {self.before} were drawn before." if self.before else ""
        return f"{self.drawn} of {self.done} finished items are judged again by {whom}.{before}"


@dataclass(frozen=True)
class AddedJudgements(Result):
    """What became of a table: judgements that are new, already in the study, and rows without an answer.

    `tasks` counts those that the judgements were adopted as.
    """

    added: int
    known: int
    open: int
    tasks: int

    @property
    def sentence(self) -> str:
        parts = [f"{plural(self.added, 'judgement')} added", f"{self.known:,} already in the study"]
        parts += [f"{plural(self.open, 'row')} without an answer left open"] if self.open else []
        return ", ".join(parts) + "."


def invite(
    study: Study,
    round: str,
    name: str,
    role: str = "annotator",
    days: float = 30,
    language: str | None = None,
) -> Invitation:
    """Create a link for an annotator, who is added if need be; earlier links stay valid until revoked."""
    round_ = rounds.get_round(study, round)
    with database.writing(study.engine) as connection:
        return invite_within(connection, round_, name, role, days, language)


def invite_within(
    connection: Any,
    round_: rounds.Round,
    name: str,
    role: str = "annotator",
    days: float = 30,
    language: str | None = None,
) -> Invitation:
    """The same within an open transaction."""
    if role not in tokens.ROLES:
        raise UsageError(f"nobody takes part as {role!r}", remedy=near(role, tokens.ROLES))
    known = showing.languages(connection)
    offered = [str(each) for each in round_.settings.get("languages") or known]
    if language and language not in offered:
        remedy = near(language, offered) or "No prompt of this study is translated."
        raise UsageError(f"the round {round_.name!r} is not given in {language!r}", remedy=remedy)
    key = tokens.annotator(connection, name, role, language)
    person = tokens.person_of(connection, key)
    if person["left_out"]:
        raise UsageError(
            f"{person['name']!r} is excluded: {person['left_out']}", remedy="Restore them first."
        )
    token, expires = tokens.issue_within(connection, role, days, key, round_.id)
    note = {"round": round_.name, "name": person["name"], "role": role}
    overseeing.note(connection, "invite", {**note, "expires": expires, "language": language})
    return Invitation(round_.name, str(person["name"]), token, expires, role)


def revoke(study: Study, round: str, name: str) -> int:
    """Revoke every link of an annotator to a round; gives how many were still valid."""
    round_ = rounds.get_round(study, round)
    with database.writing(study.engine) as connection:
        person = overseeing.find_person(overseeing.people(study, connection), name)
        valid = tokens.revoke(connection, person.id, round_.id)
        overseeing.note(connection, "revoke", {"round": round, "name": person.name, "links": valid})
    return valid


def revoke_links(study: Study, names: Sequence[str]) -> RevokedLinks:
    """Revoke every link of these annotators to all rounds; `owner` stands for the owner's own."""
    revoked: dict[str, int] = {}
    with database.writing(study.engine) as connection:
        for name in names:
            if name == OWNER:
                revoked[OWNER] = tokens.revoke_owner(connection)
            else:
                person = overseeing.find_person(overseeing.people(study, connection), name)
                revoked[person.name] = tokens.revoke(connection, person.id)
        for name, links in revoked.items():
            overseeing.note(connection, "revoke", {"name": name, "links": links})
    return RevokedLinks(revoked)


def pause(study: Study, round: str) -> None:
    """Assign no more tasks; what is on somebody's screen can still be answered."""
    _set_state(study, round, "paused", "pause")


def resume(study: Study, round: str) -> None:
    """Assign tasks again."""
    _set_state(study, round, "open", "resume")


def _set_state(study: Study, round: str, state: str, what: str) -> None:
    if rounds.get_round(study, round).state == state:
        return
    rounds.set_state(study, round, state)
    with database.writing(study.engine) as connection:
        overseeing.note(connection, what, {"round": round})


def exclude(study: Study, name: str, reason: str) -> None:
    """Count none of an annotator's judgements from now on, and revoke their links.

    The judgements stay in the study, with the reason.
    """
    said = reason.strip()
    if not said or len(said) > 500 or "\x00" in said:
        raise UsageError("an exclusion needs a reason of at most 500 characters", remedy="Say why.")
    with database.writing(study.engine) as connection:
        person = overseeing.find_person(overseeing.people(study, connection), name)
        if person.role == "adjudicator":
            raise UsageError(f"{person.name!r} decides disputes", remedy="Revise the decisions instead.")
        overseeing.leave_out(connection, person.id, said)
        tokens.revoke(connection, person.id)
        note = {"panel": person.panel, "name": person.name, "reason": said}
        overseeing.note(connection, "exclude", note)


def restore(study: Study, name: str) -> None:
    """Count an excluded annotator's judgements again; to judge more they need a new link."""
    with database.writing(study.engine) as connection:
        person = overseeing.find_person(overseeing.people(study, connection), name)
        if person.left_out is None:
            raise UsageError(f"{person.name!r} is not excluded", remedy="There is nothing to restore.")
        overseeing.leave_out(connection, person.id, None)
        overseeing.note(connection, "restore", {"panel": person.panel, "name": person.name})


def adjudicate(study: Study, question: str, item_id: int, value: float, by: str = OWNER) -> Decision:
    """Decide what people disagree on: a judgement of its own kind, which a later one revises."""
    asked = reading.question(study, question)
    with database.writing(study.engine) as connection:
        decision = overseeing.decide(connection, asked, item_id, by, float(value))
        if decision.fresh:
            note = {"question": question, "item": item_id, "value": float(value), "by": by}
            overseeing.note(connection, "adjudicate", {**note, "revision": decision.revision})
    return decision


def correct(study: Study, asked: Question, values: Mapping[tuple[int, int], float], by: str = OWNER) -> int:
    """Judge answers, given by prompt and image, where a verdict is wrong; the verdict stays as it is.

    The question is made if need be. Gives how many judgements are new; one that was given before is not.
    """
    fresh = 0
    with database.writing(study.engine) as connection:
        key = Entities(study, connection, None).question(asked.name, asked)
        known = overseeing.judged_items(connection, key, list(values))
        new = [pair for pair in values if pair not in known]
        made = item_ids(connection, [(prompt, 0, image, 0, 0, 0) for prompt, image in new])
        known |= dict(zip(new, made, strict=True))
        for pair, value in values.items():
            decision = overseeing.append_decision(
                connection, (key, asked), known[pair], by, float(value), overseeing.CORRECTION
            )
            fresh += decision.fresh
        if fresh:
            overseeing.note(connection, "correct", {"question": asked.name, "answers": fresh, "by": by})
    return fresh


def again(study: Study, round: str, share: float = 0.2, by: str = "other", seed: int = 0) -> Rejudging:
    """Have a random sample of the finished work judged again, by somebody else or by the same person.

    `share` is the proportion of all work with a finished task, and what was drawn before counts: asking twice
    for a fifth gives a fifth. Source: the quality check of Achterberg et al. (GIMBRR), a fifth of all items.
    """
    import numpy as np

    if by not in BY:
        raise UsageError(f"work is not judged again by {by!r}", remedy=near(by, BY))
    if not 0 < share <= 1:
        raise UsageError(f"a proportion of {share:g} cannot be judged again", remedy="Above 0, at most 1.")
    if not 0 <= seed < 2**63:
        raise UsageError(f"{seed} is no seed", remedy="A whole number from 0.")
    round_ = rounds.get_round(study, round)
    with database.writing(study.engine) as connection:
        done, before = overseeing.doable(connection, round_.id, BY[by])
        if not done:
            raise UsageError(f"no work of {round!r} is finished yet", remedy="Try again later.")
        fresh = sorted(set(done) - set(before))
        missing = max(0, int(np.floor(share * len(done) + 0.5)) - len(before))
        drawn = np.random.default_rng(seed).permutation(fresh)[:missing].tolist()
        overseeing.add_again(connection, round_.id, BY[by], drawn)
        note = {"round": round, "share": share, "by": by, "seed": seed, "items": len(drawn)}
        overseeing.note(connection, "again", note)
    return Rejudging(by, len(done), len(before), len(drawn))


# -- tables of judgements -----------------------------------------------------------------------------------


def judgements_csv(study: Study, round: str) -> str:
    """Every judgement of a round in the plain form that import reads, safe to open in a spreadsheet."""
    import polars as pl

    from sightline.data.export import write_table

    round_ = rounds.get_round(study, round)
    table = listing.named_judgements(study, round_.id).with_columns(pl.col("control") == 1)
    with tempfile.TemporaryDirectory() as folder:
        return write_table(table, Path(folder) / "judgements.csv").read_text("utf-8")


def take_in(study: Study, csv_bytes: bytes, name: str, round: str | None = None) -> AddedJudgements:
    """Import a table of judgements, all or nothing; rows that are in the study already are counted as known.

    Rows without value and reason are left open. The rest becomes tasks of the round (of every round, unless
    one is named), so that a half-finished table can be continued. A value that differs from the one in the
    study is an error that names the row.
    """
    from sightline.data.import_ import import_, recognise

    into = [rounds.get_round(study, round)] if round is not None else rounds.rounds_of(study)
    table = _Table(_text(csv_bytes, name), _file_name(name))
    table.blank(table.unanswered())
    unanswered = table.gone
    with tempfile.TemporaryDirectory() as folder:
        path = table.write(Path(folder))
        records: list[Judgement] = []
        if table.kept or not unanswered:
            importer, _ = recognise(path, FORMAT)
            records = [each for each in importer.load()(Source(path)) if isinstance(each, Judgement)]
        _refuse_unknown(study, records)
        held = overseeing.known_rows(study, records)
        table.blank([place for place, known in zip(table.kept, held, strict=True) if known])
        added = 0
        if len(held) > sum(held):
            added = import_(study, table.write(Path(folder)), format=FORMAT).counts.get("judgements", 0)
    result = AddedJudgements(added, sum(held), unanswered, tasks=sum(_adopt(study, each) for each in into))
    with database.writing(study.engine) as connection:
        overseeing.note(connection, "take in", {"file": table.name, **result.facts()})
    return result


def _refuse_unknown(study: Study, records: Sequence[Judgement]) -> None:
    """An import may name images it does not have; here people judged what they were shown."""
    known = set(reading.images(study).select("collection", "name").iter_rows())
    for each in records:
        for image in (each.item.image, each.item.image_b, each.item.image_c):
            if image is not None and not image.name.startswith(CONTENT) and tuple(image) not in known:
                raise DataError(
                    f"the study has no image {image.name!r} in collection {image.collection!r}",
                    where=each.at,
                    remedy="Correct its name or collection; a table downloaded here has both.",
                )


def _adopt(study: Study, round_: rounds.Round) -> int:
    with database.writing(study.engine) as connection:
        return adopt(connection, round_, datetime.now(UTC))


def _text(data: bytes, name: str) -> str:
    if len(data) > MOST_BYTES:
        raise DataError(
            f"it is larger than {MOST_BYTES // 1024**2} MB", where=name, remedy="Import it by command."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte {error.start} is not UTF-8", where=name, remedy="Save the table as CSV in UTF-8."
        ) from None


def _file_name(name: str) -> str:
    """A name that is safe as a file's, for the place that errors tell."""
    safe = re.sub(r"[^\w.-]", "_", Path(name.replace("\\", "/")).name).lstrip(".")[:100]
    return safe if safe.lower().endswith(".csv") else f"{safe or 'judgements'}.csv"


class _Table:
    """A CSV of which rows can be left out while the others keep their line numbers."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.gone = 0
        self._lines = list(io.StringIO(text, newline=""))
        self._rows = dict(self._read())

    @property
    def kept(self) -> Sequence[int]:
        """The places of rows that are not left out."""
        return list(self._rows)

    def _read(self) -> Iterator[tuple[int, tuple[int, Mapping[str, str]]]]:
        """Rows by the line they begin on, each with the line after it and its cells."""
        # Lenient: what is wrong with a row is for the importer to say.
        reader = csv.reader(self._lines)
        header: list[str] | None = None
        line = 0
        try:
            for cells in reader:
                if cells and header is None:
                    header = [cell.strip() for cell in cells]
                elif cells and header is not None:
                    yield line, (reader.line_num, dict(zip(header, cells, strict=False)))
                line = reader.line_num
        except csv.Error as error:
            raise DataError(
                f"{error}", where=f"{self.name}:{line + 1}", remedy="Look at its quotes."
            ) from None

    def unanswered(self) -> list[int]:
        """The places of rows that have neither a value nor a reason for skipping."""
        return [
            place
            for place, (_, cells) in self._rows.items()
            if "value" in cells and not cells["value"].strip() and not cells.get("skipped", "").strip()
        ]

    def blank(self, places: Sequence[int]) -> None:
        """Leave rows out."""
        for place in places:
            end, _ = self._rows.pop(place)
            self._lines[place:end] = ["\n"] * (end - place)
            self.gone += 1

    def write(self, folder: Path) -> Path:
        """The table as a file, with the note that its formulas are guarded, as our own tables' are."""
        path = folder / self.name
        path.write_text("".join(self._lines), "utf-8", newline="")
        files = {self.name: {"rows": len(self._rows), "guard": True}}
        note = json.dumps({"sightline_export": EXPORT_VERSION, "files": files})
        (folder / EXPORT_NOTE).write_text(note, "utf-8")
        return path
