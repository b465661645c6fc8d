"""Two sets of queries: as ConQA tables them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sightline.errors import UsageError
from sightline.records import Answer, ImageKey, Prompt, PromptKey, Question, Record, Subject, System, Truth
from sightline.stages.between import between
from sightline.stages.score import score
from sightline.store.loading import load
from sightline.store.study import Study, create_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Two engines over 6 conceptual, 6 descriptive and 2 other queries.

    The first finds the image at rank 3 + n of conceptual and at rank 1 of descriptive ones; the second always
    finds it at rank 1.
    """
    records: list[Record] = [Question("relevance", "ordinal", 0, 1, 1)]
    records += [System(name, "retriever", "c") for name in ("words", "oracle")]
    for n in range(14):
        kind = ("conceptual", "descriptive", "other")[n // 6]
        key = PromptKey("q", str(n))
        records.append(Prompt(key, f"query {n}", {"kind": kind}))
        records.append(Truth("relevance", Subject(key, image=ImageKey("c", f"hit{n}")), 1.0))
        rank = 3 + n if kind == "conceptual" else 1
        for place in range(1, 10):
            name = f"hit{n}" if place == rank else f"miss{place}"
            records.append(Answer(key, "words", place - 1, ImageKey("c", name)))
        records.append(Answer(key, "oracle", 0, ImageKey("c", f"hit{n}")))
    home = tmp_path_factory.mktemp("between") / "study"
    with create_study(home) as made:
        load(made, records, importer="test", path="test", digest="1")
        score(made, ["reciprocal_rank", "hit_rate@1"])
        yield made


def test_the_table(study: Study) -> None:
    found = between(study, ["reciprocal_rank", "hit_rate@1"], "kind=conceptual,descriptive")
    assert (found.first, found.second) == ("conceptual", "descriptive")
    cells = {(row.system, row.by): row for row in found.rows}
    # Reciprocal ranks 1/3 to 1/8 against six times 1: mean 1.21786/6 = .20298, (1 - .20298) / .20298 = 393 %.
    words = cells["words", "reciprocal_rank"]
    assert words.improvement.first.value == pytest.approx(sum(1 / r for r in range(3, 9)) / 6)
    assert words.improvement.first.n == words.improvement.second.n == 6
    assert words.improvement.shown == "**+392.7%**"
    assert cells["words", "hit_rate(k=1)"].improvement.shown == "**inf**"
    oracle = cells["oracle", "reciprocal_rank"]
    assert oracle.improvement.shown == "" and oracle.p_holm is None
    # Two of the four rows have a p: Holm doubles the smaller.
    p = sorted(row.improvement.test.p for row in found.rows if row.improvement.test.p is not None)
    assert min(row.p_holm for row in found.rows if row.p_holm is not None) == pytest.approx(2 * p[0])
    assert all(row.p_bh is None or row.p_bh <= (row.p_holm or 0) for row in found.rows)


def test_one_value_against_all_others(study: Study) -> None:
    found = between(study, "reciprocal_rank", "kind=conceptual")
    assert found.second == "not conceptual"
    assert found.rows[0].improvement.second.n == 8


@pytest.mark.parametrize(
    "sets", ["kind", "kind=", "=a,b", "kind=a,b,c", "kind=conceptual,conceptual", "kind=a,"]
)
def test_unreadable_sets(study: Study, sets: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        between(study, "reciprocal_rank", sets)


def test_unknown_tags_and_values(study: Study) -> None:
    with pytest.raises(UsageError, match="no prompt has a tag 'knd'"):
        between(study, "reciprocal_rank", "knd=conceptual")
    with pytest.raises(UsageError, match="no prompt has kind = 'descriptiv'") as caught:
        between(study, "reciprocal_rank", "kind=conceptual,descriptiv")
    assert "descriptive" in caught.value.remedy
