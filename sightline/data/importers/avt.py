"""AVT's AI images: every single rating of two tests on appeal, realism, prompt match and quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from sightline.data.sources import Row, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.statistics.intervals import published_interval

PROMPTS = "prompts.csv"
TESTS = {"test1": "raw_test1.csv", "test2": "raw_test2.csv"}
ASKED = {
    "test1": ("image_appeal", "realism", "prompt_matching"),
    "test2": ("image_appeal", "image_quality"),
}
RATING = ("user_ID", "image_key", "rating_type", "rating")
MEANS = (
    ("ratings_appeal_realism_match_mean.csv", "test1", "appeal_mean", "image_appeal", "appeal_std"),
    ("ratings_appeal_realism_match_mean.csv", "test1", "realism_mean", "realism", ""),
    ("ratings_appeal_realism_match_mean.csv", "test1", "prompt_matching_mean", "prompt_matching", ""),
    ("test2_appeal.csv", "test2", "rating", "image_appeal", "std"),
    ("test2_quality.csv", "test2", "rating", "image_quality", "std"),
)
PHOTOS = "own"
WORDING = {
    "image_appeal": "How appealing is the image?",
    "realism": "How realistic is the image?",
    "prompt_matching": "How well does the image match its prompt?",
    "image_quality": "How good is the technical quality of the image?",
}


def claims(source: Source) -> float:
    """raw_test1.csv or raw_test2.csv, which is refused where the rest is not next to it."""
    return 0.95 * any(source.has(file) for file in TESTS.values())


@importer(
    claims=claims,
    source="Göring et al. 2023 (Telecommunication-Telemedia-Assessment/avt_ai_images)",
    licence="GPL-3.0",
    version=2,
    files={
        "avt/prompts.csv": "ID,prompts,category\np01,A red car,Drawbench\np02,A cow,own\n",
        "avt/raw_test1.csv": "user_ID,image_key,rating_type,rating\n"
        "1,glide/p01,image_appeal,2\n1,glide/p01,realism,3\n1,glide/p01,prompt_matching,5\n"
        "1,own/p02,image_appeal,4\n1,own/p02,realism,5\n1,own/p02,prompt_matching,5\n",
        "avt/raw_test2.csv": "user_ID,image_key,rating_type,rating\n"
        "1,glide/p01,image_appeal,1\n1,glide/p01,image_quality,2\n"
        "1,glide/p01,image_appeal,3\n1,glide/p01,image_quality,2\n",
        "avt/test2_appeal.csv": "image_key,rating,std,prompt\nglide/p01,2,1.4,p01\n",
        "avt/test2_quality.csv": "image_key,rating,std,prompt\nglide/p01,2,0,p01\n",
    },
)
def avt(source: Source, *, suite: str = "avt", collection: str = "avt") -> Iterator[Record]:
    """AVT: raw ratings 1-5 of two tests, the published means, prompts, and images/SYSTEM/PROMPT.jpg.

    The tests number their users alike, so that each is a panel of its own; a user who rated an image again
    gave a further repetition. The photos (`own`) belong to a prompt but are no system's answer. The published
    means are truths of the rules `published_test1` and `published_test2`, with the number of ratings, and
    with an interval where their standard deviation is published.
    """
    source.need((PROMPTS, *TESTS.values()), of="the data set")
    for name, wording in WORDING.items():
        yield Question(name, "ordinal", 1.0, 5.0, 1.0, wording=wording, at=f"{TESTS['test1']}:1")
    prompts: set[str] = set()
    for row in source.rows(PROMPTS, required=("ID", "prompts"), known=("ID", "prompts", "category")):
        category = row.text("category", None)
        tags = {} if category is None else {"category": category}
        prompts.add(row.text("ID"))
        yield Prompt(PromptKey(suite, row.text("ID")), row.text("prompts"), tags, at=row.at)
    shown: dict[str, Item] = {}
    yield from _files(source, suite, collection, prompts, shown)
    here = bool(shown)
    rated: dict[str, Counter[tuple[str, str]]] = {}
    for test, file in TESTS.items():
        rated[test] = Counter()
        for row in source.rows(file, required=RATING, known=RATING):
            name = row.text("image_key")
            rated[test][name, row.text("rating_type")] += 1
            if name not in shown:
                yield from _by_name(row, suite, collection, prompts, shown, here)
        yield from _ratings(source, test, file, shown)
    yield from _means(source, rated, shown)


def _files(
    source: Source, suite: str, collection: str, prompts: set[str], shown: dict[str, Item]
) -> Iterator[Record]:
    for folder in source.folders("images"):
        for file in source.pictures(folder):
            path = PurePosixPath(file)
            name = f"{path.parent.name}/{path.stem}"
            if path.stem not in prompts:
                source.skip(file, f"images of prompts that {PROMPTS} does not name")
            elif name in shown:
                raise DataError(f"there are two files of {name}", where=file, remedy="Keep one.")
            else:
                yield from _shown(name, suite, collection, shown, str(source.inside(file)), file)


def _by_name(
    row: Row, suite: str, collection: str, prompts: set[str], shown: dict[str, Item], here: bool
) -> Iterator[Record]:
    name = row.text("image_key")
    system, _, ref = name.partition("/")
    if not system or ref not in prompts:
        raise row.wrong("image_key", f"SYSTEM/PROMPT with a prompt of {PROMPTS}", "Correct the row.")
    if here:
        raise row.error(
            f"there is no image of {name!r} in images/, where there are others",
            "Add the file, or take all images away: then they are known by name only.",
        )
    yield from _shown(name, suite, collection, shown, None, row.at)


def _shown(
    name: str, suite: str, collection: str, shown: dict[str, Item], path: str | None, at: str
) -> Iterator[Record]:
    system, _, ref = name.partition("/")
    key, image = PromptKey(suite, ref), ImageKey(collection, name)
    yield Image(image, path, at=at)
    if system == PHOTOS:
        shown[name] = Item(key, image=image)
        return
    if not any(subject.system == system for subject in shown.values()):
        yield System(system, at=at)
    shown[name] = Item(key, system, image)
    yield Answer(key, system, 0, image, at=at)


def _ratings(source: Source, test: str, file: str, shown: Mapping[str, Item]) -> Iterator[Judgement]:
    times: Counter[tuple[str, str, str]] = Counter()
    last: dict[tuple[str, str], str] = {}
    for row in source.rows(file, required=RATING):
        user, name, question = row.text("user_ID"), row.text("image_key"), row.text("rating_type")
        if question not in ASKED[test]:
            raise row.wrong("rating_type", "one of " + ", ".join(ASKED[test]), "Correct the row.")
        value = row.whole("rating")
        if value not in range(1, 6):
            raise row.wrong("rating", "1, 2, 3, 4 or 5", "Correct the rating.")
        repetition = times[user, name, question]
        times[user, name, question] += 1
        last[user, name] = row.at
        who = AnnotatorKey(f"avt_{test}", user)
        yield Judgement(question, shown[name], float(value), who, repetition=repetition, at=row.at)
    for (user, name), at in last.items():
        if len({times[user, name, question] for question in ASKED[test]}) > 1:
            raise DataError(
                f"user {user} did not answer all of {', '.join(ASKED[test])} on {name}",
                where=at,
                remedy="Obtain the file again: it may be cut short.",
            )


def _means(
    source: Source, rated: Mapping[str, Counter[tuple[str, str]]], shown: Mapping[str, Item]
) -> Iterator[Truth]:
    for file, test, column, question, deviation in MEANS:
        if not source.has(file):
            source.skip(file, "published means that are not here")
            continue
        taken = (
            "image_key",
            "db",
            "prompt",
            *(name for each in MEANS if each[0] == file for name in each[2::2]),
        )
        left = {name for name, _ in rated[test]}
        first = column == next(each[2] for each in MEANS if each[0] == file)
        for row in source.rows(file, required=("image_key", column), known=taken if first else None):
            name, value = row.text("image_key"), row.number(column)
            if name not in left:
                raise row.wrong("image_key", f"an image that {TESTS[test]} rates, once", "Correct the row.")
            left.discard(name)
            if not 1 <= value <= 5:
                raise row.wrong(column, "between 1 and 5", "Correct the mean.")
            n = rated[test][name, question]
            sd = row.number(deviation, None) if deviation else None
            ends = None if sd is None else published_interval(value, sd, n, low=1.0, high=5.0)
            low, high = ends or (None, None)
            yield Truth(question, shown[name], value, low, high, n, f"published_{test}", row.at)
        if left:
            raise DataError(
                f"{min(left)} is missing, though {TESTS[test]} rates it",
                where=file,
                remedy="Obtain the file again: it may be cut short.",
            )
