"""Small transformers for sentences in plain arrays: no torch to wait for, and every layer can be read.

BERT (Devlin et al. 2019) and MPNet (Song et al. 2020) differ in little: MPNet has no segments, shares among
its layers a bias for how far apart two pieces stand, and numbers its places from 2.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.encoders.models._batches import equal, on_all_cores
from sightline.encoders.models._wordpiece import WordPieces
from sightline.errors import DataError, UsageError

Floats = NDArray[np.float32]
AT_ONCE = 32
LONGEST = 128
BUCKETS, FARTHEST = 32, 128


def read_safetensors(file: Path) -> dict[str, Floats]:
    """The arrays of a safetensors file, read from disk as they are used; all of them are 32-bit floats.

    The safetensors package copies them all into memory first: docs/design-notes.md has what that costs.
    """
    with file.open("rb") as opened:
        whole = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(whole[:8], "little")
    try:
        header = json.loads(whole[8 : 8 + length])
    except ValueError:
        raise DataError("not a safetensors file", where=str(file)) from None
    found = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        start, end = about["data_offsets"]
        array = np.frombuffer(whole, dtype="<f4", count=(end - start) // 4, offset=8 + length + start)
        found[name] = array.reshape(about["shape"])
    return found


@dataclass(frozen=True)
class Names:
    """What one architecture calls its parts."""

    query: str
    key: str
    value: str
    after: str
    after_norm: str
    first_place: int
    apart: str = ""
    segment: str = ""


BERT = Names(
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    0,
    segment="embeddings.token_type_embeddings.weight",
)
MPNET = Names(
    "attention.attn.q",
    "attention.attn.k",
    "attention.attn.v",
    "attention.attn.o",
    "attention.LayerNorm",
    2,
    apart="encoder.relative_attention_bias.weight",
)


class Layers:
    """Texts as the mean over their word pieces of what chosen layers say, layer after layer.

    Then come, for each layer of `extremes`, the highest and the lowest that any of the pieces has.
    """

    def __init__(
        self,
        arrays: Mapping[str, Floats],
        names: Names,
        pieces: WordPieces,
        layers: Sequence[int],
        *,
        extremes: Sequence[int] = (),
        heads: int = 12,
        small: float = 1e-12,
    ) -> None:
        self._arrays = arrays
        self._names = names
        self._pieces = pieces
        self._layers = tuple(layers)
        self._extremes = tuple(extremes)
        self._heads = heads
        self._small = np.float32(small)
        width = arrays["embeddings.word_embeddings.weight"].shape[1]
        self.blocks = (width,) * len(self._layers) + (2 * width,) * len(self._extremes)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many pieces of each text are beyond what the network reads."""
        return [self._pieces.unread(text, LONGEST) for text in texts]

    def text(self, texts: Sequence[str]) -> Floats:
        numbers = [self._pieces.numbers(text, LONGEST) for text in texts]
        made = np.zeros((len(texts), sum(self.blocks)), dtype=np.float32)
        # Texts of one length together: nothing is padded, so that neighbours cannot matter.
        batches = list(equal([len(each) for each in numbers], AT_ONCE))
        encoded = on_all_cores(lambda rows: self._encoded(np.array([numbers[row] for row in rows])), batches)
        for rows, vectors in zip(batches, encoded, strict=True):
            made[rows] = vectors
        return made

    def _encoded(self, numbers: NDArray[np.int64]) -> Floats:
        names, arrays = self._names, self._arrays
        length = numbers.shape[1]
        states = arrays["embeddings.word_embeddings.weight"][numbers]
        first = names.first_place
        states = states + arrays["embeddings.position_embeddings.weight"][first : first + length]
        if names.segment:
            states = states + arrays[names.segment][0]
        states = self._normed(states, "embeddings.LayerNorm")
        bias = arrays[names.apart][_apart(length)].transpose(2, 0, 1) if names.apart else np.float32(0)
        wanted = {*self._layers, *self._extremes}
        kept = {0: states}
        for number in range(max(wanted, default=0)):
            states = self._layer(states, f"encoder.layer.{number}", bias)
            if number + 1 in wanted:
                kept[number + 1] = states
        means = [kept[layer].mean(axis=1) for layer in self._layers]
        ends = [end for layer in self._extremes for end in (kept[layer].max(axis=1), kept[layer].min(axis=1))]
        return np.hstack([*means, *ends])

    def _layer(self, states: Floats, at: str, bias: Floats | np.float32) -> Floats:
        names = self._names
        rows, length, width = states.shape
        one = width // self._heads

        def cut(name: str) -> Floats:
            made = self._dense(states, f"{at}.{name}")
            return made.reshape(rows, length, self._heads, one).transpose(0, 2, 1, 3)

        met = cut(names.query) @ cut(names.key).transpose(0, 1, 3, 2) / np.float32(np.sqrt(one)) + bias
        met = np.exp(met - met.max(axis=-1, keepdims=True))
        met /= met.sum(axis=-1, keepdims=True)
        seen = (met @ cut(names.value)).transpose(0, 2, 1, 3).reshape(rows, length, width)
        states = self._normed(self._dense(seen, f"{at}.{names.after}") + states, f"{at}.{names.after_norm}")
        inner = _gelu(self._dense(states, f"{at}.intermediate.dense"))
        return self._normed(self._dense(inner, f"{at}.output.dense") + states, f"{at}.output.LayerNorm")

    def _dense(self, states: Floats, name: str) -> Floats:
        weights, shift = self._arrays[f"{name}.weight"], self._arrays[f"{name}.bias"]
        flat = states.reshape(-1, states.shape[-1]) @ weights.T + shift
        return flat.reshape(*states.shape[:-1], -1)

    def _normed(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._small)
        return centred / spread * self._arrays[f"{name}.weight"] + self._arrays[f"{name}.bias"]


def need_layers(name: str, layers: Sequence[int], last: int) -> None:
    """Refuse layers that there are not."""
    if not layers or not all(0 <= layer <= last for layer in layers):
        raise UsageError(
            f"{name}: layers={tuple(layers)}", remedy=f"One or more of 0 (the words) to {last} (the last)."
        )


def _gelu(x: Floats) -> Floats:
    return x * np.float32(0.5) * (1 + _erf(x * np.float32(np.sqrt(0.5))))


def _erf(x: Floats) -> Floats:
    """The error function to 5e-7, about what these floats can hold: SciPy's takes longer to load than to run.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.26.
    """
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(t, 1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    return np.copysign(1 - series * t * np.exp(-size * size), x)


def _apart(length: int) -> NDArray[np.int64]:
    """In which bucket lies how far each place (column) stands behind each other (row).

    Half of the buckets are for places in front; of each half, half are exact and the others grow as the
    logarithm of the distance. Source: Raffel et al., Exploring the limits of transfer learning (2020).
    """
    behind = np.arange(length)[None, :] - np.arange(length)[:, None]
    half, exact = BUCKETS // 2, BUCKETS // 4
    far = np.abs(behind)
    share = np.log(np.maximum(far, 1) / exact) / np.log(FARTHEST / exact)
    grown = exact + (share * (half - exact)).astype(np.int64)
    bucket = np.where(far < exact, far, np.minimum(grown, half - 1))
    return bucket + np.where(behind > 0, half, 0)
