"""A real program as a generator."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sightline import registry
from sightline.errors import UsageError
from sightline.extension import Picture
from sightline.records import Failure, Prompt, PromptKey

PROGRAM = """
import pathlib, subprocess, sys, time
prompt, seed, output = sys.argv[1:]
if prompt == "fail":
    sys.exit("out of paint")
if prompt == "hang":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pathlib.Path(__file__).with_name("child").write_text(str(child.pid))
    time.sleep(600)
if prompt == "rubbish":
    pathlib.Path(output).write_bytes(b"no image")
elif prompt != "nothing":
    from PIL import Image
    Image.new("RGB", (4, 3), (int(seed), len(prompt), 0)).save(output)
"""


@pytest.fixture
def line(tmp_path: Path) -> str:
    program = tmp_path / "draw it.py"
    program.write_text(PROGRAM, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} {{prompt}} {{seed}} {{output}}"


def run(line: str, *texts: str, timeout: float = 120.0) -> list[bytes | Failure]:
    generator = registry.configure("generator", "command", line=line, timeout=timeout).load()
    return list(generator([Prompt(PromptKey("s", text), text) for text in texts], list(range(len(texts)))))


def test_prompt_and_seed_reach_the_program_as_they_are(line: str, tmp_path: Path) -> None:
    nasty = "$(touch hacked); `touch hacked` {output} \"'"
    found = run(line, "a cat", nasty)
    pixels = [Picture(each).rgb for each in found if isinstance(each, bytes)]
    assert [tuple(image[0, 0]) for image in pixels] == [(0, 5, 0), (1, len(nasty), 0)]
    assert pixels[0].shape == (3, 4, 3)
    assert not Path("hacked").exists()


def test_every_failure_has_its_reason(line: str) -> None:
    failed, rubbish, nothing, null, good = run(line, "fail", "rubbish", "nothing", "a\0b", "good")
    assert failed == Failure("the program ended with code 1: out of paint")
    assert isinstance(rubbish, Failure) and "not a readable image" in rubbish.reason
    assert nothing == Failure("the program ended well but wrote no image")
    assert isinstance(null, Failure) and "NUL" in null.reason
    assert isinstance(good, bytes)


def test_a_program_that_hangs_is_ended_with_its_children(line: str, tmp_path: Path) -> None:
    # Long enough for an interpreter to start its child on a busy machine.
    assert run(line, "hang", timeout=5.0) == [Failure("the program took longer than 5 seconds")]
    child = int((tmp_path / "child").read_text())
    for _ in range(600):
        if not _running(child):
            return
        time.sleep(0.1)
    pytest.fail("the program's child is still running")


def _running(process: int) -> bool:
    import os

    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # Whoever adopted it may not have noticed yet that it has ended.
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.parametrize(
    "line",
    ["", "draw {prompt}", "draw {output}", "draw '{prompt} {output}", "no-such-program {prompt} {output}"],
)
def test_a_line_that_cannot_work_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        run(line, "a cat")


def test_prompts_are_drawn_one_by_one(line: str) -> None:
    generator = registry.configure("generator", "command", line=line).load()
    endless = generator([Prompt(PromptKey("s", str(n)), "x" * n) for n in range(1000)], np.arange(1000))
    assert isinstance(next(iter(endless)), bytes)
