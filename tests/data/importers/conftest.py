"""What the tests of importers share: running one and looking at what it gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.data.sources import Source
from sightline.records import Record

Run = Callable[..., list[Record]]


@pytest.fixture
def run() -> Run:
    """Run an importer, given by its printed form, on a path."""

    def records(importer: str, path: Path, **columns: Any) -> list[Record]:
        return list(registry.configure("importer", importer).load()(Source(path, columns=columns)))

    return records


@pytest.fixture
def png() -> bytes:
    """The smallest of images."""
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(out, "PNG")
    return out.getvalue()
