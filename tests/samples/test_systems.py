import hashlib
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import ndimage

from sightline.samples.chance import chance
from sightline.samples.drawing import draw
from sightline.samples.facts import alignment, facts, verdicts
from sightline.samples.scenes import SKILLS, WORDS, Group, Scene, scenes
from sightline.samples.systems import SYSTEMS, Flaws, answer, attempt, misspelt, png, rate, spoil

MANY = scenes(320, 5)
FAULTLESS = dict.fromkeys(("object", *SKILLS), 0.0)


def errors_by_skill(system: str, samples: int = 3) -> dict[str, tuple[int, float, float]]:
    """Of facts whose objects are drawn: how many, how many failed, and how many should have."""
    found: dict[str, tuple[int, float, float]] = {}
    for scene in MANY:
        for sample in range(samples):
            drawn = attempt(SYSTEMS[system], scene, chance("rates", system, scene.text, sample))
            shown = {group.kind for group in drawn.groups}
            complete = all(group.kind in shown for group in scene.groups)
            for fact, held in verdicts(scene, drawn).items():
                there = complete if fact.skill == "spatial" else fact.about in shown
                if there or fact.skill in ("object", "negation", "writing"):
                    n, failed, expected = found.get(fact.skill, (0, 0.0, 0.0))
                    found[fact.skill] = (
                        n + 1,
                        failed + (not held),
                        expected + rate(SYSTEMS[system], fact, scene),
                    )
    return found


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_err_at_their_declared_rates(system: str) -> None:
    found = errors_by_skill(system)
    assert set(found) == {"object", *SKILLS} - {"single"}
    for skill, (n, failed, expected) in found.items():
        # At most the variance of n equal chances, so four standard deviations is a cautious bound.
        share = expected / n
        assert abs(failed - expected) <= 4 * np.sqrt(n * share * (1 - share)), (skill, n, failed, expected)


def test_rates_in_company_by_hand() -> None:
    scene = Scene((Group("ball", 3), Group("box")), "above", absent="cat")
    spatial = next(fact for fact in facts(scene) if fact.skill == "spatial")
    assert len(scene.skills) == 3
    # 1 - 0.65^3 = 1 - 0.274625
    assert rate(SYSTEMS["sloppy"], spatial, scene) == pytest.approx(0.725375)
    counting = next(fact for fact in facts(scene) if fact.skill == "counting")
    assert rate(SYSTEMS["innumerate"], counting, scene) == pytest.approx(8 / 9)


@given(st.from_type(Scene), st.integers(0, 10**9))
def test_without_errors_everything_asked_is_drawn(scene: Scene, seed: int) -> None:
    faultless = replace(SYSTEMS["careful"], errors=FAULTLESS)
    assert alignment(scene, attempt(faultless, scene, chance(seed))) == 1


def test_who_only_ignores_numbers_is_wrong_on_counting_and_nowhere_else() -> None:
    innumerate = replace(SYSTEMS["innumerate"], errors=FAULTLESS)
    failed = {
        fact.skill
        for scene in MANY
        for fact, held in verdicts(scene, attempt(innumerate, scene, chance(scene.text))).items()
        if not held
    }
    assert failed == {"counting"}


def test_ignored_numbers_are_spread_evenly() -> None:
    scene = Scene((Group("star", 4),))
    drawn = [attempt(SYSTEMS["innumerate"], scene, chance("even", i)).groups[0] for i in range(1800)]
    counts = np.bincount([group.count for group in drawn if group.kind == "star"], minlength=10)[1:]
    # 1800 / 9 = 200 each, standard deviation sqrt(1800 * 1/9 * 8/9) = 13.3.
    assert np.all(np.abs(counts - 200) < 4 * 13.4)


def test_the_careful_beat_the_innumerate_who_beat_the_sloppy() -> None:
    mean = {
        system: np.mean([alignment(scene, attempt(SYSTEMS[system], scene, chance(system, scene.text)))
                         for scene in MANY])
        for system in SYSTEMS
    }  # fmt: skip
    assert mean["careful"] > mean["innumerate"] + 0.03
    assert mean["innumerate"] > mean["sloppy"] + 0.1


def test_an_answer_knows_its_own_truth() -> None:
    for scene in scenes(16):
        for system in SYSTEMS:
            drawn = answer(system, scene, 0, size=64)
            assert drawn.alignment == alignment(scene, drawn.scene)
            assert drawn.quality == drawn.flaws.quality
            assert 0 <= drawn.alignment <= 1 and 0 <= drawn.quality <= 1
            assert drawn.image.size == (64, 64)


def test_answers_do_not_depend_on_the_order_of_calls() -> None:
    asked = [(system, scene, sample) for system in SYSTEMS for scene in scenes(4) for sample in range(2)]
    forth = {(a, b.ref, c): png(answer(a, b, c, size=64).image) for a, b, c in asked}
    back = {(a, b.ref, c): png(answer(a, b, c, size=64).image) for a, b, c in reversed(asked)}
    assert forth == back
    assert len(set(forth.values())) == len(asked)


def test_the_seed_changes_the_picture() -> None:
    scene = scenes(1)[0]
    assert png(answer("careful", scene, 0, 0).image) != png(answer("careful", scene, 0, 1).image)


def test_png_keeps_every_pixel() -> None:
    image = answer("sloppy", scenes(1)[0], 0).image
    again = Image.open(BytesIO(png(image)))
    assert again.tobytes() == image.tobytes()
    assert hashlib.sha256(png(image)).digest() == hashlib.sha256(png(image.copy())).digest()


def sharpness(image: Image.Image) -> float:
    return float(ndimage.laplace(np.asarray(image.convert("L"), dtype=float)).var())


def test_flaws_show_in_the_pixels() -> None:
    clean = draw(Scene((Group("house", 3, "blue"),)), chance("flaws"))
    softer = [sharpness(spoil(clean, Flaws(blur=blur), chance(0))) for blur in (0, 0.25, 0.5, 1)]
    assert softer == sorted(softer, reverse=True) and softer[-1] < softer[0] / 10
    grainier = [sharpness(spoil(clean, Flaws(noise=noise), chance(0))) for noise in (0, 0.25, 0.5, 1)]
    assert grainier == sorted(grainier)
    paler = [np.asarray(spoil(clean, Flaws(haze=haze), chance(0))).std() for haze in (0, 0.25, 0.5, 1)]
    assert paler == sorted(paler, reverse=True)


def test_quality_by_hand() -> None:
    assert Flaws().quality == 1
    # 1 - 0.6 * 0.5 - 0.45 * 0.2 - 0.25 * 0.4 = 1 - 0.3 - 0.09 - 0.1
    assert Flaws(0.5, 0.2, 0.4).quality == pytest.approx(0.51)
    assert Flaws(1, 1, 1).quality == 0


def test_the_sloppy_render_worse() -> None:
    quality = {
        system: np.mean([answer(system, scene, 0, size=32).quality for scene in MANY[:80]])
        for system in SYSTEMS
    }
    assert quality["sloppy"] < 0.8 < 0.95 < min(quality["careful"], quality["innumerate"])


@given(st.sampled_from(WORDS), st.integers(0, 10**9))
def test_misspelt_words_differ_by_one_slip(words: str, seed: int) -> None:
    slip = misspelt(words, chance(seed))
    assert slip != words
    assert abs(len(slip) - len(words)) <= 1


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(ValueError, match="careful, sloppy, innumerate"):
        answer("perfect", scenes(1)[0], 0)
