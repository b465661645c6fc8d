"""What the tests of importers share: running one, on published data or on its own example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import Record
from sightline.testing.importing import write_files


def records(importer: str, source: Source) -> list[Record]:
    return list(registry.configure("importer", importer).load()(source))


@pytest.fixture(scope="session")
def run() -> Callable[..., list[Any]]:
    """The records that an importer, given by its printed form, reads from a path; of some kinds, if named."""

    def read(importer: str, path: Path, *kinds: type, **columns: Any) -> list[Any]:
        return [
            record
            for record in records(importer, Source(path, columns=columns))
            if not kinds or isinstance(record, kinds)
        ]

    return read


@pytest.fixture(scope="session")
def left_out() -> Callable[..., dict[str, list[str]]]:
    """What an importer leaves out of a path, by reason."""

    def read(importer: str, path: Path) -> dict[str, list[str]]:
        source = Source(path)
        records(importer, source)
        return source.skipped

    return read


@pytest.fixture
def example(tmp_path: Path) -> Callable[..., Path]:
    """Write the example of an importer and give its path.

    Files that a test names, by their place in the example's folder, replace others or (None) are left out.
    """

    def write(importer: str, changed: Mapping[str, str | None] | None = None) -> Path:
        files: dict[str, str | None] = dict(registry.get("importer", importer).spec.details["files"])
        first = next(iter(files))
        top = f"{first.split('/')[0]}/" if "/" in first else ""
        files |= {f"{top}{name}": text for name, text in (changed or {}).items()}
        return write_files(
            tmp_path / "example", {name: text for name, text in files.items() if text is not None}
        )

    return write


@pytest.fixture
def refuses(example: Callable[..., Path], run: Callable[..., list[Any]]) -> Callable[..., None]:
    """Check that an importer refuses its example, changed in this way, and says where and what."""

    def check(importer: str, changed: Mapping[str, str | None], where: str, what: str) -> None:
        with pytest.raises(DataError, match=what) as caught:
            run(importer, example(importer.partition("(")[0], changed))
        assert caught.value.where == where and caught.value.remedy

    return check
