"""Select: a few prompts that represent many."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from sightline.data.export import prompt_table, write_table
from sightline.encoders.choice import Loadable, encoder_of, first_loadable
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Estimate
from sightline.extension import Configured
from sightline.records import ImageKey, NewPrompt
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.selection.difficulty import among, priorities
from sightline.statistics.search import unit
from sightline.study import reading
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import embed_texts, images_embedded
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.verbs import SEED, argument, option, verb

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

WAYS = ("spread", "random", "captions", "difficulty")
SHOWN = 20
"""Rows that a terminal shows."""
SENTENCES = ("sentence", "hashed_words")
"""Encoders that captions are spread by: the first that can be loaded here. PQPP uses sentence vectors."""
IMAGES = 2_048
"""Images whose captions are compared at once."""


@dataclass(frozen=True)
class Selection(Result):
    """The chosen prompts in the order of the study, and how they were chosen.

    Captions are no prompts of the study yet: they have no ids, their suite is the collection, and `refs` are
    the images they were written for. `unread` counts, by reason, the images that could not be compared with
    their captions: the first caption is taken. `expected` is what is predicted of each prompt, where they
    were chosen by difficulty. `again` is the command that writes them, `written` the file.
    """

    prompt_ids: Sequence[int]
    suites: Sequence[str]
    refs: Sequence[str]
    texts: Sequence[str]
    how: str
    tag: str | None = None
    unread: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    expected: Sequence[Estimate] = ()
    again: str = ""
    written: str = ""

    @property
    def sentence(self) -> str:
        return f"Written to {self.written}." if self.written else ""

    @property
    def next(self) -> Sequence[str]:
        if self.written:
            return (f"sightline import NEW-STUDY {shlex.quote(self.written)}",)
        return (self.again,) if self.again else ()

    def facts(self) -> dict[str, Any]:
        """How they were chosen, and the file."""
        return {"how": self.how, "tag": self.tag, "written": self.written}

    def tables(self) -> dict[str, Table]:
        columns = [Column("suite"), Column("prompt_id"), Column("prompt")]
        rows: list[tuple[Cell, ...]] = list(zip(self.suites, self.refs, self.texts, strict=True))
        if self.expected:
            columns.append(Column("expected", estimate=True))
            rows = [(*row, each) for row, each in zip(rows, self.expected, strict=True)]
        return {"": Table(columns, rows, f"{len(rows)} prompts by {self.how}", SHOWN)}


@verb("collect")
def select(
    study: Study,
    n: Annotated[int, argument("Choose this many prompts.", "N")],
    *,
    by: Annotated[
        Literal["spread", "random", "captions", "difficulty"],
        option(
            "Choose prompts far apart in meaning, at random, from captions of images, or by how hard they "
            "are expected to be."
        ),
    ] = "spread",
    encoder: Annotated[
        str | None,
        option(
            "Compare texts by this encoder (sightline list encoder).",
            metavar="ENCODER",
            shown="hashed_words; for captions sentence, where it can be loaded",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        option("For captions: use the images of this collection.", metavar="NAME", shown="all"),
    ] = None,
    joint: Annotated[
        str,
        option("For captions: find the caption nearest to its image by this encoder.", metavar="ENCODER"),
    ] = "clip",
    prefer: Annotated[
        Literal["hard", "unsure", "easy"],
        option("For difficulty: choose prompts with low, uncertain or high expectations."),
    ] = "hard",
    question: Annotated[
        str | None,
        option(
            "For difficulty: exclude prompts with truth of this question.",
            metavar="QUESTION",
            shown="the first with truth",
        ),
    ] = None,
    judged: Annotated[bool, option("For difficulty: include prompts with truth.")] = False,
    tier: Annotated[
        str | None,
        option(
            "For difficulty: use this tier of the shipped predictor.",
            metavar="small|medium|large",
            shown="predictions stored in the study, else the best tier that runs here",
        ),
    ] = None,
    suite: Annotated[
        str | None, option("Choose among the prompts of this suite.", metavar="SUITE", shown="all")
    ] = None,
    tag: Annotated[str | None, option("Mark the prompts in the file by this tag.", metavar="NAME")] = None,
    to: Annotated[
        str | Path | None,
        option("Write the prompts to a .csv, .jsonl or .parquet file.", metavar="FILE"),
    ] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> Selection:
    """Choose a few prompts that represent many.

    `spread` groups the texts' vectors by k-means (k-means++ start) into N groups and takes the prompt nearest
    to each centre. `captions` (PQPP) chooses in this way among the captions of a collection: of each image
    the one nearest to it. `difficulty` spreads the choice over the prompts that are expected to be hard, or
    easy, or whose expectation is unsure. Nothing is written to the study but vectors.
    """
    import numpy as np

    if by not in WAYS:
        raise UsageError(f"prompts are not selected by {by!r}", remedy=near(by, WAYS))
    if seed < 0:
        raise UsageError(f"the seed is {seed}", remedy="A seed is 0 or more.")
    only = {"--prefer": prefer != "hard", "--judged": judged, "--tier": tier, "--question": question}
    wrong = [name for name, given in only.items() if given and by != "difficulty"]
    if wrong:
        raise UsageError(
            f"{' and '.join(wrong)}: only for --by difficulty", remedy="Add it, or leave it out."
        )
    if by == "captions":
        texts_by = first_loadable((encoder,) if encoder else SENTENCES, "text")
        chosen = _captions(study, n, texts_by, seed, tag, (collection, joint), listener)
    else:
        reading.need_prompts(study)
        prompts = prompts_of(study, suite)
        if not 1 <= n <= prompts.height:
            raise UsageError(
                f"{n} prompts cannot be selected out of {prompts.height}",
                remedy=f"A number from 1 to {prompts.height}.",
            )
        texts = prompts["text"].to_list()
        if by == "random":
            rows = np.sort(np.random.default_rng(seed).choice(len(texts), n, replace=False))
            chosen = Selection(*_columns(prompts, rows), f"random(seed={seed})", tag)
        else:
            configured = encoder_of(encoder or "hashed_words", "text")
            if by == "difficulty":
                choice = _Choice(prefer, question, judged, tier)
                chosen = _difficult(study, prompts, n, choice, configured, seed, tag)
            else:
                # A study that can only be read can be selected from, too: no vectors are stored.
                rows = spread(_vectors(configured, texts), n, seed)
                how = f"spread(encoder={configured}, seed={seed})"
                chosen = Selection(*_columns(prompts, rows), how, tag)
    if to is not None:
        return replace(chosen, written=str(write_selected(chosen, to)))
    given: dict[str, object] = {"by": by if by != "spread" else None, "encoder": encoder}
    given |= {"collection": collection, "joint": joint if joint != "clip" else None}
    given |= {"prefer": prefer if prefer != "hard" else None, "question": question, "tier": tier}
    given |= {"suite": suite, "tag": tag, "seed": seed or None}
    words = [f"--{name} {shlex.quote(str(value))}" for name, value in given.items() if value is not None]
    words += ["--judged"] if judged else []
    return replace(chosen, again=" ".join(["sightline select STUDY", str(n), *words, "--to FILE.csv"]))


def _columns(prompts: pl.DataFrame, chosen: np.ndarray) -> tuple[list[int], list[str], list[str], list[str]]:
    rows = prompts[chosen.tolist()]
    ids, suites, refs, texts = (rows[name].to_list() for name in ("prompt_id", "suite", "ref", "text"))
    return ids, suites, refs, texts


def _vectors(encoder: Configured, texts: Sequence[str]) -> np.ndarray:
    import numpy as np

    return np.asarray(encoder.load().text(texts), dtype=np.float32)


class _Choice(NamedTuple):
    prefer: str
    question: str | None
    judged: bool
    tier: str | None


def _difficult(
    study: Study,
    prompts: pl.DataFrame,
    n: int,
    choice: _Choice,
    encoder: Configured,
    seed: int,
    tag: str | None,
) -> Selection:
    texts = prompts["text"].to_list()
    found = priorities(
        study, prompts, n, **choice._asdict(), vectors_of=lambda texts: _vectors(encoder, texts)
    )
    rows = among(found.want, texts, n)
    if len(rows) < n:
        left = "" if choice.judged else " without truth"
        ways = [f"a number up to {len(rows)}"] if len(rows) else []
        ways += [] if choice.judged else ["--judged to choose among those with truth too"]
        raise UsageError(
            f"{n} prompts cannot be selected by difficulty out of {len(rows)}{left} that differ",
            remedy=" ".join([*found.notes, f"Give {' or '.join(ways)}." if ways else ""]).strip(),
        )
    chosen = rows[spread(_vectors(encoder, [texts[row] for row in rows]), n, seed)]
    how = f"difficulty({found.how}; spread over {len(rows)} by encoder={encoder}, seed={seed})"
    # Nothing is chosen of which nothing is expected.
    expected = [each for row in chosen if (each := found.expected[row]) is not None]
    return Selection(*_columns(prompts, chosen), how, tag, notes=found.notes, expected=expected)


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
    return np.sort(first[nearest_rows(vectors[first], found.cluster_centers_)])


def nearest_rows(vectors: np.ndarray, centres: np.ndarray, block: int = 64) -> np.ndarray:
    """The row nearest to each centre that no earlier centre took; ties by row. Blocks of centres in turn."""
    import numpy as np

    rows = vectors.astype(np.float64)
    squares = np.einsum("ij,ij->i", rows, rows)
    free = np.ones(len(rows), dtype=bool)
    taken = []
    for start in range(0, len(centres), block):
        # |x - c|^2 without |c|^2, which is the same for all rows.
        distances = squares[:, None] - 2 * rows @ centres[start : start + block].astype(np.float64).T
        for column in distances.T:
            best = int(np.argmin(np.where(free, column, np.inf)))
            free[best] = False
            taken.append(best)
    return np.array(taken, dtype=np.int64)


def _captions(
    study: Study,
    n: int,
    by: Loadable,
    seed: int,
    tag: str | None,
    where: tuple[str | None, str],
    listener: Listener | None,
) -> Selection:
    collection, joint = where
    names, texts, how, unread = best_captions(study, collection, joint, listener)
    # The same words under two images are one caption: it is chosen once at most.
    first = {text: number for number, text in reversed(list(enumerate(texts)))}
    kept = sorted(first.values())
    if not 1 <= n <= len(kept):
        raise UsageError(
            f"{n} captions cannot be selected out of {len(kept)} that differ",
            remedy=f"A number from 1 to {len(kept)}.",
        )
    vectors = embed_texts(study, by.encoder, [texts[row] for row in kept], listener)
    chosen = [kept[row] for row in spread(vectors, n, seed).tolist()]
    notes = [f"Captions are compared by {by.encoder.name}: {by.instead}."] if by.instead else []
    if unread:
        reasons = "; ".join(f"{n:,}: {reason}" for reason, n in unread.items())
        notes.append(
            f"{sum(unread.values()):,} images could not be read, and have their first caption ({reasons})."
        )
    how = "; ".join([f"captions({how}, encoder={by.encoder}, seed={seed})", *notes])
    return Selection(
        (),
        [names[row].collection for row in chosen],
        [names[row].name for row in chosen],
        [texts[row] for row in chosen],
        how,
        tag,
        unread,
        notes,
    )


class BestCaptions(NamedTuple):
    """One caption per image, how it was found, and why images with several captions were not read."""

    images: list[ImageKey]
    captions: list[str]
    how: str
    unread: Mapping[str, int]


def best_captions(
    study: Study, collection: str | None, joint: str, listener: Listener | None = None
) -> BestCaptions:
    """Of each captioned image the caption with the highest cosine with it, ties by their order.

    An image with one caption needs no comparison, and no file; of one that cannot be read the first caption
    is taken, and it is counted.
    """
    import polars as pl

    images = reading.images(study)
    known = images["collection"].unique().to_list()
    if collection is not None and collection not in known:
        raise UsageError(f"there is no collection called {collection!r}", remedy=near(collection, known))
    if collection is not None:
        images = images.filter(pl.col("collection") == collection)
    rows = reading.captions(study).join(images, on="image_id", maintain_order="left")
    if rows.is_empty():
        raise DataError("no image has a caption", remedy="Import a table of image and caption.")
    each = rows.group_by("image_id", maintain_order=True).agg(
        pl.col("collection", "name", "sha256").first(), pl.col("caption")
    )
    several = each.filter(pl.col("caption").list.len() > 1)
    unseen = several["sha256"].null_count()
    if unseen:
        raise DataError(
            f"{unseen:,} images have several captions and no file to compare them with",
            remedy="Import the image files.",
        )
    best: dict[int, int] = {}
    unread: Counter[str] = Counter()
    how = "one caption per image"
    if several.height:
        encoder = encoder_of(joint, "image")
        how = f"joint={encoder}"
        meter = Meter(f"{encoder.short}: nearest captions", several.height, listener)
        for start in range(0, several.height, IMAGES):
            part = several[start : start + IMAGES]
            nearest, reasons = _nearest(study, encoder, part)
            best.update(zip(part["image_id"].to_list(), nearest, strict=True))
            unread.update(reasons)
            meter.add(computed=part.height)
        meter.finish()
    texts = [captions[best.get(key, 0)] for key, captions in each.select("image_id", "caption").iter_rows()]
    names = [ImageKey(home, name) for home, name in each.select("collection", "name").iter_rows()]
    return BestCaptions(names, texts, how, dict(unread))


def _nearest(study: Study, encoder: Configured, images: pl.DataFrame) -> tuple[list[int], list[str]]:
    """Which of its captions is nearest to each image, by number, and why images could not be read."""
    import numpy as np

    contents = images["sha256"].to_list()
    seen = images_embedded(study, encoder, contents)
    pictures = unit(seen.vectors)
    captions = images["caption"].to_list()
    sizes = [len(texts) for texts in captions]
    texts = unit(embed_texts(study, encoder, [text for texts in captions for text in texts]))
    owner = np.repeat(np.arange(len(captions)), sizes)
    cosines = np.einsum("ij,ij->i", texts, pictures[owner], dtype=np.float64)
    # An image that cannot be read has no cosine: its first caption stands for it.
    cosines = np.round(np.nan_to_num(cosines, nan=-2.0), 12)
    starts = np.cumsum([0, *sizes])
    reasons = [_plain(seen.without[content], content) for content in contents if content in seen.without]
    return [int(np.argmax(cosines[a:b])) for a, b in pairwise(starts)], reasons


def _plain(reason: str, content: str) -> str:
    # With the hash of its file in it, every reason would be one of its own.
    return reason.replace(f" {content[:12]}...", "")


def write_selected(selected: Selection, path: str | Path) -> Path:
    """The chosen prompts as a file in the plain form (.csv, .jsonl or .parquet)."""
    import polars as pl

    tags = {selected.tag: "yes"} if selected.tag else {}
    table = prompt_table(selected.refs, [NewPrompt(text, tags) for text in selected.texts])
    return write_table(table.insert_column(0, pl.Series("suite", selected.suites, dtype=pl.String)), path)
