"""Studies with their images as datasets: what goes out comes back, byte for byte, and others can read it."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

import sightline
from sightline.data.exporters import huggingface, webdataset
from sightline.errors import DataError
from sightline.study import listing
from sightline.study.study import Study, create_study

Table = Callable[[Path, list[dict[str, Any]]], Path]


@pytest.fixture
def pictured(study: Study, table: Table, tmp_path: Path) -> Study:
    """Two systems, a failure, an image by name alone, a collection with captions, tags and settings."""
    folder = tmp_path / "in"
    (folder / "photos").mkdir(parents=True)
    for name, form in (("a", "PNG"), ("b", "JPEG"), ("c", "WEBP"), ("photos/d", "PNG")):
        Image.new("RGB", (8, 8), (len(name) * 20, ord(name[-1]), 40)).save(folder / f"{name}.bin", form)
    rows = [
        {"prompt": "a red ball", "system": "one", "image": "a.bin", "seed": 2**40, "tags.kind": "toy"},
        {"prompt": "a red ball", "system": "two", "image": "b.bin", "settings.steps": 30},
        {"prompt": "zwei Hündchen", "system": "one", "image": "c.bin", "image_tags.look": "odd"},
        {"prompt": "zwei Hündchen", "system": "two", "failure": "refused"},
    ]
    sightline.import_(study, table(folder / "answers.csv", rows))
    captions = [{"image": "photos/d.bin", "caption": text} for text in ("a photo", "another one")]
    sightline.import_(study, table(folder / "captions.csv", captions), options={"collection": "photos"})
    return study


def content(study: Study) -> dict[str, Any]:
    answers, settings = listing.named_answers(study)
    kept = answers.filter(answers["image"].is_not_null()).drop("failure")
    return {
        "images": sorted(listing.named_images(study).rows()),
        "answers": sorted(map(repr, kept.rows())),
        "settings": [each for each in settings if each],
        "tags": sorted(listing.named_tags(study).rows()),
        "image_tags": sorted(map(repr, listing.named_image_tags(study).rows())),
        "captions": sorted(listing.named_captions(study).rows()),
    }


@pytest.mark.parametrize("form", ["huggingface", "webdataset"])
def test_images_go_out_and_come_back_with_the_same_hashes(pictured: Study, tmp_path: Path, form: str) -> None:
    done = sightline.export(pictured, tmp_path / "out", form=form)
    assert any("1 answers failed" in note for note in done.notes)
    with create_study(tmp_path / "back") as back:
        told = sightline.import_(back, tmp_path / "out")
        assert told.layout == form
        assert content(back) == content(pictured)
    again = sightline.export(pictured, tmp_path / "again", form=form)
    assert [Path(file).read_bytes() for file in done.files] == [
        Path(file).read_bytes() for file in again.files
    ]


def test_shards_are_cut_by_size_and_have_the_same_columns(
    pictured: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (huggingface, webdataset):
        monkeypatch.setattr(module, "SHARD_BYTES", 1)
    sightline.export(pictured, tmp_path / "hf", form="huggingface")
    shards = sorted((tmp_path / "hf").glob("train-*.parquet"))
    assert len(shards) == 4 and len({str(pq.read_schema(file)) for file in shards}) == 1
    first = pq.read_table(shards[0]).to_pylist()[0]
    assert first["image"]["path"] == "a.bin.png" and first["tags.kind"] == "toy" and first["seed"] == 2**40
    assert Image.open(io.BytesIO(first["image"]["bytes"])).size == (8, 8)
    sightline.export(pictured, tmp_path / "wd", form="webdataset")
    with tarfile.open(tmp_path / "wd" / "000001.tar") as archive:
        assert archive.getnames() == ["000000001.webp", "000000001.txt", "000000001.json"]
        about = json.load(archive.extractfile("000000001.json"))  # type: ignore[arg-type]
    assert about["image_tags.look"] == "odd" and about["image_name"] == "c.bin"
    for folder in ("hf", "wd"):
        with create_study(tmp_path / f"back-{folder}") as back:
            sightline.import_(back, tmp_path / folder)
            assert content(back) == content(pictured)


def test_the_card_says_how_to_read_it(pictured: Study, table: Table, tmp_path: Path) -> None:
    import yaml

    scores = [{"prompt": "a red ball", "system": "one", "measure": "clipscore", "value": 0.3}]
    sightline.import_(pictured, table(tmp_path / "scores.csv", scores))
    sightline.export(pictured, tmp_path / "out", form="huggingface")
    _, head, text = (tmp_path / "out" / "README.md").read_text("utf-8").split("---\n", 2)
    about = yaml.safe_load(head)
    assert [each["config_name"] for each in about["configs"]] == ["default", "scores"]
    features = {each["name"]: each.get("dtype") for each in about["dataset_info"][0]["features"]}
    assert features["image"] == "image" and features["seed"] == "int64" and features["prompt"] == "string"
    assert list(features) == pq.read_schema(tmp_path / "out" / "train-00000.parquet").names
    assert "2 systems: one, two" in text
    # Its scores can be imported next to the images.
    with create_study(tmp_path / "back") as back:
        left = sightline.import_(back, tmp_path / "out").skipped
        tables = [list(each.examples) for each in left if "import each by itself" in each.reason]
        assert tables == [["scores.parquet"]]
        assert sightline.import_(back, tmp_path / "out" / "scores.parquet").counts == {"scores": 1}


def test_a_study_without_images_says_so(study: Study, table: Table, tmp_path: Path) -> None:
    sightline.import_(study, table(tmp_path / "prompts.csv", [{"prompt": "a dog"}]))
    for form in ("huggingface", "webdataset"):
        with pytest.raises(DataError, match="no images to export"):
            sightline.export(study, tmp_path / form, form=form)
        assert not list((tmp_path / form).glob("*")) if (tmp_path / form).exists() else True
