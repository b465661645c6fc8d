"""A study made of the records a test names, with drawn images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.data.check import RuleFinding, check
from sightline.records import Record
from sightline.study.study import Study
from sightline.study.writing.loading import load

Find = Callable[..., list[RuleFinding]]


@pytest.fixture
def picture(tmp_path: Path) -> Callable[[str, int | Sequence[int] | None], str]:
    """A 32 x 32 image: of one grey, of one colour, or of noise that its name decides."""

    def draw(name: str, colour: int | Sequence[int] | None = None) -> str:
        if colour is None:
            rng = np.random.default_rng(sum(name.encode()))
            pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        else:
            pixels = np.full((32, 32, 3), colour, dtype=np.uint8)
        path = tmp_path / f"{name}.png"
        Pillow.fromarray(pixels).save(path)
        return str(path)

    return draw


@pytest.fixture
def find(study: Study) -> Find:
    """Load records and give what one rule finds."""

    def run(rule: str, records: Sequence[Record], *, keep_broken: bool = False) -> list[RuleFinding]:
        load(study, records, importer="test", path=rule, digest=rule, keep_broken=keep_broken)
        return [found for found in check(study).findings if found.rule == rule]

    return run
