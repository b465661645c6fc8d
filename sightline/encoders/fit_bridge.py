"""Bridge: fit a joint space of texts and images on the captioned images of a collection."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.errors import DataError, MissingPackage, UsageError, near
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.statistics import bridge as arithmetic
from sightline.statistics.intervals import cluster_bootstrap
from sightline.study import reading
from sightline.study.running.embedding import embed_texts, images_embedded, loaded_over
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study

if TYPE_CHECKING:
    import numpy as np

DIGITS = 16
HITS = (1, 5, 10)
IMAGES = ("efficientnet_lite0(stages=(6, 8), views=6)", "colour_layout")
TEXTS = ("concat", "minilm", "sentence", "hashed_words")
"""Best first."""
SHARES = (0.25, 0.5, 1.0)
PROBE = "a small dog runs across the snow"


@dataclass(frozen=True)
class HitRate:
    """Share of held-back captions whose image is among the first k, with its interval, and by chance."""

    k: int
    value: float
    low: float | None
    high: float | None
    chance: float


@dataclass(frozen=True)
class Step:
    """One point of the learning curve: fitted on so many images, hit rates on images held back."""

    images: int
    hits: Sequence[HitRate]


@dataclass(frozen=True)
class Fitted:
    """A fitted bridge: the file, the encoder to write, what it rests on, and how well it does."""

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
    """The bridges of the folds, each fitted without its images."""


def fit_bridge(
    study: Study,
    collection: str,
    *,
    image: str | None = None,
    text: str | None = None,
    folds: int = 5,
    seed: int = 0,
    listener: Listener | None = None,
) -> Fitted:
    """Fit a bridge on every captioned image of a collection and keep it in the study as arrays.

    Encoders that are not named are the best of IMAGES and TEXTS that can be loaded here; the result and the
    file say which.
    Hit rates are those of nested cross-validation: bridges fitted without a fold, their settings chosen
    without it, rank the images of that fold for each of their captions. Intervals resample whole images.
    The bridge that is kept is fitted on all images.
    """
    if folds < 2:
        raise UsageError(f"{folds} folds hold nothing out", remedy="At least 2, usually 5.")
    learned = captioned(study, collection, image=image, text=text, folds=folds, listener=listener)
    encoders, features, said, owner = learned.encoders, learned.features, learned.said, learned.owner
    meter = Meter("bridge: cross-validation", folds * len(SHARES) + 1, listener)
    parts: list[arithmetic.Part] = []
    curve = arithmetic.cross_validate(
        features,
        said,
        owner,
        folds=folds,
        seed=seed,
        shares=SHARES,
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
        "encoder", "bridge", path=str(path), **{f"{name}_encoder": each for name, each in encoders.items()}
    )
    return Fitted(
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

    named = {"image": image or _first(IMAGES), "text": text or _first(TEXTS)}
    encoders = {name: registry.configure("encoder", told) for name, told in named.items()}
    for name, encoder in encoders.items():
        if name not in encoder.spec.details["encodes"]:
            raise UsageError(f"{encoder.name} does not encode {name}s", remedy="sightline list encoder")
    contents, captions, owner = _captioned(study, collection)
    seen = images_embedded(study, encoders["image"], contents, listener).vectors
    said = embed_texts(study, encoders["text"], captions, listener)
    known = np.isfinite(seen).all(axis=1)
    kept = known[owner]
    least = max(arithmetic.LEAST_IMAGES, 4 * folds)
    if known.sum() < least:
        raise DataError(
            f"only {known.sum()} images of {collection!r} have a caption and a readable file",
            remedy=f"A bridge needs {least} or more, and gains from hundreds.",
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


def _first(names: Sequence[str]) -> str:
    """The first of these encoders that can be loaded here; the last needs nothing."""
    for name in names[:-1]:
        try:
            registry.configure("encoder", name).load()
        except (MissingPackage, ImportError):
            continue
        return name
    return names[-1]


def _captioned(study: Study, collection: str) -> tuple[list[str], list[str], np.ndarray]:
    """Contents of the collection's captioned images, their captions, and the image of each caption."""
    import numpy as np
    import polars as pl

    images = reading.images(study)
    chosen = images.filter(pl.col("collection") == collection)
    if chosen.is_empty():
        known = images["collection"].unique().to_list()
        raise UsageError(f"there is no collection called {collection!r}", remedy=near(collection, known))
    sha256 = dict(chosen.filter(pl.col("sha256").is_not_null()).select("image_id", "sha256").iter_rows())
    # One content under two names is one image: held back by one name it would be seen by the other.
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
    found = []
    for k in HITS:
        rate = cluster_bootstrap(held.hits(k), held.image, seed=seed)
        assert rate.value is not None
        found.append(HitRate(k, rate.value, rate.low, rate.high, held.chance(k)))
    return found


def _probed(study: Study, encoders: dict[str, Configured]) -> dict[str, Any]:
    """What the encoders say of a fixed picture and text, by which they are known again."""
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
    """Keep a bridge under a name that ends in the hash of its content: no other bridge ever has its name."""
    import numpy as np

    arrays: dict[str, Any] = {
        name: array.astype(np.float32) if array.dtype.kind == "f" else array
        for name, array in fitted.arrays().items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".part-{os.getpid()}.npz"
    np.savez(part, about=np.array(json.dumps(about)), **arrays, **probed)
    path = folder / f"{name}-{hashlib.sha256(part.read_bytes()).hexdigest()[:DIGITS]}.npz"
    os.replace(part, path)
    return path


def _file_name(collection: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in collection)
    return kept.strip("_") or "bridge"
