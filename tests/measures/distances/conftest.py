"""The small CLIP checkpoint that the tests of encoders build, for distances over it."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_told = spec_from_file_location("checkpoints", Path(__file__).parent.with_name("encoders") / "conftest.py")
assert _told is not None and _told.loader is not None
_checkpoints = module_from_spec(_told)
_told.loader.exec_module(_checkpoints)
clip_checkpoint = _checkpoints.clip_checkpoint
