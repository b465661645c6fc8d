import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from sightline.statistics.agreement import (
    alpha_by_annotator,
    cohen_kappa,
    fleiss_by_annotator,
    fleiss_kappa,
    krippendorff_alpha,
)

# Worked example of Fleiss' kappa: ten items, fourteen votes each on five categories; kappa .210.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
tables = st.tuples(st.integers(2, 5), st.integers(2, 12), st.integers(0, 10_000))


def rated(shape, seed, missing=0.3):
    """Annotators x items with gaps; the items differ, so that there is something to agree on."""
    rng = np.random.default_rng(seed)
    values = np.clip(np.round(rng.normal(3, 1.5, shape[1]) + rng.normal(0, 1, shape)), 1, 5)
    values[rng.random(shape) < missing] = np.nan
    return values


def columns(matrix):
    return np.tile(np.arange(matrix.shape[1]), matrix.shape[0]), matrix.ravel()


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(5))
def test_cohen_agrees_with_scikit_learn(weights, seed):
    a, b = rated((2, 60), seed, missing=0)
    assert cohen_kappa(a, b, weights=weights).value == pytest.approx(cohen_kappa_score(a, b, weights=weights))


def test_cohen_by_hand():
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: agreement .7, chance .5*.6 + .5*.4 = .5, kappa .4.
    a = np.repeat([1, 1, 0, 0], [20, 5, 10, 15])
    b = np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    assert cohen_kappa(a, b).value == pytest.approx(0.4)
    assert cohen_kappa([*a, np.nan], [*b, 1]).n == 50
    # A value of the scale that nobody used still keeps its neighbours apart.
    a, b = [0, 2, 2, 0], [0, 2, 0, 0]
    assert cohen_kappa(a, b, weights="quadratic", scale=[0, 1, 2]).value == pytest.approx(
        cohen_kappa_score(a, b, weights="quadratic", labels=[0, 1, 2])
    )


def test_undefined_agreement_says_why():
    assert "one and the same" in cohen_kappa([2, 2, 2], [2, 2, 2]).reason
    assert cohen_kappa([1, np.nan], [np.nan, 1]).value is None
    assert fleiss_kappa([0, 0, 1, 1], [3, 3, 3, 3]).reason == "all votes are equal"
    assert krippendorff_alpha([0, 0, 1, 1], [3, 3, 3, 3]).reason == "all votes are equal"
    assert krippendorff_alpha([0, 1, 2], [3, 4, 5]).reason == "no item has two votes"
    assert fleiss_kappa([], []).reason == "no item has two votes"
    with pytest.raises(ValueError, match="outside the scale"):
        cohen_kappa([1, 9], [1, 1], scale=[1, 2])
    with pytest.raises(ValueError, match="cubic"):
        cohen_kappa([1, 2], [1, 1], weights="cubic")


def test_fleiss_worked_example():
    item, category = np.indices(FLEISS.shape).reshape(2, -1)
    found = fleiss_kappa(item, category, n=FLEISS.ravel())
    assert found.value == pytest.approx(0.210, abs=5e-4)
    spelled_out = fleiss_kappa(np.repeat(item, FLEISS.ravel()), np.repeat(category, FLEISS.ravel()))
    assert spelled_out.value == pytest.approx(found.value, abs=1e-12)
    assert spelled_out.n == 10


@pytest.mark.parametrize("seed", range(4))
def test_fleiss_is_that_of_statsmodels(seed):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="the extra analysis is missing")
    rng = np.random.default_rng(seed)
    votes = np.where(rng.random((30, 5)) < 0.6, rng.integers(0, 4, (30, 1)), rng.integers(0, 4, (30, 5)))
    expected = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(votes)[0])
    assert fleiss_kappa(np.repeat(np.arange(30), 5), votes.ravel()).value == pytest.approx(expected)


