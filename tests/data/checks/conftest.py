"""A study made of the records a test names, with drawn images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.data.check import RuleFinding, check
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.study import Study
from sightline.study.writing.loading import load

Find = Callable[..., list[RuleFinding]]
TEXTS = {"a": "a red ball", "b": "two dogs", "c": "no cat"}
PROMPTS = [Prompt(PromptKey("suite", ref), text) for ref, text in TEXTS.items()]


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


@pytest.fixture(scope="session")
def answer() -> Callable[..., list[Record]]:
    """An image and that a system answered a prompt with it."""

    def make(prompt: PromptKey, system: str, position: int, path: str) -> list[Record]:
        key = ImageKey(system, f"{prompt.ref}-{position}")
        return [Image(key, path), Answer(prompt, system, position, key)]

    return make


@pytest.fixture
def find(study: Study) -> Find:
    """Load records, after the prompts a, b and c of a suite unless others are named; what one rule finds."""

    def run(
        rule: str,
        records: Sequence[Record],
        *,
        prompts: Sequence[Record] = PROMPTS,
        keep_broken: bool = False,
    ) -> list[RuleFinding]:
        load(study, [*prompts, *records], importer="test", path=rule, digest=rule, keep_broken=keep_broken)
        return [found for found in check(study).findings if found.rule == rule]

    return run
