"""Pick-a-Pic, HPD, ImageRewardDB, RichHF-18K and Label Studio, in the layouts they are published in."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import sightline
from sightline.data.sources.archives import as_tfrecord
from sightline.errors import DataError
from sightline.study import listing
from sightline.study.study import Study

Fill = Callable[[Path, Mapping[str, bytes | str]], Path]


def jpeg(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(out, "JPEG")
    return out.getvalue()


def votes(study: Study, *columns: str) -> list[tuple[Any, ...]]:
    return list(listing.named_judgements(study).select(*columns).iter_rows())


def pick(first: str, second: str, labels: tuple[float, float], user: int, **more: Any) -> dict[str, Any]:
    colours = {"u1": "red", "u2": "blue", "u3": "tan"}
    return {
        "are_different": True, "best_image_uid": first if labels[0] > labels[1] else second,
        "caption": "a dog", "created_at": datetime(2023, 1, 2, 3, 4, 5), "has_label": True,
        "image_0_uid": first, "image_0_url": "", "image_1_uid": second, "image_1_url": "",
        "jpg_0": jpeg(colours[first]), "jpg_1": jpeg(colours[second]),
        "label_0": labels[0], "label_1": labels[1], "model_0": "SDXL", "model_1": "SD", "ranking_id": 1,
        "user_id": user, "num_example_per_prompt": 1, "__index_level_0__": 0, **more,
    }  # fmt: skip


def test_pickapic_as_published(study: Study, tmp_path: Path) -> None:
    rows = [
        pick("u1", "u2", (1, 0), 7),
        pick("u1", "u3", (0.5, 0.5), 8),
        pick("u1", "u2", (0, 1), 7),
        pick("u1", "u2", (0, 0), 9, has_label=False),
    ]
    file = tmp_path / "data" / "train-00000-of-00001.parquet"
    file.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), file)
    done = sightline.import_(study, tmp_path / "data")
    assert done.layout == "pickapic"
    # 0 is a vote for the first; user 7 was shown the pair again.
    assert votes(study, "image", "image_b", "annotator", "value", "repetition", "time") == [
        ("u1", "u2", "7", 0.0, 0, "2023-01-02T03:04:05"),
        ("u1", "u3", "8", 0.5, 0, "2023-01-02T03:04:05"),
        ("u1", "u2", "7", 1.0, 1, "2023-01-02T03:04:05"),
    ]
    answers = listing.named_answers(study)[0].select("system", "position", "image").iter_rows()
    assert sorted(answers) == [("SD", 0, "u2"), ("SD", 1, "u3"), ("SDXL", 0, "u1")]
    assert {each.reason: each.count for each in done.skipped} == {"pairs without a label": 1}
    assert listing.named_images(study)["sha256"].null_count() == 0
    rows[0]["label_1"] = 1.0
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "bad.parquet")
    with pytest.raises(DataError, match="the labels are 1 and 1") as error:
        sightline.import_(study, tmp_path / "bad.parquet")
    assert error.value.where == "bad.parquet:row 1"


def test_hpd_2_has_votes_and_orders(study: Study, fill: Fill, tmp_path: Path) -> None:
    train = [
        {"human_preference": [0, 1], "prompt": "a dog", "file_path": ["1.jpg", "2.jpg"], "user_hash": "ab"}
    ]
    test = [
        {
            "prompt": "a cat", "image_path": ["3.jpg", "4.jpg", "5.jpg"], "rank": [2, 1, 3],
            "raw_annotations": [
                {"rank": [1, 0, 2], "user_hash": "ab"}, {"rank": [2, 1, 3], "user_hash": "cd"},
            ],
        },
        {"prompt": "a cow", "image_path": ["6.jpg", "7.jpg"], "rank": [1, 2]},
    ]  # fmt: skip
    files = {"train.json": json.dumps(train), "test.json": json.dumps(test), "train/1.jpg": jpeg("red")}
    done = sightline.import_(study, fill(tmp_path / "HPD", files))
    assert done.layout == "hpd"
    # Ranks count from 0 in one annotation, from 1 in the other: 1 is the best.
    assert votes(study, "question", "annotator", "image", "image_b", "value") == [
        *(
            ("preference_order", "ab", image, None, v)
            for image, v in (("3.jpg", 2.0), ("4.jpg", 1), ("5.jpg", 3))
        ),
        *(
            ("preference_order", "cd", image, None, v)
            for image, v in (("3.jpg", 2.0), ("4.jpg", 1), ("5.jpg", 3))
        ),
        ("preference", "ab", "1.jpg", "2.jpg", 1.0),
    ]
    truths = listing.named_truths(study).select("question", "image", "value").iter_rows()
    assert list(truths) == [("preference_rank", "6.jpg", 1.0), ("preference_rank", "7.jpg", 2.0)]
    held = dict(listing.named_images(study).select("image", "sha256").iter_rows())
    assert held["1.jpg"] is not None and held["2.jpg"] is None


def test_hpd_3_has_counts_of_anonymous_votes(study: Study, tmp_path: Path) -> None:
    pair = {
        "prompt": "a dog", "choice_dist": [12, 7], "confidence": 0.99, "path1": "images/u1.jpg",
        "path2": "images/u2.jpg", "model1": "flux", "model2": "sdxl",
    }  # fmt: skip
    alone = {**pair, "choice_dist": None, "path2": "images/u3.jpg", "model2": "kolors"}
    (tmp_path / "train.json").write_text(json.dumps([pair, alone]))
    sightline.import_(study, tmp_path / "train.json")
    assert votes(study, "annotator", "value", "n", "image_b") == [
        (None, 0.0, 12, "images/u2.jpg"), (None, 1.0, 7, "images/u2.jpg"),
    ]  # fmt: skip
    # Nothing says how many preferred it: a published preference, not a vote.
    assert listing.named_truths(study).select("value", "image_b").rows() == [(0.0, "images/u3.jpg")]
    assert sorted(listing.named_answers(study)[0]["system"]) == ["flux", "kolors", "sdxl"]
    (tmp_path / "bad.json").write_text(json.dumps([pair, {**pair, "choice_dist": [1]}]))
    with pytest.raises(DataError, match="choice_dist must be 2 numbers") as error:
        sightline.import_(study, tmp_path / "bad.json")
    assert error.value.where == "bad.json:entry 2"


def test_imagerewarddb_metadata_is_truth(study: Study, tmp_path: Path) -> None:
    row = {
        "image_path": "images/train/train_1/a.webp", "prompt_id": "000864-0061", "prompt": "a holy woman",
        "classification": "People", "image_amount_in_total": 9, "rank": 5, "overall_rating": 4,
        "image_text_alignment_rating": 3, "fidelity_rating": 4,
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "metadata-train.parquet")
    assert sightline.import_(study, tmp_path / "metadata-train.parquet").layout == "imagerewarddb"
    truths = dict(listing.named_truths(study).select("question", "value").iter_rows())
    assert truths == {"overall": 4, "alignment": 3, "fidelity": 4, "preference_rank": 5}
    assert votes(study, "annotator") == []
    pq.write_table(pa.Table.from_pylist([{**row, "overall_rating": 9}]), tmp_path / "bad.parquet")
    with pytest.raises(DataError, match="overall_rating must be between 1 and 7"):
        sightline.import_(study, tmp_path / "bad.parquet")


def test_richhf_refers_to_images_of_pickapic(study: Study, tmp_path: Path) -> None:
    record = {
        "filename": "train/u1.png", "artifact_score": 0.25, "misalignment_score": 1.0,
        "aesthetics_score": 0.5,
        "overall_score": 0.75, "prompt_misalignment_label": "1 0 1 0", "artifact_map": b"\x89PNG",
    }  # fmt: skip
    whole = as_tfrecord(record) + as_tfrecord({**record, "filename": "train/u2.png"})
    (tmp_path / "train.tfrecord").write_bytes(whole)
    done = sightline.import_(study, tmp_path / "train.tfrecord")
    truths = listing.named_truths(study).filter(image="u1").select("question", "value").iter_rows()
    assert dict(truths) == {"plausibility": 0.25, "alignment": 1, "aesthetics": 0.5, "overall": 0.75}
    tags = listing.named_image_tags(study).filter(image="u1").select("tag", "value").iter_rows()
    assert dict(tags) == {"split": "train", "misaligned_words": "2"}
    assert done.skipped[0].count == 2
    for spoilt, said in (
        (whole[:-5], "ends in the middle"),
        (b"version https://git-lfs.github.com/spec/v1\n", "not a TFRecord file"),
        (whole[:12] + b"\xff" * (len(whole) // 2 - 12), "no tf.train.Example"),
        (as_tfrecord({**record, "overall_score": float("nan")}), "overall_score is nan"),
    ):
        (tmp_path / "bad.tfrecord").write_bytes(spoilt)
        with pytest.raises(DataError, match=said) as error:
            sightline.import_(study, tmp_path / "bad.tfrecord")
        assert error.value.where.startswith("bad.tfrecord:record ")


def task(number: int, results: list[dict[str, Any]], who: Any = 10, **data: str) -> dict[str, Any]:
    annotation = {
        "id": 5, "completed_by": who, "was_cancelled": False, "lead_time": 4.288, "result": results,
        "created_at": "2021-03-09T22:16:08.728353Z",
    }  # fmt: skip
    return {"id": number, "data": data, "annotations": [annotation], "predictions": []}


def result(name: str, kind: str, value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "image", "type": kind, "value": value}


def test_label_studio_json(study: Study, tmp_path: Path) -> None:
    upload = {"image": "/data/upload/3/8f1ab2c3-a.png", "prompt": "a dog", "system": "one"}
    pair = {"left": "/data/local-files/?d=x/a.png", "right": "https://host/b.png?", "prompt": "a dog"}
    tasks = [
        task(
            1,
            [result("quality", "rating", {"rating": 4}), result("safe", "choices", {"choices": ["Yes"]})],
            **upload,
        ),
        task(2, [result("better", "pairwise", {"selected": "right"})], {"email": "ann@x"}, **pair),
        task(3, [result("style", "choices", {"choices": ["Oil"]})], **upload),
        task(4, [result("style", "choices", {"choices": ["Photo"]})], 11, **upload),
        task(5, [result("box", "rectanglelabels", {"x": 1, "rectanglelabels": ["Dog"]})], **upload),
    ]
    (tmp_path / "project.json").write_text(json.dumps(tasks))
    done = sightline.import_(study, tmp_path / "project.json")
    assert done.layout == "label_studio"
    assert sorted(votes(study, "question", "annotator", "image", "image_b", "value")) == [
        ("better", "ann@x", "x/a.png", "b.png?", 1.0),
        ("quality", "10", "a.png", None, 4.0),
        ("safe", "10", "a.png", None, 1.0),
        ("style", "10", "a.png", None, 0.0),
        ("style", "11", "a.png", None, 1.0),
    ]
    assert votes(study, "took_ms")[0] == (4288,)
    assert [each.reason for each in done.skipped] == ["annotations of another kind (rectanglelabels)"]


def test_label_studio_json_min_and_csv_say_the_same(study: Study, tmp_path: Path) -> None:
    rows = [
        {"id": 1, "image": "a.png", "prompt": "a dog", "quality": 4, "annotator": 10, "annotation_id": 7,
         "created_at": "2021-03-09T22:16:08Z", "updated_at": "2021-03-09T22:16:08Z", "lead_time": 2.5},
        {"id": 2, "image": "b.png", "prompt": "a dog", "quality": 2, "annotator": 11, "annotation_id": 8,
         "created_at": "2021-03-09T22:16:08Z", "updated_at": "2021-03-09T22:16:08Z", "lead_time": 3},
    ]  # fmt: skip
    (tmp_path / "min.json").write_text(json.dumps(rows))
    names = list(rows[0])
    lines = [",".join(names), *(",".join(str(row[name]) for name in names) for row in rows)]
    (tmp_path / "flat.csv").write_text("\n".join(lines) + "\n")
    for file in ("min.json", "flat.csv"):
        done = sightline.import_(study, tmp_path / file)
        assert done.layout == "label_studio"
        assert votes(study, "question", "annotator", "image", "value", "took_ms") == [
            ("quality", "10", "a.png", 4.0, 2500), ("quality", "11", "b.png", 2.0, 3000),
        ]  # fmt: skip
        sightline.undo(study, done.number or 0)
