"""Prompts and answers that are missing, repeated or uneven."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import Material, answers_by, blocks, few, gathered, prompt_examples, short
from sightline.extension import check
from sightline.records import Finding


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def duplicate_prompts(material: Material) -> Iterator[Finding]:
    """Prompts of one suite that are equal up to case, punctuation and spaces.

    Two copies of a prompt on both sides of a split give its answer away, and count it twice in a mean.
    """
    import polars as pl

    # Letters, marks and digits of any script make a prompt; a prompt without any of them is its own.
    plain = pl.col("text").str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}]+", " ").str.strip_chars()
    keyed = material.prompts.with_columns(
        pl.when(plain == "").then(pl.col("text")).otherwise(plain).alias("plain")
    )
    twice = (
        keyed.group_by("suite", "plain", maintain_order=True)
        .agg(pl.col("ref"), pl.col("text").first())
        .filter(pl.col("ref").list.len() > 1)
    )
    if twice.is_empty():
        return
    examples = (
        f"{suite}/{' = '.join(refs[:4])}: {short(text)}"
        for suite, refs, text in twice.select("suite", "ref", "text").iter_rows()
    )
    extra = int(twice["ref"].list.len().sum()) - twice.height
    yield Finding(
        f"prompts that repeat another one (in {twice.height} groups)",
        extra,
        few(examples),
        "Keep one of each, or make sure that a split keeps them together.",
    )


@check(severity="warning", source="Achterberg et al. 2023 (GIMBRR)", licence="Apache-2.0")
def other_wording(material: Material) -> Iterator[Finding]:
    """Judgements that were given under another text than the prompt has here.

    The importer keeps the prompt's own text and notes the other one in the tag `judged_text`, and in
    `judged_text_rows` how many judgements carry it.
    """
    import polars as pl

    noted = material.tags.filter(pl.col("name") == "judged_text").select("prompt_id", judged="value")
    if noted.is_empty():
        return
    rows = material.tags.filter(pl.col("name") == "judged_text_rows").select("prompt_id", rows="value")
    reworded = (
        noted.join(rows, on="prompt_id", how="left")
        .join(material.prompts, on="prompt_id")
        .with_columns(pl.col("rows").cast(pl.Int64, strict=False).fill_null(1))
        .sort("prompt_id")
    )
    yield Finding(
        f"judgements given under another text than their prompt has (of {reworded.height} prompts)",
        int(reworded["rows"].sum()),
        few(
            f"{suite}/{ref}: {short(text, 40)!r}, judged as {short(judged, 40)!r}"
            for suite, ref, text, judged in reworded.select("suite", "ref", "text", "judged").iter_rows()
        ),
        "Look at some: a corrected typing error does no harm, another demand makes the judgement void.",
    )


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def prompts_without_answers(material: Material) -> Iterator[Finding]:
    """Prompts no system answered, and prompts that some systems answered and others did not.

    A suite that no system has touched yet is not a fault: only suites with at least one answer count. Nor is
    a system blamed for a suite it never took part in.
    """
    import polars as pl

    asked = material.prompts.select("prompt_id", "suite")
    answered = gathered(material.scan("answers").select("system", "prompt_id").unique())
    given = answered.join(asked, on="prompt_id")
    if given.is_empty():
        return
    begun = asked.filter(pl.col("suite").is_in(given["suite"].unique().to_list()))
    never = begun.join(given, on="prompt_id", how="anti").sort("prompt_id")
    if not never.is_empty():
        yield Finding(
            "prompts that no system answered",
            never.height,
            prompt_examples(material, never["prompt_id"]),
            "Import or generate the missing answers, or leave these prompts out.",
        )
    someone = given.select("suite", "prompt_id").unique()
    expected = given.select("system", "suite").unique().join(someone, on="suite")
    lacking = expected.join(given, on=["system", "prompt_id"], how="anti").sort("system", "prompt_id")
    for (system,), rows in lacking.group_by(["system"], maintain_order=True):
        yield Finding(
            f"prompts that {system} left out and others answered",
            rows.height,
            prompt_examples(material, rows["prompt_id"]),
            "Systems are compared on the prompts all of them answered; add the missing ones.",
        )


@check(severity="error", source="Voorhees and Harman 2005 (TREC)", licence="Apache-2.0")
def repeated_answers(material: Material) -> Iterator[Finding]:
    """Rankings of a retriever in which an image stands twice: each relevant one would count twice.

    The same file under two names is reported as a warning: the collection holds it twice, and only one of the
    two may have been judged.
    """
    import polars as pl

    ranked = answers_by(material, "retriever").filter(pl.col("image_id").is_not_null())
    ranked = ranked.select("system", "prompt_id", "image_id", "sha256")
    kinds = (
        (
            "image_id",
            pl.len() - 1,
            "repeat an image of the same ranking",
            "Take the repeats out of the run and import it again.",
            "error",
        ),
        (
            "sha256",
            pl.col("image_id").n_unique() - 1,
            "hold the file of another place under another name",
            "Take the copies out of the collection, or judge both alike.",
            "warning",
        ),
    )
    for same, more, what, remedy, severity in kinds:
        known = ranked.filter(pl.col(same).is_not_null())
        found = [
            gathered(known.filter(some))
            .group_by("system", "prompt_id", same)
            .agg(more.alias("more"))
            .filter(pl.col("more") > 0)
            for some in blocks(known)
        ]
        if not found:
            continue
        repeats = pl.concat(found).sort("system", "prompt_id", same)
        for (system,), rows in repeats.group_by(["system"], maintain_order=True):
            yield Finding(
                f"places in rankings of {system} that {what}",
                int(rows["more"].sum()),
                prompt_examples(material, rows["prompt_id"]),
                remedy,
                severity,
            )


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def uneven_answers(material: Material) -> Iterator[Finding]:
    """Prompts for which generators gave different numbers of images.

    Failures count as answers: a system that tried four times and failed once gave four. Retrievers are left
    out, since a ranking may be of any length.
    """
    import polars as pl

    counts = gathered(
        answers_by(material, "generator").group_by("prompt_id", "system").agg(pl.len().alias("n"))
    )
    spread = counts.group_by("prompt_id").agg(
        pl.col("n").min().alias("fewest"), pl.col("n").max().alias("most")
    )
    uneven = spread.filter(pl.col("fewest") < pl.col("most")).sort("prompt_id")
    if uneven.is_empty():
        return
    fewest, most = min(uneven["fewest"].to_list()), max(uneven["most"].to_list())
    yield Finding(
        f"prompts answered {fewest} times by one generator and up to {most} times by another",
        uneven.height,
        prompt_examples(material, uneven["prompt_id"]),
        "More samples make a mean surer and a best-of better: compare on equal numbers.",
    )
