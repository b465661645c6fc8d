"""Calling a measure on a batch: decode what can be decoded, call once, pass the gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sightline.errors import DataError, SightlineError
from sightline.execution.gate import gate
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.records import Prompt
from sightline.store.files import ImageFiles
from sightline.store.scores import ERROR, Item, Outcome

MOST_SAID = 300
"""As much of an exception's message is kept."""


def compute(measure: Configured, files: ImageFiles, items: Sequence[Item]) -> list[Outcome]:
    """Outcomes of a batch, in order; what cannot be decoded has its reason instead of a value."""
    if measure.spec.kind == "of_image_set":
        return [_of_set(measure, files, item) for item in items]
    pictures, reasons = [], []
    for item in items:
        picture, reason = _from_store(files, item.contents[0]) if item.contents else (None, None)
        pictures.append(picture)
        reasons.append(reason)
    return _compute(measure, [item.prompt for item in items], pictures, reasons)


def compute_pictures(measure: Configured, pictures: Sequence[Picture]) -> list[Outcome]:
    """Outcomes of a measure of an image on pictures that belong to no study."""
    reasons = [_undecodable(picture) for picture in pictures]
    return _compute(measure, [None] * len(pictures), pictures, reasons)


def _compute(
    measure: Configured,
    prompts: Sequence[Prompt | None],
    pictures: Sequence[Picture | None],
    reasons: Sequence[str | None],
) -> list[Outcome]:
    good = [n for n, reason in enumerate(reasons) if reason is None]
    call = _caller(measure, prompts, pictures)
    computed = iter(_guarded(measure, call, good) if good else ())
    return [next(computed) if reason is None else Outcome(None, reason) for reason in reasons]


def _caller(
    measure: Configured, prompts: Sequence[Prompt | None], pictures: Sequence[Picture | None]
) -> Callable[[Sequence[int]], list[Outcome]]:
    function = measure.load()
    kind = measure.spec.kind

    def call(chosen: Sequence[int]) -> list[Outcome]:
        shown = [pictures[n] for n in chosen]
        asked = [prompts[n] for n in chosen]
        arguments = {"of_prompt": (asked,), "of_image": (shown,), "of_answer": (asked, shown)}[kind]
        return gate(measure.spec, function(*arguments), len(chosen))

    return call


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


def _of_set(measure: Configured, files: ImageFiles, item: Item) -> Outcome:
    pictures = []
    for sha256 in item.contents:
        picture, reason = _from_store(files, sha256)
        if reason is not None:
            again = ERROR if reason.startswith(ERROR) else ""
            return Outcome(None, f"{again}one of the images: {reason.removeprefix(ERROR)}")
        pictures.append(picture)
    try:
        (outcome,) = gate(measure.spec, measure.load()(pictures), 1)
    except SightlineError:
        raise
    except (Exception, SystemExit) as error:  # see _guarded
        return Outcome(None, _raised(measure, error))
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
    except DataError as error:
        return error.what
    except OSError as error:
        return f"{ERROR}the image file cannot be read ({error.strerror or type(error).__name__})"
    return None
