"""The sample study as files, and the whole flow once through on it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightline.estimate import Estimate
from sightline.samples import annotators
from sightline.samples.scenes import Scene, scenes
from sightline.samples.systems import SYSTEMS, answer, png
from sightline.statistics.correlation import Correlation

QUESTIONS = {
    "alignment": "How well does the image match the prompt?",
    "quality": "How good does the image look?",
}
LOW, HIGH, STEP = 0.0, 5.0, 0.1


@dataclass(frozen=True)
class Sample:
    """A written sample: its files, and the truth nobody else knows."""

    folder: Path
    prompts: Path
    answers: Path
    judgements: Path
    scenes: Sequence[Scene]
    truth: dict[tuple[str, str, int], tuple[float, float]]


def write_sample(
    folder: Path, *, prompts: int = 40, samples: int = 4, votes: int = 3, seed: int = 0
) -> Sample:
    """Draw every system's pictures for every scene and let the panel judge them, as plain import files.

    Of each prompt's pictures all are judged, each by `votes` of the panel in turn. `truth` maps (prompt
    ref, system, sample) to the known alignment and quality, both in 0 to 1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked = scenes(prompts, seed)
    truth: dict[tuple[str, str, int], tuple[float, float]] = {}
    rows: list[list[Any]] = []
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
                rows.append([scene.ref, scene.text, name, system, sample, seed + sample])
                for step in range(votes):
                    person = panel[(turn + step) % len(panel)]
                    ballots += _ballots(person, scene, name, drawn.alignment, drawn.quality, seed)
                turn += 1
    told = [[scene.ref, scene.text, scene.family, json.dumps(scene.expects)] for scene in asked]
    head = ["prompt_id", "prompt", "image", "system", "position", "seed"]
    vote_head = ["annotator", "prompt_id", "image", "question", "value", "took_ms"]
    vote_head += ["scale_low", "scale_high", "scale_step"]
    return Sample(
        folder,
        _write(folder / "prompts.csv", ["prompt_id", "prompt", "tags.skill", "expects"], told),
        _write(folder / "answers.csv", head, rows),
        _write(folder / "judgements.csv", vote_head, ballots),
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
measures = ["sharpness", "brightness", "contrast", "colourfulness", "colour_match"]
"""


def run_demo(
    folder: Path,
    *,
    prompts: int = 40,
    samples: int = 4,
    seed: int = 0,
    workers: int = 1,
    say: Callable[[str, str], None] | None = None,
) -> Path:
    """The whole flow on the sample study; gives the report's path. `say` hears each verb and its outcome."""
    from sightline.comparison.compare import compare
    from sightline.data.check import check
    from sightline.data.import_ import import_
    from sightline.judging.truth import truth
    from sightline.measures.score import score
    from sightline.prediction.fit import fit
    from sightline.report.report import report
    from sightline.study.study import create_study
    from sightline.variability.variability import variability

    tell = say or (lambda verb, outcome: None)
    sample = write_sample(folder / "files", prompts=prompts, samples=samples, seed=seed)
    tell(
        "draw", f"{len(sample.truth)} pictures of {prompts} prompts by {len(SYSTEMS)} systems of known skill"
    )
    with create_study(
        folder / "study", settings=SETTINGS.format(name=json.dumps(folder.name, ensure_ascii=True))
    ) as study:
        import_(study, sample.prompts)
        told = import_(study, sample.answers)
        tell("import", f"{told.counts.get('answers', 0)} answers, recognised as {told.layout}")
        checked = check(study, workers=workers)
        tell("check", f"{len(checked.findings)} findings")
        judged = import_(study, sample.judgements)
        tell("judge", f"{judged.counts.get('judgements', 0)} votes of 8 simulated people (import)")
        asked = truth(study).questions
        tell(
            "truth",
            "; ".join(f"{each.question}: {each.items} values by {each.rule}" for each in asked)
            + f"; {sum(len(each.excluded) for each in asked)} exclusions",
        )
        ran = score(study, workers=workers).runs
        tell("score", f"{sum(each.computed for each in ran)} values of {len(ran)} measures")
        alike = variability(study, distance="colour_histogram", workers=workers)
        tell(
            "variability",
            "similarity " + ", ".join(f"{a.system} {_said(a.similarity)}" for a in alike.systems),
        )
        predicted = fit(study, "alignment", seed=seed)
        pearson = predicted.results[0].figures["pearson"]
        tell("fit", f"Pearson {_said(pearson)} over {predicted.prompts} prompts, each held out once")
        compared = compare(study, "alignment", seed=seed)
        tell("compare", ", ".join(f"{p.best_rank}. {p.system} {_said(p.mean)}" for p in compared.systems))
        path = report(study, folder / "report.html", seed=seed).path
        tell("report", str(path))
    return path


def _said(found: Estimate | Correlation) -> str:
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
