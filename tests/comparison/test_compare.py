"""Which system is better: the planted order is recovered, and what does not count is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.comparison.breakdown import breakdown
from sightline.comparison.compare import Comparison, Pair, compare
from sightline.comparison.compare_sets import compare_sets
from sightline.errors import DataError, UsageError
from sightline.estimate import Estimate
from sightline.judging.truth import truth
from sightline.measures.score import score
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
from sightline.report.report import build
from sightline.samples.annotators import judge, panel
from sightline.samples.scenes import scenes
from sightline.samples.systems import SYSTEMS, answer
from sightline.statistics.comparison import Standing
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load
from sightline.variability.variability import variability


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """48 scenes, three systems of known skill, two samples each, judged by a careful half of the panel.

    Effort is asked as well, of which less is better: it is the other way round.
    """
    people = [person for person in panel() if person.character == "careful"]
    records: list[Record] = [
        Question("alignment", "interval", 0, 10, 0.5),
        Question("effort", "interval", 0, 10, 0.5, direction="lower"),
    ]
    for scene in scenes(48):
        prompt = PromptKey("s", scene.ref)
        records.append(Prompt(prompt, scene.text, {"skill": scene.family}))
        for system in SYSTEMS:
            for sample in range(2):
                key = ImageKey(system, f"{scene.ref}-{sample}")
                right = answer(system, scene, sample, size=24).alignment
                records.append(Answer(prompt, system, sample, key))
                for person in people:
                    annotator = AnnotatorKey("panel", person.name)
                    for question, share in (("alignment", right), ("effort", 1 - right)):
                        given = judge(person, share, 0, 10, 0.5, f"{question} {system} {key.name}")
                        records.append(Judgement(question, Item(prompt, image=key), given, annotator))
    study = create_study(tmp_path_factory.mktemp("judged") / "study")
    load(study, records, importer="test", path="test", digest="1")
    truth(study, screening=[])
    yield study
    study.close()


def pair(found: Comparison, first: str, second: str) -> Pair:
    (versus,) = (each for each in found.pairs if {each.first, each.second} == {first, second})
    return versus


@pytest.mark.parametrize(("rule", "value"), [("left out", 4.0), ("worst", 2.0)])
def test_failed_answers_count_as_the_study_says(tmp_path: Path, rule: str, value: float) -> None:
    """One answer of 4 and one that failed: 4, or the mean of 4 and the worst of the scale, 0."""
    prompt, image = PromptKey("s", "1"), ImageKey("c", "a")
    records: list[Record] = [
        Question("fit", "interval", 0, 5),
        Prompt(prompt, "a dog"),
        Answer(prompt, "one", 0, image),
        Answer(prompt, "one", 1, None, failure="refused"),
        Truth("fit", Item(prompt, image=image), 4.0),
    ]
    settings = f'[compare]\nfailures = "{rule}"\n'
    with create_study(tmp_path / "study", settings=settings) as study:
        load(study, records, importer="test", path="test", digest="1")
    with open_study(tmp_path / "study") as study:
        found = compare(study)
        assert found.systems[0].mean.value == value
        assert found.failures == {"one": 1} and any("Failed answers" in note for note in found.notes)


def test_one_rival_of_the_best_is_named() -> None:
    def placed(system: str, value: float, best: int, worst: int) -> Standing:
        return Standing(system, Estimate(value, value - 1, value + 1, 10, "t"), best, worst, "")

    systems = [placed("one", 5, 1, 2), placed("two", 4, 1, 3), placed("three", 2, 2, 3)]
    said = Comparison("it", "higher", 10, systems, []).sentence
    assert said.endswith("; it is not significantly better than two.")
    same = Pair("one", "two", systems[0].mean, 0.5, 0.5, False, 0.5, equivalent=True)
    said = Comparison("it", "higher", 10, systems, [same], margin=2).sentence
    assert said.endswith("; two is the same within 2.")


def test_the_planted_order(judged: Study) -> None:
    found = compare(judged)
    assert (found.by, found.direction, found.prompts) == ("alignment", "higher", 48)
    assert [placed.system for placed in found.systems] == ["careful", "innumerate", "sloppy"]
    assert [(placed.best_rank, placed.worst_rank) for placed in found.systems] == [(1, 1), (2, 2), (3, 3)]
    assert all(versus.significant for versus in found.pairs) and len(found.pairs) == 3
    for placed in found.systems:
        mean = placed.mean
        assert mean.n == 48
        assert 0 <= mean.low < mean.value < mean.high <= 10
    versus = pair(found, "careful", "sloppy")
    means = {placed.system: placed.mean.value for placed in found.systems}
    # All systems answered all prompts: the mean of differences is the difference of means.
    assert versus.difference.value == pytest.approx(means[versus.first] - means[versus.second])
    assert versus.p <= versus.p_adjusted < 0.05


def test_where_numbers_are_not_asked_for_innumerate_is_as_good(judged: Study) -> None:
    counting = compare(judged, "alignment", where="skill=counting")
    assert counting.prompts == 6 and counting.where == "skill=counting"
    means = {placed.system: placed.mean.value or 0 for placed in counting.systems}
    # A wrong number is one of two or three facts; careful errs in one of 25.
    assert means["careful"] - means["innumerate"] > 2
    single = compare(judged, "alignment", where="skill=single")
    assert not pair(single, "careful", "innumerate").significant
    cells = {(cell.group, cell.system): cell.mean for cell in breakdown(judged, "alignment", "skill").rows}
    assert len(cells) == 8 * 3
    assert cells["counting", "careful"].value == pytest.approx(means["careful"])
    assert cells["counting", "careful"].n == 6


def test_lower_is_better(judged: Study) -> None:
    found = compare(judged, "effort")
    assert found.direction == "lower"
    assert [placed.system for placed in found.systems] == ["careful", "innumerate", "sloppy"]
    means = [placed.mean.value or 0 for placed in found.systems]
    assert means == sorted(means) and means[0] > 0
    versus = pair(found, "careful", "sloppy")
    assert versus.significant
    assert (versus.difference.value < 0) == (versus.first == "careful")
    assert versus.difference.low < versus.difference.value < versus.difference.high
    assert found.systems[0].mean.low < means[0] < found.systems[0].mean.high


def test_the_seed_decides(judged: Study) -> None:
    assert compare(judged, "alignment", seed=3) == compare(judged, "alignment", seed=3)


@pytest.mark.parametrize(
    ("by", "where", "said", "remedy"),
    [
        ("alignmnt", None, "neither a question nor a scored measure called 'alignmnt'", "alignment"),
        ("alignment", "skill", "cannot read 'skill'", "skill=counting"),
        ("alignment", "skil=counting", "no prompt has a tag 'skil'", "skill"),
        ("alignment", "skill=cuonting", "no prompt has skill = 'cuonting'", "counting"),
    ],
)
def test_wrong_names_and_tags(judged: Study, by: str, where: str | None, said: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=said) as told:
        compare(judged, by, where=where)
    assert remedy in told.value.remedy


@pytest.fixture
def blank(tmp_path: Path) -> Callable[[list[Record]], Study]:
    def make(records: list[Record]) -> Study:
        study = create_study(tmp_path / "study")
        load(study, records, importer="test", path="test", digest="1")
        return study

    return make


def test_without_truth(blank: Callable[[list[Record]], Study]) -> None:
    study = blank([Prompt(PromptKey("s", "1"), "one"), Question("alignment")])
    with pytest.raises(DataError, match="no truth to compare by"):
        compare(study)
    with pytest.raises(DataError, match="alignment has no truth about systems yet"):
        compare(study, "alignment")


def test_one_system_alone(blank: Callable[[list[Record]], Study]) -> None:
    prompt, key = PromptKey("s", "1"), ImageKey("c", "1")
    truth = Truth("alignment", Item(prompt, image=key), 4.0)
    records = [Prompt(prompt, "one"), Question("alignment"), Answer(prompt, "a", 0, key), truth]
    found = compare(blank(records))
    assert [(placed.system, placed.mean.value, placed.mean.n) for placed in found.systems] == [("a", 4.0, 1)]
    assert not found.pairs


def test_scores_and_their_reasons(blank: Callable[[list[Record]], Study], tmp_path: Path) -> None:
    # System a: brightness 0.2 and 0.4; system b: 0.6 and a file that is no image.
    for name, level in (("a0", 51), ("a1", 102), ("b0", 153)):
        Pillow.new("RGB", (4, 4), (level, level, level)).save(tmp_path / f"{name}.png")
    (tmp_path / "b1.png").write_bytes(b"broken")
    prompts = [PromptKey("s", "1"), PromptKey("s", "2")]
    records: list[Record] = [Prompt(key, f"prompt {key.ref}") for key in prompts]
    for system in "ab":
        for n, prompt in enumerate(prompts):
            key = ImageKey("c", f"{system}{n}")
            records += [Image(key, str(tmp_path / f"{key.name}.png")), Answer(prompt, system, 0, key)]
    study = create_study(tmp_path / "study")
    load(study, records, importer="test", path="test", digest="1", keep_broken=True)
    (ran,) = score(study, "brightness").runs
    assert ran.reasons == {"not a readable image (unknown format)": 1}
    found = compare(study, "brightness")
    told = {placed.system: (placed.mean.value, placed.mean.n) for placed in found.systems}
    # What has no value is no zero: b's mean is that of its one image.
    assert {system: n for system, (_, n) in told.items()} == {"a": 2, "b": 1}
    assert told["a"][0] == pytest.approx(0.3) and told["b"][0] == pytest.approx(0.6)
    assert pair(found, "a", "b").difference.n == 1
    score(study, "words")
    with pytest.raises(UsageError, match="does not tell systems apart"):
        compare(study, "words")


def test_a_measure_without_direction_has_no_best(tmp_path: Path) -> None:
    records: list[Record] = []
    for n in range(8):
        records.append(Prompt(PromptKey("s", str(n)), f"prompt {n}"))
        for system in ("one", "two"):
            for sample in range(2):
                key = ImageKey(system, f"{n}-{sample}.png")
                file = tmp_path / f"{system}-{key.name}"
                shade = np.linspace(0, 20 * n + (100 if system == "one" else 10), 64) + 5 * sample
                Pillow.fromarray(np.tile(shade, (16, 1)).astype(np.uint8)).save(file)
                records += [Image(key, str(file)), Answer(PromptKey("s", str(n)), system, sample, key)]
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="test", digest="1")
        score(study, "contrast")
        found = compare(study, "contrast")
        assert found.sentence.startswith("one has the highest contrast") and "best" not in found.sentence
        variability(study, distance="colour_histogram")
        # The one scored form is meant, whatever its parameters; its range has one end only.
        alike = compare(study, "pairwise_mean")
        assert alike.by == "pairwise_mean(distance=colour_histogram)" and "Neither end" in alike.sentence
        with pytest.raises(UsageError, match="is not scored") as caught:
            compare(study, "pairwise_mean(distance=pixel_l2)")
        assert "colour_histogram" in caught.value.remedy


def test_a_measure_that_needs_no_judgement_names_no_winner(unjudged: Study) -> None:
    score(unjudged, ["nqc@100", "engine_overlap@2"])
    found = compare(unjudged, "nqc")
    # (2 + ... + 9) / 8 / 16 and (1 + ... + 8) / 8 / 160.
    assert [placed.mean.value for placed in found.systems] == pytest.approx([5.5 / 16, 4.5 / 160])
    assert found.sentence.startswith("steep has the highest nqc: 0.34 [")
    assert found.sentence.endswith("over 8 prompts. Neither end of it is better.")
    assert found.notes == [
        "nqc needs no judgement: it predicts which queries are easy, not which engine is better."
    ]
    assert [each.share.value for each in found.overlaps] == [0] and found.brief == ""
    # The engines share no image.
    assert [placed.mean.value for placed in compare(unjudged, "engine_overlap").systems] == [0, 0]
    # Too few prompts make no winner either.
    few = compare(unjudged, "nqc", where="half=a").sentence
    assert "4 prompts are too few" in few and "ahead" not in few
    assert "So far steep has the highest: 0.22" in few and few.endswith("Neither end of it is better.")


def test_judged_and_unjudged_measures_are_compared_beside_each_other(unjudged: Study) -> None:
    """Rankings that were read without relevance say nothing of relevance, and must not be used for it."""
    image = ImageKey("c", "steep0")
    first = [Truth("relevance", Item(PromptKey("s", str(n)), image=image), 1.0) for n in range(8)]
    asked = Question("relevance", "ordinal", 0, 1, 1)
    load(unjudged, [asked, *first], importer="t", path="qrels", digest="2")
    score(unjudged, ["nqc@100", "reciprocal_rank"])
    rows = compare_sets(unjudged, "kind=x,y", ["nqc", "reciprocal_rank", "nqc"]).rows
    told = {(row.by, row.system): row.improvement.first.value for row in rows}
    assert told["reciprocal_rank", "steep"] == 1 and told["reciprocal_rank", "flat"] == 0
    # Even queries 0, 2, 4, 6: (2 + 4 + 6 + 8) / 4 / 16.
    assert told["nqc", "steep"] == pytest.approx(5 / 16)
    assert compare(unjudged).by == "reciprocal_rank"
    assert "unjudged" in " ".join(compare(unjudged).notes)


CERTAINTY = '''
from sightline.extension import measure

@measure.of_ranking(direction="higher", range=(0, None), rests_on="run", source="me", licence="MIT")
def first_score(run):
    """The score of the first answer."""
    return run.scores[run.offsets[:-1]]
'''


def test_a_measure_of_runs_with_a_better_end(
    unjudged: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first_score.py").write_text(CERTAINTY)
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path))
    score(unjudged, "first_score")
    found = compare(unjudged)
    assert found.sentence.startswith("flat is the best of 2 systems on first_score: 82.25")
    assert found.notes == []
    assert build(unjudged).sections[0].blocks[1].table.rows[0][0] == "flat"
