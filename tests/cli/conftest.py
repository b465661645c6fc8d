"""A small study made by the command line itself, and a way to run it within this process."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from sightline.cli import main

PROMPTS = [
    f"{number} {colour} balls"
    for number in ("two", "three", "four")
    for colour in ("red", "blue", "green", "pink")
]
SYSTEMS = ("careful", "sloppy")
SAMPLES = 2


@dataclass(frozen=True)
class Ran:
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def no_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a developer has installed for herself does not matter here."""
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path / "no-plugins"))
    monkeypatch.delenv("SIGHTLINE_DEBUG", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line here; no command may ever print a traceback."""

    def call(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        return Ran(code, said.out, said.err)

    return call


@pytest.fixture
def counts(run: Run) -> Callable[[Path | str], dict[str, int]]:
    """How many of each kind a study holds, as `sightline status` says."""

    def count(study: Path | str) -> dict[str, int]:
        return {row["what"]: row["n"] for row in run("status", study, "--json").json["counts"]["rows"]}

    return count


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Writes a plug-in of this name, which commands then find."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(folder))

    def write(name: str, code: str) -> Path:
        (folder / f"{name}.py").write_text(
            f"from sightline.extension import measure\n{code}", encoding="utf-8"
        )
        return folder / f"{name}.py"

    return write


def draw(path: Path, seed: int, colour: str = "red") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (40, 40), "white")
    pen = ImageDraw.Draw(image)
    pen.ellipse((4 + seed % 7, 4, 20 + seed % 13, 24 + seed % 11), fill=colour)
    pen.line((0, seed % 40, 39, (seed * 7) % 40), fill="black")
    image.save(path)


def write_csv(path: Path, rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 prompts, 2 systems, 2 samples each, judged by 3 people: careful by one point better than sloppy."""
    folder = tmp_path_factory.mktemp("files")
    answers: list[list[object]] = [["prompt_id", "prompt", "image", "system", "tags.colour"]]
    votes: list[list[object]] = [
        ["annotator", "prompt_id", "image", "question", "value", "scale_low", "scale_high"]
    ]
    for n, prompt in enumerate(PROMPTS):
        colour = prompt.split()[1]
        for s, system in enumerate(SYSTEMS):
            for sample in range(SAMPLES):
                name = f"{system}/{n}-{sample}.png"
                draw(folder / name, seed=100 * s + 10 * n + sample, colour=colour)
                answers.append([f"p{n}", prompt, name, system, colour])
                for a, annotator in enumerate(("ann", "bob", "cyd")):
                    value = 3 - s + (n % 4) / 4 + (a - 1) / 10
                    votes.append([annotator, f"p{n}", name, "alignment", value, 0, 5])
    write_csv(folder / "answers.csv", answers)
    write_csv(folder / "judgements.csv", votes)
    return folder


@pytest.fixture(scope="session")
def _study(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("made") / "study"
    for words in (
        ["import", study, files / "answers.csv"],
        ["import", study, files / "judgements.csv"],
        ["truth", study],
        ["score", study, "sharpness", "words", "--workers", "1"],
    ):
        assert main([str(word) for word in words]) == 0
    return study


@pytest.fixture
def study(_study: Path, tmp_path: Path) -> Path:
    """The study, imported, settled and scored; each test has its own copy."""
    return Path(shutil.copytree(_study, tmp_path / "study"))
