"""Deciding whether an image shows what its prompt expects, demand by demand, and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sightline import registry
from sightline.demands import (
    CANNOT_TELL,
    DEMANDS,
    NO,
    YES,
    Decision,
    Demand,
    Expects,
    Scene,
    Verdict,
    read_expects,
    read_scene,
)
from sightline.errors import ExtensionError, UsageError
from sightline.extension import Configured
from sightline.study.running.detecting import loaded_with
from sightline.study.study import Study

STANDARD = ("presence", "count", "absence", "colour", "size", "attribute", "relation", "text")
"""The verdicts that decide where nothing else is chosen, one per kind of demand."""
Decide = Callable[[Demand, Scene], Verdict]


def decide(
    expects: Expects | Mapping[str, Any] | None,
    scene: Scene | Mapping[str, Any],
    vocabulary: Sequence[str] | None = (),
    verdicts: Iterable[str | Configured] = (),
) -> Verdict:
    """Whether an image shows what its prompt expects, with what that rests on.

    No if any demand fails, else cannot tell if any cannot be decided, else yes; where `expects` is not said
    to be complete, cannot tell instead of yes. `vocabulary` has the kinds that a detector looks for, None
    for every kind; a Scene has its own. `verdicts` are used in place of the standard ones for the demands
    they decide, such as "count(sure=0.6)".
    """
    wanted = expects if isinstance(expects, Expects) else read_expects(expects)
    seen = scene if isinstance(scene, Scene) else read_scene(scene, vocabulary)
    return combined(wanted, decided(wanted, seen, chosen(tuple(verdicts))))


@cache
def chosen(verdicts: tuple[str | Configured, ...] = ()) -> Mapping[str, Configured]:
    """The verdict for each kind of demand: the standard ones, with these in their places."""
    made = {}
    for each in (*(name for name in STANDARD if registry.has("verdict", name)), *verdicts):
        configured = each if isinstance(each, Configured) else registry.configure("verdict", each)
        decides = configured.spec.details["decides"]
        if decides not in DEMANDS:
            raise UsageError(
                f"{configured.name} decides {decides!r}",
                remedy=f"A verdict decides one of {', '.join(DEMANDS)}.",
            )
        made[decides] = configured
    return made


def in_study(verdicts: Mapping[str, Configured], study: Study) -> Mapping[str, Decide]:
    """The same verdicts loaded, with encoders inside them that answer from what the study holds."""
    return {kind: loaded_with(study, each) for kind, each in verdicts.items()}


def decided(
    expects: Expects, scene: Scene, verdicts: Mapping[str, Configured] | Mapping[str, Decide]
) -> list[tuple[Demand, Verdict]]:
    """Every demand with its verdict; one that no verdict decides is open."""
    made = []
    for demand in expects.demands():
        ready = verdicts.get(demand.kind)
        if ready is None:
            made.append((demand, Verdict(CANNOT_TELL, f"No verdict decides {demand.kind}.")))
            continue
        function: Decide = ready.load() if isinstance(ready, Configured) else ready
        result = function(demand, scene)
        if not isinstance(result, Verdict):
            raise ExtensionError(f"what decides {demand.kind} gave {result!r}, not a Verdict")
        made.append((demand, result))
    return made


def combined(expects: Expects, parts: Sequence[tuple[Demand, Verdict]]) -> Verdict:
    """The verdict on the whole: that of its weakest part."""
    decisions = tuple(
        Decision(demand.kind, demand.about, each.verdict, each.confidence, each.why) for demand, each in parts
    )
    boxes = tuple(dict.fromkeys(mark for _, each in parts for mark in each.boxes))
    text = tuple(dict.fromkeys(line for _, each in parts for line in each.text))
    if not parts:
        why = "The prompt does not say what must be seen in a way that can be checked."
        return Verdict(CANNOT_TELL, why)
    for verdict in (NO, CANNOT_TELL):
        weak = [(demand, each) for demand, each in parts if each.verdict == verdict]
        if weak:
            why = " ".join(f"{demand.about}: {each.why}" for demand, each in weak)
            surest = [each.confidence for _, each in weak if each.confidence is not None]
            return Verdict(verdict, why, max(surest, default=None), boxes, text, decisions, verdict)
    sure = min((each.confidence for _, each in parts if each.confidence is not None), default=None)
    if expects.complete:
        return Verdict(YES, _together([each.why for _, each in parts]), sure, boxes, text, decisions, YES)
    asked = (
        "The prompt asks for more than can be checked"
        if expects.complete is False
        else "It is not said whether the prompt asks for more (complete: true in its expects)"
    )
    return Verdict(CANNOT_TELL, f"{asked}; what was checked holds.", sure, boxes, text, decisions, YES)


def _together(reasons: Sequence[str]) -> str:
    return " ".join(dict.fromkeys(reasons))
