"""A small grammar of scenes: what a prompt asks to be drawn, known exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from sightline.samples.chance import chance

Colour = Literal["red", "orange", "yellow", "green", "blue", "purple", "pink", "black"]
Size = Literal["small", "large"]
Where = Literal["left of", "right of", "above", "below"]

COLOURS: tuple[Colour, ...] = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black")
SIZES: tuple[Size, ...] = ("small", "large")
WHERES: tuple[Where, ...] = ("left of", "right of", "above", "below")
OPPOSITE: dict[Where, Where] = {
    "left of": "right of",
    "right of": "left of",
    "above": "below",
    "below": "above",
}
KINDS: tuple[str, ...] = (
    "apple", "ball", "balloon", "boat", "box", "car", "cat", "cup", "fish", "flower", "heart", "house",
    "mushroom", "star", "tree", "triangle", "umbrella",
)  # fmt: skip
PLURALS: dict[str, str] = {**{kind: f"{kind}s" for kind in KINDS}, "box": "boxes", "fish": "fish"}
NUMBERS: tuple[str, ...] = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
MOST = len(NUMBERS) - 1
WORDS: tuple[str, ...] = (
    "BAKERY", "BOOKS", "CAFE", "DREAM", "EXIT", "FRESH", "GARDEN", "HELLO", "HOME", "JAZZ", "LIBRARY", "LOVE",
    "MARKET", "MUSIC", "NORTH", "OPEN", "PEACE", "PIZZA", "SALE", "SMILE", "STOP", "SUMMER", "TEA", "WELCOME",
)  # fmt: skip
SKILLS: tuple[str, ...] = ("single", "counting", "colour", "size", "spatial", "negation", "writing")
FAMILIES: tuple[str, ...] = (*SKILLS, "combined")
TAGGED = {
    "single": "single_object", "colour": "compositional", "size": "compositional",
    "writing": "text_rendering", "combined": "complex",
}  # fmt: skip
"""Families whose tag `skill`, in the words that all suites use, is not their own name."""

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """Some objects of one kind that share colour and size; None where the prompt leaves it open."""

    kind: str
    count: int = 1
    colour: Colour | None = None
    size: Size | None = None

    def __post_init__(self) -> None:
        if self.kind not in PLURALS:
            raise ValueError(f"no such kind of object: {self.kind!r}; there are {', '.join(KINDS)}")
        if not 1 <= self.count <= MOST:
            raise ValueError(f"a group holds 1 to {MOST} objects, not {self.count}")


@dataclass(frozen=True)
class Scene:
    """What a picture shows, or should show.

    `where` relates the first group to the second. Kinds never repeat, so that a kind names its group.
    """

    groups: tuple[Group, ...] = ()
    where: Where | None = None
    absent: str | None = None
    words: str | None = None
    ref: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        kinds = [group.kind for group in self.groups]
        if len(set(kinds)) < len(kinds):
            raise ValueError("a kind of object may occur in one group only")
        if not kinds and not self.words:
            raise ValueError("a scene needs an object or written words")
        if self.where and len(kinds) < 2:
            raise ValueError("a spatial relation needs two groups of objects")
        if self.absent in kinds:
            raise ValueError(f"{self.absent} cannot be both present and absent")

    @property
    def text(self) -> str:
        """The prompt in plain English."""
        things = [phrase(group) for group in self.groups]
        if self.where:
            things[:2] = [f"{things[0]} {self._place()} {things[1]}"]
        if self.words:
            things.append(f"a sign that says {self.words}")
        text = listing(things)
        if self.absent:
            text += (
                f" and no {self.absent}" if len(things) == 1 and not self.where else f", but no {self.absent}"
            )
        return text

    def _place(self) -> str:
        return f"to the {self.where}" if self.where in ("left of", "right of") else str(self.where)

    @property
    def skills(self) -> tuple[str, ...]:
        """What a system must master to draw this; colour is a skill where two colours may be confused."""
        asked = {
            "counting": any(group.count > 1 for group in self.groups),
            "colour": sum(group.colour is not None for group in self.groups) > 1,
            "size": any(group.size for group in self.groups),
            "spatial": self.where is not None,
            "negation": self.absent is not None,
            "writing": self.words is not None,
        }
        return tuple(skill for skill in SKILLS if asked.get(skill)) or ("single",)

    @property
    def family(self) -> str:
        """The one skill a scene asks for, or "combined"."""
        return self.skills[0] if len(self.skills) == 1 else "combined"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of its prompt: `skill`, and of a compositional one which attribute it asks for."""
        skill = TAGGED.get(self.family, self.family)
        return {"skill": skill} | ({"attribute": self.family} if skill == "compositional" else {})

    @property
    def expects(self) -> dict[str, Any]:
        """The same demands as plain JSON values, for verdicts; "a ball" does not ask for exactly one."""
        return {
            "objects": [
                {
                    "kind": group.kind,
                    "count": group.count,
                    "at_least": group.count == 1,
                    "colour": group.colour,
                    "size": group.size,
                }
                for group in self.groups
            ],
            "relation": {"first": self.groups[0].kind, "where": self.where, "second": self.groups[1].kind}
            if self.where
            else None,
            "absent": [self.absent] if self.absent else [],
            "text": self.words,
            "complete": True,
        }


