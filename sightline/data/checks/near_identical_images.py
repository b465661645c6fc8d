"""Images that look the same and were given as different answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import FEW
from sightline.extension import check
from sightline.records import Finding, Material
from sightline.statistics.near_duplicates import near_pairs

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

KINDS = (
    (
        "images of different systems that look the same",
        "Was a system imported twice under two names, or its files saved again? Then keep one of them.",
    ),
    (
        "images that a system gave for different prompts and that look the same",
        "Look at them: a picture that stands for a refusal is a failure, and a prompt may have been ignored.",
    ),
    (
        "images that a system gave for one prompt and that look the same",
        "Did the seed change? Samples must differ to count as samples.",
    ),
)


@check(
    severity="warning",
    measures=("coarse_structure",),
    source="Zauner 2010; Norouzi et al. 2012",
    licence="Apache-2.0",
)
def near_identical_images(material: Material, *, bits: int = 6, colour: int = 12) -> Iterator[Finding]:
    """Images of generators that differ as files and hardly to the eye: across systems, prompts and seeds.

    Two images are twins if their hashes (measure coarse_structure) differ in at most `bits` of 64 and no cell
    of an 8 x 8 grid differs by more than `colour` of 255 in any channel. docs/checks.md says where the
    limits come from. Images without structure have no hash: they are the matter of the rule blank_images,
    and files equal to the last byte that of identical_images.
    """
    import numpy as np

    made = _contents(material)
    if made.height < 2:
        return
    evidence = [json.loads(text) for text in made["evidence"]]
    hashes = np.array([int(each["hash"], 16) for each in evidence], dtype=np.uint64)
    colours = np.frombuffer(bytes.fromhex("".join(each["colours"] for each in evidence)), dtype=np.uint8)
    colours = colours.reshape(len(evidence), -1)
    system, prompt = made["system_id"].to_numpy(), made["prompt_id"].to_numpy()
    seen = np.zeros((len(KINDS), len(evidence)), dtype=bool)
    examples: list[list[str]] = [[] for _ in KINDS]
    for a, b, apart in near_pairs(hashes, within=bits):
        kind = np.where(system[a] != system[b], 0, np.where(prompt[a] != prompt[b], 1, 2))
        # Where thousands look the same there are millions of pairs; those that add no image are passed over.
        new = ~(seen[kind, a] & seen[kind, b])
        new[new] = _most(colours[a[new]], colours[b[new]]) <= colour
        a, b, kind = a[new], b[new], kind[new]
        seen[kind, a] = seen[kind, b] = True
        for row in _first_of_each(kind):
            if len(examples[kind[row]]) < FEW:
                one, other = (made["named"][int(each[row])] for each in (a, b))
                examples[kind[row]].append(f"{one} and {other} ({apart[new][row]} bits apart)")
    for (what, remedy), twins, shown in zip(KINDS, seen, examples, strict=True):
        if twins.any():
            yield Finding(what, int(twins.sum()), shown, remedy)


def _first_of_each(kind: np.ndarray) -> list[int]:
    """The places of the first few rows of each kind."""
    import numpy as np

    return [int(row) for number in range(len(KINDS)) for row in np.flatnonzero(kind == number)[:FEW]]


def _contents(material: Material) -> pl.DataFrame:
    """Each file that a generator gave, once, with who gave it first and what its hash rests on."""
    import polars as pl

    generators = material.systems.filter(pl.col("kind") == "generator")["system_id"].to_list()
    hashed = material.scores("coarse_structure").filter(pl.col("evidence").is_not_null())
    named = pl.concat_str("collection", "name", separator="/").alias("named")
    return (
        material.answers.filter(pl.col("system_id").is_in(generators) & pl.col("sha256").is_not_null())
        .unique("sha256", keep="first", maintain_order=True)
        .select("system_id", "prompt_id", "image_id")
        .join(hashed.select("image_id", "evidence"), on="image_id", maintain_order="left")
        .join(material.images.select("image_id", named), on="image_id", maintain_order="left")
    )


def _most(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The greatest difference in each row of bytes."""
    import numpy as np

    return np.asarray((np.maximum(a, b) - np.minimum(a, b)).max(axis=1))
