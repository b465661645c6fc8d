"""CLIP: texts and images in one space, learned from pairs of the web."""

from __future__ import annotations

from sightline.checkpoints import Pin
from sightline.encoders.models._transformers import two_towers
from sightline.extension import JointEncoder, encoder
from sightline.preprocessing import CLIP_DEVIATION, CLIP_MEAN

PIN = Pin(
    "openai/clip-vit-base-patch32",
    "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268",
    "pytorch_model.bin",
    "a63082132ba4f97a80bea76823f544493bffa8082296d62d71581a4feff1576f",
    605,
    "MIT",
)
PREPROCESSING = {
    "size": {"shortest_edge": 224},
    "crop_size": {"height": 224, "width": 224},
    "do_center_crop": True,
    "resample": 3,
    "image_mean": CLIP_MEAN,
    "image_std": CLIP_DEVIATION,
}


@encoder(
    encodes=("text", "image"),
    extra="torch",
    checkpoint=PIN,
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
