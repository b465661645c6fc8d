"""Votes become truth: planted truth is recovered, planted nuisances are left out, and staleness is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sightline import records as r
from sightline.errors import DataError, UsageError
from sightline.judging.truth import truth
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
from sightline.samples.annotators import judge, panel
from sightline.samples.scenes import scenes
from sightline.samples.systems import answer
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing import settling
from sightline.study.writing.loading import load

LOW, HIGH, STEP = 0.0, 10.0, 0.5
ALIGNMENT = Question("alignment", "interval", LOW, HIGH, STEP)


def study_with(folder: Path, records: list[Record], settings: str = "") -> Study:
    study = create_study(folder, settings=settings or "[screening]\nrules = []\n")
    load(study, records, importer="test", path="test", digest="1")
    return study


def more(study: Study, name: str, records: list[Record]) -> None:
    load(study, records, importer="test", path=name, digest=name)


def vote(who: str | None, ref: str, value: float | None, **told: object) -> Judgement:
    annotator = None if who is None else AnnotatorKey("panel", who)
    return Judgement("alignment", Item(PromptKey("s", ref)), value, annotator, **told)  # type: ignore[arg-type]


def small(*votes: Judgement, question: Question = ALIGNMENT) -> list[Record]:
    refs = sorted({judged.item.prompt.ref for judged in votes})  # type: ignore[union-attr]
    return [question, *(Prompt(PromptKey("s", ref), f"prompt {ref}") for ref in refs), *votes]


def truths(study: Study) -> list[tuple[float | None, int, str | None]]:
    return reading.truths(study, "alignment").select("value", "n", "reason").rows()


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[tuple[Study, dict[int, float]]]:
    """20 scenes drawn by careful and sloppy, two samples each, judged by the panel and by one idle person."""
    planted: dict[str, float] = {}
    records: list[Record] = [ALIGNMENT]
    for scene in scenes(20):
        prompt = PromptKey("s", scene.ref)
        records.append(Prompt(prompt, scene.text))
        for system in ("careful", "sloppy"):
            for sample in range(2):
                key = ImageKey(system, f"{scene.ref}-{sample}")
                planted[f"{system}/{key.name}"] = answer(system, scene, sample, size=24).alignment
                records.append(Answer(prompt, system, sample, key))
                for person in panel():
                    right = planted[f"{system}/{key.name}"]
                    given = judge(person, right, LOW, HIGH, STEP, f"alignment {system} {key.name}")
                    annotator = AnnotatorKey("panel", person.name)
                    records.append(Judgement("alignment", Item(prompt, image=key), given, annotator))
                idle = AnnotatorKey("panel", "idle")
                records.append(Judgement("alignment", Item(prompt, image=key), 7.0, idle))
    study = study_with(tmp_path / "study", records)
    images = reading.images(study).select("image_id", "collection", "name").rows()
    yield study, {i: planted[f"{collection}/{name}"] for i, collection, name in images}
    study.close()


def errors(study: Study, planted: dict[int, float]) -> np.ndarray:
    """Settled less planted truth, as proportions of the scale."""
    found = reading.truths(study, "alignment").select("image_id", "value").rows()
    assert len(found) == len(planted) == 80
    return np.array([value / HIGH - planted[i] for i, value in found])


def rmse(study: Study, planted: dict[int, float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors(study, planted)))))


def test_planted_truth_is_recovered_and_nuisances_are_excluded(
    judged: tuple[Study, dict[int, float]],
) -> None:
    study, planted = judged
    (plain,) = truth(study, "alignment", rule="mean", screening=[]).questions
    without_screening, by_mean = rmse(study, planted), errors(study, planted).std()
    (screened,) = truth(
        study, "alignment", rule="mean", screening=["one_value", "agreement_with_rest"]
    ).questions
    with_screening = rmse(study, planted)
    # Six sound annotators err by at most 0.06 each and greta by 0.22; the rest is clipping at both ends.
    assert with_screening < 0.06 < without_screening
    out = {out.annotator: (out.rule, out.reason) for out in screened.excluded}
    assert out.keys() == {"idle", "hugo"}
    assert out["idle"] == ("one_value", "gave 7 in all of 80 judgements")
    assert out["hugo"][0] == "agreement_with_rest" and "over 80 items" in out["hugo"][1]
    assert (plain.judgements, plain.annotators, plain.excluded) == (9 * 80, 9, [])
    assert (screened.judgements, screened.annotators) == (7 * 80, 7)
    assert (screened.items, screened.undecided) == (80, 0)
    assert screened.agreement.value > plain.agreement.value
    assert screened.agreement_everyone == plain.agreement_everyone == plain.agreement
    headings = [column.heading for column in truth(study, "alignment").tables()["settlements"].columns]
    assert headings[-2:] == ["agreement, everyone", "agreement, after exclusion"]

    notes = reading.settlement_notes(study, screened.settlement_id)
    assert notes["agreement"]["value"] == screened.agreement.value
    assert notes["agreement_everyone"]["value"] == plain.agreement.value
    assert sorted(name for name, _, _ in notes["left_out"]) == ["hugo", "idle"]
    tally = {name: (votes, r) for name, votes, r, *_ in notes["annotators"]}
    assert tally["amara"][0] == 80 and tally["amara"][1] > 0.9 > tally["greta"][1] > tally["hugo"][1]
    # Who always gives the same has no correlation.
    assert tally["idle"] == (80, None)

    truth(study, "alignment", rule="mos_mle", screening=[])
    # Biases are known only up to a shift common to all items, which hugo and idle move: the spread counts.
    assert errors(study, planted).std() < 0.05 < by_mean


def test_the_same_votes_settle_once_and_new_votes_make_it_stale(tmp_path: Path) -> None:
    study = study_with(
        tmp_path / "s", small(vote("ann", "1", 2.0), vote("bob", "1", 4.0), vote("ann", "2", 8.0))
    )
    (first,) = truth(study).questions
    (again,) = truth(study).questions
    assert again.settlement_id == first.settlement_id
    assert truths(study) == [(3.0, 2, None), (8.0, 1, None)]
    assert reading.settlements(study)["newer_votes"].to_list() == [0]
    (other,) = truth(study, rule="median").questions
    assert other.settlement_id != first.settlement_id

    more(study, "late", [vote("cat", "1", 9.0)])
    assert reading.settlements(study)["newer_votes"].to_list() == [1, 1]
    (new,) = truth(study).questions
    assert new.settlement_id not in (first.settlement_id, other.settlement_id)
    assert reading.settlements(study)["newer_votes"].to_list() == [1, 1, 0]
    # The newest settlement counts: (2 + 4 + 9) / 3.
    assert truths(study)[0] == (5.0, 3, None)


def test_going_back_to_an_earlier_rule_puts_it_in_force(tmp_path: Path) -> None:
    # 1, 2, 6: mean 3, median 2.
    records = small(vote("a", "1", 1.0), vote("b", "1", 2.0), vote("c", "1", 6.0))
    with study_with(tmp_path / "s", records) as study:
        (first,) = truth(study, rule="mean").questions
        truth(study, rule="median")
        assert truths(study)[0][0] == 2
        (again,) = truth(study, rule="mean").questions
        assert truths(study)[0][0] == 3
        assert again.settlement_id != first.settlement_id
        assert truth(study, rule="mean").questions[0].settlement_id == again.settlement_id


def test_votes_on_another_question_settle_nothing_anew(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", small(vote("a", "1", 1.0))) as study:
        (first,) = truth(study, "alignment").questions
        more(study, "other", [vote("a", "1", 2.0)._replace(question="quality")])
        assert truth(study, "alignment").questions[0].settlement_id == first.settlement_id
        stale = reading.settlements(study).filter(pl.col("question") == "alignment")["newer_votes"]
        assert stale.to_list() == [0]


def test_the_latest_revision_counts_and_skipped_items_do_not(tmp_path: Path) -> None:
    votes = [vote("ann", "1", 2.0), vote("ann", "1", 6.0, revision=1), vote("bob", "1", 8.0)]
    study = study_with(tmp_path / "s", small(*votes, vote("cat", "1", None, skipped="not shown")))
    truth(study)
    assert truths(study) == [(7.0, 2, None)]


def test_anonymous_counted_votes(tmp_path: Path) -> None:
    study = study_with(
        tmp_path / "s", small(vote(None, "1", 2.0, n=3), vote(None, "1", 10.0, n=1), vote("ann", "1", 9.0))
    )
    (settled,) = truth(study).questions
    # (3 * 2 + 10 + 9) / 5.
    assert truths(study) == [(5.0, 5, None)]
    assert (settled.judgements, settled.annotators) == (5, 1)
    (most,) = truth(study, rule="majority").questions
    assert most.items == 1 and truths(study)[0][0] == 2.0


def test_others_in_the_tally_count_as_often_as_they_voted(tmp_path: Path) -> None:
    # Mean of the others: (3 * 1 + 5) / 4 = 2, (3 * 3 + 3) / 4 = 3, (3 * 4 + 4) / 4 = 4, (3 * 4 + 8) / 4 = 5.
    crowd = {"1": (1.0, 5.0), "2": (3.0, 3.0), "3": (4.0, 4.0), "4": (4.0, 8.0)}
    votes = [
        judged
        for n, (ref, (many, single)) in enumerate(crowd.items())
        for judged in (vote(None, ref, many, n=3), vote("bob", ref, single), vote("ann", ref, 2.0 + n))
    ]
    study = study_with(tmp_path / "s", small(*votes))
    (settled,) = truth(study).questions
    notes = reading.settlement_notes(study, settled.settlement_id)["annotators"]
    ((n, correlation),) = [(n, r) for name, n, r, *_ in notes if name == "ann"]
    assert n == 4 and correlation == pytest.approx(1.0)


def test_no_value_keeps_its_reason_and_a_rule_must_fit_the_scale(tmp_path: Path) -> None:
    votes = (vote("ann", "1", 0.0), vote("bob", "1", 1.0), vote("ann", "2", 1.0))
    study = study_with(tmp_path / "s", small(*votes, question=Question("alignment", "nominal", 0, 1, 1)))
    (settled,) = truth(study, rule="majority").questions
    assert (settled.items, settled.undecided) == (1, 1)
    assert truths(study) == [(None, 2, "the votes are tied"), (1.0, 1, None)]
    with pytest.raises(UsageError, match="the rule mean is not for nominal questions") as told:
        truth(study, rule="mean")
    assert "majority" in told.value.remedy and "mos" not in told.value.remedy


@pytest.mark.parametrize("asked", [
    Question("alignment", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}), Question("alignment", "nominal"),
])  # fmt: skip
def test_two_labels_give_the_proportion(tmp_path: Path, asked: Question) -> None:
    # Two people who disagree: half say yes. By majority the item had no value.
    votes = (vote("ann", "1", 0.0), vote("bob", "1", 1.0), vote("ann", "2", 1.0), vote("bob", "2", 1.0))
    study = study_with(tmp_path / "s", small(*votes, question=asked))
    (found,) = truth(study).questions
    assert found.rule.startswith("proportion") and (found.items, found.undecided) == (2, 0)
    assert [row[0] for row in truths(study)] == [0.5, 1.0]


def test_three_labels_and_pairs_of_images_give_the_majority(tmp_path: Path) -> None:
    votes = [vote(who, "1", value) for who, value in (("ann", 0.0), ("bob", 2.0), ("cat", 2.0))]
    asked = Question("alignment", "nominal", 0, 2, 1, {"0": "cat", "1": "dog", "2": "cow"})
    study = study_with(tmp_path / "s", small(*votes, question=asked))
    assert truth(study).questions[0].rule == "majority" and truths(study)[0][0] == 2.0
    key, first, second = PromptKey("s", "1"), ImageKey("a", "1"), ImageKey("b", "1")
    pair = [
        Judgement("better", Item(key, image=first, image_b=second), value, AnnotatorKey("panel", who))
        for who, value in (("ann", 0.0), ("bob", 1.0), ("cat", 1.0))
    ]
    records: list[Record] = [Question("better", "nominal", 0, 1, 1), Prompt(key, "prompt"), *pair]
    assert truth(study_with(tmp_path / "t", records)).questions[0].rule == "majority"


def test_whom_usual_screening_would_exclude_is_named_and_counts(tmp_path: Path) -> None:
    votes = [vote("idle", str(n), 5.0, took_ms=4000) for n in range(10)]
    votes += [vote("ann", str(n), float(n), took_ms=4000) for n in range(10)]
    votes += [vote("hasty", str(n), float(9 - n), took_ms=300) for n in range(10)]
    study = study_with(tmp_path / "s", small(*votes))
    result = truth(study)
    (found,) = result.questions
    assert found.annotators == 3 and not found.excluded
    assert [(each.annotator, each.rule) for each in found.suspects] == [
        ("hasty", "speed"), ("idle", "one_value")
    ]  # fmt: skip
    assert (
        "alignment: idle counts, but one_value would exclude them: gave 5 in all of 10 judgements. "
        "To exclude them, add one_value to [screening] rules in study.toml."
    ) in result.notes
    assert [row[0] for row in result.tables()["suspects"].rows] == ["hasty", "idle"]
    # In the rules of the settings they exclude; and no warning where the settings want none.
    other = study_with(tmp_path / "t", small(*votes), '[screening]\nrules = ["one_value"]\n')
    (found,) = truth(other).questions
    assert [each.annotator for each in found.excluded] == ["idle"]
    assert "idle" not in {each.annotator for each in found.suspects}
    silent = study_with(tmp_path / "u", small(*votes), "[screening]\nwarn = []\n")
    assert not truth(silent).questions[0].suspects


def test_what_only_the_excluded_judged_has_no_value(tmp_path: Path) -> None:
    votes = [vote("idle", str(n), 5.0) for n in range(10)]
    votes += [vote("ann", str(n), float(n)) for n in range(1, 10)]
    study = study_with(tmp_path / "s", small(*votes))
    (settled,) = truth(study, screening=["one_value"]).questions
    assert (settled.items, settled.undecided) == (9, 1)
    assert truths(study)[0] == (None, 0, "nobody judged it")
    alone = study_with(tmp_path / "t", small(*votes[:10]))
    with pytest.raises(DataError, match="every annotator is excluded"):
        truth(alone, screening=["one_value"])
    assert reading.settlements(alone).is_empty()


def test_rules_of_the_settings(tmp_path: Path) -> None:
    votes = small(vote("ann", "1", 2.0), vote("bob", "1", 3.0), vote("cat", "1", 10.0))
    study = study_with(tmp_path / "s", votes, '[truth]\nrule = "median"\n')
    assert truth(study).questions[0].rule == "median" and truths(study)[0][0] == 3.0
    each = study_with(tmp_path / "t", votes, "[truth]\nrule = { alignment = \"majority(ties='highest')\" }\n")
    assert truth(each).questions[0].rule == "majority(ties='highest')" and truths(each)[0][0] == 10.0


def test_nothing_to_settle(tmp_path: Path) -> None:
    study = study_with(tmp_path / "s", [ALIGNMENT, Prompt(PromptKey("s", "1"), "one")])
    with pytest.raises(DataError, match="nobody has judged 'alignment'"):
        truth(study, "alignment")
    with pytest.raises(DataError, match="no judgements to aggregate"):
        truth(study)
    with pytest.raises(UsageError, match="no question is called 'alignement'") as told:
        truth(study, "alignement")
    assert "alignment" in told.value.remedy
    assert reading.truths(study, "alignment").filter(pl.col("value").is_not_null()).is_empty()


def test_votes_off_the_scale_are_refused(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", small(vote("a", "1", 5.0), vote("b", "1", 999.0))) as study:
        with pytest.raises(DataError, match=r"off its scale 0 to 10, such as 999"):
            truth(study)
        assert truths(study) == []


def test_the_latest_of_single_anonymous_verdicts_counts_and_is_told(tmp_path: Path) -> None:
    # Item 1 was rated twice, 0 then 1; item 2 once. Of named people's repeats the first counts, or all.
    again = [vote(None, "1", 0.0), vote(None, "1", 1.0, repetition=1), vote(None, "2", 0.0)]
    with study_with(tmp_path / "s", small(*again)) as study:
        (found,) = truth(study, rule="mean").questions
        assert found.superseded == 1
        assert [value for value, _, _ in truths(study)] == [1.0, 0.0]
    named = [vote("a", "1", 0.0), vote("a", "1", 1.0, repetition=1)]
    with study_with(tmp_path / "t", small(*named)) as study:
        (found,) = truth(study, rule="mean").questions
        assert found.superseded == 0 and truths(study)[0][0] == 0.0
        for told, value in (("all", 0.5), ("last", 1.0), ("first", 0.0)):
            study.settings = {"truth": {"repeats": told}}
            truth(study, rule="mean")
            assert truths(study)[0][0] == value
        study.settings = {"truth": {"repeats": "often"}}
        with pytest.raises(UsageError, match="repeats = 'often'"):
            truth(study, rule="mean")


def test_published_truth_in_parts_does_not_vanish(tmp_path: Path) -> None:
    keys = [PromptKey("s", ref) for ref in "123"]
    first = [ALIGNMENT, *(Prompt(key, f"prompt {key.ref}") for key in keys)]
    first += [r.Truth("alignment", Item(keys[0]), 1.0), r.Truth("alignment", Item(keys[1]), 2.0)]
    with study_with(tmp_path / "s", first) as study:
        # Another publication, under a rule of its own, speaks of other things; what both speak of, the newer.
        more(study, "b", [r.Truth("alignment", Item(keys[1]), 5.0, rule="theirs")])
        more(study, "c", [r.Truth("alignment", Item(keys[2]), 3.0, rule="theirs")])
        assert [value for value, _, _ in truths(study)] == [1.0, 5.0, 3.0]
        # What is settled here goes before what was published, and leaves the rest alone.
        more(study, "d", [vote("a", "1", 9.0)])
        truth(study)
        assert [value for value, _, _ in truths(study)] == [9.0, 5.0, 3.0]


def test_votes_that_come_in_while_settling_count_as_newer(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", small(vote("a", "1", 1.0))) as study:
        votes, _, _ = reading.votes(study, "alignment")
        more(study, "late", [vote("b", "1", 2.0)])
        key, _ = reading.question(study, "alignment")
        settling.settle(study, key, "mean", "", [(1, 1.0, None, None, 1, None)], votes.up_to)
        assert reading.settlements(study)["newer_votes"].to_list() == [1]


def test_a_rule_that_needs_controls_is_refused_without_them(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", small(vote("a", "1", 1.0))) as study:
        with pytest.raises(UsageError, match="needs control items"):
            truth(study, "alignment", screening=["control_kappa"])
        # Where all questions are settled, those without controls do without, and say so.
        (found,) = truth(study, screening=["control_kappa"]).questions
        assert found.skipped_rules == ["control_kappa"] and found.items == 1


def test_people_of_the_same_name_in_two_panels_stay_two(tmp_path: Path) -> None:
    records = small(vote("1", "1", 1.0), vote("1", "2", 5.0))
    for judged in [vote("1", "1", 5.0), vote("1", "2", 1.0)]:
        records.append(judged._replace(annotator=AnnotatorKey("crowd", "1")))
    with study_with(tmp_path / "s", records) as study:
        (found,) = truth(study, rule="mean").questions
        notes = reading.settlement_notes(study, found.settlement_id)
        assert [(name, n) for name, n, *_ in notes["annotators"]] == [("crowd/1", 2), ("panel/1", 2)]
