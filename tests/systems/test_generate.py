"""Generating: real programs, seeds, failures, killing and going on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from processes import start
from studies import put

import sightline
from sightline.errors import ConflictError, DataError, ExtensionError, UsageError
from sightline.records import Prompt, PromptKey, System
from sightline.study import reading
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load, sources
from sightline.systems.generate import seed_of

# Notes each call in a file, fails on prompts that ask for it, and draws the seed into the picture. Where
# HELD is set, the call with that number lasts until its caller is gone.
PROGRAM = """
import os, struct, sys, time
caller = os.getppid()
prompt, seed, output, log = sys.argv[1:]
held = int(os.environ.get("HELD", "0"))
with open(log, "a") as file:
    file.write(prompt + " " + seed + chr(10))
while held and len(open(log).readlines()) >= held:
    time.sleep(0.01)
    if os.getppid() != caller:
        sys.exit()
if "fail" in prompt:
    sys.exit("it cannot be drawn")
if "text" in prompt:
    open(output, "w").write("no image")
    sys.exit()
header = b"BM" + struct.pack("<IIIIiiHHIIiiII", 70, 0, 54, 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0)
colour = bytes([int(seed) >> shift & 255 for shift in (16, 8, 0)])
open(output, "wb").write(header + (colour * 2 + bytes(2)) * 2)
"""

FEW = '''
from sightline.extension import generator

@generator(source="me", licence="MIT")
def {name}(prompts, seeds):
    """Gives what it likes."""
    {body}
'''


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        yield made


def ask(study: Study, *texts: str, suite: str = "suite") -> None:
    prompts = [Prompt(PromptKey(suite, str(n)), text) for n, text in enumerate(texts)]
    put(study, prompts, suite)


def line(tmp_path: Path) -> str:
    program = tmp_path / "draw.py"
    program.write_text(PROGRAM)
    words = f"{sys.executable} -I {program} {{prompt}} {{seed}} {{output}} {tmp_path / 'log'}"
    return f"command(line={words!r})"


def log(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_images_are_answers_with_their_seeds(study: Study, tmp_path: Path) -> None:
    ask(study, "a ball", "a dog")
    heard = []
    done = sightline.generate(study, "mine", line(tmp_path), samples=2, seed=7, listener=heard.append)
    assert (done.made, done.known, done.failures) == (4, 0, {})
    assert (heard[-1].done, heard[-1].total) == (4, 4)
    answers = reading.answers(study, "generator")
    assert answers["position"].to_list() == [0, 1, 0, 1]
    prompts = reading.prompt_records(study)
    for prompt, position, seed, sha in answers.select("prompt_id", "position", "seed", "sha256").iter_rows():
        assert seed == seed_of(7, prompts[prompt], position)
        # The picture holds the seed it was drawn from.
        assert study.files.picture(sha).rgb[0, 0].tolist() == [seed >> shift & 255 for shift in (0, 8, 16)]
    assert answers["seed"].n_unique() == 4


def test_seeds_depend_on_nothing_else(study: Study, tmp_path: Path) -> None:
    one, two = Prompt(PromptKey("suite", "0"), "a ball"), Prompt(PromptKey("suite", "1"), "a ball")
    assert seed_of(0, one, 0) == seed_of(0, one._replace(text="another wording"), 0)
    assert len({seed_of(0, one, 0), seed_of(1, one, 0), seed_of(0, two, 0), seed_of(0, one, 1)}) == 4
    assert all(0 <= seed_of(n, one, 0) < 2**32 for n in range(100))


def test_failures_are_answers_with_a_reason(study: Study, tmp_path: Path) -> None:
    ask(study, "a ball", "fail here", "a text")
    done = sightline.generate(study, "mine", line(tmp_path))
    assert done.made == 1
    assert done.failures["the program ended with code 1: it cannot be drawn"] == 1
    reasons = reading.answers(study)["failure"].to_list()
    assert reasons[0] is None and "cannot be drawn" in reasons[1] and "image" in reasons[2]
    assert reading.answers(study)["seed"].null_count() == 0


def test_it_goes_on_where_it_was_and_is_one_source(study: Study, tmp_path: Path) -> None:
    ask(study, "a ball", "fail here")
    first = sightline.generate(study, "mine", line(tmp_path))
    second = sightline.generate(study, "mine", line(tmp_path), samples=3)
    assert (second.made, second.known, second.number) == (2, 2, first.number)
    assert len(log(tmp_path)) == len(set(log(tmp_path))) == 6
    third = sightline.generate(study, "mine", line(tmp_path), samples=3)
    assert (third.made, third.known, len(log(tmp_path))) == (0, 6, 6)
    (made,) = [source for source in sources(study) if source["importer"] == "generate"]
    assert (made["counts"]["answers"], made["counts"]["images"]) == (6, 3)
    gone = sightline.undo(study, made["id"]).counts
    assert (gone["answer"], gone["image"], gone["system"]) == (6, 3, 1)
    assert reading.counts(study)["prompt"] == 2


def test_a_source_undone_meanwhile_is_not_added_to(study: Study) -> None:
    ask(study, "a ball")
    with pytest.raises(DataError, match="import number 9 was undone"):
        load(study, [System("mine")], importer="generate", path="x", digest="x", extend=9)
    assert reading.counts(study)["system"] == 0


def test_one_suite_of_several(study: Study, tmp_path: Path) -> None:
    ask(study, "a ball")
    ask(study, "a dog", suite="other")
    assert sightline.generate(study, "mine", line(tmp_path), suite="other").made == 1
    assert [row.split(" ")[1] for row in log(tmp_path)] == ["dog"]
    with pytest.raises(UsageError, match="Did you mean other"):
        sightline.generate(study, "mine", line(tmp_path), suite="othr")


def test_answers_of_another_making_are_not_taken_for_ones_own(study: Study, tmp_path: Path) -> None:
    ask(study, "a ball")
    sightline.generate(study, "mine", line(tmp_path))
    with pytest.raises(ConflictError, match="1 answers that command"):
        sightline.generate(study, "mine", line(tmp_path), seed=1)
    put(study, [System("search", "retriever")], "s")
    with pytest.raises(ConflictError, match="is a retriever"):
        sightline.generate(study, "search", line(tmp_path))
    assert len(log(tmp_path)) == 1


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"samples": 0}, "0 samples"),
        ({"system": " "}, "needs a name"),
        ({"generator": "comand"}, "Did you mean command"),
        ({"generator": "command(line='true')"}, "is missing in line"),
        ({"generator": "command(line='{prompt} {output}')"}, "would run the prompts"),
    ],
)
def test_wrong_calls_are_refused(study: Study, told: dict[str, object], said: str) -> None:
    ask(study, "a ball")
    call = {"system": "mine", "generator": "command(line='x {prompt} {output}')", **told}
    with pytest.raises(UsageError, match=said):
        sightline.generate(study, **call)  # type: ignore[arg-type]
    assert reading.counts(study)["system"] == 0


@pytest.mark.parametrize(
    ("name", "body", "said", "kept"),
    [
        ("lazy", "yield PIXEL", "only 1 results for 3", 1),
        ("eager", "yield from [PIXEL] * 9", "too many results for 3", 3),
        ("wordy", "yield from ['a picture']", "gave str instead of the bytes", 0),
    ],
)
def test_a_generator_that_breaks_its_promise_loses_nothing_that_was_made(
    study: Study, plugins: Path, name: str, body: str, said: str, kept: int
) -> None:
    ask(study, "a ball", "a dog", "a cat")
    header = 'b"BM" + struct.pack("<IIIIiiHHIIiiII", 58, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)'
    pixel = f'import struct\nPIXEL = {header} + b"abcd"\n'
    (plugins / f"{name}.py").write_text(pixel + FEW.format(name=name, body=body))
    with pytest.raises(ExtensionError, match=said):
        sightline.generate(study, "mine", name)
    assert reading.counts(study)["answer"] == kept


CHILD = """
import sys
import sightline
with sightline.open(sys.argv[1]) as study:
    sightline.generate(study, "mine", sys.argv[2], samples=2)
