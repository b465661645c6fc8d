"""Rankings without judgements: their scores, captions, engines asked again; on our own runs over Flickr8k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sqlalchemy import text

import sightline
from sightline import registry
from sightline.errors import DataError
from sightline.measures.ranking_context import NO_VECTOR, NOT_OURS, ONE_WORD, fewer_words
from sightline.measures.ranking_scores import stale_rankings
from sightline.measures.rankings import rankings_of
from sightline.measures.score import score
from sightline.records import Answer, Candidates, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.registry import find_measure
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load, undo

ASKED = 40


@pytest.fixture(scope="module")
def flickr(flickr8k: Callable[..., AbstractContextManager[Study]]) -> Iterator[Study]:
    """The 400 images with their captions, 40 first captions as prompts, and nothing judged at all."""
    with flickr8k(ASKED, judged=False) as study:
        for name, engine, k in (
            ("tfidf", "caption_words", 50),
            ("bm25", "bm25", 50),
            ("hashed", "text_only", 50),
            ("deep", "caption_words", 400),
        ):
            hides = name == "hashed"
            sightline.retrieve(study, name, engine, collection="flickr8k", k=k, without_own=hides)
        yield study


def kept(study: Study, measure: str, system: str) -> pl.DataFrame:
    """What a measure gave a system."""
    score(study, measure)
    scores = reading.scores(study, registry.find_measure(measure).identity)
    return scores.join(reading.systems(study).filter(system=system), on="system_id", how="semi")


def values(study: Study, measure: str, system: str) -> dict[int, float]:
    """What was kept of a measure, by prompt."""
    known = kept(study, measure, system).drop_nulls("value")
    return dict(known.select("prompt_id", "value").iter_rows())


def reasons(study: Study, measure: str, system: str) -> set[str]:
    return set(kept(study, measure, system)["reason"].drop_nulls().to_list())


def ranked_scores(study: Study, system: str) -> dict[int, np.ndarray]:
    told = reading.answers(study, "retriever").filter(pl.col("system") == system)
    return {
        int(key[0]): rows.sort("position")["score"].drop_nulls().to_numpy()  # type: ignore[call-overload]
        for key, rows in told.group_by("prompt_id")
    }


def test_statistics_of_real_runs_are_numpys(flickr: Study) -> None:
    texts = dict(reading.prompts(flickr).select("prompt_id", "text").iter_rows())
    for system in ("tfidf", "bm25", "hashed"):
        runs = ranked_scores(flickr, system)
        assert len(runs) == ASKED
        spread, commitment, gain = (
            values(flickr, name, system) for name in ("score_variance@30", "nqc@30", "wig@5")
        )
        assert set(spread) == set(runs)
        for key, scores in runs.items():
            assert spread[key] == pytest.approx(np.var(scores[:30]))
            assert commitment[key] == pytest.approx(np.std(scores[:30]) / scores.mean())
            # All captions here are of plain words, set apart by spaces and full stops.
            words = len(texts[key].replace(".", " ").replace(",", " ").replace("-", " ").split())
            if "'" not in texts[key] and '"' not in texts[key]:
                assert gain[key] == pytest.approx((scores[:5].mean() - scores.mean()) / np.sqrt(words))


def test_no_judgement_is_needed_and_none_is_missed(flickr: Study) -> None:
    with pytest.raises(DataError, match="rankings need relevant images"):
        score(flickr, "ndcg@10")
    (ran,) = score(flickr, "nqc@100").runs
    assert (ran.computed, dict(ran.reasons), ran.notes) == (4 * ASKED, {}, [])
    assert stale_rankings(flickr) == []


def test_the_collection_is_asked_for_its_score(flickr: Study) -> None:
    """A run of 400 over 400 images has all that can be found; words that are not shared score 0."""
    whole = {key: scores.sum() / 400 for key, scores in ranked_scores(flickr, "deep").items()}
    told = values(flickr, "nqc(k=30, against=collection)", "tfidf")
    for key, scores in ranked_scores(flickr, "tfidf").items():
        assert told[key] == pytest.approx(np.std(scores[:30]) / whole[key])
    gain = values(flickr, "wig(k=5, against=collection)", "tfidf")
    assert all(gain[key] > 0 for key in gain)


def test_the_collection_score_of_vectors_is_their_mean_cosine(flickr: Study) -> None:
    encoder = registry.configure("encoder", "hashed_words").load()
    texts = dict(reading.prompts(flickr).select("prompt_id", "text").iter_rows())
    captions = reading.captions(flickr)
    told = values(flickr, "nqc(k=30, against=collection)", "hashed")
    spread = values(flickr, "score_variance@30", "hashed")
    # The run left out what the queries themselves say, so the mean over images must too.
    others = captions.filter(~pl.col("caption").is_in(list(texts.values())))
    for key in list(texts)[:5]:
        cosines = encoder.text(others["caption"].to_list()) @ encoder.text([texts[key]])[0]
        best = others.with_columns(cosine=cosines).group_by("image_id").agg(pl.col("cosine").max())
        assert told[key] == pytest.approx(np.sqrt(spread[key]) / best["cosine"].mean(), rel=1e-4)


@pytest.mark.slow
def test_a_nudge_of_nothing_changes_nothing_and_a_shove_does(flickr: Study) -> None:
    still = values(flickr, "query_robustness(k=20, share=1e-06, draws=1)", "hashed")
    assert set(still.values()) == {1.0} and len(still) == ASKED
    some = values(flickr, "query_robustness(k=20, share=0.3, draws=2)", "hashed")
    more = values(flickr, "query_robustness(k=20, share=1.0, draws=2)", "hashed")
    assert np.mean(list(more.values())) < np.mean(list(some.values())) - 0.05 < 0.95
    assert values(flickr, "query_robustness(k=20, share=0.3, draws=2)", "hashed") == some
    assert values(flickr, "query_robustness(k=20, share=0.3, draws=2, seed=5)", "hashed") != some
    assert reasons(flickr, "query_robustness(k=20, share=0.3, draws=2)", "bm25") == {NO_VECTOR}


def test_words_left_out_by_hand(flickr: Study) -> None:
    """The overlap is that of the run with what the engine finds for the words that are left."""
    texts = dict(reading.prompts(flickr).select("prompt_id", "text").iter_rows())
    told = values(flickr, "query_robustness(k=20, noise=words, share=0.4, draws=1, seed=3)", "bm25")
    images = reading.images(flickr).sort("image_id")
    captions: dict[int, list[str]] = {}
    for key, caption in reading.captions(flickr).select("image_id", "caption").iter_rows():
        captions.setdefault(key, []).append(caption)
    ids = images["image_id"].to_list()
    candidates = Candidates(
        [ImageKey("flickr8k", name) for name in images["name"]], [captions[key] for key in ids], [None] * 400
    )
    engine = registry.configure("retriever", "bm25").load()
    answers = reading.answers(flickr, "retriever").filter(pl.col("system") == "bm25").sort("position")
    for key in list(texts)[:5]:
        fewer = Prompt(PromptKey("s", "x"), fewer_words(texts[key], 0.4, 3))
        (found,), _ = engine(candidates, [fewer], 20)
        again = {ids[n] for n in found if n >= 0}
        before = set(answers.filter(pl.col("prompt_id") == key)["image_id"].to_list()[:20])
        assert told[key] == pytest.approx(len(again & before) / len(again | before))


@given(st.text(alphabet="ab ", min_size=1), st.floats(0.01, 1), st.integers(0, 5))
def test_some_words_go_and_some_stay(text: str, share: float, seed: int) -> None:
    words = text.split()
    left = fewer_words(text, share, seed)
    if len(words) < 2:
        assert left == text
    else:
        assert 1 <= len(left.split()) < len(words)
        assert fewer_words(text, share, seed) == left


def test_a_run_is_asked_for_no_more_than_it_kept(flickr: Study) -> None:
    """Of 50 kept answers all 50 can come again, though the first 100 are asked for."""
    still = values(flickr, "query_robustness(k=100, share=1e-06, draws=1)", "hashed")
    assert set(still.values()) == {1.0}


def test_clarity_of_captions_by_hand(tmp_path: Path) -> None:
    records: list[Record] = [
        Prompt(PromptKey("s", "1"), "dog"),
        Prompt(PromptKey("s", "2"), "mute"),
        Image(ImageKey("c", "a"), captions=["dog dog"]),
        Image(ImageKey("c", "b"), captions=["cat", "sea"]),
        Image(ImageKey("c", "silent")),
        Image(ImageKey("elsewhere", "x"), captions=["zebra " * 50]),
        System("run", "retriever", "c"),
        Answer(PromptKey("s", "1"), "run", 0, ImageKey("c", "a"), float(np.log(3))),
        Answer(PromptKey("s", "1"), "run", 1, ImageKey("c", "b"), 0.0),
        Answer(PromptKey("s", "2"), "run", 0, ImageKey("c", "silent"), 1.0),
    ]
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        told = values(study, "caption_clarity(own=0.5)", "run")
        # Words of the collection: dog 2, cat 1, sea 1; the first image is trusted three times as much.
        usual = np.array([0.5, 0.25, 0.25])
        spoken = 0.5 * np.array([0.75, 0.125, 0.125]) + 0.5 * usual
        assert told == {1: pytest.approx(entropy(spoken, usual, base=2))}
        assert reasons(study, "caption_clarity(own=0.5)", "run") == {"what was retrieved has no captions"}
        # It was not run here, so nobody knows what else it would have found.
        assert reasons(study, "query_robustness", "run") == {NOT_OURS}
        assert reasons(study, "nqc(against=collection)", "run") == {NOT_OURS}
        assert reasons(study, "engine_overlap", "run") == {"no other engine answered this prompt"}


def test_vectors_of_images_are_asked_again_too(painted: Study) -> None:
    sightline.retrieve(painted, "eyes", "exact(encoder=colours)", collection="paints", k=2)
    still = values(painted, "query_robustness(k=2, share=0.001)", "eyes")
    # Behind the leaf nothing is any greener than the rest: there the least nudge decides.
    assert (still[1], still[2]) == (1, 1) and 1 / 3 < still[3] < 1
    # The cosine of red with rose is 1, with grape sqrt(1/2), with sea and leaf 0.
    first = rankings_of(painted, judged=False)
    assert sorted(first.table.scores[:2].tolist()) == pytest.approx([np.sqrt(0.5), 1])
    told = values(painted, "nqc(k=2, against=collection)", "eyes")
    red, half = 1, np.sqrt(0.5)
    assert told[red] == pytest.approx(np.std([1, half]) / ((1 + half) / 4))
    assert reasons(painted, "query_robustness(noise=words)", "eyes") == {ONE_WORD}


def test_another_engine_makes_overlaps_old_and_no_other_score(painted: Study) -> None:
    sightline.retrieve(painted, "eyes", "exact(encoder=colours)", collection="paints", k=2)
    sightline.retrieve(painted, "words", "caption_words", collection="paints", k=2)
    score(painted, ["engine_overlap@2", "score_variance@2"])
    before = rankings_of(painted, judged=False)
    assert stale_rankings(painted) == []
    more = sightline.retrieve(painted, "bm", "bm25", collection="paints", k=1)
    after = rankings_of(painted, judged=False)
    # What rests on a run alone stands; only the new rankings are still to be scored.
    assert after.hashes("run")[: len(before)] == before.hashes("run")
    assert not set(after.hashes("runs")) & set(before.hashes("runs"))
    assert set(stale_rankings(painted)) == {"engine_overlap(k=2)", "score_variance(k=2)"}
    undo(painted, more.number)
    assert stale_rankings(painted) == []


def test_what_is_said_of_the_collection_makes_what_reads_it_old(eyes: Study) -> None:
    reads = {
        "caption_clarity(k=2)",
        "query_robustness(k=2, draws=1)",
        "nqc(k=2, against=collection)",
        "wig(k=2, against=collection)",
        "expected_precision(k=2, folds=2)",
    }
    score(eyes, [*reads, "nqc(k=2)", "wig(k=2)", "score_variance(k=2)", "precision(k=2)"])
    assert stale_rankings(eyes) == []
    expected = {find_measure(name).short for name in reads}
    # Captions of what no engine searched are read by none.
    elsewhere = Image(ImageKey("other", "x"), captions=["a zebra"])
    load(eyes, [elsewhere], importer="test", path="o", digest="o")
    assert stale_rankings(eyes) == []
    said = load(
        eyes, [Image(ImageKey("paints", "new"), captions=["red"])], importer="test", path="n", digest="n"
    )
    assert {find_measure(name).short for name in stale_rankings(eyes)} == expected
    undo(eyes, said.source_id)
    assert stale_rankings(eyes) == []
    with eyes.engine.begin() as change:
        change.execute(text("UPDATE caption SET text = 'another' WHERE image_id = 1 AND n = 0"))
    assert {find_measure(name).short for name in stale_rankings(eyes)} == expected


def test_a_prompt_that_says_something_else_makes_its_own_scores_old(painted: Study) -> None:
    sightline.retrieve(painted, "eyes", "exact(encoder=colours)", collection="paints", k=2)
    kinds = ("relevance", "run", "everything")
    ranked = rankings_of(painted, judged=False)
    before = {name: ranked.hashes(name) for name in kinds}
    with painted.engine.begin() as change:
        change.execute(text("UPDATE prompt SET text = 'two words' WHERE id = 1"))
    after = {name: rankings_of(painted, judged=False).hashes(name) for name in kinds}
    same = [a == b for a, b in zip(before["run"], after["run"], strict=True)]
    assert same == (ranked.prompt != 1).tolist()
    assert before["relevance"] == after["relevance"]
    assert not set(before["everything"]) & set(after["everything"])


def test_an_engine_that_is_gone_says_so(
    painted: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sightline.retrieve(painted, "eyes", "exact(encoder=colours)", collection="paints", k=2)
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path / "nowhere"))
    (reason,) = reasons(painted, "query_robustness(k=2)", "eyes")
    assert reason.startswith("the engine cannot be run again: there is no encoder called 'colours'")
