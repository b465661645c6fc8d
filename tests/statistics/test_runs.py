"""Runs as columns: orders, gains and measures compared with trec_eval on random and adversarial runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics import runs
from sightline.statistics.rankings import count_relevant, find_hits, ndcg_graded

BINARY = {
    "P_5": lambda hits: hits.precision(5),
    "recall_5": lambda hits: hits.recall(5),
    "success_5": lambda hits: hits.hit_rate(5),
    "recip_rank": lambda hits: hits.reciprocal_rank(),
    "Rprec": lambda hits: hits.r_precision(),
    "map": lambda hits: hits.average_precision(),
    "map_cut_5": lambda hits: hits.average_precision(5),
}
NAMES = {"P_5": "P.5", "recall_5": "recall.5", "success_5": "success.5", "map_cut_5": "map_cut.5"}


class Columns:
    """The dictionaries that trec_eval reads as our columns, rows shuffled so that nothing rests on order."""

    def __init__(self, qrels, run, seed=0):
        self.queries = sorted(run)
        docs = sorted({d for row in (*qrels.values(), *run.values()) for d in row}, key=str.encode)
        number = {doc: n for n, doc in enumerate(docs)}
        rows = [
            (q, n, number[doc], score)
            for q, name in enumerate(self.queries)
            for n, (doc, score) in enumerate(run[name].items())
        ]
        np.random.default_rng(seed).shuffle(rows)
        query, position, image = (np.array([row[c] for row in rows], dtype=np.int64) for c in (0, 1, 2))
        score = np.array([row[3] for row in rows], dtype=np.float64)
        self.order = runs.order(query, position, score, image, ties="trec")
        query, self.image = query[self.order], image[self.order]
        self.offsets = np.searchsorted(query, np.arange(len(self.queries) + 1))
        judged = [
            (q, number[doc], grade)
            for q, name in enumerate(self.queries)
            for doc, grade in qrels.get(name, {}).items()
        ]
        table = np.array(judged, dtype=np.int64).reshape(-1, 3)
        self.gain = runs.gains(query, self.image, table[:, 0], table[:, 1], table[:, 2])
        self.truth = table[:, 2].astype(float)
        self.truth_offsets = np.searchsorted(table[:, 0], np.arange(len(self.queries) + 1))

    def binary(self, name, min_rel):
        relevant = count_relevant(self.truth, self.truth_offsets, min_rel=min_rel)
        return BINARY[name](find_hits(self.gain, self.offsets, relevant, min_rel=min_rel))

    def graded(self, k):
        return ndcg_graded(self.gain, self.offsets, self.truth, self.truth_offsets, k=k)


def compare_with_trec_eval(qrels, run, min_rel=1):
    ours = Columns(qrels, run)
    wanted = {NAMES.get(name, name) for name in BINARY} | {"ndcg", "ndcg_cut.5"}
    # trec_eval's ndcg reads past its memory where all grades of a query are negative: it never sees those.
    sane = {query: grades for query, grades in qrels.items() if grades and max(grades.values()) >= 0}
    theirs = pytrec_eval.RelevanceEvaluator(sane, wanted, relevance_level=min_rel).evaluate(run)
    for name in (*BINARY, "ndcg", "ndcg_cut_5"):
        graded = name.startswith("ndcg")
        found = ours.graded(5 if "cut" in name else None) if graded else ours.binary(name, min_rel)
        for query, value in zip(ours.queries, found, strict=True):
            least = 1 if graded else min_rel
            if any(grade >= least for grade in qrels.get(query, {}).values()):
                assert value == pytest.approx(theirs[query][name], abs=1e-9), (name, query)
            else:
                # trec_eval says 0 or leaves the query out; nothing can be said, so we say nothing.
                assert np.isnan(value)


# Scores that are equal in single precision only, at both zeros, beyond its range, or below its smallest.
SCORES = st.sampled_from(
    [0.1, 0.1 + 1e-9, 0.3, 0.3 + 1e-7, 0.0, -0.0, -2.5, 7.0, 1e300, 2e300, 1e-300, 16777217.0]
)
DOCS = st.sampled_from(["a", "b", "B", "a1", "a10", "a2", "\u00e9", "z", "\u732b", "doc-1", "doc_1", "~"])
GRADES = st.sampled_from([-2, -1, 0, 1, 2, 3])
QUERIES = st.sampled_from(["q1", "q2", "q3", "q10"])


@given(
    st.dictionaries(QUERIES, st.dictionaries(DOCS, GRADES, min_size=1)),
    st.dictionaries(QUERIES, st.dictionaries(DOCS, SCORES, min_size=1), min_size=1),
    st.sampled_from([1, 2]),
)
def test_as_trec_eval_on_adversarial_runs(qrels, run, min_rel):
    compare_with_trec_eval(qrels, run, min_rel)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distinct", [2, 10, 10_000])
def test_as_trec_eval_on_random_runs(seed, distinct):
    """60 queries of up to 80 images; few distinct scores make nearly every place a tie."""
    rng = np.random.default_rng([seed, distinct])
    qrels, run = {}, {}
    for q in range(60):
        names = [f"img{n}" for n in rng.permutation(200)]
        length = rng.integers(1, 80)
        scores = (rng.integers(0, distinct, length) / 7).tolist()
        run[f"q{q}"] = dict(zip(names[:length], scores, strict=True))
        judged = rng.permutation(names)[: rng.integers(1, 120)]
        # Every tenth query is judged only on what was not retrieved, every eleventh not at all.
        pool = [n for n in judged if q % 10 or n not in run[f"q{q}"]]
        if q % 11:
            qrels[f"q{q}"] = {str(n): int(rng.integers(-1, 4)) for n in pool}
    compare_with_trec_eval(qrels, run)


def test_ties_by_hand():
    # Names order as 0 < 1 < 2; scores 5, 5, 4 at positions 0, 1, 2. Two are tied: the later name goes first.
    for score, ties, expected in (
        ([5.0, 5.0, 4.0], "given", [0, 1, 2]),
        ([5.0, 5.0, 4.0], "name", [1, 0, 2]),
        ([5.0, 5.0, 4.0], "trec", [1, 0, 2]),
        # A difference that single precision cannot hold is a tie for trec_eval alone.
        ([0.5 + 1e-12, 0.5, 0.4], "name", [0, 1, 2]),
        ([0.5 + 1e-12, 0.5, 0.4], "trec", [1, 0, 2]),
        # Distances increase: positions stay as given, and "trec" reverses them.
        ([1.0, 2.0, 2.0], "name", [0, 2, 1]),
        ([1.0, 2.0, 2.0], "trec", [2, 1, 0]),
    ):
        assert runs.order([0, 0, 0], [0, 1, 2], score, [0, 1, 2], ties=ties).tolist() == expected


def test_rankings_without_scores_keep_their_positions():
    nan = float("nan")
    query, position = [1, 0, 0, 1], [0, 1, 0, 1]
    for ties in runs.TIES:
        assert runs.order(query, position, [nan] * 4, [3, 2, 1, 0], ties=ties).tolist() == [2, 1, 0, 3]
    # One score is missing: the scores cannot order that ranking.
    assert runs.order([0, 0], [0, 1], [nan, 9.0], [0, 1], ties="trec").tolist() == [0, 1]
    assert runs.order([], [], [], []).size == 0
    with pytest.raises(ValueError, match="coin"):
        runs.order([0], [0], [1.0], [0], ties="coin")
    with pytest.raises(ValueError, match="equal length"):
        runs.order([0], [0], [1.0, 2.0], [0])


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.0]), st.integers(0, 9)), max_size=30
)


@given(ROWS, st.randoms())
def test_the_order_does_not_depend_on_that_of_the_rows(rows, random):
    """Given falling scores, "name" and "trec" are the plain sort by query, falling score, falling name."""
    once = {(q, name): (q, s, name) for q, s, name in rows}.values()
    ranked = [(*row, n) for n, row in enumerate(sorted(once, key=lambda r: (r[0], -r[1], r[2])))]
    expected = sorted(ranked, key=lambda r: (r[0], -r[1], -r[2]))
    random.shuffle(ranked)
    query, score, name, position = ([row[c] for row in ranked] for c in range(4))
    for ties in ("name", "trec"):
        found = runs.order(query, position, score, name, ties=ties)
        assert [ranked[n][:3] for n in found] == [row[:3] for row in expected]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=40),
    st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 40)), st.integers(-1, 3), max_size=40),
)
def test_gains_are_looked_up(pairs, judged):
    keys = list(judged)
    found = runs.gains(
        [q for q, _ in pairs], [i for _, i in pairs], [q for q, _ in keys], [i for _, i in keys],
        list(judged.values()),
    )  # fmt: skip
    expected = [judged.get(pair, np.nan) for pair in pairs]
    assert np.array_equal(found, np.array(expected, dtype=float), equal_nan=True)


def test_keys_that_share_their_last_bits_are_told_apart():
    # Query 1, image 0 has the key 2^22, which is 0 in the sieve, as query 0, image 0 has.
    width = runs.SIEVE
    found = runs.gains([0, 1, 1], [0, 0, width - 1], [0, 1], [0, width - 1], [3.0, 2.0])
    assert np.array_equal(found, [3.0, np.nan, 2.0], equal_nan=True)
    with pytest.raises(ValueError, match="judged twice"):
        runs.gains([0], [0], [0, 0], [1, 1], [1, 2])


def test_first_places_and_counts_of_judged():
    first = runs.first_places([0, 0, 0, 1, 1], [7, 8, 7, 7, 7])
    assert first.tolist() == [True, True, False, True, False]
    # Query 0: 1, nan, 0; query 1: nothing; query 2: nan, 2.
    for k, judged, of in ((2, [1, 0, 1], [2, 0, 2]), (None, [2, 0, 1], [3, 0, 2])):
        counted = runs.count_judged([1, np.nan, 0, np.nan, 2], [0, 3, 3, 5], k=k)
        assert (counted.judged.tolist(), counted.of.tolist()) == (judged, of)
    with pytest.raises(ValueError, match="k is 0"):
        runs.count_judged([1], [0, 1], k=0)


TOPS = st.dictionaries(st.integers(0, 4), st.sets(st.integers(0, 8), min_size=1, max_size=6), max_size=4)


@given(TOPS, TOPS)
def test_overlap_is_jaccards(first, second):
    columns = [
        list(itertools.chain.from_iterable(made))
        for tops in (first, second)
        for made in (([q] * len(images) for q, images in tops.items()), tops.values())
    ]
    queries, found = runs.overlap(*columns)
    both = sorted(first.keys() & second.keys())
    assert queries.tolist() == both
    assert found == pytest.approx([len(first[q] & second[q]) / len(first[q] | second[q]) for q in both])
