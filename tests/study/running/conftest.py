"""What the tests of execution share: small studies, and measures dropped into a plugins folder."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from images import png

from sightline.extension import Configured
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.registry import find_measure
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

HEAD = """
import os
import sys
import time

from sightline.extension import NoValue, Value, measure
"""


@pytest.fixture
def plugin(plugins: Path) -> Callable[[str, str], object]:
    """Makes a one-file extension; names must differ between tests, since loaded ones are kept by identity."""
    return lambda name, source: (plugins / f"{name}.py").write_text(HEAD + textwrap.dedent(source))


def grey(level: int, seed: int = 0, side: int = 8) -> bytes:
    """A PNG of about this brightness, distinct for each level and seed."""
    rng = np.random.default_rng((level, seed))
    return png(np.clip(level + rng.integers(-3, 4, (side, side, 3)), 0, 255))


@pytest.fixture(scope="session")
def grey_png() -> Callable[..., bytes]:
    return grey


def fill(folder: Path, files: Mapping[str, bytes], *records: Record, database: str = "") -> Study:
    """A study with these images, each the answer of `one` to the prompt of the same number."""
    source = folder.parent / f"{folder.name}-files"
    source.mkdir(parents=True, exist_ok=True)
    told: list[Record] = []
    for n, (name, data) in enumerate(files.items()):
        (source / name).write_bytes(data)
        key = ImageKey("pictures", name)
        told.append(Prompt(PromptKey("p", str(n)), f"prompt number {n}"))
        told.append(Image(key, str(source / name)))
        told.append(Answer(PromptKey("p", str(n)), "one", 0, key))
    study = create_study(folder, database_address=database)
    load(study, [*told, *records], importer="test", path=str(source), digest="1", keep_broken=True)
    return study


@pytest.fixture(scope="session")
def filled() -> Callable[..., Study]:
    return fill


@pytest.fixture
def greys(tmp_path: Path) -> Callable[[Iterable[int]], Study]:
    """Makes a study of pictures of these levels of grey, named by their numbers: 00.png, 01.png..."""
    return lambda levels: fill(tmp_path / "s", {f"{n:02}.png": grey(level) for n, level in enumerate(levels)})


@pytest.fixture
def define(plugin: Callable[[str, str], object]) -> Callable[..., Configured]:
    """Makes a measure of one kind from the body of its function, which may write to `log`."""

    def make(kind: str, name: str, body: str, within: str = "0, None") -> Configured:
        given = {"of_answer": "prompts, images"}.get(kind, "images")
        plugin(
            name,
            f"@measure.{kind}(range=({within}), source='test', licence='Apache-2.0')\n"
            f"def {name}({given}):\n    'For a test.'\n" + textwrap.indent(textwrap.dedent(body), "    "),
        )
        return find_measure(name)

    return make
