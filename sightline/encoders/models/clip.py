"""CLIP: texts and images in one space, learned from pairs of the web."""

from __future__ import annotations

from sightline.encoders.models._transformers import Pin, two_towers
from sightline.extension import JointEncoder, encoder

PIN = Pin(
    "openai/clip-vit-base-patch32",
    "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268",
    "pytorch_model.bin",
    "a63082132ba4f97a80bea76823f544493bffa8082296d62d71581a4feff1576f",
)
PREPROCESSING = {
    "size": {"shortest_edge": 224},
    "crop_size": {"height": 224, "width": 224},
    "do_center_crop": True,
    "resample": 3,
    "image_mean": (0.48145466, 0.4578275, 0.40821073),
    "image_std": (0.26862954, 0.26130258, 0.27577711),
}


@encoder(
    encodes=("text", "image"),
    extra="torch",
    source="Radford et al. 2021",
    licence="Apache-2.0 (code); MIT (weights of OpenAI)",
)
def clip(*, model: str = PIN.model, revision: str = "", sha256: str = "") -> JointEncoder:
    """Texts and images in CLIP's joint space, of length 1.

    `model` is a folder with a checkpoint of transformers' CLIPModel, with the `sha256` of its files,
    or a name on the hub with its `revision`; the default is pinned. Texts are cut after 77 tokens, as the
    model was trained; preprocessing is as the checkpoint says: by default the shorter side to 224 pixels and
    the middle of it.
    """
    given = (model, revision, sha256)
    return two_towers("clip", "CLIPModel", given, PIN, PREPROCESSING, pad=False)
