"""Transformers in plain arrays: layer for layer what the transformers library computes from the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline import registry
from sightline.encoders.models._layers import BERT, MPNET, Layers, Names, _apart, _erf, read_safetensors
from sightline.encoders.models._wordpiece import WordPieces
from sightline.errors import DataError, UsageError

WORDS = ["[UNK]", "[CLS]", "[SEP]", "<s>", "</s>", "a", "cat", "on", "##s", "red", "chair", "near", "window"]
TEXTS = [
    "a cat on a red chair",
    "cats",
    "a window near a window near a cat on a cat " * 3,
    "",
    "a cat on a chair",
]
SIZES = {"hidden_size": 24, "num_attention_heads": 12, "intermediate_size": 40, "num_hidden_layers": 3}


def checkpoint(folder: Path, kind: str) -> Any:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra torch is not installed")
    torch.manual_seed(0)
    if kind == "bert":
        told = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=160, **SIZES)
        model = transformers.BertModel(told)
    else:
        told = transformers.MPNetConfig(
            vocab_size=len(WORDS), max_position_embeddings=160, layer_norm_eps=1e-5, **SIZES
        )
        model = transformers.MPNetModel(told)
    # As they are made, weights are so small that all layers say nearly the same.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.eval().save_pretrained(folder)
    return model


@pytest.mark.parametrize(
    ("kind", "names", "ends", "small"),
    [("bert", BERT, ("[CLS]", "[SEP]"), 1e-12), ("mpnet", MPNET, ("<s>", "</s>"), 1e-5)],
)
def test_every_layer_is_the_librarys(
    tmp_path: Path, kind: str, names: Names, ends: tuple[str, str], small: float
) -> None:
    model = checkpoint(tmp_path, kind)
    import torch

    pieces = WordPieces({word: n for n, word in enumerate(WORDS)}, start=ends[0], end=ends[1])
    arrays = read_safetensors(tmp_path / "model.safetensors")
    found = Layers(arrays, names, pieces, (0, 1, 3), extremes=(2,), small=small).text(TEXTS)
    assert found.shape == (5, 72 + 48)
    for text, row in zip(TEXTS, found, strict=True):
        numbers = torch.tensor([pieces.numbers(text, 128)])
        with torch.inference_mode():
            states = model(input_ids=numbers, output_hidden_states=True).hidden_states
        means = [states[layer][0].mean(dim=0).numpy() for layer in (0, 1, 3)]
        ends = [states[2][0].max(dim=0).values.numpy(), states[2][0].min(dim=0).values.numpy()]
        wanted = np.hstack([*means, *ends])
        np.testing.assert_allclose(row, wanted, atol=1e-3)


def test_neighbours_do_not_matter(tmp_path: Path) -> None:
    checkpoint(tmp_path, "bert")
    pieces = WordPieces({word: n for n, word in enumerate(WORDS)})
    layers = Layers(read_safetensors(tmp_path / "model.safetensors"), BERT, pieces, (3,))
    together = layers.text(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(layers.text([text])[0], row, atol=1e-4)
    assert layers.text([]).shape == (0, 24)


@pytest.mark.parametrize("length", [1, 5, 40, 128])
def test_distances_fall_into_the_librarys_buckets(length: int) -> None:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra torch is not installed")
    encoder = transformers.models.mpnet.modeling_mpnet.MPNetEncoder
    places = torch.arange(length)
    wanted = encoder.relative_position_bucket(places[None, :] - places[:, None], num_buckets=32)
    assert np.array_equal(_apart(length), wanted.numpy())


def test_the_error_function() -> None:
    from scipy.special import erf

    x = np.linspace(-7, 7, 20_001, dtype=np.float32)
    np.testing.assert_allclose(_erf(x), erf(x.astype(np.float64)), atol=6e-7)
    assert _erf(x).dtype == np.float32


@pytest.mark.parametrize(
    ("name", "blocks"), [("minilm_layers", (384,) * 3), ("mpnet_layers", (768, 768, 768, 768, 1536))]
)
def test_the_real_ones_put_like_texts_near_each_other(name: str, blocks: tuple[int, ...]) -> None:
    encoder = registry.configure("encoder", name).load()
    rows = encoder.text(["A cat sits on a chair.", "a kitten is sitting on a seat", "a train under a bridge"])
    assert rows.shape == (3, sum(blocks)) and encoder.blocks == blocks
    width = blocks[0]
    end = width * sum(each == width for each in blocks)
    last = rows[:, end - width : end]
    last = last / np.linalg.norm(last, axis=1, keepdims=True)
    assert last[0] @ last[1] > 0.6 > 0.3 > last[0] @ last[2]


def test_the_last_layer_is_what_minilm_says() -> None:
    """The same weights, there in 8 bits: the cosine to the original is 0.9996 on average."""
    texts = ["A black cat sits on two red chairs near the window.", "dog", "seven green cups"]
    last = registry.configure("encoder", "minilm_layers(layers=(6,))").load().text(texts)
    other = registry.configure("encoder", "minilm").load().text(texts)
    assert ((last / np.linalg.norm(last, axis=1, keepdims=True)) * other).sum(axis=1).min() > 0.995


@pytest.mark.parametrize("layers", ["(7,)", "(-1, 2)", "()"])
def test_layers_that_there_are_not(layers: str) -> None:
    with pytest.raises(UsageError, match="minilm_layers: layers="):
        registry.configure("encoder", f"minilm_layers(layers={layers})").load()


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    file.write_bytes(b"\x04\0\0\0\0\0\0\0no..and more")
    with pytest.raises(DataError, match="not a safetensors file"):
        read_safetensors(file)
