"""Predicting prompts: held-out means held out, intervals cover, figures are right, bad input is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.estimate import format_cell
from sightline.prediction.features import prompt_measures
from sightline.prediction.fit import FitResult, fit
from sightline.prediction.model import ONE_WIDTH
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
from sightline.statistics.conformal import half_width, held_across
from sightline.statistics.folds import k_fold
from sightline.study import predicted, reading
from sightline.study.running.progress import Progress
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

COLOURS = ("red", "blue", "green", "black")
THINGS = ("ball", "cup", "house", "car", "tree", "fish")
TEXTS = [f"{much} {colour} {thing}" for much in ("a", "many") for colour in COLOURS for thing in THINGS]


def study_with(
    path: Path,
    truth: Mapping[str, Sequence[float | None]] | Sequence[float],
    texts: Sequence[str] = TEXTS,
    tags: Mapping[int, Mapping[str, str]] | None = None,
    more: Iterable[Record] = (),
) -> Study:
    """Prompts "a red ball" ... "many green cars" with these truths, in that order; None is not settled."""
    told = truth if isinstance(truth, Mapping) else {"ease": truth}
    study = create_study(path)
    keys = [PromptKey("s", str(n)) for n in range(max(len(values) for values in told.values()))]
    records: list[Record] = [Question(name, low=0, high=5.1) for name in told]
    records += [Prompt(key, texts[n], (tags or {}).get(n, {})) for n, key in enumerate(keys)]
    records += [
        Truth(name, Item(prompt=key), value)
        for name, values in told.items()
        for key, value in zip(keys, values, strict=False)
        if value is not None
    ]
    load(study, [*records, *more], importer="test", path="here", digest="1")
    return study


def learnable(n: int = 48) -> list[float]:
    """5 for "a ...", 1 for "many ...", a little more for every other prompt."""
    return [(5.0 if i < 24 else 1.0) + 0.1 * (i % 2) for i in range(n)]


def kept(study: Study, question: str = "ease") -> dict[str, dict[int, tuple[int, float]]]:
    """What the study keeps: predictor -> prompt -> (fold, value)."""
    settlement = reading.newest_settlement(study, question)
    assert settlement is not None
    found: dict[str, dict[int, tuple[int, float]]] = {}
    rows = predicted.predictions(study, settlement).select("spec", "prompt_id", "fold", "value")
    for spec, prompt, fold, value in rows.iter_rows():
        found.setdefault(spec.partition("(")[0], {})[prompt] = (fold, value)
    return found


def points(found: FitResult) -> list[tuple[float, float]]:
    """(prediction, truth) of ease by ridge, of the prompts that have both."""
    pairs = zip(found.predictions["ridge"]["ease"].tolist(), found.truths["ease"].tolist(), strict=True)
    return [pair for pair in pairs if np.isfinite(pair).all()]


def test_what_can_be_learned_is_predicted(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        found = fit(study, "ease", prompt=["a blue ball", "many blue balls"])
        (quality,) = found.results
        assert quality.pearson > 0.9 and quality.error < quality.baseline_error / 2
        easy, hard = (each.expected["ease"] for each in found.predicted)
        assert hard.value < easy.low < easy.value <= easy.high <= 5.1, "on the scale of the question"
        effects = {name for name, _ in found.predicted[0].effects["ease"]}
        assert effects >= {"words", "wording", "mean_idf"}


SEEING_PROMPTS = [
    name
    for name in registry.names("predictor")
    if registry.configure("predictor", name).spec.details["sees"] == "prompt"
]


QUICK = {
    "fine_tuned": "fine_tuned(frozen=5, rank=2, learning_rate=0.003, batch=16, epochs=2)",
    "stack": "stack(folds=3, second=trees(n_estimators=10))",
}
"""The same code with less of everything."""


def only(found: FitResult) -> Mapping[str, np.ndarray]:
    """What the one predictor that was tried said, by question."""
    [told] = found.predictions.values()
    return told


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in ("fine_tuned", "stack") else n for n in SEEING_PROMPTS],
)
def test_no_truth_of_what_is_held_out_reaches_a_prediction(tmp_path: Path, name: str) -> None:
    # Whatever the truth of the prompts in one fold is changed to, in every target, their own predictions stay
    # the same; and so do those of the test part of a published split.
    assert not registry.configure("predictor", name).spec.missing(), "every predictor must be tried"
    spec = QUICK.get(name, name)
    rng = np.random.default_rng(0)
    truth = {"ease": rng.uniform(0, 5, 48).tolist(), "beauty": [None, *rng.uniform(0, 5, 47).tolist()]}
    tags = {n: {"split": "test" if n % 4 == 3 else "train"} for n in range(48)}
    with study_with(tmp_path / "a", truth, tags=tags) as study:
        before = fit(study, question=["ease", "beauty"], predictor=spec, folds=3, seed=3)
        published = fit(study, question=["ease", "beauty"], predictor=spec, split="published")
    fold = before.split.fold(48)

    def spoilt(rows: np.ndarray) -> dict[str, list[float | None]]:
        return {
            question: [
                value if value is None or not rows[n] else float(rng.uniform(0, 5))
                for n, value in enumerate(values)
            ]
            for question, values in truth.items()
        }

    held = fold == 2
    with study_with(tmp_path / "b", spoilt(held), tags=tags) as study:
        after = fit(study, question=["ease", "beauty"], predictor=spec, folds=3, seed=3)
    assert (after.split.fold(48) == fold).all()
    test = np.arange(48) % 4 == 3
    with study_with(tmp_path / "c", spoilt(test), tags=tags) as study:
        again = fit(study, question=["ease", "beauty"], predictor=spec, split="published")
    for question in truth:
        for rows, one, two in ((held, before, after), (test, published, again)):
            said, now = (only(each)[question][rows] for each in (one, two))
            assert np.isfinite(said).all()
            np.testing.assert_allclose(now, said, rtol=1e-6, atol=1e-9)
            assert (one.truths[question][rows] != two.truths[question][rows]).any()
        assert (only(before)[question][~held] != only(after)[question][~held]).any(), (
            "it learned nothing from what was changed, so that the test would not notice"
        )


def test_figures_are_those_of_an_independent_library(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    truth = [value + rng.normal(0, 1) for value in learnable()]
    with study_with(tmp_path / "s", truth) as study:
        found = fit(study, "ease", predictor=["ridge", "mean", "linear"])
    fold, y = found.split.fold(48), np.array(truth)
    pairs = [(i, j) for i in range(48) for j in range(i) if fold[i] == fold[j]]
    first, second = np.array(pairs).T
    for result in found.results[::2]:
        guess = found.predictions[result.predictor]["ease"]
        parts = [(guess[fold == number], y[fold == number]) for number in range(5)]
        spread = [np.std(true) * np.sqrt(true.size) for _, true in parts]
        signs = [np.sign(column[first] - column[second]) for column in (guess, y)]
        expected = {
            "pearson": np.average([np.corrcoef(*part)[0, 1] for part in parts], weights=spread),
            "kendall": float((signs[0] * signs[1]).sum())
            / np.sqrt(np.abs(signs[0]).sum() * np.abs(signs[1]).sum()),
            "spearman": scipy.stats.pearsonr(
                *(_ranks_within(column, fold) for column in (guess, y))
            ).statistic,
            "rmse": np.sqrt(np.mean((guess - truth) ** 2)),
        }
        assert {name: result.figures[name].value for name in expected} == pytest.approx(expected)
        assert result.error == pytest.approx(np.abs(guess - truth).mean())
        for figure in result.figures.values():
            assert figure.low is not None and figure.value is not None and figure.high is not None
            assert figure.low <= figure.value <= figure.high and figure.n == 48
        assert sum(quarter.n for quarter in result.quarters) == 48
    assert found.results[0].figures["pearson"].mark == "\N{DOUBLE DAGGER}"
    pairs = [(each.first, each.second) for each in found.differences["ease"]]
    assert pairs == [("ridge", "mean"), ("ridge", "linear"), ("mean", "linear")]
    assert [each.p_adjusted is None for each in found.differences["ease"]] == [True, False, True]
    assert found.best == {"ease": max(found.results, key=lambda each: each.pearson).predictor}
    # The mean of what was learned from is what the predictor `mean` says.
    means = next(each for each in found.results if each.predictor == "mean")
    assert means.error == pytest.approx(means.baseline_error)
    # Over all folds together it would correlate with the truth: the fold left out pulls the mean away.
    assert scipy.stats.pearsonr(found.predictions["mean"]["ease"], truth).statistic < -0.1
    assert means.figures["pearson"].value is None and "constant" in str(means.figures["pearson"].reason)


def _ranks_within(column: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Mid-ranks within folds around 0, divided by the size of the fold."""
    made = np.empty(len(column))
    for number in np.unique(fold):
        own = column[fold == number]
        made[fold == number] = (scipy.stats.rankdata(own) - (own.size + 1) / 2) / own.size
    return made


