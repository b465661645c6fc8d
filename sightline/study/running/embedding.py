"""Embedding: images and texts as vectors, computed once an encoder and content, kept shard by shard."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from sightline.cores import cores
from sightline.errors import DataError, ExtensionError, StudyError
from sightline.extension import LOADED, Configured, ImageEncoder, TextEncoder
from sightline.pictures import Picture
from sightline.study.files import ImageFiles
from sightline.study.running.place import HERE, Place, run_work
from sightline.study.running.progress import Listener, Meter
from sightline.study.scores import QUARANTINED
from sightline.study.study import Study

if TYPE_CHECKING:
    import numpy as np

BATCH = {"image": 32, "text": 256}
SHARD_ROWS = 1024
SHARD_SECONDS = 5.0
"""Vectors are committed when so many wait or so long has passed: all that a killed process can lose."""
THREADS = min(4, cores())
SHORT = 60
"""No encoder cuts a text of so few bytes, each a token at worst: it need not be loaded to find out."""

Prepared = tuple[Any, str | None]
Row = tuple[Any, str | None]
"""A vector, or the reason why there is none."""


@dataclass(frozen=True)
class EncodeWork:
    """Encoding images, given by sha256, whose files are at an address, or texts as they are."""

    extensions: tuple[tuple[str, str], ...]
    files: str
    what: str
    repeatable: bool = True

    @classmethod
    def of(cls, encoder: Configured, files: ImageFiles, what: str) -> EncodeWork:
        """The work of this encoder."""
        return cls((("encoder", str(encoder)),), files.root, what)

    def load(self) -> Callable[[Sequence[str]], list[Row]]:
        from sightline.registry import configure

        encoder = configure(*self.extensions[0])
        loaded = encoder.load()
        if self.what == "text":
            return lambda texts: [(row, None) for row in _checked(encoder, "text", loaded.text(texts), texts)]
        files = ImageFiles(self.files)
        prepare, encode, _ = _steps(encoder, loaded)
        ready = _preparing(prepare, files.picture)

        def rows(contents: Sequence[str]) -> list[Row]:
            prepared = [ready(content) for content in contents]
            good = [each for each, reason in prepared if reason is None]
            encoded = iter(_checked(encoder, "image", encode(good), good) if good else ())
            return [(next(encoded), None) if reason is None else (None, reason) for _, reason in prepared]

        return rows

    def quarantined(self, item: str, reason: str) -> Row:
        return None, QUARANTINED + reason


@dataclass(frozen=True)
class Embedded:
    """One row per content asked for; rows of NaN, and the reason by content, where there is no vector."""

    vectors: np.ndarray
    without: Mapping[str, str] = field(default_factory=dict)


def embed_images(
    study: Study, encoder: Configured, images: Sequence[str], listener: Listener | None = None
) -> np.ndarray:
    """One row per image of the study, by sha256; a row of NaN where a file is missing or no image.

    What the study holds is read, the rest is computed and kept. `images_embedded` also tells the reasons.
    """
    return images_embedded(study, encoder, images, listener).vectors


def images_embedded(
    study: Study,
    encoder: Configured,
    images: Sequence[str],
    listener: Listener | None = None,
    place: Place = HERE,
) -> Embedded:
    """The vectors of images of the study, with the reasons of those that have none."""
    return _images(study, encoder, images, study.files.picture, listener, place).finish()


def embed_texts(
    study: Study,
    encoder: Configured,
    texts: Sequence[str],
    listener: Listener | None = None,
    place: Place = HERE,
) -> np.ndarray:
    """One row per text: read where the study holds it, computed and stored where not."""
    return _texts(study, encoder, texts, listener, place).finish().vectors


def encode_ahead(
    study: Study,
    encoder: Configured,
    what: str,
    items: Sequence[str],
    listener: Listener | None,
    place: Place,
) -> Mapping[str, str]:
    """Have vectors of images, by sha256, or of texts computed at a place and kept, and none of them read.

    Gives the reasons of those that have none, by image or text.
    """
    if what == "image":
        return _images(study, encoder, items, study.files.picture, listener, place).close()
    without = _texts(study, encoder, items, listener, place).close()
    return {text: without[key] for text in items if without and (key := text_hash(text)) in without}


def _texts(
    study: Study, encoder: Configured, texts: Sequence[str], listener: Listener | None, place: Place
) -> _Run:
    contents = [text_hash(text) for text in texts]
    by_content = dict(zip(contents, texts, strict=True))
    run = _Run(study, encoder, "text", contents, listener)
    if run.missing:
        # Texts of about one length together: an encoder pads little, or fills its batches of one length.
        in_order = sorted(run.missing, key=lambda content: len(by_content[content]))
        if _alone(encoder) and place.crew:
            by_crew = (by_content[content] for content in in_order)
            run.keep_from(EncodeWork.of(encoder, study.files, "text"), list(by_crew), place, text_hash)
            return run
        if place.crew:
            for _, inner in encoders_of(encoder):
                encode_ahead(study, inner, "text", [by_content[each] for each in in_order], listener, place)
        loaded: TextEncoder = loaded_over(study, encoder)
        for batch in _cut(in_order, BATCH["text"]):
            run.keep(batch, loaded.text([by_content[content] for content in batch]))
    return run


def text_hash(text: str) -> str:
    """The content hash under which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Cached:
    """An encoder that reads the vectors a study holds, and computes and keeps what is missing.

    The model itself is loaded only when something is missing. An image that cannot be read has a row of NaN
    and its reason in `without`.
    """

    def __init__(
        self, study: Study, encoder: Configured, listener: Listener | None = None, place: Place = HERE
    ) -> None:
        self._study = study
        self._encoder = encoder
        self._listener = listener
        self._place = place
        self.without: dict[str, str] = {}

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return embed_texts(self._study, self._encoder, texts, self._listener, self._place)

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        if any(image.made_up for image in images):
            return self._with_made_up(images)
        by_content = {image.sha256: image for image in images}
        contents = [image.sha256 for image in images]
        found = _images(
            self._study, self._encoder, contents, by_content.__getitem__, self._listener, self._place
        ).finish()
        self.without.update(found.without)
        return found.vectors

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are beyond what the encoder reads; 0 where it reads any length."""
        if all(len(text.encode("utf-8", "surrogatepass")) <= SHORT for text in texts):
            return [0] * len(texts)
        loaded = loaded_over(self._study, self._encoder)
        return list(loaded.unread(texts)) if hasattr(loaded, "unread") else [0] * len(texts)

    @property
    def logit_scale(self) -> float:
        """What the encoder multiplies cosines by, where it has such a scale."""
        return float(loaded_over(self._study, self._encoder).logit_scale)

    def _with_made_up(self, images: Sequence[Picture]) -> np.ndarray:
        """Crops and the like are encoded each time: nobody would look their vectors up again."""
        import numpy as np

        encoder: ImageEncoder = loaded_over(self._study, self._encoder)
        made = np.asarray(encoder.image([image for image in images if image.made_up]), dtype=np.float32)
        files = [image for image in images if not image.made_up]
        rows = np.empty((len(images), made.shape[1]), dtype=np.float32)
        is_made = np.array([image.made_up for image in images])
        rows[is_made] = made
        if files:
            rows[~is_made] = self.image(files)
        return rows


def loaded_over(study: Study, extension: Configured) -> Any:
    """An extension loaded, with the encoders inside it answering from the study's vectors."""
    return extension.load({name: Cached(study, each) for name, each in encoders_of(extension)})


