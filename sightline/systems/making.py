"""Making images: by a generator here, by several processes of it, or by calls to an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from sightline import registry
from sightline.endpoints import Endpoint, Unanswered
from sightline.errors import DataError, ExtensionError
from sightline.extension import Configured
from sightline.pictures import GeneratedImage, decode
from sightline.records import Failure, Prompt
from sightline.study.ledger import loaded_at
from sightline.study.running.calling import as_they_end
from sightline.study.running.place import Place, run_work
from sightline.study.running.remote_calls import CallWork, desk_of, run_remote_calls
from sightline.study.running.work import Done


@dataclass(frozen=True)
class Sample:
    """One image to make."""

    prompt: Prompt
    position: int
    seed: int


class Quarantined(NamedTuple):
    """That an image is not tried again in this run, and why."""

    reason: str


Outcome = GeneratedImage | Failure | Unanswered | Quarantined
Made = tuple[Sample, Outcome]


@dataclass(frozen=True)
class GenerateWork:
    """Making images by a generator, given by kind and name with parameters."""

    extensions: tuple[tuple[str, str]]
    repeatable: bool
    files: str = ""
    """No image file is needed."""

    def load(self) -> Callable[[Sequence[Sample]], list[Outcome]]:
        maker = registry.configure(*self.extensions[0])
        draw = maker.load()
        return lambda samples: [made for _, made in _results(maker, samples, draw)]

    def quarantined(self, item: Sample, reason: str) -> Outcome:
        return Quarantined(reason)


@dataclass(frozen=True)
class GenerateCalls(CallWork[Sample, Outcome]):
    """Making images by a generator that calls an endpoint."""

    extensions: tuple[tuple[str, str]]
    files: str = ""

    def caller(self, client: Endpoint) -> Callable[[Sample], Outcome]:
        return _calling(registry.configure(*self.extensions[0]), client)

    def quarantined(self, item: Sample, reason: str) -> Outcome:
        return Quarantined(reason)


def outcomes(
    maker: Configured, client: Endpoint | None, todo: Sequence[Sample], place: Place, size: int
) -> Generator[Made, None, None]:
    """What becomes of each image, as soon as it is there; elsewhere than here, whatever the order."""
    if client is None and not place.crew:
        yield from _results(maker, todo)
        return
    if client is None:
        batches = (todo[start : start + size] for start in range(0, len(todo), size))
        work = GenerateWork(_named(maker), repeatable=bool(maker.spec.details.get("repeatable")))
        done = run_work(work, batches, place)
    elif not place.crew:
        for group in as_they_end(iter(todo), _calling(maker, client), client):
            yield from group
        return
    else:
        done = _called_elsewhere(maker, client, todo, place)
    with closing(done):
        for samples, results in done:
            yield from zip(samples, results, strict=True)


def _called_elsewhere(
    maker: Configured, client: Endpoint, todo: Sequence[Sample], place: Place
) -> Generator[Done[Sample, Outcome], None, None]:
    # One image at a time for each worker: an image that was paid for must not wait for others to be stored.
    with desk_of(client, place) as line:
        work = GenerateCalls(line, client.settings, 1, _named(maker))
        yield from run_remote_calls(work, iter(todo), place, client, size=1)


def _named(maker: Configured) -> tuple[tuple[str, str]]:
    return ((maker.spec.kind, str(maker)),)


def _calling(maker: Configured, client: Endpoint) -> Callable[[Sample], Outcome]:
    """The function that makes one image by calling an endpoint."""
    draw = loaded_at(maker, client)

    def call(sample: Sample) -> Outcome:
        try:
            ((_, made),) = _results(maker, [sample], draw)
        except Unanswered as error:
            return error
        return made

    return call


def _results(
    maker: Configured, todo: Sequence[Sample], draw: Callable[..., Iterable[Any]] | None = None
) -> Iterator[Made]:
    """The generator's results, each with its sample; one that is no image becomes a failure."""
    if not todo:
        return
    made = (draw or maker.load())([sample.prompt for sample in todo], [sample.seed for sample in todo])
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
