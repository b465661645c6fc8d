"""Generate: let a system make images for the prompts of a study."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import registry
from sightline.errors import ConflictError, DataError, ExtensionError, UsageError
from sightline.extension import Configured
from sightline.pictures import decode
from sightline.records import Answer, Failure, Image, ImageKey, Prompt, Record, System
from sightline.study import listing, reading
from sightline.study.prompts import prompts_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import loading

BATCH = 8
SECONDS = 5.0
"""An answer waits this long at most before it is committed: what a kill can lose."""


@dataclass(frozen=True)
class Generated:
    """What a run made, what was there before, and why some prompts have no image."""

    system: str
    generator: str
    source_id: int | None
    made: int
    known: int
    failures: Mapping[str, int]


@dataclass(frozen=True)
class _Task:
    prompt: Prompt
    position: int
    seed: int


def generate(
    study: Study,
    system: str,
    generator: str,
    *,
    samples: int = 1,
    seed: int = 0,
    suite: str | None = None,
    listener: Listener | None = None,
) -> Generated:
    """Make `samples` images a prompt and keep them as answers of a system; goes on where it was.

    Each image has a seed of its own, derived from `seed`, the prompt's id and the sample's number, so that
    it does not depend on what else is made. A prompt the generator fails on is an answer with that reason.
    All answers of a system, generator and seed are one source: undoing it takes them all back.
    """
    if samples < 1:
        raise UsageError(f"{samples} samples cannot be made", remedy="Ask for 1 or more.")
    if not system.strip():
        raise UsageError("the system needs a name")
    maker = registry.configure("generator", generator)
    maker.require()
    reading.need_prompts(study)
    wanted = prompts_of(study, suite)
    digest = _digest(system, maker, seed)
    source_id = listing.source_of(study, "generate", digest)
    known = _known_positions(study, system, source_id, maker)
    prompts = reading.prompt_records(study, wanted["prompt_id"].to_list())
    todo = [
        _Task(prompt, position, seed_of(seed, prompt, position))
        for position in range(samples)
        for key, prompt in prompts.items()
        if (key, position) not in known
    ]
    meter = Meter(f"{system}: {maker.name}", len(prompts) * samples, listener)
    before = len(prompts) * samples - len(todo)
    meter.add(known=before)
    failures: Counter[str] = Counter()
    for part in _parts(_results(maker, todo)):
        source_id = _keep(study, system, maker, part, digest, source_id)
        failures.update(result.reason for _, result in part if isinstance(result, Failure))
        meter.add(computed=len(part))
    meter.finish()
    made = len(todo) - failures.total()
    return Generated(system, str(maker), source_id, made, before, dict(failures))


def seed_of(seed: int, prompt: Prompt, position: int) -> int:
    """The seed of one image: 32 bits, which every generator takes."""
    told = json.dumps([seed, prompt.key.suite, prompt.key.ref, position], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:4], "big")


def _digest(system: str, maker: Configured, seed: int) -> str:
    return hashlib.sha256(json.dumps([system, maker.identity, seed]).encode()).hexdigest()


def _known_positions(
    study: Study, system: str, source_id: int | None, maker: Configured
) -> set[tuple[int, int]]:
    if listing.system_kind(study, system) == "retriever":
        raise ConflictError(f"system {system!r} is a retriever", remedy="Give the generator another name.")
    positions, others = listing.positions(study, system, source_id)
    if others:
        raise ConflictError(
            f"system {system!r} has {others:,} answers that {maker.short} with this seed did not make",
            where=study.name,
            remedy="Give what is made now another system name, or undo the import or run they came from.",
        )
    return positions


def _results(maker: Configured, todo: Sequence[_Task]) -> Iterator[tuple[_Task, bytes | Failure]]:
    """The generator's results with what each is for; one that is no image becomes a failure."""
    if not todo:
        return
    made = maker.load()([task.prompt for task in todo], [task.seed for task in todo])
    count = 0
    for result in made:
        if count == len(todo):
            raise _wrong_number(maker, "more", len(todo))
        yield todo[count], _sound(maker, result)
        count += 1
    if count < len(todo):
        raise _wrong_number(maker, f"only {count}", len(todo))


def _wrong_number(maker: Configured, gave: str, asked: int) -> ExtensionError:
    return ExtensionError(
        f"{maker.name} gave {gave} results where {asked} prompts were asked",
        where=maker.spec.origin,
        remedy="A generator must give one image or Failure(reason) a prompt. What was made is kept.",
    )


def _sound(maker: Configured, result: bytes | Failure) -> bytes | Failure:
    if isinstance(result, Failure):
        return result if result.reason.strip() else Failure(f"{maker.name} gave no reason")
    if not isinstance(result, bytes):
        raise ExtensionError(
            f"{maker.name} gave {type(result).__name__} instead of the bytes of an image",
            where=maker.spec.origin,
        )
    try:
        decode(result)
    except DataError as error:
        return Failure(error.what)
    return result


def _parts(
    results: Iterator[tuple[_Task, bytes | Failure]],
) -> Iterator[list[tuple[_Task, bytes | Failure]]]:
    """Results in small parts, sooner where they come slowly; what was made before an error is not lost."""
    part: list[tuple[_Task, bytes | Failure]] = []
    since = time.monotonic()
    try:
        for result in results:
            part.append(result)
            if len(part) >= BATCH or time.monotonic() - since >= SECONDS:
                yield part
                part = []
                since = time.monotonic()
    except (Exception, KeyboardInterrupt):
        if part:
            yield part
        raise
    if part:
        yield part


def _keep(
    study: Study,
    system: str,
    maker: Configured,
    part: Sequence[tuple[_Task, bytes | Failure]],
    digest: str,
    source_id: int | None,
) -> int:
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        records = list(_records(system, maker, part, Path(folder)))
        path = f"{system} by {maker.short}"
        loaded = loading.load(study, records, importer="generate", path=path, digest=digest, extend=source_id)
        if loaded.already:  # another process began the same run a moment ago
            loaded = loading.load(
                study, records, importer="generate", path=path, digest=digest, extend=loaded.source_id
            )
    return loaded.source_id


def _records(
    system: str, maker: Configured, part: Sequence[tuple[_Task, bytes | Failure]], folder: Path
) -> Iterator[Record]:
    yield System(system)
    settings = {"generator": str(maker), "version": maker.spec.version}
    for n, (task, result) in enumerate(part):
        at = f"{system}, {task.prompt.key.ref}, sample {task.position}"
        answer = Answer(
            task.prompt.key, system, task.position, None, seed=task.seed, settings=settings, at=at
        )
        if isinstance(result, Failure):
            yield answer._replace(failure=result.reason)
            continue
        file = folder / str(n)
        file.write_bytes(result)
        key = ImageKey(system, f"{task.prompt.key.suite}/{task.prompt.key.ref}/{task.position}")
        yield Image(key, str(file), at=at)
        yield answer._replace(image=key)
