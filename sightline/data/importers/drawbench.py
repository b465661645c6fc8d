"""DrawBench: 200 prompts in eleven categories."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.importers._drawbench import SKILLS
from sightline.data.sources import Source, prompt_ref
from sightline.extension import importer
from sightline.records import Prompt, PromptKey, Record

TABLE = "DrawBench.csv"
COLUMNS = ("Prompts", "Category")


def claims(source: Source) -> float:
    """A table of just the columns Prompts and Category: a file, or DrawBench.csv in a folder."""
    file = source.one_file(TABLE) or TABLE
    return 0.95 * (source.has_table(TABLE, COLUMNS) and len(source.header(file)) == len(COLUMNS))


@importer(
    claims=claims,
    source="Saharia et al. 2022, DrawBench",
    licence="Apache-2.0",
    suite={
        "prompts": 200,
        "home": "https://imagen.research.google/",
        "files": TABLE,
        "skills": SKILLS,
    },
    files={"DrawBench.csv": "Prompts,Category\nA red colored car.,Colors\nA black apple.,Colors\n"},
)
def drawbench(source: Source, *, suite: str = "drawbench") -> Iterator[Record]:
    """DrawBench.csv (Prompts, Category): prompts with their category and skill; the file gives no ids."""
    for row in source.rows(source.one_file(TABLE) or TABLE, required=COLUMNS):
        text = row.text("Prompts").strip()
        tags = {"category": row.text("Category").strip()}
        if tags["category"] in SKILLS:
            tags["skill"] = SKILLS[tags["category"]]
        yield Prompt(PromptKey(suite, prompt_ref(text)), text, tags, at=row.at)
