"""Undoing an import: the study is as if it had never been, and other imports stay whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sightline.errors import ConflictError, UsageError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Reference,
    System,
    Truth,
)
from sightline.registry import find_measure
from sightline.study import listing, reading, scores
from sightline.study.study import Study, create_study
from sightline.study.writing import settling
from sightline.study.writing.loading import sources, undo

Put = Callable[..., Any]
Dumped = Callable[[Study], dict[str, list[Any]]]
PROMPTS = [PromptKey("s", str(i)) for i in range(4)]
IMAGES = [ImageKey(c, n) for c in "cd" for n in "xyz"]


def prompt(i: int) -> Prompt:
    return Prompt(PROMPTS[i], f"text {i}")


def facts(mark: str) -> st.SearchStrategy[list[Record]]:
    """Facts that only the source of this mark tells, about prompts and images that all may tell of."""
    some_prompt, some_image = st.sampled_from(PROMPTS), st.sampled_from(IMAGES)
    system = st.sampled_from(["shared", mark])
    answer = st.builds(
        lambda p, s, position, i: Answer(p, s, position * 2 + (mark == "b"), i, settings={"by": mark}),
        some_prompt,
        system,
        st.integers(0, 3),
        some_image,
    )
    parts = st.tuples(some_prompt, st.none() | system, st.none() | some_image, st.none() | some_image)
    subject = parts.map(lambda parts: Item(*parts))
    vote = subject.map(lambda s: Judgement("q", s, 1.0, AnnotatorKey("p", mark)))
    truth = subject.map(lambda s: Truth("q", s, 0.5, rule=mark))
    caption = some_image.map(lambda i: Image(i, captions=[f"by {mark}"]))
    link = st.builds(
        lambda i, j: Prompt(PROMPTS[i], f"text {i}", {mark: "yes"}, [(f"of {mark}", PROMPTS[j])]),
        st.integers(0, 3),
        st.integers(0, 3),
    )
    bare = some_image.map(lambda key: Image(key))
    told = st.one_of(
        answer, vote, truth, caption, link, bare, st.just(System("shared")), st.just(Question("q"))
    )
    return st.lists(told, max_size=8, unique_by=_place)


def _place(record: Record) -> Any:
    return (record.prompt, record.system, record.position) if isinstance(record, Answer) else repr(record)


def told(mark: str) -> st.SearchStrategy[list[Record]]:
    return facts(mark).map(lambda rest: [*(prompt(i) for i in range(4)), *rest])


def contents(dumped: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """A dump without times."""
    dumped["source"] = [row[:4] + row[5:] for row in dumped["source"]]
    dumped["settlement"] = [row[:6] + row[7:] for row in dumped["settlement"]]
    return dumped


whole_studies = settings(
    max_examples=15,
    # An example makes a whole study: shrinking one would take minutes, and they are small as they come.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@whole_studies
@given(a=told("a"), b=told("b"))
def test_import_and_undo_is_as_if_nothing_had_been(
    tmp_path_factory: pytest.TempPathFactory, put: Put, dump: Dumped, a: list[Record], b: list[Record]
) -> None:
    with create_study(tmp_path_factory.mktemp("s") / "s") as study:
        empty = dump(study)
        put(study, a, "a")
        alone = contents(dump(study))
        undo(study, put(study, b, "b").source_id)
        assert contents(dump(study)) == alone
        undo(study, 1)
        assert dump(study) == empty


@whole_studies
@given(a=told("a"), b=told("b"))
def test_undoing_the_first_leaves_the_second_whole(
    tmp_path_factory: pytest.TempPathFactory, put: Put, dump: Dumped, a: list[Record], b: list[Record]
) -> None:
    folder = tmp_path_factory.mktemp("s")
    with create_study(folder / "both") as study, create_study(folder / "alone") as alone:
        empty = dump(study)
        put(study, a, "a")
        second = put(study, b, "b").source_id
        undo(study, 1)
        put(alone, b, "b")
        assert told_by(study) == told_by(alone)
        undo(study, second)
        assert dump(study) == empty  # nothing is left that no import answers for


def told_by(study: Study) -> dict[str, Any]:
    """What a study says, by names instead of keys."""
    answers, settings = listing.named_answers(study)
    frames = {
        "prompts": reading.prompts(study).drop("prompt_id"),
        "systems": reading.systems(study).drop("system_id"),
        "annotators": reading.annotators(study).drop("annotator_id"),
        "answers": answers.with_columns(settings=pl.Series(map(repr, settings), dtype=pl.String)),
        **{
            read.__name__: read(study)
            for read in (
                listing.named_tags,
                listing.named_links,
                listing.named_images,
                listing.named_captions,
                listing.named_judgements,
                listing.named_truths,
            )
        },
    }
    said: dict[str, Any] = {name: sorted(frame.rows(), key=repr) for name, frame in frames.items()}
    return {**said, "questions": [asked for _, asked in reading.questions(study)]}


@pytest.fixture
def pair(tmp_path: Path, png: Callable[..., bytes]) -> tuple[list[Record], list[Record]]:
    """Two imports that overlap in prompts, images, bytes and systems but tell different facts."""
    (tmp_path / "x.png").write_bytes(png())
    first: list[Record] = [
        prompt(0),
        prompt(1),
        Image(IMAGES[0], str(tmp_path / "x.png"), ["by a"]),
        Image(IMAGES[1], str(tmp_path / "x.png")),
        Answer(PROMPTS[0], "shared", 0, IMAGES[0], settings={"by": "a"}),
        Answer(PROMPTS[0], "only a", 0, IMAGES[2]),
        Judgement("q", Item(PROMPTS[0], None, IMAGES[1]), 1, AnnotatorKey("p", "ann")),
        Truth("q", Item(PROMPTS[0]), 1),
    ]
    second: list[Record] = [
        prompt(1)._replace(links=[("builds_on", PROMPTS[2])]),
        prompt(2),
        Image(IMAGES[0], str(tmp_path / "x.png"), ["by b"]),
        Answer(PROMPTS[1], "shared", 0, IMAGES[1]),
        Judgement("q", Item(PROMPTS[1], "shared", IMAGES[1]), 2, AnnotatorKey("p", "ann")),
        Truth("q", Item(PROMPTS[1]), 2),
    ]
    return first, second


def test_undo_on_both_databases(
    study: Study, put: Put, dump: Dumped, pair: tuple[list[Record], list[Record]], tmp_path: Path
) -> None:
    empty = dump(study)
    first = put(study, pair[0], "a").source_id
    alone = contents(dump(study))
    second = put(study, pair[1], "b").source_id
    undo(study, second)
    assert contents(dump(study)) == alone
    second = put(study, pair[1], "b").source_id
    gone = undo(study, first)
    assert gone == {
        "truth": 1, "judgement": 1, "answer": 2, "caption": 1, "item": 2, "prompt": 1, "image": 1,
        "system": 1,
    }  # fmt: skip
    with create_study(tmp_path / "alone") as only:
        put(only, pair[1], "b")
        assert told_by(study) == told_by(only)
    assert [source["id"] for source in sources(study)] == [second]
    undo(study, second)
    assert dump(study) == empty


def test_undoing_bytes_leaves_the_name(
    study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]
) -> None:
    (tmp_path / "x.png").write_bytes(png())
    file = Image(IMAGES[0], str(tmp_path / "x.png"))
    put(study, [prompt(0), Answer(PROMPTS[0], "sd", 0, IMAGES[0])], "names")
    second = put(study, [file], "bytes").source_id
    third = put(study, [file], "bytes again").source_id
    undo(study, second)
    assert reading.counts(study)["image_file"] == 1  # the third import brought them too
    undo(study, third)
    ((_, _, name, *rest),) = reading.images(study).rows()
    assert (name, rest) == ("x", [None, None, None, None])


def test_undoing_what_another_import_repeats_is_refused(
    study: Study, put: Put, dump: Dumped, pair: tuple[list[Record], list[Record]]
) -> None:
    put(study, pair[0], "a")
    longer = put(study, [*pair[0], *pair[1]], "longer").source_id
    before = dump(study)
    with pytest.raises(ConflictError, match="repeats rows of import 1") as caught:
        undo(study, 1)
    assert f"Undo import {longer} first" in caught.value.remedy
    assert dump(study) == before
    undo(study, longer)
    undo(study, 1)
    assert reading.counts(study)["answer"] == 0


@pytest.mark.parametrize(
    "repeated",
    [
        Prompt(PROMPTS[0], "text 0", {"split": "test"}),
        Prompt(PROMPTS[0], "text 0", links=[("builds_on", PROMPTS[1])]),
        Prompt(PROMPTS[0], "text 0", translations={"de": "ein Text"}),
        Image(IMAGES[0], captions=["a dog"]),
        Image(IMAGES[0], scene={"objects": []}),
        Reference("r", "ssim", [0.5]),
        Answer(PROMPTS[0], "sd", 0, IMAGES[0]),
        Judgement("q", Item(PROMPTS[0]), 1, n=3),
        Truth("q", Item(PROMPTS[0]), 1),
    ],
    ids=lambda record: type(record).__name__,
)
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_every_kind_of_repeated_fact_is_noticed(study: Study, put: Put, repeated: Record) -> None:
    put(study, [prompt(0), prompt(1), repeated], "a")
    put(study, [prompt(0), prompt(1), repeated], "b")
    with pytest.raises(ConflictError, match="repeats rows"):
        undo(study, 1)


def test_undo_takes_along_what_was_computed(study: Study, put: Put) -> None:
    vote = Judgement("q", Item(PROMPTS[0]), 1, AnnotatorKey("p", "ann"))
    put(study, [prompt(0), prompt(1), vote, Judgement("other", Item(PROMPTS[1]), 1)], "a")
    put(study, [Judgement("q", Item(PROMPTS[1]), 2)], "b")
    question = reading.question(study, "q")[0]
    subjects = reading.votes(study, "q")[1]["item_id"].to_list()
    rows = [(s, 1.0, None, None, 1, None) for s in subjects]
    settled = settling.settle(study, question, "mean", "", rows, reading.votes(study, "q")[0].up_to)
    row = (1, 0, 0, 0, 0.5, None, None, None)
    settling.keep_predictions(study, "ridge", settled, "split", "sha", 1, [row])
    seen = reading.votes(study, "other")[0].up_to
    kept = settling.settle(study, reading.question(study, "other")[0], "mean", "", [], seen)
    undo(study, 2)
    assert reading.settlements(study)["settlement_id"].to_list() == [kept]
    assert reading.counts(study)["prediction"] == 0
    # A vote that takes the place of an undone one is newer than what was settled before.
    put(study, [Judgement("other", Item(PROMPTS[0]), 1)], "c")
    assert reading.settlements(study)["newer_votes"].to_list() == [1]


def test_undo_takes_scores_of_what_is_gone(study: Study, put: Put) -> None:
    put(study, [prompt(0)], "a")
    put(study, [prompt(1)], "b")
    words = find_measure("words")
    scores.register(study, words)
    (items,) = scores.pages(study, "of_prompt")
    scores.write(study, 1, [(item, scores.Outcome(1.0, evidence={"n": 1})) for item in items])
    assert undo(study, 1) == {"prompt": 1, "score": 1}
    assert reading.scores(study, words.identity)["prompt_id"].to_list() == [items[1].prompt_id]


@pytest.mark.parametrize("undoing", ["link", "qrels"])
def test_undo_takes_scores_of_rankings_whose_relevance_goes(study: Study, put: Put, undoing: str) -> None:
    """Prompt 0 has qrels, 1 rephrases it and inherits them, 2 is settled from votes, 3 stays."""
    judged = [Item(PROMPTS[n], image=IMAGES[0]) for n in range(4)]
    put(study, [prompt(n) for n in range(4)] + [Truth("other", judged[3], 1.0)], "prompts")
    qrels = put(study, [Truth("q", judged[0], 1.0)], "qrels")
    link = put(study, [Prompt(PROMPTS[1], "text 1", {}, [("rephrases", PROMPTS[0])])], "link")
    votes = put(study, [Judgement("votes", judged[2], 1, AnnotatorKey("p", "ann"))], "votes")
    question = reading.question(study, "votes")[0]
    (subject,) = reading.votes(study, "votes")[1]["item_id"].to_list()
    rows = [(subject, 1.0, None, None, 1, None)]
    settling.settle(study, question, "mean", "", rows, reading.votes(study, "votes")[0].up_to)
    ndcg = find_measure("ndcg")
    scores.register(study, ndcg)
    keys = reading.prompts(study)["prompt_id"].to_list()

    def left_after(source: int) -> list[int]:
        scores.write(study, 1, [(scores.Target(k, 0, 0, k, None, ()), scores.Outcome(1.0)) for k in keys])
        undo(study, source)
        return [keys.index(k) for k in reading.scores(study, ndcg.identity)["prompt_id"]]

    assert left_after(votes.source_id) == [0, 1, 3]
    source, left = (link, [0, 2, 3]) if undoing == "link" else (qrels, [2, 3])
    assert left_after(source.source_id) == left


def test_an_unknown_import_cannot_be_undone(study: Study, put: Put) -> None:
    with pytest.raises(UsageError, match="no import number 7") as caught:
        undo(study, 7)
    assert caught.value.remedy == "Imports in this study: none."
    put(study, [prompt(0)])
    with pytest.raises(UsageError) as caught:
        undo(study, 7)
    assert caught.value.remedy == "Imports in this study: 1."


def test_captions_can_come_again_after_an_undo(study: Study, put: Put) -> None:
    put(study, [Image(IMAGES[0], captions=["one", "two"])], "a")
    put(study, [Image(IMAGES[0], captions=["three"])], "b")
    undo(study, 1)
    put(study, [Image(IMAGES[0], captions=["one", "two"])], "a")
    assert sorted(reading.captions(study)["caption"]) == ["one", "three", "two"]


def test_a_number_is_not_given_twice(study: Study, put: Put) -> None:
    first = put(study, [Prompt(PromptKey("s", "1"), "one")], "a").source_id
    undo(study, first)
    assert put(study, [Prompt(PromptKey("s", "1"), "one")], "b").source_id > first


def test_truth_of_votes_that_were_undone_meanwhile_is_not_stored(study: Study, put: Put) -> None:
    votes = [Judgement("q", Item(PROMPTS[0]), 1.0, AnnotatorKey("p", "a"))]
    put(study, [prompt(0)], "prompts")
    done = put(study, votes, "votes")
    key, seen = reading.question(study, "q")[0], reading.votes(study, "q")[0].up_to
    (item,) = reading.fetch_rows(study, "SELECT id FROM item")
    put(study, [Question("q")], "asked")
    undo(study, done.source_id)
    with pytest.raises(ConflictError, match="removed from the study while their truth was computed"):
        settling.settle(study, key, "mean", "", [(item[0], 1.0, None, None, 1, None)], seen)
    assert reading.counts(study)["truth"] == 0
