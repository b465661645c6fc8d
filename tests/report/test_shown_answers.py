"""A report reads answers by blocks of prompts: neither page nor memory depends on how many there are."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sightline.judging.truth import truth
from sightline.measures.score import score
from sightline.report.report import build
from sightline.study import reading

MEASURED = """
import resource, sys
from sightline.report.report import report
from sightline.study.study import open_study
with open_study(sys.argv[1]) as study:
    report(study, sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("drawn_studies")


def test_a_report_does_not_depend_on_the_blocks_it_was_read_in(
    drawn: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = drawn.Size(answers=120, contents=50, prompts=12, systems=3, annotators=4, votes=3)
    with drawn.build(tmp_path / "study", size) as study:
        truth(study)
        score(study, ["sharpness"])
        once = build(study)
        monkeypatch.setattr(reading, "ROWS", 25)
        again = build(study)
    assert {"ranking", "prompts", "images", "trust", "measures"} <= {each.anchor for each in once.sections}
    assert again.sections == once.sections and again.answer == once.answer
    assert again.next_steps == once.next_steps and again.stale == once.stale


@pytest.mark.slow
def test_memory_hardly_grows_with_the_answers(drawn: ModuleType, tmp_path: Path) -> None:
    """Ten times the answers to as many prompts: read whole, they took 2.5 times the memory."""
    peaks = []
    for n in (10_000, 100_000):
        with drawn.build(tmp_path / str(n), drawn.Size(n, 100, 500, 5, 10, 1)) as study:
            truth(study)
            score(study, ["sharpness"])
        command = [sys.executable, "-c", MEASURED, str(tmp_path / str(n)), str(tmp_path / f"{n}.html")]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < 1.4 * peaks[0]
