"""Answers of a bridge to captions it was not fitted on: how it would do on what it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sightline.encoders.fit_bridge import (
    COLLECTION,
    FOLDS,
    IMAGE_ENCODER,
    TEXT_ENCODER,
    BridgeFit,
    Captioned,
    captioned,
)
from sightline.errors import UsageError
from sightline.records import ImageKey, Prompt
from sightline.rendering.tables import Column, Table
from sightline.statistics import bridge as arithmetic
from sightline.statistics.search import top_k
from sightline.study import reading
from sightline.study.captions import owners, wordings
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import embed_texts
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.ranking import (
    REPLACE,
    SUITE,
    SYSTEM,
    K,
    Ranking,
    StoredRankings,
    refuse_name,
    store_rankings,
)
from sightline.verbs import SEED, argument, verb


@dataclass(frozen=True)
class BridgeAnswers(StoredRankings):
    """What was answered: `unseen` prompts by a bridge that was fitted without them and their image.

    `others` are not captions of the collection. `torn` prompts are captions of images in several folds: every
    bridge was fitted on one of these, so they are not answered and count in no mean.
    """

    images: int
    unseen: int
    others: int
    torn: int

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("system"),
            Column("images", "images searched"),
            Column("unseen", "captions not fitted on"),
            Column("others", "other prompts"),
            Column("torn", "captions of several images"),
        ]
        row = (self.system, self.images, self.unseen, self.others, self.torn)
        return {"": Table(columns, [row], "Answered by bridges fitted without the prompt's image")}


@verb("collect")
def bridge_answers(
    study: Study,
    system: Annotated[str, argument(SYSTEM, "SYSTEM")],
    collection: Annotated[str, COLLECTION],
    *,
    image: Annotated[str | None, IMAGE_ENCODER] = None,
    text: Annotated[str | None, TEXT_ENCODER] = None,
    folds: Annotated[int, FOLDS] = 5,
    seed: Annotated[int, SEED] = 0,
    k: Annotated[int, K] = 100,
    suite: Annotated[str | None, SUITE] = None,
    replace: Annotated[bool, REPLACE] = False,
    fitted: BridgeFit | None = None,
    listener: Listener | None = None,
) -> BridgeAnswers:
    """Answer captions by bridges fitted without their image.

    For each fold of the collection's images a bridge is fitted on the others, settings included, and ranks
    all images for the captions of the fold and for prompts that rephrase one of them. It has seen wrong
    images, but not the right one: if anything, that is to its disadvantage. Prompts that are not captions of
    the collection are answered by a bridge fitted on all of it.

    \b
    sightline bridge-answers my-study unseen photos
    """
    # `fitted` is the result of fit_bridge with the same encoders, folds and seed: nothing is fitted again.
    if folds < 2 or k < 1:
        raise UsageError(f"folds={folds}, k={k}", remedy="At least 2 folds and 1 answer.")
    refuse_name(study, system)
    records = reading.prompt_records(study, prompts_of(study, suite)["prompt_id"].to_list())
    prompts = list(records.values())
    learned = captioned(study, collection, image=image, text=text, folds=folds, listener=listener)
    asked = embed_texts(study, learned.encoders["text"], [prompt.text for prompt in prompts], listener)
    captions: list[list[str]] = [[] for _ in learned.contents]
    for caption, owner in zip(learned.captions, learned.owner.tolist(), strict=True):
        captions[owner].append(caption)
    home = owners(wordings(study, {key: record.text for key, record in records.items()}), captions)
    meter = Meter(f"{system}: bridges", folds + 1, listener)
    indices, scores = np.full((len(prompts), k), -1), np.full((len(prompts), k), np.nan)
    fold = np.zeros(len(learned.contents), dtype=np.int64)
    data = (learned.features, learned.said, learned.owner)
    bridges = []
    parts = fitted.parts if fitted else arithmetic.cross_fitted(*data, folds=folds, seed=seed)
    for number, (held_out, part) in enumerate(parts):
        fold[held_out] = number
        bridges.append(part)
        meter.add(computed=1)
    group = np.array([_group(fold[list(own)], folds) for own in home], dtype=np.int64)
    if fitted is not None:
        bridges.append(fitted.full)
    elif (group == folds).any():
        chosen = arithmetic.choose(*data, folds=folds, seed=seed)
        bridges.append(arithmetic.fit(*data, chosen, seed=seed))
    for number, bridge in enumerate(bridges):
        mine = np.flatnonzero(group == number)
        if mine.size:
            texts = bridge.text(asked[mine].astype(np.float64))
            indices[mine], scores[mine] = top_k(texts, bridge.image(learned.features), k)
    meter.add(computed=1)
    encoders = {name: str(each) for name, each in learned.encoders.items()}
    empty = (group >= 0) & (indices < 0).all(axis=1)
    rankings = _rankings(study, collection, learned, prompts, indices, scores, k)
    stored = store_rankings(
        study,
        system,
        collection,
        {"bridge": encoders, "folds": folds, "seed": seed, "collection": collection},
        rankings,
        by="bridge",
        path=f"{system} over {collection}",
        replace=replace,
        empty=[prompts[n].key for n in np.flatnonzero(empty)],
    )
    meter.finish()
    return BridgeAnswers(
        *stored,
        images=len(learned.contents),
        unseen=int(((group >= 0) & (group < folds)).sum()),
        others=int((group == folds).sum()),
        torn=int((group < 0).sum()),
    )


def _group(folds_of: np.ndarray, folds: int) -> int:
    """The fold of a prompt's images; `folds` if it has none, -1 if they are in several."""
    several = np.unique(folds_of)
    return folds if not len(several) else int(several[0]) if len(several) == 1 else -1


def _rankings(
    study: Study,
    collection: str,
    learned: Captioned,
    prompts: list[Prompt],
    indices: np.ndarray,
    scores: np.ndarray,
    k: int,
) -> list[Ranking]:
    names: dict[str, list[ImageKey]] = {}
    images = reading.images(study)
    for name, content in (
        images.filter(images["collection"] == collection).select("name", "sha256").iter_rows()
    ):
        names.setdefault(content, []).append(ImageKey(collection, name))
    rankings = []
    for prompt, row, values in zip(prompts, indices.tolist(), scores.tolist(), strict=True):
        pairs = [
            (key, value)
            for number, value in zip(row, values, strict=True)
            if number >= 0
            for key in names[learned.contents[number]]
        ][:k]
        if pairs:
            rankings.append(Ranking(prompt.key, [key for key, _ in pairs], [value for _, value in pairs]))
    return rankings
