"""How much work a round is: published figures, hand arithmetic, and laws every plan obeys."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from sightline.judging.planning import Plan, RoundPlan, workload


def test_the_plan_of_conqa() -> None:
    """50 conceptual and 30 descriptive queries, 100 images, 5 per task, 3 judgements, USD 0.20 + 10 %."""
    # 100 / 5 = 20 tasks per query, x 3 = 60; one of the five a control: 100 / 4 = 25, x 3 = 75.
    conceptual = workload(50 * 20, per_item=3, price=0.20, fee=0.10)
    descriptive = workload(30 * 25, 30 * 25, per_item=3, price=0.20, fee=0.10)
    assert (conceptual.tasks, descriptive.tasks, descriptive.control_images) == (50 * 60, 30 * 75, 2250)
    # 5,250 x 0.20 = 1,050; with a tenth on top 1,155.
    whole = Plan([RoundPlan("a", "m", conceptual), RoundPlan("b", "m", descriptive)])
    assert "5,250 tasks" in whole.sentence and "1155.00" in whole.sentence


def test_the_plan_of_pqpp() -> None:
    # A prompt's 4 images and the photo make one task; one task of five is a control: 3 judgements of 8,000
    # prompts are 24,000 tasks of work and 6,000 control tasks.
    found = workload(8000, per_item=3, controls=(1, 5))
    assert (found.work, found.control_tasks, found.tasks, found.cost) == (24_000, 6000, 30_000, 0)


def test_repeats_and_control_tasks_are_paid_as_well() -> None:
    # 10 items x 2 = 20; a fifth again is 4; one control in every four tasks: 24 / 3 = 8; 32 tasks in all.
    found = workload(10, per_item=2, repeat=0.2, controls=(1, 4), price="0.125", fee="0.2")
    assert (found.work, found.repeats, found.control_tasks, found.tasks) == (20, 4, 8, 32)
    # 32 x 0.125 x 1.2 = 4.80.
    assert str(found.cost) == "4.80"
    assert workload(10, per_item=2, controls=(1, 4), most_controls=3).tasks == 23


def test_money_is_counted_in_decimals() -> None:
    # As binary fractions 3 x 0.35 x 1.1 would be 1.1549999..., and half a cent would vanish.
    assert str(workload(1, per_item=3, price=0.35, fee=0.1).cost) == "1.16"
    # Parts add before they are rounded: 3 x 0.0045 is one cent, not three times nothing.
    part = workload(1, per_item=1, price=0.0045)
    assert part.cost == Decimal("0.00") and "0.01" in Plan([RoundPlan("r", "m", part)] * 3).sentence


@given(st.integers(0, 4), st.integers(5, 50), st.integers(1, 2000))
def test_controls_fill_their_places(some: int, of: int, items: int) -> None:
    found = workload(items, per_item=1, controls=(some, of))
    assert found.control_tasks * of >= some * found.tasks > (found.control_tasks - 1) * of - some
