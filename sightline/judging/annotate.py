"""Opening the rounds of judging that study.toml declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.judging import assignment
from sightline.judging.declaring import Declared, restore, save
from sightline.judging.items import build
from sightline.judging.oversee import Invitation, invite_within
from sightline.judging.reopening import reopen
from sightline.judging.rounds import RoundSettings, chosen_rounds
from sightline.judging.store import rounds as stored
from sightline.judging.store.rounds import NewItem, Round
from sightline.judging.store.tokens import check_days
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading
from sightline.study.schema import database
from sightline.study.settings import RoundValues
from sightline.study.study import Study
from sightline.study.writing import settling


@dataclass(frozen=True)
class OpenRound:
    """A round that people can be invited to."""

    round: Round
    settings: RoundSettings
    items: int
    controls: int
    adopted: int


@dataclass(frozen=True)
class OpenRounds(Result):
    """The rounds that were opened or resumed, and the links made; `adopted` tasks were judged elsewhere."""

    rounds: Sequence[OpenRound]
    invitations: Sequence[Invitation] = ()

    @property
    def next(self) -> Sequence[str]:
        return ("sightline truth STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [
            *map(Column, ("round", "mode", "items", "controls")),
            Column("per_item", "judgements per item"),
            Column("adopted", "judged elsewhere"),
        ]
        rows = [
            (one.round.name, one.round.mode, one.items, one.controls, one.settings.per_item, one.adopted)
            for one in self.rounds
        ]
        return {"": Table(columns, rows, "Rounds")}


def annotate(
    study: Study,
    rounds: Sequence[str] = (),
    *,
    declared: Declared | None = None,
    invite: Sequence[str] = (),
    control: Sequence[str] = (),
    days: float = 30,
) -> OpenRounds:
    """Open rounds of study.toml, by default all; one that is under way resumes.

    Its items are drawn once, from its seed, and stay. Judgements that came in otherwise (a sheet, a table)
    count as completed tasks, so that nobody is asked twice. `invite` names annotators who get a link to each,
    `control` those whose answers to the controls the others are measured by. `declared` is what study.toml
    becomes. All of it happens, or nothing.
    """
    reading.need_prompts(study)
    check_days(days)
    known = {each.name for each in stored.rounds_of(study)}
    drawn = [
        (settings, build(study, settings) if settings.name not in known else [])
        for settings in chosen_rounds(study, rounds)
    ]
    declared = declared or Declared(rounds)
    try:
        with database.writing(study.engine) as connection:
            opened = [_open(study, connection, *each) for each in drawn]
            people = [("annotator", name) for name in invite] + [("control", name) for name in control]
            invitations = [
                invite_within(connection, each.round, name, role, days)
                for each in opened
                for role, name in people
            ]
            save(study, declared)
    except BaseException:
        restore(study, declared)
        raise
    for each in opened:
        reopen(study, each.round.name)
    return OpenRounds(opened, invitations)


def _open(study: Study, connection: Any, settings: RoundSettings, items: Sequence[NewItem]) -> OpenRound:
    opened = stored.open_within(
        study,
        connection,
        settings.name,
        settings.mode,
        settings.questions,
        snapshot(study, settings),
        settings.seed,
        items,
    )
    if items:
        note = {"round": opened.name, "mode": opened.mode, "seed": opened.seed, "items": len(items)}
        settling.note_within(connection, "annotate", "open_round", [note])
    adopted = assignment.adopt(connection, opened, datetime.now(UTC))
    counts = stored.count_items(connection, opened.id)
    return OpenRound(opened, settings, counts["work"], counts["control"], adopted)


def snapshot(study: Study, settings: RoundSettings) -> dict[str, Any]:
    """A round's settings as the study keeps them: a record of what it was opened with."""
    kept = {*RoundValues.model_fields, "title", "instructions", "reference"}
    values: dict[str, Any] = settings.model_dump(mode="json", include=kept)
    home = study.home.resolve()
    values["examples"] = [
        [each.shown, each.answer, each.why, _inside(home, each.image)] for each in settings.examples
    ]
    controls = asdict(settings.controls)
    values["controls"] = {**controls, "file": _inside(home, settings.controls.file)}
    values["swaps"] = settings.found.swaps
    # Rounds that were opened before these came have neither.
    values.pop("both_bad")
    if settings.found.layout == "order":
        values["orders"] = True
    if settings.found.both_bad:
        values["both_bad"] = True
    return values


def _inside(home: Path, file: Path | None) -> str | None:
    return None if file is None else str(file.resolve().relative_to(home))
