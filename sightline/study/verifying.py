"""Whether the files of a study are whole: images against their hashes, vectors against theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from sightline.rendering.tables import Column, Table
from sightline.study.files import image_place
from sightline.study.roots import in_parallel
from sightline.study.running.progress import Listener, Meter
from sightline.study.schema import database
from sightline.study.shards import Shard
from sightline.study.study import Study
from sightline.study.vectors import shard_place

EXAMPLES = 3
REPAIR = "Repair it: sightline doctor STUDY --repair"
IMPORT = "Import these images again: sightline import STUDY PATH"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: how many things of one kind, the first of them, and what to do."""

    what: str
    n: int
    remedy: str
    examples: Sequence[str] = ()
    repaired: bool = False


def findings_table(findings: Sequence[Finding]) -> Table:
    """One row per finding."""
    columns = [*map(Column, ("what", "n", "examples", "state", "remedy"))]
    rows = [
        (
            each.what,
            each.n,
            ", ".join(each.examples) + (", ..." if each.examples and each.n > len(each.examples) else ""),
            "repaired" if each.repaired else "wrong",
            "" if each.repaired else each.remedy,
        )
        for each in findings
    ]
    return Table(columns, rows, "What was found")


def wrong_images(study: Study, contents: Sequence[str], listener: Listener | None) -> dict[str, str]:
    """The images whose file is missing or damaged, by content, and which of the two."""
    meter = Meter("image files", len(contents), listener)
    wrong: dict[str, str] = {}
    looked_at = in_parallel(lambda each: what_is_wrong(study, each), contents)
    for sha256, said in zip(contents, looked_at, strict=True):
        meter.add(computed=1)
        if said:
            wrong[sha256] = said
    meter.finish()
    return wrong


def what_is_wrong(study: Study, sha256: str) -> str:
    """Whether the file of an image is missing or damaged; empty where it is neither."""
    folder = study.files.folder
    if folder is None:
        # From the store itself, whatever is in the local copies.
        data = study.files.below.read(image_place(sha256))
        if data is None:
            return "missing"
        return "" if hashlib.sha256(data).hexdigest() == sha256 else "damaged"
    try:
        with (folder / image_place(sha256)).open("rb") as file:
            return "" if hashlib.file_digest(file, "sha256").hexdigest() == sha256 else "damaged"
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "damaged"


def image_findings(connection: Connection, wrong: dict[str, str]) -> Iterator[Finding]:
    """What is wrong with images, by their names."""
    named = _names(connection, list(wrong))
    for said in ("missing", "damaged"):
        names = [name for sha256, name in named if wrong[sha256] == said]
        if names:
            yield Finding(f"images whose file is {said}", len(names), IMPORT, names[:EXAMPLES])


def _names(connection: Connection, contents: Sequence[str]) -> list[tuple[str, str]]:
    database.matching(connection, [("sha256", "TEXT")], [(each,) for each in contents])
    rows = database.fetch(
        connection,
        "SELECT i.sha256, c.name, i.name FROM wanted w JOIN image i ON i.sha256 = w.sha256 "
        "JOIN collection c ON c.id = i.collection_id ORDER BY i.id",
    )
    return [(sha256, f"{collection}/{name}") for sha256, collection, name in rows]


def wrong_vectors(study: Study, listener: Listener | None) -> dict[str, list[Shard]]:
    """The damaged files of vectors by encoder: wrong length, or other numbers than were written."""
    shards = [(each, shard) for each in study.vectors.encoders() for shard in study.vectors.shards(each)]
    meter = Meter("vector files", len(shards), listener)
    wrong: dict[str, list[Shard]] = {}
    for encoder, shard in shards:
        if not study.vectors.is_whole(encoder, shard):
            wrong.setdefault(encoder, []).append(shard)
        meter.add(computed=1)
    meter.finish()
    return wrong


def vector_findings(study: Study, repair: bool, listener: Listener | None) -> Iterator[Finding]:
    """What is wrong with files of vectors; with `repair` lost vectors are dropped, to be computed again."""
    wrong = wrong_vectors(study, listener)
    if repair:
        for encoder, shards in wrong.items():
            study.vectors.discard(encoder, shards)
    files = [shard_place(encoder, shard) for encoder, shards in wrong.items() for shard in shards]
    if files:
        yield Finding("files of vectors that are damaged", len(files), REPAIR, files[:EXAMPLES], repair)
    lost = study.vectors.lost()
    if lost and repair:
        study.vectors.forget_lost()
    n = sum(lost.values())
    if n and not (repair and files):
        names = [each[:12] for each in list(lost)[:EXAMPLES]]
        yield Finding("vectors whose file is missing or damaged", n, REPAIR, names, repair)
