"""Small checkpoints with random weights, saved as the library saves them: what a user's folder looks like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WORDS = (
    "a",
    "red",
    "blue",
    "ball",
    "cat",
    "dog",
    "two",
    "cars",
    "in",
    "the",
    "snow",
    "next",
    "to",
    "an",
    "orange",
)
SIDE = 32


def need_torch() -> Any:
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError:
        pytest.skip("the extra torch is not installed")
    torch.manual_seed(0)
    return torch


def towers() -> dict[str, dict[str, Any]]:
    common = {"hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    return {"text_config": dict(common), "vision_config": {**common, "image_size": SIDE, "patch_size": 8}}


@pytest.fixture(scope="session")
def clip_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_torch()
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

    folder = tmp_path_factory.mktemp("clip")
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
    _processor(
        "CLIPImageProcessorPil", size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def siglip_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_torch()
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, SiglipConfig, SiglipModel

    folder = tmp_path_factory.mktemp("siglip")
    vocabulary = {word: n for n, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=64,
    ).save_pretrained(folder)
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
    _processor("SiglipImageProcessorPil", size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return folder


def _processor(name: str, **told: Any) -> Any:
    import transformers

    return getattr(transformers, name)(**told)
