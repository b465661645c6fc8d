"""The logistic predictor against scikit-learn's, and as a foreteller of chances."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sightline import registry
from sightline.errors import UsageError
from sightline.records import Examples, Prompt, PromptKey


def examples(features: np.ndarray) -> Examples:
    prompts = [Prompt(PromptKey("s", str(row)), "the same words") for row in range(len(features))]
    return Examples(prompts, features, [f"feature {n}" for n in range(features.shape[1])])


def drawn(n: int, seed: int = 0) -> tuple[Examples, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    chance = 1 / (1 + np.exp(-(features @ [1.5, -1, 0] - 0.5)))
    return examples(features), (rng.random(n) < chance).astype(np.float64)[:, None], chance


def test_it_is_scikit_learns() -> None:
    x, truth, _ = drawn(300)
    model = registry.configure("predictor", "logistic(penalty=2.0)").load().fit(x, truth)
    scaled = (x.features - x.features.mean(axis=0)) / x.features.std(axis=0)
    other = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(scaled, truth[:, 0])
    assert model.predict(x)[:, 0] == pytest.approx(other.predict_proba(scaled)[:, 1], abs=1e-5)


def test_what_it_predicts_comes_true_as_often() -> None:
    x, truth, _ = drawn(2000)
    model = registry.configure("predictor", "logistic").load().fit(x, truth)
    new, _, chance = drawn(1000, seed=1)
    assert np.abs(model.predict(new)[:, 0] - chance).mean() < 0.03


def test_half_truths_count_half() -> None:
    """A truth of 0.5 is one vote for and one against: twice the rows with both say the same."""
    x, truth, _ = drawn(60)
    soft = np.where(np.arange(60)[:, None] % 2, 0.5, truth)
    twice = examples(np.repeat(x.features, 2, axis=0))
    votes = np.repeat(soft, 2, axis=0)
    votes[2::4] = 0
    votes[3::4] = 1
    halved = registry.configure("predictor", "logistic(penalty=2.0)").load().fit(twice, votes)
    whole = registry.configure("predictor", "logistic(penalty=1.0)").load().fit(x, soft)
    assert halved.predict(x) == pytest.approx(whole.predict(x), abs=1e-4)


def test_parts_add_up_to_the_prediction() -> None:
    x, truth, _ = drawn(80)
    model = registry.configure("predictor", "logistic").load().fit(x, np.hstack([truth, truth * 5 - 2]))
    predicted = model.predict(x)
    for row, parts in enumerate(model.explain(x)):
        assert sum(parts.values()) == pytest.approx(predicted[row].sum())
        assert sum(v for name, v in parts.items() if name.endswith("[0]")) == pytest.approx(predicted[row, 0])
    average = examples(x.features.mean(axis=0, keepdims=True))
    (told,) = model.explain(average)
    assert all(abs(part) < 1e-9 for name, part in told.items() if not name.startswith("base"))


def test_other_truth_is_brought_to_its_ends_and_back() -> None:
    x, truth, _ = drawn(100)
    plain = registry.configure("predictor", "logistic").load().fit(x, truth).predict(x)
    model = registry.configure("predictor", "logistic").load().fit(x, truth * 5 - 2)
    assert model.predict(x) == pytest.approx(plain * 5 - 2)
    same = registry.configure("predictor", "logistic").load().fit(x, np.full((100, 1), 7.0))
    assert same.predict(x) == pytest.approx(np.full((100, 1), 7.0))


def test_truth_that_is_all_alike_does_not_run_away() -> None:
    x, _, _ = drawn(50)
    model = registry.configure("predictor", "logistic").load().fit(x, np.ones((50, 1)))
    told = model.predict(x)
    assert np.isfinite(model.state()["intercept"]).all() and (told > 0.99).all() and (told <= 1).all()


def test_a_penalty_is_needed() -> None:
    with pytest.raises(UsageError, match="penalty=0"):
        registry.configure("predictor", "logistic(penalty=0)").load()
