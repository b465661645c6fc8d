"""How relevant are the images of a query? Two, three or four grades."""

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


@annotation_mode(source="Rodriguez et al. 2024 (ConQA)", licence="Apache-2.0")
def ternary_relevance(*, images: int = 5) -> Mode:
    """Images of one query in random order, each relevant, irrelevant or unsure; 1, 0 and 0.5 as ConQA has it.

    Being unsure lies in the middle, so that only a mean of exactly 1 is unanimous.
    """
    if images < 1:
        raise UsageError(f"ternary_relevance: images={images}", remedy="At least 1; ConQA shows 5.")
    return Mode(
        layout="grid",
        images=images,
        questions=[
            Question(
                "relevance",
                "ordinal",
                0,
                1,
                labels={"1": "relevant", "0": "irrelevant", "0.5": "unsure"},
                wording="Is the image relevant to the query?",
            )
        ],
        keys={"r": "1", "i": "0", "u": "0.5"},
        instructions=(
            "A query may name what is to be seen, or only an idea such as a mood or a purpose. "
            "Relevant: the image is a good answer to the query. Irrelevant: it is not. "
            "Unsure: you have looked at it closely and still cannot tell. Take this rarely."
        ),
        examples=[
            Example(
                "Query: people having fun. Image: children laughing on a swing.",
                "relevant",
                "Nobody wrote fun on it, but it is what the picture is about.",
            ),
            Example("The same query. Image: an empty street.", "irrelevant", "There are no people."),
            Example(
                "The same query. Image: people far away in a pool, too small for their faces to be seen.",
                "unsure",
                "They may have fun or train hard: one cannot tell.",
            ),
        ],
    )


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
            "High relevance: the image shows over half of what the text asks for. Low relevance: it shows at "
            "least one thing, but less than half. No relevance: it shows something else, yet is realistic. "
            "Unrealistic: it has notable artifacts, such as distorted shapes. "
            "Whether an image is beautiful does not matter, nor how it was made."
        ),
        examples=[
            Example(
                "Text: two dogs run on a beach. Image: two dogs running over sand, the sea behind them.",
                "high relevance",
                "Both dogs, what they do and where they do it are there; one of these could be missing.",
            ),
            Example(
                "The same text. Image: one dog lying on a sofa.",
                "low relevance",
                "Only a dog is there; the second dog, the running and the beach are not.",
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
