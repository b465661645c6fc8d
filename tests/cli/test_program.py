"""The program as a whole: help, wrong usage, errors as messages, exit codes."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline import __version__
from sightline.cli import main
from sightline.cli._app import build, parser, summaries
from sightline.cli._errors import BROKEN_PIPE, STOPPED, UNEXPECTED, guarded
from sightline.errors import ConflictError, DataError, SightlineError, UsageError

COMMANDS = {name: summary for name, (_, summary) in summaries().items()}


def test_help_lists_every_command_with_its_meaning(run: Callable[..., Any]) -> None:
    shown = run("--help")
    assert shown.code == 0
    joined = " ".join(shown.out.split())
    for name, meaning in COMMANDS.items():
        assert f"{name} {meaning}" in joined
    groups = ["Set up:", "Collect:", "Judge:", "Measure:", "Analyse:", "Share:"]
    assert [line for line in shown.out.splitlines() if line in groups] == groups
    assert run("-h").out == shown.out


def test_the_help_page_says_what_the_commands_say() -> None:
    assert {name: str(parser(name).help).strip().split("\n")[0] for name in COMMANDS} == COMMANDS


def test_every_argument_and_option_is_documented() -> None:
    bare = [
        f"{command.name} {parameter.name}"
        for command in [*map(parser, COMMANDS), build()]
        for parameter in command.params
        if not (getattr(parameter, "help", None) or "").strip()
    ]
    assert bare == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Callable[..., Any], name: str) -> None:
    shown = run(name, "--help")
    assert shown.code == 0
    assert COMMANDS[name] in " ".join(shown.out.split())
    assert run("help", name).out == shown.out


def test_version(run: Callable[..., Any]) -> None:
    assert run("--version").out == f"sightline {__version__}\n"


def test_extensions_of_others_are_left_out_on_request(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text("raise ValueError('it was run')\n")
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path))
    monkeypatch.delenv("SIGHTLINE_NO_PLUGINS", raising=False)
    assert "it was run" in " ".join(run("list", "of_image").out.split())
    without = run("--no-plugins", "list", "of_image")
    assert without.code == 0 and "it was run" not in " ".join(without.out.split())
    assert "SIGHTLINE_NO_PLUGINS" not in os.environ


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scor"], "Did you mean score"),
        (["status"], "STUDY"),
        (["compare", "x", "--sideways"], "No such option"),
        (["select", "x", "many"], "Invalid value for 'N'"),
        (["list", "--json", "--csv"], "exclude each other"),
        (["list", "of_imag"], "of_image"),
        (["import", "x"], "'PATH'"),
        (["import", "x", "y", "--undo", "3"], "use the command sightline undo"),
        (["import", "x", "y", "--column", "prompt"], "--column OURS=THEIRS"),
        (["import", "x", "y", "--option", "a=1", "--option", "a=2"], "twice"),
        (["score", "sharpnes"], "sharpness"),
        (["score", "sharpness"], "no image file is named"),
        (["score", "words", __file__], "measure of prompt"),
        (["suite", "make", "countin"], "counting"),
        (["suite", "mak"], "Did you mean make"),
        (["init", "x", "--images", "s3://b"], "--database"),
    ],
)
def test_wrong_usage_ends_with_2(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run(*words)
    assert shown.code == 2
    assert said in shown.err
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []


def ends(error: BaseException) -> int:
    """The exit code of a command that raises this."""

    def failing() -> None:
        raise error

    try:
        guarded(failing)()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SightlineError("no luck"), 1, "Error: no luck\n"),
        (UsageError("what", remedy="Do this."), 2, "Error: what\n  Do this.\n"),
        (DataError("bad", where="a.csv:3", remedy="Mend it."), 3, "Error: a.csv:3: bad\n  Mend it.\n"),
        (ConflictError("two", where="b\x1b[2J"), 3, "Error: b\ufffd[2J: two\n"),
        (PermissionError(errno.EACCES, "Permission denied", "x.csv"), 3, "x.csv: permission denied\n  Check"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "no space left on device\n  Free some space"),
        (OSError(errno.EROFS, "Read-only file system", "y"), 3, "y: read-only file system\n  The disk is"),
        (MemoryError(), 3, "not enough memory"),
        (KeyboardInterrupt(), STOPPED, "Stopped. What was done is kept"),
        (KeyError("gone"), UNEXPECTED, "(KeyError: 'gone')"),
    ],
)
def test_errors_become_messages(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert ends(error) == code
    shown = capsys.readouterr()
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_the_unexpected_shows_its_traceback_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_DEBUG", "1")
    assert ends(KeyError("gone")) == UNEXPECTED
    assert "Traceback" in capsys.readouterr().err
    assert ends(DataError("bad")) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "sightline", "list"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        process.wait(60)
    assert said == b""
    assert process.returncode == BROKEN_PIPE


def test_a_terminal_that_knows_few_letters(monkeypatch: pytest.MonkeyPatch, study: Path) -> None:
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="iso-8859-1", errors="strict")
    monkeypatch.setattr(sys, "stdout", narrow)
    assert main(["compare", str(study)]) == 0
    narrow.flush()
    assert b"mean alignment ?" in narrow.buffer.getvalue()
