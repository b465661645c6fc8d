"""Files of plain arrays with a description: what was fitted, saved so that nothing in it can run."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np

MANY = 4_096
"""An array with more numbers than this may be stored in half precision, relative to its largest."""
DESCRIPTION = "description"


def save_arrays(path: Path, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a description and arrays, all at once or not at all."""
    import numpy as np

    if path.suffix != ".npz":
        raise UsageError(f"{path.name} does not end in .npz", remedy=f"For example {path.stem}.npz.")
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            # A description of its own name cannot collide with arrays, which stand under a prefix.
            np.savez_compressed(
                file, allow_pickle=False, **{DESCRIPTION: _bytes(json.dumps(description)), **arrays}
            )
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def load_arrays(path: Path, what: str, remedy: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The description and the arrays of a file; an error says that it is not `what`, and the remedy."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        description = json.loads(_text(arrays.pop(DESCRIPTION)))
        if not isinstance(description, dict):
            raise TypeError
    except FileNotFoundError:
        raise DataError("there is no such file", where=str(path), remedy=remedy) from None
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
        raise DataError(f"this is not {what}", where=str(path), remedy=remedy) from None
    return description, arrays


def content_hash(path: str | Path) -> str | None:
    """sha256 of a file's content; None where there is no such file."""
    file = Path(path)
    if not path or not file.is_file():
        return None
    state = file.stat()
    return _hashed(str(file.resolve()), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _hashed(path: str, changed: int, size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packed(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """An array as it is stored: texts as bytes, many numbers in half precision."""
    import numpy as np

    if array.dtype.kind == "U":
        return {
            f"{name}/text": _bytes("\n".join(array.ravel().tolist())),
            f"{name}/shape": np.array(array.shape, dtype=np.int64),
        }
    if array.dtype.kind != "f" or array.size <= MANY:
        return {name: array}
    largest = float(np.abs(array).max())
    scale = largest if largest > 0 else 1.0
    return {f"{name}/half": (array / scale).astype(np.float16), f"{name}/scale": np.array(scale)}


def unpacked(arrays: Mapping[str, np.ndarray], start: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with `start`, without it."""
    import numpy as np

    found: dict[str, np.ndarray] = {}
    for full, array in arrays.items():
        if not full.startswith(start):
            continue
        name, _, how = full.removeprefix(start).partition("/")
        if not how:
            found[name] = array
        elif how == "half":
            found[name] = array.astype(np.float64) * float(arrays[f"{start}{name}/scale"])
        elif how == "text":
            shape = tuple(arrays[f"{start}{name}/shape"].tolist())
            lines = _text(array).split("\n") if 0 not in shape else []
            found[name] = np.array(lines, dtype=np.str_).reshape(shape)
    return found


def _bytes(text: str) -> np.ndarray:
    import numpy as np

    return np.frombuffer(text.encode(), dtype=np.uint8)


def _text(array: np.ndarray) -> str:
    return array.tobytes().decode()
