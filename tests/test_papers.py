"""The page of the papers: every table and figure is listed, and what it says is checked runs as written."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from sightline.cli import main
from sightline.language import wordnet

PAGE = Path(__file__).resolve().parent.parent / "docs" / "papers.md"
# Figures and tables that each paper numbers; AGIQA-3K's tables have Roman numbers.
NUMBERED = {
    "PQPP": (9, ["1", "2", "3", "4", "5", "6", "7"]),
    "W1KP": (11, ["1", "2"]),
    "ConQA": (4, ["1", "2", "3", "4", "5", "6"]),
    "AGIQA-3K": (11, ["I", "II", "III", "IV"]),
    "GIMBRR": (8, ["1"]),
}
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


class Row(NamedTuple):
    """A line of a paper's table."""

    item: str
    content: str
    command: str
    checked: str
    shows: str
    missing: str

    @property
    def calls(self) -> list[list[str]]:
        return [shlex.split(each)[1:] for each in re.findall(r"`(sightline [^`]+)`", self.command)]

    @property
    def slow(self) -> bool:
        return self.checked != "published"


def sections() -> dict[str, str]:
    """What the page says of each paper, by its heading."""
    _, *parts = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def rows(section: str) -> list[Row]:
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| item")]
    return [Row(*(cell.strip() for cell in line.strip("|").split(" | "))) for line in lines]


def test_every_table_and_figure_is_listed() -> None:
    found = sections()
    assert list(found) == list(NUMBERED)
    for paper, (figures, tables) in NUMBERED.items():
        items = [row.item for row in rows(found[paper])]
        listed = [word for item in items if item.startswith("Figure") for word in re.findall(r"\d+", item)]
        assert sorted(map(int, listed)) == list(range(1, figures + 1)), paper
        assert sorted(item.split()[1] for item in items if item.startswith("Table")) == tables, paper


def test_what_is_not_run_says_why_and_what_is_run_says_what_it_shows() -> None:
    for paper, section in sections().items():
        for row in rows(section):
            where = f"{paper}, {row.item}"
            assert row.checked in ("-", "published", "published, slow", "sample"), where
            if row.checked == "-":
                assert row.missing != "-" and row.shows == "-", where
            else:
                assert row.calls and row.shows.startswith("`"), where
                words = [word for call in row.calls for word in call]
                assert ("demo/study" in words or "suite" in words) is (row.checked == "sample"), where


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample study as the page makes it."""
    (made,) = (body for language, body in blocks(PAGE.read_text("utf-8").partition("\n## ")[0]))
    folder = tmp_path_factory.mktemp("sample") / "demo"
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([*shlex.split(made)[1:2], str(folder), *shlex.split(made)[3:]]) == 0
    return folder


def blocks(text: str) -> list[tuple[str, str]]:
    return [(found["language"], found["body"]) for found in BLOCK.finditer(text)]


def ran(words: list[str]) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(words)
    assert code == 0, f"sightline {shlex.join(words)} ended with {code}"
    return said.getvalue()


def run_rows(section: str, *, slow: bool) -> int:
    """Prepare what a section works on, and run its quick or its slow rows; each command once."""
    for language, body in blocks(section):
        if "demo/" in body and not slow:
            continue
        if language == "python":
            exec(compile(body, str(PAGE), "exec"), {"__name__": "papers"})
            continue
        for line in body.splitlines():
            ran(shlex.split(line)[1:])
    said: dict[str, str] = {}
    count = 0
    for row in rows(section):
        if row.checked == "-" or row.slow is not slow:
            continue
        # A command that follows another shows what that one changed.
        if (last := shlex.join(row.calls[-1])) not in said or len(row.calls) > 1:
            *_, said[last] = [ran(words) for words in row.calls]
        shown = said[last]
        assert row.shows.strip("`") in shown, f"{row.item}: no {row.shows} in {shown}"
        count += 1
    return count


@pytest.fixture
def at_work(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the published data, and a wide terminal."""
    if wordnet.find() is None or find_spec("wordfreq") is None:
        pytest.skip("the page's commands need WordNet 3.0 and wordfreq (sightline[language])")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("DATA").symlink_to(data)


@pytest.mark.parametrize("paper", [paper for paper in NUMBERED if paper != "PQPP"])
def test_the_commands_of_a_paper_run(paper: str, at_work: None) -> None:
    assert run_rows(sections()[paper], slow=False) > 0


@pytest.mark.slow
@pytest.mark.parametrize("paper", [paper for paper in NUMBERED if paper not in ("ConQA", "GIMBRR")])
def test_the_slow_commands_of_a_paper_run(paper: str, at_work: None, sample: Path) -> None:
    shutil.copytree(sample, "demo")
    assert run_rows(sections()[paper], slow=True) > 0
