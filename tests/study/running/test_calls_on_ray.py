"""Images, votes, scores of an endpoint and resampling on a real Ray cluster: what one process gives."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest
from endpoint_server import Server, serving
from PIL import Image as Pillow
from studies import put

import sightline
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.statistics.comparison import compare
from sightline.study import reading
from sightline.study.running.mapping import mapped_at
from sightline.study.running.on_ray import leave
from sightline.study.running.place import Place
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

PROMPTS = 16
DRAW = 'python(function="sightline.systems.generators.python:draw_a_colour")'


@pytest.fixture(scope="module")
def on() -> Iterator[str]:
    """The address of a cluster of two processors on loopback; its sockets need short paths."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(dir="/tmp")
    size = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 80_000_000}
    made = Cluster(initialize_head=True, connect=False, head_node_args={**size, "temp_dir": folder})
    yield made.address
    leave()
    made.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(latency=0.05) as made:
        yield made


@pytest.fixture
def study(tmp_path: Path, server: Server) -> Iterator[Study]:
    create_study(tmp_path / "study").close()
    with (tmp_path / "study" / SETTINGS_FILE).open("a") as file:
        file.write(f'[endpoint.local]\naddress = "{server.address}"\nbackoff = 0.01\nretries = 1\n')
        file.write("spend = 1.0\nprices = { eye = { input = 1.0 }, draw-1 = { image = 0.04 } }\n")
    records: list[Record] = [System("light"), System("dark")]
    for n in range(PROMPTS):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"prompt {n}"))
        for name, light in (("light", 200), ("dark", 20)):
            path = tmp_path / f"{name}{n}.png"
            Pillow.new("RGB", (8, 8), (light, light, light + n)).save(path)
            image = ImageKey(name, str(n))
            records += [Image(image, str(path)), Answer(key, name, 0, image)]
    with open_study(tmp_path / "study") as made:
        put(made, records)
        yield made


def answers(study: Study, system: str) -> list[tuple[int, int, str]]:
    made = reading.answers(study).filter(pl.col("system") == system).sort("prompt_id", "position")
    return made.select("prompt_id", "seed", "sha256").rows()


def test_a_cluster_makes_the_same_images(study: Study, server: Server, on: str) -> None:
    here = sightline.generate(study, "here", DRAW)
    there = sightline.generate(study, "there", DRAW, on=on, workers=2)
    assert here.made == there.made == PROMPTS and answers(study, "there") == answers(study, "here")
    name = 'openai_images(model="draw-1", endpoint="local")'
    called = sightline.generate(study, "called", name, on=on, workers=2)
    assert called.made == PROMPTS == sum(server.seen.values())
    (line,) = called.bill
    assert (line.sent, line.replies, line.cost) == (PROMPTS, PROMPTS, pytest.approx(0.04 * PROMPTS))


def test_a_cluster_judges_and_scores_and_a_killed_worker_costs_its_calls(
    study: Study, server: Server, on: str
) -> None:
    def kill() -> None:
        until = time.monotonic() + 120
        while sum(server.seen.values()) < 6 and time.monotonic() < until:
            time.sleep(0.002)
        workers = [each for each in psutil.Process().children(recursive=True) if "Worker" in each.name()]
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    there = sightline.judge(study, "eye", "local", question="there", on=on, workers=2)
    killer.join()
    assert (there.votes, there.stopped) == (PROMPTS, "")
    (line,) = there.bill
    repeated = sum(server.seen.values()) - 2 * PROMPTS
    assert line.replies == 2 * PROMPTS and repeated <= line.lost <= 4
    calls = sum(server.seen.values())
    here = sightline.judge(study, "eye", "local", question="here")
    assert sum(server.seen.values()) == calls and (here.votes, here.position) == (PROMPTS, there.position)
    name = 'judge(model="eye", endpoint="local")'
    scored = sightline.score(study, name, on=on, workers=2)
    assert sum(server.seen.values()) == calls + 2 * PROMPTS and not scored.runs[0].reasons
    values = study.scores().select("prompt_id", "system", "value").rows()
    sightline.cache(study, clear="judge")
    sightline.score(study, name)
    assert study.scores().select("prompt_id", "system", "value").rows() == values
    assert sum(server.seen.values()) == calls + 2 * PROMPTS


def test_a_cluster_resamples_as_one_process_does(on: str) -> None:
    matrix = np.random.default_rng(0).random((40, 4))
    there = compare(matrix, test="bootstrap", each=mapped_at(Place(2, on), worth=0.0))
    assert there == compare(matrix, test="bootstrap")
