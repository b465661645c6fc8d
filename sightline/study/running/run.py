"""Scoring a study: only what is not known yet, each picture decoded once, kept batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from sightline.endpoints import Stopped
from sightline.errors import UsageError
from sightline.extension import LOADED, Configured
from sightline.records import UNREAD
from sightline.study import scores
from sightline.study.ledger import BillLine, StudyLedger, connected, endpoint_argument, loaded_at, rehearsed
from sightline.study.running.calling import Forecast, forecast, run_calls
from sightline.study.running.calls import AHEAD, Results, ScoreWork, Task, scoring
from sightline.study.running.detecting import detect_images, loaded_with
from sightline.study.running.embedding import (
    embed_images,
    embed_texts,
    encode_ahead,
    encoders_of,
    models_of,
)
from sightline.study.running.place import HERE, Place, run_work
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.work import Done, run_here
from sightline.study.running.workers import hold_memory
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
    bill: list[BillLine] = field(default_factory=list)
    """What the calls of a measure to an endpoint cost, over all runs."""
    stopped: str = ""
    """Why the run ended before all was computed."""


def run(
    study: Study,
    measure: Configured,
    *,
    place: Place = HERE,
    batch: int | None = None,
    listener: Listener | None = None,
    worth: float = WORTH,
) -> Ran:
    """Bring the scores of one measure up to date."""
    return run_together(study, [measure], place=place, batch=batch, listener=listener, worth=worth)[0]


def run_together(
    study: Study,
    measures: Sequence[Configured],
    *,
    place: Place = HERE,
    batch: int | None = None,
    listener: Listener | None = None,
    worth: float = WORTH,
    retry_quarantined: bool = False,
) -> list[Ran]:
    """Bring measures of one kind up to date, or measures of images and of answers.

    A picture is decoded once for all of them.

    Encoders inside a measure answer from the study's vectors, so that an image is embedded once a study, in
    however many sets it is.

    The first batch is computed here and timed; worker processes are started if what is left would take
    longer than `worth` seconds. On a cluster everything is computed there, but for what measures make of the
    vectors and detections of models inside them.

    Whatever is killed, at most the batches under way are lost: each batch is committed when it is done,
    and a second run asks the study for what is cached, then computes the rest.
    """
    if any(endpoint_argument(measure) is not None for measure in measures):
        again = retry_quarantined
        return [_run_at_endpoint(study, measure, listener, place, again) for measure in measures]
    for measure in measures:
        if measure.spec.kind not in BATCH:
            raise UsageError(f"{measure.name} is not scored item by item ({measure.spec.kind})")
        measure.require()
    inside = [_has_models(measure) for measure in measures]
    if place.on and len(set(inside)) > 1:
        # What has models inside is computed here from what they said, the rest on the cluster.
        for measure in measures:
            scores.register(study, measure)
        ran: dict[int, Ran] = {}
        for which in (False, True):
            numbers = [n for n, each in enumerate(inside) if each is which]
            alike = [measures[n] for n in numbers]
            some = run_together(
                study, alike, place=place, batch=batch, listener=listener,
                retry_quarantined=retry_quarantined,
            )  # fmt: skip
            ran.update(zip(numbers, some, strict=True))
        return [ran[n] for n in range(len(measures))]
    size = batch or BATCH[measures[0].spec.kind]
    plan = _Plan(study, size, measures, listener, retry_quarantined)
    if place.on and any(inside):
        plan.ask_models(place)
    with closing(_done(study, measures, plan, place, worth)) as done:
        # Closed on the way out, whatever the way: no worker outlives the run.
        for tasks, results in done:
            plan.keep(tasks, results)
    return plan.finish()


def _done(
    study: Study, measures: Sequence[Configured], plan: _Plan, place: Place, worth: float
) -> Generator[Done[Task, Results], None, None]:
    """Compute what is left, here or where the place says."""
    batches = plan.batches()
    # Vectors are computed here, many at a time, and kept: what then is left needs no processes.
    over = {n: loaded_with(study, measure) for n, measure in enumerate(measures) if _has_models(measure)}
    work = ScoreWork.of(measures, study.files)
    if place.on and not over:
        yield from run_work(work, batches, place)
        return
    hold_memory()
    here = run_here(work, batches, scoring(measures, study.files, over, AHEAD))
    if place.workers > 1 and not over and all(measure.spec.parallel for measure in measures):
        started = time.monotonic()
        yield from islice(here, 1)
        if (time.monotonic() - started) / plan.size * plan.left > worth:
            yield from run_work(work, batches, place)
            return
    yield from here


def _run_at_endpoint(
    study: Study, measure: Configured, listener: Listener | None, place: Place, retry_quarantined: bool
) -> Ran:
    """Bring a measure that calls an endpoint up to date; it may be stopped by a limit or a dead endpoint."""
    measure.require()
    client = connected(study, measure, measure.short)
    assert client is not None
    plan = _Plan(study, BATCH["of_answer"], [measure], listener, retry_quarantined)
    (ran,) = plan.ran
    done = run_calls(measure, study.files, plan.batches(), client, place)
    try:
        with closing(done):
            for tasks, results in done:
                plan.keep(tasks, results)
    except Stopped as error:
        ran.stopped = f"{error.where}: {error.what}. {error.remedy}"
    finally:
        client.close()
    plan.finish()
    assert isinstance(client.ledger, StudyLedger)
    ran.bill = client.ledger.lines()
    ran.notes += client.ledger.notes()
    again = sum(n for reason, n in ran.reasons.items() if reason.startswith(scores.ERROR))
    if again:
        ran.notes.append(f"{again:,} calls got no usable answer: run the same command again to repeat them.")
    return ran


def plan_calls(study: Study, measure: Configured) -> Forecast:
    """What bringing a measure up to date would call an endpoint for; nothing is called."""
    measure.require()
    client = rehearsed(study, measure, measure.short)
    plan = _Plan(study, BATCH["of_answer"], [measure], None)
    function = loaded_at(measure, client)
    tasks = [task for batch in plan.batches() for task in batch]
    score = scoring([measure], study.files, {0: function})
    return forecast(measure.short, client, tasks, lambda task: score([task]))


def _has_models(measure: Configured) -> bool:
    return any(True for kind in LOADED for _ in models_of(measure, kind))


class _Plan:
    """What is still to compute for which measure, each content once; its twins wait for the outcome."""

    def __init__(
        self,
        study: Study,
        size: int,
        measures: Sequence[Configured],
        listener: Listener | None,
        retry_quarantined: bool = False,
    ) -> None:
        self.study = study
        self.kinds = [measure.spec.kind for measure in measures]
        self.size = size
        self.ids = [scores.register(study, measure) for measure in measures]
        items = {kind: scores.count_items(study, kind) for kind in set(self.kinds)}
        self.ran = [Ran(str(measure), items[measure.spec.kind]) for measure in measures]
        what = ", ".join(measure.short for measure in measures)
        self.meter = Meter(what, sum(ran.total for ran in self.ran), listener)
        self.cut: list[set[int]] = [set() for _ in measures]
        self.twins: dict[tuple[int, int], list[scores.Target]] = {}
        self.listener = listener
        self.encoders = [[each for _, each in encoders_of(measure)] for measure in measures]
        self.detectors = [[each for _, each in models_of(measure, "detector")] for measure in measures]
        self.poisoned: dict[str, str] = {}
        """Images and texts that a model inside a measure could not be asked about, with the reasons."""
        self.again = (scores.ERROR, scores.QUARANTINED) if retry_quarantined else (scores.ERROR,)

    @property
    def left(self) -> int:
        """Items that may still have to be computed, for the measure that knows the fewest."""
        return max(ran.total - ran.known - ran.computed for ran in self.ran)

    def batches(self) -> Iterator[Sequence[Task]]:
        """The tasks that are left, in batches, a page of the study at a time."""
        for pages in self._pages():
            wanted: dict[int, list[int]] = {}
            first: dict[int, scores.Target] = {}
            for number, measure_id in enumerate(self.ids):
                page = pages.get(self.kinds[number], [])
                todo, copies = scores.known(self.study, measure_id, page, self.again)
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
            if len(pages) > 1:
                # An image and the answers it is follow each other, so that it is decoded once.
                place = {item.contents: n for n, item in enumerate(first.values())}
                tasks.sort(key=lambda task: place[task.item.contents])
            tasks = self._without_poisoned(tasks)
            self._embed(tasks)
            start = 0
            while start < len(tasks):
                end = min(start + self.size, len(tasks))
                while end < len(tasks) and tasks[end].item.contents == tasks[end - 1].item.contents != ():
                    end += 1
                yield tasks[start:end]
                start = end

    def _pages(self) -> Iterator[dict[str, list[scores.Target]]]:
        """Pages of what is scored, by kind: answers together with their images, then the other images."""
        kinds = list(dict.fromkeys(self.kinds))
        if len(kinds) == 1:
            yield from ({kinds[0]: page} for page in scores.pages(self.study, kinds[0]))
            return
        done: set[int] = set()
        for page in scores.pages(self.study, "of_answer"):
            images = {item.image_id: item.contents[0] for item in page if item.image_id not in done}
            done |= set(images)
            yield {"of_answer": page, "of_image": scores.image_items(images)}
        for page in scores.pages(self.study, "of_image"):
            yield {"of_image": [item for item in page if item.image_id not in done]}

    def ask_models(self, place: Place) -> None:
        """Have what models inside the measures say of all that is left computed at a place, and kept."""
        images: list[dict[str, None]] = [{} for _ in self.ids]
        texts: list[dict[str, None]] = [{} for _ in self.ids]
        for pages in self._pages():
            for number, measure_id in enumerate(self.ids):
                page = pages.get(self.kinds[number], [])
                todo, _ = scores.known(self.study, measure_id, page, self.again)
                images[number].update((content, None) for item in todo for content in item.contents)
                texts[number].update((item.prompt.text, None) for item in todo if item.prompt is not None)
        for number, encoders in enumerate(self.encoders):
            for encoder in encoders:
                for what, items in (("image", list(images[number])), ("text", list(texts[number]))):
                    if items and what in encoder.spec.details["encodes"]:
                        self._poison(encode_ahead(self.study, encoder, what, items, self.listener, place))
            for detector in self.detectors[number] if images[number] else ():
                self._poison(
                    detect_images(self.study, detector, list(images[number]), self.listener, place).without
                )

    def _poison(self, without: Mapping[str, str]) -> None:
        # What has no vector for any other reason is met again here, where its reason is kept with its score.
        self.poisoned |= {each: why for each, why in without.items() if why.startswith(scores.QUARANTINED)}

    def _without_poisoned(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks that can be computed here; those that would end this process are kept as quarantined."""
        if not self.poisoned:
            return list(tasks)
        bad: list[tuple[Task, Results]] = []
        good: list[Task] = []
        for task in tasks:
            said = (*task.item.contents, *((task.item.prompt.text,) if task.item.prompt else ()))
            why = next((self.poisoned[each] for each in said if each in self.poisoned), None)
            if why is None:
                good.append(task)
            else:
                bad.append((task, (scores.Outcome(None, why),) * len(task.wanted)))
        self.keep([task for task, _ in bad], [results for _, results in bad])
        return good

    def _embed(self, tasks: Sequence[Task]) -> None:
        """Have the study know all vectors that a page of tasks will ask for."""
        for number, encoders in enumerate(self.encoders):
            items = [task.item for task in tasks if number in task.wanted]
            images = list(dict.fromkeys(content for item in items for content in item.contents))
            texts = list(dict.fromkeys(item.prompt.text for item in items if item.prompt is not None))
            for encoder in encoders if items else ():
                encodes = encoder.spec.details["encodes"]
                # Of single images a measure asks for the vectors itself, with pictures that are decoded.
                if images and "image" in encodes and self.kinds[number] == "of_set":
                    embed_images(self.study, encoder, images, self.listener)
                if texts and "text" in encodes:
                    embed_texts(self.study, encoder, texts, self.listener)

    def keep(self, tasks: Sequence[Task], results: Sequence[Results]) -> None:
        """Commit a batch: every measure's outcomes, those of twins too."""
        rows: dict[int, list[tuple[scores.Target, scores.Outcome]]] = {each: [] for each in self.ids}
        computed = 0
        for (item, wanted), outcomes in zip(tasks, results, strict=True):
            for number, outcome in zip(wanted, outcomes, strict=True):
                if item.prompt is not None and outcome.evidence and outcome.evidence.get(UNREAD):
                    self.cut[number].add(item.prompt_id)
                twins = self.twins.pop((number, item.inputs), ())
                rows[self.ids[number]] += [(each, outcome) for each in (item, *twins)]
                self.ran[number].computed += 1
                computed += 1
        dropped = scores.write_several(self.study, rows)
        for ran, measure_id in zip(self.ran, self.ids, strict=True):
            ran.dropped += dropped.get(measure_id, Counter())
        self.meter.add(computed=computed, known=sum(map(len, rows.values())) - computed)

    def finish(self) -> list[Ran]:
        """What was done, with the reasons of all that has no value."""
        for ran, measure_id, cut in zip(self.ran, self.ids, self.cut, strict=True):
            ran.reasons = scores.reasons(self.study, measure_id)
            aside = sum(n for why, n in ran.reasons.items() if why.startswith(scores.QUARANTINED))
            if aside:
                ran.notes.append(
                    f"{aside:,} are quarantined: each ended its worker three times. To try them again, run "
                    "the same command with --retry-quarantined."
                )
            if cut:
                name = ran.measure.partition("(")[0]
                ran.notes.append(
                    f"{len(cut):,} prompts are longer than the encoder of {name} reads: what is beyond its "
                    "limit was not compared. Their evidence says how many tokens."
                )
        self.meter.finish()
        return self.ran
