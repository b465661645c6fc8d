"""What is known to be in images, imported as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture

from sightline.data.import_ import import_
from sightline.errors import DataError
from sightline.records import ImageKey
from sightline.study.study import Study
from sightline.study.writing.scenes import known_kinds, scenes


def table(folder: Path, *rows: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for n in range(len(rows)):
        (folder / f"{n}.png").write_bytes(picture(np.full((4, 4, 3), 40 * n, np.uint8)).data)
    path = folder / "scenes.jsonl"
    path.write_text(
        "".join(json.dumps({"image": f"{n}.png", "scene": row}) + "\n" for n, row in enumerate(rows))
    )
    return path


def test_boxes_beyond_the_image_are_listed_and_the_rest_comes_in(study: Study, tmp_path: Path) -> None:
    whole = {
        "objects": [{"kind": "dog", "box": [0, 0, 0.5, 1]}],
        "text": [{"text": "OPEN"}],
        "complete": True,
    }
    across = {"objects": [{"kind": "cat", "box": [-0.5, 0, 0.5, 1]}, {"kind": "cat", "box": [2, 0, 3, 1]}]}
    made = import_(study, table(tmp_path / "in", whole, across))
    assert made.layout == "scenes" and made.counts["scenes"] == 2
    assert scenes(study) == {
        ImageKey("images", "0.png"): whole,
        ImageKey("images", "1.png"): {"objects": [{"kind": "cat", "box": [0, 0, 0.5, 1]}]},
    }
    assert known_kinds(study) == ("cat", "dog")
    listed = " ".join(str(each) for each in made.skipped)
    assert "they were clipped" in listed and "these boxes were dropped" in listed


@pytest.mark.parametrize(
    ("scene", "what"),
    [
        ("dog", "scene"),
        ([1], "scene must be a JSON object"),
        ({"objects": [{"box": [0, 0, 1, 1]}]}, "kind is None"),
    ],
)
def test_what_is_no_scene_is_refused_with_its_line(
    study: Study, tmp_path: Path, scene: Any, what: str
) -> None:
    with pytest.raises(DataError, match=what) as caught:
        import_(study, table(tmp_path / "in", scene))
    assert "scenes.jsonl:1" in caught.value.where
    assert scenes(study) == {}
