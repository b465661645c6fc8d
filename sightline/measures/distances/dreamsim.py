"""DreamSim: a distance tuned on people's choices between generated variations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import folder_of
from sightline.device import Batches, device, inference, numbers, precision
from sightline.errors import MissingPackage, UsageError, near
from sightline.extension import Card, Picture, distance

METRICS = ("cosine", "euclidean")
PAGE = "github.com/ssundaram21/dreamsim, releases: dreamsim_ensemble_checkpoint.zip, unpacked, MIT"


@distance(
    range=(0, None),
    extra="torch",
    packages=("dreamsim",),
    source="Fu et al. 2023 (DreamSim)",
    licence="Apache-2.0 (code); MIT (weights)",
    card=Card(
        trained_on="NIGHTS: 20,000 choices of which of two generated variations is nearer to an image",
        biases="Looks at the foreground and its layout and colour more than at fine texture.",
        tested="written by the package's documentation, untested: it needs torchvision and another torch",
        trust="not measured here",
    ),
)
def dreamsim(
    images: Sequence[Picture],
    *,
    folder: str = "",
    folder_sha256: str = "",
    kind: str = "ensemble",
    metric: str = "cosine",
) -> np.ndarray:
    """Distance of images under DreamSim.

    `metric` is cosine (1 - cosine of the embeddings) or euclidean (between embeddings as they are), which
    is what W1KP's published reference and levels are of. `folder` holds the checkpoints as the package
    dreamsim keeps them (its cache_dir), with its `folder_sha256`; `kind` is the package's dreamsim_type,
    such as ensemble or dino_vitb16. Nothing is fetched that is in the folder; what the package does with it
    is its own.
    """
    if metric not in METRICS:
        raise UsageError(f"dreamsim: there is no metric {metric!r}", remedy=near(metric, METRICS))
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    if not folder:
        raise MissingPackage(
            "no weights for dreamsim on this machine", remedy=f"dreamsim(folder='...'): {PAGE}."
        )
    model, prepare = _loaded(folder, folder_sha256, kind, device(), precision())
    rows = np.concatenate(Batches(16).run(lambda part: _embedded(model, prepare, part), list(images)))
    return between(rows.astype(np.float64), metric)


def between(rows: np.ndarray, metric: str) -> np.ndarray:
    """The distance between every two embeddings."""
    from scipy.spatial.distance import pdist, squareform

    return squareform(np.clip(pdist(rows, metric), 0, None))


def _embedded(model: Any, prepare: Any, part: Sequence[Picture]) -> np.ndarray:
    import torch
    from PIL import Image

    pixels = torch.cat([prepare(Image.fromarray(image.rgb)) for image in part]).to(device())
    with inference():
        return numbers(model.embed(pixels)).reshape(len(part), -1)


@lru_cache(maxsize=1)
def _loaded(folder: str, sha256: str, kind: str, where: str, exactness: str) -> tuple[Any, Any]:
    from importlib import import_module

    kept = folder_of("dreamsim", Path(folder), sha256, "folder")
    package = import_module("dreamsim")
    model, prepare = package.dreamsim(pretrained=True, device=where, cache_dir=str(kept), dreamsim_type=kind)
    return model.eval(), prepare
