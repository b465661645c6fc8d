"""Handing out sheets: balanced, blind, and back through the import onto what was judged."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

import sightline
from sightline.errors import DataError, SightlineError, StudyError, UsageError
from sightline.judging.sheets import Sheets, deal
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Question, Record
from sightline.study import listing, reading
from sightline.study.schema.naming import content_name
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

PEOPLE = ["ann", "bea", "cid", "dan"]
TEXTS = {"0": "a ball", "1": "a dog, a cat", "2": "=cmd|' /C calc'!A0", "3": 'a sign "stop"', "4": "a ball"}


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        load(made, records(tmp_path), importer="test", path="test", digest="test")
        yield made


def records(tmp_path: Path) -> Iterator[Record]:
    """Two systems on five prompts; both black pictures of the sloppy one are the same bytes."""
    yield Question("match", "ordinal", 0, 2, 1, {"0": "no", "2": "yes"}, "Does it match?")
    for n, (ref, text) in enumerate(TEXTS.items()):
        prompt = PromptKey("drawn", ref)
        yield Prompt(prompt, text)
        for m, system in enumerate(("careful", "sloppy")):
            black = system == "sloppy" and ref in "01"
            path = tmp_path / f"{system}-{ref}.png"
            Pillow.new("RGB", (8, 8), (0, 0, 0) if black else (40 * n + 5, 100 * m + 9, 7)).save(path)
            image = ImageKey(system, f"{ref}.png")
            yield Image(image, str(path))
            yield Answer(prompt, system, 0, image)


def write(study: Study, folder: Path, **told: Any) -> Sheets:
    return sightline.sheets(study, folder / "out", **{"question": "match", "annotators": PEOPLE, **told})


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name / "sheet.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fill(folder: Path, name: str, values: dict[int, str]) -> Path:
    """The sheet as it comes back; what is not in `values` is skipped."""
    told = rows(folder, name)
    for n, row in enumerate(told):
        row["value" if n in values else "skipped"] = values.get(n, "too small")
    back = folder.parent / f"{name}-back.csv"
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(told[0]))
        writer.writeheader()
        writer.writerows(told)
    return back


def test_every_image_goes_to_as_many_as_asked(study: Study, tmp_path: Path) -> None:
    made = write(study, tmp_path)
    assert (made.images, made.seed) == (10, 0)
    # 10 images x 3 judgements over 4 people: 30 = 8 + 8 + 7 + 7.
    assert sorted(sheet.images for sheet in made.sheets) == [7, 7, 8, 8]
    judged = Counter((row["prompt"], row["image"]) for name in PEOPLE for row in rows(tmp_path / "out", name))
    assert len(judged) == 10 and set(judged.values()) == {3}


def test_the_order_is_random_and_comes_from_the_seed(study: Study, tmp_path: Path) -> None:
    told = {}
    for n, seed in enumerate((1, 1, 2)):
        write(study, tmp_path / str(n), annotators=["ann"], seed=seed)
        told[n] = [row["image"] for row in rows(tmp_path / str(n) / "out", "ann")]
    notes = [note for what, note in listing.events(study, "annotate") if what == "sheets"]
    assert [note["seed"] for note in notes] == [1, 1, 2]
    assert (notes[0]["annotators"], notes[0]["per_item"]) == (["ann"], 1)
    assert told[0] == told[1] != told[2]
    assert sorted(told[0]) == sorted(told[2]) != told[0]


def test_sheets_do_not_give_the_system_away(study: Study, tmp_path: Path) -> None:
    write(study, tmp_path)
    for path in (tmp_path / "out").rglob("*"):
        said = str(path.relative_to(tmp_path)) + (
            path.read_text("utf-8") if path.suffix in (".csv", ".txt") else ""
        )
        assert "careful" not in said and "sloppy" not in said


def test_the_named_file_is_the_image(study: Study, tmp_path: Path) -> None:
    write(study, tmp_path)
    for name in PEOPLE:
        told = rows(tmp_path / "out", name)
        files = [tmp_path / "out" / name / row["file"] for row in told]
        assert [path.name for path in files] == [f"{n:04d}.png" for n in range(1, len(told) + 1)]
        for row, path in zip(told, files, strict=True):
            assert row["image"].split(":")[1] == hashlib.sha256(path.read_bytes()).hexdigest()
        said = (tmp_path / "out" / name / "README.txt").read_text("utf-8")
        assert "Does it match?" in said and "from 0 to 2 in steps of 1" in said and "2: yes" in said


def test_filled_in_sheets_land_on_what_was_judged(study: Study, tmp_path: Path) -> None:
    made = write(study, tmp_path)
    # "a ball" stands twice and one prompt is a formula: their ids are needed, and ids belong to a suite.
    assert made.import_option == " --option suite=drawn"
    images = reading.images(study)
    called = {content_name(sha, home, name): key for key, home, name, sha in images[:, :4].iter_rows()}
    refs = {ref: key for key, _, ref, _ in reading.prompts(study).iter_rows()}
    texts = {text: key for key, _, _, text in reading.prompts(study).iter_rows()}
    expected = set()
    for name in PEOPLE:
        values = {n: str(n % 3) for n in range(len(rows(tmp_path / "out", name))) if n != 1}
        for n, row in enumerate(rows(tmp_path / "out", name)):
            if n in values:
                prompt = refs[row["prompt_id"]] if row["prompt_id"] else texts[row["prompt"]]
                expected.add((f"people/{name}", prompt, called[row["image"]], float(values[n])))
        sightline.import_(study, fill(tmp_path / "out", name, values), options={"suite": "drawn"})
    judged = listing.judgements(study).select("annotator", "prompt_id", "image_id", "value")
    assert set(judged.iter_rows()) == expected and judged.height == 26
    # Every vote is about an image that answered that very prompt, black twins included.
    answered = set(reading.answers(study).select("prompt_id", "image_id").iter_rows())
    assert set(judged.select("prompt_id", "image_id").iter_rows()) == answered
    assert images["sha256"].n_unique() == 9
    # Nobody judged a picture the study did not hold; 4 of the 30 were skipped.
    assert reading.images(study).equals(images)
    assert reading.counts(study)["judgement"] == 30


def test_unique_texts_need_no_suite(study: Study, tmp_path: Path) -> None:
    tree, image = Prompt(PromptKey("plain", "p"), "a tree"), ImageKey("x", "y")
    more = [tree, Image(image, str(tmp_path / "careful-0.png")), Answer(tree.key, "third", 0, image)]
    load(study, more, importer="test", path="plain", digest="plain")
    made = write(study, tmp_path, annotators=["ann"], suite="plain")
    assert made.import_option == ""
    sightline.import_(study, fill(tmp_path / "out", "ann", {0: "2"}))
    ((prompt, shown),) = listing.judgements(study).select("prompt_id", "image_id").iter_rows()
    assert reading.prompts(study).filter(prompt_id=prompt).row(0)[1:3] == ("plain", "p")
    # The bytes are those of careful's first picture, but this one was made out.
    assert reading.images(study).filter(image_id=shown).row(0)[1:3] == ("x", "y")


def test_a_row_left_empty_is_told_with_its_place(study: Study, tmp_path: Path) -> None:
    write(study, tmp_path, annotators=["ann"])
    with pytest.raises(SightlineError, match=r"sheet\.csv:2: value is empty"):
        sightline.import_(study, tmp_path / "out" / "ann" / "sheet.csv", options={"suite": "drawn"})
    assert reading.counts(study)["judgement"] == 0


def test_a_sheet_of_another_study_is_refused(study: Study, tmp_path: Path) -> None:
    write(study, tmp_path, annotators=["ann"])
    back = fill(tmp_path / "out", "ann", dict.fromkeys(range(10), "1"))
    with create_study(tmp_path / "other") as other:
        prompts = [Prompt(PromptKey("drawn", ref), text) for ref, text in TEXTS.items()]
        load(other, prompts, importer="test", path="test", digest="test")
        with pytest.raises(DataError, match="no images of this study are called sha256:"):
            sightline.import_(other, back, options={"suite": "drawn"})
        assert reading.counts(other)["image"] == 0


def test_a_hash_alone_names_an_image_where_only_one_has_it(study: Study, tmp_path: Path) -> None:
    images = reading.images(study)
    twins = images.filter(images["sha256"].is_duplicated())["sha256"][0]
    alone = images.filter(images["sha256"].is_unique()).row(0)
    sheet = tmp_path / "votes.csv"
    sheet.write_text(f"annotator,image,question,value\nann,sha256:{alone[3]},match,2\n")
    sightline.import_(study, sheet)
    assert listing.judgements(study)["image_id"].to_list() == [alone[0]]
    sheet.write_text(f"annotator,image,question,value\nann,sha256:{twins},match,2\n")
    with pytest.raises(DataError, match=r"votes\.csv:2: 2 images of this study"):
        sightline.import_(study, sheet)


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"question": "mtch"}, UsageError, "Put this into"),
        ({"annotators": []}, UsageError, "no annotators are named"),
        ({"annotators": ["ann", "Ann", "bea"]}, UsageError, "the same name"),
        ({"annotators": ["../ann", "bea", "cid"]}, UsageError, "cannot be called"),
        ({"annotators": ["ann", "bea"], "per_item": 3}, UsageError, "cannot come from 2"),
        ({"per_item": 0}, UsageError, "0 judgements"),
        ({"suite": "drwn"}, UsageError, "Did you mean drawn"),
        ({"folder": "there"}, StudyError, "something there already"),
    ],
)
def test_wrong_calls_are_told(
    study: Study, tmp_path: Path, told: dict[str, object], error: type[Exception], said: str
) -> None:
    (tmp_path / "there" / "out" / "something").mkdir(parents=True)
    with pytest.raises(error, match=said):
        write(study, tmp_path / str(told.pop("folder", "")), **told)
    assert not (tmp_path / "out").exists()


def test_a_lost_image_leaves_nothing_half_written(study: Study, tmp_path: Path) -> None:
    sha = reading.images(study)["sha256"][3]
    (Path(study.files.root) / "images" / sha[:2] / sha).unlink()
    with pytest.raises(DataError, match="is missing from the study"):
        write(study, tmp_path)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".sheets-*"))


@given(st.integers(0, 40), st.integers(1, 7), st.data(), st.integers(0, 9))
def test_dealing_is_fair(items: int, annotators: int, data: st.DataObject, seed: int) -> None:
    per_item = data.draw(st.integers(1, annotators))
    shares = deal(items, annotators, per_item, np.random.default_rng(seed))
    assert all(len(set(share)) == len(share) for share in shares)
    assert Counter(item for share in shares for item in share) == Counter(
        {item: per_item for item in range(items)}
    )
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
