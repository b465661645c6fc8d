"""What is cached, and clearing it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image as Pillow
from studies import put

import sightline
from sightline.errors import UsageError
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey
from sightline.study import reading
from sightline.study.cache import Removed, cache
from sightline.study.study import Study, create_study
from sightline.study.writing.detections import keep_detections, known_detections


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        for n in range(2):
            path = tmp_path / f"{n}.png"
            Pillow.new("RGB", (20, 20), (n * 200, 0, 0)).save(path)
            prompt, image = PromptKey("suite", str(n)), ImageKey("one", str(n))
            records = [
                Prompt(prompt, f"prompt {n}"),
                Image(image, str(path)),
                Answer(prompt, "one", 0, image),
            ]
            put(made, records, str(n))
        yield made


def test_what_is_kept(study: Study) -> None:
    sightline.score(study, ["blank", "blank(tolerance=2)", "words"])
    sha = reading.images(study)["sha256"][0]
    small = len(study.files.thumbnail(sha))
    told = cache(study)
    assert [(kept.measure, kept.kind, kept.values, kept.without, kept.current) for kept in told.measures] == [
        ("blank(tolerance=8)", "of_image", 2, 0, True),
        ("blank(tolerance=2)", "of_image", 2, 0, True),
        ("words", "of_prompt", 2, 0, True),
    ]
    size = sum(len(study.files.read(each)) for each in reading.images(study)["sha256"])
    assert (told.files["images"].files, told.files["images"].bytes) == (2, size)
    assert (told.files["thumbnails"].files, told.files["thumbnails"].bytes) == (1, small)
    assert told.files["unused"].files == told.files["vectors"].files == 0


def test_a_measure_is_forgotten_and_can_be_computed_again(study: Study) -> None:
    sightline.score(study, ["blank", "blank(tolerance=2)", "words"])
    assert cache(study, clear="blank(tolerance=2)").removed == Removed(2, 0, 0)
    assert cache(study, clear="blank( tolerance=8 )").removed == Removed(2, 0, 0)
    assert sightline.score(study, "blank").runs[0].computed == 2
    assert sightline.score(study, "words").runs[0].computed == 0


def test_a_bare_name_stands_for_any_parameters(study: Study) -> None:
    sightline.score(study, ["blank", "blank(tolerance=2)", "words"])
    assert cache(study, clear="blank").removed == Removed(4, 0, 0)
    assert {kept.measure: kept.values for kept in cache(study).measures}["words"] == 2


def test_files_nothing_refers_to_are_removed(study: Study) -> None:
    shas = reading.images(study)["sha256"].to_list()
    for sha in shas:
        study.files.thumbnail(sha)
        study.files.thumbnail(sha, 256, "WEBP")
    left = study.files.put(b"an import that was killed left this")
    part = Path(study.files.root) / "images" / shas[0][:2] / ".part-abc"
    part.write_bytes(b"12345")
    for sha in shas:
        prepared = study.home / "prepared" / "1" / sha[:2] / sha
        prepared.parent.mkdir(parents=True, exist_ok=True)
        prepared.write_bytes(b"123456")
    sightline.undo(study, 1)
    assert cache(study).files["unused"].files == 3
    home = Path(study.files.root) / "thumbnails"
    small = os.path.getsize(home / "192" / shas[0][:2] / f"{shas[0]}.jpg")
    small += os.path.getsize(home / "256" / shas[0][:2] / f"{shas[0]}.webp")
    size = len(study.files.read(shas[0])) + len(study.files.read(left)) + 5 + 6 + small
    assert cache(study, prune=True).removed == Removed(0, 6, size)
    assert study.files.read(shas[1])
    assert cache(study).files["unused"].files == 0
    assert (cache(study).files["thumbnails"].files, cache(study).files["prepared"].files) == (2, 1)


def test_what_was_seen_in_an_image_stays_until_it_is_pruned(study: Study) -> None:
    """Like vectors: an import that is undone and repeated need not be looked at again."""
    shas = reading.images(study)["sha256"].to_list()
    keep_detections(study, "d" * 64, {sha: {"objects": []} for sha in shas})
    size = cache(study).files["detections"].bytes
    assert size >= 2 * len('{"objects":[]}')
    sightline.undo(study, 1)
    assert set(known_detections(study, "d" * 64, shas)) == set(shas)
    cache(study, prune=True)
    assert set(known_detections(study, "d" * 64, shas)) == {shas[1]}
    assert cache(study).files["detections"].bytes == size / 2


@pytest.mark.parametrize("measure", ["blnk", "sharpness", "precision@7", "blank(tolerance=3)"])
def test_what_is_not_kept_cannot_be_cleared(study: Study, measure: str) -> None:
    sightline.score(study, "blank")
    with pytest.raises(UsageError, match="no scores of"):
        cache(study, clear=measure)
    assert cache(study).measures[0].values == 2


def test_a_measure_that_is_gone_is_not_current(study: Study, plugins: Path) -> None:
    (plugins / "fleeting.py").write_text(
        "from sightline.extension import measure\n"
        "@measure.of_prompt(source='me', licence='MIT')\n"
        "def fleeting(prompts):\n"
        "    'Nothing.'\n"
        "    return [0.0 for _ in prompts]\n"
    )
    sightline.score(study, "fleeting")
    assert cache(study).measures[0].current
    (plugins / "fleeting.py").unlink()
    assert not cache(study).measures[0].current
    assert cache(study, clear="fleeting").removed == Removed(2, 0, 0)
