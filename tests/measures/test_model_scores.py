"""Scores by the names they are cited by, on small random checkpoints, against the library's own call."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture
from PIL import Image
from studies import put

import sightline
from sightline import registry
from sightline.checkpoints import content_hash
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import NoValue, Picture, Value
from sightline.records import UNREAD, Answer, ImageKey, Prompt, PromptKey, System
from sightline.study import reading
from sightline.study.study import Study

Small = Callable[[str], Path]
TEXTS = ("a red ball", "two blue cars in the snow", "the cat next to an orange dog")


def prompts(*texts: str, **more: Any) -> list[Prompt]:
    return [Prompt(PromptKey("s", str(n)), text, **more) for n, text in enumerate(texts or TEXTS)]


def pictures(n: int = 3) -> list[Picture]:
    rng = np.random.default_rng(5)
    sizes = ((40, 64), (64, 40), (33, 32), (90, 31))
    return [picture(rng.integers(0, 256, (*sizes[k % 4], 3), dtype=np.uint8)) for k in range(n)]


def raw(images: list[Picture]) -> list[Image.Image]:
    return [Image.fromarray(each.rgb) for each in images]


def given(folder: Path) -> dict[str, str]:
    return {"model": str(folder), "sha256": content_hash(folder)}


def spec(name: str, folder: Path, **more: Any) -> str:
    return f"{name}({', '.join(f'{k}={v!r}' for k, v in {**given(folder), **more}.items())})"


def scores(name: str, asked: list[Prompt], shown: list[Picture], **arguments: Any) -> list[Any]:
    return list(registry.configure("of_answer", name, **arguments).load()(asked, shown))


def numbers(found: list[Any]) -> np.ndarray:
    assert all(isinstance(each, Value) for each in found), found
    return np.array([each.value for each in found])


def clip_logits(folder: Path, texts: list[str], shown: list[Picture], mode: str = "shortest") -> Any:
    """Cosines and scale of the library's CLIP, of all texts and images."""
    import torch
    from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

    model = CLIPModel.from_pretrained(folder).eval()
    words = AutoTokenizer.from_pretrained(folder)(texts, padding=True, truncation=True, return_tensors="pt")
    seen = CLIPImageProcessorPil.from_pretrained(folder)(images=raw(shown), return_tensors="pt")
    with torch.no_grad():
        found = model(**words, **seen)
    scale = float(model.logit_scale.exp())
    return found.logits_per_text.numpy() / scale, scale


def test_clipscore_and_its_kin_are_the_library_s_cosines(small_checkpoint: Small, tmp_path: Path) -> None:
    folder = small_checkpoint("clip")
    shown = pictures()
    plain, scale = clip_logits(folder, list(TEXTS), shown)
    prefixed, _ = clip_logits(folder, [f"A photo depicts {text}" for text in TEXTS], shown)
    encoder = spec("clip", folder)
    expected = 2.5 * np.maximum(np.diag(prefixed), 0)
    np.testing.assert_allclose(
        numbers(scores("CLIPScore", prompts(), shown, encoder=encoder)), expected, atol=1e-4
    )
    found = numbers(scores("pickscore", prompts(), shown, encoder=encoder))
    np.testing.assert_allclose(found, scale * np.diag(plain), atol=1e-4)
    found = numbers(scores("embedding_similarity", prompts(), shown, encoder=encoder))
    np.testing.assert_allclose(found, np.diag(plain), atol=1e-4)
    # References: from what a prompt expects, and from a file by text.
    file = tmp_path / "references.json"
    file.write_text(json.dumps({TEXTS[1]: [TEXTS[2]]}))
    asked = prompts()
    asked[0] = asked[0]._replace(expects={"references": [TEXTS[1], TEXTS[2]]})
    *found, none = scores("refclipscore", asked, shown, encoder=encoder, references=str(file))
    assert none == NoValue("the prompt has no references")
    one, two, three = (
        row / np.linalg.norm(row)
        for row in registry.configure("encoder", encoder)
        .load()
        .text([f"A photo depicts {text}" for text in TEXTS])
    )
    best = [max(one @ two, one @ three), two @ three]
    harmonic = [2 * c * b / (c + b) for c, b in zip(expected, best, strict=False)]
    np.testing.assert_allclose(numbers(found), harmonic, atol=1e-4)


