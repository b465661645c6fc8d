"""Comments, flags and regions: stored once, within limits, exported, imported again and undone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from sightline.data.export import export
from sightline.data.import_ import import_
from sightline.errors import ConflictError, DataError
from sightline.judging import assignment
from sightline.judging.annotate import annotate
from sightline.judging.overview import overview
from sightline.judging.store import tokens
from sightline.judging.store.remarks import SubmittedRemark, given_remarks, record_remarks
from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import Task
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study import listing
from sightline.study.schema import database
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load, undo

SETTINGS = """
[annotate.r]
mode = "preference"
per_item = 2
comment = true
flag = true
regions = true
"""
AT = "2026-01-01T00:00:00Z"
BOXES = [[0.0, 0.25, 0.5, 1.0], [0.1, 0.1, 0.2, 0.2]]
Begun = tuple[Round, int, list[Task]]


@pytest.fixture
def begun(study: Study, tmp_path: Path) -> Begun:
    """A round on both databases, with ann's first tasks."""
    (study.home / "study.toml").write_text(SETTINGS, "utf-8")
    from sightline.study.study import read_settings

    study.settings = read_settings(study.home / "study.toml")
    records: list[Record] = []
    for number in range(4):
        key = PromptKey("s", str(number))
        records.append(Prompt(key, f"=prompt {number}"))
        for system in ("a", "b"):
            file = tmp_path / f"{system}{number}.png"
            Pillow.new("RGB", (8, 8), (number, len(records), 9)).save(file)
            image = ImageKey("made", file.name)
            records += [Image(image, str(file)), Answer(key, system, 0, image)]
    load(study, records, importer="t", path="t", digest="t")
    (opened,) = annotate(study).rounds
    with database.writing(study.engine) as connection:
        ann = tokens.annotator(connection, "ann")
        assigned = assignment.assign(connection, opened.round, ann, "annotator", datetime.now(UTC))
    return opened.round, ann, list(assigned.tasks)


def note(study: Study, begun: Begun, *remarks: SubmittedRemark) -> list[tuple[str, str | None]]:
    round_, who, _ = begun
    with database.writing(study.engine) as connection:
        receipts = record_remarks(connection, round_, who, remarks, AT)
    return [(each.status, each.reason) for each in receipts]


def remark(begun: Begun, key: str, kind: str, task: int = 0, **more: Any) -> SubmittedRemark:
    return SubmittedRemark(key, begun[2][task].key, kind, **more)


def test_each_is_stored_once_and_the_latest_counts(study: Study, begun: Begun) -> None:
    first = remark(begun, "k1", "comment", text="  <script>alert(1)</script> ")
    regions = remark(begun, "k2", "regions", part=1, boxes=BOXES)
    assert note(study, begun, first, regions, first) == [("stored", None), ("stored", None), ("known", None)]
    assert note(study, begun, first) == [("known", None)]
    assert note(study, begun, remark(begun, "k3", "comment", text="better")) == [("stored", None)]
    with database.reading(study.engine) as connection:
        given = given_remarks(connection, begun[0], begun[2])
    slot = begun[2][0].slots[0]
    # The second image shown is the first of the item where A and B are swapped.
    assert [(each.kind, each.text, each.part, each.boxes) for each in given] == [
        ("regions", "", 0 if slot.swapped else 1, BOXES),
        ("comment", "better", 0, []),
    ]
    assert listing.named_remarks(study)["text"].to_list() == ["<script>alert(1)</script>", "", "better"]


def test_somebody_elses_task_does_not_exist(study: Study, begun: Begun) -> None:
    round_, _, tasks = begun
    with database.writing(study.engine) as connection:
        bob = tokens.annotator(connection, "bob")
        sent = SubmittedRemark("k", tasks[0].key, "flag", "mine")
        (receipt,) = record_remarks(connection, round_, bob, [sent], AT)
    assert (receipt.status, receipt.reason) == ("refused", "there is no such task")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"kind": "comment", "text": "x" * 1001}, "at most 1000 characters"),
        ({"kind": "comment", "text": "a\x00b"}, "at most 1000 characters"),
        ({"kind": "comment", "boxes": BOXES}, "only regions have boxes"),
        ({"kind": "applause"}, "not asked for"),
        ({"kind": "regions", "slot": 3, "boxes": BOXES}, "no such image"),
        ({"kind": "regions", "part": 2, "boxes": BOXES}, "no such image"),
        ({"kind": "regions", "boxes": [[0.5, 0, 0.5, 1]]}, "boxes within the image"),
        ({"kind": "regions", "boxes": [[0, 0, 1, 1.1]]}, "boxes within the image"),
        ({"kind": "regions", "boxes": [[float("nan"), 0, 1, 1]]}, "boxes within the image"),
        ({"kind": "regions", "boxes": [[0, 0, 1]]}, "boxes within the image"),
        ({"kind": "regions", "boxes": [[0, 0, 1, 1]] * 21}, "at most 20 boxes"),
    ],
)
def test_what_is_refused_is_not_stored(study: Study, begun: Begun, more: dict[str, Any], why: str) -> None:
    ((status, reason),) = note(study, begun, remark(begun, "k", **more))
    assert status == "refused" and why in str(reason)
    assert listing.named_remarks(study).is_empty()


