"""Several images ordered at once."""

from __future__ import annotations

from sightline.errors import UsageError
from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question

MOST = 9
"""Places on the scale, and number keys."""


@annotation_mode(source="Li et al. 2025 (K-Sort Arena)", licence="Apache-2.0", aliases=("k_wise",))
def order(*, images: int = 4) -> Mode:
    """Images of one prompt by as many systems, put in order: 1 is the best place, equal places are ties.

    An order of four holds as many choices as three votes between two. A prompt that fewer systems answered
    shows as many images as there are, at least two.
    """
    if not 2 <= images <= MOST:
        raise UsageError(f"order: images={images}", remedy=f"From 2 to {MOST}, for example images=4.")
    return Mode(
        layout="order",
        images=images,
        questions=[
            Question(
                "order",
                "ordinal",
                1,
                MOST,
                1,
                wording="In which order do the images answer the text, the best first?",
                direction="lower",
            )
        ],
        keys={},
        instructions=(
            "Read the text, look at all images, and give each a place: 1 to the one you would rather have "
            "than any other, 2 to the next, and so on. What the text says counts first; where several show "
            "that, the one that is made better. Two images may share a place where you would toss a coin."
        ),
        examples=[
            Example(
                "Text: a bird on a red roof. A: a bird in the sky. B: a crisp bird on a red roof. "
                "C: a blurred bird on a red roof. D: a red roof.",
                "A 3, B 1, C 2, D 3",
                "B and C show the text, and B is made better. A and D each show half of it.",
            ),
            Example(
                "Text: two dogs. A: two dogs. B: three dogs. C: a cat.",
                "A 1, B 2, C 3",
                "B is nearer to the text than C, though neither is right.",
            ),
        ],
        compares="systems",
    )
