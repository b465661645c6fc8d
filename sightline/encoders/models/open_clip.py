"""Checkpoints of open_clip: read into transformers' CLIP where they are plain, else by open_clip."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import Pin, checkpoint, file_of, from_library, tensors
from sightline.device import Batches, device, inference, numbers, placed
from sightline.encoders.models._transformers import TwoTowers, tokenizer_of, unit
from sightline.errors import DataError, MissingPackage
from sightline.extension import Card, JointEncoder, Picture, encoder
from sightline.preprocessing import CLIP_DEVIATION, CLIP_MEAN, Preprocessing

PIN = Pin(
    "laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
    "1c2b8495b28150b8a4922ee1c8edee224c284c0c",
    megabytes=3944,
    licence="MIT",
)

OWN = "text_model.embeddings.token_embedding.weight"
"""A name that only transformers gives."""
FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
NAMES = (
    (r"^visual\.class_embedding$", "vision_model.embeddings.class_embedding"),
    (r"^visual\.conv1\.", "vision_model.embeddings.patch_embedding."),
    (r"^visual\.positional_embedding$", "vision_model.embeddings.position_embedding.weight"),
    (r"^visual\.ln_pre\.", "vision_model.pre_layrnorm."),
    (r"^visual\.ln_post\.", "vision_model.post_layernorm."),
    (r"^visual\.transformer\.resblocks\.", "vision_model.encoder.layers."),
    (r"^token_embedding\.", "text_model.embeddings.token_embedding."),
    (r"^positional_embedding$", "text_model.embeddings.position_embedding.weight"),
    (r"^ln_final\.", "text_model.final_layer_norm."),
    (r"^transformer\.resblocks\.", "text_model.encoder.layers."),
    (r"\.ln_([12])\.", r".layer_norm\1."),
    (r"\.mlp\.c_fc\.", ".mlp.fc1."),
    (r"\.mlp\.c_proj\.", ".mlp.fc2."),
    (r"\.attn\.out_proj\.", ".self_attn.out_proj."),
)
"""From open_clip's names to those of transformers' CLIPModel."""


@encoder(
    encodes=("text", "image"),
    extra="torch",
    checkpoint=PIN,
    source="Ilharco et al. 2021 (OpenCLIP); Cherti et al. 2023",
    licence="Apache-2.0 (code); MIT (weights of LAION)",
    card=Card(
        trained_on="2 billion captioned images of the web (LAION-2B), in the default checkpoint",
        biases="As CLIP's; LAION's captions are less filtered.",
        tested="small random checkpoint in open_clip's names; equal to transformers' CLIPModel to 1e-4. "
        "Architectures that need the package open_clip itself are untested: it needs torchvision",
    ),
)
def open_clip(
    *,
    model: str = PIN.model,
    revision: str = "",
    sha256: str = "",
    weights: str = "",
    weights_sha256: str = "",
    longest: bool = False,
) -> JointEncoder:
    """Texts and images in the joint space of an open_clip checkpoint, of length 1.

    `model` is a folder with the `sha256` of its files, or a name on the hub with its `revision`: a checkpoint
    of transformers' CLIPModel, or one of open_clip (open_clip_config.json and open_clip_model.safetensors)
    with its tokenizer. `weights` is a file in open_clip's or in transformers' names, with its
    `weights_sha256` or as owner/name@commit:file of the hub, to take in place of the folder's. Plain vision
    transformers run in transformers; others need the package open_clip (pip install open_clip_torch), which
    runs them by itself. With `longest` the longer side is scaled and black is put around, as HPS v2 does;
    otherwise the middle of the image is taken.
    """
    import transformers

    folder = checkpoint("open_clip", model, revision, sha256, PIN)
    own = next((folder / name for name in FILES if (folder / name).is_file()), None)
    file = file_of("open_clip", weights, weights_sha256, "weights") if weights else None
    if file is None and own is None:
        network = from_library("open_clip", folder, transformers.CLIPModel)
    else:
        state = tensors(file or own)  # type: ignore[arg-type]
        if not _plain(state):
            return _by_package(folder)
        network = _converted(folder, state)
    side = int(network.config.vision_config.image_size)
    return TwoTowers(network, tokenizer_of(folder), _preprocessing(folder, side, longest), True)


def _plain(state: Mapping[str, Any]) -> bool:
    """Whether the weights are those of a plain vision transformer and a plain text transformer."""
    if OWN in state:
        return True
    needed = ("visual.conv1.weight", "visual.class_embedding", "visual.proj", "ln_final.weight")
    names = {name.removeprefix("text.") for name in state}
    return all(name in names for name in needed) and "visual.layer1.0.conv1.weight" not in names


def _preprocessing(folder: Path, side: int, longest: bool) -> Preprocessing:
    own = _config(folder).get("preprocess_cfg", {})
    default = {
        "size": {"shortest_edge": side},
        "crop_size": side,
        "do_center_crop": True,
        "resample": 3,
        "image_mean": own.get("mean") or CLIP_MEAN,
        "image_std": own.get("std") or CLIP_DEVIATION,
    }
    if longest:
        return Preprocessing.of({**default, "size": {"longest_edge": side}, "do_center_crop": False})
    return Preprocessing.read(folder, default)


def _config(folder: Path) -> Mapping[str, Any]:
    file = folder / "open_clip_config.json"
    return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def _converted(folder: Path, state: Mapping[str, Any]) -> Any:
    """transformers' CLIPModel with weights that have open_clip's names."""
    import torch
    import transformers

    own = dict(state) if OWN in state else renamed(state)
    with torch.random.fork_rng(devices=[]):
        network = transformers.CLIPModel(_shape(folder, state))
    try:
        absent = network.load_state_dict(own, strict=False).missing_keys
    except RuntimeError as error:
        raise DataError(
            f"the weights do not fit the configuration: {str(error).splitlines()[-1].strip()}",
            where=str(folder),
            remedy="The folder's config.json, or open_clip_config.json, must be that of the weights.",
        ) from None
    absent = [name for name in absent if not name.endswith("position_ids")]
    if absent:
        raise DataError(f"{len(absent)} weights are missing, such as {absent[0]}", where=str(folder))
    return network


def renamed(state: Mapping[str, Any]) -> dict[str, Any]:
    """Weights in open_clip's names as transformers' CLIPModel has them."""
    made: dict[str, Any] = {}
    for key, value in state.items():
        name = key.removeprefix("module.").removeprefix("text.")
        if name in ("text_projection", "visual.proj"):
            made["text_projection.weight" if name[0] == "t" else "visual_projection.weight"] = (
                value.T.contiguous()
            )
            continue
        for old, new in NAMES:
            name = re.sub(old, new, name)
        if match := re.match(r"(.*)\.attn\.in_proj_(weight|bias)$", name):
            for part, rows in zip("qkv", value.chunk(3), strict=True):
                made[f"{match[1]}.self_attn.{part}_proj.{match[2]}"] = rows.contiguous()
        else:
            made[name] = value
    return {name: value.float() for name, value in made.items() if not name.endswith("attn_mask")}


def _shape(folder: Path, state: Mapping[str, Any]) -> Any:
    """The configuration of the network: that of transformers in the folder, or open_clip's."""
    import transformers

    if (folder / "config.json").is_file():
        return transformers.CLIPConfig.from_pretrained(folder)
    known = _config(folder).get("model_cfg")
    if not known:
        raise DataError("there is neither config.json nor open_clip_config.json in it", where=str(folder))
    vision, text = known["vision_cfg"], known["text_cfg"]
    act = "quick_gelu" if known.get("quick_gelu") else "gelu"
    end = int(text.get("vocab_size", 49408)) - 1
    return transformers.CLIPConfig(
        projection_dim=known["embed_dim"],
        text_config={
            "vocab_size": text.get("vocab_size", 49408),
            "max_position_embeddings": text.get("context_length", 77),
            "hidden_size": text["width"],
            "intermediate_size": int(text["width"] * text.get("mlp_ratio", 4)),
            "num_attention_heads": text["heads"],
            "num_hidden_layers": text["layers"],
            "hidden_act": act,
            "bos_token_id": end - 1,
            "eos_token_id": end,
        },
        vision_config={
            "image_size": vision["image_size"],
            "patch_size": vision["patch_size"],
            "hidden_size": vision["width"],
            "intermediate_size": int(vision["width"] * vision.get("mlp_ratio", 4)),
            "num_attention_heads": vision["width"] // vision.get("head_width", 64),
            "num_hidden_layers": vision["layers"],
            "hidden_act": act,
        },
    )


