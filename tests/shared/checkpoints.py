"""Small checkpoints with random weights, saved as the library saves them: what a user's folder looks like."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = (
    *("a", "red", "blue", "ball", "cat", "dog", "two", "cars", "in", "the", "snow", "next", "to", "an"),
    *("orange", "Yes", "No", "yes", "no", "is", "there", "this", "show", "Does", "answer", "please", "or"),
)
SIDE = 32


def need_torch() -> Any:
    try:
        import torch
        import transformers
    except ImportError:
        pytest.skip("the extra torch is not installed")
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return torch


def small(**more: Any) -> dict[str, Any]:
    common = {"hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    return {**common, **more}


def towers() -> dict[str, dict[str, Any]]:
    return {"text_config": small(), "vision_config": small(image_size=SIDE, patch_size=8)}


def words(folder: Path, marks: tuple[str, ...] = (), *, ends: bool = False, **told: Any) -> dict[str, int]:
    """A tokenizer of whole words: <pad>, </s> and <unk>, then `marks`, then a few words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: n for n, word in enumerate(["<pad>", "</s>", "<unk>", *marks, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 1)]
        )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=list(marks),
        **told,
    ).save_pretrained(folder)
    return vocabulary


def bert_words(folder: Path) -> int:
    """A tokenizer of BERT with few word pieces; how many they are."""
    from transformers import BertTokenizerFast

    letters = [chr(n) for n in range(97, 123)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]", "[ENC]", *WORDS]
    pieces = list(dict.fromkeys([*pieces, *letters, *(f"##{letter}" for letter in letters), "?", "."]))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    return len(pieces)


def clip(folder: Path) -> None:
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPTokenizer

    letters = [chr(n) for n in range(33, 127)]
    vocabulary = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({piece: n for n, piece in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    CLIPTokenizer.from_pretrained(folder).save_pretrained(folder)
    told = towers()
    told["text_config"] |= {
        "vocab_size": len(vocabulary),
        "bos_token_id": len(vocabulary) - 2,
        "eos_token_id": len(vocabulary) - 1,
        "pad_token_id": len(vocabulary) - 1,
        "max_position_embeddings": 77,
    }
    CLIPModel(CLIPConfig(**told, projection_dim=16)).save_pretrained(folder)
    square = {"height": SIDE, "width": SIDE}
    CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=square).save_pretrained(folder)


def siglip(folder: Path) -> None:
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    vocabulary = words(folder, ends=True, model_max_length=64)
    told = towers()
    told["text_config"] |= {
        "vocab_size": len(vocabulary),
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": 1,
        "projection_size": 24,
    }
    SiglipModel(SiglipConfig(**told)).save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)


def dinov2(folder: Path) -> None:
    from transformers import BitImageProcessorPil, Dinov2Config, Dinov2Model

    Dinov2Model(Dinov2Config(**small(image_size=SIDE, patch_size=8))).save_pretrained(folder)
    square = {"height": SIDE, "width": SIDE}
    BitImageProcessorPil(size={"shortest_edge": 40}, crop_size=square).save_pretrained(folder)


def dinov3(folder: Path) -> None:
    from transformers import DINOv3ViTConfig, DINOv3ViTModel

    shape = small(image_size=SIDE, patch_size=8, num_register_tokens=2)
    DINOv3ViTModel(DINOv3ViTConfig(**shape)).save_pretrained(folder)
    settings = {"size": {"height": SIDE, "width": SIDE}, "resample": 2}
    imagenet = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings | imagenet))


def _blip_shape(folder: Path) -> dict[str, Any]:
    text = small(vocab_size=bert_words(folder), max_position_embeddings=64, encoder_hidden_size=24)
    marks = {"bos_token_id": 5, "pad_token_id": 0, "eos_token_id": 3, "sep_token_id": 3}
    return {"text_config": text | marks, "vision_config": small(image_size=SIDE, patch_size=8)}


