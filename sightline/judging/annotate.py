"""Annotate: rounds of judging that study.toml declares are opened, and people are let in to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.errors import UsageError
from sightline.judging import assignment
from sightline.judging.items import build
from sightline.judging.rounds import RoundSettings, refuse_conflicts, round_names, round_settings
from sightline.judging.store import rounds
from sightline.judging.store.rounds import Round
from sightline.study import reading
from sightline.study.schema import database
from sightline.study.settings import RoundValues
from sightline.study.study import SETTINGS_FILE, Study, read_settings
from sightline.study.writing import settling


@dataclass(frozen=True)
class Opened:
    """A round that people can be let in to."""

    round: Round
    settings: RoundSettings
    items: int
    controls: int
    adopted: int


def annotate(study: Study, names: Sequence[str] = ()) -> list[Opened]:
    """Open rounds of study.toml, by default all; one that is under way goes on.

    Its items are drawn once, from its seed, and stay. Judgements that came in otherwise (a sheet, a table)
    count as pages done, so that nobody is asked twice.
    """
    reading.need_prompts(study)
    known = declared(study)
    refuse_conflicts(study)
    return [_open(study, round_settings(study, name)) for name in (names or known)]


def declared(study: Study) -> list[str]:
    """The rounds of study.toml, or an error that has the lines to put there."""
    known = round_names(study)
    if not known:
        raise UsageError(
            "no round of judging is declared",
            where=str(study.home / SETTINGS_FILE),
            remedy="Name a mode, which adds one: sightline annotate STUDY --mode two_sliders. "
            "Or write it yourself:\n    [annotate.quality]\n"
            '    mode = "two_sliders"    # sightline list annotation_mode shows all\n    per_item = 3',
        )
    return known


def _open(study: Study, settings: RoundSettings) -> Opened:
    under_way = {each.name for each in rounds.rounds(study)}
    fresh = settings.name not in under_way
    items = build(study, settings) if fresh else []
    told = snapshot(study, settings)
    opened = rounds.open_round(
        study, settings.name, settings.mode, settings.questions, told, settings.seed, items
    )
    if fresh:
        note = {"round": opened.name, "mode": opened.mode, "seed": opened.seed, "items": len(items)}
        settling.note_events(study, "annotate", "open_round", [note])
    with database.writing(study.engine) as connection:
        adopted = assignment.adopt(connection, opened, datetime.now(UTC))
        counts = rounds.count_items(connection, opened.id)
    return Opened(opened, settings, counts["work"], counts["control"], adopted)


def snapshot(study: Study, settings: RoundSettings) -> dict[str, Any]:
    """A round's settings as the study keeps them: what it was opened with can be told ever after."""
    kept = {*RoundValues.model_fields, "title", "instructions", "reference"}
    told: dict[str, Any] = settings.model_dump(mode="json", include=kept)
    home = study.home.resolve()
    told["examples"] = [
        [each.shown, each.answer, each.why, _inside(home, each.image)] for each in settings.examples
    ]
    controls = asdict(settings.controls)
    told["controls"] = {**controls, "file": _inside(home, settings.controls.file)}
    told["swaps"] = settings.found.swaps
    return told


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
