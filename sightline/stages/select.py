"""Select: a few prompts that stand for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sightline import registry
from sightline.errors import UsageError, near
from sightline.records import NewPrompt
from sightline.stages.export import prompt_table, write_table
from sightline.store import reading
from sightline.store.study import Study

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

WAYS = ("spread", "random")


@dataclass(frozen=True)
class Selected:
    """The chosen prompts in the order of the study, and how they were chosen."""

    prompt_ids: Sequence[int]
    suites: Sequence[str]
    refs: Sequence[str]
    texts: Sequence[str]
    how: str
    tag: str | None = None


def select(
    study: Study,
    n: int,
    *,
    by: str = "spread",
    encoder: str = "hashed_words",
    seed: int = 0,
    suite: str | None = None,
    tag: str | None = None,
) -> Selected:
    """Choose n prompts: `spread` over what they say, or `random`; nothing is written to the study.

    `spread` groups the texts' vectors by k-means (k-means++ start) into n groups and takes the prompt nearest
    each centre. `tag` is a name under which a file written from the choice marks the prompts.
    """
    import numpy as np

    if by not in WAYS:
        raise UsageError(f"prompts are not selected by {by!r}", remedy=near(by, WAYS))
    if seed < 0:
        raise UsageError(f"the seed is {seed}", remedy="A seed is 0 or more.")
    reading.need_prompts(study)
    prompts = prompts_of(study, suite)
    if not 1 <= n <= prompts.height:
        raise UsageError(
            f"{n} prompts cannot be selected out of {prompts.height}",
            remedy=f"A number from 1 to {prompts.height}.",
        )
    texts = prompts["text"].to_list()
    if by == "random":
        chosen = np.sort(np.random.default_rng(seed).choice(len(texts), n, replace=False))
        how = f"random(seed={seed})"
    else:
        backbone = registry.configure("backbone", encoder)
        if "text" not in backbone.spec.details["encodes"]:
            raise UsageError(f"{backbone.name} encodes no texts", remedy="sightline list backbone")
        vectors = np.asarray(backbone.load().text(texts), dtype=np.float32)
        chosen = spread(vectors, n, seed)
        how = f"spread(encoder={backbone}, seed={seed})"
    rows = prompts[chosen.tolist()]
    ids, suites, refs, wordings = (rows[name].to_list() for name in ("prompt_id", "suite", "ref", "text"))
    return Selected(ids, suites, refs, wordings, how, tag)


def prompts_of(study: Study, suite: str | None) -> pl.DataFrame:
    """The prompts of one suite, or of all; an unknown suite is an error that suggests near names."""
    import polars as pl

    prompts = reading.prompts(study)
    if suite is None:
        return prompts
    chosen = prompts.filter(pl.col("suite") == suite)
    if chosen.is_empty():
        known = prompts["suite"].unique().to_list()
        raise UsageError(f"there is no suite called {suite!r}", remedy=near(suite, known))
    return chosen


def spread(vectors: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Rows nearest the n centres of k-means, in rising order, never one twice.

    Where fewer than n rows differ, one of each kind is taken and the rest by the rows' order.
    """
    import numpy as np
    from sklearn.cluster import KMeans

    kinds, first = np.unique(vectors, axis=0, return_index=True)
    first = np.sort(first)
    if len(kinds) <= n:
        others = np.setdiff1d(np.arange(len(vectors)), first)
        return np.sort(np.concatenate([first, others[: n - len(first)]]))
    found = KMeans(n, init="k-means++", n_init=1, random_state=seed).fit(vectors[first])
    distances = found.transform(vectors[first])
    taken: list[int] = []
    for centre in range(n):
        order = np.argsort(distances[:, centre], kind="stable")
        taken.append(next(int(row) for row in order if int(row) not in taken))
    return np.sort(first[taken])


def write_selected(selected: Selected, path: str | Path) -> Path:
    """The chosen prompts as a file in the plain form (.csv, .jsonl or .parquet)."""
    import polars as pl

    tags = {selected.tag: "yes"} if selected.tag else {}
    table = prompt_table(selected.refs, [NewPrompt(text, tags) for text in selected.texts])
    return write_table(table.insert_column(0, pl.Series("suite", selected.suites, dtype=pl.String)), path)
