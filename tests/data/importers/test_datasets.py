"""Data where users have it: Parquet with images, folders with metadata, WebDataset; whole and spoilt."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import sightline
from sightline.errors import DataError
from sightline.study import listing
from sightline.study.study import Study

Fill = Callable[[Path, Mapping[str, bytes | str]], Path]
PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(colour: str, size: int = 4) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(out, "PNG")
    return out.getvalue()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parquet(file: Path, rows: list[dict[str, Any]]) -> Path:
    """A Parquet file as the datasets package writes it: images as bytes and path, features in the schema."""
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = {name: [row.get(name) for row in rows] for name in rows[0] if name != "image"}
    arrays = {"image": pa.array([row["image"] for row in rows], PICTURE), **texts}
    table = pa.table(arrays)
    about = {"info": {"features": {"image": {"_type": "Image"}}}}
    table = table.replace_schema_metadata({"huggingface": json.dumps(about)})
    pq.write_table(table, file, row_group_size=2)
    return file


def row(colour: str, text: str, **more: Any) -> dict[str, Any]:
    return {"image": {"bytes": png(colour), "path": f"{colour}.png"}, "text": text, **more}


def shard(file: Path, files: Mapping[str, bytes | str]) -> Path:
    with tarfile.open(file, "w") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return file


def hashes(study: Study) -> dict[str, str]:
    return dict(listing.named_images(study).select("image", "sha256").iter_rows())


def answers(study: Study) -> list[tuple[Any, ...]]:
    frame = listing.named_answers(study)[0].select("prompt", "system", "position", "image")
    return sorted(frame.iter_rows())


def test_parquet_with_image_bytes(study: Study, tmp_path: Path) -> None:
    rows = [
        row("red", "a ball", model="one", seed=1, clip_score=0.3, label=0),
        row("blue", "a ball", model="two", seed=2, clip_score=0.2, label=1),
        row("tan", "a dog", model="one", seed=3, clip_score=0.1, label=1),
    ]
    # The third image has the name of the first.
    rows[2]["image"]["path"] = "red.png"
    parquet(tmp_path / "set/data/train-00000-of-00001.parquet", rows)
    done = sightline.import_(study, tmp_path / "set")
    assert done.layout == "huggingface" and done.counts["answers"] == 3
    again = "data/train-00000-of-00001.parquet/row 3/red.png"
    assert answers(study) == [
        ("a ball", "one", 0, "red.png"),
        ("a ball", "two", 0, "blue.png"),
        ("a dog", "one", 0, again),
    ]
    assert hashes(study) == {"red.png": sha(png("red")), "blue.png": sha(png("blue")), again: sha(png("tan"))}
    assert {each.reason.partition(" (")[0]: list(each.examples) for each in done.skipped} == {
        "columns that look like scores": ["clip_score"],
        "columns not taken": ["label"],
    }
    # The same file has the scores: they are of the answers that it brought.
    file = tmp_path / "set/data/train-00000-of-00001.parquet"
    scored = sightline.import_(study, file, format="scores", columns={"prompt": "text", "system": "model"})
    assert scored.counts == {"scores": 3}
    sightline.undo(study, scored.number or 0)
    sightline.undo(study, done.number or 0)
    assert hashes(study) == {}


def test_images_without_a_system_are_a_captioned_collection(study: Study, tmp_path: Path) -> None:
    file = parquet(tmp_path / "test.parquet", [row("red", "a ball"), row("blue", "a dog")])
    done = sightline.import_(study, file)
    assert not answers(study) and listing.named_captions(study)["caption"].to_list() == ["a ball", "a dog"]
    assert any("--option system=NAME" in each.reason and each.noted for each in done.skipped)
    sightline.undo(study, done.number or 0)
    sightline.import_(study, file, options={"system": "mine"})
    assert [each[1] for each in answers(study)] == ["mine", "mine"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_image_folder_with_metadata(study: Study, fill: Fill, tmp_path: Path, form: str) -> None:
    rows = [("0.png", "a ball", "one"), ("sub/1.png", "a dog", "one"), ("gone.png", "a cat", "one")]
    tables = {
        "csv": "file_name,prompt,model\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows),
        "jsonl": "".join(json.dumps({"file_name": a, "prompt": b, "model": c}) + "\n" for a, b, c in rows),
    }
    files = {f"train/metadata.{form}": tables[form], "train/0.png": png("red"), "train/sub/1.png": png("tan")}
    done = sightline.import_(study, fill(tmp_path / "set", files))
    assert done.layout == "huggingface"
    assert answers(study) == [("a ball", "one", 0, "train/0.png"), ("a dog", "one", 0, "train/sub/1.png")]
    (left,) = done.skipped
    assert left.examples == [f"train/metadata.{form}:{4 if form == 'csv' else 3} (gone.png)"]


def test_rows_without_bytes_are_named_and_the_rest_goes_on(study: Study, tmp_path: Path) -> None:
    rows = [
        row("red", "a ball", model="one"),
        row("blue", "a dog", model="one"),
        row("tan", "x", model="one"),
    ]
    rows[1]["image"]["bytes"] = None
    rows[2]["image"] = None
    done = sightline.import_(study, parquet(tmp_path / "a.parquet", rows))
    assert len(answers(study)) == 1
    (left,) = done.skipped
    assert left.count == 2 and list(left.examples) == ["a.parquet:row 2", "a.parquet:row 3"]
    # A file that it may not name is not looked for.
    rows[1]["image"] = {"bytes": None, "path": "../../etc/passwd"}
    with pytest.raises(DataError, match="leaves the folder") as error:
        sightline.import_(study, parquet(tmp_path / "b.parquet", rows))
    assert error.value.where == "b.parquet:row 2"


def test_a_broken_image_is_named_or_kept_as_broken(study: Study, tmp_path: Path) -> None:
    rows = [row("red", "a ball", model="one"), row("blue", "a dog", model="one")]
    rows[1]["image"]["bytes"] = b"\x89PNG\r\n\x1a\nnot an image"
    file = parquet(tmp_path / "a.parquet", rows)
    with pytest.raises(DataError, match=r"blue.png: not a readable image") as error:
        sightline.import_(study, file)
    assert error.value.where == "a.parquet:row 2" and hashes(study) == {}
    sightline.import_(study, file, keep_broken=True)
    assert len(hashes(study)) == 2


def test_many_images_in_one_file_are_read_slice_by_slice(study: Study, tmp_path: Path) -> None:
    noise = [Image.effect_noise((256, 256), 90 + n) for n in range(3)]
    large = []
    for each in noise:
        out = io.BytesIO()
        each.save(out, "BMP")
        large.append(out.getvalue() + b"\0" * 16_000_000)
    rows = [
        {"image": {"bytes": data, "path": f"{n}.bmp"}, "text": "x", "model": "one"}
        for n, data in enumerate(large)
    ]
    sightline.import_(study, parquet(tmp_path / "a.parquet", rows))
    assert list(hashes(study).values()) == [sha(data) for data in large]


def test_webdataset_shards(study: Study, fill: Fill, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    about = {"model": "one", "seed": 5, "tags": {"kind": "toy"}, "clip_score": 0.2, "url": "x"}
    first = {"000.png": png("red"), "000.txt": "a ball", "000.json": json.dumps(about)}
    shard(folder / "0.tar", {**first, "001.txt": "a caption of nothing", "001.json": "{}"})
    shard(folder / "1.tar", {"a/002.jpg": png("tan"), "a/002.json": json.dumps({**about, "prompt": "a dog"})})
    done = sightline.import_(study, folder)
    assert done.layout == "webdataset"
    assert answers(study) == [("a ball", "one", 0, "000.png"), ("a dog", "one", 0, "a/002.jpg")]
    assert listing.named_tags(study)["value"].to_list() == ["toy", "toy"]
    assert {each.reason: list(each.examples) for each in done.skipped} == {
        "fields that look like scores": ["clip_score", "clip_score"],
        "fields not taken": ["url", "url"],
        "samples without an image": ["0.tar: 001"],
    }


def _link(name: str, to: str) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        with tarfile.open(file, "w") as archive:
            about = tarfile.TarInfo(name)
            about.type, about.linkname = tarfile.SYMTYPE, to
            archive.addfile(about)

    return make


def _cut(at: int) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        shard(file, {"0.png": png("red"), "0.json": '{"prompt": "a", "model": "m"}', "1.png": png("tan", 64)})
        file.write_bytes(file.read_bytes()[:at])

    return make


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_cut(512 * 4 + 600), "damaged or cut short after '0.json'"),
        (_cut(512 * 4), "cut short after '0.json'"),
        (lambda file: shard(file, {"../../evil.png": png("red")}), "leads out of the archive"),
        (lambda file: shard(file, {"/etc/evil.png": png("red")}), "leads out of the archive"),
        (lambda file: shard(file, {"a\\..\\..\\evil.png": png("red")}), "leads out of the archive"),
        (_link("0.png", "/etc/passwd"), "is a link or a device"),
        (lambda file: shard(file, {"0.png": png("red"), "0.json": "{"}), "not JSON"),
        (
            lambda file: shard(file, {"0.png": png("red"), "0.json": '{"seed": NaN}'}),
            "NaN is not a JSON number",
        ),
        (lambda file: shard(file, {"0.png": png("red"), "0.txt": b"\xff\xfe"}), "not UTF-8"),
    ],
    ids=["cut in a file", "cut between", "parent", "root", "windows", "link", "json", "nan", "utf-8"],
)
def test_a_hostile_or_damaged_shard_is_refused(
    study: Study, tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "x.tar")
    with pytest.raises(DataError, match=said) as error:
        sightline.import_(study, tmp_path / "x.tar", format="webdataset")
    assert error.value.where.startswith("x.tar") and error.value.remedy
    assert hashes(study) == {}
