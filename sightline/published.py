"""The scales of measures that people publish scores of: their direction, and where a scale ends.

A table of scores from elsewhere names its measures as their papers do; what is known of a name here need not
be said again. Names are compared without case and without what separates words: CLIPScore is clip_score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sightline.estimate import DIRECTIONS, Direction

_SEPARATORS = re.compile(r"[\s_\-.]+")
_LOOKS = re.compile(
    r"score|reward|(?:^|_)(?:fid|kid|iqa|lpips|ssim|psnr|elo|rating|metric)(?:$|_)", re.IGNORECASE
)


class Scale(NamedTuple):
    """The direction of a measure, and its ends, None where it has none."""

    direction: Direction
    low: float | None = None
    high: float | None = None


def _named(text: str) -> dict[str, Scale]:
    """Lines of a direction, two ends and names, as a mapping."""
    known = {}
    for line in text.strip().splitlines():
        direction, low, high, *names = line.split()
        ends = [None if end == "-" else float(end) for end in (low, high)]
        known.update({name: Scale("lower" if direction == "lower" else "higher", *ends) for name in names})
    return known


KNOWN: Mapping[str, Scale] = _named(
    """
    higher - - clipscore refclipscore clipsim clipt clipi imagereward pickscore hps hpsv2 hpsv21 hpsv3 mps
    higher - - unifiedreward visionreward aesthetic aestheticscore laionaesthetic laionaestheticscore
    higher - - inceptionscore musiq psnr maniqa nima qalign topiq hyperiqa deqascore
    higher 0 1 vqascore blipitm blipitmscore tifa tifascore dsg dsgscore clipiqa geneval ssim msssim
    higher 0 10 viescore viescoresc viescorepq
    lower - - kid
    lower 0 - fid cmmd lpips stlpips dists dreamsim fddinov2 fvd niqe brisque ilniqe piqe
    """
)


def plain_name(name: str) -> str:
    """A measure's name without case, spaces, hyphens and underscores."""
    return _SEPARATORS.sub("", name).lower()


def known_scale(name: str) -> Scale | None:
    """The scale of a measure by its published name; None where it is not known."""
    return KNOWN.get(plain_name(name))


def looks_like_score(column: str) -> bool:
    """Whether a column's name is that of a measure, or says that it holds scores."""
    return known_scale(column) is not None or bool(_LOOKS.search(column))


def as_imported(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Direction and range of an imported measure, as it was said when it was imported or as its name says."""
    known = known_scale(str(arguments.get("name", ""))) or Scale("none")
    said = arguments.get("direction") or known.direction
    low, high = arguments.get("low"), arguments.get("high")
    ends = (known.low, known.high) if low is None and high is None else (low, high)
    return {"direction": said if said in DIRECTIONS else "none", "range": ends}
