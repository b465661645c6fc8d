"""The small checkpoints of joint encoders, by the names that tests of encoders ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def clip_checkpoint(small_checkpoint: Callable[[str], Path]) -> Path:
    return small_checkpoint("clip")


@pytest.fixture(scope="session")
def siglip_checkpoint(small_checkpoint: Callable[[str], Path]) -> Path:
    return small_checkpoint("siglip")
