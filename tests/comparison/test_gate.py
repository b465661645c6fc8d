"""The gate: no more false alarms than promised, regressions are found, and inconclusive is no pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from sightline.comparison.gate import GateResult, gate
from sightline.comparison.gate_classes import classes_of
from sightline.comparison.gate_tests import class_tests
from sightline.errors import DataError, UsageError
from sightline.estimate import Estimate
from sightline.measures.score import score
from sightline.prediction.model import Prediction
from sightline.prediction.predict import Predictions
from sightline.records import Answer, ImageKey, Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.selection import difficulty as select_difficulty
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

PROMPTS = 40


def column(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float64).reshape(-1, 1)


def in_classes(differences: np.ndarray, classes: list[slice]) -> np.ndarray:
    found = np.full((len(differences), len(classes)), np.nan)
    for number, rows in enumerate(classes):
        found[rows, number] = differences[rows]
    return found


def test_the_exact_p_of_ten_falls() -> None:
    (found,) = class_tests(column(-np.ones(10)), [0], 0.05)
    # One of the 2^10 sign patterns is as low.
    assert found.p == found.p_holm == 1 / 1024 and found.verdict == "regressed"
    two = class_tests(np.column_stack([-np.ones(10), np.zeros(10)]), [0, 0], 0.05)
    assert [each.p_holm for each in two] == [2 / 1024, 1.0]
    assert [each.verdict for each in two] == ["regressed", "passed"]


def test_the_p_is_that_of_scipy() -> None:
    values = np.array([-3.0, 1.5, -0.5, -2.0, 0.25, -1.0, -4.0, 2.0, -0.125])
    independent = permutation_test(
        (values,), np.mean, permutation_type="samples", alternative="less", n_resamples=np.inf
    )
    (found,) = class_tests(column(values), [0], 0.05, min_prompts=2)
    assert found.p == pytest.approx(independent.pvalue)
    (shifted,) = class_tests(column(values - 0.5), [0.5], 0.05, min_prompts=2)
    assert shifted.p == pytest.approx(independent.pvalue), "the margin only moves what is tested"


def test_too_few_prompts_are_no_pass() -> None:
    # Even if all fell, 4 prompts reach 1/16 = .0625 and 5 reach 1/32 = .031; of two classes twice that.
    (four,) = class_tests(column(-np.ones(4)), [0], 0.05, min_prompts=2)
    assert four.verdict == "inconclusive" and "below 0.062" in four.reason
    (five,) = class_tests(column(-np.ones(5)), [0], 0.05, min_prompts=2)
    assert five.verdict == "regressed"
    (five_alike,) = class_tests(column(np.zeros(5)), [0], 0.05, min_prompts=2)
    assert five_alike.verdict == "passed"
    twice = class_tests(column(-np.ones(5)).repeat(2, axis=1), [0, 0], 0.05, min_prompts=2)
    assert [each.verdict for each in twice] == ["inconclusive"] * 2
    (nine,) = class_tests(column(-np.ones(9)), [0], 0.05)
    assert nine.verdict == "inconclusive" and nine.p is None and "fewer than 10" in nine.reason
    (none,) = class_tests(column(np.full(9, np.nan)), [0], 0.05)
    assert none.verdict == "inconclusive" and none.difference.value is None


def test_untested_classes_cost_the_others_nothing() -> None:
    both = np.column_stack([-np.ones(10), np.r_[-1.0, np.full(9, np.nan)]])
    assert [each.p_holm for each in class_tests(both, [0, 0], 0.05)] == [1 / 1024, None]


@pytest.mark.slow
def test_false_alarms_over_all_classes_are_as_rare_as_promised() -> None:
    # Nothing changed: both systems draw from the same law, on prompts of different difficulty. Two measures
    # that agree, all prompts, overlapping halves and a small class with exact tests.
    rng = np.random.default_rng(5)
    classes = [slice(0, 60), slice(0, 30), slice(20, 60), slice(50, 60)]
    alarms, runs, alpha = 0, 400, 0.05
    for seed in range(runs):
        hard = rng.exponential(1, 60)
        old, new = (np.round(2 * hard + hard * rng.standard_t(3, 60)) for _ in range(2))
        first = new - old
        second = first + rng.normal(0, 1, 60) - rng.normal(0, 1, 60)
        table = np.hstack([in_classes(first, classes), in_classes(second, classes)])
        found = class_tests(table, [0] * 8, alpha, seed=seed)
        assert all(each.verdict != "inconclusive" for each in found)
        alarms += any(each.verdict == "regressed" for each in found)
    # Three standard errors above the promise: sqrt(.05 .95 / 400) = .011.
    assert alarms / runs <= alpha + 0.033
    assert alarms > 0, "a test that never alarms is not at its level"


def test_a_regression_of_the_detectable_size_is_found_four_times_out_of_five() -> None:
    rng = np.random.default_rng(6)
    runs, found, sizes = 400, 0, []
    (size,) = class_tests(column(np.tile([-1.0, 1.0], 20)), [0], 0.05)
    # The spread of these is sqrt(40/39); of those drawn below 1.
    fall = size.detectable / np.sqrt(40 / 39)
    # One-sided normal power: (z.95 + z.8) / sqrt(40) = 2.486 / 6.325 = .393, a little more by Student's t.
    assert fall == pytest.approx(0.40, abs=0.03)
    for seed in range(runs):
        (ruling,) = class_tests(column(rng.normal(-fall, 1, 40)), [0], 0.05, seed=seed)
        found += ruling.verdict == "regressed"
        sizes.append(ruling.detectable)
    # Three standard errors are 3 sqrt(.8 .2 / 400) = .06.
    assert found / runs == pytest.approx(0.8, abs=0.06)
    assert np.mean(sizes) == pytest.approx(fall, rel=0.1)


def test_a_regression_in_one_class_is_found_there() -> None:
    rng = np.random.default_rng(7)
    classes = [slice(0, 30), slice(30, 60), slice(60, 90), slice(90, 120)]
    fell, elsewhere = 0, 0
    for seed in range(150):
        differences = rng.normal(0, 1, 120)
        differences[:30] -= 1
        here, *others = class_tests(in_classes(differences, classes), [0] * 4, 0.05, seed=seed)
        fell += here.verdict == "regressed"
        elsewhere += any(each.verdict == "regressed" for each in others)
    # t of a fall of one standard deviation over 30 is 5.5: hardly ever missed at .05 / 4.
    assert fell >= 145
    assert elsewhere / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_a_regression_as_large_as_the_margin_neither_passes_nor_fails() -> None:
    rng = np.random.default_rng(8)
    verdicts = []
    for seed in range(400):
        (found,) = class_tests(column(rng.normal(-0.5, 1, 50)), [0.5], 0.05, seed=seed)
        verdicts.append(found.verdict)
    for wrong in ("passed", "regressed"):
        assert verdicts.count(wrong) / 400 <= 0.05 + 0.033
    assert verdicts.count("inconclusive") > 340


def test_with_a_margin_a_pass_must_be_shown() -> None:
    rng = np.random.default_rng(9)
    many, few = rng.normal(0, 1, 400), rng.normal(0, 1, 12)
    (shown,) = class_tests(column(many), [0.5], 0.05)
    assert shown.verdict == "passed" and shown.p_within is not None and shown.p_within < 0.05
    (open_,) = class_tests(column(few - few.mean() - 0.3), [0.5], 0.05)
    assert open_.verdict == "inconclusive" and "neither shown nor ruled out" in open_.reason
    (without,) = class_tests(column(few - few.mean() - 0.3), [0], 0.05)
    assert without.verdict == "passed" and without.p_within is None
    # The limits of the interval are those that one-sided tests at alpha leave open.
    assert shown.difference.low == pytest.approx(many.mean() - 1.6486 * many.std(ddof=1) / 20, abs=1e-4)


values = st.lists(st.integers(-8, 8), min_size=10, max_size=14)


@given(values, st.integers(0, 4), st.sampled_from([0.0, 0.5, 2.0]))
def test_better_values_never_do_worse(drawn: list[int], more: int, margin: float) -> None:
    order = {"regressed": 0, "inconclusive": 1, "passed": 2}
    before, after = (class_tests(column(np.array(drawn) + rise), [margin], 0.05)[0] for rise in (0, more))
    assert before.p is not None and after.p is not None and after.p >= before.p - 1e-12
    assert order[after.verdict] >= order[before.verdict]


@given(values, st.sampled_from([0.0, 1.0]), st.sampled_from([0.125, 4.0]))
def test_the_unit_does_not_matter(drawn: list[int], margin: float, unit: float) -> None:
    (plain,) = class_tests(column(drawn), [margin], 0.05)
    (scaled,) = class_tests(column(unit * np.array(drawn)), [unit * margin], 0.05)
    assert (plain.verdict, plain.p, plain.p_within) == (scaled.verdict, scaled.p, scaled.p_within)
    if plain.detectable is not None:
        assert scaled.detectable == pytest.approx(unit * plain.detectable)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """40 prompts, two images each: `worse` loses a point on the 12 counting ones, `late` answers 30 prompts.

    Otherwise all lie 0.2 above or below base in turn, in each class as often. The two images of an answer are
    half a point above and below its value. Effort is better where lower, and colour has no better end.
    """
    rng = np.random.default_rng(1)
    directions = {"alignment": "higher", "effort": "lower", "colour": "none"}
    records: list[Record] = [
        Question(name, "interval", -9, 9, 0.5, direction=way) for name, way in directions.items()
    ]
    for n in range(PROMPTS):
        counting = n < 12
        key = PromptKey("first" if n < 20 else "second", str(n))
        tags = {"skill": "counting" if counting else "other", "split": "train", "number": str(n)}
        records.append(Prompt(key, f"{n} things", tags))
        level = rng.normal(0, 1)
        for system in ("base", "same", "worse", "late"):
            if system == "late" and n >= 30:
                continue
            apart = 0.0 if system == "base" else 0.2 * (-1) ** n
            value = level + apart - (system == "worse" and counting)
            for image in range(2):
                name = ImageKey("c", f"{system}-{n}-{image}")
                records.append(Answer(key, system, image, name))
                truths = {"alignment": value + image - 0.5, "effort": -value, "colour": value}
                records += [Truth(by, Item(key, image=name), float(said)) for by, said in truths.items()]
    with create_study(tmp_path_factory.mktemp("gate") / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        yield made


def verdicts_of(found: GateResult) -> dict[str, str]:
    return {row.group: row.test.verdict for row in found.rows}


def test_a_regression_on_a_class(study: Study) -> None:
    found = gate(study, "worse", "base", "alignment", classes=["skill=counting"])
    (row,) = found.rows
    assert found.verdict == "regressed" and row.prompts == 12
    assert row.test.difference.value == pytest.approx(row.new - row.baseline)
    assert row.test.difference.value == pytest.approx(-1)
    assert found.sentence.startswith("worse is worse than base: by alignment on skill=counting (")
    same = gate(study, "same", "base", "alignment", classes=["skill=counting"])
    assert same.verdict == "passed"
    said = "same is not significantly worse than base by alignment on skill=counting. A true regression of"
    assert said in same.sentence


def test_less_is_better_where_the_question_says_so(study: Study) -> None:
    up, down = (gate(study, "worse", "base", name, classes=["counting"]) for name in ("alignment", "effort"))
    assert up.verdict == down.verdict == "regressed"
    first, second = up.rows[0].test, down.rows[0].test
    assert first.p == second.p and first.detectable == pytest.approx(second.detectable)
    assert second.difference.value == pytest.approx(-first.difference.value)
    limits = (-first.difference.high, -first.difference.low)
    assert (second.difference.low, second.difference.high) == pytest.approx(limits)
    assert gate(study, "base", "worse", "effort", classes=["counting"]).verdict == "passed"


def test_every_class_of_the_study(study: Study) -> None:
    found = gate(study, "worse", "base", "alignment", all_classes=True)
    verdicts = verdicts_of(found)
    assert list(verdicts) == ["all prompts", "skill=counting", "skill=other"], "no split, no names of things"
    assert verdicts["skill=counting"] == "regressed" and verdicts["skill=other"] == "passed"
    assert "No classes are made of number" in found.notes[0]
    p = [row.test.p for row in found.rows]
    assert max(row.test.p_holm or 0 for row in found.rows) >= max(each or 0 for each in p)
    assert found == gate(study, "worse", "base", "alignment", all_classes=True)


def test_classes_nobody_named_may_be_too_small(study: Study) -> None:
    found = gate(study, "same", "base", "alignment", classes=["skill"], min_prompts=20)
    assert verdicts_of(found) == {"skill=counting": "inconclusive", "skill=other": "passed"}
    assert found.verdict == "passed" and "Inconclusive: alignment on skill=counting." in found.sentence
    named = gate(
        study, "same", "base", "alignment", classes=["skill=counting", "skill=other"], min_prompts=20
    )
    assert named.verdict == "inconclusive"
    assert "alignment on skill=counting (12 prompts in common, fewer than 20)" in named.sentence
    assert (
        gate(study, "same", "base", "alignment", classes=["skill"], min_prompts=30).verdict == "inconclusive"
    )
    # A regression elsewhere counts, whatever else is inconclusive.
    assert gate(study, "worse", "base", classes=["skill"], min_prompts=12).verdict == "regressed"


def test_what_words_mean_as_classes(study: Study) -> None:
    def names(*words: str) -> dict[str, int]:
        return {each.name: len(each.prompts) for each in classes_of(study, words).classes}

    assert names() == {"all prompts": 40}
    assert names("counting") == names("skill=counting") == {"skill=counting": 12}
    assert names("skill") == {"skill=counting": 12, "skill=other": 28}
    assert names("suite=second") == names("second") == {"suite=second": 20}
    assert names("counting", "skill") == {"skill=counting": 12, "skill=other": 28}
    found = {each.name: each.named for each in classes_of(study, ["skill", "skill=counting"]).classes}
    assert found == {"skill=counting": True, "skill=other": False}


def test_prompts_that_only_one_has_are_noted(study: Study) -> None:
    found = gate(study, "late", "base", "alignment")
    assert found.verdict == "passed" and found.rows[0].prompts == 30 and found.rows[0].missing == 10
    assert found.notes[0] == "late has no alignment on 10 of base's 40 prompts: excluded."
    strict = gate(study, "late", "base", "alignment", complete=True)
    assert strict.verdict == "inconclusive" and "late has no value on 10 prompts" in strict.sentence
    assert gate(study, "base", "late", "alignment", complete=True).verdict == "passed"
    assert gate(study, "worse", "base", classes=["counting"], complete=True).verdict == "regressed"


def test_several_questions_share_the_correction(study: Study) -> None:
    alone = gate(study, "worse", "base", "alignment", classes=["counting"])
    both = gate(study, "worse", "base", ["alignment", "effort", "alignment"], classes=["counting"])
    assert [row.by for row in both.rows] == ["alignment", "effort"]
    assert sum("90 % intervals are over prompts" in note for note in both.notes) == 1
    assert both.rows[0].test.p == alone.rows[0].test.p
    assert both.rows[0].test.p_holm == pytest.approx(2 * (alone.rows[0].test.p or 0))


def test_margins(study: Study) -> None:
    wide = gate(study, "worse", "base", "alignment", classes=["counting"], margin=3)
    assert wide.verdict == "passed"
    assert "is not worse than base by more than 3, shown by alignment" in wide.sentence
    each = gate(
        study, "worse", "base", ["alignment", "effort"], classes=["counting"], margin={"alignment": 3}
    )
    assert [row.test.verdict for row in each.rows] == ["passed", "regressed"]
    shown = {column.name for column in each.table().for_people.columns}
    assert "p_within" in shown and wide.rows[0].test.p_within in wide.table().rows[0]
    without = gate(study, "worse", "base", "alignment", classes=["counting"])
    assert "p_within" not in {column.name for column in without.table().for_people.columns}
    near = gate(study, "worse", "base", "alignment", classes=["counting"], margin=1.0)
    assert near.verdict == "inconclusive"


def test_few_prompts_cannot_rule_out_rare_failures(study: Study) -> None:
    """Of 12 prompts none shows a failure that hits 15 % of prompts with probability .85^12 = .14."""
    found = gate(study, "worse", "base", "alignment", classes=["counting"], margin=1.5)
    assert found.verdict == "inconclusive" and "rare failures" in found.rows[0].test.reason


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"new": "bse"}, "Did you mean base"),
        ({"baseline": "worse"}, "cannot be worse than itself"),
        ({"by": "colour"}, "colour has no direction"),
        ({"by": "alignmnt"}, "alignment"),
        ({"alpha": 0.0}, "Above 0"),
        ({"alpha": 0.5}, "at most 0.25"),
        ({"min_prompts": 1}, "2 or more"),
        ({"margin": -1.0}, "0 or more"),
        ({"margin": float("nan")}, "0 or more"),
        ({"margin": {"effort": 1.0}}, "not in --by"),
        ({"classes": ["skil"]}, "Did you mean skill"),
        ({"classes": ["skill=countng"]}, "Did you mean counting"),
        ({"classes": ["suite=frst"]}, "Did you mean first"),
        ({"classes": ["difficulty:hrd"]}, "Did you mean hard"),
    ],
)
def test_wrong_calls_are_refused(study: Study, wrong: dict[str, object], said: str) -> None:
    call = {"new": "worse", "baseline": "base", "by": "alignment", **wrong}
    with pytest.raises(UsageError) as error:
        gate(study, **call)  # type: ignore[arg-type]
    assert said in str(error.value)


def test_a_value_of_two_tags_must_be_told_apart(tmp_path: Path) -> None:
    records = [
        Prompt(PromptKey("s", "1"), "a", {"skill": "both"}),
        Prompt(PromptKey("both", "2"), "b", {"kind": "both"}),
    ]
    with create_study(tmp_path / "s") as made:
        load(made, records, importer="test", path="test", digest="1")
        with pytest.raises(UsageError, match="kind=both or skill=both or suite=both"):
            classes_of(made, ["both"])


def test_thirds_by_difficulty(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first prompts are the hardest, and of the last nothing is said: thirds of 39 are 13 each.
    def predict(prompts: Sequence[str], *, tier: str | None = None, explain: bool = True) -> Predictions:
        numbers = [int(text.split()[0]) for text in prompts]
        predicted = [
            Prediction(text, {"hbpp": Estimate(n / 40, -1, 2)})
            if n < 39
            else Prediction(text, refused="too long")
            for text, n in zip(prompts, numbers, strict=True)
        ]
        return Predictions(tier or "medium", "", 0.9, predicted)

    monkeypatch.setattr(select_difficulty, "predict_prompts", predict)
    found = gate(study, "worse", "base", "alignment", classes=["difficulty"])
    assert verdicts_of(found) == {
        "difficulty:hard": "regressed",
        "difficulty:middle": "passed",
        "difficulty:easy": "passed",
    }
    assert [row.prompts for row in found.rows] == [13, 13, 13]
    # 12 of the 13 hardest are counting prompts, on which it loses a point.
    assert found.rows[0].test.difference.value == pytest.approx(-12 / 13, abs=0.02)
    assert "medium" in found.notes[0] and "thirds of 39 prompts" in found.notes[0]
    assert found.notes[1] == "1 prompts have no predicted difficulty: 1 refused (too long)."
    small = gate(study, "worse", "base", "alignment", classes=["difficulty:hard"], tier="small")
    assert "small" in small.notes[0] and [row.named for row in small.rows] == [True]


def test_thirds_by_the_predictor_that_ships(study: Study) -> None:
    words = ["difficulty", "difficulty:easy"]
    found = classes_of(study, words, tier="small", kind="generator").classes
    assert [each.name for each in found] == ["difficulty:hard", "difficulty:middle", "difficulty:easy"]
    assert [each.named for each in found] == [False, False, True]
    assert sorted(len(each.prompts) for each in found) == [13, 13, 14]
    assert len(frozenset().union(*(each.prompts for each in found))) == PROMPTS
    assert found == classes_of(study, words, tier="small", kind="generator").classes


def test_a_tag_of_that_name_goes_before_the_prediction(tmp_path: Path) -> None:
    records = [Prompt(PromptKey("s", "1"), "a", {"difficulty": "hard"}), Prompt(PromptKey("s", "2"), "b")]
    with create_study(tmp_path / "s") as made:
        load(made, records, importer="test", path="test", digest="1")
        for word in ("difficulty", "difficulty=hard"):
            (found,) = classes_of(made, [word]).classes
            assert found.name == "difficulty=hard" and len(found.prompts) == 1


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """24 queries: `oracle` has the image first, `words` second; a third engine finds what nobody judged."""
    records: list[Record] = [Question("relevance", "ordinal", 0, 1, 1)]
    records += [System(name, "retriever", "c") for name in ("words", "oracle", "silent")]
    for n in range(24):
        key = PromptKey("q", str(n))
        records.append(Prompt(key, f"query {n}"))
        records.append(Truth("relevance", Item(key, image=ImageKey("c", f"hit{n}")), 1.0))
        records.append(Truth("relevance", Item(key, image=ImageKey("c", f"miss{n}")), 0.0))
        for place, name in enumerate((f"miss{n}", f"hit{n}")):
            records.append(Answer(key, "words", place, ImageKey("c", name)))
        records.append(Answer(key, "oracle", 0, ImageKey("c", f"hit{n}")))
        records.append(Answer(key, "silent", 0, ImageKey("c", f"unknown{n}")))
    with create_study(tmp_path_factory.mktemp("engines") / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        score(made, ["reciprocal_rank"])
        yield made


def test_search_engines_by_their_rankings(engines: Study) -> None:
    found = gate(engines, "words", "oracle", "reciprocal_rank")
    (row,) = found.rows
    assert found.verdict == "regressed" and (row.baseline, row.new) == (1.0, 0.5)
    assert gate(engines, "oracle", "words").verdict == "passed", "the one measure with scores is the default"
    assert found.notes == [], "what a third engine does is not said"
    unknown = gate(engines, "silent", "oracle", "reciprocal_rank")
    assert unknown.verdict == "regressed"
    assert any("silent: 24 of the 24 images" in note and "unjudged" in note for note in unknown.notes)


def test_a_system_without_values_is_refused(tmp_path: Path) -> None:
    records: list[Record] = [Question("alignment", "interval", 0, 9, 1)]
    for n in range(12):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"prompt {n}"))
        for system in ("old", "new"):
            records.append(Answer(key, system, 0, ImageKey("c", f"{system}{n}")))
        records.append(Truth("alignment", Item(key, image=ImageKey("c", f"old{n}")), 1.0))
    with create_study(tmp_path / "s") as made:
        load(made, records, importer="test", path="test", digest="1")
        with pytest.raises(DataError, match="new has no value of alignment"):
            gate(made, "new", "old")
