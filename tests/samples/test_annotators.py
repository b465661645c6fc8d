import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.samples.annotators import Annotator, judge, panel, seconds
from sightline.samples.chance import chance

VOTES = 2000
EXACT = Annotator("exact", "careful", noise=0)


@pytest.mark.parametrize("annotator", [who for who in panel() if not who.spite], ids=lambda who: who.name)
def test_bias_and_noise_are_recovered_from_votes(annotator: Annotator) -> None:
    # Truths in the middle of the scale, so that few judgements are cut off at its ends.
    low, high = (0.35, 0.65) if annotator.noise < 0.1 else (0.5, 0.5)
    truths = np.array([chance("truth", i).uniform(low, high) for i in range(VOTES)])
    votes = np.array([judge(annotator, t, 0, 5, 0.1, f"item {i}") for i, t in enumerate(truths)])
    errors = votes / 5 - truths
    assert errors.mean() == pytest.approx(annotator.bias, abs=4 * annotator.noise / np.sqrt(VOTES))
    assert errors.std() == pytest.approx(annotator.noise, rel=0.1)


def test_spite_goes_against_the_truth() -> None:
    spiteful = next(who for who in panel() if who.spite)
    truths = np.array([chance("truth", i).random() for i in range(VOTES)])
    votes = [judge(spiteful, t, 0, 5, 0.1, f"item {i}") for i, t in enumerate(truths)]
    # Of uniform truths, a share of 0.2 is told, 0.4 turned round and 0.4 random: correlation near 0.2 - 0.4.
    assert stats.pearsonr(truths, votes).statistic == pytest.approx(-0.2, abs=0.08)
    careful = panel()[0]
    votes = [judge(careful, t, 0, 5, 0.1, f"item {i}") for i, t in enumerate(truths)]
    assert stats.pearsonr(truths, votes).statistic > 0.95


def test_the_panel_holds_each_character() -> None:
    who = {annotator.character: annotator for annotator in panel(7)}
    assert [annotator.character for annotator in panel(7)].count("careful") == 4
    assert who["harsh"].bias < -0.1 < 0.1 < who["lenient"].bias
    assert who["hasty"].noise > 3 * who["careful"].noise and who["hasty"].speed < who["careful"].speed
    assert who["spiteful"].spite > 0.5
    assert panel(7) == panel(7) != panel(8)


@pytest.mark.parametrize(
    ("bias", "truth", "scale", "value"),
    [
        (0.1, 0.5, (0, 5, 0.1), 3.0),  # 0.6 * 5
        (0.0, 0.333, (0, 5, 0.1), 1.7),  # 1.665 is nearer to 1.7 than to 1.6
        (0.2, 0.9, (0, 5, 0.1), 5.0),  # cut off
        (0.0, 2 / 3, (-1, 2, 1), 1.0),  # -1 + 2
        (-0.2, 2 / 3, (-1, 2, 1), 0.0),  # -1 + 1.4, rounded to 1 step
        (0.0, 0.6, (0, 1, 1), 1.0),
        (-0.2, 0.6, (0, 1, 1), 0.0),
    ],
)
def test_judgements_by_hand(
    bias: float, truth: float, scale: tuple[float, float, float], value: float
) -> None:
    assert judge(Annotator("x", "exact", bias, noise=0), truth, *scale, "item") == value


@given(
    st.floats(0, 1),
    st.sampled_from([(0.0, 5.0, 0.1), (-1.0, 2.0, 1.0), (0.0, 1.0, 1.0), (1.0, 7.0, 0.5)]),
    st.sampled_from(panel()),
    st.text(max_size=8),
)
def test_judgements_stay_on_the_scale(
    truth: float, scale: tuple[float, float, float], annotator: Annotator, item: str
) -> None:
    low, high, step = scale
    value = judge(annotator, truth, low, high, step, item)
    assert low <= value <= high
    assert (value - low) / step == pytest.approx(round((value - low) / step))
    assert value == judge(annotator, truth, low, high, step, item)


def test_asked_again_people_answer_again() -> None:
    who = panel()[0]
    first, second = ([judge(who, 0.5, 0, 5, 0.1, str(i), repetition=n) for i in range(50)] for n in range(2))
    assert first != second


def test_time_taken_is_around_the_annotators_speed() -> None:
    for who in panel():
        taken = [seconds(who, f"item {i}") for i in range(1000)]
        # The median of 1,000 log-normals has a standard error of 1.25 * 0.35 / sqrt(1000) = 1.4 %.
        assert np.median(taken) == pytest.approx(who.speed, rel=0.06)
        assert min(taken) > 0


@pytest.mark.parametrize(
    ("truth", "scale"),
    [(1.2, (0, 5, 1)), (-0.1, (0, 5, 1)), (float("nan"), (0, 5, 1)), (0.5, (5, 5, 1)), (0.5, (0, 5, 0))],
)
def test_what_is_no_scale_or_no_truth_is_refused(truth: float, scale: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError):
        judge(EXACT, truth, *scale, "item")


def test_an_impossible_annotator_is_refused() -> None:
    with pytest.raises(ValueError, match="spite"):
        Annotator("x", "odd", spite=1.5)
    with pytest.raises(ValueError, match="noise"):
        Annotator("x", "odd", noise=-1)
