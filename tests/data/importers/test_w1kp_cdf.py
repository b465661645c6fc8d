"""W1KP's published reference distances."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.data.import_ import import_, preview
from sightline.data.sources import arrays
from sightline.errors import DataError
from sightline.records import Record, Reference
from sightline.statistics.sets import StepCDF
from sightline.study.study import create_study
from sightline.study.writing.references import references

Run = Callable[..., list[Record]]


@pytest.fixture
def published(data: Path, run: Run) -> Reference:
    (found,) = run("w1kp_cdf", data / "w1kp")
    assert isinstance(found, Reference)
    return found


def test_the_points_without_their_padding(published: Reference, data: Path) -> None:
    # 2,663 points, of which the first and the last (0 and 1) are padding.
    assert len(published.values) == 2661
    assert (published.name, published.distance, published.squared) == ("w1kp", "dreamsim", True)
    assert published.values[0] > 0 and published.values[-1] < 1


def test_its_step_function_is_the_published_one(published: Reference, data: Path) -> None:
    share = StepCDF(published.values)
    # The page of W1KP: at squared distance .5 F is .5152 as a step function; .7 squared gives about .507.
    assert float(share(0.5)) == pytest.approx(0.5152, abs=5e-5)
    assert float(share(0.7**2)) == pytest.approx(0.507, abs=5e-4)
    # And .5149 interpolated over all points as the released code does.
    with np.load(data / "w1kp" / "cdf_xy.npz") as points:
        assert np.interp(0.5, points["x"], points["y"]) == pytest.approx(0.5149, abs=5e-5)


def test_it_comes_into_a_study_and_out_again(data: Path, tmp_path: Path, published: Reference) -> None:
    assert preview(data / "w1kp").counts == {"references": 1}
    with create_study(tmp_path / "s") as study:
        assert dict(import_(study, data / "w1kp").counts) == {"references": 1}
        (kept,) = references(study)
        assert kept == published._replace(at="")
        assert dict(import_(study, data / "w1kp" / "cdf_xy.npz").counts) == {}


def padded(n: int = 5) -> dict[str, Any]:
    return {"x": np.linspace(0, 1, n), "y": np.arange(n) / n}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": np.array([0, 0.5, 0.25, 0.75, 1])}, "the curve falls at point 2"),
        ({"y": np.array([0, 0.2, 0.2, 0.6, 0.8])}, "the curve falls at point 2"),
        ({"x": np.array([0, 0.25, np.nan, 0.75, 1])}, "finite numbers"),
        ({"x": np.linspace(0, 1, 4)}, "equally long"),
        ({"x": np.linspace(0.1, 1, 5)}, "not a curve padded"),
        ({"y": np.linspace(0, 1, 5)}, "not a curve padded"),
        ({"x": np.array(["a"] * 5)}, "finite numbers"),
    ],
)
def test_another_curve_is_refused(tmp_path: Path, run: Run, change: dict[str, Any], said: str) -> None:
    np.savez(tmp_path / "cdf_xy.npz", **{**padded(), **change})
    with pytest.raises(DataError, match=said) as caught:
        run("w1kp_cdf", tmp_path)
    assert caught.value.where.startswith("cdf_xy.npz")


def test_arrays_that_are_not_there(tmp_path: Path, run: Run) -> None:
    np.savez(tmp_path / "cdf_xy.npz", x=np.arange(3.0))
    with pytest.raises(DataError, match="no array y"):
        run("w1kp_cdf", tmp_path)


def test_python_objects_are_not_unpickled(tmp_path: Path, run: Run) -> None:
    np.savez(tmp_path / "cdf_xy.npz", x=np.array([{"a": 1}], dtype=object), y=np.arange(1.0))
    with pytest.raises(DataError, match="it holds Python objects"):
        run("w1kp_cdf", tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and then nothing", b"x,y\n0,0\n"])
def test_what_is_no_archive_is_refused(tmp_path: Path, run: Run, content: bytes) -> None:
    (tmp_path / "cdf_xy.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"not an \.npz file") as caught:
        run("w1kp_cdf", tmp_path)
    assert caught.value.where == "cdf_xy.npz"


def test_an_archive_that_would_fill_the_memory_is_refused(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "MOST_BYTES", 10_000)
    with zipfile.ZipFile(tmp_path / "cdf_xy.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 1_000_000)
    assert (tmp_path / "cdf_xy.npz").stat().st_size < 10_000
    with pytest.raises(DataError, match="unpack to 1 MB"):
        run("w1kp_cdf", tmp_path)
