"""Systems ranked by votes between their images: planted orders come out wherever they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sightline.comparison.compare import Comparison, compare
from sightline.comparison.gate import gate
from sightline.comparison.preferences import Preferences, is_preference, preference_questions
from sightline.data.import_ import import_
from sightline.errors import DataError, UsageError
from sightline.judging.truth import truth
from sightline.records import (
    BOTH_BAD,
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
from sightline.report.report import build
from sightline.report.status import status
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

STRENGTH = {"strong": 1.5, "fair": 0.0, "weak": -1.5}
PROMPTS, RATERS = 30, 6


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Every rater compares every two systems on every prompt, may find both bad, and orders all three."""
    rng = np.random.default_rng(4)
    names = list(STRENGTH)
    records: list[Record] = [
        Question("better", "nominal", 0, 1, direction="none"),
        Question("order", "ordinal", 1, step=1, direction="lower"),
        Question("quality", "interval", 0, 10),
    ]
    for number in range(PROMPTS):
        prompt = PromptKey("s", str(number))
        records.append(
            Prompt(prompt, f"scene {number} of many", {"kind": "even" if number % 2 == 0 else "odd"})
        )
        for system in names:
            image = ImageKey("c", f"{system}-{number}")
            records.append(Answer(prompt, system, 0, image))
            records.append(Truth("quality", Item(prompt, image=image), 5 + STRENGTH[system]))
        for rater in range(RATERS):
            who = AnnotatorKey("people", str(rater))
            for a, b in (("strong", "fair"), ("weak", "strong"), ("fair", "weak")):
                first = rng.random() < 1 / (1 + np.exp(STRENGTH[b] - STRENGTH[a]))
                bad = rng.random() < 0.05
                item = Item(
                    prompt, image=ImageKey("c", f"{a}-{number}"), image_b=ImageKey("c", f"{b}-{number}")
                )
                value = None if bad else 0.0 if first else 1.0
                records.append(Judgement("better", item, value, who, skipped=BOTH_BAD if bad else None))
            drawn = sorted(names, key=lambda name: -(STRENGTH[name] + rng.gumbel()))
            records += [
                Judgement("order", Item(prompt, name), float(place), who, group=f"{number}-{rater}")
                for place, name in enumerate(drawn, 1)
            ]
    with create_study(tmp_path_factory.mktemp("arena") / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        yield study


@pytest.mark.parametrize("question", ["better", "order"])
def test_the_planted_order(arena: Study, question: str) -> None:
    assert is_preference(arena, question)
    found = compare(arena, question)
    assert isinstance(found, Preferences)
    assert found.systems == ["strong", "fair", "weak"] and found.winner == "strong"
    assert found.ranking.over == "prompts and raters"
    document = json.loads(found.to_json())
    assert document["winner"] == "strong" and "strong" in document["sentence"]
    rows = document["systems"]["rows"]
    assert [row["system"] for row in rows] == ["strong", "fair", "weak"]
    rates = [row["mean"] for row in rows]
    assert all(0 < each["low"] < each["value"] < each["high"] < 1 for each in rates)
    assert rates[0]["value"] > 0.5 > rates[-1]["value"]
    # Votes favour each side equally often in sum: the mean win rate is one half.
    assert np.mean([each["value"] for each in rates]) == pytest.approx(0.5, abs=0.02)


def test_both_bad_is_counted_and_shown(arena: Study) -> None:
    found = compare(arena, "better")
    assert isinstance(found, Preferences)
    bad = sum(row.both_bad for row in found.ranking.systems) // 2
    assert bad > 0 and any(f"{bad} votes say that both are bad" in note for note in found.notes)


def test_a_leaderboard_mixes_both_kinds(arena: Study) -> None:
    means = compare(arena, ["quality", "better"])
    assert isinstance(means, Comparison) and [each.by for each in means.others] == ["better"]
    columns = {column.name: column for column in means.tables()["systems"].columns}
    assert columns["better"].heading == "win rate on better" and columns["mean"].heading == "mean quality"
    assert "n counts prompts; of a win rate it counts votes." in means.notes
    assert "win rate on better with 95 % interval" in json.dumps(means.figures()["better"].wide)
    preferred = compare(arena, "better,quality", where="kind=even")
    assert isinstance(preferred, Preferences) and preferred.ranking.prompts == PROMPTS // 2
    assert [name for name, _ in preferred.others] == ["quality"]
    assert dict(preferred.others)["quality"]["strong"].value == pytest.approx(6.5)


def test_gate_by_preference(arena: Study) -> None:
    worse = gate(arena, "weak", "strong", "better")
    assert worse.verdict == "regressed" and (worse.rows[0].new or 1) < 0.2
    assert gate(arena, "strong", "weak", "better", margin=0.1).verdict == "passed"
    with pytest.raises(UsageError, match="no question of preference"):
        gate(arena, "weak", "strong", ["better", "quality"])


def test_report_and_status_lead_to_it(arena: Study) -> None:
    assert preference_questions(arena) == ["better", "order"]
    assert any("--by better" in note for note in status(arena).notes)
    titles = [section.title for section in build(arena).sections]
    assert "Preferences on better" in titles and "Preferences on order" in titles


def test_votes_alone_are_compared_by_default(tmp_path: Path) -> None:
    prompt = PromptKey("s", "1")
    records: list[Record] = [Question("better", "nominal", 0, 1), Prompt(prompt, "a cat")]
    for system in ("a", "b"):
        records.append(Answer(prompt, system, 0, ImageKey("c", system)))
    pair = Item(prompt, image=ImageKey("c", "a"), image_b=ImageKey("c", "b"))
    records.append(Judgement("better", pair, 0.0, AnnotatorKey("p", "ann")))
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        found = compare(study)
        assert isinstance(found, Preferences) and found.systems[0] == "a" and found.winner is None
        with pytest.raises((DataError, UsageError)):
            compare(study, "better", where="kind=even")


def _votes(tmp_path: Path, rows: list[tuple[str, str, str]], head: str = "") -> Study:
    """A study of votes: the two systems and the value of each, three raters per prompt."""
    lines = [head or "prompt,system,system_b,annotator,question,value"]
    lines += [f"t {n // 3},{a},{b},{'xyz'[n % 3]},better,{value}" for n, (a, b, value) in enumerate(rows)]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    study = create_study(tmp_path / "study")
    import_(study, tmp_path / "votes.csv")
    return study


def test_groups_that_never_met_are_ranked_apart(tmp_path: Path) -> None:
    pairs = [(a, b, str(n % 4 == 0)) for n in range(30) for a, b in (("A", "B"), ("C", "D"))]
    rows = [(a, b, "1" if value == "True" else "0") for a, b, value in pairs]
    with _votes(tmp_path, rows) as study:
        found = compare(study, "better")
        assert isinstance(found, Preferences) and found.winner is None
        assert "no comparisons connect these groups: A and B; C and D" in found.sentence
        assert {row[0]: row[3] for row in found.tables()["pairs"].rows}["A − C"] == "never compared"
        assert gate(study, "A", "B", by="better").exit_code == 0
        assert gate(study, "A", "C").exit_code == 4, "cannot tell, and preferences need no --by here"
        assert build(study)


def test_nobody_is_the_strongest_of_equals(tmp_path: Path) -> None:
    with _votes(tmp_path, [("A", "B", "both_bad")] * 30) as study:
        found = compare(study)
        assert isinstance(found, Preferences) and found.winner is None
        assert found.sentence.startswith("A and B are equally strong on better, with a win rate of 50 %")
        with pytest.raises(DataError, match="30 judgements") as told:
            truth(study)
        assert "both are bad" in str(told.value)


def test_margin_per_and_also_speak_of_preferences(arena: Study, tmp_path: Path) -> None:
    found = compare(arena, "better", per="kind", margin=0.2, also=[str(arena.home)])
    assert isinstance(found, Preferences)
    per = found.tables()["per_kind"]
    assert {row[0] for row in per.rows} == {"even", "odd"} and len(per.rows) == 6
    half = compare(arena, "better", where="kind=odd")
    assert isinstance(half, Preferences)
    assert {row[1]: row[2] for row in per.rows if row[0] == "odd"} == {
        each.system: each.win_rate for each in half.ranking.systems
    }
    rates = {each.system: each.win_rate for each in found.ranking.systems}
    assert found.others == [(f"better in {arena.name}", rates)]
    with pytest.raises(UsageError, match="margin"):
        compare(arena, "better", margin=0.5)
    with pytest.raises(UsageError, match="tag"):
        compare(arena, "better", per="kinds")
    with pytest.raises(UsageError, match="--test"):
        compare(arena, "better", test="bootstrap")
    even = [("A", "B", str(n % 2)) for n in range(600)]
    with _votes(tmp_path, even) as study:
        alike = compare(study, margin=0.1)
        assert isinstance(alike, Preferences)
        assert alike.tables()["pairs"].rows[0][3] == "the same within 0.1"
        assert compare(study).tables()["pairs"].rows[0][3] == "not significant"


def test_the_gate_shows_the_difference_of_its_columns(arena: Study) -> None:
    found = gate(arena, "weak", "strong", by="better", margin=0.1)
    (row,) = found.rows
    assert row.baseline is not None and row.new is not None
    assert row.test.difference.value == pytest.approx(row.new - row.baseline)
    said = " ".join(found.notes)
    assert "--margin" in said and "90 % intervals are over prompts and raters" in said


def test_images_that_are_nobodys_answers_lead_to_a_table_of_answers(tmp_path: Path) -> None:
    rows = "".join(f"t {n},a{n}.png,b{n}.png,x,better,{n % 2}\n" for n in range(6))
    (tmp_path / "votes.csv").write_text("prompt,image,image_b,annotator,question,value\n" + rows)
    with create_study(tmp_path / "study") as study:
        import_(study, tmp_path / "votes.csv")
        for by in (None, "better"):
            with pytest.raises(DataError, match="not answers of two systems") as told:
                compare(study, by)
            assert "prompt, image and system" in told.value.remedy
            truth(study)
