"""Visual Genome's scene graphs, in one file or in parts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_
from sightline.errors import DataError
from sightline.records import Image, ImageKey, Prompt, PromptKey
from sightline.study.study import create_study
from sightline.study.writing.loading import load
from sightline.study.writing.scenes import scenes
from sightline.systems.pool import pool

Run = Callable[..., list[Any]]
Example = Callable[..., Path]

SCENE = {
    # x 20, y 10, w 50, h 90 of 200 x 100.
    "objects": [
        {"kind": "man", "box": [0.1, 0.1, 0.35, 1.0]},
        {"kind": "horse", "box": [0.0, 0.0, 1.0, 1.0], "attributes": ["brown"]},
    ],
    "relations": [{"subject": "man", "relation": "riding", "object": "horse"}],
}


def test_the_parts_of_an_image_come_together(example: Example, run: Run) -> None:
    (image,) = run("visual_genome", example("visual_genome"))
    assert (image.key, image.scene) == (ImageKey("visual_genome", "11"), SCENE)
    (by_coco,) = run("visual_genome(name='coco_id')", example("visual_genome"))
    assert by_coco.key.name == "7"


def test_one_file_of_scene_graphs_without_sizes(tmp_path: Path, run: Run) -> None:
    graph = {
        "image_id": 11,
        "objects": [
            {"object_id": 1, "names": ["Man"], "x": 20, "y": 10, "w": 50, "h": 90},
            {"object_id": 2, "names": ["horse"], "attributes": ["Brown"], "x": 0, "y": 0, "w": 200, "h": 100},
        ],
        "relationships": [{"predicate": "riding", "subject_id": 1, "object_id": 2}],
    }
    (tmp_path / "scene_graphs.json").write_text(json.dumps([graph]))
    (image,) = run("visual_genome", tmp_path)
    bare = [{key: value for key, value in each.items() if key != "box"} for each in SCENE["objects"]]
    assert image.scene == {**SCENE, "objects": bare}


def test_parts_in_another_order_and_images_with_some_of_them(tmp_path: Path, run: Run) -> None:
    objects = [{"image_id": n, "objects": [{"object_id": n, "names": [f"o{n}"]}]} for n in (1, 2, 3)]
    relations = [{"image_id": n, "relationships": []} for n in (3, 1)]
    (tmp_path / "objects.json").write_text(json.dumps(objects))
    (tmp_path / "relationships.json").write_text(json.dumps(relations))
    found = {image.key.name: image.scene["objects"] for image in run("visual_genome", tmp_path)}
    assert found == {f"{n}": [{"kind": f"o{n}"}] for n in (1, 2, 3)}


@pytest.mark.parametrize(
    ("file", "content", "where", "what"),
    [
        ("relationships.json", '[{"image_id": 11}, {"x": 1}]', r"relationships.json\[2\]", "no image_id"),
        ("relationships.json", '[{"image_id": 11}', r"relationships.json:1", "ends before its list does"),
        ("relationships.json", '{"image_id": 11}', r"relationships.json:1", "not a list of images"),
        ("relationships.json", '[{"image_id": 11}, {"image_id": 1', ".json:1", "JSON"),
        ("objects.json", '[{"image_id": 11, "objects": 3}]', r"objects.json\[1\]", "not a list of objects"),
        ("objects.json", '[{"image_id": 11, "objects": [{"object_id": 1}]}]', r".json\[1\]", "has no name"),
        ("objects.json", '[{"image_id": 11}, {"image_id": 11}]', r"objects.json\[2\]", "there twice"),
    ],
)
def test_damaged_files(example: Example, run: Run, file: str, content: str, where: str, what: str) -> None:
    folder = example("visual_genome")
    (folder / file).write_text(content)
    with pytest.raises(DataError, match=what) as caught:
        run("visual_genome", folder)
    assert re.search(where, caught.value.where)


def test_only_images_with_sound_relations_are_pooled(example: Example, tmp_path: Path) -> None:
    """With the installed parser, from the import of the graphs to the pool (ConQA's first step)."""
    pytest.importorskip("spacy")
    captions = {"11": "a man riding a horse", "12": "a man on a horse"}
    images = [Image(ImageKey("photos", name), captions=[text]) for name, text in captions.items()]
    with create_study(tmp_path / "study") as study:
        query = Prompt(PromptKey("q", "1"), "a man riding a horse")
        load(study, [query, *images], importer="t", path="t", digest="t")
        import_(study, example("visual_genome"), options={"collection": "photos"})
        assert set(scenes(study)) == {ImageKey("photos", "11")}
        done = pool(
            study, by="captions", collection="photos", encoder="hashed_words", above=0.1, relations=True
        )
        assert (done.pairs, "relations (1," in done.how) == (1, True)
