"""How relevant is each of five images to a prompt?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Mode, Question


@annotation_mode(source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0")
def relevance4() -> Mode:
    """Five images of one prompt in random order, each of high, low or no relevance, or unrealistic."""
    return Mode(
        layout="grid",
        images=5,
        questions=[
            Question(
                "relevance",
                "ordinal",
                -1,
                2,
                1,
                {"2": "high relevance", "1": "low relevance", "0": "no relevance", "-1": "unrealistic"},
                "How relevant is this image to the text?",
            )
        ],
        keys={"1": "2", "2": "1", "3": "0", "4": "-1", "Enter": "next page", "s": "skip"},
        instructions=(
            "High relevance: the image shows everything the text asks for. Low relevance: it shows a part of "
            "it. No relevance: it shows something else. Unrealistic: it is too distorted to be judged."
        ),
    )
