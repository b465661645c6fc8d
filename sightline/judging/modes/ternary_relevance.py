"""Is each of five images relevant to a query, or can one not tell?"""

from __future__ import annotations

from sightline.errors import UsageError
from sightline.extension import annotation_mode
from sightline.records import Example, Mode, Question


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
