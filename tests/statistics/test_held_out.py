"""Grouped splits and what measures reach on held-out prompts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from sightline.statistics.held_out import grouped_splits, held_out


def test_families_stay_together_and_a_fifth_is_held_out():
    unit = np.repeat(np.arange(20), 3)
    splits = list(grouped_splits(unit, 50, seed=1))
    for test in splits:
        assert len(np.unique(unit[test])) == 4
        assert not set(unit[test]) & set(unit[~test])
    assert len({tuple(test) for test in splits}) > 40
    assert all((a == b).all() for a, b in zip(splits, grouped_splits(unit, 50, seed=1), strict=True))


def test_the_combination_is_ridge_regression():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(120, 3))
    people = features @ [1.0, 0.5, 0.0] + rng.normal(size=120)
    unit = np.repeat(np.arange(40), 3)
    (found,) = held_out(features, people, unit, 1, seed=3)
    (test,) = grouped_splits(unit, 1, seed=3)
    scaler = StandardScaler().fit(features[~test])
    model = Ridge(alpha=1.0).fit(scaler.transform(features[~test]), people[~test])
    guess = model.predict(scaler.transform(features[test]))
    wanted = [
        spearmanr(guess, people[test])[0], kendalltau(guess, people[test])[0],
        np.corrcoef(guess, people[test])[0, 1], np.sqrt(np.mean((guess - people[test]) ** 2)),
    ]  # fmt: skip
    assert found.shape == (4, 4) and found[-1] == pytest.approx(wanted)
    # Ranks of a measure need no fit.
    assert found[0, 0] == pytest.approx(spearmanr(features[test, 0], people[test])[0])
    assert held_out(features[:, :1], people, unit, 2).shape == (2, 1, 4), "one measure has no combination"


def test_noise_predicts_nothing_on_held_out_prompts():
    rng = np.random.default_rng(1)
    found = held_out(rng.normal(size=(200, 5)), rng.normal(size=200), np.arange(200), 40)
    assert abs(found[:, :, 0].mean()) < 0.1
