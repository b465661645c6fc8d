"""A scale belongs to the study: what variability was measured on is what every later command uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline import registry
from sightline.errors import UsageError
from sightline.records import Record
from sightline.report.report import report
from sightline.statistics.reference import Reference, fitted
from sightline.study.study import Study, create_study
from sightline.study.writing.copying import copy_study
from sightline.study.writing.loading import load
from sightline.variability.figures import variability_pictures
from sightline.variability.reference import write_reference
from sightline.variability.reuse import reuse
from sightline.variability.scale import scale_of
from sightline.variability.store import StudyScale, keep_scale, kept_scale
from sightline.variability.variability import CHANGED, read_variability, variability
from sightline.variability.wording import setting_effect, wording

SHADES = {"near": (0, 10, 20, 30), "far": (0, 80, 160, 240)}
CUTS = (0.1, 0.3, 0.6)


def scale_by(distance: str) -> Reference:
    """A reference on which a distance of d is d^2, nearly."""
    identity = registry.configure("distance", distance).identity
    return fitted(np.sqrt(np.arange(1, 2001) / 2000), distance, identity, "2026-01-01")


@pytest.fixture
def study(tmp_path: Path, study_of: Callable[..., Study]) -> Study:
    samples = {(system, ref): shades for system in "ab" for ref, shades in SHADES.items()}
    settings = {(system, ref): [5.0 + (ref == "far")] * 4 for system in "ab" for ref in SHADES}
    return study_of(tmp_path, samples, settings=settings)


def scores(shades: tuple[int, ...]) -> float:
    """1 minus the mean of d^2 over all pairs, by hand from the shades."""
    values = np.array(shades) / 255
    i, j = np.triu_indices(len(values), 1)
    return float(1 - ((values[i] - values[j]) ** 2).mean())


def test_what_was_measured_on_is_used_by_every_later_command(study: Study, tmp_path: Path) -> None:
    file = write_reference(scale_by("pixel_l2"), tmp_path / "scale.npz")
    assert kept_scale(study) is None
    found = variability(study, distance="pixel_l2", reference=str(file), cut_offs="0.1,0.3,0.6")
    expected = {ref: scores(shades) for ref, shades in SHADES.items()}
    values = {found.texts[row["prompt_id"]]: row["value"] for row in found.prompts.iter_rows(named=True)}
    assert values == pytest.approx(expected, abs=1e-3)
    # The file may go: the study has its own copy.
    file.unlink()
    stored = read_variability(study)
    assert stored.prompts.equals(found.prompts) and stored.systems == found.systems
    assert stored.measure == found.measure and stored.scale.levels == CUTS
    worded = wording(study)
    assert worded.measure == found.measure and worded.prompts["similarity"].to_list() == pytest.approx(
        [expected["far"], expected["near"]], abs=1e-3
    )
    assert setting_effect(study, "guidance").measure == found.measure
    used = reuse(study)
    assert used.cut_off == 0.6 and used.reference is not None and used.distance == "pixel_l2"
    assert variability(study).prompts.equals(found.prompts)
    # The hint needs no option, since the study knows its scale.
    assert found.next == ("sightline reuse STUDY",)


def test_an_explicit_scale_wins_and_only_variability_keeps_it(study: Study) -> None:
    variability(study, distance="pixel_l2", reference=scale_by("pixel_l2"), cut_offs="0.1,0.3,0.6")
    kept = kept_scale(study)
    assert kept is not None
    # Another distance is another scale, without this reference and its cut-offs.
    assert scale_of(study, "ssim", None) == StudyScale("ssim")
    assert scale_of(study, None, "none") == StudyScale("pixel_l2")
    other = wording(study, distance="colour_histogram", reference=scale_by("colour_histogram"))
    assert other.measure == "W1KP score, colour_histogram"
    reuse(study, distance="colour_histogram", cut_off=0.9)
    same = kept_scale(study)
    assert same is not None and (same.distance, same.cut_offs) == ("pixel_l2", CUTS)
    # Without a reference distances are as they are again, and no level has a meaning.
    plain = variability(study, reference="none")
    assert plain.reference is None and plain.measure == "pairwise_mean(distance=pixel_l2)"
    assert "level" not in plain.prompts.columns
    with pytest.raises(UsageError, match="needs a scale"):
        reuse(study)
    # Cut-offs that calibrate found for distances as they are name levels too.
    graded = variability(study, cut_offs="0.5,0.8,0.9")
    levels = {graded.texts[row["prompt_id"]]: row["level"] for row in graded.prompts.iter_rows(named=True)}
    # Means over pairs: near 1 - 16.7/255, far 1 - 133/255.
    assert levels == {"near": "high", "far": "none"} and reuse(study).cut_off == 0.9


def test_the_scale_of_another_version_is_refused(study: Study) -> None:
    reference = scale_by("pixel_l2")
    variability(study, distance="pixel_l2", reference=reference)
    old = Reference(reference.distances, "pixel_l2", "an older version", 2000, "")
    with pytest.raises(UsageError, match="of another version"):
        variability(study, reference=old)
    assert scale_of(study, None, None).reference is not None


def test_images_that_came_later_are_told_and_not_measured_by_reading(
    study: Study, tmp_path: Path, sampled: Callable[..., list[Record]]
) -> None:
    for distance in ("pixel_l2", "embedding"):
        variability(study, distance=distance, reference=scale_by(distance))
        place = 4 if distance == "pixel_l2" else 5
        more = sampled(tmp_path, "a", "near", place, place * 50)
        load(study, more, importer="t", path=distance, digest=distance)
        stored = read_variability(study)
        assert stored.prompts.height == 3 and stored.without == {CHANGED: 1}
    assert variability(study).prompts.height == 4


def test_a_copy_has_the_scale(study: Study, tmp_path: Path) -> None:
    variability(study, distance="pixel_l2", reference=scale_by("pixel_l2"), cut_offs="0.1,0.3,0.6")
    with copy_study(study, tmp_path / "copy") as copied:
        kept = kept_scale(copied)
        assert kept is not None and kept.levels == CUTS and kept.reference is not None
        assert np.array_equal(kept.reference.distances, scale_by("pixel_l2").distances)


def test_the_report_and_the_curve_show_w1kp_scores_with_the_cut_offs(study: Study, tmp_path: Path) -> None:
    found = variability(study, distance="pixel_l2", reference=scale_by("pixel_l2"), cut_offs="0.1,0.3,0.6")
    drawn = reuse(study).figures()["curve"].wide
    lines = [
        layer["data"]["values"] for layer in drawn["layer"] if layer.get("mark", {}).get("type") == "rule"
    ]
    assert sorted(row["y"] for rows in lines for row in rows if "y" in row) == list(CUTS)
    assert drawn["layer"][0]["encoding"]["y"]["axis"]["title"].startswith("W1KP score")
    marks = [layer for layer in found.figures()["systems"].wide["layer"] if "data" in layer]
    assert [layer["data"]["values"][0]["x"] for layer in marks[::2]] == list(CUTS)
    page = tmp_path / "report.html"
    report(study, to=page)
    written = page.read_text("utf-8")
    assert "W1KP score" in written and "How many images before they repeat" in written
    pictured = variability_pictures(study)
    captions = " ".join(str(getattr(block, "caption", "")) for block in pictured.blocks)
    assert "Mean W1KP score of a prompt's images for each guidance," in captions


def test_the_scale_is_kept_in_either_database(address: str, tmp_path: Path) -> None:
    with create_study(tmp_path / "kept", database_address=address) as made:
        assert kept_scale(made) is None
        for cuts in (None, CUTS):
            keep_scale(made, StudyScale("pixel_l2", scale_by("pixel_l2"), cuts, "a file"))
            kept = kept_scale(made)
            assert kept is not None and kept.reference is not None
            assert (kept.distance, kept.cut_offs, kept.named) == ("pixel_l2", cuts, "a file")
            assert kept.reference.identity == scale_by("pixel_l2").identity
