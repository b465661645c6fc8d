"""Which systems can be distinguished: every two of them, in a sentence and a square of small fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightline.comparison.compare import SURE, Comparison
from sightline.comparison.preferences import Preferences, listed
from sightline.estimate import FEW, format_cell, format_number, plural
from sightline.rendering.blocks import Block, Heading, Matrix, Note
from sightline.statistics.comparison import Pair, Standing
from sightline.statistics.preference_ranking import PreferencePair, RankedSystem

TITLE = "Can they be told apart?"
NAMED = 5
"""Systems that a sentence names."""
STATES = {
    "above": "the row is better",
    "below": "the column is better",
    "level": "not told apart",
    "untested": "cannot be tested",
}
NEUTRAL = {"above": "the row is higher", "below": "the column is higher"}


@dataclass(frozen=True)
class _Pair:
    """One pair: where the first stands against the second, and the numbers behind it."""

    first: str
    second: str
    state: str
    value: float | None
    said: str


def distinct(found: Comparison | Preferences) -> list[Block]:
    """A heading, the answer and the matrix; nothing where there are not two systems."""
    pairs, names = _pairs(found)
    if not pairs:
        return []
    answer = sentence(found)
    if len(names) == 2:
        return [Heading(TITLE), Note(answer)]
    directed = not isinstance(found, Comparison) or found.direction != "none"
    words = STATES if directed else {**STATES, **NEUTRAL}
    opposite = {"above": "below", "below": "above"}
    known = {}
    for pair in pairs:
        known[pair.first, pair.second] = (pair.state, _signed(pair.value), pair.said)
        turned = None if pair.value is None else -pair.value
        known[pair.second, pair.first] = (opposite.get(pair.state, pair.state), _signed(turned), pair.said)
    cells = [[known.get((row, column), ("", "", "")) for column in names] for row in names]
    seen = {pair.state for pair in pairs}
    if seen & set(opposite):
        seen |= set(opposite)
    legend = [(state, said) for state, said in words.items() if state in seen]
    caption = (
        "Each square is the row minus the column; columns have the numbers of the rows, the best mean first. "
        "Every pair with its difference and p is in the table of pairs below."
    )
    return [Heading(TITLE), Note(answer), Matrix(names, cells, f"{TITLE} {answer}", legend, caption)]


def sentence(found: Comparison | Preferences) -> str:
    """How many pairs are told apart, and who is level at the top."""
    pairs, _ = _pairs(found)
    apart = sum(pair.state in ("above", "below") for pair in pairs)
    untested = sum(pair.state == "untested" for pair in pairs)
    how = f"p below {SURE:g} after Holm"
    rest = f" {plural(untested, 'pair')} cannot be tested." if untested else ""
    if isinstance(found, Comparison) and found.least_p >= SURE and not untested:
        return f"No: with {plural(found.prompts, 'prompt')} no difference can be significant, however large."
    few = ""
    if isinstance(found, Comparison) and found.prompts < FEW:
        few = f" It rests on {plural(found.prompts, 'prompt')} only."
    if untested == len(pairs):
        return f"That cannot be said: {pairs[0].said}."
    if len(pairs) == 1:
        return f"{'Yes' if apart else 'No'}: {pairs[0].said}.{few}"
    if apart == len(pairs):
        return f"Yes: all {len(pairs):,} pairs are ({how}).{few}"
    if not apart:
        return f"No: none of {len(pairs):,} pairs is ({how}).{rest}{few}"
    top = _top(found)
    level = ""
    if len(top) == 1:
        level = f" {top[0]} is told apart from every other."
    elif len(top) <= NAMED:
        level = f" At the top {listed(top)} are not told apart."
    else:
        level = f" At the top {len(top)} systems are not told apart from the first, {top[0]}."
    return f"In part: {apart:,} of {len(pairs):,} pairs are ({how}).{level}{rest}{few}"


def _top(found: Comparison | Preferences) -> list[str]:
    """The systems that nothing is significantly better than, the best mean first."""
    placed: Sequence[Standing | RankedSystem] = (
        found.systems if isinstance(found, Comparison) else found.ranking.systems
    )
    return [each.system for each in placed if each.best_rank == 1]


def _pairs(found: Comparison | Preferences) -> tuple[list[_Pair], list[str]]:
    """Every pair, and the systems in their order."""
    if isinstance(found, Comparison):
        sign = -1.0 if found.direction == "lower" else 1.0
        pairs = [_pair(each, sign, each.untested or "no prompt in common") for each in found.pairs]
        return pairs, [each.system for each in found.systems]
    return [_pair(each, 1.0, "never compared") for each in found.ranking.pairs], list(found.systems)


def _pair(pair: Pair | PreferencePair, sign: float, why: str) -> _Pair:
    if pair.p_adjusted is None or pair.difference.value is None:
        return _Pair(pair.first, pair.second, "untested", None, f"{pair.first} and {pair.second}: {why}")
    p = format_number(pair.p_adjusted, "p")
    said = f"{pair.first} minus {pair.second} is {format_cell(pair.difference, '+')}, p {p}"
    if not pair.significant:
        return _Pair(pair.first, pair.second, "level", pair.difference.value, said)
    state = "above" if sign * pair.difference.value > 0 else "below"
    return _Pair(pair.first, pair.second, state, pair.difference.value, said)


def _signed(value: float | None) -> str:
    return "" if value is None else format_number(value, "+", 2)
