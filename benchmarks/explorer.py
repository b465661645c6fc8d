"""The explorer on 100,000 drawn images: time to the first page, to filter, to sort, and memory.

Makes the study once in the folder given by --study (10 systems x 10,000 prompts, distinct images of 64 px,
truth and three votes per image, four measures, tags), then serves it by `sightline view` in another process
and asks over the wire. With Chromium the page is scrolled as well: the longest step, memory of the tab.
Bounds: first page 0.5 s, filter or sort 1 s, 500 MB for the server and for the tab, 100 ms per scroll step.

    python benchmarks/explorer.py --study FOLDER [--prompts 10000] [--no-browser]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.study import reading
from sightline.study.contents import answer_inputs, hashed, image_inputs, prompt_inputs
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

SYSTEMS, SIDE, RATERS = 10, 64, 3
WORDS = ["red", "blue", "old", "small", "wooden", "bright", "quiet", "broken", "round", "tall"]
THINGS = ["dog", "cat", "boat", "tree", "clock", "chair", "train", "apple", "bridge", "lamp", "river", "kite"]
SKILLS = ("counting", "colour", "text", "spatial", "style")
FIRST_PAGE, CHANGE, MEGABYTES, STEP = 0.5, 1.0, 500, 100
ASKED = {
    "first page": "/api/view/rows?limit=120",
    "a page in the middle": "/api/view/rows?limit=120&offset={middle}",
    "fields": "/api/view/fields",
    "filter: system": "/api/view/rows?system=system+3&limit=120",
    "filter: tag": "/api/view/rows?f.tag:skill=text&limit=120",
    "filter: tag of images": "/api/view/rows?f.tag:blurred=yes&limit=120",
    "filter: words": "/api/view/rows?q=broken+boat&limit=120",
    "filter: truth": "/api/view/rows?f.truth:quality=..0.3&limit=120",
    "filter: disagreement": "/api/view/rows?f.disagreement:quality=0.25..&limit=120",
    "filter: score": "/api/view/rows?f.score:one=0.4..0.6&limit=120",
    "filter: people against a measure": "/api/view/rows?f.gap:quality~one=0.5..&limit=120",
    "filter: unjudged": "/api/view/rows?is=unjudged&limit=120",
    "sort: truth": "/api/view/rows?sort=-truth:quality&limit=120",
    "sort: score": "/api/view/rows?sort=score:two&limit=120",
    "sort: people against a measure": "/api/view/rows?sort=-gap:quality~two&limit=120",
    "sort: random": "/api/view/rows?sort=random&limit=120",
    "sort and three filters": "/api/view/rows?sort=-score:one&f.tag:skill=text&f.truth:quality=0.5..&q=dog",
    "prompts across systems": "/api/view/rows?layout=prompts&sort=-truth:quality&limit=40",
    "head to head": "/api/view/rows?layout=pair&a=system+1&b=system+2&sort=-score:one&limit=40",
    "chart": "/api/view/chart?by=tag:skill&of=truth:quality",
    "fields of a filtered state": "/api/view/fields?f.tag:skill=style&f.score:one=0.2..",
}
"""What is asked, each once: nothing of it is remembered from before."""


# -- the study -----------------------------------------------------------------------------------------


def drawn(number: int, rng: np.random.Generator) -> bytes:
    """A PNG that no other number gives: a gradient with a square, and the number in its first pixels."""
    pixels = np.empty((SIDE, SIDE, 3), np.uint8)
    ramp = np.linspace(0, 1, SIDE)
    low, high = rng.integers(0, 256, (2, 3))
    pixels[:] = (low + ramp[:, None, None] * (high.astype(float) - low)).astype(np.uint8)
    left, top = rng.integers(4, 36, 2)
    pixels[top : top + 20, left : left + 20] = rng.integers(0, 256, 3)
    pixels[0, :2].flat[:4] = np.frombuffer(struct.pack("<I", number), np.uint8)
    rows = np.zeros((SIDE, 1 + 3 * SIDE), np.uint8)
    rows[:, 1:] = pixels.reshape(SIDE, -1)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def records(prompts: int) -> Iterator[Record]:
    """Prompts with tags, answers with settings and some failures, truth and the votes behind it."""
    rng = np.random.default_rng(0)
    yield Question("quality", "interval", 0, 1)
    people = [AnnotatorKey("panel", f"rater {number}") for number in range(RATERS)]
    for number in range(SYSTEMS):
        yield System(f"system {number}")
    for number in range(prompts):
        key = PromptKey("s", str(number))
        said = (
            f"{WORDS[rng.integers(10)]} {WORDS[rng.integers(10)]} {THINGS[rng.integers(12)]} number {number}"
        )
        yield Prompt(key, f"a {said}", {"skill": SKILLS[number % 5], "level": str(number % 3)})
        level = rng.uniform(0.2, 0.8)
        for system in range(SYSTEMS):
            image = ImageKey("drawn", f"{system}/{number}.png")
            tags = {"blurred": "yes"} if rng.random() < 0.05 else {}
            yield Image(image, tags=tags)
            yield Answer(key, f"system {system}", 0, image, None, number, {"steps": 20 + system})
            votes = np.clip(level + 0.03 * system + rng.normal(0, 0.2, RATERS), 0, 1).round(2)
            item = Item(key, image=image)
            for person, vote in zip(people, votes.tolist(), strict=True):
                yield Judgement("quality", item, vote, person)
            yield Truth("quality", item, float(votes.mean()))


def build(folder: Path, prompts: int) -> None:
    """Make the study; the pictures and scores go in without the detour of an import."""
    begun = time.monotonic()
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with create_study(part) as study:
        load(study, records(prompts), importer="benchmark", path="drawn", digest="drawn")
        print(f"loaded after {time.monotonic() - begun:.0f} s", flush=True)
        contents = _pictures(study)
        print(f"drawn after {time.monotonic() - begun:.0f} s", flush=True)
        _scores(study, contents)
    part.rename(folder)
    print(f"{folder}: {prompts * SYSTEMS:,} images in {time.monotonic() - begun:.0f} s", flush=True)


def _pictures(study: Study) -> dict[int, str]:
    rng = np.random.default_rng(1)
    with database.writing(study.engine) as connection:
        ids = [row[0] for row in database.fetch(connection, "SELECT id FROM image ORDER BY id")]
        contents = {key: study.files.put(drawn(key, rng)) for key in ids}
        rows = [(contents[key], SIDE, SIDE, key) for key in ids]
        database.execute_many(
            connection, "UPDATE image SET sha256 = ?, width = ?, height = ? WHERE id = ?", rows
        )
    return contents


def _scores(study: Study, contents: dict[int, str]) -> None:
    rng = np.random.default_rng(2)
    texts = {
        key: prompt_inputs(text, None)
        for key, text in reading.fetch_rows(study, "SELECT id, text FROM prompt")
    }
    answers = reading.fetch_rows(study, "SELECT prompt_id, system_id, image_id FROM answer")
    rows: list[tuple[Any, ...]] = []
    for number, (spec, kind) in enumerate(
        [("one", "of_answer"), ("two", "of_image"), ("three", "of_prompt"), ("four", "of_set")], 1
    ):
        with database.writing(study.engine) as connection:
            columns = ["id", "kind", "spec", "version", "direction", "identity"]
            row = (number, kind, spec, 1, "higher", spec * 8)
            database.insert(connection, tables.measure, columns, [row])
        keys = {
            "of_answer": [(p, 0, i, answer_inputs(texts[p], contents[i])) for p, _, i in answers],
            "of_image": [(0, 0, i, image_inputs(contents[i])) for _, _, i in answers],
            "of_prompt": [(p, 0, 0, texts[p]) for p in texts],
            "of_set": [(p, s, 0, hashed([contents[i]])) for p, s, i in answers],
        }[kind]
        values = rng.random(len(keys)).tolist()
        rows += [(number, *key, value) for key, value in zip(keys, values, strict=True)]
    with database.writing(study.engine) as connection:
        columns = ["measure_id", "prompt_id", "system_id", "image_id", "inputs", "value"]
        database.insert(connection, tables.score, columns, rows)


# -- the server -----------------------------------------------------------------------------------------


class Server:
    """`sightline view` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sightline", "view", str(folder), "--port", "0"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"http\S+", line):
                self.link = found[0]
                break
        self.started = time.monotonic() - begun
        self.base = self.link.partition("/j/")[0]

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)

    def worked(self) -> float:
        """Seconds of processor time that the server has used so far, decoding left out."""
        cells = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> tuple[float, float]:
        """Megabytes of the server, and of the processes that decode pictures for it."""
        mine = [self.process.pid, *_children(self.process.pid)]
        sizes = [_resident(pid) for pid in mine]
        return sizes[0], sum(sizes[1:])


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in listed for child in file.read_text().split()]