def test_fleiss_of_each_annotator_is_that_of_the_items_they_judged():
    rng = np.random.default_rng(3)
    item, who = (each.ravel() for each in np.indices((40, 3)))
    value = np.where(rng.random(120) < 0.7, np.repeat(rng.integers(0, 3, 40), 3), rng.integers(0, 3, 120))
    seen = (who != 2) | (item < 15)
    by_person, mean = fleiss_by_annotator(item[seen], who[seen], value[seen])
    assert by_person[0] == by_person[1] == fleiss_kappa(item[seen], value[seen])
    first = item < 15
    assert by_person[2] == fleiss_kappa(item[first], value[first])
    values = [each.value for each in by_person.values()]
    assert mean.value == pytest.approx(np.mean(values)) and mean.n == 3
    # Leaving an item out, one by one, is what the limits come from.
    again = [
        fleiss_by_annotator(*(c[seen & (item != i)] for c in (item, who, value)))[1].value for i in range(40)
    ]
    error = np.sqrt(39 / 40 * np.sum((np.array(again) - np.mean(again)) ** 2))
    assert mean.high - mean.value == pytest.approx(stats.t.ppf(0.975, 39) * error)


def test_the_mean_of_annotators_kappas_is_covered():
    """Each knows the class with .7, else guesses: kappa .49 of all; 60 items, a third missing."""
    rng = np.random.default_rng(5)
    item, who = (each.ravel() for each in np.indices((60, 5)))
    inside, studies = 0, 300
    for _ in range(studies):
        truth = np.repeat(rng.integers(0, 3, 60), 5)
        value = np.where(rng.random(300) < 0.7, truth, rng.integers(0, 3, 300))
        seen = rng.random(300) < 2 / 3
        mean = fleiss_by_annotator(item[seen], who[seen], value[seen])[1]
        inside += mean.low <= 0.49 <= mean.high
    # Four standard errors of a share of .95 at 300 studies are .05.
    assert inside / studies > 0.90


def test_nobody_has_a_kappa_alone():
    by_person, mean = fleiss_by_annotator([0, 1, 2], [0, 0, 1], [1, 2, 1])
    assert all(each.value is None for each in by_person.values())
    assert mean.value is None and mean.reason == "no annotator has a kappa"


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(8))
def test_alpha_agrees_with_the_krippendorff_package(scale, seed):
    matrix = rated((4, 25), seed)
    expected = krippendorff.alpha(reliability_data=matrix, level_of_measurement=scale)
    assert krippendorff_alpha(*columns(matrix), scale=scale).value == pytest.approx(expected, abs=1e-10)


@given(tables)
def test_alpha_and_fleiss_are_tied_together(case):
    annotators, items, seed = case
    matrix = rated((annotators, items), seed, missing=0)
    item, value = columns(matrix)
    kappa, alpha = fleiss_kappa(item, value), krippendorff_alpha(item, value)
    if kappa.value is None:
        assert alpha.value is None
        return
    # With equal numbers of votes alpha only corrects the chance term for drawing without replacement.
    total = annotators * items
    assert alpha.value == pytest.approx(1 - (1 - kappa.value) * (total - 1) / total, abs=1e-9)
    assert kappa.value <= 1 + 1e-12 and alpha.value <= 1 + 1e-12


@given(tables)
def test_agreement_ignores_order_and_names(case):
    annotators, items, seed = case
    matrix = rated((annotators, items), seed)
    item, value = columns(matrix)
    order = np.random.default_rng(seed).permutation(item.size)
    for scale, renamed in (("nominal", -value), ("ordinal", value**3), ("interval", 5 * value - 2)):
        found = krippendorff_alpha(item, value, scale=scale).value
        moved = krippendorff_alpha(1000 - item[order], renamed[order], scale=scale).value
        assert (found is None) == (moved is None)
        assert found is None or moved == pytest.approx(found, abs=1e-9)
    a, b = matrix[:2]
    assert cohen_kappa(a, b).value == pytest.approx(cohen_kappa(b, a).value, abs=1e-12)


def test_perfect_agreement_is_one():
    item, value = columns(np.tile([1.0, 2, 5, 3], (3, 1)))
    assert fleiss_kappa(item, value).value == pytest.approx(1)
    for scale in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(item, value, scale=scale).value == pytest.approx(1)


