"""Rephrasing: new prompts that are linked to their originals, made once, by a function or a program."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from studies import put, study_of

from sightline.data.imports import undo
from sightline.errors import DataError, UsageError
from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import Study
from sightline.systems.rephrase import rephrase


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    texts = {("s", "1"): "a dog", ("s", "2"): "hope", ("other", "1"): "a cat"}
    records = [Prompt(PromptKey(*key), text) for key, text in texts.items()]
    records[0] = records[0]._replace(tags={"kind": "descriptive"})
    with study_of(tmp_path / "study", records) as made:
        yield made


def links(study: Study) -> dict[str, tuple[str, str]]:
    """Each rephrasing's text and its original."""
    prompts = {key: (f"{suite}/{ref}", text) for key, suite, ref, text in reading.prompts(study).iter_rows()}
    told = reading.links(study).iter_rows()
    return {prompts[a][0]: (prompts[a][1], prompts[b][0]) for a, kind, b in told if kind == "rephrases"}


def test_wordings_are_prompts_linked_to_their_original(study: Study) -> None:
    def twice(text: str) -> list[str]:
        # The original itself, in other letters, and a repeat are left out.
        return [f"{text} outside", text.upper(), f"one {text}", f"  One {text} ", "", "more"]

    done = rephrase(study, "me", twice, most=2, suite="s")
    assert (done.prompts, done.made, done.known, done.without) == (2, 4, 0, 0)
    assert links(study) == {
        "s/1.me.0": ("a dog outside", "s/1"),
        "s/1.me.1": ("one a dog", "s/1"),
        "s/2.me.0": ("hope outside", "s/2"),
        "s/2.me.1": ("one hope", "s/2"),
    }
    tags = {tuple(row[1:]) for row in reading.tags(study).iter_rows() if row[0] > 3}
    assert tags == {("rephrased_by", "me"), ("kind", "descriptive")}


def test_it_goes_on_where_it_was_and_is_undone_as_a_whole(study: Study) -> None:
    asked: list[str] = []

    def fails_at_the_second(text: str) -> list[str]:
        asked.append(text)
        if len(asked) == 2:
            raise RuntimeError("out of memory")
        return [f"{text}!?", "x"]

    with pytest.raises(RuntimeError):
        rephrase(study, "me", fails_at_the_second)
    assert len(links(study)) == 2
    done = rephrase(study, "me", fails_at_the_second)
    # The first is done, and rephrasings are not rephrased.
    assert asked == ["a dog", "hope", "hope", "a cat"]
    assert (done.made, done.known, len(links(study))) == (4, 1, 6)
    assert rephrase(study, "me", fails_at_the_second).made == 0 and len(asked) == 4
    assert rephrase(study, "you", lambda text: [f"so {text}"]).made == 3
    assert done.number is not None
    undo(study, done.number)
    assert {key.split(".")[1] for key in links(study)} == {"you"}


def test_a_program_of_the_users_own(study: Study, tmp_path: Path) -> None:
    program = tmp_path / "word.py"
    program.write_text("import sys\nprint('ein', sys.argv[1])\nprint()\nprint('zwei', sys.argv[1])\n")
    line = f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} {{prompt}}"
    put(study, [Prompt(PromptKey("s", "3"), "$(touch x); `y`")], "t")
    done = rephrase(study, "program", line, suite="s")
    assert done.made == 6
    assert links(study)["s/3.program.0"][0] == "ein $(touch x); `y`"


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"rephraser": "echo"}, UsageError, "{prompt} is missing"),
        ({"rephraser": "echo '{prompt}"}, UsageError, "cannot read the command"),
        ({"rephraser": "no-such-program {prompt}"}, UsageError, "cannot run 'no-such-program'"),
        ({"rephraser": f"{sys.executable} -c 'raise SystemExit(3)' {{prompt}}"}, DataError, "code 3"),
        (
            {"rephraser": f"{sys.executable} -c 'import time; time.sleep(9)' {{prompt}}", "timeout": 0.1},
            DataError,
            "longer than 0.1 seconds",
        ),
        ({"rephraser": lambda text: text}, DataError, "gave str instead of a list"),
        ({"rephraser": lambda text: [1]}, DataError, "gave list instead of a list of texts"),
        ({"by": "two words"}, UsageError, "cannot be the name"),
        ({"by": ""}, UsageError, "cannot be the name"),
        ({"most": 0}, UsageError, "1 or more"),
        ({"suite": "t"}, UsageError, "no suite called 't'"),
    ],
)
def test_wrong_calls_are_refused(
    study: Study, told: dict[str, object], error: type[Exception], said: str
) -> None:
    call = {"by": "me", "rephraser": lambda text: [text + "!"], **told}
    with pytest.raises(error, match=said):
        rephrase(study, **call)  # type: ignore[arg-type]
    assert links(study) == {}


@pytest.mark.parametrize(
    "line",
    [
        "'{prompt}'",
        "./{prompt} x",
        "sh -c '{prompt}'",
        "/bin/bash -c 'echo {prompt}'",
        "env -i bash -lc 'echo {prompt}' x",
        "bash -o pipefail -c 'echo {prompt}'",
        "bash -c -o pipefail 'echo {prompt}'",
        "timeout 5 sh -ec 'echo \"{prompt}\"'",
        f"{sys.executable} -c 'print(\"{{prompt}}\")'",
        f"{sys.executable} -I -c{{prompt}}",
        "perl -e '{prompt}'",
        "node --eval={prompt}",
        "node --eval {prompt}",
    ],
)
def test_a_prompt_is_never_code(study: Study, tmp_path: Path, line: str) -> None:
    mark = tmp_path / "executed"
    program = tmp_path / "a-program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    put(study, [Prompt(PromptKey("x", "1"), str(program))], "t")
    with pytest.raises(UsageError, match="would execute the prompts"):
        rephrase(study, "me", line, suite="x")
    assert not mark.exists() and links(study) == {}


@pytest.mark.parametrize(
    "line",
    [
        """sh -c 'echo "so $1"' sh {prompt}""",
        """bash -o pipefail -c 'echo "so $1"' sh {prompt}""",
        f"{sys.executable} -c 'import sys; print(\"so\", sys.argv[2])' -c {{prompt}}",
        "echo so {prompt}",
    ],
)
def test_a_prompt_may_be_an_argument_of_code(study: Study, line: str) -> None:
    put(study, [Prompt(PromptKey("x", "1"), "$(touch x); `y`")], "t")
    assert rephrase(study, "me", line, suite="x").made == 1
    assert links(study)["x/1.me.0"][0] == "so $(touch x); `y`"


def test_prompts_without_a_wording_are_counted(study: Study) -> None:
    done = rephrase(study, "me", lambda text: [])
    assert (done.made, done.without, done.number) == (0, 3, None)
