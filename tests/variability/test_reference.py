"""A distance's scale: fitted to a study, kept in a file, refused for another distance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline import registry
from sightline.data.import_ import import_
from sightline.errors import DataError, UsageError
from sightline.statistics.reference import Reference
from sightline.study.study import Study, create_study
from sightline.variability.reference import (
    SHIPPED,
    find_reference,
    read_reference,
    reference_of,
    write_reference,
)
from sightline.variability.scale import level_notes
from sightline.variability.store import StudyScale
from sightline.variability.variability import variability

STEPS = (0, 10, 30, 60, 100)


@pytest.fixture
def grey_study(tmp_path: Path, study_of: Callable[..., Study]) -> Callable[..., Study]:
    """Each prompt has flat grey images; shades of another prompt differ, so that every image is a content."""

    def make(prompts: int = 4, steps: tuple[int, ...] = STEPS) -> Study:
        samples = {("a", str(prompt)): [step + prompt for step in steps] for prompt in range(prompts)}
        return study_of(tmp_path / f"of {len(steps)}", samples)

    return make


def test_fitted_kept_and_read_again(tmp_path: Path, grey_study: Callable[..., Study]) -> None:
    study = grey_study()
    made = reference_of(study, distance="pixel_l2")
    # The ten differences of 0 10 30 60 100, in each of four prompts.
    expected = sorted([10, 30, 60, 100, 20, 50, 90, 30, 70, 40] * 4)
    assert made.distances * 255 == pytest.approx(expected)
    assert (made.n, made.distance, made.squared) == (40, "pixel_l2", False)
    assert made.identity == registry.configure("distance", "pixel_l2").identity
    assert len(made.date) == 10
    file = write_reference(made, tmp_path / "scale.npz")
    again = read_reference(file)
    assert np.array_equal(again.distances, made.distances)
    assert (again.distance, again.identity, again.n, again.date) == (
        made.distance, made.identity, made.n, made.date
    )  # fmt: skip
    found = variability(study, distance="pixel_l2", reference=find_reference(str(file), "pixel_l2"))
    # Shares of 40: 10 -> 4, 20 -> 8, 30 -> 16, 40 -> 20, 50 -> 24, 60 -> 28, 70 -> 32, 90 -> 36, 100 -> 40.
    shares = np.array([4, 16, 28, 40, 8, 24, 36, 16, 32, 20]) / 40
    assert found.prompts["value"].to_list() == pytest.approx([1 - shares.mean()] * 4)
    assert found.prompts["level"].to_list() == ["medium"] * 4 and found.prompts["images"].to_list() == [5] * 4
    assert found.systems[0].similarity.n == 4 and "W1KP" in found.measure


def test_another_distance_is_refused(tmp_path: Path, grey_study: Callable[..., Study]) -> None:
    study = grey_study()
    file = str(write_reference(reference_of(study, distance="pixel_l2"), tmp_path / "scale.npz"))
    for other in ("ssim", "pixel_l2(side=32)", "embedding"):
        with pytest.raises(UsageError, match="the reference is of pixel_l2, not of"):
            find_reference(file, other)
        with pytest.raises(UsageError, match="the reference is of pixel_l2, not of"):
            variability(study, distance=other, reference=read_reference(file))
    made = read_reference(file)
    older = Reference(made.distances, "pixel_l2", "0" * 64, made.n, made.date)
    write_reference(older, tmp_path / "older.npz")
    with pytest.raises(UsageError, match="of pixel_l2 of another version"):
        find_reference(str(tmp_path / "older.npz"), "pixel_l2")


def test_the_published_one(data: Path, tmp_path: Path) -> None:
    published = read_reference(data / "w1kp" / "cdf_xy.npz")
    assert (published.distance, published.identity, published.n, published.squared) == (
        "dreamsim", "", 2661, True
    )  # fmt: skip
    # W1KP: d = .7 gives about .507; looked up as it is, it would give far more.
    assert published.normalise(0.7) == pytest.approx(0.507, abs=5e-4)
    assert published.normalise(np.sqrt(0.5)) == pytest.approx(0.5152, abs=5e-5)
    with pytest.raises(UsageError, match="of dreamsim, not of embedding"):
        find_reference(str(data / "w1kp" / "cdf_xy.npz"), "embedding")
    study = create_study(tmp_path / "s")
    import_(study, data / "w1kp" / "cdf_xy.npz")
    with pytest.raises(UsageError, match="of dreamsim, not of ssim"):
        find_reference("w1kp", "ssim", study)


DREAMSIM = '''
import numpy as np
from sightline.extension import encoder

@encoder(encodes=("image",), source="me", licence="MIT")
def dreamsim():
    """Stands in for the encoder of that name."""
    return _Means()

class _Means:
    def image(self, images):
        return np.array([image.rgb.mean(axis=(0, 1)) / 255 for image in images], dtype=np.float32)
'''


def test_a_published_one_serves_the_encoder_it_names(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grey_study: Callable[..., Study]
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "dreamsim.py").write_text(DREAMSIM)
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path / "plugins"))
    file = str(data / "w1kp" / "cdf_xy.npz")
    scale = find_reference(file, "embedding(encoder=dreamsim)")
    found = variability(grey_study(), distance="embedding(encoder=dreamsim)", reference=scale)
    distances = np.array([10, 30, 60, 100, 20, 50, 90, 30, 70, 40]) / 255 * np.sqrt(3)
    expected = 1 - scale.normalise(distances).mean()
    assert found.prompts["value"].to_list() == pytest.approx([expected] * 4, abs=2e-3)
    with pytest.raises(UsageError, match="of dreamsim, not of"):
        find_reference(file, "embedding(encoder=dreamsim, metric=cosine)")


LEARNED = '''
import numpy as np
from sightline.extension import distance

@distance(range=(0, None), source="me", licence="MIT")
def learned(images, *, metric: str = "cosine"):
    """Stands in for a distance between vectors, such as dreamsim."""
    from scipy.spatial.distance import pdist, squareform
    rows = np.array([image.rgb.mean(axis=(0, 1)) / 255 + 0.1 for image in images])
    return squareform(pdist(rows, metric))
'''


def test_the_published_scale_and_levels_apply_by_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grey_study: Callable[..., Study]
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "learned.py").write_text(LEARNED)
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path / "plugins"))
    study = grey_study()
    import_(study, data / "w1kp" / "cdf_xy.npz", options={"distance": "learned"})
    found = variability(study, reference="w1kp")
    # Published over Euclidean distances: its name means those, whatever the distance does by default.
    assert found.scale.distance == "learned(metric=euclidean)" and found.scale.levels == (0.2, 0.4, 0.85)
    distances = np.array([10, 30, 60, 100, 20, 50, 90, 30, 70, 40]) / 255 * np.sqrt(3)
    expected = 1 - read_reference(data / "w1kp" / "cdf_xy.npz").normalise(distances).mean()
    assert found.prompts["value"].to_list() == pytest.approx([expected] * 4, abs=2e-3)
    with pytest.raises(UsageError, match="the Euclidean distance of learned, not of learned"):
        variability(study, distance="learned", reference="w1kp")
    published = read_reference(data / "w1kp" / "cdf_xy.npz")
    (said,) = level_notes(StudyScale("dreamsim(metric=euclidean)", published))
    assert said == "Scale and levels are those that W1KP published for DreamSim."


def test_what_is_not_a_reference(tmp_path: Path, grey_study: Callable[..., Study]) -> None:
    study = grey_study()
    with pytest.raises(UsageError, match=r"no reference 'nowhere\.npz'"):
        find_reference("nowhere.npz", "ssim", study)
    with pytest.raises(DataError, match="no such file"):
        read_reference(tmp_path / "nowhere.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(DataError, match=r"not an \.npz file"):
        read_reference(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", distances=np.arange(40.0))
    with pytest.raises(DataError, match="has no distance, identity"):
        read_reference(tmp_path / "other.npz")
    np.savez(tmp_path / "objects.npz", distances=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="Python objects"):
        read_reference(tmp_path / "objects.npz")
    with pytest.raises(UsageError, match=r"\.npz"):
        write_reference(reference_of(study, distance="pixel_l2"), tmp_path / "scale.csv")


def test_too_few_pairs(grey_study: Callable[..., Study]) -> None:
    with pytest.raises(DataError, match="20 pairs are too few"):
        reference_of(grey_study(prompts=2), distance="pixel_l2")
    with pytest.raises(DataError, match="two or more images of one system"):
        reference_of(grey_study(prompts=2, steps=(0,)), distance="pixel_l2")


def test_shipped_ones_are_of_the_distances_as_they_are_now() -> None:
    names = sorted(file.stem for file in SHIPPED.glob("*.npz"))
    assert {"colour_histogram", "embedding", "pixel_l2", "ssim"} <= set(names)
    for name in names:
        found = find_reference("sample", name)
        assert found.n >= 1000 and found.warning is None
        assert (SHIPPED / f"{name}.npz").stat().st_size < 40_000
    with pytest.raises(
        UsageError, match=r"bins=4.* comes with the program|not of colour_histogram\(bins=4\)"
    ):
        find_reference("sample", "colour_histogram(bins=4)")
