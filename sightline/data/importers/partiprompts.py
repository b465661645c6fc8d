"""PartiPrompts: 1,632 prompts by category and challenge."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Source, prompt_ref
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Prompt, PromptKey, Record

TABLE = "PartiPrompts.tsv"
COLUMNS = ["Prompt", "Category", "Challenge", "Note"]
SKILLS = {
    "Basic": "general",
    "Complex": "complex",
    "Fine-grained Detail": "detail",
    "Imagination": "unusual_arrangements",
    "Linguistic Structures": "complex",
    "Perspective": "style",
    "Properties & Positioning": "compositional",
    "Quantity": "counting",
    "Simple Detail": "detail",
    "Style & Format": "style",
    "Writing & Symbols": "text_rendering",
}


def claims(source: Source) -> float:
    """Prompt, Category, Challenge and Note between tabs: a file, or PartiPrompts.tsv in a folder."""
    file = source.one_file(TABLE)
    if file is None or not file.lower().endswith((".tsv", ".tab")):
        return 0.0
    first = next((line for _, line in source.lines(file)), "")
    return 0.95 * (first.split("\t") == COLUMNS)


@importer(
    claims=claims,
    source="Yu et al. 2022, PartiPrompts",
    licence="Apache-2.0",
    suite={
        "prompts": 1_632,
        "home": "https://github.com/google-research/parti",
        "files": TABLE,
        "skills": SKILLS,
    },
    files={
        "PartiPrompts.tsv": "Prompt\tCategory\tChallenge\tNote\n"
        "bond\tAbstract\tBasic\tof several meanings\na dog\tAnimals\tBasic\t\n"
    },
)
def partiprompts(source: Source, *, suite: str = "partiprompts") -> Iterator[Record]:
    """PartiPrompts.tsv (Prompt, Category, Challenge, Note): prompts with these as tags; it gives no ids.

    The tag `skill` follows from the challenge.
    """
    file = source.one_file(TABLE) or TABLE
    # Quotes stand inside its cells as they are: this is no CSV with tabs, but lines cut at tabs.
    lines = source.lines(file)
    at, header = next(lines)
    if header.split("\t") != COLUMNS:
        raise DataError(
            f"the columns are not {', '.join(COLUMNS)}",
            where=at,
            remedy="Obtain the file again; it has tabs between its cells.",
        )
    for at, line in lines:
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise DataError(
                f"{len(cells)} cells instead of {len(COLUMNS)}",
                where=at,
                remedy="A line is: prompt, category, challenge, note, with tabs between them.",
            )
        text, category, challenge, note = (cell.strip() for cell in cells)
        if not (text and category and challenge):
            raise DataError(
                "prompt, category or challenge is empty", where=at, remedy="Complete or remove the line."
            )
        tags = {"category": category, "challenge": challenge, **({"note": note} if note else {})}
        if challenge in SKILLS:
            tags["skill"] = SKILLS[challenge]
        yield Prompt(PromptKey(suite, prompt_ref(text)), text, tags, at=at)
