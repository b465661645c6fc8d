import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.consensus import majority
from sightline.statistics.labels import dawid_skene

# 24 items, each with the answers of five annotators; invented.
ANSWERS = [
    "01110", "10101", "11011", "00000", "10110", "01001", "10001", "00000",
    "01001", "11111", "00000", "10001", "00000", "11000", "11000", "00001",
    "01011", "10101", "00010", "00001", "10111", "10110", "10000", "11111",
]  # fmt: skip
# Probability of label 1 after so many iterations, from crowd-kit 1.4.2: DawidSkene(n_iter, tol=-1).fit(...)
# on a frame of task, worker and label; its `probas_`.
CROWD_KIT = {
    1: [
        0.7654559, 0.7366059, 0.8950691, 0.0244521, 0.8188018, 0.2361366, 0.2997359, 0.0244521,
        0.2361366, 0.9823733, 0.0244521, 0.2997359, 0.0244521, 0.2983148, 0.2983148, 0.0811561,
        0.6377041, 0.7366059, 0.1248926, 0.0811561, 0.9409104, 0.8188018, 0.1083122, 0.9823733,
    ],
    3000: [
        1.0, 1.0, 0.4704386, 0.0018016, 1.0, 0.0044477, 0.0421966, 0.0018016, 0.0044477, 1.0,
        0.0018016, 0.0421966, 0.0018016, 0.0281881, 0.0281881, 0.0034874, 0.0659158, 1.0,
        0.0277183, 0.0034874, 1.0, 1.0, 0.0222163, 1.0,
    ],
}  # fmt: skip


def columns(answers=ANSWERS):
    item, who = np.indices((len(answers), len(answers[0]))).reshape(2, -1)
    return item, who, np.array([float(answers[i][w]) for i, w in zip(item, who, strict=True)])


@pytest.mark.parametrize("rounds", CROWD_KIT)
def test_the_original_is_that_of_crowd_kit(rounds):
    found = dawid_skene(*columns(), smoothing=0, most_rounds=rounds, tolerance=0)
    assert found.probability[:, 1] == pytest.approx(CROWD_KIT[rounds], abs=2e-6)


def plain_em(item, who, value, smoothing, rounds):
    """The same model with a fixed smoothing, one vote and one cell at a time."""
    labels = sorted(set(value))
    people, items = sorted(set(who)), sorted(set(item))
    votes = list(zip(item, who, value, strict=True))
    post = {
        i: {k: sum(j == i and v == k for j, _, v in votes) / sum(j == i for j, _, _ in votes) for k in labels}
        for i in items
    }
    size = len(labels)
    for _ in range(rounds):
        count = {
            (w, k, v): sum(post[i][k] for i, p, given in votes if p == w and given == v)
            for w in people
            for k in labels
            for v in labels
        }
        pooled = {(k, v): sum(count[w, k, v] for w in people) for k in labels for v in labels}
        right = (sum(pooled[k, k] for k in labels) + size / 2) / (sum(pooled.values()) + size)
        plain = {(k, v): right if k == v else (1 - right) / (size - 1) for k in labels for v in labels}

        def shrunk(counts, towards):
            """A row of counts and a prior worth `smoothing` votes, as proportions."""
            return {
                v: (counts[v] + smoothing * towards[v]) / (sum(counts.values()) + smoothing) for v in counts
            }

        def row(table, *key):
            return {v: table[*key, v] for v in labels}

        common = {k: shrunk(row(pooled, k), row(plain, k)) for k in labels}
        conf = {(w, k): shrunk(row(count, w, k), common[k]) for w in people for k in labels}
        share = {k: sum(post[i][k] for i in items) + smoothing / size for k in labels}
        for i in items:
            weight = dict(share)
            for j, w, v in votes:
                if j == i:
                    weight = {k: weight[k] * conf[w, k][v] for k in labels}
            post[i] = {k: weight[k] / sum(weight.values()) for k in labels}
    return np.array([[post[i][k] for k in labels] for i in items])


@pytest.mark.parametrize("smoothing", [0.5, 4])
def test_smoothing_is_that_of_a_plainly_written_em(smoothing):
    rng = np.random.default_rng(2)
    item, who = np.indices((15, 4)).reshape(2, -1)
    value = np.where(rng.random(item.size) < 0.6, item % 3, rng.integers(0, 3, item.size)).astype(float)
    found = dawid_skene(item, who, value, smoothing=smoothing, most_rounds=6, tolerance=0)
    assert found.probability == pytest.approx(plain_em(item, who, value, smoothing, 6), abs=1e-9)


