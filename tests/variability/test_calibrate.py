"""Distances held against people: planted cut-offs come back, planted choices are agreed with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline import registry
from sightline.data.import_ import import_
from sightline.errors import DataError, UsageError
from sightline.judging.truth import truth
from sightline.records import (
    Annotator,
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
from sightline.statistics.calibration import level
from sightline.statistics.reference import fitted
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load
from sightline.variability.calibrate import ChoiceCalibration, PairComparison, calibrate
from sightline.variability.judged import Exclusions

SHADES = tuple(range(0, 250, 6))
CUTS = (0.3, 0.6, 0.9)


def alike(mode: str) -> Question:
    (question,) = registry.configure("annotation_mode", mode).load()().questions
    assert isinstance(question, Question)
    return question


def grey(shade: int) -> ImageKey:
    return ImageKey("greys", f"{shade:03d}")


@pytest.fixture
def greys(tmp_path: Path) -> Callable[..., Study]:
    """A study of flat grey images, two of which are their difference / 255 apart by pixel_l2."""

    def make(*records: Record) -> Study:
        mine: list[Record] = []
        for shade in SHADES:
            file = tmp_path / f"{shade:03d}.png"
            Pillow.new("RGB", (8, 8), (shade,) * 3).save(file)
            mine.append(Image(grey(shade), str(file)))
        study = create_study(tmp_path / "study")
        load(study, [*mine, *records], importer="test", path="x", digest="1")
        return study

    return make


def similarity(pair: tuple[int, int]) -> float:
    return 1 - abs(pair[0] - pair[1]) / 255


def some_pairs(count: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(2)
    found: dict[tuple[int, int], None] = {}
    while len(found) < count:
        one, other = sorted(int(each) for each in rng.choice(SHADES, 2, replace=False))
        found[one, other] = None
    return list(found)


def votes(pair: tuple[int, int], grades: tuple[int, ...], people: str = "xyz") -> list[Record]:
    subject = Item(None, None, grey(pair[0]), grey(pair[1]))
    return [
        Judgement("alike", subject, float(grade), AnnotatorKey("p", name))
        for grade, name in zip(grades, people, strict=True)
    ]


def rated(count: int, people: str = "xyz", wrong: tuple[int, ...] = ()) -> list[Record]:
    """Pairs graded as CUTS have it, but for the last people, who say the same of every pair."""
    records: list[Record] = [alike("similarity_rating")]
    for pair in some_pairs(count):
        grade = int(level(similarity(pair), CUTS)) + 1
        records += votes(pair, ((grade,) * (len(people) - len(wrong)) + wrong), people)
    return records


def test_planted_cut_offs_come_back(greys: Callable[..., Study]) -> None:
    records: list[Record] = [alike("similarity_rating")]
    for number, pair in enumerate(some_pairs(240)):
        right = int(level(similarity(pair), CUTS)) + 1
        # The third person is off by one in every other pair; high is called 4 or 5. The median stays right.
        grades = (right, 5 if right == 4 else right, max(1, right - number % 2))
        records += votes(pair, grades)
    study = greys(*records)
    found = calibrate(study, "alike", distance="pixel_l2")
    assert found.calibration.cut_offs.values == pytest.approx(CUTS, abs=0.025)
    assert found.calibration.cut_offs.accuracy == 1 and found.calibration.cut_offs.n == 240
    assert found.calibration.micro.value is not None and found.calibration.micro.value > 0.97
    assert found.calibration.confusion.sum() == 240 and found.without == {}
    # Two of three people are always right, the third half of the time but where nothing is lower than 1.
    floor = sum(
        number % 2 == 1 and level(similarity(pair), CUTS) == 0 for number, pair in enumerate(some_pairs(240))
    )
    assert found.people is not None
    assert found.people.micro.value == pytest.approx((240 * 3 - 120 + floor) / 720)


def test_on_the_scale_of_a_reference(greys: Callable[..., Study]) -> None:
    identity = registry.configure("distance", "pixel_l2").identity
    # F(d) = d^2 nearly: cut-offs 1 - (1 - c)^2 on the normalised scale.
    scale = fitted(np.sqrt(np.arange(1, 2001) / 2000), "pixel_l2", identity, "2026-01-01")
    study = greys(*rated(200))
    found = calibrate(study, "alike", distance="pixel_l2", reference=scale)
    expected = [1 - (1 - cut) ** 2 for cut in CUTS]
    assert found.calibration.cut_offs.values == pytest.approx(expected, abs=0.03)
    assert found.reference is scale
    other = fitted(np.arange(100.0), "ssim", "another", "")
    with pytest.raises(UsageError, match="the reference is of ssim"):
        calibrate(study, "alike", distance="pixel_l2", reference=other)


def test_controls_and_people_left_out_do_not_count(greys: Callable[..., Study]) -> None:
    # Three say everything is 1, and are wrong: the median is theirs unless they are left out.
    records = rated(60, "abxyz", (1, 1, 1))
    for name in "ab":
        twice = Item(None, None, grey(0), grey(0))
        records.append(Judgement("alike", twice, 5.0, AnnotatorKey("p", name), control=True))
    study = greys(*records)
    swayed = calibrate(study, "alike", distance="pixel_l2")
    assert swayed.calibration.confusion[0].sum() == 60 and swayed.excluded == Exclusions(0, 0)
    truth(study, "alike", rule="median(top=4)", screening=["one_value"])
    found = calibrate(study, "alike", distance="pixel_l2")
    assert found.calibration.cut_offs.n == 60 and found.calibration.confusion[0].sum() < 30
    assert found.calibration.cut_offs.values == pytest.approx(CUTS, abs=0.06)
    assert found.people is not None and found.people.micro.value == 1
    assert found.excluded == Exclusions(0, 3)
    assert found.without == {"attention check: an image with itself": 1}


def copied(shade: int, folder: Path) -> tuple[ImageKey, Image]:
    """The same picture under another name: only its content tells."""
    file = folder / f"again {shade:03d}.png"
    Pillow.new("RGB", (8, 8), (shade,) * 3).save(file)
    key = ImageKey("greys", file.name)
    return key, Image(key, str(file))


@pytest.mark.parametrize(("control", "by_content"), [(True, True), (True, False), (False, False)])
def test_who_does_not_see_the_same_is_left_out(
    greys: Callable[..., Study], tmp_path: Path, control: bool, by_content: bool
) -> None:
    records = rated(60, "abxyz", (1, 1, 1))
    again, image = copied(0, tmp_path)
    twice = Item(None, None, grey(0), again if by_content else grey(0))
    records.append(image)
    for name, value in zip("abxyz", (5.0, 5.0, 1.0, 4.0, 3.0), strict=True):
        records.append(Judgement("alike", twice, value, AnnotatorKey("p", name), control=control))
    found = calibrate(greys(*records), "alike", distance="pixel_l2")
    # Very alike (4) is not the same (5): x, y and z are gone with all their votes, and the check is no pair.
    assert found.excluded == Exclusions(failed=3, before=0)
    assert found.without == {"attention check: an image with itself": 1}
    assert found.calibration.cut_offs.n == 60
    assert found.calibration.cut_offs.values == pytest.approx(CUTS, abs=0.06)
    assert found.people is not None and found.people.micro.value == found.people.others.value == 1


def test_duplicates_of_a_system_are_no_attention_checks(greys: Callable[..., Study], tmp_path: Path) -> None:
    """A system gave one picture twice; nobody declared the pair a control, so 4 is a grade like others."""
    records = rated(60)
    again, image = copied(0, tmp_path)
    records += [image, *votes((0, 0), (4, 3, 4))]
    records = [
        record._replace(item=Item(None, None, grey(0), again))
        if isinstance(record, Judgement) and record.item == Item(None, None, grey(0), grey(0))
        else record
        for record in records
    ]
    found = calibrate(greys(*records), "alike", distance="pixel_l2")
    assert found.excluded == Exclusions(0, 0) and found.without == {}
    # The pair counts: its images are at distance 0, and people call them high.
    assert found.calibration.cut_offs.n == 61
    assert found.people is not None and found.people.micro.value == pytest.approx((61 * 3 - 1) / (61 * 3))


def test_the_settled_grades_count(greys: Callable[..., Study]) -> None:
    """a and b follow the cut-offs, everybody else says 1: excluded by screening, by role, or asked again."""
    records = rated(60, "abxyz", (1, 1, 1))
    for pair in some_pairs(60):
        subject = Item(None, None, grey(pair[0]), grey(pair[1]))
        records += [Judgement("alike", subject, 1.0, AnnotatorKey("p", name)) for name in "st"]
        records.append(Judgement("alike", subject, 1.0, AnnotatorKey("p", "a"), repetition=1))
    records += [Annotator(AnnotatorKey("p", name), role="control") for name in "st"]
    study = greys(*records)
    told = calibrate(study, "alike", distance="pixel_l2")
    assert any("is not settled" in note for note in told.notes)
    truth(study, "alike", rule="median(top=4)", screening=["one_value"])
    found = calibrate(study, "alike", distance="pixel_l2")
    assert found.calibration.cut_offs.values == pytest.approx(CUTS, abs=0.06)
    assert any("Grades: the truth of alike, median(top=4)." in note for note in found.notes)
    # Two people are left, each with one vote per pair, who always agree.
    assert found.people is not None and found.people.micro.value == found.people.others.value == 1
    # Of a mean no grade can be read: the median of the very same votes stands in, and it is said.
    truth(study, "alike", rule="mean", screening=["one_value"])
    again = calibrate(study, "alike", distance="pixel_l2")
    assert again.calibration.cut_offs == found.calibration.cut_offs
    assert any("Grades: the median of the votes that count." in note for note in again.notes)


def test_several_distances_on_graded_pairs(greys: Callable[..., Study]) -> None:
    """Grades follow pixel_l2: it is right nearly always; one that sees no difference at all is at chance."""
    study = greys(*rated(120))
    blind = "colour_histogram(bins=1)"
    found = calibrate(study, "alike", distance=["pixel_l2", blind])
    assert isinstance(found, PairComparison) and found.pairs == 120
    seen = {each.name: each.calibration for each in found.rows}
    alone = calibrate(study, "alike", distance="pixel_l2")
    assert seen["pixel_l2"].micro == alone.calibration.micro
    assert seen["pixel_l2"].cut_offs == alone.calibration.cut_offs
    (difference,) = found.comparisons
    wins = (seen["pixel_l2"].micro.value or 0) - (seen[blind].micro.value or 0)
    assert difference.difference.statistic == pytest.approx(wins) and difference.adjusted is not None
    assert difference.adjusted < 0.01 and found.people is not None and found.people.micro.value == 1
    assert found.next == ("sightline calibrate STUDY alike --distance pixel_l2",)
    assert found.frame("distances")["who"].to_list() == ["pixel_l2", blind, "annotators"]
    with pytest.raises(UsageError, match="a reference is of one distance"):
        calibrate(study, "alike", distance=["pixel_l2", "ssim"], reference="sample")


def test_where_all_fail_nobody_counts(greys: Callable[..., Study]) -> None:
    study = greys(*rated(60), *votes((0, 0), (1, 1, 1)))
    truth(study, "alike", rule="median(top=4)", screening=[])
    # What was settled by those very people does not come in by the back door.
    with pytest.raises(DataError, match="0 graded pairs") as refused:
        calibrate(study, "alike", distance="pixel_l2")
    assert "failed an attention check (3)" in str(refused.value)


def test_people_are_held_to_the_same_pairs(greys: Callable[..., Study]) -> None:
    """30 pairs that all agree on; ten whose other image is not here, on which one of three is wrong."""
    records = rated(30)
    for number in range(10):
        subject = Item(None, None, grey(0), ImageKey("elsewhere", str(number)))
        for name, value in zip("xyz", (2.0, 2.0, 3.0), strict=True):
            records.append(Judgement("alike", subject, value, AnnotatorKey("p", name)))
    found = calibrate(greys(*records), "alike", distance="pixel_l2")
    assert found.calibration.cut_offs.n == 30 and found.without == {"a file is not here": 10}
    assert found.people is not None
    assert (found.people.micro.value, found.people.macro.value, found.people.others.value) == (1, 1, 1)


def test_settled_grades_without_votes(greys: Callable[..., Study]) -> None:
    records: list[Record] = [alike("similarity_rating")]
    for pair in some_pairs(40):
        subject = Item(None, None, grey(pair[0]), grey(pair[1]))
        records.append(Truth("alike", subject, float(level(similarity(pair), CUTS)) + 1))
    subject = Item(None, None, grey(0), ImageKey("elsewhere", "x"))
    records += [Truth("alike", subject, 2.0), Truth("alike", Item(None, None, grey(6), grey(12)), 2.5)]
    found = calibrate(greys(*records), "alike", distance="pixel_l2")
    assert found.people is None and found.calibration.cut_offs.n == 40
    assert found.without == {
        "no level: not judged, or the median lies between two levels": 1,
        "a file is not here": 1,
    }


def test_what_cannot_be_calibrated(greys: Callable[..., Study]) -> None:
    quality = Judgement("quality", Item(None, None, grey(0)), 3.0, AnnotatorKey("p", "x"))
    study = greys(*rated(5), Question("quality", "ordinal", 1, 5), quality)
    with pytest.raises(DataError, match="5 graded pairs have their images here, too few"):
        calibrate(study, "alike", distance="pixel_l2")
    with pytest.raises(UsageError, match="'quality' is not about pairs"):
        calibrate(study, "quality", distance="pixel_l2")
    with pytest.raises(UsageError, match="no question is called 'alik'"):
        calibrate(study, "alik", distance="pixel_l2")


def triplets(count: int, noise: float = 0.0) -> list[tuple[tuple[int, int, int], float]]:
    """(reference, A, B) with the proportion of five that chose A, the closer shade with a few slips."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(count):
        reference, a, b = (int(each) for each in rng.choice(SHADES, 3, replace=False))
        closer = abs(reference - a) < abs(reference - b)
        right = 1 - noise
        found.append(((reference, a, b), rng.binomial(5, right if closer else 1 - right) / 5))
    return found


