"""DISTS and ST-LPIPS against torch's own layers, with weights of the tests' own and with the authors'."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture
from PIL import Image, ImageFilter

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.errors import MissingPackage, UsageError
from sightline.extension import Picture, Weights
from sightline.measures.distances import dists as dists_module
from sightline.measures.distances import st_lpips as st_module
from sightline.measures.distances.dreamsim import between

torch = pytest.importorskip("torch", reason="the extra torch is not installed")


def drawn() -> list[Picture]:
    y, x = np.mgrid[:64, :64]
    smooth = np.stack([x * 3, y * 3, 255 - x - y], axis=2)
    tiles = ((x // 8 + y // 8) % 2)[:, :, None] * np.array([200, 30, 40]) + 20
    return [picture(each) for each in (smooth, tiles, np.zeros((64, 64, 3)))]


@pytest.fixture
def own_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Have a distance find these weights in place of the authors'."""

    def use(module: Any, name: str, state: dict[str, Any]) -> None:
        file = tmp_path / f"{name}.pt"
        torch.save(state, file)
        monkeypatch.setenv(f"SIGHTLINE_WEIGHTS_{name.upper()}", str(file))
        monkeypatch.setattr(module, "WEIGHTS", Weights(content_hash(file)))
        for each in ("_channels", "_vgg", "_network"):
            getattr(getattr(module, each, None), "cache_clear", lambda: None)()

    yield use
    for module in (dists_module, st_module):
        for each in ("_channels", "_network"):
            getattr(getattr(module, each, None), "cache_clear", lambda: None)()


def test_dists_is_the_paper_s_formula(own_weights: Any) -> None:
    from torch import nn

    try:
        from sightline.measures.distances._networks import network

        kernels, _ = network("vgg")
    except MissingPackage as error:
        pytest.skip(error.what)
    torch.manual_seed(2)
    state = {name: torch.rand(1, 1475, 1, 1) for name in ("alpha", "beta")}
    own_weights(dists_module, "dists", state)
    found = registry.configure("distance", "dists(side=64)").load()(drawn())
    weights = iter(kernels)

    def stage(count: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for kernel, shift in (next(weights) for _ in range(count)):
            layer = nn.Conv2d(kernel.shape[2], kernel.shape[3], 3, padding=1)
            layer.weight.data = torch.from_numpy(np.einsum("hwio->oihw", kernel).copy())
            layer.bias.data = torch.from_numpy(shift.copy())
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*layers)

    def pooled(seen: Any) -> Any:
        # A window of Hann, 3 x 3 without its zeros, over squares.
        window = torch.tensor([0.5, 1.0, 0.5])
        window = torch.outer(window, window) / 4
        apart = [nn.functional.conv2d(channel[:, None] ** 2, window[None, None], stride=2, padding=1)
                 for channel in seen.unbind(1)]  # fmt: skip
        return (torch.cat(apart, dim=1) + 1e-12).sqrt()

    stages = [stage(count) for count in (2, 2, 3, 3, 3)]
    mean, deviation = (
        torch.tensor(each)[None, :, None, None] for each in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    )

    def features(image: Picture) -> list[Any]:
        pixels = torch.from_numpy(image.rgb.transpose(2, 0, 1).copy()).float()[None] / 255
        made, seen = [pixels], (pixels - mean) / deviation
        for n, each in enumerate(stages):
            seen = each(pooled(seen) if n else seen)
            made.append(seen)
        return made

    with torch.no_grad():
        seen = [features(image) for image in drawn()]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            alike, first = 0.0, 0
            for x, y in zip(seen[a], seen[b], strict=True):
                part = slice(first, first + x.shape[1])
                first = part.stop
                means = x.mean((2, 3)), y.mean((2, 3))
                variances = x.var((2, 3), correction=0), y.var((2, 3), correction=0)
                both = (x * y).mean((2, 3)) - means[0] * means[1]
                likeness = (2 * means[0] * means[1] + 1e-6) / (means[0] ** 2 + means[1] ** 2 + 1e-6)
                structure = (2 * both + 1e-6) / (variances[0] + variances[1] + 1e-6)
                alike += float((state["alpha"][0, part, 0, 0] * likeness).sum())
                alike += float((state["beta"][0, part, 0, 0] * structure).sum())
            expected = 1 - alike / float(state["alpha"].sum() + state["beta"].sum())
            assert found[a, b] == found[b, a] == pytest.approx(expected, abs=1e-4)
    with pytest.raises(UsageError, match="side=8"):
        registry.configure("distance", "dists(side=8)").load()(drawn())


