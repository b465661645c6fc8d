"""Making images in several processes: the same images, whoever makes them and whatever is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from endpoint_server import Server, serving
from studies import put

import sightline
from sightline.errors import UsageError
from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study

# Notes who draws what. "dies once" ends its process the first time, "dies" every time.
MODULE = """
import os, signal
from pathlib import Path
from sightline.systems.generators.python import draw_a_colour

def draw(prompt, seed):
    log = Path(__file__).with_name("log")
    before = log.read_text() if log.exists() else ""
    with log.open("a") as file:
        file.write(f"{os.getpid()}|{prompt}\\n")
    if "dies" in prompt and not ("once" in prompt and prompt in before):
        os.kill(os.getpid(), signal.SIGKILL)
    if "raises" in prompt:
        raise ValueError("it cannot be drawn")
    return draw_a_colour(prompt, seed)
"""
DRAW = 'python(function="drawing:draw")'


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    (tmp_path / "drawing.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    with create_study(tmp_path / "study") as made:
        yield made


def ask(study: Study, *texts: str) -> None:
    put(study, [Prompt(PromptKey("suite", str(n)), text) for n, text in enumerate(texts)])


def drawn(tmp_path: Path) -> list[tuple[int, str]]:
    rows = [row.split("|") for row in (tmp_path / "log").read_text().splitlines()]
    return [(int(process), prompt) for process, prompt in rows]


def answered(study: Study, system: str) -> pl.DataFrame:
    made = reading.answers(study).filter(pl.col("system") == system)
    return made.select("prompt_id", "position", "seed", "sha256", "failure").sort("prompt_id", "position")


def test_several_processes_make_the_same_images(study: Study, tmp_path: Path) -> None:
    ask(study, *(f"prompt {n}" for n in range(6)), "it raises")
    here = sightline.generate(study, "here", DRAW, samples=2)
    assert {process for process, _ in drawn(tmp_path)} == {os.getpid()}
    (tmp_path / "log").unlink()
    heard = []
    there = sightline.generate(study, "there", DRAW, samples=2, workers=2, listener=heard.append)
    assert (there.made, there.failures) == (here.made, here.failures) == (12, there.failures)
    assert (heard[-1].done, heard[-1].total) == (14, 14)
    processes = {process for process, _ in drawn(tmp_path)}
    assert os.getpid() not in processes and 1 <= len(processes) <= 2 and len(drawn(tmp_path)) == 14
    assert answered(study, "there").equals(answered(study, "here"))
    # What several processes made is known to one.
    assert sightline.generate(study, "there", DRAW, samples=2).known == 14


def test_a_killed_process_costs_one_call_and_a_fatal_prompt_waits_for_the_next_run(
    study: Study, tmp_path: Path
) -> None:
    ask(study, "a ball", "it dies once", "a cube", "it dies", "a cone")
    done = sightline.generate(study, "mine", DRAW, workers=2)
    assert (done.made, done.failures) == (4, {})
    # It is listed by name, and is no answer of the system: a process that ends is not the system's refusal.
    assert list(done.quarantined) == ["mine, 3, sample 0"]
    assert "ended 3 times" in done.quarantined["mine, 3, sample 0"] and "1 image ended" in done.notes[0]
    assert done.tables()["quarantined"].rows and reading.counts(study)["answer"] == 4
    prompts = [prompt for _, prompt in drawn(tmp_path)]
    assert (prompts.count("it dies once"), prompts.count("it dies"), len(prompts)) == (2, 3, 8)
    # Another run tries it again, and nothing else.
    (tmp_path / "drawing.py").write_text(MODULE.replace('"dies" in prompt', '"never" in prompt'))
    again = sightline.generate(study, "mine", DRAW, workers=2, batch=4)
    assert (again.made, again.known, again.quarantined) == (1, 4, {})
    assert len(drawn(tmp_path)) == 9


@pytest.mark.slow
def test_what_a_generator_does_wrong_is_raised_from_a_process_too(study: Study) -> None:
    ask(study, "a ball", "a dog")
    with pytest.raises(UsageError, match="has no 'nothing'"):
        sightline.generate(study, "mine", 'python(function="drawing:nothing")', workers=2)
    with pytest.raises(UsageError, match="0 prompts cannot be given"):
        sightline.generate(study, "mine", DRAW, batch=0)
    with pytest.raises(UsageError, match="--gpus"):
        sightline.generate(study, "mine", DRAW, gpus=1)
    assert reading.counts(study)["answer"] == 0


@pytest.fixture
def paid(tmp_path: Path) -> Iterator[tuple[Server, Study]]:
    """An endpoint whose images cost .04, and ten prompts."""
    create_study(tmp_path / "study").close()
    with serving(latency=0.02) as server:
        with (tmp_path / "study" / SETTINGS_FILE).open("a") as file:
            file.write(f'[endpoint.local]\naddress = "{server.address}"\nspend = 0.25\nretries = 1\n')
            file.write("backoff = 0.01\nprices = { draw-1 = { image = 0.04 } }\n")
        with open_study(tmp_path / "study") as study:
            ask(study, *(f"prompt {n}" for n in range(10)))
            yield server, study


def test_processes_that_call_an_endpoint_share_one_spend_limit(paid: tuple[Server, Study]) -> None:
    server, study = paid
    name = 'openai_images(model="draw-1", endpoint="local")'
    done = sightline.generate(study, "hosted", name, workers=2)
    assert "the spend limit of 0.25 is reached" in done.stopped and done.exit_code == 3
    # Six images at .04 each fit.
    assert (done.made, sum(server.seen.values())) == (6, 6)
    (line,) = done.bill
    assert (line.sent, line.replies, line.lost) == (6, 6, 0) and line.cost == pytest.approx(0.24)
