"""Image-text models through the library's common interface: LLaVA, Qwen-VL, BLIP-2, PaliGemma and others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.checkpoints import architecture, from_library, settings_of
from sightline.device import Batches, device, inference, numbers, placed
from sightline.errors import DataError, UsageError
from sightline.extension import Picture
from sightline.measures.of_answer._library import length_limit, pil, processor_of

Pair = tuple[str, Picture]


class Chat:
    """A model that answers a question about an image with words."""

    def __init__(self, name: str, folder: Path) -> None:
        self._model = placed(from_library(name, folder, _kind(name, folder)))
        self._processor = processor_of(folder)
        self._tokenizer = self._processor.tokenizer
        # Words are generated behind the last one of every text, so that shorter texts are padded before it.
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._longest = length_limit(self._model)
        self._batches = Batches(8)

    def too_long(self, questions: Sequence[str]) -> list[int]:
        """By how many tokens each question is longer than the model reads."""
        found = self._tokenizer([self._asked(each) for each in questions], verbose=False)["input_ids"]
        return [max(0, len(tokens) - self._longest) for tokens in found]

    def chances(
        self, questions: Sequence[str], images: Sequence[Picture], answers: Sequence[str]
    ) -> np.ndarray:
        """The probability that each of the answers begins the reply: one row per question and image.

        Of an answer of several tokens the first one counts.
        """
        wanted = [self._token(answer) for answer in answers]

        def call(part: Sequence[Pair]) -> np.ndarray:
            with inference():
                found = self._model.generate(
                    **self._inputs(part),
                    max_new_tokens=1,
                    do_sample=False,
                    output_logits=True,
                    return_dict_in_generate=True,
                )
                return numbers(found.logits[0].float().softmax(dim=-1)[:, wanted])

        return np.concatenate(self._batches.run(call, list(zip(questions, images, strict=True))))

    def replies(self, questions: Sequence[str], images: Sequence[Picture], most: int) -> list[str]:
        """What the model says, the likeliest token at each place, at most so many tokens."""

        def call(part: Sequence[Pair]) -> list[str]:
            inputs = self._inputs(part)
            with inference():
                found = self._model.generate(**inputs, max_new_tokens=most, do_sample=False)
            if not self._model.config.is_encoder_decoder:
                found = found[:, inputs["input_ids"].shape[1] :]
            return list(self._tokenizer.batch_decode(found, skip_special_tokens=True))

        parts = self._batches.run(call, list(zip(questions, images, strict=True)))
        return [reply for part in parts for reply in part]

    def _inputs(self, part: Sequence[Pair]) -> Any:
        return self._processor(
            text=[self._asked(question) for question, _ in part],
            images=[pil(image) for _, image in part],
            padding=True,
            return_tensors="pt",
        ).to(device())

    def _asked(self, question: str) -> str:
        """The question as the model expects it: in its chat template, or after the mark of an image."""
        if self._processor.chat_template:
            content = [{"type": "image"}, {"type": "text", "text": question}]
            return str(
                self._processor.apply_chat_template(
                    [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
                )
            )
        # BLIP's own processors put the marks of the image themselves.
        mark = "" if "Blip" in type(self._processor).__name__ else getattr(self._processor, "image_token", "")
        return f"{mark}\n{question}" if mark else question

    def _token(self, answer: str) -> int:
        tokens = self._tokenizer.encode(answer, add_special_tokens=False)
        unknown = self._tokenizer.unk_token_id
        if not tokens or (unknown is not None and tokens[0] == unknown):
            raise UsageError(
                f"the model has no token for the answer {answer!r}", remedy="Ask for another word."
            )
        return int(tokens[0])


def _kind(name: str, folder: Path) -> Any:
    """The class of the library that a checkpoint is for: of image and text to text, or of questions."""
    import transformers
    from transformers.models.auto import modeling_auto

    said = str(settings_of(folder).get("model_type", ""))
    first = architecture(folder)
    asks = modeling_auto.MODEL_FOR_VISUAL_QUESTION_ANSWERING_MAPPING_NAMES
    talks = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    if said in talks and first != asks.get(said):
        return getattr(transformers, talks[said])
    if said in asks and "ForQuestionAnswering" in first and said != "vilt":
        return getattr(transformers, asks[said])
    raise DataError(
        f"this is a checkpoint of another architecture: {first}",
        where=str(folder),
        remedy=f"{name} reads image-text models, such as LLaVA, Qwen2-VL, InstructBLIP or BLIP-VQA.",
    )
