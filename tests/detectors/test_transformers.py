"""DETR, OWL-ViT, OWLv2 and Grounding DINO through the code a user runs, on small random checkpoints.

Each checkpoint is saved as the library saves it, and what our detector sees is compared with the library's
own call: its processor, its model and its post-processing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture
from PIL import Image

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.demands import read_expects
from sightline.errors import MissingPackage, UsageError
from sightline.extension import Configured, Picture
from sightline.skills.looking import asking, vocabulary_of
from sightline.testing import check_extension

PHRASES = ("red ball", "cat", "dog")
SIDE = 64


def need_torch() -> None:
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError:
        pytest.skip("the extra torch is not installed")
    torch.manual_seed(0)


def pictures() -> list[Picture]:
    rng = np.random.default_rng(3)
    return [
        picture(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in ((40, 64), (70, 30), (9, 9))
    ]


def save_detr(folder: Path) -> None:
    from transformers import DetrConfig, DetrForObjectDetection, DetrImageProcessorPil, ResNetConfig

    network = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage4"],
    )  # fmt: skip
    config = DetrConfig(
        use_timm_backbone=False, backbone=None, backbone_config=network, num_queries=7, d_model=16,
        encoder_layers=1, decoder_layers=1, encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2,
        decoder_attention_heads=2, id2label={0: "N/A", 1: "cat", 2: "dog"},
    )  # fmt: skip
    DetrForObjectDetection(config).save_pretrained(folder)
    DetrImageProcessorPil(size={"shortest_edge": SIDE, "longest_edge": 2 * SIDE}).save_pretrained(folder)


def save_owl(folder: Path, kind: str) -> None:
    import transformers
    from transformers import CLIPTokenizer

    letters = [chr(n) for n in range(33, 127)]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({piece: n for n, piece in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    CLIPTokenizer.from_pretrained(folder, model_max_length=16).save_pretrained(folder)
    common = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        **common, "vocab_size": len(words), "max_position_embeddings": 16, "bos_token_id": len(words) - 2,
        "eos_token_id": len(words) - 1, "pad_token_id": len(words) - 1,
    }  # fmt: skip
    vision = {**common, "image_size": SIDE, "patch_size": 16}
    config = getattr(transformers, f"{kind}Config")(text_config=text, vision_config=vision, projection_dim=16)
    model = getattr(transformers, f"{kind}ForObjectDetection")(config)
    model.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    getattr(transformers, f"{kind}ImageProcessorPil")(size=size).save_pretrained(folder)


def save_grounding_dino(folder: Path) -> None:
    from tokenizers import BertWordPieceTokenizer
    from transformers import (
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessorPil,
        PreTrainedTokenizerFast,
        SwinConfig,
    )

    # The network knows these by their places in BERT's own vocabulary.
    fixed = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
    fixed |= {200 + n: word for n, word in enumerate(("a", "red", "ba", "##ll", "cat", "dog"))}
    words = [fixed.get(n, f"[unused{n}]") for n in range(1030)]
    pieces = BertWordPieceTokenizer(vocab={word: n for n, word in enumerate(words)})
    PreTrainedTokenizerFast(
        tokenizer_object=pieces._tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip
    swin = SwinConfig(
        image_size=SIDE, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=2,
        out_indices=[2, 3, 4],
    )  # fmt: skip
    text = {
        "model_type": "bert", "vocab_size": len(words), "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16,
    }  # fmt: skip
    config = GroundingDinoConfig(
        backbone_config=swin, text_config=text, num_queries=9, d_model=32, encoder_layers=1, decoder_layers=2,
        encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2,
        max_text_len=32, num_feature_levels=3,
    )  # fmt: skip
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    GroundingDinoImageProcessorPil(size={"shortest_edge": SIDE, "longest_edge": 2 * SIDE}).save_pretrained(
        folder
    )


SAVES: dict[str, Callable[[Path], None]] = {
    "detr": save_detr,
    "owlvit": lambda folder: save_owl(folder, "OwlViT"),
    "owlv2": lambda folder: save_owl(folder, "Owlv2"),
    "grounding_dino": save_grounding_dino,
}


@pytest.fixture(scope="module", params=SAVES)
def ready(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Configured:
    """A detector over its small checkpoint, which leaves nothing out."""
    need_torch()
    folder = tmp_path_factory.mktemp(str(request.param))
    SAVES[request.param](folder)
    options: dict[str, Any] = {
        "model": str(folder),
        "sha256": content_hash(folder),
        "least": 0.0,
        "overlap": 1.0,
    }
    if request.param != "detr":
        options["phrases"] = PHRASES
    return registry.configure("detector", str(request.param), **options)


def library(name: str, folder: str, image: Image.Image) -> dict[str, np.ndarray]:
    """Boxes in pixels and scores as the library's documentation computes them."""
    import torch
    import transformers

    kind = {"detr": "Detr", "owlvit": "OwlViT", "owlv2": "Owlv2", "grounding_dino": "GroundingDino"}[name]
    model = getattr(transformers, f"{kind}ForObjectDetection").from_pretrained(folder).eval()
    images = getattr(transformers, f"{kind}ImageProcessorPil").from_pretrained(folder)
    sizes = [(image.height, image.width)]
    if name == "detr":
        with torch.inference_mode():
            seen = model(**images(images=image, return_tensors="pt"))
        (result,) = images.post_process_object_detection(seen, threshold=0.0, target_sizes=sizes)
        return {key: result[key].numpy() for key in ("boxes", "scores", "labels")}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    processor = getattr(transformers, f"{kind}Processor")(images, tokenizer)
    text: Any = [[f"a photo of a {each}" for each in PHRASES]]
    if name == "grounding_dino":
        text = [[f"a {each}" for each in PHRASES]]
    cut = {} if name == "grounding_dino" else {"truncation": True}
    inputs = processor(images=image, text=text, return_tensors="pt", **cut)
    with torch.inference_mode():
        seen = model(**inputs)
    (result,) = processor.post_process_grounded_object_detection(seen, threshold=0.0, target_sizes=sizes)
    labels = result["labels"].numpy() if name != "grounding_dino" else _phrases(seen, inputs)
    scores = result["scores"].numpy() if name != "grounding_dino" else _scores(seen, inputs).max(axis=1)
    return {"boxes": result["boxes"].numpy(), "scores": scores, "labels": labels}


