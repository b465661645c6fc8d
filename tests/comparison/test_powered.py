"""People and a measure together: planted means are recovered, and what cannot help is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.comparison.powered import PoweredComparison, powered
from sightline.comparison.scored_units import Units
from sightline.errors import DataError, UsageError
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
)
from sightline.statistics.crossed import Panel
from sightline.statistics.intervals import mean_interval
from sightline.statistics.prediction_powered import powered_estimate, powered_mean
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

PROMPTS, JUDGED = 90, 24


def records_of(folder: Path, judged: int, seed: int = 0) -> list[Record]:
    """Flat pictures whose brightness follows how well people like them; b is .1 below a of 1.

    The first `judged` prompts are judged by four raters, the others by nobody.
    """
    rng = np.random.default_rng(seed)
    records: list[Record] = [
        Question("liking", "interval", 0, 1, 0.01),
        Question("effort", "interval", 0, 1, 0.01),
    ]
    for number in range(PROMPTS):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"word {number}"))
        level = rng.uniform(0.3, 0.8)
        for system, gain in (("a", 0.0), ("b", -0.1)):
            right = float(np.clip(level + gain + rng.normal(0, 0.1), 0, 1))
            file = folder / f"{system}{number}.png"
            grey = round(255 * float(np.clip(right + rng.normal(0, 0.03), 0, 1)))
            Pillow.new("RGB", (4, 4), (grey, grey, grey)).save(file)
            key = ImageKey(system, str(number))
            records += [Image(key, str(file)), Answer(prompt, system, 0, key)]
            if number < judged:
                for rater in range(4):
                    given = round(float(np.clip(right + rng.normal(0, 0.05), 0, 1)), 2)
                    who = AnnotatorKey("panel", f"r{rater}")
                    records.append(Judgement("liking", Item(prompt, image=key), given, who))
    return records


def study_of(folder: Path, judged: int) -> Study:
    study = create_study(folder / "study")
    load(study, records_of(folder, judged), importer="test", path="test", digest="1")
    if judged:
        truth(study, screening=[])
    score(study, "brightness")
    return study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    with study_of(tmp_path_factory.mktemp("powered"), JUDGED) as made:
        yield made


@pytest.fixture(scope="module")
def found(study: Study) -> PoweredComparison:
    return powered(study, "liking", "brightness")


def test_means_are_narrower_and_hold_the_truth(found: PoweredComparison) -> None:
    assert [each.system for each in found.systems] == ["a", "b"]
    for each, right in zip(found.systems, (0.55, 0.45), strict=True):
        assert each.people.n == each.powered.n == JUDGED and each.unjudged == PROMPTS - JUDGED
        assert each.powered.low < right < each.powered.high
        assert each.narrower > 0.25 and each.worth > 1.5 * JUDGED
        assert each.weight > 0.6


def test_differences_are_narrower(found: PoweredComparison) -> None:
    (pair,) = found.pairs
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.powered.low < 0.1 < pair.powered.high
    assert pair.narrower > 0.1 and pair.significant and pair.p == pair.p_adjusted


def test_what_more_judgements_would_bring(found: PoweredComparison) -> None:
    now, *more = found.widths
    assert now.judged == JUDGED and more[-1].judged == PROMPTS
    for before, after in zip(found.widths, more, strict=False):
        assert after.judged > before.judged and after.people < before.people
        assert after.powered < before.powered <= before.people
    # With everything judged the measure has nothing to add.
    assert more[-1].powered == pytest.approx(more[-1].people) and more[-1].saved == 0
    assert now.saved > JUDGED / 2


def test_its_faces(found: PoweredComparison) -> None:
    assert f"{JUDGED} judged prompts per system are worth" in found.sentence
    assert "1 of 1 differences are significant." in found.sentence
    assert "people" in found.text() and '"widths"' in found.to_json()
    assert [*found.figures()] == ["means"]
    assert any("drawn at random" in note for note in found.notes)


def test_a_measure_that_says_nothing_changes_nothing(study: Study) -> None:
    score(study, "word_count")
    found = powered(study, "liking", "word_count")
    assert "says little" in found.sentence
    for each in found.systems:
        assert each.weight == 0 and each.powered.value == pytest.approx(each.people.value)
        assert each.narrower == pytest.approx(0, abs=0.02)


def test_chosen_prompts_are_noticed(tmp_path: Path) -> None:
    """Judged were the brightest: who relies on random choice is warned."""
    records = records_of(tmp_path, 0)
    levels = {}
    for each in records:
        if isinstance(each, Image) and each.key.collection == "a":
            levels[each.key.name] = Pillow.open(str(each.path)).getpixel((0, 0))[0]
    chosen = sorted(levels, key=levels.get)[-30:]
    who = [AnnotatorKey("panel", f"r{number}") for number in range(3)]
    records += [
        Judgement("liking", Item(PromptKey("s", name), image=ImageKey("a", name)), 0.1 * (n % 5 + 3), rater)
        for n, name in enumerate(chosen)
        for rater in who
    ]
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        truth(study, screening=[])
        score(study, "brightness")
        assert any("differ significantly in" in note for note in powered(study, "liking", "brightness").notes)


def test_rephrasings_count_once(tmp_path: Path) -> None:
    records = records_of(tmp_path, JUDGED)
    same = [
        Prompt(each.key, "word 0", each.tags)
        if isinstance(each, Prompt) and each.key.ref in ("1", "2", "3")
        else each
        for each in records
    ]
    with create_study(tmp_path / "study") as study:
        load(study, same, importer="test", path="test", digest="1")
        truth(study, screening=[])
        score(study, "brightness")
        found = powered(study, "liking", "brightness")
    assert {each.powered.n for each in found.systems} == {JUDGED - 3}
    assert any("90 prompts count as 87" in note for note in found.notes)


def test_refusals(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="brightnes") as wrong:
        powered(study, "liking", "brightnes")
    assert "Did you mean brightness?" in wrong.value.remedy
    with pytest.raises(UsageError, match="neither a question nor a scored measure called 'likin'"):
        powered(study, "likin", "brightness")
    with pytest.raises(UsageError, match="brightness is a measure, not a question"):
        powered(study, "brightness", "liking")
    with pytest.raises(UsageError, match="cannot predict itself"):
        powered(study, "liking", "liking")
    with pytest.raises(DataError, match="effort has no truth"):
        powered(study, "effort", "brightness")
    with (
        study_of(tmp_path, PROMPTS) as whole,
        pytest.raises(DataError, match="judged answers only") as all_of,
    ):
        powered(whole, "liking", "brightness")
    assert "more prompts" in all_of.value.remedy


def test_too_few_judged(tmp_path: Path) -> None:
    with study_of(tmp_path, 3) as study:
        found = powered(study, "liking", "brightness")
    assert found.sentence == "brightness cannot be used: fewer than 5 prompts are judged."
    assert not found.widths and found.systems[0].powered.value is None


@pytest.mark.parametrize("n", [10, 40, 200])
@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_coverage_of_yes_and_no(n: int, strength: float) -> None:
    """Half of all answers are right, the likelier the higher the measure: 200 samples, 1,000 answers each."""
    rng = np.random.default_rng(3)
    hits, ratios = 0, []
    for _ in range(200):
        measure = rng.normal(size=1000)
        truth = (rng.random(1000) < 1 / (1 + np.exp(-strength * measure))).astype(float)
        truth[n:] = np.nan
        people = mean_interval(truth, low=0, high=1)
        fit = powered_mean(truth, measure)
        found = people if fit is None else powered_estimate(fit, fit.variance, (0.0, 1.0), yes_no=True)
        hits += found.low <= 0.5 <= found.high
        ratios.append((found.high - found.low) / (people.high - people.low))
    # .95 +- .046 at three standard errors; mid-P may cover more.
    assert 0.904 <= hits / 200 <= 0.995
    assert np.mean(ratios) < (0.85 if strength else 1.005) and np.quantile(ratios, 0.95) < 1.06


@pytest.mark.parametrize("second", [None, 1])
def test_coverage_with_raters(second: int | None) -> None:
    """Six raters with tastes of their own, 25 of 200 prompts judged: other raters would fall inside too."""
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(300):
        level = rng.normal(size=(200, 1))
        right = level + rng.normal(0, 0.7, (200, 2))
        tastes = rng.normal(0, 0.4, 6) + rng.normal(0, 0.3, (2, 6))
        votes = right[:25, :, None] + tastes + rng.normal(0, 0.5, (25, 2, 6))
        truth = np.full((200, 2), np.nan)
        truth[:25] = votes.mean(axis=2)
        unit, system, rater = (each.ravel() for each in np.indices(votes.shape))
        panel = Panel(unit, system, unit * 2 + system, rater, votes.ravel())
        measure = right + rng.normal(0, 0.5, (200, 2))
        units = Units(truth, measure, measure, np.ones((200, 2), dtype=bool), "ab", 200, panel, "")
        fit = units.fit(0, second)
        found = powered_estimate(fit, units.with_raters(fit, 0, second), (None, None))
        hits += found.low <= 0 <= found.high
    # .95 +- .038 at three standard errors.
    assert 0.912 <= hits / 300 <= 0.988