def test_agreement_on_sides_does_not_depend_on_which_came_first() -> None:
    # Three votes on each of 40 pairs, most for the first side; then half of the pairs the other way round.
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(40), 3)
    value = (rng.random(120) < 0.2).astype(float)
    turned = np.where(item % 2 == 0, 1 - value, value)
    one, other = (krippendorff_alpha(item, each, sides=True, resamples=200) for each in (value, turned))
    assert one == other and one.n == 40
    # Every item both ways round, by hand: half of all 240 votes are 1.
    wins = np.bincount(item, value)
    differing = 2 * (2 * wins * (3 - wins) / 2).sum()
    assert one.value == pytest.approx(1 - differing * 239 / (240**2 / 2))
    plain = krippendorff_alpha(item, value, resamples=200)
    assert plain.value < one.value and one.low is not None and plain.low is not None
    assert one.high - one.low > 0.5 * (plain.high - plain.low), "pairs are not counted twice"


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_of_two_annotators_each_has_the_alpha_of_both(scale):
    rng = np.random.default_rng(3)
    first = rng.integers(1, 5, 40).astype(float)
    second = np.clip(first + rng.integers(-1, 2, 40), 1, 5)
    expected = krippendorff.alpha(reliability_data=[first, second], level_of_measurement=scale)
    # A third, who shares no item with them, has none and changes nothing.
    item, who = np.r_[np.tile(np.arange(40), 2), 99], np.r_[np.repeat([0, 1], 40), 2]
    found = alpha_by_annotator(item, who, np.r_[first, second, 3], scale=scale)
    for number in (0, 1):
        assert found[number].value == pytest.approx(expected, abs=1e-10) and found[number].n == 40
        assert found[number].low < found[number].value < found[number].high
    assert (found[2].value, found[2].n, found[2].reason) == (None, 0, "no item was judged by others too")


def test_the_alpha_of_one_of_three_by_hand():
    # Three items, votes of a, b and c: 1 1 0, 0 0 1, 1 1 1. Of nine votes six are 1: two differ with a chance
    # of 2 x 6 x 3 / (9 x 8) = 1/2. c differs from both others on two items of three, a from one of two there.
    item, who = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    found = alpha_by_annotator(item, who, [1, 1, 0, 0, 0, 1, 1, 1, 1])
    assert found[2].value == pytest.approx(1 - (2 / 3) / 0.5)
    assert found[0].value == found[1].value == pytest.approx(1 - (1 / 3) / 0.5)
    assert alpha_by_annotator([0, 0], [0, 1], [1, 1])[0].reason == "all votes are equal"


def test_of_choices_between_sides_either_may_come_first():
    item, who = np.repeat(np.arange(6), 2), np.tile([0, 1], 6)
    value = np.array([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], dtype=float)
    turned = np.where(item % 2 == 0, 1 - value, value)
    expected = krippendorff_alpha(item, value, scale="ordinal", sides=True).value
    for votes in (value, turned):
        found = alpha_by_annotator(item, who, votes, scale="ordinal", sides=True)
        assert found[0].value == pytest.approx(expected)


def test_cohens_kappa_of_several_answers_to_a_prompt_covers() -> None:
    """60 prompts with four answers each that are alike: their 240 answers are no 240 independent items."""
    rng = np.random.default_rng(5)

    def draw(prompts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        unit = np.repeat(np.arange(prompts), 4)
        truth = (rng.random(prompts)[unit] < 0.5).astype(float)
        wrong = (rng.random(prompts) < 0.25)[unit] & (rng.random(unit.size) < 0.9)
        return truth, np.where(wrong, 1 - truth, truth), unit

    a, b, _ = draw(200_000)
    target, within, plain = cohen_kappa_score(a, b), 0, 0
    for _ in range(300):
        one, other, unit = draw(60)
        found, naive = cohen_kappa(one, other, unit=unit), cohen_kappa(one, other)
        assert found.value == pytest.approx(naive.value)
        assert found.low is not None and found.high is not None
        assert naive.low is not None and naive.high is not None
        within += found.low <= target <= found.high
        plain += naive.low <= target <= naive.high
    assert within / 300 >= 0.92 and plain / 300 < 0.8
    # Without each prompt in turn, by the library.
    one, other, unit = draw(60)
    without = [cohen_kappa_score(one[unit != each], other[unit != each]) for each in range(60)]
    error = np.sqrt(59 / 60 * np.sum((np.array(without) - np.mean(without)) ** 2))
    found = cohen_kappa(one, other, unit=unit)
    assert found.high == pytest.approx((found.value or 0) + stats.t.ppf(0.975, 59) * error)
