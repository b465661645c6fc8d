"""Score: bring automatic measures of a study up to date, or measure image files without a study."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import registry
from sightline.data.sources import IMAGES, natural
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, absent
from sightline.extension import Configured
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.bill import CallPlan, bill_table
from sightline.study.ledger import endpoint_argument
from sightline.study.running.calls import compute_files
from sightline.study.running.place import place_of
from sightline.study.running.progress import Listener
from sightline.study.running.run import Ran, plan_calls, run_together
from sightline.study.scores import Outcome
from sightline.study.study import Study
from sightline.study.writing import settling

_NEEDED = {
    "of_prompt": "prompts",
    "of_ranking": "rankings of a retriever",
    **{kind: "image files of answers" for kind in ("of_image", "of_answer", "of_set", "of_system")},
}


@dataclass(frozen=True)
class Scores(Result):
    """The measures of a study that were brought up to date, and what each run of them did."""

    measures: Sequence[Configured]
    runs: Sequence[Ran]
    answered: bool = True
    """Whether any system has answered; images may also answer nothing."""
    judged: bool = False

    @property
    def sentence(self) -> str:
        if self._stopped:
            return f"The run was stopped. {self._stopped}"
        if self._dropped:
            return (
                f"The study was changed meanwhile: {self._dropped:,} values were computed of what it no "
                "longer holds, and were not stored. Run the same command again."
            )
        if self._any:
            return ""
        if any(run.total for run in self.runs):
            return "Nothing has a value."
        return f"Nothing has a value: the study has no {_NEEDED[self.measures[0].spec.kind]}."

    @property
    def exit_code(self) -> int:
        return 0 if self._any and not self._dropped and not self._stopped else DataError.exit_code

    @property
    def _stopped(self) -> str:
        return next((run.stopped for run in self.runs if run.stopped), "")

    @property
    def _dropped(self) -> int:
        return sum(run.dropped.total() for run in self.runs)

    @property
    def _any(self) -> bool:
        return any(run.total > run.reasons.total() for run in self.runs)

    @property
    def notes(self) -> Sequence[str]:
        notes = list(dict.fromkeys(note for run in self.runs for note in run.notes))
        copies = sum(run.total - run.known - run.computed for run in self.runs if not run.stopped)
        # Of a study that was changed on the way, the items that were counted are not those that were scored.
        if copies > 0 and not self._dropped:
            notes.append(f"{copies:,} have the same content as others and share their values.")
        return notes

    @property
    def next(self) -> Sequence[str]:
        if self._dropped or self._stopped:
            names = " ".join(shlex.quote(each.short) for each in self.measures)
            return (f"sightline score STUDY {names}",)
        if not self._any:
            return ("sightline check STUDY",)
        if not self.answered and any(each.spec.kind == "of_image" for each in self.measures):
            return ("sightline trust STUDY" if self.judged else "sightline report STUDY",)
        of_systems = [each for each in self.measures if each.spec.kind != "of_prompt"]
        # Without a direction a measure ranks no systems.
        ranking = next((each for each in of_systems if each.spec.direction != "none"), None)
        if ranking is not None:
            return (f"sightline compare STUDY --by {shlex.quote(ranking.short)}",)
        return ("sightline report STUDY" if of_systems else "sightline fit STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("measure"),
            Column("kind", "target"),
            *map(Column, ("direction", "total")),
            Column("known", "cached"),
            Column("computed"),
            Column("without", "without a value"),
        ]
        rows, reasons, dropped = [], [], []
        for measure, run in zip(self.measures, self.runs, strict=True):
            about = (measure.short, measure.spec.kind.replace("_", " "), measure.spec.direction)
            rows.append((*about, run.total, run.known, run.computed, run.reasons.total()))
            reasons += [(measure.short, reason, n) for reason, n in run.reasons.most_common()]
            dropped += [(measure.short, reason, n) for reason, n in run.dropped.most_common()]
        names = [*map(Column, ("measure", "reason", "n"))]
        return {
            "measures": Table(columns, rows, "Scores"),
            "reasons": Table(names, reasons, "Why there is no value"),
            "dropped": Table(names, dropped, "Computed but not stored"),
            **bill_table([line for run in self.runs for line in run.bill]),
        }


@dataclass(frozen=True)
class FileScores(Result):
    """The outcomes of measures on image files, in the order of `files`; some may be `unreadable`."""

    measures: Sequence[Configured]
    files: Sequence[str]
    outcomes: Sequence[Sequence[Outcome]]
    """One list per measure."""
    unreadable: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        nothing = all(each.value is None for outcomes in self.outcomes for each in outcomes)
        return DataError.exit_code if self.unreadable or nothing else 0

    def tables(self) -> dict[str, Table]:
        columns = [Column("file")]
        columns += [Column(each.short, each.short, each.spec.direction) for each in self.measures]
        rows: list[list[Cell]] = [
            [path, *(absent(each.reason or "no value") if each.value is None else each.value for each in row)]
            for path, *row in zip(self.files, *self.outcomes, strict=True)
        ]
        return {"": Table(columns, rows)}


def score(
    study: Study,
    measures: str | Sequence[str] | None = None,
    *,
    workers: int | None = None,
    on: str | None = None,
    gpus: float | None = None,
    retry_quarantined: bool = False,
    listener: Listener | None = None,
) -> Scores:
    """Compute what is missing of these measures (by default those named in study.toml).

    It is done here, by local processes, or on the Ray cluster at an address, each worker with this many
    graphics cards. Items that ended their workers are tried again when that is asked for.
    """
    place = place_of(on, workers, gpus)
    chosen = _chosen(study, measures)
    # Images can be measured before there are prompts.
    counts = reading.counts(study)
    if not counts["image"] or any(each.spec.kind != "of_image" for each in chosen):
        reading.need_prompts(study)
    for measure in chosen:
        measure.require()
    asked = {measure.identity for measure in chosen} & listing.computed_for_checks(study)
    if asked:
        settling.note_events(study, "score", "asked", [{"measure": each} for each in sorted(asked)])
    # Measures of one kind read the same things, and so do those of images and answers: each once for all.
    together: dict[str, list[int]] = {}
    for number, measure in enumerate(chosen):
        kind = measure.spec.kind
        if endpoint_argument(measure) is not None:
            kind = f"calls of measure {number}"
        together.setdefault("of_image" if kind == "of_answer" else kind, []).append(number)
    runs: dict[int, Ran] = {}
    for kind, numbers in together.items():
        alike = [chosen[number] for number in numbers]
        if kind == "of_ranking":
            # Rankings need much that images do not: search, contexts, predicted relevance.
            from sightline.measures.ranking_scores import score_all_rankings

            ran = score_all_rankings(study, alike)
        elif kind == "of_system":
            from sightline.measures.system_scores import score_systems

            ran = score_systems(study, alike, listener)
        else:
            ran = run_together(
                study, alike, place=place, listener=listener, retry_quarantined=retry_quarantined
            )
        runs.update(zip(numbers, ran, strict=True))
    ran_all = [runs[number] for number in range(len(chosen))]
    return Scores(chosen, ran_all, bool(counts["answer"]), bool(counts["truth"]))


def plan_scores(study: Study, measures: str | Sequence[str] | None = None) -> CallPlan:
    """What `score` would call endpoints for, and what that costs at most; nothing is called."""
    chosen = [each for each in _chosen(study, measures) if endpoint_argument(each) is not None]
    if not chosen:
        raise UsageError(
            "none of these measures calls an endpoint", remedy="Leave --plan out: they cost nothing but time."
        )
    reading.need_prompts(study)
    return CallPlan([plan_calls(study, measure) for measure in chosen])


def _chosen(study: Study, measures: str | Sequence[str] | None) -> list[Configured]:
    names = [measures] if isinstance(measures, str) else list(measures or ())
    names = names or study.settings.get("score", {}).get("measures", [])
    if not names:
        raise UsageError(
            "no measure is named",
            remedy="Name one (sightline list of_image), or set [score] measures in study.toml.",
        )
    chosen = [registry.find_measure(name) for name in names]
    for measure in chosen:
        if not measure.spec.details.get("computed", True):
            raise UsageError(
                f"{measure.short} is not computed here: its scores are imported",
                remedy="Import them: sightline import STUDY TABLE",
            )
    return chosen


def score_files(measures: str | Sequence[str], paths: Sequence[str | Path]) -> FileScores:
    """Compute measures of image files, or of the images in folders, without a study."""
    names = [measures] if isinstance(measures, str) else list(measures)
    if not paths:
        raise UsageError("no image file is named", remedy="For example: sightline score sharpness *.png")
    files = [file for path in paths for file in _files(Path(path))]
    chosen = [registry.find_measure(name) for name in names]
    for measure in chosen:
        if measure.spec.kind != "of_image":
            raise UsageError(
                f"{measure.name} is a measure {measure.spec.kind.replace('_', ' ')}, not of a file",
                remedy="Without a study, use a measure of an image: sightline list of_image",
            )
        measure.require()
    outcomes, unreadable = compute_files(chosen, files)
    return FileScores(chosen, files, outcomes, unreadable)


def _files(path: Path) -> list[str]:
    """The file itself, or the images of the folder."""
    if not path.is_dir():
        if not path.is_file():
            raise DataError("there is no such file", where=str(path))
        return [str(path)]
    inside = [str(each) for each in path.iterdir() if each.suffix.lower() in IMAGES]
    if not inside:
        raise DataError("there are no images in this folder", where=str(path), remedy="Name image files.")
    return sorted(inside, key=natural)
