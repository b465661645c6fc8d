"""Generators: an images endpoint with its faults, a function of one's own, a pipeline of diffusers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from endpoint_server import Server, serving
from studies import put

import sightline
from sightline.errors import DataError, SightlineError, UsageError
from sightline.pictures import decode
from sightline.records import Prompt, PromptKey
from sightline.samples.scenes import scenes
from sightline.study.bill import CallPlan
from sightline.study.reading import decoded, fetch_rows
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study
from sightline.systems.generate import seed_of
from sightline.testing import check_extension

HOSTED = 'openai_images(model="draw-1", endpoint="local", size="16x16")'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def study_of(folder: Path, texts: list[str], server: Server | None = None) -> Study:
    create_study(folder).close()
    if server is not None:
        with (folder / SETTINGS_FILE).open("a") as file:
            file.write(
                f'[endpoint.local]\naddress = "{server.address}"\nin_flight = 4\nbackoff = 0.01\n'
                'retries = 2\ntimeout = 30.0\n[endpoint.local.prices]\n"draw-1" = { image = 0.04 }\n'
            )
    study = open_study(folder)
    put(study, [Prompt(PromptKey("s", str(n)), text) for n, text in enumerate(texts)])
    return study


def made(study: Study) -> dict[str, str | None]:
    """Failures by prompt, None where there is an image."""
    rows = study.answers().join(study.prompts(), on="prompt_id", how="left")
    return dict(rows.select("prompt", "failure").iter_rows())


def test_an_images_endpoint_and_its_faults(tmp_path: Path, server: Server) -> None:
    server.clear()
    faults = ["429", "reset", "url", "half", "junk", "two", "dead", "policy"]
    texts = [f"a cube [{fault}]" for fault in faults] + ["a ball", "a cone"]
    with study_of(tmp_path / "study", texts, server) as study:
        plan = sightline.generate(study, "hosted", HOSTED, plan=True)
        assert isinstance(plan, CallPlan) and server.bodies == []
        assert plan.plans[0].calls == 10 and plan.plans[0].cost == pytest.approx(0.4)
        result = sightline.generate(study, "hosted", HOSTED)
        told = made(study)
        for good in ("a cube [429]", "a cube [reset]", "a cube [url]", "a ball", "a cone"):
            assert told[good] is None
        assert told["a cube [policy]"] == "refused: Your request was rejected"
        assert "broken" in str(told["a cube [half]"]) or "truncated" in str(told["a cube [half]"])
        # What got no usable answer is no answer of the system: the next run asks again.
        assert {"a cube [junk]", "a cube [two]", "a cube [dead]"}.isdisjoint(told)
        assert sum(result.unanswered.values()) == 3 and result.made == 5
        (line,) = result.bill
        assert (line.sent, line.replies, line.refused, line.failed) == (10, 6, 1, 3)
        assert line.cost == pytest.approx(6 * 0.04)
        server.clear()
        again = sightline.generate(study, "hosted", HOSTED)
        repeated = {"a cube [junk]", "a cube [two]", "a cube [dead]"}
        assert {body["prompt"] for body in server.bodies} == repeated
        assert again.known == study.answers().height == 7
        told = [decoded(cell) for (cell,) in fetch_rows(study, "SELECT json FROM settings")]
        assert "as drawn" in {each.get("revised_prompt") for each in told}


def test_an_address_elsewhere_is_not_fetched(tmp_path: Path, server: Server) -> None:
    with study_of(tmp_path / "study", ["a cube [elsewhere]"], server) as study:
        with pytest.raises(DataError, match=r"127\.0\.0\.2, which is not its own host") as caught:
            sightline.generate(study, "hosted", HOSTED)
        assert "images_from" in str(caught.value)


def test_a_seed_that_a_server_does_not_know(tmp_path: Path, server: Server) -> None:
    server.clear()
    server.refuses = {"seed"}
    try:
        with study_of(tmp_path / "study", ["a ball"], server) as study:
            assert sightline.generate(study, "hosted", HOSTED).made == 1
            assert "seed" not in server.bodies[-1]
            # The image was made with another seed than ours, which nobody knows.
            assert fetch_rows(study, "SELECT seed FROM answer") == [(None,)]
    finally:
        server.refuses = set()


FUNCTIONS = """
import numpy as np
def draw(prompt, seed):
    if "array" in prompt:
        return np.full((3, 5, 3), seed % 256, np.uint8)
    if "float" in prompt:
        return np.zeros((3, 5, 3))
    if "none" in prompt:
        return None
    raise RuntimeError("no ink")
def wrong(prompt, seed):
    return 5
