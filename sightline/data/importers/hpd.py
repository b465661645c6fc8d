"""HPD: people's preferences between images of one prompt, versions 2 and 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sightline.data.importers._preferences import QUESTION, Preferences
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import (
    AnnotatorKey,
    ImageKey,
    Item,
    Judgement,
    PromptKey,
    Question,
    Record,
    Truth,
    order_question,
    preference_question,
)

FILES = ("train.json", "test.json", "val.json", "all.json", "benchmark.json")
ORDER = "preference_order"
MEAN = "preference_rank"
VERSIONS = (("prompt", "human_preference"), ("prompt", "rank"), ("prompt", "path1", "path2"))


def claims(source: Source) -> float:
    """A JSON list of prompts with human_preference or rank and image_path, or with path1 and path2."""
    return 0.9 * any(_fits(source, file) for file in _files(source)[:3])


def _files(source: Source) -> list[str]:
    found = [file for file in source.shards(".json") if "/" not in file]
    return found if source.is_file else [file for file in found if file in FILES]


def _fits(source: Source, file: str) -> bool:
    _, first = next(source.entries(file), (0, None))
    return isinstance(first, dict) and any(set(names) <= first.keys() for names in VERSIONS)


@importer(
    claims=claims,
    source="Wu et al. 2023, HPD v2 (tgxs002/HPSv2); Ma et al. 2025, HPD v3 (MizzenAI/HPDv3)",
    licence="Apache-2.0",
    files={
        "HPD/train.json": '[\n{"prompt": "a dog", "image_path": ["1.png", "2.png"], '
        '"human_preference": [1, 0], "user_hash": "ab12"}\n]\n',
        "HPD/test.json": '[\n{"prompt": "a cat", "image_path": ["3.png", "4.png"], "rank": [1, 2], '
        '"raw_annotations": [{"rank": [1, 2], "user_hash": "ab12"}, '
        '{"rank": [2, 1], "user_hash": "cd34"}]}\n]\n',
    },
)
def hpd(source: Source, *, suite: str = "hpd", collection: str = "hpd") -> Iterator[Record]:
    """HPD v2 (train.json, test.json) or v3 (pairs with counts of votes): who preferred which image.

    Of v2, train.json has one vote per row and annotator, test.json the order that each annotator gave; where
    only the averaged ranks are there, they are truth. Of v3, choice_dist are counts of anonymous votes; a
    pair without them is known to prefer path1, which is truth. Images are looked for in the folder and in
    its folders train, test and images; else they are known by name.
    """
    made = Preferences(suite, collection, "hpd")
    once: set[str] = set()
    for file in _files(source):
        for number, entry in source.entries(file):
            at = f"{file}:entry {number}"
            if not isinstance(entry, dict) or not any(set(names) <= entry.keys() for names in VERSIONS):
                raise DataError(
                    "neither human_preference, rank nor path1 and path2",
                    where=at,
                    remedy="Give the JSON file as it was published.",
                )
            yield from _entry(source, made, entry, at, once)


def _entry(
    source: Source, made: Preferences, entry: Mapping[str, Any], at: str, once: set[str]
) -> Iterator[Record]:
    text = entry["prompt"]
    if not isinstance(text, str) or not text.strip():
        raise DataError("the prompt is empty", where=at, remedy="Leave the entry out.")
    prompt, records = made.prompt(text, at)
    yield from records
    if "path1" in entry:
        yield from _counted(source, made, prompt, entry, at)
        return
    names = entry.get("image_path", entry.get("file_path"))
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise DataError("image_path must list the images", where=at, remedy="Give at least two names.")
    for name in names:
        yield from made.image(prompt, name, at, path=_found(source, name, at))
    if "human_preference" in entry:
        votes = _numbers(entry, "human_preference", len(names), at)
        if len(names) != 2 or sorted(votes) not in ([0, 1], [0.5, 0.5]):
            raise DataError(
                f"human_preference is {votes}",
                where=at,
                remedy="It is 1 for one of two images, 0 for the other.",
            )
        who = str(entry.get("user_hash") or "")
        yield from made.vote(prompt, names[0], names[1], float(votes[1]), at, annotator=who)
        return
    yield from _orders(made, prompt, names, entry, at, once)


def _orders(
    made: Preferences, prompt: PromptKey, names: list[str], entry: Mapping[str, Any], at: str, once: set[str]
) -> Iterator[Record]:
    raw = entry.get("raw_annotations", entry.get("raw_annotation")) or []
    if not isinstance(raw, list):
        raise DataError("raw_annotations must be a list", where=at, remedy="Give it as it was published.")
    keys = [ImageKey(made.collection, name) for name in names]
    for number, given in enumerate(raw):
        if not isinstance(given, dict):
            raise DataError("an annotation is no object", where=at, remedy="Give it as it was published.")
        ranks = _numbers(given, "rank", len(names), at)
        least = min(ranks)
        who = str(given.get("user_hash") or "")
        if ORDER not in once:
            once.add(ORDER)
            yield order_question(ORDER, at)
        annotator = AnnotatorKey(made.panel, who) if who else None
        for key, rank in zip(keys, ranks, strict=True):
            item, group = Item(prompt, image=key), f"{at}/{number + 1}"
            # Counted from 0 in some files, from 1 in others.
            yield Judgement(ORDER, item, rank - least + 1, annotator, at=at, group=group)
    if not raw:
        if MEAN not in once:
            once.add(MEAN)
            yield Question(MEAN, direction="lower", at=at)
        for key, rank in zip(keys, _numbers(entry, "rank", len(names), at), strict=True):
            yield Truth(MEAN, Item(prompt, image=key), rank, at=at)


def _counted(
    source: Source, made: Preferences, prompt: PromptKey, entry: Mapping[str, Any], at: str
) -> Iterator[Record]:
    names = [entry["path1"], entry["path2"]]
    if not all(isinstance(name, str) and name for name in names) or names[0] == names[1]:
        raise DataError("path1 and path2 must be two images", where=at, remedy="Leave the entry out.")
    for side, name in enumerate(names, 1):
        system = entry.get(f"model{side}")
        yield from made.image(
            prompt, name, at, system=str(system) if system else "", path=_found(source, name, at)
        )
    counts = entry.get("choice_dist")
    if counts is None:
        yield preference_question(QUESTION, at)
        yield Truth(QUESTION, made.pair(prompt, names[0], names[1]), 0.0, at=at)
        return
    votes = _numbers(entry, "choice_dist", 2, at)
    if any(n < 0 or n != int(n) for n in votes) or not sum(votes):
        raise DataError(f"choice_dist is {votes}", where=at, remedy="It counts the votes for each image.")
    for value, n in enumerate(votes):
        if n:
            yield from made.vote(prompt, names[0], names[1], float(value), at, n=int(n))


def _found(source: Source, name: str, at: str) -> str | None:
    """The file of an image; the published names are of folders that differ from one download to the next."""
    for folder in ("", "train/", "test/", "images/"):
        path = source.picture(f"{folder}{name}", at)
        if path is not None:
            return path
    return None


def _numbers(entry: Mapping[str, Any], name: str, n: int, at: str) -> list[float]:
    values = entry.get(name)
    if not isinstance(values, list) or len(values) != n or not all(type(v) in (int, float) for v in values):
        raise DataError(f"{name} must be {n} numbers", where=at, remedy="Give it as it was published.")
    return [float(value) for value in values]
