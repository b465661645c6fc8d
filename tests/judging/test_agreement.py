"""What an owner sees of judgements: by annotator, by item, and on asking again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score

from sightline.judging.agreement import by_annotator, by_item, repeats
from sightline.records import Question, Votes

Cast = Callable[..., Votes]
NOMINAL = Question("q", "nominal")


def rated(seed: int, people: int = 4, items: int = 30, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.clip(np.round(rng.normal(3, 1.5, items) + rng.normal(0, 1, (people, items))), 1, 5)
    values[rng.random(values.shape) < missing] = np.nan
    return values


def test_controls_and_repeats_are_not_agreement(votes: Cast) -> None:
    plain = [(item, who, float((item + (who == 2)) % 3)) for item in range(9) for who in range(3)]
    extra = [(9, who, 1.0) for who in range(3)] + [(0, 0, 2.0)]
    control = [False] * len(plain) + [True] * 3 + [False]
    repetition = [0] * len(plain) + [0] * 3 + [1]
    with_both = votes(plain + extra, control=control, repetition=repetition, question=NOMINAL)
    assert by_annotator(with_both) == by_annotator(votes(plain, items=10, question=NOMINAL))


def test_each_annotator_with_the_majority_of_the_others(tabled: Cast) -> None:
    # Items 0-5; a and b say the truth, c errs on two of six. For c the others agree throughout: kappa of c
    # with them is Cohen's. For a (and b) the others b and c are tied on the two items that c errs on.
    truth = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    wrong = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    found = {one.annotator.name: one for one in by_annotator(tabled([truth, truth, wrong], NOMINAL))}
    assert next(iter(found)) == "a2", "the weakest comes first"
    c = found["a2"].with_others
    assert c.value == pytest.approx(cohen_kappa_score(wrong, truth)) and c.n == 6
    assert found["a0"].with_others.n == 4 and found["a0"].with_others.value == 1
    assert found["a0"].judgements == 6


@pytest.mark.parametrize(("scale", "reference"), [("ordinal", spearmanr), ("interval", pearsonr)])
def test_each_annotator_with_the_mean_of_the_others(
    tabled: Cast, scale: str, reference: Callable[..., Any]
) -> None:
    matrix = rated(4, missing=0.2)
    found = {one.annotator.name: one for one in by_annotator(tabled(matrix, Question("q", scale)))}
    for who in range(4):
        others = np.delete(matrix, who, axis=0)
        shared = ~np.isnan(matrix[who]) & ~np.isnan(others).all(axis=0)
        expected = reference(matrix[who, shared], np.nanmean(others[:, shared], axis=0))
        coefficient = found[f"a{who}"].with_others
        assert coefficient.value == pytest.approx(expected.statistic, abs=1e-10)
        assert coefficient.n == shared.sum()
        assert coefficient.low < expected.statistic < coefficient.high


def test_items_in_dispute_come_first(votes: Cast) -> None:
    rows = [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 5.0), (2, 0, 1.0), (2, 1, 2.0), (3, 0, 4.0)]
    found = by_item(votes(rows, question=Question("q", "ordinal")))
    assert found.item.tolist() == [1, 2, 0, 3] and found.n.tolist() == [2, 2, 2, 1]
    # Two votes x and y have a standard deviation of |x - y| / sqrt 2; two different ones an entropy of 1 bit.
    np.testing.assert_allclose(found.spread, [4 / np.sqrt(2), 1 / np.sqrt(2), 0, np.nan])
    np.testing.assert_allclose(found.entropy, [1, 1, 0, np.nan])
    # Anonymous votes count as many as they are: 3 and 1 of 4 have .75 log2(4/3) + .25 log2 4 = .8113 bits.
    counted = [(0, -1, 1.0), (0, -1, 0.0), (1, 0, 1.0), (1, 1, 0.0)]
    anonymous = by_item(votes(counted, n=[3, 1, 1, 1], question=NOMINAL))
    assert anonymous.item.tolist() == [1, 0]
    np.testing.assert_allclose(anonymous.entropy, [1, 0.811278], atol=1e-6)


def test_who_is_asked_again(votes: Cast) -> None:
    # Annotator 0 judged items 0-3 twice and item 0 a third time, annotator 1 once: five pairs, four equal.
    first = [(item, 0, float(item % 2)) for item in range(4)]
    again = [(0, 0, 0.0), (1, 0, 1.0), (2, 0, 1.0), (3, 0, 1.0), (0, 0, 0.0)]
    other = [(item, 1, 1.0) for item in range(4)]
    before, after = [0, 1, 0, 1, 0], [0, 1, 1, 1, 0]
    for scale, expected in (
        ("nominal", cohen_kappa_score(before, after)),
        ("ordinal", cohen_kappa_score(before, after, weights="quadratic")),
        ("interval", pearsonr(before, after).statistic),
    ):
        repetition = [0] * 4 + [1] * 4 + [2] + [0] * 4
        found = repeats(votes(first + again + other, repetition=repetition, question=Question("q", scale)))
        assert found.coefficient.value == pytest.approx(expected)
        assert (found.coefficient.n, found.same) == (5, 0.8)
    nobody = repeats(votes(first, question=NOMINAL))
    assert nobody.coefficient.value is None and nobody.coefficient.reason and nobody.same is None