def _resident(pid: int) -> float:
    """Megabytes that belong to a process alone or are shared, by their part."""
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def measure(server: Server, images: int) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each request by the clock and of the server's processor, asked once over one connection.

    On a machine with much else to do the second says more; while the first requests are answered, the server
    also reads the fields ahead.
    """
    seconds: dict[str, float] = {}
    worked: dict[str, float] = {}

    def timed(name: str, *paths: str) -> Any:
        before, begun = server.worked(), time.monotonic()
        replies = [client.get(path) for path in paths]
        seconds[name], worked[name] = time.monotonic() - begun, server.worked() - before
        assert {reply.status_code for reply in replies} == {200}, (name, replies[0].text)
        return replies[0].json() if len(replies) == 1 else None

    with httpx.Client(base_url=server.base, follow_redirects=True, timeout=120) as client:
        client.get(server.link)
        for name, path in ASKED.items():
            timed(name, path.format(middle=images // 2))
        pages = client.get(ASKED["sort: random"]).json()["rows"]
        small = [row["thumb"] for row in pages]
        timed("120 thumbnails, the first time", *small)
        timed("120 thumbnails again", *small)
    return seconds, worked


# -- the page -----------------------------------------------------------------------------------------

SCROLLED = """async ({steps, distance}) => {
  const scroller = document.querySelector('#port') || document.scrollingElement;
  const took = [];
  for (let n = 0; n < steps; n++) {
    const begun = performance.now();
    scroller.scrollBy(0, distance);
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    took.push(performance.now() - begun);
  }
  return {took, top: scroller.scrollTop, height: scroller.scrollHeight};
}"""


def browse(server: Server, chromium: str) -> dict[str, float]:
    """The page in Chromium: seconds to the first pictures, the longest scroll step, megabytes of the tab."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-precise-memory-info"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        # What is measured here runs in the page, whose policy allows no script but its own.
        page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        page.set_default_timeout(180_000)
        begun = time.monotonic()
        page.goto(server.link)
        page.wait_for_function("[...document.images].filter(i => i.complete && i.naturalWidth).length >= 6")
        found = {"seconds to pictures": time.monotonic() - begun}
        longest = []
        for distance in (300, 3_000, 60_000):
            done = page.evaluate(SCROLLED, {"steps": 60, "distance": distance})
            longest.append(max(done["took"]))
            page.wait_for_timeout(500)
        found["longest scroll step, ms"] = max(longest)
        found["heap of the tab, MB"] = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        found["processes of the tab, MB"] = max(_renderers())
        browser.close()
    return found


