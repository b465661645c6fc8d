"""Studies of given records, and what is written in a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sightline.records import Record
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import render
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[[Sequence[Record]], Study]:
    """Makes a study that holds these records."""

    def make(records: Sequence[Record]) -> Study:
        study = create_study(tmp_path / "study")
        load(study, records, importer="test", path="test", digest="1")
        return study

    return make


@pytest.fixture
def texts() -> Callable[[Figure], list[str]]:
    """All that is written in each drawing of a figure, the wide one first."""

    def read(figure: Figure) -> list[str]:
        roots = [ElementTree.fromstring(render(spec)) for spec in (figure.wide, figure.narrow) if spec]
        assert all(root.get("aria-label") for root in roots)
        return [" ".join(root.itertext()) for root in roots]

    return read
