"""Rules on the votes and truths that papers published."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sightline.data.importers.conqa import ANSWERS, QUESTIONS
from sightline.records import Settled, Votes

Cast = Callable[..., Votes]
Settle = Callable[[str, Votes], Settled]
Published = tuple[Votes, list[tuple[str, str]], dict[str, bool], set[str]]


def test_systems_of_pqpp_score_what_hbpp_can_give(data: Path, settle: Settle, anonymous: Cast) -> None:
    images = settle("hbpp", anonymous(*map(list, product((2, 1, 0, -1), repeat=3)))).value
    feasible = {round(float(a + b) / 2, 6) for a in images for b in images}
    assert len(feasible) == 31
    found = set()
    for file in ("train.csv", "validation.csv"):
        with (data / "pqpp" / "dataset" / file).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                found |= {round(float(row[name]), 6) for name in ("glide_score", "sdxl_score")}
    assert found == feasible


@pytest.fixture(scope="module")
def conqa(data: Path, votes: Cast) -> Published:
    """ConQA's votes, their (query, image), which queries are conceptual, and all seeds."""
    counts, asked = (json.loads((data / "conqa" / f).read_text("utf-8")) for f in ("mturk.json", "seed.json"))
    pairs = [(query, image) for query, of_query in counts.items() for image in of_query]
    rows, n = [], []
    for number, (query, image) in enumerate(pairs):
        for value, count in zip(ANSWERS, counts[query][image], strict=True):
            if count:
                rows.append((number, -1, value))
                n.append(count)
    seeds = {str(seed) for told in asked.values() for seed in told["Seeds"]}
    cast = votes(rows, items=len(pairs), n=n, question=QUESTIONS[0])
    return cast, pairs, {query: told["Conceptual"] for query, told in asked.items()}, seeds


@pytest.mark.parametrize(
    ("rule", "relevant", "conceptual", "descriptive"),
    [("unanimous", 1693, 49, 29), ("unanimous(least=3, allowing=0.5)", 24.275 * 80, 50, 29)],
)
def test_relevant_pairs_of_conqa(
    conqa: Published, settle: Settle, rule: str, relevant: float, conceptual: int, descriptive: int
) -> None:
    cast, pairs, kinds, seeds = conqa
    value = settle(rule, cast).value
    left = [pair for pair, found in zip(pairs, value, strict=True) if found == 1 and pair[1] not in seeds]
    assert len(pairs) == 8407 and len(left) == relevant
    evaluated = {query for query, _ in left}
    assert sum(kinds[query] for query in evaluated) == conceptual
    assert sum(not kinds[query] for query in evaluated) == descriptive


def test_counting_rules_bracket_unanimity_on_conqa(conqa: Published, settle: Settle) -> None:
    cast = conqa[0]
    strict, anybody = settle("unanimous", cast).value, settle("any_relevant", cast).value
    share, most = settle("proportion", cast), settle("majority", cast).value
    assert np.array_equal(strict == 1, share.value == 1) and np.array_equal(anybody == 1, share.value > 0)
    assert (most[share.value > 0.5] == 1).all() and (strict <= anybody).all()
    assert (share.low <= share.value).all() and (share.value <= share.high).all()
    assert share.n.sum() == 15657 + 10437 + 3556
