"""The explorer: every kind of field, filter, order and layout against what hand arithmetic gives."""

from __future__ import annotations

from typing import Any

import pytest

from sightline.errors import UsageError
from sightline.report.explorer import explorer as module
from sightline.report.explorer.explorer import Explorer
from sightline.report.explorer.state import parse_state
from sightline.study.study import Study
from sightline.study.writing.image_tags import set_image_tags
from sightline.study.writing.loading import undo

NONE = None
THIRD = 1 / 3
VALUES: dict[str, list[Any]] = {
    "truth:quality": [0.5, 1.0, 0.2, NONE, NONE, NONE, 0.9, NONE],
    # An excluded annotator and a revised vote do not count; two anonymous ones do.
    "votes:quality": [3, 2, 1, 0, NONE, 0, 1, 0],
    # 1, .5 and 0 deviate by .5; it takes two votes.
    "disagreement:quality": [0.5, 0, NONE, NONE, NONE, NONE, NONE, NONE],
    # One vote compared the images of rows 0 and 2.
    # How far people differ about a pair says nothing of either image.
    "disagreement:taste": [NONE] * 8,
    "votes:taste": [1, 0, 1, 0, NONE, 0, 0, 0],
    "score:sharp": [0.1, 0.2, 0.3, NONE, NONE, NONE, 0.4, NONE],
    "score:long": [7, 7, 7, NONE, NONE, NONE, NONE, NONE],
    "score:varied": [3, 3, NONE, NONE, NONE, NONE, NONE, NONE],
    "score:fits": [1, NONE, NONE, NONE, NONE, NONE, NONE, NONE],
    # Its score is of another content than the study holds.
    "score:stale": [NONE] * 8,
    "verdict:fits": ["yes", NONE, "cannot tell", NONE, NONE, NONE, NONE, NONE],
    # People rank 2, 0, 1, 6 upwards as 2 < 0 < 6 < 1, the measure as 0 < 1 < 2 < 6.
    "gap:quality~sharp": [THIRD - 0, 1 - THIRD, 0 - 2 * THIRD, NONE, NONE, NONE, 2 * THIRD - 1, NONE],
    "prediction:quality~ridge": [0.4, 0.4, 0.4, 0.6, 0.6, NONE, NONE, NONE],
    # The first prompt: alpha (.5 + 1) / 2 = .75, beta .2, together .475; the second has no truth.
    "residual:quality~ridge": [0.075, 0.075, 0.075, NONE, NONE, NONE, NONE, NONE],
    "tag:skill": ["colour", "colour", "colour", "colour", "colour", "place", "place", NONE],
    "tag:blur": [NONE, NONE, "yes", NONE, NONE, NONE, NONE, "no"],
    "system": ["alpha", "alpha", "beta", "alpha", "beta", "alpha", "beta", NONE],
    "suite": ["s"] * 7 + [NONE],
    "collection": ["drawn"] * 4 + [NONE] + ["drawn"] * 2 + ["photos"],
    "position": [0, 1, 0, 0, 0, 0, 0, NONE],
    "seed": [0, 1, 2, 3, NONE, 5, 6, NONE],
    "width": [8, 9, 10, 11, NONE, NONE, 14, 20],
    "height": [6, 6, 6, 6, NONE, NONE, 6, 10],
    "setting:steps": [10, 20, NONE, 40, NONE, 60, NONE, NONE],
    "setting:sampler": ["ddim", "ddim", NONE, "ddim", NONE, "ddim", NONE, NONE],
}


def page_of(explorer: Explorer, query: str, *more: int) -> Any:
    return explorer.rows(query, *more)


def rows(explorer: Explorer, query: str) -> list[int]:
    return [row.id for row in page_of(explorer, query).rows]


def keys_of(explorer: Explorer) -> list[str]:
    return [row.key for row in page_of(explorer, "").rows]


def test_every_field_has_the_values_of_hand_arithmetic(explorer: Explorer) -> None:
    held = explorer.snapshot()
    assert set(held.fields.named) == set(VALUES)
    for name, expected in VALUES.items():
        column = held.fields.column(name)
        for row, value in enumerate(expected):
            shown = column.value(row)
            if isinstance(value, int | float) and shown is not None:
                assert shown == pytest.approx(value), (name, row)
            else:
                assert shown == value, (name, row)