def test_st_lpips_is_an_alexnet_with_blurs(own_weights: Any) -> None:
    """Narrow layers with random weights, and the same network from torch's modules."""
    from torch import nn

    torch.manual_seed(7)
    widths = (3, 4, 5, 6, 5, 4)
    kernels = (11, 5, 3, 3, 3)
    names = ("slice1.0", "slice2.5", "slice3.9", "slice4.11", "slice5.13")
    layers = [
        nn.Conv2d(i, o, kernel, padding=margin)
        for i, o, kernel, margin in zip(widths, widths[1:], kernels, (2, 2, 1, 1, 1), strict=False)
    ]
    heads = [torch.rand(1, width, 1, 1) for width in widths[1:]]
    shift, scale = torch.tensor([-0.03, -0.088, -0.188]), torch.tensor([0.458, 0.448, 0.45])
    state = {"scaling_layer.shift": shift.view(1, 3, 1, 1), "scaling_layer.scale": scale.view(1, 3, 1, 1)}
    for name, layer in zip(names, layers, strict=True):
        state |= {f"net.{name}.weight": layer.weight.data, f"net.{name}.bias": layer.bias.data}
    state |= {f"lin{n}.model.1.weight": head for n, head in enumerate(heads)}
    own_weights(st_module, "st_lpips", state)
    found = registry.configure("distance", "stlpips").load()(drawn())

    def blur(seen: Any) -> Any:
        kernel = torch.tensor([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
        padded = nn.ReflectionPad2d(2)(seen)
        whole = torch.cat(
            [nn.functional.conv2d(channel[:, None], kernel[None, None]) for channel in padded.unbind(1)],
            dim=1,
        )
        return whole[:, :, ::2, ::2]

    def features(image: Picture) -> list[Any]:
        pixels = torch.from_numpy(image.rgb.transpose(2, 0, 1).copy()).float()[None] / 127.5 - 1
        seen = (pixels - shift.view(1, 3, 1, 1)) / scale.view(1, 3, 1, 1)
        made = [nn.functional.relu(blur(layers[0](seen)))]
        for n, layer in enumerate(layers[1:], 1):
            held = blur(nn.MaxPool2d(3, stride=1)(made[-1])) if n < 3 else made[-1]
            made.append(nn.functional.relu(layer(held)))
        return [each / (each.norm(dim=1, keepdim=True) + 1e-10) for each in made]

    with torch.no_grad():
        seen = [features(image) for image in drawn()]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            expected = sum(
                float((head * (x - y) ** 2).sum(dim=1).mean())
                for head, x, y in zip(heads, seen[a], seen[b], strict=True)
            )
            assert found[a, b] == found[b, a] == pytest.approx(expected, abs=1e-4)
    assert (np.diag(found) == 0).all()


def test_the_authors_weights_sort_what_people_would() -> None:
    y, x = np.mgrid[:128, :128]
    base = Image.fromarray(
        np.stack([127 + 100 * np.sin(x / 7), 127 + 100 * np.cos(y / 5), (x + y) % 256], axis=2).astype(
            np.uint8
        )
    )
    other = Image.fromarray(np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8))
    shown = []
    for image in (
        base,
        base.filter(ImageFilter.GaussianBlur(1)),
        base.filter(ImageFilter.GaussianBlur(5)),
        other,
    ):
        file = io.BytesIO()
        image.save(file, "PNG")
        shown.append(Picture(file.getvalue()))
    for name in ("dists(side=64)", "st_lpips"):
        distance = registry.configure("distance", name)
        if distance.state != "ready":
            pytest.skip(f"not needed here: {distance.name}: {distance.state}")
        found = distance.load()(shown)[0]
        assert 0 < found[1] < found[2] < found[3]


def test_dreamsim_by_cosine_and_as_in_w1kp() -> None:
    rows = np.array([[3.0, 4.0], [6.0, 8.0], [-4.0, 3.0]])
    # The same direction, twice as long; and a right angle: sqrt((3 + 4)^2 + (4 - 3)^2) = sqrt(50).
    assert between(rows, "cosine")[0] == pytest.approx([0, 0, 1])
    assert between(rows, "euclidean")[0] == pytest.approx([0, 5, 50**0.5])
    with pytest.raises(UsageError, match="no metric 'l2'"):
        registry.get("distance", "dreamsim").target([], metric="l2")


def test_dreamsim_says_what_it_needs() -> None:
    from sightline.extension import Configured

    distance = registry.configure("distance", "dreamsim")
    if distance.spec.missing():
        with pytest.raises(MissingPackage, match="dreamsim needs dreamsim"):
            distance.require()
        assert distance.state == "pip install 'sightline[torch]' dreamsim"
    assert isinstance(distance, Configured)
