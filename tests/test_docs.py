"""Documentation: generated pages are up to date, nothing is undocumented, links and commands exist.

The examples of the first steps and of the commands' pages are run as they stand, on a small sample study.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from processes import script

from sightline.cli import main
from sightline.extension import KINDS, Extension, importer

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"^cat > (?P<file>\S+) <<'END'\n(?P<text>.*?)^END\n", re.MULTILINE | re.DOTALL)
# One path for a newcomer: each page works on what the ones before it left.
START = [DOCS / "start" / f"{name}.md" for name in ("install", "first-study", "judge", "compare", "publish")]


@cache
def reference() -> ModuleType:
    return script("tools/reference.py")


@pytest.fixture(scope="module", autouse=True)
def _no_plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_PLUGINS", str(tmp_path_factory.mktemp("no-plugins")))
        yield


def documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Fenced blocks with their language, without the indent of the list they may stand in."""
    for found in BLOCK.finditer(text):
        yield found["language"], textwrap.dedent(found["body"])


def calls(block: str, program: str = "sightline") -> Iterator[list[str]]:
    """The words of each call of sightline (or another program) in a block of shell lines."""
    for line in re.sub(r"\\\n", " ", HERE_DOCUMENT.sub("", block)).splitlines():
        split = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
        split.whitespace_split = True
        words: list[str] = []
        for word in [*split, ";"]:
            if word and set(word) <= set(";|&<>"):
                while words and (words[0] in ("do", "then", "!") or re.match(r"[A-Z_]+=", words[0])):
                    words.pop(0)
                if words and words[0] == program:
                    yield words[1:]
                words = []
            else:
                words.append(word)


def fault(words: list[str]) -> str:
    """What the program itself would say against a command line; empty if nothing."""
    commands = reference().commands()
    if not words or words[0] in ("--help", "-h", "--version"):
        return ""
    name, *arguments = words
    if " ".join(words[:2]) in commands:
        name, arguments = " ".join(words[:2]), words[2:]
    if name not in commands or not (commands[name].params or name in ("help", "completion")):
        return f"there is no command {name!r}"
    try:
        with commands[name].make_context(f"sightline {name}", arguments):
            return ""
    except Exception as error:  # the parser's own errors; which module they are of depends on typer's version
        return f"{type(error).__name__}: {error}"


def inline_fault(words: list[str]) -> str:
    """The same for code within a sentence, which may leave arguments out."""
    commands = reference().commands()
    if not words or words[0].startswith("-") or words[0].isupper():
        return ""
    name = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
    if name not in commands:
        return f"there is no command {words[0]!r}"
    known = {name for each in commands[name].params for name in (*each.opts, *each.secondary_opts)}
    unknown = [word for word in words[1:] if word.startswith("--") and word.partition("=")[0] not in known]
    return f"{words[0]} has no option {', '.join(unknown)}" if set(unknown) - {"--help"} else ""


def test_generated_pages_are_up_to_date() -> None:
    wanted = reference().pages()
    there = {name: DOCS / name for name in wanted}
    stale = [
        name
        for name, path in there.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted[name]
    ]
    stale += reference().left_over(wanted)
    assert not stale, f"run make docs: {', '.join(stale)} differ from what the source says"


def test_the_generator_writes_what_changed_and_nothing_else(tmp_path: Path) -> None:
    first = reference().write(tmp_path)
    assert set(first) == set(reference().pages())
    (tmp_path / "formats" / "gone.md").write_text("an importer that is no more")
    (tmp_path / "formats" / "folder.md").write_text("changed by hand")
    assert sorted(reference().write(tmp_path)) == ["formats/folder.md", "formats/gone.md"]
    assert reference().write(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_extension_is_documented(kind: str) -> None:
    found: list[Extension] = reference().extensions(kind)
    assert found
    missing = {each.spec.name: reference().undocumented(each) for each in found}
    assert not {name: what for name, what in missing.items() if what}
    pages = reference().pages()
    for each in found:
        name = each.spec.name
        if kind == "importer":
            assert f"formats/{name}.md" in pages
        else:
            assert any(f'<a id="{kind}-{name}"></a>' in text for text in pages.values())


def test_an_undocumented_parameter_is_noticed() -> None:
    @importer(claims=("*.csv",), source="me", files={"a.csv": "a,b"})
    def half_told(source: Any, *, told: int = 1, silent: int = 2) -> None:
        """Reads it. The parameter `told` is explained."""

    assert reference().undocumented(half_told) == ["licence", "parameter silent"]


def test_no_explanation_is_left_over() -> None:
    found = [each.spec for kind in KINDS for each in reference().extensions(kind)]
    there = {f"{spec.name}.{each.name}" for spec in found for each in spec.parameters}
    assert set(reference().OWN) <= there
    assert set(reference().SHARED) <= {(spec.kind, each.name) for spec in found for each in spec.parameters}


def test_every_command_and_option_is_documented() -> None:
    text = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    for name, command in reference().commands().items():
        assert f"\n## {name}\n" in text
        assert command.help
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.opts} has no help"
            if reference().is_option(parameter):
                for option in parameter.opts:
                    assert f"`{option}" in section


