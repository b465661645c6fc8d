"""Which systems can be distinguished, in a sentence and a matrix, however many there are."""

from __future__ import annotations

from dataclasses import replace

from sightline.comparison.compare import Comparison
from sightline.comparison.distinct import distinct, sentence
from sightline.estimate import Estimate
from sightline.rendering.blocks import Matrix
from sightline.statistics.comparison import Pair, Standing


def compared(count: int, gap: int, prompts: int = 30) -> Comparison:
    """Systems 0.1 apart, of which those at least `gap` places apart are significantly different."""
    names = [f"s{n}" for n in range(count)]
    systems = [
        Standing(name, Estimate(5 - n / 10, n=prompts), 1 + max(0, n - gap + 1), min(count, n + gap))
        for n, name in enumerate(names)
    ]
    pairs = [
        Pair(a, b, Estimate((j - i) / 10, 0, 5, prompts), 0.01, 0.02 if j - i >= gap else 0.4, j - i >= gap)
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j
    ]
    return Comparison("q", "higher", prompts, systems, pairs, low=0, high=5)


def matrix(found: Comparison) -> Matrix:
    (made,) = (block for block in distinct(found) if isinstance(block, Matrix))
    return made


def test_the_sentence_counts_pairs_and_names_the_top() -> None:
    assert sentence(compared(3, 1)) == "Yes: all 3 pairs are (p below 0.05 after Holm)."
    assert sentence(compared(3, 9)) == "No: none of 3 pairs is (p below 0.05 after Holm)."
    # of 5 systems 10 pairs, those of neighbours (4) are not apart
    assert sentence(compared(5, 2)) == (
        "In part: 6 of 10 pairs are (p below 0.05 after Holm). At the top s0 and s1 are not told apart."
    )
    assert "At the top 9 systems are not told apart from the first, s0." in sentence(compared(28, 9))
    assert sentence(compared(2, 1)) == "Yes: s0 minus s1 is +0.1 [+0.0, +5.0], p 0.020."


def test_two_prompts_distinguish_nothing() -> None:
    found = compared(3, 9, prompts=2)
    assert sentence(found) == "No: with 2 prompts no difference can be significant, however large."
    assert sentence(compared(3, 1, prompts=9)).endswith("It rests on 9 prompts only.")


def test_the_matrix_has_a_square_for_each_pair_however_many_systems() -> None:
    made = matrix(compared(28, 9))
    assert len(made.cells) == 28 and {len(row) for row in made.cells} == {28}
    states = [state for row in made.cells for state, _, _ in row]
    # 378 pairs; those at least 9 places apart are 19 * 20 / 2 = 190
    assert states.count("above") == states.count("below") == 190
    assert states.count("level") == 2 * (378 - 190) and states.count("") == 28
    assert made.cells[0][27][:2] == ("above", "+2.70") and made.cells[27][0][:2] == ("below", "−2.70")


def test_where_lower_is_better_the_smaller_is_above() -> None:
    made = matrix(replace(compared(3, 1), direction="lower"))
    assert made.cells[0][1][0] == "below"
    made = matrix(replace(compared(3, 1), direction="none"))
    assert ("above", "the row is higher") in made.legend


def test_what_cannot_be_tested_is_said() -> None:
    found = compared(3, 1)
    pairs = [replace(found.pairs[0], p=None, p_adjusted=None, significant=False, untested="different raters")]
    mixed = replace(found, pairs=[*pairs, *found.pairs[1:]])
    assert "1 pair cannot be tested." in sentence(mixed)
    assert matrix(mixed).cells[0][1] == ("untested", "", "s0 and s1: different raters")
