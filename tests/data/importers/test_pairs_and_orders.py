"""Choices between pairs and orders of images, from tables into a study, out of it and in again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.export import export
from sightline.data.import_ import import_, recognise
from sightline.data.imports import undo
from sightline.errors import ConflictError, DataError
from sightline.judging.truth import truth
from sightline.records import BOTH_BAD, AnnotatorKey, Item, Judgement, PromptText, Question
from sightline.study import listing, reading, rollup
from sightline.study.study import Study, create_study

Run = Callable[..., list[Any]]
Refuses = Callable[..., None]
Dump = Callable[[Study], dict[str, list[tuple[Any, ...]]]]
ANSWERS = "prompt,image,system\n" + "".join(f"{p},{s}{p}.png,{s}\n" for p in "xy" for s in "abc")
PAIRS = """\
prompt,system,system_b,annotator,question,value
x,a,b,ann,better,0
x,a,b,ben,better,1
y,b,c,ann,better,.5
y,c,a,ben,better,both_bad
"""
IMAGES = """\
prompt,image,image_b,annotator,question,value
x,ax.png,bx.png,ann,nicer,0
y,by.png,cy.png,ann,nicer,0.5
y,cy.png,ay.png,ben,nicer,both_bad
"""
ORDERS = """\
prompt,annotator,question,group,system,rank
x,ann,best,1,c,1
x,ann,best,1,a,2
x,ann,best,1,b,2
x,ann,best,2,b,1
x,ann,best,2,a,2
"""
OWN = """\
prompt,annotator,question,group,image,rank
y,,best,m,by.png,2
y,,best,m,ay.png,1
y,,best,n,ay.png,2
y,,best,n,by.png,1
"""


def filled(study: Study, folder: Path, **tables: str) -> Study:
    for name, rows in {"answers": ANSWERS, **tables}.items():
        (folder / f"{name}.csv").write_text(rows)
        import_(study, folder / f"{name}.csv", options={"names_only": "true"} if name == "answers" else {})
    return study


def pairs(study: Study, question: str) -> list[tuple[Any, ...]]:
    return rollup.pair_votes(study, question).select("prompt_id", "system", "system_b", "outcome").rows()


def orders(study: Study) -> list[tuple[Any, ...]]:
    return (
        rollup.order_votes(study, "best").select("prompt_id", "annotator", "group", "system", "rank").rows()
    )


def test_pairs_of_systems_and_of_images(study: Study, tmp_path: Path) -> None:
    filled(study, tmp_path, pairs=PAIRS, images=IMAGES)
    assert pairs(study, "better") == [
        (1, "a", "b", 0.0), (1, "a", "b", 1.0), (2, "b", "c", 0.5), (2, "c", "a", None),
    ]  # fmt: skip
    assert pairs(study, "nicer") == [(1, "a", "b", 0.0), (2, "b", "c", 0.5), (2, "c", "a", None)]
    for name in ("better", "nicer"):
        asked = reading.question(study, name)[1]
        assert (asked.scale, asked.low, asked.high, asked.direction) == ("ordinal", 0, 1, "none")


def test_a_table_of_votes_is_a_study_of_its_own(study: Study, tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text(PAIRS)
    imported = import_(study, votes)
    assert sorted(reading.prompts(study)["text"]) == ["x", "y"] and len(pairs(study, "better")) == 4
    assert import_(study, votes).already
    # Where there are prompts, another one is refused.
    votes.write_text(PAIRS.replace("y,b,c", "z,b,c"))
    with pytest.raises(DataError, match="no prompts read 'z'"):
        import_(study, votes)
    assert imported.number is not None
    undo(study, imported.number)
    assert not len(reading.prompts(study))


def test_orders_of_systems_and_of_images(study: Study, tmp_path: Path) -> None:
    filled(study, tmp_path, orders=ORDERS, own=OWN)
    given = orders(study)
    by = {who: [row for row in given if row[1] == who] for who in (-1, 0)}
    assert [row[2:] for row in by[0]] == [
        (0 + by[0][0][2], "c", 1.0), (by[0][0][2], "a", 2.0), (by[0][0][2], "b", 2.0),
        (by[0][3][2], "b", 1.0), (by[0][3][2], "a", 2.0),
    ]  # fmt: skip
    assert [row[3:] for row in by[-1]] == [("a", 1.0), ("b", 2.0), ("b", 1.0), ("a", 2.0)]
    assert len({row[2] for row in given}) == 4
    asked = reading.question(study, "best")[1]
    assert (asked.scale, asked.low, asked.high, asked.direction) == ("ordinal", 1, None, "lower")
    # a has ranks 2 and 2, b 2 and 1, c 1 by ann.
    truth(study, "best")
    means = rollup.by_system(study, "best").filter(prompt_id=1)
    assert dict(means.select("system", "value").iter_rows()) == {"a": 2.0, "b": 1.5, "c": 1.0}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_comes_back_as_it_was(study: Study, tmp_path: Path, form: str) -> None:
    filled(study, tmp_path, pairs=PAIRS, images=IMAGES, orders=ORDERS, own=OWN)
    export(study, tmp_path / "out", form=form)
    with create_study(tmp_path / "again") as again:
        import_(again, tmp_path / "out")
        assert listing.named_judgements(again).equals(listing.named_judgements(study))
        for name in ("better", "nicer"):
            assert pairs(again, name) == pairs(study, name)
        assert orders(again) == orders(study)
        # The table alone says the same.
        import_(again, tmp_path / "out" / f"judgements.{form}")
        assert listing.named_judgements(again).height == listing.named_judgements(study).height


def test_undoing_leaves_nothing_of_pairs_and_orders(study: Study, tmp_path: Path, dump: Dump) -> None:
    filled(study, tmp_path)
    before = dump(study)
    (tmp_path / "more.csv").write_text(
        "prompt,system,system_b,annotator,question,value,group\nx,a,new,ann,better,0,\nx,new,b,ann,better,1,g\n"
    )
    added = import_(study, tmp_path / "more.csv", new_systems=True)
    truth(study, "better", rule="bradley_terry")
    undo(study, added.number or 0)
    assert dump(study) == before


def test_the_same_pair_again_is_one_vote_and_another_value_a_conflict(study: Study, tmp_path: Path) -> None:
    filled(study, tmp_path, pairs=PAIRS, twice=PAIRS + "y,a,b,ann,better,1\n")
    assert len(pairs(study, "better")) == 5
    for value in ("1", "both_bad"):
        (tmp_path / "other.csv").write_text(PAIRS.splitlines()[0] + f"\nx,a,b,ann,better,{value}\n")
        with pytest.raises(ConflictError, match="another answer"):
            import_(study, tmp_path / "other.csv")


def test_a_tie_on_a_nominal_scale(study: Study, tmp_path: Path) -> None:
    rows = [line + "," + ("nominal,0,1" if n else "scale,scale_low,scale_high") for n, line in
            enumerate(PAIRS.splitlines())]  # fmt: skip
    filled(study, tmp_path, pairs="\n".join(rows), more=PAIRS.replace("ann", "eve").replace("ben", "fay"))
    # The second table says nothing about the scale, and so claims nothing.
    assert reading.question(study, "better")[1].scale == "nominal"
    assert len(pairs(study, "better")) == 8
    truth(study, "better")


def test_votes_on_pairs_need_no_annotators_and_ratings_of_pairs_are_no_choices(
    tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("prompt,image,image_b,question,value\nx,a,b,q,0\nx,a,b,q,both_bad\n")
    assert recognise(file)[0].name == "judgements"
    file.write_text("prompt,image,image_b,question,value\nx,a,b,q,0.3\n")
    assert recognise(file)[0].name == "truths"
    file.write_text("prompt,image,image_b,annotator,question,value\nx,a,b,ann,q,1\nx,a,c,ann,q,4\n")
    assert run("judgements", file, Question) == [Question("q", at="t.csv:2")]


def test_records_of_both_bad_and_of_ranks(tmp_path: Path, run: Run) -> None:
    (tmp_path / "p.csv").write_text(PAIRS.splitlines()[0] + "\nx,a,b,ann,better,Both_Bad\n")
    (vote,) = run("judgements", tmp_path / "p.csv", Judgement)
    ann = AnnotatorKey("people", "ann")
    assert vote == Judgement(
        "better", Item(PromptText("x"), "a", system_b="b"), None, ann, skipped=BOTH_BAD, at="p.csv:2"
    )
    (tmp_path / "o.csv").write_text("prompt,annotator,question,system,rank\nx,ann,best,a,2\nx,ann,best,b,1\n")
    found = run("judgements", tmp_path / "o.csv", Judgement)
    assert [(each.item.system, each.value, each.group) for each in found] == [("a", 2, "1"), ("b", 1, "1")]


PAIR, ORDER = (
    "prompt,system,system_b,image,image_b,annotator,question,value",
    "prompt,annotator,question,system,rank",
)


@pytest.mark.parametrize(
    ("header", "row", "what"),
    [
        (PAIR, "x,a,a,,,ann,q,1", "compared with itself"),
        (PAIR, "x,,b,,,ann,q,1", "system_b and no system"),
        (PAIR, "x,,,,b.png,ann,q,1", "image_b and no image"),
        (PAIR, "x,a,b,,,ann,q,2", "value must be 0, 0.5 or 1"),
        (PAIR, "x,a,b,,,ann,q,neither", "tie or both_bad"),
        (PAIR, "x,a,,,,ann,q,both_bad", "no two sides"),
        (f"{PAIR},skipped", "x,a,b,,,ann,q,both_bad,tired", "another reason"),
        (ORDER, "x,ann,q,a,0", "rank must be 1 or more"),
        (ORDER, "x,ann,q,a,first", "rank must be a whole number"),
        (ORDER, "x,ann,q,,1", "either a system or an image"),
        (ORDER, ",ann,q,a,1", "prompt is empty"),
        (ORDER, "x,,q,a,1", "neither an annotator nor a group"),
        (ORDER, "x,ann,q,b,2", "begins at votes.csv:2 has this already"),
        (f"{ORDER},value", "x,ann,q,a,1,1", "a rank and a value"),
    ],
)
def test_bad_rows(refuses: Refuses, header: str, row: str, what: str) -> None:
    good = {PAIR: "x,a,b,,,eve,q,1", ORDER: "x,ann,q,b,1"}[PAIR if header.startswith(PAIR) else ORDER]
    good += "," * (header.count(",") - good.count(","))
    refuses("judgements", {"votes.csv": f"{header}\n{good}\n{row}\n"}, "votes.csv:3", what)


def test_orders_need_a_group_or_an_annotator(study: Study, tmp_path: Path) -> None:
    rows = "prompt,question,group,system,rank\nx,best,1,a,1\nx,best,1,b,2\nx,best,2,b,1\nx,best,2,a,2\n"
    filled(study, tmp_path, orders=rows)
    assert [row[1:] for row in orders(study)] == [
        (-1, 0, "a", 1.0), (-1, 0, "b", 2.0), (-1, 1, "b", 1.0), (-1, 1, "a", 2.0)
    ]  # fmt: skip


def test_values_in_words(study: Study, tmp_path: Path) -> None:
    head = "prompt,system,system_b,annotator,question,value\n"
    words = head + "x,a,b,ann,better,Tie\nx,a,b,ben,better,both bad\nx,b,c,ann,better,1\n"
    answers = "prompt,system,annotator,question,value\nx,a,ann,correct,yes\nx,b,ann,correct,No\n"
    filled(study, tmp_path, votes=words, answers2=answers)
    assert [row[-1] for row in pairs(study, "better")] == [0.5, None, 1.0]
    asked = reading.question(study, "correct")[1]
    assert (asked.scale, asked.low, asked.high) == ("nominal", 0, 1)
    assert listing.judgements(study).filter(question="correct")["value"].to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ("x,a,ann,correct,perhaps", "yes or no"),
        (",a,ann,good,3\nx,b,ann,good,4", "prompt is empty"),
        ("x,b,ann,good,4\n,a,ann,good,3", "prompt is empty"),
    ],
)
def test_words_and_gaps_that_are_refused(tmp_path: Path, rows: str, what: str) -> None:
    (tmp_path / "votes.csv").write_text(f"prompt,system,annotator,question,value\n{rows}\n")
    with create_study(tmp_path / "study") as study, pytest.raises(DataError, match=what):
        import_(study, tmp_path / "votes.csv")


def test_ratings_without_annotators_are_pointed_to_the_column(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("prompt,system,question,value\nx,a,good,3\nx,a,good,4\n")
    with create_study(tmp_path / "study") as study, pytest.raises(ConflictError, match="`annotator`"):
        import_(study, tmp_path / "votes.csv")


def test_a_misspelt_column_is_named_alone(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("prompt,system,anotator,question,value\nx,a,ann,good,3\n")
    with create_study(tmp_path / "study") as study, pytest.raises(DataError) as told:
        import_(study, tmp_path / "votes.csv")
    assert "--column annotator=anotator" in str(told.value) and len(str(told.value).splitlines()) == 2


def test_answers_by_wording_are_of_the_prompts_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "prompts.csv").write_text("prompt_id,prompt\np1,x\np2,y\n")
    (tmp_path / "answers.csv").write_text(ANSWERS)
    (tmp_path / "votes.csv").write_text(PAIRS)
    with create_study(tmp_path / "study") as study:
        import_(study, tmp_path / "prompts.csv")
        import_(study, tmp_path / "answers.csv", options={"names_only": "true"})
        import_(study, tmp_path / "votes.csv")
        assert reading.prompts(study)["ref"].to_list() == ["p1", "p2"]
        assert reading.answers(study).height == 6
        import_(study, tmp_path / "answers.csv", options={"names_only": "true", "suite": "other"})
        assert reading.prompts(study).height == 4, "a suite of its own where one is named"
