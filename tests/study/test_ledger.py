"""The calls of a study to endpoints, on both databases: replies, votes of models, the bill."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from endpoint_server import serving
from PIL import Image as Pillow
from studies import put

import sightline
from sightline.endpoints import Call
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import listing
from sightline.study.ledger import ACTOR, StudyLedger, bill_lines
from sightline.study.machines import machine_names
from sightline.study.study import Study


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
    ledger = StudyLedger(study, "local", "test")

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
    again = StudyLedger(study, "local", "test")
    assert again.spent() == pytest.approx(15.0)
    assert again.known("7") == {"text": "7"} and again.known("8") is None
    assert StudyLedger(study, "other", "test").known("7") is None
    assert sum(what == "call" for what, _ in listing.events(study, ACTOR)) == 30
