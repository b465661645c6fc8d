"""Systems ranked by votes between two and by orders of several: compare and gate find a planted order."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sightline.comparison.compare import compare
from sightline.comparison.gate import gate
from sightline.comparison.preferences import Preferences
from sightline.errors import UsageError
from sightline.records import BOTH_BAD, AnnotatorKey, Item, Judgement, Prompt, PromptKey, Question, Record
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

STRENGTH = {"good": 1.5, "fair": 0.0, "poor": -1.5}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Six raters vote between every two of three systems on 30 prompts, and order them."""
    rng = np.random.default_rng(0)
    records: list[Record] = [
        Question("better", "nominal", 0, 1, direction="none"),
        Question("order", "ordinal", 1, step=1, direction="lower"),
    ]
    for number in range(30):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"scene {number}", {"half": "first" if number < 15 else "second"}))
        for name in "abcdef":
            who = AnnotatorKey("people", name)
            for a, b in combinations(STRENGTH, 2):
                second = rng.random() > 1 / (1 + np.exp(STRENGTH[b] - STRENGTH[a]))
                records.append(Judgement("better", Item(prompt, a, system_b=b), float(second), who))
            liked = sorted(STRENGTH, key=lambda system: -(STRENGTH[system] + rng.gumbel()))
            records += [
                Judgement("order", Item(prompt, system), rank, who, group="1", at=system)
                for rank, system in enumerate(liked, 1)
            ]
    last = PromptKey("s", "0")
    neither = Item(last, "good", system_b="poor")
    records.append(
        Judgement("better", neither, None, AnnotatorKey("people", "g"), skipped=BOTH_BAD, at="neither")
    )
    made = create_study(Path(tmp_path_factory.mktemp("votes")) / "study")
    load(made, records, importer="test", path="votes", digest="1")
    return made


@pytest.mark.parametrize(("question", "cast"), [("better", 541), ("order", 180)])
def test_the_planted_order(study: Study, question: str, cast: int) -> None:
    found = compare(study, question)
    assert isinstance(found, Preferences)
    assert (found.winner, list(found.systems)) == ("good", ["good", "fair", "poor"])
    assert found.ranking.votes == cast and found.ranking.prompts == 30
    row = found.tables()["systems"].rows[0]
    assert row[0] == "good" and row[2] == "1"


def test_a_vote_for_neither_is_shown(study: Study) -> None:
    notes = compare(study, "better").notes
    assert any("1 vote says that both are bad" in note for note in notes)


def test_where_keeps_some_votes(study: Study) -> None:
    found = compare(study, "better", where="half=second")
    assert isinstance(found, Preferences)
    assert (found.ranking.votes, found.ranking.prompts) == (270, 15)


def test_the_gate(study: Study) -> None:
    good = gate(study, "good", "poor", "better")
    assert (good.verdict, good.exit_code) == ("passed", 0)
    detectable = good.rows[0].cells[9]
    assert getattr(detectable, "reason", "") == "the power of votes is not computed"
    assert gate(study, "poor", "good", "better").exit_code == 1
    assert gate(study, "poor", "fair", "better", classes=["half"]).exit_code == 1
    assert gate(study, "poor", "fair", "better", margin=0.45).verdict == "passed"


def test_preferences_are_gated_on_their_own(study: Study) -> None:
    with pytest.raises(UsageError):
        gate(study, "good", "poor", ["better", "alignment"])
