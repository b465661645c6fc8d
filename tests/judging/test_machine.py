"""A model as an annotator: both orders, position bias, its own question, agreement with people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from endpoint_server import Server, serving
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from studies import put

import sightline
from sightline.errors import ConflictError, DataError, UsageError
from sightline.judging.machine import Verdict
from sightline.judging.machine_agreement import agreement_with_people, position_bias
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Record,
    System,
)
from sightline.study.bill import CallPlan
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study

LIGHT = {"bright": 220, "grey": 120, "dark": 20}


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def study(tmp_path: Path, served: Server) -> Iterator[Study]:
    """Three systems of different brightness on twelve prompts; on two the server looks at the order alone."""
    served.clear()
    create_study(tmp_path / "study").close()
    with (tmp_path / "study" / SETTINGS_FILE).open("a") as file:
        file.write(f'[endpoint.local]\naddress = "{served.address}"\nbackoff = 0.01\nretries = 1\n')
    records: list[Record] = [System(name) for name in LIGHT]
    for n in range(12):
        key = PromptKey("s", str(n))
        fault = " [first]" if n < 2 else " [text]" if n == 2 else ""
        records.append(Prompt(key, f"prompt {n}{fault}"))
        for name, light in LIGHT.items():
            path = tmp_path / f"{name}{n}.png"
            Pillow.new("RGB", (8, 8), (light, light, light + n)).save(path)
            image = ImageKey(name, str(n))
            records += [Image(image, str(path)), Answer(key, name, 0, image)]
    with open_study(tmp_path / "study") as made:
        put(made, records)
        yield made


def people(study: Study, *, prefer: str) -> None:
    """Three people compare bright and dark on six prompts; two of them prefer the same."""
    records: list[Record] = []
    for n in range(6):
        item = Item(
            PromptKey("s", str(n)), "dark", ImageKey("dark", str(n)), ImageKey("bright", str(n)),
            system_b="bright",
        )  # fmt: skip
        for person in range(3):
            first = (prefer == "dark") == (person < 2)
            who = AnnotatorKey("lab", str(person))
            records.append(Judgement("preference", item, 0.0 if first else 1.0, who))
    put(study, records, "people")


def test_both_orders_become_one_vote(study: Study, served: Server) -> None:
    plan = sightline.judge(study, "eye/1", "local", plan=True)
    assert isinstance(plan, CallPlan) and plan.plans[0].calls == 72 and served.bodies == []
    result = sightline.judge(study, "eye/1", "local")
    assert len(served.bodies) == 72 and result.question == "preference_by_eye_1"
    # 36 pairs; the three of prompt 2 cannot be read, the six of prompts 0 and 1 depend on the order.
    assert (result.pairs, result.votes, result.inconsistent) == (36, 33, 6)
    assert result.without == {"the reply gives no better": 3}
    # Eleven prompts: nine at one half, two at 1.
    assert result.position.value == pytest.approx((9 * 0.5 + 2 * 1.0) / 11)
    said = study.judgements()
    assert set(said["panel"].unique()) == {"machine"} and said.height == 33
    assert said.filter(pl.col("value") == 0.5).height == 6
    ranked = sightline.compare(study, result.question)
    assert ranked.systems == ["bright", "grey", "dark"]
    assert any("votes of a model" in note for note in ranked.notes)
    # Asked again, every reply is known and every vote is there.
    again = sightline.judge(study, "eye/1", "local")
    assert len(served.bodies) == 72 and again.votes == 33 and study.judgements().height == 33
    assert result.bill[0].replies == 72


def test_people_and_models_are_not_mixed(study: Study, served: Server) -> None:
    people(study, prefer="bright")
    result = sightline.judge(study, "eye", "local", like="preference", inconsistent="leave_out")
    # The pairs that people compared, with the systems in the study's order; that of prompt 2 cannot be read.
    assert (result.pairs, result.votes, result.inconsistent) == (6, 3, 2)
    (found,) = result.agreement
    assert (found.question, found.pairs, found.model.value) == ("preference", 3, 1.0)
    # Two of three people are of one mind: the model agrees with two in three of them, and of the three pairs
    # of people one agrees.
    assert found.person.value == pytest.approx(2 / 3)
    assert found.people.value == pytest.approx(1 / 3)
    settled = sightline.truth(study)
    assert [each.question for each in settled.questions] == ["preference"]
    with pytest.raises(ConflictError, match="people voted on 'preference'"):
        sightline.judge(study, "eye", "local", question="preference")
    before = study.judgements().height
    mixed = sightline.judge(study, "eye", "local", question="preference", like="preference", mix=True)
    assert study.judgements().height == before + mixed.votes


def test_a_model_that_never_votes_is_a_result(study: Study) -> None:
    images = ImageKey("dark", "2"), ImageKey("bright", "2")
    item = Item(PromptKey("s", "2"), "dark", *images, system_b="bright")
    put(study, [Judgement("preference", item, 1.0, AnnotatorKey("lab", "ann"))], "people")
    result = sightline.judge(study, "eye", "local", like="preference")
    assert (result.pairs, result.votes, result.without) == (1, 0, {"the reply gives no better": 1})
    assert result.sentence == "eye gave no vote." and result.exit_code != 0
    assert list(result.next) == ["sightline bill STUDY"] and result.tables()


def test_what_cannot_be_judged_is_named(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no system is called 'brigth'"):
        sightline.judge(study, "eye", "local", systems=["brigth"])
    with pytest.raises(DataError, match="no two images of different systems"):
        sightline.judge(study, "eye", "local", systems=["bright"])
    with pytest.raises(DataError, match="no such rubric file"):
        sightline.judge(study, "eye", "local", rubric=str(tmp_path / "none.txt"))
    few = sightline.judge(study, "eye", "local", pairs=1, systems=["bright", "dark"], plan=True)
    assert few.plans[0].inputs == 12


@given(st.sampled_from(["first", "second", "tie"]), st.sampled_from(["first", "second", "tie"]))
def test_a_verdict_needs_both_orders(forward: str, backward: str) -> None:
    verdict = Verdict(forward, backward)
    mirror = Verdict(backward, forward)
    # The pair the other way round has the opposite vote, and the same share of the place.
    assert verdict.for_first_shown == mirror.for_first_shown
    if verdict.value is None:
        assert mirror.value is None and (forward == backward or "tie" in (forward, backward))
    else:
        assert mirror.value == 1 - verdict.value and verdict.for_first_shown == 0.5


def test_agreement_by_hand() -> None:
    # Three of four people are for the second, one of four, an even split, and one person alone.
    people = [[1, 1, 0, 1], [0, 1, 0, 0], [0, 1], [1]]
    found = agreement_with_people("q", [1, 1, 0, 0.5], people, [1, 2, 3, 4])
    assert found.pairs == 3
    assert found.model.value == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.person.value == pytest.approx((3 / 4 + 1 / 4 + 1 / 2 + 1 / 2) / 4)
    # Of the six pairs of four people three agree; of two who differ none; one person agrees with nobody.
    assert found.people.value == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    assert agreement_with_people("q", [1], [[1]], [1]).people.value is None


def test_the_interval_of_position_bias_covers() -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(400):
        # Prompts differ in how much the order sways the model: 30 prompts of three pairs.
        sway = np.repeat(np.clip(rng.normal(0.3, 0.2, 30), 0, 1), 3)
        swayed = rng.random(90) < sway
        first = np.where(swayed, (rng.random(90) < 0.8).astype(float), 0.5)
        truth = 0.5 + 0.3 * np.clip(rng.normal(0.3, 0.2, 2000), 0, 1).mean()
        found = position_bias(first.tolist(), np.repeat(np.arange(30), 3).tolist())
        assert found.low is not None and found.high is not None
        hits += found.low <= truth <= found.high
    assert 0.925 <= hits / 400 <= 0.98
