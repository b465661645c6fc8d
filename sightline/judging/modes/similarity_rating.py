"""How alike are two images?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


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
