"""Records in, frames out: everything published data holds, the same on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    PromptText,
    Question,
    System,
    Truth,
)
from sightline.study import reading
from sightline.study.schema import database, tables
from sightline.study.study import Study, open_study

Put = Callable[..., Any]
P1, P2, P3 = PromptKey("s", "1"), PromptKey("s", "2"), PromptKey("other", "1")
A, B, C = ImageKey("c", "a.png"), ImageKey("c", "b.png"), ImageKey("d", "a.png")


def test_prompts_come_back_with_tags_links_and_expectations(study: Study, put: Put) -> None:
    expects = {"objects": [{"name": "dog", "count": 2}], "größe": "klein"}
    put(
        study,
        [
            Prompt(P1, "two dogs", {"split": "train", "skill": "count"}, expects=expects, at="f:1"),
            Prompt(P2, "zwei Hunde 🐕 \u0301e", {"split": "test"}, [("rephrases", P1), ("builds_on", P1)]),
            Prompt(P3, "two dogs", links=[("builds_on", P2)]),
        ],
    )
    assert reading.prompts(study).rows() == [
        (1, "s", "1", "two dogs"),
        (2, "s", "2", "zwei Hunde 🐕 \u0301e"),
        (3, "other", "1", "two dogs"),
    ]
    tags = [(1, "skill", "count"), (1, "split", "train"), (2, "split", "test")]
    assert reading.tags(study).rows() == tags
    assert reading.links(study).rows() == [(2, "builds_on", 1), (2, "rephrases", 1), (3, "builds_on", 2)]
    told = reading.prompt_records(study, [1, 3])
    assert told[1].expects == expects
    assert told[1].tags == {"split": "train", "skill": "count"}
    assert told[3].expects is None


@pytest.mark.parametrize("remembered", [0, 1000])
def test_a_link_may_go_to_a_prompt_further_down(
    study: Study, put: Put, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    from sightline.study.writing import entities

    monkeypatch.setattr(entities, "REMEMBERED", remembered)
    keys = [PromptKey("s", str(i)) for i in range(8)]
    put(study, [Prompt(key, "x", links=[("builds_on", keys[7 - i])]) for i, key in enumerate(keys)])
    # The first prompt links to the last, and so on: batches of three lie between.
    found = {(p, to) for p, _, to in reading.links(study).rows()}
    assert found == {(i + 1, 8 - i) for i in range(8)}


def test_a_link_to_a_prompt_that_never_comes_is_refused_with_its_row(study: Study, put: Put) -> None:
    with pytest.raises(DataError, match="no prompt '9'") as caught:
        put(study, [Prompt(P1, "x", links=[("builds_on", PromptKey("s", "9"))], at="p.csv:2")])
    assert caught.value.where == "p.csv:2"


def test_answers_by_name_only_failures_settings_and_scores(study: Study, put: Put) -> None:
    put(
        study,
        [
            Prompt(P1, "one"),
            Prompt(P2, "two"),
            System("sd", "generator"),
            System("bm25", "retriever", "c"),
            Answer(P1, "sd", 0, A, seed=7, settings={"steps": 30, "cfg": 7.5}),
            Answer(P1, "sd", 1, None, failure="safety filter"),
            Answer(PromptText("two"), "sd", 0, B, settings={"cfg": 7.5, "steps": 30}),
            Answer(P1, "bm25", 0, C, score=12.25),
            Answer(P1, "implied", 0, A),
        ],
    )
    # system, prompt, position, image, sha256, score, seed, failure
    assert [row[1:] for row in reading.answers(study).rows()] == [
        ("sd", 1, 0, 1, None, None, 7, None),
        ("sd", 1, 1, None, None, None, None, "safety filter"),
        ("sd", 2, 0, 2, None, None, None, None),
        ("bm25", 1, 0, 3, None, 12.25, None, None),
        ("implied", 1, 0, 1, None, None, None, None),
    ]
    assert reading.answers(study, "retriever")["system"].to_list() == ["bm25"]
    assert reading.systems(study).drop("collection").rows() == [
        (1, "sd", "generator", 3),
        (2, "bm25", "retriever", 1),
        (3, "implied", "generator", 1),
    ]
    with database.reading(study.engine) as connection:
        kept = connection.execute(tables.settings.select()).mappings().all()
        used = connection.exec_driver_sql("SELECT count(settings_id) FROM answer").scalar()
    assert [row["json"] for row in kept] == [{"steps": 30, "cfg": 7.5}]  # once, whatever the order of keys
    assert used == 2


def test_bytes_are_filled_in_later(study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]) -> None:
    put(study, [Prompt(P1, "one"), Answer(P1, "sd", 0, A)], "names")
    assert reading.images(study).rows() == [(1, "c", "a.png", None, None, None, None)]
    (tmp_path / "a.png").write_bytes(png("red", (8, 6)))
    done = put(study, [Image(A, str(tmp_path / "a.png"), at="f:1")], "bytes")
    assert "images" not in done.counts
    ((_, _, _, sha, width, height, defect),) = reading.images(study).rows()
    assert (width, height, defect) == (8, 6, None)
    assert study.files.read(sha) == png("red", (8, 6))
    assert reading.answers(study)["sha256"].to_list() == [sha]
    assert reading.counts(study)["image_file"] == 1


def test_captions_and_collections(study: Study, put: Put) -> None:
    put(study, [Image(A, captions=["a dog", "a hound"]), Image(C, captions=["a dog"]), Image(B)], "one")
    put(study, [Image(A, captions=["a hound", "un chien"])], "two")
    assert [row[1:3] for row in reading.images(study).rows()] == [
        ("c", "a.png"),
        ("d", "a.png"),
        ("c", "b.png"),
    ]
    captions = [(1, 0, "a dog"), (1, 1, "a hound"), (1, 2, "un chien"), (2, 0, "a dog")]
    assert reading.captions(study).rows() == captions


def test_votes_named_counted_skipped_and_revised(study: Study, put: Put) -> None:
    ann, bob = AnnotatorKey("panel", "ann"), AnnotatorKey("panel", "bob")
    pair = Item(P1, None, A, B)
    put(
        study,
        [
            Prompt(P1, "one"),
            Question("fit", "ordinal", 0, 3, 1, {"0": "bad", "3": "good"}, "How well?", at="q"),
            Judgement("fit", Item(P1, None, A), 2, ann, took_ms=1500, session="x", time="2024-01-01"),
            Judgement("fit", Item(P1, None, A), 3, ann, revision=1),
            Judgement("fit", Item(P1, None, A), 1, ann, repetition=1),
            Judgement("fit", Item(P1, None, A), None, bob, skipped="cannot tell"),
            Judgement("better", pair, 1, n=7),
            Judgement("better", pair, 0, n=2),
            Judgement("better", Item(P1, None, A, B, C), 0.5, bob),
        ],
    )
    votes, subjects, people = reading.votes(study, "fit")
    # The revision replaces the first vote; the repeat on another repetition counts besides it.
    assert votes.value.tolist() == [3.0, 1.0]
    assert votes.annotator.tolist() == [0, 0]
    assert votes.annotators == [ann, bob]
    assert subjects.row(0)[1:] == (1, 0, 1, 0, 0, 0)
    assert votes.question == Question("fit", "ordinal", 0, 3, 1, {"0": "bad", "3": "good"}, "How well?")
    votes, subjects, _ = reading.votes(study, "better", excluded=[people[1]])
    assert votes.n.tolist() == [7, 2]
    assert votes.value.tolist() == [1.0, 0.0]
    assert votes.annotator.tolist() == [-1, -1]
    assert subjects.rows() == [(subjects.row(0)[0], 1, 0, 1, 2, 0, 0)]
    votes, subjects, _ = reading.votes(study, "better")
    assert subjects.rows()[-1][1:] == (1, 0, 1, 2, 3, 0)


def test_equal_anonymous_votes_are_different_people(study: Study, put: Put) -> None:
    rows = [Judgement("fit", Item(P1), value, at=f"f:{i}") for i, value in enumerate([1, 1, 0, 1, 1.0])]
    put(study, [Prompt(P1, "one"), *rows], "one", batch=2)
    votes, _, _ = reading.votes(study, "fit")
    assert sorted(votes.value.tolist()) == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert put(study, rows, "two", batch=4).counts == {}
    assert len(reading.votes(study, "fit")[0].value) == 5


def test_settled_truth_on_every_kind_of_subject(study: Study, put: Put) -> None:
    subjects = [
        Item(P1),
        Item(P1, "sd"),
        Item(P1, None, A),
        Item(P1, None, A, B),
        Item(P1, None, A, B, C),
        Item(None, "sd"),
        Item(None, None, A),
        Item(P1, "sd", A),
        Item(P1, "sd", system_b="other"),
    ]
    truths = [Truth("q", each, i / 4, i / 4 - 1, i / 4 + 1, i) for i, each in enumerate(subjects)]
    put(study, [Prompt(P1, "one"), *truths])
    assert reading.truths(study, "q").drop("settlement_id", "item_id", "reason").rows() == [
        (1, 0, 0, 0, 0, 0, 0.0, -1.0, 1.0, 0),
        (1, 1, 0, 0, 0, 0, 0.25, -0.75, 1.25, 1),
        (1, 0, 1, 0, 0, 0, 0.5, -0.5, 1.5, 2),
        (1, 0, 1, 2, 0, 0, 0.75, -0.25, 1.75, 3),
        (1, 0, 1, 2, 3, 0, 1.0, 0.0, 2.0, 4),
        (0, 1, 0, 0, 0, 0, 1.25, 0.25, 2.25, 5),
        (0, 0, 1, 0, 0, 0, 1.5, 0.5, 2.5, 6),
        (1, 1, 1, 0, 0, 0, 1.75, 0.75, 2.75, 7),
        (1, 1, 0, 0, 0, 2, 2.0, 1.0, 3.0, 8),
    ]
    assert reading.settlements(study)["rule"].to_list() == ["published"]


def test_numpy_numbers_are_taken_as_what_they_are(study: Study, put: Put) -> None:
    put(
        study,
        [
            Prompt(P1, "one", expects={"n": np.int64(3), "box": np.array([1.5, 2.0])}),
            Answer(P1, "sd", np.int64(2), A, np.float32(0.5), np.uint32(4), {"steps": np.int32(30)}),  # type: ignore[arg-type]
            Judgement("q", Item(P1), np.float32(0.25), n=np.int16(3), took_ms=np.int64(9)),  # type: ignore[arg-type]
            Truth("q", Item(P1), np.float64(1.5), n=np.int8(2)),  # type: ignore[arg-type]
        ],
    )
    assert reading.answers(study).select("position", "score", "seed").rows() == [(2, 0.5, 4)]
    assert reading.prompt_records(study)[1].expects == {"n": 3, "box": [1.5, 2.0]}
    votes = reading.votes(study, "q")[0]
    assert (votes.value.tolist(), votes.n.tolist()) == ([0.25], [3])
    assert reading.truths(study, "q").select("value", "n").rows() == [(1.5, 2)]
    # The same in plain numbers is the same.
    again = [Answer(P1, "sd", 2, A, 0.5, 4, {"steps": 30}), Judgement("q", Item(P1), 0.25, n=3)]
    assert put(study, again, "again").counts == {}


def test_the_largest_seed_fits(study: Study, put: Put) -> None:
    seeds = [2**63 - 1, -(2**63), 0]
    put(study, [Prompt(P1, "one"), *(Answer(P1, "sd", i, A, seed=seed) for i, seed in enumerate(seeds))])
    assert reading.answers(study)["seed"].to_list() == seeds


ONE = Prompt(P1, "one", at="f:1")
REFUSED = {
    "score NaN": Answer(P1, "sd", 0, A, float("nan"), at="f:9"),
    "score infinite": Answer(P1, "sd", 0, A, float("inf"), at="f:9"),
    "score next to infinity": Answer(P1, "sd", 0, A, 1.79e308, at="f:9"),
    "seed too large": Answer(P1, "sd", 0, A, seed=2**63, at="f:9"),
    "position too large": Answer(P1, "sd", 2**31, A, at="f:9"),
    "position negative": Answer(P1, "sd", -1, A, at="f:9"),
    "position a fraction": Answer(P1, "sd", 0.5, A, at="f:9"),  # type: ignore[arg-type]
    "no image and no failure": Answer(P1, "sd", 0, None, at="f:9"),
    "image and failure": Answer(P1, "sd", 0, A, failure="x", at="f:9"),
    "nameless system": Answer(P1, "", 0, A, at="f:9"),
    "NUL in a system": Answer(P1, "s\0d", 0, A, at="f:9"),
    "NUL in an image name": Answer(P1, "sd", 0, ImageKey("c", "a\0"), at="f:9"),
    "NUL in a collection": Answer(P1, "sd", 0, ImageKey("c\0", "a"), at="f:9"),
    "NUL in a failure": Answer(P1, "sd", 0, None, failure="\0", at="f:9"),
    "NUL in a prompt key": Answer(PromptKey("s", "\0"), "sd", 0, A, at="f:9"),
    "NUL in a prompt text": Prompt(P2, "a\0b", at="f:9"),
    "NUL in a tag": Prompt(P2, "a", {"split": "\0"}, at="f:9"),
    "NUL in a caption": Image(A, captions=["\0"], at="f:9"),
    "half a surrogate pair": Prompt(P2, "a\ud83d", at="f:9"),
    "half a surrogate pair in JSON": Prompt(P2, "a", expects={"a": "\ud83d"}, at="f:9"),
    "settings NaN": Answer(P1, "sd", 0, A, settings={"cfg": float("nan")}, at="f:9"),
    "settings no JSON": Answer(P1, "sd", 0, A, settings={"cfg": object()}, at="f:9"),
    "empty prompt": Prompt(P2, " \n", at="f:9"),
    "kind of link too long": Prompt(P2, "a", links=[("k" * 33, P1)], at="f:9"),
    "unknown prompt": Answer(PromptKey("s", "7"), "sd", 0, A, at="f:9"),
    "unknown text": Answer(PromptText("never seen"), "sd", 0, A, at="f:9"),
    "unknown kind of system": System("x", "painter", at="f:9"),
    "judgement NaN": Judgement("q", Item(P1), float("nan"), at="f:9"),
    "judgement infinite": Judgement("q", Item(P1), float("-inf"), at="f:9"),
    "judgement neither": Judgement("q", Item(P1), None, at="f:9"),
    "judgement both": Judgement("q", Item(P1), 1, skipped="x", at="f:9"),
    "judgement of nothing": Judgement("q", Item(), 1, at="f:9"),
    "counted votes of a person": Judgement("q", Item(P1), 1, AnnotatorKey("p", "a"), 2, at="f:9"),
    "no votes": Judgement("q", Item(P1), 1, n=0, at="f:9"),
    "too many votes": Judgement("q", Item(P1), 1, n=2**31, at="f:9"),
    "NUL in an annotator": Judgement("q", Item(P1), 1, AnnotatorKey("p", "\0"), at="f:9"),
    "NUL in a session": Judgement("q", Item(P1), 1, session="\0", at="f:9"),
    "time too long": Judgement("q", Item(P1), 1, time="t" * 41, at="f:9"),
    "took too long": Judgement("q", Item(P1), 1, took_ms=2**31, at="f:9"),
    "truth NaN": Truth("q", Item(P1), float("nan"), at="f:9"),
    "end of truth NaN": Truth("q", Item(P1), 1, low=float("nan"), at="f:9"),
    "truth of nothing": Truth("q", Item(), 1, at="f:9"),
    "unknown scale": Question("q", "rubber", at="f:9"),
    "unknown direction": Question("q", direction="upwards", at="f:9"),
    "end of scale infinite": Question("q", high=float("inf"), at="f:9"),
    "missing file": Image(A, "no/such/file.png", at="f:9"),
}


def test_what_one_database_would_bend_is_refused_by_both_with_its_row(
    study: Study, put: Put, dump: Callable[[Study], Any]
) -> None:
    empty = dump(study)
    for name, bad in REFUSED.items():
        with pytest.raises(DataError) as caught:
            put(study, [ONE, ONE, ONE, bad])
        assert (name, caught.value.where, caught.value.exit_code) == (name, "f:9", 3)
        assert dump(study) == empty, name


def test_an_ambiguous_text_is_refused(study: Study, put: Put) -> None:
    told = [Prompt(P1, "twin"), Prompt(P3, "twin")]
    with pytest.raises(DataError, match="2 prompts read 'twin'") as caught:
        put(study, [*told, Answer(PromptText("twin"), "sd", 0, A, at="a.csv:4")])
    assert caught.value.where == "a.csv:4"
    put(study, [*told, Answer(PromptText("twin", "other"), "sd", 0, A)])
    prompts = dict(reading.prompts(study).select("suite", "prompt_id").rows())
    assert reading.answers(study)["prompt_id"].to_list() == [prompts["other"]]


def test_nothing_at_all_is_an_error(study: Study, put: Put) -> None:
    with pytest.raises(DataError, match="nothing in it"):
        put(study, [])
    assert reading.counts(study)["source"] == 0


def test_a_question_declared_in_the_settings_wins(address: str, tmp_path: Path, put: Put) -> None:
    from sightline.study.study import create_study

    create_study(tmp_path / "s", database_address=address).close()
    with (tmp_path / "s" / "study.toml").open("a") as file:
        file.write('\n[question.fit]\nscale = "ordinal"\nlow = 0\nhigh = 4\ndirection = "lower"\n')
    with open_study(tmp_path / "s") as study:
        put(study, [Prompt(P1, "one"), Judgement("fit", Item(P1), 1), Question("fit", "interval", 0, 9)])
        asked = reading.question(study, "fit")[1]
    assert (asked.scale, asked.low, asked.high, asked.direction) == ("ordinal", 0, 4, "lower")


def test_memory_of_keys_can_be_smaller_than_the_import(
    study: Study, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sightline.study.writing import entities

    monkeypatch.setattr(entities, "REMEMBERED", 4)
    records: list[Any] = []
    for i in range(20):
        key = PromptKey("s", str(i))
        records += [Prompt(key, f"text {i}"), Answer(key, "sd", 0, ImageKey("c", str(i % 7)))]
        records.append(Judgement("q", Item(key), i, AnnotatorKey("p", str(i % 9))))
    put(study, [*records, *records])
    counts = {"prompt": 20, "answer": 20, "image": 7, "judgement": 20, "annotator": 9}
    assert counts.items() <= reading.counts(study).items()
