"""The arithmetic of each predictor against an independent library or by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVR

from sightline import registry
from sightline.prediction.predictors._parts import penalised
from sightline.prediction.predictors.kernel_ridge import kernel_ridge
from sightline.prediction.predictors.stack import stack
from sightline.prediction.predictors.support_vectors import support_vectors
from sightline.prediction.predictors.tfidf_ridge import tfidf_ridge
from sightline.records import Examples, Prompt, PromptKey


def told(texts: Sequence[str], features: np.ndarray | None = None) -> Examples:
    given = np.zeros((len(texts), 0)) if features is None else features
    prompts = [Prompt(PromptKey("s", str(row)), text) for row, text in enumerate(texts)]
    return Examples(prompts, given, [f"feature {number}" for number in range(given.shape[1])])


class Numbers:
    """An encoder whose vectors are given, and which counts how often it was asked."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors
        self.asked = 0

    def text(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += 1
        return self.vectors[[int(text) for text in texts]]


def cloud(n: int = 80, width: int = 6) -> tuple[Numbers, Examples, np.ndarray]:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(n, width)).astype(np.float32)
    truth = np.stack([np.sin(vectors[:, 0]) + vectors[:, 1], vectors[:, 2] ** 2], axis=1)
    return Numbers(vectors), told([str(row) for row in range(n)]), truth + 0.3 * rng.normal(size=truth.shape)


@pytest.mark.parametrize("shape", [(40, 5), (15, 30)])
def test_penalised_is_scikit_learns_leave_one_out_ridge(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape) + 2
    truth = x[:, :3] @ rng.normal(size=(3, 4)) + rng.normal(size=(shape[0], 4)) * [0.1, 1, 3, 10]
    truth[::4, 2] = np.nan
    penalties = (0.1, 1.0, 10.0, 100.0, 1000.0)
    line = penalised(x, truth, penalties)
    for target in range(4):
        rows = np.isfinite(truth[:, target])
        reference = RidgeCV(alphas=penalties).fit(x[rows], truth[rows, target])
        assert line.penalty[target] == reference.alpha_
        assert line.weights[:, target] == pytest.approx(reference.coef_, abs=1e-8)
        assert line.base[target] == pytest.approx(reference.intercept_, abs=1e-8)
    assert len(set(line.penalty.tolist())) > 1, "targets of different noise should differ in penalty"


def test_trees_are_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(200, 4))
    truth = (features[:, 0] > 0) * features[:, 1] + 0.1 * rng.normal(size=200)
    x = told(["same"] * 200, features)
    model = (
        registry.configure("predictor", "trees(n_estimators=30, depth=3, learning_rate=0.1)")
        .load()
        .fit(x, truth[:, None])
    )
    reference = GradientBoostingRegressor(
        n_estimators=30,
        max_depth=3,
        learning_rate=0.1,
        subsample=0.5,
        min_samples_leaf=5,
        init="zero",
        random_state=0,
    )
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    reference.fit(scaled.astype(np.float32), truth - truth.mean())
    assert model.predict(x)[:, 0] - truth.mean() == pytest.approx(reference.predict(scaled))
    strength = np.mean([[abs(part) for part in parts.values()] for parts in model.explain(x)], axis=0)
    # base, start, then features: the two that matter come out on top.
    assert min(strength[2:4]) > 3 * max(strength[4:])


def test_kernel_ridge_with_all_landmarks_is_scikit_learns() -> None:
    encoder, x, truth = cloud()
    model = kernel_ridge.target(encoder=encoder, penalties=(0.5,)).fit(x, truth)
    spread = encoder.vectors.astype(np.float64).var(axis=0).sum()
    # Theirs has no base, so it is given the centred kernel.
    kernel = KernelCenterer().fit_transform(rbf_kernel(encoder.vectors.astype(np.float64), gamma=1 / spread))
    reference = KernelRidge(alpha=0.5, kernel="precomputed").fit(kernel, truth - truth.mean(axis=0))
    assert model.predict(x) == pytest.approx(reference.predict(kernel) + truth.mean(axis=0), abs=1e-4)


def test_few_landmarks_keep_little_and_still_learn() -> None:
    encoder, x, truth = cloud(400, 3)
    model = kernel_ridge.target(encoder=encoder, landmarks=40).fit(x.take(np.arange(300)), truth[:300])
    assert model.state()["kept"].shape == (40, 3)
    made = model.predict(x.take(np.arange(300, 400)))
    assert np.corrcoef(made[:, 0], truth[300:, 0])[0, 1] > 0.9


def test_support_vectors_are_scikit_learns() -> None:
    encoder, x, truth = cloud()
    model = support_vectors.target(encoder=encoder, C=2.0, epsilon=0.3).fit(x, truth)
    for target in range(2):
        y = truth[:, target]
        gamma = 1 / encoder.vectors.astype(np.float64).var(axis=0).sum()
        reference = SVR(C=2.0, epsilon=0.3, gamma=gamma).fit(encoder.vectors, (y - y.mean()) / y.std())
        expected = reference.predict(encoder.vectors) * y.std() + y.mean()
        assert model.predict(x)[:, target] == pytest.approx(expected, abs=0.01)
    assert len(model.state()["kept"]) < 80


