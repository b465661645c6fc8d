"""The detector of the sample study's drawings: against what is known to be drawn, and on other pictures."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sightline import registry
from sightline.detectors.models.paper_cutouts import KINDS, PAINTS, TEMPLATES
from sightline.pictures import Picture
from sightline.samples.scenes import KINDS as DRAWN
from sightline.samples.scenes import Group, Scene, scenes
from sightline.samples.shapes import PAINT
from sightline.samples.systems import answer, png
from sightline.samples.templates import templates


def test_shipped_shapes_are_those_that_are_drawn_now() -> None:
    assert KINDS == DRAWN and PAINTS == PAINT
    kind, shape = templates()
    with np.load(TEMPLATES) as file:
        assert file["kind"].tolist() == kind.tolist()
        assert np.abs(file["shape"].astype(np.float64) - shape).max() < 0.02


def test_it_finds_what_was_drawn() -> None:
    """Every third scene that asks for objects alone, by each system: kinds and numbers of all things."""
    detector = registry.configure("detector", "paper_cutouts").load()
    right: Counter[str] = Counter()
    asked = [scene for scene in scenes(32, seed=5) if not scene.words][::2]
    for scene in asked:
        for system in ("careful", "sloppy"):
            drawn = answer(system, scene, 0, 5)
            (found,) = detector.detect([Picture(png(drawn.image))])
            sure = Counter(each["kind"] for each in found["objects"] if each["confidence"] >= 0.5)
            right[system] += sure == Counter(each["kind"] for each in drawn.known["objects"])
    # Clean drawings are seen as they are; blurred, grainy and hazy ones often enough.
    assert right["careful"] >= 0.9 * len(asked)
    assert right["sloppy"] >= 0.6 * len(asked)


def test_a_sign_is_no_thing_and_an_empty_picture_has_none() -> None:
    detector = registry.configure("detector", "paper_cutouts").load()
    sign = answer("careful", Scene(words="HELLO", ref="x"), 0).image
    both = answer("careful", Scene((Group("cat", colour="black"),), words="OPEN", ref="y"), 0).image
    flat = Picture(png(both.point(lambda value: 230)))
    found = detector.detect([Picture(png(sign)), Picture(png(both)), flat])
    assert [[each["kind"] for each in scene["objects"]] for scene in found] == [[], ["cat"], []]
    (cat,) = found[1]["objects"]
    assert max(cat["colours"], key=cat["colours"].__getitem__) == "black"
