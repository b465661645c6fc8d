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


def claims(source: Source) -> float:
    """images.csv with path, model, prompt_id and sample, next to prompts.csv with obj1, relation and obj2."""
    if source.is_file:
        return 0.0
    return 0.95 * (source.has_table(IMAGES, COLUMNS) and source.has_table(PROMPTS, ASKED))


@importer(
    claims=claims,
    source="Gokhale et al. 2022, VISOR",
    licence="MIT",
    files={
        "visor/images.csv": "path,model,prompt_id,sample,prompt\nimages/glide/1_0.png,glide,1,0,a dog\n",
        "visor/prompts.csv": "prompt_id,prompt,obj1,relation,obj2\n"
        "1,a dog to the left of a cat,dog,to the left of,cat\n",
        "visor/images/glide/1_0.png": "red",
    },
)
def visor(source: Source, *, suite: str = "visor", collection: str = "visor") -> Iterator[Record]:
    """VISOR: images.csv (path, model, prompt_id, sample) and prompts.csv (obj1, relation, obj2)."""
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
    tags = {name: row.text(name) for name in ("obj1", "relation", "obj2")}
    where = tags["relation"].removeprefix("to the ")
    expects = {
        "objects": [
            {"kind": tags[name], "count": 1, "colour": None, "size": None} for name in ("obj1", "obj2")
        ],
        "relation": {"first": tags["obj1"], "where": where, "second": tags["obj2"]},
        "absent": [],
        "text": None,
    }
    return Prompt(
        PromptKey(suite, row.text("prompt_id")), row.text("prompt"), tags, expects=expects, at=row.at
    )