def test_every_command_has_a_page_and_a_place_in_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    without = {"demo", "init", "list", "help", "completion"}
    for name in {each.partition(" ")[0] for each in reference().commands()} - without:
        assert (DOCS / "commands" / f"{name}.md").is_file(), f"docs/commands/{name}.md is missing"
        assert f"commands/{name}.md" in index
    for path in DOCS.glob("*.md"):
        assert path.name == "README.md" or f"({path.name})" in index


@pytest.mark.parametrize("path", documents(), ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"(?<!\\)\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{named(path)} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in _anchors(there), f"{named(path)} links to {target}"


@cache
def _anchors(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("path", documents(), ids=named)
def test_commands_and_options_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for language, block in blocks(text):
        if language in ("sh", ""):
            for words in calls(block):
                assert not fault(words), f"{named(path)}: sightline {shlex.join(words)}: {fault(words)}"
    for span in re.findall(r"`sightline ([^`\n]+)`", BLOCK.sub("", text)):
        words = span.split()
        assert not inline_fault(words), f"{named(path)}: sightline {span}: {inline_fault(words)}"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("sightline check my-study --strict", False),
        ("for name in a b; do sightline import my-study $name.csv; done", False),
        ("sightline score my-study  # a comment with --no-such-option", False),
        ("sightline chekc my-study", True),
        ("sightline check my-study --strickt", True),
        ("sightline check", True),
        ("make demo && sightline select my-study many", True),
    ],
)
def test_a_wrong_command_line_is_noticed(line: str, wrong: bool) -> None:
    found = list(calls(line))
    assert len(found) == 1
    assert bool(fault(found[0])) is wrong


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sightline.samples import demo

    folder = tmp_path_factory.mktemp("sample") / "demo"
    demo(folder, prompts=10, samples=2)
    return folder


@pytest.fixture
def at_work(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder with the sample study, and the Python that runs this as `python`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    shutil.copytree(sample, "demo")


def serves(words: list[str]) -> bool:
    """Whether a command serves pages until it is stopped, so that a block of examples would wait for ever."""
    quick = {"--plan", "--sheets", "--revoke"}
    return words[0] == "view" or (words[0] == "annotate" and not quick & {*words})


def run_examples(page: Path) -> int:
    """Runs what a page shows, in its order; gives the number of examples."""
    ran = 0
    for language, block in blocks(page.read_text(encoding="utf-8")):
        for written in HERE_DOCUMENT.finditer(block):
            Path(written["file"]).write_text(written["text"], encoding="utf-8")
        if language == "sh":
            # A script that makes what the page works on comes before the calls that need it.
            for words in calls(block, "python"):
                subprocess.run([sys.executable, *words], check=True)
            for words in calls(block):
                # The sample study is there already, made smaller.
                if words != ["demo", "demo"]:
                    assert not serves(words), f"{page.name}: this waits for Ctrl+C, so show it as console"
                    assert main(words) == 0, f"sightline {shlex.join(words)}"
                ran += 1
        elif language == "python":
            exec(compile(block, str(page), "exec"), {"__name__": page.stem})
            ran += 1
    return ran


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow) if page.stem in ("fit", "predict", "wording") else page
        for page in sorted((DOCS / "commands").glob("*.md"))
    ],
    ids=lambda page: page.stem,
)
def test_examples_of_the_commands_run(page: Path, at_work: None, request: pytest.FixtureRequest) -> None:
    if "DATA/" in page.read_text(encoding="utf-8"):
        Path("DATA").symlink_to(request.getfixturevalue("data"))
    assert run_examples(page) >= 2


def test_the_first_steps_run_one_after_the_other(at_work: None) -> None:
    assert {*START} == {*(DOCS / "start").glob("*.md")}
    assert all(run_examples(page) >= 2 for page in START)


def test_the_first_extension_of_contributors_runs(at_work: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a plug-in: the tree under test stays as it is."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Your first extension")[2].partition("\n## ")[0]
    (code,) = (block for language, block in blocks(section) if language == "python")
    Path("plugins").mkdir()
    Path("plugins", "redness.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(Path("plugins").resolve()))
    lines = [words for language, block in blocks(section) if language == "sh" for words in calls(block)]
    assert [words[0] for words in lines] == ["list", "list", "score"]
    for words in lines:
        assert main(words) == 0, f"sightline {shlex.join(words)}"


def test_the_notebook_runs(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    shutil.copytree(sample, tmp_path / "sightline-demo")
    cells = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    scope: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "the repository holds it without outputs"
        *lines, last = "".join(cell["source"]).splitlines()
        exec(compile("\n".join(lines), f"cell {number}", "exec"), scope)
        try:
            shown = eval(last, scope)
        except SyntaxError:
            exec(last, scope)
            continue
        if hasattr(shown, "_repr_html_"):
            assert "<" in shown._repr_html_()
    assert "toprule" in (tmp_path / "comparison.tex").read_text(encoding="utf-8")
