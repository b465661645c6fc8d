"""Does the image match its prompt?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Mode, Question


@annotation_mode(source="Achterberg et al. 2023 (GIMBRR)", licence="Apache-2.0")
def yes_no() -> Mode:
    """One image with its prompt: it matches, or it does not."""
    return Mode(
        layout="single",
        images=1,
        questions=[
            Question("match", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}, "Does this image match the text?")
        ],
        keys={"y": "1", "n": "0", "s": "skip"},
        instructions=(
            "Yes only if everything the text names is there as it says: each object, its number, its place. "
            "How beautiful the image is does not matter."
        ),
    )
