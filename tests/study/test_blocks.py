"""What is rolled up by blocks of prompts does not depend on the blocks, on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from studies import put

from sightline.judging.truth import truth
from sightline.measures.by_system import scores_by_system
from sightline.records import (
    AnnotatorKey,
    Answer,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Score,
    System,
    Truth,
)
from sightline.study import blocks, reading, rollup
from sightline.study.study import Study


def records() -> Iterator[Record]:
    """Seven prompts: images judged with and without their prompt, systems and prompts judged as a whole."""
    yield from (System("a"), System("b"), System("engine", "retriever"))
    yield from (Question("quality", "interval", 0, 10), Question("published", "interval", 0, 10))
    shared = ImageKey("c", "shared")
    for number in range(7):
        prompt = PromptKey("s", str(number))
        yield Prompt(prompt, f"prompt {number}")
        for system in ("a", "b", "engine"):
            for position in range(1 + number % 3):
                image = ImageKey("c", f"{number}{system}{position}")
                yield Answer(prompt, system, position, image)
                who = AnnotatorKey("panel", str(position))
                about = Item(image=image) if system == "b" else Item(prompt, image=image)
                yield Judgement("quality", about, float(number + position), who)
                yield Score("sharp", Item(image=image), number * 1.5)
                yield Score(
                    "fitting",
                    Item(prompt, image=image),
                    position * 0.5 if position < 2 else None,
                    None if position < 2 else "unknown",
                )
        yield Answer(prompt, "a", 9, shared)
        yield Answer(prompt, "b", 9, None, failure="refused")
        yield Truth("published", Item(prompt, system="a"), float(number))
        yield Truth("published", Item(prompt), 1.5)
    yield Judgement("quality", Item(image=shared), 4.0, AnnotatorKey("panel", "0"))
    yield Prompt(PromptKey("s", "bare"), "nobody answered")


@pytest.fixture
def judged(study: Study) -> Study:
    put(study, records())
    truth(study)
    return study


def results(study: Study) -> list[pl.DataFrame]:
    made = [rollup.by_system(study, name) for name in ("quality", "published")]
    made += [rollup.by_prompt(study, name) for name in ("quality", "published")]
    answers = pl.concat(rollup.answer_parts(study, "quality"))
    made.append(answers.sort("system_id", "prompt_id", "position"))
    forms = reading.measures(study)["measure"].to_list()
    assert len(forms) == 2
    made += [scores_by_system(study, form) for form in forms]
    made += [reading.score_values(study, each) for each in reading.measures(study)["identity"].to_list()]
    return [*made, rollup.votes_by_system(study, "quality"), reading.answered(study)]


def test_no_result_depends_on_the_blocks(judged: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = results(judged)
    assert [frame.height > 0 for frame in whole] == [True] * len(whole) and len(blocks.blocks(judged)) == 1
    order = ["system_id", "prompt_id", "position"]
    assert_frame_equal(whole[4], rollup.of_answers(judged, "quality").sort(order))
    monkeypatch.setattr(reading, "ROWS", 5)
    assert len(blocks.blocks(judged)) > 4
    for one, other in zip(whole, results(judged), strict=True):
        assert_frame_equal(one, other)


def test_blocks_hold_every_prompt_once_and_only_those_asked_for(
    judged: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ROWS", 12)
    found = blocks.blocks(judged)
    held = [prompt for first, last in found for prompt in range(first, last + 1)]
    assert held == reading.prompts(judged)["prompt_id"].to_list()
    answers = pl.concat(blocks.answers(judged, block) for block in found)
    order = ["system_id", "prompt_id", "position"]
    assert_frame_equal(answers.sort(order), reading.answers(judged))
    assert blocks.blocks(judged, [held[0]]) == found[:1]
    assert blocks.blocks(judged, [held[-1], held[0]]) == [found[0], found[-1]]


def test_a_study_without_prompts_has_one_empty_block(study: Study) -> None:
    put(study, [Question("quality")])
    (block,) = blocks.blocks(study)
    assert blocks.answers(study, block).is_empty() and rollup.by_system(study, "quality").is_empty()
