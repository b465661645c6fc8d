import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics import rankings as measures
from sightline.statistics.grouping import sum_by

MEASURES = {
    "P_10": lambda g, o, r: measures.precision(g, o, r, k=10),
    "recall_10": lambda g, o, r: measures.recall(g, o, r, k=10),
    "success_5": lambda g, o, r: measures.hit_rate(g, o, r, k=5),
    "recip_rank": measures.reciprocal_rank,
    "Rprec": measures.r_precision,
    "map": measures.average_precision,
    "map_cut_10": lambda g, o, r: measures.average_precision(g, o, r, k=10),
    "ndcg": measures.ndcg,
    "ndcg_cut_10": lambda g, o, r: measures.ndcg(g, o, r, k=10),
}


class Run:
    """Random rankings of up to 40 of 60 images, some unjudged, as our columns and as TREC dictionaries."""

    def __init__(self, seed, queries=50, grades=(0, 1)):
        rng = np.random.default_rng(seed)
        gain, truth, self.lengths, truth_lengths = [], [], [], []
        self.qrels, self.run = {}, {}
        for q in range(queries):
            some = rng.permutation(60)[: rng.integers(1, 30)]
            judged = {int(i): int(rng.choice(grades)) for i in some}
            judged[int(rng.integers(60))] = max(grades)
            ranked = [int(i) for i in rng.permutation(60)[: rng.integers(1, 40)]]
            self.qrels[str(q)] = {str(i): g for i, g in judged.items()}
            self.run[str(q)] = {str(i): float(-rank) for rank, i in enumerate(ranked)}
            gain += [judged.get(i, np.nan) for i in ranked]
            truth += list(judged.values())
            self.lengths.append(len(ranked))
            truth_lengths.append(len(judged))
        self.gain = np.array(gain, dtype=float)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        self.truth = np.array(truth, dtype=float)
        self.truth_offsets = np.concatenate([[0], np.cumsum(truth_lengths)])

    def by_trec(self, name):
        base = name.replace("_10", ".10").replace("_5", ".5")
        found = pytrec_eval.RelevanceEvaluator(self.qrels, {base}).evaluate(self.run)
        return [found[q][name] for q in self.qrels]


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", range(3))
def test_binary_measures_agree_with_trec_eval(name, seed):
    run = Run(seed)
    relevant = measures.count_relevant(run.truth, run.truth_offsets)
    found = MEASURES[name](run.gain, run.offsets, relevant)
    assert found == pytest.approx(run.by_trec(name), abs=1e-9)


@pytest.mark.parametrize("name", ["ndcg", "ndcg_cut_10"])
@pytest.mark.parametrize("seed", range(3))
def test_graded_ndcg_agrees_with_trec_eval(name, seed):
    run = Run(seed, grades=(-1, 0, 1, 2, 3))
    k = 10 if "cut" in name else None
    found = measures.ndcg_graded(run.gain, run.offsets, run.truth, run.truth_offsets, k=k)
    assert found == pytest.approx(run.by_trec(name), abs=1e-9)


def test_hand_check_of_the_conqa_paper():
    # Relevant at ranks 2, 4, 6 of R = 3: (1/log2 3 + 1/log2 5 + 1/log2 7) / (1 + 1/log2 3 + 1/2) = .6653.
    run = ([0, 1, 0, 1, np.nan, 1], [0, 6], [3])
    assert measures.ndcg(*run) == pytest.approx([0.6653], abs=5e-5)
    assert measures.r_precision(*run) == pytest.approx([1 / 3])
    assert measures.reciprocal_rank(*run) == [0.5]
    assert measures.average_precision(*run) == pytest.approx([(1 / 2 + 2 / 4 + 3 / 6) / 3])
    assert measures.hit_rate(*run, k=1) == [0] and measures.hit_rate(*run, k=2) == [1]
    assert measures.precision(*run, k=10) == [0.3]
    assert measures.recall(*run, k=4) == pytest.approx([2 / 3])


def test_exponential_gain_by_hand():
    # Ranked 1, 3 with gains 2^g - 1 = 1, 7: 1 + 7/log2 3; ideal 7 + 1/log2 3.
    found = measures.ndcg_graded([1, 3], [0, 2], [3, 1], [0, 2], gains="exponential")
    assert found == pytest.approx([(1 + 7 / np.log2(3)) / (7 + 1 / np.log2(3))])


def test_queries_without_answers_or_without_relevant_images():
    # Query 0 ranks nothing, query 1 has no relevant image, query 2 misses its one, query 3 is perfect.
    run = ([0, np.nan, 0, 1], [0, 0, 2, 3, 4], [2, 0, 1, 1])
    for name, measure in MEASURES.items():
        found = measure(*run)
        perfect = 0.1 if name == "P_10" else 1.0
        assert found == pytest.approx([0, np.nan, 0, perfect], nan_ok=True), name
    graded = measures.ndcg_graded(run[0], run[1], [1, 1, 0, 1, 1], [0, 2, 3, 4, 5])
    assert graded == pytest.approx([0, np.nan, 0, 1], nan_ok=True)
    assert measures.precision([], [0], [], k=3).size == 0


def test_level_decides_what_is_relevant():
    run = ([1, 2, 1], [0, 3], [1])
    assert measures.reciprocal_rank(*run, min_rel=2) == [0.5]
    assert measures.count_relevant([1, 2, 1, np.nan, 3], [0, 3, 3, 5], min_rel=2).tolist() == [1, 0, 1]


def test_impossible_input_is_refused():
    with pytest.raises(ValueError, match="query 1 ranks 2 relevant answers of 1 known"):
        measures.precision([1, 1, 1], [0, 1, 3], [1, 1], k=1)
    with pytest.raises(ValueError, match="offsets must rise from 0 to 3"):
        measures.ndcg([1, 1, 1], [0, 2], [3])
    with pytest.raises(ValueError, match="k is 0"):
        measures.recall([1], [0, 1], [1], k=0)
    with pytest.raises(ValueError, match="2 queries"):
        measures.ndcg([1], [0, 1, 1], [1])
    with pytest.raises(ValueError, match="1 queries in the run, 2 in the truth"):
        measures.ndcg_graded([1], [0, 1], [1, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="cubic"):
        measures.ndcg_graded([1], [0, 1], [1], [0, 1], gains="cubic")


@given(st.lists(st.lists(st.booleans(), max_size=15), min_size=1, max_size=6), st.integers(0, 3))
def test_bounds_and_moving_a_relevant_answer_up(rankings, unseen):
    gain = np.array([hit for ranking in rankings for hit in ranking], dtype=float)
    offsets = np.concatenate([[0], np.cumsum([len(ranking) for ranking in rankings])]).astype(int)
    relevant = np.array([sum(ranking) + unseen for ranking in rankings])
    ideal = np.array([hit for ranking in rankings for hit in sorted(ranking, reverse=True)], dtype=float)
    for measure in MEASURES.values():
        found, best = measure(gain, offsets, relevant), measure(ideal, offsets, relevant)
        known = relevant > 0
        assert np.array_equal(np.isnan(found), ~known)
        assert np.all(found[known] >= 0) and np.all(found[known] <= best[known] + 1e-12)
        assert np.all(best[known] <= 1 + 1e-12)


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-5, 5)), max_size=30))
def test_sum_by_adds_up_each_group(rows):
    group = np.array([g for g, _ in rows], dtype=np.int64)
    what = np.array([w for _, w in rows], dtype=float)
    assert sum_by(group, what, 6) == pytest.approx([what[group == g].sum() for g in range(6)], abs=1e-9)
