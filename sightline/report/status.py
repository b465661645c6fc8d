"""Status: what is in the study, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightline.judging.store import rounds
from sightline.measures.score import stale_rankings
from sightline.prediction.fit import LEAST
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import sources

QUICKLY = 100_000
"""Answers up to which scores of rankings are looked at: more would take seconds."""


@dataclass(frozen=True)
class Status:
    """What is here, what is open, and the command that comes next with the reason for it."""

    study: str
    database: str
    counts: dict[str, int]
    systems: Sequence[tuple[str, str, int]]
    questions: Sequence[str]
    sources: Sequence[tuple[int, str, str, str]]
    notes: Sequence[str]
    next_command: str
    next_why: str


def status(study: Study) -> Status:
    """Look at what the study holds and say what would make it tell more."""
    counts = reading.counts(study)
    settlements = reading.settlements(study)
    asked = [question.name for _, question in reading.questions(study)]
    systems = [(str(n), str(k), int(a)) for _, n, k, a in reading.systems(study).iter_rows()]
    imports = [(s["id"], s["importer"], s["path"], s["at"]) for s in sources(study)]
    notes = _notes(counts)
    stale = [row["question"] for row in settlements.iter_rows(named=True) if row["newer_votes"]]
    settled = {row["question"] for row in settlements.iter_rows(named=True)}
    for name in dict.fromkeys(stale):
        newest = settlements.filter(settlements["question"] == name)["newer_votes"].to_list()[-1]
        if newest:
            notes.append(f"{newest} votes on {name} came in after its truth was settled.")
    for measure in stale_rankings(study) if counts["answer"] <= QUICKLY else ():
        notes.append(
            f"The scores of {measure} are not those of the rankings and relevance as they stand: "
            f'sightline score {study.home} "{measure}" brings them up to date.'
        )
    for name, state, done, wanted in rounds.progress(study):
        how = "" if state == "open" else f" ({state})"
        notes.append(f"The round {name}{how} has {done:,} of {wanted:,} pages judged.")
    command, why = _next(counts, asked, settled, bool(stale))
    database = study.engine.url.render_as_string(hide_password=True).removeprefix("sqlite:///")
    command = command.format(study=study.home)
    name = str(study.settings.get("study", {}).get("name") or study.name)
    return Status(name, database, counts, systems, asked, imports, notes, command, why)


def _notes(counts: dict[str, int]) -> list[str]:
    notes = []
    named = counts["image"] - counts["image_file"]
    if named:
        notes.append(
            f"{named:,} of {counts['image']:,} images are known by name only: their files are not here."
        )
    return notes


def _next(counts: dict[str, int], asked: Sequence[str], settled: set[str], stale: bool) -> tuple[str, str]:
    if not counts["prompt"]:
        return "sightline import {study} PATH", "bring in prompts and the images that answered them"
    if not counts["answer"] and not counts["truth"]:
        return "sightline generate {study} SYSTEM --with command", "no system has answered yet"
    if counts["image_file"] and not counts["score"]:
        return "sightline score {study}", "the images are not measured yet"
    if counts["judgement"] and (stale or set(asked) - settled):
        return "sightline truth {study}", "there are votes that are not settled"
    if counts["truth"] and not counts["prediction"] and counts["prompt"] >= LEAST:
        return "sightline fit {study}", "find out how hard the next prompts will be"
    if not counts["judgement"] and not counts["truth"]:
        return "sightline annotate {study} --mode two_sliders", "people have not judged yet"
    return "sightline report {study}", "everything is there to read"
