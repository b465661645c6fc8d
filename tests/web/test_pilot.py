"""A pilot of two people from init to agreement, as the README has it: it ends at 100 %."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from sightline.cli import main

README = Path(__file__).resolve().parents[2] / "README.md"
PROMPTS = ("a red ball", "three blue cups", "a dog on a roof", "two green chairs")


def commands() -> list[list[str]]:
    """The README's commands with which people judge, in order."""
    section = README.read_text("utf-8").partition("3. **Let people judge**")[2].partition("4. **")[0]
    lines = re.findall(r"^ +sightline (.*?)(?: +#.*)?$", section, re.M)
    assert [line.split()[0] for line in lines] == ["annotate", "annotate", "truth"]
    return [line.split() for line in lines]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number, system in enumerate(("model-a", "model-b")):
        (tmp_path / "pictures" / system).mkdir(parents=True)
        for place, prompt in enumerate(PROMPTS):
            colour = (40 * place, 120 * number, 90)
            Pillow.new("RGB", (32, 32), colour).save(tmp_path / "pictures" / system / f"{prompt}.png")
    assert main(["init", "my-study"]) == 0
    assert main(["import", "my-study", "pictures"]) == 0
    return tmp_path


def judge_everything(person: Any, value: Callable[[str], float]) -> int:
    """Judge until there is no more; gives how many tasks that were."""
    done = 0
    questions = [each["name"] for each in person.get("/api/task")["questions"]]
    while pages := person.work()["pages"]:
        for page in pages:
            place = {"page": page["page"], "slot": 0, "took_ms": 6000}
            person.send(*({**place, "question": name, "value": value(page["prompt"])} for name in questions))
            done += 1
    return done


def test_a_pilot_of_two_ends_at_100_percent(folder: Path, client: Any, capsys: Any) -> None:
    plan, serve, truth = commands()
    before = (folder / "my-study/study.toml").read_bytes()
    assert main(plan) == 0
    said = capsys.readouterr().out
    assert "minutes" in said and "more pe" not in said
    assert (folder / "my-study/study.toml").read_bytes() == before
    words = [sys.executable, "-m", "sightline", *serve, "--port", "0", "--links", "links.csv"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert server.stdout is not None
        shown = []
        while not shown or "Judging continues" not in shown[-1]:
            shown.append(server.stdout.readline())
            assert shown[-1], shown
        assert "two_sliders: 8 items, 0 controls, 2 judgements each\n" in shown
        assert not any("needed" in line for line in shown)
        links = {row["name"]: row["link"] for row in csv.DictReader((folder / "links.csv").open())}
        ann, bob = client(links["ann"]), client(links["bob"])
        assert judge_everything(ann, lambda prompt: float(PROMPTS.index(prompt))) == 8
        assert judge_everything(bob, lambda prompt: float(PROMPTS.index(prompt)) + 0.5) == 8
        assert ann.work()["progress"]["state"] == bob.work()["progress"]["state"] == "finished"
        progress = (page := client(links["owner"]).get("/api/owner/overview")["overview"])["progress"]
        assert (progress["done"], progress["wanted"], progress["people_missing"]) == (16, 16, 0)
        # Eight items at x and x + 0.5, of 0 to 3: next to the items' spread, half a point is little.
        assert {name: each["value"] > 0.8 for name, each in page["agreement"].items()} == {
            "quality": True,
            "alignment": True,
        }
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    assert main(truth) == 0
    assert "per_item = 2" in (folder / "my-study/study.toml").read_text("utf-8")
    capsys.readouterr()
    assert main(["status", "my-study"]) == 0
    assert "16 of 16 tasks judged" in capsys.readouterr().out
    # The plan now rests on what was measured.
    assert main(["annotate", "my-study", "--plan"]) == 0
    assert "6.0 seconds per task, the mean of 16 tasks so far" in " ".join(capsys.readouterr().out.split())
