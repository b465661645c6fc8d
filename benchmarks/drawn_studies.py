"""Studies of any size for benchmarks and tests: drawn images, answers of systems, votes of annotators.

    python benchmarks/drawn_studies.py FOLDER [--answers 10000] [--contents 10000] [--prompts 1000] ...

Every answer has an image of its own name; `contents` of them differ, the others repeat one of these under
another name. Rows go through the loader in bulk; pictures are put next to it and named afterwards, since an
import would look at each of them.
"""

from __future__ import annotations

import argparse
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
)
from sightline.study.schema import database
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

SIDE = 64
QUESTION = "quality"
WORDS = ("red", "blue", "old", "small", "wooden", "bright", "quiet", "broken", "round", "tall")
THINGS = ("dog", "cat", "boat", "tree", "clock", "chair", "train", "apple", "bridge", "lamp", "river", "kite")
PAGE = 20_000


@dataclass(frozen=True)
class Size:
    """How large a study is; `votes` is the number of judgements of each answer, by different annotators."""

    answers: int = 1_000
    contents: int = 1_000
    prompts: int = 100
    systems: int = 5
    annotators: int = 5
    votes: int = 1


def drawn(number: int) -> bytes:
    """A PNG that no other number gives: a gradient with a square, and the number in its first pixels."""
    rng = np.random.default_rng(number)
    pixels = np.empty((SIDE, SIDE, 3), np.uint8)
    low, high = rng.integers(0, 256, (2, 3)).astype(float)
    pixels[:] = (low + np.linspace(0, 1, SIDE)[:, None, None] * (high - low)).astype(np.uint8)
    left, top = rng.integers(4, 36, 2)
    pixels[top : top + 20, left : left + 20] = rng.integers(0, 256, 3)
    pixels[0, :2].flat[:4] = np.frombuffer(struct.pack("<I", number), np.uint8)
    rows = np.zeros((SIDE, 1 + 3 * SIDE), np.uint8)
    rows[:, 1:] = pixels.reshape(SIDE, -1)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def prompt_text(number: int) -> str:
    """The wording of a prompt, different for each number."""
    first, second = WORDS[number % 10], WORDS[number // 10 % 10]
    return f"a {first} {second} {THINGS[number // 100 % 12]} number {number}"


def records(size: Size) -> Iterator[Record]:
    """Prompts with a tag, answers in order of their prompts, and the votes on them."""
    yield Question(QUESTION, "interval", 1, 5)
    for number in range(size.systems):
        yield System(f"system {number}")
    people = [AnnotatorKey("panel", f"annotator {number}") for number in range(size.annotators)]
    last = -1
    for i in range(size.answers):
        number = i * size.prompts // size.answers
        prompt = PromptKey("s", str(number))
        if number != last:
            yield Prompt(prompt, prompt_text(number), {"kind": WORDS[number % 10]})
            last, first = number, i
        system = (i - first) % size.systems
        image = ImageKey("drawn", f"{i}.png")
        yield Image(image)
        yield Answer(prompt, f"system {system}", (i - first) // size.systems, image, None, i)
        for vote in range(size.votes):
            value = 1 + (i * 7 + vote * 3 + system) % 5
            who = people[(i + vote) % size.annotators]
            yield Judgement(QUESTION, Item(prompt, image=image), float(value), who, took_ms=2_000 + i % 900)


def build(folder: Path, size: Size, address: str | None = None) -> Study:
    """Make a study of this size; the caller closes it."""
    study = create_study(folder, database_address=address) if address else create_study(folder)
    load(study, records(size), importer="benchmark", path="drawn", digest=str(size))
    contents = [study.files.put(drawn(number)) for number in range(size.contents)]
    with database.writing(study.engine) as connection:
        statement = "UPDATE image SET sha256 = ?, width = ?, height = ? WHERE id = ?"
        for first in range(1, size.answers + 1, PAGE):
            ids = range(first, min(first + PAGE, size.answers + 1))
            rows = [(contents[(key - 1) % size.contents], SIDE, SIDE, key) for key in ids]
            database.execute_many(connection, statement, rows)
    return study


def table(folder: Path, size: Size) -> Path:
    """A folder with answers.csv and its image files, for an import from a table; one file per content."""
    folder.mkdir(parents=True)
    for number in range(size.contents):
        (folder / f"{number}.png").write_bytes(drawn(number))
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        file.write("prompt_id,prompt,image,system,position\n")
        for i in range(size.answers):
            number = i * size.prompts // size.answers
            first = -(-number * size.answers // size.prompts)
            row = (number, prompt_text(number), f"{i % size.contents}.png", f"system {i % size.systems}")
            file.write(f"{row[0]},{row[1]},{row[2]},{row[3]},{(i - first) // size.systems}\n")
    return folder / "answers.csv"


def main() -> None:
    """Make one study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    for name, value in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    chosen = vars(parser.parse_args())
    build(chosen.pop("folder"), Size(**chosen)).close()


if __name__ == "__main__":
    main()
