"""A collection of captioned pictures to search, with the pictures known that each query should find."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from PIL import Image

from sightline.samples.chance import chance
from sightline.samples.drawing import draw, settle
from sightline.samples.facts import verdicts
from sightline.samples.scenes import Scene, scenes
from sightline.samples.systems import SYSTEMS, attempt
from sightline.samples.wording import wordings

# Of each block of pictures, so many show what one query asks, and so many show it with mistakes.
BLOCK, MATCHING, NEAR = 8, 2, 3


@dataclass(frozen=True)
class Photo:
    """A picture of the collection: what it shows, and what people wrote under it."""

    name: str
    scene: Scene
    captions: tuple[str, ...]
    seed: int

    def image(self, size: int = 192) -> Image.Image:
        """The picture, drawn on every call; keep it if it is needed twice."""
        return draw(self.scene, chance("item", self.name, self.seed), size)


def queries(n: int, seed: int = 0) -> list[Scene]:
    """The scenes to search for; a collection of 8 pictures a query or more holds matches for each of them."""
    return [replace(scene, ref=f"query-{scene.ref}") for scene in scenes(n, seed)]


def collection(n: int, seed: int = 0) -> Iterator[Photo]:
    """n captioned pictures; larger collections of a seed begin with the smaller ones.

    Each block of 8 belongs to one query: two pictures match it, three are a sloppy reading of it, three show
    scenes of their own.
    """
    asked = scenes(-(-n // BLOCK), seed)
    others = scenes((BLOCK - MATCHING - NEAR) * len(asked), seed + 1)
    for i in range(n):
        block, place = divmod(i, BLOCK)
        name = f"picture-{i:05d}"
        rng = chance("item scene", name, seed)
        if place < MATCHING:
            shown = settle(replace(asked[block], absent=None), rng)
        elif place < MATCHING + NEAR:
            shown = attempt(SYSTEMS["sloppy"], asked[block], rng)
        else:
            other = others[block * (BLOCK - MATCHING - NEAR) + place - MATCHING - NEAR]
            shown = settle(replace(other, absent=None), rng)
        shown = replace(shown, ref=name)
        said = wordings(shown)
        yield Photo(name, shown, said if rng.random() < 0.5 else said[:2], seed)


def grade(query: Scene, shown: Scene) -> int:
    """How relevant a picture is: 2 if all the query asks is in it, 1 if half or more, else 0.

    What is rightly missing does not make a picture relevant by itself: something asked for must be there.
    """
    met = verdicts(query, shown)
    if all(met.values()):
        return 2
    there = any(held for fact, held in met.items() if fact.skill != "negation")
    return int(there and sum(met.values()) * 2 >= len(met))


def relevant(query: Scene, items: Sequence[Photo]) -> dict[str, int]:
    """The names of the relevant pictures with their grade, 2 or 1; all others are known to be irrelevant."""
    grades = {item.name: grade(query, item.scene) for item in items}
    return {name: value for name, value in grades.items() if value}