def encoders_of(extension: Configured) -> Iterator[tuple[str, Configured]]:
    """The encoders that an extension needs, by parameter; one inside another comes with it."""
    return models_of(extension, "encoder")


def models_of(extension: Configured, kind: str, within: str = "") -> Iterator[tuple[str, Configured]]:
    """The encoders or detectors that an extension needs, by parameter, but none inside another of these."""
    for name, value in extension.arguments.items():
        if isinstance(value, Configured):
            if value.spec.kind == kind:
                yield within + name, value
            elif value.spec.kind not in LOADED:
                yield from models_of(value, kind, f"{within}{name}.")


def _images(
    study: Study,
    encoder: Configured,
    contents: Sequence[str],
    picture: Callable[[str], Picture],
    listener: Listener | None,
    place: Place,
) -> _Run:
    run = _Run(study, encoder, "image", contents, listener)
    if not run.missing:
        return run
    if _alone(encoder) and place.crew:
        run.keep_from(EncodeWork.of(encoder, study.files, "image"), run.missing, place, str)
        return run
    if place.crew:
        for _, inner in encoders_of(encoder):
            encode_ahead(study, inner, "image", run.missing, listener, place)
    loaded = loaded_over(study, encoder)
    prepare, encode, threads = _steps(encoder, loaded)
    # An encoder on a graphics card may take more at once.
    size = int(getattr(loaded, "together", BATCH["image"]))
    # Pictures that are given are at hand already.
    wanted = study.files.ahead(run.missing) if picture == study.files.picture else run.missing
    for batch in _ahead(wanted, _preparing(prepare, picture), size, threads):
        run.leave_out({content: reason for content, (_, reason) in batch if reason is not None})
        good = [(content, ready) for content, (ready, reason) in batch if reason is None]
        if good:
            run.keep([content for content, _ in good], encode([ready for _, ready in good]))
    return run


