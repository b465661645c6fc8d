"""What goes with hard queries: a small study by hand, and ConQA's queries and votes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.comparison.breakdown import breakdown
from sightline.comparison.queries import QueryAnalysis, queries
from sightline.data.import_ import import_
from sightline.errors import DataError, UsageError
from sightline.estimate import is_absent
from sightline.judging.truth import truth
from sightline.language import wordnet
from sightline.language.wordnet import Synset
from sightline.measures.score import score
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    KnownAnswer,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.rendering.blocks import Grid
from sightline.rendering.html import render
from sightline.report.report import build
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


class Lengths:
    """A WordNet in which every word lies as deep as it is long."""

    def synsets(self, word: str) -> list[Synset]:
        return [Synset("n", len(word))]

    def depth(self, synset: Synset) -> int:
        return synset.offset


TEXTS = ["aa", "aa bbb", "aa bbb cccc", "aa bbb cccc ddddd"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    """Four queries of 1 to 4 words; the hit stands at rank 1 to 4: longer queries are harder.

    Of each query two images were voted on: `hit` 3 : 0 : 0, `other` 1 : 1 : 1 on odd and 0 : 3 : 0 on even
    ones, as relevant, irrelevant and unsure.
    """
    monkeypatch.setattr(wordnet, "find", lambda **options: Lengths())
    records: list[Record] = [
        Question("relevance", "ordinal", 0, 1, labels={"0": "no", "0.5": "unsure", "1": "yes"}),
        System("engine", "retriever", "c"),
    ]
    for n, text in enumerate(TEXTS):
        key = PromptKey("q", str(n))
        records.append(Prompt(key, text, {"kind": "conceptual" if n % 2 else "descriptive"}))
        for place in range(5):
            name = "hit" if place == n else f"{place}"
            records.append(Answer(key, "engine", place, ImageKey("c", name)))
        records.append(Truth("relevance", Item(key, image=ImageKey("c", "hit")), 1.0))
        for name, votes in (("hit", (3, 0, 0)), ("other", (1, 1, 1) if n % 2 else (0, 3, 0))):
            for value, count in zip((1.0, 0.0, 0.5), votes, strict=True):
                if count:
                    subject = Item(key, image=ImageKey("c", name))
                    records.append(Judgement("relevance", subject, value, n=count))
    with create_study(tmp_path / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        yield made


@pytest.fixture
def found(study: Study) -> QueryAnalysis:
    score(study, "reciprocal_rank")
    return queries(study, "reciprocal_rank")


def test_features_by_hand(found: QueryAnalysis) -> None:
    rows = found.queries.select("text", "words", "depth_least", "depth_most", "depth_mean", "contested")
    assert rows.rows() == [
        ("aa", 1, 2, 2, 2, 0),
        ("aa bbb", 2, 2, 3, 2.5, 0.5),
        ("aa bbb cccc", 3, 2, 4, 3, 0),
        ("aa bbb cccc ddddd", 4, 2, 5, 3.5, 0.5),
    ]
    assert found.queries["value"].to_list() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    related = {each.feature: each for each in found.related}
    # Longer is harder, in this very order; the least depth never changes, so that nothing can be said.
    assert related["words"].correlation.value == pytest.approx(-1)
    assert related["depth_least"].correlation.value is None and related["depth_least"].p_bh is None
    assert related["words"].p_bh is not None and related["words"].correlation.n == 4
    assert found.notes == []


def test_groups_and_agreement_by_hand(study: Study, found: QueryAnalysis) -> None:
    means = {(each.group, each.feature): each for each in found.described}
    # Descriptive queries have 1 and 3 words: mean 2, spread of the two themselves 1.
    assert (means["descriptive", "words"].mean.value, means["descriptive", "words"].sd) == (2, 1)
    assert means["conceptual", "words"].mean.value == 3 and means["all", "words"].mean.value == 2.5
    agreed = {each.group: each.counts for each in found.agreed}
    assert agreed["conceptual"] == {
        "fully_relevant": 2, "majority_relevant": 0, "unsure": 2, "majority_irrelevant": 0,
        "fully_irrelevant": 0,
    }  # fmt: skip
    assert agreed["descriptive"]["fully_irrelevant"] == 2
    assert {each.group: each.total for each in found.agreed} == {"all": 8, "conceptual": 4, "descriptive": 4}
    split = breakdown(study, "reciprocal_rank", "kind")
    cells = {cell.group: cell.mean.value for cell in split.rows}
    assert cells == pytest.approx({"descriptive": (1 + 1 / 3) / 2, "conceptual": (1 / 2 + 1 / 4) / 2})


def test_the_figures_of_any_study(study: Study) -> None:
    """ConQA's figure 4, how far people agree on each query, and figure 2, what the judged images show."""
    shown = {"objects": [{"kind": "dog"}, {"kind": "dog"}, {"kind": "cup"}]}
    scenes = [Image(ImageKey("c", "hit"), scene=shown), Image(ImageKey("c", "0"), scene=shown)]
    load(study, scenes, importer="test", path="scenes", digest="2")
    score(study, "reciprocal_rank")
    found = queries(study, "reciprocal_rank")
    # Fully relevant and unsure of the second and fourth query; fully relevant and irrelevant of the others.
    assert [(row.prompt, list(row.counts)) for row in found.by_query] == [
        ("aa bbb", [1, 0, 1, 0, 0]),
        ("aa bbb cccc ddddd", [1, 0, 1, 0, 0]),
        ("aa", [1, 0, 0, 0, 1]),
        ("aa bbb cccc", [1, 0, 0, 0, 1]),
    ]
    # Of the judged images only `hit` has a scene; a kind counts once per image, and "0" was never judged.
    assert list(found.kinds) == [("cup", 1), ("dog", 1)]
    assert list(found.figures()) == ["agreement", "kinds"]


