"""The vectors of a collection on disk: of length 1, each once, memory-mapped, with the images that have them.

Equal vectors are kept once. An index holds many copies of one vector badly, and would return any of them;
here images with equal vectors are always found together and stand in the order of the candidates.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightline.errors import DataError
from sightline.extension import ImageEncoder
from sightline.pictures import Picture
from sightline.systems.retrievers._ranking import BLOCK, need_readable, speaking

ABOUT = "collected.npz"


@dataclass(frozen=True)
class Collected:
    """Distinct vectors of length 1; vector r belongs to the candidates members[starts[r]:starts[r + 1]].

    `unread` are candidates whose pictures had no vector; `digest` is the hash of the vectors.
    """

    file: Path
    digest: str
    rows: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    unread: np.ndarray

    def images(self, indices: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Rankings of vectors as rankings of candidates, ties in the order of the candidates."""
        if len(self.members) == len(self.rows):
            return np.where(indices >= 0, self.members[indices], -1), scores
        places, values = np.full(indices.shape, -1, dtype=np.int64), np.full(indices.shape, np.nan)
        for number, (row, of_row) in enumerate(zip(indices, scores, strict=True)):
            row, of_row = row[row >= 0], of_row[row >= 0]
            who = [self.members[self.starts[r] : self.starts[r + 1]] for r in row]
            images = np.concatenate([*who, np.zeros(0, dtype=np.int64)])
            of_images = np.repeat(of_row, [len(each) for each in who])
            order = np.lexsort((images, -of_images))[:k]
            places[number, : len(order)], values[number, : len(order)] = images[order], of_images[order]
        return places, values


def collected(folder: Path, pictures: Sequence[Picture | None], encoder: ImageEncoder) -> Collected:
    """The vectors of these pictures: read from the folder if it holds them, else written there."""
    kept = _kept(folder)
    if kept is not None and not _readable_now(kept, pictures, encoder):
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".part-{uuid.uuid4().hex}"
    try:
        _write(folder, draft, pictures, encoder)
    finally:
        draft.unlink(missing_ok=True)
    made = _kept(folder)
    assert made is not None
    return made


def _readable_now(kept: Collected, pictures: Sequence[Picture | None], encoder: ImageEncoder) -> bool:
    """Whether a picture that had no vector has one by now."""
    again = [picture for number in kept.unread if (picture := pictures[number]) is not None]
    return bool(again) and not np.isnan(encoder.image(again)).all()


def _kept(folder: Path) -> Collected | None:
    try:
        with np.load(folder / ABOUT) as about:
            digest, (n, wide) = str(about["digest"]), about["shape"].tolist()
            members, starts, unread = about["members"], about["starts"], about["unread"]
        file = folder / f"{digest}.f32"
        if file.stat().st_size != n * wide * 4 or len(starts) != n + 1:
            return None
        # A memory map's own class is slow to index; the view below it reads the same file.
        rows = np.asarray(np.memmap(file, dtype="<f4", mode="r", shape=(n, wide)))
    except (OSError, ValueError, KeyError, EOFError):
        return None
    return Collected(file, digest, rows, members, starts, unread)


def _write(folder: Path, draft: Path, pictures: Sequence[Picture | None], encoder: ImageEncoder) -> None:
    there = np.array([number for number, picture in enumerate(pictures) if picture is not None])
    seen, unread, marks = [], [], []
    wide = 0
    with draft.open("wb") as file:
        for start in range(0, len(there), BLOCK):
            numbers = there[start : start + BLOCK]
            vectors = encoder.image([each for n in numbers if (each := pictures[n]) is not None])
            unread.append(numbers[np.isnan(vectors).all(axis=1)])
            # Adding 0 makes -0 the same bits as 0.
            rows, known = speaking(vectors)
            rows += np.float32(0)
            _need_finite(rows, numbers[known])
            wide = rows.shape[1]
            file.write(np.ascontiguousarray(rows, "<f4").data)
            seen.append(numbers[known])
            marks.append(_marks(rows))
    members = np.concatenate(seen)
    need_readable(len(members))
    rows = np.asarray(np.memmap(draft, dtype="<f4", mode="r+", shape=(len(members), wide)))
    first = _first_equal(rows, np.concatenate(marks))
    distinct = np.flatnonzero(first == np.arange(len(first)))
    digest = hashlib.sha256()
    for start in range(0, len(distinct), BLOCK):
        # To the front in place: a distinct row never moves towards the end.
        part = rows[distinct[start : start + BLOCK]]
        if len(distinct) < len(rows):
            rows[start : start + len(part)] = part
        digest.update(part.data)
    os.truncate(draft, len(distinct) * wide * 4)
    os.replace(draft, folder / f"{digest.hexdigest()}.f32")
    _replaced(
        folder / ABOUT,
        lambda part: np.savez(
            part,
            digest=digest.hexdigest(),
            shape=[len(distinct), wide],
            members=members[np.argsort(first, kind="stable")],
            starts=np.append(np.searchsorted(np.sort(first), distinct), len(first)),
            unread=np.concatenate(unread),
        ),
    )


def _need_finite(rows: np.ndarray, numbers: np.ndarray) -> None:
    wrong = ~np.isfinite(rows).all(axis=1)
    if wrong.any():
        raise DataError(
            f"the vector of image {numbers[wrong][0]} is not finite",
            remedy="An encoder gave NaN or infinity; embed it again, or leave it out.",
        )


def _marks(rows: np.ndarray) -> np.ndarray:
    """A number per row that equal rows share, and others very rarely."""
    odd = np.random.default_rng(0).integers(0, 2**63, rows.shape[1], dtype=np.uint64) * 2 + 1
    bits = np.ascontiguousarray(rows, "<f4").view("<u4")
    parts = [(bits[start : start + 1024] * odd).sum(axis=1) for start in range(0, len(bits), 1024)]
    return np.concatenate([*parts, np.zeros(0, dtype=np.uint64)])


def _first_equal(rows: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """For each row the first row that equals it, itself where there is none before it."""
    first = np.arange(len(rows))
    order = np.argsort(marks, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(marks[order])) + 1, len(order))
    starts = np.append(0, ends[:-1])
    several = ends - starts > 1
    for start, end in zip(starts[several], ends[several], strict=True):
        group = order[start:end]
        while len(group) > 1:
            same = (rows[group] == rows[group[0]]).all(axis=1)
            first[group[same]] = group[0]
            group = group[~same]
    return first


def _replaced(path: Path, write: Callable[[Path], None]) -> None:
    part = path.with_name(f".part-{uuid.uuid4().hex}.npz")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
