"""Does the image match its prompt?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


@annotation_mode(source="Achterberg et al. 2023 (GIMBRR)", licence="Apache-2.0", version=2)
def yes_no() -> Mode:
    """One image with its prompt: it matches, or it does not; images of simpler prompts open next to it."""
    return Mode(
        layout="single",
        images=1,
        questions=[
            Question("match", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}, "Does this image match the text?")
        ],
        keys={"y": "1", "n": "0"},
        instructions=(
            "Yes only if everything the text names is there as it says: each object, its number, its place. "
            "How beautiful the image is does not matter. Where you wonder whether a thing is what it should "
            "be, look at how the same system shows that thing alone."
        ),
        examples=[
            Example("Text: three apples. Image: three apples in a bowl.", "yes", "The bowl does no harm."),
            Example("Text: three apples. Image: four apples.", "no", "The number is wrong."),
            Example(
                "Text: a cat under a chair. Image: a cat on a chair.",
                "no",
                "Both are there, but not in the place the text says.",
            ),
        ],
        linked=True,
    )
