"""VISOR: spatial relations between two objects, four samples per prompt."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Once, Row, Source
from sightline.extension import importer
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System

IMAGES = "images.csv"
PROMPTS = "prompts.csv"
COLUMNS = ("path", "model", "prompt_id", "sample")
ASKED = ("prompt_id", "prompt", "obj1", "relation", "obj2")
SKILL = "spatial"


def claims(source: Source) -> float:
    """images.csv with path, model, prompt_id and sample, next to prompts.csv with obj1, relation and obj2."""
    if source.is_file:
        return 0.0
    return 0.95 * (source.has_table(IMAGES, COLUMNS) and source.has_table(PROMPTS, ASKED))


@importer(
    claims=claims,
    source="Gokhale et al. 2022, VISOR",
    licence="MIT",
    suite={
        "prompts": 25_280,
        "home": "https://github.com/microsoft/VISOR",
        "files": "images.csv and prompts.csv, as made from its list of prompts and the images of a system",
        "skills": {"every prompt": SKILL},
    },
    files={
        "visor/images.csv": "path,model,prompt_id,sample,prompt\nimages/glide/1_0.png,glide,1,0,a dog\n",
        "visor/prompts.csv": "prompt_id,prompt,obj1,relation,obj2\n"
        "1,a dog to the left of a cat,dog,to the left of,cat\n",
        "visor/images/glide/1_0.png": "red",
    },
)
def visor(source: Source, *, suite: str = "visor", collection: str = "visor") -> Iterator[Record]:
    """VISOR: images.csv (path, model, prompt_id, sample) and prompts.csv (obj1, relation, obj2).

    Expects at least one of each object, related so, and nothing else.
    """
    for row in source.rows(PROMPTS, required=ASKED):
        yield _prompt(row, suite)
    once = Once()
    for row in source.rows(IMAGES, required=COLUMNS):
        system, file = row.text("model"), row.text("path")
        if once.new(system):
            yield System(system, at=row.at)
        image = ImageKey(collection, file)
        yield Image(image, source.need_picture(file, row.at), at=row.at)
        yield Answer(PromptKey(suite, row.text("prompt_id")), system, row.count("sample"), image, at=row.at)


def _prompt(row: Row, suite: str) -> Prompt:
    tags = {name: row.text(name) for name in ("obj1", "relation", "obj2")} | {"skill": SKILL}
    where = tags["relation"].removeprefix("to the ")
    expects = {
        "objects": [
            {"kind": tags[name], "count": 1, "at_least": True, "colour": None, "size": None}
            for name in ("obj1", "obj2")
        ],
        "relation": {"first": tags["obj1"], "where": where, "second": tags["obj2"]},
        "absent": [],
        "text": None,
        "complete": True,
    }
    return Prompt(
        PromptKey(suite, row.text("prompt_id")), row.text("prompt"), tags, expects=expects, at=row.at
    )
