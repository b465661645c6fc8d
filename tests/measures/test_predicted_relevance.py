"""Predicted relevance: learned from other queries only, and worth something on our own runs over Flickr8k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sightline
from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.measures.predicted_relevance import FEATURES, PredictedRelevance, _examples, _first
from sightline.measures.predicted_relevance import predicted_relevance as predicted
from sightline.measures.rankings import rankings_of
from sightline.measures.score import score
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
from sightline.statistics.correlation import kendall
from sightline.statistics.expected_precision import expected_reciprocal_rank
from sightline.study import reading
from sightline.study.running.embedding import Cached, loaded_over
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

ASKED = 120


@pytest.fixture(scope="module")
def flickr(flickr8k: Callable[..., AbstractContextManager[Study]]) -> Iterator[Study]:
    """120 captions asked of the 400 images by two engines; each has its own image for relevant."""
    with flickr8k(ASKED, judged=True) as study:
        for name, engine in (("words", "bm25"), ("hashed", "text_only")):
            sightline.retrieve(study, name, engine, collection="flickr8k", k=30, without_own=True)
        yield study


def predicted_relevance(
    study: Study, *, encoder: str = "hashed_words", depth: int = 25, folds: int = 5, seed: int = 0
) -> PredictedRelevance:
    context = rankings_of(study).context
    predictor = loaded_over(study, registry.configure("predictor", "logistic"))
    similar = Cached(study, registry.configure("encoder", encoder))
    return predicted(context, predictor, similar, depth=depth, min_rel=1.0, folds=folds, seed=seed)


def models() -> tuple[object, object]:
    predictor = registry.configure("predictor", "logistic").load()
    return predictor, registry.configure("encoder", "hashed_words").load()


def test_it_tells_how_early_the_relevant_image_comes(flickr: Study) -> None:
    done = predicted_relevance(flickr, depth=25)
    assert done.learned_from == 2 * ASKED * 25 and 0 < done.relevant <= 2 * ASKED
    seen = np.isfinite(done.probability)
    assert seen.sum() == done.learned_from
    assert done.probability[seen].min() >= 0 and done.probability[seen].max() <= 1
    # As many as are predicted are relevant: the share of relevant images among those looked at.
    assert done.probability[seen].mean() == pytest.approx(done.relevant / done.learned_from, rel=0.2)
    score(flickr, "expected_reciprocal_rank")
    ranked = rankings_of(flickr)
    told = ranked.values(find_measure("expected_reciprocal_rank"))
    truth = ranked.values(find_measure("reciprocal_rank"))
    both = told.join(truth, on=["prompt_id", "system_id"], suffix="_true")
    assert both.height == 2 * ASKED
    agreement = kendall(both["value"], both["value_true"])
    assert agreement.value is not None and agreement.value > 0.15
    # The measure is the formula over these very probabilities.
    first = np.where(seen, done.probability, 0.0)
    by_hand = expected_reciprocal_rank(first, done.offsets, k=25)
    kept = reading.scores(flickr, find_measure("expected_reciprocal_rank").identity)
    pairs = zip(done.prompt.tolist(), done.system.tolist(), strict=True)
    order = {pair: n for n, pair in enumerate(pairs)}
    for prompt, system, value in kept.select("prompt_id", "system_id", "value").iter_rows():
        assert value == pytest.approx(by_hand[order[prompt, system]])


def test_what_is_judged_of_a_query_never_reaches_its_own_prediction(flickr: Study) -> None:
    """All gains of one fold's queries are turned around: what is predicted of them stays."""
    context = rankings_of(flickr).context
    settings = {"depth": 10, "min_rel": 1.0, "folds": 4, "seed": 0}
    before = predicted(context, *models(), **settings)
    own = before.fold == 2
    assert own.any()
    table = context.table
    context.table = replace(table, gains=np.where(own, 1 - np.nan_to_num(table.gains), table.gains))
    try:
        after = predicted(context, *models(), **settings)
    finally:
        context.table = table
    np.testing.assert_allclose(after.probability[own], before.probability[own], rtol=1e-6)
    others = (before.fold >= 0) & ~own
    assert not np.allclose(after.probability[others], before.probability[others])


def test_all_answers_to_a_query_are_in_one_fold(flickr: Study) -> None:
    done = predicted_relevance(flickr, depth=5, folds=3, seed=1)
    owner = np.repeat(done.prompt, np.diff(done.offsets))
    seen = np.isfinite(done.probability)
    folds = pl.DataFrame({"prompt": owner[seen], "fold": done.fold[seen]}).group_by("prompt").n_unique()
    assert folds["fold"].max() == 1
    again = predicted_relevance(flickr, depth=5, folds=3, seed=1)
    np.testing.assert_allclose(again.probability, done.probability, rtol=1e-6)


