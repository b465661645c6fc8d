"""Rankings and relevance as TREC files: read by another program, and back through our own importers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import sightline
from sightline.data.export import write_table
from sightline.errors import DataError, UsageError
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
from sightline.study import listing
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

Q1, Q2 = PromptKey("queries", "q1"), PromptKey("queries", "q2")


def photo(name: str) -> ImageKey:
    return ImageKey("photos", name)


def records() -> Iterator[Record]:
    yield Question("relevance", "ordinal", 0, 2, 1)
    yield Prompt(Q1, "a dog")
    yield Prompt(Q2, "a cat\tand a tab")
    yield from (System("clip/b", "retriever", "photos"), System("words", "retriever", "photos"))
    for place, (name, score) in enumerate([("z", 0.9), ("a", 0.3), ("m", -1e-5)]):
        yield Answer(Q1, "clip/b", place, photo(name), score)
    yield Answer(Q2, "clip/b", 0, photo("a"), 0.5)
    # Tied: a program that sorts by score would put m before z, or the other way round.
    yield Answer(Q1, "words", 0, photo("z"), 1.0)
    yield Answer(Q1, "words", 1, photo("m"), 1.0)
    yield Answer(Q2, "words", 0, None, failure="no word is known")
    yield Answer(Q1, "paint", 0, ImageKey("painted", "with space.png"))
    yield Truth("relevance", Item(Q1, image=photo("a")), 2)
    yield Truth("relevance", Item(Q1, image=photo("m")), 0)
    yield Truth("relevance", Item(Q2, image=photo("a")), 1)
    yield Truth("relevance", Item(Q1), 0.4)
    yield Truth("fit", Item(Q1, image=photo("a")), 0.25)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        load(made, records(), importer="t", path="t", digest="t")
        yield made


def test_the_files(study: Study, tmp_path: Path) -> None:
    told = sightline.export(study, tmp_path / "out", form="trec")
    out = tmp_path / "out"
    assert (out / "clip_b.run").read_text().splitlines() == [
        "q1 Q0 z 1 0.9 clip/b",
        "q1 Q0 a 2 0.3 clip/b",
        "q1 Q0 m 3 -1e-05 clip/b",
        "q2 Q0 a 1 0.5 clip/b",
    ]
    # Tied: kept as they are, and in a copy made of ranks.
    assert (out / "words.run").read_text().splitlines() == ["q1 Q0 z 1 1.0 words", "q1 Q0 m 2 1.0 words"]
    assert (out / "words.untied.run").read_text().splitlines() == ["q1 Q0 z 1 2 words", "q1 Q0 m 2 1 words"]
    assert (out / "qrels.txt").read_text().splitlines() == ["q1 0 a 2", "q1 0 m 0", "q2 0 a 1"]
    assert (out / "topics.tsv").read_text() == "q1\ta dog\nq2\ta cat\tand a tab\n"
    runs = {"clip_b.run": 4, "words.run": 2, "words.untied.run": 2}
    assert told.rows == {**runs, "qrels.txt": 3, "topics.tsv": 2}
    assert [note.split(" ")[0] for note in told.notes] == ["1", "1", "The"]
    assert "scores of words tie somewhere" in told.notes[2]
    assert sorted(path.name for path in out.iterdir()) == sorted([*told.rows, "notes.txt"])


def test_they_come_back(study: Study, tmp_path: Path) -> None:
    sightline.export(study, tmp_path / "out", form="trec")
    options = {"suite": "queries", "collection": "photos"}
    with create_study(tmp_path / "back") as back:
        for file, importer in (
            ("clip_b.run", "trec_run"),
            ("words.run", "trec_run"),
            ("qrels.txt", "trec_qrels"),
        ):
            told = sightline.import_(back, tmp_path / "out" / file, options=options)
            assert told.layout.partition("(")[0] == importer
        columns = [
            "suite",
            "prompt_id",
            "prompt",
            "system",
            "kind",
            "position",
            "collection",
            "image",
            "score",
        ]
        ranked = (pl.col("kind") == "retriever") & pl.col("image").is_not_null()
        before = listing.named_answers(study)[0].filter(ranked).select(columns).sort(columns)
        after = listing.named_answers(back)[0].select(columns).sort(columns)
        assert after.equals(before)
        subject = ["suite", "prompt_id", "collection", "image", "value", "rule"]
        wanted = listing.named_truths(study).filter(pl.col("image").is_not_null(), question="relevance")
        assert (
            listing.named_truths(back)
            .select(subject)
            .sort(subject)
            .equals(wanted.select(subject).sort(subject))
        )


def test_trec_eval_agrees_on_the_order(study: Study, tmp_path: Path) -> None:
    trec_eval = pytest.importorskip("pytrec_eval")
    sightline.export(study, tmp_path / "out", form="trec")
    with (tmp_path / "out" / "qrels.txt").open() as file:
        judged = trec_eval.parse_qrel(file)
    found = {}
    for name in ("clip_b", "words.untied"):
        with (tmp_path / "out" / f"{name}.run").open() as file:
            run = trec_eval.parse_run(file)
        found[name] = trec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(run)["q1"]["recip_rank"]
    # q1: the one relevant image, a, is second of clip/b and not among those of words.
    assert found == {"clip_b": 0.5, "words.untied": 0.0}


def test_suites_and_collections_apart(tmp_path: Path) -> None:
    other = PromptKey("more", "q1")
    extra: list[Record] = [
        Prompt(other, "a dog\nin two lines"),
        Answer(other, "words", 0, ImageKey("x/y", "a"), 3.0),
    ]
    with create_study(tmp_path / "s") as study:
        load(study, [*records(), *extra], importer="t", path="t", digest="t")
        told = sightline.export(study, tmp_path / "out", form="trec")
    assert told.rows["more/x_y/words.run"] == 1
    assert (tmp_path / "out" / "queries" / "photos" / "qrels.txt").is_file()
    assert "more/x_y/topics.tsv" not in told.rows
    assert any("does not fit a line" in note for note in told.notes)


def test_systems_whose_names_are_alike_as_files(tmp_path: Path) -> None:
    names = ["A", "a", "a/b", "a:b", "..", "../up"]
    told = [System(name, "retriever", "photos") for name in names]
    answers = [Answer(Q1, name, 0, photo("a"), 1.0) for name in names]
    given: list[Record] = [*told, Prompt(Q1, "a dog"), *answers]
    with create_study(tmp_path / "s") as study:
        load(study, given, importer="t", path="t", digest="t")
        sightline.export(study, tmp_path / "out", form="trec")
    runs = list((tmp_path / "out").glob("*.run"))
    assert sorted(path.read_text().split()[-1] for path in runs) == sorted(names)
    assert len({path.name.lower() for path in runs}) == len(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "s"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([Answer(Q2, "clip/b", 1, photo("a b"), 0.1)], "image 'a b' has white space"),
        ([Answer(Q2, "two words", 0, photo("a"))], ""),
        ([Prompt(PromptKey("queries", "q\u00a03"), "x"),
          Answer(PromptKey("queries", "q\u00a03"), "clip/b", 0, photo("a"), 1)], "prompt id .* white space"),
        ([Truth("relevance", Item(Q2, image=photo("m")), 0.5)], "0.5 of image 'm' for prompt 'q2'"),
    ],
)  # fmt: skip
def test_what_trec_cannot_hold(more: list[Record], said: str, study: Study, tmp_path: Path) -> None:
    load(study, more, importer="t", path="u", digest="u")
    if not said:
        # A generator's name is not written, so it may be as it likes.
        assert sightline.export(study, tmp_path / "out", form="trec").files
        return
    with pytest.raises(DataError, match=said) as caught:
        sightline.export(study, tmp_path / "out", form="trec")
    assert caught.value.remedy
    assert not (tmp_path / "out").exists()


def test_nothing_to_rank(tmp_path: Path, study: Study) -> None:
    with create_study(tmp_path / "s") as bare:
        load(bare, [Prompt(Q1, "a dog"), Image(photo("a"))], importer="t", path="t", digest="t")
        with pytest.raises(DataError, match="neither a ranking"):
            sightline.export(bare, tmp_path / "out", form="trec")
    with pytest.raises(DataError, match=r"0\.25 of image 'a'"):
        sightline.export(study, tmp_path / "out", form="trec(question=fit)")
    told = sightline.export(study, tmp_path / "out", form="trec(question='other')")
    assert "qrels.txt" not in told.rows and "words.run" in told.rows


def test_one_table_is_no_trec_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nameless"):
        write_table(pl.DataFrame({"x": [1]}), tmp_path / "file")
