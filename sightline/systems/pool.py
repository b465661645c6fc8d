"""Pool: gather the images that people are to judge for each prompt.

A pool is kept as the answers of a system of its own, best first. So it is judged by a round that names it
(`systems = ["pool"]`), exported, and undone like any answers, and the judgements are of a prompt with an
image: settled, they are the relevance of every engine, not of the pool.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.data.export import write_table
from sightline.encoders.choice import Loadable, encoder_of, first_loadable
from sightline.errors import DataError, UsageError, near
from sightline.extension import Configured
from sightline.language.search_words import search_words
from sightline.records import ImageKey
from sightline.statistics.search import owners_above, top_k, unit
from sightline.study import listing, reading
from sightline.study.pools import POOL, pools
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import embed_texts, images_embedded
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.ranking import engines, keep, named, refuse_name

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

WAYS = ("depth", "captions", "neighbours")
LOOKS = ("efficientnet_lite0", "colour_layout")
"""What pictures are compared by: the first of these that can be loaded here."""


@dataclass(frozen=True)
class Pooled:
    """What was gathered: pairs of prompt and image, prompts with any, and what could not be looked at.

    `unseen` counts pairs whose image has no file in the study, and so cannot be shown to anybody.
    """

    name: str
    how: str
    source_id: int
    already: bool
    prompts: int
    pairs: int
    fewest: int
    most: int
    unseen: int
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Found:
    rows: pl.DataFrame
    """prompt_id, image_id, value: in order of prompt and falling value."""
    collection: str | None
    how: Mapping[str, Any]
    left_out: Mapping[str, int] = field(default_factory=dict)


def pool(
    study: Study,
    name: str = "pool",
    *,
    by: str = "depth",
    systems: Sequence[str] = (),
    depth: int = 100,
    collection: str | None = None,
    encoder: str | None = None,
    above: float = 0.7,
    contained_after: int = 1_000,
    most: int = 2_000,
    seeds: str = "seed",
    neighbours: int = 100,
    only: Collection[ImageKey] | None = None,
    only_by: str = "named images",
    suite: str | None = None,
    replace: bool = False,
    listener: Listener | None = None,
) -> Pooled:
    """Gather images to judge for each prompt and keep them as the answers of a system called `name`.

    `depth`: the first `depth` of each of `systems` (all engines if none is named) together; the score is
    1 / best rank. `captions` (PQPP): every image of `collection` with a caption whose cosine with the prompt
    is above `above` in the space of `encoder`; past place `contained_after` only where each word of the
    prompt is found as often in all captions of the image together; `most` at the most. `neighbours` (ConQA):
    the images of the truth `seeds`, and the `neighbours` nearest to any of them by the pictures' cosine.
    An encoder that is not named is `sentence`, or for pictures the first of LOOKS that can be loaded here,
    which the result names. With `only` (see `eligible`) no other images are gathered; seeds stay whatever
    they are. `only_by` is how those were chosen, kept with the pool.
    """
    if by not in WAYS:
        raise UsageError(f"a pool is not gathered by {by!r}", remedy=near(by, WAYS))
    if min(depth, most, neighbours) < 1 or contained_after < 0 or not -1 <= above < 1:
        raise UsageError(
            "depth, most and neighbours are 1 or more, contained_after 0 or more, above from -1 to below 1"
        )
    refuse_name(study, name)
    if listing.system_kind(study, name) is not None and name not in pools(study):
        raise UsageError(f"{name!r} is an engine of this study", remedy="Give the pool another name.")
    reading.need_prompts(study)
    prompts = prompts_of(study, suite)
    if by == "depth":
        found = _by_depth(study, prompts, systems, depth)
    elif by == "captions":
        told = encoder_of(encoder or "sentence", "text")
        home = _collection(study, collection)
        images = _images(study, home, only)
        found = _by_captions(study, prompts, images, home, told, (above, contained_after, most), listener)
    else:
        looks = first_loadable((encoder,) if encoder else LOOKS, "image")
        home = _collection(study, collection)
        images = _images(study, home, only, always=_seeds(study, prompts, seeds)["image_id"].to_list())
        found = _by_neighbours(study, prompts, images, home, looks, seeds, neighbours, listener)
    if found.rows.is_empty():
        raise DataError("the pool is empty: not one image fits any prompt", remedy=_REMEDIES[by])
    if only is not None and by != "depth":
        found = replaced(found, how={**found.how, "only": _told(only, only_by, found.collection)})
    return _kept(study, name, found, replace)


def _told(only: Collection[ImageKey], by: str, collection: str | None) -> str:
    """Which images might be gathered: how they were chosen, how many, and a hash by which they are known."""
    names = sorted({key.name for key in only if key.collection == collection})
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{by} ({len(names):,}, sha256 {digest[:16]})"


_REMEDIES = {
    "depth": "Do the engines answer these prompts? sightline status tells.",
    "captions": "Lower above, or choose another encoder: sightline list encoder",
    "neighbours": "Seeds are truths of a prompt with an image, and their files must be in the study.",
}


def write_pool(study: Study, name: str, path: str | Path) -> Path:
    """The pairs of a pool as a file (.csv, .jsonl or .parquet), to be judged elsewhere."""
    import polars as pl

    table, _ = listing.named_answers(study)
    rows = table.filter(pl.col("system") == name)
    return write_table(rows.select("suite", "prompt_id", "prompt", "collection", "image", "score"), path)


def _kept(study: Study, name: str, found: _Found, replace: bool) -> Pooled:
    sizes = found.rows.group_by("prompt_id").len()["len"]
    images = reading.images(study)
    shown = images.filter(images["sha256"].is_not_null())
    unseen = found.rows.join(shown, on="image_id", how="anti").height
    settings = {"pool": dict(found.how), "collection": found.collection}
    how = ", ".join(f"{key}={value}" for key, value in found.how.items())
    rankings = named(study, found.rows)
    loaded = keep(
        study, name, found.collection, settings, rankings, by=POOL, path=f"pool {name}", replace=replace
    )
    fewest, most = int(sizes.min() or 0), int(sizes.max() or 0)  # type: ignore[arg-type]
    counts = (len(rankings), found.rows.height, fewest, most, unseen)
    return Pooled(name, how, loaded.source_id, loaded.already, *counts, found.left_out)


def _by_depth(study: Study, prompts: pl.DataFrame, systems: Sequence[str], depth: int) -> _Found:
    import polars as pl

    gathered = pools(study)
    names = list(systems) or [
        each
        for each, kind in listing.searched(study).select("system", "kind").iter_rows()
        if kind == "retriever" and each not in gathered
    ]
    if not names:
        raise DataError("no engine has answered yet", remedy="Import a TREC run, or sightline retrieve.")
    known = engines(study, names, depth)
    rows = (
        known.answers.join(prompts.select("prompt_id"), on="prompt_id", how="semi")
        .group_by("prompt_id", "image_id")
        .agg(pl.col("rank").min())
        .sort("prompt_id", "rank", "image_id")
        .select("prompt_id", "image_id", value=1 / pl.col("rank"))
    )
    return _Found(rows, known.collection, {"by": "depth", "systems": names, "depth": depth})


def _by_captions(
    study: Study,
    prompts: pl.DataFrame,
    images: pl.DataFrame,
    collection: str,
    encoder: Configured,
    limits: tuple[float, int, int],
    listener: Listener | None,
) -> _Found:
    import numpy as np
    import polars as pl

    above, contained_after, most = limits
    captions = reading.captions(study).join(images, on="image_id", how="semi")
    if captions.is_empty():
        raise DataError(
            f"no image of collection {collection!r} has a caption",
            remedy="Import a table of image and caption.",
        )
    bags: dict[int, Counter[str]] = {}
    for key, caption in captions.select("image_id", "caption").iter_rows():
        bags.setdefault(key, Counter()).update(search_words(caption))
    rows = unit(embed_texts(study, encoder, captions["caption"].to_list(), listener))
    texts = prompts["text"].to_list()
    asked = unit(embed_texts(study, encoder, texts, listener))
    meter = Meter("pool by captions", len(texts), listener)
    parts: dict[str, list[Any]] = {"prompt_id": [], "image_id": [], "value": []}
    every = owners_above(asked, rows, captions["image_id"].to_numpy(), above)
    for key, text, (owner, score) in zip(prompts["prompt_id"].to_list(), texts, every, strict=True):
        query = Counter(search_words(text))
        stays = np.array([n < contained_after or query <= bags[int(i)] for n, i in enumerate(owner)], bool)
        kept = np.flatnonzero(stays)[:most]
        parts["prompt_id"] += [key] * len(kept)
        parts["image_id"] += owner[kept].tolist()
        parts["value"] += score[kept].tolist()
        meter.add(computed=1)
    meter.finish()
    how = {"by": "captions", "encoder": str(encoder), "above": above}
    schema = {"prompt_id": pl.Int64, "image_id": pl.Int64, "value": pl.Float64}
    return _Found(
        pl.DataFrame(parts, schema=schema),
        collection,
        {**how, "contained_after": contained_after, "most": most},
    )


def _by_neighbours(
    study: Study,
    prompts: pl.DataFrame,
    images: pl.DataFrame,
    collection: str,
    looks: Loadable,
    question: str,
    neighbours: int,
    listener: Listener | None,
) -> _Found:
    import numpy as np
    import polars as pl

    images = images.filter(pl.col("sha256").is_not_null())
    if images.is_empty():
        raise DataError(
            f"no image of collection {collection!r} has its file in the study",
            remedy="Import the image files: neighbours are found by looking at them.",
        )
    told = images_embedded(study, looks.encoder, images["sha256"].to_list(), listener)
    readable = ~np.isnan(told.vectors).all(axis=1)
    ids = images["image_id"].to_numpy()[readable]
    vectors = unit(told.vectors[readable])
    seeds = _seeds(study, prompts, question)
    at = {int(key): n for n, key in enumerate(ids)}
    lost = sum(int(image) not in at for image in seeds["image_id"])
    left_out = Counter(told.without.values())
    left_out["a seed has no readable file in this collection"] = lost
    rows = _grown(seeds, at, ids, vectors, neighbours)
    how = {"by": "neighbours", "encoder": str(looks.encoder), "seeds": question, "neighbours": neighbours}
    if looks.instead:
        how["encoder_because"] = looks.instead
    return _Found(rows, collection, how, {reason: n for reason, n in left_out.items() if n})


def _seeds(study: Study, prompts: pl.DataFrame, question: str) -> pl.DataFrame:
    import polars as pl

    reading.question(study, question)
    return (
        reading.truths(study, question)
        .filter((pl.col("value") > 0) & (pl.col("prompt_id") > 0) & (pl.col("image_id") > 0))
        .join(prompts, on="prompt_id", how="semi")
        .select("prompt_id", "image_id")
        .unique(maintain_order=True)
        .sort("prompt_id", "image_id")
    )


def _images(
    study: Study, collection: str, only: Collection[ImageKey] | None, always: Sequence[int] = ()
) -> pl.DataFrame:
    """The images of a collection that may be gathered."""
    import polars as pl

    images = reading.images(study).filter(pl.col("collection") == collection)
    if only is None:
        return images
    names = [key.name for key in only if key.collection == collection]
    return images.filter(pl.col("name").is_in(names) | pl.col("image_id").is_in(list(always)))


def _grown(
    seeds: pl.DataFrame, at: Mapping[int, int], ids: np.ndarray, vectors: np.ndarray, neighbours: int
) -> pl.DataFrame:
    """Each prompt's seeds, and the images nearest to any of them.

    An image among the n nearest of a set is among the n + |set| nearest of one of its members.
    """
    import numpy as np
    import polars as pl

    parts = []
    for (prompt,), mine in seeds.group_by("prompt_id", maintain_order=True):
        places = np.array([at[int(image)] for image in mine["image_id"] if int(image) in at], dtype=np.int64)
        if not places.size:
            continue
        found, cosine = top_k(vectors[places], vectors, neighbours + len(places))
        there = found >= 0
        near_by = pl.DataFrame({"place": found[there], "value": cosine[there]})
        near_by = near_by.filter(~pl.col("place").is_in(places.tolist()))
        best = near_by.group_by("place").agg(pl.col("value").max())
        best = best.sort("value", "place", descending=[True, False]).head(neighbours)
        whole = pl.concat([pl.DataFrame({"place": places, "value": np.ones(len(places))}), best])
        parts.append(
            whole.select(
                pl.lit(prompt, pl.Int64).alias("prompt_id"),
                pl.Series("image_id", ids[whole["place"].to_numpy()], dtype=pl.Int64),
                pl.col("value").clip(-1.0, 1.0),
            )
        )
    schema = {"prompt_id": pl.Int64, "image_id": pl.Int64, "value": pl.Float64}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def _collection(study: Study, name: str | None) -> str:
    known = reading.images(study)["collection"].unique().sort().to_list()
    if name is None and len(known) == 1:
        return str(known[0])
    if name is None or name not in known:
        said = "no collection is named" if name is None else f"there is no collection called {name!r}"
        raise UsageError(said, remedy=near(name or "", known) or f"One of {', '.join(known)}.")
    return name
