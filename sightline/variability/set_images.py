"""The images of a prompt that figures show: read, checked for blank and missing ones, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError
from sightline.estimate import Estimate
from sightline.pictures import Picture
from sightline.rendering.shown import Thumbnail
from sightline.statistics.sets import pairwise_mean, pairwise_mean_interval
from sightline.study import listing, reading
from sightline.study.running.calls import compute_picture
from sightline.study.running.embedding import loaded_over
from sightline.study.study import Study
from sightline.variability.variability import ONE_COLOUR, texts_of

SIDE = 128
"""Pixels of the longer side of a thumbnail on the page."""

Normalise = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class OneImage:
    """An answer as it is shown: `reason` says why it cannot be, `blank` that it shows nothing.

    It holds no pixels: sets are remembered, and a study's images together are larger than memory.
    """

    system: str
    position: int
    sha256: str = ""
    reason: str = ""
    blank: bool = False

    @property
    def name(self) -> str:
        return f"{self.system}, image {self.position + 1}"


@dataclass(frozen=True)
class ImageSet:
    """Images of one prompt, by one system or several; `distances` is of those that could be read."""

    prompt: str
    images: Sequence[OneImage]
    distances: np.ndarray = field(repr=False)

    @property
    def readable(self) -> list[OneImage]:
        return [image for image in self.images if not image.reason]

    @property
    def blank(self) -> int:
        return sum(image.blank for image in self.images)

    @property
    def missing(self) -> int:
        return len(self.images) - len(self.readable)

    @property
    def sound(self) -> bool:
        """Whether every image is here and shows something."""
        return not self.blank and not self.missing

    @property
    def shown(self) -> np.ndarray:
        """Which of the readable images show something."""
        return np.array([not image.blank for image in self.readable], dtype=bool)

    def similarity(self) -> Estimate:
        """1 minus the mean distance over all pairs, with its interval over images."""
        far = pairwise_mean_interval(self.distances)
        value, low, high = (None if end is None else 1 - end for end in (far.value, far.high, far.low))
        return replace(far, value=value, low=low, high=high)

    def within(self, settings: Sequence[object]) -> Iterator[tuple[object, float]]:
        """The similarity of the images that share a setting; `settings` has one for each image."""
        mine = [value for value, image in zip(settings, self.images, strict=True) if not image.reason]
        for setting in dict.fromkeys(mine):
            rows = [n for n, value in enumerate(mine) if value == setting]
            if setting is not None and len(rows) > 1:
                yield setting, 1 - pairwise_mean(self.distances[np.ix_(rows, rows)])


class ImageSets:
    """Sets of a study's images, each read and compared when first asked for, and then remembered."""

    def __init__(self, study: Study, distance: str, normalise: Normalise | None = None) -> None:
        self.study = study
        self.distance = registry.configure("distance", distance)
        self._blank = registry.configure("of_image", "blank")
        self._normalise = normalise
        self._known: dict[tuple[int, int | None], ImageSet] = {}

    @property
    def measured(self) -> str:
        """What the distances are, in words."""
        return f"{self.distance.short}, normalised" if self._normalise is not None else self.distance.short

    @property
    def bounded(self) -> bool:
        """Whether distances end at 1."""
        return self._normalise is not None or self.distance.spec.range == (0, 1)

    @cached_property
    def answers(self) -> pl.DataFrame:
        """Every answer of a generator."""
        return reading.answers(self.study, "generator").sort("prompt_id", "system_id", "position")

    @cached_property
    def texts(self) -> dict[int, str]:
        return texts_of(self.study)

    def get(self, prompt_id: int, system_id: int | None = None) -> ImageSet:
        """The images of a prompt, of one system or of all."""
        key = (prompt_id, system_id)
        if key not in self._known:
            self._known[key] = self._made(*key)
        return self._known[key]

    def thumbnail(self, image: OneImage, side: int = SIDE) -> Thumbnail:
        """A small picture of an image, or the reason why there is none."""
        if image.reason:
            return Thumbnail(None, image.system, reason=image.reason)
        try:
            return Thumbnail(self.study.files.thumbnail(image.sha256, side), image.system)
        except DataError as error:
            return Thumbnail(None, image.system, reason=error.what)

    def pixels(self, image: OneImage) -> np.ndarray:
        """An image that can be read, as pixels."""
        return self.study.files.picture(image.sha256).rgb

    def _made(self, prompt_id: int, system_id: int | None) -> ImageSet:
        rows = self.answers.filter(pl.col("prompt_id") == prompt_id)
        if system_id is not None:
            rows = rows.filter(pl.col("system_id") == system_id)
        looked = [self._look(row) for row in rows.iter_rows(named=True)]
        pictures = [picture for _, picture in looked if picture is not None]
        matrix = np.zeros((len(pictures), len(pictures)))
        if len(pictures) > 1:
            matrix = np.asarray(self._compare(pictures), dtype=np.float64)
            if self._normalise is not None:
                matrix = self._normalise(matrix)
        return ImageSet(self.texts[prompt_id], [image for image, _ in looked], matrix)

    @cached_property
    def _compare(self) -> Callable[[Sequence[Picture]], np.ndarray]:
        compare: Callable[[Sequence[Picture]], np.ndarray] = loaded_over(self.study, self.distance)
        return compare

    def _look(self, row: dict[str, Any]) -> tuple[OneImage, Picture | None]:
        whose = (str(row["system"]), int(row["position"]))
        if row["sha256"] is None:
            return OneImage(*whose, reason=str(row["failure"] or "the file is not here")), None
        sha256 = str(row["sha256"])
        try:
            picture = self.study.files.picture(sha256)
        except DataError as error:
            return OneImage(*whose, sha256, reason=error.what), None
        outcome = compute_picture(self._blank, picture)
        if outcome.value is None:
            return OneImage(*whose, sha256, reason=outcome.reason or "cannot be read"), None
        return OneImage(*whose, sha256, blank=outcome.value >= ONE_COLOUR), picture


def settings_of(study: Study) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Prompt, system and settings of every answer."""
    answers, settings = listing.named_answers(study)
    prompts = {(suite, ref): key for key, suite, ref, _ in reading.prompts(study).iter_rows()}
    named = answers.select("suite", "prompt_id", "system").iter_rows()
    for (suite, ref, system), own in zip(named, settings, strict=True):
        yield prompts[suite, ref], system, own or {}


def varying_setting(study: Study) -> tuple[str, dict[tuple[int, str], list[object]]] | None:
    """The first setting, by name, that has several values, and by prompt and system its value of each answer.

    A seed is no setting: it is what makes images of one prompt differ.
    """
    answers = list(settings_of(study))
    values: dict[str, set[object]] = {}
    for _, _, settings in answers:
        for name, value in settings.items():
            if isinstance(value, str | int | float):
                values.setdefault(name, set()).add(value)
    varying = sorted(name for name, some in values.items() if len(some) > 1 and name != "seed")
    if not varying:
        return None
    by_set: dict[tuple[int, str], list[object]] = {}
    for prompt, system, settings in answers:
        by_set.setdefault((prompt, system), []).append(settings.get(varying[0]))
    return varying[0], by_set
