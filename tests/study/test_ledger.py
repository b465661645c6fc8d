"""The calls of a study to endpoints, on both databases: replies, votes of models, the bill."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from endpoint_server import serving
from PIL import Image as Pillow
from processes import start
from studies import put

import sightline
from sightline.addresses import Settings
from sightline.endpoints import Call
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import listing
from sightline.study.ledger import ACTOR, StudyLedger, bill_lines
from sightline.study.machines import machine_names
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study
from sightline.study.writing.settling import note_events

HERE = Settings("local", "http://127.0.0.1:8000/v1")


def test_judged_voted_and_billed(study: Study, tmp_path: Path) -> None:
    records: list[Record] = [System("light"), System("dark")]
    for n, text in enumerate(["a cube", "a cube [nul]", "a cube [long]", "a cube [refuse]"]):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, text))
        for system, grey in (("light", 200), ("dark", 30)):
            path = tmp_path / f"{system}{n}.png"
            Pillow.new("RGB", (8, 8), (grey, grey, n)).save(path)
            image = ImageKey(system, str(n))
            records += [Image(image, str(path)), Answer(key, system, 0, image)]
    put(study, records)
    with serving() as server:
        name = f'judge(model="judge-1", endpoint="{server.address}")'
        result = sightline.score(study, name)
        assert result.runs[0].reasons == {
            "the reply is longer than 20,000 characters": 2,
            "the model refused to judge it": 2,
        }
        votes = sightline.judge(study, "judge-1", server.address)
        calls = sum(server.seen.values())
        # Every reply is known: nothing is asked for again, though scores and votes are computed again.
        sightline.cache(study, clear="judge")
        sightline.score(study, name)
        assert sightline.judge(study, "judge-1", server.address).votes == votes.votes
        assert sum(server.seen.values()) == calls == 8 + 8
    assert machine_names(study) == ["preference_by_judge-1"]
    lines = sightline.bill(study).lines
    assert [(line.sent, line.lost) for line in lines] == [(8, 0), (8, 0)]
    assert {line.purpose.partition(" ")[0].partition("(")[0] for line in lines} == {"judge"}
    assert [line.cost for line in lines] == [None, None]


def test_threads_commit_together_and_what_was_lost_is_counted(study: Study) -> None:
    ledger = StudyLedger(study, HERE, "test")

    def call(n: int) -> None:
        ledger.sent(str(n), "m")
        if n % 4:
            ledger.settled(Call(str(n), "m", tokens_in=10, tokens_out=1, cost=0.5, reply={"text": str(n)}))

    threads = [threading.Thread(target=call, args=(n,)) for n in range(40)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    (line,) = bill_lines(study)
    assert (line.sent, line.replies, line.lost, line.tokens_in) == (40, 30, 10, 300)
    assert line.cost == pytest.approx(15.0) and ledger.spent() == pytest.approx(15.0)
    again = StudyLedger(study, HERE, "test")
    assert again.spent() == pytest.approx(15.0)
    assert again.known("7") == {"text": "7"} and again.known("8") is None
    assert StudyLedger(study, Settings("other", HERE.address), "test").known("7") is None
    assert sum(what == "call" for what, _ in listing.events(study, ACTOR)) == 30


def test_a_spend_limit_holds_for_everybody_together(study: Study) -> None:
    both = [StudyLedger(study, HERE, "one"), StudyLedger(study, HERE, "two")]
    granted: list[str] = []

    def call(n: int) -> None:
        ledger = both[n % 2]
        if ledger.sent(str(n), "m", 0.04, 0.41) is not None:
            return
        granted.append(str(n))
        if n % 4 < 2:  # of the others the reply never comes: they may cost what they may cost at most
            ledger.settled(Call(str(n), "m", cost=0.04, held=0.04, reply={"text": str(n)}))

    threads = [threading.Thread(target=call, args=(n,)) for n in range(40)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(granted) == 10
    again = StudyLedger(study, HERE, "three")
    assert again.sent("x", "m", 0.04, 0.41) == pytest.approx(0.4) and again.sent("x", "m") is None
    # A call that costs less than was held back for it leaves the rest to others.
    assert again.sent("y", "m", 0.04, 0.45) is None
    again.settled(Call("y", "m", cost=0.01, held=0.04))
    assert both[0].sent("z", "m", 0.04, 0.45) is None


SPENDER = """
import sys
import sightline
with sightline.open(sys.argv[1]) as study:
    done = sightline.generate(study, sys.argv[2], 'openai_images(model="draw-1", endpoint="local")')
    print(done.made, done.stopped)
"""


def test_two_processes_together_stay_below_the_limit(tmp_path: Path) -> None:
    create_study(tmp_path / "study").close()
    with serving(latency=0.05) as server:
        with (tmp_path / "study" / SETTINGS_FILE).open("a") as file:
            file.write(f'[endpoint.local]\naddress = "{server.address}"\nspend = 0.41\n')
            file.write("prices = { draw-1 = { image = 0.04 } }\n")
        with open_study(tmp_path / "study") as study:
            put(study, [Prompt(PromptKey("s", str(n)), f"prompt {n}") for n in range(12)])
        children = [start(SPENDER, tmp_path / "study", system) for system in ("one", "two")]
        said = [child.communicate(timeout=120)[0] for child in children]
        assert sum(server.seen.values()) == 10
    assert all("the spend limit of 0.41 is reached" in each for each in said)
    with open_study(tmp_path / "study") as study:
        lines = sightline.bill(study).lines
        assert sum(line.replies for line in lines) == sum(line.sent for line in lines) == 10
        assert sum(line.cost or 0 for line in lines) == pytest.approx(0.4)


def test_replies_of_another_server_are_not_taken_for_those_of_this_one(study: Study) -> None:
    first = StudyLedger(study, HERE, "test")
    first.settled(Call("k", "m", reply={"text": "hello"}))
    moved = Settings("local", "http://127.0.0.1:9000/v1")
    other = StudyLedger(study, moved, "test")
    assert other.known("k") is None
    (note,) = other.notes()
    assert note.startswith("Replies of local that came from http://127.0.0.1:8000/v1 (1)")
    assert "moved_from" in note
    same = StudyLedger(study, replace(moved, moved_from=(HERE.address,)), "test")
    assert same.known("k") == {"text": "hello"} and same.notes() == []
    # Replies that an earlier version kept do not say where they came from: none of them is lost.
    old = {"endpoint": "local", "purpose": "test", "key": "old", "model": "m", "state": "reply"}
    note_events(study, ACTOR, "call", [{**old, "reply": {"text": "kept"}}])
    assert StudyLedger(study, moved, "test").known("old") == {"text": "kept"}
