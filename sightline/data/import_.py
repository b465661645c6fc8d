"""Bringing data into a study: which layout it is, what will come of it, and the import itself."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.data.sources import TABLES, Source
from sightline.data.sources.topics import topics_beside
from sightline.errors import DataError, SightlineError, StudyError, UsageError, near
from sightline.extension import Configured, Extension, Spec
from sightline.records import Answer, Image, Judgement, Prompt, Record, Reference, System, Truth

if TYPE_CHECKING:
    from sightline.study.study import Study

REFERRING = ("trec_run", "trec_qrels")
"""Layouts that name prompts and images which the study holds already."""
SPARE = 64 * 1024**2
"""Bytes that must stay free beside the images: the database grows as well."""

_SAMPLED = 2_000
_PLURALS: Mapping[type, str] = {
    Prompt: "prompts",
    Answer: "answers",
    Judgement: "judgements",
    Truth: "truths",
    Image: "images",
    System: "systems",
    Reference: "references",
}


@dataclass(frozen=True)
class Claim:
    """How sure an importer is that a source is its own, or why it could not look."""

    importer: str
    confidence: float
    trouble: str = ""


@dataclass(frozen=True)
class Skipped:
    """Things an importer left out, or only `noted`, for one reason."""

    reason: str
    count: int
    examples: Sequence[str]
    noted: bool = False


@dataclass(frozen=True)
class Preview:
    """What an import would do."""

    importer: str
    path: str
    counts: Mapping[str, int]
    systems: Sequence[str]
    image_bytes: int
    examples: Sequence[Record]
    skipped: Sequence[Skipped]
    claims: Sequence[Claim] = ()

    @property
    def sentence(self) -> str:
        """What will happen, in one sentence."""
        parts = [f"{n:,} {kind}" for kind, n in self.counts.items()]
        copied = f", copying {self.image_bytes / 1e6:,.1f} MB of images" if self.image_bytes else ""
        return f"{self.path} is read as {self.importer}: {', '.join(parts) or 'nothing'}{copied}."


@dataclass(frozen=True)
class Imported:
    """What an import did; `already` if the study held this very source before."""

    importer: str
    path: str
    source_id: int | None
    already: bool
    counts: Mapping[str, int]
    skipped: Sequence[Skipped] = ()
    claims: Sequence[Claim] = ()
    preview: Preview | None = field(default=None)


def recognise(
    path: str | Path | Source,
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[Configured, list[Claim]]:
    """The importer for a path, and what every importer said of it; `format` decides where it is given."""
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
    raise _unknown(source)


def preview(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    examples: int = 5,
) -> Preview:
    """Read everything and write nothing: what would come in, with the first records of it."""
    source = Source(path, columns=columns or {})
    importer, claims = recognise(source, format, options=options)
    return _preview(source, importer, claims, examples)


def import_(
    study: Study,
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    keep_broken: bool = False,
    replace: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Bring a file or folder into the study, all or nothing; the same one again changes nothing."""
    source = Source(path, columns=columns or {})
    importer, claims = recognise(source, format, options=options)
    importer = _at_home(study, source, importer, options or {})
    if dry_run:
        seen = _preview(source, importer, claims, 5)
        return Imported(importer.short, seen.path, None, False, seen.counts, seen.skipped, claims, seen)
    from sightline.study.writing.loading import load

    _check_writable(study)
    _check_space(study, source.picture_bytes())
    loaded = load(
        study,
        _watched(study, _records(source, importer)),
        importer=importer.short,
        path=str(source.path.resolve()),
        digest=_digest(source, importer),
        keep_broken=keep_broken,
        replace=replace,
        progress=progress,
    )
    return Imported(
        importer.short,
        str(source.path),
        loaded.source_id,
        loaded.already,
        loaded.counts,
        _skipped(source),
        claims,
    )


def undo(study: Study, source_id: int) -> dict[str, int]:
    """Take an import back; gives how many rows of each kind went."""
    from sightline.study.writing.loading import undo as take_back

    _check_writable(study)
    return take_back(study, source_id)


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
            claims.append(Claim(extension.spec.name, 0.0, f"{type(error).__name__}: {error}"))
    claims.sort(key=lambda claim: (-claim.confidence, claim.importer))
    return claims, first_trouble


def _confidence(spec: Spec, source: Source) -> float:
    told = spec.details.get("claims") or ()
    if callable(told):
        return min(1.0, max(0.0, float(told(source))))
    # File name patterns: all of them must be there.
    return 0.9 if told and all(source.has(pattern) for pattern in told) else 0.0


def _configured(format: str, options: Mapping[str, Any]) -> Configured:
    importer = registry.configure("importer", format)
    if not options:
        return importer
    typed = {name: _typed(importer.spec, name, value) for name, value in options.items()}
    return registry.configure("importer", importer.name, **{**importer.arguments, **typed})


