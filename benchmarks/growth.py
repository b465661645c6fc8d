"""How time and memory grow with a study: exponents per command, and the cost of a large study from them.

    python benchmarks/growth.py [--along images prompts systems annotators] [--only import ...] [--json FILE]
    python benchmarks/growth.py --million FOLDER [--answers 1000000]

Each command runs in a process of its own on studies of four sizes along one axis, the others held. Time is
that of the processor, which other work on the machine changes little; memory is the peak of the process.
Both are fitted as n to the power of b on logarithms (ordinary least squares; the interval is that of
Student's t with 2 degrees of freedom). Of memory the peak on the largest study is given as a ratio to that on
the smallest too: an exponent near 0 over a large constant says little.

--million scores 1,000,000 images over 100,000 contents by sharpness, and a tenth of it in the same run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from drawn_studies import QUESTION, Size, build, table

BASE = Size(answers=1_000, contents=1_000, prompts=100, systems=5, annotators=5, votes=1)
AXES: Mapping[str, Sequence[Size]] = {
    "images": [replace(BASE, answers=n, contents=n) for n in (500, 1_000, 2_000, 4_000)],
    "prompts": [replace(BASE, answers=10 * n, contents=100, prompts=n) for n in (100, 200, 400, 800)],
    "systems": [replace(BASE, answers=100 * n, contents=100, systems=n) for n in (2, 4, 8, 16)],
    "annotators": [replace(BASE, contents=100, annotators=n, votes=n) for n in (2, 4, 8, 16)],
}
"""The four sizes along each axis; of prompts each has ten answers, of systems each a hundred."""
COUNT = {"images": "answers", "prompts": "prompts", "systems": "systems", "annotators": "annotators"}
COMMANDS = ("import", "score", "truth", "check", "export", "compare", "report")
T_TWO_DEGREES = 4.303
"""The .975 quantile of Student's t with 2 degrees of freedom: four sizes less two parameters."""
CHILD = """
import resource, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_module("sightline", run_name="__main__", alter_sys=True)
except SystemExit as ended:
    code = ended.code
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
seconds = sum(each.ru_utime + each.ru_stime for each in (own, children))
print(f"\\nMEASURED {seconds} {own.ru_maxrss / 1024}")
"""


def slope(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The exponent b of values = a * size ** b, and half the width of its 95 % interval."""
    x, y = [math.log(each) for each in sizes], [math.log(each) for each in values]
    n, mean_x, mean_y = len(x), sum(x) / len(x), sum(y) / len(y)
    spread = sum((each - mean_x) ** 2 for each in x)
    b = sum((u - mean_x) * (v - mean_y) for u, v in zip(x, y, strict=True)) / spread
    rest = sum((v - mean_y - b * (u - mean_x)) ** 2 for u, v in zip(x, y, strict=True))
    return b, T_TWO_DEGREES * math.sqrt(rest / (n - 2) / spread)


def measured(*arguments: str) -> tuple[float, float]:
    """Seconds of the processor and peak megabytes of one command, run in a process of its own."""
    environment = {**os.environ, "SIGHTLINE_NO_PLUGINS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, "sightline", *arguments],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("MEASURED ")]
    if not lines:
        raise SystemExit(f"sightline {' '.join(arguments)} failed:\n{done.stderr}")
    _, seconds, megabytes = lines[-1].split()
    return float(seconds), float(megabytes)


def commands(home: Path, study: Path, size: Size) -> Mapping[str, Sequence[str]]:
    """What is run on a study, in this order: each needs what the earlier ones made."""
    return {
        "import": ("import", str(home / "new"), str(table(home / "table", size))),
        "score": ("score", str(study), "sharpness"),
        "truth": ("truth", str(study)),
        "check": ("check", str(study)),
        "export": ("export", str(study), str(home / "out")),
        "compare": ("compare", str(study), "--by", QUESTION),
        "report": ("report", str(study), "--to", str(home / "report.html")),
    }


def along(axis: str, wanted: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Seconds and megabytes of each command at the four sizes of an axis."""
    found: dict[str, dict[str, list[float]]] = {name: {"seconds": [], "megabytes": []} for name in wanted}
    for size in AXES[axis]:
        with tempfile.TemporaryDirectory() as aside:
            home = Path(aside)
            build(home / "study", size).close()
            measured("init", str(home / "new"))
            last = max(COMMANDS.index(name) for name in wanted)
            for name, arguments in list(commands(home, home / "study", size).items())[: last + 1]:
                seconds, megabytes = measured(*arguments)
                if name in wanted:
                    found[name]["seconds"].append(seconds)
                    found[name]["megabytes"].append(megabytes)
    return found


def show(axis: str, found: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """The exponents as rows of a table."""
    sizes = [float(vars(size)[COUNT[axis]]) for size in AXES[axis]]
    for name, values in found.items():
        time, within = slope(sizes, values["seconds"])
        memory, margin = slope(sizes, values["megabytes"])
        ratio = values["megabytes"][-1] / values["megabytes"][0]
        print(
            f"| {axis} {sizes[0]:g} to {sizes[-1]:g} | {name} | {values['seconds'][-1]:.1f} s "
            f"| {time:.2f} ± {within:.2f} | {values['megabytes'][-1]:.0f} MB | {memory:.2f} ± {margin:.2f} "
            f"| {ratio:.2f} |",
            flush=True,
        )


def million(folder: Path, answers: int) -> None:
    """Score a study of so many images, each ten times under other names, and a tenth of it before."""
    folder.mkdir(parents=True, exist_ok=True)
    peaks = []
    for n in (answers // 10, answers):
        size = Size(n, n // 10, n // 100, 10, 20, 1)
        build(folder / str(n), size).close()
        seconds, megabytes = measured("score", str(folder / str(n)), "sharpness")
        peaks.append(megabytes)
        print(f"{n:,} images over {size.contents:,} contents:", end=" ")
        print(f"{seconds:.0f} s of the processor, {megabytes:.0f} MB", flush=True)
    print(f"peak memory {peaks[1] / peaks[0]:.2f} times that of a tenth (bound 1.2)")


def main() -> None:
    """Measure along the axes asked for, or the large study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--along", nargs="+", choices=list(AXES), default=list(AXES))
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--json", type=Path, help="also write what was measured to this file")
    parser.add_argument("--million", type=Path, metavar="FOLDER", help="the large study, in this folder")
    parser.add_argument("--answers", type=int, default=1_000_000)
    chosen = parser.parse_args()
    if chosen.million:
        million(chosen.million, chosen.answers)
        return
    columns = ("along", "command", "time at the largest", "exponent", "peak", "exponent", "ratio of peaks")
    print(f"| {' | '.join(columns)} |")
    print("|---|---|---|---|---|---|---|")
    everything = {}
    for axis in chosen.along:
        everything[axis] = along(axis, chosen.only)
        show(axis, everything[axis])
    if chosen.json:
        chosen.json.write_text(json.dumps(everything, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
