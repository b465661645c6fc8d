"""Rankings and relevance that do not fit the collection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import Material, answers_by, blocks, gathered, image_examples, prompt_examples
from sightline.extension import check
from sightline.records import Finding

if TYPE_CHECKING:
    import polars as pl


@check(severity="warning", source="Cabanac et al. 2010; TREC", licence="Apache-2.0")
def ranking_scores(material: Material) -> Iterator[Finding]:
    """Rankings of a retriever with tied scores, and rankings whose scores rise and fall.

    Where scores are tied the order is an accident of the program that wrote the file; measures order them by
    falling image names, unless study.toml says otherwise. A retriever all of whose rankings rise gives
    distances instead of scores, which is no fault; ties are looked for between neighbours.
    """
    import polars as pl

    scored = answers_by(material, "retriever").filter(pl.col("score").is_not_null())
    scored = scored.select("system_id", "system", "prompt_id", "position", "score")
    step = pl.col("score").diff().over("system_id", "prompt_id", order_by="position").alias("step")
    found = [
        gathered(scored.filter(some))
        .with_columns(step)
        .group_by("system_id", "system", "prompt_id")
        .agg(
            (pl.col("step") == 0).sum().alias("ties"),
            (pl.col("step") > 0).any().alias("rises"),
            (pl.col("step") < 0).any().alias("falls"),
        )
        for some in blocks(scored)
    ]
    if not found:
        return
    rankings = pl.concat(found).sort("system_id", "prompt_id")
    for (system,), rows in rankings.group_by(["system"], maintain_order=True):
        tied = rows.filter(pl.col("ties") > 0)
        if not tied.is_empty():
            places = int(tied["ties"].sum())
            yield Finding(
                f"rankings of {system} with tied scores ({places} places tied with the one before)",
                tied.height,
                prompt_examples(material, tied["prompt_id"]),
                "Give scores with more digits, or state the order: measures take falling image names (ties).",
            )
        wrong = rows.filter("rises") if rows["falls"].any() else rows.clear()
        if not wrong.is_empty():
            yield Finding(
                f"rankings of {system} whose positions contradict their scores",
                wrong.height,
                prompt_examples(material, wrong["prompt_id"]),
                "Sort them by score and import the run again: a higher score must stand first.",
                "error",
            )


@check(severity="warning", source="Buckley and Voorhees 2004; ConQA", licence="Apache-2.0")
def rankings_unjudged(material: Material, *, question: str = "") -> Iterator[Finding]:
    """Rankings without a single image that was judged on `question`, although images were for their prompt.

    By default it is the question that [score] in study.toml names. Measures would call such a ranking
    worthless. Where that is so of all rankings of an engine, run and relevance speak of different collections
    or name images differently, which is an error.
    """
    import polars as pl

    ranked = answers_by(material, "retriever").filter(pl.col("image_id").is_not_null())
    known = (pl.col("prompt_id") > 0) & (pl.col("image_id") > 0) & pl.col("value").is_not_null()
    about = pl.col("question") == (question or material.relevance)
    judged = material.scan("truths").filter(known & about).select("prompt_id", "image_id")
    ranked = ranked.select("system_id", "system", "prompt_id", "image_id")
    counted_parts = [
        _counted(gathered(ranked.filter(some)), gathered(judged.filter(some)))
        for some in blocks(ranked, judged)
    ]
    if not counted_parts:
        return
    counted = pl.concat(counted_parts).sort("system_id", "prompt_id")
    for (system,), rows in counted.group_by(["system"], maintain_order=True):
        without = rows.filter(~pl.col("judged"))
        if without.is_empty():
            continue
        every = without.height == rows.height
        yield Finding(
            f"rankings of {system} without any judged image, of {rows.height} whose prompt has some",
            without.height,
            prompt_examples(material, without["prompt_id"]),
            "Is the relevance that of another collection, or are images named otherwise in it?"
            if every
            else "Judge their first images, or read `judged` alongside the other measures.",
            "error" if every else "warning",
        )


def _counted(ranked: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Each ranking of a prompt that has judged images, and whether it holds one of them."""
    import polars as pl

    pairs = judged.unique().with_columns(judged=pl.lit(True))
    return (
        ranked.join(pairs.select("prompt_id").unique(), on="prompt_id", how="semi")
        .join(pairs, on=["prompt_id", "image_id"], how="left")
        .group_by("system_id", "system", "prompt_id")
        .agg(pl.col("judged").any())
    )


@check(severity="warning", source="ConQA; TREC", licence="Apache-2.0")
def ranked_images_missing(material: Material) -> Iterator[Finding]:
    """Images in rankings that are of another collection than the engine searches, or known by name only.

    A run names images that the study has never seen where it was made on another version of the collection,
    or where names have folders or suffixes here and not there. Names alone are suspicious only in a
    collection of which other images have a file or a caption.
    """
    import polars as pl

    searched_by = material.systems.filter(kind="retriever").select("system_id", searched="collection")
    ranked = gathered(
        answers_by(material, "retriever")
        .filter(pl.col("image_id").is_not_null())
        .select("system_id", "system", "image_id")
        .unique(maintain_order=True)
    ).join(searched_by, on="system_id", maintain_order="left")
    if ranked.is_empty():
        return
    images = material.scan("images")
    places = images.select("image_id", "collection")
    elsewhere = gathered(
        ranked.lazy()
        .filter(pl.col("searched").is_not_null())
        .join(places, on="image_id", maintain_order="left")
        .filter(pl.col("collection") != pl.col("searched"))
    )
    for (system, searched), rows in elsewhere.group_by(["system", "searched"], maintain_order=True):
        yield Finding(
            f"images in rankings of {system} that are not of the collection it searches ({searched})",
            rows.height,
            image_examples(material, rows["image_id"]),
            "Was the run made on another collection? Import it under that collection's name.",
            "error",
        )
    more = pl.col("sha256").is_not_null() | (pl.col("captions") > 0)
    collections = gathered(images.filter(more).select("collection").unique())["collection"].to_list()
    named = images.filter(~more & pl.col("defect").is_null() & pl.col("collection").is_in(collections))
    bare = gathered(
        ranked.lazy().join(named.select("image_id", "collection"), on="image_id", maintain_order="left")
    )
    for (system, collection), rows in bare.group_by(["system", "collection"], maintain_order=True):
        yield Finding(
            f"images in rankings of {system} that only the run knows of in {collection}",
            rows.height,
            image_examples(material, rows["image_id"]),
            "Are they named otherwise in the collection, or was the run made on another version of it?",
        )


