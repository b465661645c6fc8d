"""The sample study as files, and the whole flow once through on it."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

from sightline.errors import StudyError
from sightline.estimate import format_cell, plural
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.samples import annotators
from sightline.samples.scenes import Scene, scenes
from sightline.samples.systems import SYSTEMS, answer, png
from sightline.study.running.progress import Listener, Progress
from sightline.verbs import SEED, WORKERS, argument, option, verb

LOW, HIGH, STEP = 0.0, 5.0, 0.1
TAGS = ("skill", "attribute")


@dataclass(frozen=True)
class Sample:
    """A written sample: its files, and the truth nobody else knows."""

    folder: Path
    prompts: Path
    answers: Path
    judgements: Path
    known: Path
    """What is in each image, with boxes: the table that `scenes` imports."""
    scenes: Sequence[Scene]
    truth: dict[tuple[str, str, int], tuple[float, float]]


def write_sample(
    folder: Path, *, prompts: int = 40, samples: int = 4, votes: int = 3, seed: int = 0
) -> Sample:
    """Generate every system's images of every scene and let the panel judge them, as plain import files.

    All images of a prompt are judged, each by `votes` of the panel in turn. `truth` maps (prompt
    ref, system, sample) to the known alignment and quality, both in 0 to 1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked = scenes(prompts, seed)
    truth: dict[tuple[str, str, int], tuple[float, float]] = {}
    rows: list[list[Any]] = []
    shown: list[list[Any]] = []
    ballots: list[list[Any]] = []
    panel = annotators.panel(seed)
    turn = 0
    for scene in asked:
        for system in SYSTEMS:
            for sample in range(samples):
                drawn = answer(system, scene, sample, seed)
                name = f"{system}/{scene.ref}-{sample}.png"
                (folder / system).mkdir(exist_ok=True)
                (folder / name).write_bytes(png(drawn.image))
                truth[scene.ref, system, sample] = (drawn.alignment, drawn.quality)
                shown.append([name, json.dumps(drawn.known)])
                rows.append([scene.ref, scene.text, name, system, sample, seed + sample])
                for step in range(votes):
                    person = panel[(turn + step) % len(panel)]
                    ballots += _ballots(person, scene, name, drawn.alignment, drawn.quality, seed)
                turn += 1
    listed = [
        [scene.ref, scene.text, *(scene.tags.get(name, "") for name in TAGS), json.dumps(scene.expects)]
        for scene in asked
    ]
    head = ["prompt_id", "prompt", "image", "system", "position", "seed"]
    vote_head = ["annotator", "prompt_id", "image", "question", "value", "took_ms"]
    vote_head += ["scale_low", "scale_high", "scale_step"]
    return Sample(
        folder,
        _write(
            folder / "prompts.csv",
            ["prompt_id", "prompt", *(f"tags.{name}" for name in TAGS), "expects"],
            listed,
        ),
        _write(folder / "answers.csv", head, rows),
        _write(folder / "judgements.csv", vote_head, ballots),
        _write(folder / "scenes.csv", ["image", "scene"], shown),
        asked,
        truth,
    )


def _ballots(
    person: annotators.Annotator, scene: Scene, name: str, alignment: float, quality: float, seed: int
) -> Iterator[list[Any]]:
    for question, truth in (("alignment", alignment), ("quality", quality)):
        item = f"{question}:{name}"
        value = annotators.judge(person, truth, LOW, HIGH, STEP, item, seed)
        took = round(annotators.seconds(person, item, seed) * 1000)
        yield [person.name, scene.ref, name, question, round(value, 1), took, LOW, HIGH, STEP]


