"""Small studies for tests: records put in, rankings read back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from sightline.records import Record
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import Loaded, load


def put(study: Study, records: Iterable[Record], name: str = "test") -> Loaded:
    """Import records as one source of this name."""
    return load(study, records, importer="test", path=name, digest=name)


def study_of(folder: Path, records: Iterable[Record]) -> Study:
    """A new study of these records."""
    study = create_study(folder)
    put(study, records)
    return study


def rankings(study: Study, system: str) -> dict[str, list[tuple[str, float]]]:
    """The names and scores of the images that a retriever ranked, by the prompt's id in its suite."""
    names = dict(reading.images(study).select("image_id", "name").iter_rows())
    refs = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
    rows = reading.answers(study, "retriever").filter(pl.col("system") == system).drop_nulls("image_id")
    ranked: dict[str, list[tuple[str, float]]] = {}
    for prompt, image, score in rows.select("prompt_id", "image_id", "score").iter_rows():
        ranked.setdefault(refs[prompt], []).append((names[image], score))
    return ranked
