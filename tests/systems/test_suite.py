"""Making suites of prompts from tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.data.import_ import import_
from sightline.errors import ExtensionError, UsageError
from sightline.study import reading
from sightline.study.study import create_study
from sightline.systems.suite import suite

SHORT = '''
from sightline.extension import task
from sightline.records import NewPrompt

@task(skill="nothing", source="me", licence="MIT")
def short(rng, n):
    """Always one prompt."""
    yield NewPrompt("a ball")
'''


def test_the_same_seed_makes_the_same_prompts() -> None:
    made = suite("counting(most=5)", 8, seed=3)
    assert made == suite("counting(most=5)", 8, seed=3)
    assert made.prompts != suite("counting(most=5)", 8, seed=4).prompts
    assert made.task == "counting(most=5)"
    assert len(set(made.refs)) == 8
    # Numbers two to five in rounds: each twice among eight.
    assert sorted(prompt.tags["number"] for prompt in made.prompts) == sorted("23452345")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_written_suite_can_be_imported(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"colours{suffix}"
    made = suite("colour_binding", 5, to=file)
    with create_study(tmp_path / "study") as study:
        import_(study, file, options={"suite": "colours"})
        found = {prompt.key.ref: prompt for prompt in reading.prompt_records(study).values()}
    for ref, prompt in zip(made.refs, made.prompts, strict=True):
        assert found[ref].text == prompt.text
        assert found[ref].tags == prompt.tags
        assert found[ref].expects == prompt.expects


@pytest.mark.parametrize(
    ("task", "n", "seed", "said"),
    [
        ("countin", 3, 0, "Did you mean counting"),
        ("counting", 0, 0, "1 or more"),
        ("counting", 3, -1, "0 or more"),
        ("counting", 10_000, 0, "different prompts"),
    ],
)
def test_wrong_calls_are_refused(task: str, n: int, seed: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        suite(task, n, seed=seed)


def test_a_task_must_make_as_many_as_asked(plugins: Path) -> None:
    (plugins / "short.py").write_text(SHORT)
    with pytest.raises(ExtensionError, match="made 1 prompts where 2"):
        suite("short", 2)
