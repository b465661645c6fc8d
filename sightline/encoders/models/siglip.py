"""SigLIP: texts and images in one space, learned pair by pair with a sigmoid loss."""

from __future__ import annotations

from sightline.checkpoints import Pin
from sightline.encoders.models._transformers import two_towers
from sightline.extension import JointEncoder, encoder

PIN = Pin(
    "google/siglip-base-patch16-224",
    "7fd15f0689c79d79e38b1c2e2e2370a7bf2761ed",
    "model.safetensors",
    "2c63cb7d1f2e95ba501893cbb8faeb4ea9a3af295498d35097126228659c2af8",
    813,
    "Apache-2.0",
)
PREPROCESSING = {
    "size": {"height": 224, "width": 224},
    "resample": 3,
    "image_mean": (0.5, 0.5, 0.5),
    "image_std": (0.5, 0.5, 0.5),
}


@encoder(
    encodes=("text", "image"),
    extra="torch",
    checkpoint=PIN,
    source="Zhai et al. 2023",
    licence="Apache-2.0",
)
def siglip(*, model: str = PIN.model, revision: str = "", sha256: str = "") -> JointEncoder:
    """Texts and images in SigLIP's joint space, of length 1.

    `model` is a folder with a checkpoint of transformers' SiglipModel, with the `sha256` of its files,
    or a name on the hub with its `revision`; the default is pinned. Texts are padded to, and cut after, 64
    tokens, as the model was trained; an image is squeezed into a square of 224 pixels unless the checkpoint
    says otherwise.
    """
    given = (model, revision, sha256)
    return two_towers("siglip", "SiglipModel", given, PIN, PREPROCESSING, pad=True)
