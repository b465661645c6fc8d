"""DINO and SSCD through the code a user runs, against the library's own call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture
from PIL import Image

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Picture

Small = Callable[[str], Path]


def pictures() -> list[Picture]:
    rng = np.random.default_rng(3)
    return [
        picture(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in ((40, 64), (64, 40), (7, 5))
    ]


def unit(rows: Any) -> np.ndarray:
    wide = np.asarray(rows.detach())
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def test_dinov2_is_the_library_s(small_checkpoint: Small) -> None:
    from transformers import AutoModel, BitImageProcessorPil

    folder = small_checkpoint("dinov2")
    seen = BitImageProcessorPil.from_pretrained(folder)(
        images=[Image.fromarray(each.rgb) for each in pictures()], return_tensors="pt"
    )
    expected = unit(AutoModel.from_pretrained(folder).eval()(**seen).last_hidden_state[:, 0])
    encoder = registry.configure("encoder", "dinov2", model=str(folder), sha256=content_hash(folder)).load()
    np.testing.assert_allclose(encoder.image(pictures()), expected, atol=1e-4)
    assert encoder.image([]).shape == (0, expected.shape[1])


def test_dinov3_is_the_library_s(small_checkpoint: Small) -> None:
    import torch
    from transformers import AutoModel

    folder = small_checkpoint("dinov3")
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    pixels = []
    for each in pictures():
        small = Image.fromarray(each.rgb).resize((32, 32), Image.Resampling.BILINEAR)
        pixels.append(((np.asarray(small) / 255 - mean) / deviation).transpose(2, 0, 1))
    seen = torch.from_numpy(np.stack(pixels)).float()
    expected = unit(AutoModel.from_pretrained(folder).eval()(pixel_values=seen).pooler_output)
    encoder = registry.configure("encoder", "dinov3", model=str(folder), sha256=content_hash(folder)).load()
    np.testing.assert_allclose(encoder.image(pictures()), expected, atol=1e-4)


def test_an_image_that_overflows_has_no_vector(small_checkpoint: Small) -> None:
    folder = small_checkpoint("dinov2")
    encoder = registry.configure("encoder", "dinov2", model=str(folder), sha256=content_hash(folder)).load()
    prepared = [encoder.prepare(each) for each in pictures()]
    prepared[1] = np.full_like(prepared[1], np.inf)
    rows = encoder.encode(prepared)
    assert np.isnan(rows[1]).all() and np.isfinite(rows[[0, 2]]).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_sscd_runs_a_traced_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 5, stride=4),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 6),
    ).eval()
    file = tmp_path / "small.torchscript.pt"
    torch.jit.trace(network, torch.zeros(1, 3, 32, 32)).save(str(file))
    named = {"model": str(file), "sha256": content_hash(file), "side": 32}
    encoder = registry.configure("encoder", "sscd", **named).load()
    # Images of different shapes in one call: each as if it were alone.
    expected = [unit(network(torch.from_numpy(encoder.prepare(each))[None]))[0] for each in pictures()]
    np.testing.assert_allclose(encoder.image(pictures()), expected, atol=1e-4)
    assert encoder.image([]).shape == (0, 6)
    with pytest.raises(MissingPackage, match="no weights for sscd"):
        registry.configure("encoder", "sscd").load()
    with pytest.raises(UsageError, match="pinned by its hash"):
        registry.configure("encoder", "sscd", model=str(file)).load()
    file.write_bytes(b"no network")
    with pytest.raises(DataError, match="no TorchScript file"):
        registry.configure("encoder", "sscd", model=str(file), sha256=content_hash(file)).load()
