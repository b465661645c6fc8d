"""ImageReward: BLIP with a head that was trained on people's rankings of images."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import checkpoint, tensors
from sightline.device import Batches, device, inference, numbers, placed
from sightline.errors import DataError
from sightline.extension import Card, Picture, Pin, Values, measure
from sightline.measures.of_answer._library import beyond, kept, scored
from sightline.preprocessing import CLIP_DEVIATION, CLIP_MEAN, Preprocessing
from sightline.records import Prompt

PIN = Pin(
    "THUDM/ImageReward",
    "5736be03b2652728fb87788c9797b0570450ab72",
    "ImageReward.pt",
    megabytes=1787,
    licence="Apache-2.0",
)
WORDS = Pin("google-bert/bert-base-uncased", "86b5e0934494bd15c9632b12f734a8a67f723594", "vocab.txt")
LONGEST = 35
MEAN, DEVIATION = 0.16717362830052426, 1.0333394966054072
"""Of the head's output over the authors' data: the score is standardised by them."""
HEAD = 64
"""Numbers per attention head, in both networks."""
VISION = (
    (r"^cls_token$", "embeddings.class_embedding"),
    (r"^pos_embed$", "embeddings.position_embedding"),
    (r"^patch_embed\.proj\.", "embeddings.patch_embedding."),
    (r"^norm\.", "post_layernorm."),
    (r"^blocks\.", "encoder.layers."),
    (r"\.norm([12])\.", r".layer_norm\1."),
    (r"\.attn\.qkv\.", ".self_attn.qkv."),
    (r"\.attn\.proj\.", ".self_attn.projection."),
)
"""From the names of the authors' weights to those of the library."""


@measure.of_answer(
    direction="higher",
    extra="torch",
    parallel=False,
    checkpoint=PIN,
    source="Xu et al. 2023 (ImageReward)",
    licence="Apache-2.0",
    aliases=("image_reward", "imagerewardscore", "image_reward_score"),
    card=Card(
        trained_on="137,000 comparisons of images for prompts of DiffusionDB by hired annotators",
        biases="Knows the failures of generators of 2022; reads 35 tokens of a prompt; rewards detail and "
        "faces; often used to train generators, whose images it then overrates.",
        tested="small random checkpoint in the authors' names; equal to transformers' BLIP with torch's own "
        "dense layers to 1e-4",
    ),
)
def imagereward(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    model: str = PIN.model,
    revision: str = "",
    sha256: str = "",
) -> Values:
    """ImageReward: what people would prefer, by BLIP and five dense layers; about 0 on average.

    `model` is a folder with the authors' ImageReward.pt, or its weights as .safetensors, and the `sha256` of
    its files, or a name on the hub with its `revision`. The word pieces of BERT are taken from the folder
    (vocab.txt or tokenizer.json), or else from the hub. A prompt is cut after 35 tokens, as it was trained;
    the evidence says how many were not read.
    """
    return scored(prompts, images, lambda: kept(Reward, "imagereward", (model, revision, sha256), PIN))


