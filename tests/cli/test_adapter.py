"""Commands made from verbs: the index is what the signatures say, and words arrive as the verb takes them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest

from sightline.cli import adapter
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.verbs import WORKERS, argument, described, option, verb

ROOT = Path(__file__).resolve().parent.parent.parent


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sightline_tool_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "file"), [("commands", "cli/commands.json"), ("extensions", "extensions.json")]
)
def test_the_index_is_what_the_source_says(name: str, file: str) -> None:
    written = (ROOT / "sightline" / file).read_text(encoding="utf-8")
    assert written == tool(name).text(), "run make docs"


@dataclass(frozen=True)
class Echo(Result):
    """What the verb was given."""

    given: str

    @property
    def sentence(self) -> str:
        return self.given

    def tables(self) -> dict[str, Table]:
        return {"": Table([Column("given")], [(self.given,)])}


@verb("measure")
def echo(
    words: Annotated[Sequence[str], argument("Repeat these words.", "WORD")],
    n: Annotated[int, option("Repeat this often.", least=1)] = 2,
    *,
    at: Annotated[float | None, option("At this point.", shown="anywhere")] = None,
    way: Annotated[Literal["loud", "soft"], option("This way.")] = "soft",
    column: Annotated[Mapping[str, str] | None, option("A column.", metavar="OURS=THEIRS")] = None,
    tag: Annotated[Sequence[str], option("A tag; repeatable.")] = (),
    quiet: Annotated[bool, option("Say nothing.")] = False,
    workers: Annotated[int | None, WORKERS] = None,
    hidden: object = None,
) -> Echo:
    """Repeat what was said.

    Nothing is added.
    """
    return Echo(json.dumps([words, n, at, way, column, list(tag), quiet, workers is not None, hidden]))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    entry = {**described(echo), "module": __name__}
    monkeypatch.setattr(adapter, "index", lambda: {"echo": entry})
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(echo=echo))

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            adapter.command("echo").main(args=list(words), prog_name="sightline echo")
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return run


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["a"], [["a"], 2, None, "soft", {}, [], False, True, None]),
        (["a", "b", "--n", "3", "--at", "0.5"], [["a", "b"], 3, 0.5, "soft", {}, [], False, True, None]),
        (["a", "--way", "loud", "--quiet"], [["a"], 2, None, "loud", {}, [], True, True, None]),
        (
            ["a", "--column", "x=y", "--column", "p = q=r", "--tag", "1", "--tag", "2"],
            [["a"], 2, None, "soft", {"x": "y", "p": " q=r"}, ["1", "2"], False, True, None],
        ),
    ],
)
def test_words_arrive_as_the_verb_takes_them(call: Callable[..., Any], words: list[str], given: Any) -> None:
    code, out, _ = call(*words, "--json")
    assert code == 0
    assert json.loads(json.loads(out)["given"]) == given


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing argument"),
        (["a", "--n", "0"], "0 is not in the range"),
        (["a", "--n", "x"], "not a valid integer"),
        (["a", "--way", "so"], "not one of"),
        (["a", "--column", "x"], "--column OURS=THEIRS"),
        (["a", "--column", "x=1", "--column", "x=2"], "twice"),
        (["a", "--json", "--csv"], "exclude each other"),
        (["a", "--to", "x.doc"], ".html, .json, .csv"),
        (["a", "--hidden", "1"], "No such option"),
    ],
)
def test_wrong_words_end_with_2(call: Callable[..., Any], words: list[str], said: str) -> None:
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_family_has_commands_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            adapter.family("suite").main(args=list(words), prog_name="sightline suite")
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out + shown.err

    code, said = run("--help")
    assert code == 0 and all(f"\n  {name} " in said for name in ("export", "list", "make", "show"))
    code, said = run("make", "counting", "2", "--no-simpler", "--csv")
    assert code == 0 and said.count("\n") == 3 and said.startswith("prompt_id,prompt,")
    assert run("mak")[0] == run("make")[0] == 2
    with pytest.raises(ValueError, match="no family of commands"):
        verb("collect", "nothing make")
    with pytest.raises(ValueError, match="no family of commands"):
        verb("judge", "suite make")


def test_help_needs_no_import(call: Callable[..., Any]) -> None:
    code, out, _ = call("--help")
    assert code == 0
    for part in ("Repeat what was said.", "WORD", "[default: (anywhere)]", "[loud|soft]", "--to FILE"):
        assert part in out


def test_a_result_goes_to_a_file_or_to_a_program(call: Callable[..., Any], tmp_path: Path) -> None:
    for suffix in (".html", ".json", ".csv", ".tex", ".txt"):
        file = tmp_path / f"x{suffix}"
        assert call("a", "--to", str(file))[0] == 0
        assert "soft" in file.read_text(encoding="utf-8")
    assert call("a", "--csv")[1].startswith("given\n")


def test_a_verb_must_say_how_a_parameter_is_given() -> None:
    @verb("measure")
    def wrong(path: str) -> None:
        """Wrong."""

    with pytest.raises(TypeError, match="path has neither a default"):
        described(wrong)
    with pytest.raises(ValueError, match="no group"):
        verb("nowhere")
