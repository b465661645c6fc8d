"""The report of every kind of study: judged, unjudged, published truth only, empty, hostile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from sightline.rendering.blocks import Card, Cards, Grid, Section
from sightline.rendering.document import Document
from sightline.rendering.tables import Table
from sightline.report.report import build, report
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load, undo
from sightline.variability.variability import variability

Loaded = Callable[[Sequence[Record]], Study]
SYSTEMS = {"good": 5.0, "bad": 1.0}


def cards_of(section: Section) -> list[Sequence[Card]]:
    return [block.cards for block in section.blocks if isinstance(block, Cards)]


def table_of(page: Document, anchor: str) -> Table:
    section = page.section(anchor)
    assert section is not None
    return next(block.table for block in section.blocks if isinstance(block, Grid))


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
    made: list[Record] = [Question("fit", low=0, high=6, wording="Does it fit?")]
    for n, record in enumerate(r for r in records if isinstance(r, Answer)):
        for who in range(3):
            value = SYSTEMS[record.system] + 0.1 * ((n + who) % 5) - 0.2
            subject = Item(prompt=record.prompt, image=record.image)
            made.append(Judgement("fit", subject, value, AnnotatorKey("p", f"judge {who}")))
    return made


@pytest.fixture
def judged(loaded: Loaded, tmp_path: Path) -> Study:
    records = answers(tmp_path)
    study = loaded([*records, *votes(records)])
    truth(study)
    score(study, "brightness")
    variability(study, distance="colour_histogram")
    return study


def test_a_judged_study_has_its_answer_first(judged: Study) -> None:
    found = build(judged)
    assert found.answer.startswith("good is the best of 2 systems on fit: 4.99 of 6 [")
    assert "over 12 prompts" in found.answer
    ranking, split, prompts = found.sections[:3]
    systems, pairs = (block.table for block in ranking.blocks if isinstance(block, Grid))
    assert [row[0] for row in systems.rows] == ["good", "bad"]
    assert pairs.rows[0][3] == "good is better"
    assert (split.title, prompts.anchor) == ("By group", "prompts")
    hardest = cards_of(prompts)[0]
    assert len(hardest) == 4 and {each.system for each in hardest[0].pictures} == {"good", "bad"}
    judges = found.section("judges")
    assert judges is not None and [row[1] for row in judges.blocks[1].table.rows] == [48, 48, 48]
    assert found.section("variability") and found.section("trust")


def test_a_prompts_interval_comes_from_its_images(judged: Study) -> None:
    section = build(judged).section("prompts")
    assert section is not None
    for card in cards_of(section)[0]:
        low, high = (float(end) for end in card.interval.strip("[]").split(","))
        # Systems are 4 apart; within a system images differ by at most .4, and so must the interval show.
        assert high - low < 1.5


def test_the_same_study_gives_the_same_page_but_for_the_time(judged: Study) -> None:
    assert build(judged).sections == build(judged).sections


def test_an_unjudged_study_says_so_and_shows_its_pictures(loaded: Loaded, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    study = loaded(answers(tmp_path, text=hostile))
    found = build(study)
    assert "no judgements yet" in found.answer
    assert found.sections[0].anchor == "gallery" and len(cards_of(found.sections[0])[0]) == 8
    page = report(study, tmp_path / "out" / "r.html").path.read_text("utf-8")
    assert "sightline annotate" in page
    assert "<script" not in page and "<img src=x" not in page and "&lt;script&gt;" in page


def test_published_truth_without_images(loaded: Loaded) -> None:
    records: list[Record] = [Question("hbpp", low=-1, high=2)]
    for p in range(12):
        key = PromptKey("s", str(p))
        records += [Prompt(key, f"p {p}"), Truth("hbpp", Item(prompt=key), p / 6)]
        records += [Truth("hbpp", Item(prompt=key, system=name), p / 6) for name in ("a", "b")]
    found = build(loaded(records))
    assert "a and b are not significantly different on hbpp" in found.answer
    prompts = found.section("prompts")
    assert prompts is not None and cards_of(prompts)[0][0].text == "p 0"


def test_an_empty_study_has_no_report(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study, pytest.raises(DataError, match="empty"):
        report(study)


def test_a_missing_image_file_is_named_and_does_not_stop_the_report(judged: Study) -> None:
    for file in (judged.home / "images").rglob("*"):
        if file.is_file():
            file.unlink()
    page = report(judged).path.read_text("utf-8")
    assert "is missing from the study" in page


def test_rankings_that_nobody_judged_are_shown_and_not_ranked(unjudged: Study) -> None:
    score(unjudged, ["nqc@100", "query_robustness@2"])
    made = build(unjudged)
    assert made.section("ranking") is None and "no judgements yet" in made.answer
    table = table_of(made, "measures")
    assert [row[:2] for row in table.rows] == [("nqc", "")]
    assert [cell.value for cell in table.rows[0][2:]] == pytest.approx([5.5 / 16, 4.5 / 160])  # type: ignore[union-attr]
    # Both runs came from elsewhere: whatever they are asked, they cannot be asked again.
    (gap,) = table_of(made, "gaps").rows
    assert gap[:2] == ("query_robustness", 16) and "cannot be run again" in str(gap[2])
    assert "nqc" in report(unjudged).path.read_text("utf-8")


def test_relevance_that_can_no_longer_be_predicted_does_not_stop_the_report(unjudged: Study) -> None:
    """Two judged queries predict each other; when one is undone, nothing is left to learn from."""
    relevance = Question("relevance", "ordinal", 0, 1, 1)
    for n in (0, 1):
        vote = Truth("relevance", Item(PromptKey("s", str(n)), image=ImageKey("c", "steep0")), 1.0)
        loaded = load(unjudged, [relevance, vote], importer="t", path=str(n), digest=str(n))
    score(unjudged, "expected_precision@2")
    before = build(unjudged)
    assert "expected_precision(k=2) uses predicted relevance" in before.sections[0].lead
    undo(unjudged, loaded.source_id)
    made = build(unjudged)
    assert made.section("ranking") is None
    why = "relevance cannot be predicted: fewer than 2 queries with rankings have been judged"
    assert table_of(made, "measures").rows[0][2:] == (absent(why), absent(why))