class Reward:
    """BLIP and the head, loaded."""

    def __init__(self, name: str, folder: Path) -> None:
        import torch
        import transformers

        from sightline.measures.of_answer._heads import dense

        files = [*folder.glob("*.safetensors"), *folder.glob("*.pt")]
        if len(files) != 1:
            raise DataError(
                f"there are {len(files)} files of weights in it", where=str(folder), remedy="One is needed."
            )
        state = tensors(files[0])
        vision, text = _below(state, "blip.visual_encoder."), _below(state, "blip.text_encoder.")
        if not vision or not text or not _below(state, "mlp."):
            raise DataError("these are not the weights of ImageReward", where=str(files[0]))
        vision = {_renamed(key): value for key, value in vision.items()}
        with torch.random.fork_rng(devices=[]):
            self._vision = transformers.BlipVisionModel(_vision_config(vision))
            self._text = transformers.BlipTextModel(
                _text_config(text, int(vision["post_layernorm.weight"].shape[0])), add_pooling_layer=False
            )
        _fill(self._vision, vision, files[0])
        _fill(self._text, text, files[0])
        self._vision, self._text = placed(self._vision), placed(self._text)
        self._head = placed(dense(_below(state, "mlp.")))
        self._tokenizer = _tokenizer(folder)
        side = self._vision.config.image_size
        self._preprocessing = Preprocessing.of(
            {
                "size": {"shortest_edge": side},
                "crop_size": side,
                "do_center_crop": True,
                "resample": 3,
                "image_mean": CLIP_MEAN,
                "image_std": CLIP_DEVIATION,
            }
        )
        self._batches = Batches(16)

    def unread(self, texts: Sequence[str]) -> list[int]:
        return beyond(self._tokenizer, texts, LONGEST)

    def score(self, texts: Sequence[str], images: Sequence[Picture]) -> np.ndarray:
        return np.concatenate(self._batches.run(self._rewards, list(zip(texts, images, strict=True))))

    def _rewards(self, part: Sequence[tuple[str, Picture]]) -> np.ndarray:
        import torch

        words = self._tokenizer(
            [text for text, _ in part],
            padding="max_length",
            truncation=True,
            max_length=LONGEST,
            return_tensors="pt",
        ).to(device())
        pixels = np.stack([self._preprocessing(image.rgb) for _, image in part])
        with inference():
            seen = self._vision(pixel_values=torch.from_numpy(pixels).to(device())).last_hidden_state
            joined = self._text(
                input_ids=words["input_ids"],
                attention_mask=words["attention_mask"],
                encoder_hidden_states=seen,
                encoder_attention_mask=seen.new_ones(seen.shape[:2]).long(),
            ).last_hidden_state
            said = self._head(joined[:, 0].float())[:, 0]
        return (numbers(said) - MEAN) / DEVIATION


def _below(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}


def _renamed(name: str) -> str:
    for old, new in VISION:
        name = re.sub(old, new, name)
    return name


def _vision_config(state: Mapping[str, Any]) -> Any:
    import transformers

    width, _, patch, _ = state["embeddings.patch_embedding.weight"].shape
    places = int(state["embeddings.position_embedding"].shape[1]) - 1
    return transformers.BlipVisionConfig(
        hidden_size=width,
        intermediate_size=int(state["encoder.layers.0.mlp.fc1.weight"].shape[0]),
        num_hidden_layers=_layers(state),
        num_attention_heads=max(1, width // HEAD),
        image_size=round(places**0.5) * patch,
        patch_size=patch,
        layer_norm_eps=1e-6,
    )


def _text_config(state: Mapping[str, Any], seen: int) -> Any:
    import transformers

    words, width = state["embeddings.word_embeddings.weight"].shape
    return transformers.BlipTextConfig(
        vocab_size=words,
        hidden_size=width,
        encoder_hidden_size=seen,
        intermediate_size=int(state["encoder.layer.0.intermediate.dense.weight"].shape[0]),
        num_hidden_layers=_layers(state),
        num_attention_heads=max(1, width // HEAD),
        max_position_embeddings=int(state["embeddings.position_embeddings.weight"].shape[0]),
        layer_norm_eps=1e-12,
    )


def _layers(state: Mapping[str, Any]) -> int:
    found = {match[1] for name in state if (match := re.match(r"encoder\.layers?\.(\d+)\.", name))}
    return len(found)


def _fill(model: Any, state: Mapping[str, Any], file: Path) -> None:
    """Put weights in place; one that is missing is an error, and one too many of the authors' is left."""
    try:
        absent = model.load_state_dict(state, strict=False).missing_keys
    except RuntimeError as error:
        raise DataError(f"the weights do not fit: {str(error).splitlines()[-1]}", where=str(file)) from None
    absent = [name for name in absent if not name.endswith("position_ids")]
    if absent:
        raise DataError(f"{len(absent)} weights are missing, such as {absent[0]}", where=str(file))


def _tokenizer(folder: Path) -> Any:
    import transformers

    own = any((folder / name).is_file() for name in ("vocab.txt", "tokenizer.json"))
    where = folder if own else checkpoint("bert", WORDS.model, "", "", WORDS)
    return transformers.BertTokenizerFast.from_pretrained(where, local_files_only=True)
