"""Import: recognise the layout of data, preview it, and load it into a study."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from sightline import registry
from sightline.data.attaching import (
    ATTACHING,
    Attaching,
    Texts,
    known_names,
    of_known_prompts,
    texts_of,
    with_pictures,
)
from sightline.data.export_settings import take_over_settings
from sightline.data.preview import chosen, shown
from sightline.data.sources import Source
from sightline.data.sources.plain import export_note
from sightline.data.sources.topics import topics_file
from sightline.data.unknown_layouts import unknown_layout
from sightline.errors import DataError, SightlineError, StudyError, UsageError, near
from sightline.estimate import plural
from sightline.extension import Configured, Extension, Spec
from sightline.records import (
    Image,
    Judgement,
    Prompt,
    Record,
    System,
    Truth,
)
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing.loading import load
from sightline.verbs import argument, option, verb

REFERRING = ("trec_run", "trec_qrels", "scores")
"""Layouts that name prompts and images which the study holds already."""
JUDGING = ("judgements", "truths")
"""Layouts that say nothing of systems but what was judged of them."""
SPARE = 64 * 1024**2
"""Bytes that must stay free besides those of the images: the database grows as well."""
EXAMPLES_LEFT = 20
"""How many images that fit no prompt are listed on a screen; JSON and CSV have all."""
EXAMPLES = 3
"""How many records of each kind a preview shows."""
_SAMPLED = 2_000


@dataclass(frozen=True)
class Claim:
    """How confident an importer is that a source has its layout, or why it could not look."""

    importer: str
    confidence: float
    trouble: str = ""
    failed: bool = False

    @property
    def warning(self) -> str:
        """Said of an importer that failed while it looked; empty for the others."""
        passed_over = f"Warning: the importer {self.importer} was passed over: {self.trouble}."
        return passed_over if self.failed else ""


@dataclass(frozen=True)
class Skipped:
    """What an importer left out, or only `noted`, for one reason."""

    reason: str
    count: int
    examples: Sequence[str]
    noted: bool = False

    def __str__(self) -> str:
        examples = ", ".join(self.examples) + (", ..." if self.count > len(self.examples) else "")
        return f"{'Noted' if self.noted else 'Left out'}: {self.count:,} {self.reason}: {examples}"


@dataclass(frozen=True)
class Import(Result):
    """What an import did; of a dry run what it would do, with the first records.

    `already` is true where the study held this very source before, `created` where the study is new;
    `restored` counts images whose files it had lost and has again. What is not there yet has no `number`.
    """

    layout: str
    path: str
    counts: Mapping[str, int]
    number: int | None = None
    already: bool = False
    created: bool = False
    systems: Sequence[str] = ()
    image_bytes: int = 0
    examples: Sequence[Record] = ()
    skipped: Sequence[Skipped] = ()
    claims: Sequence[Claim] = ()
    restored: int = 0
    dry_run: bool = False
    chosen: Sequence[str] = ()
    """The options of a dry run, as words of the command line."""
    unmatched: Sequence[tuple[str, str, str]] = ()
    """File, id and reason of every image that fits no prompt of the study."""

    @property
    def sentence(self) -> str:
        if self.number is None:
            parts = [plural(n, kind.replace("_", " ").removesuffix("s")) for kind, n in self.counts.items()]
            copied = f", copying {self.image_bytes / 1e6:,.1f} MB of images" if self.image_bytes else ""
            read = f"{self.path} is read as {self.layout}: {', '.join(parts) or 'nothing'}{copied}."
            return f"{read} Nothing was written."
        if self.already and self.restored:
            found = plural(self.restored, "lost image")
            done = f"would restore {found}. Nothing was written" if self.dry_run else f"restored {found}"
            return f"The study holds this as import {self.number}; {done}."
        if self.already:
            return f"The study already holds exactly this, as import {self.number}. Nothing was changed."
        return f"This is import {self.number}{' of a new study' if self.created else ''}."

    @property
    def notes(self) -> Sequence[str]:
        return [self._recognised(), *_warnings(self.claims), *map(str, self.skipped)]

    @property
    def next(self) -> Sequence[str]:
        if self.number is None:
            return (shlex.join(["sightline", "import", "STUDY", self.path, *self.chosen]),)
        steps = {"judgements": "truth", "answers": "check", "scores": "trust"}
        command = next((step for kind, step in steps.items() if self.counts.get(kind)), "status")
        return f"sightline {command} STUDY", f"sightline undo STUDY {self.number}   # undoes this import"

    def facts(self) -> Mapping[str, Any]:
        own = ("unmatched", "chosen")
        facts = {name: value for name, value in super().facts().items() if name not in own}
        return {**facts, "skipped": [asdict(each) for each in self.skipped]}

    def tables(self) -> dict[str, Table]:
        columns = [Column("file"), Column("id"), Column("reason")]
        left = {"unmatched": Table(columns, list(self.unmatched), "Images that were left", EXAMPLES_LEFT)}
        left = left if self.unmatched else {}
        if self.number is not None:
            done = counted(self.counts, "The study holds" if self.already else "Imported")
            return {"imported": done, **left} if left else {"": done}
        rows = [(type(record).__name__.lower(), shown(record), record.at) for record in self.examples]
        columns = [Column("record"), Column("content"), Column("where")]
        return {
            "counts": counted(self.counts, "To be imported"),
            "examples": Table(columns, rows, "The first records"),
            **left,
        }

    def _recognised(self) -> str:
        name = self.layout.partition("(")[0]
        if not self.claims:
            return f"Read as {self.layout}, as asked."
        claims = registry.get("importer", name).spec.details.get("claims")
        why = (claims.__doc__ or "").strip().split("\n")[0] if callable(claims) else ", ".join(claims or ())
        others = [each.importer for each in self.claims if each.confidence > 0 and each.importer != name]
        also = f" Less likely: {', '.join(others)} (choose with --format)." if others else ""
        return f"Recognised as {self.layout}: {why}{also}"


def counted(counts: Mapping[str, int], caption: str) -> Table:
    """How many records of each kind, as a table."""
    rows = [(kind.replace("_", " ") + ("" if kind.endswith("s") else "s"), n) for kind, n in counts.items()]
    return Table([Column("what"), Column("n")], [row for row in rows if row[1]], caption)


def recognise(
    path: str | Path | Source,
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[Configured, list[Claim]]:
    """The importer for a path, and the claim of every importer; `format` decides where it is given."""
    source = path if isinstance(path, Source) else Source(path, columns=columns or {})
    if format is not None:
        return _configured(format, options or {}), []
    claims, first_trouble = _ask_all(source)
    best = [claim for claim in claims if claim.confidence > 0 and claim.confidence == claims[0].confidence]
    if len(best) == 1:
        return _configured(best[0].importer, options or {}), claims
    if best:
        named = [claim.importer for claim in best]
        raise UsageError(
            f"it could be {' or '.join(named)}",
            where=str(source.path),
            remedy=f"Say which: --format {named[0]}",
        )
    if first_trouble is not None:
        raise first_trouble
    raise unknown_layout(source, _warnings(claims))


@verb("collect", creates=True)
def import_(
    study: Study,
    path: Annotated[str | Path, argument("The file or folder to import.", "PATH")],
    *,
    format: Annotated[
        str | None,
        option(
            "Read the path in this layout: see sightline list importer.",
            metavar="LAYOUT",
            shown="the layout that is recognised",
        ),
    ] = None,
    columns: Annotated[
        Mapping[str, str] | None,
        option("Read our column from theirs; repeatable.", "--column", metavar="OURS=THEIRS"),
    ] = None,
    options: Annotated[
        Mapping[str, Any] | None,
        option(
            "Set a parameter of the layout, such as suite=coco; repeatable.", "--option", metavar="NAME=VALUE"
        ),
    ] = None,
    prompts: Annotated[
        str | Path | None,
        option("Take the texts of prompts from this table of ids and texts, too.", metavar="FILE"),
    ] = None,
    dry_run: Annotated[bool, option("Show what would be imported, and write nothing.")] = False,
    keep_broken: Annotated[
        bool, option("Record unreadable images as broken instead of refusing the import.")
    ] = False,
    replace: Annotated[bool, option("First undo earlier imports of the same path.")] = False,
    new_systems: Annotated[
        bool, option("Let judgements and truths name systems that the study does not have.")
    ] = False,
    listener: Listener | None = None,
) -> Import:
    """Import prompts, images, judgements or truth into a study.

    The layout is recognised: plain CSV, JSONL or Parquet tables, folders of images such as SYSTEM/PROMPT.png,
    and the layouts of published data sets. Everything is imported or nothing is, and importing the same data
    again changes nothing. A study that does not exist yet is created.
    """
    source = Source(path, columns=columns or {})
    importer, claims = recognise(source, format, options=options)
    importer = _at_home(study, source, importer, options or {})
    suite = _named_suite(importer, options or {})
    texts = texts_of(study, prompts, importer, suite) if prompts is not None else None
    if claims and importer.name == "id_images" and texts is None and not len(reading.prompts(study)):
        # Without prompts nothing is an id: the names are rather the prompts themselves.
        others = [each.importer for each in claims if each.confidence > 0 and each.importer != importer.name]
        importer = _configured(others[0], options or {}) if others else importer
    records, attaching = _prepared(study, source, importer, suite, texts, new_systems)
    check_writable(study)
    _check_space(study, source.picture_bytes())
    meter, seen = Meter("records", 0, listener), Seen()
    try:
        loaded = load(
            study,
            seen.passed(_watched(study, records)) if dry_run else _watched(study, records),
            importer=importer.short,
            path=str(source.path.resolve()),
            digest=_digest(source, importer, texts, attaching),
            keep_broken=keep_broken,
            replace=replace,
            closed=bool(importer.spec.details["closed"]),
            progress=lambda done: meter.add(computed=done - meter.done),
            skip=source.skip,
            dry_run=dry_run,
        )
        meter.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. Nothing was imported; run the same command again.") from None
    if importer.name == "export" and not loaded.already:
        take_over_settings(study, source, dry_run=dry_run)
    elif importer.name == "judgements" and source.path.name in export_note(source):
        source.note(source.path.name, "table of an export without its decisions: import the whole folder")
    words = chosen(
        {"format": format, "prompts": prompts},
        {"column": columns, "option": options},
        {"keep-broken": keep_broken, "replace": replace, "new-systems": new_systems},
    )
    return Import(
        importer.short,
        str(source.path),
        loaded.counts,
        None if dry_run and not loaded.already else loaded.source_id,
        loaded.already,
        study.created,
        list(seen.systems),
        seen.image_bytes,
        seen.examples,
        [*_skipped(source), *(_skipped(texts.source) if texts else ())],
        claims,
        loaded.restored,
        dry_run,
        words if dry_run else (),
        attaching.left if attaching else (),
    )


def _prepared(
    study: Study,
    source: Source,
    importer: Configured,
    suite: str | None,
    texts: Texts | None,
    new_systems: bool,
) -> tuple[Iterable[Record], Attaching | None]:
    """The records as the study takes them: what they refer to is looked up in it."""
    records: Iterable[Record] = _records(source, importer)
    attaching = None
    if importer.name in ATTACHING:
        attaching = Attaching(study, known_names(study, importer, texts), suite)
        records = attaching.records(source, records)
    if texts is not None:
        records = chain(texts.prompts, records)
    if importer.name in JUDGING and len(reading.prompts(study)):
        # Where there are prompts, one that is none of them is most likely a slip.
        records = (each for each in records if not isinstance(each, Prompt))
    if importer.name in JUDGING and not new_systems:
        records = _of_known_systems(study, records)
    if importer.name in ("answers", "folder"):
        records = of_known_prompts(study, source, records, importer, suite)
    by_name = importer.arguments.get("names_only") or source.path.name in export_note(source)
    if importer.name == "answers" and not by_name:
        records = with_pictures(study, records)
    return records, attaching


def _ask_all(source: Source) -> tuple[list[Claim], SightlineError | None]:
    claims: list[Claim] = []
    first_trouble: SightlineError | None = None
    for extension in registry.everything("importer"):
        if not isinstance(extension, Extension):
            claims.append(Claim(extension.name, 0.0, extension.why))
            continue
        try:
            claims.append(Claim(extension.spec.name, _confidence(extension.spec, source)))
        except SightlineError as error:
            first_trouble = first_trouble or error
            claims.append(Claim(extension.spec.name, 0.0, str(error)))
        except Exception as error:  # somebody else's importer may fail in any way; the others are still asked
            claims.append(Claim(extension.spec.name, 0.0, f"{type(error).__name__}: {error}", failed=True))
    claims.sort(key=lambda claim: (-claim.confidence, claim.importer))
    return claims, first_trouble


def _warnings(claims: Sequence[Claim]) -> list[str]:
    return [claim.warning for claim in claims if claim.warning]


def _confidence(spec: Spec, source: Source) -> float:
    claims = spec.details.get("claims") or ()
    if callable(claims):
        return min(1.0, max(0.0, float(claims(source))))
    # File name patterns: all of them must be there.
    return 0.9 if claims and all(source.has(pattern) for pattern in claims) else 0.0


def _configured(format: str, options: Mapping[str, Any]) -> Configured:
    importer = registry.configure("importer", format)
    if not options:
        return importer
    typed = {name: _typed(importer.spec, name, value) for name, value in options.items()}
    return registry.configure("importer", importer.name, **{**importer.arguments, **typed})


def _at_home(study: Study, source: Source, importer: Configured, options: Mapping[str, Any]) -> Configured:
    """Runs and qrels refer to what the study holds: to its only suite and its only collection."""
    if importer.name not in REFERRING:
        return importer
    defaults: dict[str, Any] = {}
    collections = reading.images(study)["collection"].unique().to_list()
    if "collection" not in options and len(collections) == 1:
        defaults["collection"] = collections[0]
    suites = reading.prompts(study)["suite"].unique().to_list()
    brings_prompts = bool(options.get("topics") or topics_file(source))
    if "suite" not in options and len(suites) == 1 and not brings_prompts:
        defaults["suite"] = suites[0]
    if not defaults:
        return importer
    return registry.configure("importer", importer.name, **{**importer.arguments, **defaults})


def _named_suite(importer: Configured, options: Mapping[str, Any]) -> str | None:
    """The suite that was asked for, rather than the usual one of the layout."""
    suite = importer.arguments.get("suite")
    asked = "suite" in options or (suite is not None and suite != importer.spec.parameter("suite").default)
    return str(suite) if asked else None


def _typed(spec: Spec, name: str, value: Any) -> Any:
    """An option given as text, converted to the type of the importer's parameter."""
    default = spec.parameter(name).default
    if not isinstance(value, str) or isinstance(default, str):
        return value
    if isinstance(default, bool):
        word = value.strip().lower()
        if word in ("true", "yes", "1", "false", "no", "0"):
            return word in ("true", "yes", "1")
        raise UsageError(f"{name} must be true or false, not {value!r}", remedy=f"--option {name}=true")
    optional = default is None and "float" in spec.parameter(name).annotation
    if isinstance(default, int | float) or optional:
        try:
            return float(value) if optional else type(default)(value)
        except ValueError:
            raise UsageError(
                f"{name} must be a number, not {value!r}", remedy=f"--option {name}={default}"
            ) from None
    return value


