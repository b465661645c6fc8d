"""Local copies: bounded, the longest unused go first, several processes share them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sightline.errors import StudyError
from sightline.study.read_cache import ReadCache


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def keep(copies: ReadCache, place: str, data: bytes) -> Path:
    path = copies.add(place, lambda part: part.write_bytes(data) >= 0)
    assert path is not None
    return path


def test_copies_are_shared_by_address(home: Path) -> None:
    first, second, other = ReadCache("s3://a"), ReadCache("s3://a"), ReadCache("s3://b")
    path = keep(first, "images/ab/abc", b"12345")
    assert second.find("images/ab/abc") == path and path.read_bytes() == b"12345"
    assert other.find("images/ab/abc") is None
    assert path.is_relative_to(home)
    second.drop("images/ab/abc")
    assert first.find("images/ab/abc") is None


def test_what_is_not_there_is_not_copied(home: Path) -> None:
    copies = ReadCache("s3://a")
    assert copies.add("images/x", lambda part: False) is None
    assert copies.use() == (0, 0)


def test_the_longest_unused_go_first(home: Path) -> None:
    copies = ReadCache("s3://a", most=100)
    for n, name in enumerate("abcd"):
        os.utime(keep(copies, name, bytes(20)), (n, n))
    assert copies.find("a") is not None  # used now
    assert copies.shrink(40) == (2, 40)
    assert [name for name in "abcd" if copies.find(name)] == ["a", "d"]


def test_copies_never_use_much_more_than_they_may(home: Path) -> None:
    copies = ReadCache("s3://a", most=1000)
    for n in range(100):
        keep(copies, str(n), bytes(60))
    assert copies.use()[1] <= 1000 * 1.1
    assert copies.find("99") is not None


def test_whoever_has_opened_a_copy_keeps_it(home: Path) -> None:
    copies = ReadCache("s3://a")
    with keep(copies, "a", b"12345").open("rb") as opened:
        copies.shrink(0)
        assert copies.find("a") is None
        assert opened.read() == b"12345"


def test_files_under_way_stay_unless_their_process_was_killed(home: Path) -> None:
    copies = ReadCache("s3://a")
    copies.folder.mkdir(parents=True)
    (copies.folder / ".part-new").write_bytes(b"1")
    (copies.folder / ".part-old").write_bytes(b"1")
    os.utime(copies.folder / ".part-old", (1, 1))
    copies.shrink(10)
    assert sorted(path.name for path in copies.folder.iterdir()) == [".part-new"]


def test_where_nothing_can_be_written(home: Path) -> None:
    home.write_bytes(b"a file in its place")
    with pytest.raises(StudyError, match="no local copy") as caught:
        keep(ReadCache("s3://a"), "a", b"1")
    assert "XDG_CACHE_HOME" in caught.value.remedy


def test_its_size_is_set_in_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE_GB", "0.5")
    assert ReadCache("s3://a").most == 500_000_000
    monkeypatch.setenv("SIGHTLINE_CACHE_GB", "much")
    with pytest.raises(StudyError, match="SIGHTLINE_CACHE_GB is 'much'"):
        ReadCache("s3://a")
