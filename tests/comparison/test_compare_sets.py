"""Two sets of queries: as ConQA tables them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.comparison.compare_sets import compare_sets
from sightline.comparison.queries import queries
from sightline.errors import UsageError
from sightline.measures.score import score
from sightline.records import Answer, ImageKey, Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


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
        records.append(Truth("relevance", Item(key, image=ImageKey("c", f"hit{n}")), 1.0))
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
    found = compare_sets(study, "kind=conceptual,descriptive", ["reciprocal_rank", "hit_rate@1"])
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
    found = compare_sets(study, "kind=conceptual", "reciprocal_rank")
    assert found.second == "not conceptual"
    assert found.rows[0].improvement.second.n == 8


@pytest.mark.parametrize(
    "sets", ["kind", "kind=", "=a,b", "kind=a,b,c", "kind=conceptual,conceptual", "kind=a,"]
)
def test_unreadable_sets(study: Study, sets: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        compare_sets(study, sets, "reciprocal_rank")


def test_unknown_tags_and_values(study: Study) -> None:
    with pytest.raises(UsageError, match="no prompt has a tag 'knd'"):
        compare_sets(study, "knd=conceptual", "reciprocal_rank")
    with pytest.raises(UsageError, match="no prompt has kind = 'descriptiv'") as caught:
        compare_sets(study, "kind=conceptual,descriptiv", "reciprocal_rank")
    assert "descriptive" in caught.value.remedy


def test_where_less_is_better_a_fall_is_the_improvement(tmp_path: Path) -> None:
    """Errors of 4, 5, 6, 7, 8 against 1, 2, 3, 1.5, 2.5: means 6 and 2, which is (6 - 2) / 6 better."""
    values = {"hard": [4, 5, 6, 7, 8], "easy": [1, 2, 3, 1.5, 2.5]}
    records: list[Record] = [Question("error", "interval", 0, 10, direction="lower")]
    for kind, told in values.items():
        for n, value in enumerate(told):
            key, image = PromptKey("q", f"{kind}{n}"), ImageKey("c", f"{kind}{n}")
            records.append(Prompt(key, f"{kind} {n}", {"kind": kind}))
            records.append(Answer(key, "painter", 0, image))
            records.append(Truth("error", Item(key, image=image), float(value)))
    with create_study(tmp_path / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        (row,) = compare_sets(made, "kind=hard,easy", "error").rows
        (back,) = compare_sets(made, "kind=easy,hard", "error").rows
    assert (row.improvement.first.value, row.improvement.second.value) == (6, 2)
    assert row.improvement.relative == pytest.approx(4 / 6)
    # All ten lie apart: one order in 10! / (5! 5!) = 252.
    assert row.improvement.test.p == pytest.approx(1 / 252)
    assert row.improvement.shown == "**+66.7%**"
    # From easy to hard errors triple: no improvement, and no evidence of one.
    assert back.improvement.relative == pytest.approx(-2) and back.improvement.shown == ""
    assert back.improvement.test.p == pytest.approx(1)


def test_prompts_without_the_tag_are_counted(study: Study, tmp_path: Path) -> None:
    records: list[Record] = [Question("fit"), System("painter")]
    for n, tags in enumerate([{"kind": "a"}, {"kind": "a"}, {"kind": "b"}, {}, {"other": "a"}, {}]):
        key, image = PromptKey("q", str(n)), ImageKey("c", str(n))
        records += [Prompt(key, f"query {n}", tags), Answer(key, "painter", 0, image)]
        if n < 5:
            records.append(Truth("fit", Item(key, image=image), float(n)))
    with create_study(tmp_path / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        # 3 and 4 have a value and no kind; 5 has no value.
        found = compare_sets(made, "kind=a", "fit")
        assert (found.untagged, found.rows[0].improvement.second.n) == (2, 1)
        assert compare_sets(made, "kind=a,b", "fit").untagged == 0
    assert compare_sets(study, "kind=conceptual", "reciprocal_rank").untagged == 0


@pytest.fixture(scope="module")
def rephrased(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Three queries of either kind with two rephrasings each; the hit stands at rank 1 of every original.

    Rephrasings of conceptual queries find it at rank 2, of descriptive ones at rank 1.
    """
    records: list[Record] = [Question("relevance", "ordinal", 0, 1, 1), System("words", "retriever", "c")]
    for n in range(6):
        kind = ("conceptual", "descriptive")[n // 3]
        original = PromptKey("q", str(n))
        for wording in range(3):
            key = original if wording == 0 else PromptKey("q", f"{n}.{wording}")
            links = () if wording == 0 else [("rephrases", original)]
            records.append(Prompt(key, f"query {n} wording {wording}", {"kind": kind}, links))
            records.append(Truth("relevance", Item(key, image=ImageKey("c", f"hit{n}")), 1.0))
            rank = 2 if wording and kind == "conceptual" else 1
            for place in (1, 2):
                name = f"hit{n}" if place == rank else "miss"
                records.append(Answer(key, "words", place - 1, ImageKey("c", name)))
    with create_study(tmp_path_factory.mktemp("rephrased") / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        score(made, ["reciprocal_rank"])
        yield made


def test_a_query_and_its_rephrasings_count_once(rephrased: Study) -> None:
    found = compare_sets(rephrased, "kind=conceptual,descriptive", "reciprocal_rank")
    (row,) = found.rows
    # Conceptual: (1 + 1/2 + 1/2) / 3 each.
    assert (row.improvement.first.n, row.improvement.second.n) == (3, 3)
    assert row.improvement.first.value == pytest.approx(2 / 3)
    assert found.joined == 12 and any("--where original" in note for note in found.notes)


def test_originals_alone(rephrased: Study) -> None:
    found = compare_sets(rephrased, "kind=conceptual,descriptive", "reciprocal_rank", where="original")
    (row,) = found.rows
    assert (row.improvement.first.n, row.improvement.first.value) == (3, 1.0)
    assert found.joined == 0 and "where original" in found.tables()[""].caption
    assert compare_sets(
        rephrased, "kind=conceptual,descriptive", "reciprocal_rank", where="not original"
    ).rows[0].improvement.first.value == pytest.approx(0.5)


def test_queries_are_originals_unless_asked(rephrased: Study) -> None:
    found = queries(rephrased, "reciprocal_rank")
    assert found.queries.height == 6 and any("12 rephrasings are left out" in note for note in found.notes)
    assert queries(rephrased, "reciprocal_rank", with_rephrasings=True).queries.height == 18
