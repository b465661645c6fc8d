"""Which of the things a prompt names can be found in the image, and which are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Any

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Detector, NoValue, Picture, TextEncoder, Value, Values, measure, needs
from sightline.language import parsing
from sightline.language.phrases import Phrase, by_parse, by_rules
from sightline.records import Prompt
from sightline.statistics.colours import colour_shares, named_colours

PARSERS = ("rules", "spacy")
UNLIKE, ALIKE = 0.30, 0.80
"""Cosines of a phrase and a kind: up to the first they share nothing, from the second on they agree."""
SEEN = 0.5
"""From this coverage on a phrase is listed as covered."""
ENOUGH = 0.02
"""The proportion of an image that a colour must cover to be seen in full."""
Seen = Mapping[str, Any]


@measure.of_answer(
    direction="higher",
    range=(0, 1),
    source="ours, after Hu et al. 2023 (TIFA) and Ghosh et al. 2023 (GenEval)",
    licence="Apache-2.0",
)
def phrase_coverage(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    objects: Detector = needs("detector", "ssd_mobilenet_v2"),
    classes: Detector = needs("detector", "imagenet_classes"),
    text: Detector = needs("detector", "rapidocr"),
    encoder: TextEncoder = needs("encoder", "minilm"),
    parser: str = "rules",
) -> Values:
    """Proportion of the things named in the prompt that detectors find in the image.

    The prompt's noun phrases are compared with the kinds of what was detected by their cosine under
    `encoder`, from 0 (.30 or less) to 1 (.80 or more), times the detector's confidence. A phrase is covered
    by its best object, or by all its classes together, whichever is more; words in quotation marks by the
    letters of them that were read. Where a phrase names a colour or a number, the coverage is the mean of the
    thing's and of whether the colour (of the object, or else in the image) and the number are right. The
    value is the mean over phrases. Evidence lists covered and missing phrases, with boxes of what does so.

    `parser` finds the phrases: "rules" (runs of words between stop words) needs nothing and works roughly in
    every language that separates words; "spacy" parses English. A detector is left out by `nothing`:
    phrase_coverage(text=nothing). What no detector knows is missing whatever the image shows: a low value
    may mean that the prompt asks for something rare.
    """
    if parser not in PARSERS:
        raise UsageError(f"phrase_coverage: parser={parser!r}", remedy=f"One of {', '.join(PARSERS)}.")
    asked = _phrases([prompt.text for prompt in prompts], parser)
    scenes = [detector.detect(images) for detector in (objects, classes, text)]
    seen = [
        [*_objects(whole, single=True), *_objects(classed, single=False)]
        for whole, classed in zip(scenes[0], scenes[1], strict=True)
    ]
    cosines = _Cosines(encoder, asked, seen)
    return [
        _value(prompt, phrases, image, things, scene.get("text", ()), cosines)
        for prompt, phrases, image, things, scene in zip(prompts, asked, images, seen, scenes[2], strict=True)
    ]


def _objects(scene: Seen, *, single: bool) -> list[dict[str, Any]]:
    return [{**each, "single": single} for each in scene.get("objects", ())]


def _phrases(texts: Sequence[str], parser: str) -> list[list[Phrase]]:
    if parser == "rules":
        return [by_rules(text) for text in texts]
    return [by_parse(text, tokens) for text, tokens in zip(texts, _parser()(texts), strict=True)]


@cache
def _parser() -> parsing.Parser:
    return parsing.find()


class _Cosines:
    """How alike phrases and kinds of objects are, each text encoded once."""

    def __init__(
        self, encoder: TextEncoder, asked: Sequence[Sequence[Phrase]], seen: Sequence[Sequence[Seen]]
    ) -> None:
        words = [word for each in asked for phrase in each for word in _forms(phrase)]
        words += [name for things in seen for thing in things for name in _names(thing["kind"])]
        distinct = list(dict.fromkeys(words))
        rows = np.asarray(encoder.text(distinct), dtype=np.float64) if distinct else np.zeros((0, 1))
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        self._rows = dict(zip(distinct, rows, strict=True))

    def likeness(self, phrase: Phrase, kind: str) -> float:
        """From 0 to 1, for the best of the phrase's forms and the kind's names."""
        best = max(
            float(self._rows[form] @ self._rows[name]) for form in _forms(phrase) for name in _names(kind)
        )
        return min(max((best - UNLIKE) / (ALIKE - UNLIKE), 0.0), 1.0)


def _forms(phrase: Phrase) -> tuple[str, ...]:
    """The phrase without its colours, and its head."""
    plain = " ".join(word for word in phrase.text.split() if not named_colours(word))
    return (plain or phrase.text, phrase.head) if not phrase.written else ()


@cache
def _names(kind: str) -> tuple[str, ...]:
    """The names of a kind: a class of ImageNet has several, with commas between them."""
    return tuple(name.strip() for name in kind.split(",") if name.strip())


def _value(
    prompt: Prompt,
    phrases: Sequence[Phrase],
    image: Picture,
    things: Sequence[Seen],
    lines: Sequence[Seen],
    cosines: _Cosines,
) -> Value | NoValue:
    if not prompt.text.strip():
        return NoValue("the prompt is empty")
    if not phrases:
        return NoValue("the prompt names nothing that could be seen")
    found = [
        _read(phrase, lines) if phrase.written else _found(phrase, image, things, cosines)
        for phrase in phrases
    ]
    evidence = {
        "covered": [each for each in found if each["coverage"] >= SEEN],
        "missing": [each for each in found if each["coverage"] < SEEN],
    }
    return Value(sum(each["coverage"] for each in found) / len(found), evidence)


def _found(phrase: Phrase, image: Picture, things: Sequence[Seen], cosines: _Cosines) -> dict[str, Any]:
    """How far a thing is covered, and by what."""
    likeness = [cosines.likeness(phrase, thing["kind"]) for thing in things]
    weight = [alike * thing["confidence"] for alike, thing in zip(likeness, things, strict=True)]
    classes = sum(each for each, thing in zip(weight, things, strict=True) if not thing["single"])
    best = max(range(len(things)), key=weight.__getitem__, default=None)
    whole = min(1.0, max(classes, weight[best] if best is not None else 0.0))
    colours = named_colours(phrase.text)
    parts = [whole] if any(not named_colours(word) for word in phrase.text.split()) else []
    own = [thing for alike, thing in zip(likeness, things, strict=True) if thing["single"] and alike >= SEEN]
    if colours:
        worn = {thing.get("colour") for thing in own} - {None}
        shares = colour_shares(image.rgb)
        parts.append(
            float(bool(worn & set(colours)))
            if worn
            else min(1.0, min(shares[colour] for colour in colours) / ENOUGH)
        )
    if phrase.number is not None and own:
        parts.append(float(len(own) == phrase.number))
    found = {"phrase": phrase.text, "coverage": round(sum(parts) / len(parts), 4)}
    if best is not None and weight[best] > 0:
        thing = things[best]
        found |= {"kind": thing["kind"], "box": thing["box"], "confidence": thing["confidence"]}
    return found


def _read(phrase: Phrase, lines: Sequence[Seen]) -> dict[str, Any]:
    """How many letters of the quoted words were read, in their order, and where most of them stand."""
    wanted = _letters(phrase.text)
    everything = _letters("".join(str(line["text"]) for line in lines))
    coverage = _matched(wanted, everything)
    found: dict[str, Any] = {"phrase": phrase.text, "coverage": round(coverage, 4)}
    if coverage:
        line = max(lines, key=lambda each: _matched(wanted, _letters(str(each["text"]))))
        found |= {"kind": f"text: {line['text']}", "box": line["box"], "confidence": line["confidence"]}
    return found


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.lower())


def _matched(wanted: str, read: str) -> float:
    if not wanted:
        return 0.0
    blocks = SequenceMatcher(None, wanted, read, autojunk=False).get_matching_blocks()
    # Letters that happen to agree are no reading: only runs of two or more count, of longer words.
    least = min(2, len(wanted))
    return sum(block.size for block in blocks if block.size >= least) / len(wanted)
