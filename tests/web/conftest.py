"""A real server over a small study of drawn images, for tests that talk to it over loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from sightline.judging.annotate import OpenRound, annotate
from sightline.judging.oversee import invite
from sightline.judging.store import tokens
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.schema import database
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load
from sightline.web.app import create_app
from sightline.web.guarding import Rules, rules_for
from sightline.web.serving import Limits, Server, listen

SYSTEMS = ("alpha-diffusion", "beta-engine")
SIDE = 96


def drawn(number: int, side: int = SIDE) -> bytes:
    """A picture that no other number gives, with its maker named in it as generators do."""
    import io

    from PIL import Image as Pillow
    from PIL import ImageDraw
    from PIL.PngImagePlugin import PngInfo

    picture = Pillow.new("RGB", (side, side), ((number * 53) % 256, (number * 97) % 256, (number * 29) % 256))
    pen = ImageDraw.Draw(picture)
    pen.ellipse(
        [side // 4, side // 4, 3 * side // 4, 3 * side // 4], fill=(255 - (number * 31) % 256, 200, 40)
    )
    pen.text((4, 4), str(number), fill=(255, 255, 255))
    told = PngInfo()
    told.add_text("parameters", f"made by {SYSTEMS[number % 2]}")
    out = io.BytesIO()
    picture.save(out, "PNG", pnginfo=told)
    return out.getvalue()


def small_study(
    folder: Path, settings: str, *, prompts: int = 8, images: int = 2, address: str = "", text: str = ""
) -> Study:
    """A study of so many prompts, each answered by two systems with so many images, and a photo each.

    The even prompts build on the first. `text` is put before every prompt's own.
    """
    pictures = folder.parent / f"{folder.name}-files"
    pictures.mkdir(parents=True)
    records: list[Record] = []
    keys = [PromptKey("suite", str(number)) for number in range(prompts)]
    serial = 0
    for number, key in enumerate(keys):
        words = f"{text}picture of {number} things"
        links = [("builds_on", keys[0])] if number and number % 2 == 0 else []
        records.append(Prompt(key, words, {"control": "yes"} if number == prompts - 1 else {}, links))
        photo = pictures / f"photo{number}.png"
        photo.write_bytes(drawn(1000 + number))
        records.append(Image(ImageKey("photos", photo.name), str(photo), (words,)))
        for system in SYSTEMS:
            for position in range(images):
                file = pictures / f"{system}-{number}-{position}.png"
                file.write_bytes(drawn(serial))
                serial += 1
                image = ImageKey("generated", file.name)
                records.append(Image(image, str(file)))
                records.append(Answer(key, system, position, image))
    study = create_study(folder, database_address=address, settings=settings)
    load(study, records, importer="test", path="test", digest="test")
    return study


@dataclass
class LiveServer:
    """A server that runs in this process until the test ends."""

    url: str
    study: Study
    opened: Sequence[OpenRound]
    server: Any = None
    thread: Any = None
    links: dict[str, str] = field(default_factory=dict)

    @property
    def round(self) -> str:
        """The name of its first round."""
        return self.opened[0].round.name

    def invite(self, name: str, role: str = "annotator", **more: Any) -> str:
        """A link that lets an annotator in."""
        found = invite(self.study, self.round, name, role, **more)
        self.links[name] = f"{self.url}/j/{found.token}"
        return self.links[name]

    def owner(self) -> str:
        """A link that lets the owner in."""
        return f"{self.url}/j/{tokens.issue_token(self.study, 'owner', 1)[0]}"

    def answers(self) -> list[dict[str, Any]]:
        """Every judgement in the study, in the order it was kept."""
        with database.reading(self.study.engine) as connection:
            rows = connection.execute(
                text(
                    "SELECT j.id, a.name AS annotator, q.name AS question, j.item_id, j.task_id, j.slot, "
                    "j.repetition, j.revision, j.value, j.skipped, j.control, j.took_ms FROM judgement j "
                    "JOIN question q ON q.id = j.question_id LEFT JOIN annotator a ON a.id = j.annotator_id "
                    "ORDER BY j.id"
                )
            ).mappings()
            return [dict(row) for row in rows]

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        self.server.should_exit = True
        self.thread.join(15)
        assert not self.thread.is_alive()


def serve_study(study: Study, *, rules: Rules | None = None, limits: Limits | None = None) -> LiveServer:
    """Serve all rounds of a study on a free port of the loopback."""
    opened = annotate(study).rounds
    app = create_app(study, opened, rules=rules or rules_for("127.0.0.1"))
    ready = threading.Event()
    told: list[str] = []

    def on_ready(url: str) -> None:
        told.append(url)
        ready.set()

    sockets: list[socket.socket] = listen("127.0.0.1", 0)
    server = Server(app, on_ready=on_ready, limits=limits or Limits())
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets}, daemon=True)
    thread.start()
    assert ready.wait(15), "the server did not start"
    return LiveServer(told[0], study, opened, server, thread)


Live = Callable[..., LiveServer]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """Serves a small study with these settings: live('[annotate.r]\\nmode = "yes_no"\\n')."""
    with ExitStack() as stack:

        def serve(settings: str, *, name: str = "study", **more: Any) -> LiveServer:
            folder = tmp_path / name
            study = open_study(folder) if folder.exists() else small_study(folder, settings, **more)
            found = serve_study(study)
            stack.callback(study.close)
            stack.callback(found.stop)
            return found

        yield serve


class Client:
    """An annotator without a browser: the cookie of a link, and the calls that the page makes."""

    def __init__(self, link: str) -> None:
        import httpx

        base = link.partition("/j/")[0]
        self.http = httpx.Client(base_url=base, headers={"X-Sightline": "1"}, timeout=60)
        self.http.get(link)
        self.serial = 0

    def get(self, path: str) -> Any:
        """A GET that must succeed, as JSON."""
        reply = self.http.get(path)
        assert reply.status_code == 200, (path, reply.status_code, reply.text)
        return reply.json()

    def work(self) -> Any:
        """The pages at hand."""
        return self.get("/api/work")

    def send(self, *answers: dict[str, Any]) -> Any:
        """Answers, each with a key of its own unless it has one."""
        made = []
        for each in answers:
            self.serial += 1
            made.append({"key": f"client-key-{id(self)}-{self.serial:08d}", **each})
        reply = self.http.post("/api/answers", content=json.dumps({"answers": made}),
                               headers={"Content-Type": "application/json"})  # fmt: skip
        assert reply.status_code == 200, (reply.status_code, reply.text)
        return reply.json()

    def answer_page(self, page: Any, value: float | Callable[[Any, str], float] | None, **more: Any) -> Any:
        """Answer everything on a page."""
        questions = [each["name"] for each in self.get("/api/task")["questions"]]
        told = [
            {
                "page": page["page"],
                "slot": slot["slot"],
                "question": question,
                "value": value(slot, question) if callable(value) else value,
                "took_ms": 1500,
                **more,
            }
            for slot in page["slots"]
            for question in questions
        ]
        return self.send(*told)


@pytest.fixture
def client() -> Iterator[Callable[[str], Client]]:
    """Makes annotators without a browser; their connections end with the test."""
    made: list[Client] = []

    def make(link: str) -> Client:
        made.append(Client(link))
        return made[-1]

    yield make
    for each in made:
        each.http.close()
