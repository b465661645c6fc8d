"""Two-alternative forced choice by hand, its tests by simulation, and fairness on the published table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.choices import agreement, check, compare, oracle, right, spread

triplets = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=30)


def test_by_hand():
    # Five workers. A closer, 4 chose A: .8. B closer, 4 chose A: .2. Tie: .5. B closer, nobody chose A: 1.
    a, b, share = [1, 2, 3, 2], [2, 1, 3, 1], [0.8, 0.8, 0.6, 0.0]
    assert agreement(a, b, share) == pytest.approx([0.8, 0.2, 0.5, 1])
    assert right(a, b, share) == pytest.approx([1, 0, 0.5, 1])
    assert oracle(share) == pytest.approx([0.8, 0.8, 0.6, 1])
    best, mine = check({"mine": (a, b)}, share)
    assert (best.name, best.score.value, best.accuracy.value) == ("oracle", pytest.approx(0.8), 1)
    assert (mine.score.value, mine.accuracy.value) == (pytest.approx(2.5 / 4), pytest.approx(2.5 / 4))


def test_even_splits_have_no_majority():
    best, mine = check({"mine": ([1, 1], [2, 2])}, [0.5, 1.0])
    assert mine.score.value == pytest.approx(0.75) and mine.score.n == 2
    assert (mine.accuracy.value, mine.accuracy.n) == (1, 1)
    assert (best.score.value, best.accuracy.n) == (pytest.approx(0.75), 1)


@given(triplets)
def test_nobody_beats_the_oracle_and_names_do_not_matter(rows):
    a, b, chose = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    share = chose / 5
    assert np.all(agreement(a, b, share) <= oracle(share) + 1e-12)
    # A and B exchanged everywhere: the same agreement. The opposite distance agrees with the others.
    assert agreement(b, a, 1 - share) == pytest.approx(agreement(a, b, share))
    assert agreement(-a, -b, share) == pytest.approx(1 - agreement(a, b, share))


def simulated(rng, prompts, noise):
    """Triplets of prompts, three each: people follow a hidden difference, encoders see it with noise."""
    hidden = np.repeat(rng.normal(size=prompts), 3) + rng.normal(size=3 * prompts)
    share = rng.binomial(5, 1 / (1 + np.exp(-2 * hidden))) / 5
    seen = {f"noise {n}": hidden + n * rng.normal(size=hidden.size) for n in noise}
    return {name: (-each, each) for name, each in seen.items()}, share, np.repeat(np.arange(prompts), 3)


def test_better_backbones_are_found_better():
    distances, share, prompt = simulated(np.random.default_rng(0), 300, (0.1, 1.0, 5.0))
    best, *rows = check(distances, share, prompt)
    scores = [row.score.value for row in rows]
    assert best.score.value > scores[0] > scores[1] > scores[2] > 0.5
    found = {(each.one, each.other): each for each in compare(distances, share, prompt)}
    assert len(found) == 3 and all(each.difference.n == 300 for each in found.values())
    assert all(each.adjusted < 0.01 and each.difference.statistic > 0 for each in found.values())
    assert all(each.adjusted >= each.difference.p for each in found.values())


def test_equal_backbones_are_rarely_told_apart():
    alarms = 0
    for seed in range(100):
        (test,) = compare(*simulated(np.random.default_rng(seed), 60, (1.0, 1.0001)))
        alarms += test.difference.p < 0.05
    # 100 trials at .05: 5 expected, 13 or more with chance .002.
    assert alarms <= 12


# W1KP, Table 1: 2AFC scores on SDXL, Imagen and DALL-E 3.
TABLE = {"oracle": (80.0, 80.7, 79.3), "L2": (54.8, 61.0, 58.5), "DreamSim L2": (69.3, 71.5, 70.7)}


@pytest.mark.parametrize(("name", "printed"), [("oracle", 1.4), ("L2", 6.2), ("DreamSim L2", 2.2)])
def test_spread_of_the_published_table(name, printed):
    found = spread(name, TABLE[name], ["SDXL", "Imagen", "DALL-E 3"])
    assert found.spread == pytest.approx(printed)
    assert found.by_system["Imagen"] == TABLE[name][1]


def test_unfairness_is_told_from_chance():
    rng = np.random.default_rng(3)
    system = np.repeat(["a", "b", "c"], 100)
    fair = rng.choice([0.2, 0.8, 1.0], size=300)
    unfair = np.where(system == "a", np.minimum(fair, 0.6), fair)
    assert spread("fair", fair, system).p > 0.05 > 0.01 > spread("unfair", unfair, system).p
    assert spread("one", [0.5, 1.0], ["a", "a"]).p is None


@pytest.mark.slow
def test_fairness_takes_prompts_for_its_units():
    """Three systems of 40 prompts of 3 triplets, equally good, but prompts differ (ICC .36).

    Triplets exchanged one by one would find them unfair in about one study of six instead of one of 20. 200
    trials at .05: 10 expected, 21 or more with chance .001.
    """
    rng = np.random.default_rng(0)
    system, prompt = np.repeat(np.arange(3), 120), np.repeat(np.arange(120), 3)
    alarms = alone = 0
    for trial in range(200):
        scores = 0.65 + 0.15 * rng.normal(size=120)[prompt] + 0.2 * rng.normal(size=360)
        alarms += spread("x", scores, system, prompt, permutations=199, seed=trial).p <= 0.05
        alone += spread("x", scores, system, permutations=199, seed=trial).p <= 0.05
    assert alarms <= 20 < alone


def test_fairness_where_all_systems_have_the_same_prompts():
    """Prompts differ far more than systems: exchanged within prompts, a small unfairness is seen."""
    rng = np.random.default_rng(1)
    prompt, system = np.repeat(np.arange(30), 4), np.tile([0, 0, 1, 1], 30)
    scores = 0.3 * rng.normal(size=30)[prompt] + 0.05 * rng.normal(size=120)
    assert spread("fair", scores, system, prompt).p > 0.05
    assert spread("unfair", scores + 0.05 * system, system, prompt).p < 0.01
    # By hand: two prompts under both systems, b better by 1 and by 1. Of the four exchanges two reach 1.
    found = spread("hand", [0, 1, 5, 6], list("abab"), [0, 0, 1, 1], permutations=4000)
    assert found.spread == 1 and found.p == pytest.approx(0.5, abs=0.04)


def test_no_fairness_without_prompts_to_exchange():
    # One prompt a system, or one prompt under both: whatever is exchanged, the spread is the same.
    scores, system = [0.1, 0.2, 0.8, 0.9], list("aabb")
    assert spread("x", scores, system, [0, 0, 1, 1]).p is None
    assert spread("x", scores, system, [0, 0, 0, 0]).p is None
    assert spread("x", scores, system, [0, 1, 2, 3]).p is not None


def test_differences_are_those_of_the_scores_shown():
    # Prompt a: three triplets, one encoder right in all; prompt b: one triplet, the other is. 3/4 - 1/4; the
    # mean of the prompts' differences, 1 and -1, would be 0.
    share, prompt = [1, 1, 1, 1], list("aaab")
    distances = {"one": ([0, 0, 0, 1], [1, 1, 1, 0]), "other": ([1, 1, 1, 0], [0, 0, 0, 1])}
    _, one, other = check(distances, share, prompt)
    (test,) = compare(distances, share, prompt)
    assert test.difference.statistic == pytest.approx(one.score.value - other.score.value) == 0.5
    # Sums 3 and -1: 2 in size is reached by all four patterns of signs (3-1, 3+1, -3-1, -3+1).
    assert (test.difference.n, test.difference.p) == (2, 1)


@pytest.mark.parametrize(
    ("to_a", "share", "said"),
    [([1, 2], 0.5, "equal columns"), ([1], 5, "shares within"), ([np.nan], 0.5, "finite")],
)
def test_bad_input(to_a, share, said):
    with pytest.raises(ValueError, match=said):
        agreement(to_a, [2], [share])
