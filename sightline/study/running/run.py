"""Scoring a study: only what is not known yet, each picture decoded once, kept batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from sightline.errors import UsageError
from sightline.extension import Configured
from sightline.study import scores
from sightline.study.running.calls import Task
from sightline.study.running.embedding import embed_images, embed_texts, encoders_of, loaded_over
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.workers import Batch, run_here, run_in_processes
from sightline.study.study import Study

BATCH = {"of_prompt": 512, "of_image": 32, "of_answer": 32, "of_set": 4}
WORTH = 5.0
"""Seconds of work that make starting processes worth while; less is done sooner here."""


@dataclass
class Ran:
    """What a run did: how much was known and computed, and why scores have no value, known ones included.

    `dropped` counts, by reason, results that were not kept because the study changed while they were
    computed. `notes` say what a reader must know besides the numbers, such as how many images nobody judged.
    """

    measure: str
    total: int
    known: int = 0
    computed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def run(
    study: Study,
    measure: Configured,
    *,
    workers: int = 1,
    batch: int | None = None,
    listener: Listener | None = None,
    worth: float = WORTH,
) -> Ran:
    """Bring the scores of one measure up to date."""
    return run_together(study, [measure], workers=workers, batch=batch, listener=listener, worth=worth)[0]


def run_together(
    study: Study,
    measures: Sequence[Configured],
    *,
    workers: int = 1,
    batch: int | None = None,
    listener: Listener | None = None,
    worth: float = WORTH,
) -> list[Ran]:
    """Bring several measures of one kind up to date; a picture is decoded once for all of them.

    Encoders inside a measure answer from the study's vectors, so that an image is embedded once a study, in
    however many sets it is.

    The first batch is computed here and timed; worker processes are started if what is left would take
    longer than `worth` seconds.

    Whatever is killed, at most the batches under way are lost: each batch is committed when it is done,
    and a second run asks the study for what is cached, then computes the rest.
    """
    kind = measures[0].spec.kind
    if kind not in BATCH:
        raise UsageError(f"{measures[0].name} is not scored item by item ({kind})")
    for measure in measures:
        measure.require()
    size = batch or BATCH[kind]
    plan = _Plan(study, kind, size, measures, listener)
    batches = plan.batches()
    # Vectors are computed here, many at a time, and kept: what then is left needs no processes.
    over = {n: loaded_over(study, measure) for n, measure in enumerate(measures) if any(encoders_of(measure))}
    done = run_here(measures, study.files, batches, over)
    if workers > 1 and not over and all(measure.spec.parallel for measure in measures):
        started = time.monotonic()
        for tasks, outcomes in islice(done, 1):
            plan.keep(tasks, outcomes)
        if (time.monotonic() - started) / size * plan.left > worth:
            done = run_in_processes(measures, study.files, batches, workers)
    # Closed on the way out, whatever the way: no worker outlives the run.
    with closing(done):
        for tasks, outcomes in done:
            plan.keep(tasks, outcomes)
    return plan.finish()


class _Plan:
    """What is still to compute for which measure, each content once; its twins wait for the outcome."""

    def __init__(
        self, study: Study, kind: str, size: int, measures: Sequence[Configured], listener: Listener | None
    ) -> None:
        self.study = study
        self.kind = kind
        self.size = size
        self.ids = [scores.register(study, measure) for measure in measures]
        self.items = scores.count_items(study, kind)
        self.ran = [Ran(str(measure), self.items) for measure in measures]
        what = ", ".join(measure.short for measure in measures)
        self.meter = Meter(what, self.items * len(measures), listener)
        self.twins: dict[tuple[int, int], list[scores.Target]] = {}
        self.listener = listener
        self.encoders = [[each for _, each in encoders_of(measure)] for measure in measures]

    @property
    def left(self) -> int:
        """Items that may still have to be computed, for the measure that knows the fewest."""
        return self.items - min(ran.known + ran.computed for ran in self.ran)

    def batches(self) -> Iterator[Batch]:
        """The tasks that are left, in batches, a page of the study at a time."""
        for page in scores.pages(self.study, self.kind):
            wanted: dict[int, list[int]] = {}
            first: dict[int, scores.Target] = {}
            for number, measure_id in enumerate(self.ids):
                todo, copies = scores.known(self.study, measure_id, page)
                self.ran[number].dropped += scores.write(self.study, measure_id, copies)
                self.ran[number].known += len(page) - len(todo)
                self.meter.add(known=len(page) - len(todo))
                for item in todo:
                    if (number, item.inputs) in self.twins:
                        self.twins[number, item.inputs].append(item)
                        continue
                    self.twins[number, item.inputs] = []
                    # A content is looked at once, even if one measure knows this item and another its twin.
                    kept = first.setdefault(item.inputs, item)
                    wanted.setdefault(item.inputs, []).append(number)
                    if kept is not item:
                        self.twins[number, item.inputs].append(item)
            tasks = [Task(item, tuple(wanted[inputs])) for inputs, item in first.items()]
            self._embed(tasks)
            for start in range(0, len(tasks), self.size):
                yield tasks[start : start + self.size]

    def _embed(self, tasks: Batch) -> None:
        """Have the study know all vectors that a page of tasks will ask for."""
        for number, encoders in enumerate(self.encoders):
            items = [task.item for task in tasks if number in task.wanted]
            images = list(dict.fromkeys(content for item in items for content in item.contents))
            texts = list(dict.fromkeys(item.prompt.text for item in items if item.prompt is not None))
            for encoder in encoders if items else ():
                encodes = encoder.spec.details["encodes"]
                if images and "image" in encodes:
                    embed_images(self.study, encoder, images, self.listener)
                if texts and "text" in encodes:
                    embed_texts(self.study, encoder, texts, self.listener)

    def keep(self, tasks: Batch, outcomes: Sequence[Sequence[scores.Outcome]]) -> None:
        """Commit a batch: every measure's outcomes, those of twins too."""
        results: dict[int, list[tuple[scores.Target, scores.Outcome]]] = {}
        computed = written = 0
        for number, mine in enumerate(outcomes):
            asked = [task.item for task in tasks if number in task.wanted]
            rows = results.setdefault(self.ids[number], [])
            for item, outcome in zip(asked, mine, strict=True):
                rows.append((item, outcome))
                rows += [(twin, outcome) for twin in self.twins.pop((number, item.inputs), ())]
            self.ran[number].computed += len(asked)
            computed += len(asked)
            written += len(rows)
        dropped = scores.write_several(self.study, results)
        for ran, measure_id in zip(self.ran, self.ids, strict=True):
            ran.dropped += dropped.get(measure_id, Counter())
        self.meter.add(computed=computed, known=written - computed)

    def finish(self) -> list[Ran]:
        """What was done, with the reasons of all that has no value."""
        for ran, measure_id in zip(self.ran, self.ids, strict=True):
            ran.reasons = scores.reasons(self.study, measure_id)
        self.meter.finish()
        return self.ran
