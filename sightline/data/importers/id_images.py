"""Images whose names say which prompt of the study they answer: <id>_<sample>, or one folder per id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from sightline.data.sources import TABLES, Source, composed
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Answer, Image, ImageKey, PromptKey, Record, System

_NAMED = re.compile(r"(?P<id>\S+?)_(?P<sample>[0-9]{1,9})")
_PLAIN = re.compile(r"\S*[0-9]\S*")
SAMPLES = "samples"


def claims(source: Source) -> float:
    """Images called <id>_<sample>, most of them, in a folder or its folders, and no table that says more.

    An id has a digit in it, and no white space.
    """
    if source.is_file or any(file.lower().endswith((*TABLES, ".json")) for file in source.files()):
        return 0.0
    names = [
        PurePosixPath(file).stem
        for folder in ("", *source.folders()[:50])
        for file in source.pictures(folder)[:50]
    ]
    if not names:
        below = [sub for folder in source.folders()[:50] for sub in source.folders(folder)[:50]]
        fits = [_PLAIN.fullmatch(PurePosixPath(sub).name) is not None for sub in below if _files(source, sub)]
    else:
        found = [_NAMED.fullmatch(name) for name in names]
        fits = [each is not None and _PLAIN.fullmatch(each["id"]) is not None for each in found]
    return 0.4 * (bool(fits) and 2 * sum(fits) > len(fits))


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "made/careful/c1_0.png": "red",
        "made/careful/c1_1.png": "tan",
        "made/sloppy/c1_0.png": "blue",
    },
    before={"prompts.csv": "prompt_id,prompt\nc1,a red ball\n"},
)
def id_images(
    source: Source,
    *,
    suite: str = "prompts",
    collection: str = "images",
    system: str = "",
    first_line: int = 1,
) -> Iterator[Record]:
    """Images for prompts that the study has: SYSTEM/<id>_<sample>.png, or SYSTEM/<id>/<sample>.png.

    <id> is the id of a prompt, with or without p before it, or its line in the file that `--prompts` names,
    which counts from `first_line`. Samples count from 0, or from 1 where a system has none that is called 0;
    a file without a number is the first. Folders of GenEval's form, <id>/samples/0000.png, are read too.
    Where the images are at the top, `system` names the system, by default as the folder is called. Ids that
    the study does not have are listed and left; the rest comes in.
    """
    answers = 0
    for folder in ("", *source.folders()):
        name = composed(folder) or system or source.name
        found = [(*_parsed(file), file) for file in source.pictures(folder)]
        if folder:
            for below in source.folders(folder):
                ref = composed(PurePosixPath(below).name)
                files = _files(source, below)
                if not files:
                    source.skip(below, "folders without images")
                found += [(ref, _number(file, place), file) for place, file in enumerate(files)]
        if not found:
            continue
        from_one = min(sample for _, sample, _ in found) == 1
        yield System(name, at=folder or found[0][2])
        for ref, sample, file in found:
            answers += 1
            image = ImageKey(collection, file)
            yield Image(image, str(source.inside(file)), at=file)
            yield Answer(PromptKey(suite, ref), name, sample - from_one, image, at=file)
    if not answers:
        raise DataError(
            "there is no image in it",
            where=str(source.path),
            remedy="Give a folder of images called <id>_<sample>.png, or one such folder per system.",
        )


def _parsed(file: str) -> tuple[str, int]:
    stem = composed(PurePosixPath(file).stem)
    found = _NAMED.fullmatch(stem)
    return (found["id"], int(found["sample"])) if found else (stem, 0)


def _files(source: Source, folder: str) -> list[str]:
    return source.pictures(folder) or source.pictures(f"{folder}/{SAMPLES}")


def _number(file: str, place: int) -> int:
    stem = PurePosixPath(file).stem
    return int(stem) if stem.isdecimal() and len(stem) < 10 else place
