"""Calls that workers make: one ledger, one limit and one pace for all, whatever is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from endpoint_server import Server, serving
from PIL import Image as Pillow
from studies import put

import sightline
from sightline.addresses import Settings
from sightline.endpoints import Call, Endpoint, Memory, Stopped, Unanswered
from sightline.errors import SightlineError
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study.running.remote_calls import Desk, Remote
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study

SETTINGS = Settings("local", "http://127.0.0.1:1/v1", in_flight=2, spend=1.0)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(latency=0.05) as made:
        yield made


@pytest.fixture
def study(tmp_path: Path, server: Server) -> Iterator[Study]:
    """Two systems on twenty prompts; on one prompt the reply cannot be read."""
    create_study(tmp_path / "study").close()
    with (tmp_path / "study" / SETTINGS_FILE).open("a") as file:
        file.write(f'[endpoint.local]\naddress = "{server.address}"\nbackoff = 0.01\nretries = 1\n')
        file.write("spend = 1.0\nprices = { eye = { input = 1.0, output = 1.0 } }\n")
    records: list[Record] = [System("light"), System("dark")]
    for n in range(20):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"prompt {n}{' [text]' if n == 2 else ''}"))
        for name, light in (("light", 200), ("dark", 20)):
            path = tmp_path / f"{name}{n}.png"
            Pillow.new("RGB", (8, 8), (light, light, light + n)).save(path)
            records += [
                Image(ImageKey(name, str(n)), str(path)),
                Answer(key, name, 0, ImageKey(name, str(n))),
            ]
    with open_study(tmp_path / "study") as made:
        put(made, records)
        yield made


def votes(study: Study) -> pl.DataFrame:
    return study.judgements().select("question", "prompt_id", "system", "value").sort("question", "prompt_id")


def killed_after(server: Server, requests: int) -> threading.Thread:
    """Kills a worker of this process once the server was asked so often."""

    def kill() -> None:
        until = time.monotonic() + 60
        while sum(server.seen.values()) < requests and time.monotonic() < until:
            time.sleep(0.002)
        workers = multiprocessing.active_children()
        assert len(workers) == 2 and workers[0].pid is not None
        os.kill(workers[0].pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_workers_judge_as_one_process_does_and_a_kill_costs_the_calls_in_flight(
    study: Study, server: Server
) -> None:
    killer = killed_after(server, 12)
    result = sightline.judge(study, "eye", "local", question="votes", workers=2)
    killer.join()
    assert (result.votes, result.without) == (19, {"the reply gives no better": 1}) and not result.stopped
    assert server.most_under_way <= 8
    (line,) = result.bill
    # Eight in flight, half of them at the worker that was killed; what it had sent is counted as lost.
    repeated = sum(server.seen.values()) - 40
    assert line.replies == 40 and repeated <= line.lost <= 4 and line.sent == 40 + line.lost
    # Every reply is known here, so that the same is said without a call.
    calls = sum(server.seen.values())
    here = sightline.judge(study, "eye", "local", question="votes")
    assert sum(server.seen.values()) == calls and (here.votes, here.position) == (19, result.position)
    assert votes(study).height == 19


@pytest.mark.slow
def test_workers_do_not_ask_for_what_is_known(study: Study, server: Server) -> None:
    sightline.judge(study, "eye", "local", question="here")
    assert sum(server.seen.values()) == 40
    workers = sightline.judge(study, "eye", "local", question="there", workers=2)
    assert sum(server.seen.values()) == 40 and workers.votes == 19
    both = votes(study).partition_by("question")
    assert both[0].drop("question").equals(both[1].drop("question"))


def test_a_desk_answers_for_the_ledger_and_the_pace() -> None:
    ledger = Memory()
    client = Endpoint(SETTINGS, ledger)
    desk = Desk(client)
    remote = Remote(desk.line, SETTINGS)
    assert remote.known("k") is None and remote.sent("k", "m", 0.6, 1.0) is None
    assert remote.sent("l", "m", 0.6, 1.0) == pytest.approx(0.6)
    remote.settled(Call("k", "m", cost=0.5, held=0.6, reply={"text": "hé"}))
    assert remote.known("k") == {"text": "hé"} and ledger.spent() == 0.5
    remote.wait()
    for _ in range(8):
        remote.failed("gone")
    with pytest.raises(Stopped, match="the last 8 calls got no answer: gone"):
        remote.wait()
    client.stop()
    with pytest.raises(Unanswered, match="the run was stopped"):
        remote.wait()
    with pytest.raises(SightlineError, match="cannot reach the machine that keeps the replies"):
        Remote(replace(desk.line, secret=b"another"), SETTINGS).known("k")
    client.close()
    desk.close()
    with pytest.raises(SightlineError, match="cannot reach the machine"):
        Remote(desk.line, SETTINGS).known("k")


def test_a_worker_that_is_gone_leaves_room_for_others() -> None:
    client = Endpoint(SETTINGS)
    desk = Desk(client)
    gone, here = Remote(desk.line, SETTINGS), Remote(desk.line, SETTINGS)
    held = threading.Thread(target=lambda: [gone.sent(key, "m") for key in ("a", "b")])
    held.start()
    held.join()  # its line ends with the thread: two calls were in flight, as many as are allowed
    assert here.sent("c", "m") is None
    client.close()
    desk.close()
