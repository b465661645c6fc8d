"""Every rule finds what was planted, counts it, and is silent where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline import registry
from sightline.data.check import SEVERITIES, check
from sightline.data.import_ import import_
from sightline.extension import Extension
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
    System,
    Truth,
)
from sightline.study.study import create_study

Find = Callable[..., list[Any]]
Answers = Callable[..., list[Any]]
Picture = Callable[..., str]
A, B, C = (PromptKey("suite", ref) for ref in "abc")


def test_every_rule_says_what_it_is() -> None:
    rules = list(registry.everything("check"))
    assert len(rules) >= 25
    for rule in rules:
        assert isinstance(rule, Extension)
        assert rule.spec.details["severity"] in SEVERITIES
        assert rule.spec.source and rule.spec.licence
        for measure in rule.spec.details["measures"]:
            assert registry.find_measure(measure).spec.kind == "of_image"


def test_a_clean_study_has_no_findings(find: Find, answer: Answers, picture: Picture) -> None:
    records: list[Any] = []
    for system in ("one", "two"):
        for key in (A, B, C):
            records += answer(key, system, 0, picture(f"{system}{key.ref}"))
    assert find("prompts_without_answers", records) == []


def test_a_clean_study_is_clean_for_every_rule(
    find: Find, answer: Answers, picture: Picture, study: Any
) -> None:
    records: list[Any] = [Question("match", "ordinal", 0, 1, 1)]
    for key in (A, B, C):
        records += answer(key, "one", 0, picture(f"one{key.ref}"))
        who = AnnotatorKey("people", "ann")
        records.append(Judgement("match", Item(key), float(key.ref == "a"), who))
    find("blank_images", records)
    assert check(study).findings == []


def test_prompts_without_answers(find: Find, answer: Answers, picture: Picture) -> None:
    untouched = Prompt(PromptKey("later", "x"), "a boat")
    records = [
        untouched,
        *answer(A, "one", 0, picture("1")),
        *answer(B, "one", 0, picture("2")),
        *answer(A, "two", 0, picture("3")),
    ]
    never, lacking = find("prompts_without_answers", records)
    assert (never.finding.n, list(never.finding.examples)) == (1, ["suite/c: no cat"])
    assert lacking.finding.what.startswith("prompts that two left out")
    assert (lacking.finding.n, list(lacking.finding.examples)) == (1, ["suite/b: two dogs"])


def test_uneven_answers_count_failures_as_tries(find: Find, answer: Answers, picture: Picture) -> None:
    records = [
        *answer(A, "one", 0, picture("1")),
        *answer(A, "one", 1, picture("2")),
        *answer(A, "two", 0, picture("3")),
        *answer(B, "one", 0, picture("4")),
        Answer(B, "two", 0, None, failure="refused"),
    ]
    (found,) = find("uneven_answers", records)
    assert found.finding.n == 1
    assert list(found.finding.examples) == ["suite/a: a red ball"]
    assert "answered 1 times by one generator and up to 2" in found.finding.what


def test_identical_images_are_told_apart_by_what_they_share(
    find: Find, answer: Answers, picture: Picture
) -> None:
    systems, prompts, samples = picture("s"), picture("p"), picture("n")
    records = [
        *answer(A, "one", 0, systems),
        *answer(A, "two", 0, systems),
        *answer(A, "one", 1, prompts),
        *answer(B, "one", 1, prompts),
        *answer(C, "one", 1, prompts),
        *answer(C, "two", 0, samples),
        *answer(C, "two", 1, samples),
    ]
    told = {found.finding.what: found.finding.n for found in find("identical_images", records)}
    assert told == {
        "images that different systems gave (2 answers)": 1,
        "images that a system gave for different prompts (3 answers)": 1,
        "images that a system gave several times for one prompt (2 answers)": 1,
    }


def test_a_retriever_may_answer_two_prompts_with_one_image(find: Find, picture: Picture) -> None:
    key = ImageKey("photos", "1")
    records = [
        System("search", "retriever", "photos"),
        Image(key, picture("1")),
        *(Answer(prompt, "search", 0, key, 1.0) for prompt in (A, B, C)),
    ]
    assert find("identical_images", records) == []


def test_blank_images(find: Find, answer: Answers, picture: Picture) -> None:
    nearly = np.zeros((32, 32, 3), dtype=np.uint8)
    # 12 of 1024 pixels are white: 98.8 % look alike, and the mean is 12/1024 = 0.0117 of white.
    nearly[0, :12] = 255
    path = str(Path(picture("black", 0)).with_name("nearly.png"))
    Pillow.fromarray(nearly).save(path)
    records = [
        *answer(A, "one", 0, picture("black", 0)),
        *answer(A, "one", 1, picture("blue", (0, 0, 250))),
        *answer(A, "one", 2, path),
        *answer(A, "one", 3, picture("noise")),
    ]
    told = {found.finding.what: list(found.finding.examples) for found in find("blank_images", records)}
    assert told == {
        "black images": ["one/a-0"],
        "images of a single colour": ["one/a-1"],
        "images that are nearly black": ["one/a-2"],
    }


def test_duplicate_prompts_within_a_suite(find: Find) -> None:
    texts = [
        "A red ball.",
        "a  red BALL",
        "ein roter Ball",
        "?!",
        "...",
        "une balle à l'eau",
        "Une balle a l'eau",
    ]
    records = [Prompt(PromptKey("suite", str(n)), text) for n, text in enumerate(texts)]
    records.append(Prompt(PromptKey("other", "0"), "a red ball"))
    (found,) = find("duplicate_prompts", records, prompts=())
    assert (found.finding.n, list(found.finding.examples)) == (1, ["suite/0 = 1: A red ball."])


def test_repeated_answers(find: Find) -> None:
    records = [
        System("search", "retriever", "photos"),
        *(Answer(A, "search", n, ImageKey("photos", name)) for n, name in enumerate("xyxx")),
        *(Answer(B, "search", n, ImageKey("photos", name)) for n, name in enumerate("xyz")),
    ]
    (found,) = find("repeated_answers", records)
    # x stands three times: two places too many.
    assert (found.finding.n, found.finding.severity) == (2, "error")
    assert list(found.finding.examples) == ["suite/a: a red ball"]


def test_judgements_out_of_range(find: Find) -> None:
    ann = AnnotatorKey("people", "ann")
    records = [
        Question("quality", "interval", 1, 5),
        Question("open", "interval"),
        Judgement("quality", Item(A), 5, ann),
        Judgement("quality", Item(B), 0, ann),
        Judgement("quality", Item(C), 7, None, 3),
        Judgement("open", Item(A), 1e6, ann),
    ]
    (found,) = find("judgements_out_of_range", records)
    # One vote of ann's and three equal votes of nobody named.
    assert found.finding.n == 4
    assert list(found.finding.examples) == ["0 by people/ann", "7 by somebody unnamed"]


def test_a_changed_mind_counts_as_it_is_now(find: Find) -> None:
    ann = AnnotatorKey("people", "ann")
    records = [
        Question("quality", "interval", 1, 5),
        Judgement("quality", Item(A), 50, ann),
        Judgement("quality", Item(A), 5, ann, revision=1),
    ]
    assert find("judgements_out_of_range", records) == []


def test_judgements_one_value(find: Find) -> None:
    prompts = [Prompt(PromptKey("many", str(n)), f"prompt {n}") for n in range(10)]
    records: list[Any] = [*prompts, Question("quality", "interval", 1, 5)]
    for n, prompt in enumerate(prompts):
        votes = {"steady": 3.0, "awake": 3.0 + n % 2}
        if n < 9:
            votes["new"] = 4.0
        records += [
            Judgement("quality", Item(prompt.key), value, AnnotatorKey("people", who))
            for who, value in votes.items()
        ]
    (found,) = find("judgements_one_value", records, prompts=())
    assert list(found.finding.examples) == ["people/steady: 3, 10 times"]


def test_truth_out_of_range(find: Find) -> None:
    records = [
        Question("quality", "interval", 0, 5),
        Truth("quality", Item(A), 4.9),
        Truth("quality", Item(B), 61.5),
        # Through single precision: 5 became 5.0000001.
        Truth("quality", Item(C), 5.0000001),
    ]
    (found,) = find("truth_out_of_range", records)
    assert (found.finding.n, list(found.finding.examples)) == (1, ["suite/b: two dogs"])
    assert "from 61.5 to 61.5" in found.finding.what


def test_what_the_pqpp_importer_noted(find: Find, study: Any) -> None:
    records = [
        Prompt(A, "a red ball", {"relevant_repeated": "3"}),
        Prompt(B, "two dogs", {"relevant_repeated": "2", "own_image_missing": "1"}),
    ]
    (repeated,) = find("relevance_repeated", records, prompts=())
    assert (repeated.finding.n, repeated.finding.severity) == (2, "note")
    assert "5 repeats" in repeated.finding.what
    (missing,) = [found for found in check(study).findings if found.rule == "own_image_missing"]
    assert list(missing.finding.examples) == ["suite/b: two dogs"]


@pytest.mark.slow
def test_visor_holds_black_images(data: Path, tmp_path: Path) -> None:
    folder = data / "visor"
    if not folder.is_dir():
        pytest.skip("VISOR is not among the published data")
    with create_study(tmp_path / "visor") as study:
        import_(study, folder)
        rows = {found.finding.what: found.finding for found in check(study).findings}
    # Looked at directly: not one pixel that is not 0.
    black = [
        str(path.relative_to(folder))
        for path in sorted((folder / "images").rglob("*.png"))
        if not np.asarray(Pillow.open(path).convert("RGB")).any()
    ]
    assert len(black) >= 2
    assert {f"visor/{name}" for name in black} <= set(rows["black images"].examples)
    # These two have a lone speck of light: mean below 0.2 of 255.
    assert rows["black images"].n == len(black) + 2
    assert rows["images that are nearly black"].n >= 10
