"""Any program of the user's own as a generator."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sightline.errors import DataError, UsageError
from sightline.extension import Picture, generator
from sightline.records import Failure, Prompt

EXAMPLE = "python draw.py --prompt={prompt} --seed={seed} --output={output}"

_PROGRAM = (
    "import sys, hashlib, PIL.Image as I; c = hashlib.sha256(' '.join(sys.argv[1:3]).encode()).digest(); "
    "I.new('RGB', (4, 4), tuple(c[:3])).save(sys.argv[3])"
)
DRAWS_A_COLOUR = f"{shlex.quote(sys.executable)} -c {shlex.quote(_PROGRAM)} {{prompt}} {{seed}} {{output}}"
"""A program for the example of this generator: prompt and seed decide a colour."""


# Such a program mostly takes the whole machine: two at once would only get in each other's way.
@generator(
    source="Sightline",
    licence="Apache-2.0",
    parallel=False,
    parameters={"line": DRAWS_A_COLOUR},
)
def command(
    prompts: Sequence[Prompt], seeds: Sequence[int], *, line: str = "", timeout: float = 600.0
) -> Iterator[bytes | Failure]:
    """Images made by a command line that is run once per prompt.

    `{prompt}`, `{seed}` and `{output}` in `line` stand for the text, the seed and the path of the image file
    that the program must write. No shell of ours reads the line, and a prompt cannot name the program; write
    `--prompt={prompt}` in one piece, so that a prompt that starts with a dash is not taken for an option.
    A program that fails, takes longer than `timeout` seconds or writes no image is a failure with its reason.
    """
    pieces = _pieces(line)
    for prompt, seed in zip(prompts, seeds, strict=True):
        yield _made(pieces, prompt.text, seed, timeout)


def _pieces(line: str) -> list[str]:
    try:
        pieces = shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"command: cannot read line={line!r} ({error})", remedy=f"For example {EXAMPLE}"
        ) from None
    if not pieces:
        raise UsageError("command needs a command line to run", remedy=f"For example line='{EXAMPLE}'")
    for mark in ("{prompt}", "{output}"):
        if not any(mark in piece for piece in pieces):
            raise UsageError(f"command: {mark} is missing in line={line!r}", remedy=f"For example {EXAMPLE}")
    if "{prompt}" in pieces[0]:
        raise UsageError(f"command: line={line!r} would run the prompts", remedy=f"For example {EXAMPLE}")
    return pieces


def _made(pieces: Sequence[str], text: str, seed: int, timeout: float) -> bytes | Failure:
    if "\0" in text:
        return Failure("the prompt holds a NUL character, which no program can be given")
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        output = Path(folder) / "image.png"
        filled = [_filled(piece, text, seed, output) for piece in pieces]
        failure = _run(filled, timeout)
        if failure is not None:
            return failure
        if not output.is_file():
            return Failure("the program ended well but wrote no image")
        picture = Picture(path=output, name=output.name)
        try:
            # Decoding in full is the only proof that an image is whole.
            _ = picture.rgb
        except DataError as error:
            return Failure(error.what)
        return picture.data


def _filled(piece: str, text: str, seed: int, output: Path) -> str:
    # The prompt goes in last: marks that stand in the prompt itself are text.
    ready = piece.replace("{seed}", str(int(seed))).replace("{output}", str(output))
    return ready.replace("{prompt}", text)


def _run(filled: Sequence[str], timeout: float) -> Failure | None:
    try:
        # A session of its own: on time-out the program's children can be ended along with it.
        process = subprocess.Popen(
            filled,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"command: cannot run {filled[0]!r} ({error.strerror})") from None
    try:
        _, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(process)
        return Failure(f"the program took longer than {timeout:g} seconds")
    except BaseException:
        _end(process)
        raise
    if process.returncode != 0:
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["without a word"]
        return Failure(f"the program ended with code {process.returncode}: {last[0][:300]}")
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
