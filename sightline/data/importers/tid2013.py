"""TID2013: distorted photos with mean opinion scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from sightline.data.sources import Once, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Image, ImageKey, Item, Question, Record, Truth

TABLE = "mos.csv"
COLUMNS = ("file", "ref", "type", "level", "mos")
KNOWN = (*COLUMNS, "mos_std")
RELEASED = "mos_with_names.txt"
RELEASED_STD = "mos_std.txt"
NAME = re.compile(r"(i\d+)_(\d+)_(\d+)\.\w+", re.IGNORECASE)
TYPES = (
    "additive Gaussian noise",
    "noise stronger in colour than in luminance",
    "spatially correlated noise",
    "masked noise",
    "high frequency noise",
    "impulse noise",
    "quantisation noise",
    "Gaussian blur",
    "image denoising",
    "JPEG compression",
    "JPEG2000 compression",
    "JPEG transmission errors",
    "JPEG2000 transmission errors",
    "non-eccentricity pattern noise",
    "local block-wise distortions",
    "mean shift",
    "contrast change",
    "change of colour saturation",
    "multiplicative Gaussian noise",
    "comfort noise",
    "lossy compression of noisy images",
    "colour quantisation with dither",
    "chromatic aberrations",
    "sparse sampling and reconstruction",
)
QUESTIONS = (
    Question("mos", "interval", 0.0, 9.0, wording="How good does the distorted image look?"),
    Question(
        "distortion_type",
        "nominal",
        1.0,
        float(len(TYPES)),
        1.0,
        {str(n): name for n, name in enumerate(TYPES, 1)},
        "How was the image made from its reference?",
        "none",
    ),
    Question("distortion_level", "ordinal", 1.0, 5.0, 1.0, wording="How strongly?", direction="lower"),
)


class Distorted(NamedTuple):
    """One distorted image as either layout tells of it."""

    file: str
    reference: str
    kind: int
    level: int
    mos: float
    std: float | None
    at: str


def claims(source: Source) -> float:
    """mos.csv with file, ref, type, level and mos; or mos_with_names.txt next to distorted_images."""
    released = source.has(RELEASED) and "distorted_images" in source.folders()
    return 0.95 * (not source.is_file and (released or source.has_table(TABLE, COLUMNS)))


@importer(
    claims=claims,
    source="Ponomarenko et al. 2015, TID2013",
    licence="research and education only",
    version=2,
    files={
        "tid2013/mos.csv": "file,ref,type,level,mos,mos_std\n"
        "distorted/i04_01_1.png,reference/i04.png,1,1,5.7619,0.12051\n",
        "tid2013/distorted/i04_01_1.png": "tan",
        "tid2013/reference/i04.png": "red",
    },
)
def tid2013(source: Source, *, collection: str = "tid2013") -> Iterator[Record]:
    """TID2013: mos.csv, or mos_with_names.txt as released, with reference and distorted images.

    The opinion score is truth of the distorted image. What was done to the reference, and how strongly, is
    truth of the pair (distorted, reference), which so stays linked. The published deviation is that of the
    mean (its size fits no other reading), so that the interval is mos +- 1.96 of it. Images have the tags
    `distortion` and `level`, which their references lack, and `reference`.
    """
    at = TABLE if source.has(TABLE) else RELEASED
    for question in QUESTIONS:
        yield question._replace(at=at)
    once = Once()
    for item in _table(source) if source.has(TABLE) else _released(source):
        if not (0 <= item.mos <= 9 and 1 <= item.kind <= len(TYPES) and 1 <= item.level <= 5):
            raise DataError(
                f"mos {item.mos}, type {item.kind} and level {item.level} are not all possible",
                where=item.at,
                remedy="mos is 0 to 9, a type 1 to 24, a level 1 to 5.",
            )
        image, reference = ImageKey(collection, item.file), ImageKey(collection, item.reference)
        for key in (reference, image):
            if once.new(key):
                path = source.need_picture(key.name, item.at)
                yield Image(key, path, at=item.at, tags=_tags(item, key == reference))
        spread = None if item.std is None else 1.96 * item.std
        low, high = (None, None) if spread is None else (item.mos - spread, item.mos + spread)
        yield Truth("mos", Item(image=image), item.mos, low, high, at=item.at)
        pair = Item(image=image, image_b=reference)
        yield Truth("distortion_type", pair, float(item.kind), at=item.at)
        yield Truth("distortion_level", pair, float(item.level), at=item.at)


def _tags(item: Distorted, of_reference: bool) -> dict[str, str]:
    made = {} if of_reference else {"distortion": TYPES[item.kind - 1], "level": str(item.level)}
    return {**made, "reference": PurePosixPath(item.reference).stem.lower()}


def _table(source: Source) -> Iterator[Distorted]:
    for row in source.rows(TABLE, required=COLUMNS, known=KNOWN):
        std = row.number("mos_std", None)
        if std is not None and std < 0:
            raise row.wrong("mos_std", "0 or more", "Correct the deviation.")
        kind, level, mos = row.whole("type"), row.whole("level"), row.number("mos")
        yield Distorted(row.text("file"), row.text("ref"), kind, level, mos, std, row.at)


def _released(source: Source) -> Iterator[Distorted]:
    # The release spells its file names in capitals here and in small letters there.
    distorted = _by_lower_name(source, "distorted_images")
    references = _by_lower_name(source, "reference_images")
    lines = list(source.lines(RELEASED))
    deviations: list[str | None] = [None] * len(lines)
    if source.has(RELEASED_STD):
        deviations = [line for _, line in source.lines(RELEASED_STD)]
        if len(deviations) != len(lines):
            raise DataError(
                f"{len(deviations)} deviations for {len(lines)} scores",
                where=f"{RELEASED_STD}:{len(deviations)}",
                remedy="One of the two files is cut short: obtain both again.",
            )
    for (at, line), std in zip(lines, deviations, strict=True):
        cells = line.split()
        named = NAME.fullmatch(cells[1]) if len(cells) == 2 else None
        if named is None:
            raise DataError(
                "not a score and a name such as i01_01_1.bmp", where=at, remedy="Obtain the file again."
            )
        file = distorted.get(cells[1].lower(), f"distorted_images/{cells[1]}")
        own = f"{named[1]}.bmp"
        reference = references.get(own.lower(), f"reference_images/{own}")
        mos, deviation = _number(cells[0], at), None if std is None else _number(std, at)
        yield Distorted(file, reference, int(named[2]), int(named[3]), mos, deviation, at)


def _by_lower_name(source: Source, folder: str) -> Mapping[str, str]:
    return {file.rpartition("/")[2].lower(): file for file in source.pictures(folder)}


def _number(said: str, at: str) -> float:
    try:
        number = float(said)
    except ValueError:
        number = float("nan")
    if number - number != 0:
        raise DataError(f"{said!r} is not a number", where=at, remedy="Correct the line.")
    return number
