"""Predictors: do they learn what is there to be learned, and only that?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline import registry
from sightline.errors import DataError
from sightline.records import Examples, Prompt, PromptKey


def examples(
    n: int, features: np.ndarray | None = None, texts: list[str] | None = None, seed: int = 0
) -> Examples:
    rng = np.random.default_rng(seed)
    told = texts or ["the same words"] * n
    given = rng.normal(size=(n, 2)) if features is None else features
    names = [f"feature {number}" for number in range(given.shape[1])]
    return Examples([Prompt(PromptKey("s", str(row)), text) for row, text in enumerate(told)], given, names)


def test_mean_predicts_the_mean() -> None:
    x = examples(3)
    model = registry.configure("predictor", "mean").load().fit(x, np.array([[1, 0], [2, np.nan], [6, 4.0]]))
    assert model.predict(examples(2)) == pytest.approx(np.array([[3, 2], [3, 2]]))


def test_ridge_finds_a_line() -> None:
    x = examples(200)
    truth = (3 + 2 * x.features[:, :1] - x.features[:, 1:]).reshape(-1, 1)
    model = registry.configure("predictor", "ridge").load().fit(x, truth)
    new = examples(50, seed=1)
    # The smallest penalty of 0.1 over 200 standardised rows shrinks a slope by about 0.1 / 200.
    assert model.predict(new)[:, 0] == pytest.approx(
        3 + 2 * new.features[:, 0] - new.features[:, 1], abs=0.01
    )


def test_ridge_reads_the_wording() -> None:
    texts = ["a dragon" if row % 2 else "a cup" for row in range(60)]
    x = examples(60, np.zeros((60, 0)), texts)
    truth = np.array([[row % 2] for row in range(60)], dtype=np.float64)
    model = registry.configure("predictor", "ridge").load().fit(x, truth)
    dragon, cup = model.predict(examples(2, np.zeros((2, 0)), ["two dragons", "two cups"]))[:, 0]
    assert dragon > 0.55 and cup < 0.45


def test_ridge_keeps_to_the_mean_where_there_is_nothing_to_learn() -> None:
    rng = np.random.default_rng(0)
    x = examples(100, rng.normal(size=(100, 20)))
    model = registry.configure("predictor", "ridge").load().fit(x, rng.normal(size=(100, 1)))
    new = examples(100, rng.normal(size=(100, 20)))
    assert model.predict(new).std() < 0.2


def test_a_feature_without_a_value_counts_as_average() -> None:
    x = examples(100)
    x.features[::3, 1] = np.nan
    model = registry.configure("predictor", "ridge").load().fit(x, x.features[:, :1])
    holes = examples(1, np.array([[1.0, np.nan]]))
    average = examples(1, np.array([[1.0, np.nanmean(x.features[:, 1])]]))
    assert model.predict(holes) == pytest.approx(model.predict(average))


def test_parts_add_up_to_the_prediction() -> None:
    x = examples(40, texts=[f"word{row % 5} and more" for row in range(40)])
    truth = np.stack([x.features[:, 0], x.features.sum(axis=1)], axis=1)
    model = registry.configure("predictor", "ridge").load()
    for targets in (1, 2):
        model.fit(x, truth[:, :targets])
        predicted = model.predict(x)
        for row, parts in enumerate(model.explain(x)):
            assert sum(parts.values()) == pytest.approx(predicted[row].sum())
    assert set(model.explain(x)[0]) == {
        f"{name}[{target}]" for name in ("base", "feature 0", "feature 1", "wording") for target in (0, 1)
    }


@pytest.mark.parametrize("truth", [[[1.0], [1.0], [1.0], [1.0]], [[1.0], [np.nan], [np.nan], [np.nan]]])
def test_a_truth_without_spread_is_predicted_as_it_is(truth: list[list[float]]) -> None:
    model = registry.configure("predictor", "ridge").load().fit(examples(4), np.array(truth))
    assert model.predict(examples(2)) == pytest.approx(np.array([[1.0], [1.0]]))


def test_other_features_than_learned_are_refused() -> None:
    model = registry.configure("predictor", "ridge").load().fit(examples(5), np.arange(5.0).reshape(-1, 1))
    with pytest.raises(DataError, match="feature 0, feature 1, but given feature 0"):
        model.predict(examples(2, np.zeros((2, 1))))


@pytest.mark.parametrize("name", ["mean", "ridge"])
def test_without_any_truth_there_is_nothing_to_learn(name: str) -> None:
    with pytest.raises(DataError, match="no settled value"):
        registry.configure("predictor", name).load().fit(examples(3), np.full((3, 1), np.nan))


@pytest.mark.parametrize("name", ["mean", "ridge"])
def test_what_was_learned_survives_a_file_without_pickles(name: str, tmp_path: Path) -> None:
    x = examples(30)
    model = registry.configure("predictor", name).load().fit(x, x.features[:, :1])
    np.savez(tmp_path / "state.npz", **model.state())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        again = registry.configure("predictor", name).load().restore(state)
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-9)
