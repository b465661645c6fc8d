"""JSON lists entry by entry: as json reads them, whatever the parts are that the file is read in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightline.data.sources import json_lists
from sightline.errors import DataError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text('aä"\\[]{},\n', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_entries_are_those_of_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: list[Any], chunk: int, indent: int | None
) -> None:
    monkeypatch.setattr(json_lists, "CHUNK", chunk)
    file = tmp_path / "x.json"
    file.write_text(f" {json.dumps(held, ensure_ascii=False, indent=indent)}\n", "utf-8")
    assert list(json_lists.entries(file, "x.json")) == list(enumerate(held, 1))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (b'[{"a": 1},\n{"a"', 2, "entry 2 is not JSON"),
        (b'[{"a": 1},\n{"a": NaN}]', 2, "NaN is not a JSON number"),
        (b'[{"a": 1}\n{"a": 2}]', 2, "after entry 1 there is no comma"),
        (b'[{"a": 1}]\n[', 2, "something follows"),
        (b'[{"a": 1}\n', 2, "ends before its list does"),
        (b'[{"a": 1},\n\xff]', 2, "not UTF-8"),
        (b"[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path: Path, text: bytes, line: int, said: str) -> None:
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(DataError, match=said) as error:
        list(json_lists.entries(tmp_path / "x.json", "x.json"))
    assert error.value.where == f"x.json:{line}" and error.value.remedy


def test_something_else_than_a_list_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    assert list(json_lists.entries(tmp_path / "x.json", "x.json")) == []