"""


def test_a_function_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_drawing.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    with study_of(tmp_path / "study", ["an array", "a float", "none", "other"]) as study:
        result = sightline.generate(study, "mine", 'python(function="my_drawing:draw")', samples=2)
        assert result.made == 2
        assert made(study) == {
            "an array": None,
            "a float": "the function gave an array of float64 (3, 5, 3), not of height x width x 3 bytes",
            "none": "the function gave no image",
            "other": "the function raised RuntimeError: no ink",
        }
        wrong: list[tuple[str, str]] = [
            ("my_drawing:wrong", "gave a int"),
            ("my_drawing:nothing", "has no 'nothing'"),
            ("nowhere_at_all:x", "no module 'nowhere_at_all'"),
            ("my_drawing", "names no function"),
        ]
        for function, said in wrong:
            with pytest.raises(UsageError, match=said):
                sightline.generate(study, "other", f'python(function="{function}")')


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Stable Diffusion with random weights, saved in the hub's own layout."""
    pytest.importorskip("diffusers", reason="not needed here: diffusers is an extra")
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    folder = tmp_path_factory.mktemp("pipeline")
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789,.'-"]
    words = [*letters, *(f"{each}</w>" for each in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: n for n, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77)
    torch.manual_seed(0)
    text = CLIPTextConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=37, num_attention_heads=4,
        num_hidden_layers=1, projection_dim=32, bos_token_id=len(words) - 2,
        eos_token_id=len(words) - 1, pad_token_id=1,
    )  # fmt: skip
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32, norm_num_groups=32,
    )  # fmt: skip
    vae = AutoencoderKL(
        block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=32,
    )  # fmt: skip
    made = StableDiffusionPipeline(
        vae=vae, text_encoder=CLIPTextModel(text), tokenizer=tokenizer, unet=unet, scheduler=DDIMScheduler(),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    made.save_pretrained(folder / "tiny")
    return folder / "tiny"


def test_a_pipeline_of_diffusers_draws_the_demo(tmp_path: Path, pipeline: Path) -> None:
    import torch
    from diffusers import DiffusionPipeline

    texts = [scene.text for scene in scenes(4)]
    name = f"diffusers(checkpoint={str(pipeline)!r}, steps=2, guidance=3.0)"
    with study_of(tmp_path / "study", texts) as study:
        result = sightline.generate(study, "tiny", name, samples=2, seed=3)
        assert result.made == 8 and not result.failures
        # The library's own call with the same seed gives the same pixels.
        own = DiffusionPipeline.from_pretrained(str(pipeline), use_safetensors=True)
        own.set_progress_bar_config(disable=True)
        prompt = Prompt(PromptKey("s", "1"), texts[1])
        noise = torch.Generator("cpu").manual_seed(seed_of(3, prompt, 1))
        image = own(prompt=prompt.text, generator=noise, num_inference_steps=2, guidance_scale=3.0).images[0]
        shas = dict(study.images().select("image", "sha256").iter_rows())
        ours = decode(study.files.picture(shas["s/1/1"]).data)
        assert np.array_equal(ours, np.asarray(image.convert("RGB")))
        assert len(set(shas.values())) == 8
        told = [decoded(cell) for (cell,) in fetch_rows(study, "SELECT json FROM settings")]
        assert [each["scheduler"] for each in told] == ["DDIMScheduler"] and "steps=2" in told[0]["generator"]
        assert sightline.generate(study, "tiny", name, samples=2, seed=3).known == 8


def test_checkpoints_that_are_none(tmp_path: Path, pipeline: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "coded").mkdir()
    (tmp_path / "coded" / "pipeline.py").write_text("raise SystemExit")
    with study_of(tmp_path / "study", ["a ball"]) as study:
        wrong: list[tuple[str, type[SightlineError], str]] = [
            ("", UsageError, "needs a checkpoint"),
            (str(tmp_path / "none"), DataError, "no such checkpoint"),
            (str(tmp_path / "empty"), DataError, "no pipeline that diffusers can load"),
            (str(tmp_path / "coded"), DataError, "brings code of its own"),
        ]
        for checkpoint, kind, said in wrong:
            with pytest.raises(kind, match=said):
                sightline.generate(study, "tiny", f"diffusers(checkpoint={checkpoint!r})")
        with pytest.raises(UsageError, match="does not take x"):
            options = "options='{\"x\": 1}'"
            sightline.generate(study, "tiny", f"diffusers(checkpoint={str(pipeline)!r}, {options})")


def test_the_generator_of_functions_conforms() -> None:
    check_extension("python", "generator")
