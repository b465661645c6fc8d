"""How well measures agree with people, where the relation is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.comparison.measure_trust import MeasureTrust
from sightline.comparison.trust import Trust, trust
from sightline.data.check import check
from sightline.data.import_ import import_
from sightline.errors import DataError, UsageError
from sightline.measures.score import score
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.statistics import levels
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

LEVELS = (10, 40, 90, 160, 250)


def study_with(folder: Path, *records: Record) -> Study:
    """Five prompts of 1 to 5 words, each answered by one flat picture, brighter from prompt to prompt."""
    told: list[Record] = []
    for n, level in enumerate(LEVELS):
        file = folder / f"{n}.png"
        Pillow.new("RGB", (4, 4), (level, level, level)).save(file)
        key, prompt = ImageKey("c", str(n)), PromptKey("s", str(n))
        told += [
            Prompt(prompt, " ".join(["word"] * (n + 1))),
            Image(key, str(file)),
            Answer(prompt, "a", 0, key),
        ]
    broken = folder / "broken.png"
    broken.write_bytes(b"broken")
    told += [Prompt(PromptKey("s", "x"), "x"), Image(ImageKey("c", "x"), str(broken))]
    told.append(Answer(PromptKey("s", "x"), "a", 0, ImageKey("c", "x")))
    study = create_study(folder / "study")
    load(study, [*told, *records], importer="test", path="test", digest="1", keep_broken=True)
    return study


def of_images(question: str, *values: float) -> list[Record]:
    """A truth for each picture, the last one for the picture that is broken."""
    names = [*map(str, range(len(LEVELS))), "x"]
    return [
        Truth(question, Item(PromptKey("s", name), image=ImageKey("c", name)), value)
        for name, value in zip(names, values, strict=False)
    ]


def by_measure(found: Trust) -> dict[tuple[str, str], MeasureTrust]:
    return {(each.measure, each.question): each for each in found.rows}


def test_a_monotone_relation_and_its_opposite(tmp_path: Path) -> None:
    study = study_with(
        tmp_path,
        Question("liked", "interval", 0, 100),
        Question("disliked", "interval", 0, 100, direction="lower"),
        *of_images("liked", 1, 2, 30, 40, 99, 50),
        *of_images("disliked", 5, 4, 3, 2, 1),
    )
    score(study, ["brightness", "words"])
    found = by_measure(trust(study))
    assert set(found) == {(m, q) for m in ("brightness", "words") for q in ("liked", "disliked")}
    bright = found["brightness", "liked"]
    # The broken picture has truth but no brightness: five pairs, not six, and not a zero among them.
    assert bright.correlation.value == pytest.approx(1)
    assert (bright.correlation.n, bright.kind) == (5, "of_image")
    assert found["brightness", "disliked"].correlation.value == pytest.approx(-1)
    # Prompts have 1 2 3 4 5 1 words and truths 1 2 30 40 99 50: mid-ranks 1.5 3 4 5 6 1.5 and 1 2 3 4 6 5.
    # Both means are 3.5; sum of products 1.5 + 6 + 12 + 20 + 36 + 7.5 - 6 * 3.5^2 = 9.5; sums of squares
    # 2.25 + 9 + 16 + 25 + 36 + 2.25 - 73.5 = 17 and 91 - 73.5 = 17.5; rho = 9.5 / sqrt(17 * 17.5).
    words = found["words", "liked"]
    assert words.correlation.value == pytest.approx(9.5 / 297.5**0.5)
    assert (words.correlation.n, words.kind) == (6, "of_prompt")


def test_what_check_measures_for_itself_is_no_part_of_it(tmp_path: Path) -> None:
    study = study_with(
        tmp_path, Question("liked", "interval", 0, 100), *of_images("liked", 1, 2, 30, 40, 99, 50)
    )
    score(study, "words")
    before = trust(study).to_json()
    check(study)
    assert trust(study).to_json() == before
    assert {each.measure for each in trust(study, against="brightness").rows} == {"brightness"}
    score(study, "brightness")
    check(study)
    assert {each.measure for each in trust(study).rows} == {"words", "brightness"}, "asked for by name"


def test_questions_without_scores_are_set_against_each_other(tmp_path: Path) -> None:
    study = study_with(
        tmp_path,
        *(Question(name, "interval", 0, 100) for name in ("liked", "sharp")),
        *of_images("liked", 1, 2, 30),
        *of_images("sharp", 1, 2, 30),
    )
    with pytest.raises(DataError) as told:
        trust(study)
    assert f"sightline trust {study.home} --question liked --against sharp" in str(told.value)


def test_one_question_only(tmp_path: Path) -> None:
    study = study_with(
        tmp_path,
        Question("liked"),
        Question("disliked"),
        *of_images("liked", 1, 2, 3, 4, 5),
        *of_images("disliked", 5, 4, 3, 2, 1),
    )
    score(study, "brightness")
    (found,) = trust(study, "disliked").rows
    assert found.question == "disliked" and found.correlation.value == pytest.approx(-1)
    with pytest.raises(UsageError, match="no question is called 'likd'"):
        trust(study, "likd")


def test_too_few_pairs_have_a_reason(tmp_path: Path) -> None:
    study = study_with(tmp_path, Question("liked"), *of_images("liked", 1, 2))
    score(study, "brightness")
    (found,) = trust(study).rows
    assert (found.correlation.value, found.correlation.n) == (None, 2)
    assert found.correlation.reason


@pytest.mark.parametrize("about", ["nothing", "the broken picture"])
def test_missing_pieces(tmp_path: Path, about: str) -> None:
    other = Truth("liked", Item(PromptKey("s", "x"), image=ImageKey("c", "x")), 3.0)
    study = study_with(tmp_path, Question("liked"), *([] if about == "nothing" else [other]))
    # Where there is no truth, that is said before any score is read.
    first = "no question has truth yet" if about == "nothing" else "nothing is scored yet"
    with pytest.raises(DataError, match=first):
        trust(study)
    score(study, "brightness")
    same = "no measure and no truth are about the same things"
    with pytest.raises(DataError, match=first if about == "nothing" else same):
        trust(study)


def test_rankings_are_measured_as_they_stand(tmp_path: Path) -> None:
    """Engine e finds image N of prompt N at rank 1 to 5; afterwards all of them turn out to be relevant."""
    keys = [PromptKey("s", str(n)) for n in range(5)]
    told: list[Record] = [Question("liked", "interval", 0, 9), Question("relevance", "ordinal", 0, 1, 1)]
    told.append(System("e", "retriever", "c"))
    for n, key in enumerate(keys):
        told.append(Prompt(key, f"query {n}"))
        told += [Answer(key, "e", place, ImageKey("c", f"{n}-{place}")) for place in range(5)]
        told.append(Truth("liked", Item(key, "e"), float(n)))
        told.append(Truth("relevance", Item(key, image=ImageKey("c", f"{n}-{n}")), 1.0))
    with create_study(tmp_path / "study") as study:
        load(study, told, importer="test", path="test", digest="1")
        score(study, "reciprocal_rank")
        (before,) = trust(study, "liked").rows
        assert before.correlation.value == pytest.approx(-1)
        # The first is relevant throughout, but of prompt 0 nothing else is: all ranks are 1.
        new = [
            Truth("relevance", Item(key, image=ImageKey("c", f"{n}-0")), 1.0) for n, key in enumerate(keys)
        ]
        load(study, new[1:], importer="test", path="more", digest="2")
        (after,) = trust(study, "liked").rows
        assert after.correlation.value is None


def test_scores_of_engines_are_on_scales_of_their_own(unjudged: Study) -> None:
    """nqc of steep rises with what people say of query n, that of flat falls: one number would mix them."""
    score(unjudged, "nqc@100")
    with pytest.raises(DataError, match="no question has truth yet"):
        trust(unjudged)
    keys = [(n, engine) for n in range(8) for engine in ("steep", "flat")]
    liked = [Truth("liked", Item(PromptKey("s", str(n)), engine), float(n)) for n, engine in keys]
    load(unjudged, [Question("liked", "interval", 0, 9), *liked], importer="t", path="liked", digest="2")
    score(unjudged, ["nqc@100", "engine_overlap@2"])
    found = by_measure(trust(unjudged))
    assert found["nqc of steep", "liked"].correlation.value == pytest.approx(1)
    assert found["nqc of flat", "liked"].correlation.value == pytest.approx(-1)
    # What engines share is on one scale: one row of 16 values over 8 prompts, all of them 0.
    overlap = found["engine_overlap(k=2)", "liked"].levels["pooled"]
    assert (overlap.items, overlap.spearman.n, overlap.spearman.value) == (16, 8, None)
    assert {each.direction for each in found.values()} == {"none"} and len(found) == 3


def answered(folder: Path, prompts: int = 24) -> Study:
    """Systems good, fair and poor; `liked` and `fine` fall in this order, and sharp pictures are disliked.

    The measure `brightness` follows ease and contradicts quality: prompts that all do well on are bright,
    but the better a system, the darker its picture. Prompts n and n + 12 differ in their tag alone.
    """
    records: list[Record] = [Question("liked", "interval", 0, 9), Question("fine", "interval", 0, 9)]
    for n in range(prompts):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"query number {n}", tags={"half": "first" if n < 12 else "second"}))
        for rank, system in enumerate(("good", "fair", "poor")):
            image = ImageKey("c", f"{n}-{system}")
            level = 10 + 9 * n + 5 * rank
            file = folder / f"{n}-{system}.png"
            Pillow.new("RGB", (4, 4), (level, level, level)).save(file)
            value = n % 7 * 0.5 + 2 - rank + 0.01 * ((n * 7 + rank * 3) % 5)
            records += [Image(image, str(file)), Answer(key, system, 0, image)]
            records.append(Truth("liked", Item(key, system, image), value))
            records.append(Truth("fine", Item(key, system, image), 9 - value if n % 4 else value))
    study = create_study(folder / "study")
    load(study, records, importer="test", path="test", digest="1")
    return study


def test_a_measure_that_contradicts_people_is_warned_of(tmp_path: Path) -> None:
    with answered(tmp_path) as study:
        score(study, ["brightness", "sharpness", "words"])
        found = trust(study, "liked")
        bright = by_measure(found)["brightness", "liked"]
        # Within each prompt people put good, fair, poor in this order, and brightness the other way round.
        assert bright.level == "within prompts" and bright.correlation.value == pytest.approx(-1)
        assert bright.correlation.n == 24 and bright.levels["pooled"].items == 72
        assert bright.levels["within systems"].spearman.value > -0.5
        assert by_measure(found)["words", "liked"].level == "pooled"
        # Brightness has no direction, so it is read as it follows people: darker is better.
        assert bright.sign == -1 and not bright.reversed
        assert found.sentence.startswith("None of these can stand in for people here")
        right = {each.levels["between systems"].accuracy.value for each in found.rows if len(each.levels) > 1}
        assert any("System pairs right" in note for note in found.notes) == (min(right) < 1)
        document = json.loads(found.to_json())
        row = next(each for each in document["rows"] if each["measure"] == "brightness")
        assert row["spearman"]["n"] == 24 and row["between_systems"] == pytest.approx(-1)
        assert {each["level"] for each in document["levels"]["rows"]} == set(levels.LEVELS)
        turned = replace(bright, direction="higher", sign=1.0, reversed=[("good", "poor")])
        assert any("they put good above poor, it does the opposite" in note for note in Trust([turned]).notes)


def test_one_question_against_another(tmp_path: Path) -> None:
    with answered(tmp_path) as study:
        found = trust(study, "liked", against="fine")
        (row,) = found.rows
        # In three prompts out of four the order is the opposite: (6 - 18) / 24.
        assert (row.measure, row.kind) == ("fine", "question")
        assert row.correlation.value == pytest.approx(-0.5)
        assert found.sentence.endswith("one cannot stand in for the other.")
        with pytest.raises(UsageError, match="needs another one"):
            trust(study, against="fine")
        with pytest.raises(DataError, match="nothing is scored yet"):
            trust(study, "liked", against="brightness")
        score(study, ["brightness", "words"])
        assert [each.measure for each in trust(study, "liked", against="brightness").rows] == ["brightness"]
        with pytest.raises(UsageError, match="neither a question nor a scored measure"):
            trust(study, "liked", against="brightnes")


def test_by_group_and_on_held_out_prompts(tmp_path: Path) -> None:
    with answered(tmp_path) as study:
        score(study, ["brightness", "words"])
        found = trust(study, "liked", against="brightness", per="half")
        assert [(each.group, each.level.items) for each in found.groups] == [("first", 36), ("second", 36)]
        assert all(each.level.spearman.value == pytest.approx(-1) for each in found.groups)
        by_system = trust(study, "liked", against="brightness", per="system").groups
        assert [(each.group, each.level.items) for each in by_system] == [
            (name, 24) for name in ("good", "fair", "poor")
        ]
        assert {each.group for each in trust(study, "liked", per="words").groups} == {"up to 5 words"}
        with pytest.raises(UsageError, match="a tag or setting 'hafl'"):
            trust(study, "liked", per="hafl")
        held = trust(study, "liked", splits=5, seed=1)
        assert held.to_json() == trust(study, "liked", splits=5, seed=1).to_json()
        assert [each.n for each in held.held_out] == [5] * len(held.held_out)
        assert "held_out" in held.tables()


def test_measures_are_tested_on_the_items_that_both_have(tmp_path: Path) -> None:
    with answered(tmp_path) as study:
        score(study, ["brightness", "blank", "contrast"])
        found = trust(study, "liked")
        names = {frozenset((each.first, each.second)) for each in found.differences}
        assert all("brightness" in pair or len(pair) == 2 for pair in names)
        for each in found.differences:
            assert each.p is not None and each.p_holm is not None and each.p_holm >= each.p


def test_agiqas_published_agreement_of_quality_and_alignment(data: Path, tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study:
        import_(study, data / "agiqa3k")
        (row,) = trust(study, "alignment", against="quality").rows
        pool = row.levels["pooled"]
        published = (0.7419, 0.5547, 0.8376)
        assert (pool.spearman.value, pool.kendall.value, pool.plcc.value) == pytest.approx(
            published, abs=5e-5
        )
        assert (pool.items, pool.spearman.n, row.levels["between systems"].spearman.n) == (2982, 300, 10)
