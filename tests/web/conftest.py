"""A real server over a small study of drawn images, for tests that talk to it over loopback."""

from __future__ import annotations

import io
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw
from PIL.PngImagePlugin import PngInfo
from sqlalchemy import text

from sightline.judging.annotate import OpenRound, annotate
from sightline.judging.oversee import invite
from sightline.judging.store import tokens
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.schema import database
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study
from sightline.study.writing.loading import load
from sightline.web.app import create_app
from sightline.web.guarding import rules_for
from sightline.web.serving import Limits, Server, listen

SYSTEMS = ("alpha-diffusion", "beta-engine")
SIDE = 96


def drawn(number: int, side: int = SIDE) -> bytes:
    """A picture that no other number gives, with its maker named in it as generators do."""
    picture = Pillow.new("RGB", (side, side), ((number * 53) % 256, (number * 97) % 256, (number * 29) % 256))
    pen = ImageDraw.Draw(picture)
    pen.ellipse(
        [side // 4, side // 4, 3 * side // 4, 3 * side // 4], fill=(255 - (number * 31) % 256, 200, 40)
    )
    pen.text((4, 4), str(number), fill=(255, 255, 255))
    metadata = PngInfo()
    metadata.add_text("parameters", f"made by {SYSTEMS[number % 2]}")
    out = io.BytesIO()
    picture.save(out, "PNG", pnginfo=metadata)
    return out.getvalue()


def small_study(
    folder: Path,
    *,
    prompts: int = 8,
    images: int = 2,
    text: str = "",
    systems: Sequence[str] = SYSTEMS,
    side: int = SIDE,
) -> None:
    """A study of so many prompts, each answered by these systems with so many images, and a photo each.

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
        photo.write_bytes(drawn(1000 + number, side))
        records.append(Image(ImageKey("photos", photo.name), str(photo), (words,)))
        for system in systems:
            for position in range(images):
                file = pictures / f"{system}-{number}-{position}.png"
                file.write_bytes(drawn(serial, side))
                serial += 1
                image = ImageKey("generated", file.name)
                records.append(Image(image, str(file)))
                records.append(Answer(key, system, position, image))
    with create_study(folder) as study:
        load(study, records, importer="test", path="test", digest="test")


@contextmanager
def running(app: Any, limits: Limits | None = None, proxies: str = "") -> Iterator[tuple[str, Server]]:
    """A real server on a free port of the loopback, with its address; it ends with the block."""
    ready: queue.Queue[str] = queue.Queue()
    server = Server(app, on_ready=ready.put, limits=limits or Limits(), proxies=proxies)
    thread = threading.Thread(target=server.run, args=(listen("127.0.0.1", 0),))
    thread.start()
    try:
        yield ready.get(timeout=60), server
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def run_server() -> Callable[..., Any]:
    return running


@dataclass
class LiveServer:
    """A server that runs in this process until the test ends."""

    url: str
    study: Study
    opened: Sequence[OpenRound]
    app: Any
    stop: Callable[[], None]
    links: dict[str, str] = field(default_factory=dict)

    def invite(self, name: str, round: str | None = None) -> str:
        """A link that lets an annotator in to a round, by default the first."""
        invitation = invite(self.study, round or self.opened[0].round.name, name, "annotator")
        self.links[name] = f"{self.url}/j/{invitation.token}"
        return self.links[name]

    def owner(self, fresh: bool = False) -> str:
        """The link that lets the owner in; a fresh one takes the place of the one before."""
        if fresh or "" not in self.links:
            self.links[""] = f"{self.url}/j/{tokens.issue_token(self.study, 'owner', 1)[0]}"
        return self.links[""]

    def session(self) -> str:
        """What the owner's browser keeps in its cookie once the link was opened."""
        token = self.owner().rpartition("/j/")[2]
        return tokens.start_session(tokens.signing_key(self.study), token)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """What a query gives in the study."""
        with database.reading(self.study.engine) as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]

    def answers(self) -> list[dict[str, Any]]:
        """Every judgement in the study, in the order it was kept."""
        return self.rows(
            "SELECT j.id, a.name AS annotator, q.name AS question, j.item_id, j.task_id, j.slot, "
            "j.repetition, j.revision, j.value, j.skipped, j.control, j.took_ms FROM judgement j "
            "JOIN question q ON q.id = j.question_id LEFT JOIN annotator a ON a.id = j.annotator_id "
            "ORDER BY j.id"
        )

    def arrived(self, n: int) -> list[dict[str, Any]]:
        """Every judgement once there are so many: a page sends what has come to rest, whenever that is."""
        end = time.monotonic() + 60
        while len(found := self.answers()) < n:
            assert time.monotonic() < end, f"{len(found)} of {n} judgements arrived"
            time.sleep(0.05)
        return found


