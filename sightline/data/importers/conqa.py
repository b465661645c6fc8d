"""ConQA: short and abstract queries over Visual Genome, with counted votes on what is relevant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import (
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)

SEEDS = "seed.json"
VOTES = "mturk.json"
REPHRASED = "exp_GPT_J6B.json"
IMAGES = "vg_subset.txt"
FILES = (SEEDS, VOTES, REPHRASED, IMAGES)
ANSWERS = (1.0, 0.0, 0.5)
"""What the three counts of a pair stand for: relevant, irrelevant, unsure."""

QUESTIONS = (
    Question(
        "relevance",
        "ordinal",
        0.0,
        1.0,
        labels={"0": "irrelevant", "0.5": "unsure", "1": "relevant"},
        wording="Is the image relevant to the query?",
    ),
    Question(
        "seed",
        "nominal",
        0.0,
        1.0,
        1.0,
        wording="Was the query written with this image in mind?",
        direction="none",
    ),
)


def claims(source: Source) -> float:
    """Two of seed.json, mturk.json, exp_GPT_J6B.json and vg_subset.txt in a folder, or one of them alone.

    One alone is refused, but is not to be taken for something else: a list of ids is no list of prompts.
    """
    return 0.95 * (sum(source.has(file) for file in FILES) >= (1 if source.is_file else 2))


@importer(
    claims=claims,
    source="Rodriguez et al. 2024, ConQA (AU-DIS/ConQA)",
    licence="not stated",
    files={
        "conqa/seed.json": '{"0": {"Text": "people chopping", "Conceptual": false, "Seeds": [11, 12]}, '
        '"3": {"Text": "working class life", "Conceptual": true, "Seeds": [13]}}',
        "conqa/mturk.json": '{"0": {"14": [3, 0, 1], "12": [9, 0, 0]}, "3": {"14": [0, 2, 1]}}',
        "conqa/exp_GPT_J6B.json": '{"0": ["people cooking", "cooking "], "3": ["labour", "toil"]}',
        "conqa/vg_subset.txt": "11\n12\n13\n14\n15\n",
    },
)
def conqa(source: Source, *, suite: str = "conqa", collection: str = "conqa") -> Iterator[Record]:
    """ConQA: queries with seeds, counts of votes a query and image, rephrasings, and the list of images.

    Votes have no names and come in as counts; relevance is 1, irrelevance 0 and "unsure" 0.5, so that a mean
    of exactly 1 is the unanimous reading. Seeds are truths of the question `seed`. Rephrasing n of query 7 is
    the prompt `7.n`, linked to it by `rephrases`: it inherits the relevance of the original.
    """
    source.need(FILES, of="ConQA")
    seeds, votes = _by_query(source, SEEDS, dict), _by_query(source, VOTES, dict)
    rephrased = _by_query(source, REPHRASED, list)
    for file, entries in ((VOTES, votes), (REPHRASED, rephrased)):
        _same_queries(file, entries, seeds)
    for question in QUESTIONS:
        yield question._replace(at=SEEDS)
    known: set[str] = set()
    for image in _images(source, collection):
        known.add(image.key.name)
        yield image
    for query, entry in seeds.items():
        yield from _query(PromptKey(suite, query), entry, collection, known)
    for query, texts in rephrased.items():
        kind = _kind(seeds[query])
        yield from _rephrasings(PromptKey(suite, query), texts, kind)
    for query, pairs in votes.items():
        yield from _votes(PromptKey(suite, query), pairs, collection, known)


def _by_query(source: Source, file: str, kind: type) -> dict[str, Any]:
    found = source.json(file)
    if not isinstance(found, dict) or not found:
        raise _another(file, "it is not an object with an entry a query")
    for query, entry in found.items():
        if not isinstance(entry, kind) or not entry:
            raise _another(_at(file, query), f"the entry is not {'a list' if kind is list else 'an object'}")
    return found


def _same_queries(file: str, entries: Mapping[str, Any], seeds: Mapping[str, Any]) -> None:
    for query in entries:
        if query not in seeds:
            raise _another(_at(file, query), f"{SEEDS} has no such query")
    for query in seeds:
        if query not in entries:
            raise DataError(
                f"query {query} of {SEEDS} is missing, so this is only a part of ConQA",
                where=file,
                remedy="Obtain the file again: it has an entry for every query.",
            )


def _images(source: Source, collection: str) -> Iterator[Image]:
    seen: set[str] = set()
    for at, line in source.lines(IMAGES):
        name = line.strip()
        if not name.isdecimal():
            raise _another(at, f"{name[:40]!r} is not the id of a Visual Genome image")
        if name in seen:
            raise DataError(f"image {name} is listed twice", where=at, remedy="Take one of the lines out.")
        seen.add(name)
        yield Image(ImageKey(collection, name), at=at)


def _query(key: PromptKey, entry: Mapping[str, Any], collection: str, known: set[str]) -> Iterator[Record]:
    at = _at(SEEDS, key.ref)
    text, images = entry.get("Text"), entry.get("Seeds")
    if not isinstance(text, str) or not isinstance(images, list):
        raise _another(at, "it has no Text, Conceptual and Seeds")
    yield Prompt(key, text, {"kind": _kind(entry)}, at=at)
    names = [str(each) for each in images]
    if len(set(names)) < len(names):
        raise DataError("a seed is listed twice", where=at, remedy="Take one of the two out.")
    for name in names:
        _in_the_collection(name, known, at)
        yield Truth("seed", Item(key, image=ImageKey(collection, name)), 1.0, at=at)


def _kind(entry: Mapping[str, Any]) -> str:
    if not isinstance(entry.get("Conceptual"), bool):
        raise _another(SEEDS, "Conceptual is not true or false everywhere")
    return "conceptual" if entry["Conceptual"] else "descriptive"


def _rephrasings(key: PromptKey, texts: list[Any], kind: str) -> Iterator[Prompt]:
    at = _at(REPHRASED, key.ref)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise _another(at, f"rephrasing {number} is not a text")
        tags = {"kind": kind, "rephrased_by": "GPT-J-6B"}
        yield Prompt(PromptKey(key.suite, f"{key.ref}.{number}"), text, tags, [("rephrases", key)], at=at)


def _votes(key: PromptKey, pairs: Mapping[str, Any], collection: str, known: set[str]) -> Iterator[Judgement]:
    for name, counts in pairs.items():
        at = f"{_at(VOTES, key.ref)}, image {name}"
        if (
            not isinstance(counts, list)
            or len(counts) != len(ANSWERS)
            or not all(type(count) is int and count >= 0 for count in counts)
            or not any(counts)
        ):
            raise _another(at, f"{str(counts)[:40]} are not counts of relevant, irrelevant and unsure")
        _in_the_collection(name, known, at)
        subject = Item(key, image=ImageKey(collection, name))
        for value, count in zip(ANSWERS, counts, strict=True):
            if count:
                yield Judgement("relevance", subject, value, n=count, at=at)


def _in_the_collection(name: str, known: set[str], at: str) -> None:
    if name not in known:
        raise DataError(
            f"image {name} is not in {IMAGES}",
            where=at,
            remedy=f"Obtain {IMAGES} again: it may be cut short, or list the images of another data set.",
        )


def _at(file: str, query: str) -> str:
    # The files are one line each, so that a line number would say nothing.
    return f"{file}, query {query}"


def _another(where: str, what: str) -> DataError:
    return DataError(
        f"not ConQA's: {what}", where=where, remedy="Is it the file of another data set? Obtain it again."
    )
