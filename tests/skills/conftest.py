"""Studies whose images are known: what verdicts must say of every answer follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from known_scenes import Maker, asked, seen


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    return Maker(tmp_path / "files")


@pytest.fixture
def scene_of() -> Callable[..., dict[str, Any]]:
    return seen


@pytest.fixture
def expects_of() -> Callable[..., dict[str, Any]]:
    return asked
