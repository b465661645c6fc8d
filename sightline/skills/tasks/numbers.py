"""Prompts that ask for numbers: counting, arithmetic, and the controlled sets that share their objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import perm
from typing import NamedTuple

import numpy as np

from sightline.errors import UsageError
from sightline.extension import task
from sightline.records import NewPrompt
from sightline.skills.tasks._grammar import (
    PAIRS,
    Stratum,
    check,
    check_word,
    counted,
    cut,
    draw,
    exactly,
    pairing,
    sets_of,
    several,
    single,
    with_parts,
)
from sightline.skills.tasks._things import MOST, NUMBERS, Thing, listing, things

MOST_STEPS = 3
STEPS = ("twice", "half", "more", "fewer")
DIFFERENCES = (1, 2, 3)


@task(skill="counting", source="GIMBRR (counting)", licence="Apache-2.0", version=2)
def counting(
    rng: np.random.Generator,
    n: int,
    *,
    least: int = 2,
    most: int = 9,
    objects: int = 1,
    pairs: str = "any",
    vocabulary: str = "coco",
) -> Iterator[NewPrompt]:
    """Prompts that ask for `least` up to `most` of one thing, every number equally often.

    Expects exactly that many. With `objects` of 2 or 3 a prompt names so many different things, each with its
    own number; `pairs` is then common (things of one place), rare (no two of one place) or any. `vocabulary`
    is coco or wide. No two prompts are the same.
    """
    check("counting", "least", least, 1, MOST)
    check("counting", "most", most, max(2, least), MOST)
    check("counting", "objects", objects, 1, 3)
    check_word("counting", "pairs", pairs, PAIRS)
    size, nth = sets_of(things("counting", vocabulary), objects, pairs)
    numbers = range(least, most + 1)

    def made(first: int) -> Stratum:
        def make(number: int) -> NewPrompt:
            which, *others = cut(number, size, *[len(numbers)] * (objects - 1))
            return counted(nth(which), [first, *(numbers[each] for each in others)])

        return Stratum(size * len(numbers) ** (objects - 1), make)

    yield from draw("counting", rng, n, [made(first) for first in numbers])


class Step(NamedTuple):
    """A relation between two numbers: twice, half, or so many more or fewer."""

    how: str
    difference: int = 0

    def apply(self, number: int) -> int:
        """The number that it makes of another; 0 where there is none."""
        if self.how == "twice":
            return 2 * number
        if self.how == "half":
            return number // 2 if number % 2 == 0 else 0
        return number + self.difference if self.how == "more" else number - self.difference

    def said(self, before: Thing, of: Thing, last: bool) -> str:
        """In words: "twice as many forks", "two more forks than cups"."""
        if self.how in ("twice", "half"):
            return f"{self.how} as many {of.many}" + ("" if last else f" as {before.many}")
        number = NUMBERS[self.difference]
        return f"{number} {self.how} {of.one if self.difference == 1 else of.many} than {before.many}"


ALL_STEPS = (Step("twice"), Step("half"), *(Step(how, d) for how in ("more", "fewer") for d in DIFFERENCES))


@task(skill="arithmetic", source="GIMBRR (simple arithmetic)", licence="Apache-2.0")
def arithmetic(
    rng: np.random.Generator,
    n: int,
    *,
    depth: int = 1,
    most: int = 9,
    pairs: str = "any",
    vocabulary: str = "coco",
) -> Iterator[NewPrompt]:
    """Prompts that give the number of one thing, and those of others by arithmetic: "twice as many forks".

    `depth` is how many steps of arithmetic there are, 1 to 3, each with a further thing; no number exceeds
    `most`. Twice, half, more and fewer come equally often as the first step. Expects the numbers that result,
    exactly. `pairs` is common, rare or any, `vocabulary` coco or wide.
    """
    check("arithmetic", "depth", depth, 1, MOST_STEPS)
    check("arithmetic", "most", most, 2, MOST)
    check_word("arithmetic", "pairs", pairs, PAIRS)
    size, nth = sets_of(things("arithmetic", vocabulary), depth + 1, pairs)
    orders = perm(depth + 1)
    strata = []
    for how in STEPS:
        sums = [each for each in _sums(depth, most) if each[0][0].how == how]

        def make(number: int, sums: list[tuple[tuple[Step, ...], list[int]]] = sums) -> NewPrompt:
            which, order, sum_ = cut(number, size, orders, len(sums))
            return _arithmetic(_ordered(nth(which), order), *sums[sum_])

        strata.append(Stratum(size * orders * len(sums), make))
    yield from draw("arithmetic", rng, n, strata)


def _sums(depth: int, most: int) -> list[tuple[tuple[Step, ...], list[int]]]:
    """Every chain of steps whose numbers are all between 1 and `most`, with those numbers."""
    found = []
    for first, steps in product(range(2, most + 1), product(ALL_STEPS, repeat=depth)):
        numbers = [first]
        for step in steps:
            numbers.append(step.apply(numbers[-1]))
        if all(1 <= number <= most for number in numbers):
            found.append((steps, numbers))
    return found


def _ordered(chosen: Sequence[Thing], order: int) -> list[Thing]:
    """The permutation of things with this number."""
    left, found = list(chosen), []
    while left:
        order, which = divmod(order, len(left))
        found.append(left.pop(which))
    return found


def _arithmetic(named: Sequence[Thing], steps: Sequence[Step], numbers: Sequence[int]) -> NewPrompt:
    last = len(steps) == 1
    said = [step.said(named[k], named[k + 1], last) for k, step in enumerate(steps)]
    simpler = with_parts(counted(named, numbers))
    if not last:
        simpler = [_arithmetic(named[:-1], steps[:-1], numbers[:-1]), *simpler]
    tags = {"skill": "arithmetic", "depth": str(len(steps)), "numbers": " ".join(map(str, numbers))}
    return NewPrompt(
        listing([named[0].counted(numbers[0]), *said]),
        {**tags, "step": steps[0].how, "pairs": pairing(named)},
        {"objects": exactly(named, numbers), "complete": True},
        simpler,
    )


@task(skill="arithmetic", source="GIMBRR (controlled sets)", licence="Apache-2.0")
def controlled(
    rng: np.random.Generator, n: int, *, most: int = 4, pairs: str = "any", vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts that ask for more and more of the same two things, so that only the skill differs.

    Of each pair: each thing alone, both together, each counted, both counted, and the second number as twice
    the first. The tag `controlled` says which; `skill` is the skill. Things are paired at random, each in one
    pair, for the first number 2 up to `most`. `pairs` is common or any, `vocabulary` coco or wide.
    """
    check("controlled", "most", most, 2, MOST // 2)
    check_word("controlled", "pairs", pairs, ("any", "common"))
    named = things("controlled", vocabulary)
    groups: dict[str, list[Thing]] = {}
    for which in rng.permutation(len(named)):
        each = named[int(which)]
        groups.setdefault(each.place if pairs == "common" else "", []).append(each)
    both = [pair for own in groups.values() for pair in zip(own[::2], own[1::2], strict=False)]
    made = [
        prompt
        for number in range(2, most + 1)
        for first, second in both
        for prompt in _controlled(first, second, number, alone=number == 2)
    ]
    if n > len(made):
        raise UsageError(
            f"controlled has {len(made):,} different prompts with these parameters, not {n:,}",
            remedy="Ask for fewer prompts, raise most, or use the wide vocabulary.",
        )
    yield from made[:n]


def _controlled(first: Thing, second: Thing, number: int, alone: bool) -> Iterator[NewPrompt]:
    pair = (first, second)
    if alone:
        for each in pair:
            yield _tagged(single(each), "single object")
        yield _tagged(several(pair), "multiple objects")
    for each, k in zip(pair, (number, 2 * number), strict=True):
        yield _tagged(counted([each], [k]), "single-object counting")
    yield _tagged(counted(pair, (number, 2 * number)), "multiple-object counting")
    yield _tagged(_arithmetic(pair, [Step("twice")], (number, 2 * number)), "arithmetic")


def _tagged(prompt: NewPrompt, value: str) -> NewPrompt:
    return prompt._replace(tags={**prompt.tags, "controlled": value})
