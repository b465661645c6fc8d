"""Images that are blank, broken, tiny or identical to others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sightline.data.checks import FEW, Material, answers_by, blocks, few, gathered, image_examples, short
from sightline.extension import check
from sightline.records import Finding
from sightline.statistics.near_duplicates import near_pairs

if TYPE_CHECKING:
    import polars as pl


@check(severity="warning", measures=("blank", "brightness"), source="Sightline", licence="Apache-2.0")
def blank_images(material: Material, *, share: float = 0.99, dark: float = 0.02) -> Iterator[Finding]:
    """Images of one colour throughout, and images nearly black.

    An image is blank if at least `share` of its pixels look like its most common colour (measure blank), and
    nearly black if its mean brightness is at most `dark` of full white without its being blank. A blank image
    whose brightness is at most `dark` is told apart as black: generators give those when a safety filter
    strikes.
    """
    import polars as pl

    blank, light = (
        material.scan("scores", name).select("image_id", "value") for name in ("blank", "brightness")
    )
    # Only of images that one of the two measures finds fault with the other is looked up.
    found = [
        gathered(blank.filter(pl.col("value") >= share)),
        gathered(light.filter(pl.col("value") <= dark)),
    ]
    ids = pl.concat(found).select("image_id").unique().lazy()
    both = gathered(
        blank.join(ids, on="image_id", how="semi")
        .rename({"value": "blank"})
        .join(light.join(ids, on="image_id", how="semi").rename({"value": "brightness"}), on="image_id")
    )
    both = both.drop_nulls().sort("image_id")
    empty, black = pl.col("blank") >= share, pl.col("brightness") <= dark
    kinds = (
        (empty & black, "black images", "A safety filter or a crash gives those: record them as failures."),
        (empty & ~black, "images of a single colour", "Look at them: they show nothing that can be judged."),
        (~empty & black, "images that are nearly black", "Look at them: is darkness what was asked for?"),
    )
    for chosen, what, remedy in kinds:
        rows = both.filter(chosen)
        if not rows.is_empty():
            yield Finding(what, rows.height, image_examples(material, rows["image_id"]), remedy)


@check(severity="error", measures=("blank",), source="Sightline", licence="Apache-2.0")
def broken_images(material: Material) -> Iterator[Finding]:
    """Images recorded as broken when they came in, and images whose pixels cannot be decoded.

    Files that end too early are told apart from files that hold no image: the first were cut off on their
    way here, the second are mostly a page that says why there is no image.
    """
    import polars as pl

    scores = material.scan("scores", "blank").filter(pl.col("reason").is_not_null())
    failed = gathered(scores.select("image_id", "reason"))
    images = material.scan("images").join(failed.lazy(), on="image_id", how="left", maintain_order="left")
    why = pl.coalesce("defect", "reason").alias("why")
    broken = gathered(images.with_columns(why).filter(pl.col("why").is_not_null()))
    cut = pl.col("why").str.contains("truncated|cut short|Truncated|premature")
    kinds = (
        (cut, "image files that end too early", "Copy or download them again, and import them again."),
        (
            ~cut,
            "image files that cannot be read",
            "Repair them and import again; until then they have no scores and cannot be judged.",
        ),
    )
    for chosen, what, remedy in kinds:
        rows = broken.filter(chosen)
        if not rows.is_empty():
            examples = (
                f"{collection}/{name}: {said}"
                for collection, name, said in rows.select("collection", "name", "why").iter_rows()
            )
            yield Finding(what, rows.height, few(examples), remedy)


@check(severity="warning", source="Torralba et al. 2008", licence="Apache-2.0")
def tiny_images(material: Material, *, side: int = 32) -> Iterator[Finding]:
    """Images with a side shorter than `side` pixels: icons, placeholders and thumbnails gone astray.

    People still name a scene at 32 x 32 pixels in colour, and hardly below that (Torralba et al. 2008).
    """
    import polars as pl

    small = gathered(material.scan("images").filter(pl.min_horizontal("width", "height") < side))
    if not small.is_empty():
        examples = (
            f"{collection}/{name}: {width} x {height}"
            for collection, name, width, height in small.select(
                "collection", "name", "width", "height"
            ).iter_rows()
        )
        yield Finding(
            f"images with a side below {side} pixels",
            small.height,
            few(examples),
            "Import the images themselves instead of thumbnails or placeholders.",
        )


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def identical_images(material: Material) -> Iterator[Finding]:
    """Byte-identical images that generators gave as different answers.

    A generator that gives one file twice has failed, refused, or ignored its prompt or its seed; two systems
    that give the same file are the same system or were mixed up. Retrievers answer from one collection, so
    for them it is no fault. One finding each for prompts, systems and samples.
    """
    import polars as pl

    made = answers_by(material, "generator").filter(pl.col("sha256").is_not_null())
    made = made.select("sha256", "prompt_id", "system")
    between_systems = pl.col("systems") > 1
    between_prompts = pl.col("prompts") > 1
    kinds = (
        (
            between_systems,
            "images that different systems gave",
            "Was a system imported twice? A picture that stands for a refusal is a failure: record it so.",
        ),
        (
            ~between_systems & between_prompts,
            "images that a system gave for different prompts",
            "Such an image mostly stands for a refusal or an error: record it as a failure.",
        ),
        (
            ~between_systems & ~between_prompts,
            "images that a system gave several times for one prompt",
            "The seed had no effect, or a file was copied: samples must differ to count as samples.",
        ),
    )
    texts = dict(material.prompts.select("prompt_id", "text").iter_rows())
    shown: list[list[pl.DataFrame]] = [[] for _ in kinds]
    n, answers = [0] * len(kinds), [0] * len(kinds)
    for some in blocks(made, key=pl.col("sha256").str.slice(0, 3)):
        same = _alike(gathered(made.filter(some)))
        for kind, (chosen, _, _) in enumerate(kinds):
            rows = same.filter(chosen)
            n[kind] += rows.height
            answers[kind] += int(rows["n"].sum())
            shown[kind].append(rows.sort("n", "sha256", descending=[True, False]).head(FEW))
    for kind, (_, what, remedy) in enumerate(kinds):
        if n[kind]:
            first = pl.concat(shown[kind]).sort("n", "sha256", descending=[True, False])
            examples = (
                f"{', '.join(by)}: {times} times, first for {short(texts[prompt], 40)!r} ({sha[:12]})"
                for sha, times, by, prompt in first.select("sha256", "n", "by", "first").iter_rows()
            )
            yield Finding(f"{what} ({answers[kind]} answers)", n[kind], few(examples), remedy)


def _alike(answers: pl.DataFrame) -> pl.DataFrame:
    """Contents that were given more than once: how often, for how many prompts, and by which systems."""
    import polars as pl

    return (
        answers.group_by("sha256")
        .agg(
            pl.len().alias("n"),
            pl.col("prompt_id").n_unique().alias("prompts"),
            pl.col("system").n_unique().alias("systems"),
            pl.col("system").unique().sort().alias("by"),
            pl.col("prompt_id").min().alias("first"),
        )
        .filter(pl.col("n") > 1)
    )


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
    made, hashes, colours = _contents(material)
    if made.height < 2:
        return
    system, prompt = made["system_id"].to_numpy(), made["prompt_id"].to_numpy()
    seen = np.zeros((len(KINDS), made.height), dtype=bool)
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
                ids = [made["image_id"][int(each[row])] for each in (a, b)]
                one, other = (image_examples(material, [key])[0] for key in ids)
                examples[kind[row]].append(f"{one} and {other} ({apart[new][row]} bits apart)")
    for (what, remedy), twins, shown in zip(KINDS, seen, examples, strict=True):
        if twins.any():
            yield Finding(what, int(twins.sum()), shown, remedy)


def _first_of_each(kind: np.ndarray) -> list[int]:
    """The places of the first few rows of each kind."""
    return [int(row) for number in range(len(KINDS)) for row in np.flatnonzero(kind == number)[:FEW]]


def _contents(material: Material) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Each file that a generator gave, once, with who gave it first, its hash and its colours.

    What is compared with everything else is held for all contents at once: some 230 bytes each.
    """
    import polars as pl

    made = answers_by(material, "generator").filter(pl.col("sha256").is_not_null())
    made = made.select("sha256", "system_id", "prompt_id", "image_id").with_row_index("place")
    found = [
        gathered(made.filter(some)).unique("sha256", keep="first", maintain_order=True).drop("sha256")
        for some in blocks(made, key=pl.col("sha256").str.slice(0, 3))
    ]
    if not found:
        return pl.DataFrame(), np.empty(0), np.empty(0)
    first = pl.concat(found)
    places, hashes, colours = [], [], []
    scores = material.scan("scores", "coarse_structure").filter(pl.col("evidence").is_not_null())
    scores = scores.join(first.lazy(), on="image_id", maintain_order="left").select("place", "evidence")
    for some in blocks(scores, key="place"):
        rows = gathered(scores.filter(some))
        evidence = [json.loads(text) for text in rows["evidence"]]
        places.append(rows["place"])
        hashes.append(np.array([int(each["hash"], 16) for each in evidence], dtype=np.uint64))
        packed = np.frombuffer(bytes.fromhex("".join(each["colours"] for each in evidence)), dtype=np.uint8)
        colours.append(packed.reshape(len(evidence), -1))
    if not places:
        return pl.DataFrame(), np.empty(0), np.empty(0)
    order = pl.concat(places).arg_sort()
    kept = pl.concat(places).to_frame().join(first, on="place", how="left").sort("place")
    return kept, np.concatenate(hashes)[order], np.concatenate(colours)[order]


def _most(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The greatest difference in each row of bytes."""
    return np.asarray((np.maximum(a, b) - np.minimum(a, b)).max(axis=1))
