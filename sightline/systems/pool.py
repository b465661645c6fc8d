"""Pool: gather the images to be judged for each prompt.

A pool is stored as the answers of a system of its own, best first. So it is judged by a round that names it
(`systems = ["pool"]`), exported and undone like any answers. Its judgements are of a prompt with an image:
their consensus is the relevance for every engine, not for the pool alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from sightline.data.export import write_table
from sightline.encoders.choice import Loadable, encoder_of, first_loadable
from sightline.errors import DataError, UsageError, near
from sightline.extension import Configured
from sightline.language.search_words import search_words
from sightline.records import ImageKey
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.search import owners_above, top_k, unit
from sightline.study import listing, reading
from sightline.study.pools import POOL, pools
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import embed_texts, images_embedded
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.eligible import eligible
from sightline.systems.ranking import SUITE, as_rankings, engines, reasons_table, refuse_name, store_rankings
from sightline.verbs import argument, option, verb

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

Way = Literal["depth", "captions", "neighbours"]
IMAGE_ENCODERS = ("efficientnet_lite0", "colour_layout")
"""What images are compared by: the first of these that can be loaded here."""


@dataclass(frozen=True)
class Pool(Result):
    """The pairs of prompt and image to judge, and what could not be looked at.

    `fewest` and `most` are per prompt. `unseen` counts pairs whose image has no file in the study, and so
    cannot be shown to anybody.
    """

    name: str
    how: str
    number: int
    already: bool
    prompts: int
    pairs: int
    fewest: int
    most: int
    unseen: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    path: str = ""

    @property
    def notes(self) -> Sequence[str]:
        return [
            *(["The study already held exactly this pool: nothing was changed."] if self.already else []),
            *([f"Written to {self.path}."] if self.path else []),
            f'To judge it, add a round to study.toml with systems = ["{self.name}"] and '
            'mode = "binary_relevance".',
        ]

    @property
    def next(self) -> Sequence[str]:
        return "sightline annotate STUDY", f"sightline undo STUDY {self.number}   # undoes this pool"

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("pool"),
            Column("prompts"),
            Column("pairs"),
            Column("fewest", "fewest per prompt"),
            Column("most", "most per prompt"),
            Column("unseen", "without a file"),
        ]
        row = (self.name, self.prompts, self.pairs, self.fewest, self.most, self.unseen)
        tables = {"pools": Table(columns, [row], self.how)}
        if self.left_out:
            tables["left_out"] = reasons_table(self.left_out, "What could not be looked at")
        return tables


@dataclass(frozen=True)
class _Gathered:
    rows: pl.DataFrame
    """prompt_id, image_id, value: in order of prompt and falling value."""
    collection: str | None
    how: Mapping[str, Any]
    left_out: Mapping[str, int] = field(default_factory=dict)


@verb("collect")
def pool(
    study: Study,
    name: Annotated[str, argument("The name under which the pool is stored.", "NAME")] = "pool",
    *,
    by: Annotated[
        Way,
        option("Gather the first answers of engines, images with similar captions, or neighbours of seeds."),
    ] = "depth",
    systems: Annotated[
        Sequence[str],
        option("For depth: gather from this engine; repeatable.", "--system", metavar="ENGINE", shown="all"),
    ] = (),
    depth: Annotated[int, option("For depth: gather this many answers of each engine.", least=1)] = 100,
    collection: Annotated[
        str | None,
        option(
            "For captions and neighbours: gather from this collection.", metavar="NAME", shown="the only one"
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        option(
            "Compare captions or images with this encoder: see sightline list encoder.",
            metavar="ENCODER",
            shown="sentence for captions, efficientnet_lite0 for neighbours, else colour_layout",
        ),
    ] = None,
    above: Annotated[float, option("For captions: require a cosine above this.")] = 0.7,
    contained_after: Annotated[
        int,
        option("For captions: after this place, require all words of the prompt in the captions.", least=0),
    ] = 1_000,
    most: Annotated[
        int, option("For captions: gather at most this many images per prompt.", least=1)
    ] = 2_000,
    seeds: Annotated[
        str, option("For neighbours: take the truth of this question as seeds.", metavar="QUESTION")
    ] = "seed",
    neighbours: Annotated[int, option("For neighbours: gather this many images per prompt.", least=1)] = 100,
    relations: Annotated[
        bool,
        option("For captions and neighbours: only images with a scene graph of actions and places."),
    ] = False,
    only: Collection[ImageKey] | None = None,
    suite: Annotated[str | None, SUITE] = None,
    replace: Annotated[bool, option("Undo the earlier pool of this name first.")] = False,
    to: Annotated[
        str | Path | None,
        option("Also write the pairs to a .csv, .jsonl or .parquet file.", metavar="FILE"),
    ] = None,
    listener: Listener | None = None,
) -> Pool:
    """Gather the images to be judged for each prompt.

    The pool is stored as the answers of a system of its own. By `depth`: the first answers of each engine;
    the score is 1 / best rank. By `captions` (PQPP): every image with a caption whose cosine with the prompt
    is above a limit; later in the list only where the captions of the image together contain each word of the
    prompt as often. By `neighbours` (ConQA): the seeds, and the images nearest to any of them.

    \b
    sightline pool my-study --depth 20
    sightline pool my-study wide --by captions --collection photos --above 0.7
    sightline pool my-study grown --by neighbours --collection photos --seeds seed
    """
    if by not in get_args(Way):
        raise UsageError(f"a pool is not gathered by {by!r}", remedy=near(by, get_args(Way)))
    if min(depth, most, neighbours) < 1 or contained_after < 0 or not -1 <= above < 1:
        raise UsageError(
            "depth, most and neighbours are 1 or more, contained_after 0 or more, above from -1 to below 1"
        )
    if relations and (by == "depth" or collection is None):
        raise UsageError(
            "--relations chooses among the images of a collection",
            remedy="Give --collection NAME, and --by captions or neighbours.",
        )
    refuse_name(study, name)
    if listing.system_kind(study, name) is not None and name not in pools(study):
        raise UsageError(f"{name!r} is an engine of this study", remedy="Give the pool another name.")
    reading.need_prompts(study)
    if relations and collection:
        only = eligible(study, collection).images
    prompts = prompts_of(study, suite)
    if by == "depth":
        gathered = _by_depth(study, prompts, systems, depth)
    elif by == "captions":
        texts = encoder_of(encoder or "sentence", "text")
        home = _collection(study, collection)
        images = _images(study, home, only)
        limits = (above, contained_after, most)
        gathered = _by_captions(study, prompts, images, home, texts, limits, listener)
    else:
        chosen = first_loadable((encoder,) if encoder else IMAGE_ENCODERS, "image")
        home = _collection(study, collection)
        images = _images(study, home, only, always=_seeds(study, prompts, seeds)["image_id"].to_list())
        gathered = _by_neighbours(study, prompts, images, home, chosen, seeds, neighbours, listener)
    if gathered.rows.is_empty():
        raise DataError("the pool is empty: no image matches any prompt", remedy=_REMEDIES[by])
    if only is not None and by != "depth":
        described = _described(only, "relations" if relations else "named images", gathered.collection)
        gathered = replaced(gathered, how={**gathered.how, "only": described})
    stored = _stored(study, name, gathered, replace)
    return stored if to is None else replaced(stored, path=str(_write(study, name, to)))


def _described(only: Collection[ImageKey], by: str, collection: str | None) -> str:
    """Which images could be gathered: how they were chosen, how many, and a hash that identifies them."""
    names = sorted({key.name for key in only if key.collection == collection})
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{by} ({len(names):,}, sha256 {digest[:16]})"


_REMEDIES = {
    "depth": "Do the engines answer these prompts? See sightline status.",
    "captions": "Lower above, or choose another encoder: sightline list encoder",
    "neighbours": "Seeds are truths of a prompt with an image, and their files must be in the study.",
}


def _write(study: Study, name: str, path: str | Path) -> Path:
    import polars as pl

    table, _ = listing.named_answers(study)
    rows = table.filter(pl.col("system") == name)
    return write_table(rows.select("suite", "prompt_id", "prompt", "collection", "image", "score"), path)


def _stored(study: Study, name: str, gathered: _Gathered, replace: bool) -> Pool:
    sizes = gathered.rows.group_by("prompt_id").len()["len"].to_list()
    images = reading.images(study)
    shown = images.filter(images["sha256"].is_not_null())
    rankings = as_rankings(study, gathered.rows)
    settings = {"pool": dict(gathered.how), "collection": gathered.collection}
    stored = store_rankings(
        study, name, gathered.collection, settings, rankings, by=POOL, path=f"pool {name}", replace=replace
    )
    return Pool(
        name=name,
        how=", ".join(f"{key}={value}" for key, value in gathered.how.items()),
        number=stored.number,
        already=stored.already,
        prompts=stored.prompts,
        pairs=stored.answers,
        fewest=min(sizes),
        most=max(sizes),
        unseen=gathered.rows.join(shown, on="image_id", how="anti").height,
        left_out=gathered.left_out,
    )


def _by_depth(study: Study, prompts: pl.DataFrame, systems: Sequence[str], depth: int) -> _Gathered:
    import polars as pl

    earlier = pools(study)
    names = list(systems) or [
        each
        for each, kind in reading.systems(study).select("system", "kind").iter_rows()
        if kind == "retriever" and each not in earlier
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
    return _Gathered(rows, known.collection, {"by": "depth", "systems": names, "depth": depth})


def _by_captions(
    study: Study,
    prompts: pl.DataFrame,
    images: pl.DataFrame,
    collection: str,
    encoder: Configured,
    limits: tuple[float, int, int],
    listener: Listener | None,
) -> _Gathered:
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
    return _Gathered(
        pl.DataFrame(parts, schema=schema),
        collection,
        {**how, "contained_after": contained_after, "most": most},
    )


def _by_neighbours(
    study: Study,
    prompts: pl.DataFrame,
    images: pl.DataFrame,
    collection: str,
    chosen: Loadable,
    question: str,
    neighbours: int,
    listener: Listener | None,
) -> _Gathered:
    import numpy as np
    import polars as pl

    images = images.filter(pl.col("sha256").is_not_null())
    if images.is_empty():
        raise DataError(
            f"no image of collection {collection!r} has its file in the study",
            remedy="Import the image files: neighbours are found by their content.",
        )
    embedded = images_embedded(study, chosen.encoder, images["sha256"].to_list(), listener)
    readable = ~np.isnan(embedded.vectors).all(axis=1)
    ids = images["image_id"].to_numpy()[readable]
    vectors = unit(embedded.vectors[readable])
    seeds = _seeds(study, prompts, question)
    at = {int(key): n for n, key in enumerate(ids)}
    lost = sum(int(image) not in at for image in seeds["image_id"])
    left_out = Counter(embedded.without.values())
    left_out["a seed has no readable file in this collection"] = lost
    rows = _grown(seeds, at, ids, vectors, neighbours)
    how = {"by": "neighbours", "encoder": str(chosen.encoder), "seeds": question, "neighbours": neighbours}
    if chosen.instead:
        how["encoder_because"] = chosen.instead
    return _Gathered(rows, collection, how, {reason: n for reason, n in left_out.items() if n})


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
        nearest, cosine = top_k(vectors[places], vectors, neighbours + len(places))
        there = nearest >= 0
        near_by = pl.DataFrame({"place": nearest[there], "value": cosine[there]})
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
