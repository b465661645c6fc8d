"""One image at a time: sliders, or yes and no."""

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
