"""The arithmetic of a bridge, against scikit-learn and on data whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.statistics import bridge
from sightline.statistics.bridge import Bridge, Settings

FEW = Settings(0.3, 3.0, 30)


def world(n: int = 60, captions: int = 3, seed: int = 0, noise: float = 0.3) -> tuple[np.ndarray, ...]:
    """Images and captions that show the same hidden things, each through its own noisy lens."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 6))
    owner = np.repeat(np.arange(n), captions)
    lenses = np.random.default_rng(99)
    images = np.maximum(hidden @ lenses.normal(size=(6, 40)) + noise * rng.normal(size=(n, 40)), 0)
    texts = hidden[owner] @ lenses.normal(size=(6, 20)) + noise * rng.normal(size=(len(owner), 20))
    return images, texts / np.linalg.norm(texts, axis=1, keepdims=True), owner


def fitted(**sizes: int) -> tuple[Bridge, tuple[np.ndarray, ...]]:
    seen = world(**sizes)
    return bridge.fit(*seen, Settings(0.3, 3.0, 10)), seen


def test_the_ridge_part_is_kernel_ridge_regression() -> None:
    from sklearn.kernel_ridge import KernelRidge

    found, (images, texts, owner) = fitted()
    roots = np.sqrt(images)
    shown = roots - roots.mean(axis=0)
    shown /= np.linalg.norm(shown, axis=1, keepdims=True)
    said = np.stack([texts[owner == n].mean(axis=0) for n in range(len(images))])
    said -= said.mean(axis=0)
    model = KernelRidge(alpha=0.3, kernel="rbf", gamma=bridge.WIDTH).fit(shown, said)
    new = np.sqrt(world(n=5, seed=7)[0])
    aside = new - roots.mean(axis=0)
    expected = model.predict(aside / np.linalg.norm(aside, axis=1, keepdims=True))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    rows = found.image(new**2)[:, :20]
    np.testing.assert_allclose(rows / np.linalg.norm(rows, axis=1, keepdims=True), expected, atol=1e-6)


def test_canonical_directions_are_those_of_the_library() -> None:
    """Without a strength worth the name the first canonical correlations are scikit-learn's."""
    from sklearn.cross_decomposition import CCA

    images, texts, owner = world(n=400, captions=1, noise=1.0)
    base = bridge._Base(images, texts, owner, 0)
    # The kernel's axes are as many as the images: only with few of them is plain CCA determined.
    keep = np.argsort(base.values)[-12:]
    base.values, base.vectors = base.values[keep], base.vectors[:, keep]
    image_map, offset, text_map = base.canonical(1e-9)
    axes = base.vectors * np.sqrt(base.values)
    model = CCA(3, scale=False, max_iter=5000, tol=1e-12).fit(axes, base.mean_captions)
    x, y = model.transform(axes, base.mean_captions)
    expected = [np.corrcoef(x[:, n], y[:, n])[0, 1] for n in range(3)]
    mine = bridge._kernel(base.landmarks, base.landmarks) @ image_map - offset
    theirs = base.mean_captions @ text_map
    found = [np.corrcoef(mine[:, n], theirs[:, n])[0, 1] for n in range(3)]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_rows_have_length_one_and_products_are_the_corrected_similarity() -> None:
    found, _ = fitted()
    images, texts, _ = world(n=8, seed=3)
    pictures, words = found.image(images), found.text(texts)
    np.testing.assert_allclose(np.linalg.norm(pictures, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(words, axis=1), 1)
    # By hand: mean of both cosines, less half the mean over the 10 nearest captions of the fit.
    seen = pictures[:, :-2] * np.sqrt(1.25)
    said = found._texts(texts)
    hub = np.sort(found.references @ seen.T, axis=0)[-10:].mean(axis=0)
    expected = (said @ seen.T - hub / 2) / np.sqrt(2.5)
    np.testing.assert_allclose(words @ pictures.T, expected, atol=1e-9)


def test_it_finds_images_that_it_has_not_seen_and_chance_finds_none() -> None:
    seen = world(n=120)
    (held,) = bridge.cross_validate(*seen, folds=4, shares=(1.0,))
    assert held.chance(1) == pytest.approx(1 / 30) and held.chance(50) == 1
    assert held.hits(1).mean() > 0.4 and held.hits(10).mean() > 0.9
    images, texts, owner = seen
    mixed = np.random.default_rng(1).permutation(len(images))
    (held,) = bridge.cross_validate(images[mixed], texts, owner, folds=4, shares=(1.0,))
    # Captions of other images: hits within 4 standard errors of chance, counting each image once.
    chance = held.chance(10)
    assert abs(held.hits(10).mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / 120)


def test_more_images_help() -> None:
    small, large = bridge.cross_validate(*world(n=160, noise=0.8), folds=4, shares=(0.2, 1.0))
    assert (small.fitted_on, large.fitted_on) == (24, 120)
    assert large.hits(1).mean() > small.hits(1).mean() + 0.05
    assert np.bincount(large.image).tolist() == [3] * 160, "every caption is held back once"


def test_very_many_images_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "MOST_IMAGES", 60)
    monkeypatch.setattr(bridge, "BLOCK", 7)
    monkeypatch.setattr(bridge, "REFERENCES", 20)
    seen = world(n=120)
    kept: list[bridge.Part] = []
    (held,) = bridge.cross_validate(*seen, folds=4, shares=(1.0,), kept=kept)
    assert len(np.unique(held.image)) == 60 and not kept
    assert held.hits(10).mean() > 0.8
    fitted = bridge.fit(*seen, bridge.choose(*seen, folds=4))
    assert len(fitted.landmarks) == 60 and len(fitted.references) == 20
    np.testing.assert_array_equal(fitted.landmarks, bridge.fit(*seen, FEW).landmarks)
    # Blocks change nothing.
    monkeypatch.setattr(bridge, "BLOCK", 1000)
    np.testing.assert_allclose(
        fitted.image(seen[0]), np.concatenate([fitted.image(row[None]) for row in seen[0]])
    )


