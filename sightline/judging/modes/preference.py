"""Which of two images answers a prompt better?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


@annotation_mode(source="common practice", licence="Apache-2.0")
def preference(*, tie: bool = False) -> Mode:
    """Two systems' images of one prompt: which is better, A (1) or B (0); with `tie` also neither (0.5)."""
    labels, keys = {"1": "A", "0": "B"}, {"a": "1", "b": "0"}
    if tie:
        labels["0.5"], keys["t"] = "no difference", "0.5"
    undecided = (
        "Say that there is no difference only where you would toss a coin."
        if tie
        else "Where both are equally good or bad, take your first impression."
    )
    return Mode(
        layout="pair",
        images=1,
        questions=[
            Question(
                "preference",
                "ordinal",
                0,
                1,
                labels=labels,
                wording="Which image answers the text better?",
                direction="none",
            )
        ],
        keys=keys,
        instructions=(
            "Read the text and choose the image you would rather be given for it. What the text says counts "
            f"first; where both show that, the one that is made better. {undecided}"
        ),
        examples=[
            Example(
                "Text: a bird on a red roof. A: a beautiful bird in the sky. B: a plain bird on a red roof.",
                "B",
                "A is nicer to look at, but it is not what the text says.",
            ),
            Example(
                "The same text. A: a crisp bird on a red roof. B: a blurred bird on a red roof.",
                "A",
                "Both show the text; A is made better.",
            ),
        ],
        swaps=True,
        compares="systems",
    )
