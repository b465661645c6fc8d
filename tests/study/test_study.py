"""A study as a Python user sees it: its tables as frames, its repr, and who may read it."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

import sightline
from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey, Truth
from sightline.study.schema import database
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import Loaded

ONE, TWO, A = PromptKey("s", "1"), PromptKey("s", "2"), ImageKey("c", "a.png")


def test_the_tables_are_frames_with_readable_columns(study: Study, put: Callable[..., Loaded]) -> None:
    put(
        study,
        [
            Prompt(ONE, "a dog", {"skill": "objects"}),
            Prompt(TWO, "two cats"),
            Image(A),
            Answer(ONE, "sd", 0, A, seed=7),
            Judgement("match", Item(ONE, image=A), 1.0),
            Truth("match", Item(ONE, image=A), 0.5),
        ],
    )
    sightline.score(study, "words")
    assert study.prompts().rows() == [("s", "1", "a dog", "objects"), ("s", "2", "two cats", None)]
    assert study.prompts().columns == ["suite", "prompt_id", "prompt", "tags.skill"]
    assert study.images().select("collection", "image").rows() == [("c", "a.png")]
    answers = study.answers().select("prompt_id", "prompt", "system", "position", "image", "seed")
    assert answers.rows() == [("1", "a dog", "sd", 0, "a.png", 7)]
    assert study.judgements().select("question", "prompt_id", "image", "value").rows() == [
        ("match", "1", "a.png", 1.0)
    ]
    assert study.truth().select("question", "prompt_id", "value", "rule").rows() == [
        ("match", "1", 0.5, "published")
    ]
    assert study.scores().select("measure", "prompt_id", "value").rows() == [
        ("words", "1", 2.0),
        ("words", "2", 2.0),
    ]


def test_a_repr_says_what_and_where(study: Study, put: Callable[..., Loaded]) -> None:
    assert repr(study) == f"<Study {study.name} at {study.address}: empty>"
    put(study, [Prompt(ONE, "a dog"), Prompt(TWO, "two cats")])
    assert repr(study).endswith(": 2 prompts>")


def test_a_new_study_is_for_its_owner_alone(tmp_path: Path) -> None:
    """The key that signs links and the names of annotators are in the database."""

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    with create_study(tmp_path / "above" / "s") as study, database.writing(study.engine) as connection:
        connection.execute(text("INSERT INTO setting (name, value) VALUES ('a', '1')"))
        files = list(study.home.glob("study.sqlite*"))
        assert len(files) >= 2 and {mode(file) for file in files} == {0o600}
        assert mode(study.home) == 0o700
    ours = tmp_path / "ours"
    ours.mkdir(mode=0o755)
    create_study(ours).close()
    with open_study(ours) as study, database.writing(study.engine) as connection:
        connection.execute(text("INSERT INTO setting (name, value) VALUES ('a', '1')"))
        assert {mode(file) for file in ours.glob("study.sqlite*")} == {0o600}
    assert mode(ours) == 0o755, "a folder that was there is left as it is"
