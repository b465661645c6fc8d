"""What blocks of a page show: a scale, a thumbnail, a prompt with its images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sightline.estimate import Direction, Estimate
from sightline.rendering.charts import Domain
from sightline.rendering.tables import Table


@dataclass(frozen=True)
class Scale:
    """What a number measures: the question or truth, its range and which way is better."""

    name: str
    direction: Direction = "higher"
    low: float | None = None
    high: float | None = None

    @property
    def domain(self) -> Domain | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Thumbnail:
    """A small picture (PNG, JPEG, WebP or GIF bytes), or the reason why there is none.

    `system` labels whose answer it is, `value` what it was worth.
    """

    data: bytes | None = None
    system: str = ""
    value: Estimate | None = None
    reason: str = ""


@dataclass(frozen=True)
class ShownPrompt:
    """A prompt with its value and some of the images that answered it.

    Where the value was predicted, `truth` is the true value.
    """

    text: str
    mean: Estimate | None = None
    tags: Sequence[tuple[str, str]] = ()
    thumbnails: Sequence[Thumbnail] = ()
    note: str = ""
    truth: float | None = None


class Renderable(Protocol):
    """What every face needs of a result."""

    @property
    def sentence(self) -> str: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def next(self) -> Sequence[str]: ...
    def tables(self) -> Mapping[str, Table]: ...
    def figures(self) -> Mapping[str, Any]: ...
