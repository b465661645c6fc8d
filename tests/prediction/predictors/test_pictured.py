"""Predictors that see images: do they learn what images tell, and only that? Torch, in seconds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import Configured, Picture
from sightline.prediction.predictors._pictured import SYSTEMS
from sightline.records import Examples, Prompt, PromptKey

RED, BLUE, GREEN, WHITE = (220, 10, 10), (10, 10, 220), (10, 220, 10), (240, 240, 240)
PAINTS = (RED, BLUE, GREEN, WHITE)
NAMES = {"red": RED, "blue": BLUE, "green": GREEN, "white": WHITE}


def painted(colour: Sequence[int]) -> Picture:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), tuple(colour)).save(file, "PNG")
    return Picture(file.getvalue())


class Colours:
    """Texts by the colours they name, images by their mean colour, both around the middle grey."""

    def text(self, texts: Sequence[str]) -> np.ndarray:
        rows = [np.mean([NAMES[word] for word in text.split() if word in NAMES], axis=0) for text in texts]
        return (np.array(rows, dtype=np.float32).reshape(-1, 3) - 100) / 100

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        rows = [image.rgb.mean(axis=(0, 1)) for image in images]
        return (np.array(rows, dtype=np.float32).reshape(-1, 3) - 100) / 100


COLOURS = Colours()


def load(text: str) -> Configured:
    return registry.configure("predictor", text).load({"encoder": COLOURS})


def alike(n: int, seed: int = 0, counts: Sequence[int] = (4,)) -> tuple[Examples, np.ndarray]:
    """Prompts of the same words with images of one colour (truth 1), of two (0.5) or all different (0)."""
    rng = np.random.default_rng(seed)
    shown, truth = [], []
    for row in range(n):
        kind = int(rng.integers(3))
        order = rng.permutation(4)
        colours = ([order[0]] * 4, [order[0]] * 2 + [order[1]] * 2, list(order))[kind]
        count = counts[row % len(counts)]
        shown.append([painted(np.array(PAINTS[c]) + rng.integers(0, 10, 3)) for c in colours[:count]])
        truth.append([1 - kind / 2])
    prompts = [Prompt(PromptKey("s", str(row)), "red") for row in range(n)]
    return Examples(prompts, np.zeros((n, 0)), (), shown), np.array(truth)


def fitting(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Prompts that name a colour, with two images each; truth is the share that has it."""
    rng = np.random.default_rng(seed)
    names = list(NAMES)
    prompts, shown, truth = [], [], []
    for row in range(n):
        asked = names[int(rng.integers(4))]
        given = [asked if rng.random() < 0.5 else names[int(rng.integers(4))] for _ in range(2)]
        prompts.append(Prompt(PromptKey("s", str(row)), f"something {asked}"))
        shown.append([painted(np.array(NAMES[each]) + rng.integers(0, 10, 3)) for each in given])
        truth.append([np.mean([each == asked for each in given])])
    return Examples(prompts, np.zeros((n, 0)), (), shown), np.array(truth)


@pytest.mark.slow
def test_the_matrix_of_cosines_is_learned_from() -> None:
    x, truth = alike(150)
    model = load("correlation_cnn(epochs=12, learning_rate=0.001, batch=32)").fit(x, truth)
    new, expected = alike(60, seed=1)
    told = model.predict(new)
    # Wording and single images say nothing here: only how alike the images are.
    assert np.corrcoef(told[:, 0], expected[:, 0])[0, 1] > 0.9


def test_the_grid_takes_the_pair_of_least_held_out_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline.prediction.predictors import correlation_cnn as module

    monkeypatch.setattr(module, "RATES", (1e-3, 1e-9))
    monkeypatch.setattr(module, "DECAYS", (0.0,))
    x, truth = alike(40)
    model = load("correlation_cnn(epochs=10, learning_rate=1e-9, grid=True)").fit(x, truth)
    idle = load("correlation_cnn(epochs=10, learning_rate=1e-9)").fit(x, truth)
    # At 1e-9 nothing is learned, and the mean is said of all; the grid finds the rate at which something is.
    assert np.ptp(idle.predict(x)) < 1e-3 < 0.3 < np.ptp(model.predict(x))


def test_the_head_learns_which_image_fits_its_prompt() -> None:
    x, truth = fitting(300)
    model = load("image_text_head(epochs=25, patience=25)").fit(x, truth)
    new, expected = fitting(80, seed=1)
    assert np.corrcoef(model.predict(new)[:, 0], expected[:, 0])[0, 1] > 0.9
    # Each image's part: the one that fits lies above the base, the other below, whatever their place.
    one = Examples(
        [Prompt(PromptKey("s", "x"), "something blue")],
        np.zeros((1, 0)),
        (),
        [[painted(BLUE), painted(WHITE)]],
    )
    (told,) = model.explain(one)
    assert told["image 1"] > 0.05 > -0.05 > told["image 2"]


