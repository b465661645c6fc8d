"""Scores are of contents: what the study no longer holds has none, whoever changed it and when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.measures.score import score
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.registry import find_measure
from sightline.study import listing, reading, scores
from sightline.study.contents import hashed, image_inputs
from sightline.study.schema import database, tables
from sightline.study.study import Study, open_study
from sightline.study.writing.loading import Loaded, load, undo

Put = Callable[..., Loaded]
Png = Callable[..., bytes]

# Lets a test change the study while the first batch of images is measured.
MEDDLES = """
from sightline.extension import measure

MEDDLE = []

@measure.of_image(direction="none", range=(0, 1), source="ours", licence="MIT")
def {name}(images):
    'Mean red.'
    found = [float((image.rgb[..., 0] / 255).mean()) for image in images]
    while MEDDLE:
        MEDDLE.pop()()
    return found
"""


def answers(folder: Path, png: Png, colours: list[str]) -> list[Record]:
    """One answer of `sys` to each of some prompts, each a picture of one colour."""
    folder.mkdir(exist_ok=True)
    records: list[Record] = []
    for n, colour in enumerate(colours):
        (folder / f"{n}.png").write_bytes(png(colour))
        key, image = PromptKey("s", str(n)), ImageKey("c", f"{n}.png")
        records += [Prompt(key, f"text {n}"), Image(image, str(folder / f"{n}.png"))]
        records.append(Answer(key, "sys", 0, image))
    return records


@pytest.fixture
def first(study: Study, put: Put, tmp_path: Path, png: Png) -> Loaded:
    return put(study, answers(tmp_path / "a", png, ["black", "#330000", "#660000", "#990000"]), "first")


def stored(study: Study) -> int:
    return reading.counts(study)["score"]


def test_keys_are_never_given_out_twice(study: Study, put: Put, dump: Callable[[Study], Any]) -> None:
    records = [
        Prompt(PromptKey("s", "1"), "a"),
        Answer(PromptKey("s", "1"), "sys", 0, ImageKey("c", "x"), settings={"steps": 1}),
    ]
    before: dict[str, set[int]] = {}
    for n in range(3):
        done = put(study, records, str(n))
        for name, rows in dump(study).items():
            if "id" in tables.metadata.tables[name].columns:
                ids = {row[0] for row in rows}
                assert not ids & before.get(name, set()), name
                before.setdefault(name, set()).update(ids)
        undo(study, done.source_id)
    assert {name: len(ids) for name, ids in before.items() if ids} == dict.fromkeys(
        ("collection", "image", "prompt", "settings", "source", "system"), 3
    )


@pytest.mark.parametrize("kind", ["of_prompt", "of_image", "of_answer", "of_set"])
def test_what_was_removed_meanwhile_gets_no_score(
    study: Study, first: Loaded, put: Put, tmp_path: Path, png: Png, kind: str
) -> None:
    name = {"of_prompt": "words", "of_image": "brightness", "of_answer": "colour_match"}.get(
        kind, "pairwise_mean(distance=ssim)"
    )
    measure = scores.register(study, find_measure(name))
    (page,) = scores.pages(study, kind)
    undo(study, first.source_id)
    put(study, answers(tmp_path / "b", png, ["white"] * 4), "second")
    dropped = scores.write(study, measure, [(item, scores.Outcome(0.5)) for item in page])
    assert dropped.total() == len(page) == 4
    assert all("was removed while it was scored" in reason for reason in dropped)
    assert stored(study) == 0


def test_what_was_changed_meanwhile_gets_no_score(study: Study, put: Put, tmp_path: Path, png: Png) -> None:
    (tmp_path / "x.png").write_bytes(png("red"))
    (tmp_path / "y.png").write_bytes(png("blue"))
    key = ImageKey("c", "x.png")
    put(study, [Image(key)], "names")
    bytes_of = put(study, [Image(key, str(tmp_path / "x.png"))], "bytes")
    measure = scores.register(study, find_measure("brightness"))
    (page,) = scores.pages(study, "of_image")
    undo(study, bytes_of.source_id)
    put(study, [Image(key, str(tmp_path / "y.png"))], "others")
    dropped = scores.write(study, measure, [(page[0], scores.Outcome(0.5))])
    assert dropped == {"the image was changed while it was scored": 1}
    assert stored(study) == 0


def test_scoring_while_an_import_is_replaced(
    study: Study, first: Loaded, plugins: Path, tmp_path: Path, png: Png
) -> None:
    name = f"meddles_{study.engine.dialect.name}"
    (plugins / f"{name}.py").write_text(MEDDLES.format(name=name))
    measure = find_measure(name)
    function: Any = measure.load()

    def meddle() -> None:
        with open_study(study.home) as other:
            undo(other, first.source_id)
            others = answers(tmp_path / "b", png, ["white"] * 4)
            load(other, others, importer="test", path="b", digest="b")

    function.func.__globals__["MEDDLE"].append(meddle)
    result = score(study, name)
    assert "4 values were computed of what it no longer holds" in result.sentence
    assert result.exit_code != 0 and result.next == (f"sightline score STUDY {name}",)
    assert result.table("dropped").rows == [(name, "the image was removed while it was scored", 4)]
    # The images that came in meanwhile were scored by the same run, under keys of their own.
    assert reading.stored_scores(study, measure.identity)["value"].to_list() == [1.0] * 4
    again = score(study, name)
    assert (again.exit_code, again.table("dropped").rows) == (0, [])


def test_rankings_of_a_study_that_changed_are_not_stored(
    unjudged: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sightline.measures import ranking_scores

    read = ranking_scores.rankings_of

    def changing(study: Study, *, judged: bool) -> Any:
        found = read(study, judged=judged)
        load(study, [Prompt(PromptKey("t", "new"), "new")], importer="test", path="n", digest="n")
        return found

    monkeypatch.setattr(ranking_scores, "rankings_of", changing)
    result = score(unjudged, "nqc")
    assert result.table("dropped").rows == [
        (result.measures[0].short, "the study was changed while its rankings were scored", 16)
    ]
    assert stored(unjudged) == 0


def test_readers_ignore_scores_of_other_contents(study: Study, first: Loaded) -> None:
    score(study, ["brightness", "words"])
    measure = find_measure("brightness")
    with database.writing(study.engine) as connection:
        key = connection.exec_driver_sql("SELECT min(id) FROM image").scalar_one()
        connection.execute(tables.image.update().where(tables.image.c.id == key).values(sha256="0" * 64))
    assert stored(study) == 8
    assert reading.scores(study, measure.identity)["image_id"].to_list() == [key + 1, key + 2, key + 3]
    named = listing.named_scores(study)
    assert named["measure"].to_list().count(str(measure)) == 3
    assert named.height == 7


def test_bytes_that_are_undone_take_the_scores_of_answers_and_sets(
    study: Study, put: Put, tmp_path: Path, png: Png
) -> None:
    records = answers(tmp_path / "a", png, ["red", "blue"])
    put(study, [record for record in records if not isinstance(record, Image)], "names")
    bytes_of = put(study, [record for record in records if isinstance(record, Image)], "bytes")
    score(study, ["brightness", "colour_match"])
    kept = reading.measures(study)
    assert kept["values"].sum() + kept["without"].sum() == 4
    undo(study, bytes_of.source_id)
    assert stored(study) == 0


def test_the_hash_of_an_image_is_that_of_any_input() -> None:
    assert image_inputs("ab" * 32) == hashed("ab" * 32)
