"""The stage around the rules: switching off, severities, third-party rules, caching."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image as Pillow

import sightline
from sightline.errors import DataError, ExtensionError, StudyError, UsageError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)
from sightline.study import reading
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

RULE = '''
from sightline.extension import check
from sightline.records import Finding

@check(severity="note", source="me", licence="MIT")
def {name}(material):
    """Finds every prompt."""
    {body}
'''


def fill(study: Study, tmp_path: Path) -> None:
    Pillow.new("RGB", (48, 48)).save(tmp_path / "black.png")
    key, image = PromptKey("suite", "a"), ImageKey("one", "a")
    records = [
        Prompt(key, "a red ball"),
        Image(image, str(tmp_path / "black.png")),
        Answer(key, "one", 0, image),
    ]
    load(study, records, importer="test", path="test", digest="test")


def again(study: Study, settings: str) -> Study:
    (study.home / "study.toml").write_text(settings)
    return open_study(study.home)


def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, body: str) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / f"{name}.py").write_text(RULE.format(name=name, body=body))
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(folder))


def test_an_empty_study_is_told(study: Study) -> None:
    with pytest.raises(DataError, match="empty"):
        sightline.check(study)


def test_images_alone_can_be_checked(study: Study, tmp_path: Path) -> None:
    Pillow.new("RGB", (48, 48)).save(tmp_path / "black.png")
    image = Image(ImageKey("photos", "1"), str(tmp_path / "black.png"))
    load(study, [image], importer="test", path="test", digest="test")
    checked = sightline.check(study)
    assert [found.rule for found in checked.findings] == ["blank_images"]
    assert checked.checked.endswith("rules over 1 image.")


def test_a_finding_with_its_rule_and_what_was_checked(study: Study, tmp_path: Path) -> None:
    fill(study, tmp_path)
    checked = sightline.check(study)
    assert [(found.rule, found.finding.n) for found in checked.findings] == [("blank_images", 1)]
    assert checked.checked.endswith("rules over 1 prompt, 1 answer and 1 image.")
    assert not checked.failed and not checked.off


def test_pixels_are_measured_once(study: Study, tmp_path: Path) -> None:
    fill(study, tmp_path)
    sightline.check(study)
    kept = reading.measures(study).sort("measure")
    assert kept["measure"].to_list() == ["blank(tolerance=8)", "brightness", "coarse_structure(least=0.5)"]
    heard = []
    sightline.check(study, listener=heard.append)
    # The rate counts only what is computed anew.
    assert heard and all(progress.rate == 0 for progress in heard)


def test_a_rule_is_switched_off_with_its_reason(study: Study, tmp_path: Path) -> None:
    fill(study, tmp_path)
    with again(study, '[check.off]\nblank_images = "night scenes"\n') as changed:
        checked = sightline.check(changed)
    assert checked.findings == []
    assert checked.off == [("blank_images", "night scenes")]


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ('[check.off]\nblank_image = "x"\n', UsageError, "Did you mean blank_images"),
        ('[check]\noff = ["blank_images"]\n', StudyError, "table of rule = reason"),
        ("[check.off]\nblank_images = true\n", StudyError, "table of rule = reason"),
        ('[check.off]\nblank_images = " "\n', StudyError, "without a reason"),
    ],
)
def test_wrong_settings_are_told(
    study: Study, tmp_path: Path, settings: str, error: type[Exception], said: str
) -> None:
    fill(study, tmp_path)
    with again(study, settings) as changed, pytest.raises(error, match=said):
        sightline.check(changed)


def test_a_rule_of_ones_own(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(study, tmp_path)
    plug(monkeypatch, tmp_path, "every_prompt", 'yield Finding("prompts", material.prompts.height)')
    found = [each.finding for each in sightline.check(study).findings if each.rule == "every_prompt"]
    assert [(finding.n, finding.severity) for finding in found] == [(1, "note")]


def test_errors_come_first_and_fail_the_check(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(study, tmp_path)
    plug(monkeypatch, tmp_path, "zealous", 'yield Finding("bad", 1, severity="error")')
    checked = sightline.check(study)
    assert [found.rule for found in checked.findings] == ["zealous", "blank_images"]
    assert checked.failed


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("raising", "yield 1 / 0", "the rule raising raised ZeroDivisionError"),
        ("grave", 'yield Finding("x", 1, severity="grave")', "severity 'grave'"),
        ("greedy", 'yield Finding("x", material.scores("sharpness").height)', "does not declare"),
    ],
)
def test_a_rule_that_breaks_its_promise(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, body: str, said: str
) -> None:
    fill(study, tmp_path)
    plug(monkeypatch, tmp_path, name, body)
    with pytest.raises(ExtensionError, match=said):
        sightline.check(study)


def test_both_databases_give_the_same_findings(tmp_path: Path, postgres_url: str) -> None:
    ramp = Pillow.linear_gradient("L").resize((64, 64)).convert("RGB")
    ramp.save(tmp_path / "a.png")
    ramp.save(tmp_path / "b.jpg", quality=80)
    ann, subject = AnnotatorKey("people", "ann"), Item(PromptKey("suite", "a"), "one")
    records: list[Record] = [
        Prompt(PromptKey("suite", "a"), "a ramp"),
        Image(ImageKey("coco", "1"), None, ["one caption"]),
        Question("match", "nominal", 0, 1, 1),
        Judgement("match", subject, 1.0, ann, took_ms=900),
        Judgement("match", subject, 0.0, ann, repetition=1, took_ms=900),
        Truth("match", subject, 1.0),
    ]
    for system, file in (("one", "a.png"), ("two", "b.jpg")):
        key = ImageKey(system, "a")
        records += [Image(key, str(tmp_path / file)), Answer(PromptKey("suite", "a"), system, 0, key)]
    told = []
    for name, address in (("files", ""), ("server", postgres_url)):
        with create_study(tmp_path / name, database_address=address) as made:
            load(made, records, importer="test", path="test", digest="test")
            told.append(sightline.check(made))
    assert told[0].findings == told[1].findings
    assert {found.rule for found in told[0].findings} == {
        "collection_promises",
        "judgements_in_conflict",
        "near_identical_images",
    }
