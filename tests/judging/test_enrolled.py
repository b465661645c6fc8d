"""Table 1 of PQPP for any question: by hand, through the notes of the truth, and absent for numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sightline.judging.enrolled import Enrolled, enrolled, enrolled_table
from sightline.records import Question, Votes
from sightline.statistics.agreement import fleiss_kappa

LABELS = Question("fits", "nominal", 0, 1)


def test_judgements_and_kappa_per_annotator_by_hand(votes: Callable[..., Votes]) -> None:
    # Items 0 to 3 by a and b, who differ on item 3; item 0 also by c, who agrees. Item 4 is a control.
    rows = [(0, 0, 1), (1, 0, 0), (2, 0, 1), (3, 0, 0), (4, 0, 1)]
    rows += [(0, 1, 1), (1, 1, 0), (2, 1, 1), (3, 1, 1), (0, 2, 1)]
    cast = votes(rows, question=LABELS, control=[row[0] == 4 for row in rows])
    found = enrolled(cast)
    assert found is not None and found.annotators == 3
    assert found.judgements == (1, pytest.approx(3.0), 4)
    # P = (1 + 1 + 1 + 0) / 4; six of nine votes are 1, Pe = (36 + 9) / 81; (3/4 - 5/9) / (4/9) = 7/16.
    assert found.of_all.value == found.least.value == found.most.value == pytest.approx(7 / 16)
    assert found.mean.value == pytest.approx(7 / 16), "c has only seen votes that are all equal"
    assert found.of_all == fleiss_kappa([0, 0, 0, 1, 1, 2, 2, 3, 3], [1, 1, 1, 0, 0, 1, 1, 0, 1])
    assert Enrolled.of_notes(found.noted()) == found
    frame = enrolled_table({"fits": found}).to_frame()
    assert frame["statistic"].to_list() == ["judgements per annotator", "Fleiss' kappa"]
    assert frame["most"].to_list() == [4, pytest.approx(7 / 16)]
    assert frame["of_all"].to_list()[0] == 9


def test_numbers_have_no_kappa_and_nobody_no_table(votes: Callable[..., Votes]) -> None:
    numbers = enrolled(votes([(0, 0, 3.5), (0, 1, 4.5)], question=Question("q", "interval", 0, 5)))
    assert numbers is not None and numbers.mean.value is None
    assert numbers.mean.reason == "Fleiss' kappa is for labels"
    assert enrolled(votes([(0, -1, 1.0)], people=1, question=LABELS)) is None
