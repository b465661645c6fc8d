"""The arithmetic of each predictor against an independent library or by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVR

from sightline import registry
from sightline.errors import DataError
from sightline.prediction.predictors._parts import penalised
from sightline.prediction.predictors.kernel_ridge import kernel_ridge
from sightline.prediction.predictors.quadratic import quadratic
from sightline.prediction.predictors.stack import stack
from sightline.prediction.predictors.support_vectors import support_vectors
from sightline.prediction.predictors.tfidf_ridge import tfidf_ridge
from sightline.records import Examples, Prompt, PromptKey


def told(texts: Sequence[str], features: np.ndarray | None = None) -> Examples:
    given = np.zeros((len(texts), 0)) if features is None else features
    prompts = [Prompt(PromptKey("s", str(row)), text) for row, text in enumerate(texts)]
    return Examples(prompts, given, [f"feature {number}" for number in range(given.shape[1])])


def described(features: np.ndarray) -> Examples:
    return told(["the same words"] * len(features), features)


def load(spec: str) -> Any:
    return registry.configure("predictor", spec).load()


class Numbers:
    """An encoder whose vectors are given, in blocks, and which counts how often it was asked."""

    def __init__(self, vectors: np.ndarray, *blocks: int) -> None:
        self.vectors = vectors
        self.blocks = blocks or (vectors.shape[1],)
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
    x = described(features)
    model = load("trees(n_estimators=30, depth=3, learning_rate=0.1)").fit(x, truth[:, None])
    shape = {"n_estimators": 30, "max_depth": 3, "learning_rate": 0.1, "min_samples_leaf": 5}
    reference = GradientBoostingRegressor(**shape, subsample=0.5, init="zero", random_state=0)
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
    empty = [load("mean") for _ in range(5 - len(parts))]
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


def drawn(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 2))


def test_mean_predicts_the_mean() -> None:
    model = load("mean").fit(described(drawn(3)), np.array([[1, 0], [2, np.nan], [6, 4.0]]))
    assert model.predict(described(drawn(2))) == pytest.approx(np.array([[3, 2], [3, 2]]))


def test_ridge_finds_a_line() -> None:
    features, new = drawn(200), drawn(50, seed=1)
    model = load("ridge").fit(described(features), 3 + features @ [[2.0], [-1.0]])
    # The smallest penalty of 0.1 over 200 standardised rows shrinks a slope by about 0.1 / 200.
    assert model.predict(described(new)) == pytest.approx(3 + new @ [[2.0], [-1.0]], abs=0.01)


def test_ridge_reads_the_wording() -> None:
    texts = ["a dragon" if row % 2 else "a cup" for row in range(60)]
    truth = np.array([[row % 2] for row in range(60)], dtype=np.float64)
    model = load("ridge").fit(told(texts), truth)
    dragon, cup = model.predict(told(["two dragons", "two cups"]))[:, 0]
    assert dragon > 0.55 and cup < 0.45


def test_ridge_keeps_to_the_mean_where_there_is_nothing_to_learn() -> None:
    rng = np.random.default_rng(0)
    model = load("ridge").fit(described(rng.normal(size=(100, 20))), rng.normal(size=(100, 1)))
    assert model.predict(described(rng.normal(size=(100, 20)))).std() < 0.2


def test_a_feature_without_a_value_counts_as_average() -> None:
    features = drawn(100)
    features[::3, 1] = np.nan
    model = load("ridge").fit(described(features), features[:, :1])
    holes, average = np.array([[1.0, np.nan]]), np.array([[1.0, np.nanmean(features[:, 1])]])
    assert model.predict(described(holes)) == pytest.approx(model.predict(described(average)))


def test_ridge_names_its_features_and_refuses_others() -> None:
    x = described(drawn(5))
    model = load("ridge").fit(x, np.arange(10.0).reshape(5, 2))
    names = ("base", "feature 0", "feature 1", "wording")
    assert set(model.explain(x)[0]) == {f"{name}[{target}]" for name in names for target in (0, 1)}
    with pytest.raises(DataError, match="feature 0, feature 1, but given feature 0"):
        model.predict(described(np.zeros((2, 1))))


def chances(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, whether it came true, and the chance that it would."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    chance = 1 / (1 + np.exp(-(features @ [1.5, -1, 0] - 0.5)))
    return features, (rng.random(n) < chance).astype(np.float64)[:, None], chance


def test_logistic_is_scikit_learns() -> None:
    features, truth, _ = chances(300)
    model = load("logistic(penalty=2.0)").fit(described(features), truth)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    other = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(scaled, truth[:, 0])
    assert model.predict(described(features))[:, 0] == pytest.approx(
        other.predict_proba(scaled)[:, 1], abs=1e-5
    )


def test_what_logistic_predicts_comes_true_as_often() -> None:
    features, truth, _ = chances(2000)
    new, _, chance = chances(1000, seed=1)
    predicted = load("logistic").fit(described(features), truth).predict(described(new))
    assert np.abs(predicted[:, 0] - chance).mean() < 0.03


def test_half_truths_count_half() -> None:
    """A truth of 0.5 is one vote for and one against: twice the rows with both say the same."""
    features, truth, _ = chances(60)
    x = described(features)
    soft = np.where(np.arange(60)[:, None] % 2, 0.5, truth)
    votes = np.repeat(soft, 2, axis=0)
    votes[2::4] = 0
    votes[3::4] = 1
    halved = load("logistic(penalty=2.0)").fit(described(np.repeat(features, 2, axis=0)), votes)
    whole = load("logistic(penalty=1.0)").fit(x, soft)
    assert halved.predict(x) == pytest.approx(whole.predict(x), abs=1e-4)


def test_average_features_add_nothing_to_a_chance() -> None:
    features, truth, _ = chances(80)
    model = load("logistic").fit(described(features), truth)
    (parts,) = model.explain(described(features.mean(axis=0, keepdims=True)))
    assert all(abs(part) < 1e-9 for name, part in parts.items() if name != "base")


def test_other_truth_is_brought_to_its_ends_and_back() -> None:
    features, truth, _ = chances(100)
    x = described(features)
    plain = load("logistic").fit(x, truth).predict(x)
    assert load("logistic").fit(x, truth * 5 - 2).predict(x) == pytest.approx(plain * 5 - 2)
    assert load("logistic").fit(x, np.full((100, 1), 7.0)).predict(x) == pytest.approx(7.0)
    # Truth that is all alike does not run away.
    alike = load("logistic").fit(x, np.ones((100, 1)))
    assert np.isfinite(alike.state()["intercept"]).all()
    assert (alike.predict(x) > 0.99).all() and (alike.predict(x) <= 1).all()


def numbered(*rows: int) -> Examples:
    return told([str(row) for row in range(*rows)])


def test_quadratic_is_kernel_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(120, 7)).astype(np.float32) + 3
    truth = np.stack([vectors[:, 0] * vectors[:, 1], vectors[:, 2]], axis=1)
    model = quadratic.target(encoder=Numbers(vectors, 4, 3), dimensions=7, penalties=(0.5,))
    model.fit(numbered(100), truth[:100])
    centred = vectors - vectors[:100].mean(axis=0)
    halves = (centred[:, :4], centred[:, 4:])
    even = np.hstack([half / np.linalg.norm(half, axis=1, keepdims=True) for half in halves])
    size = (even[:100] ** 2).sum(axis=1).mean()
    # (1 + p'q / s)^2 / 2 is scikit-learn's (gamma p'q + 1)^2 halved, and so are kernel and penalty.
    other = KernelRidge(alpha=0.5 * 2, kernel="poly", degree=2, gamma=1 / size, coef0=1)
    mean = truth[:100].mean(axis=0)
    wanted = other.fit(even[:100], truth[:100] - mean).predict(even[100:]) + mean
    np.testing.assert_allclose(model.predict(numbered(100, 120)), wanted, atol=1e-4)


def test_quadratic_follows_a_product_that_no_line_can_follow() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(800, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    truth = (vectors[:, 0] * vectors[:, 1])[:, None] + 0.01 * rng.normal(size=(800, 1))
    model = quadratic.target(encoder=Numbers(vectors), penalties=(0.01, 0.1, 1.0))
    predicted = model.fit(numbered(600), truth[:600]).predict(numbered(600, 800))
    assert np.corrcoef(predicted[:, 0], truth[600:, 0])[0, 1] > 0.9
    straight = np.linalg.lstsq(vectors[:600], truth[:600, 0], rcond=None)[0]
    assert abs(np.corrcoef(vectors[600:] @ straight, truth[600:, 0])[0, 1]) < 0.3


def test_quadratic_says_the_mean_of_texts_that_all_say_the_same() -> None:
    same = Numbers(np.ones((6, 3), dtype=np.float32))
    model = quadratic.target(encoder=same).fit(numbered(6), np.arange(6.0)[:, None])
    np.testing.assert_allclose(model.predict(numbered(2)), 2.5)
