"""TREC runs: the ranked answers of search engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from sightline.data.sources import Source
from sightline.data.sources.topics import topics_file, topics_of
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Answer, ImageKey, PromptKey, Record, System


class Line(NamedTuple):
    """One line of a run."""

    query: tuple[str, str]
    image: str
    rank: int
    score: float
    at: str


def claims(source: Source) -> float:
    """A text file whose first line is `qid Q0 docid rank score tag`."""
    if not source.is_file or source.is_table():
        return 0.0
    cells = next((line.split() for _, line in source.lines(source.the_file())), [])
    return 0.9 * (len(cells) == 6 and cells[1].upper() == "Q0" and cells[3].isdecimal())


@importer(
    claims=claims,
    closed=True,
    source="TREC run format",
    licence="Apache-2.0",
    files={
        "clip.run": "q1 Q0 photo7 1 0.93 clip\nq1 Q0 photo2 2 0.88 clip\n",
        "topics.tsv": "q1\ta dog\n",
    },
)
def trec_run(
    source: Source, *, suite: str = "prompts", collection: str = "images", topics: str = ""
) -> Iterator[Record]:
    """A TREC run (qid Q0 docid rank score tag): the tag is the system, a rank is a position.

    The qids are prompts of the study, or come from a topics file next to the run: `topics.tsv` or
    `queries.tsv` (or the one `topics` names) with qid, tab, text and no header.
    """
    yield from topics_of(source, topics or topics_file(source), suite)
    file = source.the_file()
    finished: set[tuple[str, str]] = set()
    systems: set[str] = set()
    for query, group in groupby(_lines(source, file), key=attrgetter("query")):
        lines = sorted(group, key=attrgetter("rank"))
        if query in finished:
            raise DataError(
                f"the lines of query {query[1]!r} are not together",
                where=lines[0].at,
                remedy="Sort the file by query.",
            )
        finished.add(query)
        system, qid = query
        if system not in systems:
            systems.add(system)
            yield System(system, "retriever", collection, lines[0].at)
        first: dict[str, Line] = {}
        for position, line in enumerate(lines):
            earlier = first.setdefault(line.image, line)
            if earlier is not line:
                raise DataError(
                    f"image {line.image!r} is ranked twice for query {qid!r}, also at {earlier.at}: "
                    f"scores {earlier.score:g} and {line.score:g}",
                    where=line.at,
                    remedy="Keep one of the two lines.",
                )
            if position and line.rank == lines[position - 1].rank:
                what = f"rank {line.rank} is there twice"
                raise DataError(what, where=line.at, remedy="Number the ranks again.")
            if position and line.score > lines[position - 1].score:
                source.note(line.at, "scores that rise with the rank (ranks decide, unlike in trec_eval)")
            prompt, image = PromptKey(suite, qid), ImageKey(collection, line.image)
            yield Answer(prompt, system, position, image, line.score, at=line.at)


def _lines(source: Source, file: str) -> Iterator[Line]:
    for at, line in source.lines(file):
        cells = line.split()
        if len(cells) != 6:
            raise DataError(
                f"{len(cells)} cells instead of 6",
                where=at,
                remedy="A line of a run is: qid Q0 docid rank score tag.",
            )
        try:
            rank, score = int(cells[3]), float(cells[4])
        except ValueError:
            rank, score = 0, float("nan")
        if score - score != 0:
            raise DataError(
                f"rank {cells[3]!r} and score {cells[4]!r} must be numbers",
                where=at,
                remedy="Correct the line.",
            )
        yield Line((cells[5], cells[0]), cells[2], rank, score, at)
