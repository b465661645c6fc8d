"""What the explorer's page sends."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sightline.web.payloads import Strict

MOST_KEYS = 100_000
Key = Annotated[str, Field(min_length=3, max_length=80, pattern="^[ai](-[0-9]+)+$")]
Text = Annotated[str, Field(max_length=1_000)]


class Chosen(Strict):
    """Rows by their keys, or all that a state leaves."""

    keys: Annotated[list[Key], Field(min_length=1, max_length=MOST_KEYS)] | None = None
    state: Annotated[str, Field(max_length=16_000)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Chosen:
        if (self.keys is None) == (self.state is None):
            raise ValueError("give either keys or a state")
        return self


class Act(Chosen):
    """What to do with them: a tag has name and value, a correction yes, no or nothing for the opposite.

    A round has a name, a mode and how many judge each.
    """

    action: Literal["tag", "untag", "fail", "unfail", "correct", "round"]
    name: Text = ""
    value: Text = ""
    mode: Text = ""
    per_item: Annotated[int, Field(ge=1, le=1_000)] = 3


class ExportRows(Chosen):
    """In which form they are wanted."""

    format: Literal["csv", "zip"] = "csv"
