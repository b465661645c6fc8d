"""SSCD: descriptors that find copies of an image, however they were edited."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import folder_of
from sightline.device import Batches, device, inference, numbers, placed
from sightline.encoders.models._transformers import unit
from sightline.errors import DataError, MissingPackage
from sightline.extension import Card, ImageEncoder, Picture, Pin, encoder
from sightline.preprocessing import Preprocessing

PIN = Pin(
    "sscd_disc_mixup.torchscript.pt",
    megabytes=99,
    licence="MIT",
    page="github.com/facebookresearch/sscd-copy-detection: sscd_disc_mixup.torchscript.pt",
)
SIDE = 288


@encoder(
    encodes=("image",),
    extra="torch",
    checkpoint=PIN,
    source="Pizzi et al. 2022 (SSCD)",
    licence="MIT",
    card=Card(
        trained_on="DISC21: a million photographs without labels, and edited copies of them",
        biases="Tells copies from others; how alike two different pictures are it does not say.",
        tested="small traced network; equal to torch's own call to 1e-4. Never run with real weights here",
    ),
)
def sscd(*, model: str = "", sha256: str = "", side: int = SIDE) -> ImageEncoder:
    """Images by SSCD, of length 1: near 1 for copies, near 0 for other pictures.

    `model` is the authors' TorchScript file with its `sha256`. The shorter side is scaled to `side` pixels,
    288 as the authors advise; images of one shape are run together. TorchScript holds only operators of
    torch: nothing else in the file is executed.
    """
    import torch

    if not model:
        raise MissingPackage(
            "no weights for sscd on this machine", remedy=f"sscd(model='FILE'): {PIN.origin}."
        )
    file = folder_of("sscd", Path(model), sha256, "model") if Path(model).exists() else None
    if file is None:
        raise DataError("there is no such file", where=model, remedy=f"Have it from {PIN.origin}.")
    try:
        network = torch.jit.load(str(file), map_location="cpu")
    except (RuntimeError, ValueError) as error:
        raise DataError(
            f"this is no TorchScript file: {str(error).splitlines()[0][:200]}", where=str(file)
        ) from None
    return _Copies(network, side)


class _Copies:
    def __init__(self, network: Any, side: int) -> None:
        self._network = placed(network)
        self._preprocessing = Preprocessing.of(
            {
                "size": {"shortest_edge": side},
                "resample": 2,
                "image_mean": (0.485, 0.456, 0.406),
                "image_std": (0.229, 0.224, 0.225),
            }
        )
        self._batches = Batches(16)
        self._dimensions = 0

    def prepare(self, image: Picture) -> np.ndarray:
        return self._preprocessing(image.rgb)

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        return self.encode([self.prepare(image) for image in images])

    def encode(self, prepared: Sequence[np.ndarray]) -> np.ndarray:
        if not len(prepared):
            if not self._dimensions:
                self.encode([np.zeros((3, 64, 64), np.float32)])
            return np.zeros((0, self._dimensions), dtype=np.float32)
        shapes: dict[tuple[int, ...], list[int]] = {}
        for n, pixels in enumerate(prepared):
            shapes.setdefault(pixels.shape, []).append(n)
        rows: dict[int, np.ndarray] = {}
        for alike in shapes.values():
            found = np.concatenate(self._batches.run(self._run, [prepared[n] for n in alike]))
            rows |= dict(zip(alike, found, strict=True))
        made = np.stack([rows[n] for n in range(len(prepared))])
        self._dimensions = int(made.shape[1])
        return unit(made)

    def _run(self, part: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        with inference():
            return numbers(self._network(torch.from_numpy(np.stack(part)).to(device())))
