"""Answers of a bridge to captions it was not fitted on: how it would do on what it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.encoders.fit_bridge import Captioned, Fitted, captioned
from sightline.errors import UsageError
from sightline.records import ImageKey, Prompt
from sightline.statistics import bridge as arithmetic
from sightline.statistics.search import top_k
from sightline.study import reading
from sightline.study.captions import owners, wordings
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import embed_texts
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.empty_results import store_empty_results
from sightline.systems.ranking import Ranking, keep, refuse_name


@dataclass(frozen=True)
class CrossFitted:
    """What was answered: `unseen` prompts by a bridge that knew neither them nor their image.

    `others` are no captions of the collection. `torn` prompts are captions of images in several folds: every
    bridge knows one of these, so that they are not asked and count in no mean.
    """

    system: str
    source_id: int
    already: bool
    unseen: int
    others: int
    torn: int
    images: int


def cross_fitted(
    study: Study,
    system: str,
    collection: str,
    *,
    image: str | None = None,
    text: str | None = None,
    folds: int = 5,
    seed: int = 0,
    k: int = 100,
    suite: str | None = None,
    replace: bool = False,
    fitted: Fitted | None = None,
    listener: Listener | None = None,
) -> CrossFitted:
    """Let bridges answer the prompts of a study, each caption by one that was fitted without its image.

    The images of the collection fall into `folds`; for each fold a bridge is fitted on the others, settings
    and all, and ranks all images for the captions of the fold, and for prompts that rephrase one of them.
    Wrong images it has seen, the right one it has not: if anything, that is to its disadvantage. Prompts that
    are no caption of the collection are answered by a bridge fitted on all of it. `fitted` is what
    `fit_bridge` gave for the same encoders, folds and seed, if it was called before: its bridges need not be
    fitted again.
    """
    if folds < 2 or k < 1:
        raise UsageError(f"folds={folds}, k={k}", remedy="At least 2 folds and 1 answer.")
    refuse_name(study, system)
    wanted = prompts_of(study, suite)
    records = reading.prompt_records(study, wanted["prompt_id"].to_list())
    prompts = list(records.values())
    learned = captioned(study, collection, image=image, text=text, folds=folds, listener=listener)
    asked = embed_texts(study, learned.encoders["text"], [prompt.text for prompt in prompts], listener)
    said = wordings(study, {key: record.text for key, record in records.items()})
    captions: list[list[str]] = [[] for _ in learned.contents]
    for caption, owner in zip(learned.captions, learned.owner.tolist(), strict=True):
        captions[owner].append(caption)
    home = owners(said, captions)
    meter = Meter(f"{system}: bridges", folds + 1, listener)
    indices, scores = np.full((len(prompts), k), -1), np.full((len(prompts), k), np.nan)
    fold = np.zeros(len(learned.contents), dtype=np.int64)
    told = (learned.features, learned.said, learned.owner)
    ready = fitted.parts if fitted else ()
    parts = ready or arithmetic.cross_fitted(*told, folds=folds, seed=seed)
    bridges = []
    for number, (held, one) in enumerate(parts):
        fold[held] = number
        bridges.append(one)
        meter.add(computed=1)
    group = np.array([_group(fold[list(mine)], folds) for mine in home], dtype=np.int64)
    if (group == folds).any():
        bridges.append(fitted.full if fitted else _on_all(told, folds, seed))
    for number, one in enumerate(bridges):
        mine = np.flatnonzero(group == number)
        if mine.size:
            texts = one.text(asked[mine].astype(np.float64))
            indices[mine], scores[mine] = top_k(texts, one.image(learned.features), k)
    meter.add(computed=1)
    rankings = _rankings(study, collection, learned, prompts, indices, scores, k)
    settings_told = {
        "bridge": {name: str(each) for name, each in learned.encoders.items()},
        "folds": folds,
        "seed": seed,
        "collection": collection,
    }
    loaded = keep(
        study,
        system,
        collection,
        settings_told,
        rankings,
        by="bridge",
        path=f"{system} over {collection}",
        replace=replace,
    )
    vain = (group >= 0) & (indices < 0).all(axis=1)
    store_empty_results(study, loaded, system, settings_told, [prompts[n].key for n in np.flatnonzero(vain)])
    meter.finish()
    return CrossFitted(
        system,
        loaded.source_id,
        loaded.already,
        int(((group >= 0) & (group < folds)).sum()),
        int((group == folds).sum()),
        int((group < 0).sum()),
        len(learned.contents),
    )


def _on_all(told: tuple[np.ndarray, np.ndarray, np.ndarray], folds: int, seed: int) -> arithmetic.Bridge:
    return arithmetic.fit(*told, arithmetic.choose(*told, folds=folds, seed=seed), seed=seed)


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
    images = reading.images(study).filter(reading.images(study)["collection"] == collection)
    for name, content in images.select("name", "sha256").iter_rows():
        names.setdefault(content, []).append(ImageKey(collection, name))
    found = []
    for prompt, row, values in zip(prompts, indices.tolist(), scores.tolist(), strict=True):
        pairs = [
            (key, value)
            for number, value in zip(row, values, strict=True)
            if number >= 0
            for key in names[learned.contents[number]]
        ][:k]
        if pairs:
            found.append(Ranking(prompt.key, [key for key, _ in pairs], [value for _, value in pairs]))
    return found
