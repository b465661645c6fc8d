"""What the rules find in published data: counts that were taken from the files themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline import registry
from sightline.data.check import RuleFinding, check
from sightline.data.import_ import import_
from sightline.data.sources import Source
from sightline.records import Prompt
from sightline.study.study import create_study
from sightline.study.writing.loading import load


def folder(data: Path, name: str) -> Path:
    if not (data / name).is_dir():
        pytest.skip(f"{name} is not among the published data")
    return data / name


def counts(findings: list[RuleFinding], rule: str) -> dict[str, int]:
    return {found.finding.what: found.finding.n for found in findings if found.rule == rule}


def test_pqpp(data: Path, tmp_path: Path) -> None:
    """372 queries name a relevant image twice and 140 lack their own; images and truths are left out here."""
    source = Source(folder(data, "pqpp"))
    importer = registry.configure("importer", "pqpp").load()
    with create_study(tmp_path / "study") as study:
        prompts = (record for record in importer(source) if isinstance(record, Prompt))
        load(study, prompts, importer="pqpp", path="pqpp", digest="pqpp")
        findings = list(check(study).findings)
    (repeated,) = counts(findings, "relevance_repeated").values()
    (lacking,) = counts(findings, "own_image_missing").values()
    assert (repeated, lacking) == (372, 140)


def test_gimbrr(data: Path, tmp_path: Path) -> None:
    """16 files judged twice, 5 of them in conflict, 16 prompts missing, 392 rows under another text."""
    with create_study(tmp_path / "study") as study:
        import_(study, folder(data, "gimbrr"))
        findings = list(check(study).findings)
    assert counts(findings, "judgements_in_conflict") == {
        "items whose judgements of match by one hand contradict each other": 5,
        "items judged more than once on match by one hand (5 in conflict)": 16,
    }
    assert counts(findings, "judgements_missing") == {
        "prompts without a judgement of match for SD1.5 that others were judged on": 16
    }
    (reworded,) = counts(findings, "other_wording").values()
    assert reworded == 392
    # The 200 prompts of the img2img tasks were never given to a system.
    assert counts(findings, "prompts_without_answers")["prompts that no system answered"] == 200


@pytest.mark.slow
def test_imagenhub(data: Path, tmp_path: Path) -> None:
    """One black file stands for seven refusals of two systems; no other two images are alike."""
    with create_study(tmp_path / "study") as study:
        import_(study, folder(data, "imagenhub"))
        checked = check(study)
    findings = list(checked.findings)
    assert counts(findings, "blank_images") == {"black images": 7}
    assert counts(findings, "identical_images") == {"images that different systems gave (7 answers)": 1}
    assert counts(findings, "near_identical_images") == {}
    assert counts(findings, "annotators_copying") == {}
    assert not checked.failed