def _scores(seen: Any, inputs: Any) -> np.ndarray:
    """By hand: [CLS] a red ba ##ll . a cat . a dog . [SEP] has the phrases' tokens at 2-4, 7 and 10."""
    assert inputs["input_ids"][0].tolist() == [
        101,
        200,
        201,
        202,
        203,
        1012,
        200,
        204,
        1012,
        200,
        205,
        1012,
        102,
    ]
    probabilities = seen.logits[0].sigmoid().numpy()
    return np.stack(
        [probabilities[:, [2, 3, 4]].max(axis=1), probabilities[:, 7], probabilities[:, 10]], axis=1
    )


def _phrases(seen: Any, inputs: Any) -> np.ndarray:
    return np.asarray(_scores(seen, inputs).argmax(axis=1))


def test_boxes_scores_and_kinds_are_the_library_s(ready: Configured) -> None:
    names = {0: "N/A", 1: "cat", 2: "dog"} if ready.name == "detr" else dict(enumerate(PHRASES))
    for each in pictures():
        image = Image.fromarray(each.rgb)
        expected = library(ready.name, str(ready.arguments["model"]), image)
        (scene,) = ready.load().detect([each])
        order = np.argsort(-expected["scores"], kind="stable")
        boxes = expected["boxes"][order] / np.array([image.width, image.height] * 2)
        seen = scene["objects"]
        assert len(seen) == len(order) > 5
        np.testing.assert_allclose([one["confidence"] for one in seen], expected["scores"][order], atol=1e-4)
        # What reaches beyond the image is cut off by us, not by the library.
        outside = (boxes[:, :2].max(axis=1) > 1) | (boxes[:, 2:].min(axis=1) < 0)
        wanted = np.where(outside[:, None], boxes, boxes.clip(0, 1))
        np.testing.assert_allclose([one["box"] for one in seen], wanted, atol=1e-4)
        assert [one["kind"] for one in seen] == [names[int(label)] for label in expected["labels"][order]]


def test_they_conform_and_know_what_they_look_for(ready: Configured) -> None:
    assert check_extension(ready).kind == "detector"
    wanted = ("cat", "dog") if ready.name == "detr" else PHRASES
    assert vocabulary_of(ready) == wanted


def test_what_is_unlikely_or_seen_twice_is_left_out(ready: Configured) -> None:
    (everything,) = ready.load().detect(pictures()[:1])
    middle = sorted(one["confidence"] for one in everything["objects"])[len(everything["objects"]) // 2]
    stricter = Configured(ready.extension, {**ready.arguments, "least": middle - 5e-5, "overlap": 0.3})
    (some,) = stricter.load().detect(pictures()[:1])
    assert 0 < len(some["objects"]) < len(everything["objects"])
    assert all(
        one["confidence"] >= middle - 1e-4 and one["colours"] for one in some["objects"] if "colours" in one
    )


def test_phrases_are_part_of_what_is_stored() -> None:
    detector = registry.configure("detector", "owlvit")
    cats, dogs = (read_expects({"objects": [{"kind": kind}], "absent": ["tree"]}) for kind in ("cat", "dog"))
    assert asking(detector, cats).arguments["phrases"] == ("cat", "tree")
    assert len({each.identity for each in (detector, asking(detector, cats), asking(detector, dogs))}) == 3
    assert asking(asking(detector, cats), dogs) == asking(detector, cats), "phrases that are given stay"
    fixed = registry.configure("detector", "nothing")
    assert asking(fixed, cats) is fixed


def test_no_phrase_no_checkpoint_and_bad_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    need_torch()
    monkeypatch.setenv("SIGHTLINE_OFFLINE", "1")
    for name in ("owlvit", "owlv2", "grounding_dino"):
        with pytest.raises(UsageError, match="there is no phrase"):
            registry.configure("detector", name).load()
    with pytest.raises(UsageError, match="least=2"):
        registry.configure("detector", "detr", least=2.0).load()
    with pytest.raises(UsageError, match="template"):
        registry.configure("detector", "owlv2", phrases=("dog",), template="a photo").load()
    with pytest.raises(MissingPackage, match="no weights for detr on this machine"):
        registry.configure("detector", "detr").load()
    # What is listed says so beforehand.
    for name in ("detr", "owlvit", "owlv2", "grounding_dino"):
        assert registry.configure("detector", name).absent_weights().startswith("hub: ")