def _at_home(study: Study, source: Source, importer: Configured, options: Mapping[str, Any]) -> Configured:
    """Runs and qrels speak of what the study holds: of its only suite and its only collection."""
    from sightline.study import reading

    if importer.name not in REFERRING:
        return importer
    told: dict[str, Any] = {}
    collections = reading.images(study)["collection"].unique().to_list()
    if "collection" not in options and len(collections) == 1:
        told["collection"] = collections[0]
    suites = reading.prompts(study)["suite"].unique().to_list()
    brings_prompts = bool(options.get("topics") or topics_beside(source))
    if "suite" not in options and len(suites) == 1 and not brings_prompts:
        told["suite"] = suites[0]
    return (
        registry.configure("importer", importer.name, **{**importer.arguments, **told}) if told else importer
    )


def _typed(spec: Spec, name: str, value: Any) -> Any:
    """An option as the command line gives it, text, as what the importer wants."""
    default = spec.parameter(name).default
    if not isinstance(value, str) or isinstance(default, str):
        return value
    if isinstance(default, bool):
        said = value.strip().lower()
        if said in ("true", "yes", "1", "false", "no", "0"):
            return said in ("true", "yes", "1")
        raise UsageError(f"{name} must be true or false, not {value!r}", remedy=f"--option {name}=true")
    if isinstance(default, int | float):
        try:
            return type(default)(value)
        except ValueError:
            raise UsageError(
                f"{name} must be a number, not {value!r}", remedy=f"--option {name}={default}"
            ) from None
    return value


def _unknown(source: Source) -> DataError:
    known = [each.spec for each in registry.everything("importer") if isinstance(each, Extension)]
    looked = "\n".join(f"    {spec.name}: {spec.meaning}" for spec in known)
    what = "its layout is not known"
    hint = "Say which it is with --format NAME"
    if source.is_table():
        columns = [name for name in source.header(source.the_file()) if name]
        what = f"no importer knows a table with the columns {', '.join(columns)}"
        wanted = ("prompt", "image", "system", "caption", "question", "value", "annotator")
        close = [f"{ours}={theirs}" for theirs in columns for ours in _close(theirs, wanted, columns)]
        hint = "Name the columns: " + " ".join(f"--column {pair}" for pair in close or ["prompt=THEIRS"])
    elif not source.is_file:
        tables = [file for file in source.files() if file.lower().endswith(TABLES)]
        if tables:
            hint = f"Import a file of it, for example {source.path / tables[0]}"
        elif not source.folders() and not tables:
            what = "there is nothing in this folder that could be imported"
    return DataError(what, where=str(source.path), remedy=f"{hint}. Looked for:\n{looked}")


def _close(theirs: str, wanted: Iterable[str], columns: Sequence[str]) -> list[str]:
    found = near(theirs, [name for name in wanted if name not in columns])
    return (
        [found.removeprefix("Did you mean ").rstrip("?").split(" or ")[0]] if "Did you mean" in found else []
    )


def _records(source: Source, importer: Configured) -> Iterator[Record]:
    for record in importer.load()(source):
        if type(record) is Prompt and not record.text.strip():
            raise DataError("the prompt is empty", where=record.at, remedy="Give it a text, or leave it out.")
        yield record
    source.check_columns_used()


def _preview(source: Source, importer: Configured, claims: Sequence[Claim], examples: int) -> Preview:
    counts: Counter[str] = Counter()
    systems: dict[str, None] = {}
    first: list[Record] = []
    shown: Counter[type] = Counter()
    size = 0
    for record in _records(source, importer):
        kind = type(record)
        if kind is System:
            systems[record.name] = None  # type: ignore[union-attr]
        elif kind in _PLURALS:
            counts[_PLURALS[kind]] += 1
        if kind is Image and record.path is not None:  # type: ignore[union-attr]
            size += os.path.getsize(record.path)  # type: ignore[union-attr]
        if shown[kind] < examples:
            shown[kind] += 1
            first.append(record)
    if systems:
        counts["systems"] = len(systems)
    return Preview(
        importer.short, str(source.path), dict(counts), list(systems), size, first, _skipped(source), claims
    )


def _skipped(source: Source) -> list[Skipped]:
    return [
        Skipped(reason, n, source.skipped[reason], reason in source.noted)
        for reason, n in source.skipped_count.items()
    ]


def _digest(source: Source, importer: Configured) -> str:
    """The source's digest; of a table also whether its first images are here, since they may arrive later."""
    whole = source.digest()
    if not source.is_file:
        return whole
    mixed = hashlib.sha256(whole.encode())
    trial = Source(source.path, columns=source.columns)
    for record in islice(importer.load()(trial), _SAMPLED):
        if isinstance(record, Image) and record.path is not None:
            status = os.stat(record.path)
            mixed.update(f"{record.key.name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return mixed.hexdigest()


def _check_writable(study: Study) -> None:
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
    """The records, with a look at the disk whenever the images that came by would fill the spare room."""
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


__all__ = ["Claim", "Imported", "Preview", "Skipped", "import_", "preview", "recognise", "undo"]
