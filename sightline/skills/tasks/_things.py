"""The things that prompts name: COCO's classes, which detectors know, and further everyday objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sightline.errors import UsageError

VOCABULARIES = ("coco", "wide")
NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
MOST = len(NUMBERS) - 1
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")


class Thing(NamedTuple):
    """A kind of object: how detectors call it, one and many of it in words, where it is, and what it is.

    Two things of one place are a common pair, two of different places a rare one.
    """

    kind: str
    one: str
    many: str
    place: str
    category: str

    @property
    def a(self) -> str:
        """One of it, with its article."""
        return with_article(self.one)

    def counted(self, number: int) -> str:
        """So many of it, in words."""
        return f"{NUMBERS[number]} {self.one if number == 1 else self.many}"


def with_article(words: str) -> str:
    """The indefinite article in front."""
    vowel = words[0] in "aeiou" and not words.startswith(("uni", "uku", "eu", "one"))
    return f"{'an' if vowel else 'a'} {words}"


def listing(parts: Sequence[str]) -> str:
    """Things joined as in a sentence: "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# place, category: kind[=one][/many]; scissors and skis, which come in pairs, are left out.
_COCO = """
street person: person/people
street vehicle: bicycle, car, motorcycle, bus/buses, truck
street street object: traffic light, fire hydrant, stop sign, parking meter, bench/benches
travel vehicle: airplane, train, boat
travel accessory: backpack, umbrella, handbag, tie, suitcase
farm animal: bird, cat, dog, horse, sheep/sheep, cow
wilderness animal: elephant, bear, zebra, giraffe
sports sports equipment: frisbee, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard
sports sports equipment: surfboard, tennis racket
kitchen tableware: bottle, wine glass/wine glasses, cup, fork, knife/knives, spoon, bowl
kitchen food: banana, apple, sandwich/sandwiches, orange, broccoli=head of broccoli/heads of broccoli, carrot
kitchen food: hot dog, pizza, donut, cake
kitchen appliance: microwave, oven, toaster, sink, refrigerator
room piece of furniture: chair, couch/couches, bed, dining table
room household object: potted plant, clock, vase, teddy bear, book
room electronic device: tv=television/televisions, remote=remote control/remote controls, laptop, keyboard
room electronic device: mouse=computer mouse/computer mice, cell phone
bathroom bathroom object: toilet, hair drier, toothbrush/toothbrushes
"""
_WIDE = """
street street object: mailbox/mailboxes, street lamp, traffic cone, statue
street vehicle: tractor, ambulance, scooter
travel vehicle: helicopter, hot-air balloon, canoe
travel accessory: hat, shoe, scarf/scarves, camera, map, ring, crown
farm animal: chicken, pig, duck, goat, rabbit, donkey, rooster
wilderness animal: lion, tiger, monkey, kangaroo, penguin, fox/foxes, owl, wolf/wolves, deer/deer, eagle
wilderness animal: crocodile, rhinoceros/rhinoceroses, peacock, hedgehog, camel
sports sports equipment: bow, golf club, helmet, trophy/trophies, whistle, dumbbell
kitchen tableware: plate, kettle, teapot, jug, frying pan
kitchen food: lemon, egg, mushroom, strawberry/strawberries, tomato/tomatoes, pineapple, pretzel
room piece of furniture: bookcase, stool, wardrobe, rocking chair
room household object: lamp, candle, mirror, pillow, box/boxes, key, globe
room musical instrument: guitar, piano, violin, trumpet, drum
bathroom bathroom object: towel, bathtub, comb, soap dish/soap dishes
garden plant: tree, flower, leaf/leaves, cactus/cacti
garden garden object: wheelbarrow, fountain, watering can, ladder, lantern
garden animal: butterfly/butterflies, snail, bee, frog
"""


def _read(table: str) -> list[Thing]:
    found = []
    for line in table.strip().splitlines():
        head, _, names = line.partition(": ")
        place, _, category = head.partition(" ")
        for name in names.split(", "):
            words, _, many = name.partition("/")
            kind, _, one = words.partition("=")
            found.append(Thing(kind, one or kind, many or f"{one or kind}s", place, category))
    return found


COCO: tuple[Thing, ...] = tuple(_read(_COCO))
WIDE: tuple[Thing, ...] = (*COCO, *_read(_WIDE))
BY_KIND = {each.kind: each for each in WIDE}


def things(task: str, vocabulary: str) -> tuple[Thing, ...]:
    """The things of a vocabulary: coco, or wide, which has further objects that a detector may not know."""
    if vocabulary not in VOCABULARIES:
        raise UsageError(f"{task}: vocabulary={vocabulary!r}", remedy="It is coco or wide.")
    return COCO if vocabulary == "coco" else WIDE
