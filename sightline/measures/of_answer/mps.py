"""MPS: CLIP with cross-attention from image to text, tuned on people's choices in several dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import file_of, from_library, tensors
from sightline.device import Batches, device, inference, numbers, placed
from sightline.errors import DataError, MissingPackage
from sightline.extension import Card, Picture, Pin, Values, measure
from sightline.measures.of_answer._library import beyond, kept, scored
from sightline.preprocessing import CLIP_DEVIATION, CLIP_MEAN, Preprocessing
from sightline.records import Prompt

PIN = Pin("RE-N-Y/mpsv1", megabytes=4200, licence="licence not known to us")
CLIP = Pin(
    "laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
    "1c2b8495b28150b8a4922ee1c8edee224c284c0c",
    "preprocessor_config.json",
    licence="MIT",
)
"""What the weights are for: its configuration, tokenizer and preprocessing, not its own weights."""
CONDITION = (
    "light, color, clarity, tone, style, ambiance, artistry, shape, face, hair, hands, limbs, structure, "
    "instance, texture, quantity, attributes, position, number, location, word, things."
)
"""What the overall score was trained with; another list of words asks for another dimension."""


@measure.of_answer(
    direction="higher",
    extra="torch",
    parallel=False,
    checkpoint=PIN,
    source="Zhang et al. 2024 (MPS)",
    licence="Apache-2.0 (code); that of the weights is not known to us",
    aliases=("mps_score", "multi_dimensional_preference_score"),
    card=Card(
        trained_on="MHP: 918,000 choices between images of nine generators by hired annotators",
        biases="Built on CLIP ViT-H/14 and shares its blindness to counts and relations; the words of the "
        "condition decide what counts.",
        tested="small random checkpoint; equal to torch's own attention to 1e-4",
    ),
)
def mps(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    weights: str = "",
    weights_sha256: str = "",
    model: str = CLIP.model,
    revision: str = "",
    sha256: str = "",
    condition: str = CONDITION,
) -> Values:
    """Multi-dimensional Preference Score: scaled cosine of the prompt and what cross-attention sees of it.

    The words of the prompt that are near a word of `condition` are attended to. `weights` are those of CLIP
    and of the cross-attention: a .safetensors file with its `weights_sha256`, or owner/name@commit:file of
    the hub, such as RE-N-Y/mpsv1; the authors' own file is a pickled program, which is refused. `model` has
    the configuration, tokenizer and preprocessing: a folder with the `sha256` of its files, or a name on the
    hub with its `revision`; by default CLIP ViT-H/14. Every answer is scored by itself; the authors' code
    divides by the largest value of a batch.
    """
    given, file = (model, revision, sha256), (weights, weights_sha256)
    return scored(prompts, images, lambda: kept(CrossScore, "mps", given, CLIP, *file, condition))


class CrossScore:
    """CLIP and the cross-attention, loaded."""

    def __init__(self, name: str, folder: Path, weights: str, sha256: str, condition: str) -> None:
        import transformers

        if not weights:
            raise MissingPackage(
                "no weights for mps on this machine",
                remedy=f"Give them: weights='FILE', or weights='{PIN.model}@COMMIT:model.safetensors'.",
            )
        found = tensors(file_of(name, weights, sha256, "weights"))
        state = {key.removeprefix("mps."): value for key, value in found.items()}
        own = {key.removeprefix("model."): value for key, value in state.items() if key.startswith("model.")}
        cross = {
            key.removeprefix("cross_model.layers."): value.float()
            for key, value in state.items()
            if key.startswith("cross_model.layers.")
        }
        if not own or not cross:
            raise DataError("these are not the weights of MPS", where=weights)
        self._model = placed(from_library(name, folder, transformers.CLIPModel, state=own))
        self._cross = {key: value.to(device()) for key, value in cross.items()}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._longest = int(self._model.config.text_config.max_position_embeddings)
        side = self._model.config.vision_config.image_size
        default = {"size": {"shortest_edge": side}, "crop_size": side, "do_center_crop": True, "resample": 3}
        self._preprocessing = Preprocessing.read(
            folder, {**default, "image_mean": CLIP_MEAN, "image_std": CLIP_DEVIATION}
        )
        self._condition = condition
        self._batches = Batches(8)

    def unread(self, texts: Sequence[str]) -> list[int]:
        return beyond(self._tokenizer, texts, self._longest)

    def score(self, texts: Sequence[str], images: Sequence[Picture]) -> np.ndarray:
        return np.concatenate(self._batches.run(self._scores, list(zip(texts, images, strict=True))))

    def _scores(self, part: Sequence[tuple[str, Picture]]) -> np.ndarray:
        import torch

        pixels = torch.from_numpy(np.stack([self._preprocessing(image.rgb) for _, image in part]))
        with inference():
            words, whole = self._words([text for text, _ in part])
            asked, _ = self._words([self._condition])
            seen = self._model.vision_model(pixel_values=pixels.to(device())).last_hidden_state
            seen = self._model.visual_projection(seen)
            near = (words @ asked[0].T).amax(dim=2)
            near = near / near.amax(dim=1, keepdim=True)
            hidden = torch.where(near > 0.01, 0.0, float("-inf"))[:, None, :]
            joined = attended(self._cross, seen, words, hidden)[:, 0]
            cosine = torch.nn.functional.cosine_similarity(whole, joined, dim=1, eps=1e-12)
            return numbers(cosine * self._model.logit_scale.exp())

    def _words(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """The vectors of all tokens of texts in the joint space, and those of the texts."""
        inputs = self._tokenizer(
            list(texts),
            padding="max_length",
            truncation=True,
            max_length=self._longest,
            return_tensors="pt",
        ).to(device())
        found = self._model.text_model(input_ids=inputs["input_ids"])
        project = self._model.text_projection
        return project(found.last_hidden_state), project(found.pooler_output)


def attended(state: Mapping[str, Any], seen: Any, words: Any, hidden: Any) -> Any:
    """What the places of an image become by attending to words and to each other, layer by layer.

    Every layer adds cross-attention with one key and value for all heads and a gated dense part, then
    self-attention of the same kind with rotary positions (Su et al. 2021).
    """
    layers = len({key.partition(".")[0] for key in state})
    for number in range(layers):
        seen = seen + _cross(_below(state, f"{number}.0.fn."), seen, words, hidden)
        seen = seen + _self(_below(state, f"{number}.1.fn."), seen)
    return seen


def _cross(state: Mapping[str, Any], seen: Any, words: Any, hidden: Any) -> Any:
    import torch

    normal = _normal(state, seen)
    key, value = (words @ state["to_kv.weight"].T).chunk(2, dim=-1)
    query = _split(normal @ state["to_q.weight"].T, key.shape[-1])
    strength = query @ key[:, None].transpose(-1, -2) / key.shape[-1] ** 0.5 + hidden[:, None]
    found = _merged(torch.softmax(strength, dim=-1) @ value[:, None]) @ state["to_out.weight"].T
    return found + _gated(normal @ state["ff.0.weight"].T) @ state["ff.2.weight"].T


def _self(state: Mapping[str, Any], seen: Any) -> Any:
    import torch

    normal = _normal(state, seen)
    inner = state["attn_out.weight"].shape[1]
    wide = 2 * state["ff_out.1.weight"].shape[1]
    fused = normal @ state["fused_attn_ff_proj.weight"].T
    one = (fused.shape[-1] - inner - wide) // 2
    query, key, value, rest = fused.split((inner, one, one, wide), dim=-1)
    query, key = _turned(_split(query, one)), _turned(key)
    strength = query @ key[:, None].transpose(-1, -2) / one**0.5
    found = _merged(torch.softmax(strength, dim=-1) @ value[:, None]) @ state["attn_out.weight"].T
    return found + _gated(rest) @ state["ff_out.1.weight"].T


def _below(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}


def _normal(state: Mapping[str, Any], seen: Any) -> Any:
    import torch

    return torch.nn.functional.layer_norm(seen, seen.shape[-1:], state["norm.weight"], state.get("norm.bias"))


def _split(rows: Any, width: int) -> Any:
    return rows.unflatten(-1, (-1, width)).transpose(1, 2)


def _merged(rows: Any) -> Any:
    return rows.transpose(1, 2).flatten(2)


def _gated(rows: Any) -> Any:
    import torch

    value, gate = rows.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * value


def _turned(rows: Any) -> Any:
    """Rotary positions: pairs of numbers turned by an angle that grows with the place."""
    import torch

    width, places = rows.shape[-1], rows.shape[-2]
    rate = 10000 ** (-torch.arange(0, width, 2, device=rows.device).float() / width)
    angle = (torch.arange(places, device=rows.device).float()[:, None] * rate).repeat(1, 2)
    one, two = rows.chunk(2, dim=-1)
    return rows * angle.cos() + torch.cat((-two, one), dim=-1) * angle.sin()
