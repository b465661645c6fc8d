"""Small studies made of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline.judging.truth import truth
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
)
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

Judged = Callable[..., Study]
Made = Callable[[list[Record]], Study]


@pytest.fixture
def blank(tmp_path: Path) -> Made:
    def make(records: list[Record]) -> Study:
        study = create_study(tmp_path / "study")
        load(study, records, importer="test", path="test", digest="1")
        return study

    return make


@pytest.fixture
def voted(tmp_path: Path) -> Judged:
    """A study from votes (systems x prompts x raters, NaN = no answer), one image per system and prompt.

    `raters` names who cast them, in the same shape; `tags` are the tags of each prompt; `settings` are added
    to study.toml.
    """

    def make(
        votes: np.ndarray,
        raters: np.ndarray | None = None,
        *,
        texts: list[str] | None = None,
        tags: list[dict[str, str]] | None = None,
        settings: str = "",
        scale: tuple[float, float] = (1, 5),
    ) -> Study:
        systems, prompts, cast = votes.shape
        who = np.broadcast_to(np.arange(cast), votes.shape) if raters is None else raters
        records: list[Record] = [Question("quality", "interval", *scale)]
        for number in range(prompts):
            prompt = PromptKey("s", str(number))
            text = f"scene {number}" if texts is None else texts[number]
            records.append(Prompt(prompt, text, {} if tags is None else tags[number]))
            for system in range(systems):
                name = "ABCDEFGH"[system]
                if np.isnan(votes[system, number]).all():
                    records.append(Answer(prompt, name, 0, None, failure="refused"))
                    continue
                key = ImageKey(name, f"{number}.png")
                records.append(Answer(prompt, name, 0, key))
                for vote, rater in zip(votes[system, number], who[system, number], strict=True):
                    if np.isnan(vote):
                        continue
                    person = AnnotatorKey("panel", f"rater {rater}")
                    records.append(Judgement("quality", Item(prompt, image=key), float(vote), person))
        with create_study(tmp_path / "study") as study:
            load(study, records, importer="test", path="test", digest="1")
            truth(study, rule="mean", screening=[])
        if settings:
            file = tmp_path / "study" / "study.toml"
            file.write_text(file.read_text("utf-8").replace("[compare]", f"[compare]\n{settings}"), "utf-8")
        return open_study(tmp_path / "study")

    return make