def test_the_head_learns_single_images_and_predicts_their_mean() -> None:
    """Fitted on one image an example, as in the paper, it predicts of a prompt the mean over its images."""
    x, _ = fitting(150)
    single = Examples(
        [prompt for prompt, mine in zip(x.prompts, x.pictures, strict=True) for _ in mine],
        np.zeros((300, 0)),
        (),
        [[picture] for mine in x.pictures for picture in mine],
    )
    fits = [
        [float(np.abs(picture.rgb.mean(axis=(0, 1)) - NAMES[prompt.text.split()[1]]).max() < 20)]
        for prompt, (picture,) in zip(single.prompts, single.pictures, strict=True)
    ]
    model = load("image_text_head(loss=chances, epochs=15, patience=15)").fit(single, np.array(fits))
    of_images = model.predict(single)[:, 0]
    assert of_images.min() >= 0 and of_images.max() <= 1
    assert (
        of_images[np.array(fits)[:, 0] == 1].mean() > 0.8 > 0.2 > of_images[np.array(fits)[:, 0] == 0].mean()
    )
    assert model.predict(x)[:, 0] == pytest.approx(of_images.reshape(-1, 2).mean(axis=1))
    with pytest.raises(DataError, match="from 0 to 1"):
        model.fit(single, np.array(fits) * 2)


@pytest.mark.parametrize("spec", ["correlation_cnn(epochs=2)", "image_text_head(epochs=2)"])
class TestBoth:
    def test_parts_add_up_to_the_prediction(self, spec: str) -> None:
        x, truth = fitting(30)
        both = np.hstack([truth, 3 - truth * 2])
        for targets in (1, 2):
            model = load(spec).fit(x, both[:, :targets])
            predicted = model.predict(x)
            for row, parts in enumerate(model.explain(x)):
                assert sum(parts.values()) == pytest.approx(predicted[row].sum())
        assert set(model.explain(x)[0]) == {
            f"{name}[{target}]" for name in ("base", "image 1", "image 2") for target in (0, 1)
        }

    def test_a_seed_is_a_network(self, spec: str) -> None:
        x, truth = fitting(30)
        first = load(spec).fit(x, truth).predict(x)
        np.testing.assert_allclose(load(spec).fit(x, truth).predict(x), first, rtol=1e-4, atol=1e-5)
        other = load(spec.replace("epochs=2", "epochs=2, seed=1")).fit(x, truth).predict(x)
        assert not np.allclose(other, first)

    def test_it_survives_a_file_without_pickles(self, spec: str, tmp_path: Path) -> None:
        x, truth = fitting(20)
        model = load(spec).fit(x, truth)
        np.savez(tmp_path / "state.npz", **model.state())
        with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
            again = load(spec).restore(state)
        np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-4, atol=1e-5)
        one = x.take(np.array([3]))
        assert again.explain(one)[0] == pytest.approx(model.explain(one)[0], rel=1e-4, abs=1e-5)

    def test_prompts_without_images_get_the_mean(self, spec: str) -> None:
        x, truth = fitting(20)
        model = load(spec).fit(x, truth)
        none = Examples(x.prompts[:2], np.zeros((2, 0)), (), [[], []])
        assert model.predict(none) == pytest.approx(np.full((2, 1), truth.mean()))
        assert model.explain(none)[0] == {"base": pytest.approx(truth.mean())}
        with pytest.raises(DataError, match="images of the prompts are needed"):
            model.predict(Examples(x.prompts, np.zeros((20, 0)), ()))
        with pytest.raises(DataError, match="none of the prompts has an image"):
            load(spec).fit(none, truth[:2])

    def test_truth_that_is_missing_is_not_learned_from(self, spec: str) -> None:
        x, truth = fitting(24)
        gaps = truth.copy()
        gaps[::3] = np.nan
        told = load(spec).fit(x, gaps).predict(x)
        assert np.isfinite(told).all()
        # A row without truth has no say: whatever it shows, the others are told the same.
        other = [mine if row % 3 else [painted(RED)] for row, mine in enumerate(x.pictures)]
        changed = Examples(x.prompts, x.features, (), other)
        rows = np.flatnonzero(np.arange(24) % 3)
        assert load(spec).fit(changed, gaps).predict(changed)[rows] == pytest.approx(told[rows])
        with pytest.raises(DataError, match="no settled value"):
            load(spec).fit(x, np.full((24, 1), np.nan))

    def test_vectors_are_made_once(self, spec: str) -> None:
        x, truth = fitting(20)
        seen: list[int] = []

        class Counting(Colours):
            def image(self, images: Sequence[Picture]) -> np.ndarray:
                seen.append(len(images))
                return super().image(images)

        encoder = Counting()
        model = registry.configure("predictor", spec).load({"encoder": encoder})
        ready = model.prepare(x)
        carried = model.fit(ready.take(np.arange(15)), truth[:15]).predict(ready.take(np.arange(15, 20)))
        assert len(seen) == 1
        assert carried == pytest.approx(load(spec).fit(x.take(np.arange(15)), truth[:15]).predict(x)[15:])


