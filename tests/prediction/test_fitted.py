"""Fitted predictors as files: what was learned comes back, and nothing that could run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.prediction.fitted import (
    FORMAT,
    RECIPES,
    described,
    fit,
    intervals_of,
    load,
    numbered,
    recipe_of,
    save,
)

THINGS = ("cat", "dog", "train", "bridge", "violin", "crowd", "clock", "zebra")


def prompts(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, len(THINGS), size=(n, 2))
    texts = [f"a {THINGS[one]} beside a {THINGS[two]}" for one, two in pairs]
    ease = (pairs < 3).sum(axis=1) + 0.3 * rng.normal(size=n)
    return texts, np.stack([ease, -ease + rng.normal(size=n)], axis=1)


def test_what_was_learned_comes_back(tmp_path: Path) -> None:
    texts, truth = prompts(200)
    made = fit("small", texts, truth, targets=["easy", "hard"], about={"by": "us"})
    save(tmp_path / "own.npz", made)
    again = load(tmp_path / "own.npz")
    new, _ = prompts(40, seed=1)
    # Large arrays are kept in half precision: 11 bits, so that a sum of terms is off by some 1e-3 at most.
    np.testing.assert_allclose(again.values(new), made.values(new), atol=2e-3)
    assert again.targets == ["easy", "hard"] and again.about == {"by": "us"}
    values = made.values(new)
    np.testing.assert_array_equal(again.limits(new, values), made.limits(new, values))


def test_it_learns_and_its_intervals_hold() -> None:
    """Calibrated on 400: coverage of 1,000 new ones has deviation sqrt(.09 / 400 + .09 / 1000) = .018."""
    texts, truth = prompts(400)
    made = fit("small", texts, truth)
    new, wanted = prompts(1000, seed=1)
    values = made.values(new)
    low, high = made.limits(new, values)
    assert np.corrcoef(values[:, 0], wanted[:, 0])[0, 1] > 0.8
    for inside in ((low <= wanted) & (wanted <= high)).T:
        assert 0.9 - 4 * 0.018 < inside.mean() < 0.9 + 4 * 0.018


def test_any_predictor_can_be_fitted() -> None:
    texts, truth = prompts(60)
    made = fit("tfidf_ridge", texts, truth[:, :1])
    assert made.recipe.startswith("stack(first=tfidf_ridge")
    assert made.values(["a cat beside a dog"])[0, 0] > made.values(["a zebra beside a clock"])[0, 0]
    assert made.values([]).shape == (0, 1)


def test_too_few_to_calibrate_on_gives_no_finite_interval(tmp_path: Path) -> None:
    texts, truth = prompts(6)
    made = fit("tfidf_ridge", texts, truth)
    save(tmp_path / "few.npz", made)
    for each in (made, load(tmp_path / "few.npz")):
        assert np.isinf(each.limits(texts, truth)).all()


def test_prompts_with_a_number_have_intervals_of_their_own() -> None:
    """Their errors are four times as large here: intervals of all prompts would hold too few of them."""
    rng = np.random.default_rng(0)
    texts = ["two cups" if n % 4 == 0 else "some cups" for n in range(1200)]
    held = rng.normal(size=(1200, 1))
    large = np.array([4.0 if text.startswith("two") else 1.0 for text in texts])[:, None]
    made = intervals_of(held, held + large * rng.normal(size=(1200, 1)), texts)[0]
    low, high = made.around([0.0, 0.0], numbered(["two cups", "some cups"]))
    # 1.645 deviations either way hold 90 %.
    assert high - low == pytest.approx([4 * 3.29, 3.29], rel=0.25)


def test_a_prompt_learned_from_does_not_know_itself() -> None:
    texts = ["a cat", "a red cat", "a unicorn"]
    made = fit("linear", texts, np.array([[0.0], [1.0], [2.0]]))
    x = described(texts, made.measures, made.terms, learned_from=True)
    unseen = x.features[:, list(x.feature_names).index("unseen")]
    # Nobody else says unicorn; of red cat, nobody else says red.
    np.testing.assert_allclose(unseen, [0, 0.5, 1])


def test_nothing_in_the_file_can_run_and_no_prompt_is_in_it(tmp_path: Path) -> None:
    texts, truth = prompts(100)
    file = tmp_path / "own.npz"
    save(file, fit("small", texts, truth))
    with np.load(file, allow_pickle=False) as opened:
        assert all(opened[name].dtype != object for name in opened.files)
    with zipfile.ZipFile(file) as archive:
        whole = b"".join(archive.read(name) for name in archive.namelist())
    assert not any(text.encode() in whole for text in texts)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04broken"])
def test_a_file_of_another_kind(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "own.npz"
    file.write_bytes(content)
    with pytest.raises(DataError, match="not a fitted predictor") as error:
        load(file)
    assert str(file) in str(error.value)


def test_arrays_of_something_else(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", a=np.zeros(3))
    with pytest.raises(DataError, match="not a fitted predictor"):
        load(tmp_path / "own.npz")
    with pytest.raises(DataError, match="there is no such file"):
        load(tmp_path / "none.npz")


def test_a_format_of_another_time(tmp_path: Path) -> None:
    description = np.frombuffer(b'{"format": 99}', dtype=np.uint8)
    np.savez(tmp_path / "own.npz", description=description)
    with pytest.raises(DataError, match=f"has format 99, and this version of Sightline reads {FORMAT}"):
        load(tmp_path / "own.npz")


def test_asked_wrongly(tmp_path: Path) -> None:
    texts, truth = prompts(30)
    with pytest.raises(UsageError, match=r"does not end in \.npz"):
        save(tmp_path / "own.bin", fit("linear", texts, truth))
    with pytest.raises(UsageError, match="30 texts, but truth of shape"):
        fit("linear", texts, truth[:5])
    with pytest.raises(UsageError, match="no tier 'ligth'") as error:
        recipe_of("ligth")
    assert "small" in str(error.value)
    assert recipe_of("small") == RECIPES["small"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "fine_tuned" else name
        for name in registry.names("predictor")
        if (spec := registry.get("predictor", name).spec).origin == "sightline"
        and spec.details["sees"] == "prompt"
        and not spec.missing()
    ],
)
def test_every_predictor_survives_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    quick = {
        "fine_tuned": "fine_tuned(frozen=5, rank=2, epochs=1)",
        "stack": "stack(second=trees(n_estimators=5))",
    }
    texts, truth = prompts(24)
    made = fit(quick.get(name, name), texts, truth[:, :1])
    save(tmp_path / "own.npz", made)
    np.testing.assert_allclose(load(tmp_path / "own.npz").values(texts), made.values(texts), atol=5e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"targets": None},
        {"targets": ["one", "two"]},
        {"intervals": [1.0, 2.0, 3.0]},
        {"intervals": [[]]},
        {"intervals": [[{"cuts": [1.0], "ends": [[0.0], [1.0]], "moves": False}]]},
        {"about": 5},
        {"recipe": 5},
        {"measures": None},
        {"recipe": "ridge"},
    ],
)
def test_a_damaged_description_is_an_error_that_names_the_file(
    tmp_path: Path, change: dict[str, object]
) -> None:
    texts, truth = prompts(30)
    file = tmp_path / "own.npz"
    save(file, fit("linear", texts, truth[:, :1], targets=["one"]))
    with np.load(file) as opened:
        arrays = {name: opened[name] for name in opened.files}
    description = {**json.loads(arrays["description"].tobytes()), **change}
    arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    np.savez(file, **arrays)
    with pytest.raises(DataError, match="not a fitted predictor"):
        load(file)


def test_intervals_of_few_prompts_hold_what_they_promise() -> None:
    """Nothing to learn: 40 prompts, 2 targets, 90 % promised; 60 fits of 200 new truths each."""
    rng = np.random.default_rng(5)
    texts, _ = prompts(40)
    new, _ = prompts(200, seed=9)
    held = []
    for _ in range(60):
        made = fit("linear", texts, rng.normal(size=(40, 2)))
        low, high = made.limits(new, made.values(new))
        truth = rng.normal(size=(200, 2))
        held.append(((low <= truth) & (truth <= high)).mean())
    # One fit's coverage spreads by about sqrt(.09 / 40) = .047: the mean of 60 by .006.
    assert np.mean(held) > 0.9 - 3 * 0.006


def test_the_space_of_a_model_has_what_it_predicts_alike_together() -> None:
    texts, truth = prompts(120)
    made = fit("small", texts, truth[:, :1])
    near = made.latent(["a cat beside a dog", "a dog beside a cat", "a zebra beside a clock"])
    assert near.shape[0] == 3 and np.isfinite(near).all()
    apart = np.linalg.norm(near[0] - near, axis=1)
    assert apart[1] < 0.5 * apart[2], "the model goes by the words, and these two have the same"
    assert fit("mean", texts, truth[:, :1]).latent(texts[:2]).shape == (2, 1)
