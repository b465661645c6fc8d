"""Image files: kept once by content, thumbnails made once, here or far away, and broken ones on request."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from images import header
from sqlalchemy import event

from sightline.errors import DataError, StudyError
from sightline.pictures import DamagedImage, decode
from sightline.records import Image, ImageKey
from sightline.study import files as files_module
from sightline.study import reading
from sightline.study.files import ImageFiles
from sightline.study.study import Study

Png = Callable[..., bytes]
Put = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_copies(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(params=["local", "file://", "memory://"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> ImageFiles:
    if request.param == "memory://":
        return ImageFiles(f"memory://{tmp_path.name}")
    return ImageFiles(str(tmp_path) if request.param == "local" else f"file://{tmp_path}/")


def test_bytes_come_back_and_are_kept_once(files: ImageFiles, png: Png) -> None:
    data = png()
    sha = files.put(data)
    assert sha == hashlib.sha256(data).hexdigest()
    assert files.put(data) == sha
    assert files.read(sha) == data
    picture = files.picture(sha, "x.png")
    assert (picture.sha256, picture.name, picture.data) == (sha, "x.png", data)
    assert picture.rgb.shape == (6, 8, 3)


def test_one_file_a_content(tmp_path: Path, png: Png) -> None:
    files = ImageFiles(str(tmp_path))
    sha = files.put(png())
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert path.relative_to(tmp_path) == Path("images") / sha[:2] / sha
    os.utime(path, (1, 1))
    files.put(png())
    assert path.stat().st_mtime == 1  # not written again
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask  # others may read it as any other file


def test_a_file_cut_short_by_a_crash_is_written_again(tmp_path: Path, png: Png) -> None:
    files = ImageFiles(str(tmp_path))
    sha = files.put(png())
    path = tmp_path / "images" / sha[:2] / sha
    path.write_bytes(png()[:20])
    files.put(png())
    assert path.read_bytes() == png()


def test_damaged_bytes_are_never_handed_out(files: ImageFiles, png: Png, tmp_path: Path) -> None:
    sha = files.put(png())
    if not files.local:
        pytest.skip("not needed here: test_bytes_from_afar_are_checked")
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    rotten = bytearray(png())
    rotten[-1] ^= 1
    path.write_bytes(rotten)
    for ask in (files.read, files.thumbnail, lambda sha: files.picture(sha).data):
        with pytest.raises(DamagedImage, match="is damaged") as caught:
            ask(sha)
        assert "doctor" in caught.value.remedy
    files.put(png())
    assert files.read(sha) == png()


def test_what_a_commit_names_is_on_the_disk_before(
    study: Study, put: Put, png: Png, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[int | str] = []
    sync = os.fsync

    def noted(handle: int) -> None:
        happened.append(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)

    @event.listens_for(study.engine, "commit")
    def committed(connection: Any) -> None:
        happened.append("commit")

    (tmp_path / "a.png").write_bytes(png())
    put(study, [Image(ImageKey("c", "a"), str(tmp_path / "a.png"))])
    sha = hashlib.sha256(png()).hexdigest()
    names = (f"images/{sha[:2]}/{sha}", f"images/{sha[:2]}", "images", ".")
    own = [(study.home / name).stat().st_ino for name in names]
    assert happened[0] == own[0] and set(happened[1:4]) == set(own[1:])
    assert happened[4:] == ["commit"]


def test_a_lost_image_is_restored_by_importing_it_again(
    study: Study, put: Put, png: Png, tmp_path: Path
) -> None:
    records = []
    for name in ("red", "blue", "green"):
        (tmp_path / f"{name}.png").write_bytes(png(name))
        records.append(Image(ImageKey("c", name), str(tmp_path / f"{name}.png")))
    put(study, records)
    before = reading.images(study).rows()
    paths = [study.home / files_module.image_place(sha) for sha in reading.images(study)["sha256"]]
    paths[0].unlink()
    paths[1].write_bytes(b"")
    again = put(study, records)
    assert (again.already, again.restored) == (True, 2)
    assert [path.read_bytes() for path in paths] == [png(name) for name in ("red", "blue", "green")]
    assert put(study, records).restored == 0
    # Another source of the same pictures compares every byte.
    paths[2].write_bytes(bytes(len(png("green"))))
    put(study, records, "other")
    assert paths[2].read_bytes() == png("green")
    assert reading.images(study).rows() == before


def test_a_thumbnail_is_made_and_written_once(
    files: ImageFiles, png: Png, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = files.put(png("blue", (800, 400)))
    first = files.thumbnail(sha)
    assert decode(first).shape == (96, 192, 3)
    for path in tmp_path.rglob("*.jpg"):
        os.utime(path, (1, 1))
    calls: list[str] = []
    monkeypatch.setattr(files_module, "shrunk", lambda *given: calls.append("decoded"))
    assert files.thumbnail(sha) == first
    assert calls == []
    assert all(path.stat().st_mtime == 1 for path in tmp_path.rglob("*.jpg"))
    monkeypatch.undo()
    assert decode(files.thumbnail(sha, 64)).shape == (32, 64, 3)


def test_small_and_transparent_pictures_have_thumbnails(tmp_path: Path) -> None:
    from PIL import Image as Pillow

    out = io.BytesIO()
    Pillow.new("RGBA", (3, 5), (0, 0, 0, 0)).save(out, "PNG")
    files = ImageFiles(str(tmp_path))
    small = decode(files.thumbnail(files.put(out.getvalue())))
    assert small.shape == (5, 3, 3)
    assert small.min() > 250  # nothing over white


def test_a_missing_file_says_what_to_do(files: ImageFiles, png: Png) -> None:
    sha = "ab" * 32
    for ask in (files.read, files.thumbnail, files.picture):
        with pytest.raises(DataError, match="missing from the study") as caught:
            ask(sha)
        assert "Restore" in caught.value.remedy


def test_a_file_that_vanishes_after_opening(tmp_path: Path, png: Png) -> None:
    files = ImageFiles(str(tmp_path))
    picture = files.picture(files.put(png()), "x.png")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(DataError, match="cannot read the image") as caught:
        _ = picture.rgb
    assert caught.value.where == "x.png"


def test_bytes_from_afar_are_checked(tmp_path: Path, png: Png) -> None:
    import fsspec

    files = ImageFiles(f"memory://{tmp_path.name}")
    sha = files.put(png())
    files.sync()
    fsspec.filesystem("memory").pipe_file(f"/{tmp_path.name}/images/{sha[:2]}/{sha}", png("blue"))
    with pytest.raises(DamagedImage, match="is damaged") as caught:
        files.read(sha)
    assert "doctor" in caught.value.remedy
    files.remove([sha])
    assert files.lost([sha]) == {sha}
    files.put(png())
    files.sync()
    assert files.lost([sha]) == set()
    assert files.read(sha) == png()
    # From here on there is a local copy.
    fsspec.filesystem("memory").pipe_file(f"/{tmp_path.name}/images/{sha[:2]}/{sha}", png("blue"))
    assert files.read(sha) == png()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, png: Png) -> None:
    (tmp_path / "images").touch()
    with pytest.raises(StudyError, match="cannot write an image"):
        ImageFiles(str(tmp_path)).put(png())


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, png: Png, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StudyError, match="No space left"):
        ImageFiles(str(tmp_path)).put(png())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


BROKEN: dict[str, tuple[Callable[[Png], bytes], str]] = {
    "bomb": (lambda png: header(100_000, 100_000), "more than can be decoded safely"),
    "cut short": (lambda png: png(size=(64, 64))[:-20], "cut short"),
    "text": (lambda png: b"<html>404 not found</html>", "unknown format"),
    "empty": (lambda png: b"", "unknown format"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_broken_images_are_refused_or_kept_as_broken(
    study: Study, put: Put, png: Png, tmp_path: Path, name: str
) -> None:
    make, said = BROKEN[name]
    (tmp_path / "x.png").write_bytes(make(png))
    (tmp_path / "good.png").write_bytes(png())
    records = [
        Image(ImageKey("c", "good"), str(tmp_path / "good.png")),
        Image(ImageKey("c", "x"), str(tmp_path / "x.png"), at="list.csv:7"),
    ]
    with pytest.raises(DataError) as caught:
        put(study, records)
    assert caught.value.where == "list.csv:7"
    assert caught.value.remedy
    assert reading.counts(study)["image"] == 0
    put(study, records, keep_broken=True)
    good, broken = reading.images(study).sort("name").rows(named=True)
    assert (good["defect"], good["width"]) == (None, 8)
    assert said in broken["defect"]
    assert said in caught.value.what
    assert broken["sha256"] == hashlib.sha256(make(png)).hexdigest()


def test_the_same_picture_under_two_names_is_one_file(
    study: Study, put: Put, png: Png, tmp_path: Path
) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(png())
    put(study, [Image(ImageKey("c", name), str(tmp_path / name)) for name in ("a.png", "b.png")])
    shas = reading.images(study)["sha256"].to_list()
    assert shas[0] == shas[1]
    assert len([path for path in (study.home / "images").rglob("*") if path.is_file()]) == 1


# Only a database on a server may have its files somewhere else.
@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_images_of_a_study_may_live_elsewhere(address: str, tmp_path: Path, put: Put, png: Png) -> None:
    from sightline.study.study import create_study, open_study

    far = f"memory://{tmp_path.name}/far"
    (tmp_path / "a.png").write_bytes(png())
    with create_study(tmp_path / "s", database_address=address, images=far) as study:
        put(study, [Image(ImageKey("c", "a"), str(tmp_path / "a.png"))])
    assert not (tmp_path / "s" / "images").exists()
    for place in (tmp_path / "s", address):
        with open_study(place) as study:
            (sha,) = reading.images(study)["sha256"]
            assert study.files.read(sha) == png()
