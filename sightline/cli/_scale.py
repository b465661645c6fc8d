"""The scale that distances are read on, as commands take and tell it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.cli._options import listed
from sightline.cli._output import Output
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.statistics.reference import Reference
    from sightline.study.study import Study


@dataclass(frozen=True)
class CutOffs:
    """Where low, medium and high begin, and whether these are W1KP's."""

    values: tuple[float, ...]
    published: bool


def cuts_of(words: str | None) -> CutOffs:
    """The cut-offs told, or those that W1KP published."""
    if words is None:
        return CutOffs((0.2, 0.4, 0.85), True)
    try:
        found = [float(word) for word in listed(words)]
    except ValueError:
        found = []
    # Compared this way round, nan is refused as well.
    if len(found) != 3 or not -math.inf < found[0] <= found[1] <= found[2] <= 1:
        raise UsageError(
            f"cannot read --cut-offs {words!r}", remedy="Three rising numbers, 1 at the most: 0.2,0.4,0.85"
        )
    return CutOffs(tuple(found), False)


def scale_of(study: Study, named: str | None, distance: str) -> Reference | None:
    """The reference that --reference names, refused where it is of another distance."""
    from sightline.variability.reference import find_reference

    return None if named is None else find_reference(named, distance, study)


def told(scale: Reference | None) -> dict[str, object] | None:
    """A reference as JSON tells it."""
    if scale is None:
        return None
    return {"distance": scale.distance, "identity": scale.identity, "n": scale.n, "date": scale.date}


def say_scale(output: Output, scale: Reference | None) -> None:
    """Tell which scale similarities are on."""
    if scale is None:
        output.say(
            "Distances as they are; --reference reads them on a scale (sample, or --fit-reference FILE)."
        )
        return
    when = f", {scale.date}" if scale.date else ""
    output.say(f"Scale: {scale.distance} over {scale.n:,} pairs of one prompt{when}.")
    if scale.warning:
        output.say(f"Warning: {scale.warning}.")


def say_without(output: Output, without: Mapping[str, int]) -> None:
    """Tell what has no value, and why."""
    for reason, n in without.items():
        output.say(f"Without a value: {n:,} ({reason})")


def say_cuts(output: Output, cuts: CutOffs) -> None:
    """Tell where nobody has calibrated the levels shown."""
    if not cuts.published:
        return
    output.say(
        "Levels are by W1KP's cut-offs for DreamSim; --calibrate QUESTION finds those of another distance."
    )
