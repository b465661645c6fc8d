"""W1KP's reference distances: the scale on which its scores are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.sources import Source
from sightline.data.sources.arrays import read_arrays
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Record, Reference

if TYPE_CHECKING:
    import numpy as np

FILE = "cdf_xy.npz"


def claims(source: Source) -> float:
    """An .npz file with x and y, or cdf_xy.npz in a folder."""
    file = _file(source)
    if file is None or not {"x", "y"} <= set(read_arrays(source.inside(file), file)):
        return 0.0
    # Beside the folders of images it is not what the folder is.
    return 0.95 if source.is_file else 0.9


@importer(
    claims=claims,
    source="Tang et al. 2024, W1KP",
    licence="MIT",
    files={"cdf_xy.npz": '{"x": [0, 0.25, 0.5, 1], "y": [0, 0.25, 0.5, 0.75]}'},
)
def w1kp_cdf(
    source: Source, *, name: str = "w1kp", distance: str = "dreamsim", squared: bool = True
) -> Iterator[Record]:
    """W1KP's reference CDF: the squared DreamSim distances of its sample of same-prompt pairs.

    The file holds points (x, y) of the curve, padded with (0, 0) in front and x = 1 behind. Point i of n
    samples has y = i / (n + 2) as published; only the x are samples, and the step function over them is F.
    """
    file = _file(source)
    if file is None:
        raise DataError(f"there is no {FILE}", where=str(source.path), remedy="Name the .npz file.")
    found = read_arrays(source.inside(file), file)
    for wanted in ("x", "y"):
        if wanted not in found:
            raise DataError(f"it holds no array {wanted}", where=file, remedy="Expected x and y.")
    yield Reference(name, distance, _samples(found["x"], found["y"], file), squared, file)


def _file(source: Source) -> str | None:
    if source.is_file:
        return source.the_file() if source.the_file().lower().endswith(".npz") else None
    return FILE if source.has(FILE) else None


def _samples(x: np.ndarray, y: np.ndarray, file: str) -> list[float]:
    """The distances without the padding; a curve that is not one over samples is refused."""
    import numpy as np

    plain = all(each.ndim == 1 and np.issubdtype(each.dtype, np.number) for each in (x, y))
    if not plain or len(x) != len(y) or len(x) < 3 or not np.isfinite([x, y]).all():
        raise DataError(
            "x and y are not two equally long rows of finite numbers", where=file, remedy="Obtain it again."
        )
    for n in range(1, len(x)):
        if x[n] < x[n - 1] or y[n] <= y[n - 1]:
            raise DataError(
                f"the curve falls at point {n}", where=f"{file}:{n}", remedy="It must rise: obtain it again."
            )
    if x[0] != 0 or x[-1] != 1 or not np.allclose(y, np.arange(len(y)) / len(y)):
        raise DataError(
            "not a curve padded with 0 and 1 over samples",
            where=file,
            remedy="Expected the file as W1KP published it.",
        )
    return [float(each) for each in x[1:-1]]
