"""The small CLIP checkpoint that the tests of encoders build, for distances over it."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FILE = Path(__file__).parents[2] / "encoders" / "models" / "conftest.py"
_spec = spec_from_file_location("checkpoints", FILE)
assert _spec is not None and _spec.loader is not None
_checkpoints = module_from_spec(_spec)
_spec.loader.exec_module(_checkpoints)
clip_checkpoint = _checkpoints.clip_checkpoint