def test_fewer_images_than_learned_leave_places_empty_and_more_are_cut() -> None:
    x, truth = alike(30, counts=(4, 2, 3))
    model = load("correlation_cnn(epochs=1)").fit(x, truth)
    (matrix, *_), (owned, *_) = model._matrices(x.take(np.array([1])))
    assert matrix.shape == (1, 4, 4) and owned.sum() == 2
    assert matrix[0, :2, :2].diagonal() == pytest.approx([1, 1])
    assert not matrix[0, 2:].any() and not matrix[0, :, 2:].any()
    narrow = load("correlation_cnn(epochs=1, most=2)").fit(x, truth)
    assert narrow._matrices(x)[0].shape == (30, 1, 2, 2)


def test_the_matrix_is_of_cosines() -> None:
    x, truth = alike(6)
    model = load("correlation_cnn(epochs=1)").fit(x, truth)
    vectors = COLOURS.image(x.pictures[0]).astype(np.float64)
    length = np.linalg.norm(vectors, axis=1)
    assert model._matrices(x)[0][0, 0] == pytest.approx(vectors @ vectors.T / np.outer(length, length))


def test_systems_apart_are_channels_of_their_own() -> None:
    x, truth = alike(12)
    names = np.array([["engine b", "engine a", "engine a", "engine b"]] * 12)
    told = Examples(x.prompts, x.features, (), x.pictures, {SYSTEMS: names})
    model = load("correlation_cnn(epochs=1, apart=True)").fit(told, truth)
    matrices, owned = model._matrices(told)
    assert matrices.shape == (12, 2, 2, 2) and owned.all()
    vectors = COLOURS.image([x.pictures[0][1], x.pictures[0][2]]).astype(np.float64)
    cosine = vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1))
    assert matrices[0, 0, 0, 1] == pytest.approx(cosine)
    assert "engine a image 1" in model.explain(told)[0]
    other = Examples(x.prompts, x.features, (), x.pictures, {SYSTEMS: np.full((12, 4), "engine c")})
    with pytest.raises(DataError, match="nothing was learned of the images of engine c"):
        model.predict(other)


@pytest.mark.parametrize(("side", "left"), [(1, 1), (2, 1), (4, 1), (25, 1), (33, 2)])
def test_poolings_that_would_leave_nothing_are_left_out(side: int, left: int) -> None:
    import torch

    from sightline.prediction.predictors.correlation_cnn import _convolved, _forward

    model = load("correlation_cnn")
    model._channels, model._side = ("",), side
    shapes = model._shapes(1)
    assert shapes["dense"] == (1024, 512 * left * left)
    rng = np.random.default_rng(0)
    weights = {name: torch.from_numpy(rng.normal(size=shape)) for name, shape in shapes.items()}
    assert _forward(weights, torch.zeros((3, 1, side, side), dtype=torch.float64)).shape == (3, 1)
    held = torch.from_numpy(rng.normal(size=(2, 1, side, side)))
    same = torch.nn.functional.conv2d(held, weights["conv0"], weights["conv0.base"], padding=1)
    assert torch.allclose(_convolved(held, weights["conv0"], weights["conv0.base"]), same)


def test_bad_settings_are_refused() -> None:
    for spec, what in (
        ("correlation_cnn(most=0)", "most=0"),
        ("correlation_cnn(epochs=0)", "epochs=0"),
        ("image_text_head(learning_rate=0)", "learning_rate=0"),
        ("image_text_head(loss=angry)", "no loss 'angry'"),
    ):
        with pytest.raises(UsageError, match=what):
            load(spec)


def test_encoders_that_share_no_space_are_refused() -> None:
    class Apart(Colours):
        def text(self, texts: Sequence[str]) -> np.ndarray:
            return np.zeros((len(texts), 5), dtype=np.float32)

    x, truth = fitting(12)
    model = registry.configure("predictor", "image_text_head(epochs=1)").load({"encoder": Apart()})
    with pytest.raises(DataError, match="texts 5 numbers and images 3"):
        model.fit(x, truth)