def test_a_prompt_beyond_the_limit_is_told(small_checkpoint: Small) -> None:
    encoder = spec("clip", small_checkpoint("clip"))
    (value,) = scores("clipscore", prompts("red " * 100), pictures(1), encoder=encoder)
    # A word of three letters is three tokens here, and both ends are marked: 316 + 2 - 77.
    tokens = 13 + 300 + 2
    assert value.evidence == {UNREAD: tokens - 77}
    folder = small_checkpoint("llava")
    (value,) = scores("vqascore", prompts("red " * 300), pictures(1), **given(folder))
    assert isinstance(value, NoValue) and "tokens longer than the model reads" in value.reason


def test_open_clip_s_names_are_read(small_checkpoint: Small, tmp_path: Path) -> None:
    """HPS v2: the authors' weights have open_clip's names; the same network scores the same."""
    import torch
    from safetensors.torch import load_file

    folder = small_checkpoint("clip")
    file = tmp_path / "HPS_small.pt"
    torch.save({"state_dict": in_open_clips_names(load_file(folder / "model.safetensors"))}, file)
    arguments = spec("open_clip", folder, weights=str(file), weights_sha256=content_hash(file))
    wide = [picture(np.full((20, 40, 3), 200, np.uint8)), *pictures(2)]
    plain, _ = clip_logits(folder, list(TEXTS), wide)
    found = numbers(scores("embedding_similarity", prompts(), wide, encoder=arguments))
    np.testing.assert_allclose(found, np.diag(plain), atol=1e-4)
    # Scaled by the longer side with black around it, as HPS v2 has it: by hand for the first image.
    padded = np.zeros((32, 32, 3), np.uint8)
    padded[8:24] = 200
    squares, _ = clip_logits(folder, list(TEXTS), [picture(padded)])
    longest = arguments[:-1] + ", longest=True)"
    (value,) = numbers(scores("HPSv2Score", prompts(TEXTS[0]), wide[:1], encoder=longest))
    assert value == pytest.approx(float(squares[0, 0]), abs=1e-4)
    own = tmp_path / "own"
    shutil.copytree(folder, own, ignore=shutil.ignore_patterns("config.json", "model.safetensors"))
    shutil.copy(file, own / "open_clip_pytorch_model.bin")
    (own / "open_clip_config.json").write_text(json.dumps(OPEN_CLIP))
    found = numbers(scores("embedding_similarity", prompts(), wide, encoder=spec("open_clip", own)))
    np.testing.assert_allclose(found, np.diag(plain), atol=1e-4)
    resnet = tmp_path / "resnet.pt"
    torch.save({"visual.layer1.0.conv1.weight": torch.zeros(1)}, resnet)
    other = spec("open_clip", folder, weights=str(resnet), weights_sha256=content_hash(resnet))
    with pytest.raises(MissingPackage, match="run by its own package"):
        scores("hpsv2", prompts(), wide, encoder=other)


OPEN_CLIP = {
    "model_cfg": {
        "embed_dim": 16,
        "quick_gelu": True,
        "vision_cfg": {
            **{"image_size": 32, "patch_size": 8, "width": 24, "layers": 2, "head_width": 12},
            "mlp_ratio": 2,
        },
        "text_cfg": {
            **{"context_length": 77, "vocab_size": 190, "width": 24, "heads": 2, "layers": 2},
            "mlp_ratio": 2,
        },
    }
}


