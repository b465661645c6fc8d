"""Controls cost the server what work costs: the same statements, the same files, and nothing decoded.

benchmarks/blind_timing.py measures the times themselves.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from sightline.judging import blinding
from sightline.study.files import ImageFiles
from sightline.web import state as web_state

PEOPLE = ("ann", "bob", "eve")
ROUND = (
    '[annotate.r]\nmode = "{mode}"\nper_item = {per_item}\nahead = 1\nsession_pages = 1000\n'
    '{more}[annotate.r.controls]\npages = 1\nof = 2\ntag = "control"\n'
)


class Trace:
    """The statements that a server's connections run, without the values in them."""

    def __init__(self, engine: Any) -> None:
        self.lines: list[str] = []
        event.listen(engine, "checkout", lambda raw, *_: raw.set_trace_callback(self.add))

    def add(self, line: str) -> None:
        if not line.startswith("--"):
            bare = re.sub(r"'(?!(?:work|control)')[^']*'|-?\b\d+\b", "?", line)
            # Where a search begins is drawn for every page, so that some need both halves.
            self.lines.append(re.sub(r"ordinal (>=|<) \?", "ordinal ~ ?", bare))

    def take(self) -> frozenset[str]:
        # Where the next work is looked for depends on how far the round is, not on what was answered.
        looked = ("SELECT max(given) FROM round_item", "SELECT i.id FROM (SELECT id, ordinal FROM round_item")
        looked += ("SELECT i.id FROM round_item i WHERE i.round_id = ? AND i.kind = 'work' AND i.given",)
        taken = frozenset(line for line in self.lines if not line.startswith(looked))
        self.lines = []
        return taken


def kinds(server: Any) -> dict[str, str]:
    rows = server.rows("SELECT t.key, i.kind FROM task t JOIN round_item i ON i.id = t.round_item_id")
    return {row["key"]: row["kind"] for row in rows}


@pytest.mark.parametrize("per_item", [1, 3])
def test_a_control_takes_the_same_statements_as_work(
    live: Any, client: Any, monkeypatch: pytest.MonkeyPatch, per_item: int
) -> None:
    monkeypatch.setattr(web_state, "FRESH_SECONDS", 1e9)
    server = live(ROUND.format(mode="yes_no", per_item=per_item, more=""), prompts=8, images=3)
    trace = Trace(server.study.engine)
    seen: dict[str, tuple[frozenset[str], ...]] = {}
    for name in PEOPLE:
        person = client(server.invite(name))
        person.answer_page(person.work()["pages"][0], 1)
        for _ in range(9):  # the controls must not run out
            trace.take()
            (page,) = person.work()["pages"]
            parts = [trace.take()]
            assert person.http.get(page["slots"][0]["images"][0]).status_code == 200
            parts.append(trace.take())
            person.send({"page": page["page"], "slot": 0, "question": "match", "value": 1})
            seen[page["page"]] = (*parts, trace.take())
    kind = kinds(server)
    by_kind = {
        which: [parts for key, parts in seen.items() if kind[key] == which] for which in ("work", "control")
    }
    assert min(len(each) for each in by_kind.values()) > 5
    for place, what in enumerate(("assigning", "showing", "answering")):
        shapes = {which: {parts[place] for parts in each} for which, each in by_kind.items()}
        assert shapes["work"] == shapes["control"], what
        assert len(shapes["work"]) == 1 and min(map(len, shapes["work"])) > 0, what


@pytest.mark.parametrize("alike", [False, True])
def test_every_picture_of_a_round_is_ready_when_it_opens(
    live: Any, client: Any, monkeypatch: pytest.MonkeyPatch, alike: bool
) -> None:
    mode, more = ("graded_relevance", 'reference = "photos"\n') if alike else ("yes_no", "")
    server = live(ROUND.format(mode=mode, per_item=1, more=more), prompts=6, images=1)
    folder = Path(server.study.home) / "prepared"

    def files() -> dict[str, int]:
        return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}

    ready = files()
    assert ready

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("made when it was asked for")

    # What a first look would have to do, and a second would not.
    monkeypatch.setattr(blinding, "blind", refuse)
    monkeypatch.setattr(blinding, "redrawn", refuse)
    monkeypatch.setattr(ImageFiles, "read", refuse)
    ann, shown = client(server.invite("ann")), []
    while pages := ann.work()["pages"]:
        for address in (address for slot in pages[0]["slots"] for address in slot["images"]):
            reply = ann.http.get(address)
            assert reply.status_code == 200 and reply.headers["content-type"] == "image/png"
        shown.append(pages[0]["page"])
        ann.answer_page(pages[0], 1)
    assert {kinds(server)[key] for key in shown} == {"work", "control"}
    assert files() == ready


def test_a_prepared_picture_that_was_lost_is_made_again(live: Any, client: Any) -> None:
    server = live(ROUND.format(mode="yes_no", per_item=1, more=""), prompts=4, images=1)
    ann = client(server.invite("ann"))
    (address,) = ann.work()["pages"][0]["slots"][0]["images"]
    first = ann.http.get(address).content
    for file in (Path(server.study.home) / "prepared").rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    assert ann.http.get(address).content == first and first.startswith(b"\x89PNG")
