"""How good does it look, and does it match its prompt?"""

from __future__ import annotations

from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


@annotation_mode(source="Li et al. 2023 (AGIQA-3K)", licence="Apache-2.0", version=2)
def two_sliders() -> Mode:
    """One image with its prompt and two sliders from 0 to 5: perceptual quality and alignment."""
    ends = {"0": "bad", "1": "poor", "2": "fair", "3": "good", "4": "very good", "5": "excellent"}
    return Mode(
        layout="single",
        images=1,
        questions=[
            Question("quality", "interval", 0, 5, 0.1, ends, "How good does this image look?"),
            Question("alignment", "interval", 0, 5, 0.1, ends, "How well does it show the text?"),
        ],
        keys={},
        instructions=(
            "Judge first how good the image looks by itself: sharpness, light, colours, and whether things "
            "are formed as they should be. Then judge how much of the text it shows, however well it is "
            "made. The two have nothing to do with each other. Use the whole scale, and the steps in between."
        ),
        examples=[
            Example(
                "Text: a red car next to a tree. Image: a crisp photo of a red car, and no tree.",
                "looks 4.5, shows the text 2.5",
                "It is well made, but half of what the text asks for is missing.",
            ),
            Example(
                "The same text. Image: a blurred red car next to a blurred tree.",
                "looks 1.0, shows the text 4.5",
                "Everything is there, and badly made.",
            ),
            Example(
                "The same text. Image: grey noise.",
                "looks 0.0, shows the text 0.0",
                "Neither good to look at nor what was asked for.",
            ),
        ],
    )