def test_the_sentence_agrees_with_the_figures(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    with study_with(tmp_path / "s", rng.normal(2.5, 0.7, 48).clip(0, 5).tolist()) as study:
        found = fit(study, "ease", predictor=["ridge"])
        constant = fit(study, "ease", predictor=["mean"])
    figure = found.results[0].figures["pearson"]
    assert figure.value is not None and figure.low is not None and figure.low < 0
    assert format_cell(figure) in found.sentence and "below that of" not in found.sentence
    said = "it is not known yet whether" if figure.value > 0 else "does not follow the truth"
    assert said in found.sentence
    assert constant.sentence == (
        "ease: mean does not tell prompts apart (the first column is constant within folds); do not use it."
    )


def test_several_questions_are_learned_at_once_and_each_is_kept(tmp_path: Path) -> None:
    beauty: list[float | None] = [None if n % 3 == 0 else 5.1 - value for n, value in enumerate(learnable())]
    with study_with(tmp_path / "s", {"ease": learnable(), "beauty": beauty}) as study:
        found = fit(study, question=["ease", "beauty"], predictor=["ridge", "tfidf_ridge"])
        tried = [(question, name) for question in ("ease", "beauty") for name in ("ridge", "tfidf_ridge")]
        assert [(each.question, each.predictor) for each in found.results] == tried
        assert [each.figures["pearson"].n for each in found.results] == [48, 48, 32, 32]
        for question in ("ease", "beauty"):
            assert set(kept(study, question)) == {"ridge", "tfidf_ridge"}
        (new,) = fit(study, question=["ease", "beauty"], prompt="a red car").predicted
        assert new.prompt == "a red car" and list(new.expected) == ["ease", "beauty"]
        assert new.expected["ease"].value > 3 > new.expected["beauty"].value
        assert all("[" not in name for effects in new.effects.values() for name, _ in effects)


def test_the_truth_of_one_system_can_be_predicted(tmp_path: Path) -> None:
    keys = [PromptKey("s", str(n)) for n in range(48)]
    more: list[Record] = [System("good"), System("bad")]
    more += [Truth("ease", Item(key, "good"), value) for key, value in zip(keys, learnable(), strict=True)]
    more += [Truth("ease", Item(key, "bad"), 5 - 0.1 * (n % 7)) for n, key in enumerate(keys)]
    with study_with(tmp_path / "s", learnable(), more=more) as study:
        found = fit(study, question=["ease.bad", "ease"])
        assert found.truths["ease.bad"][:3] == pytest.approx([5.0, 4.9, 4.8])
        # What is kept is about prompts: the fit of one system is only shown.
        assert [value for _, value in kept(study)["ridge"].values()] == pytest.approx(
            found.predictions["ridge"]["ease"]
        )
        with pytest.raises(UsageError, match="no value of a system 'god'") as told:
            fit(study, "ease.god")
        assert "good" in told.value.remedy


def test_prompts_of_the_same_words_and_rephrasings_stay_together(tmp_path: Path) -> None:
    texts = [*TEXTS[:40], "A  RED ball!", "a crimson sphere", *TEXTS[42:]]
    links: list[Record] = [
        Prompt(PromptKey("s", "41"), "a crimson sphere", links=[("rephrases", PromptKey("s", "3"))])
    ]
    with study_with(tmp_path / "s", learnable()[:41], texts) as study:
        load(study, links, importer="test", path="there", digest="2")
        truth = [Truth("ease", Item(prompt=PromptKey("s", "41")), 2.0)]
        load(study, truth, importer="test", path="elsewhere", digest="3")
        for seed in range(8):
            found = fit(study, "ease", predictor="mean", seed=seed)
            fold = found.split.fold(42)
            assert fold[40] == fold[0], "the same words, but for case and punctuation"
            assert fold[41] == fold[3], "a rephrasing"
            assert "2 prompts" in found.notes[0]


def test_prompts_without_truth_are_predicted_by_what_learned_from_all_others(tmp_path: Path) -> None:
    none: list[float | None] = [None] * 4
    with study_with(tmp_path / "s", {"ease": [*none, *learnable()[4:]]}) as study:
        found = fit(study, "ease", prompt=TEXTS[:4])
        rows = kept(study)["ridge"]
        assert [fold for fold, _ in rows.values()] == [None] * 4 + found.split.fold(44).tolist()
        for (_, value), new in zip(rows.values(), found.predicted, strict=False):
            assert min(value, 5.1) == pytest.approx(new.expected["ease"].value), (
                "new ones are cut to the scale"
            )
        assert any(note.startswith("4 prompts without truth") for note in found.notes)
        assert found.prompts == 44 and len(points(found)) == 44


def test_the_published_split_is_taken_as_it_is(tmp_path: Path) -> None:
    parts = ["train"] * 3 + ["validation"] + ["test"] * 2
    tags = {n: {"split": parts[n % 6]} for n in range(46)}
    with study_with(tmp_path / "s", learnable(), tags=tags) as study:
        found = fit(study, "ease", split="published")
        fold = found.split.fold(48)
        assert [n for n in range(48) if fold[n] >= 0] == [n for n in range(46) if parts[n % 6] == "test"]
        assert sorted(found.split.parts[0].learn.tolist()) == [
            n for n in range(46) if parts[n % 6] in ("train", "validation")
        ]
        assert found.prompts == 14 and found.results[0].figures["pearson"].n == 14
        assert any("2 prompts with truth are in no part" in note for note in found.notes)
        assert len(kept(study)["ridge"]) == 14
    no_test = {n: {"split": ("Training", "dev")[n % 2]} for n in range(48)}
    with study_with(tmp_path / "v", learnable(), tags=no_test) as study:
        found = fit(study, "ease", split="published")
        assert found.split.parts[0].guess.tolist() == list(range(1, 48, 2))
        assert "validation" in found.split.said
    with study_with(tmp_path / "n", learnable()) as study:
        with pytest.raises(DataError, match="no published split"):
            fit(study, "ease", split="published")
        with pytest.raises(UsageError, match="no split 'publish'"):
            fit(study, "ease", split="publish")


def test_predictions_are_the_same_for_a_seed_and_the_newest_are_kept(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        other, first, again = (points(fit(study, "ease", seed=seed)) for seed in (0, 1, 1))
        assert first == again != other
        assert [value for _, value in kept(study)["ridge"].values()] == [guess for guess, _ in again]


def test_the_interval_is_conformal_and_on_the_scale(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        found = fit(study, "ease", seed=4)
        errors = [guess - truth for guess, truth in points(found)]
        # Too few for bins: one width for all, and a note says so.
        result, width = found.results[0], half_width(errors, coverage=0.9)
        assert not result.intervals.vary and ONE_WIDTH in found.notes
        assert np.array(result.intervals.around([2.0])).ravel() == pytest.approx([2 - width, 2 + width])
        # Each fold goes by the width that the other folds would have set.
        sizes, fold = np.abs(errors), found.split.fold(48)
        inside = [sizes[n] <= half_width(sizes[fold != fold[n]], coverage=0.9) for n in range(48)]
        assert result.covered == pytest.approx(np.mean(inside))
        assert result.covered < 0.9 < np.mean(sizes <= width)
        assert sum(part.covered * part.n for part in result.quarters) == pytest.approx(np.sum(inside))
    # A published split has no other folds: what was tried is cut into five.
    tags = {n: {"split": ("train", "test")[n % 2]} for n in range(48)}
    with study_with(tmp_path / "p", learnable(), tags=tags) as study:
        found = fit(study, "ease", split="published", seed=1)
        cut = k_fold(48, 5, seed=1)[1::2]
        assert found.results[0].covered == pytest.approx(held_across(*np.array(points(found)).T, cut).mean())
    # Eight prompts held out are too few for any width: the interval is the scale, and none without a scale.
    tags = {n: {"split": "test" if n >= 40 else "train"} for n in range(48)}
    with study_with(tmp_path / "t", learnable(), tags=tags) as study:
        told = fit(study, "ease", split="published", prompt=["a blue ball"]).predicted[0].expected["ease"]
        assert (told.low, told.high) == (0.0, 5.1)
        rows = predicted.predictions(study, reading.newest_settlement(study, "ease") or 0)
        assert rows["low"].to_list() == [0.0] * 8 and rows["high"].to_list() == [5.1] * 8
        truths = [Truth("open", Item(prompt=PromptKey("s", str(n))), n / 9) for n in range(48)]
        load(study, [Question("open"), *truths], importer="test", path="open", digest="2")
        told = fit(study, "open", split="published", prompt=["a blue ball"]).predicted[0].expected["open"]
        assert (told.low, told.high) == (None, None)


def test_too_little_truth_and_empty_prompts_are_refused(tmp_path: Path) -> None:
    with study_with(tmp_path / "few", learnable()[:6]) as study, pytest.raises(DataError, match="only 6"):
        fit(study, "ease")
    wrong: dict[str, dict[str, Any]] = {
        "empty": {"prompt": ["  "]},
        "no predictor": {"predictor": "ridgy"},
        "neither a question": {"question": "eese"},
        "hold nothing out": {"folds": 1},
        "48 different prompts": {"folds": 49},
    }
    with study_with(tmp_path / "s", learnable()) as study:
        for said, options in wrong.items():
            with pytest.raises((DataError, UsageError), match=said):
                fit(study, **{"question": "ease", **options})


def test_features_are_chosen_by_declaration_or_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {measure.name for measure in prompt_measures()}
    assert {"words", "word_count", "conjunction_rate"} <= plain
    assert not plain & {"synset_count", "proper_noun_rate", "ego_degree"}
    asked = [measure.short for measure in prompt_measures(["words", "proper_noun_rate"])]
    assert asked.count("words") == 1 and asked[-1] == "proper_noun_rate"
    with study_with(tmp_path / "s", learnable()) as study:
        with pytest.raises(UsageError, match="sinset_count"):
            fit(study, "ease", feature=["sinset_count"])
        monkeypatch.setenv("SIGHTLINE_WORDNET", str(tmp_path / "nowhere"))
        with pytest.raises(DataError, match="no WordNet") as told:
            fit(study, "ease", feature=["synset_count"])
        assert "SIGHTLINE_WORDNET" in told.value.remedy


def test_how_common_words_are_is_counted_without_the_prompt_itself(tmp_path: Path) -> None:
    # "zorbing" is in the first prompt alone, and in the caption that it was taken from: of its two terms half
    # are unseen, as they would be if the prompt were new. "ball" is in other prompts and captions.
    texts = ["a zorbing ball", *TEXTS[1:]]
    captions: list[Record] = [
        Image(ImageKey("c", str(n)), None, (text,)) for n, text in enumerate([*texts, *TEXTS[:6]])
    ]
    with study_with(tmp_path / "prompts", learnable(), texts) as study:
        of_prompts = fit(study, "ease", prompt=["a zorbing ball", "a zorbing quokka"])
    with study_with(tmp_path / "captions", learnable(), texts, more=captions) as study:
        of_captions = fit(study, "ease", prompt=["a zorbing ball"])
    for found, where in ((of_prompts, "prompts learned from"), (of_captions, "captions of 54 images")):
        assert found.features["unseen"][0] == 0.5
        assert found.features["unseen"][1] == 0.0
        assert where in found.notes[-1]
    # 53 captions are left without its own, and so many of them have the word "ball".
    balls = sum("ball" in text for text in [*texts[1:], *TEXTS[:6]])
    assert of_captions.features["max_idf"][0] == pytest.approx(np.log(53 / balls))


def test_rankings_can_be_learned_from(tmp_path: Path) -> None:
    keys = [PromptKey("s", str(n)) for n in range(48)]
    images: list[Record] = [Image(ImageKey("c", str(n)), None, (text,)) for n, text in enumerate(TEXTS[:20])]
    # An engine that is sure of the easy prompts: scores fall steeply where the truth is high.
    answers: list[Record] = [System("engine", "retriever", "c")]
    for n, key in enumerate(keys):
        fall = 0.05 if n < 24 else 0.001 * (n % 5)
        answers += [
            Answer(key, "engine", rank, ImageKey("c", str(rank)), 1 - rank * fall) for rank in range(10)
        ]
    with study_with(tmp_path / "s", learnable(), more=[*images, *answers]) as study:
        found = fit(study, "ease", predictor="linear", rankings=True)
        assert any(name.startswith("score_variance") for name in found.features_after)
        assert found.results[0].after
        latex = found.to_latex()
        assert latex.index("words &") < latex.index("One feature, after") < latex.index("score\\_variance")
        settlement = reading.newest_settlement(study, "ease")
        assert settlement is not None
        assert (
            predicted.predictions(study, settlement)["spec"].unique().to_list()[0].endswith("with rankings")
        )
        with pytest.raises(UsageError, match="no rankings"):
            fit(study, "ease", rankings=True, prompt=["a cat"])


def test_progress_is_told_and_an_interruption_keeps_what_is_done(tmp_path: Path) -> None:
    heard: list[Progress] = []
    with study_with(tmp_path / "s", learnable()) as study:
        fit(study, "ease", predictor=["mean", "linear"], folds=4, listener=heard.append)
        assert heard[-1].what == "fitting predictors" and (heard[-1].done, heard[-1].total) == (8, 8)

    def impatient(now: Progress) -> None:
        if now.what == "fitting predictors" and now.done >= 6:
            raise KeyboardInterrupt

    with study_with(tmp_path / "t", learnable()) as study:
        monkey = pytest.MonkeyPatch()
        monkey.setattr("sightline.study.running.progress.time.monotonic", iter(np.arange(0.0, 1e4)).__next__)
        with monkey.context(), pytest.raises(KeyboardInterrupt):
            fit(study, "ease", predictor=["mean", "linear"], folds=4, listener=impatient)
        monkey.undo()
        assert set(kept(study)) == {"mean"}


def test_the_paper_table_has_features_and_predictors_under_headings(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        found = fit(study, "ease", predictor=["ridge", "mean"])
    latex = found.to_latex()
    assert latex.index("One feature, before") < latex.index("Learned, before") < latex.index("ridge &")
    # "many red ball" is 3 characters longer than "a red ball", and so much worse.
    lengths = [float(len(text)) for text in TEXTS]
    assert found.alone["characters"]["ease"]["pearson"].value == pytest.approx(
        scipy.stats.pearsonr(lengths, learnable()).statistic
    )
