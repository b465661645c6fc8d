"""TREC qrels: which images are relevant to which query."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Source
from sightline.data.sources.topics import topics_file, topics_of
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import ImageKey, Item, PromptKey, Question, Record, Truth


def claims(source: Source) -> float:
    """A text file whose first line is `qid 0 docid grade`."""
    if not source.is_file or source.is_table():
        return 0.0
    cells = next((line.split() for _, line in source.lines(source.the_file())), [])
    return 0.9 * (len(cells) == 4 and cells[1] in ("0", "1", "Q0") and cells[3].lstrip("-").isdecimal())


@importer(
    claims=claims,
    source="TREC qrels format",
    licence="Apache-2.0",
    files={
        "q.qrels": "q1 0 photo7 1\nq1 0 photo2 0\nq2 0 photo2 1\n",
        "topics.tsv": "q1\ta dog\nq2\ta cat\n",
    },
)
def trec_qrels(
    source: Source,
    *,
    suite: str = "prompts",
    collection: str = "images",
    question: str = "relevance",
    topics: str = "",
) -> Iterator[Record]:
    """TREC qrels (qid 0 docid grade): truth about an image for a prompt.

    The qids are prompts of the study, or come from a topics file next to it: `topics.tsv` or `queries.tsv`
    (or the one `topics` names) with qid, tab, text and no header.
    """
    yield from topics_of(source, topics or topics_file(source), suite)
    file = source.the_file()
    yield Question(question, "ordinal", at=file)
    for at, line in source.lines(file):
        cells = line.split()
        if len(cells) != 4:
            raise DataError(
                f"{len(cells)} cells instead of 4", where=at, remedy="A line is: qid 0 docid grade."
            )
        try:
            grade = float(int(cells[3]))
        except ValueError:
            raise DataError(
                f"the grade {cells[3]!r} is not a whole number", where=at, remedy="Correct the line."
            ) from None
        yield Truth(
            question, Item(PromptKey(suite, cells[0]), image=ImageKey(collection, cells[2])), grade, at=at
        )
