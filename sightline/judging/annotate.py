"""Opening the rounds of judging that study.toml declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.judging import assignment
from sightline.judging.items import build
from sightline.judging.rounds import RoundSettings, chosen_rounds, round_names
from sightline.judging.store import rounds as stored
from sightline.judging.store.rounds import Round
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading
from sightline.study.schema import database
from sightline.study.settings import RoundValues
from sightline.study.study import SETTINGS_FILE, Study, read_settings
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
    """The rounds that were opened or resumed; `adopted` tasks were judged elsewhere."""

    rounds: Sequence[OpenRound]

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


def annotate(study: Study, rounds: Sequence[str] = ()) -> OpenRounds:
    """Open rounds of study.toml, by default all; one that is under way resumes.

    Its items are drawn once, from its seed, and stay. Judgements that came in otherwise (a sheet, a table)
    count as completed tasks, so that nobody is asked twice.
    """
    reading.need_prompts(study)
    return OpenRounds([_open(study, settings) for settings in chosen_rounds(study, rounds)])


def _open(study: Study, settings: RoundSettings) -> OpenRound:
    fresh = settings.name not in {each.name for each in stored.rounds_of(study)}
    items = build(study, settings) if fresh else []
    opened = stored.open_round(
        study,
        settings.name,
        settings.mode,
        settings.questions,
        snapshot(study, settings),
        settings.seed,
        items,
    )
    if fresh:
        note = {"round": opened.name, "mode": opened.mode, "seed": opened.seed, "items": len(items)}
        settling.note_events(study, "annotate", "open_round", [note])
    with database.writing(study.engine) as connection:
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
    if settings.found.layout == "order":
        values["orders"] = True
    if settings.found.both_bad:
        values["both_bad"] = True
    return values


def _inside(home: Path, file: Path | None) -> str | None:
    return None if file is None else str(file.resolve().relative_to(home))


def declare(study: Study, mode: str) -> str:
    """Add a round of this mode to study.toml, named like it, unless it is there; gives the name."""
    from sightline import registry

    configured = registry.configure("annotation_mode", mode)
    name = configured.name
    if name in round_names(study):
        return name
    file = study.home / SETTINGS_FILE
    held = file.read_text("utf-8") if file.exists() else ""
    hides = configured.load()().reference
    photo = "reference = false    # or the system or collection that has the photos\n" if hides else ""
    printed = str(configured).replace("\\", "\\\\").replace('"', '\\"')
    table = f'[annotate.{name}]\nmode = "{printed}"\nper_item = 3\n{photo}'
    file.write_text(held.rstrip("\n") + "\n\n" + table, "utf-8")
    study.settings = read_settings(file)
    return name
