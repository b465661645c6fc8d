"""Scores from elsewhere: whose they are, of which content, and that none is lost or of another image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from sightline import registry
from sightline.errors import ConflictError, DataError
from sightline.records import Answer, Image, ImageKey, Item, Prompt, PromptKey, Record, Score
from sightline.study import listing, reading, scores
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.writing.loading import Loaded, undo

Put = Callable[..., Loaded]
P, Q = PromptKey("s", "p"), PromptKey("s", "q")
A, B = ImageKey("c", "a.png"), ImageKey("c", "b.png")


def picture(folder: Path, colour: str) -> str:
    path = folder / f"{colour}.png"
    Pillow.new("RGB", (4, 4), colour).save(path)
    return str(path)


def answers(path: str | None = None) -> Iterator[Record]:
    yield Prompt(P, "a ball")
    yield Prompt(Q, "a dog")
    if path:
        yield Image(A, path)
    yield Answer(P, "one", 0, A)
    yield Answer(Q, "one", 0, B)


def clip(prompt: PromptKey, value: float | None, **more: Any) -> Score:
    return Score("clipscore", Item(prompt, "one"), value, None if value is not None else "none", **more)


def values(
    study: Study, measure: str = "imported(name='clipscore')"
) -> list[tuple[float | None, str | None]]:
    frame = reading.scores(study, registry.find_measure(measure).identity)
    return list(frame.sort("prompt_id").select("value", "reason").iter_rows())


def test_scores_belong_to_their_import_and_go_with_it(
    study: Study, put: Put, dump: Callable[..., Any]
) -> None:
    put(study, answers(), "answers")
    before = dump(study)
    number = put(
        study, [clip(P, 0.25, evidence={"reply": "ok"}), clip(Q, None, at="s.csv:3")], "scores"
    ).source_id
    assert values(study) == [(0.25, None), (None, "none")]
    row = listing.named_scores(study).row(0, named=True)
    assert (row["imported"], row["evidence"], row["direction"]) == (number, '{"reply": "ok"}', "higher")
    assert listing.imported_measures(study) == {row["identity"]: ["scores.csv"]}
    # Clearing the cache of what can be computed again leaves what cannot.
    assert scores.clear(study) == 0 and len(values(study)) == 2
    assert undo(study, number)["imported_score"] == 2
    assert {name: rows for name, rows in dump(study).items() if name != "setting"} == {
        name: rows for name, rows in before.items() if name != "setting"
    }


def test_a_score_by_name_stays_with_the_content_that_comes_first(
    study: Study, put: Put, tmp_path: Path
) -> None:
    put(study, answers(), "answers")
    put(study, [clip(P, 0.25)], "scores")
    shown = put(study, answers(picture(tmp_path, "red")), "with images").source_id
    assert values(study) == [(0.25, None)]
    undo(study, shown)
    # The image has another content now: the score is not of it, and not lost either.
    other = put(study, answers(picture(tmp_path, "blue")), "others").source_id
    assert values(study) == []
    undo(study, other)
    put(study, answers(picture(tmp_path, "red")), "with images again")
    assert values(study) == [(0.25, None)]


def test_undoing_the_answers_keeps_imported_scores_for_when_they_come_back(
    study: Study, put: Put, tmp_path: Path
) -> None:
    first = put(study, answers(picture(tmp_path, "red")), "answers").source_id
    number = put(study, [clip(P, 0.25, evidence={"a": 1})], "scores").source_id
    undo(study, first)
    assert values(study) == []
    put(study, answers(picture(tmp_path, "red")), "answers again")
    assert values(study) == [(0.25, None)]
    assert listing.named_scores(study)["evidence"].to_list() == ['{"a": 1}']
    undo(study, number)
    with database.reading(study.engine) as connection:
        assert database.fetch(connection, "SELECT 1 FROM evidence UNION SELECT 1 FROM measure") == []


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (clip(P, 0.5, at="t.csv:3"), "two scores here: 0.25 at t.csv:2, and 0.5"),
        (clip(P, float("nan"), at="t.csv:3"), "the score is nan"),
        (Score("clipscore", Item(P, "one"), 1.0, "why", at="t.csv:3"), "either a value or a reason"),
        (Score("mine", Item(P, "one"), 1.0, direction="up", at="t.csv:3"), "direction must be one of"),
        (
            Score("x", Item(P, "one"), 1.0, kind="of_answer", identity="no", inputs=1, at="t.csv:3"),
            "exported",
        ),
    ],
    ids=["conflict", "nan", "both", "direction", "identity"],
)
def test_a_row_that_cannot_be_is_named(study: Study, put: Put, record: Score, said: str) -> None:
    put(study, answers(), "answers")
    with pytest.raises(DataError, match=said) as error:
        put(study, [clip(P, 0.25, at="t.csv:2"), record], "scores", skip=lambda what, why: None)
    assert error.value.where == "t.csv:3"
    assert values(study) == []


def test_what_the_study_lacks_is_left_out_by_name_unless_it_is_all(study: Study, put: Put) -> None:
    put(study, answers(), "answers")
    left: dict[str, list[str]] = {}
    records = [
        clip(P, 0.25),
        Score("clipscore", Item(PromptKey("s", "zz"), "one"), 1.0, at="t.csv:3"),
        Score("clipscore", Item(P, "two"), 1.0, at="t.csv:4"),
        Score("clipscore", Item(P, "one", B), 1.0, at="t.csv:5"),
        Score("clipscore", Item(None, None, ImageKey("c", "no.png")), 1.0, at="t.csv:6"),
    ]
    put(study, records, "scores", batch=10, skip=lambda what, why: left.setdefault(why, []).append(what))
    assert values(study) == [(0.25, None)]
    assert [each for why in left.values() for each in why] == [
        *("t.csv:3 (zz)", "t.csv:4 (two)", "t.csv:6 (no.png)", "t.csv:5 (b.png)")
    ]
    with pytest.raises(DataError, match="none of the 1 scores is of what the study holds"):
        put(study, [records[1]], "others", skip=lambda what, why: None)


def test_several_answers_are_told_apart_by_position_or_image(study: Study, put: Put) -> None:
    put(study, [*answers(), Answer(P, "one", 1, B)], "answers")
    with pytest.raises(DataError, match="one has 2 answers to this prompt"):
        put(study, [clip(P, 0.5)], "which")
    records = [clip(P, 0.5, position=1), Score("clipscore", Item(P, "one", A), 0.75)]
    put(study, [*records, Score("clipscore", Item(P, "one"), 0.1, whole=True)], "scores")
    assert sorted(value for value, _ in values(study) if value) == [0.5, 0.75]
    assert values(study, "imported_of_set(name='clipscore')") == [(0.1, None)]


def test_one_name_is_one_scale(study: Study, put: Put) -> None:
    put(study, answers(), "answers")
    put(study, [Score("mine", Item(P, "one"), 1.0, direction="higher", low=0, high=10)], "one")
    measure = registry.find_measure("imported(name='mine', direction='higher', low=0, high=10)")
    assert (measure.spec.direction, measure.spec.range, measure.short) == (
        "higher",
        (0, 10),
        "mine (imported)",
    )
    with pytest.raises(ConflictError, match="mine on another scale"):
        put(study, [Score("mine", Item(Q, "one"), 1.0, direction="lower")], "two")
    with pytest.raises(ConflictError, match="another score of mine for this, 1"):
        put(study, [Score("mine", Item(P, "one"), 2.0, direction="higher", low=0, high=10)], "three")
    # FID is of a whole system, and its better end is known by its name.
    put(study, [Score("FID", Item(system="one"), 12.5)], "fid")
    frame = reading.measures(study).filter(kind="of_system")
    assert frame.select("direction", "values").row(0) == ("lower", 1)
