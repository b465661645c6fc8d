"""Images made ready for annotators, on both databases."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.errors import DataError
from sightline.judging.annotate import annotate
from sightline.judging.prepared import PreparedImages
from sightline.judging.store import pictures
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study import reading
from sightline.study.schema import database
from sightline.study.study import Study, read_settings
from sightline.study.writing.loading import Loaded

SIMPLE, COMPLEX = PromptKey("s", "1"), PromptKey("s", "2")


def saved(path: Path, shade: int, kind: str = "PNG") -> str:
    Pillow.new("RGB", (8, 8), (shade, 0, 0)).save(path, kind)
    return str(path)


@pytest.fixture
def opened(study: Study, put: Callable[..., Loaded], tmp_path: Path) -> Study:
    """One round over the answer to a prompt that builds on another."""
    keys = [ImageKey("c", name) for name in ("simple.png", "complex.jpg")]
    records: list[Record] = [
        Prompt(SIMPLE, "a dog"),
        Prompt(COMPLEX, "a dog and a cat", {"kind": "complex"}, [("builds_on", SIMPLE)]),
        Image(keys[0], saved(tmp_path / "simple.png", 10)),
        Image(keys[1], saved(tmp_path / "complex.jpg", 200, "JPEG")),
        Answer(SIMPLE, "sd", 0, keys[0]),
        Answer(COMPLEX, "sd", 0, keys[1]),
    ]
    put(study, records)
    settings = study.home / "study.toml"
    settings.write_text('[annotate.r]\nmode = "yes_no"\nper_item = 1\n', "utf-8")
    study.settings = read_settings(settings)
    return study


def test_what_a_round_shows_is_made_once_and_read_back(opened: Study) -> None:
    rounds = annotate(opened).rounds
    contents = dict(reading.images(opened).select("name", "sha256").iter_rows())
    with database.reading(opened.engine) as connection:
        assert pictures.shown_contents(connection, rounds[0].round.id) == sorted(contents.values())
        assert pictures.linked_contents(connection, rounds[0].round.id) == [contents["simple.png"]]
    images = PreparedImages(opened)
    missing = images.missing(rounds)
    assert sorted(missing) == sorted((sha256, False) for sha256 in contents.values())
    assert images.prepare(missing) == (2, [])
    assert images.missing(rounds) == []
    ids = dict(reading.images(opened).select("name", "image_id").iter_rows())
    assert images.get(ids["complex.jpg"])[1] == "image/jpeg"
    data, media = images.get(ids["complex.jpg"], alike=True)
    assert media == "image/png" and Pillow.open(io.BytesIO(data)).format == "PNG"


def test_an_image_that_cannot_be_shown_is_named(opened: Study) -> None:
    rounds = annotate(opened).rounds
    contents = dict(reading.images(opened).select("name", "sha256").iter_rows())
    broken = contents["simple.png"]
    (Path(opened.files.root) / "images" / broken[:2] / broken).write_bytes(b"not an image any more")
    images = PreparedImages(opened)
    done = images.prepare(images.missing(rounds))
    assert done.made == 1
    ((sha256, why),) = done.failed
    assert sha256 == broken and "is damaged" in why
    ids = dict(reading.images(opened).select("name", "image_id").iter_rows())
    with pytest.raises(DataError, match="is damaged"):
        images.get(ids["simple.png"])
