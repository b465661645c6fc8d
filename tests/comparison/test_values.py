"""A system's values, the families they are averaged over, and the raters behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.comparison.compare import Comparison, compare
from sightline.comparison.gate import gate
from sightline.comparison.values import bases_of, failed, failure_rule, grid_of, unit_means, values_by
from sightline.errors import UsageError
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
from sightline.study import reading
from sightline.study.study import Study

Judged = Callable[..., Study]
Made = Callable[[list[Record]], Study]


def test_means_of_families() -> None:
    matrix = np.array([[1.0, 2], [3, np.nan], [5, 6]])
    assert unit_means(matrix, np.array([0, 0, 1])).tolist() == [[2, 2], [5, 6]]
    both = unit_means(np.array([[np.nan, 1], [np.nan, 2]]), np.array([0, 0]))
    assert np.isnan(both[0, 0]) and both[0, 1] == 1.5
    assert unit_means(matrix[:2], np.array([1, 0]))[0, 0] == 3


def test_prompts_of_the_same_words_are_one(voted: Judged) -> None:
    votes = np.array([[[1.0], [3], [5]], [[2], [2], [4]]])
    study = voted(votes, texts=["A red ball", "a red  ball", "a blue ball"])
    grid = grid_of(study, bases_of(study, None)[0])
    assert grid.matrix.tolist() == [[2, 2], [5, 4]] and list(grid.systems) == ["A", "B"]
    assert "3 prompts count as 2" in grid.families
    # Each prompt by itself: (1 + 3 + 5) / 3 and (2 + 2 + 4) / 3.
    assert list(grid.plain) == pytest.approx([3, 8 / 3])


@pytest.mark.parametrize(
    ("raters", "said", "known"),
    [
        (1, "one rater judged, so the result holds for this rater", False),
        (2, "only 2 raters judged, so the result holds for these raters", False),
        (3, "over prompts and 3 raters", True),
    ],
)
def test_who_judged(voted: Judged, raters: int, said: str, known: bool) -> None:
    votes = np.random.default_rng(0).integers(1, 6, (2, 8, raters)).astype(float)
    study = voted(votes)
    grid = grid_of(study, bases_of(study, "quality")[0])
    assert said in grid.raters.said and (grid.panel is not None) == known
    if grid.panel is not None:
        assert grid.panel.shape == (2, 8, 3)
        # The panel's votes are the votes cast: their means are the values.
        for number in range(2):
            ours = grid.panel.system == number
            means = np.bincount(grid.panel.unit[ours], grid.panel.value[ours]) / 3
            assert means == pytest.approx(grid.matrix[:, number])


def test_one_rater_per_item_shows_nothing_of_raters(voted: Judged) -> None:
    votes = np.random.default_rng(0).integers(1, 6, (2, 12, 1)).astype(float)
    study = voted(votes, np.arange(24).reshape(2, 12, 1) % 5)
    assert "most items were judged by one rater" in grid_of(study, bases_of(study, None)[0]).raters.said


def test_counted_votes_have_no_raters(blank: Made) -> None:
    records: list[Record] = [Question("match", "nominal", 0, 1)]
    for number in range(6):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"scene {number}"))
        for system in "AB":
            key = ImageKey(system, f"{number}.png")
            item = Item(prompt, image=key)
            records += [Answer(prompt, system, 0, key)]
            records += [Judgement("match", item, 1.0, n=2), Judgement("match", item, 0.0, n=1)]
    study = blank(records)
    truth(study, rule="proportion", screening=[])
    grid = grid_of(study, bases_of(study, None)[0])
    assert grid.panel is None and "anonymous or counted" in grid.raters.said
    assert grid.matrix == pytest.approx(2 / 3)


def _yes_no(scale: Question, judgements: Callable[[Item, str, int], list[Record]]) -> list[Record]:
    records: list[Record] = [scale]
    for number in range(20):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"scene {number}"))
        for system in "AB":
            records += judgements(Item(prompt, system), system, number)
    return records


def _by_people(people: int) -> Callable[[Item, str, int], list[Record]]:
    def cast(item: Item, system: str, number: int) -> list[Record]:
        good = [0.0, float(number % 7 > 0)][system == "A"]
        return [Judgement("correct", item, good, AnnotatorKey("p", f"r{who}")) for who in range(people)]

    return cast


def _counted(item: Item, system: str, number: int) -> list[Record]:
    return [Judgement("correct", item, 0.0 if system == "B" else float(number % 7 > 0), n=3)]


@pytest.mark.parametrize("scale", ["nominal", "interval"])
@pytest.mark.parametrize("cast", [_by_people(1), _by_people(3), _counted])
def test_yes_and_no_are_bounded_without_declared_ends(
    blank: Made, scale: str, cast: Callable[[Item, str, int], list[Record]]
) -> None:
    study = blank(_yes_no(Question("correct", scale), cast))
    truth(study, screening=[])
    (basis,) = bases_of(study, "correct")
    assert (basis.low, basis.high) == (0, 1)
    compared = compare(study)
    assert isinstance(compared, Comparison)
    first, second = (each.mean for each in compared.systems)
    assert first.high is not None and 0.85 < first.high <= 1
    # None of 20: the upper limit by mid-P solves (1 - p)^20 = .05, for each half of the probability.
    assert (second.value, second.low) == (0, 0) and second.high == pytest.approx(1 - 0.05 ** (1 / 20))
    known = [row for row in reading.truths(study, "correct").iter_rows(named=True) if row["low"] is not None]
    assert all(0 <= row["low"] <= row["high"] <= 1 for row in known)
    assert gate(study, "B", "A").verdict == "regressed"


def test_a_proportion_is_bounded_whatever_the_scale(blank: Made) -> None:
    def cast(item: Item, system: str, number: int) -> list[Record]:
        value = 1.0 if system == "B" else 5.0 if number % 7 else 2.0
        return [Judgement("correct", item, value, AnnotatorKey("p", f"r{who}")) for who in range(3)]

    study = blank(_yes_no(Question("correct", "ordinal", 1, 5), cast))
    truth(study, rule="proportion(top=4)", screening=[])
    (basis,) = bases_of(study, "correct")
    assert (basis.low, basis.high) == (0, 1)
    panel = grid_of(study, basis).panel
    # Votes are counted as the rule counts them: for the top or not.
    assert panel is not None and set(panel.value.tolist()) == {0, 1}


def test_other_labels_are_not_taken_for_yes_and_no(blank: Made) -> None:
    question = Question("correct", "ordinal", labels={"0": "bad", "1": "fair", "2": "good"})
    study = blank(_yes_no(question, _by_people(2)))
    truth(study, screening=[])
    (basis,) = bases_of(study, "correct")
    assert (basis.low, basis.high) == (None, None)


def test_failures_are_left_out_or_the_worst(voted: Judged) -> None:
    votes = np.array([[[4.0], [4], [np.nan]], [[3], [3], [3]]])
    study = voted(votes)
    grid = grid_of(study, values_by(study, "quality"))
    assert failure_rule(study) == "left out" and np.isnan(grid.matrix[2, 0])
    assert failed(study, grid.prompts) == ({"A": 1}, "are left out")


def test_failures_as_the_worst_value(voted: Judged) -> None:
    votes = np.array([[[4.0], [4], [np.nan]], [[3], [3], [3]]])
    study = voted(votes, settings='failures = "worst"')
    grid = grid_of(study, values_by(study, "quality"))
    assert grid.matrix.tolist() == [[4, 3], [4, 3], [1, 3]]
    assert failed(study, grid.prompts) == ({"A": 1}, "count as the worst value of the scale")


def test_failures_need_a_rule_that_exists(voted: Judged) -> None:
    study = voted(np.ones((2, 3, 1)), settings='failures = "wurst"')
    with pytest.raises(UsageError, match="failures = 'wurst' is not known") as caught:
        values_by(study, "quality")
    assert "worst" in (caught.value.remedy or "")


def test_several_names_are_read_once_each(voted: Judged) -> None:
    study = voted(np.random.default_rng(0).uniform(1, 5, (2, 6, 1)))
    assert [each.name for each in bases_of(study, "quality,quality")] == ["quality"]
    assert [each.name for each in bases_of(study, None)] == ["quality"]
    with pytest.raises(UsageError, match="neither a question nor a scored measure called 'qualty'"):
        bases_of(study, ["quality", "qualty"])


def test_measures_have_no_raters(blank: Made, tmp_path: Path) -> None:
    records: list[Record] = []
    for number in range(4):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"scene {number}"))
        for shade, system in ((60, "A"), (120, "B")):
            file = tmp_path / f"{system}{number}.png"
            Pillow.new("RGB", (4, 4), (shade + number,) * 3).save(file)
            key = ImageKey(system, file.name)
            records += [Image(key, str(file)), Answer(prompt, system, 0, key)]
    study = blank(records)
    score(study, "brightness")
    basis = values_by(study, "brightness")
    grid = grid_of(study, basis)
    assert grid.panel is None and grid.raters.said == ""
    assert grid.matrix[:, 0] == pytest.approx((60 + np.arange(4)) / 255, abs=1e-6)
