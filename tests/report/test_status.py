"""Status tells what is there and leads from an empty study to the report."""

from __future__ import annotations

from pathlib import Path

from sightline.judging.truth import truth
from sightline.records import (
    AnnotatorKey,
    Answer,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)
from sightline.report.status import status
from sightline.study.study import create_study
from sightline.study.writing.loading import load

KEY = PromptKey("s", "1")
IMAGE = ImageKey("images", "1.png")


def vote(name: str, value: float) -> Judgement:
    return Judgement("fit", Item(prompt=KEY, image=IMAGE), value, AnnotatorKey("p", name))


def test_status_leads_through_the_study(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        assert status(study).next_command.startswith("sightline import")
        load(study, [Prompt(KEY, "a ball")], importer="t", path="p", digest="1")
        assert status(study).next_command.startswith("sightline generate")
        load(study, [Answer(KEY, "a", 0, IMAGE)], importer="t", path="p", digest="2")
        found = status(study)
        assert found.next_command.startswith("sightline annotate")
        assert found.systems == [("a", "generator", 1)]
        assert "1 of 1 images are known by name only" in found.notes[0]
        load(study, [vote("x", 1), vote("y", 2)], importer="t", path="p", digest="3")
        assert status(study).next_command.startswith("sightline truth")
        truth(study)
        assert status(study).next_command.startswith("sightline report"), "one prompt is too few to predict"
        load(study, [vote("z", 3)], importer="t", path="p", digest="4")
        stale = status(study)
        assert stale.next_command.startswith("sightline truth")
        assert any("1 vote on fit is newer" in note for note in stale.notes)


def test_published_truth_needs_no_aggregation(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        keys = [PromptKey("s", str(n)) for n in range(10)]
        records: list[Record] = [Prompt(key, f"{key.ref} balls") for key in keys]
        records += [Truth("fit", Item(prompt=key), 1.0) for key in keys]
        load(study, records, importer="t", path="p", digest="1")
        assert status(study).next_command.startswith("sightline fit")
        assert str(study.home) in status(study).next_command


def test_judgements_without_answers_lead_to_a_comparison(tmp_path: Path) -> None:
    keys = [PromptKey("s", str(n)) for n in range(10)]
    records: list[Record] = [Prompt(key, f"{key.ref} balls") for key in keys]
    records += [
        Judgement("fit", Item(key, system), float(n % 3), AnnotatorKey("p", "x"))
        for n, key in enumerate(keys)
        for system in "ab"
    ]
    with create_study(tmp_path / "s") as study:
        load(study, records, importer="t", path="p", digest="1")
        assert status(study).next_command.startswith("sightline truth")
        truth(study)
        found = status(study)
        assert found.next_command == f"sightline compare {study.home}"
        assert any(note.endswith(f"sightline fit {study.home}") for note in found.notes)


def test_preferences_need_no_truth_and_failures_are_shown(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        records: list[Record] = [Prompt(KEY, "a ball"), Question("better", "nominal", 0, 1)]
        records += [Answer(KEY, name, 0, None, failure="refused") for name in "ab"]
        records += [Judgement("better", Item(KEY, "a", system_b="b"), 0.0, AnnotatorKey("p", "x"))]
        load(study, records, importer="t", path="p", digest="1")
        found = status(study)
        assert found.next_command.startswith("sightline compare")
        assert "Answers that failed: a 1, b 1." in found.notes
