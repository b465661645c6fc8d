"""DINOv2 and DINOv3: image features that were learned without any texts."""

from __future__ import annotations

from sightline.checkpoints import Pin, checkpoint, from_library
from sightline.encoders.models._transformers import Images
from sightline.extension import Card, ImageEncoder, encoder
from sightline.preprocessing import Preprocessing

DINOV2 = Pin(
    "facebook/dinov2-base",
    "f9e44c814b77203eaa57a6bdbbd535f21ede1415",
    "model.safetensors",
    megabytes=346,
    licence="Apache-2.0",
)
DINOV3 = Pin("facebook/dinov3-vitb16-pretrain-lvd1689m", megabytes=343, licence="DINOv3 License (gated)")
IMAGENET = {"image_mean": (0.485, 0.456, 0.406), "image_std": (0.229, 0.224, 0.225)}
DEFAULT_V2 = {
    "size": {"shortest_edge": 256},
    "crop_size": {"height": 224, "width": 224},
    "do_center_crop": True,
    "resample": 3,
    **IMAGENET,
}
DEFAULT_V3 = {"size": {"height": 224, "width": 224}, "resample": 2, **IMAGENET}


@encoder(
    encodes=("image",),
    extra="torch",
    checkpoint=DINOV2,
    source="Oquab et al. 2024 (DINOv2)",
    licence="Apache-2.0",
    card=Card(
        trained_on="142 million images without labels (LVD-142M)",
        biases="Looks at shape and layout more than at meaning; knows scenes of richer countries best.",
        tested="small random checkpoint; equal to transformers' Dinov2Model to 1e-4",
    ),
)
def dinov2(*, model: str = DINOV2.model, revision: str = "", sha256: str = "") -> ImageEncoder:
    """Images by DINOv2: the state of the class token after the last layer, of length 1.

    `model` is a folder with a checkpoint of transformers' Dinov2Model and the `sha256` of its files, or a
    name on the hub with its `revision`; the default is pinned. Preprocessing is as the checkpoint says: by
    default the shorter side to 256 pixels and the middle of 224.
    """
    import transformers

    folder = checkpoint("dinov2", model, revision, sha256, DINOV2)
    network = from_library("dinov2", folder, transformers.Dinov2Model)
    return Images(network, Preprocessing.read(folder, DEFAULT_V2))


@encoder(
    encodes=("image",),
    extra="torch",
    checkpoint=DINOV3,
    source="Siméoni et al. 2025 (DINOv3)",
    licence="Apache-2.0 (code); DINOv3 License (weights)",
    card=Card(
        trained_on="1.7 billion images without labels (LVD-1689M)",
        biases="Looks at shape and layout more than at meaning.",
        tested="small random checkpoint; equal to transformers' DINOv3ViTModel to 1e-4. Scaling is Pillow's, "
        "while the library's own scales tensors with torchvision",
    ),
)
def dinov3(*, model: str = DINOV3.model, revision: str = "", sha256: str = "") -> ImageEncoder:
    """Images by DINOv3: the state of the class token after the last layer, of length 1.

    `model` is a folder with a checkpoint of transformers' DINOv3ViTModel and the `sha256` of its files, or a
    name on the hub with its `revision`; the hub asks for consent to a licence first. Preprocessing is as the
    checkpoint says: by default squeezed into a square of 224 pixels.
    """
    import transformers

    folder = checkpoint("dinov3", model, revision, sha256, DINOV3)
    network = from_library("dinov3", folder, transformers.DINOv3ViTModel)
    return Images(network, Preprocessing.read(folder, DEFAULT_V3))