def test_control_items_of_imported_votes(study: Study) -> None:
    """ConQA's figure 3 for votes that came in by name: two controls known to be irrelevant."""
    controls = [Item(PromptKey("q", str(n)), image=ImageKey("c", "other")) for n in (0, 2)]
    ann, bob = AnnotatorKey("crowd", "ann"), AnnotatorKey("crowd", "bob")
    votes = [(ann, 0, 0.0), (ann, 1, 0.0), (bob, 0, 1.0)]
    records: list[Record] = [KnownAnswer("relevance", item, "known", 0.0) for item in controls]
    records += [
        Judgement("relevance", controls[item], value, annotator, control=True)
        for annotator, item, value in votes
    ]
    load(study, records, importer="test", path="controls", digest="3")
    score(study, "reciprocal_rank")
    found = queries(study, "reciprocal_rank")
    passed = [(each.name, each.passed, each.failed) for each in found.controls]
    assert passed == [("ann", 2, 0), ("bob", 0, 1)]
    assert "controls" in found.figures() and "controls" in found.tables()


def test_the_tables_have_the_spread_and_the_adjusted_p(found: QueryAnalysis) -> None:
    tables = found.tables()
    assert [column.name for column in tables["described"].columns] == ["queries", "feature", "mean", "sd"]
    cells = {(row[0], row[1]): row[2:] for row in tables["described"].rows}
    # 1 and 3 words: mean 2, spread 1; all four: mean 2.5, spread sqrt(5) / 2.
    mean, sd = cells["kind descriptive", "words"]
    assert (mean.value, sd) == (2, 1)
    assert cells["all", "words"][1] == pytest.approx(5**0.5 / 2)
    assert [column.heading for column in tables["related"].columns] == ["of a query", "engine", "p after BH"]
    shown = {row[0]: row[2] for row in tables["related"].rows}
    related = {each.feature: each for each in found.related}
    assert shown["words"] == related["words"].p_bh
    assert is_absent(shown["depth of the most abstract word"])


def test_it_is_in_the_report_where_rankings_were_scored(study: Study) -> None:
    assert build(study).section("queries") is None
    score(study, ["judged@5", "reciprocal_rank", "ndcg"])
    page = build(study)
    section = page.section("queries")
    assert section is not None and "ndcg over 4 queries" in section.lead
    tables = [block.table for block in section.blocks if isinstance(block, Grid)]
    assert [table.rows[0][0] for table in tables] == ["words", "all", "all"]
    assert "What makes a query hard" in render(page)


def test_what_is_not_here_is_said(study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(wordnet, "find", lambda **options: None)
    score(study, "reciprocal_rank")
    found = queries(study, "reciprocal_rank")
    assert found.notes == ["WordNet is not installed, so nothing can be said about how abstract queries are."]
    assert {each.feature for each in found.related} == {"words", "relevant", "contested"}
    with pytest.raises(UsageError, match="neither a question nor a scored measure"):
        queries(study, "ndcg")


def test_nothing_has_a_value(tmp_path: Path) -> None:
    key = PromptKey("q", "1")
    records: list[Record] = [
        Prompt(key, "one"), System("e", "retriever", "c"), Question("relevance", "ordinal", 0, 1),
        Answer(key, "e", 0, ImageKey("c", "a")),
    ]  # fmt: skip
    with create_study(tmp_path / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        score(made, "ndcg")
        with pytest.raises((DataError, UsageError), match="ndcg"):
            queries(made, "ndcg")


@pytest.mark.slow
def test_conqa(data: Path, tmp_path: Path) -> None:
    """The published counts come out of a study: 49 + 29 evaluated queries with 1,693 relevant images."""
    settings = '[truth]\nrule = "unanimous"\n\n[score]\nwithout = "seed"\n'
    with create_study(tmp_path / "study", settings=settings) as study:
        import_(study, data / "conqa")
        truth(study, "relevance")
        judged = reading.truths(study, "relevance").select("prompt_id", "image_id")
        keys = reading.prompt_records(study)
        images = dict(reading.images(study).select("image_id", "name").iter_rows())
        records: list[Record] = [System("by_name", "retriever", "conqa")]
        for (prompt,), rows in judged.group_by(["prompt_id"]):
            names = sorted(images[image] for image in rows["image_id"])
            key = keys[int(str(prompt))].key
            records += [Answer(key, "by_name", n, ImageKey("conqa", name)) for n, name in enumerate(names)]
        load(study, records, importer="test", path="run", digest="1")
        score(study, "ndcg")
        found = queries(study, "ndcg", tags=["kind"])
        groups = {cell.group: cell.mean.n for cell in breakdown(study, "ndcg", "kind").rows}
        assert groups == {"conceptual": 49, "descriptive": 29}
        assert found.queries["relevant"].sum() == 1693
        # Two queries have no relevant image left; their judged pairs do not count.
        votes = json.loads((data / "conqa" / "mturk.json").read_text("utf-8"))
        (whole,) = [each for each in found.agreed if each.group == "all"]
        assert whole.total == sum(len(votes[ref]) for ref in found.queries["ref"])
