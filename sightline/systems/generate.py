"""Generate: images for the prompts of a study, made by a generator."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from sightline import registry
from sightline.endpoints import Endpoint, Stopped, Unanswered
from sightline.errors import ConflictError, DataError, ExtensionError, UsageError
from sightline.extension import Configured
from sightline.pictures import GeneratedImage, decode
from sightline.records import Answer, Failure, Image, ImageKey, Prompt, Record, System
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.bill import CallPlan, bill_table
from sightline.study.ledger import BillLine, StudyLedger, connected, endpoint_argument, loaded_at, rehearsed
from sightline.study.prompts import prompts_of
from sightline.study.running.calling import as_they_end, forecast
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.systems.ranking import SUITE, SYSTEM, reasons_table
from sightline.verbs import SEED, argument, option, verb


@dataclass(frozen=True)
class Generation(Result):
    """What a run made, what an earlier one had made, and why some prompts have no image.

    `number` is the import under which all answers of this system, generator and seed are undone.
    """

    system: str
    generator: str
    number: int | None
    seed: int
    made: int
    known: int
    failures: Mapping[str, int]
    unanswered: Mapping[str, int] = field(default_factory=dict)
    """Calls to an endpoint that got no usable answer, by reason; a later run repeats them."""
    bill: Sequence[BillLine] = ()
    stopped: str = ""
    """Why the run ended before all images were made."""

    @property
    def sentence(self) -> str:
        return f"The run was stopped. {self.stopped}" if self.stopped else ""

    @property
    def notes(self) -> Sequence[str]:
        again = sum(self.unanswered.values())
        said = f"{again:,} calls got no usable answer: run the same command again to repeat them."
        return (said,) if again else ()

    @property
    def exit_code(self) -> int:
        return DataError.exit_code if self.stopped or (self.unanswered and not self.made) else 0

    @property
    def next(self) -> Sequence[str]:
        undo = (f"sightline undo STUDY {self.number}   # undoes these answers",) if self.number else ()
        return "sightline check STUDY", *undo

    def tables(self) -> dict[str, Table]:
        columns = [Column("system"), Column("made"), Column("known", "made earlier"), Column("failed")]
        row = (self.system, self.made, self.known, sum(self.failures.values()))
        return {
            "systems": Table(columns, [row], self.generator),
            "failures": reasons_table(self.failures, "Why there is no image"),
            "unanswered": reasons_table(self.unanswered, "Why there is no image yet"),
            **bill_table(self.bill),
        }


@dataclass(frozen=True)
class _Task:
    prompt: Prompt
    position: int
    seed: int


Made = tuple[_Task, GeneratedImage | Failure]


@verb("collect")
def generate(
    study: Study,
    system: Annotated[str, argument(SYSTEM, "SYSTEM")],
    generator: Annotated[
        str,
        option("Generate with this generator: see sightline list generator.", "--with", metavar="GENERATOR"),
    ],
    *,
    samples: Annotated[int, option("Generate this many images per prompt.", least=1)] = 1,
    seed: Annotated[int, SEED] = 0,
    suite: Annotated[str | None, SUITE] = None,
    plan: Annotated[bool, option("Estimate the calls and cost of an endpoint; call nothing.")] = False,
    listener: Listener | None = None,
) -> Generation | CallPlan:
    """Generate images for the prompts of a study.

    Each image is stored as soon as the generator returns it: a run that was stopped or killed resumes, and
    repeats at most the calls in flight. Each image has a seed of its own, derived from the seed, the prompt's
    id and the sample's number, so that it does not depend on what else is made. A prompt that the generator
    fails on is an answer with that reason.

    \b
    sightline generate my-study mine --with 'command(line="python draw.py {prompt} {seed} {output}")'
    sightline generate my-study sdxl --with 'diffusers(checkpoint="models/sdxl", steps=30)' --samples 4
    sightline generate my-study hosted --with 'openai_images(model="gpt-image-1", endpoint="openai")' --plan
    """
    if samples < 1:
        raise UsageError(f"{samples} samples cannot be made", remedy="Ask for 1 or more.")
    if not system.strip():
        raise UsageError("the system needs a name")
    maker = registry.configure("generator", generator)
    maker.require()
    reading.need_prompts(study)
    digest = _digest(system, maker, seed)
    source_id = listing.source_of(study, "generate", digest)
    known = _known_positions(study, system, source_id, maker)
    prompts = reading.prompt_records(study, prompts_of(study, suite)["prompt_id"].to_list())
    todo = [
        _Task(prompt, position, seed_of(seed, prompt, position))
        for position in range(samples)
        for key, prompt in prompts.items()
        if (key, position) not in known
    ]
    if plan:
        return _planned(study, system, maker, todo)
    meter = Meter(f"{system}: {maker.name}", len(prompts) * samples, listener)
    before = len(prompts) * samples - len(todo)
    meter.add(known=before)
    failures: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    stopped, made = "", 0
    client = connected(study, maker, f"generate {system}")
    results = _results(maker, todo) if client is None else _called(maker, client, todo, unanswered)
    # One commit each: a call may cost money, and what a kill finds uncommitted is called for again.
    try:
        for task, result in results:
            source_id = _store(study, system, maker, task, result, digest, source_id)
            if isinstance(result, Failure):
                failures[result.reason] += 1
            made += isinstance(result, GeneratedImage)
            meter.add(computed=1)
    except Stopped as error:
        stopped = f"{error.where}: {error.what}. {error.remedy}"
    finally:
        if client is not None:
            client.close()
    meter.finish()
    bill = client.ledger.lines() if client is not None and isinstance(client.ledger, StudyLedger) else ()
    counted = (made, before, dict(failures), dict(unanswered))
    return Generation(system, str(maker), source_id, seed, *counted, bill, stopped)


def _planned(study: Study, system: str, maker: Configured, todo: Sequence[_Task]) -> CallPlan:
    if endpoint_argument(maker) is None:
        raise UsageError(f"{maker.name} calls no endpoint", remedy="Leave --plan out: it costs only time.")
    purpose = f"generate {system}"
    client = rehearsed(study, maker, purpose)
    draw = loaded_at(maker, client)
    return CallPlan([forecast(purpose, client, todo, lambda task: list(draw([task.prompt], [task.seed])))])


def _called(
    maker: Configured, client: Endpoint, todo: Sequence[_Task], unanswered: Counter[str]
) -> Iterator[Made]:
    """The images of a generator that calls an endpoint, each as soon as it is there, whatever the order."""
    draw = loaded_at(maker, client)

    def call(task: _Task) -> GeneratedImage | Failure | Unanswered:
        try:
            (made,) = _results(maker, [task], draw)
        except Unanswered as error:
            return error
        return made[1]

    for group in as_they_end(iter(todo), call, client):
        for task, result in group:
            if isinstance(result, Unanswered):
                unanswered[str(result)] += 1
            else:
                yield task, result


def seed_of(seed: int, prompt: Prompt, position: int) -> int:
    """The seed of one image: 32 bits, which every generator accepts."""
    identity = json.dumps([seed, prompt.key.suite, prompt.key.ref, position], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4], "big")


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


def _results(
    maker: Configured, todo: Sequence[_Task], draw: Callable[..., Iterable[Any]] | None = None
) -> Iterator[Made]:
    """The generator's results, each with its task; one that is no image becomes a failure."""
    if not todo:
        return
    made = (draw or maker.load())([task.prompt for task in todo], [task.seed for task in todo])
    count = 0
    for result in made:
        if count == len(todo):
            raise _wrong_number(maker, "too many", len(todo))
        yield todo[count], _validated(maker, result)
        count += 1
    if count < len(todo):
        raise _wrong_number(maker, f"only {count}", len(todo))


