"""Verdicts in the explorer: with their boxes on rows, where they disagree with people, and corrected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from known_scenes import Maker, asked, seen

from sightline.errors import UsageError
from sightline.judging.truth import truth
from sightline.report.explorer.explorer import Explorer
from sightline.report.explorer.views import RowView
from sightline.skills.verify import verify
from sightline.study.study import Study

FIELD = "verdict:verdict by known_scene"


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """Two cats asked for: right, wrong, right but people say no, wrong but people say yes, and open."""
    maker = Maker(tmp_path / "files")
    maker.prompt("p", "two cats", "counting", asked(("cat", 2)))
    for place, (cats, said) in enumerate([(2, 1.0), (3, 0.0), (2, 0.0), (1, 1.0), (2, None)]):
        maker.answer("p", "s", seen(*["cat"] * cats), said, at=place)
    with maker.study(tmp_path / "study") as made:
        truth(made)
        yield made


def rows(explorer: Explorer, query: str) -> list[RowView]:
    return [row for row in explorer.rows(query).rows if isinstance(row, RowView)]


def test_rows_have_what_their_verdict_rests_on_if_it_is_shown(study: Study) -> None:
    assert Explorer(study).about().verdict == ""
    verify(study)
    explorer = Explorer(study)
    assert explorer.about().verdict == FIELD
    assert all(row.seen is None for row in rows(explorer, ""))
    shown = rows(explorer, f"show={quote(FIELD)}")
    assert [row.seen.verdict if row.seen else None for row in shown] == ["yes", "no", "yes", "no", "yes"]
    assert [len(row.seen.boxes) if row.seen else 0 for row in shown] == [2, 3, 2, 1, 2]
    assert shown[1].values[FIELD] == "no" and shown[1].seen is not None
    assert "not 2" in shown[1].seen.why


def test_disagreement_is_a_filter(study: Study) -> None:
    verify(study)
    explorer = Explorer(study)
    values = {
        each.value: each.n
        for each in explorer.fields("", ["agrees:match"]).fields[0].values or ()
        if each.value
    }
    assert values == {"agree": 2, "only people say yes": 1, "only the verdict says yes": 1}
    only = rows(explorer, f"f.agrees:match={quote('only the verdict says yes')}&show={quote('agrees:match')}")
    assert [row.position for row in only] == [2] and only[0].seen is not None


def test_a_correction_shows_and_the_verdict_stays(study: Study) -> None:
    verify(study)
    explorer = Explorer(study)
    key = rows(explorer, "")[1].key
    done = explorer.act("correct", [key], None)
    assert done.message == "1 verdict corrected to yes, as your judgement of match."
    row = rows(explorer, f"show={quote(FIELD)}")[1]
    assert row.seen is not None and (row.seen.verdict, row.seen.corrected) == ("no", "yes")
    votes = explorer.detail(key, blind=False).votes
    assert [(each.annotator, each.value) for each in votes] == [("anonymous", 0.0), ("owner", 1.0)]
    assert explorer.act("correct", [key], None).message.startswith("1 verdict corrected to no")


def test_nothing_to_correct_is_said(study: Study) -> None:
    explorer = Explorer(study)
    with pytest.raises(Exception, match="no verdicts"):
        explorer.act("correct", [rows(explorer, "")[0].key], None)
    verify(study)
    with pytest.raises(UsageError, match="cannot be corrected to"):
        explorer.act("correct", [rows(explorer, "")[0].key], None, value="perhaps")