@check(severity="warning", source="Poesina et al. 2025 (PQPP)", licence="Apache-2.0")
def relevance_repeated(material: Material) -> Iterator[Finding]:
    """Prompts whose list of relevant images, as published, names an image more than once.

    The importer keeps each image once and notes how many were repeats in the tag `relevant_repeated`; a
    recall computed on the list as it was divides by too many.
    """
    import polars as pl

    noted = material.tags.filter(pl.col("name") == "relevant_repeated").sort("prompt_id")
    if noted.is_empty():
        return
    repeats = int(noted["value"].cast(pl.Int64, strict=False).fill_null(1).sum())
    yield Finding(
        f"prompts whose relevant images are listed with repeats ({repeats} repeats in all)",
        noted.height,
        prompt_examples(material, noted["prompt_id"]),
        "Nothing to do here: each counts once. Published recalls may have counted them twice.",
        "note",
    )


@check(severity="warning", source="ConQA; TREC", licence="Apache-2.0")
def relevant_images_missing(material: Material) -> Iterator[Finding]:
    """Relevant images outside the collections that are searched, or of which only the name is known.

    Relevant is an image with a truth above the low end of its scale for a prompt, whoever gave it. A
    collection is held here if any of its images has a file or a caption; a relevant image without either is
    then missing from it. That is a warning where files are held, and a note where only captions are: data
    is often published with the captions of its queries alone.
    """
    import polars as pl

    searched = material.systems["collection"].drop_nulls().unique().to_list()
    held = pl.col("sha256").is_not_null()
    bare = ~held & (pl.col("captions") == 0) & pl.col("defect").is_null()
    outside, without = [], []
    for wanted in _relevant(material):
        outside.append(wanted.filter(~pl.col("collection").is_in(searched)) if searched else wanted.clear())
        without.append(wanted.filter(bare))
    if not outside:
        return
    strange = pl.concat(outside)
    if not strange.is_empty():
        yield Finding(
            f"relevant images outside what is searched ({', '.join(sorted(searched))})",
            strange.height,
            image_examples(material, strange["image_id"]),
            "Are they named otherwise there, with folders or suffixes? No search can find them as they are.",
        )
    collections = gathered(
        material.scan("images")
        .group_by("collection")
        .agg(held.any().alias("files"), (held | (pl.col("captions") > 0)).any().alias("held"))
    )
    missing = pl.concat(without).join(collections.filter("held"), on="collection", maintain_order="left")
    for (collection, files), rows in missing.group_by(["collection", "files"], maintain_order=True):
        yield Finding(
            f"relevant images of {collection} that are known by name only",
            rows.height,
            image_examples(material, rows["image_id"]),
            "Import the rest of the collection before anything is searched here: these cannot be found.",
            "warning" if files else "note",
        )


def _relevant(material: Material) -> Iterator[pl.DataFrame]:
    """The relevant images that no generator made, in parts, in their order."""
    import polars as pl

    lows = pl.DataFrame(
        [(question.name, question.low or 0.0) for question in material.questions],
        schema={"question": pl.String, "floor": pl.Float64},
        orient="row",
    )
    made = answers_by(material, "generator").select("image_id")
    relevant = (
        material.scan("truths")
        .filter((pl.col("prompt_id") > 0) & (pl.col("image_id") > 0) & (pl.col("system_id") == 0))
        .join(lows.lazy(), on="question")
        .filter(pl.col("value") > pl.col("floor"))
        .select("image_id")
    )
    for some in blocks(relevant, key="image_id"):
        found = gathered(relevant.filter(some)).unique()
        found = found.join(gathered(made.filter(some)), on="image_id", how="anti")
        if not found.is_empty():
            images = gathered(material.scan("images").filter(some))
            yield images.join(found, on="image_id", how="semi", maintain_order="left")


@check(severity="warning", source="Poesina et al. 2025 (PQPP)", licence="Apache-2.0")
def own_image_missing(material: Material) -> Iterator[Finding]:
    """Prompts that are the caption of an image which the published relevance leaves out.

    The importer notes them in the tag `own_image_missing`.
    """
    import polars as pl

    noted = material.tags.filter(pl.col("name") == "own_image_missing").sort("prompt_id")
    if not noted.is_empty():
        yield Finding(
            "prompts whose own image is not among their relevant images",
            noted.height,
            prompt_examples(material, noted["prompt_id"]),
            "A search engine that finds the very image is counted as wrong there: judge it, or leave it out.",
        )
