"""Designs from a pilot: planted variance leads to the prompts and raters that reach the goal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sightline.cli import main
from sightline.errors import DataError, UsageError
from sightline.judging.designs import Goal, Pilot, designs_for, pilot_of
from sightline.judging.planning import Plan, plan
from sightline.records import (
    AnnotatorKey,
    Answer,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
)
from sightline.statistics.components import Components, Design
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


def study_of(
    folder: Path,
    systems: int = 2,
    prompts: int = 30,
    images: int = 2,
    raters: int = 6,
    took: int | None = 4000,
) -> Study:
    rng = np.random.default_rng(0)
    records: list[Record] = [Question("liking", "interval", -50, 50, 0.01)]
    tastes = rng.normal(0, 0.5, raters)
    for number in range(prompts):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"prompt number {number}"))
        level = rng.normal(0, 2)
        for system in range(systems):
            own = rng.normal(0, 1)
            for sample in range(images):
                key = ImageKey(f"system{system}", f"{number}-{sample}")
                records.append(Answer(prompt, f"system{system}", sample, key))
                shown = level + own + rng.normal(0, 1)
                for rater in range(raters):
                    value = round(float(shown + tastes[rater] + rng.normal(0, 1)), 2)
                    who = AnnotatorKey("panel", f"r{rater}")
                    records.append(Judgement("liking", Item(prompt, image=key), value, who, took_ms=took))
    study = create_study(folder / "study")
    load(study, records, importer="test", path="test", digest="1")
    return study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    with study_of(tmp_path_factory.mktemp("pilot")) as made:
        yield made


def test_the_pilot(study: Study) -> None:
    found = pilot_of(study, None)
    assert (found.question, found.votes, found.systems, found.prompts, found.raters) == (
        "liking", 2 * 30 * 2 * 6, 2, 30, 6
    )  # fmt: skip
    assert found.seconds == pytest.approx(4.0) and found.per_session is None
    assert found.parts.prompts == pytest.approx(4, rel=0.6)
    assert found.parts.residual == pytest.approx(1, rel=0.3)
    assert found.parts.images == pytest.approx(1, rel=0.6)
    assert found.notes == []


def test_a_plan_for_a_width(study: Study) -> None:
    found = plan(study, width=2.0, seconds=9, price=20)
    best = found.designs[0]
    parts = found.pilot.parts
    design = Design(best.prompts, best.images, best.raters, best.per_image)
    assert float(parts.width(design)) == pytest.approx(best.width) and best.width <= 2.0
    # One prompt fewer does not do, up to 100 prompts, where every number is tried.
    assert best.prompts <= 100
    assert float(parts.width(design._replace(prompts=best.prompts - 1))) > 2.0
    assert best.judgements == 2 * best.prompts * best.images * best.per_image
    # 9 seconds each at 20 an hour.
    assert best.hours == pytest.approx(best.judgements * 9 / 3600)
    assert best.cost == pytest.approx(best.hours * 20)
    assert f"{best.prompts} prompts" in found.sentence and f"{best.cost:,.2f}" in found.sentence
    assert {"designs", "components"} == {*found.tables()}
    assert "raters x systems" in found.text()


def test_a_plan_for_a_difference(study: Study) -> None:
    found = plan(study, difference=1.0)
    best = found.designs[0]
    assert best.detectable <= 1.0 and best.hours == pytest.approx(best.judgements * 4 / 3600)
    assert best.cost is None
    tighter = plan(study, difference=0.5).designs[0]
    assert tighter.judgements > 2 * best.judgements
    both = plan(study, difference=1.0, width=1.5).designs[0]
    assert both.detectable <= 1.0 and both.width <= 1.5


def test_limits_are_kept(study: Study) -> None:
    few = plan(study, difference=1.0, prompts=20, raters=10)
    assert few.designs and all(each.prompts <= 20 and each.raters == 10 for each in few.designs)
    none = plan(study, difference=0.05, prompts=20, raters=3)
    assert not none.designs and none.sentence.startswith("No design with 3 raters reaches")


def test_raters_who_differ_much_call_for_more_raters() -> None:
    parts = Components(1.0, 0.5, None, 1.0, 0.5, 0.0, 0.0, None, 1.0)
    pilot = Pilot("q", parts, 100, 2, 20, 5, None, None)
    best = designs_for(pilot, Goal(difference=0.5))[0]
    assert best.raters > 5 and best.images == 1
    calm = Components(1.0, 0.5, None, 0.0, 0.0, 0.0, 0.0, None, 1.0)
    assert designs_for(Pilot("q", calm, 100, 2, 20, 5, None, None), Goal(difference=0.5))[0].raters == 5


def test_one_image_per_prompt_and_a_small_pilot(tmp_path: Path) -> None:
    with study_of(tmp_path, prompts=6, images=1, raters=3, took=None) as study:
        found = plan(study, width=3.0)
        assert {each.images for each in found.designs} == {1}
        assert found.seconds is None and found.designs[0].hours is None
        assert any("one image per system" in note for note in found.notes)
        assert any("small pilot" in note for note in found.notes)
        with pytest.raises(UsageError, match="needs the time"):
            plan(study, width=3.0, price=10)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"raters": 0}, "no votes"),
        ({"raters": 1}, "one rater judged"),
        ({"prompts": 1, "systems": 1, "images": 1}, "one image was judged"),
        ({"prompts": 1}, "not two prompts"),
    ],
)
def test_pilots_that_show_too_little(tmp_path: Path, shape: dict[str, int], message: str) -> None:
    with study_of(tmp_path, **shape) as study, pytest.raises(DataError, match=message) as refused:
        plan(study, width=1.0)
    assert refused.value.remedy


def test_one_system_has_no_difference(tmp_path: Path) -> None:
    with study_of(tmp_path, systems=1) as study:
        assert plan(study, width=2.0).designs[0].detectable is None
        with pytest.raises(DataError, match="one system"):
            plan(study, difference=1.0)


def test_wrong_words(study: Study) -> None:
    for name in ("width", "difference", "seconds", "price"):
        with pytest.raises(UsageError, match=f"--{name} is"):
            plan(study, **{"width": 1.0, name: -1.0})
    with pytest.raises(UsageError, match="belong to a goal"):
        plan(study, raters=5)
    with pytest.raises(UsageError, match="exclude each other"):
        plan(study, ["a"], width=1.0)
    with pytest.raises(UsageError, match="no question is called 'likin'"):
        plan(study, width=1.0, question="likin")


def test_anonymous_votes(tmp_path: Path) -> None:
    """Nobody is named: raters are part of the residual, and no claim is made for others."""
    rng = np.random.default_rng(1)
    records: list[Record] = [Question("liking", "interval", -9, 9, 0.01)]
    for number in range(20):
        prompt, key = PromptKey("s", str(number)), ImageKey("a", str(number))
        records += [Prompt(prompt, f"prompt {number}"), Answer(prompt, "a", 0, key)]
        level = rng.normal()
        records += [
            Judgement("liking", Item(prompt, image=key), round(float(level + rng.normal()), 2), n=n)
            for n in (1, 2, 3)
        ]
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        found = plan(study, width=1.0)
    assert found.pilot.parts.raters is None and "say nothing about other raters" in " ".join(found.notes)
    assert found.designs and "of" not in found.sentence.split("judged by")[1].split(":")[0]


def test_sessions_are_a_component_where_raters_had_several(tmp_path: Path) -> None:
    """Each of four raters is off by +3 in one of two sessions: variance 4.5 between sessions."""
    rng = np.random.default_rng(2)
    records: list[Record] = [Question("liking", "interval", -50, 50, 0.01)]
    for number in range(40):
        prompt, key = PromptKey("s", str(number)), ImageKey("a", str(number))
        records += [Prompt(prompt, f"prompt {number}"), Answer(prompt, "a", 0, key)]
        level = rng.normal(0, 2)
        for rater in range(4):
            session = number // 20
            value = round(float(level + 3 * (session == rater % 2) + rng.normal(0, 0.5)), 2)
            who = AnnotatorKey("panel", f"r{rater}")
            vote = Judgement("liking", Item(prompt, image=key), value, who, session=f"sitting {session}")
            records.append(vote)
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        found = pilot_of(study, "liking")
    # Half the squared difference of two sessions of a rater, 9 / 2.
    assert found.parts.sessions == pytest.approx(4.5, abs=0.7)
    assert found.per_session == 20


def test_on_the_command_line(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(study.home), "--width", "2", "--price", "12", "--json"]) == 0
    assert '"designs"' in capsys.readouterr().out
    assert main(["plan", str(study.home), "--width", "2", "--raters", "1"]) == 2


def test_without_a_goal_it_is_the_work_of_the_rounds() -> None:
    assert Plan([]).sentence == "0 tasks in all."
