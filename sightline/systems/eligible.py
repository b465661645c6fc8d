"""Eligible: the images of a collection that are described well enough to build a benchmark on (ConQA)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightline.errors import DataError
from sightline.language import parsing
from sightline.language.search_words import search_words
from sightline.records import ImageKey
from sightline.study import reading
from sightline.study.collections import images_of
from sightline.study.study import Study
from sightline.study.writing.scenes import scenes

Tagger = Callable[[str], Sequence[tuple[str, str]]]
"""A sentence as pairs of word and universal part of speech (VERB, NOUN, PRON, ...)."""

PLACES = (
    *("top", "front", "end", "side", "edge", "middle", "rear", "part", "bottom", "under", "next", "left"),
    *("right", "center", "background", "back", "parallel"),
)
"""Relation words for where something is: they count like a verb."""
VERBS = ("VERB", "AUX")
NAMES = ("NOUN", "PROPN", "PRON")


@dataclass(frozen=True)
class Eligible:
    """The images that can be used, and why the others cannot."""

    images: Sequence[ImageKey]
    left_out: Mapping[str, int]


def eligible(study: Study, collection: str, tagger: Tagger | None = None) -> Eligible:
    """The images with a caption and a scene graph of one relation or more, all of whose relations are sound.

    A scene graph is the `relations` of an image: [{"subject": "man", "relation": "riding", "object":
    "horse"}]. A relation is sound if it has a word that is a verb or a place (PLACES), and no other that is a
    noun or pronoun, as `tagger` tags the sentence subject + relation + object; by default the English model
    of spaCy that is installed.
    """
    chosen = images_of(study, collection)
    captioned = set(reading.captions(study)["image_id"].to_list())
    graphs = scenes(study)
    kept: list[ImageKey] = []
    left_out: Counter[str] = Counter()
    verdicts: dict[tuple[str, str, str], bool] = {}
    for key, name in chosen.select("image_id", "name").iter_rows():
        image = ImageKey(collection, name)
        edges = _edges(graphs.get(image, {}), image)
        reason = (
            "no caption" if key not in captioned else "no relation in its scene graph" if not edges else ""
        )
        if not reason:
            tagger = tagger or parsing.find().tags
            for edge in edges:
                if edge not in verdicts:
                    verdicts[edge] = sound(*edge, tagger)
            reason = "" if all(verdicts[edge] for edge in edges) else "a relation that is no action or place"
        if reason:
            left_out[reason] += 1
        else:
            kept.append(image)
    return Eligible(kept, dict(left_out))


def sound(subject: str, relation: str, target: str, tagger: Tagger) -> bool:
    """Whether a relation is an action or a place; the sentence around it separates verbs from nouns."""
    before, within, after = (search_words(each) for each in (subject, relation, target))
    tagged = [(word.lower(), tag) for word, tag in tagger(" ".join([*before, *within, *after]))]
    if [word for word, _ in tagged] != [*before, *within, *after]:
        raise DataError(
            f"the tagger cut {' '.join([*before, *within, *after])!r} into other words",
            remedy="A tagger gives one pair of word and tag per word between spaces.",
        )
    middle = tagged[len(before) : len(before) + len(within)]
    places = [word in PLACES for word, _ in middle]
    acts = any(place or tag in VERBS for place, (_, tag) in zip(places, middle, strict=True))
    named = any(not place and tag in NAMES for place, (_, tag) in zip(places, middle, strict=True))
    return acts and not named


def _edges(scene: Mapping[str, Any], image: ImageKey) -> list[tuple[str, str, str]]:
    relations = scene.get("relations", [])
    try:
        return [(str(edge["subject"]), str(edge["relation"]), str(edge["object"])) for edge in relations]
    except (KeyError, TypeError):
        raise DataError(
            "a scene graph's relations are objects with subject, relation and object",
            where=f"image {image.collection}/{image.name}",
        ) from None
