"""Pictured examples: prompts with the images that systems answered with, for predictors that see images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.records import Examples
from sightline.study import reading
from sightline.study.pools import pools
from sightline.study.running.embedding import embed_texts, images_embedded
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.systems.retrieve import UnkeptPicture

MOST = 25
"""So many answers of a system are looked at; generators give fewer, and engines rank hundreds."""
SYSTEMS = "systems"
"""Where examples carry who answered with each picture, as predictors that see images expect it."""


def pictured_examples(
    study: Study, ids: Sequence[int], encoder: Configured, *, listener: Listener | None = None
) -> Examples:
    """These prompts with the first images of each system, by system and position; features are none.

    The images are embedded, and the prompts too if the encoder encodes texts, so that an encoder inside a
    predictor that answers from the study's vectors has them at hand. Images without a readable file are left
    out; a prompt may have none.
    """
    answers = _embedded(study, _answers(study, ids), encoder, listener)
    records = reading.prompt_records(study, ids)
    texts = [records[key].text for key in ids]
    if texts and "text" in encoder.spec.details["encodes"]:
        embed_texts(study, encoder, texts, listener)
    shown: dict[int, list[tuple[str, Picture]]] = {key: [] for key in ids}
    for prompt, system, sha256 in answers.select("prompt_id", "system", "sha256").iter_rows():
        shown[prompt].append((system, UnkeptPicture(study.files, sha256)))
    widest = max((len(mine) for mine in shown.values()), default=0)
    names = [[system for system, _ in shown[key]] for key in ids]
    padded = [mine + [""] * (widest - len(mine)) for mine in names]
    return Examples(
        [records[key] for key in ids],
        np.zeros((len(ids), 0)),
        (),
        [[picture for _, picture in shown[key]] for key in ids],
        {SYSTEMS: np.array(padded, dtype=np.str_).reshape(len(ids), widest)},
    )


def _answers(study: Study, ids: Sequence[int]) -> pl.DataFrame:
    """system, prompt_id and sha256 of the first images of each system, in order; pools are no systems."""
    wanted = pl.DataFrame({"prompt_id": list(ids)}, {"prompt_id": pl.Int64})
    answers = reading.answers(study).join(wanted, on="prompt_id", how="semi")
    answers = answers.filter(pl.col("sha256").is_not_null() & ~pl.col("system").is_in(list(pools(study))))
    place = pl.col("position").rank("ordinal").over("prompt_id", "system_id")
    return answers.filter(place <= MOST).sort("prompt_id", "system", "position")


def _embedded(
    study: Study, answers: pl.DataFrame, encoder: Configured, listener: Listener | None
) -> pl.DataFrame:
    """The answers whose image has a vector."""
    distinct = answers["sha256"].unique().sort().to_list()
    unread = images_embedded(study, encoder, distinct, listener).without if distinct else {}
    return answers.filter(~pl.col("sha256").is_in(list(unread)))