def in_open_clips_names(state: dict[str, Any]) -> dict[str, Any]:
    """Weights of transformers' CLIPModel as open_clip names and shapes them, written down from its source."""
    import torch

    made = {"logit_scale": state["logit_scale"], "text_projection": state["text_projection.weight"].T}
    made |= {"visual.proj": state["visual_projection.weight"].T}
    for theirs, ours in (("", "text_model"), ("visual.", "vision_model")):
        layers = {name.split(".")[3] for name in state if name.startswith(f"{ours}.encoder.layers.")}
        for n in layers:
            block, layer = f"{theirs}transformer.resblocks.{n}", f"{ours}.encoder.layers.{n}"
            for end in ("weight", "bias"):
                parts = [state[f"{layer}.self_attn.{part}_proj.{end}"] for part in "qkv"]
                made[f"{block}.attn.in_proj_{end}"] = torch.cat(parts)
                made[f"{block}.attn.out_proj.{end}"] = state[f"{layer}.self_attn.out_proj.{end}"]
                made[f"{block}.ln_1.{end}"] = state[f"{layer}.layer_norm1.{end}"]
                made[f"{block}.ln_2.{end}"] = state[f"{layer}.layer_norm2.{end}"]
                made[f"{block}.mlp.c_fc.{end}"] = state[f"{layer}.mlp.fc1.{end}"]
                made[f"{block}.mlp.c_proj.{end}"] = state[f"{layer}.mlp.fc2.{end}"]
    text, vision = "text_model.embeddings", "vision_model.embeddings"
    made["token_embedding.weight"] = state[f"{text}.token_embedding.weight"]
    made["positional_embedding"] = state[f"{text}.position_embedding.weight"]
    made["visual.class_embedding"] = state[f"{vision}.class_embedding"]
    made["visual.conv1.weight"] = state[f"{vision}.patch_embedding.weight"]
    made["visual.positional_embedding"] = state[f"{vision}.position_embedding.weight"]
    for end in ("weight", "bias"):
        made[f"ln_final.{end}"] = state[f"text_model.final_layer_norm.{end}"]
        made[f"visual.ln_pre.{end}"] = state[f"vision_model.pre_layrnorm.{end}"]
        made[f"visual.ln_post.{end}"] = state[f"vision_model.post_layernorm.{end}"]
    return {name: tensor.contiguous() for name, tensor in made.items()}


def test_aesthetic_and_clip_iqa(small_checkpoint: Small, tmp_path: Path) -> None:
    import torch
    from torch import nn

    folder = small_checkpoint("clip")
    torch.manual_seed(3)
    layers = nn.Sequential(nn.Linear(16, 8), nn.Dropout(), nn.Linear(8, 4), nn.Linear(4, 1)).eval()
    file = tmp_path / "head.pth"
    torch.save({f"layers.{name}": value for name, value in layers.state_dict().items()}, file)
    shown = pictures()
    encoder = spec("clip", folder)
    vectors = torch.from_numpy(registry.configure("encoder", encoder).load().image(shown))
    measure = registry.configure(
        "of_image", "aesthetic", head=str(file), head_sha256=content_hash(file), encoder=encoder
    )
    found = numbers(list(measure.load()(shown)))
    np.testing.assert_allclose(found, layers(vectors).detach()[:, 0], atol=1e-4)
    file.write_bytes(b"no weights")
    changed = registry.configure(
        "of_image", "aesthetic", head=str(file), head_sha256=content_hash(file), encoder=encoder
    )
    with pytest.raises(DataError, match="no weights can be read"):
        changed.load()(shown)
    with pytest.raises(DataError, match="not the expected weights"):
        registry.configure(
            "of_image", "aesthetic", head=str(file), head_sha256="0" * 64, encoder=encoder
        ).load()(shown)
    cosines, scale = clip_logits(folder, ["Good photo.", "Bad photo."], shown)
    expected = torch.softmax(torch.from_numpy(cosines.T * scale), dim=1)[:, 0]
    iqa = registry.configure("of_image", "clip_iqa", encoder=encoder).load()
    np.testing.assert_allclose(numbers(list(iqa(shown))), expected, atol=1e-4)


@pytest.mark.parametrize("name", ["blip_itm", "blip2_itm"])
def test_matching_is_the_library_s(small_checkpoint: Small, name: str) -> None:
    import torch
    import transformers

    folder = small_checkpoint(name)
    blip = name == "blip_itm"
    kind = transformers.BlipForImageTextRetrieval if blip else transformers.Blip2ForImageTextRetrieval
    model = kind.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    shown = pictures()
    expected = []
    for text, image in zip(TEXTS, raw(shown), strict=True):
        inputs = processor(images=image, text=[text], return_tensors="pt")
        with torch.no_grad():
            logits = (
                model(**inputs).itm_score
                if blip
                else model(**inputs, use_image_text_matching_head=True).logits_per_image
            )
        expected.append(float(logits.softmax(dim=1)[0, 1]))
    found = scores("blip_itm", [*prompts(), *prompts(" ")], [*shown, shown[0]], **given(folder))
    assert found[-1] == NoValue("the prompt is empty")
    np.testing.assert_allclose(numbers(found[:-1]), expected, atol=1e-4)
    assert np.ptp(expected) > 1e-5


