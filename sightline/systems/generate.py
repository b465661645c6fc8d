"""Generate: images for the prompts of a study, made by a generator."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from sightline import registry
from sightline.endpoints import Stopped, Unanswered
from sightline.errors import ConflictError, DataError, UsageError
from sightline.estimate import plural
from sightline.extension import Configured
from sightline.pictures import GeneratedImage
from sightline.records import Answer, Failure, Image, ImageKey, Prompt, Record, System
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.bill import CallPlan, bill_table
from sightline.study.ledger import BillLine, StudyLedger, connected, endpoint_argument, loaded_at, rehearsed
from sightline.study.prompts import prompts_of
from sightline.study.running.calling import forecast
from sightline.study.running.place import place_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.systems.making import Quarantined, Sample, outcomes
from sightline.systems.ranking import SUITE, SYSTEM, reasons_table
from sightline.verbs import GPUS, ON, SEED, argument, option, verb


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
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Images that are no answer yet since their workers ended, and why; a later run tries them again."""
    remarks: Sequence[str] = ()
    """What a reader must know of the replies of an endpoint."""

    @property
    def sentence(self) -> str:
        return f"The run was stopped. {self.stopped}" if self.stopped else ""

    @property
    def notes(self) -> Sequence[str]:
        notes = list(self.remarks)
        again = sum(self.unanswered.values())
        if again:
            notes.append(f"{again:,} calls got no usable answer: run the same command again to repeat them.")
        if self.quarantined:
            counted = plural(len(self.quarantined), "image")
            notes.append(f"{counted} ended the workers: run the same command again to try them again.")
        return notes

    @property
    def exit_code(self) -> int:
        without = self.unanswered or self.quarantined
        return DataError.exit_code if self.stopped or (without and not self.made) else 0

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
            "quarantined": Table(
                [Column("image"), Column("reason")], sorted(self.quarantined.items()), "What ended workers"
            ),
            **bill_table(self.bill),
        }


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
    workers: Annotated[
        int | None, option("Generate in this many processes; each loads the model.", shown="1", least=1)
    ] = None,
    batch: Annotated[int, option("Give a process this many prompts at a time.", least=1)] = 1,
    on: Annotated[str | None, ON] = None,
    gpus: Annotated[float | None, GPUS] = None,
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
    if batch < 1:
        raise UsageError(f"{batch} prompts cannot be given at a time", remedy="Give --batch 1 or more.")
    if not system.strip():
        raise UsageError("the system needs a name")
    place = place_of(on, workers, gpus)
    maker = registry.configure("generator", generator)
    maker.require()
    reading.need_prompts(study)
    digest = _digest(system, maker, seed)
    source_id = listing.source_of(study, "generate", digest)
    known = _known_positions(study, system, source_id, maker)
    prompts = reading.prompt_records(study, prompts_of(study, suite)["prompt_id"].to_list())
    todo = [
        Sample(prompt, position, seed_of(seed, prompt, position))
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
    quarantined: dict[str, str] = {}
    stopped, made = "", 0
    client = connected(study, maker, f"generate {system}")
    results = outcomes(maker, client, todo, place, batch)
    # One commit each: a call may cost money, and what a kill finds uncommitted is called for again.
    try:
        for sample, result in results:
            if isinstance(result, Unanswered):
                unanswered[str(result)] += 1
                continue
            if isinstance(result, Quarantined):
                quarantined[_name(system, sample)] = result.reason
                continue
            source_id = _store(study, system, maker, sample, result, digest, source_id)
            if isinstance(result, Failure):
                failures[result.reason] += 1
            made += isinstance(result, GeneratedImage)
            meter.add(computed=1)
    except Stopped as error:
        stopped = f"{error.where}: {error.what}. {error.remedy}"
    finally:
        results.close()
        if client is not None:
            client.close()
    meter.finish()
    counted = (made, before, dict(failures), dict(unanswered))
    ledger = client.ledger if client is not None else None
    billed = (ledger.lines(), stopped, quarantined, ledger.notes()) if isinstance(ledger, StudyLedger) else ()
    return Generation(system, str(maker), source_id, seed, *counted, *(billed or ((), stopped, quarantined)))


def _planned(study: Study, system: str, maker: Configured, todo: Sequence[Sample]) -> CallPlan:
    if endpoint_argument(maker) is None:
        raise UsageError(f"{maker.name} calls no endpoint", remedy="Leave --plan out: it costs only time.")
    purpose = f"generate {system}"
    client = rehearsed(study, maker, purpose)
    draw = loaded_at(maker, client)

    def rehearse(sample: Sample) -> object:
        return list(draw([sample.prompt], [sample.seed]))

    return CallPlan([forecast(purpose, client, todo, rehearse)])


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


def _store(
    study: Study,
    system: str,
    maker: Configured,
    sample: Sample,
    result: GeneratedImage | Failure,
    digest: str,
    source_id: int | None,
) -> int:
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        records = list(_records(system, maker, sample, result, Path(folder)))
        path = f"{system} by {maker.short}"
        loaded = loading.load(study, records, importer="generate", path=path, digest=digest, extend=source_id)
        if loaded.already:  # another process began the same run a moment ago
            extend = loaded.source_id
            loading.load(study, records, importer="generate", path=path, digest=digest, extend=extend)
    return loaded.source_id


def _name(system: str, sample: Sample) -> str:
    return f"{system}, {sample.prompt.key.ref}, sample {sample.position}"


def _records(
    system: str, maker: Configured, sample: Sample, result: GeneratedImage | Failure, folder: Path
) -> Iterator[Record]:
    yield System(system)
    settings: dict[str, Any] = {"generator": str(maker), "version": maker.spec.version}
    seed: int | None = sample.seed
    if isinstance(result, GeneratedImage):
        settings |= result.settings
        seed = sample.seed if result.seeded else None
    at = _name(system, sample)
    answer = Answer(sample.prompt.key, system, sample.position, None, seed=seed, settings=settings, at=at)
    if isinstance(result, Failure):
        yield answer._replace(failure=result.reason)
        return
    file = folder / "image"
    file.write_bytes(result.data)
    key = ImageKey(system, f"{sample.prompt.key.suite}/{sample.prompt.key.ref}/{sample.position}")
    yield Image(key, str(file), at=at)
    yield answer._replace(image=key)