def blip_itm(folder: Path) -> None:
    from transformers import BlipConfig, BlipForImageTextRetrieval

    BlipForImageTextRetrieval(BlipConfig(**_blip_shape(folder))).save_pretrained(folder)
    _blip_processor(folder)


def blip_vqa(folder: Path) -> None:
    from transformers import BlipConfig, BlipForQuestionAnswering

    BlipForQuestionAnswering(BlipConfig(**_blip_shape(folder))).save_pretrained(folder)
    _blip_processor(folder)


def _blip_processor(folder: Path) -> None:
    from transformers import BertTokenizerFast, BlipImageProcessorPil, BlipProcessor

    images = BlipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    BlipProcessor(images, BertTokenizerFast.from_pretrained(folder)).save_pretrained(folder)


def blip2_itm(folder: Path) -> None:
    from transformers import (
        BertTokenizerFast,
        Blip2Config,
        Blip2ForImageTextRetrieval,
        Blip2Processor,
        BlipImageProcessorPil,
    )

    vision = small(image_size=SIDE, patch_size=8)
    pieces = bert_words(folder)
    reader = small(encoder_hidden_size=24, vocab_size=pieces, use_qformer_text_input=True)
    config = Blip2Config(
        vision_config=vision,
        qformer_config={**reader, "max_position_embeddings": 64},
        text_config={"model_type": "opt", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1},
        num_query_tokens=3,
        image_text_hidden_size=8,
        image_token_index=pieces,
    )
    Blip2ForImageTextRetrieval(config).save_pretrained(folder)
    images = BlipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    Blip2Processor(images, tokenizer, num_query_tokens=3).save_pretrained(folder)


TEMPLATE = (
    "{% for message in messages %}<s> {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image> {% else %}{{ part['text'] }}{% endif %}{% endfor %}"
    "{% endfor %}{% if add_generation_prompt %} </q>{% endif %}"
)


def llava(folder: Path) -> None:
    from transformers import (
        AutoTokenizer,
        CLIPImageProcessorPil,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    vocabulary = words(folder, ("<image>", "<s>", "</q>"))
    text = small(model_type="llama", vocab_size=len(vocabulary), num_key_value_heads=2)
    vision = small(model_type="clip_vision_model", image_size=SIDE, patch_size=8, projection_dim=16)
    config = LlavaConfig(
        text_config=text | {"max_position_embeddings": 256, "pad_token_id": 0, "eos_token_id": 1},
        vision_config=vision,
        image_token_index=vocabulary["<image>"],
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    square = {"height": SIDE, "width": SIDE}
    LlavaProcessor(
        CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=square),
        AutoTokenizer.from_pretrained(folder),
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)


QWEN_MARKS = ("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>", "</q>")
QWEN_TEMPLATE = TEMPLATE.replace("<image> ", "<|vision_start|><|image_pad|><|vision_end|>").replace(
    "<s> ", ""
)


def qwen2_vl(folder: Path) -> None:
    from transformers import (
        AutoTokenizer,
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessorPil,
    )

    vocabulary = words(folder, QWEN_MARKS)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = QWEN_TEMPLATE
    tokenizer.save_pretrained(folder)
    text = {
        **small(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, vocab_size=len(vocabulary)),
        "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0},
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": 1,
    }
    vision = {
        "depth": 2,
        "embed_dim": 32,
        "hidden_size": 32,
        "num_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 14,
    }
    marks = {name: vocabulary[mark] for name, mark in zip(QWEN_NAMES, QWEN_MARKS, strict=False)}
    config = Qwen2VLConfig(text_config=text, vision_config=vision, **marks)
    Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    Qwen2VLImageProcessorPil(min_pixels=56 * 56, max_pixels=56 * 56).save_pretrained(folder)


QWEN_NAMES = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")

MADE: dict[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (clip, siglip, dinov2, dinov3, blip_itm, blip_vqa, blip2_itm, llava, qwen2_vl)
}