def test_imagereward_reads_the_authors_names(small_checkpoint: Small, tmp_path: Path) -> None:
    """The same BLIP in the authors' names under dense layers: the library's networks and torch's layers."""
    import torch
    import transformers
    from torch import nn

    folder = tmp_path / "reward"
    shutil.copytree(small_checkpoint("blip_itm"), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    blip = transformers.BlipForImageTextRetrieval.from_pretrained(small_checkpoint("blip_itm"))
    # One head of attention has 64 numbers there, so that networks this narrow have one.
    for config in (blip.config.vision_config, blip.config.text_config):
        config.num_attention_heads = 1
    blip.config.text_config.layer_norm_eps = 1e-12
    blip.config.vision_config.layer_norm_eps = 1e-6
    blip = transformers.BlipForImageTextRetrieval(blip.config).eval()
    head = nn.Sequential(nn.Linear(24, 12), nn.Dropout(0.2), nn.Linear(12, 1)).eval()
    state = {f"blip.text_encoder.{name}": value for name, value in blip.text_encoder.state_dict().items()}
    state |= {f"blip.visual_encoder.{name}": value for name, value in authors_vision(blip).items()}
    state |= {f"mlp.layers.{name}": value for name, value in head.state_dict().items()}
    torch.save(state, folder / "ImageReward.pt")
    shown = pictures()
    words = transformers.BertTokenizerFast.from_pretrained(folder)(
        list(TEXTS), padding="max_length", truncation=True, max_length=35, return_tensors="pt"
    )
    processor = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    pixels = processor(images=raw(shown), return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        seen = blip.vision_model(pixel_values=pixels).last_hidden_state
        joined = blip.text_encoder(
            input_ids=words["input_ids"],
            attention_mask=words["attention_mask"],
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long),
        ).last_hidden_state[:, 0]
        expected = (head(joined)[:, 0].numpy() - 0.16717362830052426) / 1.0333394966054072
    found = scores("image_reward", prompts(), shown, **given(folder))
    np.testing.assert_allclose(numbers(found), expected, atol=1e-4)
    assert np.ptp(expected) > 1e-5
    (long,) = scores("imagereward", prompts("red " * 50), shown[:1], **given(folder))
    assert long.evidence == {UNREAD: 50 + 2 - 35}
    # A number that is none is no value, and the others have theirs.
    torch.save({**state, "mlp.layers.2.bias": torch.tensor([float("nan")])}, folder / "ImageReward.pt")
    broken = scores("imagereward", prompts(), shown, **given(folder))
    assert broken == [NoValue("the model gave no finite number")] * 3
    torch.save({"something": torch.zeros(1)}, folder / "ImageReward.pt")
    with pytest.raises(DataError, match="not the weights of ImageReward"):
        scores("imagereward", prompts(), shown, **given(folder))


def authors_vision(blip: Any) -> dict[str, Any]:
    """The vision transformer of BLIP in the names of its first release, which ImageReward has kept."""
    made = {}
    for name, value in blip.vision_model.state_dict().items():
        for ours, theirs in (
            ("embeddings.class_embedding", "cls_token"),
            ("embeddings.position_embedding", "pos_embed"),
            ("embeddings.patch_embedding", "patch_embed.proj"),
            ("post_layernorm", "norm"),
            ("encoder.layers", "blocks"),
            ("layer_norm", "norm"),
            ("self_attn.qkv", "attn.qkv"),
            ("self_attn.projection", "attn.proj"),
        ):
            name = name.replace(ours, theirs)
        made[name] = value
    return made


def test_mps_is_clip_with_torch_s_own_attention(small_checkpoint: Small, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

    folder = small_checkpoint("clip")
    own = load_file(folder / "model.safetensors")
    torch.manual_seed(4)
    width, one, heads = 16, 4, 2
    cross: dict[str, Any] = {}
    for n in range(2):
        shapes = {
            **{f"{n}.0.fn.norm.weight": (width,), f"{n}.0.fn.to_q.weight": (heads * one, width)},
            **{f"{n}.0.fn.to_kv.weight": (2 * one, width), f"{n}.0.fn.to_out.weight": (width, heads * one)},
            **{f"{n}.0.fn.ff.0.weight": (24, width), f"{n}.0.fn.ff.2.weight": (width, 12)},
            **{f"{n}.1.fn.norm.weight": (width,), f"{n}.1.fn.attn_out.weight": (width, heads * one)},
            **{f"{n}.1.fn.fused_attn_ff_proj.weight": (heads * one + 2 * one + 24, width)},
            **{f"{n}.1.fn.ff_out.1.weight": (width, 12)},
        }
        cross |= {name: torch.randn(shape) * 0.5 for name, shape in shapes.items()}
    state = {f"mps.model.{name}": value for name, value in own.items()}
    state |= {f"mps.cross_model.layers.{name}": value for name, value in cross.items()}
    file = tmp_path / "mps.safetensors"
    save_file(state, file)
    shown = pictures()
    named = {**given(folder), "weights": str(file), "weights_sha256": content_hash(file)}
    found = numbers(scores("MPS", prompts(), shown, **named, condition="red, blue, cat"))
    clip = CLIPModel.from_pretrained(small_checkpoint("clip")).eval()
    words = AutoTokenizer.from_pretrained(folder)
    seen = CLIPImageProcessorPil.from_pretrained(folder)(images=raw(shown), return_tensors="pt")
    expected = []
    with torch.no_grad():
        for n, text in enumerate(TEXTS):
            ids = [
                words([each], padding="max_length", max_length=77, return_tensors="pt")["input_ids"]
                for each in (text, "red, blue, cat")
            ]
            (told, whole), (asked, _) = (
                [clip.text_projection(each) for each in clip.text_model(input_ids=part)[:2]] for part in ids
            )
            patches = clip.visual_projection(clip.vision_model(seen["pixel_values"][n : n + 1])[0])
            near = (told[0] @ asked[0].T).max(dim=1).values
            attends = near / near.max() > 0.01
            state_of_cls = by_torch(cross, patches, told[:, attends], one)[0, 0]
            cosine = torch.nn.functional.cosine_similarity(whole[0], state_of_cls, dim=0)
            expected.append(float(cosine * clip.logit_scale.exp()))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(MissingPackage, match="no weights for mps"):
        scores("mps", prompts(), shown, **given(folder))


def by_torch(state: dict[str, Any], seen: Any, words: Any, one: int) -> Any:
    """The layers of MPS with torch's scaled_dot_product_attention, the keys repeated for every head."""
    import torch
    from torch.nn import functional as F

    def heads(rows: Any) -> Any:
        return rows.reshape(*rows.shape[:2], -1, one).permute(0, 2, 1, 3)

    def attend(query: Any, key: Any, value: Any) -> Any:
        wide = [each.expand(-1, query.shape[1], -1, -1) for each in (heads(key), heads(value))]
        return F.scaled_dot_product_attention(query, *wide).permute(0, 2, 1, 3).flatten(2)

    def gated(rows: Any) -> Any:
        value, gate = rows.tensor_split(2, dim=-1)
        return value * F.silu(gate)

    def rotated(rows: Any) -> Any:
        made = rows.clone()
        half = one // 2
        for place in range(rows.shape[-2]):
            for n in range(half):
                angle = torch.tensor(place * 10000 ** (-2 * n / one))
                x, y = rows[..., place, n], rows[..., place, n + half]
                made[..., place, n] = x * angle.cos() - y * angle.sin()
                made[..., place, n + half] = y * angle.cos() + x * angle.sin()
        return made

    for n in range(2):
        part = {name[7:]: value for name, value in state.items() if name.startswith(f"{n}.0.fn.")}
        normal = F.layer_norm(seen, seen.shape[-1:], part["norm.weight"])
        key, value = F.linear(words, part["to_kv.weight"]).split(one, dim=-1)
        joined = attend(heads(F.linear(normal, part["to_q.weight"])), key, value)
        dense = F.linear(gated(F.linear(normal, part["ff.0.weight"])), part["ff.2.weight"])
        seen = seen + F.linear(joined, part["to_out.weight"]) + dense
        part = {name[7:]: value for name, value in state.items() if name.startswith(f"{n}.1.fn.")}
        normal = F.layer_norm(seen, seen.shape[-1:], part["norm.weight"])
        fused = F.linear(normal, part["fused_attn_ff_proj.weight"])
        query, key, value, rest = fused.split((2 * one, one, one, 24), dim=-1)
        joined = attend(rotated(heads(query)), rotated(key), value)
        seen = seen + F.linear(joined, part["attn_out.weight"])
        seen = seen + F.linear(gated(rest), part["ff_out.1.weight"])
    return seen


def test_another_architecture_is_refused_by_name(small_checkpoint: Small, tmp_path: Path) -> None:
    dino, clip = small_checkpoint("dinov2"), small_checkpoint("clip")
    for name in ("blip_itm", "vqascore"):
        with pytest.raises(DataError, match="another architecture: Dinov2Model") as caught:
            scores(name, prompts(), pictures(), **given(dino))
        assert str(dino) in str(caught.value)
    with pytest.raises(DataError, match="another architecture: Dinov2Model"):
        registry.configure("encoder", spec("clip", dino)).load()
    with pytest.raises(DataError, match="another architecture: CLIPModel"):
        registry.configure("encoder", spec("dinov2", clip)).load()
    # The right architecture without some of its weights: the library would draw them at random.
    from safetensors.torch import load_file, save_file

    copy = tmp_path / "copy"
    shutil.copytree(clip, copy)
    state = load_file(copy / "model.safetensors")
    state.pop("text_projection.weight")
    save_file(state, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DataError, match=r"1 weights are missing, such as text_projection\.weight"):
        registry.configure("encoder", spec("clip", copy)).load()


def test_without_weights_it_says_where_they_come_from(
    small_checkpoint: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_OFFLINE", "1")
    with pytest.raises(MissingPackage, match="has no revision"):
        scores("blip_itm", prompts(), pictures())
    with pytest.raises(UsageError, match="neither a file here nor one of the hub"):
        nowhere = spec("open_clip", small_checkpoint("clip"), weights="nowhere.pt")
        scores("hpsv2", prompts(), pictures(), encoder=nowhere)


def test_a_study_is_scored_by_models_and_keeps_their_vectors(
    painted: Study, small_checkpoint: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the runner: encoders answer from the study's vectors, and mixed precision is kept apart."""
    monkeypatch.setenv("SIGHTLINE_DEVICE", "cpu")
    pairs = {"r": "rose", "b": "sea", "g": "leaf"}
    answers = [
        Answer(PromptKey("suite", ref), "draw", 0, ImageKey("paints", name)) for ref, name in pairs.items()
    ]
    put(painted, [System("draw", "generator"), *answers], "run")
    clip = spec("clip", small_checkpoint("clip"))
    wanted = [
        f"pickscore(encoder={clip})",
        f"clip_iqa(encoder={clip})",
        spec("blip_itm", small_checkpoint("blip_itm")),
    ]
    done = sightline.score(painted, wanted, workers=2)
    assert [(run.computed, run.reasons.total()) for run in done.runs] == [(3, 0), (4, 0), (3, 0)]
    stored = reading.scores(painted, done.measures[0].identity)
    images = {row["name"]: row["sha256"] for row in reading.images(painted).iter_rows(named=True)}
    expected, scale = clip_logits(
        small_checkpoint("clip"),
        ["red", "blue", "green"],
        [painted.files.picture(images[n]) for n in pairs.values()],
    )
    found = np.sort(stored["value"].to_numpy())
    np.testing.assert_allclose(found, np.sort(scale * np.diag(expected)), atol=1e-4)
    assert [run.computed for run in sightline.score(painted, wanted).runs] == [0, 0, 0]
    monkeypatch.setenv("SIGHTLINE_PRECISION", "bfloat16")
    assert [run.computed for run in sightline.score(painted, wanted[:1]).runs] == [3]
    monkeypatch.delenv("SIGHTLINE_PRECISION")
    assert reading.scores(painted, done.measures[0].identity).height == 3
