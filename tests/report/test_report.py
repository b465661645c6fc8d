"""The report of every kind of study: judged, unjudged, published truth only, empty, hostile."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image as Pillow

from sightline.cli import main
from sightline.errors import DataError, StudyError
from sightline.extension import Configured
from sightline.judging.truth import truth
from sightline.measures.score import score
from sightline.prediction.fit import fit
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
from sightline.rendering.html import render
from sightline.rendering.tables import Table
from sightline.report.album import Album
from sightline.report.contents import contents
from sightline.report.making import Making
from sightline.report.report import build, report
from sightline.report.settings import ReportTable
from sightline.report.steps import next_steps, stale
from sightline.study.schema import tables
from sightline.study.study import Study, create_study, open_study
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
    assert found.sections[0].anchor == "images" and len(cards_of(found.sections[0])[0]) == 8
    page = report(study, tmp_path / "out" / "r.html").path.read_text("utf-8")
    assert "sightline annotate" in page
    assert "<script>alert" not in page and "<img src=x" not in page and "&lt;script&gt;" in page


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
    assert [list(row[:2]) for row in table.rows] == [["nqc", ""]]
    assert [cell.value for cell in table.rows[0][2:]] == pytest.approx([5.5 / 16, 4.5 / 160])  # type: ignore[union-attr]
    # Both runs came from elsewhere: whatever they are asked, they cannot be asked again.
    (gap,) = table_of(made, "gaps").rows
    assert gap[:2] == ("query_robustness", 16) and "cannot be run again" in str(gap[2])
    assert "nqc" in report(unjudged).path.read_text("utf-8")


def test_what_was_scored_is_shown_and_said_to_be_out_of_date(unjudged: Study) -> None:
    """Two judged queries predict each other; when one is undone, the scores stay, and the page says so."""
    relevance = Question("relevance", "ordinal", 0, 1, 1)
    for n in (0, 1):
        vote = Truth("relevance", Item(PromptKey("s", str(n)), image=ImageKey("c", "steep0")), 1.0)
        loaded = load(unjudged, [relevance, vote], importer="t", path=str(n), digest=str(n))
    score(unjudged, "expected_precision@2")
    before = build(unjudged)
    assert "expected_precision(k=2) uses predicted relevance" in before.sections[0].lead
    assert not before.stale
    undo(unjudged, loaded.source_id)
    made = build(unjudged)
    assert made.section("ranking") is not None
    (step,) = made.stale
    assert "older than the rankings or their relevance" in step.what
    assert step.command.startswith(f"sightline score {unjudged.home} 'expected_precision(")


def snapshot(study: Study) -> dict[str, object]:
    """Every file of a study but its database, and every row of that."""
    files = {str(path): path.read_bytes() for path in study.home.rglob("*") if path.is_file()}
    rows = {}
    with study.engine.connect() as connection:
        for table in tables.metadata.sorted_tables:
            rows[table.name] = connection.execute(table.select()).fetchall()
    return {name: data for name, data in files.items() if "study.sqlite" not in name} | rows


def test_a_report_writes_nothing_and_loads_no_model(judged: Study, tmp_path: Path, monkeypatch: Any) -> None:
    before = snapshot(judged)
    loads: list[str] = []
    load_it = Configured.load

    def noted(self: Configured, *given: Any) -> Any:
        loads.append(f"{self.spec.kind} {self.name}")
        return load_it(self, *given)

    monkeypatch.setattr(Configured, "load", noted)
    report(judged, tmp_path / "report.html")
    assert snapshot(judged) == before
    assert {each.split()[0] for each in loads} <= {"check"}, loads


def test_what_is_out_of_date_is_said_with_its_command(judged: Study, tmp_path: Path) -> None:
    assert build(judged).stale == []
    Pillow.new("RGB", (24, 24), "red").save(tmp_path / "new.png")
    new = ImageKey("i", "new.png")
    vote = Judgement("fit", Item(PromptKey("s", "0"), image=new), 3.0, AnnotatorKey("p", "judge 0"))
    more: list[Record] = [
        Image(new, str(tmp_path / "new.png")),
        Answer(PromptKey("s", "0"), "good", 7, new),
        vote,
    ]
    load(judged, more, importer="t", path="p", digest="2")
    said = {step.what: step.command for step in build(judged).stale}
    assert said["1 vote on fit is newer than its truth."] == f"sightline truth {judged.home}"
    assert said["1 image has no score of brightness yet."] == f"sightline score {judged.home} brightness"
    assert any("rests on what has changed" in each for each in said), "the set that the image joined"
    page = report(judged, tmp_path / "r.html").path.read_text("utf-8")
    assert "Out of date." in page and "1 vote on fit is newer than its truth." in page
    for command in said.values():
        assert main(shlex.split(command)[1:]) == 0, command
    assert build(judged).stale == []


@pytest.mark.parametrize("kind", ["answers", "judged", "few", "preferences"])
def test_every_command_that_is_recommended_works(
    kind: str, loaded: Loaded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = answers(tmp_path, prompts=3 if kind == "few" else 12)
    if kind in ("judged", "few"):
        records += votes(records)
    if kind == "preferences":
        records.append(Question("better", "nominal", 0, 1))
        records += [
            Judgement(
                "better", Item(PromptKey("s", str(p)), "good", system_b="bad"), 0.0, AnnotatorKey("p", "x")
            )
            for p in range(12)
        ]
    study = loaded(records)
    for _ in range(5):
        steps = [*next_steps(study), *stale(study)]
        for step in steps:
            words = shlex.split(step.command)
            assert words[0] == "sightline"
            more = ["--plan"] if words[1] == "annotate" else []
            assert main([*words[1:], *more]) == 0, (step.command, capsys.readouterr().err)
        if all("annotate" in step.command for step in steps):
            return
    raise AssertionError(f"no end to what is recommended: {steps}")


def test_sections_tags_and_room_are_chosen_in_the_settings(judged: Study) -> None:
    settings = judged.home / "study.toml"
    written = settings.read_text("utf-8")

    def built(lines: str) -> Document:
        settings.write_text(written.replace("[report]", f"[report]\n{lines}"), "utf-8")
        with open_study(judged.home) as again:
            return build(again)

    some = built('sections = ["prompts", "ranking", "breakdown"]\nbreakdown = ["group"]')
    assert [each.anchor for each in some.sections] == ["prompts", "ranking", "by-1"]
    for lines, said in (
        ('sections = ["rankings"]', r"no section 'rankings'.*ranking"),
        ('breakdown = ["gruop"]', r"no prompt has a tag 'gruop'.*group"),
        ('section = ["ranking"]', r"no setting 'section'.*sections"),
        ("megabytes = 0", r"megabytes is 0.*a number from 1 to 1000"),
    ):
        with pytest.raises(StudyError) as error:
            built(lines)
        assert re.search(said, f"{error.value.what} {error.value.remedy}")


def test_pictures_become_smaller_and_fewer_until_they_fit(loaded: Loaded, tmp_path: Path) -> None:
    study = loaded(answers(tmp_path, prompts=40))
    sizes = {}
    for room in (1.0, 0.012, 0.004):
        album = Album(study, room)
        table = ReportTable(sections=("images",))
        (section,) = contents(Making(study, table, album))
        page = render(Document("t", "a", datetime(2026, 1, 2, tzinfo=UTC), [section]))
        sizes[room] = sum(len(found) for found in re.findall(r'src="data:image/webp;base64,([^"]*)"', page))
        assert sizes[room] <= 1e6 * room, "base64 and all"
        assert f"{album.shown} of 160 images" in section.lead or album.shown == 160
    assert sizes[1.0] > sizes[0.012] > sizes[0.004] > 0


def test_a_predictor_worth_nothing_is_said_first_and_not_drawn(loaded: Loaded) -> None:
    records: list[Record] = [Question("fit", low=0, high=1)]
    chance = Random(1)
    for p in range(40):
        key = PromptKey("s", str(p))
        records += [Prompt(key, f"{chance.random()}"), Truth("fit", Item(prompt=key), float(p % 2))]
    study = loaded(records)
    fit(study, predictor="mean")
    section = build(study).section("prediction")
    assert section is not None and section.lead.startswith("fit: mean does not tell prompts apart")
    assert section.lead.endswith("It is not drawn.")
    assert [block.kind for block in section.blocks] == ["grid"]
