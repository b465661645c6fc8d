"""EfficientNet-Lite0 with its real weights, against the package that published them."""

from __future__ import annotations

import numpy as np
import pytest
from images import picture

from sightline import registry
from sightline.errors import MissingPackage, UsageError
from sightline.extension import Picture
from sightline.weights import find


@pytest.fixture(autouse=True)
def installed() -> None:
    ready = registry.configure("encoder", "efficientnet_lite0")
    try:
        import torch  # noqa: F401

        find("efficientnet_lite0", ready.spec.weights)  # type: ignore[arg-type]
    except (ImportError, MissingPackage):
        pytest.skip("torch or the weights of EfficientNet-Lite0 are not installed")


def shown(height: int, width: int, seed: int = 0) -> Picture:
    y, x = np.mgrid[:height, :width]
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 40, (height, width, 3))
    pixels = np.stack([x * 200 // max(width, 1), y * 200 // max(height, 1), (x + y) % 200], axis=2) + noise
    return picture(pixels)


def encoder(text: str = "efficientnet_lite0"):  # type: ignore[no-untyped-def]
    return registry.configure("encoder", text).load()


def test_the_network_is_the_published_one() -> None:
    package = pytest.importorskip(
        "efficientnet_lite_pytorch", reason="efficientnet_lite_pytorch is not installed"
    )
    import torch

    ready = registry.configure("encoder", "efficientnet_lite0")
    assert ready.spec.weights is not None
    theirs = package.EfficientNet.from_name("efficientnet-lite0")
    theirs.load_state_dict(torch.load(find(ready.name, ready.spec.weights), weights_only=True))
    theirs.eval()
    looks = np.stack([encoder().prepare(shown(300, 400)), encoder().prepare(shown(400, 250, 1))])[:, 0]
    with torch.no_grad():
        deep = theirs.extract_features((torch.from_numpy(looks).float() - 127) / 128).mean((2, 3)).numpy()
    expected = deep / np.linalg.norm(deep, axis=1, keepdims=True)
    found = encoder().image([shown(300, 400), shown(400, 250, 1)])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_middle_of_the_scaled_picture_is_looked_at() -> None:
    # A picture of 256 x 256 needs no scaling: rows and columns 16 to 239 remain.
    whole = shown(256, 256)
    (look,) = encoder().prepare(whole)
    np.testing.assert_array_equal(look.transpose(1, 2, 0), whole.rgb[16:240, 16:240])


def test_layers_and_pooling_lie_side_by_side() -> None:
    pair = [shown(230, 260), shown(260, 230, 4)]
    both = encoder("efficientnet_lite0(stages=(7, 8), pooling=('mean', 'max'))").image(pair)
    assert both.shape == (2, 2 * (320 + 1280))
    alone = encoder("efficientnet_lite0(stages=(7,))").image(pair)
    # Four parts of length 1 make a whole of length 2 before it is scaled.
    np.testing.assert_allclose(both[:, :320] * 2, alone, atol=1e-4)
    np.testing.assert_allclose(both[:, 640:1920] * 2, encoder().image(pair), atol=1e-4)


def test_mirror_images_are_alike_with_two_views() -> None:
    straight = shown(256, 256, 5)
    turned = picture(straight.rgb[:, ::-1])
    one, two = encoder("efficientnet_lite0(views=2)").image([straight, turned])
    np.testing.assert_allclose(one, two, atol=1e-4)
    first, second = encoder().image([straight, turned])
    assert np.abs(first - second).max() > 1e-4


@pytest.mark.parametrize("size", [(1, 1), (2, 300), (300, 2), (1, 4000)])
def test_odd_pictures_are_encoded(size: tuple[int, int]) -> None:
    rows = encoder("efficientnet_lite0(views=6)").image([shown(*size)])
    assert rows.shape == (1, 1280) and np.isfinite(rows).all()


def test_a_crop_of_a_photo_is_nearest_to_its_photo(data) -> None:  # type: ignore[no-untyped-def]
    files = sorted((data / "flickr8k_400" / "images").iterdir())[:8]
    photos = [Picture(path=file) for file in files]
    crops = []
    for photo in photos:
        height, width = photo.rgb.shape[:2]
        crops.append(picture(photo.rgb[height // 20 : -height // 20, width // 20 : -width // 20]))
    similar = encoder().image(crops) @ encoder().image(photos).T
    assert similar.argmax(axis=1).tolist() == list(range(8))


@pytest.mark.parametrize("told", ["stages=(9,)", "stages=()", "pooling=('median',)", "views=3"])
def test_impossible_parameters_are_refused(told: str) -> None:
    with pytest.raises(UsageError, match="Stages are 1 to 8"):
        encoder(f"efficientnet_lite0({told})")
