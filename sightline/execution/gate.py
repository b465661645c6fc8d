"""The one gate every result passes: right length, within its range, never NaN without a reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sightline.errors import ExtensionError
from sightline.extension import Spec
from sightline.records import NoValue, Value
from sightline.store.scores import Outcome

SLACK = 1e-9
"""Rounding may carry a value this far beyond its range; it is put back onto the border."""


def gate(spec: Spec, results: Any, expected: int) -> list[Outcome]:
    """Results of an extension as outcomes, or an ExtensionError that says which promise was broken."""
    told: Sequence[Any] = [results] if expected == 1 and _is_single(results) else list(results)
    if len(told) != expected:
        raise ExtensionError(
            f"{spec.name} gave {len(told)} results for {expected} inputs",
            where=spec.origin,
            remedy="A measure must give one result an input, NoValue(reason) where there is none.",
        )
    return [_one(spec, result, n) for n, result in enumerate(told)]


def _is_single(results: Any) -> bool:
    return isinstance(results, Value | NoValue | float | int)


def _one(spec: Spec, result: Any, n: int) -> Outcome:
    if isinstance(result, NoValue):
        if not result.reason.strip():
            raise ExtensionError(f"{spec.name}: result {n} has no value and no reason", where=spec.origin)
        return Outcome(None, result.reason)
    evidence = None
    if isinstance(result, Value):
        evidence = None if result.evidence is None else dict(result.evidence)
        result = result.value
    try:
        value = float(result)
    except (TypeError, ValueError):
        raise ExtensionError(
            f"{spec.name}: result {n} is {result!r}, not a number", where=spec.origin
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


def _border(spec: Spec, value: float, border: float, n: int) -> float:
    if abs(value - border) <= SLACK * max(1.0, abs(border)):
        return float(border)
    raise ExtensionError(
        f"{spec.name}: result {n} is {value}, outside its range {spec.range}",
        where=spec.origin,
        remedy="Correct the measure or its declared range.",
    )
