"""Scores over CLIP's joint space by the names they are cited by: CLIPScore, PickScore, HPS v2."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from sightline.arrays import content_hash
from sightline.errors import DataError, UsageError
from sightline.extension import Card, JointEncoder, NoValue, Picture, Pin, Value, Values, measure, needs
from sightline.measures.of_answer._cosines import Texts, similarity
from sightline.records import Prompt

WEIGHT = 2.5
PREFIX = "A photo depicts "
PICKED = Pin(
    "yuvalkirstain/PickScore_v1",
    "a4e4367c6dfa7288a00c550414478f865b875800",
    "model.safetensors",
    megabytes=3945,
    licence="MIT",
)
HPS = Pin(
    "xswu/HPSv2",
    "697403c78157020a1ae59d23f111aa58ced35b0a",
    "HPS_v2.1_compressed.pt",
    megabytes=1972,
    licence="Apache-2.0",
)
PICKSCORE = f"open_clip(weights='{PICKED.model}@{PICKED.revision}:{PICKED.file}')"
HPSV2 = f"open_clip(weights='{HPS.model}@{HPS.revision}:{HPS.file}', longest=True)"
CLIP_BIASES = (
    "Little sense of counts, positions and which attribute belongs to which object; reads words that are "
    "written in the image as if they were seen; prefers what is common in English captions of the web."
)


@measure.of_answer(
    direction="higher",
    range=(0, 2.5),
    source="Hessel et al. 2021 (CLIPScore)",
    licence="Apache-2.0",
    aliases=("clip_score",),
    card=Card(
        trained_on="400 million captioned images of the web (OpenAI's CLIP, ViT-B/32)",
        biases=CLIP_BIASES,
        tested="small random checkpoint; equal to 2.5 times transformers' CLIPModel to 1e-4",
        trust="as others published it for 485 answers of ImagenHub, rank correlation -.02 with people's "
        "semantic consistency over all answers and .02 within prompts; its own weights were not run here",
    ),
)
def clipscore(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    prefix: str = PREFIX,
) -> Values:
    """CLIPScore: 2.5 times the cosine of prompt and image under CLIP, and never below 0.

    `prefix` stands before every prompt, as in the paper; others leave it out (prefix=''), or multiply by 100
    instead of 2.5. With an `encoder` other than clip it is a CLIPScore by name only. Of a prompt longer than
    77 tokens the rest is not read, and the evidence says how much that was.
    """
    return similarity(prompts, images, encoder, prefix=prefix, of=lambda cosine: WEIGHT * max(cosine, 0.0))


@measure.of_answer(
    direction="higher",
    range=(0, None),
    source="Hessel et al. 2021 (CLIPScore)",
    licence="Apache-2.0",
    content_of=("references",),
    aliases=("ref_clipscore", "ref_clip_score"),
    card=Card(
        trained_on="400 million captioned images of the web (OpenAI's CLIP, ViT-B/32)",
        biases=CLIP_BIASES + " References in other words than the prompt's lower it.",
        tested="small random checkpoint; equal to the paper's formula over transformers' CLIPModel to 1e-4",
    ),
)
def refclipscore(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    prefix: str = PREFIX,
    references: str = "",
) -> Values:
    """RefCLIPScore: harmonic mean of CLIPScore and the best cosine of the prompt with reference captions.

    References are what the prompt `expects` under "references", a list of texts, or those of a JSON file
    `references` that has a list for each prompt, by its id or its text. A prompt without any has no value.
    `encoder` and `prefix` are as in clipscore; references have the prefix, too.
    """
    known = _captions(references, content_hash(references)) if references else {}
    scores = similarity(prompts, images, encoder, prefix=prefix, of=lambda cosine: WEIGHT * max(cosine, 0.0))
    mine = [_references(prompt, known) for prompt in prompts]
    said = [prompt.text for prompt in prompts] + [text for each in mine for text in each]
    texts = Texts(encoder, [prefix + text for text in said])
    made: list[Value | NoValue] = []
    for prompt, score, captions in zip(prompts, scores, mine, strict=True):
        if isinstance(score, NoValue) or not captions:
            made.append(score if isinstance(score, NoValue) else NoValue("the prompt has no references"))
            continue
        own = texts.vector(prefix + prompt.text)
        best = max(float(own @ texts.vector(prefix + text)) for text in captions)
        made.append(_harmonic(score, max(best, 0.0)))
    return made


def _harmonic(score: Value, best: float) -> Value:
    total = score.value + best
    value = 2 * score.value * best / total if total else 0.0
    return Value(value, {**(score.evidence or {}), "clipscore": score.value, "best_reference": best})


def _references(prompt: Prompt, known: Mapping[str, Sequence[str]]) -> list[str]:
    own = (prompt.expects or {}).get("references") or known.get(prompt.key.ref) or known.get(prompt.text, ())
    return [text for text in own if isinstance(text, str) and text.strip()]


@lru_cache(maxsize=4)
def _captions(path: str, content: str | None) -> Mapping[str, Sequence[str]]:
    if content is None:
        raise UsageError(f"refclipscore: there is no file {path!r}", remedy="Give a JSON file of references.")
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"it is no JSON: {error}", where=path) from None
    if not isinstance(found, dict) or not all(isinstance(each, list) for each in found.values()):
        raise DataError(
            "references are an object with a list of texts for each prompt",
            where=path,
            remedy='For example {"a red ball": ["a ball that is red", "red ball on the floor"]}.',
        )
    return found


@measure.of_answer(
    direction="higher",
    source="Kirstain et al. 2023 (Pick-a-Pic)",
    licence="Apache-2.0 (code); MIT (weights)",
    checkpoint=PICKED,
    aliases=("pick_score",),
    card=Card(
        trained_on="Pick-a-Pic: choices between images of Stable Diffusion 1.5 to SDXL by users of a website",
        biases="Follows the taste of those users: saturated, detailed, centred images; differences of one "
        "prompt mean more than those between prompts. " + CLIP_BIASES,
        tested="small random checkpoint; equal to logits_per_image of transformers' CLIPModel to 1e-4",
    ),
)
def pickscore(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", PICKSCORE),
) -> Values:
    """PickScore: CLIP, tuned on people's choices between images, as scaled cosine of prompt and image.

    The cosine under `encoder` times the scale that the checkpoint has learned. The authors compare images of
    one prompt by the softmax of these values.
    """
    if not prompts:
        return []
    scale = _scale(encoder, "pickscore")
    return similarity(prompts, images, encoder, of=lambda cosine: scale * cosine)


def _scale(encoder: JointEncoder, name: str) -> float:
    try:
        return float(encoder.logit_scale)  # type: ignore[attr-defined]
    except AttributeError:
        raise UsageError(
            f"{name} needs an encoder that has learned a scale of cosines", remedy="Such as clip or siglip."
        ) from None


@measure.of_answer(
    direction="higher",
    range=(-1, 1),
    source="Wu et al. 2023 (HPS v2)",
    licence="Apache-2.0",
    checkpoint=HPS,
    aliases=("hps", "hpsv2score", "hps_v2", "hpsv2_1"),
    card=Card(
        trained_on="HPD v2: 798,000 choices between images of nine generators by 57 hired annotators",
        biases="Prompts were cleaned by a language model; favours polished, high-contrast images; the "
        "authors print values times 100. " + CLIP_BIASES,
        tested="small random checkpoint in open_clip's names; equal to transformers' CLIPModel to 1e-4. "
        "Scaling is Pillow's, while the authors' code scales tensors, which differs slightly",
    ),
)
def hpsv2(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", HPSV2),
) -> Values:
    """Human Preference Score v2.1: cosine of prompt and image under a CLIP tuned on people's choices.

    `encoder` is open_clip with the authors' weights, HPS_v2.1_compressed.pt; images are scaled by their
    longer side and have black around them, as the authors do.
    """
    return similarity(prompts, images, encoder)