def _preparing(
    prepare: Callable[[Picture], Any], picture: Callable[[str], Picture]
) -> Callable[[str], Prepared]:
    def work(content: str) -> Prepared:
        try:
            return prepare(picture(content)), None
        except StudyError:
            raise  # the store does not answer
        except DataError as error:
            return None, error.what

    return work


def _alone(encoder: Configured) -> bool:
    """Whether an encoder has none inside: such a one can be loaded where there is no study."""
    return not any(encoders_of(encoder))


def _steps(
    configured: Configured, encoder: Any
) -> tuple[Callable[[Picture], Any], Callable[[list[Any]], np.ndarray], int]:
    """What threads do to a picture ahead of the model, what the model does to a batch, and how many threads.

    An encoder may offer `prepare(picture)`, safe in threads, and `encode(prepared)`, which together are its
    `image`: then only the small prepared arrays wait for the model. Of any other the pictures are decoded
    ahead. One that is made of other encoders gets pictures as they are: those inside may know them already.
    """
    if hasattr(encoder, "prepare") and hasattr(encoder, "encode"):
        return encoder.prepare, encoder.encode, THREADS
    plain: ImageEncoder = encoder
    if any(inner.spec.kind == "encoder" for inner in configured.nested() if inner is not configured):
        return lambda picture: picture, plain.image, 1
    return _Decoded, plain.image, THREADS


class _Decoded(Picture):
    """A picture with the pixels a thread decoded: the picture itself may be of a kind that keeps none."""

    __slots__ = ("_picture",)

    def __init__(self, picture: Picture) -> None:
        super().__init__(b"", sha256=picture.sha256, name=picture.name)
        self._picture = picture
        self._rgb = picture.rgb

    @property
    def data(self) -> bytes:
        return self._picture.data


