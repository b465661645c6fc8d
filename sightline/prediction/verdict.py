"""What a predictor is worth, in one sentence that agrees with its figures."""

from __future__ import annotations

from typing import Literal

from sightline.estimate import Estimate, format_cell, format_number

Worth = Literal["useful", "order", "unclear", "nothing"]


def worth(pearson: Estimate, error: float, naive: float) -> Worth:
    """How far a predictor can be used, by its correlation with the truth and its mean error.

    `naive` is the mean error of always predicting the mean. It is useful where the correlation is
    significantly above 0 and its error is lower; where only the correlation is, it orders prompts. An
    interval that holds 0 leaves it unclear; a correlation that is not above 0, or none, is worth nothing.
    """
    if pearson.value is None or pearson.value <= 0:
        return "nothing"
    if pearson.low is None or pearson.low <= 0:
        return "unclear"
    return "useful" if error < naive else "order"


def verdict(question: str, predictor: str, pearson: Estimate, error: float, naive: float) -> str:
    """What to make of a predictor of a question."""
    how = worth(pearson, error, naive)
    if pearson.value is None:
        return f"{question}: {predictor} does not tell prompts apart ({pearson.reason}); do not use it."
    r = f"Pearson {format_cell(pearson)} over {pearson.n:,} prompts"
    off = f"mean error {format_number(error, decimals=2)} against {format_number(naive, decimals=2)}"
    if how == "nothing":
        return f"{question}: {predictor} does not follow the truth ({r}); do not use it."
    if how == "unclear":
        return (
            f"{question}: it is not known yet whether {predictor} predicts anything ({r}); "
            "judge more prompts before you use it."
        )
    if how == "order":
        return (
            f"{question}: {predictor} puts prompts in order ({r}), but its values are no closer than always "
            f"predicting the mean ({off}); rank prompts by it, and do not rely on its values."
        )
    less = f"{(1 - error / naive) * 100:.0f} %"
    return f"{question}: the error of {predictor} is {less} below that of always predicting the mean ({r})."
