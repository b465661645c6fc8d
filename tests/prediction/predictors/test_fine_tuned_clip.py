"""CLIP tuned end to end: it learns what only its own networks can tell, resumes, and restores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.errors import DataError
from sightline.records import Examples, Prompt, PromptKey

Small = Callable[[str], Path]
COLOURS = {"red": (220, 10, 10), "blue": (10, 10, 220)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SIGHTLINE_DEVICE", "cpu")


def examples(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Prompts that name a colour, with images in it (truth 1) or in the other (0); the last has none."""
    rng = np.random.default_rng(seed)
    prompts, shown, truth = [], [], []
    for row in range(n):
        name = ("red", "blue")[row % 2]
        right = int(rng.integers(2))
        colour = COLOURS[name if right else ("blue", "red")[row % 2]]
        paint = np.clip(np.array(colour) + rng.integers(-10, 35, (2, 32, 32, 3)), 0, 255)
        prompts.append(Prompt(PromptKey("s", str(row)), f"a {name} thing {row}"))
        shown.append([picture(each) for each in paint[: 1 + row % 2]])
        truth.append([10.0 * right, 3.0])
    return Examples(prompts, np.zeros((n, 0)), [], shown), np.array(truth)


def load(folder: Path, **more: Any) -> Any:
    chosen = {"epochs": 6, "batch": 16, "learning_rate": 0.003, "rank": 4, **more}
    named = {"model": str(folder), "sha256": content_hash(folder), **chosen}
    return registry.configure("predictor", "fine_tuned_clip", **named).load()


def test_it_learns_from_words_and_pixels_together(small_checkpoint: Small) -> None:
    folder = small_checkpoint("clip")
    x, truth = examples(48)
    model = load(folder, epochs=25).fit(x, truth)
    fresh, expected = examples(24, seed=1)
    found = model.predict(fresh)
    # Neither words nor colours alone tell anything; together they tell all of it.
    assert np.corrcoef(found[:, 0], expected[:, 0])[0, 1] > 0.8
    assert found[:, 1] == pytest.approx(3.0), "a truth that never varies"
    assert (found[:, 0] >= 0).all() and (found[:, 0] <= 10).all()
    # The networks themselves have changed, not only the head over them.
    tuned = [name for name in model.state() if name.endswith(".up")]
    assert any("vision_model" in name for name in tuned) and any("text_model" in name for name in tuned)
    assert all(np.abs(model.state()[name]).max() > 0 for name in tuned)
    reasons = model.explain(fresh)
    for row, each in enumerate(reasons):
        for column in range(2):
            mine = {name: value for name, value in each.items() if name.endswith(f"[{column}]")}
            assert mine.keys() >= {f"base[{column}]", f"image 1[{column}]"}
            assert sum(mine.values()) == pytest.approx(found[row, column], abs=1e-4)


def test_restored_it_predicts_the_same_and_nothing_hangs_on_the_batch(small_checkpoint: Small) -> None:
    folder = small_checkpoint("clip")
    x, truth = examples(20)
    shown = [[], *x.pictures[1:]]
    x = replace(x, pictures=shown)
    model = load(folder, epochs=2, rank=0).fit(x, truth)
    found = model.predict(x)
    assert found[0] == pytest.approx(np.nanmean(truth, axis=0)), "a prompt without images"
    again = load(folder, epochs=2, rank=0).restore(model.state())
    np.testing.assert_allclose(again.predict(x), found, atol=1e-5)
    rows = np.array([7, 3])
    np.testing.assert_allclose(again.predict(x.take(rows)), found[rows], atol=1e-4)
    assert again.predict(x.take(np.array([], dtype=np.int64))).shape == (0, 2)
    with pytest.raises(DataError, match="on top of another checkpoint"):
        load(folder).restore({**model.state(), "encoder": np.array("other")})
    with pytest.raises(DataError, match="none of the prompts has an image"):
        load(folder).fit(replace(x, pictures=[[]] * len(x)), truth)


def test_an_interrupted_fit_goes_on_where_it_was(small_checkpoint: Small) -> None:
    folder = small_checkpoint("clip")
    x, truth = examples(20)
    whole = load(folder, epochs=3, seed=5).fit(x, truth).state()
    heard: list[int] = []

    class Stop(Exception):
        pass

    def stopping(epoch: Any) -> None:
        heard.append(epoch.number)
        if len(heard) == 2:
            raise Stop

    import shutil

    from sightline.weights import cache_folder

    shutil.rmtree(cache_folder() / "tuning")
    stopped = load(folder, epochs=3, seed=5)
    stopped.listener = stopping
    with pytest.raises(Stop):
        stopped.fit(x, truth)
    resumed = load(folder, epochs=3, seed=5)
    resumed.listener = lambda epoch: heard.append(epoch.number)
    resumed.fit(x, truth)
    assert heard == [1, 2, 3]
    for name, array in resumed.state().items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, whole[name], atol=1e-5)
