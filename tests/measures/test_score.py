"""Scoring by name: settings, single files, and rankings against known relevance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from PIL import Image as Pillow

from sightline.errors import DataError, UsageError
from sightline.measures.ranking_scores import score_rankings
from sightline.measures.score import score, score_files
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.registry import find_measure
from sightline.study import reading
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load, undo

Fill = Callable[[list[Record]], Study]


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    def make(records: list[Record]) -> Study:
        study = create_study(tmp_path / "study")
        load(study, records, importer="test", path="test", digest="1")
        return study

    return make


def image(n: int) -> ImageKey:
    return ImageKey("c", f"d{n}")


def query(n: int) -> PromptKey:
    return PromptKey("q", str(n))


def retrieval() -> list[Record]:
    """Four queries answered by `engine`; 1 and 2 have relevant images, 3 has none, 4 was not judged."""
    run = {1: [1, 2, 3, 4], 2: [5, 6], 3: [1, 2], 4: [3]}
    qrels = {1: {2: 1.0, 4: 2.0, 9: 1.0, 1: 0.0}, 2: {5: 1.0}, 3: {1: 0.0}}
    return [
        *(Prompt(query(n), f"query {n}") for n in run),
        System("engine", "retriever", "c"),
        Question("relevance", "ordinal", 0, 2, 1),
        *(Answer(query(q), "engine", n, image(i)) for q, found in run.items() for n, i in enumerate(found)),
        *(
            Truth("relevance", Item(query(q), image=image(i)), gain)
            for q, known in qrels.items()
            for i, gain in known.items()
        ),
    ]


def values(study: Study, name: str) -> list[tuple[int, float | None, str | None]]:
    found = reading.scores(study, find_measure(name).identity)
    return found.select("prompt_id", "value", "reason").rows()


def test_rankings_by_hand(fill: Fill) -> None:
    study = fill(retrieval())
    none = "no relevant image is known"
    (ran,) = score(study, "precision@2").runs
    # Query 1: of the first two only d2 is relevant. Query 2: of d5 and the unjudged d6 only d5 is.
    assert values(study, "precision@2") == [(1, 0.5, None), (2, 0.5, None), (3, None, none), (4, None, none)]
    assert (ran.total, ran.computed, ran.reasons) == (4, 4, {none: 2})
    score(study, ["precision(k=5)", "reciprocal_rank", "reciprocal_rank(min_rel=2)"])
    # Places past the end of a short ranking count as not relevant: 2 of 5, 1 of 5.
    assert [value for _, value, _ in values(study, "precision@5")] == [0.4, 0.2, None, None]
    assert [value for _, value, _ in values(study, "reciprocal_rank")] == [0.5, 1, None, None]
    # From level 2 on only d4 is relevant, at rank 4; to query 2 nothing is.
    assert [value for _, value, _ in values(study, "reciprocal_rank(min_rel=2)")] == [0.25, None, None, None]


def test_pairs_are_no_relevance(fill: Fill) -> None:
    pair = Truth("relevance", Item(query(4), image=image(3), image_b=image(2)), 1.0)
    study = fill([*retrieval(), pair])
    score(study, "precision@2")
    assert values(study, "precision@2")[3] == (4, None, "no relevant image is known")


def test_rankings_without_what_they_need(fill: Fill) -> None:
    study = fill([record for record in retrieval() if not isinstance(record, Truth | Question)])
    with pytest.raises(DataError, match="no truth of 'relevance'"):
        score(study, "precision")
    load(study, [Question("relevance", "ordinal", 0, 2, 1)], importer="test", path="q", digest="2")
    assert score(study, "precision").runs[0].reasons == {"no relevant image is known": 4}


def test_nobody_has_answered(fill: Fill) -> None:
    study = fill([Prompt(query(1), "one"), Question("relevance", "ordinal", 0, 2, 1)])
    with pytest.raises(DataError, match="no retriever has answered"):
        score_rankings(study, find_measure("precision"))


def test_measures_named_in_the_settings(tmp_path: Path) -> None:
    study = create_study(tmp_path / "study", settings='[score]\nmeasures = ["words", "characters"]\n')
    with pytest.raises(DataError, match="the study is empty"):
        score(study)
    load(study, [Prompt(query(1), "two words")], importer="test", path="test", digest="1")
    study.close()
    with open_study(tmp_path / "study") as again:
        assert [(ran.total, ran.computed) for ran in score(again).runs] == [(1, 1), (1, 1)]
        assert values(again, "words") == [(1, 2, None)]


def test_images_are_scored_before_there_are_prompts(fill: Fill, tmp_path: Path) -> None:
    Pillow.new("RGB", (8, 6), "red").save(tmp_path / "a.png")
    study = fill([Image(ImageKey("photos", "a"), str(tmp_path / "a.png"))])
    assert [(ran.total, ran.computed) for ran in score(study, "brightness").runs] == [(1, 1)]
    with pytest.raises(DataError, match="the study has images, but no prompts"):
        score(study, ["brightness", "words"])


def test_no_measure_and_unknown_measures(tmp_path: Path) -> None:
    study = create_study(tmp_path / "study", settings="[score]\nmeasures = []\n")
    load(study, [Prompt(query(1), "two words")], importer="test", path="test", digest="1")
    with pytest.raises(UsageError, match="no measure is named"):
        score(study)
    with pytest.raises(UsageError, match="no measure called 'wrods'") as told:
        score(study, "wrods")
    assert "words" in told.value.remedy


def test_nothing_with_a_value_is_no_success(fill: Fill) -> None:
    study = fill([Prompt(query(1), "a dog"), Image(image(1)), Answer(query(1), "s", 0, image(1))])
    scores = score(study, "sharpness")
    assert scores.exit_code == DataError.exit_code
    assert scores.sentence == "Nothing has a value: the study has no image files of answers."
    assert scores.next == ("sightline check STUDY",)
    # What one of them has is something.
    both = score(study, ["sharpness", "words"])
    assert both.exit_code == 0 and not both.sentence
    # The second time it is read back, and is still nothing.
    assert score(study, "sharpness").exit_code == DataError.exit_code


def test_files_without_a_study(tmp_path: Path) -> None:
    Pillow.new("RGB", (4, 4), (51, 51, 51)).save(tmp_path / "grey.png")
    (tmp_path / "broken.png").write_bytes(b"nothing")
    paths = [tmp_path / "grey.png", tmp_path / "broken.png"]
    scored = score_files("brightness", paths)
    ((grey, broken),) = scored.outcomes
    assert scored.unreadable == [str(paths[1])] and scored.exit_code == DataError.exit_code
    # 51 of 255 is a fifth.
    assert grey.value == pytest.approx(0.2, abs=1e-9)
    assert (broken.value, broken.reason) == (None, "not a readable image (unknown format)")
    with pytest.raises(DataError, match="no such file"):
        score_files("brightness", [tmp_path / "absent.png"])
    with pytest.raises(UsageError, match="no image file is named"):
        score_files("brightness", [])
    with pytest.raises(UsageError, match="measure of prompt, not of a file"):
        score_files("words", paths)


def test_reasons_reach_the_end(fill: Fill, tmp_path: Path) -> None:
    Pillow.new("RGB", (2, 2), "red").save(tmp_path / "tiny.png")
    Pillow.new("RGB", (9, 9), "red").save(tmp_path / "flat.png")
    records: list[Record] = [Prompt(query(1), "one")]
    for n, name in enumerate(("tiny.png", "flat.png")):
        key = ImageKey("c", name)
        records += [Image(key, str(tmp_path / name)), Answer(query(1), "a", n, key)]
    study = fill(records)
    (ran,) = score(study, "sharpness").runs
    ((reason, n),) = ran.reasons.items()
    assert n == 1 and "less than three pixels" in reason
    found = reading.scores(study, find_measure("sharpness").identity)
    assert found.select("value", "reason").rows() == [(None, reason), (0.0, None)]
    told = reading.measures(study).filter(pl.col("kind") == "of_image")
    assert told.select("values", "without").rows() == [(1, 1)]


def test_scores_of_a_set_go_when_one_of_its_answers_is_undone(tmp_path: Path) -> None:
    key = PromptKey("q", "1")
    with create_study(tmp_path / "s") as study:
        for part in range(2):
            file = tmp_path / f"{part}.png"
            Pillow.new("RGB", (16, 16), (200 * part, 30, 30)).save(file)
            told: list[Record] = [Prompt(key, "a ball"), Image(image(part), str(file))]
            told.append(Answer(key, "one", part, image(part)))
            last = load(study, told, importer="test", path=str(part), digest=str(part)).source_id
        measures = ["pairwise_mean(distance=colour_histogram)", "brightness"]
        score(study, measures)
        undo(study, last)
        kept = {name: reading.scores(study, find_measure(name).identity)["image_id"] for name in measures}
        assert len(kept["brightness"]) == 1
        assert len(kept[measures[0]]) == 0, "the set of two is no more"
