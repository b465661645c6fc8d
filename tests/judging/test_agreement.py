"""What an owner sees of votes: overall, by annotator, by item, by system, and on asking again."""

from __future__ import annotations

from pathlib import Path

import krippendorff
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score

from sightline import registry
from sightline.data.sources import Source
from sightline.judging.agreement import by_annotator, by_group, by_item, overall, repeats
from sightline.records import AnnotatorKey, Judgement, Question, Record, Votes
from sightline.statistics.reliability import icc, icc_one_way


def votes(
    rows: list[tuple[int, int, float]], scale: str = "nominal", *, items: int = 0, **columns: object
) -> Votes:
    """Votes from (item, annotator, value); further columns as given."""
    item, who, value = (np.array([row[i] for row in rows]) for i in range(3))
    usual: dict[str, object] = {
        "n": np.ones(len(rows), dtype=np.int64),
        "session": np.zeros(len(rows), dtype=np.int64),
        "took_ms": np.full(len(rows), np.nan),
        "control": np.zeros(len(rows), dtype=np.bool_),
        "repetition": np.zeros(len(rows), dtype=np.int64),
    }
    told = usual | {name: np.asarray(column) for name, column in columns.items()}
    return Votes(
        item=item.astype(np.int64),
        annotator=who.astype(np.int64),
        value=value.astype(np.float64),
        items=items or int(item.max()) + 1,
        annotators=[AnnotatorKey("panel", f"a{number}") for number in range(int(who.max()) + 1)],
        question=Question("q", scale),
        **told,  # type: ignore[arg-type]
    )


def table(matrix: np.ndarray, scale: str) -> Votes:
    """Votes from annotators x items; NaN is not asked."""
    who, item = np.nonzero(~np.isnan(matrix))
    rows = [(int(i), int(w), float(matrix[w, i])) for w, i in zip(who, item, strict=True)]
    return votes(rows, scale, items=matrix.shape[1])


def rated(seed: int, people: int = 4, items: int = 30, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.clip(np.round(rng.normal(3, 1.5, items) + rng.normal(0, 1, (people, items))), 1, 5)
    values[rng.random(values.shape) < missing] = np.nan
    return values


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_coefficients_fit_the_scale(scale: str) -> None:
    matrix = rated(1, missing=0.2)
    found = {each.name: each for each in overall(table(matrix, scale))}
    alpha = found[f"Krippendorff's alpha ({scale})"]
    assert alpha.value == pytest.approx(krippendorff.alpha(matrix, level_of_measurement=scale), abs=1e-10)
    assert alpha.low is not None and alpha.high is not None and alpha.low < (alpha.value or 0) < alpha.high
    assert ("Fleiss' kappa" in found) == (scale != "interval")
    assert ("ICC(1,1)" in found) == (scale == "interval")
    first = overall(table(matrix, scale))[0].name
    assert first == ("Fleiss' kappa" if scale == "nominal" else f"Krippendorff's alpha ({scale})")


def test_intraclass_correlation_of_complete_and_of_patchy_votes() -> None:
    matrix = rated(2)
    found = {each.name: each.value for each in overall(table(matrix, "interval"))}
    expected = icc(matrix.T)
    assert found["ICC(2,1)"] == expected["ICC(2,1)"].value and found["ICC(2,k)"] == expected["ICC(2,k)"].value
    matrix[0, 0] = np.nan
    found = {each.name: each.value for each in overall(table(matrix, "interval"))}
    who, item = np.nonzero(~np.isnan(matrix))
    assert found["ICC(1,1)"] == pytest.approx(icc_one_way(item, matrix[who, item])["ICC(1,1)"].value)
    assert "ICC(2,1)" not in found


def test_controls_and_repeats_are_not_agreement() -> None:
    plain = [(item, who, float((item + (who == 2)) % 3)) for item in range(9) for who in range(3)]
    extra = [(9, who, 1.0) for who in range(3)] + [(0, 0, 2.0)]
    control = [False] * len(plain) + [True] * 3 + [False]
    repetition = [0] * len(plain) + [0] * 3 + [1]
    with_both = votes(plain + extra, control=control, repetition=repetition)
    assert overall(with_both) == overall(votes(plain, items=10))


def test_each_annotator_beside_the_majority_of_the_others() -> None:
    # Items 0-5; a and b say the truth, c errs on two of six. For c the others agree throughout: kappa of c
    # with them is Cohen's. For a (and b) the others b and c are tied on the two items that c errs on.
    truth = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    wrong = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    found = {
        one.annotator.name: one for one in by_annotator(table(np.array([truth, truth, wrong]), "nominal"))
    }
    assert next(iter(found)) == "a2", "the weakest comes first"
    c = found["a2"].with_others
    assert c.value == pytest.approx(cohen_kappa_score(wrong, truth)) and c.n == 6
    assert found["a0"].with_others.n == 4 and found["a0"].with_others.value == 1
    assert found["a0"].votes == 6 and found["a0"].median_ms is None


@pytest.mark.parametrize(("scale", "reference"), [("ordinal", spearmanr), ("interval", pearsonr)])
def test_each_annotator_beside_the_mean_of_the_others(scale: str, reference: object) -> None:
    matrix = rated(4, missing=0.2)
    found = {one.annotator.name: one for one in by_annotator(table(matrix, scale))}
    for who in range(4):
        others = np.delete(matrix, who, axis=0)
        beside = ~np.isnan(matrix[who]) & ~np.isnan(others).all(axis=0)
        expected = reference(matrix[who, beside], np.nanmean(others[:, beside], axis=0))  # type: ignore[operator]
        told = found[f"a{who}"].with_others
        assert told.value == pytest.approx(expected.statistic, abs=1e-10) and told.n == beside.sum()
        assert told.low is not None and told.high is not None and told.low < expected.statistic < told.high


def test_median_times() -> None:
    timed = votes(
        [(item, who, float(item)) for who in range(2) for item in range(3)], "interval",
        took_ms=[100, 300, 200, np.nan, np.nan, np.nan],
    )  # fmt: skip
    assert {one.annotator.name: one.median_ms for one in by_annotator(timed)} == {"a0": 200.0, "a1": None}


def test_items_in_dispute_come_first() -> None:
    rows = [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 5.0), (2, 0, 1.0), (2, 1, 2.0), (3, 0, 4.0)]
    found = by_item(votes(rows, "ordinal"))
    assert found.item.tolist() == [1, 2, 0, 3] and found.n.tolist() == [2, 2, 2, 1]
    # Two votes x and y have a standard deviation of |x - y| / sqrt 2; two different ones an entropy of 1 bit.
    np.testing.assert_allclose(found.spread, [4 / np.sqrt(2), 1 / np.sqrt(2), 0, np.nan])
    np.testing.assert_allclose(found.entropy, [1, 1, 0, np.nan])
    # Anonymous votes count as many as they are: 3 and 1 of 4 have .75 log2(4/3) + .25 log2 4 = .8113 bits.
    anonymous = by_item(votes([(0, -1, 1.0), (0, -1, 0.0), (1, 0, 1.0), (1, 1, 0.0)], n=[3, 1, 1, 1]))
    assert anonymous.item.tolist() == [1, 0]
    np.testing.assert_allclose(anonymous.entropy, [1, 0.811278], atol=1e-6)


