"""Calling a measure on a batch: decode what can be decoded, call once, pass the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.errors import DataError, SightlineError
from sightline.extension import Configured
from sightline.pictures import DamagedImage, Picture
from sightline.records import Prompt
from sightline.study.files import ImageFiles
from sightline.study.running.validate import gate
from sightline.study.scores import ERROR, Outcome, Target

Function = Callable[..., Any]

MOST_SAID = 300
"""As much of an exception's message is kept."""


class Task(NamedTuple):
    """An item and the measures, by number, that have no score of it yet."""

    item: Target
    wanted: tuple[int, ...]


def compute(
    measures: Sequence[Configured],
    files: ImageFiles,
    tasks: Sequence[Task],
    functions: Mapping[int, Function] | None = None,
) -> list[list[Outcome]]:
    """For each measure the outcomes of the tasks that want it, in order.

    All measures are of one kind. A picture is read and decoded once for all of them; one that cannot be
    decoded has its reason instead of values. `functions` are measures, by number, that were loaded already.
    """
    ready = [(functions or {}).get(number) or measure.load() for number, measure in enumerate(measures)]
    if measures[0].spec.kind == "of_set":
        sets = [_set(files, task.item) for task in tasks]
        return [
            [
                _of_set(measure, ready[number], *sets[n])
                for n, task in enumerate(tasks)
                if number in task.wanted
            ]
            for number, measure in enumerate(measures)
        ]
    looks = [_from_store(files, t.item.contents[0]) if t.item.contents else (None, None) for t in tasks]
    found = []
    for number, measure in enumerate(measures):
        mine = [n for n, task in enumerate(tasks) if number in task.wanted]
        prompts = [tasks[n].item.prompt for n in mine]
        pictures, reasons = [looks[n][0] for n in mine], [looks[n][1] for n in mine]
        found.append(_compute(measure, ready[number], prompts, pictures, reasons))
    return found


def compute_pictures(measure: Configured, pictures: Sequence[Picture]) -> list[Outcome]:
    """Outcomes of a measure of an image on pictures that belong to no study."""
    reasons = [_undecodable(picture) for picture in pictures]
    return _compute(measure, measure.load(), [None] * len(pictures), pictures, reasons)


def _compute(
    measure: Configured,
    function: Function,
    prompts: Sequence[Prompt | None],
    pictures: Sequence[Picture | None],
    reasons: Sequence[str | None],
) -> list[Outcome]:
    kind = measure.spec.kind

    def call(chosen: Sequence[int]) -> list[Outcome]:
        shown = [pictures[n] for n in chosen]
        asked = [prompts[n] for n in chosen]
        arguments = {"of_prompt": (asked,), "of_image": (shown,), "of_answer": (asked, shown)}[kind]
        return gate(measure.spec, function(*arguments), len(chosen))

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
    (outcome,) = _guarded(measure, lambda _: gate(measure.spec, function(pictures), 1), [0])
    return outcome


def _raised(measure: Configured, error: BaseException) -> str:
    # Messages may hold what a database refuses (NUL, lone surrogates) or a whole page.
    said = " ".join(str(error).replace("\0", "").encode("utf-8", "replace").decode().split())
    return f"{ERROR}{measure.name} raised {type(error).__name__}: {said[:MOST_SAID]}"


def _from_store(files: ImageFiles, sha256: str) -> tuple[Picture | None, str | None]:
    try:
        picture = files.picture(sha256)
    except DataError as error:
        # Bytes that are not there today may be put back; bytes that are no image never become one.
        return None, ERROR + error.what
    reason = _undecodable(picture)
    return (picture, None) if reason is None else (None, reason)


def _undecodable(picture: Picture) -> str | None:
    try:
        _ = picture.rgb
    except DamagedImage as error:
        return ERROR + error.what
    except DataError as error:
        return error.what
    except OSError as error:
        return f"{ERROR}the image file cannot be read ({error.strerror or type(error).__name__})"
    return None
