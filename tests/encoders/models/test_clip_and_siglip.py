"""CLIP and SigLIP through the code a user runs, on small random checkpoints, against the library's call."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture
from PIL import Image

from sightline import registry
from sightline.checkpoints import Pin, checkpoint, content_hash
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Configured, Picture
from sightline.preprocessing import Preprocessing

TEXTS = ["a red ball", "", "two blue cars in the snow next to an orange cat", "red " * 300, "\u732b ?!"]
PINNED = ("clip", "siglip")


def pictures() -> list[Picture]:
    rng = np.random.default_rng(3)
    sizes = ((40, 64), (64, 40), (32, 32), (7, 5), (90, 31), (1, 1))
    return [picture(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in sizes]


@pytest.fixture(params=PINNED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(name: str, request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(f"{name}_checkpoint")
    return found


def pinned(name: str, folder: Path) -> Configured:
    return registry.configure("encoder", name, model=str(folder), sha256=content_hash(folder))


def loaded(name: str, folder: Path) -> Any:
    return pinned(name, folder).load()


def library(name: str, folder: Path) -> tuple[Any, Any, Any]:
    """Model, tokenizer and image processor as the library's own documentation loads them."""
    import transformers

    model = {"clip": "CLIPModel", "siglip": "SiglipModel"}[name]
    processor = {"clip": "CLIPImageProcessorPil", "siglip": "SiglipImageProcessorPil"}[name]
    return (
        getattr(transformers, model).from_pretrained(folder).eval(),
        transformers.AutoTokenizer.from_pretrained(folder),
        getattr(transformers, processor).from_pretrained(folder),
    )


def unit(tensor: Any) -> np.ndarray:
    import torch

    rows = tensor if isinstance(tensor, torch.Tensor) else tensor.pooler_output
    return np.asarray(torch.nn.functional.normalize(rows, dim=-1).detach())


def test_images_are_as_the_library_encodes_them(name: str, folder: Path) -> None:
    model, _, processor = library(name, folder)
    raw = [Image.fromarray(picture.rgb) for picture in pictures()]
    expected = unit(model.get_image_features(**processor(images=raw, return_tensors="pt")))
    found = loaded(name, folder).image(pictures())
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(raw)), abs=1e-4)
    assert len(np.unique(found.round(4), axis=0)) == len(raw), "different pictures, different vectors"


def test_pixels_are_the_library_s(name: str, folder: Path) -> None:
    _, _, processor = library(name, folder)
    encoder = loaded(name, folder)
    for each in pictures():
        (expected,) = processor(images=[Image.fromarray(each.rgb)], return_tensors="np")["pixel_values"]
        np.testing.assert_allclose(encoder.prepare(each), expected, atol=1e-4)


def test_texts_are_as_the_library_encodes_them(name: str, folder: Path) -> None:
    model, tokenizer, _ = library(name, folder)
    longest = {"clip": 77, "siglip": 64}[name]
    told = tokenizer(TEXTS, padding="max_length", truncation=True, max_length=longest, return_tensors="pt")
    assert told["input_ids"].shape[1] == longest
    encoder = loaded(name, folder)
    np.testing.assert_allclose(encoder.text(TEXTS), unit(model.get_text_features(**told)), atol=1e-4)


def test_a_long_text_is_cut_and_its_beginning_counts(name: str, folder: Path) -> None:
    encoder = loaded(name, folder)
    long, longer, other = encoder.text(["red " * 100, "red " * 100 + "cat", "cat " + "red " * 100])
    np.testing.assert_allclose(long, longer, atol=1e-4)
    assert np.abs(long - other).max() > 1e-4


def test_alone_or_together_and_more_than_a_batch(name: str, folder: Path) -> None:
    encoder = loaded(name, folder)
    alone = np.concatenate([encoder.image([picture]) for picture in pictures()])
    np.testing.assert_allclose(encoder.image(pictures() * 7), np.tile(alone, (7, 1)), atol=1e-4)
    prepared = [encoder.prepare(picture) for picture in pictures()]
    np.testing.assert_allclose(encoder.encode(prepared), alone, atol=1e-4)
    assert encoder.image([]).shape == encoder.text([]).shape == (0, alone.shape[1])


