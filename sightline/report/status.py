"""Status: what is in the study, and what comes next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightline.comparison.preferences import preference_questions
from sightline.estimate import plural
from sightline.judging.store import rounds
from sightline.measures.ranking_scores import stale_rankings
from sightline.prediction.fit import LEAST
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.study import Study
from sightline.study.writing.loading import sources
from sightline.verbs import verb

QUICKLY = 100_000
"""Answers up to which scores of rankings are compared with the rankings: more would take seconds."""


KINDS = {
    "prompt": "prompts",
    "system": "systems",
    "answer": "answers",
    "image": "images",
    "image_file": "images with their file",
    "question": "questions",
    "annotator": "annotators",
    "judgement": "judgements",
    "truth": "truths",
    "measure": "measures",
    "score": "scores",
    "prediction": "predictions",
}


@dataclass(frozen=True)
class Status(Result):
    """What the study holds, what is open, and the command to run next with the reason for it."""

    study: str
    database: str
    counts: dict[str, int]
    systems: Sequence[tuple[str, str, int]]
    questions: Sequence[str]
    sources: Sequence[tuple[int, str, str, str]]
    next_command: str
    next_why: str
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        return "" if any(self.counts.values()) else f"The study {self.study} is empty."

    @property
    def next(self) -> Sequence[str]:
        return (f"{self.next_command}  ({self.next_why})",)

    def facts(self) -> Mapping[str, Any]:
        names = {name: getattr(self, name) for name in ("study", "database")}
        step = {"command": self.next_command, "why": self.next_why}
        return {**names, "questions": list(self.questions), "next": step}

    def tables(self) -> dict[str, Table]:
        counts = [(name, self.counts[kind]) for kind, name in KINDS.items() if self.counts.get(kind)]
        imports = [Column("number"), Column("layout"), Column("path"), Column("at")]
        return {
            "counts": Table([Column("what"), Column("n")], counts, f"The study {self.study}"),
            "systems": Table([Column("system"), Column("kind"), Column("answers")], self.systems, "Systems"),
            "imports": Table(imports, self.sources, "Imports"),
        }


@verb("set up")
def status(study: Study) -> Status:
    """Show what is in a study, and what comes next."""
    counts = reading.counts(study)
    settlements = reading.settlements(study)
    asked = [question.name for _, question in reading.questions(study)]
    systems = [(str(name), str(kind), int(n)) for _, name, kind, n, _ in reading.systems(study).iter_rows()]
    imports = [(row["id"], row["importer"], row["path"], row["at"]) for row in sources(study)]
    notes = []
    if named := counts["image"] - counts["image_file"]:
        notes.append(
            f"{named:,} of {counts['image']:,} images are known by name only: their files are not here."
        )
    newest = {row["question"]: row["newer_votes"] for row in settlements.iter_rows(named=True)}
    for name, votes in newest.items():
        if votes:
            are = "is" if votes == 1 else "are"
            notes.append(f"{plural(votes, 'vote')} on {name} {are} newer than its truth.")
    for measure in stale_rankings(study) if counts["answer"] <= QUICKLY else ():
        notes.append(
            f"The scores of {measure} are older than the rankings or their relevance: "
            f'sightline score {study.home} "{measure}" updates them.'
        )
    preferred = preference_questions(study)
    for question in preferred:
        command = f"sightline compare {shlex.quote(str(study.home))} --by {shlex.quote(question)}"
        notes.append(f"Systems can be ranked by the votes on {question}: {command}")
    for name, state, done, wanted in rounds.progress(study):
        how = "" if state == "open" else f" ({state})"
        notes.append(f"The round {name}{how} has {done:,} of {wanted:,} tasks judged.")
    failed = listing.failed_answers(study)
    if failed:
        each = ", ".join(f"{name} {n:,}" for name, n in failed.items())
        notes.append(f"Answers that failed: {each}.")
    settled = reading.about_systems(study)
    compares = bool(settled or preferred) and len(systems) > 1
    learns = counts["truth"] and not counts["prediction"] and counts["prompt"] >= LEAST
    if compares and learns and settled:
        home = shlex.quote(str(study.home))
        notes.append(f"How hard the next prompts will be can be learned: sightline fit {home}")
    open_ = set(asked) - set(newest) - set(preferred)
    step, why = _next(counts, bool(open_) or any(newest.values()), compares)
    command = step.replace("STUDY", shlex.quote(str(study.home)))
    database = study.engine.url.render_as_string(hide_password=True).removeprefix("sqlite:///")
    name = str(study.settings.get("study", {}).get("name") or study.name)
    return Status(name, database, counts, systems, asked, imports, command, why, notes)


def _next(counts: dict[str, int], unsettled: bool, compares: bool) -> tuple[str, str]:
    if not counts["prompt"] and not counts["judgement"] and not (counts["image_file"] and counts["truth"]):
        return "sightline import STUDY PATH", "import prompts and the images that answer them"
    if not counts["answer"] and not counts["truth"] and not counts["judgement"]:
        return "sightline generate STUDY SYSTEM --with command", "no system has answered yet"
    if counts["image_file"] and not counts["score"]:
        return "sightline score STUDY", "the images are not measured yet"
    if counts["judgement"] and unsettled:
        return "sightline truth STUDY", "there are votes that no truth takes into account"
    if compares:
        return "sightline compare STUDY", "see which system is better, and how sure that is"
    if counts["truth"] and not counts["prediction"] and counts["prompt"] >= LEAST:
        return "sightline fit STUDY", "predict how hard the next prompts will be"
    if not counts["judgement"] and not counts["truth"]:
        return "sightline annotate STUDY --mode two_sliders", "nobody has judged yet"
    return "sightline report STUDY", "everything is there to read"
