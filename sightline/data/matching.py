"""Matching images to prompts by hand: which prompts there are, what names suggest, and taking an image in."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sightline.data.attaching import names_of
from sightline.data.sources import IMAGES, composed
from sightline.errors import ConflictError, DataError, UsageError
from sightline.pictures import image_size
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import load, sources

IMPORTER = "matched"
COLLECTION = "matched"
LONGEST_NAME = 200
MOST_SAMPLES = 1_000_000
_NAMED = re.compile(r"(?P<id>\S+?)_(?P<sample>[0-9]{1,6})(?![0-9]).*")


@dataclass(frozen=True)
class PromptChoice:
    """A prompt that an image may be matched to; `samples` are those that the system has answered it with."""

    id: int
    suite: str
    ref: str
    text: str
    samples: Sequence[int]


@dataclass(frozen=True)
class PromptChoices:
    """Prompts that fit a search, and how many there are in all."""

    total: int
    prompts: Sequence[PromptChoice]


@dataclass(frozen=True)
class Guess:
    """The prompt that the name of a file suggests, if it suggests exactly one."""

    name: str
    prompt: PromptChoice | None
    sample: int | None


@dataclass(frozen=True)
class MatchedImage:
    """An image as it was taken in, and the import that it belongs to."""

    number: int
    prompt_id: int
    system: str
    sample: int


def prompt_choices(
    study: Study, text: str = "", system: str = "", offset: int = 0, limit: int = 50
) -> PromptChoices:
    """Prompts whose text, id or suite has these words, in the order of the study."""
    words = text.casefold().split()
    held = _samples(study, system)
    found = [
        PromptChoice(number, suite, ref, written, sorted(held.get(number, ())))
        for number, suite, ref, written in reading.prompts(study).iter_rows()
        if all(word in f"{written} {ref} {suite}".casefold() for word in words)
    ]
    return PromptChoices(len(found), found[offset : offset + limit])


def guess_prompts(study: Study, names: Sequence[str], system: str = "") -> list[Guess]:
    """What the names of files suggest: p<ID>_<n>, <id>_<sample>, or the id alone."""
    known = names_of(study)
    held = _samples(study, system)
    rows = {
        PromptKey(suite, ref): PromptChoice(number, suite, ref, text, sorted(held.get(number, ())))
        for number, suite, ref, text in reading.prompts(study).iter_rows()
    }
    guesses = []
    for name in names:
        stem = composed(PurePosixPath(name).stem)
        parsed = _NAMED.fullmatch(stem)
        found = known.find(parsed["id"]) if parsed else []
        found = found or known.find(stem)
        prompt = rows[found[0]] if len(found) == 1 else None
        sample = int(parsed["sample"]) if parsed and prompt else None
        if sample and prompt and parsed and parsed["id"] != prompt.ref and parsed["id"][:1] in ("p", "P"):
            sample -= 1  # p<ID>_<n> counts from 1
        guesses.append(Guess(name, prompt, sample))
    return guesses


def take_image(
    study: Study,
    data: bytes,
    name: str,
    prompt_id: int,
    system: str,
    sample: int | None = None,
    number: int | None = None,
) -> MatchedImage:
    """Take an image in as the answer of a system to a prompt; `number` is the import that it is added to.

    Without a sample it is the next that is free. An image that cannot be read is refused, as imports do.
    """
    system = system.strip()
    if not system or len(system) > LONGEST_NAME:
        raise UsageError("the image has no system", remedy="Say which system made it.")
    if sample is not None and not 0 <= sample < MOST_SAMPLES:
        raise UsageError(f"the sample is {sample}", remedy="Samples count from 0.")
    prompt = reading.prompt_records(study, [prompt_id]).get(prompt_id)
    if prompt is None:
        raise DataError(f"the study has no prompt number {prompt_id}", remedy="Load the page again.")
    taken = _samples(study, system).get(prompt_id, set())
    if sample in taken:
        raise ConflictError(
            f"the system {system!r} has an image for {prompt.key.ref!r}, sample {sample}, already",
            remedy="Choose another sample.",
        )
    place = sample if sample is not None else max(taken, default=-1) + 1
    if number is not None and not any(
        each["id"] == number and each["importer"] == IMPORTER for each in sources(study)
    ):
        raise DataError(f"import {number} is none of matched images", remedy="Load the page again.")
    return _kept(study, data, name, prompt, (prompt_id, system, place), number)


def _kept(
    study: Study, data: bytes, name: str, prompt: Prompt, where: tuple[int, str, int], number: int | None
) -> MatchedImage:
    prompt_id, system, place = where
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in IMAGES:
        raise DataError(
            f"{name!r} is not called like an image",
            remedy=f"Images end in {', '.join(IMAGES)}.",
        )
    try:
        image_size(data, name)
    except DataError as error:
        remedy = "Repair the file, or leave it out."
        raise DataError(f"{name}: {error.what}", where=name, remedy=remedy) from None
    key = ImageKey(COLLECTION, f"{system}/{prompt.key.suite}/{prompt.key.ref}_{place}{suffix}")
    digest = hashlib.sha256(data + repr(key).encode()).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"image{suffix}"
        file.write_bytes(data)
        records: list[Record] = [
            System(system, at=name),
            Image(key, str(file), at=name),
            Answer(prompt.key, system, place, key, at=name),
        ]
        loaded = load(study, records, importer=IMPORTER, path="matched by hand", digest=digest, extend=number)
    return MatchedImage(loaded.source_id, prompt_id, system, place)


def _samples(study: Study, system: str) -> dict[int, set[int]]:
    """The samples with which a system has answered each prompt."""
    found: dict[int, set[int]] = {}
    if system.strip():
        table = reading.answers(study).select("system", "prompt_id", "position")
        for name, prompt_id, position in table.iter_rows():
            if name == system.strip():
                found.setdefault(prompt_id, set()).add(position)
    return found
