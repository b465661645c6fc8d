"""Retrieving: ranked answers from captions, kept once, checked for what a retriever promises."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from studies import put, rankings, study_of

import sightline
from sightline.errors import ConflictError, DataError, ExtensionError, UsageError
from sightline.records import Image, ImageKey, Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.study import reading
from sightline.study.study import Study

CAPTIONS = {"dog": ["a dog in the snow", "a hound outside"], "cat": ["a cat on a sofa"], "sea": ["the sea"]}
RETRIEVER = '''
import numpy as np
from sightline.extension import retriever

@retriever(source="me", licence="MIT")
def {name}(candidates, queries, k):
    """Gives what it likes."""
    return np.array({indices}), np.array({scores}, dtype=float)
'''


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    records: list[Record] = [
        Prompt(PromptKey("suite", str(n)), text) for n, text in enumerate(["a dog", "sofa cat", "zebra"])
    ]
    records += [Image(ImageKey("photos", name), captions=told) for name, told in CAPTIONS.items()]
    with study_of(tmp_path / "study", [*records, Image(ImageKey("bare", "x"))]) as made:
        yield made


def ranked(study: Study, system: str = "words") -> dict[str, list[str]]:
    return {ref: [name for name, _ in rows] for ref, rows in rankings(study, system).items()}


def test_captions_are_ranked(study: Study) -> None:
    heard = []
    done = sightline.retrieve(
        study, "words", "caption_words", collection="photos", k=2, listener=heard.append
    )
    # "a" stands in the captions of dog and cat; nothing speaks of a zebra.
    assert ranked(study) == {"0": ["dog", "cat"], "1": ["cat"]}
    assert (done.prompts, done.candidates, done.answers, done.empty) == (3, 3, 3, 1)
    assert heard[-1].done == 3
    answers = reading.answers(study)
    assert answers.filter(pl.col("score").is_null())["failure"].to_list() == ["nothing was found"]
    assert reading.systems(study)["kind"].to_list() == ["retriever"]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Study]:
    """Prompts that are captions of the collection, one of them of two images, and one that is none."""
    captions = {
        "dog": ["a dog", "brown dog", "snow"],
        "cat": ["a cat", "grey cat"],
        "fox": ["snow", "red fox"],
    }
    texts = ["a dog", "brown dog", " snow ", "grey cat", "fox"]
    records: list[Record] = [Prompt(PromptKey("suite", str(n)), text) for n, text in enumerate(texts)]
    records += [Image(ImageKey("photos", name), captions=told) for name, told in captions.items()]
    with study_of(tmp_path / "own", records) as made:
        yield made


def test_a_prompt_is_not_found_by_itself(own: Study) -> None:
    told = sightline.retrieve(own, "words", "caption_words", collection="photos")
    assert told.own_captions == 4 and sorted(ranked(own)["2"]) == ["dog", "fox"]
    assert sightline.undo(own, told.number)
    done = sightline.retrieve(own, "words", "caption_words", collection="photos", without_own=True)
    assert (done.own_captions, done.prompts) == (4, 5)
    # "a dog" has "brown dog" left to be found by, and the other way round; of snow nothing else speaks.
    found = {ref: sorted(names) for ref, names in ranked(own).items()}
    assert found == {"0": ["cat", "dog"], "1": ["dog"], "3": ["cat"], "4": ["fox"]}
    assert reading.answers(own, "retriever").drop_nulls("image_id").height == 5


def test_fewer_answers_under_the_same_name_are_refused(study: Study) -> None:
    sightline.retrieve(study, "words", "caption_words", collection="photos", k=100)
    with pytest.raises(ConflictError, match="other answers of 'words' to 3 of these prompts") as caught:
        sightline.retrieve(study, "words", "caption_words", collection="photos", k=1)
    assert "--replace" in caught.value.remedy
    sightline.retrieve(study, "words", "caption_words", collection="photos", k=1, replace=True)
    assert ranked(study) == {"0": ["dog"], "1": ["cat"]}


def test_twice_is_as_once_and_undone_at_once(study: Study) -> None:
    first = sightline.retrieve(study, "words", "caption_words", collection="photos")
    again = sightline.retrieve(study, "words", "caption_words", collection="photos")
    assert again.already and again.number == first.number
    # Empty results are stored with the answers, and undone with them.
    assert reading.answers(study).height == first.answers + first.empty
    sightline.undo(study, first.number)
    assert reading.answers(study).is_empty()


def test_a_grown_collection_needs_a_new_run(study: Study) -> None:
    sightline.retrieve(study, "words", "caption_words", collection="photos", k=1)
    more = {"zebra": "zebra", "d": "a dog"}
    put(study, [Image(ImageKey("photos", name), captions=[said]) for name, said in more.items()], "more")
    with pytest.raises(ConflictError):
        sightline.retrieve(study, "words", "caption_words", collection="photos", k=1)
    assert ranked(study) == {"0": ["dog"], "1": ["cat"]}
    sightline.retrieve(study, "words", "caption_words", collection="photos", k=1, replace=True)
    assert ranked(study) == {"0": ["d"], "1": ["cat"], "2": ["zebra"]}


def test_one_suite(study: Study) -> None:
    put(study, [Prompt(PromptKey("sea", "s"), "a wide sea")], "sea")
    assert sightline.retrieve(study, "w", "caption_words", collection="photos", suite="sea").prompts == 1
    assert set(ranked(study, "w")) == {"s"} and ranked(study, "w")["s"][0] == "sea"


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"collection": "photo"}, UsageError, "Did you mean photos"),
        ({"collection": "bare"}, DataError, "neither captions nor files"),
        ({"k": 0}, UsageError, "k is 0"),
        ({"system": ""}, UsageError, "needs a name"),
        ({"system": "painter"}, UsageError, "is a generator"),
        ({"retriever": "caption_word"}, UsageError, "Did you mean caption_words"),
    ],
)
def test_wrong_calls_are_refused(
    study: Study, told: dict[str, object], error: type[Exception], said: str
) -> None:
    put(study, [System("painter")], "p")
    call = {"system": "words", "retriever": "caption_words", "collection": "photos", **told}
    with pytest.raises(error, match=said):
        sightline.retrieve(study, **call)  # type: ignore[arg-type]
    assert reading.answers(study).filter(pl.col("system") != "painter").is_empty()


@pytest.mark.parametrize(
    ("name", "indices", "scores", "said"),
    [
        ("narrow", "[[0]] * 3", "[[1]] * 3", "arrays of"),
        ("beyond", "[[0, 3]] * 3", "[[1, 1]] * 3", "none of the candidates"),
        ("gappy", "[[-1, 0]] * 3", "[[1, 1]] * 3", "a gap"),
        ("unsure", "[[0, 1]] * 3", "[[1, np.nan]] * 3", "without a finite score"),
        ("double", "[[1, 1]] * 3", "[[1, 1]] * 3", "an image twice"),
        ("rising", "[[0, 1]] * 3", "[[1, 2]] * 3", "scores that rise"),
    ],
)
def test_a_retriever_that_breaks_its_promise(
    study: Study, plugins: Path, name: str, indices: str, scores: str, said: str
) -> None:
    (plugins / f"{name}.py").write_text(RETRIEVER.format(name=name, indices=indices, scores=scores))
    with pytest.raises(ExtensionError, match=said):
        sightline.retrieve(study, "odd", name, collection="photos", k=2)
    assert reading.counts(study)["answer"] == 0


def test_images_are_searched_by_an_encoder_and_embedded_once(painted: Study, tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = f"exact(encoder=colours(log={str(log)!r}))"
    done = sightline.retrieve(painted, "dense", engine, collection="paints", k=10)
    assert ranked(painted, "dense") == {
        # A zero cosine is an answer too, after all that share a colour; ties by the order of the collection.
        "r": ["rose", "grape", "sea", "leaf"],
        "b": ["sea", "grape", "rose", "leaf"],
        "g": ["leaf", "rose", "grape", "sea"],
    }
    assert (done.answers, done.empty, dict(done.unread)) == (12, 0, {})
    first = sorted(log.read_text().splitlines())
    assert first == ["image 4", "text 3"]
    # The captions are other texts; the prompts and images are known.
    sightline.retrieve(painted, "other", engine, collection="paints", k=2)
    sightline.retrieve(painted, "text", engine.replace("exact", "text_only"), collection="paints", k=2)
    # "red", "blue" and "green" stand in captions and prompts alike: what is left are the other three.
    assert sorted(log.read_text().splitlines()) == [*first, "text 3"]


def test_a_file_that_is_gone_is_counted_and_no_answer(painted: Study) -> None:
    images = reading.images(painted)
    sha = images.filter(pl.col("name") == "sea")["sha256"][0]
    (painted.home / "images" / sha[:2] / sha).unlink()
    done = sightline.retrieve(painted, "dense", "exact(encoder=colours)", collection="paints", k=10)
    assert "sea" not in ranked(painted, "dense")["b"] and done.answers == 9
    assert sum(done.unread.values()) == 1 and "missing" in next(iter(done.unread))


def test_pictures_are_not_held_in_memory(painted: Study) -> None:
    from sightline.systems.retrieve import candidates_of

    picture = candidates_of(painted, "paints").pictures[0]
    assert picture is not None and picture.rgb[0, 0].tolist() == [255, 0, 0]
    assert picture._rgb is None and picture._data == b""


def test_a_picture_is_decoded_once(painted: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    retrieving = import_module("sightline.systems.retrieve")
    real = retrieving.decode

    def counted(data: bytes, name: str) -> np.ndarray:
        decoded.append(name)
        return real(data, name)

    monkeypatch.setattr(retrieving, "decode", counted)
    # An encoder without `prepare`: its pictures are decoded ahead, and it looks at those very pixels.
    sightline.retrieve(painted, "dense", "exact(encoder=colours)", collection="paints")
    assert sorted(decoded) == sorted(reading.images(painted)["sha256"].to_list())
    assert ranked(painted, "dense")["r"][0] == "rose"


def test_captions_alone_are_no_images_to_look_at(study: Study, colours: str) -> None:
    with pytest.raises(DataError, match="none of the images to search has its file"):
        sightline.retrieve(study, "dense", "exact(encoder=colours)", collection="photos")


def test_an_encoder_of_texts_alone_is_refused(painted: Study) -> None:
    with pytest.raises(ExtensionError, match="encodes text, not images"):
        sightline.retrieve(painted, "dense", "exact(encoder=hashed_words)", collection="paints")


def test_a_rephrasing_inherits_the_relevance(painted: Study) -> None:
    key = PromptKey("suite", "r")
    records = [
        Prompt(PromptKey("suite", "r.0"), "something red", links=[("rephrases", key)]),
        Question("relevance", "ordinal", 0, 1, 1),
        Truth("relevance", Item(key, image=ImageKey("paints", "grape")), 1.0),
    ]
    put(painted, records, "more")
    sightline.retrieve(painted, "dense", "exact(encoder=colours)", collection="paints")
    sightline.score(painted, "reciprocal_rank")
    identity = reading.measures(painted)["identity"][0]
    refs = dict(reading.prompts(painted).select("prompt_id", "ref").iter_rows())
    found = {refs[row[0]]: row[3] for row in reading.scores(painted, identity).iter_rows()}
    # The grape is second for "red" and for its rephrasing; of the others nothing is known.
    assert found == {"r": 0.5, "r.0": 0.5, "b": None, "g": None}