def _ahead(
    items: Iterable[str], work: Callable[[str], Prepared], size: int, threads: int
) -> Iterator[list[tuple[str, Prepared]]]:
    """Batches of finished work in order; while one is used, threads work on the next, and on no more."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="prepare")
    waiting: deque[tuple[str, Future[Prepared]]] = deque()
    source = iter(items)
    try:
        waiting.extend((item, pool.submit(work, item)) for item in islice(source, size))
        while waiting:
            batch: list[tuple[str, Prepared]] = []
            while waiting and len(batch) < size:
                item, future = waiting.popleft()
                batch.append((item, future.result()))
                waiting.extend((item, pool.submit(work, item)) for item in islice(source, 1))
            yield batch
    finally:
        pool.shutdown(cancel_futures=True)


class _Run:
    """What is missing of what was asked for, committed bit by bit as it comes."""

    def __init__(
        self,
        study: Study,
        encoder: Configured,
        what: str,
        contents: Sequence[str],
        listener: Listener | None,
    ) -> None:
        self._vectors = study.vectors
        self._encoder = encoder
        self._what = what
        self._study = study
        self._contents = contents
        self._without: dict[str, str] = {}
        self._waiting: list[tuple[Sequence[str], np.ndarray]] = []
        self._kept = time.monotonic()
        if what not in encoder.spec.details["encodes"]:
            raise ExtensionError(
                f"{encoder.name} encodes {' and '.join(encoder.spec.details['encodes'])}, not {what}s",
                where=encoder.spec.origin,
                remedy=f"Choose an encoder that encodes {what}s: sightline list encoder",
            )
        self._identity = encoder.identity
        distinct = list(dict.fromkeys(contents))
        known = self._vectors.known(self._identity, distinct)
        self.missing = [content for content in distinct if content not in known]
        self._meter = Meter(f"{encoder.short}: {what}s", len(distinct), listener)
        self._meter.add(known=len(known))

    def keep(self, contents: Sequence[str], rows: Any) -> None:
        import numpy as np

        rows = _checked(self._encoder, self._what, rows, contents)
        # An encoder made of others has no vector where they had none; a network may overflow on one image.
        empty = np.isnan(rows).all(axis=1)
        if empty.any() and self._what == "image":
            self.leave_out(
                {
                    contents[n]: f"{self._encoder.name} gave no finite vector of it"
                    for n in np.flatnonzero(empty).tolist()
                }
            )
            contents, rows = [c for c, gone in zip(contents, empty, strict=True) if not gone], rows[~empty]
        if not np.isfinite(rows).all():
            raise ExtensionError(
                f"{self._encoder.name} gave a vector that is not finite",
                where=self._encoder.spec.origin,
                remedy="In mixed precision numbers may overflow: try without --precision.",
            )
        self._waiting.append((contents, rows))
        held = sum(len(waiting) for waiting, _ in self._waiting)
        if held >= SHARD_ROWS or time.monotonic() - self._kept >= SHARD_SECONDS:
            self._commit()
        self._meter.add(computed=len(contents))

    def keep_from(
        self, work: EncodeWork, items: Sequence[str], place: Place, content_of: Callable[[str], str]
    ) -> None:
        """Have items encoded at a place, and keep what comes back."""
        with closing(run_work(work, _cut(items, BATCH[self._what]), place)) as done:
            for batch, results in done:
                rows = {content_of(item): row for item, row in zip(batch, results, strict=True)}
                self.leave_out({content: why for content, (_, why) in rows.items() if why is not None})
                good = {content: row for content, (row, why) in rows.items() if why is None}
                if good:
                    self.keep(list(good), list(good.values()))

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        self._without.update(reasons)
        self._meter.add(computed=len(reasons))

    def close(self) -> Mapping[str, str]:
        """Commit what waits; gives the reasons of contents that have no vector."""
        self._commit()
        self._meter.finish()
        return self._without

    def finish(self) -> Embedded:
        """Commit what waits; gives all that was asked for."""
        import numpy as np

        without = self.close()
        vectors, known = self._vectors.get(self._identity, self._contents)
        if not known.any():
            # Not even the width is known from the store: an encoder tells it by encoding nothing.
            encode = getattr(loaded_over(self._study, self._encoder), self._what)
            vectors = np.zeros((len(self._contents), encode([]).shape[1]), dtype=np.float32)
        vectors[~known] = np.nan
        return Embedded(vectors, without)

    def _commit(self) -> None:
        import numpy as np

        if self._waiting:
            contents = [content for part, _ in self._waiting for content in part]
            self._vectors.put(self._identity, contents, np.concatenate([rows for _, rows in self._waiting]))
        self._waiting = []
        self._kept = time.monotonic()


def _checked(encoder: Configured, what: str, rows: Any, items: Sequence[Any]) -> np.ndarray:
    """The rows of an encoder as an array, if there is one for each item."""
    import numpy as np

    rows = np.asarray(rows)
    if rows.ndim != 2 or len(rows) != len(items):
        raise ExtensionError(
            f"{encoder.name} gave an array of {rows.shape} for {len(items)} {what}s",
            where=encoder.spec.origin,
        )
    found: np.ndarray = rows
    return found


def _cut(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
