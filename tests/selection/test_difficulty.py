"""Selecting by difficulty: the hard, the easy, or what nobody is sure of, spread over what prompts say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies import put, study_of

import sightline
from sightline.encoders.choice import encoder_of
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.estimate import Estimate
from sightline.prediction.model import Prediction
from sightline.prediction.predict import Predictions
from sightline.records import Answer, ImageKey, Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.selection import difficulty as select_difficulty
from sightline.selection.difficulty import SHARE, among, priorities, target_of
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing import settling

N = 40
KINDS = ("dog in a park", "train at night", "cup of tea", "old stone bridge")


def make(path: Path, judged: int = 10, direction: str = "higher", kind: str = "generator") -> Study:
    """40 prompts of four kinds; the first ten have a truth of ease."""
    records: list[Record] = [Question("ease", "interval", 0, 40, 1, direction=direction)]
    records.append(System("it", kind, "c" if kind == "retriever" else ""))
    for n in range(N):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"{KINDS[n % 4]} {n}"))
        records.append(Answer(key, "it", 0, ImageKey("c", str(n))))
        if n < judged:
            records.append(Truth("ease", Item(key), float(n)))
    return study_of(path, records)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with make(tmp_path / "study") as made:
        yield made


def keep(
    study: Study, spec: str, values: Sequence[float], width: Sequence[float] | float = 1.0, first: int = 0
) -> None:
    """Predictions of ease for the prompts from the first on."""
    settlement = reading.newest_settlement(study, "ease")
    assert settlement is not None
    keys = reading.prompts(study)["prompt_id"].to_list()[first:]
    widths = np.broadcast_to(np.asarray(width, dtype=float), len(values)).tolist()
    rows = [
        (key, 0, 0, 0, float(value), float(value) - half, float(value) + half, None)
        for key, value, half in zip(keys, values, widths, strict=False)
    ]
    settling.keep_predictions(study, spec, settlement, "5-fold", spec * 8, 0, rows)


def numbers(found: object) -> list[int]:
    return [int(ref) for ref in found.refs]  # type: ignore[attr-defined]


def pool(n: int, candidates: int) -> int:
    return n + int(SHARE * (candidates - n))


def test_the_hard_ones_of_those_without_truth(study: Study) -> None:
    keep(study, "ridge", range(N))
    found = sightline.select(study, 5, by="difficulty")
    # Ten have truth, and of the other thirty the 5 + 5 with the least expectation are 10 to 19.
    assert len(set(numbers(found))) == 5 and set(numbers(found)) <= set(range(10, 10 + pool(5, 30)))
    assert pool(5, 30) == 10
    assert "prefer=hard, ease predicted by ridge" in found.how and "spread over 10 by" in found.how
    assert found.notes == ["10 prompts have a truth of ease already."]
    assert [each.value for each in found.expected] == [float(n) for n in numbers(found)]
    assert found == sightline.select(study, 5, by="difficulty")


def test_easy_is_the_other_end_and_truth_may_be_judged_again(study: Study) -> None:
    keep(study, "ridge", range(N))
    easy = sightline.select(study, 5, by="difficulty", prefer="easy")
    assert min(numbers(easy)) >= N - pool(5, 30)
    again = sightline.select(study, 5, by="difficulty", judged=True)
    assert max(numbers(again)) < pool(5, 40) and again.notes == []


def test_what_is_worse_follows_the_question(tmp_path: Path) -> None:
    with make(tmp_path / "lower", direction="lower") as study:
        keep(study, "ridge", range(N))
        assert min(numbers(sightline.select(study, 5, by="difficulty"))) >= N - pool(5, 30)


def test_the_choice_is_spread_over_what_they_say(tmp_path: Path) -> None:
    # The hardest are ten times the same but for a number; the next are of four kinds.
    texts = [f"a very long winding road to nowhere {n}" for n in range(10)]
    texts += [f"{kind} {n}" for n in range(10) for kind in KINDS]
    records: list[Record] = [Question("ease", "interval", 0, 60, 1)]
    records += [Prompt(PromptKey("s", str(n)), text) for n, text in enumerate([*texts, "judged"])]
    records.append(Truth("ease", Item(PromptKey("s", "50")), 1.0))
    with study_of(tmp_path / "s", records) as study:
        keep(study, "ridge", range(51))
        roads = [
            sum(number < 10 for number in numbers(sightline.select(study, 5, by="difficulty", seed=seed)))
            for seed in range(5)
        ]
    # Without spreading all five would be roads.
    assert max(roads) <= 3 and min(roads) >= 1


def test_the_same_words_are_chosen_once() -> None:
    want = np.array([5.0, 4.0, 3.0, np.nan, 1.0])
    texts = ["A  dog", "a dog", "a cat", "a cow", "a hen"]
    assert among(want, texts, 2).tolist() == [0, 2]
    assert among(want, texts, 3).tolist() == [0, 2, 4]
    assert among(want, texts, 4).tolist() == [0, 2, 4], "no more than there are: the caller says so"


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1, max_size=30), st.integers(1, 10))
def test_nobody_outside_is_wanted_more(wants: list[int | None], n: int) -> None:
    want = np.array([np.nan if each is None else each for each in wants], dtype=float)
    rows = among(want, [str(number) for number in range(len(wants))], n)
    assert not np.isnan(want[rows]).any() and len(set(rows.tolist())) == len(rows)
    known = np.flatnonzero(~np.isnan(want))
    assert len(rows) == (len(known) if len(known) < n else pool(n, len(known)))
    outside = np.setdiff1d(known, rows)
    if len(rows) and len(outside):
        assert want[outside].max() <= want[rows].min()


def test_unsure_is_where_predictors_lie_apart(study: Study) -> None:
    keep(study, "ridge", [20.0] * N)
    keep(study, "trees", [20.0 + (n >= 30) * 5 for n in range(N)])
    found = sightline.select(study, 6, by="difficulty", prefer="unsure")
    # The pool is 6 and a fifth of the other 24: just those ten.
    assert set(numbers(found)) <= set(range(30, 40))
    assert "where 2 predictions disagree" in found.how
    assert [each.value for each in found.expected] == [22.5 if n >= 30 else 20 for n in numbers(found)]


def test_unsure_is_where_the_interval_is_wide(study: Study) -> None:
    keep(study, "ridge", [20.0] * N, [1 + (n >= 34) for n in range(N)])
    found = sightline.select(study, 1, by="difficulty", prefer="unsure")
    assert set(numbers(found)) <= set(range(34, 40)) and "where intervals are widest" in found.how


def test_unsure_is_what_is_far_from_truth(study: Study) -> None:
    put(study, [Prompt(PromptKey("s", "99"), "zzz qqq xxx")], "more")
    keep(study, "ridge", [20.0] * (N + 1))
    found = sightline.select(study, 1, by="difficulty", prefer="unsure")
    assert "far from prompts with truth" in found.how
    # The first ten have truth: each kind is among them, so only the new one has no word in common with any.
    prompts = reading.prompts(study)
    encoder = encoder_of("hashed_words", "text").load()
    told = priorities(
        study, prompts, 1, prefer="unsure", vectors_of=lambda texts: np.asarray(encoder.text(texts))
    )
    assert prompts["ref"][int(np.nanargmax(told.want))] == "99" and np.isnan(told.want[:10]).all()


def test_predictions_of_too_few_prompts_stand_back(study: Study, shipped: list[str | None]) -> None:
    keep(study, "ridge", range(10))
    found = sightline.select(study, 5, by="difficulty")
    assert found.notes[1].startswith("Stored predictions of ease cover 0 of the 30 prompts")
    assert "hbpp predicted by the small tier of the shipped predictor" in found.how and shipped == [None]
    keep(study, "ridge2", range(10, 30), first=10)
    most = sightline.select(study, 5, by="difficulty")
    assert "ease predicted by" in most.how and max(numbers(most)) < 30
    assert most.notes[1] == "10 prompts are never chosen: no prediction of ease is stored."


def prediction(text: str, tier: str) -> Prediction:
    """Hard are high numbers; the medium tier is of another mind on trains; cups are refused."""
    if "cup" in text:
        return Prediction(text, refused="no cups")
    number = int(text.split()[-1])
    value = 1 - number / 50 + (0.5 if tier == "medium" and "train" in text else 0)
    return Prediction(text, {name: Estimate(value, value - 1, value + 1) for name in ("hbpp", "p_at_10")})


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """A predictor of known opinion in place of the shipped one, of which torch is not installed."""
    asked: list[str | None] = []

    def predict(prompts: Sequence[str], *, tier: str | None = None, explain: bool = True) -> Predictions:
        assert not explain, "words are costly and not shown"
        asked.append(tier)
        if tier == "large":
            raise MissingPackage("torch is not installed")
        used = tier or "small"
        return Predictions(used, "", 0.9, [prediction(text, used) for text in prompts])

    monkeypatch.setattr(select_difficulty, "predict_prompts", predict)
    return asked


def test_refused_prompts_are_counted_and_never_chosen(study: Study, shipped: list[str | None]) -> None:
    found = sightline.select(study, 5, by="difficulty")
    # Every fourth prompt is of a cup: of the 30 without truth those are 10, 14, ..., 38.
    assert found.notes == [
        "10 prompts have a truth of ease already.",
        "8 prompts are never chosen: 8 refused (no cups).",
    ]
    assert all("cup" not in text for text in found.texts)
    hardest = [n for n in range(39, 9, -1) if n % 4 != 2][: pool(5, 22)]
    assert set(numbers(found)) <= set(hardest)
    with pytest.raises(
        UsageError, match="23 prompts cannot be selected by difficulty out of 22 without truth"
    ):
        sightline.select(study, 23, by="difficulty")


def test_unsure_is_where_tiers_lie_apart(study: Study, shipped: list[str | None]) -> None:
    found = sightline.select(study, 4, by="difficulty", prefer="unsure")
    assert shipped == [None, "medium", "large"], "each tier is asked once, and those that cannot run are not"
    # 8 of the prompts without truth are of trains, and the pool is of 4 + 3.
    assert all("train" in text for text in found.texts)
    assert "the small tier" in found.how and "the medium tier" in found.how


def test_a_named_tier_is_asked_whatever_is_kept(study: Study, shipped: list[str | None]) -> None:
    keep(study, "ridge", range(N))
    found = sightline.select(study, 5, by="difficulty", tier="medium")
    assert shipped == ["medium"] and "the medium tier" in found.how


def test_nothing_tells_what_is_unsure(tmp_path: Path, shipped: list[str | None]) -> None:
    with make(tmp_path / "s", judged=0) as study:
        assert numbers(sightline.select(study, 1, by="difficulty", tier="small"))[0] >= 39 - 12
        with pytest.raises(DataError, match="it is not known where predictions are unsure"):
            sightline.select(study, 1, by="difficulty", tier="small", prefer="unsure")


def test_a_question_without_a_better_end_has_no_hard_prompts(
    tmp_path: Path, shipped: list[str | None]
) -> None:
    with make(tmp_path / "s", direction="none") as study:
        keep(study, "ridge", range(N))
        assert "shipped predictor" in sightline.select(study, 5, by="difficulty").how


def test_search_engines_are_asked_for_precision(tmp_path: Path, shipped: list[str | None]) -> None:
    with make(tmp_path / "s", kind="retriever") as study:
        assert "p_at_10 predicted" in sightline.select(study, 5, by="difficulty").how
    assert target_of({"generator", "retriever"}) == target_of(set()) == "hbpp"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"prefer": "hrd"}, "Did you mean hard"),
        ({"tier": "smal"}, "Did you mean small"),
        ({"question": "eas"}, "Did you mean ease"),
        ({"n": 31}, "31 prompts cannot be selected by difficulty out of 30 without truth"),
        ({"n": 31}, "Give a number up to 30 or --judged to choose among those with truth too."),
    ],
)
def test_wrong_calls_are_told(study: Study, told: dict[str, object], said: str) -> None:
    keep(study, "ridge", range(N))
    with pytest.raises((UsageError, DataError)) as error:
        sightline.select(study, **{"n": 2, "by": "difficulty", **told})  # type: ignore[arg-type]
    assert said in str(error.value)


def test_the_predictor_that_ships(tmp_path: Path) -> None:
    with make(tmp_path / "s", judged=0) as study:
        found = sightline.select(study, 5, by="difficulty", tier="small")
        assert (
            "hbpp predicted by the small tier of the shipped predictor" in found.how and len(found.texts) == 5
        )
        # HBPP lies on a scale from -1 to 2.
        assert all(-1 <= each.low <= each.value <= each.high <= 2 for each in found.expected)
        easy = sightline.select(study, 5, by="difficulty", tier="small", prefer="easy")
        hard = max(each.value for each in found.expected)
        assert hard <= min(each.value for each in easy.expected)
