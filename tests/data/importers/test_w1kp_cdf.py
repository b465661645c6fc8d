"""W1KP's published reference distances."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.data.import_ import import_
from sightline.data.sources import arrays
from sightline.errors import DataError
from sightline.records import Reference
from sightline.statistics.reference import step_cdf
from sightline.study.study import Study
from sightline.study.writing.references import references

Run = Callable[..., list[Any]]


@pytest.fixture
def published(data: Path, run: Run) -> Reference:
    (reference,) = run("w1kp_cdf", data / "w1kp", Reference)
    return reference


def test_the_points_without_their_padding(published: Reference, data: Path) -> None:
    # 2,663 points, of which the first and the last (0 and 1) are padding.
    assert len(published.values) == 2661
    assert (published.name, published.distance, published.squared) == ("w1kp", "dreamsim", True)
    assert published.values[0] > 0 and published.values[-1] < 1


def test_its_step_function_is_the_published_one(published: Reference, data: Path) -> None:
    sample = np.array(published.values)
    # The page of W1KP: at squared distance .5 F is .5152 as a step function; .7 squared gives about .507.
    assert float(step_cdf(sample, 0.5)) == pytest.approx(0.5152, abs=5e-5)
    assert float(step_cdf(sample, 0.7**2)) == pytest.approx(0.507, abs=5e-4)
    # And .5149 interpolated over all points as the released code does.
    with np.load(data / "w1kp" / "cdf_xy.npz") as points:
        assert np.interp(0.5, points["x"], points["y"]) == pytest.approx(0.5149, abs=5e-5)


def test_a_study_keeps_it_as_it_is(data: Path, study: Study, published: Reference) -> None:
    assert dict(import_(study, data / "w1kp").counts) == {"references": 1}
    assert references(study) == [published._replace(at="")]
    assert dict(import_(study, data / "w1kp" / "cdf_xy.npz").counts) == {}


CURVE = {"x": np.linspace(0, 1, 5), "y": np.arange(5) / 5}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"x": [0, 0.5, 0.25, 0.75, 1]}, "the curve falls at point 2"),
        ({"y": [0, 0.2, 0.2, 0.6, 0.8]}, "the curve falls at point 2"),
        ({"x": [0, 0.25, np.nan, 0.75, 1]}, "finite numbers"),
        ({"x": np.linspace(0, 1, 4)}, "equally long"),
        ({"x": np.linspace(0.1, 1, 5)}, "not a curve padded"),
        ({"y": np.linspace(0, 1, 5)}, "not a curve padded"),
        ({"x": ["a"] * 5}, "finite numbers"),
        ({"x": np.array([{"a": 1}], dtype=object)}, "it holds Python objects"),
    ],
)
def test_another_curve_is_refused(tmp_path: Path, run: Run, change: dict[str, Any], what: str) -> None:
    np.savez(tmp_path / "cdf_xy.npz", **{**CURVE, **change})
    with pytest.raises(DataError, match=what) as caught:
        run("w1kp_cdf", tmp_path)
    assert caught.value.where.startswith("cdf_xy.npz")


def test_arrays_that_are_not_there(refuses: Callable[..., None]) -> None:
    refuses("w1kp_cdf", {"cdf_xy.npz": '{"x": [0, 1, 2]}'}, "cdf_xy.npz", "no array y")


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
