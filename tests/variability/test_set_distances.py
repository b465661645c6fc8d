"""Distances within sets: computed once, read the second time, the same both times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline.study import reading
from sightline.study.running.progress import Progress
from sightline.study.study import Study
from sightline.variability.set_distances import PAGE, configured, distances_to_first, set_distances

Sized = Callable[[list[int]], Study]
COUNTED = '''
import numpy as np
from sightline.extension import distance

@distance(range=(0, None), source="me", licence="MIT")
def counted(images, *, log: str = ""):
    """Difference of mean greys, each call noted in a file."""
    with open(log, "a") as file:
        file.write(f"{len(images)}\\n")
    mean = np.array([image.rgb.mean() for image in images]) / 3
    return np.abs(mean[:, None] - mean[None])
'''


@pytest.fixture
def distance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "counted.py").write_text(COUNTED)
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path / "plugins"))
    return f"counted(log='{tmp_path / 'log'}')"


@pytest.fixture
def sized(tmp_path: Path, study_of: Callable[..., Study]) -> Sized:
    """A study of prompts with so many images each."""

    def make(sizes: list[int]) -> Study:
        numbered = [(f"{number:02}", number, size) for number, size in enumerate(sizes)]
        samples = {("a", ref): [(number, 10 * n, 7) for n in range(size)] for ref, number, size in numbered}
        return study_of(tmp_path, samples)

    return make


def calls(folder: Path) -> int:
    log = folder / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_a_second_run_computes_nothing(tmp_path: Path, distance: str, sized: Sized) -> None:
    sizes = [3, 2, 1, 4] * 5
    study = sized(sizes)
    told: list[Progress] = []
    first = list(set_distances(study, configured(distance), listener=told.append))
    assert calls(tmp_path) == 15 and (told[-1].done, told[-1].total) == (20, 20)
    second = list(set_distances(study, configured(distance)))
    assert calls(tmp_path) == 15
    for one, two, size in zip(first, second, sizes, strict=True):
        assert (one.prompt_id, one.images, one.reason) == (two.prompt_id, two.images, two.reason)
        if size == 1:
            assert one.matrix is None and one.reason == "fewer than two images"
            continue
        assert one.matrix is not None and two.matrix is not None and np.array_equal(one.matrix, two.matrix)
        # Greens 0 10 20 ...: their means of three channels, thirds again, are 10/9 apart.
        steps = np.arange(size)
        assert one.matrix == pytest.approx(np.abs(steps[:, None] - steps[None]) * 10 / 9, abs=1e-5)


def test_what_a_killed_run_had_done_is_there(tmp_path: Path, distance: str, sized: Sized) -> None:
    study = sized([2] * (PAGE + 4))
    for number, _ in enumerate(set_distances(study, configured(distance))):
        if number == PAGE:
            break
    # The first page was committed, the set of the second was not.
    assert calls(tmp_path) == PAGE + 1
    list(set_distances(study, configured(distance)))
    assert calls(tmp_path) == PAGE + 1 + 4


def test_other_parameters_are_another_distance(tmp_path: Path, distance: str, sized: Sized) -> None:
    study = sized([2, 2])
    list(set_distances(study, configured(distance)))
    (tmp_path / "log").rename(tmp_path / "gone")
    list(set_distances(study, configured(distance.replace("log'", "log2'"))))
    assert not (tmp_path / "log").exists() and len((tmp_path / "log2").read_text().splitlines()) == 2


def test_the_order_of_a_set_is_its_own(tmp_path: Path, distance: str, study_of: Callable[..., Study]) -> None:
    """Two systems gave the same three images in different orders: each keeps its own distances when read."""
    greens, orders = (0, 10, 40), {"up": (0, 1, 2), "mixed": (1, 2, 0)}
    samples = {(system, "p"): [(0, greens[place], 0) for place in order] for system, order in orders.items()}
    study = study_of(tmp_path, samples)
    for _ in range(2):
        for found in set_distances(study, configured(distance)):
            mine = np.array([greens[place] for place in orders[found.system]]) / 9
            assert found.matrix == pytest.approx(np.abs(mine[:, None] - mine[None]), abs=1e-5)
    assert calls(tmp_path) == 2


def test_small_groups(tmp_path: Path, distance: str, sized: Sized) -> None:
    study = sized([3])
    a, b, c = reading.answers(study)["sha256"].to_list()
    found, reasons = distances_to_first(study, configured(distance), [(a, b, c), (c, a, None), (a, b, c)])
    assert found[0] == pytest.approx([10 / 9, 20 / 9]) and np.array_equal(found[0], found[2])
    assert np.isnan(found[1]).all() and reasons == [None, "a file is not here", None]
    assert calls(tmp_path) == 1
