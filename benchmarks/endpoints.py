"""A judge behind an endpoint: how many calls a second, and what is asked for again after kill -9.

    python benchmarks/endpoints.py [--answers 1000] [--in-flight 16] [--latency 0.4] [--kills 2]

An OpenAI-compatible server in a process of its own (tests/shared/endpoint_server.py) takes `latency` seconds
for each reply: with so many calls in flight it can give in-flight / latency replies a second. The peer is a
bare loop of threads that post the same bodies with httpx and keep nothing. Sightline reads and encodes each
picture, commits before and after every call, and keeps the score.

Then the same study is judged anew while its process is killed with SIGKILL, so many times. At the end every
answer must have its score, no call whose reply is in the study may have been made again, and at each kill at
most as many calls as were in flight may be repeated; the bill must count them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image as Pillow

import sightline
from sightline.measures.of_answer import judge as judging
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import listing
from sightline.study.study import SETTINGS_FILE, create_study, open_study
from sightline.study.writing.loading import load

SERVER = Path(__file__).resolve().parent.parent / "tests" / "shared" / "endpoint_server.py"
NAME = 'judge(model="judge-1", endpoint="local")'
RUN = f"import sys, sightline; study = sightline.open(sys.argv[1]); sightline.score(study, {NAME!r})"


def make(folder: Path, address: str, answers: int, in_flight: int) -> None:
    """A study of noisy pictures of 64 px, one answer per prompt."""
    create_study(folder).close()
    with (folder / SETTINGS_FILE).open("a") as file:
        file.write(f'[endpoint.local]\naddress = "{address}"\nin_flight = {in_flight}\n')
        file.write('[endpoint.local.prices]\n"judge-1" = { input = 2.0, output = 10.0 }\n')
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch, open_study(folder) as study:
        records: list[Record] = [System("painter")]
        for n in range(answers):
            path = Path(scratch) / f"{n}.png"
            Pillow.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8)).save(path)
            key, image = PromptKey("s", str(n)), ImageKey("painter", str(n))
            records += [Prompt(key, f"prompt {n}"), Image(image, str(path)), Answer(key, "painter", 0, image)]
        load(study, records, importer="bench", path="bench", digest="bench")


def bare(address: str, bodies: list[bytes], in_flight: int) -> float:
    """Calls per second of threads that post bodies and keep nothing."""
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    with httpx.Client(timeout=60, limits=limits) as client, ThreadPoolExecutor(in_flight) as pool:
        began = time.perf_counter()
        head = {"Content-Type": "application/json"}
        for reply in pool.map(
            lambda body: client.post(f"{address}/chat/completions", content=body, headers=head), bodies
        ):
            reply.raise_for_status()
        return len(bodies) / (time.perf_counter() - began)


def bodies_of(folder: Path) -> list[bytes]:
    """The requests that the judge makes of a study."""
    made = []

    class Listening(judging.Endpoint):
        def __init__(self) -> None:
            pass

        def chat(self, body: Any) -> Any:
            made.append(json.dumps(body).encode())
            return judging.Reply(fault="not asked")

    from sightline import registry
    from sightline.study import scores

    ready = registry.configure("of_answer", NAME).load({"endpoint": Listening()})
    with open_study(folder) as study:
        for page in scores.pages(study, "of_answer"):
            for item in page:
                ready([item.prompt], [study.files.picture(item.contents[0])])
    return made


def counts(address: str, what: str = "counts") -> dict[str, int]:
    return httpx.get(address.removesuffix("/v1") + f"/{what}", timeout=30).json()


def killed(folder: Path, address: str, answers: int, kills: int) -> dict[str, int]:
    """Judge a study, killed so many times on the way."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for kill in range(kills):
        process = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], env=env, start_new_session=True)
        while counts(address)["replied"] < answers * (kill + 1) // (kills + 1) and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        while counts(address)["under_way"]:
            time.sleep(0.05)
    subprocess.run([sys.executable, "-c", RUN, str(folder)], env=env, check=True)
    return counts(address)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.4)
    parser.add_argument("--kills", type=int, default=2)
    given = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(given.latency)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None and server.stdin is not None
    address = server.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as scratch:
        calm, broken = Path(scratch) / "calm", Path(scratch) / "broken"
        for folder in (calm, broken):
            make(folder, address, given.answers, given.in_flight)
        peer = bare(address, bodies_of(calm), given.in_flight)
        counts(address, "clear")
        with open_study(calm) as study:
            began = time.perf_counter()
            sightline.score(study, NAME)
            ours = given.answers / (time.perf_counter() - began)
        undisturbed = counts(address)
        counts(address, "clear")
        seen = killed(broken, address, given.answers, given.kills)
        with open_study(broken) as study:
            (line,) = sightline.bill(study).lines
            scored = study.scores().drop_nulls("value").height
            noted = listing.events(study, "endpoint")
            kept = Counter(entry["key"] for what, entry in noted if what == "call")
    server.stdin.close()
    server.wait()
    repeated = seen["requests"] - seen["distinct"]
    could = given.in_flight / given.latency
    print(f"the server can give {could:.1f} calls per second; bare client {peer:.1f}, Sightline {ours:.1f}")
    print(f"ratio to the bare client {ours / peer:.3f}, to what the server can give {ours / could:.3f}")
    print(f"undisturbed: {undisturbed['requests']} requests, at most {undisturbed['most']} at once")
    print(f"killed {given.kills} times: {seen['requests']} requests, {repeated} of them repeated")
    print(f"bill: {line.sent} calls, {line.replies} replies, {line.lost} without, cost {line.cost:.4f}")
    print(f"{scored} of {given.answers} scored; replies stored twice: {sum(n - 1 for n in kept.values())}")
    held = (
        ours / could >= 0.9
        and scored == line.replies == seen["distinct"] == given.answers
        and max(kept.values()) == 1
        and repeated <= line.lost <= given.kills * given.in_flight
        and undisturbed["requests"] == given.answers
        and undisturbed["most"] <= given.in_flight
    )
    print("held" if held else "NOT held")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
