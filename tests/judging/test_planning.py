"""What a round will take: published figures, hand arithmetic, and laws every plan obeys."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import UsageError
from sightline.judging.planning import Plan, plan


def test_the_plan_of_conqa() -> None:
    """50 conceptual and 30 descriptive queries, 100 images each, 5 a page, 3 judgements, USD 0.20 + 10 %."""
    conceptual = plan(50, 100, places=5, per_item=3, price=0.20, fee=0.10)
    descriptive = plan(30, 100, places=5, taken=1, per_item=3, price=0.20, fee=0.10)
    # 100 / 5 = 20 pages x 3 = 60; 100 / 4 = 25 pages x 3 = 75.
    assert (conceptual.tasks / 50, descriptive.tasks / 30) == (60, 75)
    whole = conceptual + descriptive
    assert (whole.items, whole.tasks, whole.control_images) == (1000 + 750, 5250, 2250)
    # 5,250 x 0.20 = 1,050; with a tenth on top 1,155.
    assert str(whole.cost) == "1155.00"
    assert whole.annotators == 3 and whole.hours is None


def test_the_plan_of_pqpp() -> None:
    # A prompt's 4 images and the photo make one page; one page of five is a control: 3 judgements of 8,000
    # prompts are 24,000 pages of work and 6,000 control pages.
    found = plan(8000, 4, places=5, taken=1, per_item=3, control_pages=1, of=5, seconds=30)
    assert (found.items, found.work, found.control_pages, found.tasks) == (8000, 24_000, 6000, 30_000)
    assert found.hours == 250
    assert found.cost == 0


def test_the_plan_of_agiqa() -> None:
    # 2,982 images, one a page, 21 viewers who see all of them.
    found = plan(2982, 1, per_item=21)
    assert found.tasks == 62_622 and found.pages_each(21) == 2982 and found.pages_each(40) == 1566
    with pytest.raises(UsageError, match="21 judgements an item cannot come from 20 annotators"):
        found.pages_each(20)


def test_repeats_and_control_pages_are_paid_as_well() -> None:
    # 10 items x 2 = 20; a fifth again is 4; one control in every four pages: 24 / 3 = 8; 32 pages in all.
    found = plan(10, 1, per_item=2, repeat=0.2, control_pages=1, of=4, price="0.125", fee="0.2")
    assert (found.work, found.repeats, found.control_pages, found.tasks) == (20, 4, 8, 32)
    # 32 x 0.125 x 1.2 = 4.80.
    assert str(found.cost) == "4.80"


def test_money_is_counted_in_decimals() -> None:
    # As binary fractions 3 x 0.35 x 1.1 would be 1.1549999..., and half a cent would vanish.
    assert str(plan(1, 1, per_item=3, price=0.35, fee=0.1).cost) == "1.16"
    # Parts add before they are rounded: 3 x 0.0045 is one cent, not three times nothing.
    part = plan(1, 1, per_item=1, price=0.0045)
    assert str(part.cost) == "0.00" and str((part + part + part).cost) == "0.01"


def test_hours_are_unknown_where_a_part_is() -> None:
    timed, other = plan(1, 1, seconds=7200, per_item=1), plan(1, 1, per_item=1)
    assert (timed + timed).hours == 4 and (timed + other).hours is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"places": 5, "taken": 5}, "controls take 5 of the 5 places"),
        ({"per_item": 0}, "0 judgements an item"),
        ({"control_pages": 5, "of": 5}, "5 of 5 pages are control pages"),
        ({"repeat": 1.5}, "1.5 of the pages"),
        ({"price": -1}, "below 0"),
        ({"price": float("nan")}, "a price or fee is nan"),
        ({"seconds": -1}, "below 0"),
        ({"prompts": -1}, "-1 prompts"),
    ],
)
def test_what_cannot_be_planned_is_told(told: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan(**{"prompts": 1, "images": 1, **told})  # type: ignore[arg-type]


parts = st.builds(
    plan,
    st.integers(0, 500),
    st.integers(0, 200),
    places=st.integers(3, 9),
    taken=st.integers(0, 2),
    per_item=st.integers(1, 9),
    control_pages=st.integers(0, 4),
    of=st.integers(5, 50),
    repeat=st.sampled_from([0, 0.05, 0.2, 1]),
    price=st.decimals(0, 5, places=3),
    fee=st.decimals(0, 1, places=2),
    seconds=st.floats(0, 1000),
)


@given(parts, parts, parts)
def test_plans_add_up(a: Plan, b: Plan, c: Plan) -> None:
    assert (a + b).tasks == a.tasks + b.tasks
    assert (a + b).amount == a.amount + b.amount
    assert ((a + b) + c).tasks == (a + (b + c)).tasks and a + b == b + a
    assert abs((a + b).cost - a.cost - b.cost) <= Decimal("0.01")


@given(st.integers(1, 50), st.integers(0, 300), st.integers(2, 9), st.integers(0, 1), st.integers(1, 5))
def test_pages_hold_all_images_and_no_page_is_spare(
    prompts: int, images: int, places: int, taken: int, per_item: int
) -> None:
    found = plan(prompts, images, places=places, taken=taken, per_item=per_item)
    room = places - taken
    assert found.items * room >= prompts * images
    assert found.items == 0 or (found.items // prompts - 1) * room < images
    assert found.work == found.items * per_item and found.control_images == found.items * taken * per_item


@given(parts, st.integers(9, 100))
def test_people_share_all_pages(found: Plan, people: int) -> None:
    each = found.pages_each(people)
    assert each * people >= found.tasks > (each - 1) * people or found.tasks == 0


@given(st.integers(0, 4), st.integers(5, 50), st.integers(1, 2000))
def test_controls_fill_their_share_of_the_pages(pages: int, of: int, images: int) -> None:
    found = plan(1, images, per_item=1, control_pages=pages, of=of)
    assert found.control_pages * of >= pages * found.tasks > (found.control_pages - 1) * of - pages
