"""Calling a measure on a batch: decode what can be decoded, call once, pass the gate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeVar

from sightline.bounded import Unfinished
from sightline.cores import cores
from sightline.endpoints import Unanswered
from sightline.errors import DataError, SightlineError, StudyError
from sightline.extension import Configured
from sightline.pictures import DamagedImage, Picture
from sightline.records import Prompt
from sightline.study.files import ImageFiles
from sightline.study.running.validate import gate
from sightline.study.scores import ERROR, QUARANTINED, Outcome, Target

Function = Callable[..., Any]
Look = tuple[Picture | None, str | None]
"""A decoded picture, or the reason why there is none; neither where none is asked for."""
T = TypeVar("T")

PART = 100_000_000
"""Bytes of pixels that are held at once, unless one picture has more."""
AHEAD = min(2, cores())
"""Pictures that are decoded at once."""

MOST_SAID = 300
"""As much of an exception's message is kept."""


class Task(NamedTuple):
    """An item and the measures, by number, that have no score of it yet."""

    item: Target
    wanted: tuple[int, ...]


Results = tuple[Outcome, ...]
"""The outcomes of a task, one for each measure that it wants."""


@dataclass(frozen=True)
class ScoreWork:
    """Computing measures, given by kind and name with parameters, of items whose images are at an address."""

    extensions: tuple[tuple[str, str], ...]
    files: str
    repeatable: bool = True

    @classmethod
    def of(cls, measures: Sequence[Configured], files: ImageFiles) -> ScoreWork:
        """The work of these measures."""
        return cls(tuple((measure.spec.kind, str(measure)) for measure in measures), files.root)

    def load(self) -> Callable[[Sequence[Task]], list[Results]]:
        from sightline.registry import configure

        measures = [configure(*each) for each in self.extensions]
        return scoring(measures, ImageFiles(self.files))

    def quarantined(self, item: Task, reason: str) -> Results:
        return (Outcome(None, QUARANTINED + reason),) * len(item.wanted)


def scoring(
    measures: Sequence[Configured],
    files: ImageFiles,
    functions: Mapping[int, Function] | None = None,
    ahead: int = 1,
) -> Callable[[Sequence[Task]], list[Results]]:
    """The function of a batch of tasks, with measures that are loaded when they are first called."""

    def score(tasks: Sequence[Task]) -> list[Results]:
        computed = [iter(each) for each in compute(measures, files, tasks, functions, ahead)]
        return [tuple(next(computed[number]) for number in task.wanted) for task in tasks]

    return score


def compute(
    measures: Sequence[Configured],
    files: ImageFiles,
    tasks: Sequence[Task],
    functions: Mapping[int, Function] | None = None,
    ahead: int = 1,
) -> list[list[Outcome]]:
    """For each measure the outcomes of the tasks that want it, in order.

    Measures are of sets, of prompts, or of images and answers. A picture is read and decoded once for all
    tasks on it that follow each other; one that cannot be decoded has its reason instead of values.
    `functions` are measures, by number, that were loaded already; `ahead` pictures are decoded at once.
    """
    files.prefetch(content for task in tasks for content in task.item.contents)
    ready = [(functions or {}).get(number) or measure.load() for number, measure in enumerate(measures)]
    found: list[list[Outcome]] = [[] for _ in measures]
    if measures[0].spec.kind == "of_set":
        for task in tasks:
            shown = _set(files, task.item)
            for number in task.wanted:
                found[number].append(_of_set(measures[number], ready[number], *shown))
        return found

    def look(alike: Sequence[Task]) -> Look:
        contents = alike[0].item.contents
        return _from_store(files, contents[0]) if contents else (None, None)

    groups = [list(alike) for _, alike in groupby(tasks, lambda task: task.item.contents)]
    for part in _parts(groups, look, ahead):
        for number, measure in enumerate(measures):
            mine = [
                (task.item.prompt, seen) for alike, seen in part for task in alike if number in task.wanted
            ]
            found[number] += _compute(measure, ready[number], mine)
            del mine
    return found


def compute_files(
    measures: Sequence[Configured], paths: Sequence[str]
) -> tuple[list[list[Outcome]], list[str]]:
    """Outcomes of measures of an image on files of no study, by measure, and the files that cannot be read.

    Every file is decoded once.
    """

    def look(path: str) -> Look:
        picture = Picture(path=path)
        return picture, _undecodable(picture)

    functions = [measure.load() for measure in measures]
    outcomes: list[list[Outcome]] = [[] for _ in measures]
    unreadable: list[str] = []
    for part in _parts(paths, look, AHEAD):
        for mine, measure, function in zip(outcomes, measures, functions, strict=True):
            mine += _compute(measure, function, [(None, seen) for _, seen in part])
        unreadable += [path for path, (_, reason) in part if reason is not None]
    return outcomes, unreadable


