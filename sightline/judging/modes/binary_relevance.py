"""Is each of several found images relevant to a prompt?"""

from __future__ import annotations

from sightline.errors import UsageError
from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


@annotation_mode(source="Poesina et al. 2024 (PQPP), retrieved images", licence="Apache-2.0")
def binary_relevance(*, images: int = 10) -> Mode:
    """A grid of images of one query, each relevant or irrelevant."""
    if images < 1:
        raise UsageError(f"binary_relevance: images={images}", remedy="At least 1, for example images=10.")
    return Mode(
        layout="grid",
        images=images,
        questions=[
            Question(
                "relevance",
                "ordinal",
                0,
                1,
                1,
                {"1": "relevant", "0": "irrelevant"},
                "Is this image relevant to the text?",
            )
        ],
        keys={"r": "1", "i": "0"},
        instructions=(
            "Imagine you had searched for the text. Relevant: you would be content to find this image, since "
            "it shows what the text says. Irrelevant: something the text says is missing or different. "
            "Judge each image by itself; any number of them may be relevant, and none as well."
        ),
        examples=[
            Example(
                "Text: a man rides a horse. Image: a man on a horse in a forest.",
                "relevant",
                "The text does not say where; a forest is as good as anything.",
            ),
            Example(
                "The same text. Image: a horse in a meadow, nobody near.",
                "irrelevant",
                "The man and the riding are missing.",
            ),
        ],
    )
