"""Exports and checks read a study in parts: neither results nor memory depend on how many there are."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from sightline.data import checks
from sightline.data.check import check
from sightline.data.export import export
from sightline.data.exporters import huggingface
from sightline.judging.truth import truth
from sightline.study import reading
from sightline.study.study import Study

MEASURED = """
import resource, sys
from pathlib import Path
from sightline.data.check import stored_check
from sightline.data.export import export
from sightline.study.study import open_study
with open_study(sys.argv[1]) as study:
    stored_check(study) if sys.argv[2] == "check" else export(study, Path(sys.argv[3]), form=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture(scope="module")
def drawn() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "drawn_studies.py"
    spec = importlib.util.spec_from_file_location("benchmark_drawn_studies", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(drawn: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A study with what most rules object to: contents given twice, one annotator of a kind, few votes."""
    size = drawn.Size(answers=120, contents=50, prompts=12, systems=3, annotators=3, votes=2)
    with drawn.build(tmp_path_factory.mktemp("parts") / "study", size) as study:
        truth(study)
        check(study)
        yield study


def contents(folder: Path) -> dict[str, object]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (
            pl.read_parquet(path).to_dict(as_series=False) if path.suffix == ".parquet" else path.read_bytes()
        )
        for path in files
    }


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "huggingface", "webdataset"])
def test_an_export_does_not_depend_on_the_parts_it_was_read_in(
    form: str, made: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = export(made, tmp_path / "once", form=form)
    monkeypatch.setattr(reading, "ROWS", 7)
    monkeypatch.setattr(huggingface, "PIECE", 5)
    again = export(made, tmp_path / "again", form=form)
    assert contents(tmp_path / "again") == contents(tmp_path / "once")
    assert again.rows == once.rows and any(once.rows.values())


def test_a_check_does_not_depend_on_the_blocks_it_looks_at(
    made: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = check(made)
    monkeypatch.setattr(reading, "ROWS", 7)
    monkeypatch.setattr(checks, "BLOCK", 11)
    again = check(made)
    assert again == once
    assert {"identical_images", "near_identical_images"} & {found.rule for found in once.findings}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["csv", "jsonl", "parquet", "webdataset", "check"])
def test_memory_does_not_grow_with_the_answers(what: str, drawn: ModuleType, tmp_path: Path) -> None:
    """Ten times the answers: held in memory, they alone would double the peak of the smaller study."""
    peaks = []
    for n in (20_000, 200_000):
        drawn.build(tmp_path / str(n), drawn.Size(n, 100, n // 100, 10, 10, 1)).close()
        command = [sys.executable, "-c", MEASURED, str(tmp_path / str(n)), what, str(tmp_path / f"out{n}")]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < 1.4 * peaks[0]
