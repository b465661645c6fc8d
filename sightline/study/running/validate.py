"""The one gate every result passes: right length, within its range, never NaN without a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

from sightline.demands import clipped_box
from sightline.errors import ExtensionError
from sightline.extension import Spec
from sightline.records import NoValue, Value
from sightline.study.scores import Outcome

SLACK = 1e-9
"""Rounding may carry a value this far beyond its range; it is put back onto the border."""


def gate(spec: Spec, results: Any, expected: int) -> list[Outcome]:
    """Results of an extension as outcomes, or an ExtensionError that says which promise was broken."""
    listed = _listed(spec, results, expected)
    if len(listed) != expected:
        raise ExtensionError(
            f"{spec.name} gave {len(listed)} results for {expected} inputs",
            where=spec.origin,
            remedy="A measure must give one result an input, NoValue(reason) where there is none.",
        )
    return [_one(spec, result, n) for n, result in enumerate(listed)]


def _listed(spec: Spec, results: Any, expected: int) -> Sequence[Any]:
    # Value and NoValue are tuples and text is a sequence of letters: none of them is a list of results.
    single = isinstance(results, Value | NoValue) or not hasattr(results, "__iter__") or _is_scalar(results)
    if single and (expected == 1 or results is None):
        return [results]
    if single or isinstance(results, str | bytes | Mapping | Set):
        raise ExtensionError(
            f"{spec.name} gave {_shown(results)} for {expected} inputs",
            where=spec.origin,
            remedy="A measure must give a list or an array with one result an input.",
        )
    return list(results)


def _is_scalar(results: Any) -> bool:
    return getattr(results, "shape", None) == ()


def _shown(result: Any) -> str:
    said = repr(result)
    return said if len(said) <= 60 else f"{said[:57]}..."


def _one(spec: Spec, result: Any, n: int) -> Outcome:
    if isinstance(result, NoValue):
        if not isinstance(result.reason, str) or not result.reason.strip():
            raise ExtensionError(f"{spec.name}: result {n} has no value and no reason", where=spec.origin)
        shown = None if result.evidence is None else _plain(spec, result.evidence, n)
        return Outcome(None, result.reason, shown)
    evidence = None
    if isinstance(result, Value):
        evidence = None if result.evidence is None else _plain(spec, result.evidence, n)
        result = result.value
    if isinstance(result, str | bytes):
        # float() would take "0.5", and with it whatever else a measure forgot to read.
        raise ExtensionError(f"{spec.name}: result {n} is {_shown(result)}, not a number", where=spec.origin)
    try:
        value = float(result)
    except (TypeError, ValueError):
        raise ExtensionError(
            f"{spec.name}: result {n} is {_shown(result)}, not a number", where=spec.origin
        ) from None
    if not math.isfinite(value):
        raise ExtensionError(
            f"{spec.name}: result {n} is {value}",
            where=spec.origin,
            remedy="Where there is no value, give NoValue(reason).",
        )
    low, high = spec.range
    if low is not None and value < low:
        value = _border(spec, value, low, n)
    if high is not None and value > high:
        value = _border(spec, value, high, n)
    return Outcome(value, None, evidence)


def _plain(spec: Spec, evidence: Mapping[str, Any], n: int, *, finite: bool = True) -> dict[str, Any]:
    """The evidence as it will be read again: JSON, and nothing that JSON cannot hold."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(evidence), allow_nan=not finite))
    except (TypeError, ValueError) as error:
        raise ExtensionError(
            f"{spec.name}: the evidence of result {n} cannot be kept ({error})",
            where=spec.origin,
            remedy="Evidence is plain text, finite numbers, lists and mappings.",
        ) from None
    return plain


def _border(spec: Spec, value: float, border: float, n: int) -> float:
    if abs(value - border) <= SLACK * max(1.0, abs(border)):
        return float(border)
    raise ExtensionError(
        f"{spec.name}: result {n} is {value}, outside its range {spec.range}",
        where=spec.origin,
        remedy="Correct the measure or its declared range.",
    )


def validated_scene(spec: Spec, scenes: Any, expected: int) -> list[dict[str, Any]]:
    """What a detector saw as scenes, or an ExtensionError that says which promise was broken.

    A box that reaches beyond the image is clipped, one outside it, without extent or not finite dropped:
    `clipped` and `dropped` of the scene count them.
    """
    listed = list(scenes)
    if len(listed) != expected:
        raise ExtensionError(
            f"{spec.name} gave {len(listed)} scenes for {expected} images",
            where=spec.origin,
            remedy="A detector must give one scene an image, empty where it sees nothing.",
        )
    return [_scene(spec, scene, n) for n, scene in enumerate(listed)]


def _scene(spec: Spec, scene: Any, n: int) -> dict[str, Any]:
    if not isinstance(scene, Mapping) or not set(scene) <= set(spec.details["sees"]):
        promised = " and ".join(spec.details["sees"])
        raise ExtensionError(f"{spec.name}: scene {n} is no mapping of {promised}", where=spec.origin)
    # A box that is not finite is dropped like one outside the image; elsewhere such a number is a fault.
    plain = _plain(spec, scene, n, finite=False)
    outside = {"clipped": 0, "dropped": 0}
    for what, label in (("objects", "kind"), ("text", "text")):
        kept = []
        for each in plain.get(what, ()):
            named = isinstance(each, Mapping) and isinstance(each.get(label), str) and each[label].strip()
            if not named or not _is_box(each.get("box")) or not 0 <= each.get("confidence", -1) <= 1:
                raise ExtensionError(
                    f"{spec.name}: scene {n} has {_shown(each)} among its {what}",
                    where=spec.origin,
                    remedy=f"Each has {label}, box [left, top, right, bottom] in 0 to 1, and confidence.",
                )
            box, outcome = clipped_box(each["box"])
            if outcome:
                outside[outcome] += 1
            if box is not None:
                kept.append({**each, "box": list(box)} if outcome else each)
        if what in plain:
            plain[what] = kept
    return _plain(spec, plain | {outcome: times for outcome, times in outside.items() if times}, n)


def _is_box(box: Any) -> bool:
    return isinstance(box, list) and len(box) == 4 and all(isinstance(side, int | float) for side in box)
