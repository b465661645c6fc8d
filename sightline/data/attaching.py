"""Images that come back for prompts of a study: which prompt a name stands for, and what fits none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from sightline import registry
from sightline.data.sources import IMAGES, Source, prompt_ref
from sightline.errors import DataError, UsageError
from sightline.extension import Configured
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import reading
from sightline.study.study import Study

ATTACHING = ("gimbrr_images", "id_images")
"""Layouts whose images are for prompts that the study has."""
UNKNOWN = "images of ids that the study does not have"
SEVERAL = "images of ids that several suites have (choose one: --option suite=NAME)"
SECOND = "second images of one prompt and sample (the first was taken)"
THERE = "images of a prompt and sample for which the study has another image"
IDS = ".ids.csv"
MOST_LISTED = 100_000
MOST_NAMED = 3
"""How many images an error names."""


@dataclass
class Names:
    """The prompts of a study by the names that files give them; those of the file of --prompts come first."""

    ids: dict[str, list[PromptKey]] = field(default_factory=dict)
    of_file: Collection[PromptKey] = ()
    lines: Mapping[int, PromptKey] = field(default_factory=dict)
    first_line: int = 1

    def add(self, key: PromptKey) -> None:
        """A further prompt."""
        known = self.ids.setdefault(key.ref, [])
        if key not in known:
            known.append(key)

    def find(self, name: str, suite: str | None = None) -> list[PromptKey]:
        """The prompts that a name may stand for: by id, with p before it, without zeros, or by line.

        A number is a line of the file of --prompts before it is the id of a prompt of another suite.
        """
        bare = name[1:] if name[:1] in ("p", "P") else name
        known = [
            [key for key in self.ids.get(ref, ()) if suite in (None, key.suite)]
            for ref in dict.fromkeys((name, bare, bare.lstrip("0")))
        ]
        for found in known:
            if own := [key for key in found if key in self.of_file]:
                return own
        if self.lines and bare.isdecimal() and len(bare) < 10:
            return [self.lines[line]] if (line := self._line(int(bare), name)) in self.lines else []
        return next((found for found in known if found), [])

    def _line(self, number: int, name: str) -> int:
        if number < self.first_line:
            raise DataError(
                f"an image is for line {number}, and lines count from {self.first_line}",
                where=name,
                remedy=f"If the first line is line {number}: --option first_line={number}",
            )
        return number - self.first_line + 1


def names_of(study: Study) -> Names:
    """The names of the prompts that a study has."""
    made = Names()
    for suite, ref in reading.prompts(study).select("suite", "ref").iter_rows():
        made.add(PromptKey(suite, ref))
    return made


def prompts_file(path: str | Path) -> Source:
    """The file of --prompts; of a text file that a suite was written to, the table next to it."""
    given = Path(path)
    table = given.with_name(f"{given.stem}{IDS}")
    return Source(table if given.suffix.lower() == ".txt" and table.is_file() else given)


@dataclass(frozen=True)
class Texts:
    """The prompts of the file that --prompts names, and which stands on which line."""

    source: Source
    prompts: Sequence[Prompt]
    lines: Mapping[int, PromptKey]


def texts_of(path: str | Path, importer: Configured) -> Texts:
    """The prompts of a file, in the suite that the importer of the images has."""
    source = prompts_file(path)
    if not any(each.name == "suite" for each in importer.spec.parameters):
        raise UsageError(
            f"--prompts says nothing to the layout {importer.name}, which has no prompts",
            remedy="Leave it out, or name another layout with --format.",
        )
    suite = importer.arguments.get("suite", importer.spec.parameter("suite").default)
    reader = registry.configure("importer", "prompts", suite=suite).load()
    prompts = [each for each in reader(source) if isinstance(each, Prompt)]
    return Texts(source, prompts, _lines(source, prompts))


def known_names(study: Study, importer: Configured, texts: Texts | None) -> Names:
    """The names of the prompts that a study has, or that a file brings."""
    names = names_of(study)
    if texts is not None:
        names.of_file = {each.key for each in texts.prompts}
        for each in texts.prompts:
            names.add(each.key)
        names.lines = texts.lines
        names.first_line = int(importer.arguments.get("first_line", 1))
    return names


def _lines(source: Source, prompts: Iterable[Prompt]) -> dict[int, PromptKey]:
    """Which prompt stands on which line of a text file, where its table says so; or it is the text itself."""
    listed = list(prompts)
    if source.path.suffix.lower() == ".txt":
        return {int(each.at.rpartition(":")[2]): each.key for each in listed}
    if "line" not in source.header(source.the_file()):
        return {}
    numbers = [row.whole("line") for row in source.rows(source.the_file(), ("line",))]
    return {number: each.key for number, each in zip(numbers, listed, strict=True)}


class Attaching:
    """Takes the images of known prompts and lists the others."""

    def __init__(self, study: Study, names: Names, suite: str | None) -> None:
        self.names = names
        self.suite = suite
        self.left: list[tuple[str, str, str]] = []
        """File, id and reason of every image that was left."""
        self.attached = 0
        self._study = study
        self._taken: set[tuple[str, PromptKey, int]] = set()

    def records(self, source: Source, records: Iterable[Record]) -> Iterator[Record]:
        """The records of an importer; images come right before the answers they belong to."""
        held = self._held()
        system: System | None = None
        image: Image | None = None
        for record in records:
            if isinstance(record, System):
                system = record
            elif isinstance(record, Image):
                image = record
            elif isinstance(record, Answer) and image is not None and isinstance(record.prompt, PromptKey):
                found = self.names.find(record.prompt.ref, self.suite)
                reason = self._reason(record, found, held)
                if reason:
                    self._leave(source, record, reason)
                    continue
                if system is not None:
                    yield system
                    system = None
                self.attached += 1
                yield image
                yield record._replace(prompt=found[0])
            else:
                yield record
        if not self.attached:
            raise self._nothing(source)

    def _reason(self, answer: Answer, found: list[PromptKey], held: Mapping[object, str]) -> str:
        if len(found) != 1:
            return SEVERAL if found else UNKNOWN
        place = (answer.system, found[0], answer.position)
        if place in self._taken:
            return SECOND
        self._taken.add(place)
        other = held.get(place)
        assert answer.image is not None
        return THERE if other is not None and other != "/".join(answer.image) else ""

    def _held(self) -> dict[object, str]:
        """The image of every answer that the study has, by system, prompt and position."""
        prompts = {
            number: PromptKey(suite, ref)
            for number, suite, ref, _ in reading.prompts(self._study).iter_rows()
        }
        images = {
            number: f"{collection}/{name}"
            for number, collection, name in reading.images(self._study)
            .select("image_id", "collection", "name")
            .iter_rows()
        }
        columns = ("system", "prompt_id", "position", "image_id")
        return {
            (system, prompts[prompt], position): images.get(image, "")
            for system, prompt, position, image in reading.answers(self._study).select(columns).iter_rows()
        }

    def _leave(self, source: Source, answer: Answer, reason: str) -> None:
        assert isinstance(answer.prompt, PromptKey)
        source.skip(answer.at, reason)
        if len(self.left) < MOST_LISTED:
            self.left.append((answer.at, answer.prompt.ref, reason))

    def _nothing(self, source: Source) -> DataError:
        first = ", ".join(f"{file} ({ref})" for file, ref, _ in self.left[:3])
        reasons = ", ".join(dict.fromkeys(reason for _, _, reason in self.left)) or "no image has an id"
        return DataError(
            f"no image could be matched to a prompt: {reasons}" + (f": {first}" if first else ""),
            where=str(source.path),
            remedy="Import the prompts first, or name the file that has their ids and texts: --prompts FILE. "
            "If the names are the prompts themselves: --format folder. To match by hand: sightline view "
            "STUDY, then Add images.",
        )


def of_known_prompts(
    study: Study, source: Source, records: Iterable[Record], importer: Configured
) -> Iterator[Record]:
    """The records; a prompt that is given by its wording alone is the one of the study that reads so.

    Where the table or an option names a suite, it is one of that suite. The name of a file or folder may have
    other signs than letters and digits where its prompt cannot stand in a name as it is.
    """
    usual = None if "suite" in importer.arguments else importer.spec.parameter("suite").default
    prompts = reading.prompts(study)
    keys = {PromptKey(suite, ref) for suite, ref in prompts.select("suite", "ref").iter_rows()}
    reads: dict[str, list[tuple[PromptKey, str]]] = {}
    for suite, ref, text in prompts.select("suite", "ref", "text").iter_rows():
        for words in {text, _words(text)} if importer.name == "folder" else {text}:
            reads.setdefault(words, []).append((PromptKey(suite, ref), text))
    same: dict[PromptKey, PromptKey] = {}
    for record in records:
        if isinstance(record, Prompt) and record.key not in keys:
            found = reads.get(record.text) or reads.get(_words(record.text), [])
            fits = [each for each in found if record.key.suite in (usual, each[0].suite)]
            if record.key.ref == prompt_ref(record.text) and len(fits) == 1:
                same[record.key], text = fits[0]
                if text != record.text:
                    source.note(f"{record.text!r} as {text!r}", "names read as the prompts of the study")
                record = record._replace(key=fits[0][0], text=text)
        elif isinstance(record, Answer) and isinstance(record.prompt, PromptKey):
            record = record._replace(prompt=same.get(record.prompt, record.prompt))
        yield record


def _words(text: str) -> str:
    """The letters and digits of a text, as far as the name of a file can keep them."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def with_pictures(study: Study, records: Iterable[Record]) -> Iterator[Record]:
    """The answers; an error at the end if not one of the image files they name is here or in the study."""
    absent: dict[ImageKey, str] = {}
    present = False
    for record in records:
        present = present or isinstance(record, Image)
        key = record.image if isinstance(record, Answer) else None
        if key is not None and not present and key.name.lower().endswith(IMAGES):
            absent.setdefault(key, record.at)
        yield record
    if present or not absent:
        return
    known = set(reading.images(study).select("collection", "name").iter_rows())
    if not known.isdisjoint(map(tuple, absent)):
        return
    first = ", ".join(repr(key.name) for key in islice(absent, MOST_NAMED))
    more = ", ..." if len(absent) > MOST_NAMED else ""
    raise DataError(
        f"none of the {len(absent):,} images is there: {first}{more}"
        if len(absent) > 1
        else f"there is no image {first}",
        where=next(iter(absent.values())),
        remedy="Paths are relative to the table's own folder: correct them, or put the images there. To know "
        "images by name only: --option names_only=true",
    )
