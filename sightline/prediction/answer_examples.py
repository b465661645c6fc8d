"""Answers with truth, as predictors that see answers receive them: who gave an answer is not among it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import MEASURE_KINDS, Configured
from sightline.records import Examples
from sightline.study import reading, rollup
from sightline.study.groups import Part, groups_of, in_folds
from sightline.study.pools import pools
from sightline.study.running.progress import Listener
from sightline.study.running.run import run_together
from sightline.study.study import Study
from sightline.systems.retrieve import UnkeptPicture

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAST_PROMPTS, LEAST_ANSWERS = 10, 20
BOTH = "prompts and systems left out"
PROMPTS = "prompts left out"


@dataclass(frozen=True)
class Answers:
    """Answers with truth as columns; `group` is the same for prompts that are one in other words."""

    frame: pl.DataFrame
    prompt: Indices
    group: Indices
    system: Indices
    truth: Array
    unreadable: int = 0

    def __len__(self) -> int:
        return len(self.truth)

    @classmethod
    def read(cls, study: Study, question: str) -> Answers:
        known = rollup.of_answers(study, question)
        known = known.filter(~pl.col("system").is_in(list(pools(study))))
        whole = len(known)
        defect = reading.images(study).filter(pl.col("defect").is_not_null()).select("image_id")
        known = known.filter(pl.col("sha256").is_not_null()).join(defect, on="image_id", how="anti")
        known = known.sort("prompt_id", "system_id", "position")
        prompts = known["prompt_id"].n_unique()
        if len(known) < LEAST_ANSWERS or prompts < LEAST_PROMPTS:
            raise DataError(
                f"only {len(known)} answers with images, to {prompts} prompts, have a truth of {question!r}; "
                f"a learned measure needs {LEAST_ANSWERS} answers to {LEAST_PROMPTS} prompts",
                where=study.name,
                remedy="Judge more answers, or import images with published truth.",
            )
        ids = known["prompt_id"].unique(maintain_order=True).to_list()
        groups = dict(zip(ids, groups_of(study, ids).tolist(), strict=True))
        return cls(
            known, known["prompt_id"].to_numpy(),
            np.array([groups[key] for key in known["prompt_id"].to_list()], dtype=np.int64),
            known["system_id"].to_numpy(), known["value"].to_numpy().astype(np.float64), whole - len(known),
        )  # fmt: skip

    def designs(self, folds: int, seed: int) -> dict[str, list[Part]]:
        """Prompts and systems left out together, then prompts alone; with one system only the latter."""
        parts = in_folds(self.group, folds, seed).parts
        both = []
        for part in parts:
            for system in np.unique(self.system):
                guess = part.guess[self.system[part.guess] == system]
                learn = part.learn[self.system[part.learn] != system]
                if guess.size and learn.size:
                    both.append(Part(learn, guess))
        several = np.unique(self.system).size > 1
        return {**({BOTH: both} if several else {}), PROMPTS: list(parts)}

    def remarks(self, designs: Mapping[str, Sequence[Part]]) -> list[str]:
        made = []
        if self.unreadable:
            made.append(f"{self.unreadable:,} answers with truth have no image that can be read.")
        if BOTH not in designs:
            made.append("One system gave all answers: how well it does on another system is not known.")
        else:
            made.append(
                f"{BOTH.capitalize()}: each answer is predicted by a model that saw neither its prompt nor "
                "any answer of its system, relative to what that model expects on average."
            )
        return made

    def examples(self, study: Study, measures: Sequence[Configured], listener: Listener | None) -> Examples:
        """The answers as predictors see them: measures, prompt and picture; not who gave them."""
        records = reading.prompt_records(study, self.frame["prompt_id"].unique().to_list())
        for kind in MEASURE_KINDS:
            alike = [each for each in measures if each.spec.kind == kind]
            if alike:
                run_together(study, alike, listener=listener)
        columns = [_column(study, each, self.frame) for each in measures]
        features = np.array(columns, dtype=np.float64).T.reshape(len(self), len(columns))
        pictures = [[UnkeptPicture(study.files, sha256)] for sha256 in self.frame["sha256"].to_list()]
        prompts = [records[key] for key in self.frame["prompt_id"].to_list()]
        return Examples(prompts, features, [each.short for each in measures], pictures)


def answer_measures(names: Sequence[str]) -> list[Configured]:
    chosen = {each.identity: each for each in map(registry.find_measure, names)}
    for each in chosen.values():
        if each.spec.kind not in ("of_prompt", "of_image", "of_answer"):
            raise UsageError(
                f"{each.name} is a measure {each.spec.kind.replace('_', ' ')}, not of an answer",
                remedy="Use measures of a prompt, an image or an answer.",
            )
        each.require()
    return list(chosen.values())


def _column(study: Study, measure: Configured, frame: pl.DataFrame) -> list[float]:
    """The scores of a measure, one per answer, NaN where there is none."""
    on = {"of_prompt": ["prompt_id"], "of_image": ["image_id"]}.get(
        measure.spec.kind, ["prompt_id", "system_id", "image_id"]
    )
    scores = reading.scores(study, measure.identity).select(*on, pl.col("value").alias("score"))
    joined = frame.select(*on).join(scores.unique(on), on=on, how="left", maintain_order="left")
    return [float("nan") if value is None else value for value in joined["score"].to_list()]
