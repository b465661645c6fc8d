"""What the workbench itself costs when it scores: a study against a bare loop over the same files.

The loop decodes each file and calls the same measure on it; the study also looks up what is known, passes
the gate and commits every batch. Both are run in turn, each on fresh data; the overhead is the median of the
ratios of neighbours. On a busy machine look at the processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from sightline import registry
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.records import Image, ImageKey, Prompt, PromptKey
from sightline.study.running.place import Place
from sightline.study.running.progress import Progress
from sightline.study.running.run import run
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

MOST = 0.05
SIDE = 256


def draw(folder: Path, images: int) -> list[Path]:
    """Distinct pictures of the sample systems as PNG files."""
    from sightline.samples.scenes import scenes
    from sightline.samples.systems import answer, png

    asked = scenes(min(images, 40))
    paths = []
    for n in range(images):
        path = folder / f"{n:05d}.png"
        path.write_bytes(png(answer("careful", asked[n % len(asked)], n // len(asked), size=SIDE).image))
        paths.append(path)
    return paths


def fill(home: Path, paths: list[Path]) -> None:
    prompt = Prompt(PromptKey("bench", "1"), "a picture")
    images = [Image(ImageKey("bench", path.name), str(path)) for path in paths]
    with create_study(home) as study:
        load(study, [prompt, *images], importer="bench", path=str(home), digest="bench")


def bare(measure: Configured, paths: list[Path]) -> tuple[float, float, list[float]]:
    """Seconds, seconds of processor time, and values of the loop."""
    call = measure.load()
    begin, busy = time.perf_counter(), time.process_time()
    values = [float(call([Picture(path=path)])[0]) for path in paths]
    return time.perf_counter() - begin, time.process_time() - busy, values


def scored(measure: Configured, home: Path, workers: int) -> tuple[float, float, float, list[float]]:
    """Seconds, processor time, images a second once started, and values over a fresh copy of the study."""
    from sightline.study import reading

    heard: list[tuple[float, int]] = []

    def listen(progress: Progress) -> None:
        heard.append((time.perf_counter(), progress.done))

    with tempfile.TemporaryDirectory(dir=home.parent) as copy:
        shutil.copytree(home, copy, dirs_exist_ok=True)
        with open_study(copy) as study:
            begin, busy = time.perf_counter(), time.process_time()
            run(study, measure, place=Place(workers), listener=listen, worth=0)
            seconds, busy = time.perf_counter() - begin, time.process_time() - busy
            values = reading.scores(study, measure.identity)["value"].to_list()
    at_work = [(at, done) for at, done in heard if done]
    (first, early), (last, late) = at_work[0], at_work[-1]
    return seconds, busy, (late - early) / (last - first), values


def again(measure: Configured, study: Study) -> float:
    begin = time.perf_counter()
    run(study, measure)
    return time.perf_counter() - begin


def _paired(times: list[float], against: list[float]) -> float:
    """How much longer, as the median over runs made one after the other."""
    return statistics.median(a / b for a, b in zip(times, against, strict=True)) - 1


def measure_all(folder: Path, name: str, images: int, runs: int) -> dict[str, object]:
    measure = registry.find_measure(name)
    (folder / "files").mkdir()
    paths = draw(folder / "files", images)
    fill(folder / "study", paths)
    bare(measure, paths[:16])
    loops: list[float] = []
    loops_busy: list[float] = []
    busy_of: dict[int, list[float]] = {1: [], 2: []}
    seconds_of: dict[int, list[float]] = {1: [], 2: []}
    rates_of: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(runs):
        seconds, busy, expected = bare(measure, paths)
        loops.append(seconds)
        loops_busy.append(busy)
        for workers in (1, 2):
            seconds, busy, rate, values = scored(measure, folder / "study", workers)
            seconds_of[workers].append(seconds)
            busy_of[workers].append(busy)
            rates_of[workers].append(rate)
            if values != expected:
                raise SystemExit(f"the study's scores with {workers} workers are not those of the loop")
    with open_study(folder / "study") as study:
        run(study, measure)
        known = statistics.median(again(measure, study) for _ in range(runs))
    alone, together = seconds_of[1], seconds_of[2]
    loop, one, two = (statistics.median(times) for times in (loops, alone, together))
    slow, quick = (statistics.median(rates_of[workers]) for workers in (1, 2))
    overhead = _paired(alone, loops)
    return {
        "measure": measure.short,
        "images": images,
        "side": SIDE,
        "runs": runs,
        "cores": os.cpu_count(),
        "bare_s": round(loop, 3),
        "one_worker_s": round(one, 3),
        "two_workers_s": round(two, 3),
        "all_known_s": round(known, 4),
        "bare_least_s": round(min(loops), 3),
        "one_worker_least_s": round(min(alone), 3),
        "two_workers_least_s": round(min(together), 3),
        "images_a_second": round(images / one, 1),
        "overhead": round(overhead, 4),
        "overhead_of_least": round(min(alone) / min(loops) - 1, 4),
        "overhead_of_processor_time": round(_paired(busy_of[1], loops_busy), 4),
        "speed_up_of_two": round(one / two, 2),
        "speed_up_of_two_once_started": round(quick / slow, 2),
        "most": MOST,
        "within": overhead <= MOST,
        "python": sys.version.split()[0],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=600, help="how many pictures to score (default 600)")
    parser.add_argument("--runs", type=int, default=7, help="runs of each, at least 3 (default 7)")
    parser.add_argument("--measure", default="sharpness", help="a measure of an image (default sharpness)")
    options = parser.parse_args()
    if options.runs < 3:
        parser.error("a median of fewer than 3 runs says little")
    with tempfile.TemporaryDirectory() as folder:
        result = measure_all(Path(folder), options.measure, options.images, options.runs)
    print(json.dumps(result, indent=2))
    verdict = "within" if result["within"] else "OVER"
    print(
        f"scoring costs {100 * float(str(result['overhead'])):.1f} % over a bare loop "
        f"({verdict} the allowed {100 * MOST:g} %)",
        file=sys.stderr,
    )
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