def test_a_script_cannot_fill_the_study(study: Study, begun: Begun) -> None:
    many = [remark(begun, f"k{n}", "comment", text=str(n)) for n in range(100)]
    assert {status for status, _ in note(study, begun, *many)} == {"stored"}
    ((status, reason),) = note(study, begun, remark(begun, "one more", "comment", text="x"))
    assert (status, reason) == ("refused", "this was changed 100 times already")


def test_the_owner_sees_flags_first_and_nothing_withdrawn(study: Study, begun: Begun) -> None:
    note(
        study,
        begun,
        remark(begun, "k1", "comment", text="nice"),
        remark(begun, "k2", "regions", task=1, boxes=BOXES),
        remark(begun, "k3", "flag", task=2, text="cut off"),
        remark(begun, "k4", "flag", task=1, text="oops"),
        remark(begun, "k5", "flag", task=1),
    )
    shown = overview(study, "r")
    assert [(each.kind, each.annotator, each.task, each.images) for each in shown.remarks] == [
        ("flag", "ann", 3, 2),
        ("comment", "ann", 1, 2),
        ("regions", "ann", 2, 2),
    ]
    assert shown.remark_counts == {"comment": 1, "flag": 1, "regions": 1}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_exported_imported_again_and_undone(
    study: Study, begun: Begun, tmp_path: Path, form: str, dump: Callable[..., Any]
) -> None:
    note(
        study,
        begun,
        remark(begun, "k1", "comment", text='=HYPERLINK("http://x")'),
        remark(begun, "k2", "regions", part=1, boxes=BOXES),
        remark(begun, "k3", "flag", task=1, text="wrong"),
        remark(begun, "k4", "flag", task=1),
    )
    export(study, tmp_path / "out", form=form)
    if form == "csv":
        assert "'=HYPERLINK" in (tmp_path / "out" / "remarks.csv").read_text("utf-8")
    with create_study(tmp_path / "again") as again:
        loaded = import_(again, tmp_path / "out")
        assert loaded.counts["remarks"] == 4
        assert listing.named_remarks(again).equals(listing.named_remarks(study))
        undo(again, 1)
        assert dump(again)["remark"] == [] and dump(again)["task"] == []


def test_an_import_is_not_undone_under_new_remarks(study: Study, begun: Begun, tmp_path: Path) -> None:
    note(study, begun, remark(begun, "k1", "comment", text="first"))
    export(study, tmp_path / "out")
    with create_study(tmp_path / "again") as again:
        import_(again, tmp_path / "out")
        from sightline.judging.store.rounds import get_round

        round_ = get_round(again, "r")
        with database.writing(again.engine) as connection:
            ann = tokens.annotator(connection, "ann")
            key = database.fetch(connection, "SELECT key FROM task ORDER BY ordinal")[0][0]
            record_remarks(connection, round_, ann, [SubmittedRemark("k", key, "flag", "new")], AT)
        with pytest.raises(ConflictError, match="1 remarks were made"):
            undo(again, 1)


def test_a_region_outside_its_image_is_not_imported(study: Study, begun: Begun, tmp_path: Path) -> None:
    note(study, begun, remark(begun, "k1", "regions", boxes=[[0.25, 0.25, 0.5, 0.5]]))
    export(study, tmp_path / "out", form="jsonl")
    file = tmp_path / "out" / "remarks.jsonl"
    file.write_text(file.read_text("utf-8").replace("0.25, 0.25", "0.75, 0.25"), "utf-8")
    with create_study(tmp_path / "again") as again, pytest.raises(DataError, match="outside the image"):
        import_(again, tmp_path / "out")
