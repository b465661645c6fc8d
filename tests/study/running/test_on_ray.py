"""A real Ray cluster: what local processes give, whatever ends on the way, and clear refusals."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from processes import start

from sightline.errors import ExtensionError, SightlineError, UsageError
from sightline.extension import Configured
from sightline.measures.score import score
from sightline.registry import configure, find_measure
from sightline.study import reading
from sightline.study.running import on_ray
from sightline.study.running.detecting import detect_images
from sightline.study.running.embedding import images_embedded
from sightline.study.running.on_ray import join, leave
from sightline.study.running.place import HERE, Place
from sightline.study.running.run import run, run_together
from sightline.study.scores import QUARANTINED
from sightline.study.study import Study, open_study

pytest.importorskip("ray")

Define = Callable[..., Configured]
Greys = Callable[[Iterable[int]], Study]
# Seconds, only against a test that would hang.
PATIENCE = 120.0
# Writes down its process, and stands still from the picture of level 100 on until it is let go.
HELD = """
import pathlib
folder = pathlib.Path(os.environ["SIGHTLINE_HELD"])
values = []
for image in images:
    (folder / f"{os.getpid()}.pid").touch()
    level = float(image.rgb.mean())
    while level > 95 and not (folder / "go").exists():
        time.sleep(0.02)
    values.append(level)
return values
"""
DEADLY = """
import numpy as np
from sightline.extension import encoder

@encoder(encodes=("text", "image"), source="test", licence="Apache-2.0")
def deadly_encoder():
    "Mean colours; a picture of level 50 ends it."
    return Encoder()

class Encoder:
    def image(self, images):
        levels = [image.rgb.mean(axis=(0, 1)) for image in images]
        if any(45 < level.mean() < 55 for level in levels):
            os.kill(os.getpid(), 9)
        return np.array(levels).reshape(-1, 3)

    def text(self, texts):
        return np.array([[len(text), 1.0, 2.0] for text in texts]).reshape(-1, 3)
"""
HALVES = """
from sightline.extension import detector

@detector(source="test", licence="MIT")
def halves_far():
    "Sees the left half, called by the tens of its level."
    return Halves()

class Halves:
    def detect(self, images):
        kinds = [str(round(image.rgb.mean() / 10)) for image in images]
        return [{"objects": [{"kind": k, "box": [0, 0, 0.5, 1], "confidence": 1}]} for k in kinds]
"""
SCORE = """
import sys
from sightline.registry import find_measure
from sightline.study.running.place import Place
from sightline.study.running.run import run
from sightline.study.study import open_study

