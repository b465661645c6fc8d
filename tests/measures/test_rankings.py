"""Rankings as columns: ties, what nobody judged, what engines share, rephrasings and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval

from sightline.comparison.breakdown import breakdown
from sightline.comparison.compare import compare
from sightline.comparison.compare_sets import compare_sets
from sightline.comparison.queries import queries
from sightline.errors import DataError, UsageError
from sightline.measures.ranking_scores import stale_rankings
from sightline.measures.rankings import overlap, rankings_for, rankings_of
from sightline.measures.score import score
from sightline.records import Answer, ImageKey, Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.registry import find_measure
from sightline.rendering.html import render
from sightline.report.report import build
from sightline.report.status import status
from sightline.study import reading
from sightline.study.relevance import Rules, rules
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load, undo
from sightline.systems.pool import pool

RELEVANCE = Question("relevance", "ordinal", 0, 3, 1)
SEED = Question("seed", "nominal", 0, 1, 1, direction="none")


def query(n: int | str) -> PromptKey:
    return PromptKey("q", str(n))


def image(name: str) -> ImageKey:
    return ImageKey("c", name)


def run(system: str, told: dict[int, list[tuple[str, float | None]]]) -> list[Record]:
    return [
        System(system, "retriever", "c"),
        *(
            Answer(query(q), system, n, image(name), score)
            for q, ranking in told.items()
            for n, (name, score) in enumerate(ranking)
        ),
    ]


def qrels(told: dict[int, dict[str, float]], question: str = "relevance") -> list[Record]:
    return [
        Truth(question, Item(query(q), image=image(name)), value)
        for q, grades in told.items()
        for name, value in grades.items()
    ]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    made: list[Study] = []

    def study(records: list[Record], settings: str = "", prompts: int = 3) -> Study:
        found = create_study(tmp_path / f"study{len(made)}", settings=settings)
        made.append(found)
        asked: list[Record] = [Prompt(query(n), f"query {n}") for n in range(1, prompts + 1)]
        load(found, [*asked, RELEVANCE, SEED, *records], importer="test", path="test", digest="1")
        return found

    yield study
    for each in made:
        each.close()


def test_the_worst_grade_of_a_scale_gains_nothing(make: Any) -> None:
    ranked = run("engine", {1: [("a", 3.0), ("b", 2.0), ("c", 1.0)]})
    graded = qrels({1: {"a": 1, "b": 4, "c": 2}}, "fit")
    asked = Question("fit", "ordinal", 1, 4, 1)
    study = make([asked, *ranked, *graded], settings='[score]\nrelevance = "fit"\n')
    assert rankings_of(study).table.gains.tolist() == [0, 3, 1]
    assert values(study, "reciprocal_rank") == {1: 0.5}
    # Grade 3 and better is a gain of 2 and more.
    assert values(study, "precision(k=3, min_rel=2)") == {1: pytest.approx(1 / 3)}


def test_engines_are_reported_by_measures_of_their_rankings(make: Any) -> None:
    """The mean grade of what happens to be judged says nothing: here it is 1 for both engines."""
    good = run("good", {q: [("a", 3.0), ("b", 2.0)] for q in (1, 2, 3)})
    bad = run("bad", {q: [("b", 3.0), ("c", 2.0), ("a", 1.0)] for q in (1, 2, 3)})
    study = make([*good, *bad, *qrels({q: {"a": 1} for q in (1, 2, 3)})])
    with pytest.raises(DataError, match="no truth to compare by") as caught:
        compare(study)
    assert "sightline score STUDY ndcg@10" in caught.value.remedy
    with pytest.raises(DataError, match="relevance has no truth about systems"):
        compare(study, "relevance")
    with pytest.raises(UsageError, match="neither a question nor a scored measure") as caught:
        compare(study, "ndcg@3")
    assert f"sightline score {study.name} ndcg@3" in caught.value.remedy
    score(study, ["reciprocal_rank", "ndcg@10", "judged@10"])
    assert compare(study).by == "ndcg(k=10)"
    page = build(study)
    first, second, prompts = page.sections[:3]
    assert [first.anchor, second.title] == ["ranking", "The ranking by reciprocal_rank"]
    assert [row[0] for row in first.blocks[1].table.rows] == ["good", "bad"]
    assert "unjudged and count as not relevant" in first.lead
    (hardest,) = prompts.blocks[1].cards[:1]
    assert hardest.value and {each.system for each in hardest.pictures} == {"good", "bad"}
    assert "ndcg(k=10)" in render(page)


def test_a_pool_is_no_engine(make: Any) -> None:
    study = make([*run("engine", {1: [("a", 2.0), ("b", 1.0)]}), *qrels({1: {"b": 1}})])
    pool(study, "gathered", depth=2)
    assert list(rankings_of(study).names.values()) == ["engine"]


def values(study: Study, measure: str) -> dict[int, float | None]:
    score(study, measure)
    found = reading.scores(study, find_measure(measure).identity)
    return dict(found.select("prompt_id", "value").iter_rows())


TIED = run("e", {1: [("a", 0.5), ("b", 0.5), ("c", 0.1)], 2: [("a", 0.5 + 1e-12), ("b", 0.5)]})


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        # b before a wherever they are tied: in query 2 only in single precision.
        ("name", {1: 1.0, 2: 0.5}),
        ("trec", {1: 1.0, 2: 1.0}),
        ("given", {1: 0.5, 2: 0.5}),
    ],
)
def test_ties(make: Any, ties: str, expected: dict[int, float]) -> None:
    study = make([*TIED, *qrels({1: {"b": 1}, 2: {"b": 1}})], f'[score]\nties = "{ties}"\n')
    assert values(study, "reciprocal_rank") == expected


def test_a_whole_study_as_trec_eval(make: Any) -> None:
    """Random tied scores of two engines over 20 queries, through the study and through trec_eval."""
    rng = np.random.default_rng(4)
    names = [f"im{n}" for n in range(30)]
    told: dict[str, dict[int, list[tuple[str, float | None]]]] = {"one": {}, "two": {}}
    grades: dict[int, dict[str, float]] = {}
    for q in range(1, 21):
        grades[q] = {str(n): float(rng.integers(0, 3)) for n in rng.permutation(names)[:12]}
        for engine in told.values():
            ranked = [str(n) for n in rng.permutation(names)[: rng.integers(1, 25)]]
            scores = sorted((rng.integers(0, 6, len(ranked)) / 3).tolist(), reverse=True)
            engine[q] = list(zip(ranked, scores, strict=True))
    records = [*run("one", told["one"]), *run("two", told["two"]), *qrels(grades)]
    study = make(records, '[score]\nties = "trec"\n', prompts=20)
    score(study, ["ndcg", "average_precision", "r_precision"])
    judged = {str(q): {n: int(g) for n, g in each.items()} for q, each in grades.items()}
    systems = dict(reading.systems(study).select("system_id", "system").iter_rows())
    refs = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
    for ours, theirs in (("ndcg", "ndcg"), ("average_precision", "map"), ("r_precision", "Rprec")):
        expected = {
            name: pytrec_eval.RelevanceEvaluator(judged, {theirs}).evaluate(
                {str(q): dict(ranking) for q, ranking in engine.items()}
            )
            for name, engine in told.items()
        }
        found = reading.scores(study, find_measure(ours).identity)
        assert found.height == 40
        for prompt, system, value in found.select("prompt_id", "system_id", "value").iter_rows():
            if value is not None:
                assert value == pytest.approx(expected[systems[system]][refs[prompt]][theirs], abs=1e-9)


def test_distances_are_not_turned_upside_down(make: Any) -> None:
    records = [*run("far", {1: [("a", 0.1), ("b", 0.2)]}), *qrels({1: {"a": 1}})]
    assert values(make(records), "reciprocal_rank") == {1: 1.0}
    with pytest.raises(DataError, match="far rise along its rankings: they are distances"):
        score(make(records, '[score]\nties = "trec"\n'), "reciprocal_rank")


def test_unjudged_images_are_counted(make: Any) -> None:
    ranking: list[tuple[str, float | None]] = [("a", None), ("b", None), ("c", None)]
    study = make([*run("e", {1: ranking, 2: ranking}), *qrels({1: {"a": 1, "b": 0}, 3: {"z": 1}})])
    (ran,) = score(study, "precision@2").runs
    # Nothing is known of query 2, so that its images do not count; query 3 has no ranking.
    assert ran.notes == [
        "1 of 2 prompts have no known relevance, and so no value.",
        "e: 1 of the 2 prompts with known relevance have no ranking and are excluded from its means.",
    ]
    (whole,) = score(study, "reciprocal_rank").runs
    assert whole.notes[1].startswith("e: 1 of the 3 images in its rankings (33%) are unjudged")
    assert list(compare(study, "precision@2").notes) == ran.notes


def test_unanswered_prompts_count_as_zero_where_asked_for(make: Any) -> None:
    records = [*run("e", {1: [("a", None)]}), *qrels({1: {"a": 1}, 3: {"z": 1}})]
    study = make(records)
    assert values(study, "reciprocal_rank") == {1: 1.0}
    (study.home / "study.toml").write_text("[score]\ncomplete = true\n", "utf-8")
    with open_study(study.home) as again:
        assert values(again, "reciprocal_rank") == {1: 1.0, 3: 0.0}
        assert "1 of the 2 prompts" in rankings_of(again).notes()[0]
    # Without the setting the zero must go again.
    assert values(study, "reciprocal_rank") == {1: 1.0}


def test_repeats_are_left_out_and_counted(make: Any) -> None:
    study = make([*run("e", {1: [("a", None), ("a", None), ("b", None)]}), *qrels({1: {"a": 0, "b": 1}})])
    assert values(study, "reciprocal_rank") == {1: 0.5}
    (ran,) = score(study, "reciprocal_rank").runs
    assert ran.notes == ["e: 1 places were dropped: their image already occurred."]
    # a, a, c, b with both relevant is a, c, b: not 1 + 1/log2 3 + ... of what stands twice.
    twice = make([*run("e", {1: [(n, None) for n in "aacb"]}), *qrels({1: {"a": 1, "b": 1}})])
    assert values(twice, "precision@3") == {1: pytest.approx(2 / 3)}
    assert values(twice, "ndcg") == {1: pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3)))}


def test_rephrasings_inherit_relevance(make: Any) -> None:
    again = Prompt(query("1.0"), "another wording", {}, [("rephrases", query(1))])
    own = Prompt(query("1.1"), "a third", {}, [("rephrases", query(1))])
    asked: list[Record] = [again, own]
    for key in (again.key, own.key):
        asked += [Answer(key, "e", n, image(name)) for n, name in enumerate("abc")]
    told = Truth("relevance", Item(own.key, image=image("c")), 1.0)
    study = make([System("e", "retriever", "c"), *asked, *qrels({1: {"b": 1}}), told])
    refs = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
    found = {refs[key]: value for key, value in values(study, "reciprocal_rank").items()}
    # b is second; the third wording has a truth of its own, c, which is third.
    assert found == {"1.0": 0.5, "1.1": pytest.approx(1 / 3)}


def test_seeds_leave_the_search_space(make: Any) -> None:
    records = [
        *run("e", {1: [("s", None), ("a", None), ("b", None)]}),
        *qrels({1: {"s": 1, "b": 1}}),
        # A seed of any query leaves all of them.
        *qrels({2: {"s": 1}}, "seed"),
    ]
    assert values(make(records), "ndcg")[1] == pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3)))
    study = make(records, '[score]\nwithout = "seed"\n')
    # Left are a, b with b relevant: 1 / log2 3 of 1.
    assert values(study, "ndcg")[1] == pytest.approx(1 / np.log2(3))
    assert values(study, "recall@10") == {1: 1.0}
    # A ranking of seeds alone is empty.
    only = [*run("e", {1: [("s", None)], 2: [("a", None)]}), *qrels({1: {"b": 1}, 2: {"a": 1}})]
    bare = make([*only, *qrels({2: {"s": 1}}, "seed")], '[score]\nwithout = "seed"\n')
    assert values(bare, "reciprocal_rank") == {1: 0.0, 2: 1.0}


def test_overlap_by_hand(make: Any) -> None:
    study = make(
        [
            *run("one", {1: [("a", None), ("b", None), ("c", None)], 2: [("a", None)]}),
            *run("two", {1: [("b", None), ("d", None), ("a", None)], 2: [("a", None)], 3: [("z", None)]}),
            *qrels({1: {"a": 1}}),
        ]
    )
    # First two: {a, b} and {b, d} share one of three; query 2 all of it. Mean of 1/3 and 1.
    (found,) = overlap(study, 2)
    assert (found.first, found.second, found.share.n) == ("one", "two", 2)
    assert found.share.value == pytest.approx((1 / 3 + 1) / 2)
    # First three: {a, b, c} and {a, b, d} share two of four.
    assert overlap(study, 3)[0].share.value == pytest.approx((1 / 2 + 1) / 2)
    with pytest.raises(UsageError, match="k is 0"):
        overlap(study, 0)
    score(study, "precision@2")
    assert compare(study, "precision@2").overlaps[0].share == found.share


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('ties = "coin"', "no order of ties 'coin'"),
        ('complete = "yes"', "complete must be true or false"),
        ("tied = 1", "no setting 'tied'"),
        ('relevance = "relevanse"', "no truth of 'relevanse'"),
        ('without = "sed"', "no question is called 'sed'"),
    ],
)
def test_wrong_settings(make: Any, setting: str, said: str) -> None:
    study = make([*TIED, *qrels({1: {"b": 1}})], f"[score]\n{setting}\n")
    with pytest.raises((UsageError, DataError), match=said):
        score(study, "precision")
    assert rules(make(TIED)) == Rules()


def again(study: Study, settings: str) -> Study:
    (study.home / "study.toml").write_text(settings, "utf-8")
    return open_study(study.home)


def mean(study: Study, by: str = "reciprocal_rank", system: str = "e") -> float | None:
    return {each.system: each.mean.value for each in compare(study, by).systems}[system]


def test_comparisons_show_rankings_as_they_stand(make: Any) -> None:
    """Scored once with b relevant at rank 2; whatever changes afterwards, nobody need score again."""
    ranking: list[tuple[str, float | None]] = [("a", None), ("b", None), ("c", None)]
    tags = [Prompt(query(q), f"query {q}", {"kind": "xy"[q % 2]}) for q in (1, 2)]
    records = [*tags, *run("e", {1: ranking, 2: ranking}), *qrels({1: {"b": 1}, 2: {"b": 1}})]
    study = make([*records, *qrels({3: {"c": 1}}, "seed")])
    score(study, "reciprocal_rank")
    assert mean(study) == 0.5 and stale_rankings(study) == []
    # New qrels: a is relevant to query 1 as well, which stands at rank 1: (1 + 1/2) / 2.
    new = load(study, qrels({1: {"a": 1}}), importer="t", path="more", digest="2")
    assert mean(study) == 0.75
    cells = {cell.group: cell.mean.value for cell in breakdown(study, "reciprocal_rank", "kind").rows}
    assert cells == {"x": 0.5, "y": 1.0}
    assert queries(study, "reciprocal_rank", []).queries["value"].to_list() == [1.0, 0.5]
    (row,) = compare_sets(study, "kind=x", "reciprocal_rank").rows
    assert row.improvement.second.value == 1.0
    # A report computes nothing: it shows what was scored, and says what is out of date with the command.
    page = build(study)
    measures = page.section("measures")
    assert measures is not None and measures.blocks[0].table.rows[0][2].value == 0.5
    assert any("reciprocal_rank" in each.command for each in page.stale)
    assert stale_rankings(study) == ["reciprocal_rank(min_rel=1.0)"]
    assert any("The scores of reciprocal_rank" in note for note in status(study).notes)
    score(study, "reciprocal_rank")
    assert stale_rankings(study) == [] and build(study).stale == []
    assert not any("The scores of" in note for note in status(study).notes)
    # Another engine: it need not be scored to be compared.
    load(study, run("late", {1: [("z", None), ("a", None)]}), importer="t", path="late", digest="3")
    assert mean(study, system="late") == 0.5 and stale_rankings(study)
    # Without the images that are seeds c goes, which changes nothing; with another question nothing is left.
    undo(study, new.source_id)
    assert mean(study) == 0.5
    with again(study, '[score]\nwithout = "seed"\ncomplete = true\n') as other:
        # late has no ranking of query 2, and z is unjudged: nothing of it counts.
        assert mean(other, system="late") == 0


def test_rankings_scored_once_whose_relevance_is_gone(make: Any) -> None:
    study = make(run("e", {1: [("a", None)]}))
    told = load(study, qrels({1: {"a": 1}}), importer="t", path="q", digest="2")
    score(study, "ndcg")
    with again(study, '[score]\nrelevance = "seed"\n') as other:
        with pytest.raises(DataError, match="no system has a value of ndcg"):
            compare(other, "ndcg")
        assert any("ndcg" in each.command for each in build(other).stale)
        assert [each.partition("(")[0] for each in stale_rankings(other)] == ["ndcg"]
    undo(study, told.source_id)
    assert reading.scores(study, find_measure("ndcg").identity).is_empty()


def test_beside_the_numbers_only_the_prompts_that_are_looked_at(make: Any) -> None:
    tags = [Prompt(query(q), f"query {q}", {"kind": "a" if q == 1 else "b"}) for q in (1, 2, 3)]
    twice: list[tuple[str, float | None]] = [("a", None), ("a", None), ("u", None)]
    records = [
        *tags,
        *run("one", {1: [("b", None)], 2: twice, 3: [("a", None)]}),
        *run("two", {2: [("a", None), ("u", None)]}),
        Answer(query(3), "two", 0, None, failure="nothing was found"),
        *qrels({q: {"a": 1, "b": 0} for q in (1, 2, 3)}),
    ]
    study = make(records)
    score(study, "reciprocal_rank")
    whole = compare(study, "reciprocal_rank")
    assert whole.brief == (
        "In the rankings, 25% of one's, 50% of two's are unjudged and count as not relevant. "
        "Results are empty: two for 1 of 3 prompts, which count as 0. "
        "Rankings are missing: two for 1 of 3 prompts, which are excluded from its means. "
        "Places were dropped, 1 of one: their image already occurred."
    )
    ranking = build(study).section("ranking")
    assert ranking is not None and ranking.lead.startswith(whole.brief)
    some = compare(study, "reciprocal_rank", where="kind=a")
    assert list(some.notes) == [
        "two: 1 of the 1 prompts with known relevance have no ranking and are excluded from its means."
    ]
    assert some.brief == "Rankings are missing: two for 1 of 1 prompts, which are excluded from its means."
    assert some.sentence == (
        "one reaches 0.00 of 1 on reciprocal_rank over 1 prompt. No other system has a value here."
    )
    # Both answered query 2 alone, which is not of kind a.
    assert [(each.share.value, each.share.n) for each in some.overlaps] == [(None, 0)]
    rest = compare(study, "reciprocal_rank", where="kind=b")
    assert (rest.overlaps[0].share.value, rest.overlaps[0].share.n) == (1.0, 1)
    assert "two: 1 of the 2 prompts with known relevance have empty results and count as 0." in rest.notes
    assert {each.system: each.mean.value for each in rest.systems} == {"one": 1.0, "two": 0.5}


def test_what_a_measure_does_not_look_at_is_no_gap_in_it(make: Any) -> None:
    """Image a stands twice; b is unjudged, and so is all of query 2."""
    told = run("e", {1: [("a", 3.0), ("b", 2.0), ("a", 1.0)], 2: [("b", 2.0)]})
    study = make([*told, *qrels({1: {"a": 1}})])
    twice = "e: 1 places were dropped: their image already occurred."
    precision, commitment = find_measure("precision@2"), find_measure("nqc@2")
    judged, unjudged = rankings_for(study, precision), rankings_for(study, commitment)
    assert judged.notes_for(precision) == [
        "1 of 2 prompts have no known relevance, and so no value.",
        "e: 1 of the 2 images among the first 2 (50%) are unjudged and count as not relevant.",
        twice,
    ]
    assert unjudged.notes_for(commitment) == [twice] and unjudged.brief_for(commitment) == twice
    assert unjudged.notes_for(commitment, [2]) == []
    predicted = judged.notes_for(find_measure("expected_precision@2"))
    assert predicted[0].startswith("expected_precision(k=2) uses") and predicted[1:] == [twice]
    # What was read for one sort of measure serves that sort, and no other.
    assert rankings_for(study, precision, judged) is judged
    assert rankings_for(study, commitment, judged) is not judged
    assert not rankings_for(study, commitment, judged).by_relevance
