"""Verify: verdicts kept as scores with evidence, rates, agreement, correction by people, what to label."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from sightline.data.export import export
from sightline.data.import_ import import_
from sightline.errors import DataError, StudyError, UsageError
from sightline.judging.truth import truth
from sightline.records import ImageKey, Item, PromptKey, Question, Truth
from sightline.skills import verifying
from sightline.skills.correcting import correct_verdicts, corrections_of
from sightline.skills.matches import stored_verdicts
from sightline.skills.verify import read_verification, verify
from sightline.study import listing, reading
from sightline.study.schema import database
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


def rows(study: Study, query: str) -> list[tuple[Any, ...]]:
    with database.reading(study.engine) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


@pytest.fixture
def study(maker: Any, tmp_path: Path, scene_of: Any, expects_of: Any) -> Iterator[Study]:
    """12 prompts of counting by two systems: "good" draws two cats, "bad" three on every other prompt.

    People judged the first six of each, and are wrong once about "bad". One prompt expects nothing that can
    be read, one nothing at all.
    """
    for number in range(12):
        maker.prompt(f"p{number}", f"two cats {number}", "counting", expects_of(("cat", 2)))
        for system in ("good", "bad"):
            right = system == "good" or number % 2 == 0
            said = None if number >= 6 else float(right) if (system, number) != ("bad", 1) else 1.0
            maker.answer(f"p{number}", system, scene_of(*["cat"] * (2 if right else 3)), said)
    maker.prompt("odd", "odd", "other", {"objects": [{"kind": "cat", "count": "two"}]})
    maker.answer("odd", "good", scene_of("cat"))
    maker.prompt("free", "anything", "other", None)
    maker.answer("free", "good", scene_of("cat"))
    with maker.study(tmp_path / "study") as made:
        truth(made)
        yield made


def test_verdicts_come_back_from_an_export(study: Study, tmp_path: Path) -> None:
    verify(study)
    export(study, tmp_path / "tables")
    with create_study(tmp_path / "again") as again:
        import_(again, tmp_path / "tables")
        query = "SELECT value, reason FROM score ORDER BY prompt_id, image_id"
        assert rows(again, query) == rows(study, query)
        before, after = (listing.evidence(each, stored_verdicts(study).identity) for each in (study, again))
        assert sorted(after["evidence"]) == sorted(before["evidence"])


def test_verdicts_are_scores_with_evidence(study: Study) -> None:
    found = verify(study)
    values = rows(study, "SELECT value, count(*) FROM score GROUP BY value ORDER BY value")
    assert values == [(None, 2), (0.0, 6), (1.0, 18)]
    assert rows(study, "SELECT kind, spec FROM measure") == [("verdict", "verdict by known_scene")]
    evidence = listing.evidence(study, stored_verdicts(study).identity)
    example = reading.decoded(evidence["evidence"][0])
    assert example["verdict"] == "yes" and len(example["boxes"]) == 2
    reasons = [row[0] for row in rows(study, "SELECT reason FROM score WHERE reason IS NOT NULL ORDER BY 1")]
    assert all(each.startswith("cannot tell: ") for each in reasons)
    assert "objects[0].count is 'two'" in reasons[1]
    assert (found.answers, found.decided, found.computed) == (26, 24, 26)
    assert "24 of 26 answers have a yes or no" in found.sentence


def test_rates_agreement_and_confusion_by_hand(study: Study) -> None:
    found = verify(study)
    rates = {(each.system, each.skill): each for each in found.rows}
    assert rates["good", "counting"].verdict.value == 1.0
    assert rates["bad", "counting"].verdict.value == 0.5
    assert (
        rates["good", "other"].verdict.value is None and rates["good", "other"].undecided_share.value == 1.0
    )
    # People: six of "good", all yes; of "bad" yes at 0, 2, 4 and, wrongly, 1.
    assert rates["bad", "counting"].people.value == pytest.approx(4 / 6)
    whole = next(each for each in found.agreement if each.skill == "all skills")
    assert (whole.both_yes, whole.only_verdict, whole.only_people, whole.both_no) == (9, 0, 1, 2)
    assert whole.accuracy.value == pytest.approx(11 / 12)
    # Chance: 9/12 x 10/12 + 3/12 x 2/12 = 96/144, so kappa = (11/12 - 2/3) / (1/3) = .75.
    assert whole.kappa.value == pytest.approx(0.75)
    assert "agree on 92 % of 12 answers" in found.sentence


def test_people_correct_the_rate(study: Study) -> None:
    bad = next(each for each in verify(study).rows if (each.system, each.skill) == ("bad", "counting"))
    assert bad.corrected.value is not None and bad.corrected.method == "prediction-powered"
    # Verdicts say .5 of all and of the judged, people .667 of the judged: the truth is in between or so.
    assert 0.5 <= bad.corrected.value <= 0.75
    assert bad.needed is None and "more images" in bad.unreachable
    wide = next(
        each for each in verify(study, width=0.9).rows if (each.system, each.skill) == ("bad", "counting")
    )
    # Without verdicts s^2 = .2667: 2 t sqrt(s^2 / n) is 1.084 at n = 6, .954 at 7, .863 at 8, two more.
    assert wide.needed_alone == 2 and wide.needed is not None and wide.needed <= 2


def test_a_second_run_decides_nothing_and_a_changed_prompt_alone(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = verify(study)
    again = verify(study)
    assert (first.computed, again.computed, again.cached) == (26, 0, 26)
    with database.writing(study.engine) as connection:
        changed = '{"objects": [{"kind": "cat", "count": 3, "at_least": false}], "complete": true}'
        connection.execute(text("UPDATE prompt SET expects = :e WHERE ref = 'p1'"), {"e": changed})
    third = verify(study)
    assert third.computed == 2
    rates = {(each.system, each.skill): each.verdict.value for each in third.rows}
    assert rates["bad", "counting"] == pytest.approx(7 / 12)
    # Another way of deciding is another measure; what the first said stays.
    verify(study, verdicts=["count(sure=0.9)"])
    assert rows(study, "SELECT count(*) FROM measure") == [(2,)]


def test_what_is_known_of_an_image_decides_again_when_it_changes(study: Study) -> None:
    before = verify(study)
    with database.writing(study.engine) as connection:
        scene = text("UPDATE scene SET json = :json")
        connection.execute(scene, {"json": '{"objects": [], "complete": true}'})
    after = verify(study)
    assert after.computed == before.computed
    assert {row.verdict.value for row in after.rows if row.skill == "counting"} == {0.0}
    # What was decided of the earlier scenes is gone: the newest verdicts are these, whoever reads them.
    assert read_verification(study).rows == after.rows
    assert rows(study, "SELECT count(DISTINCT measure_id) FROM score") == [(1,)]


def test_what_was_decided_before_a_stop_is_kept(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "BATCH", 5)
    real, calls = verifying.look, 0

    def stops(*words: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return real(*words, **named)

    monkeypatch.setattr(verifying, "look", stops)
    with pytest.raises(KeyboardInterrupt):
        verify(study)
    assert rows(study, "SELECT count(*) FROM score") == [(10,)]
    monkeypatch.setattr(verifying, "look", real)
    assert verify(study).computed == 16


def test_what_to_label_next_is_a_random_part_of_every_system(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "next.csv"
    found = verify(study, label=7, to_label=file)
    with file.open(newline="") as opened:
        listed = list(csv.DictReader(opened))
    assert len(listed) == 7 == len(found.label_next) and "verdict" not in listed[0]
    # 14 of 26 are open: 6 counting of each system, 2 other of "good"; 7 is half of each.
    assert sorted((row["system"], row["skill"]) for row in listed) == sorted(
        [("good", "counting")] * 3 + [("bad", "counting")] * 3 + [("good", "other")]
    )
    # None of the judged ones, and the same seed draws the same.
    assert {row["prompt_id"] for row in listed}.isdisjoint({f"p{number}" for number in range(6)})
    assert verify(study, label=7).label_next == found.label_next
    with pytest.raises(UsageError, match="no CSV"):
        verify(study, to_label=tmp_path / "next.txt")


def test_a_round_of_what_to_label_next(study: Study) -> None:
    found = verify(study, label=4, round="more")
    assert any("sightline annotate" in note for note in found.notes)
    settings = tomllib.loads((study.home / "study.toml").read_text())
    assert settings["annotate"]["more"]["where"] == "tag:round.more"
    tagged = rows(study, "SELECT count(*) FROM image_tag WHERE name = 'round.more'")
    assert tagged == [(4,)]


def test_a_round_of_nothing_says_why_there_is_nothing(study: Study) -> None:
    with database.writing(study.engine) as connection:
        judged = "SELECT id FROM prompt WHERE ref IN ('p0', 'p1', 'p2', 'p3', 'p4', 'p5')"
        connection.execute(text(f"DELETE FROM answer WHERE prompt_id NOT IN ({judged})"))
    with pytest.raises(UsageError, match="every answer is judged") as caught:
        verify(study, label=4, round="more")
    assert "--label" not in (caught.value.remedy or ""), "no number of labels helps"


def test_a_correction_is_a_judgement_and_no_sample(study: Study) -> None:
    before = verify(study)
    wrong = rows(
        study,
        "SELECT c.prompt_id, c.image_id FROM score c JOIN prompt p ON p.id = c.prompt_id "
        "WHERE p.ref = 'p11' AND c.value = 0",
    )[0]
    assert correct_verdicts(study, [wrong]) == {wrong: "yes"}
    assert correct_verdicts(study, [wrong]) == {wrong: "no"}
    assert correct_verdicts(study, [wrong], "yes") == {wrong: "yes"}
    assert corrections_of(study) == {wrong: "yes"}
    made = rows(study, "SELECT value, revision, session FROM judgement WHERE session <> '' ORDER BY id")
    assert made == [(1.0, 0, "correction"), (0.0, 1, "correction"), (1.0, 2, "correction")]
    # The verdict stays as it is, and what was only corrected neither agrees nor corrects rates.
    truth(study)
    after = verify(study)
    assert after.corrections == 1 and after.agreement == before.agreement
    assert [each.corrected for each in after.rows] == [each.corrected for each in before.rows]
    # A correction of what people judged is decided by the owner, on the same item.
    judged = rows(
        study,
        "SELECT s.prompt_id, s.image_id FROM item s JOIN prompt p ON p.id = s.prompt_id "
        "JOIN judgement j ON j.item_id = s.id JOIN system y ON y.id = s.system_id "
        "WHERE p.ref = 'p1' AND y.name = 'bad'",
    )[0]
    correct_verdicts(study, [judged], "no")
    truth(study)
    whole = next(each for each in verify(study).agreement if each.skill == "all skills")
    assert (whole.only_people, whole.both_no) == (0, 3)
    with pytest.raises(UsageError, match="maybe"):
        correct_verdicts(study, [judged], "maybe")


def test_faults_are_said_before_detectors_look(study: Study) -> None:
    with pytest.raises(UsageError, match="does not look for objects"):
        verify(study, detector="rapidocr")
    with pytest.raises(UsageError, match="tag"):
        verify(study, per="nothing")
    with pytest.raises(UsageError, match="question"):
        verify(study, question="mach")
    with pytest.raises(UsageError, match="a round cannot be called"):
        verify(study, round="no/such")
    # All of that was said before anything was decided.
    with pytest.raises(DataError, match="no verdicts"):
        read_verification(study)
    study.settings = {**study.settings, "verify": {"detektor": "x"}}
    with pytest.raises(StudyError, match="detektor"):
        verify(study)


def test_without_people_and_without_a_detector(study: Study) -> None:
    with database.writing(study.engine) as connection:
        for table in ("truth", "settlement", "judgement"):
            connection.execute(text(f"DELETE FROM {table}"))
    found = verify(study, detector="nothing", reader="nothing")
    assert found.decided == 0 and found.agreement == []
    assert found.reasons[0][:2] == ("presence", 24)
    assert "No detector looked for objects." in found.reasons[0][2]
    assert any("Nobody judged" in note for note in found.notes)


def test_every_face(study: Study) -> None:
    found = verify(study)
    assert '"rates"' in found.to_json() and "Cohen" in found.to_markdown()
    assert set(found.figures()) == {"rates"}


def test_exported_verdicts_come_back(study: Study, tmp_path: Path) -> None:
    verify(study)
    export(study, tmp_path / "tables")
    with create_study(tmp_path / "back") as back:
        import_(back, tmp_path / "tables")
        query = "SELECT value, reason FROM score ORDER BY measure_id, prompt_id, image_id"
        assert rows(back, query) == rows(study, query)
        identity = stored_verdicts(study).identity
        assert stored_verdicts(back).identity == identity
        before, after = (listing.evidence(each, identity)["evidence"] for each in (study, back))
        assert after.equals(before)


def test_grades_are_no_match_rates(study: Study) -> None:
    """0, 0.5 and 1 are three answers: their mean is no proportion of matches."""
    graded = Question("consistency", "ordinal", 0.0, 1.0, 0.5)
    answer = reading.answers(study).row(0, named=True)
    keys = reading.prompts(study).filter(prompt_id=answer["prompt_id"]).row(0, named=True)
    image = reading.images(study).filter(image_id=answer["image_id"]).row(0, named=True)
    shown = ImageKey(image["collection"], image["name"])
    item = Item(PromptKey(keys["suite"], keys["ref"]), answer["system"], shown)
    load(study, [graded, Truth("consistency", item, 0.5)], importer="test", path="grades", digest="grades")
    with pytest.raises(UsageError, match="consistency is not answered by yes or no") as caught:
        verify(study, question="consistency")
    assert "--yes-from" in caught.value.remedy
