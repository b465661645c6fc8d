"""Errors say what, where and what to do; they can be pickled; similar names are suggested."""

from __future__ import annotations

import pickle

import pytest

from sightline import errors
from sightline.errors import DataError, SightlineError, UsageError, near

KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SightlineError)
]


def test_an_error_reads_as_place_fault_and_remedy() -> None:
    assert str(DataError("the cell is empty")) == "the cell is empty"
    assert str(DataError("the cell is empty", where="a.csv:3")) == "a.csv:3: the cell is empty"
    error = DataError("the cell is empty", where="a.csv:3", remedy="Fill it.")
    assert str(error) == "a.csv:3: the cell is empty\n  Fill it."


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_a_process_border(kind: type[SightlineError]) -> None:
    before = kind("what", where="where", remedy="remedy")
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is kind
    assert (after.what, after.where, after.remedy, str(after)) == ("what", "where", "remedy", str(before))


def test_exit_codes_tell_usage_from_data() -> None:
    codes = {kind.__name__: kind.exit_code for kind in KINDS}
    data = dict.fromkeys(("DataError", "ConflictError", "StudyError", "ExtensionError"), 3)
    assert codes == {"SightlineError": 1, "UsageError": 2, "MissingPackage": 2, **data}
    assert issubclass(errors.ConflictError, DataError)
    assert issubclass(errors.MissingPackage, UsageError)


def test_near_names_are_suggested() -> None:
    known = ["sharpness", "brightness", "contrast", "colourfulness"]
    assert near("sharpnes", known) == "Did you mean sharpness?"
    assert near("brightnes", known).startswith("Did you mean brightness")
    assert near("zzz", known) == "There are: brightness, colourfulness, contrast, sharpness."
    assert near("zzz", []) == ""
    # A list is cut where it would be longer than 240 letters, and says how much is left out.
    message = near("zzz", [f"name{i:02}" for i in range(40)])
    assert message.startswith("There are: name00, name01")
    assert message.endswith("name28, name29 and 10 more.")
    assert near("zzz", ["a" * 300, "b" * 300]) == f"There are: {'a' * 300} and 1 more."
