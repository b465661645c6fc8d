"""How much processor time `sightline --help` takes, against the start of a bare interpreter.

The two are run in turn, and the medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MOST = 12.0
BARE = (sys.executable, "-c", "pass")
ENTRY_POINT = "import sys; from sightline.cli import main; sys.exit(main())"


def program() -> list[str]:
    """The command line to measure: the program installed with this interpreter, else its entry point."""
    installed = Path(sys.executable).parent / "sightline"
    if installed.exists():
        return [str(installed), "--help"]
    return [sys.executable, "-c", ENTRY_POINT, "--help"]


def seconds(command: Sequence[str]) -> float:
    """Processor time that a command takes, whatever else the machine is doing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Byte code is written as on a user's machine: compiling anew each time is not what they wait for.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def interleaved(runs: int, first: Sequence[str], second: Sequence[str]) -> tuple[list[float], list[float]]:
    """Times of both commands, run in turn; an unmeasured run of each first fills the disk cache."""
    seconds(first)
    seconds(second)
    pairs = [(seconds(first), seconds(second)) for _ in range(runs)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def measure(runs: int, command: Sequence[str]) -> dict[str, object]:
    bare, started = interleaved(runs, BARE, command)
    ratio = statistics.median(started) / statistics.median(bare)
    return {
        "runs": runs,
        "bare_ms": round(1000 * statistics.median(bare), 1),
        "help_ms": round(1000 * statistics.median(started), 1),
        "bare_least_ms": round(1000 * min(bare), 1),
        "help_least_ms": round(1000 * min(started), 1),
        "ratio": round(ratio, 2),
        "most": MOST,
        "within": ratio <= MOST,
        "python": sys.version.split()[0],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=21, help="runs of each, at least 15 (default 21)")
    options = parser.parse_args()
    if options.runs < 15:
        parser.error("a median of fewer than 15 runs says little")
    result = measure(options.runs, program())
    print(json.dumps(result, indent=2))
    verdict = "within" if result["within"] else "OVER"
    print(
        f"sightline --help takes {result['ratio']} times a bare start ({verdict} the allowed {MOST:g})",
        file=sys.stderr,
    )
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