"""


def test_a_killed_run_resumes_and_repeats_only_the_call_in_flight(tmp_path: Path) -> None:
    texts = [f"prompt {n}" for n in range(7)]
    with create_study(tmp_path / "whole") as whole:
        ask(whole, *texts)
        sightline.generate(whole, "mine", line(tmp_path), samples=2)
        expected = reading.answers(whole)
    (tmp_path / "log").unlink()
    with create_study(tmp_path / "killed") as study:
        ask(study, *texts)
    # Each run is killed in its last call: the calls before it are kept, that one is made again.
    for kills, begun in enumerate((1, 5, 11)):
        child = start(CHILD, tmp_path / "killed", line(tmp_path), HELD=str(begun))
        until = time.monotonic() + 120
        while not (tmp_path / "log").exists() or len(log(tmp_path)) < begun:
            assert child.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        with open_study(tmp_path / "killed") as study:
            assert reading.counts(study)["answer"] == begun - 1 - kills
    with open_study(tmp_path / "killed") as study:
        done = sightline.generate(study, "mine", line(tmp_path), samples=2)
        assert (done.known, done.made) == (8, 6)
        # 14 images, three kills, one call in flight at each.
        assert len(log(tmp_path)) == 14 + 3
        assert [source["importer"] for source in sources(study)] == ["test", "generate"]
        same = ["system", "prompt_id", "position", "seed", "sha256"]
        found = reading.answers(study).select(same)
        assert found.equals(expected.select(same))
        assert found.filter(pl.col("sha256").is_null()).is_empty()