def crowd(seed, skill, *, classes=2, items=200, people=15, votes=5, lean=0.0):
    """Planted labels and a crowd's votes on them; `lean` is by how much label 0 is recognised worse."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    skills = rng.uniform(*skill, people)
    who = rng.permuted(np.tile(np.arange(people), (items, 1)), axis=1)[:, :votes].ravel()
    item = np.repeat(np.arange(items), votes)
    wrong = (truth[item] + rng.integers(1, classes, item.size)) % classes
    right = rng.random(item.size) < skills[who] - lean * (truth[item] == 0)
    return truth, item, who, np.where(right, truth[item], wrong).astype(float), skills


def wrong_proportions(skill, seeds=200, smoothing=None, **options):
    """By seed, the proportions that majority and Dawid-Skene get wrong."""
    wrong = []
    for seed in range(seeds):
        truth, item, who, said, _ = crowd(seed, skill, **options)
        model = dawid_skene(item, who, said, items=truth.size, tolerance=1e-4, smoothing=smoothing)
        best = model.labels[model.probability.argmax(axis=1)]
        counted = majority(item, said, items=truth.size, ties="lowest").value
        wrong.append([np.mean(counted != truth), np.mean(best != truth)])
    return np.array(wrong)


def ratio_limits(errors):
    chosen = np.random.default_rng(0).integers(0, len(errors), (2000, len(errors)))
    totals = errors[chosen].sum(axis=1)
    return np.quantile(totals[:, 1] / totals[:, 0], [0.025, 0.975])


@pytest.mark.parametrize(
    ("skill", "options", "most"),
    [
        ((0.55, 0.95), {}, 0.97),
        ((0.3, 0.95), {"classes": 4, "seeds": 80}, 0.95),
        ((0.75, 0.95), {"lean": 0.25, "seeds": 80}, 0.97),
    ],
)
def test_labels_are_recovered_better_than_by_counting_where_skill_differs(skill, options, most):
    low, high = ratio_limits(wrong_proportions(skill, **options))
    assert low < high < most


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_labels_are_recovered_as_well_as_by_counting_where_all_are_alike(classes):
    errors = wrong_proportions((0.75, 0.75), classes=classes)
    _, high = ratio_limits(errors)
    # Of two labels nothing is left to chance; of four, ties are, and with them three percent of the errors.
    assert errors[:, 1].mean() < 1.01 * errors[:, 0].mean() and high < 1.04


def test_the_original_loses_to_counting_where_all_are_alike():
    low, _ = ratio_limits(wrong_proportions((0.75, 0.75), seeds=30, smoothing=0))
    assert low > 1.05, "smoothing would have no purpose"


def test_confusion_tells_who_is_skilled():
    truth, item, who, said, skills = crowd(3, (0.5, 0.98), items=2000, people=8)
    found = dawid_skene(item, who, said)
    own = found.confusion[:8, [0, 1], [0, 1]].mean(axis=1)
    assert own == pytest.approx(skills, abs=0.06)
    assert found.converged and found.prevalence == pytest.approx(
        [np.mean(truth == k) for k in (0, 1)], abs=0.03
    )


def test_probabilities_are_calibrated():
    predicted, held = [], []
    for seed in range(30):
        truth, item, who, said, _ = crowd(seed, (0.55, 0.9), items=1000)
        predicted.append(dawid_skene(item, who, said, tolerance=1e-4).probability[:, 1])
        held.append(truth == 1)
    predicted, held = np.concatenate(predicted), np.concatenate(held)
    for low in np.arange(0, 1, 0.2):
        here = (predicted >= low) & (predicted < low + 0.2)
        assert held[here].mean() == pytest.approx(predicted[here].mean(), abs=0.04)


rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-1, 3), st.integers(0, 2), st.integers(1, 3)),
    min_size=1,
    max_size=30,
)


@given(rows, st.sampled_from([None, 0, 3]))
def test_probabilities_sum_to_one_whatever_the_order(table, smoothing):
    item, who, value, n = (np.array(column) for column in zip(*table, strict=True))
    found = dawid_skene(item, who, value, n=n, items=6, annotators=5, smoothing=smoothing, most_rounds=30)
    some = np.bincount(item, minlength=6) > 0
    assert found.probability[some].sum(axis=1) == pytest.approx(np.ones(some.sum()))
    assert np.isnan(found.probability[~some]).all()
    order = np.random.default_rng(0).permutation(n.sum())
    spelled = [np.repeat(column, n)[order] for column in (item, who, value)]
    again = dawid_skene(*spelled, items=6, annotators=5, smoothing=smoothing, most_rounds=30)
    assert again.probability == pytest.approx(found.probability, abs=1e-6, nan_ok=True)


def test_anonymous_votes_share_one_matrix():
    # All anonymous: as if one annotator had cast them all.
    item, _, value = columns()
    nameless = dawid_skene(item, np.full(item.size, -1), value)
    one = dawid_skene(item, np.zeros(item.size, dtype=int), value)
    assert nameless.probability == pytest.approx(one.probability)
    assert nameless.confusion.shape == (1, 2, 2)


def test_one_label_or_none():
    one = dawid_skene([0, 0, 1], [0, 1, 0], [2, 2, 2], items=3)
    assert one.labels.tolist() == [2] and one.probability[:2].tolist() == [[1], [1]]
    assert dawid_skene([], [], [], items=2).probability.shape == (2, 0)
    named = dawid_skene([0, 0, 1], [0, 1, 0], [1, 1, 1], labels=[0, 1])
    assert np.all(named.probability[:, 1] > 0.5) and named.labels.tolist() == [0, 1]
    with pytest.raises(ValueError, match="none of the labels"):
        dawid_skene([0], [0], [3], labels=[0, 1])