def test_ranks_by_hand() -> None:
    class Plain:
        def image(self, rows: np.ndarray) -> np.ndarray:
            return rows

        text = image

    images = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    captions = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    # Cosines 1, 0, .6; 0, 1, .8; the third caption belongs to the third image, behind the first.
    for shown, expected in ((images, [0, 0, 1]), (np.ones((3, 2)), [2, 2, 2])):
        assert bridge.ranks(Plain(), shown, captions, np.arange(3)).tolist() == expected  # type: ignore[arg-type]


def test_a_kept_bridge_is_the_same_bridge() -> None:
    found, (images, texts, _) = fitted()
    again = Bridge.restored(found.arrays())
    np.testing.assert_allclose(again.image(images), found.image(images), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(again.text(texts), found.text(texts), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["landmarks", "text_map", "references", "offset"])
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    arrays = fitted()[0].arrays()
    with pytest.raises(ValueError, match="shapes"):
        Bridge.restored({**arrays, name: arrays[name][..., :-1]})
    with pytest.raises(ValueError, match="not finite"):
        Bridge.restored({**arrays, name: np.full_like(arrays[name], np.nan)})
    with pytest.raises(ValueError, match=f"there is no {name}"):
        Bridge.restored({key: array for key, array in arrays.items() if key != name})


def test_the_order_of_images_and_captions_has_no_influence() -> None:
    images, texts, owner = world()
    found = bridge.fit(images, texts, owner, FEW)
    mixed, shuffled = np.random.default_rng(2).permutation(60), np.random.default_rng(3).permutation(180)
    turned = np.empty(60, dtype=np.int64)
    turned[mixed] = np.arange(60)
    again = bridge.fit(images[mixed], texts[shuffled], turned[owner[shuffled]], FEW)
    new = world(n=6, seed=11)
    products = found.text(new[1]) @ found.image(new[0]).T
    np.testing.assert_allclose(again.text(new[1]) @ again.image(new[0]).T, products, atol=1e-6)


def test_images_without_a_caption_or_values() -> None:
    found, (images, texts, owner) = fitted()
    with pytest.raises(ValueError, match="every image needs a caption"):
        bridge.fit(images, texts[owner > 0], owner[owner > 0], FEW)
    rows = np.vstack([images[:1], np.full((1, images.shape[1]), np.nan)])
    assert np.isfinite(found.image(rows)).all(axis=1).tolist() == [True, False]
