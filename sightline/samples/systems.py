"""Systems of known skill: each reads a scene, gets some of it wrong at declared rates, and draws the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from sightline.samples.chance import chance
from sightline.samples.drawing import draw_known, settle
from sightline.samples.facts import Fact, alignment, facts
from sightline.samples.scenes import COLOURS, KINDS, MOST, SIZES, WHERES, Group, Scene, pick

# A system that ignores numbers draws any of these.
ANY_NUMBER = 9


@dataclass(frozen=True)
class Flaws:
    """How far a picture is spoilt, each from 0 (not at all) to 1 (as far as a system goes)."""

    blur: float = 0.0
    noise: float = 0.0
    haze: float = 0.0

    @property
    def quality(self) -> float:
        """The known truth of technical quality: 1 without flaws; blur weighs most, then noise, then haze."""
        return max(0.0, 1 - 0.6 * self.blur - 0.45 * self.noise - 0.25 * self.haze)


@dataclass(frozen=True)
class System:
    """What a system is known to get wrong.

    `errors` is the chance of failing one fact of a skill in a scene that asks for this skill alone; `flaws`
    the chance of each flaw, and `worst` how strong it gets.
    """

    name: str
    about: str
    errors: Mapping[str, float]
    flaws: Mapping[str, float]
    worst: float
    ignores_numbers: bool = False


@dataclass(frozen=True)
class Drawn:
    """A picture with the truth about it: what was drawn and where, how well it matches and is rendered."""

    image: Image.Image = field(compare=False)
    scene: Scene
    flaws: Flaws
    alignment: float
    quality: float
    known: Mapping[str, Any]


_CARE = {
    "object": 0.005,
    "counting": 0.04,
    "colour": 0.015,
    "size": 0.03,
    "spatial": 0.03,
    "negation": 0.03,
    "writing": 0.04,
}
_SLOPPINESS = {
    "object": 0.10,
    "counting": 0.35,
    "colour": 0.22,
    "size": 0.28,
    "spatial": 0.35,
    "negation": 0.40,
    "writing": 0.45,
}
_CLEAN = {"blur": 0.15, "noise": 0.1, "haze": 0.1}

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System("careful", "rarely errs and draws cleanly", _CARE, _CLEAN, worst=0.15),
        System(
            "sloppy",
            "errs at everything, and often blurs its pictures",
            _SLOPPINESS,
            {"blur": 0.5, "noise": 0.35, "haze": 0.3},
            worst=0.9,
        ),
        System(
            "innumerate",
            "as careful, but draws any number of things",
            _CARE,
            _CLEAN,
            0.15,
            ignores_numbers=True,
        ),
    )
}


def rate(system: System, fact: Fact, scene: Scene) -> float:
    """The chance that the system fails this fact, given that the objects it is about are drawn at all.

    Skills suffer in company: with k skills asked at once, 1 - (1 - error)^k.
    An ignored number may be right by luck.
    """
    if fact.skill == "counting" and system.ignores_numbers:
        return 1 - 1 / ANY_NUMBER
    return 1 - (1 - system.errors[fact.skill]) ** len(scene.skills)


def attempt(system: System, scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene as the system draws it, nothing left open."""
    fails = {fact for fact in facts(scene) if rng.random() < rate(system, fact, scene)}
    failed = {(fact.skill, fact.about) for fact in fails}
    groups = [_attempt_group(system, group, scene, failed, rng) for group in scene.groups]
    kept = [group for group in groups if group]
    where = scene.where if len(kept) == len(groups) else None
    if where and any(fact.skill == "spatial" for fact in fails):
        where = pick(rng, [other for other in WHERES if other != where])
    if scene.absent and ("negation", scene.absent) in failed:
        kept.append(Group(scene.absent))
    words = scene.words
    if words and ("writing", "sign") in failed:
        words = misspelt(words, rng)
    if not kept and not words:
        kept.append(Group(pick(rng, [kind for kind in KINDS if kind not in _named(scene)])))
    return settle(Scene(tuple(kept), where, None, words, scene.ref), rng)