def _renderers() -> list[float]:
    """Megabytes of every process of Chromium that draws a page and descends from this one."""
    found, todo = [0.0], [os.getpid()]
    while todo:
        for child in _children(todo.pop()):
            todo.append(child)
            command = Path(f"/proc/{child}/cmdline")
            if command.exists() and "--type=renderer" in command.read_text():
                found.append(_resident(child))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--study", type=Path, required=True, help="the study; made there if it is not yet")
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "")
    options = parser.parse_args()
    if not options.study.exists():
        build(options.study, options.prompts)
    with open_study(options.study) as study:
        images = reading.counts(study)["image"]
    with Server(options.study) as server:
        result: dict[str, Any] = {"images": images, "seconds until it serves": round(server.started, 2)}
        seconds, worked = measure(server, images)
        result["seconds (of the server's processor)"] = {
            name: f"{value:.3f} ({worked[name]:.2f})" for name, value in seconds.items()
        }
        if not options.no_browser and options.chromium:
            result["page"] = {name: round(v, 2) for name, v in browse(server, options.chromium).items()}
        result["server, MB"], result["decoding, MB"] = (round(size) for size in server.memory())
    changed = max(value for name, value in seconds.items() if name.startswith(("filter", "sort")))
    result["bounds"] = {
        "first page": seconds["first page"] <= FIRST_PAGE,
        "filter or sort": changed <= CHANGE,
        "server": result["server, MB"] <= MEGABYTES,
    }
    if "page" in result:
        result["bounds"]["tab"] = result["page"]["processes of the tab, MB"] <= MEGABYTES
        result["bounds"]["scroll step"] = result["page"]["longest scroll step, ms"] <= STEP
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
