"""Predictors of answers: additive kernels by hand arithmetic, and networks that learn from drawings."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from PIL.ImageFilter import GaussianBlur

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.pictures import Picture
from sightline.records import Examples, Prompt, PromptKey


def picture(image: Image.Image) -> Picture:
    file = io.BytesIO()
    image.save(file, "PNG")
    return Picture(file.getvalue())


def drawings(n: int, seed: int) -> tuple[Examples, np.ndarray]:
    """Pictures of random rectangles, blurred by so much; people like sharp ones."""
    rng = np.random.default_rng(seed)
    pictures, truth = [], []
    for _ in range(n):
        pixels = np.zeros((96, 96, 3), dtype=np.uint8)
        for _ in range(14):
            top, left = rng.integers(0, 80, 2)
            down, across = rng.integers(8, 40, 2)
            pixels[top : top + down, left : left + across] = rng.integers(0, 256, 3)
        blur = float(rng.uniform(0, 4))
        pictures.append([picture(Image.fromarray(pixels).filter(GaussianBlur(blur)))])
        truth.append(5 - blur)
    prompts = [Prompt(PromptKey("s", str(number)), "rectangles") for number in range(n)]
    return Examples(prompts, np.zeros((n, 0)), (), pictures), np.array(truth)[:, None]


@pytest.mark.parametrize(
    ("recipe", "least"),
    [
        ("patch_cnn(epochs=15, kernels=8)", 0.7),
        ("bilinear_head(content=brisque_features, rendering=gmlf, epochs=80)", 0.6),
        ("hyper_head(content=colour_layout, rendering=brisque_features, epochs=40)", 0.7),
    ],
)
def test_a_head_learns_how_sharp_drawings_are(recipe: str, least: float) -> None:
    pytest.importorskip("torch")
    (seen, truth), (new, expected) = drawings(90, 0), drawings(40, 1)
    chosen = registry.configure("predictor", recipe)
    model = chosen.load().fit(seen, truth)
    guess = model.predict(new)
    assert np.corrcoef(guess[:, 0], expected[:, 0])[0, 1] > least
    assert np.allclose(chosen.load().restore(model.state()).predict(new), guess)
    # A permuted truth teaches less, the true one more than the mean.
    mixed = chosen.load().fit(seen, np.random.default_rng(2).permutation(truth)).predict(new)
    of_the_mean = float(np.abs(truth.mean() - expected).mean())
    right, wrong = (float(np.abs(each - expected).mean()) for each in (guess, mixed))
    assert right < 0.85 * min(of_the_mean, wrong)


def test_the_kernels_of_answer_ridge_add_up_as_by_hand() -> None:
    """Two prompts, one measure: K = (wording + measures) / 2, solved as 2 x 2 equations."""
    prompts = [Prompt(PromptKey("s", str(n)), text) for n, text in enumerate(("cat", "dog", "cat"))]
    x = Examples(prompts, np.array([[1.0], [3.0], [2.0]]), ["m"])
    truth = np.array([[1.0], [3.0], [2.0]])
    recipe = "answer_ridge(image=0.0, wording=1.0, measures=1.0, wording_width=1.0, penalty=0.5)"
    model = registry.configure("predictor", recipe).load().fit(x, truth)
    z = (x.features[:, 0] - 2) / np.sqrt(2 / 3)
    vectors = registry.configure("encoder", "hashed_words").load().text(["cat", "dog", "cat"]).astype(float)
    spread = ((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1).mean()
    apart = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    kernel = (np.exp(-apart / spread) + np.outer(z, z)) / 2
    expected = kernel @ np.linalg.solve(kernel + 0.5 * np.eye(3), truth[:, 0] - 2) + 2
    assert np.allclose(model.predict(x)[:, 0], expected)
    parts = model.explain(x)[0]
    assert parts["base"] == 2 and parts["image"] == 0 and parts["image x wording"] == 0
    assert np.isclose(sum(parts.values()), expected[0])


def test_support_vectors_agree_with_scikit_learn() -> None:
    from sklearn.svm import SVR

    x, truth = drawings(30, 3)
    recipe = "answer_support_vectors(wording=0.0, measures=0.0, C=2.0, epsilon=0.1)"
    model = registry.configure("predictor", recipe).load().fit(x, truth)
    vectors = registry.configure("encoder", "colour_layout").load().image([mine[0] for mine in x.pictures])
    vectors = vectors.astype(np.float64)
    gamma = 1 / ((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1).mean()
    mean, spread = truth.mean(), truth.std()
    known = SVR(C=2.0, epsilon=0.1, gamma=gamma).fit(vectors, (truth[:, 0] - mean) / spread)
    assert np.allclose(model.predict(x)[:, 0], known.predict(vectors) * spread + mean, atol=2e-2)


def test_settings_that_learn_nothing_are_refused() -> None:
    for recipe in (
        "answer_ridge(penalty=0.0)",
        "answer_ridge(image=0.0, wording=0.0, measures=0.0)",
        "answer_support_vectors(C=0.0)",
        "answer_ridge(image_width=0.0)",
        "patch_cnn(kernels=0)",
        "bilinear_head(units=0)",
    ):
        with pytest.raises(UsageError):
            registry.configure("predictor", recipe).load()


def test_answers_without_any_image_are_refused_and_one_without_gets_no_part_of_it() -> None:
    x, truth = drawings(12, 4)
    blind = Examples(x.prompts, x.features, x.feature_names, [[] for _ in x.prompts])
    model = registry.configure("predictor", "answer_ridge").load()
    with pytest.raises(DataError, match="image"):
        model.fit(blind, truth)
    model.fit(x, truth)
    some = Examples(x.prompts[:2], x.features[:2], (), [x.pictures[0], []])
    assert model.explain(some)[1]["image"] == 0 != model.explain(some)[0]["image"]
