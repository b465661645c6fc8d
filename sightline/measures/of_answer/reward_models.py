"""Reward models on Qwen-VL: HPS v3 with its head, and UnifiedReward, which writes its score."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sightline.arrays import content_hash
from sightline.checkpoints import file_of, from_library, tensors
from sightline.device import Batches, device, inference, numbers, placed
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Card, NoValue, Picture, Pin, Value, Values, measure
from sightline.measures.of_answer._chat import Chat
from sightline.measures.of_answer._library import EMPTY, beyond, kept, length_limit, pil, processor_of, scored
from sightline.records import Prompt
from sightline.weights import in_package

HPSV3 = Pin("MizzenAI/HPSv3", megabytes=16600, licence="MIT (head); Apache-2.0 (Qwen2-VL-7B)")
QWEN = Pin("Qwen/Qwen2-VL-7B-Instruct", megabytes=16600, licence="Apache-2.0")
UNIFIED = Pin("CodeGoat24/UnifiedReward-qwen-7b", megabytes=16600, licence="MIT; Apache-2.0 (Qwen2.5-VL-7B)")
MARK = "<|Reward|>"
PIXELS = 256 * 28 * 28
FINAL = re.compile(r"Final Score:\s*\**\s*(\d+(?:\.\d+)?)")
MOST_TOKENS = 512


@measure.of_answer(
    direction="higher",
    extra="torch",
    parallel=False,
    checkpoint=HPSV3,
    content_of=("instruction",),
    source="Ma et al. 2025 (HPSv3)",
    licence="MIT (weights)",
    aliases=("hps_v3", "hpsv3score"),
    card=Card(
        trained_on="HPD v3: 1.17 million comparisons of images of 16 generators and photographs",
        biases="Rewards photographs and polish; the instruction asks for safety, so that harmless images of "
        "violence or nudity score low.",
        tested="small random Qwen2-VL with a head in the authors' names; equal to the library's states "
        "through torch's own dense layers to 1e-4. Never run with the real weights here",
    ),
)
def hpsv3(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    model: str = QWEN.model,
    revision: str = "",
    sha256: str = "",
    weights: str = "",
    weights_sha256: str = "",
    instruction: str = "",
    pixels: int = PIXELS,
) -> Values:
    """Human Preference Score v3: a head over Qwen2-VL reads the state at its mark; the mean of its estimate.

    `weights` are the authors' HPSv3.safetensors with its `weights_sha256`, or owner/name@commit:file of the
    hub (MizzenAI/HPSv3). `model` is a folder with configuration, tokenizer and preprocessing of
    Qwen2-VL-7B-Instruct and the `sha256` of its files, or a name on the hub with its `revision`; without
    `weights`, those in the folder are taken. What the model reads before the prompt is the authors' text: a
    file `instruction` with {text_prompt} where the prompt stands, or else that of their package (pip install
    --no-deps hpsv3). Images are scaled to about `pixels` pixels. The head's second number, its own
    uncertainty, is not kept.
    """
    given = (model, revision, sha256)

    def load() -> Any:
        words = _instruction(instruction, content_hash(instruction))
        return kept(RewardHead, "hpsv3", given, QWEN, weights, weights_sha256, words, pixels)

    return scored(prompts, images, load)


class RewardHead:
    """Qwen2-VL with a head on the state of one token."""

    def __init__(
        self, name: str, folder: Path, weights: str, sha256: str, instruction: str, pixels: int
    ) -> None:
        import transformers
        from torch import nn

        from sightline.measures.of_answer._heads import dense

        state: dict[str, Any] = {}
        given = [file_of(name, weights, sha256, "weights")] if weights else folder.glob("*.safetensors")
        for file in sorted(given):
            state |= tensors(file)
        head = {key.removeprefix("rm_head."): state.pop(key) for key in list(state) if key[:8] == "rm_head."}
        if not head:
            raise DataError("there is no rm_head among the weights", where=str(folder))
        self._processor = processor_of(folder)
        self._tokenizer = self._processor.tokenizer
        self._tokenizer.add_special_tokens({"additional_special_tokens": [MARK]})
        self._tokenizer.padding_side = "right"
        self._mark = self._tokenizer.convert_tokens_to_ids(MARK)
        self._images = self._processor.image_processor
        self._size = {"shortest_edge": pixels, "longest_edge": pixels}
        kind = transformers.Qwen2VLForConditionalGeneration
        config = kind.config_class.from_pretrained(folder)
        # The authors cut the table of words to those that the tokenizer has, their mark included.
        rows = (value.shape[0] for key, value in state.items() if key.endswith("embed_tokens.weight"))
        config.get_text_config().vocab_size = next(rows, config.get_text_config().vocab_size)
        self._model = placed(from_library(name, folder, kind, state=state, config=config))
        self._head = placed(dense(head, nn.ReLU))
        self._instruction = instruction
        self._longest = length_limit(self._model)
        self._batches = Batches(4)

    def unread(self, texts: Sequence[str]) -> list[int]:
        return beyond(self._tokenizer, [self._asked(text) for text in texts], self._longest)

    def score(self, texts: Sequence[str], images: Sequence[Picture]) -> np.ndarray:
        return np.concatenate(self._batches.run(self._rewards, list(zip(texts, images, strict=True))))

    def _asked(self, text: str) -> str:
        content = [
            {"type": "image"},
            {"type": "text", "text": self._instruction.replace("{text_prompt}", text)},
        ]
        messages = [{"role": "user", "content": content}]
        return str(self._processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _rewards(self, part: Sequence[tuple[str, Picture]]) -> np.ndarray:
        self._images.size = self._size
        inputs = self._processor(
            text=[self._asked(text) for text, _ in part],
            images=[pil(image) for _, image in part],
            padding=True,
            return_tensors="pt",
        ).to(device())
        at = inputs["input_ids"] == self._mark
        with inference():
            states = self._model.model(**inputs).last_hidden_state
            return numbers(self._head(states[at].float())[:, 0])


@lru_cache(maxsize=2)
def _instruction(path: str, content: str | None) -> str:
    """What the model reads, with its mark: from a file, or from the authors' package, which is not run."""
    if path:
        if content is None:
            raise UsageError(f"hpsv3: there is no file {path!r}", remedy="Give the authors' instruction.")
        text = Path(path).read_text("utf-8")
    else:
        carried = in_package("hpsv3:hpsv3/dataset/data_collator_qwen.py")
        if carried is None:
            raise MissingPackage(
                "hpsv3 needs the text that its authors have the model read",
                remedy="pip install --no-deps hpsv3, or give it as a file: hpsv3(instruction='FILE').",
            )
        constants = {
            target.id: node.value.value
            for node in ast.parse(carried.read_text("utf-8")).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        text = str(constants.get("INSTRUCTION", "")) + str(constants.get("prompt_with_special_token", ""))
    if "{text_prompt}" not in text or MARK not in text:
        raise DataError(
            f"the instruction has no {{text_prompt}} or no {MARK}",
            where=path or "hpsv3",
            remedy="The prompt stands at the first; the head reads the state of the second.",
        )
    return text


@measure.of_answer(
    direction="higher",
    range=(0, 10),
    extra="torch",
    parallel=False,
    checkpoint=UNIFIED,
    content_of=("instruction",),
    source="Wang et al. 2025 (UnifiedReward)",
    licence="MIT (weights)",
    aliases=("unifiedreward",),
    card=Card(
        trained_on="236,000 preferences and scores of images and videos, collected from other data sets",
        biases="Writes its score: most answers have one of few values, and ties are common; the reply can be "
        "led astray by words in the prompt or in the image.",
        tested="small random LLaVA; the reply is that of the library's own generate(). Never run with the "
        "real weights here",
    ),
)
def unified_reward(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    model: str = UNIFIED.model,
    revision: str = "",
    sha256: str = "",
    instruction: str = "",
    tokens: int = MOST_TOKENS,
) -> Values:
    """UnifiedReward: the score from 1 to 5 that an image-text model writes after "Final Score:".

    `instruction` is a file with the text that the model was trained to answer, {prompt} where the prompt
    stands; the authors publish it with their code (inference_qwen/image_generation). `model` is a folder with
    the `sha256` of its files, or a name on the hub with its `revision`; it writes at most `tokens` tokens. A
    reply without a score has no value, and the reason quotes it; one with a score is the evidence.
    """
    asked = [n for n, prompt in enumerate(prompts) if prompt.text.strip()]
    made: list[Value | NoValue] = [EMPTY] * len(prompts)
    if not asked:
        return made
    template = _template(instruction, content_hash(instruction))
    chat = kept(Chat, "unified_reward", (model, revision, sha256), UNIFIED)
    questions = [template.replace("{prompt}", prompts[n].text) for n in asked]
    over = chat.too_long(questions)
    short = [n for n, left in enumerate(over) if not left]
    for n, left in zip(asked, over, strict=True):
        if left:
            made[n] = NoValue(f"the question is {left} tokens longer than the model reads")
    if short:
        shown = [images[asked[n]] for n in short]
        replies = chat.replies([questions[n] for n in short], shown, tokens)
        for n, reply in zip(short, replies, strict=True):
            made[asked[n]] = final_score(reply)
    return made


def final_score(reply: str) -> Value | NoValue:
    """The score in a reply; the last one, should it have several."""
    found = FINAL.findall(reply)
    if not found:
        return NoValue(f"the model wrote no score: {' '.join(reply.split())[:120]!r}")
    if not 0 <= float(found[-1]) <= 10:
        return NoValue(f"the model wrote a score of {found[-1]}")
    return Value(float(found[-1]), {"reply": reply})


@lru_cache(maxsize=2)
def _template(path: str, content: str | None) -> str:
    if content is None:
        raise MissingPackage(
            "unified_reward needs the text that its model was trained to answer",
            remedy="Give it as a file with {prompt} in it: unified_reward(instruction='FILE').",
        )
    text = Path(path).read_text("utf-8")
    if "{prompt}" not in text:
        raise DataError("the instruction has no {prompt}", where=path)
    return text
