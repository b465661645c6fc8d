"""Lengths of word vectors from text files written here and from the package that carries some."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sightline.errors import DataError, MissingPackage
from sightline.language import vectors
from sightline.language.vectors import Glove

TEXT = "the 1 2 2\ncat 3 0 4\nCat 0 0 1\n. . . 1 1 1\n"


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz"])
def test_squared_lengths_by_hand(tmp_path: Path, name: str) -> None:
    """1 + 4 + 4; 9 + 16; 1. A word is taken as written, else in lower case; one may hold spaces."""
    file = tmp_path / name
    (gzip.open if name.endswith("gz") else open)(file, "wb").write(TEXT.encode())
    found = Glove(file).squared_norms(["The", "cat", "Cat", "zebra", ". . ."])
    assert found == {"The": 9.0, "cat": 25.0, "Cat": 1.0, ". . .": 3.0}


def test_damaged_vectors(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("the 1 2\ncat 1 x\n")
    with pytest.raises(DataError, match="line 2"):
        Glove(tmp_path / "g.txt").squared_norms(["cat"])
    with pytest.raises(DataError, match="no such file"):
        Glove(tmp_path / "absent.txt")


def test_a_path_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text("cat 2\n")
    monkeypatch.setenv(vectors.VARIABLE, str(tmp_path / "mine.txt"))
    assert Glove().name == "mine.txt" and Glove().squared_norms(["cat"]) == {"cat": 4.0}


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(vectors.VARIABLE, raising=False)
    monkeypatch.setattr(vectors, "PACKAGE", "no-such-distribution")
    with pytest.raises(MissingPackage, match="no word vectors"):
        Glove()


def test_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(vectors.VARIABLE, raising=False)
    try:
        glove = Glove()
    except MissingPackage as error:
        pytest.skip(error.what)
    found = glove.squared_norms(["the", "The", "cat", "cgsocietyyy"])
    assert found.keys() == {"the", "The", "cat"} and found["the"] == found["The"]
    assert all(1 < value < 100 for value in found.values())