def test_who_is_asked_again() -> None:
    # Annotator 0 judged items 0-3 twice and item 0 a third time, annotator 1 once: five pairs, four equal.
    first = [(item, 0, float(item % 2)) for item in range(4)]
    again = [(0, 0, 0.0), (1, 0, 1.0), (2, 0, 1.0), (3, 0, 1.0), (0, 0, 0.0)]
    other = [(item, 1, 1.0) for item in range(4)]
    repetition = [0] * 4 + [1] * 4 + [2] + [0] * 4
    found = repeats(votes(first + again + other, repetition=repetition))
    before, after = [0, 1, 0, 1, 0], [0, 1, 1, 1, 0]
    assert found.coefficient.value == pytest.approx(cohen_kappa_score(before, after))
    assert (found.coefficient.n, found.same, found.annotators) == (5, 0.8, 1)
    weighted = repeats(votes(first + again + other, "ordinal", repetition=repetition))
    assert weighted.coefficient.value == pytest.approx(cohen_kappa_score(before, after, weights="quadratic"))
    linear = repeats(votes(first + again + other, "interval", repetition=repetition))
    assert linear.coefficient.value == pytest.approx(pearsonr(before, after).statistic)
    nobody = repeats(votes(first))
    assert nobody.coefficient.value is None and nobody.coefficient.reason and nobody.same is None


def test_wrong_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="2 groups are named for 4 items"):
        by_group(votes([(item, 0, 1.0) for item in range(4)]), ["x", "y"])


def judged(records: list[Record], question: str) -> tuple[Votes, list[str]]:
    """The votes on a question, and the system of each item."""
    given = [r for r in records if isinstance(r, Judgement) and r.question == question]
    place = {subject: i for i, subject in enumerate(dict.fromkeys(r.item for r in given))}
    people = {who: i for i, who in enumerate(dict.fromkeys(r.annotator for r in given))}
    rows = [(place[r.item], people[r.annotator], float(r.value or 0)) for r in given]
    return votes(rows, "ordinal"), [str(subject.system) for subject in place]


@pytest.mark.parametrize("question", ["semantic_consistency", "perceptual_quality"])
def test_agreement_per_system_of_imagenhub(data: Path, question: str) -> None:
    """Alpha by the krippendorff package; Fleiss' kappa from its definition on a table of counts."""
    records = list(registry.configure("importer", "imagenhub").load()(Source(data / "imagenhub")))
    cast, systems = judged(records, question)
    found = by_group(cast, systems)
    assert len(found) == 7 and all((one.items, one.votes) == (97, 291) for one in found)
    for one in found:
        inside = [i for i, system in enumerate(systems) if system == one.group]
        matrix = np.array([[_vote(cast, item, who) for item in inside] for who in range(3)])
        alpha, fleiss = one.coefficients
        assert alpha.value == pytest.approx(
            krippendorff.alpha(matrix, level_of_measurement="ordinal"), abs=1e-10
        )
        counts = np.stack([(matrix == value).sum(axis=0) for value in (0.0, 0.5, 1.0)], axis=1)
        pairs = ((counts * (counts - 1)).sum(axis=1) / (3 * 2)).mean()
        chance = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
        assert fleiss.value == pytest.approx((pairs - chance) / (1 - chance), abs=1e-12)
        assert alpha.low is not None and alpha.high is not None and 0.05 < alpha.high - alpha.low < 0.6


def _vote(cast: Votes, item: int, who: int) -> float:
    (row,) = np.flatnonzero((cast.item == item) & (cast.annotator == who))
    return float(cast.value[row])
