"""StairReward: alignment of the whole, and of every piece of the prompt with a crop of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sightline.extension import NoValue, Picture, Value, Values, measure, needs
from sightline.language.phrases import morphemes
from sightline.pictures import Crop
from sightline.records import UNREAD, Prompt

Alignment = Callable[[Sequence[Prompt], Sequence[Picture]], Sequence[Any]]


@measure.of_answer(
    direction="higher", source="Li et al. 2023 (AGIQA-3K), equations 6 to 8", licence="Apache-2.0"
)
def stair_reward(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    alignment: Alignment = needs("of_answer", "embedding_similarity"),
    split: bool = True,
    crop: bool = True,
) -> Values:
    """Alignment of prompt and image, plus that of the prompt's pieces with crops that grow from the middle.

    The prompt is cut at prepositions and punctuation into p1 .. pK. Crop k is the box in the middle with
    sides of 1/2 + (k-1) / (2(K-1)) of the image, all of it where K = 1 (0/0 in print). With any measure A of
    an answer, F = A(p0, I0) + [sum of A(pk, Ik) / 2^k] / (1 - 2^-K): on the scale of 2 A. Ablations:
    `split=False` has the whole prompt for every crop, `crop=False` the whole image for every piece; without
    both, F = 2 A. There is a value where A has one of the whole and of every piece, and all are evidence.
    """
    asked: list[Prompt] = []
    shown: list[Picture] = []
    pieces: list[list[str]] = []
    for prompt, image in zip(prompts, images, strict=True):
        cut = morphemes(prompt.text)
        pieces.append([prompt.text] * len(cut) if not split else cut)
        asked += [prompt, *(prompt._replace(text=piece, expects=None) for piece in pieces[-1])]
        shown += [image, *(_crop(image, k, len(cut)) if crop else image for k in range(len(cut)))]
    results = iter(alignment(asked, shown) if asked else ())
    return [_value([next(results) for _ in range(len(cut) + 1)], cut) for cut in pieces]


def _crop(image: Picture, k: int, pieces: int) -> Picture:
    """The crop of piece k, from 0; the last is the image itself."""
    if k == pieces - 1:
        return image
    margin = (1 - (0.5 + k / (2 * (pieces - 1)))) / 2
    return Crop(image, (margin, margin, 1 - margin, 1 - margin))


def _value(results: Sequence[Any], pieces: Sequence[str]) -> Value | NoValue:
    for result, piece in zip(results, ["the prompt", *pieces], strict=True):
        if isinstance(result, NoValue):
            return NoValue(f"{piece!r}: {result.reason}" if piece != "the prompt" else result.reason)
    if not pieces:
        return NoValue("the prompt has no words")
    whole, *parts = [float(result.value if isinstance(result, Value) else result) for result in results]
    weights = [2.0**-k for k in range(1, len(parts) + 1)]
    stair = sum(weight * part for weight, part in zip(weights, parts, strict=True)) / sum(weights)
    steps = [{"piece": piece, "value": part} for piece, part in zip(pieces, parts, strict=True)]
    evidence: dict[str, Any] = {"whole": whole, "pieces": steps}
    first = results[0]
    if isinstance(first, Value) and first.evidence and first.evidence.get(UNREAD):
        evidence[UNREAD] = first.evidence[UNREAD]
    return Value(whole + stair, evidence)
