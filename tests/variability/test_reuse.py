"""Which prompts deserve more images: planted repeats are found, curves cross where they should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError, UsageError
from sightline.statistics.reference import fitted
from sightline.statistics.sets import k_expected_minimum_exact
from sightline.study.study import Study
from sightline.variability.reuse import reuse

# Greys of each prompt's eight images: all far apart; one double; nearly all the same.
SHADES = {
    "fresh": (0, 30, 60, 90, 120, 150, 180, 210),
    "some": (0, 1, 60, 90, 120, 150, 180, 210),
    "spent": (100, 101, 102, 100, 101, 102, 100, 210),
}


@pytest.fixture(scope="module")
def greys(tmp_path_factory: pytest.TempPathFactory, study_of: Callable[..., Study]) -> Study:
    kinds = [(f"{kind}-{copy}", kind, copy) for kind in SHADES for copy in range(2)]
    samples = {("a", ref): [shade + copy for shade in SHADES[kind]] for ref, kind, copy in kinds}
    texts = {ref: (ref, {"kind": kind}) for ref, kind, _ in kinds}
    return study_of(tmp_path_factory.mktemp("greys"), samples, texts)


def matrix(kind: str) -> np.ndarray:
    shade = np.array(SHADES[kind], dtype=float)
    return np.abs(shade[:, None] - shade[None]) / 255


def test_prompts_that_deserve_more_come_first(greys: Study) -> None:
    # Without a scale: alike is a similarity of .98, at most 5.1 shades apart.
    found = reuse(greys, distance="pixel_l2", cut_off=0.98)
    told = [(each.verdict, each.images, each.repeated.value) for each in found.prompts]
    # some: images 0 and 1 of eight have a double; spent: all but the last.
    assert told == [
        ("deserves more", 8, 0.0), ("deserves more", 8, 0.0), ("repeating", 8, 0.25),
        ("repeating", 8, 0.25), ("exhausted", 8, 0.875), ("exhausted", 8, 0.875),
    ]  # fmt: skip
    fresh, some, spent = found.prompts[0], found.prompts[2], found.prompts[4]
    assert fresh.before is None and fresh.pairs_alike == 0
    assert some.closest == (0, 1) and some.pairs_alike == 1
    assert some.curve == pytest.approx(1 - k_expected_minimum_exact(matrix("some")).value)
    # The seven near 100 make 21 pairs of at most 2 shades; three images have two of them already.
    assert spent.pairs_alike == 21 and spent.before == 2 and np.all(spent.error == 0)


def test_curves_of_systems_and_tags(greys: Study) -> None:
    found = reuse(greys, distance="pixel_l2", cut_off=0.98, tag="kind")
    groups = {each.tag: each for each in found.groups}
    assert set(groups) == {None, "kind=fresh", "kind=some", "kind=spent"}
    exact = {kind: 1 - k_expected_minimum_exact(matrix(kind)).value for kind in SHADES}
    for kind, curve in exact.items():
        assert groups[f"kind={kind}"].curve.value == pytest.approx(curve)
    whole = groups[None]
    assert whole.curve.value == pytest.approx(np.mean(list(exact.values()), axis=0))
    assert whole.curve.prompts == 6 and whole.curve.k.tolist() == list(range(2, 9))
    assert groups["kind=spent"].reusable.images == 2
    assert groups["kind=fresh"].reusable.images is None and groups["kind=fresh"].first_repeat is None
    # 2 x (1 + 21) of 6 x 28 pairs are alike; k images have k(k-1)/2 pairs: 0 0 1 3 6 10 15 21 28 ...
    q = 1 - 44 / 168
    assert whole.first_repeat == pytest.approx(2 + q + q**3 + q**6 + q**10 + q**15 + q**21 + q**28, abs=1e-4)


def test_normalised_by_a_reference(greys: Study) -> None:
    from sightline import registry

    identity = registry.configure("distance", "pixel_l2").identity
    scale = fitted(np.arange(1, 101) / 100, "pixel_l2", identity, "2026-01-01")
    found = reuse(greys, distance="pixel_l2", reference=scale, cut_off=0.85)
    # The share of 1/100 .. 100/100 at or below 30/255 = .1176 is .11: similarity .89, above the cut-off.
    fresh = next(each for each in found.prompts if each.pairs_alike == 7)
    assert fresh.curve[-1] == pytest.approx(0.89) and fresh.repeated.value == 1
    other = fitted(np.arange(100.0), "ssim", "another", "")
    with pytest.raises(UsageError, match="the reference is of ssim"):
        reuse(greys, distance="pixel_l2", reference=other)


def test_sets_of_unequal_size(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    counts = {"one": 1, "two": 2, "four": 4, "five": 5}
    samples = {("a", ref): [(40 * n, 0, 0) for n in range(count)] for ref, count in counts.items()}
    study = study_of(tmp_path, samples)
    found = reuse(study, distance="pixel_l2", cut_off=0.9)
    assert found.without == {"fewer than two images": 1}
    (group,) = found.groups
    assert (group.curve.prompts, group.curve.k.tolist(), group.left_out) == (3, [2], 0)
    (longer,) = reuse(study, distance="pixel_l2", cut_off=0.9, images=4).groups
    assert (longer.curve.prompts, longer.curve.k.tolist(), longer.left_out) == (2, [2, 3, 4], 1)
    with pytest.raises(DataError, match="no prompt of a has 6 images; the most is 5"):
        reuse(study, distance="pixel_l2", cut_off=0.9, images=6)
    with pytest.raises(UsageError, match="a curve over 1 images"):
        reuse(study, distance="pixel_l2", cut_off=0.9, images=1)
    with pytest.raises(UsageError, match="no prompt has a tag 'style'"):
        reuse(study, distance="pixel_l2", cut_off=0.9, tag="style")


def test_large_sets_are_drawn_with_orders_of_their_own(
    tmp_path: Path, study_of: Callable[..., Study]
) -> None:
    shades = [tuple(shade) for shade in np.random.default_rng(0).integers(0, 256, size=(20, 3)).tolist()]
    study = study_of(tmp_path, {("a", "x"): shades, ("a", "y"): shades})
    one, other = reuse(study, distance="pixel_l2", cut_off=0.9, permutations=200).prompts
    # The same images twice: the same truth, estimated independently, and the same again with the same seed.
    assert one.error[0] == 0 and one.error[1] > 0 and not np.array_equal(one.curve, other.curve)
    assert np.all(np.abs(one.curve - other.curve) <= 5 * np.hypot(one.error, other.error) + 0.02)
    again = reuse(study, distance="pixel_l2", cut_off=0.9, permutations=200).prompts[0]
    assert np.array_equal(again.curve, one.curve)