def test_forced_choices_published_as_shares(greys: Callable[..., Study]) -> None:
    asked = alike("two_afc")
    told = triplets(120, 0.2)
    records: list[Record] = [asked]
    for number, ((reference, a, b), share) in enumerate(told):
        prompt = PromptKey("s", str(number // 3))
        if number % 3 == 0:
            records.append(Prompt(prompt, f"prompt {number // 3}"))
        subject = Item(prompt, None, grey(reference), grey(a), grey(b))
        records.append(Truth(asked.name, subject, share))
    study = greys(*records)
    assert isinstance(calibrate(study, asked.name, distance="pixel_l2"), ChoiceCalibration)
    found = calibrate(study, asked.name, distance=["pixel_l2", "colour_histogram(bins=1)"])
    oracle, pixels, blind = found.rows
    kept = {subject: share for subject, share in told}
    gap = [abs(r - a) - abs(r - b) for r, a, b in kept]
    shares = np.array(list(kept.values()))
    score = np.where(np.array(gap) < 0, shares, np.where(np.array(gap) > 0, 1 - shares, 0.5))
    assert found.triplets == len(kept) and found.without == {}
    assert pixels.score.value == pytest.approx(score.mean())
    assert oracle.score.value == pytest.approx(np.maximum(shares, 1 - shares).mean())
    assert oracle.accuracy.value == 1 and (pixels.accuracy.value or 0) > 0.85
    # One bin holds every colour: all choices are ties, and ties count half.
    assert blind.score.value == pytest.approx(0.5) and blind.accuracy.value == pytest.approx(0.5)
    (test,) = found.comparisons
    assert (test.one, test.other) == ("pixel_l2", "colour_histogram(bins=1)") and (test.adjusted or 1) < 0.001
    assert test.difference.n == 40
    assert "half" in found.facts()["ties"]


def test_forced_choices_of_people_by_system(greys: Callable[..., Study]) -> None:
    asked = alike("two_afc")
    records: list[Record] = [asked]
    for shade in SHADES:
        system = "dark" if shade < 120 else "light"
        prompt = PromptKey("s", str(shade))
        records += [Prompt(prompt, f"grey {shade}"), Answer(prompt, system, 0, grey(shade))]
    for (reference, a, b), share in triplets(80):
        subject = Item(None, None, grey(reference), grey(a), grey(b))
        # Nobody can see anything in the light images: people guess there.
        chose = share if reference < 120 else float((reference + a) % 5 < 2)
        for person in range(5):
            vote = float(person < round(chose * 5))
            records.append(Judgement(asked.name, subject, vote, AnnotatorKey("p", str(person))))
    control = Item(None, None, grey(0), grey(0), grey(6))
    records.append(Judgement(asked.name, control, 1.0, AnnotatorKey("p", "0"), control=True))
    found = calibrate(greys(*records), asked.name, distance="pixel_l2")
    spread = {each.name: each for each in found.spreads}["pixel_l2"]
    assert spread.by_system["dark"] > 0.9 > spread.by_system["light"]
    assert spread.p is not None and spread.p < 0.01
    assert spread.spread == pytest.approx(spread.by_system["dark"] - spread.by_system["light"])
    assert found.triplets == len({subject for subject, _ in triplets(80)})
    assert found.without == {"attention check: A or B is the reference itself": 1}


def test_fairness_is_over_prompts(greys: Callable[..., Study]) -> None:
    """Two prompts, one a system: 40 triplets each, but nothing to tell a system from its prompt by."""
    asked = alike("two_afc")
    records: list[Record] = [asked]
    for n, shade in enumerate(SHADES):
        system = "dark" if shade < 120 else "light"
        prompt = PromptKey("s", system)
        records += [Prompt(prompt, system), Answer(prompt, system, n, grey(shade))]
    for subject, share in dict(triplets(80, 0.1)).items():
        records.append(Truth(asked.name, Item(None, None, *map(grey, subject)), share))
    found = calibrate(greys(*records), asked.name, distance="pixel_l2")
    assert [each.p for each in found.spreads] == [None, None]


def test_who_does_not_see_the_reference_is_left_out(greys: Callable[..., Study], tmp_path: Path) -> None:
    asked = alike("two_afc")
    told = dict(triplets(40))
    again, image = copied(0, tmp_path)
    # A is the reference (by content), B is, both are: the last has no wrong choice.
    checks = ((again, grey(6), 1.0), (grey(6), grey(0), 0.0), (grey(0), again, None))
    records: list[Record] = [asked, image]
    for name in "abz":
        who = AnnotatorKey("p", name)
        for subject, share in told.items():
            vote = share if name != "z" else 1 - share
            records.append(Judgement(asked.name, Item(None, None, *map(grey, subject)), vote, who))
        for a, b, right in checks:
            # b fails neither: of two alike either may be chosen. z fails the second alone.
            vote = float(name == "a") if right is None else right
            vote = 1.0 if name == "z" else vote
            # Equal content is a check only where that was declared, as it is of the first.
            check = Item(None, None, grey(0), a, b)
            records.append(Judgement(asked.name, check, vote, who, control=a == again))
    only = Item(None, None, grey(12), grey(240), grey(18))
    records.append(Judgement(asked.name, only, 1.0, AnnotatorKey("p", "z")))
    found = calibrate(greys(*records), asked.name, distance="pixel_l2")
    assert found.excluded == Exclusions(failed=1, before=0)
    # Without z people are of one mind everywhere; the triplet that only z judged is told.
    assert found.rows[0].score.value == 1 and found.triplets == len(told)
    assert found.without == {
        "attention check: A or B is the reference itself": 3,
        "nobody whose vote counts has chosen": 1,
    }


@pytest.mark.parametrize(
    ("name", "content", "question", "refused", "why"),
    [
        (
            "crowd.csv",
            "WorkerId,AssignmentStatus,Input.image_url,Answer.category.label,Approve,Reject\n"
            "A1,Approved,https://example.org/sdxl-17-true.jpg,2 - slightly similar,x,\n"
            "A1,Approved,https://example.org/sdxl-17-fake.jpg,5 - the same,x,\n",
            "alike",
            "0 graded pairs",
            "one picture only",
        ),
        (
            "2afc.jsonl",
            '{"ref_seed": "3", "seed1": "1", "seed2": "2", "id": "0", "model_name": "sd", "judgement": 0.8}',
            "closer_to_reference",
            "no judged triplet has its three images",
            "a file is not here (1)",
        ),
    ],
)
def test_published_judgements_without_their_images(
    tmp_path: Path, name: str, content: str, question: str, refused: str, why: str
) -> None:
    (tmp_path / name).write_text(content)
    study = create_study(tmp_path / "s")
    import_(study, tmp_path / name)
    with pytest.raises(DataError, match=refused) as error:
        calibrate(study, question, distance="pixel_l2")
    assert why in str(error.value)