def _named(scene: Scene) -> set[str | None]:
    return {*(group.kind for group in scene.groups), scene.absent}


def _attempt_group(
    system: System, group: Group, scene: Scene, failed: set[tuple[str, str]], rng: np.random.Generator
) -> Group | None:
    if ("object", group.kind) in failed:
        return None
    if group.count > 1 and system.ignores_numbers:
        numbers = [n for n in range(1, ANY_NUMBER + 1) if n != group.count]
        group = replace(group, count=pick(rng, numbers)) if ("counting", group.kind) in failed else group
    elif ("counting", group.kind) in failed:
        near = [n for step in (1, 2) for n in (group.count - step, group.count + step) if 1 <= n <= MOST]
        group = replace(group, count=pick(rng, near))
    if ("size", group.kind) in failed:
        group = replace(group, size=pick(rng, [size for size in SIZES if size != group.size]))
    if ("colour", group.kind) in failed:
        # The usual slip: a colour leaks from the neighbour it was meant for.
        leaks = [other.colour for other in scene.groups if other.colour not in (None, group.colour)]
        others = [colour for colour in COLOURS if colour != group.colour]
        group = replace(group, colour=leaks[0] if leaks and rng.random() < 0.7 else pick(rng, others))
    return group


def misspelt(words: str, rng: np.random.Generator) -> str:
    """The words with one slip in them: two letters swapped, one left out, or one doubled."""
    slips = [words[:i] + words[i + 1] + words[i] + words[i + 2 :] for i in range(len(words) - 1)]
    slips += [words[:i] + words[i + 1 :] for i in range(len(words)) if len(words) > 1]
    slips += [words[:i] + words[i] + words[i:] for i in range(len(words))]
    return pick(rng, [slip for slip in slips if slip != words])


def render_flaws(system: System, rng: np.random.Generator) -> Flaws:
    """The flaws of one picture: each may befall it, and then has a strength up to the system's worst."""
    hits, strengths = rng.random(3), rng.uniform(0.25, 1, 3) * system.worst
    blur, noise, haze = (
        float(strength) if hit < system.flaws[flaw] else 0.0
        for flaw, hit, strength in zip(("blur", "noise", "haze"), hits, strengths, strict=True)
    )
    return Flaws(blur, noise, haze)


def spoil(image: Image.Image, flaws: Flaws, rng: np.random.Generator) -> Image.Image:
    """The picture with its flaws: hazy, then blurred, then grainy."""
    if flaws.haze:
        image = Image.blend(image, Image.new("RGB", image.size, (206, 206, 210)), 0.65 * flaws.haze)
    if flaws.blur:
        image = image.filter(ImageFilter.GaussianBlur(image.width / 48 * flaws.blur))
    if flaws.noise:
        grain = rng.normal(0, 38 * flaws.noise, (image.height, image.width, 1))
        image = Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).round().astype(np.uint8))
    return image


def answer(system: str, scene: Scene, sample: int, seed: int = 0, size: int = 192) -> Drawn:
    """The picture a system gives for a scene, with the known truth about it.

    Depends on the system, the scene's text, the sample and the seed alone.
    """
    if system not in SYSTEMS:
        raise ValueError(f"no such sample system: {system!r}; there are {', '.join(SYSTEMS)}")
    rng = chance("answer", system, scene.text, sample, seed)
    drawn = attempt(SYSTEMS[system], scene, rng)
    flaws = render_flaws(SYSTEMS[system], rng)
    picture, known = draw_known(drawn, rng, size)
    return Drawn(spoil(picture, flaws, rng), drawn, flaws, alignment(scene, drawn), flaws.quality, known)


def png(image: Image.Image) -> bytes:
    """The picture as PNG; the same picture gives the same bytes."""
    buffer = BytesIO()
    image.save(buffer, "PNG", compress_level=4)
    return buffer.getvalue()
