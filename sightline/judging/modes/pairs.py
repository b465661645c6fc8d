"""Two images compared: which is better, how alike they are, and which is more like a third."""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import BOTH_BAD, Example, Mode, Question


@annotation_mode(source="common practice", licence="Apache-2.0", version=2)
def preference(*, tie: bool = False, both_bad: bool = False) -> Mode:
    """Two systems' images of one prompt: which is better, A (0) or B (1); with `tie` also neither (0.5).

    With `both_bad` annotators may also say that neither is good, which prefers neither and is counted apart.
    """
    labels, keys = {"0": "A", "1": "B"}, {"a": "0", "b": "1"}
    if tie:
        labels["0.5"], keys["t"] = "no difference", "0.5"
    if both_bad:
        keys["n"] = BOTH_BAD
    undecided = (
        "Say that there is no difference only where you would toss a coin."
        if tie
        else "Where both are equally good or bad, take your first impression."
    )
    if both_bad:
        undecided += " Say that both are bad where you would accept neither for this text."
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
        both_bad="both are bad" if both_bad else "",
    )


@annotation_mode(source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def similarity_rating() -> Mode:
    """Two images side by side and five points from nothing alike (1) to the same (5)."""
    return Mode(
        layout="pair",
        images=1,
        questions=[
            Question(
                "alike",
                "ordinal",
                1,
                5,
                1,
                {
                    "1": "nothing alike",
                    "2": "slightly alike",
                    "3": "fairly alike",
                    "4": "very alike",
                    "5": "the same",
                },
                "How alike are the two images?",
            )
        ],
        keys={},
        instructions=(
            "Compare the two images as a whole: what is shown, how it is arranged, colours and style. "
            "Which of them is better does not matter. Take 5, the same, where you would not notice if one "
            "were put in the place of the other."
        ),
        examples=[
            Example("A lighthouse by day; a plate of soup.", "1, nothing alike", "They share nothing."),
            Example(
                "A lighthouse at the left, painted; a lighthouse at the right, photographed.",
                "3, fairly alike",
                "The same thing in another place and style.",
            ),
            Example("One picture, shown twice.", "5, the same", "No difference can be seen."),
        ],
        shows_prompt=False,
        attention=5.0,
    )


@annotation_mode(source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def two_afc() -> Mode:
    """A reference above two images: which of A and B looks more like it? 1 is A, 0 is B.

    The prompt is not shown: it would draw the eye from what the images look like to what they should show.
    """
    return Mode(
        layout="triplet",
        images=1,
        questions=[
            Question(
                "closer_to_reference",
                "ordinal",
                0,
                1,
                labels={"1": "A", "0": "B"},
                wording="Which of A and B is closer to the reference?",
                direction="none",
            )
        ],
        keys={"a": "1", "b": "0"},
        instructions=(
            "Look at the reference, then choose the one of A and B that looks more like it: what is shown, "
            "how it is arranged, colours and style all count. There is always an answer to give: where both "
            "seem equally close, take your first impression."
        ),
        examples=[
            Example(
                "Reference: a red house on a hill. A: a red house on a hill, by night. B: a blue boat.",
                "A",
                "The light differs, but it is the same scene.",
            ),
            Example(
                "Reference: a pencil drawing of a cat. A: a photo of a cat. B: a pencil drawing of a cat.",
                "B",
                "Both show a cat; B has the style too.",
            ),
            Example(
                "Reference: a blue boat. A: the very same picture. B: a red boat.",
                "A",
                "Nothing is closer than the same picture.",
            ),
        ],
        shows_prompt=False,
        swaps=True,
        attention=1.0,
    )
