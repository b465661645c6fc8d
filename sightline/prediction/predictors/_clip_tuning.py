"""Training CLIP further on prompts and images: its network and its inputs. Imports torch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from sightline.device import device
from sightline.pictures import Picture, decode
from sightline.prediction.predictors._tuning import Tunable, adapt
from sightline.preprocessing import Preprocessing

HIDDEN = (512, 256)
DROPOUT = 0.5
PART = 16
"""So many prompts, each with its images, go through the network together where nothing is learned."""


class PairNetwork(Tunable):
    """CLIP under a head on each prompt and image; the mean of what it says over the images of a prompt."""

    dense_layers = ("first", "second")

    def __init__(self, clip: Any, targets: int, rank: int) -> None:
        super().__init__()
        self.clip = clip.float()
        self.clip.requires_grad_(rank == 0)
        # It scales cosines, which are not asked for.
        self.clip.logit_scale.requires_grad_(False)
        if rank:
            for tower in (self.clip.text_model, self.clip.vision_model):
                adapt(tower.encoder, rank)
        width = int(clip.config.projection_dim)
        # First weights are drawn by begin(); those of the library would be drawn from the user's chance.
        with torch.random.fork_rng(devices=[]):
            self.first = nn.Linear(4 * width, HIDDEN[0])
            self.second = nn.Linear(HIDDEN[0], HIDDEN[1])
            self.out = nn.Linear(HIDDEN[1], targets)
        self.to(device())
        self.remember()

    def forward(self, words: Any, mask: Any, pixels: Any, owner: Any) -> Any:
        """One row per prompt: the mean over its images."""
        said = self.of_images(words, mask, pixels, owner)
        added = said.new_zeros((len(words), said.shape[1])).index_add(0, owner, said)
        count = torch.bincount(owner, minlength=len(words)).clamp(min=1)
        return (added / count[:, None]).cpu()

    def of_images(self, words: Any, mask: Any, pixels: Any, owner: Any) -> Any:
        """One row per image."""
        t = _unit(self.clip.get_text_features(input_ids=words, attention_mask=mask))[owner]
        v = _unit(self.clip.get_image_features(pixel_values=pixels))
        size = t.shape[1] ** 0.5
        # Numbers of vectors of length 1 are about 1 / sqrt(d): brought to about 1 for the first weights.
        held = torch.cat((t * size, v * size, t * v * size**2, (t - v) * size), dim=1)
        for layer in (self.first, self.second):
            held = nn.functional.dropout(torch.relu(layer(held)), DROPOUT, self.training)
        return torch.sigmoid(self.out(held))


def _unit(found: Any) -> Any:
    # A tensor in version 4 of the library, and in version 5 an output that holds it.
    rows = found if isinstance(found, torch.Tensor) else found.pooler_output
    return nn.functional.normalize(rows, dim=1)


class Pairs:
    """Prompts as tokens and their images as bytes in a temporary file, each image once."""

    def __init__(
        self,
        network: PairNetwork,
        tokenizer: Any,
        preprocessing: Preprocessing,
        texts: Sequence[str],
        shown: Sequence[Sequence[Picture]],
    ) -> None:
        self.network = network
        self._preprocessing = preprocessing
        longest = int(network.clip.config.text_config.max_position_embeddings)
        found = tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
        )
        self._words, self._mask = found["input_ids"], found["attention_mask"]
        self.length = np.array([len(mine) for mine in shown])
        places: dict[str, int] = {}
        self._rows = [[places.setdefault(each.sha256, len(places)) for each in mine] for mine in shown]
        distinct = {each.sha256: each for mine in shown for each in mine}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever uses it as a context
        self._pixels = self._kept([distinct[sha256] for sha256 in places])

    def __enter__(self) -> Pairs:
        return self

    def __exit__(self, *_: object) -> None:
        del self._pixels
        self._file.close()

    def _kept(self, images: Sequence[Picture]) -> np.ndarray:
        whole = np.empty((0, 0, 0, 3), dtype=np.uint8)
        for number, image in enumerate(images):
            # Decoded without being kept by the picture: all of them together may not fit into memory.
            pixels = self._preprocessing.pixels(
                image.rgb if image.made_up else decode(image.data, image.name)
            )
            if number == 0:
                shape = (len(images), *pixels.shape)
                whole = np.memmap(self._file, dtype=np.uint8, mode="w+", shape=shape)
            whole[number] = pixels
        return whole

    def batch(self, rows: np.ndarray) -> tuple[Any, ...]:
        """Words and their mask, pixels of all images, and whose each image is."""
        chosen = [place for row in rows.tolist() for place in self._rows[row]]
        pixels = np.stack([self._preprocessing.normal(self._pixels[place]) for place in chosen])
        owner = np.repeat(np.arange(len(rows)), self.length[rows])
        where = device()
        return (
            self._words[rows].to(where),
            self._mask[rows].to(where),
            torch.from_numpy(pixels).to(where),
            torch.from_numpy(owner).to(where),
        )

    def said(self, rows: np.ndarray) -> np.ndarray:
        """The network's outputs for these rows, one column per target."""
        self.network.eval()
        parts = [rows[start : start + PART] for start in range(0, len(rows), PART)]
        with torch.no_grad():
            found = [self.network(*self.batch(part)).double().numpy() for part in parts]
        return np.concatenate(found) if found else np.zeros((0, self.network.out.out_features))

    def of_images(self) -> Iterator[np.ndarray]:
        """What is said of each image of each prompt, one row per image."""
        self.network.eval()
        for row in range(len(self._rows)):
            with torch.no_grad():
                found = self.network.of_images(*self.batch(np.array([row])))
            yield found.double().cpu().numpy()
