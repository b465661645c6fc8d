"""Cut-offs against an exhaustive search, accuracies by hand and against scikit-learn, people's own."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from sightline.statistics.calibration import accuracy, calibrate, cut_offs, level, people, settle_levels

graded = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=14)


@given(graded)
def test_no_cut_offs_do_better(pairs):
    score = np.array([each for each, _ in pairs]) / 12
    grade = np.array([each for _, each in pairs])
    values = np.unique(score)
    places = [-1.0, *((values[1:] + values[:-1]) / 2), 2.0]
    best = max(
        np.mean(np.searchsorted(cuts, score, side="right") == grade)
        for cuts in combinations_with_replacement(places, 3)
    )
    found = cut_offs(score, grade)
    assert found.accuracy == pytest.approx(best)
    assert found.accuracy == pytest.approx(np.mean(level(score, found.values) == grade))
    assert list(found.values) == sorted(found.values) and found.n == len(pairs)


def test_by_hand():
    # Similarity .1 .2 | .3 .4 | .6 | .9, but for one pair at .35 that people called high: 6 of 7 right.
    score = [0.1, 0.2, 0.3, 0.35, 0.4, 0.6, 0.9]
    found = cut_offs(score, [0, 0, 1, 3, 1, 2, 3])
    assert found.values == pytest.approx((0.25, 0.5, 0.75))
    assert found.accuracy == pytest.approx(6 / 7)
    assert level([0.24, 0.25, 0.5, 0.75], found.values).tolist() == [0, 1, 2, 3]
    # W1KP: none below .2, low from .2, medium from .4, high from .85.
    assert level([0.19, 0.2, 0.39, 0.4, 0.84, 0.85, 1.0], (0.2, 0.4, 0.85)).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_neighbours_in_the_last_bit_stay_apart():
    low = 0.3
    high = np.nextafter(low, 1)
    found = cut_offs([low, high], [0, 3])
    assert level([low, high], found.values).tolist() == [0, 3] and found.accuracy == 1


def test_cross_validation_against_scikit_learn():
    rng = np.random.default_rng(4)
    score = rng.random(400)
    grade = np.clip(np.searchsorted((0.2, 0.4, 0.85), score + rng.normal(0, 0.06, 400)), 0, 3)
    found = calibrate(score, grade, np.arange(400) // 4)
    assert found.cut_offs.values == pytest.approx((0.2, 0.4, 0.85), abs=0.05)
    assert found.macro.value == pytest.approx(balanced_accuracy_score(grade, found.predicted))
    assert np.array_equal(found.confusion, confusion_matrix(grade, found.predicted))
    assert found.micro.value == pytest.approx(np.trace(found.confusion) / 400)
    # Held-out accuracy is about that of the true cut-offs, and no better than the fit to all pairs.
    true = np.mean(level(score, (0.2, 0.4, 0.85)) == grade)
    assert found.micro.value == pytest.approx(true, abs=0.03)
    assert found.micro.value <= found.cut_offs.accuracy
    # Intervals are over prompts.
    assert (found.micro, found.macro) == accuracy(grade, found.predicted, np.arange(400) // 4)
    assert found.micro.n == found.macro.n == 100 and found.micro.low < found.micro.value < found.micro.high


def test_intervals_of_accuracy_cover():
    rng = np.random.default_rng(6)
    held = np.zeros(2)
    for _ in range(400):
        grade = rng.choice(4, size=150, p=(0.1, 0.3, 0.4, 0.2))
        # Right with chance .9, .8, .7 and .6 by level: micro .09 + .24 + .28 + .12 = .73, macro .75.
        right = rng.random(150) < np.array([0.9, 0.8, 0.7, 0.6])[grade]
        micro, macro = accuracy(grade, np.where(right, grade, (grade + 1) % 4))
        held += [micro.low <= 0.73 <= micro.high, macro.low <= 0.75 <= macro.high]
    assert np.all((held / 400 >= 0.91) & (held / 400 <= 0.98)), held / 400


def test_median_of_three_with_the_top_two_as_one():
    # Grades 1 to 5, levels 0 to 3: (1 2 5) -> 2, level 1; (4 5 5) -> 4, level 3; (3 5 5) -> level 3.
    found = settle_levels([0, 0, 0, 1, 1, 1, 2, 2, 2], [1, 2, 5, 4, 5, 5, 3, 5, 5])
    assert found.tolist() == [1, 3, 3]
    # Two votes for neighbouring levels: nobody can say which; 4 and 5 are one level.
    assert np.isnan(settle_levels([0, 0], [2, 3])[0]) and settle_levels([0, 0], [4, 5])[0] == 3
    assert np.isnan(settle_levels([1], [2])[0])


def test_annotators_against_what_was_settled():
    # Levels (0 1 3) -> 1 and (2 2 3) -> 2. Votes at level 1: one of three right; at level 2: two of three.
    items, grades = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 3, 5]
    found = people(items, grades, settle_levels(items, grades))
    # The votes on a pair go together: two pairs are two units.
    assert found.micro.value == pytest.approx(3 / 6) and found.micro.n == 2
    assert found.macro.value == pytest.approx((1 / 3 + 2 / 3) / 2)
    # Against the two others: 0 vs 1|3 no; 1 vs 0|3 no; 3 vs 0|1 no; 2 vs 2|3 half, twice; 3 vs 2|2 no.
    assert found.others.value == pytest.approx((0.5 + 0.5) / 6)


def test_annotators_of_one_mind_are_all_right():
    # Three votes a pair, all alike: every vote is that of the others, whose median it is.
    items, grades = np.repeat([0, 1, 2], 3), np.repeat([1, 2, 4], 3)
    found = people(items, grades, settle_levels(items, grades))
    assert (found.micro.value, found.macro.value, found.others.value) == (1, 1, 1)
    # (1 1 2): the two 1s stand between 1 and 2, half right each; the 2 is against 1 and 1.
    split = people([0, 0, 0], [1, 1, 2], settle_levels([0, 0, 0], [1, 1, 2]))
    assert split.others.value == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_groups_stay_in_one_fold_and_out_of_their_own_cut_offs():
    """Four prompts, one a level, in the order of similarity: a level is never seen where it is held out.

    Without level 1 no cut-offs have it, so its pairs are wrong, and so for level 2. Pairs below all others
    are level 0 and pairs above all others level 3 whatever was seen. Half is right; with pairs of one prompt
    in several folds, or cut-offs from held-out pairs, all would be.
    """
    prompt = np.repeat(np.arange(4), 10)
    score = prompt / 4 + np.tile(np.arange(10), 4) / 100
    found = calibrate(score, prompt, prompt, folds=4)
    assert found.cut_offs.accuracy == 1
    assert found.micro.value == 0.5
    assert np.diag(found.confusion).tolist() == [10, 0, 0, 10]
    # Unrelated pairs in four folds: the others of the level are there, and all are right.
    assert calibrate(score, prompt, folds=4).micro.value == 1


@pytest.mark.slow
def test_intervals_of_accuracy_allow_for_prompts():
    """40 prompts of 6 pairs, right with a chance that is the prompt's own: drawn from Beta(2, 1), mean 2/3.

    Levels are at random, so that micro and macro are both 2/3. The percentile bootstrap of 40 is a little
    narrow; pairs taken as independent, as without groups, hold the truth far less often.
    """
    rng = np.random.default_rng(9)
    held, alone = np.zeros(2), np.zeros(2)
    prompt = np.repeat(np.arange(40), 6)
    for _ in range(400):
        grade = rng.integers(0, 4, prompt.size)
        right = rng.random(prompt.size) < rng.beta(2, 1, 40)[prompt]
        guess = np.where(right, grade, (grade + 1) % 4)
        held += [each.low <= 2 / 3 <= each.high for each in accuracy(grade, guess, prompt)]
        alone += [each.low <= 2 / 3 <= each.high for each in accuracy(grade, guess)]
    assert np.all((held / 400 >= 0.91) & (held / 400 <= 0.98)), held / 400
    assert np.all(alone / 400 < 0.89), alone / 400


def test_intervals_of_accuracy_over_groups():
    grade, guess = [0, 0, 1, 1, 1, 3], [0, 1, 1, 1, 0, 3]
    micro, macro = accuracy(grade, guess, list("aabbcc"))
    assert micro.value == pytest.approx(4 / 6) and macro.value == pytest.approx((1 / 2 + 2 / 3 + 1) / 3)
    assert micro.n == macro.n == 3
    # All right: no draw differs. Wilson with n = n right has the lower limit n / (n + z^2), n being prompts.
    micro, macro = accuracy(grade, grade, list("aabbcc"))
    assert micro == macro and micro.low == pytest.approx(3 / (3 + 1.959964**2))
    assert (micro.high, micro.n) == (1, 3)
    assert accuracy([0, 1], [0, 0], ["a", "a"])[1].reason == "one cluster shows no spread"


@pytest.mark.parametrize(
    ("score", "grade", "said"),
    [([0.1], [0, 1], "equal length"), ([0.1], [4], "whole numbers from 0 to 3"), ([np.nan], [0], "finite")],
)
def test_bad_input(score, grade, said):
    with pytest.raises(ValueError, match=said):
        cut_offs(score, grade)