def _by_package(folder: Path) -> JointEncoder:
    """A checkpoint of any architecture, run by open_clip; written by its documentation, untested here."""
    from importlib import import_module

    try:
        package = import_module("open_clip")
    except ImportError:
        raise MissingPackage(
            "this architecture of open_clip is run by its own package, which is not installed",
            remedy="pip install open_clip_torch",
        ) from None
    network, preprocess = package.create_model_from_pretrained(f"local-dir:{folder}")
    return _Packaged(network, preprocess, package.get_tokenizer(f"local-dir:{folder}"))


class _Packaged:
    def __init__(self, network: Any, preprocess: Any, tokenizer: Any) -> None:
        self._network = placed(network)
        self._preprocess = preprocess
        self._tokenizer = tokenizer
        self._batches = Batches()

    @property
    def logit_scale(self) -> float:
        return float(self._network.logit_scale.detach().exp())

    def text(self, texts: Sequence[str]) -> np.ndarray:
        def rows(part: Sequence[str]) -> np.ndarray:
            with inference():
                return numbers(self._network.encode_text(self._tokenizer(list(part)).to(device())))

        # An empty list has as many columns as any text.
        return unit(np.concatenate(self._batches.run(rows, list(texts) or [""])))[: len(texts)]

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        import torch
        from PIL import Image

        def rows(part: Sequence[Picture]) -> np.ndarray:
            pixels = torch.stack([self._preprocess(Image.fromarray(each.rgb)) for each in part])
            with inference():
                return numbers(self._network.encode_image(pixels.to(device())))

        if not images:
            return self.text([])
        return unit(np.concatenate(self._batches.run(rows, images)))
