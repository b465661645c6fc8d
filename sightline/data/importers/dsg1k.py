"""DSG-1k: prompts taken apart into yes/no questions that build on one another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sightline.data.sources import Row, Source
from sightline.extension import importer
from sightline.records import Prompt, PromptKey, Record

TABLE = "dsg-1k-anns.csv"
SKILLS = {
    "countbench": "counting",
    "diffusiondb": "style",
    "drawtext": "text_rendering",
    "localized_narratives": "detail",
    "midjourney": "style",
    "posescript": "detail",
    "stanford_paragraph": "detail",
    "tifa160": "complex",
    "vrd": "spatial",
    "whoops": "unusual_arrangements",
}
COLUMNS = (
    "item_id",
    "text",
    "proposition_id",
    "dependency",
    "category_broad",
    "category_detailed",
    "tuple",
    "question_natural_language",
)


def claims(source: Source) -> float:
    """A table with item_id, proposition_id, dependency and question_natural_language, or a folder with it."""
    return 0.95 * source.has_table(TABLE, COLUMNS)


@importer(
    claims=claims,
    source="Cho et al. 2024, Davidsonian Scene Graph",
    licence="CC-BY-4.0",
    suite={
        "prompts": 1_060,
        "home": "https://github.com/j-min/DSG",
        "files": TABLE,
        "skills": SKILLS,
    },
    files={
        "dsg-1k-anns.csv": "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,"
        "tuple,question_natural_language\n"
        "whoops_5,a purple cube,cube,1,0,entity,whole,entity - whole (cube),Is there a cube?\n"
        "whoops_5,a purple cube,cube,2,1,attribute,color,attribute - color (cube),Is the cube purple?\n"
    },
)
def dsg1k(source: Source, *, suite: str = "dsg1k") -> Iterator[Record]:
    """DSG-1k's annotations: a prompt an item, and in what it expects the questions an image must pass.

    Nobody was asked them: they are no questions of the study but demands of a prompt. `expects` holds
    {"questions": [{"id", "question", "needs", "kind", "detail", "tuple"}]}, `needs` being the ids of the
    questions without which one makes no sense. `complete` is false, since none of these is a demand for an
    object, a relation or a text. The tag `source` is where the prompt was taken from, and decides on the tag
    `skill`.
    """
    finished: set[str] = set()
    rows = source.rows(source.one_file(TABLE) or TABLE, required=COLUMNS)
    for item, group in groupby(rows, key=lambda row: row.text("item_id")):
        of_item = list(group)
        if item in finished:
            raise of_item[0].error(f"the rows of {item!r} are not together", "Sort by item_id.")
        finished.add(item)
        yield _prompt(source, PromptKey(suite, item), of_item)


def _prompt(source: Source, key: PromptKey, rows: list[Row]) -> Prompt:
    text = rows[0].text("text")
    ids: set[int] = set()
    for row in rows:
        if row.text("text") != text:
            raise row.wrong("text", f"that of the other rows of {key.ref}", "Correct the text or the id.")
        number = row.whole("proposition_id")
        if number in ids:
            raise row.wrong("proposition_id", "another one in each row of an item", "Correct the id.")
        ids.add(number)
    questions = [_question(source, row, ids) for row in rows]
    home = re.sub(r"_?\d+$", "", key.ref)
    tags = {"source": home} if home and home != key.ref else {}
    if home in SKILLS and tags:
        tags["skill"] = SKILLS[home]
    return Prompt(key, text, tags, expects={"questions": questions, "complete": False}, at=rows[0].at)


def _question(source: Source, row: Row, ids: set[int]) -> dict[str, Any]:
    own = row.whole("proposition_id")
    needs = []
    for word in row.text("dependency", "0").split(","):
        said = word.strip()
        # Some cells hold a word of the prompt, or the id of the question itself or of none: no dependency.
        if said.isdecimal() and (int(said) in ids - {own}):
            needs.append(int(said))
        elif said not in ("0", ""):
            source.skip(f"{row.at} ({said!r})", "dependencies on no other question of the same prompt")
    return {
        "id": own,
        "question": row.text("question_natural_language").strip(),
        "needs": sorted(set(needs)),
        "kind": row.text("category_broad"),
        "detail": row.text("category_detailed"),
        "tuple": row.text("tuple"),
    }