def test_weighted_words_are_scikit_learns() -> None:
    texts = ["A red cat", "a red dog, a red dog", "the old dog", "red cat on the dog"] * 4
    model = tfidf_ridge.target(letters=3, words=2, penalties=(1.0,)).fit(
        told(texts), np.arange(16.0)[:, None]
    )
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True, min_df=2)
    clean = [text.replace(",", "") for text in texts]
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, min_df=2)
    x = np.hstack([half.fit_transform(clean).toarray() for half in (words, letters)]) / np.sqrt(2)
    reference = Ridge(alpha=1.0).fit(x, np.arange(16.0))
    assert model.predict(told(texts))[:, 0] == pytest.approx(reference.predict(x), abs=1e-3)


def test_words_that_make_a_prompt_hard_are_named() -> None:
    rng = np.random.default_rng(5)
    words = rng.choice(["cat", "dog", "tree", "hand"], size=(200, 2))
    texts = [f"{one} with {two}" for one, two in words]
    truth = 2.0 - (words == "hand").sum(axis=1)[:, None]
    model = tfidf_ridge.target().fit(told(texts), truth)
    (reasons,) = model.explain(told(["cat with hand"]))
    assert set(reasons) == {"base", "word cat", "word with", "word hand"}
    assert min(reasons, key=lambda name: reasons[name]) == "word hand" and reasons["word cat"] > 0


class Says:
    """A part that predicts columns of the features, and remembers how many examples it was shown."""

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = list(columns)
        self.shown: list[int] = []

    def fit(self, x: Examples, truth: np.ndarray) -> Says:
        self.shown.append(len(x))
        return self

    def predict(self, x: Examples) -> np.ndarray:
        return np.asarray(x.features[:, self.columns], dtype=np.float64)

    def explain(self, x: Examples) -> list[dict[str, float]]:
        ends = [""] if len(self.columns) == 1 else [f"[{n}]" for n in range(len(self.columns))]
        return [
            dict(zip([f"said{end}" for end in ends], row.tolist(), strict=True)) for row in self.predict(x)
        ]

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> Says:
        return self


def stacked(parts: Sequence[Says], **settings: object) -> stack.target:  # type: ignore[name-defined]
    empty = [registry.configure("predictor", "mean").load() for _ in range(5 - len(parts))]
    places = dict(zip(("first", "second", "third", "fourth", "fifth"), [*parts, *empty], strict=True))
    return stack.target(**places, **settings)


def test_a_stack_finds_what_each_part_is_worth() -> None:
    rng = np.random.default_rng(6)
    features = rng.normal(size=(2000, 3))
    truth = 3 + (0.7 * features[:, 0] - 0.2 * features[:, 1])[:, None] + 0.01 * rng.normal(size=(2000, 1))
    parts = [Says([0]), Says([1]), Says([2])]
    x = told([f"prompt {row}" for row in range(2000)], features)
    model = stacked(parts, penalties=(0.1,)).fit(x, truth)
    (reasons,) = model.explain(told(["new"], np.array([[1.0, 1.0, 1.0]])))
    assert reasons["first: said"] == pytest.approx(0.7, abs=0.005)
    assert reasons["second: said"] == pytest.approx(-0.2, abs=0.005)
    assert reasons["third: said"] == pytest.approx(0, abs=0.005)
    assert reasons["base"] == pytest.approx(3, abs=0.005)
    # Five times without a fifth, then once on all.
    assert parts[0].shown == [1600] * 5 + [2000]


def test_targets_learn_from_each_other_only_when_shared() -> None:
    rng = np.random.default_rng(7)
    features = rng.normal(size=(500, 2))
    # What the part says of target 1 is exactly target 0, and the other way round.
    truth = features[:, ::-1].copy()
    x = told([f"prompt {row}" for row in range(500)], features)
    shared = stacked([Says([0, 1])]).fit(x, truth).predict(x)
    apart = stacked([Says([0, 1])], shared=False).fit(x, truth).predict(x)
    assert np.abs(shared - truth).mean() < 0.01 and np.abs(apart - truth).mean() > 0.5


def test_a_part_that_learns_by_heart_gains_nothing_by_it() -> None:
    """Out of fold a memory is worth nothing; weighed on what it was fitted on, it would be worth all."""

    class ByHeart(Says):
        def fit(self, x: Examples, truth: np.ndarray) -> Says:
            self.known = {prompt.text: float(row[0]) for prompt, row in zip(x.prompts, truth, strict=True)}
            return self

        def predict(self, x: Examples) -> np.ndarray:
            return np.array([[self.known.get(prompt.text, 0.0)] for prompt in x.prompts]).reshape(-1, 1)

    rng = np.random.default_rng(8)
    features = rng.normal(size=(400, 1))
    # Every prompt is there twice: together in one fold, or the memory would seem to work.
    x = told([f"prompt {row // 2}" for row in range(400)], features)
    truth = np.repeat(rng.normal(size=(200, 1)), 2, axis=0) + features
    model = stacked([Says([0]), ByHeart([0])]).fit(x, truth)
    (reasons,) = model.explain(told(["prompt 0"], np.array([[1.0]])))
    assert reasons["first: said"] == pytest.approx(1, abs=0.15) and "second: said" not in reasons


def test_a_stack_encodes_every_prompt_once() -> None:
    encoder, x, truth = cloud()
    parts = [kernel_ridge.target(encoder=encoder), support_vectors.target(encoder=encoder)]
    stacked(parts).fit(x, truth)  # type: ignore[arg-type]
    assert encoder.asked == 1
