"""Multidimensional scaling against points that are known, against scikit-learn, and on what has no map."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist, squareform

from sightline.statistics.scaling import classical, scaled, stress


def cloud(n: int, dimensions: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimensions))


def between(points: np.ndarray) -> np.ndarray:
    return squareform(pdist(points))


def test_a_right_angled_triangle_worked_by_hand() -> None:
    """Sides 3, 4, 5 lie in a plane, so the map has exactly these distances and no stress.

    With 0, 1 and 1 on the map it is ((3-0)^2 + (4-1)^2 + (5-1)^2) / (9 + 16 + 25) = 34 / 50.
    """
    matrix = np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0]], dtype=float)
    found = scaled(matrix)
    assert between(found.places) == pytest.approx(matrix, abs=1e-7)
    assert found.stress == pytest.approx(0, abs=1e-7)
    wrong = between(np.array([[0, 0], [0, 0], [1, 0]]))
    assert stress(matrix, wrong) == pytest.approx(np.sqrt(34 / 50))


def test_four_equally_far_things_make_a_square() -> None:
    """All distances 1 in a plane: a square of side s and diagonal s sqrt(2) has the least stress.

    With 4 sides and 2 diagonals the sum 4 (1-s)^2 + 2 (1 - s sqrt 2)^2 is least at s = (4 + 2 sqrt 2) / 8:
    then 6 - (4 + 2 sqrt 2)^2 / 8 = 3 - 2 sqrt 2 is left, of 6. A triangle with its centre has more.
    """
    found = scaled(1 - np.eye(4))
    assert found.stress == pytest.approx(np.sqrt((3 - 2 * np.sqrt(2)) / 6), abs=1e-6)
    sides = np.sort(between(found.places)[np.triu_indices(4, 1)])
    side = (4 + 2 * np.sqrt(2)) / 8
    assert sides == pytest.approx([side] * 4 + [side * np.sqrt(2)] * 2, abs=1e-4)


def test_classical_scaling_is_principal_component_analysis_of_points() -> None:
    from sklearn.decomposition import PCA

    points = cloud(30, 5) * [5, 4, 1, 0.5, 0.1]
    mine, theirs = classical(between(points)), PCA(2).fit_transform(points)
    assert np.abs(mine) == pytest.approx(np.abs(theirs), abs=1e-9)


def test_refining_agrees_with_scikit_learn() -> None:
    """From the same start both reach the same places; ours then keeps the best of several starts."""
    from sklearn.manifold import smacof

    matrix = between(cloud(25, 8, seed=3))
    start = classical(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs, their_stress = smacof(
            matrix, init=start, n_init=1, max_iter=3000, eps=1e-12, normalized_stress=True
        )
    mine = scaled(matrix, starts=0)
    # Theirs is Kruskal's stress-1, in shares of the distances on the map.
    assert mine.stress / np.sqrt(1 - mine.stress**2) == pytest.approx(their_stress, abs=1e-5)
    assert between(mine.places) == pytest.approx(between(theirs), abs=0.02)
    assert scaled(matrix).stress <= mine.stress
    assert mine.stress < stress(matrix, between(start))


def test_several_starts_find_what_one_misses() -> None:
    """On a line nothing can pass anything else on its way, so that one start rarely finds the best order."""
    matrices = [between(cloud(7, 6, seed=n)) for n in range(12)]
    alone = np.array([scaled(matrix, dimensions=1, starts=0).stress for matrix in matrices])
    several = np.array([scaled(matrix, dimensions=1).stress for matrix in matrices])
    assert (several <= alone).all()
    assert (several < alone - 1e-4).any()


@given(arrays(float, st.tuples(st.integers(1, 12), st.just(2)), elements=st.floats(-100, 100)))
def test_points_of_a_plane_are_found_again(points: np.ndarray) -> None:
    matrix = between(points) if len(points) > 1 else np.zeros((1, 1))
    found = scaled(matrix)
    assert between(found.places) == pytest.approx(matrix, abs=1e-5 * max(1.0, float(matrix.max())))
    assert found.places.mean(axis=0) == pytest.approx([0, 0], abs=1e-6)


@given(st.integers(3, 10), st.integers(0, 50))
def test_the_order_of_things_does_not_change_the_map(n: int, seed: int) -> None:
    matrix = between(cloud(n, 6, seed))
    order = np.random.default_rng(seed).permutation(n)
    straight, shuffled = scaled(matrix, starts=0), scaled(matrix[np.ix_(order, order)], starts=0)
    assert shuffled.stress == pytest.approx(straight.stress, abs=1e-6)
    assert 0 <= straight.stress < 1
    assert scaled(matrix).stress <= straight.stress


def test_a_map_is_the_same_every_time_and_the_right_way_up() -> None:
    matrix = between(cloud(20, 6))
    first, second = scaled(matrix), scaled(matrix)
    assert np.array_equal(first.places, second.places)
    farthest = np.abs(first.places).argmax(axis=0)
    assert (first.places[farthest, [0, 1]] > 0).all()
    assert first.places[:, 0].var() > first.places[:, 1].var()
    assert np.cov(first.places.T)[0, 1] == pytest.approx(0, abs=1e-9)


def test_what_has_no_spread_lies_in_one_place() -> None:
    for n in (3, 1, 0):
        found = scaled(np.zeros((n, n)))
        assert found.places == pytest.approx(np.zeros((n, 2))) and found.stress == 0


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[0, 1]], "square"),
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[1, 1], [1, 0]], "itself"),
    ],
)
def test_what_is_no_matrix_of_distances_is_refused(matrix: list[list[float]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        scaled(matrix)