def test_fields_count_what_the_other_filters_leave(explorer: Explorer) -> None:
    fields = {each.id: each for each in explorer.fields("f.tag:skill=place&f.score:sharp=0.4").fields}
    skill = fields["tag:skill"]
    # Its own filter does not count, that by the score leaves row 6 alone.
    assert [(each.value, each.n) for each in skill.values or ()] == [("place", 1), ("colour", 0)]
    sharp = fields["score:sharp"]
    assert (sharp.n, sharp.missing, sharp.low, sharp.high, sharp.direction) == (1, 1, 0.1, 0.4, "higher")
    bins = sharp.bins or ()
    assert len(bins) == 20 and sum(each.n for each in bins) == 1 and bins[-1].n == 1
    assert fields["width"].whole and not sharp.whole
    assert [(each.value, each.n) for each in fields["tag:blur"].values or ()] == [
        ("no", 0),
        ("yes", 0),
        ("", 1),
    ]


def test_only_the_fields_named(explorer: Explorer) -> None:
    assert [each.id for each in explorer.fields("", ["seed", "system"]).fields] == ["seed", "system"]


def test_very_many_derived_fields_are_counted_when_asked(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_DERIVED", 1)
    unasked = {each.id: each for each in explorer.fields("").fields}
    assert unasked["gap:quality~sharp"].bins is None and unasked["score:sharp"].bins is not None
    used = {each.id: each for each in explorer.fields("sort=gap:quality~sharp").fields}
    assert used["gap:quality~sharp"].n == 4 and used["residual:quality~ridge"].bins is None
    (asked,) = explorer.fields("", ["residual:quality~ridge"]).fields
    assert asked.n == 3


def test_names_of_fields_load_no_column(explorer: Explorer) -> None:
    named = explorer.fields("", counts=False).fields
    assert [each.id for each in named] == [each.id for each in explorer.fields("").fields]
    assert {(each.n, each.values, each.bins) for each in named} == {(0, None, None)}
    another = Explorer(explorer.study)
    another.fields("", counts=False)
    assert not another.snapshot().fields.loaded(set())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("q=red", [0, 1, 2, 5, 6]),
        ("q=cat+RED", [5, 6]),
        ('q="red+cat"', [5, 6]),
        ('q="cat+red"', []),
        ("system=beta", [2, 4, 6]),
        ("system=beta&system=alpha", [0, 1, 2, 3, 4, 5, 6]),
        ("is=failed", [4]),
        ("is=no-file", [5]),
        ("is=ok", [0, 1, 2, 3, 6, 7]),
        ("is=unanswered", [7]),
        ("is=unjudged", [3, 5, 7]),
        ("is=unjudged&is=ok", [3, 7]),
        ("is=defect", []),
        ("f.tag:skill=place", [5, 6]),
        ("f.tag:skill=place&f.tag:skill=colour", [0, 1, 2, 3, 4, 5, 6]),
        ("f.tag:skill=", [7]),
        ("f.tag:blur=&system=beta", [4, 6]),
        ("f.tag:skill=nothing", []),
        ("f.truth:quality=0.5..", [0, 1, 6]),
        ("f.truth:quality=..0.5", [0, 2]),
        ("f.truth:quality=0.5..0.9", [0, 6]),
        ("f.truth:quality=0.2&f.truth:quality=1..", [1, 2]),
        ("f.truth:quality=none", [3, 4, 5, 7]),
        ("f.truth:quality=..", [0, 1, 2, 6]),
        ("f.votes:quality=2..", [0, 1]),
        ("f.disagreement:quality=0.1..", [0]),
        ("f.gap:quality~sharp=0.5..", [1]),
        ("f.verdict:fits=cannot+tell", [2]),
        ("f.setting:steps=..20", [0, 1]),
        ("f.residual:quality~ridge=0..", [0, 1, 2]),
        ("sort=-prompt", [5, 6, 3, 4, 0, 1, 2, 7]),
        ("sort=truth:quality", [2, 0, 6, 1, 3, 4, 5, 7]),
        ("sort=-truth:quality", [1, 6, 0, 2, 3, 4, 5, 7]),
        ("sort=tag:skill", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("sort=-tag:skill", [5, 6, 0, 1, 2, 3, 4, 7]),
        ("sort=-system&q=cat", [4, 6, 3, 5]),
        ("sort=-gap:quality~sharp&is=ok", [1, 0, 6, 2, 3, 7]),
        ("sort=-width&system=alpha&size=l&zoom=1&at=9&blind=0&unknown=1", [3, 1, 0, 5]),
    ],
)
def test_filters_and_orders(explorer: Explorer, query: str, expected: list[int]) -> None:
    assert rows(explorer, query) == expected


