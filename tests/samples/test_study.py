"""The sample study as files, and the demo: does the flow recover what was planted?"""

from __future__ import annotations

import csv
import html.parser
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sightline.comparison.breakdown import breakdown
from sightline.comparison.compare import compare
from sightline.comparison.trust import trust
from sightline.expects import SKILLS
from sightline.samples.study import demo as run_demo
from sightline.samples.study import write_sample
from sightline.skills.skill_profile import skill_profile
from sightline.study import reading, rollup
from sightline.study.study import open_study


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, once through; under 60 seconds is promised for the whole of it, on a usual machine.

    Counted is the time of the processors, which others at work on the same machine do not lengthen as much.
    """
    folder = tmp_path_factory.mktemp("demo") / "sample"
    started = os.times()
    made = run_demo(folder)
    ended = os.times()
    # Of this process and its children: user, system, user, system.
    assert sum(ended[:4]) - sum(started[:4]) < 300
    flow = [
        "import",
        "check",
        "annotate",
        "truth",
        "score",
        "trust",
        "variability",
        "fit",
        "compare",
        "report",
    ]
    assert [verb for verb, _, _ in made.steps if verb in flow] == flow
    return folder


def known(folder: Path) -> dict[tuple[str, str, int], tuple[float, float]]:
    # Drawing is deterministic, so the truth of the demo is that of the same sample written again.
    return write_sample(folder / "again", prompts=40, samples=4, seed=0).truth


@pytest.mark.slow
def test_consensus_recovers_the_planted_truth(demo: Path) -> None:
    truth = known(demo)
    with open_study(demo / "study") as study:
        refs = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
        for question, part in (("alignment", 0), ("quality", 1)):
            rows = rollup.of_answers(study, question)
            settled = rows["value"].to_numpy()
            planted = np.array(
                [
                    5 * truth[refs[prompt], system, position][part]
                    for prompt, system, position in rows.select("prompt_id", "system", "position").iter_rows()
                ]
            )
            assert len(settled) == 480
            assert np.sqrt(np.mean((settled - planted) ** 2)) < 0.6
            assert np.corrcoef(settled, planted)[0, 1] > 0.9


@pytest.mark.slow
def test_the_spiteful_annotator_is_left_out_and_nobody_else(demo: Path) -> None:
    with open_study(demo / "study") as study:
        for question in ("alignment", "quality"):
            settlement = int(reading.truths(study, question)["settlement_id"][0])
            notes = reading.settlement_notes(study, settlement)
            assert [name for name, _, _ in notes["left_out"]] == ["hugo"]


@pytest.mark.slow
def test_planted_weaknesses_are_found_by_verdicts_alone(demo: Path) -> None:
    with open_study(demo / "study") as study:
        weak = skill_profile(study).weaknesses()
    assert weak["careful"] == [] and weak["innumerate"][0] == "counting"
    assert "all skills" in weak["sloppy"] and len(weak["sloppy"]) > 1
    page = (demo / "report.html").read_text("utf-8")
    assert 'id="skills"' in page and "Radar chart of match rates by skill" in page


@pytest.mark.slow
def test_the_order_of_the_systems_is_recovered(demo: Path) -> None:
    with open_study(demo / "study") as study:
        found = compare(study, "alignment")
        assert [placed.system for placed in found.systems] == ["careful", "innumerate", "sloppy"]
        assert all(pair.significant for pair in found.pairs)
        quality = compare(study, "quality")
        same = next(p for p in quality.pairs if {p.first, p.second} == {"careful", "innumerate"})
        assert not same.significant, "careful and innumerate draw equally well; only numbers differ"


@pytest.mark.slow
def test_the_planted_weakness_is_where_it_was_planted(demo: Path) -> None:
    with open_study(demo / "study") as study:
        cells = {
            (cell.group, cell.system): cell.mean.value or 0.0
            for cell in breakdown(study, "alignment", "skill").rows
        }
    counting = cells["counting", "careful"] - cells["counting", "innumerate"]
    single = cells["single_object", "careful"] - cells["single_object", "innumerate"]
    assert counting > 0.8 > single + 0.5


@pytest.mark.slow
def test_measures_are_held_against_people(demo: Path) -> None:
    with open_study(demo / "study") as study:
        found = {(each.measure, each.question): each.correlation.value for each in trust(study).rows}
    assert (found["colour_match", "alignment"] or 0) > 0.3
    # Of distortion less is better: people's quality falls as it rises.
    assert (found["mixed_distortion", "quality"] or 0) < -0.3
    page = (demo / "report.html").read_text("utf-8")
    told = "the closest: colour_match for alignment"
    assert "Measures against people" in page and told in page and "mixed_distortion for quality" in page


@pytest.mark.slow
def test_the_report_is_one_page_that_loads_nothing(demo: Path) -> None:
    page = (demo / "report.html").read_text("utf-8")
    html.parser.HTMLParser().feed(page)
    assert "careful is the best of 3 systems on alignment" in page
    # Its own script is in the page; nothing is loaded.
    assert page.count("<script") == 1
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert page.count("data:image/webp") >= 40
    for heading in (
        "The ranking",
        "Hardest and easiest prompts",
        "Variability",
        "Prediction",
        "The annotators",
    ):
        assert heading in page


@pytest.mark.slow
def test_no_truth_leaves_its_scale(demo: Path) -> None:
    with open_study(demo / "study") as study:
        for question in ("alignment", "quality"):
            values = reading.truths(study, question)["value"]
            assert values.is_between(0, 5).all()


def test_a_sample_is_the_same_in_another_process(tmp_path: Path) -> None:
    here = write_sample(tmp_path / "here", prompts=8, samples=1, seed=7)
    code = (
        "from pathlib import Path; from sightline.samples.study import write_sample; "
        f"write_sample(Path({str(tmp_path / 'there')!r}), prompts=8, samples=1, seed=7)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    for file in sorted(path for path in (tmp_path / "here").rglob("*") if path.is_file()):
        assert file.read_bytes() == (tmp_path / "there" / file.relative_to(tmp_path / "here")).read_bytes()
    listed = pl.read_csv(here.prompts)
    assert set(listed["tags.skill"]) < set(SKILLS), "one tag `skill` over all suites, the sample's too"
    assert set(listed.filter(pl.col("tags.skill") == "compositional")["tags.attribute"]) == {"colour", "size"}
    votes = pl.read_csv(here.judgements)
    assert votes["value"].is_between(0, 5).all()
    with here.answers.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 8 * 3
