"""Where objects stand to each other, from their boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from sightline.demands import CANNOT_TELL, NO, YES, Box, Demand, Scene, Thing, Verdict
from sightline.errors import UsageError
from sightline.extension import verdict
from sightline.skills.verdicts._looking import (
    Look,
    check_sure,
    confidence_of,
    look,
    marks,
    nobody_looked,
)

GEOMETRIES = ("geneval", "visor")
SPELLINGS: Mapping[str, str] = {
    "left of": "left", "to the left of": "left", "on the left of": "left", "left": "left",
    "right of": "right", "to the right of": "right", "on the right of": "right", "right": "right",
    "above": "above", "over": "above", "on top of": "on", "on": "on", "on the top of": "on",
    "below": "below", "under": "below", "underneath": "below", "beneath": "below",
    "on the bottom of": "below",
    "next to": "near", "near": "near", "by": "near", "on side of": "near", "on the side of": "near",
    "in": "inside", "inside": "inside", "inside of": "inside", "within": "inside",
}  # fmt: skip
WITHIN = 0.8
"""The proportion of a box that must lie in another one to be inside it."""
OVERLAP = 0.1
"""Things next to each other do not stand in the same place: intersection over union at most this."""


@verdict(
    decides="relation",
    skills=("spatial",),
    source="Ghosh et al. 2023 (GenEval); Gokhale et al. 2022 (VISOR); Huang et al. 2023 (T2I-CompBench)",
    licence="Apache-2.0",
)
def relation(
    demand: Demand, scene: Scene, *, sure: float | None = None, geometry: str = "geneval", margin: float = 0.1
) -> Verdict:
    """Whether objects of one kind stand to those of another as asked for: left of, above, near, inside.

    Objects count from the confidence `sure` on; of each kind the surest ones, as many as the prompt asks
    for, are taken, and of several the mean of their boxes. `geometry` "geneval" asks that centres differ by
    more than `margin` times the sum of both sizes, and by more than half of their distance in this direction;
    "visor" asks only which centre is further left or higher. On top of: higher, and one over the other; near:
    no further apart than they are large, and not in the same place; inside: 80 % of one box lies in the
    other. Boxes do not show depth (behind, in front of).
    """
    check_sure("relation", sure)
    if geometry not in GEOMETRIES or not 0 <= margin < 1:
        raise UsageError(
            f"relation: geometry={geometry!r}, margin={margin}",
            remedy=f"geometry is {' or '.join(GEOMETRIES)}; for example margin=0.1.",
        )
    if scene.things is None:
        return nobody_looked("objects")
    asked = demand.relation
    first, second = (look(scene, kind, sure) for kind in (asked.first, asked.second))
    boxes = marks((*first.all, *second.all))
    for each in (first, second):
        if not each.sure:
            return _missing(each, boxes)
    meant = SPELLINGS.get(" ".join(asked.where.lower().split()))
    if meant is None:
        return Verdict(CANNOT_TELL, f"Boxes do not show whether things are {asked.where!r}.", None, boxes)
    chosen = [_surest(each, demand) for each in (first, second)]
    if any(thing.box is None for things in chosen for thing in things):
        return Verdict(CANNOT_TELL, "Where an object stands is not known.", None, boxes)
    holds = _geometry(geometry, margin)[meant]
    sure_of = confidence_of([*chosen[0], *chosen[1]])
    used = marks([*chosen[0], *chosen[1]])
    if holds(*(_mean([each.box for each in things if each.box]) for things in chosen)):
        return Verdict(YES, f"{asked.first} is {asked.where} {asked.second}.", sure_of, used)
    return Verdict(NO, f"{asked.first} is not {asked.where} {asked.second}.", sure_of, used)


def _missing(seen: Look, boxes: tuple) -> Verdict:
    if seen.doubtful or seen.perhaps:
        return Verdict(CANNOT_TELL, f"It is not sure that any {seen.kind} is there.", None, boxes)
    if seen.known != "yes":
        return Verdict(CANNOT_TELL, f"No {seen.kind} is seen, but {seen.unseen()}.", None, boxes)
    return Verdict(NO, f"No {seen.kind} is seen.", None, boxes)


def _surest(seen: Look, demand: Demand) -> Sequence[Thing]:
    """As many objects of a kind as the prompt asks for, the surest first; all known ones."""
    if all(each.confidence is None for each in seen.sure):
        return seen.sure
    asked = [each.count for each in demand.expects.objects if each.kind == seen.kind]
    ordered = sorted(seen.sure, key=lambda each: -(1.0 if each.confidence is None else each.confidence))
    return ordered[: max([1, *(number or 1 for number in asked)])]


Holds = Callable[[Box, Box], bool]


def _geometry(name: str, margin: float) -> Mapping[str, Holds]:
    def toward(axis: int, sign: int) -> Holds:
        def holds(one: Box, two: Box) -> bool:
            offset = [_centre(one, k) - _centre(two, k) for k in (0, 1)]
            if name == "visor":
                return sign * offset[axis] > 0
            distance = math.hypot(*offset)
            clear = max(abs(offset[axis]) - margin * (_side(one, axis) + _side(two, axis)), 0.0)
            return distance > 0 and math.copysign(clear, offset[axis]) * sign / distance > 0.5

        return holds

    above = toward(1, -1)
    return {
        "left": toward(0, -1),
        "right": toward(0, 1),
        "above": above,
        "below": toward(1, 1),
        "on": lambda one, two: _centre(one, 1) < _centre(two, 1) and _common(one, two, 0) > 0,
        "near": _near,
        "inside": lambda one, two: _common_area(one, two) >= WITHIN * _area(one) > 0,
    }


def _near(one: Box, two: Box) -> bool:
    gap = math.hypot(max(0.0, -_common(one, two, 0)), max(0.0, -_common(one, two, 1)))
    size = (math.sqrt(_area(one)) + math.sqrt(_area(two))) / 2
    both = _common_area(one, two)
    return gap <= size and both <= OVERLAP * (_area(one) + _area(two) - both)


def _mean(boxes: Sequence[Box]) -> Box:
    """One box in the middle of several, as large as they are on average."""
    left, top, right, bottom = (sum(side) / len(boxes) for side in zip(*boxes, strict=True))
    return left, top, right, bottom


def _centre(box: Box, axis: int) -> float:
    return (box[axis] + box[axis + 2]) / 2


def _side(box: Box, axis: int) -> float:
    return box[axis + 2] - box[axis]


def _common(one: Box, two: Box, axis: int) -> float:
    """How far two boxes overlap along an axis; below 0, how far apart they are."""
    return min(one[axis + 2], two[axis + 2]) - max(one[axis], two[axis])


def _common_area(one: Box, two: Box) -> float:
    return max(0.0, _common(one, two, 0)) * max(0.0, _common(one, two, 1))


def _area(box: Box) -> float:
    return _side(box, 0) * _side(box, 1)
