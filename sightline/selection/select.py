"""Select: a few prompts that stand for many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.data.export import prompt_table, write_table
from sightline.encoders.choice import Loadable, encoder_of, first_loadable
from sightline.errors import DataError, UsageError, near
from sightline.extension import Configured
from sightline.prediction.predict import Expected
from sightline.records import ImageKey, NewPrompt
from sightline.selection.difficulty import among, wanted
from sightline.statistics.search import unit
from sightline.study import reading
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import embed_texts, images_embedded
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

WAYS = ("spread", "random", "captions", "difficulty")
SENTENCES = ("sentence", "hashed_words")
"""What captions are spread by: the first of these that can be loaded here. PQPP has sentence vectors."""
IMAGES = 2_048
"""Images whose captions are compared at once."""


@dataclass(frozen=True)
class Selected:
    """The chosen prompts in the order of the study, and how they were chosen.

    Captions are no prompts of the study yet: they have no ids, their suite is the collection, and `refs` are
    the images they were written for. `unread` counts, by reason, the images that could not be compared with
    their captions: the first one stands for them. `notes` say in sentences what did not go as it should.
    `expected` is what is predicted of each prompt, where they were chosen by difficulty.
    """

    prompt_ids: Sequence[int]
    suites: Sequence[str]
    refs: Sequence[str]
    texts: Sequence[str]
    how: str
    tag: str | None = None
    unread: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    expected: Sequence[Expected] = ()


def select(
    study: Study,
    n: int,
    *,
    by: str = "spread",
    encoder: str | None = None,
    seed: int = 0,
    suite: str | None = None,
    tag: str | None = None,
    collection: str | None = None,
    joint: str = "clip",
    prefer: str = "hard",
    question: str | None = None,
    judged: bool = False,
    tier: str | None = None,
    listener: Listener | None = None,
) -> Selected:
    """Choose n prompts: `spread` over what they say, or `random`; nothing is written to the study.

    `spread` groups the texts' vectors by k-means (k-means++ start) into n groups and takes the prompt nearest
    each centre. `captions` (PQPP) chooses so among the captions of `collection`: of each image the one that
    is nearest to it in the space of the encoder `joint`; their vectors are kept in the study. Vectors are
    those of `encoder`: if none is named, of hashed_words for prompts, and for captions of the first of
    SENTENCES that can be loaded here, which the result names. `tag` is a name under which a file written
    from the choice marks the prompts. `difficulty` spreads the choice over the prompts that are expected to
    be `hard` or `easy`, or whose expectation is `unsure`, as `prefer` says; those with truth of `question`
    are left out unless `judged`, and `tier` names one of the shipped predictor (see select_difficulty).
    """
    import numpy as np

    if by not in WAYS:
        raise UsageError(f"prompts are not selected by {by!r}", remedy=near(by, WAYS))
    if seed < 0:
        raise UsageError(f"the seed is {seed}", remedy="A seed is 0 or more.")
    if by == "captions":
        texts_by = first_loadable((encoder,) if encoder else SENTENCES, "text")
        return _captions(study, n, texts_by, seed, tag, (collection, joint), listener)
    reading.need_prompts(study)
    prompts = prompts_of(study, suite)
    if not 1 <= n <= prompts.height:
        raise UsageError(
            f"{n} prompts cannot be selected out of {prompts.height}",
            remedy=f"A number from 1 to {prompts.height}.",
        )
    if by == "difficulty":
        chosen_encoder = encoder_of(encoder or "hashed_words", "text")
        choice = _Choice(prefer, question, judged, tier)
        return _difficult(study, prompts, n, choice, chosen_encoder, seed, tag)
    texts = prompts["text"].to_list()
    if by == "random":
        chosen = np.sort(np.random.default_rng(seed).choice(len(texts), n, replace=False))
        how = f"random(seed={seed})"
    else:
        chosen_encoder = encoder_of(encoder or "hashed_words", "text")
        # A study that can only be read can be selected from, too: nothing is kept.
        chosen = spread(_vectors(chosen_encoder, texts), n, seed)
        how = f"spread(encoder={chosen_encoder}, seed={seed})"
    return Selected(*_columns(prompts, chosen), how, tag)


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
) -> Selected:
    texts = prompts["text"].to_list()
    found = wanted(study, prompts, n, **choice._asdict(), vectors_of=lambda texts: _vectors(encoder, texts))
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
    return Selected(*_columns(prompts, chosen), how, tag, notes=found.notes, expected=expected)


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
) -> Selected:
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
        notes.append(f"{sum(unread.values()):,} images stand with their first caption, unread ({reasons}).")
    told = "; ".join([f"captions({how}, encoder={by.encoder}, seed={seed})", *notes])
    return Selected(
        (),
        [names[row].collection for row in chosen],
        [names[row].name for row in chosen],
        [texts[row] for row in chosen],
        told,
        tag,
        unread,
        notes,
    )


class BestCaptions(NamedTuple):
    """A caption an image, how it was found, and by reason how many images with several were not readable."""

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
    how = "one caption an image"
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
    told = images["caption"].to_list()
    sizes = [len(captions) for captions in told]
    texts = unit(embed_texts(study, encoder, [text for captions in told for text in captions]))
    owner = np.repeat(np.arange(len(told)), sizes)
    cosines = np.einsum("ij,ij->i", texts, pictures[owner], dtype=np.float64)
    # An image that cannot be read has no cosine: its first caption stands for it.
    cosines = np.round(np.nan_to_num(cosines, nan=-2.0), 12)
    starts = np.cumsum([0, *sizes])
    reasons = [_plain(seen.without[content], content) for content in contents if content in seen.without]
    return [int(np.argmax(cosines[a:b])) for a, b in pairwise(starts)], reasons


def _plain(reason: str, content: str) -> str:
    # With the hash of its file in it, every reason would be one of its own.
    return reason.replace(f" {content[:12]}...", "")


def write_selected(selected: Selected, path: str | Path) -> Path:
    """The chosen prompts as a file in the plain form (.csv, .jsonl or .parquet)."""
    import polars as pl

    tags = {selected.tag: "yes"} if selected.tag else {}
    table = prompt_table(selected.refs, [NewPrompt(text, tags) for text in selected.texts])
    return write_table(table.insert_column(0, pl.Series("suite", selected.suites, dtype=pl.String)), path)
