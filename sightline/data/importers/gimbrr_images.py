"""Images made for GIMBRR's prompts, matched by their names to prompts that the study holds."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.importers import _gimbrr
from sightline.data.sources import TABLES, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Answer, Record


def claims(source: Source) -> float:
    """Images called p<ID>_<n>, most of them, in a folder or its folders, and no table that would say more."""
    if source.is_file or any(file.lower().endswith((*TABLES, ".json")) for file in source.files()):
        return 0.0
    fits = [
        _gimbrr.parse_name(file) is not None
        for folder in ("", *source.folders()[:50])
        for file in source.pictures(folder)[:50]
    ]
    return 0.9 * (bool(fits) and 2 * sum(fits) > len(fits))


@importer(
    claims=claims,
    source="Achterberg et al. 2023, GIMBRR (IntelLabs/generative-ai)",
    licence="not stated",
    files={"made/Dalle/p1701_1_v0.0.5_pd230208.png": "red", "made/Dalle/p1701_2.png": "blue"},
    before={"prompts.csv": "suite,prompt_id,prompt\ngimbrr,1701,a dog\n"},
)
def gimbrr_images(
    source: Source, *, suite: str = "gimbrr", collection: str = "gimbrr", system: str = ""
) -> Iterator[Record]:
    """Images called p<ID>_<n>...png in one folder per system: sample n, from 1, of prompt ID of the study.

    Where the images are at the top, `system` names the system, by default as the folder is called. Files
    named otherwise are listed as left out.
    """
    answers = 0
    for record in _gimbrr.images(source, suite, collection, system or source.name, None):
        answers += isinstance(record, Answer)
        yield record
    if not answers:
        raise DataError(
            "no image is called p<ID>_<n>",
            where=str(source.path),
            remedy="Name them so, for example p1701_1.png for the first image of prompt 1701.",
        )