def _records(source: Source, importer: Configured) -> Iterator[Record]:
    for record in importer.load()(source):
        if type(record) is Prompt and not record.text.strip():
            raise DataError("the prompt is empty", where=record.at, remedy="Give it a text, or leave it out.")
        yield record
    source.check_columns_used()


def _of_known_systems(study: Study, records: Iterable[Record]) -> Iterator[Record]:
    """The records; where the study has answers, a system that is none of its own is most likely a slip."""
    systems = reading.systems(study)
    known = set(systems["system"]) if systems["answers"].sum() else None
    for record in records:
        if known is not None and isinstance(record, Judgement | Truth):
            for name in (record.item.system, record.item.system_b):
                if name is not None and name not in known:
                    raise DataError(
                        f"the study has no system {name!r}",
                        where=record.at,
                        remedy=f"{near(name, known)} If it is meant, allow it: --new-systems",
                    )
        yield record


@dataclass
class Seen:
    """What a dry run shows of the records besides their number."""

    systems: dict[str, None] = field(default_factory=dict)
    image_bytes: int = 0
    examples: list[Record] = field(default_factory=list)

    def passed(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records, looked at while they pass."""
        shown: Counter[type] = Counter()
        for record in records:
            kind = type(record)
            if isinstance(record, System):
                self.systems[record.name] = None
            if isinstance(record, Image):
                size = os.path.getsize(record.path) if record.path is not None else len(record.data or b"")
                self.image_bytes += size
            if shown[kind] < EXAMPLES:
                shown[kind] += 1
                self.examples.append(record)
            yield record


def _skipped(source: Source) -> list[Skipped]:
    return [
        Skipped(reason, n, source.skipped[reason], reason in source.noted)
        for reason, n in source.skipped_count.items()
    ]


def _digest(source: Source, importer: Configured, texts: Texts | None, attaching: Attaching | None) -> str:
    """The source's digest; of a table also whether its first images are here, since they may arrive later."""
    whole = source.digest()
    if texts is not None:
        whole = hashlib.sha256(f"{whole} {texts.source.digest()}".encode()).hexdigest()
    if attaching is not None:
        # Images that were left find their prompts once these are there.
        known = " ".join(sorted(attaching.names.ids))
        whole = hashlib.sha256(f"{whole} {known}".encode()).hexdigest()
    if not source.is_file:
        return whole
    mixed = hashlib.sha256(whole.encode())
    trial = Source(source.path, columns=source.columns)
    for record in islice(importer.load()(trial), _SAMPLED):
        if isinstance(record, Image) and record.data is not None:
            break  # the images are in the file itself
        if isinstance(record, Image) and record.path is not None:
            status = os.stat(record.path)
            mixed.update(f"{record.key.name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return mixed.hexdigest()


def check_writable(study: Study) -> None:
    """Refuse to begin where the study's folder cannot be written to."""
    if not study.home.is_dir():
        return
    try:
        with tempfile.TemporaryFile(dir=study.home):
            pass
    except OSError as error:
        raise StudyError(
            f"the study cannot be written to ({error.strerror})",
            where=str(study.home),
            remedy="Check the disk and your permissions, or copy the study to where you may write.",
        ) from None


def _check_space(study: Study, wanted: int) -> None:
    """Refuse before the work what the disk cannot hold after it."""
    if not study.files.local or not study.home.is_dir():
        return
    free = shutil.disk_usage(study.home).free
    if free < wanted + SPARE:
        raise StudyError(
            f"{(wanted + SPARE) / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB are free",
            where=str(study.home),
            remedy="Free some space, or make the study on another disk.",
        )


def _watched(study: Study, records: Iterable[Record]) -> Iterator[Record]:
    """The records; free space is checked again whenever their images would fill what is kept spare."""
    since = 0
    for record in records:
        if type(record) is Image and record.path is not None:
            try:
                since += os.path.getsize(record.path)
            except OSError as error:
                raise DataError(
                    f"the image cannot be read ({error.strerror})",
                    where=record.at,
                    remedy="Look at the file.",
                ) from None
            if since > SPARE:
                _check_space(study, since)
                since = 0
        yield record
