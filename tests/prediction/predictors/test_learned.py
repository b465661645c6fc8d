"""Every predictor there is: it learns from what it is shown, from nothing else, and explains itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.prediction.predictors._parts import predict_out_of_fold
from sightline.records import Examples, Prompt, PromptKey
from sightline.statistics.folds import k_fold

THINGS = ("cat", "dog", "train", "bridge", "violin", "crowd", "clock", "zebra")
SMALL = {
    "stack": "stack(folds=3, second=trees(n_estimators=10))",
    "trees": "trees(n_estimators=10)",
    "fine_tuned": "fine_tuned(frozen=5, rank=4, learning_rate=0.003, batch=16, epochs=2, shared=False)",
}
NAMES = [
    SMALL.get(name, name)
    for name in registry.names("predictor")
    # Those that see images are in test_pictured.
    if (spec := registry.get("predictor", name).spec).origin == "sightline"
    and spec.details["sees"] == "prompt"
    and not spec.missing()
]
EVERY = [
    pytest.param(name, marks=pytest.mark.slow) if name.startswith("fine_tuned") else name for name in NAMES
]
# Two rounds of tuning teach nothing yet: test_fine_tuned has its own.
LEARNING = [name for name in NAMES if name != "mean" and not name.startswith("fine_tuned")]


def examples(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Prompts of two things, three features, one missing at times; truth of two targets that follow both."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, len(THINGS), size=(n, 2))
    texts = [f"a {THINGS[one]} and a {THINGS[two]}, photo {row}" for row, (one, two) in enumerate(pairs)]
    features = rng.normal(size=(n, 3))
    ease = 1.5 * (pairs < 3).sum(axis=1) + features[:, 0]
    truth = np.stack([ease, features[:, 0] - ease / 2], axis=1) + 0.1 * rng.normal(size=(n, 2))
    features[::9, 2] = np.nan
    prompts = [Prompt(PromptKey("s", str(row)), text) for row, text in enumerate(texts)]
    return Examples(prompts, features, ["one", "two", "three"]), truth


def load(spec: str) -> object:
    return registry.configure("predictor", spec).load()


CORRUPTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "huge and turned": lambda truth: 1e9 - truth[::-1],
    "missing but for three": lambda truth: np.where(np.arange(len(truth))[:, None] < 3, truth, np.nan),
}


@pytest.mark.parametrize("spec", EVERY)
def test_no_truth_of_what_is_predicted_is_learned_from(spec: str) -> None:
    """The truth of fold 0 is corrupted; no prediction of fold 0 changes."""
    x, truth = examples(60)
    fold = k_fold(60, 2, seed=0)
    first = fold == 0
    honest = predict_out_of_fold(load(spec), x, truth, fold)
    for name, corrupt in CORRUPTIONS.items():
        wrong = truth.copy()
        wrong[first] = corrupt(truth[first])
        made = predict_out_of_fold(load(spec), x, wrong, fold)
        np.testing.assert_allclose(made[first], honest[first], rtol=1e-6, atol=1e-9, err_msg=name)
        assert not np.allclose(made[~first], honest[~first]), "what is learned from must matter"


@pytest.mark.parametrize("spec", LEARNING)
def test_it_learns(spec: str) -> None:
    x, truth = examples(300)
    new, wanted = examples(200, seed=1)
    # Words make up 1.5^2 x 2 x 3/8 x 5/8 = 1.05 of the variance and a feature 1: either alone can reach 0.7.
    predicted = load(spec).fit(x, truth).predict(new)
    assert np.corrcoef(predicted[:, 0], wanted[:, 0])[0, 1] > 0.5
    assert (
        np.abs(predicted[:, 0] - wanted[:, 0]).mean() < 0.9 * np.abs(wanted[:, 0] - truth[:, 0].mean()).mean()
    )


@pytest.mark.parametrize("spec", EVERY)
@pytest.mark.parametrize("targets", [1, 2])
def test_reasons_add_up_to_the_prediction(spec: str, targets: int) -> None:
    x, truth = examples(60)
    model = load(spec).fit(x, truth[:, :targets])
    new, _ = examples(12, seed=3)
    predicted = model.predict(new)
    for row, reasons in enumerate(model.explain(new)):
        for target in range(targets):
            end = "" if targets == 1 else f"[{target}]"
            own = [part for name, part in reasons.items() if name.endswith(end)]
            assert sum(own) == pytest.approx(predicted[row, target], abs=1e-8)


@pytest.mark.parametrize("spec", EVERY)
def test_what_was_learned_survives_a_file_without_pickles(spec: str, tmp_path: Path) -> None:
    x, truth = examples(40)
    truth[3, 1] = np.nan
    model = load(spec).fit(x, truth)
    np.savez(tmp_path / "state.npz", **model.state())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        again = load(spec).restore(state)
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-5, atol=1e-6)
    assert again.explain(x) == [pytest.approx(parts, rel=1e-4, abs=1e-5) for parts in model.explain(x)]


@pytest.mark.parametrize("spec", EVERY)
def test_a_target_settled_here_and_there_is_learned_from_where_it_is(spec: str) -> None:
    x, truth = examples(60)
    holes = truth.copy()
    holes[::2, 1] = np.nan
    odd = np.arange(1, 60, 2)
    alone = load(spec.replace("stack(", "stack(shared=False, ")).fit(x, truth).predict(x)[:, 0]
    made = load(spec.replace("stack(", "stack(shared=False, ")).fit(x, holes).predict(x)
    assert np.isfinite(made).all() and made[:, 0] == pytest.approx(alone)
    if spec == "mean":
        assert made[:, 1] == pytest.approx(truth[odd, 1].mean())


@pytest.mark.parametrize("spec", EVERY)
@pytest.mark.parametrize("truth", [[[1.0]] * 4, [[1.0], [np.nan], [np.nan], [np.nan]]])
def test_a_truth_without_spread_is_predicted_as_it_is(spec: str, truth: list[list[float]]) -> None:
    x, _ = examples(4)
    # A logistic curve comes near its end and never reaches it.
    assert load(spec).fit(x, np.array(truth)).predict(x) == pytest.approx(np.ones((4, 1)), abs=1e-4)


@pytest.mark.parametrize("spec", EVERY)
def test_without_any_truth_there_is_nothing_to_learn(spec: str) -> None:
    x, _ = examples(3)
    with pytest.raises(DataError, match="no settled value"):
        load(spec).fit(x, np.full((3, 1), np.nan))


@pytest.mark.parametrize("spec", EVERY)
def test_strange_prompts_get_a_finite_prediction(spec: str) -> None:
    x, truth = examples(60)
    emoji, japanese, half = "\U0001f408\U0001f308", "\u732b\u3068\u8d64\u3044\u82b1", "\ud83d"
    texts = ["", " \n", "?!...", emoji, japanese, "word " * 10_000, half]
    prompts = [Prompt(PromptKey("s", str(row)), text) for row, text in enumerate(texts)]
    strange = Examples(prompts, np.full((len(texts), 3), np.nan), ["one", "two", "three"])
    model = load(spec).fit(x, truth)
    assert np.isfinite(model.predict(strange)).all()
    assert all(np.isfinite(part) for told in model.explain(strange) for part in told.values())


@pytest.mark.parametrize(
    "spec",
    [
        "trees(n_estimators=0)", "trees(learning_rate=1.5)", "kernel_ridge(width=0)",
        "kernel_ridge(landmarks=0)", "support_vectors(C=0)", "tfidf_ridge(letters=2)", "stack(folds=1)",
        "logistic(penalty=0)", "quadratic(dimensions=0)",
    ],
)  # fmt: skip
def test_senseless_parameters_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=spec.partition("(")[0]):
        load(spec)
