"""Matching heads: the probability that a text and an image belong together, by BLIP or BLIP-2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import architecture, from_library, settings_of
from sightline.device import Batches, device, inference, numbers, placed
from sightline.errors import DataError
from sightline.extension import Card, Picture, Pin, Values, measure
from sightline.measures.of_answer._library import beyond, kept, length_limit, pil, processor_of, scored
from sightline.records import Prompt

PIN = Pin("Salesforce/blip2-itm-vit-g", megabytes=4700, licence="MIT")
CLASSES = {"blip": "BlipForImageTextRetrieval", "blip-2": "Blip2ForImageTextRetrieval"}


@measure.of_answer(
    direction="higher",
    range=(0, 1),
    extra="torch",
    parallel=False,
    checkpoint=PIN,
    source="Li et al. 2022 (BLIP), 2023 (BLIP-2)",
    licence="Apache-2.0 (code); BSD-3-Clause (BLIP), MIT (BLIP-2) (weights)",
    aliases=("blip2_itm", "itmscore", "itm_score", "blipv2score", "blip_score"),
    card=Card(
        trained_on="129 million captioned images (COCO, Visual Genome, CC, SBU, LAION); -coco ones on COCO",
        biases="Near 0 or 1 for most pairs: sorts well, measures poorly; weak on counts and relations.",
        tested="small random checkpoints of BLIP and of BLIP-2; equal to transformers' own classes to 1e-4",
    ),
)
def blip_itm(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    model: str = PIN.model,
    revision: str = "",
    sha256: str = "",
) -> Values:
    """Probability that prompt and image belong together, by the matching head of BLIP or BLIP-2.

    `model` is a folder with a checkpoint of transformers' BlipForImageTextRetrieval or
    Blip2ForImageTextRetrieval and the `sha256` of its files, or a name on the hub with its `revision`. Texts
    and images go through the network together, so that nothing can be looked up: it reranks the first images
    that a faster engine found (sightline rerank --by blip_itm --first 128), as ConQA does.
    """
    return scored(prompts, images, lambda: kept(Matching, "blip_itm", (model, revision, sha256), PIN))


class Matching:
    """A loaded matching head."""

    def __init__(self, name: str, folder: Path) -> None:
        import transformers

        self._type = str(settings_of(folder).get("model_type", ""))
        if self._type not in CLASSES:
            raise DataError(
                f"this is a checkpoint of another architecture: {architecture(folder)}",
                where=str(folder),
                remedy=f"{name} reads checkpoints of {' and '.join(CLASSES.values())}.",
            )
        self._model = placed(from_library(name, folder, getattr(transformers, CLASSES[self._type])))
        self._processor = processor_of(folder)
        text = self._model.text_encoder if self._type == "blip" else self._model.qformer
        self._longest = length_limit(text)
        self._batches = Batches(16)

    def unread(self, texts: Sequence[str]) -> list[int]:
        return beyond(self._processor.tokenizer, texts, self._longest)

    def score(self, texts: Sequence[str], images: Sequence[Picture]) -> np.ndarray:
        call = self._blip if self._type == "blip" else self._blip2
        pairs = list(zip(texts, images, strict=True))
        return np.concatenate(self._batches.run(lambda part: self._matching(call, part), pairs))

    def _matching(self, call: Any, part: Sequence[tuple[str, Picture]]) -> np.ndarray:
        inputs = self._processor(
            images=[pil(image) for _, image in part],
            text=[text for text, _ in part],
            padding=True,
            truncation=True,
            max_length=self._longest,
            return_tensors="pt",
        ).to(device())
        with inference():
            return numbers(call(inputs).float().softmax(dim=-1)[:, 1])

    def _blip(self, inputs: Any) -> Any:
        # As BlipForImageTextRetrieval does it, but for the mask of the image, which it makes on the CPU.
        seen = self._model.vision_model(pixel_values=inputs["pixel_values"]).last_hidden_state
        joined = self._model.text_encoder(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            encoder_hidden_states=seen,
            encoder_attention_mask=seen.new_ones(seen.shape[:2]).long(),
        ).last_hidden_state
        return self._model.itm_head(joined[:, 0])

    def _blip2(self, inputs: Any) -> Any:
        return self._model(**inputs, use_image_text_matching_head=True).logits_per_image
