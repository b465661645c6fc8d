"""The cosine between an image and its prompt in a joint space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sightline.extension import JointEncoder, Picture, Values, measure, needs
from sightline.measures.of_answer._cosines import similarity
from sightline.records import Prompt


@measure.of_answer(
    direction="higher",
    range=(-1, 1),
    source="Hessel et al. 2021 (CLIPScore)",
    licence="Apache-2.0",
    aliases=("clip", "clip_t", "clip_similarity"),
)
def embedding_similarity(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
) -> Values:
    """Cosine between prompt and image in a space that holds both, such as CLIP's or a fitted bridge's.

    With `clip` this is `clipscore` without its factor of 2.5, its floor at 0 and its first words. Values of
    different encoders are on different scales: compare images under one encoder only. Of a prompt that is
    longer than the encoder reads, the rest is left out, and `unread_tokens` in the evidence says how much.
    """
    return similarity(prompts, images, encoder)


def _bridge(given: Mapping[str, Any]) -> dict[str, str]:
    """The encoder of a bridge of this name."""
    return {"encoder": f"bridge(path={given['name']!r})"} if given.get("name") else {}


@measure.of_answer(
    direction="higher",
    range=(-1, 1),
    filled_by=_bridge,
    source="Saunders et al. 1998; Hardoon et al. 2004; Conneau et al. 2018",
    licence="Apache-2.0",
)
def bridge_similarity(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    name: str = "",
    encoder: JointEncoder = needs("encoder", "bridge"),
) -> Values:
    """Cosine between prompt and image in the space of a bridge that was fitted on captioned images.

    `name` is that of the bridge, as `sightline bridge` printed it: bridge_similarity(name=photos_1a2b3c4d).
    It is `embedding_similarity` with that encoder; nothing else has to be written.
    """
    return similarity(prompts, images, encoder)
