"""Scoring a study with one measure: only what is not known yet, kept batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from sightline.errors import UsageError
from sightline.execution.progress import Listener, Meter
from sightline.execution.workers import Batch, run_here, run_in_processes
from sightline.extension import Configured
from sightline.store import scores
from sightline.store.study import Study

BATCH = {"of_prompt": 512, "of_image": 16, "of_answer": 16, "of_image_set": 4}
FEW = 3
"""Up to this many batches are computed here: starting processes would take longer."""


@dataclass
class Ran:
    """What a run did: how much was known and computed, and why scores have no value, known ones included."""

    measure: str
    total: int
    known: int = 0
    computed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def run(
    study: Study,
    measure: Configured,
    *,
    workers: int = 1,
    batch: int | None = None,
    listener: Listener | None = None,
) -> Ran:
    """Bring the scores of one measure up to date.

    Whatever is killed, at most the batches under way are lost: each batch is committed when it is done,
    and a second run asks the study what is known before it computes anything.
    """
    kind = measure.spec.kind
    if kind not in BATCH:
        raise UsageError(f"{measure.name} is not scored item by item ({kind})")
    measure.require()
    size = batch or BATCH[kind]
    measure_id = register(study, measure)
    total = scores.count_items(study, kind)
    ran = Ran(str(measure), total)
    meter = Meter(measure.short, total, listener)
    twins: dict[int, list[scores.Item]] = {}
    batches = _batches(study, measure_id, kind, size, meter, ran, twins)
    several = workers > 1 and measure.spec.parallel and total > FEW * size
    done = (
        run_in_processes(measure, study.images, batches, workers)
        if several
        else run_here(measure, study.images, batches)
    )
    # Closed on the way out, whatever the way: no worker outlives the run.
    with closing(done):
        for items, outcomes in done:
            results = []
            for item, outcome in zip(items, outcomes, strict=True):
                results.append((item, outcome))
                results += [(twin, outcome) for twin in twins.pop(item.inputs, ())]
            scores.write(study, measure_id, results)
            ran.computed += len(items)
            meter.add(computed=len(items), known=len(results) - len(items))
    ran.reasons = scores.reasons(study, measure_id)
    meter.finish()
    return ran


def _batches(
    study: Study,
    measure_id: int,
    kind: str,
    size: int,
    meter: Meter,
    ran: Ran,
    twins: dict[int, list[scores.Item]],
) -> Iterator[Batch]:
    """What is still to compute, each content once; its twins wait for the outcome."""
    for page in scores.pages(study, kind):
        todo, copies = scores.known(study, measure_id, page)
        scores.write(study, measure_id, copies)
        ran.known += len(page) - len(todo)
        meter.add(known=len(page) - len(todo))
        fresh: dict[int, scores.Item] = {}
        for item in todo:
            if item.inputs in fresh or item.inputs in twins:
                twins.setdefault(item.inputs, []).append(item)
            else:
                fresh[item.inputs] = item
                twins[item.inputs] = []
        chosen = list(fresh.values())
        for start in range(0, len(chosen), size):
            yield chosen[start : start + size]


def register(study: Study, measure: Configured) -> int:
    """The id under which a measure's scores are kept."""
    spec = measure.spec
    return scores.register(
        study,
        kind=spec.kind,
        printed=str(measure),
        version=spec.version,
        direction=spec.direction,
        identity=measure.identity,
    )
