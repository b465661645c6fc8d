"""Reads numpy's .npz files: plain arrays of numbers, nothing that could run."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.errors import DataError
from sightline.regular import open_regular

if TYPE_CHECKING:
    import numpy as np

MOST_BYTES = 200_000_000
"""Unpacked; a small archive can claim to hold a great deal more."""


def read_arrays(path: Path, name: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; objects, broken archives and huge ones are refused."""
    import numpy as np

    try:
        with open_regular(path, name) as stream, zipfile.ZipFile(stream) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MOST_BYTES:
            raise DataError(
                f"it would unpack to {size / 1e6:,.0f} MB", where=name, remedy="Give a smaller file."
            )
        with np.load(path, allow_pickle=False) as found:
            return {key: found[key] for key in found.files}
    # A packed member may be damaged, encrypted, or claim more elements than there is memory for.
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        RuntimeError,
        MemoryError,
        zlib.error,
        zipfile.BadZipFile,
    ) as error:
        said = "it holds Python objects" if "allow_pickle" in str(error) else str(error)
        raise DataError(
            f"not an .npz file of plain arrays ({said})", where=name, remedy="Obtain the file again."
        ) from None
