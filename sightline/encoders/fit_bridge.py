"""Bridge: fit a joint space of texts and images on the captioned images of a collection."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sightline import registry
from sightline.encoders.choice import encoder_of, first_loadable
from sightline.errors import DataError, UsageError
from sightline.estimate import Estimate
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics import bridge as arithmetic
from sightline.statistics.intervals import cluster_bootstrap
from sightline.study import reading
from sightline.study.collections import images_of
from sightline.study.running.embedding import embed_texts, images_embedded, loaded_over
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.verbs import SEED, argument, option, verb
from sightline.weights import keep_by_name

if TYPE_CHECKING:
    import numpy as np

DIGITS = 16
HITS = (1, 5, 10)
IMAGES = ("efficientnet_lite0(stages=(6, 8), views=6)", "colour_layout")
TEXTS = ("concat", "minilm", "sentence", "hashed_words")
"""Best first."""
FRACTIONS = (0.25, 0.5, 1.0)
"""Of the images fitted on: the points of the learning curve."""
PROBE = "a small dog runs across the snow"


@dataclass(frozen=True)
class HitRate(Estimate):
    """The proportion of held-out captions whose image is among the first k, and what guessing would reach."""

    k: int = 1
    chance: float = 0.0


@dataclass(frozen=True)
class Step:
    """One point of the learning curve: the number of images fitted on, and hit rates on held-out images."""

    images: int
    hits: Sequence[HitRate]


@dataclass(frozen=True)
class BridgeFit(Result):
    """A fitted bridge: its file, the encoder to write, what it was fitted on, and how well it does.

    `among` is the mean number of images that a held-out caption is searched in. `parts` are the bridges of
    the folds, each fitted without its images.
    """

    path: Path
    encoder: str
    collection: str
    images: int
    captions: int
    left_out: int
    among: float
    settings: arithmetic.Settings
    hits: Sequence[HitRate]
    curve: Sequence[Step]
    date: str
    full: arithmetic.Bridge = field(repr=False)
    parts: Sequence[arithmetic.Part] = field(repr=False)

    @property
    def sentence(self) -> str:
        return f"Fitted on {self.images:,} images with {self.captions:,} captions, stored as {self.path}"

    @property
    def called(self) -> str:
        """The name it is found by, or its path."""
        return str(registry.configure("encoder", self.encoder).arguments["path"])

    @property
    def notes(self) -> Sequence[str]:
        return (f"{self.left_out:,} images could not be read and were excluded.",) if self.left_out else ()

    @property
    def next(self) -> Sequence[str]:
        engine = f"exact(encoder={self.encoder})"
        name = self.called if self.called.isidentifier() else repr(self.called)
        measure = f"bridge_similarity(name={name})"
        where = shlex.quote(self.collection)
        return (
            f"sightline retrieve STUDY bridge --with {shlex.quote(engine)} --collection {where}",
            f"sightline score STUDY {shlex.quote(measure)}   # as a measure of alignment",
        )

    def tables(self) -> dict[str, Table]:
        hit_rates = [
            Column("k", "among the first"),
            Column("hit_rate", "hit rate", estimate=True),
            Column("chance"),
        ]
        curve = [Column("images", "fitted on")]
        curve += [Column(f"hit_rate@{each.k}", f"hit rate @{each.k}", estimate=True) for each in self.hits]
        caption = f"Captions that find their image among {self.among:.0f} held out"
        return {
            "hits": Table(hit_rates, [(each.k, each, each.chance) for each in self.hits], caption),
            "curve": Table(curve, [(step.images, *step.hits) for step in self.curve], "Learning curve"),
        }

    def facts(self) -> Mapping[str, Any]:
        return {**super().facts(), "settings": str(self.settings), "path": str(self.path)}


COLLECTION = argument("The collection whose captioned images it is fitted on.", "COLLECTION")
IMAGE_ENCODER = option(
    "Encode images with this encoder: see sightline list encoder.",
    metavar="ENCODER",
    shown="the best that can be loaded",
)
TEXT_ENCODER = option(
    "Encode captions with this encoder.", metavar="ENCODER", shown="the best that can be loaded"
)
FOLDS = option("Hold out this many parts in turn to evaluate it.", least=2)


@verb("collect", "bridge")
def fit_bridge(
    study: Study,
    collection: Annotated[str, COLLECTION],
    *,
    image: Annotated[str | None, IMAGE_ENCODER] = None,
    text: Annotated[str | None, TEXT_ENCODER] = None,
    folds: Annotated[int, FOLDS] = 5,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> BridgeFit:
    """Fit a joint space of texts and images on your own captions.

    The bridge is an encoder like any other: search with it, or score how well images fit their prompts. Hit
    rates come from nested cross-validation: bridges fitted without a fold, their settings chosen without it,
    rank the images of that fold for each of their captions. Intervals resample whole images. The bridge that
    is stored, as plain arrays, is fitted on all images.

    \b
    sightline bridge my-study photos
    sightline bridge my-study photos --image efficientnet_lite0 --text sentence
    """
    if folds < 2:
        raise UsageError(f"{folds} folds hold nothing out", remedy="At least 2, usually 5.")
    learned = captioned(study, collection, image=image, text=text, folds=folds, listener=listener)
    encoders, features, said, owner = learned.encoders, learned.features, learned.said, learned.owner
    meter = Meter("bridge: cross-validation", folds * len(FRACTIONS) + 1, listener)
    parts: list[arithmetic.Part] = []
    curve = arithmetic.cross_validate(
        features,
        said,
        owner,
        folds=folds,
        seed=seed,
        shares=FRACTIONS,
        done=lambda: meter.add(computed=1),
        kept=parts,
    )
    settings = arithmetic.choose(features, said, owner, folds=folds, seed=seed)
    fitted = arithmetic.fit(features, said, owner, settings, seed=seed)
    meter.add(computed=1)
    meter.finish()
    steps = [Step(each.fitted_on, _hit_rates(each, seed)) for each in curve]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    about = {
        "collection": collection,
        "images": len(features),
        "captions": len(owner),
        **{name: str(encoder) for name, encoder in encoders.items()},
        **{f"{name}_identity": encoder.identity for name, encoder in encoders.items()},
        "settings": asdict(settings),
        "folds": folds,
        "seed": seed,
        "date": date,
        "hits": [asdict(each) for each in steps[-1].hits],
        "curve": [asdict(step) for step in steps],
    }
    path = _write(study.home / "bridges", _file_name(collection), fitted, about, _probed(study, encoders))
    encoder = registry.configure(
        "encoder", "bridge", path=path.stem if keep_by_name("bridges", path, path.stem) else str(path)
    )
    return BridgeFit(
        path=path,
        encoder=encoder.short,
        collection=collection,
        images=len(features),
        captions=len(owner),
        left_out=learned.left_out,
        among=float(curve[-1].among.mean()),
        settings=settings,
        hits=steps[-1].hits,
        curve=steps,
        date=date,
        full=fitted,
        parts=parts,
    )


@dataclass(frozen=True)
class Captioned:
    """The captioned images of a collection as encoders see them; `owner` is the image of each caption."""

    encoders: dict[str, Configured]
    contents: Sequence[str]
    captions: Sequence[str]
    features: np.ndarray
    said: np.ndarray
    owner: np.ndarray
    left_out: int


def captioned(
    study: Study,
    collection: str,
    *,
    image: str | None = None,
    text: str | None = None,
    folds: int = 5,
    listener: Listener | None = None,
) -> Captioned:
    """What a bridge is fitted on: every image of the collection with a caption and a readable file."""
    import numpy as np

    encoders = {
        "image": encoder_of(image, "image") if image else first_loadable(IMAGES, "image").encoder,
        "text": encoder_of(text, "text") if text else first_loadable(TEXTS, "text").encoder,
    }
    contents, captions, owner = _captioned(study, collection)
    seen = images_embedded(study, encoders["image"], contents, listener).vectors
    said = embed_texts(study, encoders["text"], captions, listener)
    known = np.isfinite(seen).all(axis=1)
    kept = known[owner]
    least = max(arithmetic.LEAST_IMAGES, 4 * folds)
    if known.sum() < least:
        raise DataError(
            f"only {known.sum()} images of {collection!r} have a caption and a readable file",
            remedy=f"A bridge needs {least} or more; hundreds are better.",
        )
    return Captioned(
        encoders,
        [content for content, there in zip(contents, known, strict=True) if there],
        [caption for caption, there in zip(captions, kept, strict=True) if there],
        seen[known].astype(np.float64),
        said[kept].astype(np.float64),
        (np.cumsum(known) - 1)[owner[kept]],
        int((~known).sum()),
    )


def _captioned(study: Study, collection: str) -> tuple[list[str], list[str], np.ndarray]:
    """Contents of the collection's captioned images, their captions, and the image of each caption."""
    import numpy as np
    import polars as pl

    images = images_of(study, collection)
    sha256 = dict(images.filter(pl.col("sha256").is_not_null()).select("image_id", "sha256").iter_rows())
    # One content under two names is one image: held out under one name, it would be seen under the other.
    place: dict[str, int] = {}
    captions, owner = [], []
    for key, caption in reading.captions(study).select("image_id", "caption").iter_rows():
        if key in sha256 and caption.strip():
            captions.append(caption)
            owner.append(place.setdefault(sha256[key], len(place)))
    if not place:
        raise DataError(
            f"no image of collection {collection!r} has both a caption and a file",
            remedy="Import a table of image and caption, and the images themselves.",
        )
    return list(place), captions, np.array(owner, dtype=np.int64)