def _write(path: Path, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    return path


SETTINGS = """# Settings of the sample study. `sightline init` writes a commented one for your own.
[study]
name = {name}
about = "Scenes drawn by three systems of known skill, judged by eight simulated people of known bias."

[question.alignment]
wording = "How well does the image match the prompt?"
scale = "interval"
low = 0
high = 5
step = 0.1

[question.quality]
wording = "How good does the image look?"
scale = "interval"
low = 0
high = 5
step = 0.1

[truth]
rule = "mos_mle"

[screening]
rules = ["agreement_with_rest(below=0.3)", "one_value"]

[score]
measures = ["sharpness", "brightness", "contrast", "colourfulness", "mixed_distortion", "colour_match"]

[verify]
# It looks at the pixels of these drawings; photographs need another, such as ssd_mobilenet_v2.
detector = "paper_cutouts"
reader = "nothing"
question = "alignment"
yes_from = 4.5
"""


FOLDER = "sightline-demo"
STEPS = 12


@dataclass(frozen=True)
class Demo(Result):
    """Where the sample study and its report are, and what each verb gave: its name, outcome and seconds."""

    folder: Path
    report: Path
    steps: Sequence[tuple[str, str, float]]

    @property
    def sentence(self) -> str:
        seconds = sum(each[2] for each in self.steps)
        return f"Done in {seconds:.0f} s. The report: {self.report}"

    @property
    def next(self) -> Sequence[str]:
        study = shlex.quote(str(self.folder / "study"))
        return (
            f"sightline view {study}   # every image with its votes and scores",
            f"sightline status {study}",
        )

    def facts(self) -> Mapping[str, Any]:
        return {"folder": str(self.folder), "report": str(self.report)}

    def tables(self) -> dict[str, Table]:
        columns = [Column("verb"), Column("outcome"), Column("seconds", format=".1f")]
        return {"": Table(columns, self.steps, "The flow, step by step")}


@verb("set up")
def demo(
    folder: Annotated[
        str | Path | None, argument("The folder to write to.", "[FOLDER]", shown=f"a new {FOLDER}")
    ] = None,
    *,
    prompts: Annotated[int, option("Generate this many scenes.", least=10)] = 40,
    samples: Annotated[int, option("Generate this many images per system and prompt.", least=2)] = 4,
    seed: Annotated[int, SEED] = 0,
    workers: Annotated[int | None, WORKERS] = None,
    open_: Annotated[bool, option("Open the report in a browser.")] = False,
    listener: Listener | None = None,
) -> Demo:
    """See the whole flow work on a sample study.

    Three systems of known skill generate scenes, simulated people of known reliability judge them, and every
    step from import to report runs on that. Since the truth is known, you can see what Sightline finds out.
    """
    from sightline.comparison.compare import compare
    from sightline.comparison.trust import trust
    from sightline.data.check import check
    from sightline.data.import_ import import_
    from sightline.judging.truth import truth
    from sightline.measures.score import score
    from sightline.prediction.fit import fit
    from sightline.report.report import report
    from sightline.skills.skill_profile import skill_profile
    from sightline.skills.verify import verify
    from sightline.study.study import create_study
    from sightline.variability.variability import variability

    place = _empty(folder)
    steps: list[tuple[str, str, float]] = []
    last = monotonic()

    def done(name: str, outcome: str) -> None:
        nonlocal last
        steps.append((name, outcome, monotonic() - last))
        last = monotonic()
        if listener is not None:
            listener(Progress("demo", len(steps), STEPS, 0.0, None))

    sample = write_sample(place / "files", prompts=prompts, samples=samples, seed=seed)
    done(
        "generate",
        f"{len(sample.truth)} images of {prompts} prompts by {len(SYSTEMS)} systems of known skill",
    )
    settings = SETTINGS.format(name=json.dumps(place.name, ensure_ascii=True))
    with create_study(place / "study", settings=settings) as study:
        import_(study, sample.prompts)
        answers = import_(study, sample.answers)
        import_(study, sample.known)
        done("import", f"{answers.counts.get('answers', 0)} answers, recognised as {answers.layout}")
        done("check", plural(len(check(study, workers=workers).findings), "finding"))
        votes = import_(study, sample.judgements)
        done("annotate", f"{votes.counts.get('judgements', 0)} votes of 8 simulated people (import)")
        done("truth", _outcome(truth(study), "one value per item and question"))
        done("score", _outcome(score(study, workers=workers), "measures of the images"))
        verify(study, seed=seed)
        done("verify", skill_profile(study).sentence)
        done("trust", trust(study, seed=seed).sentence)
        alike = variability(study, distance="colour_histogram", workers=workers)
        means = ", ".join(f"{each.system} {format_cell(each.similarity)}" for each in alike.systems)
        done("variability", f"similarity {means}")
        predicted = fit(study, "alignment", seed=seed)
        done("fit", _outcome(predicted, f"predictions of {prompts} prompts, each held out once"))
        done("compare", compare(study, "alignment", seed=seed).sentence)
        path = report(study, place / "report.html", seed=seed).path
        done("report", str(path))
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return Demo(place, path, steps)


def _outcome(result: object, otherwise: str) -> str:
    return str(getattr(result, "sentence", "") or otherwise)


def _empty(folder: str | Path | None) -> Path:
    """The folder to write to: by default one that does not exist yet, so that an earlier demo is kept."""
    if folder is None:
        names = (FOLDER if number == 1 else f"{FOLDER}-{number}" for number in count(1))
        return next(place for place in map(Path, names) if not place.exists())
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise StudyError(
            "something of that name exists already",
            where=str(place),
            remedy="Name a new folder: sightline demo FOLDER",
        )
    return place