def test_a_folder_is_pinned_by_its_content(name: str, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with pytest.raises(UsageError, match="pinned by the hash") as caught:
        registry.configure("encoder", name, model=str(copy)).load()
    assert content_hash(folder) in caught.value.remedy, "a copy has the same hash, and the remedy tells it"
    before = pinned(name, copy)
    config = json.loads((copy / "preprocessor_config.json").read_text())
    (copy / "preprocessor_config.json").write_text(json.dumps({**config, "image_mean": [0.1, 0.2, 0.3]}))
    with pytest.raises(DataError, match="not the expected weights"):
        before.load()
    after = pinned(name, copy)
    assert after.identity != before.identity
    assert np.abs(after.load().image(pictures()) - loaded(name, folder).image(pictures())).max() > 1e-4


def test_a_name_without_a_commit_is_refused(name: str, folder: Path) -> None:
    with pytest.raises(UsageError, match="has no revision"):
        registry.configure("encoder", name, model="somebody/some-model").load()


def test_offline_the_remedy_is_reported(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", "nowhere")
    with pytest.raises(MissingPackage, match=f"no weights for {name}") as caught:
        registry.configure("encoder", name).load()
    assert f"SIGHTLINE_WEIGHTS_{name.upper()}" in caught.value.remedy


def test_other_weights_under_the_pinned_name_are_refused(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"SIGHTLINE_WEIGHTS_{name.upper()}", str(tmp_path))
    with pytest.raises(DataError, match="there is no"):
        registry.configure("encoder", name).load()
    for file in ("pytorch_model.bin", "model.safetensors"):
        (tmp_path / file).write_bytes(b"others")
    with pytest.raises(DataError, match="not the expected weights"):
        registry.configure("encoder", name).load()


def test_any_clip_as_safetensors_stands_in_for_the_pinned_one(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name != "clip":
        pytest.skip("not needed here: the pinned file of others is called like any safetensors")
    pinned = registry.configure("encoder", "clip")
    before = pinned.identity
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP", str(folder))
    own = registry.configure("encoder", f"clip(model={str(folder)!r}, sha256={content_hash(folder)!r})")
    assert np.array_equal(pinned.load().text(TEXTS), own.load().text(TEXTS))
    # What it computes is kept apart from what the pinned checkpoint would.
    assert pinned.identity != before
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP_SHA256", "0" * 64)
    with pytest.raises(DataError, match="not the expected weights"):
        checkpoint("clip", str(pinned.arguments["model"]), "", "", pinned.spec.checkpoint)


def as_pinned(name: str, folder: Path, to: Path, file: str) -> Pin:
    """A copy of a checkpoint with its weights under this name, and a pin that knows them."""
    import torch

    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("model.safetensors"))
    if file.endswith(".bin"):
        torch.save(library(name, folder)[0].state_dict(), to / file)
    else:
        shutil.copy(folder / "model.safetensors", to / file)
    return Pin("somebody/model", "0" * 40, file, content_hash(to / file))


def by_variable(name: str, folder: Path, pin: Pin, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(f"SIGHTLINE_WEIGHTS_{name.upper()}", str(folder))
    return checkpoint(name, pin.model, "", "", pin)


FILES = ("pytorch_model.bin", "model.safetensors")


@pytest.mark.parametrize("file", FILES)
def test_what_is_loaded_is_what_was_hashed(
    name: str, folder: Path, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    pin = as_pinned(name, folder, tmp_path / "copy", file)
    monkeypatch.setenv(f"SIGHTLINE_WEIGHTS_{name.upper()}_SHA256", content_hash(tmp_path / "copy"))
    found = by_variable(name, tmp_path / "copy", pin, monkeypatch)
    one, other = library(name, folder)[0], library(name, found)[0]
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    # Another model, that the library prefers to a .bin.
    torch.manual_seed(1)
    type(one)(one.config).save_pretrained(tmp_path / "other")
    if file.endswith(".bin"):
        shutil.copy(tmp_path / "other" / "model.safetensors", found)
        loaded_now = library(name, found)[0]
        assert not all(
            torch.equal(a, b) for a, b in zip(one.parameters(), loaded_now.parameters(), strict=True)
        ), "it is preferred: without a check another model would be loaded"
        with pytest.raises(
            DataError, match=r"model\.safetensors would be loaded in place of pytorch_model\.bin"
        ):
            by_variable(name, found, pin, monkeypatch)


@pytest.mark.parametrize("file", FILES)
def test_what_would_change_the_pinned_weights_is_refused(
    name: str, folder: Path, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = as_pinned(name, folder, tmp_path / "copy", file)
    (tmp_path / "copy" / "adapter_config.json").write_text("{}")
    with pytest.raises(DataError, match=r"adapter_config\.json would be loaded"):
        by_variable(name, tmp_path / "copy", pin, monkeypatch)
    (tmp_path / "copy" / "adapter_config.json").unlink()
    config = json.loads((tmp_path / "copy" / "config.json").read_text())
    (tmp_path / "copy" / "config.json").write_text(
        json.dumps({**config, "transformers_weights": "x.safetensors"})
    )
    with pytest.raises(DataError, match=r"x\.safetensors would be loaded"):
        by_variable(name, tmp_path / "copy", pin, monkeypatch)


def test_a_folder_for_the_pinned_model_can_be_vouched_for_as_a_whole(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    pin = as_pinned(name, folder, copy, "model.safetensors")
    assert by_variable(name, copy, pin, monkeypatch) == copy
    monkeypatch.setenv(f"SIGHTLINE_WEIGHTS_{name.upper()}_SHA256", content_hash(copy))
    assert by_variable(name, copy, pin, monkeypatch) == copy
    for file in ("tokenizer.json", "preprocessor_config.json"):
        before = (copy / file).read_text()
        (copy / file).write_text(before + " ")
        with pytest.raises(DataError, match="not the expected weights"):
            by_variable(name, copy, pin, monkeypatch)
        (copy / file).write_text(before)
    assert by_variable(name, copy, pin, monkeypatch) == copy


def test_a_crop_larger_than_the_image_is_black_around_it(tmp_path: Path) -> None:
    told = {
        "size": {"height": 2, "width": 2},
        "crop_size": 4,
        "do_center_crop": True,
        "resample": 0,
        "image_mean": [0, 0, 0],
        "image_std": [1, 1, 1],
    }
    found = Preprocessing.read(tmp_path, told)(np.full((2, 2, 3), 255, dtype=np.uint8))
    expected = np.zeros((4, 4))
    expected[1:3, 1:3] = 1
    np.testing.assert_allclose(found, np.stack([expected] * 3))
