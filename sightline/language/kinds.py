"""Names of kinds of objects: plurals, synonyms, and which kind is a kind of which.

The lists below are short and fixed, so that a verdict is the same on every machine: they have the everyday
words for the classes of COCO, which most detectors know, and the words that benchmarks use for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

IRREGULAR = {
    "men": "man", "women": "woman", "children": "child", "people": "person", "mice": "mouse",
    "geese": "goose", "feet": "foot", "teeth": "tooth", "knives": "knife", "leaves": "leaf",
    "wolves": "wolf", "loaves": "loaf",
    "scarves": "scarf", "shelves": "shelf", "calves": "calf", "halves": "half", "wives": "wife",
    "oxen": "ox", "dice": "die", "cacti": "cactus", "buses": "bus", "persons": "person", "photos": "photo",
    "skis": "skis", "scissors": "scissors", "trousers": "trousers", "jeans": "jeans", "glasses": "glasses",
    "sheep": "sheep", "fish": "fish", "fishes": "fish", "deer": "deer", "series": "series",
    "octopuses": "octopus", "movies": "movie", "cookies": "cookie", "pies": "pie", "ties": "tie",
    "shoes": "shoe", "canoes": "canoe", "toes": "toe", "horses": "horse", "houses": "house", "vases": "vase",
    "roses": "rose", "nurses": "nurse", "purses": "purse", "suitcases": "suitcase", "axes": "axe",
}  # fmt: skip
SYNONYMS: Sequence[tuple[str, ...]] = (
    ("person", "human", "human being"), ("bicycle", "bike"), ("car", "automobile", "motorcar"),
    ("motorcycle", "motorbike"), ("airplane", "aeroplane", "plane", "aircraft"), ("truck", "lorry"),
    ("traffic light", "traffic signal", "stoplight"), ("fire hydrant", "hydrant"), ("couch", "sofa"),
    ("cow", "cattle"), ("backpack", "rucksack", "knapsack"), ("handbag", "purse"), ("tie", "necktie"),
    ("suitcase", "luggage"), ("skis", "ski"), ("sports ball", "ball"),
    ("tennis racket", "tennis racquet", "racket", "racquet"), ("wine glass", "wineglass"), ("cup", "mug"),
    ("hot dog", "hotdog"), ("donut", "doughnut"), ("potted plant", "houseplant", "plant in a pot"),
    ("dining table", "table", "dinner table", "kitchen table"), ("tv", "television", "tv set", "tv monitor",
     "television set"), ("laptop", "laptop computer", "notebook computer"), ("mouse", "computer mouse"),
    ("remote", "remote control", "tv remote"), ("keyboard", "computer keyboard"),
    ("cell phone", "cellphone", "mobile phone", "smartphone", "cellular telephone", "phone"),
    ("microwave", "microwave oven"), ("refrigerator", "fridge", "icebox"), ("clock", "timepiece"),
    ("scissors", "pair of scissors"), ("teddy bear", "teddy"), ("hair drier", "hair dryer", "hairdryer",
     "blow dryer"), ("frisbee", "flying disc"), 
    ("baseball glove", "baseball mitt"), ("rabbit", "bunny"),
)  # fmt: skip
KINDS_OF: dict[str, tuple[str, ...]] = {
    "person": (
        "man", "woman", "boy", "girl", "child", "kid", "baby", "toddler", "lady", "guy", "adult", "teenager",
        "player", "skier", "surfer", "skateboarder", "snowboarder", "rider", "cyclist", "chef", "doctor",
        "nurse", "teacher", "student", "farmer", "fisherman", "firefighter", "police officer", "policeman",
        "soldier", "astronaut", "dancer", "king", "queen", "knight", "clown", "bride", "groom", "pilot",
    ),
    "dog": ("puppy", "poodle", "corgi", "labrador", "german shepherd", "husky", "bulldog", "dachshund"),
    "cat": ("kitten", "tabby", "siamese cat"),
    "bird": (
        "pigeon", "parrot", "owl", "eagle", "duck", "swan", "seagull", "sparrow", "penguin", "flamingo",
        "chicken", "rooster", "hen", "peacock", "goose", "robin", "hawk", "crow", "raven", "pelican",
    ),
    "horse": ("pony", "foal"), "sheep": ("lamb", "ram"), "cow": ("bull", "calf", "ox"),
    "bear": ("polar bear", "grizzly bear", "brown bear"),
    "car": ("taxi", "cab", "police car", "sports car", "suv", "limousine", "sedan"),
    "truck": ("pickup truck", "fire truck", "pickup"), "bus": ("school bus", "double-decker bus"),
    "boat": ("ship", "sailboat", "canoe", "kayak", "rowboat", "ferry", "yacht", "gondola", "sailing boat"),
    "train": ("steam train", "locomotive", "tram"), "chair": ("armchair", "rocking chair", "stool"),
    "sports ball": ("football", "soccer ball", "basketball", "tennis ball", "baseball", "volleyball"),
    "clock": ("alarm clock", "wall clock", "grandfather clock"),
    "cup": ("teacup", "coffee cup", "coffee mug"),
    "bottle": ("wine bottle", "water bottle", "beer bottle"), "bed": ("bunk bed",),
    "potted plant": ("bonsai", "potted flower"), "cake": ("birthday cake", "wedding cake", "cupcake"),
    "book": ("notebook", "textbook", "novel"), "knife": ("butter knife", "kitchen knife"),
    "animal": (
        "bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "fish", "lion",
        "tiger", "monkey", "rabbit", "fox", "wolf", "pig", "goat", "frog", "snake", "turtle",
    ),
    "vehicle": ("bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"),
    "fruit": ("banana", "apple", "orange", "pear", "grape", "strawberry", "lemon", "cherry", "peach"),
    "vegetable": ("broccoli", "carrot", "potato", "tomato", "onion"),
    "food": (
        "banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake",
    ),
    "furniture": ("chair", "couch", "bed", "dining table", "bench"),
    "bag": ("backpack", "handbag", "suitcase"),
}  # fmt: skip
_ARTICLE = re.compile(r"^(?:an?|the|some|one)\s+")


class Coverage(NamedTuple):
    """What a vocabulary has of a kind: itself, kinds of it, and kinds that it is one of."""

    same: frozenset[str]
    narrower: frozenset[str]
    broader: frozenset[str]


@cache
def plain_kind(name: str) -> str:
    """A kind in the singular, in lower case and without an article: "The hot dogs" is "hot dog"."""
    words = _ARTICLE.sub("", " ".join(name.lower().replace("_", " ").split())).split(" ")
    return " ".join([*words[:-1], _singular(words[-1])])


def _singular(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "zes", "sses", "oes")):
        return word[:-2]
    return word[:-1]


@cache
def names_of(name: str) -> frozenset[str]:
    """All names of a kind, its synonyms included; a class with commas, as of ImageNet, has several."""
    names = {plain_kind(part) for part in name.split(",") if part.strip()}
    return frozenset(names.union(*(group for group in _groups() if group & names)))


@cache
def _groups() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(plain_kind, group)) for group in SYNONYMS)


@cache
def _kinds_below(name: str) -> frozenset[str]:
    """Names of everything that is a kind of this, at any depth."""
    own = [below for above, below in KINDS_OF.items() if plain_kind(above) in names_of(name)]
    direct = {each for below in own for kind in below for each in names_of(kind)}
    return frozenset(direct.union(*(_kinds_below(each) for each in direct - names_of(name))))


def same_kind(asked: str, seen: str) -> bool:
    """Whether two names mean the same kind."""
    return bool(names_of(asked) & names_of(seen))


def kind_of(lower: str, upper: str) -> bool:
    """Whether one kind is a kind of the other, as a dog is an animal; nothing is a kind of itself."""
    return not same_kind(lower, upper) and bool(_kinds_below(upper) & names_of(lower))


def coverage(asked: str, vocabulary: Iterable[str]) -> Coverage:
    """The kinds of a vocabulary that are the one asked for, kinds of it, or above it."""
    known = tuple(vocabulary)
    return Coverage(
        frozenset(each for each in known if same_kind(asked, each)),
        frozenset(each for each in known if kind_of(each, asked)),
        frozenset(each for each in known if kind_of(asked, each)),
    )
