"""Which system is better: the planted order is recovered, and what does not count is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.cli import main
from sightline.comparison.breakdown import breakdown
from sightline.comparison.compare import Comparison, Pair, compare
from sightline.comparison.compare_sets import compare_sets
from sightline.data.import_ import import_
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
    System,
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

Voted = Callable[..., Study]


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
    assert (
        found.sentence == "steep has the highest nqc: 0.34 over only 8 prompts. Neither end of it is better."
    )
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


OWN_RATERS = np.array([[[0, 1, 2]], [[3, 4, 5]]])


def test_raters_of_their_own_name_no_winner(voted: Voted) -> None:
    """Two equal systems: the raters of B are simply kinder, and all that differs are the raters."""
    rng = np.random.default_rng(0)
    votes = np.clip(3 + rng.normal(0, 0.5, (2, 40, 3)), 1, 5)
    votes[1] = np.clip(votes[1] + 0.8, 1, 5)
    found = compare(voted(votes, np.broadcast_to(OWN_RATERS, (2, 40, 3))))
    assert found.winner is None and found.confounded
    (versus,) = found.pairs
    assert versus.p is None and not versus.significant and "different raters" in versus.untested
    assert found.sentence.startswith("Which system is better on quality cannot be said: different raters")
    assert "The means are B 3.73; A 3.04." in found.sentence
    assert not any(part.count(":") > 1 for part in found.sentence.split(". "))
    # What may be a difference of raters has no interval, and nothing is detectable.
    apart = versus.difference
    assert apart.value is not None and (apart.low, apart.high) == (None, None)
    assert "different raters" in (apart.reason or "") and versus.detectable is None and versus.raters is None
    assert [(each.best_rank, each.worst_rank) for each in found.systems] == [(1, 2), (1, 2)]


def test_the_command_says_why_and_is_no_error(voted: Voted, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    votes = np.clip(3 + rng.normal(0, 0.5, (2, 20, 3)) + np.array([0.0, 0.8])[:, None, None], 1, 5)
    study = voted(votes, np.broadcast_to(OWN_RATERS, (2, 20, 3)))
    home = str(study.home)
    study.close()
    capsys.readouterr()
    assert main(["compare", home, "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["winner"] is None and "different raters judged the two systems" in given["sentence"]
    # Rows in the order shown, each with its mean.
    rows = given["systems"]["rows"]
    assert [row["system"] for row in rows] == ["B", "A"]
    means = votes.mean(axis=(1, 2))
    for row in rows:
        assert set(row["mean"]) >= {"value", "low", "high", "n"} and row["mean"]["n"] == 20
        assert row["mean"]["value"] == pytest.approx(means["AB".index(row["system"])])
        assert row["mean"]["low"] < row["mean"]["value"] < row["mean"]["high"]


def test_tastes_of_raters_are_no_winner_either(voted: Voted) -> None:
    """All judge all; two of three raters happen to like A better, by a point and by half of one."""
    rng = np.random.default_rng(1)
    votes = 3 + rng.normal(0, 0.3, (2, 40, 3))
    votes[0] += np.array([1.0, 0.5, -0.2])
    study = voted(np.clip(votes, 1, 5))
    found = compare(study)
    (versus,) = found.pairs
    assert found.winner is None and not versus.significant
    assert versus.raters is not None and versus.raters > 0.9
    assert "The 95 % intervals are over prompts and 3 raters." in found.notes


def test_raters_who_agree_name_the_winner(voted: Voted) -> None:
    rng = np.random.default_rng(1)
    votes = np.clip(3 + rng.normal(0, 0.5, (3, 40, 5)), 1, 5)
    votes[2] = np.clip(votes[2] + 1, 1, 5)
    found = compare(voted(votes))
    assert found.winner == "C" and found.sentence.startswith("C is the best of 3 systems on quality")
    assert found.systems[0].system == "C"
    assert {each.system: each.letters for each in found.systems} == {"C": "a", "A": "b", "B": "b"}


def test_rephrasings_count_once(tmp_path: Path) -> None:
    """Two random engines and 12 queries; nine wordings of each change next to nothing, and add nothing."""
    rng = np.random.default_rng(4)
    documents = [f"d{number:03d}" for number in range(30)]
    records: list[Record] = [Question("relevance", "ordinal", 0, 1, 1)]
    for query in range(12):
        relevant = set(rng.choice(documents, 6, replace=False).tolist())
        key = PromptKey("s", f"q{query}")
        wordings = [PromptKey("s", f"q{query}.plain.{number}") for number in range(9)]
        records.append(Prompt(key, f"scene number {query} of many"))
        records += [
            Prompt(each, f"in other words {each.ref}", links=[("rephrases", key)]) for each in wordings
        ]
        for each in (key, *wordings):
            records += [
                Truth("relevance", Item(each, image=ImageKey("c", name)), float(name in relevant))
                for name in documents
            ]
        for engine in "AB":
            order = rng.permutation(documents).tolist()
            for each in (key, *wordings):
                ranking = list(order)
                if each is not key:
                    swapped = int(rng.integers(0, 29))
                    ranking[swapped : swapped + 2] = ranking[swapped : swapped + 2][::-1]
                records += [
                    Answer(each, engine, place, ImageKey("c", name), score=float(30 - place))
                    for place, name in enumerate(ranking)
                ]
    with create_study(tmp_path / "study") as study:
        load(study, [System(name, "retriever", "c") for name in "AB"], importer="t", path="s", digest="0")
        load(study, records, importer="t", path="t", digest="1")
        score(study, "ndcg@10")
        every = compare(study)
        originals = " or ".join(f"prompt=q{query}" for query in range(12))
        alone = compare(study, where=originals)
    assert every.prompts == alone.prompts == 12
    assert any("120 prompts count as 12" in note for note in every.notes)
    assert every.winner is None and alone.winner is None
    assert every.pairs[0].p == pytest.approx(alone.pairs[0].p, abs=0.15)


def test_equivalence_within_a_margin(voted: Voted) -> None:
    rng = np.random.default_rng(2)
    common = rng.normal(3, 0.5, (1, 60, 1))
    study = voted(np.clip(common + rng.normal(0, 0.1, (2, 60, 1)), 1, 5))
    found = compare(study, margin=0.3)
    (versus,) = found.pairs
    assert versus.equivalent and versus.p_equivalent < 0.05 and not versus.significant
    assert found.winner is None and "are the same within 0.3" in found.sentence
    assert not compare(study, margin=0.01).pairs[0].equivalent
    assert compare(study).pairs[0].p_equivalent is None
    with pytest.raises(UsageError, match="the margin is 0"):
        compare(study, margin=0)


def test_means_for_each_value_of_a_tag(voted: Voted) -> None:
    votes = np.arange(48, dtype=float).reshape(2, 24, 1) % 5 + 1
    tags = [{"skill": "abcd"[number % 4]} for number in range(24)]
    study = voted(votes, tags=tags)
    found = compare(study, per="skill")
    assert found.per is not None
    table = found.tables()["per"]
    assert [column.name for column in table.columns] == ["group", "system", "n", "mean", "pooled"]
    cells = {(row[0], row[1]): row for row in table.rows}
    assert len(cells) == 8 and all(row[2] == 6 for row in cells.values())
    for (group, system), row in cells.items():
        own = votes["AB".index(system), "abcd".index(group) :: 4, 0]
        assert row[3].value == pytest.approx(own.mean())
    with pytest.raises(UsageError, match="no prompt has a tag 'skil'"):
        compare(study, per="skil")


def _tasteful(prompts: int = 40) -> np.ndarray:
    """Votes of three raters whose level differs far more than prompts do: systems x prompts x raters."""
    rng = np.random.default_rng(0)
    levels = np.array([[1.5, 3.0, 4.5], [4.5, 1.5, 3.0]])
    return np.clip(levels[:, None, :] + rng.normal(0, 0.2, (2, prompts, 3)), 1, 5)


def test_cells_are_over_raters_too(voted: Voted) -> None:
    tags = [{"skill": "abcde"[number % 5]} for number in range(40)]
    found = compare(voted(_tasteful(), tags=tags), per="skill")
    assert found.per is not None
    overall = {each.system: each.mean for each in found.systems}
    for cell in found.per.rows:
        for mean in (cell.mean, cell.pooled):
            whole = overall[cell.system]
            # Raters are nearly all of the variance: no cell is surer than the mean over all prompts.
            assert mean.high - mean.low > 0.95 * (whole.high - whole.low)
            assert "over prompts and raters" in mean.method
    assert "No group is significantly below" in found.per.sentence
    assert "The 95 % intervals are over prompts and 3 raters." in found.per.notes


def test_cells_of_too_few_raters_are_named(voted: Voted) -> None:
    votes = np.random.default_rng(0).uniform(1, 5, (2, 24, 3))
    # Three raters judged the first twelve prompts, two of them the others.
    votes[:, 12:, 2] = np.nan
    raters = np.broadcast_to(np.arange(3), votes.shape)
    tags = [{"skill": "ab"[number >= 12]} for number in range(24)]
    found = compare(voted(votes, raters, tags=tags), per="skill")
    assert found.per is not None
    cells = {(each.group, each.system): each.mean for each in found.per.rows}
    said = "over prompts alone where fewer than three raters judged: A on b, B on b"
    assert any(said in note for note in found.notes) and "raters" not in cells["b", "A"].method


def test_too_few_groups_are_not_called_pooled(voted: Voted) -> None:
    votes = np.arange(48, dtype=float).reshape(2, 24, 1) % 5 + 1
    tags = [{"skill": "abc"[number % 3]} for number in range(24)]
    found = compare(voted(votes, tags=tags), per="skill")
    assert found.per is not None
    table = found.tables()["per"]
    assert [column.name for column in table.columns] == ["group", "system", "n", "mean"]
    written = found.per.sentence + found.per.text() + found.text()
    written += "".join(figure.caption for figure in found.per.figures().values())
    assert "partial" not in written and "too few groups to pool" in table.caption


@pytest.mark.parametrize(("raters", "only"), [(1, "for this rater"), (2, "for these raters"), (3, "")])
def test_the_sentence_goes_no_further_than_the_raters(voted: Voted, raters: int, only: str) -> None:
    rng = np.random.default_rng(0)
    votes = np.clip(2 + rng.normal(0, 0.2, (2, 20, raters)) + np.array([1.0, 0])[:, None, None], 1, 5)
    found = compare(voted(votes))
    said = f"A is the best of 2 systems on quality{' ' + only if only else ''}: "
    assert found.winner == "A" and found.sentence.startswith(said)
    given = json.loads(found.to_json())
    assert given["raters"] == raters and given["only"] == only and given["per"] is None


def test_one_rater_per_item_is_said_in_the_sentence(voted: Voted) -> None:
    votes = np.clip(2 + np.random.default_rng(0).normal(0, 0.2, (2, 12, 1)), 1, 5)
    found = compare(voted(votes, np.arange(24).reshape(2, 12, 1) % 5))
    assert "on quality for these raters over 12 prompts" in found.sentence and found.raters == 5


def test_intervals_are_labelled_wherever_they_are_shown(voted: Voted) -> None:
    found = compare(voted(np.random.default_rng(0).uniform(1, 5, (2, 12, 3))), margin=3)
    for shown in (found.text(), found.to_markdown(), found.to_latex().replace("\\%", "%")):
        assert shown.count("95 % intervals") >= 3
        assert "those that share a letter are not significantly different" in shown
        assert "n 12" in shown and found.sentence in shown
    assert "p of equivalence after Holm" in found.to_markdown()
    (figure,) = found.figures().values()
    assert "95 % interval" in json.dumps(figure.wide)


def test_one_prompt_is_one(voted: Voted) -> None:
    assert "over 1 prompt," in compare(voted(np.array([[[3.0, 2]], [[4, 4]]]))).text()


def test_the_other_study_is_named_where_it_lacks_the_question(voted: Voted, tmp_path: Path) -> None:
    with create_study(tmp_path / "other"):
        pass
    with pytest.raises((DataError, UsageError), match="--also") as caught:
        compare(voted(np.ones((2, 6, 1))), also=[str(tmp_path / "other")])
    assert str(tmp_path / "other") in str(caught.value)


def test_every_criterion_has_a_panel(judged: Study) -> None:
    figures = compare(judged, ["alignment", "effort"]).figures()
    assert list(figures) == ["means", "effort"]
    assert "mean effort with 95 % interval" in json.dumps(figures["effort"].wide)


def test_several_criteria_make_a_leaderboard(judged: Study) -> None:
    found = compare(judged, ["alignment", "effort"])
    assert [each.by for each in found.others] == ["effort"]
    table = found.tables()["systems"]
    assert [column.name for column in table.columns] == ["system", "mean", "rank", "letters", "effort"]
    efforts = {each.system: each.mean.value for each in compare(judged, "effort").systems}
    assert {row[0]: row[4].value for row in table.rows} == pytest.approx(efforts)
    assert [row[0] for row in table.rows] == ["careful", "innumerate", "sloppy"]


def test_failures_count_as_the_study_declares(voted: Voted) -> None:
    votes = np.random.default_rng(0).uniform(3, 4, (2, 12, 1))
    votes[0, :4] = np.nan
    found = compare(voted(votes, settings='failures = "worst"'))
    means = {each.system: each.mean.value for each in found.systems}
    assert means["A"] == pytest.approx((votes[0, 4:].sum() + 4 * 1) / 12)
    assert found.failures == {"A": 4}
    assert "Failed answers count as the worst value of the scale." in found.notes
    table = found.tables()["systems"]
    assert {row[0]: row[-1] for row in table.rows} == {"A": 4, "B": 0}


def test_failures_are_shown_where_they_are_left_out(voted: Voted) -> None:
    votes = np.random.default_rng(0).uniform(3, 4, (2, 12, 1))
    votes[0, :4] = np.nan
    found = compare(voted(votes))
    means = {each.system: (each.mean.value, each.mean.n) for each in found.systems}
    assert means["A"] == (pytest.approx(votes[0, 4:].mean()), 8)
    assert found.failures == {"A": 4} and "Failed answers are left out." in found.notes


UNCONTROLLED = " and ".join(
    f"not task='Controlled {name}'"
    for name in (
        "single object", "multiple objects", "single object counting", "multiple object counting",
        "arithmetic",
    )
)  # fmt: skip


@pytest.mark.slow
def test_gimbrr_without_its_controlled_sets(tmp_path: Path, data: Path) -> None:
    """Match rates as published: 54.7441, 46.4419, 34.3321 and, with one verdict per prompt, 34.74 %."""
    with create_study(tmp_path / "study") as study:
        import_(study, data / "gimbrr")
        truth(study)
        found = compare(study, "match", where=UNCONTROLLED)
    assert any("1,602 prompts count as 1,598" in note for note in found.notes)
    rates = {system: 100 * rate for system, rate in (found.plain or {}).items()}
    expected = {"Dalle": 54.7441, "MJ": 46.4419, "SD2.1": 34.3321, "SD1.5": 34.7415}
    assert rates == pytest.approx(expected, abs=5e-5)
    assert found.winner == "Dalle"
