"""ImagenHub: several systems on one set of prompts, three raters, two questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from sightline.data.importers._drawbench import SKILLS
from sightline.data.sources import Once, Source
from sightline.errors import DataError
from sightline.extension import importer
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

IMAGES = "images.csv"
RATINGS = "human_ratings.csv"
LOOKUP = "dataset_lookup.json"
COLUMNS = ("path", "model", "uid", "prompt")
QUESTIONS = {"SC": "semantic_consistency", "PQ": "perceptual_quality"}
WORDING = {
    "semantic_consistency": "Does the image show what the prompt asks for?",
    "perceptual_quality": "Does the image look natural and free of artefacts?",
}


def claims(source: Source) -> float:
    """images.csv with path, model, uid and prompt; or model folders next to dataset_lookup.json."""
    if source.is_file:
        return 0.0
    return 0.95 if source.has_table(IMAGES, COLUMNS) else 0.9 * source.has(LOOKUP)


@importer(
    claims=claims,
    source="Ku et al. 2024, ImagenHub",
    licence="MIT (ratings)",
    files={
        "imagenhub/images.csv": "path,model,uid,prompt,category,source\n"
        "images/SD/0.jpg,SD,sample_0.jpg,a dog,Colors,DrawBench\n"
        "images/SDXL/0.jpg,SDXL,sample_0.jpg,a dog,Colors,DrawBench\n",
        "imagenhub/human_ratings.csv": "model,uid,rater,SC,PQ\nSD,sample_0.jpg,r1,0.5,1\n"
        "SDXL,sample_0.jpg,r1,1,1\n",
        "imagenhub/images/SD/0.jpg": "red",
        "imagenhub/images/SDXL/0.jpg": "tan",
    },
)
def imagenhub(source: Source, *, suite: str = "imagenhub", collection: str = "imagenhub") -> Iterator[Record]:
    """ImagenHub: images.csv and human_ratings.csv, or model/uid images with dataset_lookup.json."""
    names: dict[tuple[str, str], str] = {}
    for record in (
        _table(source, suite, collection) if source.has(IMAGES) else _folders(source, suite, collection)
    ):
        if isinstance(record, Answer) and isinstance(record.prompt, PromptKey) and record.image is not None:
            names[record.system, record.prompt.ref] = record.image.name
        yield record
    if source.has(RATINGS):
        yield from _ratings(source, suite, collection, names)


def _table(source: Source, suite: str, collection: str) -> Iterator[Record]:
    once = Once()
    for row in source.rows(IMAGES, required=COLUMNS):
        system, file = row.text("model"), row.text("path")
        key = PromptKey(suite, row.text("uid"))
        if once.new(system):
            yield System(system, at=row.at)
        tags = {name: value for name in ("category", "source") if (value := row.text(name, None)) is not None}
        if once.new((key, row.text("prompt"), *tags.items())):
            yield Prompt(key, row.text("prompt"), _with_skill(tags), at=row.at)
        image = ImageKey(collection, file)
        yield Image(image, source.need_picture(file, row.at), at=row.at)
        yield Answer(key, system, 0, image, at=row.at)


def _with_skill(tags: dict[str, str]) -> dict[str, str]:
    """Categories that are DrawBench's stand for the same skills as there."""
    skill = SKILLS.get(tags.get("category", "").strip())
    return {**tags, "skill": skill} if skill else tags


def _folders(source: Source, suite: str, collection: str) -> Iterator[Record]:
    lookup = source.json(LOOKUP)
    expected = 'Expected {uid: {"prompt": ...}, ...}.'
    if not isinstance(lookup, dict) or not all(isinstance(entry, dict) for entry in lookup.values()):
        raise DataError("not a table of prompts by uid", where=LOOKUP, remedy=expected)
    for uid, entry in lookup.items():
        if not isinstance(entry.get("prompt"), str):
            raise DataError(f"{uid!r} has no prompt", where=LOOKUP, remedy=expected)
        tags = {name: str(entry[name]) for name in ("category", "source") if entry.get(name)}
        yield Prompt(PromptKey(suite, uid), entry["prompt"], _with_skill(tags), at=LOOKUP)
    by_stem = {PurePosixPath(uid).stem: uid for uid in lookup}
    for folder in source.folders():
        files = source.pictures(folder)
        if files:
            yield System(folder, at=folder)
        for file in files:
            uid = by_stem.get(PurePosixPath(file).stem)
            if uid is None:
                source.skip(file, f"images that {LOOKUP} does not name")
                continue
            image = ImageKey(collection, file)
            yield Image(image, str(source.inside(file)), at=file)
            yield Answer(PromptKey(suite, uid), folder, 0, image, at=file)


def _ratings(
    source: Source, suite: str, collection: str, names: dict[tuple[str, str], str]
) -> Iterator[Record]:
    for question in QUESTIONS.values():
        yield Question(question, "ordinal", 0.0, 1.0, 0.5, wording=WORDING[question], at=RATINGS)
    for row in source.rows(RATINGS, required=("model", "uid", "rater", *QUESTIONS)):
        system, uid = row.text("model"), row.text("uid")
        name = names.get((system, uid))
        if name is None:
            raise row.error(f"{system} has no image for {uid!r}", "Take out the row or add the image.")
        subject = Item(PromptKey(suite, uid), system, ImageKey(collection, name))
        rater = AnnotatorKey("imagenhub", row.text("rater"))
        for column, question in QUESTIONS.items():
            value = row.number(column)
            if value not in (0.0, 0.5, 1.0):
                raise row.wrong(column, "0, 0.5 or 1", "Correct the rating.")
            yield Judgement(question, subject, value, rater, at=row.at)