def compute_picture(measure: Configured, picture: Picture) -> Outcome:
    """The outcome of a measure of an image on one picture."""
    (outcome,) = _compute(measure, measure.load(), [(None, (picture, _undecodable(picture)))])
    return outcome


def _parts(items: Sequence[T], look: Callable[[T], Look], ahead: int) -> Iterator[list[tuple[T, Look]]]:
    """The items, each with its decoded picture, in parts of no more than `PART` bytes of pixels."""
    part: list[tuple[T, Look]] = []
    size = 0
    for item, seen in zip(items, _looked(items, look, ahead), strict=True):
        part.append((item, seen))
        size += _bytes(seen)
        if size > PART:
            yield part
            # The pixels of a part are gone before those of the next are there.
            part.clear()
            size = 0
    if part:
        yield part


def _looked(items: Sequence[T], look: Callable[[T], Look], ahead: int) -> Iterator[Look]:
    if ahead < 2:
        yield from map(look, items)
        return
    with ThreadPoolExecutor(ahead, thread_name_prefix="decode") as pool:
        left = iter(items)
        waiting = deque(pool.submit(look, item) for item in islice(left, ahead))
        while waiting:
            seen = waiting.popleft().result()
            # Of large pictures one at a time is enough to hold.
            wanted = 1 if _bytes(seen) > PART / 8 else ahead
            waiting.extend(pool.submit(look, item) for item in islice(left, max(0, wanted - len(waiting))))
            yield seen


def _bytes(seen: Look) -> int:
    return seen[0].rgb.nbytes if seen[0] is not None and seen[1] is None else 0


def _compute(
    measure: Configured, function: Function, asked: Sequence[tuple[Prompt | None, Look]]
) -> list[Outcome]:
    kind = measure.spec.kind

    def call(chosen: Sequence[int]) -> list[Outcome]:
        prompts = [asked[n][0] for n in chosen]
        shown = [asked[n][1][0] for n in chosen]
        arguments = {"of_prompt": (prompts,), "of_image": (shown,), "of_answer": (prompts, shown)}[kind]
        return gate(measure.spec, function(*arguments), len(chosen))

    reasons = [reason for _, (_, reason) in asked]
    good = [n for n, reason in enumerate(reasons) if reason is None]
    computed = iter(_guarded(measure, call, good) if good else ())
    return [next(computed) if reason is None else Outcome(None, reason) for reason in reasons]


def _guarded(
    measure: Configured, call: Callable[[Sequence[int]], list[Outcome]], chosen: Sequence[int]
) -> list[Outcome]:
    """One bad input must not lose its batch: on an exception the inputs are tried one by one."""
    try:
        return call(chosen)
    except SightlineError:
        raise
    except (Exception, SystemExit) as error:  # whatever an extension raises is the reason of that one input
        if len(chosen) == 1:
            return [Outcome(None, _raised(measure, error))]
        return [outcome for n in chosen for outcome in _guarded(measure, call, [n])]


def _set(files: ImageFiles, item: Target) -> tuple[list[Picture], str | None]:
    pictures = []
    for sha256 in item.contents:
        picture, reason = _from_store(files, sha256)
        if picture is None or reason is not None:
            again = ERROR if reason is not None and reason.startswith(ERROR) else ""
            return [], f"{again}one of the images: {(reason or '').removeprefix(ERROR)}"
        pictures.append(picture)
    return pictures, None


def _of_set(
    measure: Configured, function: Function, pictures: Sequence[Picture], reason: str | None
) -> Outcome:
    if reason is not None:
        return Outcome(None, reason)
    return compute_once(measure, lambda: function(pictures))


def compute_once(measure: Configured, call: Callable[[], Any]) -> Outcome:
    """The outcome of a call that gives one value; what it raises is the reason why there is none."""
    (outcome,) = _guarded(measure, lambda _: gate(measure.spec, call(), 1), [0])
    return outcome


def _raised(measure: Configured, error: BaseException) -> str:
    # Messages may hold what a database refuses (NUL, lone surrogates) or a whole page.
    said = " ".join(str(error).replace("\0", "").encode("utf-8", "replace").decode().split())
    if isinstance(error, Unanswered):
        return f"{ERROR}{said[:MOST_SAID]}"
    return f"{ERROR}{measure.name} raised {type(error).__name__}: {said[:MOST_SAID]}"


def _from_store(files: ImageFiles, sha256: str) -> Look:
    try:
        picture = files.picture(sha256)
    except StudyError:
        raise  # the store does not answer: no reason why this image has no value
    except DataError as error:
        # Bytes that are not there today may be put back; bytes that are no image never become one.
        return None, ERROR + error.what
    reason = _undecodable(picture)
    return (picture, None) if reason is None else (None, reason)


def _undecodable(picture: Picture) -> str | None:
    try:
        _ = picture.rgb
    except (DamagedImage, Unfinished) as error:
        return ERROR + error.what
    except DataError as error:
        return error.what
    except OSError as error:
        return f"{ERROR}the image file cannot be read ({error.strerror or type(error).__name__})"
    return None
