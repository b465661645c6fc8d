"""Models of image and text that the transformers library runs: loaded once, run in batches, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from sightline.checkpoints import Pin, checkpoint, settings_of
from sightline.device import device, precision
from sightline.errors import DataError
from sightline.extension import NoValue, Picture, Value, Values
from sightline.records import UNREAD, Prompt

NOT_FINITE = NoValue("the model gave no finite number")
EMPTY = NoValue("the prompt is empty")
M = TypeVar("M")
Given = tuple[str, str, str]
"""Model, revision and sha256, as the parameters of a measure give them."""


class Scorer(Protocol):
    """A loaded model that scores pairs of texts and images."""

    def score(self, texts: Sequence[str], images: Sequence[Picture]) -> np.ndarray:
        """One number per pair."""

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are beyond what the model reads."""


def kept(make: Callable[..., M], name: str, given: Given, pin: Pin, *more: Any) -> M:
    """A model, made once per process for the same checkpoint, device and precision."""
    return _made(make, name, given, pin, more, device(), precision())


@lru_cache(maxsize=3)
def _made(
    make: Callable[..., Any], name: str, given: Given, pin: Pin, more: tuple[Any, ...], *where: str
) -> Any:
    return make(name, checkpoint(name, *given, pin), *more)


def scored(prompts: Sequence[Prompt], images: Sequence[Picture], load: Callable[[], Scorer]) -> Values:
    """One value per prompt and image by a model; the reason where there is none."""
    asked = [n for n, prompt in enumerate(prompts) if prompt.text.strip()]
    if not asked:
        return [EMPTY] * len(prompts)
    model = load()
    texts = [prompts[n].text for n in asked]
    found = np.asarray(model.score(texts, [images[n] for n in asked]), dtype=np.float64)
    distinct = list(dict.fromkeys(texts))
    left = dict(zip(distinct, model.unread(distinct), strict=True))
    made: list[Value | NoValue] = [EMPTY] * len(prompts)
    for n, text, value in zip(asked, texts, found, strict=True):
        evidence = {UNREAD: left[text]} if left[text] else None
        made[n] = Value(float(value), evidence) if math.isfinite(value) else NOT_FINITE
    return made


def pil(image: Picture) -> Any:
    """A picture as Pillow's, for a processor of the library."""
    from PIL import Image

    return Image.fromarray(image.rgb)


def modern() -> bool:
    """Whether the library is of version 5 or later."""
    import transformers

    return int(transformers.__version__.partition(".")[0]) >= 5


def processor_of(folder: Path) -> Any:
    """What prepares images and texts for a checkpoint; scaling by Pillow, so that it is the same anywhere."""
    import transformers

    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    options |= {"backend": "pil"} if modern() else {"use_fast": False}
    try:
        return transformers.AutoProcessor.from_pretrained(folder, **options)
    except Exception as error:  # its own errors differ between releases
        parts = _assembled(folder, options)
        if parts is None:
            raise DataError(
                f"no processor can be read here: {str(error).splitlines()[0][:200]}",
                where=str(folder),
                remedy="The folder of a checkpoint holds its tokenizer and its preprocessor_config.json.",
            ) from error
        return parts


def _assembled(folder: Path, options: Mapping[str, Any]) -> Any:
    """The processor of a Qwen-VL checkpoint without its part for videos, which torchvision is needed for."""
    import transformers

    if not str(settings_of(folder).get("model_type", "")).startswith("qwen"):
        return None
    try:
        return QwenParts(
            transformers.AutoImageProcessor.from_pretrained(folder, **options),
            transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            ),
            settings_of(folder),
        )
    except Exception:  # the first error says as much
        return None


class QwenParts:
    """Images and texts for Qwen-VL: in place of its mark an image has as many as the network has patches."""

    def __init__(self, images: Any, tokenizer: Any, settings: Mapping[str, Any]) -> None:
        self.image_processor = images
        self.tokenizer = tokenizer
        self._number = int(settings["image_token_id"])
        self._mark = tokenizer.convert_ids_to_tokens(self._number)

    @property
    def chat_template(self) -> Any:
        return self.tokenizer.chat_template

    def apply_chat_template(self, messages: Any, **options: Any) -> Any:
        return self.tokenizer.apply_chat_template(messages, **options)

    def __call__(self, text: Sequence[str], images: Sequence[Any], **options: Any) -> Any:
        from transformers import BatchFeature

        seen = self.image_processor(images=list(images), return_tensors="pt")
        merged = int(self.image_processor.merge_size) ** 2
        patches = [int(grid.prod()) // merged for grid in seen["image_grid_thw"]]
        texts = [
            each.replace(self._mark, self._mark * count, 1) for each, count in zip(text, patches, strict=True)
        ]
        words = self.tokenizer(texts, **options)
        # Which tokens are of an image: the library's own processors say it from version 5 on.
        kinds = {"mm_token_type_ids": (words["input_ids"] == self._number).long()} if modern() else {}
        return BatchFeature({**words, **seen, **kinds})


def length_limit(model: Any) -> int:
    """How many tokens a model of text reads."""
    config = getattr(model.config, "text_config", None) or model.config
    return int(getattr(config, "max_position_embeddings", None) or 1 << 30)


def beyond(tokenizer: Any, texts: Sequence[str], limit: int) -> list[int]:
    """How many tokens of each text are beyond a limit."""
    found = tokenizer(list(texts), truncation=False, verbose=False)["input_ids"] if texts else []
    return [max(0, len(tokens) - limit) for tokens in found]
