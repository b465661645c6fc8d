"""What detectors see in a study's images, put together for verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sightline import records, registry
from sightline.demands import YES, Scene, read_expects
from sightline.errors import UsageError
from sightline.extension import Configured, Detector, Picture, detector
from sightline.records import ImageKey, NoValue
from sightline.skills.deciding import chosen, decide, decided, in_study
from sightline.skills.looking import configured, look, vocabulary_of
from sightline.study.init import init
from sightline.study.study import Study, open_study
from sightline.study.writing.loading import load
from sightline.testing.inputs import encoded

ASKED: list[tuple[tuple[str, ...], int]] = []


class Finds:
    def __init__(self, phrases: tuple[str, ...]) -> None:
        self._phrases = phrases

    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        ASKED.append((self._phrases, len(images)))
        return [
            {"objects": [{"kind": each, "box": [0, 0, 1.5, 1], "confidence": 0.3} for each in self._phrases]}
            for _ in images
        ]


@detector(phrases="phrases", sure=0.25, source="test", licence="MIT")
def finds(*, phrases: tuple[str, ...] = ()) -> Detector:
    """Finds whatever it is asked for."""
    return Finds(phrases)


FINDS = Configured(finds, {"phrases": ()})


@pytest.fixture
def study(tmp_path: Path) -> Study:
    ASKED.clear()
    init(tmp_path / "s")
    return open_study(tmp_path / "s")


def stored(study: Study, *colours: int) -> list[str]:
    return [study.files.put(encoded(Image.new("RGB", (8, 4), (red, 0, 0))).data) for red in colours]


def test_an_open_vocabulary_detector_is_asked_for_what_each_prompt_names(study: Study) -> None:
    one, two = stored(study, 10, 20)
    dog, cat = (read_expects({"objects": [{"kind": kind}], "complete": True}) for kind in ("dog", "cat"))
    nothing = read_expects({"text": "OPEN"})
    looked = look(study, [(one, dog), (two, dog), (one, cat), (one, nothing)], [FINDS])
    assert sorted(ASKED) == [(("cat",), 1), (("dog",), 2)]
    first, _, third, last = looked.scenes
    assert isinstance(first, Scene) and first.vocabulary == ("dog",) and first.sure == 0.25
    assert isinstance(third, Scene) and third.things and third.things[0].kind == "cat"
    assert isinstance(last, Scene) and last.things is None, "nobody was asked for anything"
    assert (looked.clipped, looked.dropped) == (3, 0)
    assert decide(dog, first).verdict == YES
    look(study, [(one, dog), (two, dog)], [FINDS])
    assert len(ASKED) == 2, "what was seen is stored for these phrases"


def test_known_scenes_with_the_kinds_that_were_labelled(study: Study, tmp_path: Path) -> None:
    labelled, drawn, unknown = stored(study, 10, 20, 30)
    scenes: dict[str, dict[str, Any] | None] = {
        labelled: {"objects": [{"kind": "dog", "box": [0, 0, 0.5, 1]}]},
        drawn: {"objects": [{"kind": "star", "box": [0, 0, 0.5, 1]}], "complete": True},
        unknown: None,
    }
    rows = []
    for content, scene in scenes.items():
        path = tmp_path / f"{content}.png"
        path.write_bytes(study.files.read(content))
        rows.append(records.Image(ImageKey("c", path.name), str(path), scene=scene))
    load(study, rows, importer="test", path="test", digest="1")
    expects = read_expects({"absent": ["lamp"], "complete": True})
    looked = look(study, [(each, expects) for each in scenes], ["known_scene"], pictures=True)
    first, second, third = looked.scenes
    assert isinstance(first, Scene) and first.vocabulary == ("dog", "star") and first.lines is None
    assert first.picture is not None and first.picture.sha256 == labelled
    assert isinstance(second, Scene) and second.vocabulary is None and second.lines == ()
    assert third == NoValue("what is in it is not known")
    assert [decide(expects, each).verdict for each in (first, second)] == ["cannot tell", "yes"]
    parts = decided(expects, second, in_study(chosen(), study))
    assert [each.verdict for _, each in parts] == ["yes"]


def test_one_detector_for_objects_and_one_for_text(study: Study) -> None:
    (one,) = stored(study, 10)
    asked = read_expects({"objects": [{"kind": "dog"}]})
    with pytest.raises(UsageError, match="both see objects"):
        configured(["ssd_mobilenet_v2", "known_scene"])
    with pytest.raises(UsageError, match="no detector"):
        look(study, [(one, asked)], [])
    ((scene),) = look(study, [("0" * 64, asked)], [FINDS]).scenes
    assert isinstance(scene, NoValue) and "missing" in scene.reason
    assert vocabulary_of(registry.configure("detector", "nothing")) == ()