def _hit_rates(held: arithmetic.HeldOut, seed: int) -> list[HitRate]:
    rates = [(k, cluster_bootstrap(held.hits(k), held.image, seed=seed)) for k in HITS]
    return [HitRate(rate.value, rate.low, rate.high, rate.n, k=k, chance=held.chance(k)) for k, rate in rates]


def _probed(study: Study, encoders: dict[str, Configured]) -> dict[str, Any]:
    """The vectors of a fixed picture and text, by which the encoders are recognised."""
    import numpy as np
    from PIL import Image

    y, x = np.mgrid[:96, :128]
    pixels = np.stack([x * 2 - 1, (x // 16 + y // 16) % 2 * 200, 255 - y * 2], axis=2).clip(0, 255)
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
    picture = Picture(file.getvalue(), name="probe")
    return {
        "probe_image": np.frombuffer(file.getvalue(), dtype=np.uint8),
        "probe_image_vector": np.asarray(loaded_over(study, encoders["image"]).image([picture])),
        "probe_text": np.array(PROBE),
        "probe_text_vector": np.asarray(loaded_over(study, encoders["text"]).text([PROBE])),
    }


def _write(
    folder: Path, name: str, fitted: arithmetic.Bridge, about: dict[str, Any], probed: dict[str, Any]
) -> Path:
    """Store a bridge under a name that ends in the hash of its content: no other bridge has its name."""
    import numpy as np

    arrays: dict[str, Any] = {
        name: array.astype(np.float32) if array.dtype.kind == "f" else array
        for name, array in fitted.arrays().items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".part-{os.getpid()}.npz"
    np.savez(part, about=np.array(json.dumps(about)), **arrays, **probed)
    path = folder / f"{name}_{hashlib.sha256(part.read_bytes()).hexdigest()[:DIGITS]}.npz"
    os.replace(part, path)
    return path


def _file_name(collection: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in collection)
    return kept.strip("_") or "bridge"
