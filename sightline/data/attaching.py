"""Images that come back for prompts of a study: which prompt a name stands for, and what fits none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from sightline import registry
from sightline.data.sources import IMAGES, Source, prompt_ref
from sightline.errors import ConflictError, DataError, UsageError
from sightline.extension import Configured
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.entities import another_text

ATTACHING = ("gimbrr_images", "id_images")
"""Layouts whose images are for prompts that the study has."""
UNKNOWN = "images of ids that the study does not have"
SEVERAL = "images of ids that several suites have: {} (choose one: --option suite=NAME)"
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

    def add(self, key: PromptKey, ref: str = "") -> None:
        """A further prompt; `ref` is its id where that is another than in the study."""
        known = self.ids.setdefault(ref or key.ref, [])
        if key not in known:
            known.append(key)

    def find(self, name: str, suite: str | None = None) -> list[PromptKey]:
        """The prompts that a name may stand for: by id, with p before it, without zeros, or by line.

        A number is a line of the file of --prompts before it is the id of a prompt of another suite.
        """
        bare = _without_p(name)
        known = [
            [key for key in self.ids.get(ref, ()) if suite in (None, key.suite)]
            for ref in dict.fromkeys((name, bare, _bare(name)))
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


class Known:
    """The prompts of a study with their texts, to find the one that a file means."""

    def __init__(self, study: Study, of_names: bool = False) -> None:
        table = reading.prompts(study).select("suite", "ref", "text").iter_rows()
        self.texts = {PromptKey(suite, ref): text for suite, ref, text in table}
        self._reads: dict[str, list[PromptKey]] = {}
        for key, text in self.texts.items():
            for words in {text, _words(text)} if of_names else {text}:
                self._reads.setdefault(words, []).append(key)

    def same(self, prompt: Prompt) -> list[PromptKey]:
        """Those that read so under the same id; an id that was made from the text is as good as none."""
        reads = self._reads.get(prompt.text) or self._reads.get(_words(prompt.text), [])
        made, bare = prompt_ref(prompt.text), _bare(prompt.key.ref)
        return [key for key in reads if _bare(key.ref) == bare] or [
            key for key in reads if made in (key.ref, prompt.key.ref)
        ]


@dataclass(frozen=True)
class Texts:
    """The prompts of the file that --prompts names, which stands on which line, and which has which id."""

    source: Source
    prompts: Sequence[Prompt]
    lines: Mapping[int, PromptKey]
    ids: Sequence[tuple[str, PromptKey]]


def texts_of(study: Study, path: str | Path, importer: Configured, suite: str | None) -> Texts:
    """The prompts of a file: those that the study has, and new ones in the `suite`, or the importer's own."""
    source = prompts_file(path)
    if not any(each.name == "suite" for each in importer.spec.parameters):
        raise UsageError(
            f"--prompts says nothing to the layout {importer.name}, which has no prompts",
            remedy="Leave it out, or name another layout with --format.",
        )
    reader = registry.configure("importer", "prompts", suite=importer.arguments["suite"]).load()
    prompts = [each for each in reader(source) if isinstance(each, Prompt)]
    named = suite is not None or "suite" in _columns(source)
    homes = _homes(Known(study), prompts, named) if importer.name in ATTACHING else {}
    lines = {line: homes.get(key, key) for line, key in _lines(source, prompts).items()}
    ids = [(each.key.ref, homes.get(each.key, each.key)) for each in prompts]
    moved = [
        each._replace(
            key=homes.get(each.key, each.key), links=[(kind, homes.get(to, to)) for kind, to in each.links]
        )
        for each in prompts
    ]
    return Texts(source, moved, lines, ids)


def _homes(known: Known, prompts: Iterable[Prompt], named: bool) -> dict[PromptKey, PromptKey]:
    """Which prompt of the study each one of a file is; where a suite is `named`, it is one of that suite."""
    ids: dict[str, list[PromptKey]] = {}
    for key in () if named else known.texts:
        ids.setdefault(key.ref, []).append(key)
    homes = {}
    for each in prompts:
        found = [key for key in known.same(each) if not named or key.suite == each.key.suite]
        others = ids.get(each.key.ref, [])
        if others and not set(others) & set(found):
            raise another_text(each, known.texts[others[0]], f"in suite {others[0].suite!r} of the study")
        if len(found) > 1:
            raise _several(each, found)
        if found:
            homes[each.key] = found[0]
    return homes


def _several(prompt: Prompt, found: Sequence[PromptKey]) -> ConflictError:
    suites = list(dict.fromkeys(key.suite for key in found))
    if len(suites) == 1:
        return ConflictError(
            f"{len(found)} prompts of suite {suites[0]!r} read {prompt.text[:60]!r}",
            where=prompt.at,
            remedy="Say which is meant in a column prompt_id.",
        )
    return ConflictError(
        f"prompt {prompt.key.ref!r} is in the suites {' and '.join(map(repr, suites))}",
        where=prompt.at,
        remedy=f"Choose the one that the images are for: --option suite={suites[0]}",
    )


def known_names(study: Study, importer: Configured, texts: Texts | None) -> Names:
    """The names of the prompts that a study has, or that a file brings."""
    names = names_of(study)
    if texts is not None:
        names.of_file = {each.key for each in texts.prompts}
        for ref, key in texts.ids:
            names.add(key, ref)
        names.lines = texts.lines
        names.first_line = int(importer.arguments.get("first_line", 1))
    return names


def _lines(source: Source, prompts: Iterable[Prompt]) -> dict[int, PromptKey]:
    """Which prompt stands on which line of a text file, where its table says so; or it is the text itself."""
    listed = list(prompts)
    if source.path.suffix.lower() == ".txt":
        return {int(each.at.rpartition(":")[2]): each.key for each in listed}
    if "line" not in _columns(source):
        return {}
    numbers = [row.whole("line") for row in source.rows(source.the_file(), ("line",))]
    return {number: each.key for number, each in zip(numbers, listed, strict=True)}


def _columns(source: Source) -> Sequence[str]:
    return () if source.path.suffix.lower() == ".txt" else source.header(source.the_file())


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
            return SEVERAL.format(", ".join(key.suite for key in found)) if found else UNKNOWN
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
    study: Study, source: Source, records: Iterable[Record], importer: Configured, suite: str | None
) -> Iterator[Record]:
    """The records; a prompt that the study has, by its text and id or by its text alone, is that one.

    Where the table or `suite` names one, it is one of that suite. The name of a file or folder may have
    other signs than letters and digits where its prompt cannot stand in a name as it is.
    """
    usual = importer.spec.parameter("suite").default if suite is None else None
    known = Known(study, of_names=importer.name == "folder")
    same: dict[PromptKey, PromptKey] = {}
    for record in records:
        if isinstance(record, Prompt) and record.key not in known.texts:
            fits = [key for key in known.same(record) if record.key.suite in (usual, key.suite)]
            if len(fits) == 1:
                same[record.key] = fits[0]
                text = known.texts[fits[0]]
                if text != record.text:
                    source.note(f"{record.text!r} as {text!r}", "names read as the prompts of the study")
                record = record._replace(key=fits[0], text=text)
        elif isinstance(record, Answer) and isinstance(record.prompt, PromptKey):
            record = record._replace(prompt=same.get(record.prompt, record.prompt))
        yield record


def _without_p(name: str) -> str:
    return name[1:] if name[:1] in ("p", "P") else name


def _bare(name: str) -> str:
    """An id without p before it and without zeros."""
    return _without_p(name).lstrip("0")


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