def test_a_random_order_is_the_same_on_every_page(explorer: Explorer) -> None:
    whole = rows(explorer, "sort=random")
    parts = [[row.id for row in page_of(explorer, "sort=random", at, 3).rows] for at in (0, 3, 6)]
    assert sorted(whole) == list(range(8)) and [row for part in parts for row in part] == whole


def test_a_row_says_what_it_shows(explorer: Explorer) -> None:
    page = page_of(explorer, "show=tag:blur&sort=truth:quality", 0, 1)
    (row,) = page.rows
    assert (page.total, page.offset) == (8, 0)
    assert (
        row.prompt == "a red dog" and row.system == "beta" and row.tags == {"skill": "colour", "blur": "yes"}
    )
    assert row.values == {"tag:blur": "yes", "truth:quality": 0.2} and (row.width, row.height) == (10, 6)
    failed = page_of(explorer, "is=failed").rows[0]
    assert failed.failure == "<b>refused</b>" and failed.thumb is None and failed.image_id is None
    alone = page_of(explorer, "is=unanswered").rows[0]
    assert alone.key.startswith("i-") and alone.prompt is None and alone.system is None
    missing = page_of(explorer, "is=no-file").rows[0]
    assert missing.image_id is not None and missing.full is None


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("sort=nothing", "no field"),
        ("f.score:nothing=1..", "no field"),
        ("show=truth:'); DROP TABLE prompt; --", "no field"),
        ("f.truth:quality=high", "no range"),
        ("f.truth:quality=1..x", "no range"),
        ("f.truth:quality=nan..1", "no range"),
        ("f.truth:quality=", "no range"),
        ("system=gamma", "no system"),
        ("is=nice", "is cannot be"),
        ("layout=heap", "layout cannot be"),
        ("layout=pair&a=alpha", "no system"),
        ("layout=pair&a=alpha&b=%00", "no system"),
        ("&".join(f"f.tag:skill={n}" for n in range(1_001)), "too many"),
    ],
)
def test_what_makes_no_sense_is_told(explorer: Explorer, query: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        page_of(explorer, query)


@pytest.mark.parametrize(
    "query",
    [
        "q=%00", "q=%ff%fe", "q='%3B--", 'q="', "f.tag:skill='+OR+1=1", "f.truth:quality=-1e400..1e400",
        "%&&=", "q=" + "a+" * 5_000,
    ],
)  # fmt: skip
def test_odd_values_are_only_values(explorer: Explorer, query: str) -> None:
    assert page_of(explorer, query).total <= 8


def test_prompts_across_systems(explorer: Explorer) -> None:
    page = page_of(explorer, "layout=prompts&sort=-truth:quality")
    assert (page.total, list(page.systems)) == (3, ["alpha", "beta"])
    # By the best row of each: 1.0 of the first, .9 of the third, none of the second.
    assert [[cell and cell.id for cell in each.cells] for each in page.rows] == [[0, 2], [5, 6], [3, 4]]
    assert page.rows[0].cells[0].samples == 2
    page = page_of(explorer, "layout=prompts&f.truth:quality=..0.3")
    assert [[cell.matches for cell in each.cells] for each in page.rows] == [[False, True]]
    page = page_of(explorer, "layout=prompts&system=beta", 1, 1)
    assert (page.total, [cell.id for cell in page.rows[0].cells]) == (3, [4])


def test_two_systems_head_to_head(explorer: Explorer) -> None:
    page = page_of(explorer, "layout=pair&a=alpha&b=beta&sort=-truth:quality")
    shown = [(each.a.id, each.b.id, each.difference) for each in page.rows]
    assert (
        page.total == 3
        and shown[0] == (0, 2, pytest.approx(0.3))
        and [each[2] for each in shown[1:]] == [None, None]
    )
    assert [each.prompt for each in page_of(explorer, "layout=pair&a=beta&b=alpha&q=cat").rows] == [
        "a blue cat",
        "Red CAT on a mat",
    ]


def test_everything_about_a_row(explorer: Explorer) -> None:
    key = keys_of(explorer)[0]
    found = explorer.detail(key, "sort=-truth:quality")
    assert (
        found.prompt and found.prompt["text"] == "a red dog" and found.prompt["tags"] == {"skill": "colour"}
    )
    assert found.image and found.image["name"] == "0.png" and found.answer and found.answer["seed"] == 0
    assert found.answer["settings"] == {"steps": 10, "sampler": "ddim"}
    assert found.provenance["answer"]["importer"] == "test" and found.provenance["image"]["number"] == 1
    assert [row.id for row in found.siblings] == [1, 2]
    quality = [each for each in found.votes if each.question == "quality"]
    assert [(each.value, each.label, each.annotator) for each in quality] == [
        (1, "perfect", "annotator 1"), (0.5, "", "annotator 2"), (0, "", "anonymous")
    ]  # fmt: skip
    assert quality[0].seconds == 1.5
    (taste,) = [each for each in found.votes if each.question == "taste"]
    assert taste.side == "A" and len(taste.compared_with) == 1
    (truth,) = found.truths
    assert (truth.estimate.value, truth.estimate.low, truth.estimate.n, truth.counts) == (0.5, 0.4, 3, True)
    scores = {each.measure: each for each in found.scores}
    assert set(scores) == {"sharp", "fits", "long", "varied", "stale"}
    assert scores["fits"].evidence["boxes"] == [{"box": [0, 0, 1, 1]}] and scores["sharp"].current
    assert not scores["stale"].current
    (predicted,) = found.predictions
    assert (predicted.predictor, predicted.estimate.value, predicted.estimate.high) == ("ridge", 0.4, 0.6)
    around = found.neighbours
    assert (around.place, around.total) == (3, 8)
    assert [explorer.snapshot().row(each) for each in (around.previous or "", around.next or "")] == [6, 2]


def test_names_are_shown_to_whoever_asks(explorer: Explorer) -> None:
    keys = keys_of(explorer)
    named = explorer.detail(keys[2], blind=False).votes
    assert {(each.annotator, each.excluded) for each in named if each.question == "quality"} == {
        ("ann", None), ("eve", "asleep")
    }  # fmt: skip
    assert [each.value for each in explorer.detail(keys[6]).votes] == [0.9]
    reason = {each.measure: each.reason for each in explorer.detail(keys[2]).scores}["fits"]
    assert reason == "it cannot be told"


def test_rows_without_prompt_or_image_have_their_page_too(explorer: Explorer) -> None:
    keys = keys_of(explorer)
    alone, failed = explorer.detail(keys[7]), explorer.detail(keys[4])
    assert alone.prompt is None and alone.image and alone.image["captions"] == ["a photo"]
    assert failed.image is None and failed.answer and failed.answer["failure"] == "<b>refused</b>"
    out = explorer.detail(keys[4], "system=alpha").neighbours
    assert (out.previous, out.next, out.place, out.total) == (None, None, None, 4)


def test_neighbours_follow_the_layout(explorer: Explorer) -> None:
    keys = keys_of(explorer)
    around = explorer.detail(keys[4], "layout=prompts").neighbours
    assert (around.previous, around.next, around.place, around.total) == (keys[0], keys[5], 2, 3)
    around = explorer.detail(keys[2], "layout=pair&a=alpha&b=beta").neighbours
    assert (around.previous, around.next, around.place, around.total) == (None, keys[3], 1, 3)


@pytest.mark.parametrize("key", ["a-1-1-99", "i-999999", "a-1-1", "x-1", "a-1-1-1-1", "i-" + "9" * 30])
def test_rows_that_are_not_there(explorer: Explorer, key: str) -> None:
    with pytest.raises(UsageError, match="no row"):
        explorer.detail(key)


def test_a_prompt_with_all_its_answers(explorer: Explorer) -> None:
    found = explorer.prompt(int(page_of(explorer, "").rows[0].prompt_id or 0))
    assert found.prompt["ref"] == "0"
    assert {each.system: [row.id for row in each.rows] for each in found.systems} == {
        "alpha": [0, 1],
        "beta": [2],
    }
    with pytest.raises(UsageError, match="no prompt"):
        explorer.prompt(99)


def test_charts_lead_to_the_images_behind_them(explorer: Explorer) -> None:
    chart = explorer.chart("is=ok", "truth:quality")
    shown = {row.system: row for row in chart.rows}
    # alpha: one prompt with (.5 + 1) / 2; beta: .2 and .9.
    assert shown["alpha"].mean and shown["alpha"].mean.value == pytest.approx(0.75)
    assert shown["beta"].mean and shown["beta"].mean.value == pytest.approx(0.55)
    assert (shown["beta"].mean.n, shown["beta"].mean.low) == (2, None)
    assert rows(explorer, shown["beta"].address.partition("?")[2]) == [2, 6]
    cells = explorer.chart("", "tag:skill", "truth:quality").rows
    found = {
        (cell.system, cell.value): (cell.n, rows(explorer, cell.address.partition("?")[2])) for cell in cells
    }
    assert found == {
        ("alpha", "colour"): (3, [0, 1, 3]), ("alpha", "place"): (1, [5]),
        ("beta", "colour"): (2, [2, 4]), ("beta", "place"): (1, [6]),
    }  # fmt: skip
    with pytest.raises(UsageError, match="no number"):
        explorer.chart("", "tag:skill", "system")


def test_what_others_write_is_noticed(
    explorer: Explorer, filled: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
    first = page_of(explorer, "sort=truth:quality")
    held = explorer.snapshot()
    assert explorer.snapshot() is held
    image = first.rows[0].image_id
    set_image_tags(filled, [(int(image or 0), 0)], "seen", "yes")
    assert rows(explorer, "f.tag:seen=yes") == [2]
    after = explorer.snapshot()
    assert after.number == held.number + 1 and after.table is held.table
    assert after.fields.column("truth:quality") is held.fields.column("truth:quality")
    set_image_tags(filled, [(int(image or 0), 0)], "seen", "twice")
    assert rows(explorer, "f.tag:seen=twice") == [2]
    undo(filled, 1)
    assert page_of(explorer, "").total == 0


def test_what_was_written_shows_within_seconds(explorer: Explorer, filled: Study) -> None:
    assert page_of(explorer, "").total == 8
    undo(filled, 1)
    assert page_of(explorer, "").total == 8  # not yet looked
    explorer.forget()
    assert page_of(explorer, "").total == 0


def test_an_empty_study(study: Study) -> None:
    explorer = Explorer(study)
    assert explorer.about().rows == 0 and page_of(explorer, "").total == 0
    assert all(each.n == 0 for each in explorer.fields("").fields)
    for layout in ("prompts", "grid"):
        assert page_of(explorer, f"layout={layout}").total == 0


def test_the_study_at_a_glance(explorer: Explorer) -> None:
    about = explorer.about()
    assert (about.rows, about.prompts, about.blind_default, about.report) == (8, 3, True, False)
    assert [(each.name, each.kind, each.n) for each in about.systems] == [
        ("alpha", "generator", 4), ("beta", "generator", 3)
    ]  # fmt: skip
    assert "yes_no" in about.modes


def test_every_field_can_be_loaded_ahead(explorer: Explorer) -> None:
    thread = explorer.warm()
    thread.join(60)
    loaded = explorer.snapshot().fields.loaded(set())
    assert not thread.is_alive() and {"score:sharp", "tag:blur"} <= set(loaded)


def test_a_state_is_the_same_however_it_is_written() -> None:
    one = parse_state("system=a&f.x=1&f.b=2&q=One+two")
    assert one == parse_state("q=one++two&f.b=2&f.x=1&system=a&system=a&at=4")