def _wrong_number(maker: Configured, gave: str, asked: int) -> ExtensionError:
    return ExtensionError(
        f"{maker.name} gave {gave} results for {asked} prompts",
        where=maker.spec.origin,
        remedy="A generator must yield one image or Failure(reason) per prompt. What was made is stored.",
    )


def _validated(maker: Configured, result: bytes | GeneratedImage | Failure) -> GeneratedImage | Failure:
    if isinstance(result, Failure):
        return result if result.reason.strip() else Failure(f"{maker.name} gave no reason")
    if isinstance(result, bytes):
        result = GeneratedImage(result)
    if not isinstance(result, GeneratedImage) or not isinstance(result.data, bytes):
        raise ExtensionError(
            f"{maker.name} gave {type(result).__name__} instead of the bytes of an image",
            where=maker.spec.origin,
        )
    try:
        decode(result.data)
    except DataError as error:
        return Failure(error.what)
    return result


def _store(
    study: Study,
    system: str,
    maker: Configured,
    task: _Task,
    result: GeneratedImage | Failure,
    digest: str,
    source_id: int | None,
) -> int:
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        records = list(_records(system, maker, task, result, Path(folder)))
        path = f"{system} by {maker.short}"
        loaded = loading.load(study, records, importer="generate", path=path, digest=digest, extend=source_id)
        if loaded.already:  # another process began the same run a moment ago
            extend = loaded.source_id
            loading.load(study, records, importer="generate", path=path, digest=digest, extend=extend)
    return loaded.source_id


def _records(
    system: str, maker: Configured, task: _Task, result: GeneratedImage | Failure, folder: Path
) -> Iterator[Record]:
    yield System(system)
    settings: dict[str, Any] = {"generator": str(maker), "version": maker.spec.version}
    seed: int | None = task.seed
    if isinstance(result, GeneratedImage):
        settings |= result.settings
        seed = task.seed if result.seeded else None
    at = f"{system}, {task.prompt.key.ref}, sample {task.position}"
    answer = Answer(task.prompt.key, system, task.position, None, seed=seed, settings=settings, at=at)
    if isinstance(result, Failure):
        yield answer._replace(failure=result.reason)
        return
    file = folder / "image"
    file.write_bytes(result.data)
    key = ImageKey(system, f"{task.prompt.key.suite}/{task.prompt.key.ref}/{task.position}")
    yield Image(key, str(file), at=at)
    yield answer._replace(image=key)
