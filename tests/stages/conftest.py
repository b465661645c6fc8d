"""A small study of painted pictures, and an encoder of texts and images that needs no weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.store.loading import load
from sightline.store.study import Study, create_study

ENCODER = '''
from pathlib import Path
import numpy as np
from sightline.extension import backbone

NAMED = {"red": 0, "green": 1, "blue": 2}

@backbone(encodes=("text", "image"), source="me", licence="MIT")
def colours(*, log: str = ""):
    """Texts by the colours they name, images by their mean colour; `log` counts what was encoded."""
    return _Colours(log)

class _Colours:
    def __init__(self, log):
        self.log = log

    def note(self, what, n):
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{what} {n}\\n")

    def text(self, texts):
        self.note("text", len(texts))
        rows = np.zeros((len(texts), 3), dtype=np.float32)
        for row, text in zip(rows, texts):
            for word in text.split():
                if word in NAMED:
                    row[NAMED[word]] += 1
        return rows

    def image(self, images):
        self.note("image", len(images))
        rows = [image.rgb.mean(axis=(0, 1)) / 255 for image in images]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)
'''
PAINTS = {
    "rose": ((255, 0, 0), ["red", "a flower"]),
    "grape": ((255, 0, 255), ["red blue fruit"]),
    "sea": ((0, 0, 255), ["blue"]),
    "leaf": ((0, 255, 0), ["green", "green green"]),
}


@pytest.fixture
def colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an encoder `colours` of texts and images, at hand as a plugin."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "colours.py").write_text(ENCODER)
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(folder))
    return "colours"


@pytest.fixture
def painted(tmp_path: Path, colours: str) -> Iterator[Study]:
    """Pictures rose, grape, sea, leaf of the collection `paints`, prompts r, b and g for their colours."""
    records: list[Record] = [
        Prompt(PromptKey("suite", "r"), "red"),
        Prompt(PromptKey("suite", "b"), "blue"),
        Prompt(PromptKey("suite", "g"), "green"),
    ]
    for name, (colour, captions) in PAINTS.items():
        file = tmp_path / f"{name}.png"
        Pillow.new("RGB", (16, 16), colour).save(file)
        records.append(Image(ImageKey("paints", name), str(file), captions))
    with create_study(tmp_path / "painted") as made:
        load(made, records, importer="test", path="paints", digest="paints")
        yield made


@pytest.fixture
def unjudged(tmp_path: Path) -> Iterator[Study]:
    """Eight queries (kind x or y) that engines `steep` and `flat` answered with scores, and no truth at all.

    nqc of a ranking m + d, m - d is d / m: (n + 2) / 16 of steep for query n, (8 - n) / 160 of flat.
    """
    records: list[Record] = [System("steep", "retriever", "c"), System("flat", "retriever", "c")]
    for n in range(8):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"query {n}", {"kind": "xy"[n % 2], "half": "ab"[n // 4]}))
        for system, middle, apart in (("steep", 8.0, (n + 2) / 2), ("flat", 80.0, (8 - n) / 2)):
            records += [
                Answer(key, system, place, ImageKey("c", f"{system}{place}"), middle + sign * apart)
                for place, sign in enumerate((1, -1))
            ]
    with create_study(tmp_path / "unjudged") as made:
        load(made, records, importer="test", path="runs", digest="runs")
        yield made