with open_study(sys.argv[1]) as study:
    run(study, find_measure("held_driver"), place=Place(2, sys.argv[2]), batch=2)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processors on one machine; the sockets of a cluster need short paths."""
    from ray.cluster_utils import Cluster

    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    size = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 80_000_000}
    made = Cluster(initialize_head=True, connect=False, head_node_args={**size, "temp_dir": str(folder)})
    yield made
    leave()
    made.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
    left = [each.name() for each in psutil.Process().children(recursive=True) if _of_ray(each)]
    assert not left, "processes of the cluster are left"


def _of_ray(process: psutil.Process) -> bool:
    try:
        return process.name() in ("raylet", "gcs_server") or process.name().startswith("ray::")
    except psutil.Error:
        return False


@pytest.fixture
def place(cluster: Any) -> Place:
    return Place(2, cluster.address)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "held"
    folder.mkdir()
    monkeypatch.setenv("SIGHTLINE_HELD", str(folder))
    return folder


def rows(study: Study) -> list[tuple[Any, ...]]:
    kept = reading.fetch_rows(study, "SELECT * FROM score ORDER BY 1, 2, 3, 4")
    more = reading.fetch_rows(study, "SELECT * FROM evidence ORDER BY 1, 2, 3, 4")
    return [tuple(map(str, row)) for row in (*kept, *more)]


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def pids(held: Path) -> set[int]:
    return {int(path.stem) for path in held.glob("*.pid")}


def twin(study: Study, folder: Path) -> Study:
    shutil.copytree(str(study.address), folder)
    return open_study(folder)


def test_a_cluster_gives_what_local_processes_give(tmp_path: Path, greys: Greys, place: Place) -> None:
    study = greys([*range(20, 60), 33, 34])
    other = twin(study, tmp_path / "other")
    images = [find_measure(name) for name in ("sharpness", "brightness", "blank")]
    sets = find_measure("pairwise_mean(distance=colour_histogram)")
    for where, home in ((place, study), (Place(2), other)):
        ran = run_together(home, images, place=where, batch=4, worth=0)
        assert [each.computed for each in ran] == [40] * 3
        run(home, sets, place=where, batch=2, worth=0)
    assert rows(study) == rows(other)
    assert run(study, images[0], place=Place(2, "198.51.100.1:6379")).computed == 0, "cached: nobody is asked"


def test_what_ends_its_workers_is_quarantined_and_tried_again_when_asked(
    define: Define, greys: Greys, place: Place, held: Path
) -> None:
    define(
        "of_image",
        "deadly_far",
        """
        if any(49 < image.rgb.mean() < 51 for image in images):
            if not os.path.exists(os.environ["SIGHTLINE_HELD"] + "/cured"):
                os.kill(os.getpid(), 9)
        return [float(image.rgb.mean()) for image in images]
        """,
    )
    study = greys([30, 50, 70, 90, 110])
    done = score(study, "deadly_far", on=place.on, workers=2)
    (ran,) = done.runs
    assert ran.computed == 5 and ran.reasons.total() == 1
    ((reason, n),) = ran.reasons.items()
    assert reason.startswith(QUARANTINED + "its worker ended 3 times") and n == 1
    assert any("1 are quarantined" in note and "--retry-quarantined" in note for note in done.notes)
    assert score(study, "deadly_far", on=place.on).runs[0].computed == 0
    (held / "cured").touch()
    (ran,) = score(study, "deadly_far", on=place.on, retry_quarantined=True).runs
    assert ran.computed == 1 and not ran.reasons


def test_a_killed_actor_is_replaced(define: Define, greys: Greys, place: Place, held: Path) -> None:
    measure = define("of_image", "held_actor", HELD)
    levels = [20, 30, 40, 50, 100, 110, 120, 130]
    study = greys(levels)

    def kill() -> None:
        until(lambda: reading.fetch_rows(study, "SELECT 1 FROM score") and pids(held))
        for pid in pids(held):
            os.kill(pid, signal.SIGKILL)
        (held / "go").touch()

    thread = threading.Thread(target=kill)
    thread.start()
    ran = run(study, measure, place=place, batch=2)
    thread.join()
    assert ran.computed == len(levels) and not ran.reasons
    found = reading.scores(study, measure.identity)["value"].to_list()
    assert np.allclose(sorted(found), levels, atol=1.5)
    assert len(pids(held)) > 2, "others computed the rest"


@pytest.mark.slow
def test_a_killed_driver_takes_its_actors_along_and_the_same_command_goes_on(
    tmp_path: Path, define: Define, greys: Greys, place: Place, held: Path
) -> None:
    measure = define("of_image", "held_driver", HELD)
    study = greys(range(20, 140, 10))
    other = twin(study, tmp_path / "other")
    driver = start(SCORE, study.address, place.on)
    try:
        until(lambda: len(reading.fetch_rows(study, "SELECT 1 FROM score")) >= 8 or driver.poll() is not None)
        assert driver.poll() is None, driver.communicate()[1]
    finally:
        driver.kill()
        driver.wait()
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids(held)))
    (held / "go").touch()
    assert run(study, measure, place=place, batch=2).known >= 8
    run(other, measure, batch=2)
    assert rows(study) == rows(other)


def test_an_error_of_a_measure_comes_back_as_it_is(define: Define, greys: Greys, place: Place) -> None:
    measure = define("of_image", "short_far", "return [1.0]")
    with pytest.raises(ExtensionError, match="short_far") as far:
        run(greys([10, 20, 30]), measure, place=place)
    assert "worker" not in far.value.what


@pytest.mark.slow
def test_encoders_and_what_rests_on_them_are_the_same_there(
    tmp_path: Path, greys: Greys, colours: str, place: Place
) -> None:
    study = greys(range(20, 120, 3))
    other = twin(study, tmp_path / "other")
    of_sets = "pairwise_mean(distance=embedding(encoder=colours))"
    measures = [find_measure("embedding_similarity(encoder=colours)"), find_measure("brightness")]
    for home, where in ((study, place), (other, HERE)):
        assert [each.computed for each in run_together(home, measures, place=where)] == [34, 34]
        run(home, find_measure(of_sets), place=where)
    assert rows(study) == rows(other)
    contents = [row[0] for row in reading.fetch_rows(study, "SELECT sha256 FROM image ORDER BY id")]
    encoder = configure("encoder", colours)
    far, near = (home.vectors.get(encoder.identity, contents)[0] for home in (study, other))
    assert np.array_equal(far, near) and np.isfinite(far).all()


@pytest.mark.slow
def test_what_ends_an_encoder_has_no_vector_and_is_not_tried_here(
    plugin: Callable[[str, str], object], greys: Greys, place: Place
) -> None:
    plugin("deadly_encoder", DEADLY)
    study = greys([30, 50, 70])
    contents = [row[0] for row in reading.fetch_rows(study, "SELECT sha256 FROM image ORDER BY id")]
    found = images_embedded(study, configure("encoder", "deadly_encoder"), contents, place=place)
    assert list(found.without) == [contents[1]] and found.without[contents[1]].startswith(QUARANTINED)
    assert np.isnan(found.vectors[1]).all() and np.isfinite(found.vectors[[0, 2]]).all()
    ran = run(study, find_measure("embedding_similarity(encoder=deadly_encoder)"), place=place)
    assert [reason.startswith(QUARANTINED) for reason in ran.reasons] == [True] and ran.computed == 3


def test_detectors_see_the_same_there(
    plugin: Callable[[str, str], object], greys: Greys, place: Place
) -> None:
    plugin("halves_far", HALVES)
    study = greys([30, 50, 70])
    contents = [row[0] for row in reading.fetch_rows(study, "SELECT sha256 FROM image ORDER BY id")]
    detector = configure("detector", "halves_far")
    found = detect_images(study, detector, [*contents, "0" * 64], place=place)
    assert [found.scenes[each]["objects"][0]["kind"] for each in contents] == ["3", "5", "7"]
    assert list(found.without) == ["0" * 64]
    assert (
        detect_images(study, detector, contents, place=Place(2, "198.51.100.1:6379")).scenes == found.scenes
    )


@pytest.mark.parametrize(
    ("fact", "there", "said"),
    [
        ("python", "3.99", r"has Python 3\.\d+, this machine 3\.99"),
        ("ray", "9.9.9", r"has Ray [\d.]+, this machine 9\.9\.9"),
        ("sightline", "9.9.9", r"has Sightline [\d.]+, this machine 9\.9\.9"),
        ("extensions", [("of_image", "sharpness", "0" * 64)], r"another one on .* \(000000000000 here"),
        ("extensions", [("of_image", "nobodys", "0" * 64)], r"nobodys is not to be had on .*: .*nobodys"),
        ("file", "/nowhere/images/ab/abc", r"does not see the study's image files \(there is no /nowhere"),
    ],
)
def test_a_worker_that_is_not_as_this_machine_is_refused(
    greys: Greys, place: Place, monkeypatch: pytest.MonkeyPatch, fact: str, there: object, said: str
) -> None:
    expected = on_ray.expected_of
    monkeypatch.setattr(on_ray, "expected_of", lambda work: {**expected(work), fact: there})
    study = greys([1, 2])
    with pytest.raises(SightlineError) as raised:
        run(study, find_measure("sharpness"), place=Place(1, place.on))
    assert re.search(said, raised.value.what) and raised.value.remedy
    assert not rows(study)


def test_more_than_the_cluster_has_is_refused_at_once(greys: Greys, place: Place) -> None:
    study = greys([1, 2])
    for wanted, said in ((Place(0, place.on, 0.5), "0 graphics cards"), (Place(9, place.on), "room for 2")):
        with pytest.raises(UsageError, match=said) as raised:
            run(study, find_measure("sharpness"), place=wanted)
        assert raised.value.remedy


def test_an_address_without_a_cluster_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    leave()
    monkeypatch.setattr(on_ray, "PROBE_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(SightlineError, match="no Ray cluster answers there"):
            join(f"127.0.0.1:{port}")

        def answer() -> None:
            for _ in range(2):
                line, _ = listening.accept()
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(SightlineError, match="not a Ray cluster") as raised:
            join(f"127.0.0.1:{port}")
        assert "HOST:6379" in raised.value.remedy
    with pytest.raises(SightlineError, match="Connection refused"):
        join(f"127.0.0.1:{port}")


def test_joining_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    leave()
    let_go = threading.Event()
    monkeypatch.setattr(on_ray, "JOIN_SECONDS", 0.1)
    monkeypatch.setattr(ray, "init", lambda **arguments: let_go.wait(PATIENCE))
    with pytest.raises(SightlineError, match=r"did not answer within 0\.1 s"):
        join("auto")
    let_go.set()


def test_keys_and_tokens_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "SIGHTLINE_OPENAI_KEY", "AWS_SECRET_ACCESS_KEY", "FSSPEC_S3_SECRET", "OTHER"):
        monkeypatch.setenv(name, "x")
    for name in ("HF_HOME", "SIGHTLINE_DEVICE", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL"):
        monkeypatch.setenv(name, "y")
    handed = on_ray.environment()
    assert "x" not in handed.values()
    assert [handed[name] for name in ("HF_HOME", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL")] == [
        "y"
    ] * 3


@pytest.mark.slow
def test_a_machine_that_leaves_takes_its_workers_along(
    cluster: Any, define: Define, greys: Greys, held: Path
) -> None:
    measure = define("of_image", "held_machine", HELD)
    study = greys(range(20, 160, 10))
    machine = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)

    def remove() -> None:
        until(lambda: len(reading.fetch_rows(study, "SELECT 1 FROM score")) >= 7)
        cluster.remove_node(machine, allow_graceful=False)
        (held / "go").touch()

    thread = threading.Thread(target=remove)
    thread.start()
    ran = run(study, measure, place=Place(3, cluster.address), batch=1)
    thread.join()
    assert ran.computed == 14 and not ran.reasons


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_cluster_on_this_machine_ends_with_its_driver(
    define: Define, greys: Greys, held: Path, how: signal.Signals
) -> None:
    define("of_image", "held_driver", HELD)
    study = greys(range(20, 140, 10))
    driver = start(SCORE, study.address, "ray")
    until(lambda: len(pids(held)) == 2 or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()[1]
    below = psutil.Process(driver.pid).children(recursive=True)
    assert any(_of_ray(each) for each in below)
    os.killpg(driver.pid, how) if how == signal.SIGINT else driver.kill()
    _, said = driver.communicate(timeout=PATIENCE)
    until(lambda: not any(each.is_running() for each in below))
    assert how == signal.SIGKILL or said.strip().endswith("KeyboardInterrupt")
