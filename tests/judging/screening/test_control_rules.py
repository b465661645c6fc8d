"""Rules that look at control items: by hand, at their limits, and on planted spammers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

from sightline.errors import UsageError
from sightline.records import Question, Votes

Tabled = Callable[..., Votes]
Excluded = Callable[..., dict[str, str]]

TRUTH = [1.0, 0, 1, 0, 1, 0, 1, 0, 1, 0]
HALF = [1.0, 0, 1, 0, 1, 1, 0, 1, 0, 1]


def vouched(by: str, answers: list[float], kind: str = "annotator") -> list[tuple[int, float, str, str]]:
    return [(item, answer, kind, by) for item, answer in enumerate(answers)]


def test_kappa_counts_against_each_control_annotator(excluded: Excluded) -> None:
    # eve errs on two of ten; ivo on two others. Who says the truth has kappa .6 with both, who says what eve
    # says has 1 with her and .2 with ivo: 6 of 10 alike with even shares is (.6 - .5) / .5.
    eve = [0.0, 1, *TRUTH[2:]]
    ivo = [*TRUTH[:8], 0.0, 1.0]
    controls = vouched("eve", eve) + vouched("ivo", ivo)
    votes = [TRUTH, eve, HALF]
    assert cohen_kappa_score(TRUTH, ivo) == pytest.approx(0.6)
    assert cohen_kappa_score(eve, ivo) == pytest.approx(0.2)
    assert excluded("control_kappa", votes, controls) == {
        "a1": "kappa with ivo 0.20 over 10 items, not above 0.4",
        "a2": f"kappa with eve {cohen_kappa_score(HALF, eve):.2f} over 10 items, not above 0.4",
    }
    # HALF has -.4 with eve and .4 with ivo, which is not above .4.
    assert excluded('control_kappa(against="best")', votes, controls) == {
        "a2": "best kappa with ivo 0.40 over 10 items, not above 0.4"
    }
    assert excluded('control_kappa(against="best", above=0.39)', votes, controls) == {}


def test_control_annotators_are_never_excluded(excluded: Excluded) -> None:
    wrong = [1 - value for value in TRUTH]
    votes = [wrong, wrong]
    controls = vouched("a0", TRUTH) + vouched("panel/other", TRUTH)
    assert set(excluded("control_kappa", votes, controls)) == {"a1"}
    assert set(excluded("failed_controls", votes, controls)) == {"a1"}
    assert set(excluded("control_f1", votes, controls)) == {"a1"}
    named_with_panel = vouched("panel/a1", TRUTH)
    assert set(excluded("control_kappa", votes, named_with_panel)) == {"a0"}


def test_known_answers_count_only_where_nobody_vouches(excluded: Excluded) -> None:
    wrong = [1 - value for value in TRUTH]
    votes = [wrong]
    known = vouched("known", TRUTH, "known")
    assert excluded("control_kappa", votes, known) == {
        "a0": "kappa with the control answers -1.00 over 10 items, not above 0.4"
    }
    assert excluded("control_kappa", votes, known + vouched("eve", wrong)) == {}
    assert excluded("control_kappa", votes, vouched("reference", TRUTH, "reference")) == {}


def test_kappa_needs_enough_common_items(excluded: Excluded) -> None:
    few = [1 - value for value in TRUTH[:4]] + [np.nan] * 6
    votes = [few]
    assert excluded("control_kappa", votes, vouched("eve", TRUTH)) == {}
    assert set(excluded("control_kappa(least=4)", votes, vouched("eve", TRUTH))) == {"a0"}
    with pytest.raises(UsageError, match='"each" or "best"'):
        excluded('control_kappa(against="all")', votes, None)


def test_kappa_of_few_answers_by_hand(excluded: Excluded) -> None:
    known = vouched("known", [1.0, 0, 1, 0], "known")
    # Right on all: kappa 1. Right on two of four with even shares: observed 1/2, chance 1/2, kappa 0.
    votes = [[1, 0, 1, 0, 1], [1, 1, 0, 0, 1], [1, np.nan, np.nan, np.nan, 1]]
    assert excluded("control_kappa(least=4)", votes, known) == {
        "a1": "kappa with the control answers 0.00 over 4 items, not above 0.4"
    }
    # Answers without variety are right if all are.
    assert excluded("control_kappa(least=2)", [[1, 1], [1, 0]], vouched("k", [1.0, 1], "known")).keys() == {
        "a1"
    }
    near = [[0.6, 0.4, 1.4, -0.5]]
    assert excluded("control_kappa(least=4)", near, known, tolerance=0.5) == {}
    assert "a0" in excluded("control_kappa(least=4)", near, known)


def test_reference_photos_must_be_seen_as_such(tabled: Callable[..., Votes], excluded: Excluded) -> None:
    # 20 photos: 19 of 20 are 95 %, which is not more.
    question = Question("q", "ordinal", -1, 2, 1)
    careful, slip = [2.0] * 20, [2.0] * 19 + [1.0]
    votes = tabled([careful, slip, [2.0] * 8 + [0.0] + [np.nan] * 11], question=question)
    controls = vouched("reference", [2.0] * 20, "reference")
    told = {"a1": "19 of 20 reference photos at the top value (95.0%), not above 0.95"}
    assert excluded("reference_photos", votes, controls) == told
    unknown = vouched("reference", [float("nan")] * 20, "reference")
    assert excluded("reference_photos", votes, unknown) == told, "the top of the scale is meant"
    assert set(excluded("reference_photos(least=9)", votes, controls)) == {"a1", "a2"}
    assert excluded("reference_photos(above=0.94)", votes, controls) == {}
    assert excluded("reference_photos", votes, vouched("known", [2.0] * 20, "known")) == {}


def test_f1_on_relevant_control_images(excluded: Excluded) -> None:
    relevant = [1.0] * 5 + [0.0] * 5
    # Finds one of five and calls two others so: F1 = 2 / (5 + 3) = .25.
    poor = [1.0, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    # Two of five, none wrongly: 4 / (5 + 2) = .57.
    strict = [1.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    votes = [relevant, poor, strict, [0.0] * 4 + [np.nan] * 6]
    controls = vouched("known", relevant, "known")
    assert f1_score(relevant, poor) == pytest.approx(0.25)
    assert excluded("control_f1", votes, controls) == {
        "a1": "F1 0.25 on control images (1 of 5 relevant ones found, 2 wrongly called so), below 0.4"
    }
    assert set(excluded("control_f1(below=0.58)", votes, controls)) == {"a1", "a2"}
    # Relevant if either says so: with bob's answers the images 5 and 6 are relevant as well, F1 6 / (7 + 3).
    bob = [*controls, (5, 1.0, "annotator", "bob"), (6, 1.0, "annotator", "bob")]
    assert "a1" not in excluded("control_f1", votes, bob)
    assert f1_score([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], poor) == pytest.approx(0.6)
    # At a level of 2 nothing here is relevant: no ground.
    assert excluded("control_f1(min_rel=2)", votes, controls) == {}


def test_one_failed_attention_check_is_enough(excluded: Excluded) -> None:
    votes = [[5.0, 5, 1], [5.0, 1, 1], [1.0, 1, np.nan], [4.5, 5, 3]]
    controls = vouched("attention", [5.0, 5.0], "attention")
    assert excluded("attention", votes, controls) == {
        "a1": "failed 1 of 2 attention checks, 0 allowed",
        "a2": "failed 2 of 2 attention checks, 0 allowed",
        "a3": "failed 1 of 2 attention checks, 0 allowed",
    }
    assert set(excluded("attention(allowed=1)", votes, controls)) == {"a2"}
    assert excluded("attention(least=3)", votes, controls) == {}
    assert set(excluded("attention", votes, controls[:1], 0.5)) == {"a2"}
    assert excluded("attention", votes, vouched("known", [5.0], "known")) == {}


def test_seventy_per_cent_failed_controls_are_too_many(excluded: Excluded) -> None:
    right = [0.0] * 10
    votes = [[1.0] * 7 + [0.0] * 3, [1.0] * 6 + [0.0] * 4, [1.0, 1.0] + [np.nan] * 8, right]
    controls = vouched("known", right, "known")
    assert excluded("failed_controls", votes, controls) == {
        "a0": "failed 7 of 10 control tasks (70%), limit 0.7"
    }
    assert set(excluded("failed_controls(least=2)", votes, controls)) == {"a0", "a2"}
    assert set(excluded("failed_controls(share=0.6)", votes, controls)) == {"a0", "a1"}
    assert excluded("failed_controls(share=0)", [right], controls) == {}
    # An answer that anybody vouches for passes.
    both = controls + vouched("eve", [1.0] * 10)
    assert excluded("failed_controls", votes, both) == {}


@pytest.mark.parametrize(
    "rule", ["control_kappa", "reference_photos", "control_f1", "attention", "failed_controls"]
)
def test_without_controls_nobody_is_excluded(rule: str, excluded: Excluded) -> None:
    assert excluded(rule, [TRUTH], None) == {} and excluded(rule, [TRUTH], []) == {}


# What planted spammers answer: at random on the scale, always the same, or the reverse.
SPAM: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "random": lambda rng, right: rng.integers(0, 3, right.shape).astype(float),
    "reverse": lambda rng, right: 2 - right,
}


@pytest.mark.parametrize("spam", SPAM)
@pytest.mark.parametrize(
    ("rule", "kind", "found", "kept"),
    [
        ("control_kappa", "annotator", 0.99, 0.99),
        ("reference_photos", "reference", 0.99, 0.85),
        ("control_f1(min_rel=2)", "known", 0.5, 0.99),
        ("attention(allowed=3)", "attention", 0.99, 0.97),
        ("failed_controls(share=0.5)", "known", 0.9, 0.99),
    ],
)
def test_planted_spammers_are_found_and_honest_people_kept(
    rule: str, kind: str, found: float, kept: float, spam: str, excluded: Excluded
) -> None:
    """40 control items of values 0, 1, 2; honest people are right on 97 % of them and guess the rest.

    `found` and `kept` are the least shares, over 20 panels of 30 honest people and 10 spammers. Guessing
    gives kappa 0, one third of photos at the top, F1 of 1/3 on a third of the items (which half of the time
    is above the limit of .4, or nearly), and two thirds of the controls failed. Photos allow one slip of 40,
    and with 1 % wrong top values honest people make two or more in 6 % of the cases.
    """
    caught = stayed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right = np.full(40, 2.0) if kind == "reference" else rng.integers(0, 3, 40).astype(float)
        guesses = rng.integers(0, 3, (30, 40))
        share = 0.985 if kind == "reference" else 0.97
        honest = np.where(rng.random((30, 40)) < share, right, guesses)
        table = np.vstack([honest, *(SPAM[spam](rng, right) for _ in range(10))])
        who = excluded(rule, table, vouched("eve", right.tolist(), kind))
        caught += sum(int(name[1:]) >= 30 for name in who)
        stayed += 30 - sum(int(name[1:]) < 30 for name in who)
    assert caught >= found * 200, f"{caught} of 200 spammers found"
    assert stayed >= kept * 600, f"{stayed} of 600 honest people kept"
