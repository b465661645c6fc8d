"""Yes or no for every answer of a study, by verdict or by people, with the skill that its prompt tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError, UsageError, near
from sightline.records import Question
from sightline.skills import store
from sightline.statistics.grouping import Array, Indices
from sightline.study import reading, rollup
from sightline.study.groups import families_of
from sightline.study.study import Study

VERDICT = "verdict"
"""The kind under which verdicts are kept as scores, and what they are called next to questions."""
SKILL_TAGS = ("skill", "task")
"""The tags that may name the skill of a prompt, the first that there is."""
NO_SKILL = "no skill named"
ON_ANSWER = ["system_id", "prompt_id", "position"]


@dataclass(frozen=True)
class Matches:
    """One row per answer: 1 matches, 0 does not, NaN is not known. `unit` numbers families of prompts."""

    by: str
    prompt: Indices
    system: NDArray[np.str_]
    position: Indices
    image: Indices
    unit: Indices
    skill: NDArray[np.str_]
    match: Array

    def __len__(self) -> int:
        return int(self.match.size)

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(self.system.tolist()))

    @property
    def skills(self) -> list[str]:
        """The skills in the order in which their prompts come."""
        return list(dict.fromkeys(self.skill.tolist()))

    def where(self, keep: NDArray[np.bool_]) -> Matches:
        """The rows at which `keep` is true."""
        names = ("prompt", "system", "position", "image", "unit", "skill", "match")
        return replace(self, **{name: getattr(self, name)[keep] for name in names})

    def of(self, system: str, skill: str | None = None) -> NDArray[np.bool_]:
        """The rows of a system, of one skill or of all."""
        mine: NDArray[np.bool_] = self.system == system
        return mine if skill is None else mine & (self.skill == skill)


@dataclass(frozen=True)
class StoredVerdicts:
    """The verdicts of one way of deciding: its name, its identity, and a row per answer."""

    name: str
    identity: str
    frame: pl.DataFrame


def skill_tag(study: Study, per: str | None) -> str:
    """The tag that names skills: the one asked for, else `skill` or `task`."""
    names = reading.tags(study)["name"].unique().sort().to_list()
    if per is not None and per not in names:
        raise UsageError(f"no prompt has a tag {per!r}", remedy=near(per, names) or "Import tags: tags.skill")
    found = per or next((name for name in SKILL_TAGS if name in names), None)
    if found is None:
        raise DataError(
            "no prompt says which skill it tests",
            where=study.name,
            remedy="Make prompts by sightline suite make, import a column tags.skill, or name a tag by --per",
        )
    return found


def stored_verdicts(study: Study, identity: str | None = None) -> StoredVerdicts:
    """The verdicts that a study holds: those of a way of deciding, by default the newest."""
    known = reading.measures(study).filter(pl.col("kind") == VERDICT)
    known = known.filter(pl.col("values") + pl.col("without") > 0)
    if identity is not None:
        known = known.filter(pl.col("identity") == identity)
    if known.is_empty():
        raise DataError(
            "there are no verdicts yet", where=study.name, remedy=f"Run sightline verify {study.name}"
        )
    row = known.row(-1, named=True)
    scores = reading.scores(study, str(row["identity"]))
    return StoredVerdicts(str(row["measure"]), str(row["identity"]), scores)


def answers_of(study: Study, per: str) -> pl.DataFrame:
    """Every answer with an image: its prompt, family, system, position, image and skill."""
    answers = reading.answers(study, "generator").filter(pl.col("image_id").is_not_null())
    if answers.is_empty():
        reading.need_prompts(study)
        raise DataError(
            "no generator has answered yet",
            where=study.name,
            remedy=f"Import images: sightline import {study.name} FOLDER",
        )
    prompts = answers["prompt_id"].unique().sort()
    families = pl.DataFrame({"prompt_id": prompts, "unit": families_of(study, prompts.to_list())})
    tags = reading.tags(study).filter(pl.col("name") == per).select("prompt_id", skill="value")
    keep = ["system_id", "system", "prompt_id", "position", "image_id"]
    joined = answers.select(keep).join(families, on="prompt_id").join(tags, on="prompt_id", how="left")
    return joined.with_columns(pl.col("skill").fill_null(NO_SKILL)).sort("prompt_id", "system_id", "position")


def by_verdict(study: Study, answers: pl.DataFrame, verdicts: StoredVerdicts) -> Matches:
    """Every answer with its verdict."""
    said = verdicts.frame.select("prompt_id", "image_id", "value")
    return _matches(verdicts.name, answers.join(said, on=["prompt_id", "image_id"], how="left"))


def by_people(study: Study, answers: pl.DataFrame, question: str, yes_from: float | None = None) -> Matches:
    """Every answer with what people said: the proportion that said yes, or 1 from `yes_from` on."""
    asked = {each.name: each for _, each in reading.questions(study)}
    if question not in asked:
        raise UsageError(f"there is no question {question!r}", remedy=near(question, asked))
    truth = rollup.of_answers(study, question).select(*ON_ANSWER, "value")
    if truth.is_empty():
        raise DataError(
            f"no answer has a truth on {question}",
            where=study.name,
            remedy=f"Run sightline truth {study.name}, or have answers judged: sightline annotate",
        )
    if yes_from is not None:
        truth = truth.with_columns((pl.col("value") >= yes_from).cast(pl.Float64))
    elif _graded(asked[question]) or not truth["value"].is_between(0, 1).all():
        raise UsageError(
            f"{question} is not answered by yes or no",
            remedy="Say from which value on an image matches: --yes-from VALUE",
        )
    return _matches(question, answers.join(truth, on=ON_ANSWER, how="left"))


def yes_no_question(study: Study) -> str | None:
    """The question that people answer by yes or no about single answers, if there is one with truth."""
    for _, asked in reading.questions(study):
        yes_no = (asked.low, asked.high) == (0, 1) and not _graded(asked)
        settled = reading.newest_settlement(study, asked.name) if yes_no else None
        if settled is not None and not rollup.of_answers(study, asked.name).is_empty():
            return asked.name
    return None


def _graded(asked: Question) -> bool:
    """Whether a question has more answers than two, such as 0, 0.5 and 1."""
    return (asked.step is not None and asked.step < 1) or len(asked.labels) > 2


def without_corrections(study: Study, people: Matches) -> tuple[Matches, int]:
    """What people judged, without what only the owner judged to correct a verdict, and how many these are.

    Corrections are made where a verdict looks wrong: they are no random sample of the answers.
    """
    corrected = store.only_corrected(study, people.by)
    if not corrected:
        return people, 0
    pairs = zip(people.prompt.tolist(), people.image.tolist(), strict=True)
    chosen = np.array([pair in corrected for pair in pairs], dtype=np.bool_) & ~np.isnan(people.match)
    return replace(people, match=np.where(chosen, np.nan, people.match)), int(chosen.sum())


def _matches(by: str, rows: pl.DataFrame) -> Matches:
    return Matches(
        by=by,
        prompt=rows["prompt_id"].to_numpy().astype(np.int64),
        system=_texts(rows["system"].to_list()),
        position=rows["position"].to_numpy().astype(np.int64),
        image=rows["image_id"].to_numpy().astype(np.int64),
        unit=rows["unit"].to_numpy().astype(np.int64),
        skill=_texts(rows["skill"].to_list()),
        match=rows["value"].cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64),
    )


def _texts(values: Sequence[str]) -> NDArray[np.str_]:
    return np.array(values, dtype=np.str_)
