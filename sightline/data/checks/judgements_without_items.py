"""Judgements of what nobody gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import item_examples
from sightline.extension import check
from sightline.records import Finding, Material

if TYPE_CHECKING:
    import polars as pl


@check(severity="error", source="Sightline", licence="Apache-2.0")
def judgements_without_items(material: Material) -> Iterator[Finding]:
    """Judgements and truths of answers that do not exist.

    A prompt that does not exist is refused on import. What remains is a system judged on a prompt it did not
    answer, an image judged as a system's answer that it did not give, and a generated image judged under a
    prompt that it was not made for. Systems without any answer here are left out: much published data holds
    judgements alone.
    """
    for what, rows in (("judgements", material.judgements), ("truths", material.truths)):
        yield from _of(material, what, rows)


def _of(material: Material, what: str, rows: pl.DataFrame) -> Iterator[Finding]:
    import polars as pl

    answers = material.answers.select("system_id", "prompt_id", "image_id")
    active = answers.select("system_id").unique()
    # Of generators only: a search engine may leave out any image, and people judge pools.
    generators = material.systems.filter(pl.col("kind") == "generator").select("system_id")
    made = answers.join(generators, on="system_id")
    about = rows.filter(pl.col("prompt_id") > 0)
    of_system = about.filter(pl.col("system_id") > 0).join(active, on="system_id", how="semi")
    unanswered = of_system.join(answers, on=["system_id", "prompt_id"], how="anti", maintain_order="left")
    answered = of_system.join(made, on=["system_id", "prompt_id"], how="semi", maintain_order="left")
    another = answered.filter(pl.col("image_id") > 0).join(
        made, on=["system_id", "prompt_id", "image_id"], how="anti", maintain_order="left"
    )
    of_image = about.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0))
    misplaced = of_image.join(made, on="image_id", how="semi", maintain_order="left").join(
        answers, on=["prompt_id", "image_id"], how="anti", maintain_order="left"
    )
    kinds = (
        (unanswered, f"{what} of systems on prompts that they did not answer"),
        (another, f"{what} of images as answers of a system that did not give them"),
        (misplaced, f"{what} of images under prompts that they were not made for"),
    )
    for wrong, said in kinds:
        for (question,), found in wrong.group_by(["question"], maintain_order=True):
            yield Finding(
                f"{said} ({question})",
                found.height,
                item_examples(material, found),
                "Import the missing answers, or correct the prompt, system or image that these rows name.",
            )