Live = Callable[..., LiveServer]


@pytest.fixture(scope="session")
def small_studies(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Small studies that differ in more than their settings, each made once and copied by every test."""
    made: dict[str, Path] = {}

    def small_studies(**more: Any) -> Path:
        if repr(more) not in made:
            made[repr(more)] = tmp_path_factory.mktemp("small") / "study"
            small_study(made[repr(more)], **more)
        return made[repr(more)]

    return small_studies


@pytest.fixture
def live(tmp_path: Path, small_studies: Callable[..., Path]) -> Iterator[Live]:
    """Serves all rounds of a small study with these settings: live('[annotate.r]\\nmode = "yes_no"\\n').

    `files` are put into its folder first; a number stands for the picture of that number.
    """
    with ExitStack() as stack:

        def serve(
            settings: str, *, name: str = "study", files: Mapping[str, int] | None = None, **more: Any
        ) -> LiveServer:
            folder = tmp_path / name
            if not folder.exists():
                shutil.copytree(small_studies(**more), folder)
                (folder / SETTINGS_FILE).write_text(settings, "utf-8")
            study = open_study(folder)
            for file, number in (files or {}).items():
                (folder / file).write_bytes(drawn(number))
            own = stack.enter_context(ExitStack())
            own.callback(study.close)
            opened = annotate(study).rounds
            app = create_app(study, opened, rules=rules_for("127.0.0.1"))
            url, _ = own.enter_context(running(app))
            return LiveServer(url, study, opened, app, own.close)

        yield serve


class Client:
    """An annotator without a browser: the cookie of a link, and the calls that the page makes."""

    def __init__(self, link: str) -> None:
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
        reply = self.http.post("/api/answers", json={"answers": made})
        assert reply.status_code == 200, (reply.status_code, reply.text)
        return reply.json()

    def answer_page(self, page: Any, value: float | None, **more: Any) -> Any:
        """Answer everything on a page."""
        questions = [each["name"] for each in self.get("/api/task")["questions"]]
        answer = {"page": page["page"], "value": value, "took_ms": 1500, **more}
        return self.send(
            *({**answer, "slot": slot["slot"], "question": q} for slot in page["slots"] for q in questions)
        )


@pytest.fixture
def client() -> Iterator[Callable[[str], Client]]:
    """Makes annotators without a browser; their connections end with the test."""
    with ExitStack() as stack:

        def make(link: str) -> Client:
            made = Client(link)
            stack.callback(made.http.close)
            return made

        yield make


@pytest.fixture
def ann_at(live: Live, client: Callable[[str], Client]) -> Callable[..., tuple[LiveServer, Client]]:
    """A server with these settings, and ann, an annotator without a browser."""

    def begin(settings: str, **more: Any) -> tuple[LiveServer, Client]:
        server = live(settings, **more)
        return server, client(server.invite("ann"))

    return begin


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a browser; whatever the page says on the console fails the test."""
    said: list[str] = []
    with ExitStack() as stack:

        def open_(address: str, **more: Any) -> Any:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **more})
            stack.callback(context.close)
            context.set_default_timeout(60_000)
            page = context.new_page()
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto(address)
            return page

        yield open_
    assert [each for each in said if "status of 4" not in each] == []
