"""The report of every kind of study: judged, unjudged, published truth only, empty, hostile."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.errors import DataError
from sightline.estimate import absent
from sightline.judging.truth import truth
from sightline.measures.score import score
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)
from sightline.report.report import build, report
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load, undo
from sightline.variability.variability import variability

SYSTEMS = {"good": 5.0, "bad": 1.0}


def answers(folder: Path, prompts: int = 12, samples: int = 2, text: str = "prompt") -> list[Record]:
    records: list[Record] = []
    for p in range(prompts):
        key = PromptKey("s", str(p))
        records.append(Prompt(key, f"{text} {p}", {"group": "ab"[p % 2]}))
        for system in SYSTEMS:
            for s in range(samples):
                name = f"{system}-{p}-{s}.png"
                shade = (20 * p % 256, 100 if system == "good" else 10, 80 * s)
                Pillow.new("RGB", (24, 24), shade).save(folder / name)
                records.append(Image(ImageKey("i", name), str(folder / name)))
                records.append(Answer(key, system, s, ImageKey("i", name)))
    return records


def votes(records: list[Record]) -> list[Record]:
    found: list[Record] = [Question("fit", low=0, high=6, wording="Does it fit?")]
    for n, record in enumerate(r for r in records if isinstance(r, Answer)):
        for who in range(3):
            value = SYSTEMS[record.system] + 0.1 * ((n + who) % 5) - 0.2
            subject = Item(prompt=record.prompt, image=record.image)
            found.append(Judgement("fit", subject, value, AnnotatorKey("p", f"judge {who}")))
    return found


@pytest.fixture
def judged(tmp_path: Path) -> Study:
    study = create_study(tmp_path / "s")
    records = answers(tmp_path)
    load(study, records, importer="t", path="p", digest="1")
    load(study, votes(records), importer="t", path="p", digest="2")
    truth(study)
    score(study, "brightness")
    variability(study, distance="colour_histogram")
    return study


def test_a_judged_study_has_its_answer_first(judged: Study) -> None:
    found = build(judged)
    assert found.answer.startswith("good is the best of 2 systems on fit: 4.99 of 6 [")
    assert "over 12 prompts" in found.answer
    ranking = found.rankings[0]
    assert [system.name for system in ranking.systems] == ["good", "bad"]
    assert ranking.differences[0].verdict == "good is better"
    assert found.breakdowns[0].tag == "group"
    assert found.prompts is not None and len(found.prompts.hardest) == 4
    assert {t.system for t in found.prompts.hardest[0].thumbnails} == {"good", "bad"}
    assert found.judges is not None and [a.judgements for a in found.judges.annotators] == [48, 48, 48]
    assert found.variability is not None and found.trust is not None


def test_a_prompts_interval_comes_from_its_images(judged: Study) -> None:
    found = build(judged)
    assert found.prompts is not None
    for shown in found.prompts.hardest:
        mean = shown.mean
        # Systems are 4 apart; within a system images differ by at most .4, and so must the interval show.
        assert mean is not None and mean.high - mean.low < 1.5  # type: ignore[union-attr]


def test_the_same_study_gives_the_same_page_but_for_the_time(judged: Study, tmp_path: Path) -> None:
    first, second = build(judged), build(judged)
    assert first.rankings == second.rankings and first.prompts == second.prompts


def test_an_unjudged_study_says_so_and_shows_its_pictures(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        load(study, answers(tmp_path), importer="t", path="p", digest="1")
        found = build(study)
        assert "nobody's judgement" in found.answer
        assert found.rankings == [] and len(found.gallery) == 8
        page = report(study, tmp_path / "out" / "r.html").read_text("utf-8")
        assert "sightline annotate" in page


def test_published_truth_without_images(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        records: list[Record] = [Question("hbpp", low=-1, high=2)]
        for p in range(12):
            key = PromptKey("s", str(p))
            records += [Prompt(key, f"p {p}"), Truth("hbpp", Item(prompt=key), p / 6)]
            records += [Truth("hbpp", Item(prompt=key, system=name), p / 6) for name in ("a", "b")]
        load(study, records, importer="t", path="p", digest="1")
        found = build(study)
        assert "a and b cannot be told apart on hbpp" in found.answer
        assert found.prompts is not None and found.prompts.hardest[0].text == "p 0"


def test_script_in_a_prompt_stays_text(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>"
        load(study, answers(tmp_path, 2, text=hostile), importer="t", path="p", digest="1")
        page = report(study).read_text("utf-8")
        assert "<script" not in page and "<img src=x" not in page
        assert "&lt;script&gt;" in page


def test_an_empty_study_has_no_report(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study, pytest.raises(DataError, match="empty"):
        report(study)


def test_a_missing_image_file_is_told_and_does_not_stop_the_report(judged: Study) -> None:
    for file in (judged.home / "images").rglob("*"):
        if file.is_file():
            file.unlink()
    page = report(judged).read_text("utf-8")
    assert "is missing from the study" in page


def test_rankings_that_nobody_judged_are_shown_and_not_ranked(unjudged: Study) -> None:
    score(unjudged, ["nqc@100", "query_robustness@2"])
    made = build(unjudged)
    assert not made.rankings and "nobody's judgement yet" in made.answer
    (table,) = made.extras[0].tables
    assert [row[:2] for row in table.rows] == [["nqc", ""]]
    assert [cell.value for cell in table.rows[0][2:]] == pytest.approx([5.5 / 16, 4.5 / 160])  # type: ignore[union-attr]
    # Both runs came from elsewhere: whatever they are asked, they cannot be asked again.
    assert [(gap.what, gap.count) for gap in made.gaps] == [("query_robustness", 16)]
    assert "cannot be run again" in made.gaps[0].reason
    assert "nqc" in report(unjudged).read_text("utf-8")


def test_relevance_that_can_no_longer_be_predicted_does_not_stop_the_report(unjudged: Study) -> None:
    """Two judged queries predict each other; when one is taken back, nothing is left to learn from."""
    relevance = Question("relevance", "ordinal", 0, 1, 1)
    for n in (0, 1):
        told = Truth("relevance", Item(PromptKey("s", str(n)), image=ImageKey("c", "steep0")), 1.0)
        loaded = load(unjudged, [relevance, told], importer="t", path=str(n), digest=str(n))
    score(unjudged, "expected_precision@2")
    before = build(unjudged)
    assert [ranking.scale.name for ranking in before.rankings] == ["expected_precision(k=2)"]
    said = "uses predicted relevance, not judgements of the images."
    assert before.rankings[0].summary == f"expected_precision(k=2) {said}"
    undo(unjudged, loaded.source_id)
    made = build(unjudged)
    assert not made.rankings
    why = "relevance cannot be predicted: fewer than 2 queries with rankings have been judged"
    assert made.extras[0].tables[0].rows[0][2:] == [absent(why), absent(why)]
