"""How relevant is each of five images to a prompt?"""

from __future__ import annotations

from sightline.errors import UsageError
from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


@annotation_mode(source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0", version=2)
def graded_relevance(*, images: int = 5) -> Mode:
    """Images of one prompt, a photo hidden among them, each of high, low or no relevance, or unrealistic."""
    if images < 1:
        raise UsageError(f"graded_relevance: images={images}", remedy="At least 1; PQPP shows 5.")
    return Mode(
        layout="grid",
        images=images,
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
        keys={},
        instructions=(
            "Read the text, then judge each image by itself. "
            "High relevance: the image shows everything the text asks for. Low relevance: it shows a part of "
            "it. No relevance: it shows something else. Unrealistic: it is too distorted to be judged. "
            "Whether an image is beautiful does not matter, nor how it was made."
        ),
        examples=[
            Example(
                "Text: two dogs run on a beach. Image: two dogs running over sand, the sea behind them.",
                "high relevance",
                "Both dogs, what they do and where they do it are there.",
            ),
            Example(
                "The same text. Image: one dog lying on a beach.",
                "low relevance",
                "Dog and beach are there; the second dog and the running are not.",
            ),
            Example(
                "The same text. Image: a kitchen with a table.",
                "no relevance",
                "Nothing of the text can be seen, however good the picture is.",
            ),
            Example(
                "The same text. Image: shapes of fur with five legs melting into each other.",
                "unrealistic",
                "One cannot say what it shows. A small flaw, such as an odd paw, is not enough for this.",
            ),
        ],
        reference=True,
    )