def small(tmp_path: Path, judged: int = 3) -> Study:
    """Four queries; a's rephrasing shares its relevance; the fourth was judged by nobody."""
    key = {name: PromptKey("s", name) for name in "abcd"}
    image = {name: ImageKey("c", name) for name in ("dog", "cat", "sea")}
    records: list[Record] = [
        Prompt(key["a"], "a dog"),
        Prompt(key["b"], "the dog", links=[("rephrases", key["a"])]),
        Prompt(key["c"], "cat"),
        Prompt(key["d"], "sea"),
        Image(image["dog"], captions=["a dog", "brown dog"]),
        Image(image["cat"], captions=["one cat"]),
        Image(image["sea"]),
        System("run", "retriever", "c"),
        Question("relevance", "ordinal", 0, 1, 1),
    ]
    for name in "abcd":
        for place, (shown, told) in enumerate(zip(("dog", "cat", "sea"), (3.0, 2.0, 1.0), strict=True)):
            records.append(Answer(key[name], "run", place, image[shown], told))
    truths = [("a", "dog"), ("c", "cat")][: judged - 1]
    records += [Truth("relevance", Item(key[q], image=image[i]), 1.0) for q, i in truths]
    study = create_study(tmp_path / "small")
    load(study, records, importer="test", path="test", digest="1")
    return study


def test_what_is_known_of_a_query_and_an_image_by_hand(tmp_path: Path) -> None:
    with small(tmp_path) as study:
        context = rankings_of(study).context
        encoder = registry.configure("encoder", "hashed_words").load()
        x = _examples(context, _first(context, 3), encoder)
        assert tuple(x.feature_names) == FEATURES and x.features.shape == (12, 5)
        # Scores 3, 2, 1 of every ranking: mean 2, deviation sqrt(2/3).
        sigma = np.sqrt(2 / 3)
        first = x.features[:3]
        assert first[:, 0] == pytest.approx(np.array([1, 0, -1]) / sigma)
        assert first[:, 1] == pytest.approx(np.array([0, -1, -2]) / sigma)
        assert first[:, 2] == pytest.approx([1, 1 / 2, 1 / 3])
        vectors = encoder.text(["a dog", "brown dog", "one cat"])
        # "a dog" is itself a caption of the dog: the nearest other one is "brown dog"; the sea has none.
        assert first[:2, 3] == pytest.approx([vectors[0] @ vectors[1], vectors[0] @ vectors[2]], abs=1e-6)
        assert np.isnan(first[2, 3]) and np.isnan(first[:, 4]).all()


def test_rephrasings_are_one_family(tmp_path: Path) -> None:
    with small(tmp_path) as study:
        done = predicted_relevance(study, depth=3, folds=5)
        by_query = done.fold.reshape(4, 3)
        assert (by_query[0] == by_query[1]).all() and by_query[0, 0] != by_query[2, 0]
        # Nobody judged the fourth: it is predicted by all that is known.
        assert (by_query[3] == -1).all() and np.isfinite(done.probability.reshape(4, 3)[3]).all()


def test_prompts_of_the_same_words_are_one_family(tmp_path: Path) -> None:
    """Twins of another suite, one judged and one not: what is known of the first predicts neither."""
    with small(tmp_path) as study:
        twins = {"judged": PromptKey("t", "judged"), "unjudged": PromptKey("t", "unjudged")}
        dog = ImageKey("c", "dog")
        records: list[Record] = [Prompt(twins["judged"], "Cat"), Prompt(twins["unjudged"], " cat ")]
        records += [Answer(key, "run", 0, dog, 3.0) for key in twins.values()]
        records.append(Truth("relevance", Item(twins["judged"], image=dog), 1.0))
        load(study, records, importer="test", path="twins", digest="2")
        ids = dict(reading.prompts(study).select("ref", "prompt_id").iter_rows())
        for seed in range(5):
            done = predicted_relevance(study, depth=1, folds=2, seed=seed)
            fold = dict(zip(done.prompt.tolist(), done.fold[done.offsets[:-1]].tolist(), strict=True))
            assert fold[ids["c"]] == fold[ids["judged"]] == fold[ids["unjudged"]] != fold[ids["a"]]
            assert fold[ids["a"]] == fold[ids["b"]] and fold[ids["d"]] == -1
            assert done.learned_from == 4


def test_too_little_is_said(tmp_path: Path) -> None:
    with small(tmp_path, judged=2) as study:
        with pytest.raises(DataError, match="fewer than 2 queries"):
            predicted_relevance(study)
        with pytest.raises(UsageError, match="1 folds"):
            predicted_relevance(study, folds=1)
        with pytest.raises(UsageError, match="depth is 0"):
            predicted_relevance(study, depth=0)


def test_images_count_where_the_encoder_sees_them(eyes: Study) -> None:
    context = rankings_of(eyes).context
    encoder = registry.configure("encoder", "colours").load()
    x = _examples(context, _first(context, 3), encoder)
    # Rose is all red, grape red and blue: cosines 1 and sqrt(1/2); the third has nothing of red.
    assert x.features[:3, 4] == pytest.approx([1, np.sqrt(0.5), 0], abs=1e-6)
    assert [len(mine) for mine in x.pictures] == [1] * 9
    done = predicted_relevance(eyes, encoder="colours", depth=3, folds=3)
    assert (done.probability.reshape(3, 3).argmax(axis=1) == 0).all()


def test_a_network_on_the_joint_embedding_tells_relevance_too(eyes: Study) -> None:
    network = "image_text_head(encoder=colours, loss=chances, epochs=3)"
    spec = f"expected_precision(k=3, predictor={network}, encoder=colours, folds=3)"
    (ran,) = score(eyes, spec).runs
    assert (ran.computed, dict(ran.reasons)) == (3, {})
    kept = reading.scores(eyes, find_measure(spec).identity)
    assert kept["value"].min() >= 0 and kept["value"].max() <= 1
