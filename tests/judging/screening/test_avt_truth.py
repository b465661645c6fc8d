"""AVT's raw ratings, screened for who did not finish, give the published means of every image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.data.import_ import import_
from sightline.judging.truth import QuestionTruth, truth
from sightline.study import reading
from sightline.study.study import Study, create_study

RULE = "unfinished(share=0.95)"
TEST1 = {"82", "87", "96", "98", "104"}
TEST2 = {"13", "15", "21"}


@pytest.fixture(scope="module")
def study(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """The published folder without its images: they are known by name then, which is all that is needed."""
    folder = tmp_path_factory.mktemp("avt")
    for file in (data / "avt_ai_images").glob("*.csv"):
        (folder / file.name).write_bytes(file.read_bytes())
    made = create_study(folder / "study", settings='[screening]\nrules = []\n[truth]\nrepeats = "all"\n')
    import_(made, folder, format="avt")
    yield made
    made.close()


def settle(study: Study, question: str) -> tuple[QuestionTruth, dict[int, tuple[float, int]]]:
    """The settlement by plain means, and the value and number of votes of each image."""
    (done,) = truth(study, question, rule="mean", screening=[RULE]).questions
    return done, {i: (value, n) for i, value, n in rows(study, question, None)}


def rows(study: Study, question: str, rule: str | None) -> list[tuple[int, float, int]]:
    return reading.truths(study, question, rule).select("image_id", "value", "n").rows()


def published(study: Study, question: str, test: str) -> dict[int, float]:
    return {i: value for i, value, _ in rows(study, question, f"published_{test}")}


def names(done: QuestionTruth) -> set[str]:
    """Who is left out, without the panel that is named where both tests have the same number."""
    return {left.annotator.rpartition("/")[2] for left in done.excluded}


@pytest.mark.parametrize("question", ["realism", "prompt_matching"])
def test_the_first_test(study: Study, question: str) -> None:
    done, settled = settle(study, question)
    assert names(done) == TEST1
    means = published(study, question, "test1")
    assert len(settled) == len(means) == 61
    for image, (value, n) in settled.items():
        assert value == pytest.approx(means[image], abs=1e-9)
        assert n in (21, 22), "user 7 left out one image and counts all the same"


def test_the_second_test_with_the_repeats_of_user_46(study: Study) -> None:
    done, settled = settle(study, "image_quality")
    assert names(done) == TEST2
    means = published(study, "image_quality", "test2")
    assert len(settled) == len(means) == 61
    for image, (value, _) in settled.items():
        assert value == pytest.approx(means[image], abs=1e-9)
    # 25 people finished; user 46 left out one image and judged two others twice.
    assert sorted(n for _, n in settled.values()) == [24] + [25] * 58 + [26] * 2


def test_appeal_was_asked_in_both_tests(study: Study) -> None:
    """Every vote weighs the same: the mean of both published means, weighted by their numbers of votes."""
    done, settled = settle(study, "image_appeal")
    assert names(done) == TEST1 | TEST2
    first, second = published(study, "image_appeal", "test1"), published(study, "image_appeal", "test2")
    of_test1 = {image: n for image, (_, n) in settle(study, "realism")[1].items()}
    of_test2 = {image: n for image, (_, n) in settle(study, "image_quality")[1].items()}
    for image, (value, n) in settled.items():
        assert n == of_test1[image] + of_test2[image]
        both = of_test1[image] * first[image] + of_test2[image] * second[image]
        assert value == pytest.approx(both / n, abs=1e-9)


def test_without_the_rule_the_means_differ(study: Study) -> None:
    (done,) = truth(study, "realism", rule="mean", screening=[]).questions
    assert not done.excluded
    means = published(study, "realism", "test1")
    apart = [abs(value - means[image]) for image, value, _ in rows(study, "realism", None)]
    assert max(apart) > 0.05
