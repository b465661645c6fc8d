"""Which of two images is closer to a reference?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


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
