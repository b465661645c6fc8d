"""Scoring on a Ray cluster of two workers: what it costs, and whether kills change a result.

Against two local processes, on the same cores and the same fresh data: both in turn, the ratio is the median
of the ratios of neighbours. Starting the cluster is not part of it; hiring workers and processes is.

`--kills MINUTES` ends workers and the driver with SIGKILL at random moments, starts the same command again
where the driver ended, and compares every row with those of an undisturbed local run.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from scoring import draw, fill

from sightline.registry import find_measure
from sightline.study import reading
from sightline.study.running.on_ray import leave
from sightline.study.running.place import Place
from sightline.study.running.run import run_together
from sightline.study.study import open_study

MOST = 1.3
MEASURES = ("brisque", "niqe", "sharpness")
BATCH = 200
"""Images of a batch: it takes about a second."""
SMALL = 8
"""Images of a batch while workers are killed: more is under way, and more is lost."""
WORKERS = 2
LONGEST = 20
"""Seconds between two kills at most: on a busy machine it takes some to start a worker."""
QUARANTINED = "SELECT count(*) FROM score WHERE reason LIKE 'quarantined%'"

Rows = dict[str, list[tuple[Any, ...]]]


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a cluster with two workers on this machine."""
    from ray.cluster_utils import Cluster

    size = {"num_cpus": WORKERS, "include_dashboard": False, "object_store_memory": 100_000_000}
    made = Cluster(initialize_head=True, connect=False, head_node_args={**size, "temp_dir": str(folder)})
    try:
        yield made.address
    finally:
        leave()
        made.shutdown()


def score(home: Path, place: Place, batch: int, again: bool = False) -> float:
    """Seconds that scoring takes."""
    measures = [find_measure(name) for name in MEASURES]
    begin = time.perf_counter()
    with open_study(home) as study:
        run_together(study, measures, place=place, batch=batch, worth=0, retry_quarantined=again)
    return time.perf_counter() - begin


def rows(home: Path) -> Rows:
    with open_study(home) as study:
        order = "ORDER BY measure_id, prompt_id, system_id, image_id"
        return {
            table: [tuple(row) for row in reading.fetch_rows(study, f"SELECT * FROM {table} {order}")]
            for table in ("score", "evidence")
        }


def compared(folder: Path, origin: Path, address: str, runs: int) -> dict[str, Any]:
    """Both ways in turn, and what they stored."""
    seconds: dict[str, list[float]] = {"processes": [], "ray": []}
    kept: list[Rows] = []
    places = {"processes": Place(WORKERS), "ray": Place(WORKERS, address)}
    for number in range(runs + 1):
        for name, place in places.items():
            home = folder / f"{name}-{number}"
            shutil.copytree(origin, home)
            took = score(home, place, BATCH)
            # The first of each finds the files of libraries cold.
            if number:
                seconds[name].append(took)
            kept.append(rows(home))
            shutil.rmtree(home)
    ratios = [far / near for near, far in zip(seconds["processes"], seconds["ray"], strict=True)]
    return {
        **{f"{name}_s": [round(each, 2) for each in took] for name, took in seconds.items()},
        "ratios": [round(each, 2) for each in ratios],
        "ratio": round(statistics.median(ratios), 2),
        "same_rows": all(each == kept[0] for each in kept),
        "most": MOST,
    }


def killed(folder: Path, origin: Path, address: str, minutes: float, seed: int) -> dict[str, Any]:
    """Rounds of scoring in which workers and the driver are killed until the time is up."""
    chance = random.Random(seed)
    shutil.copytree(origin, folder / "undisturbed")
    score(folder / "undisturbed", Place(WORKERS), BATCH)
    expected = rows(folder / "undisturbed")
    told = dict.fromkeys(
        ("rounds", "worker_kills", "driver_kills", "gave_up", "quarantined", "different_rounds"), 0
    )
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        home = folder / f"round-{told['rounds']}"
        shutil.copytree(origin, home)
        driver = _driver(home, address)
        while driver.poll() is None or driver.returncode != 0:
            if driver.poll() is not None:
                # Where every worker is killed before it computes anything, a run says so and ends: once more.
                told["gave_up"] += driver.returncode != -signal.SIGKILL
                driver = _driver(home, address)
            with suppress(subprocess.TimeoutExpired):
                driver.wait(chance.uniform(0.5, LONGEST))
            if driver.poll() is None and time.monotonic() < end:
                _kill(chance, driver, told)
        with open_study(home) as study:
            ((aside,),) = reading.fetch_rows(study, QUARANTINED)
        if aside:
            # Killed three times by chance: what a user does about it is part of it.
            told["quarantined"] += int(aside)
            driver = _driver(home, address, "--again")
            driver.wait()
        told["different_rounds"] += rows(home) != expected
        told["rounds"] += 1
        shutil.rmtree(home)
    return {**told, "rows": len(expected["score"]), "minutes": minutes, "seed": seed}


def _driver(home: Path, address: str, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--score", str(home), address, *more])


def _kill(chance: random.Random, driver: subprocess.Popen[bytes], told: dict[str, int]) -> None:
    """Kill a worker, or less often the driver."""
    workers = [each for each in psutil.Process().children(recursive=True) if _is_worker(each)]
    if workers and chance.random() < 0.75:
        with suppress(psutil.NoSuchProcess):
            chance.choice(workers).kill()
            told["worker_kills"] += 1
    elif chance.random() < 0.5:
        driver.kill()
        driver.wait()
        told["driver_kills"] += 1


def _is_worker(process: psutil.Process) -> bool:
    try:
        return process.cmdline()[:1] != [] and process.cmdline()[0].startswith("ray::Worker")
    except psutil.Error:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=400, help="pictures to score (default 400)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each, at least 3 (default 5)")
    parser.add_argument("--kills", type=float, metavar="MINUTES", help="kill for so long instead")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default 0)")
    parser.add_argument("--score", nargs=2, metavar=("STUDY", "ADDRESS"), help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.score:
        score(Path(options.score[0]), Place(0, options.score[1]), SMALL, options.again)
        return 0
    if options.runs < 3:
        parser.error("a median of fewer than 3 runs says little")
    # The sockets of a cluster need short paths.
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        (folder / "files").mkdir()
        fill(folder / "study", draw(folder / "files", options.images))
        with cluster(folder / "r") as address:
            if options.kills:
                result = killed(folder, folder / "study", address, options.kills, options.seed)
                good = not result["different_rounds"]
            else:
                result = compared(folder, folder / "study", address, options.runs)
                good = result["ratio"] <= MOST and result["same_rows"]
    print(json.dumps(result, indent=2))
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
