import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from sightline.statistics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha

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