def phrase(group: Group) -> str:
    """A noun phrase: "three small red balls", "an orange fish"."""
    noun = group.kind if group.count == 1 else PLURALS[group.kind]
    words = [word for word in (group.size, group.colour, noun) if word]
    if group.count > 1:
        return " ".join([NUMBERS[group.count], *words])
    return with_article(" ".join(words))


def with_article(words: str) -> str:
    """The indefinite article in front; every vowel letter of this vocabulary also sounds as one."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def listing(things: Sequence[str]) -> str:
    """Things joined as in a sentence: "a, b and c"."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"


def scenes(n: int, seed: int = 0) -> list[Scene]:
    """n distinct scenes, the families taking turns; more scenes of a seed begin with the fewer ones.

    A family whose small vocabulary is used up is passed over.
    """
    chosen: list[Scene] = []
    seen: set[str] = set()
    made = dict.fromkeys(FAMILIES, 0)
    families = list(FAMILIES)
    while len(chosen) < n:
        if not families:
            raise ValueError(
                f"the grammar has no more than {len(chosen)} distinct scenes for seed {seed}, not {n}"
            )
        for family in tuple(families):
            if len(chosen) == n:
                break
            scene = _fresh(family, made[family] + 1, seed, seen)
            if scene is None:
                families.remove(family)
                continue
            made[family] += 1
            seen.add(scene.text)
            chosen.append(scene)
    return chosen


def _fresh(family: str, ordinal: int, seed: int, seen: set[str], attempts: int = 300) -> Scene | None:
    rng = chance("scene", family, ordinal, seed)
    for _ in range(attempts):
        scene = _MAKERS[family](rng)
        if scene.text not in seen:
            return replace(scene, ref=f"{family}-{ordinal:02d}")
    return None


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """One of the choices, as it is (numpy's own `choice` would turn text into its text type)."""
    return choices[int(rng.integers(len(choices)))]


def _several(rng: np.random.Generator, choices: Sequence[T], n: int) -> list[T]:
    return [choices[int(i)] for i in rng.permutation(len(choices))[:n]]


def _single(rng: np.random.Generator) -> Scene:
    return Scene((Group(pick(rng, KINDS), colour=pick(rng, COLOURS)),))


def _counting(rng: np.random.Generator) -> Scene:
    colour = pick(rng, COLOURS) if rng.random() < 0.5 else None
    return Scene((Group(pick(rng, KINDS), int(rng.integers(2, 10)), colour),))


def _colour(rng: np.random.Generator) -> Scene:
    kinds, colours = _several(rng, KINDS, 2), _several(rng, COLOURS, 2)
    return Scene((Group(kinds[0], colour=colours[0]), Group(kinds[1], colour=colours[1])))


def _size(rng: np.random.Generator) -> Scene:
    kinds, sizes = _several(rng, KINDS, 2), _several(rng, SIZES, 2)
    return Scene((Group(kinds[0], size=sizes[0]), Group(kinds[1], size=sizes[1])))


def _spatial(rng: np.random.Generator) -> Scene:
    first, second = _several(rng, KINDS, 2)
    return Scene((Group(first), Group(second)), where=pick(rng, WHERES))


def _negation(rng: np.random.Generator) -> Scene:
    first, second = _several(rng, KINDS, 2)
    return Scene((Group(first, colour=pick(rng, COLOURS)),), absent=second)


def _writing(rng: np.random.Generator) -> Scene:
    if rng.random() < 0.25:
        return Scene(words=pick(rng, WORDS))
    return Scene((Group(pick(rng, KINDS), colour=pick(rng, COLOURS)),), words=pick(rng, WORDS))


def _combined(rng: np.random.Generator) -> Scene:
    """Three skills at once; numbers always among them, since they suffer most in company."""
    others = set(_several(rng, SKILLS[2:], 2))
    kinds, colours, sizes = _several(rng, KINDS, 3), _several(rng, COLOURS, 2), _several(rng, SIZES, 2)
    pair = bool(others & {"colour", "size", "spatial"})
    groups = tuple(
        Group(
            kinds[i],
            int(rng.integers(2, 7 if i == 0 else 4)),
            colours[i] if "colour" in others else None,
            sizes[i] if "size" in others else None,
        )
        for i in range(1 + pair)
    )
    return Scene(
        groups,
        where=pick(rng, WHERES) if "spatial" in others else None,
        absent=kinds[2] if "negation" in others else None,
        words=pick(rng, WORDS) if "writing" in others else None,
    )


_MAKERS: dict[str, Callable[[np.random.Generator], Scene]] = {
    "single": _single,
    "counting": _counting,
    "colour": _colour,
    "size": _size,
    "spatial": _spatial,
    "negation": _negation,
    "writing": _writing,
    "combined": _combined,
}
