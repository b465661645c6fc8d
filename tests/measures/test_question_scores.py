"""VQAScore, DSG, TIFA and reward models on small random models, against the library's own calls."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture
from PIL import Image

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_answer.reward_models import final_score
from sightline.records import Prompt, PromptKey

Small = Callable[[str], Path]
TEXTS = ("a red ball", "two blue cars in the snow", "the cat")
TEMPLATE = 'Does this figure show "{}"? Please answer yes or no.'


def prompts(*texts: str, **more: Any) -> list[Prompt]:
    return [Prompt(PromptKey("s", str(n)), text, **more) for n, text in enumerate(texts or TEXTS)]


def pictures() -> list[Picture]:
    rng = np.random.default_rng(5)
    return [
        picture(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in ((40, 64), (64, 40), (9, 9))
    ]


def given(folder: Path) -> dict[str, str]:
    return {"model": str(folder), "sha256": content_hash(folder)}


def scores(name: str, asked: Sequence[Prompt], shown: Sequence[Picture], **arguments: Any) -> list[Any]:
    return list(registry.configure("of_answer", name, **arguments).load()(asked, shown))


def llava_reply(folder: Path, question: str, image: Picture, most: int = 1) -> tuple[Any, Any]:
    """Logits of the first token and the words that the library generates, as its documentation does it."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question}]}]
    text = processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    inputs = processor(text=[text], images=[Image.fromarray(image.rgb)], return_tensors="pt")
    found = model.generate(
        **inputs, max_new_tokens=most, do_sample=False, output_logits=True, return_dict_in_generate=True
    )
    words = processor.decode(found.sequences[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return found.logits[0][0], words


def test_vqascore_is_the_probability_of_yes(small_checkpoint: Small) -> None:
    from transformers import AutoTokenizer

    folder = small_checkpoint("llava")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    shown = pictures()
    chances = [
        llava_reply(folder, TEMPLATE.replace("{}", text), image)[0].softmax(dim=0)
        for text, image in zip(TEXTS, shown, strict=True)
    ]
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("Yes", "No"))
    found = scores("VQAScore", [*prompts(), *prompts("")], [*shown, shown[0]], **given(folder))
    assert found[-1] == NoValue("the prompt is empty")
    np.testing.assert_allclose([each.value for each in found[:-1]], [c[yes] for c in chances], atol=1e-4)
    normal = scores("vqascore", prompts(), shown, **given(folder), normalised=True)
    expected = [float(c[yes] / (c[yes] + c[no])) for c in chances]
    np.testing.assert_allclose([each.value for each in normal], expected, atol=1e-4)
    with pytest.raises(UsageError, match="no token for the answer"):
        scores("vqascore", prompts(), shown, **given(folder), answer="Absolutely")
    with pytest.raises(UsageError, match="the template has no"):
        scores("vqascore", prompts(), shown, **given(folder), template="Is it good?")


def test_qwen_runs_without_torchvision(small_checkpoint: Small) -> None:
    """Its processor wants torchvision for videos; here images and words are put together by hand."""
    import torch
    from transformers import AutoTokenizer, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessorPil

    folder = small_checkpoint("qwen2_vl")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Qwen2VLForConditionalGeneration.from_pretrained(folder).eval()
    images = Qwen2VLImageProcessorPil.from_pretrained(folder)
    expected = []
    for text, each in zip(TEXTS, pictures(), strict=True):
        seen = images(images=[Image.fromarray(each.rgb)], return_tensors="pt")
        patches = int(seen["image_grid_thw"][0].prod()) // 4
        marks = "<|vision_start|>" + "<|image_pad|>" * patches + "<|vision_end|>"
        words = tokenizer([marks + TEMPLATE.replace("{}", text) + " </q>"], return_tensors="pt")
        kinds = (words["input_ids"] == tokenizer.convert_tokens_to_ids("<|image_pad|>")).long()
        with torch.no_grad():
            logits = model(**words, **seen, mm_token_type_ids=kinds).logits[0, -1]
        expected.append(float(logits.softmax(dim=0)[tokenizer.convert_tokens_to_ids("Yes")]))
    found = scores("vqascore", prompts(), pictures(), **given(folder))
    np.testing.assert_allclose([each.value for each in found], expected, atol=1e-4)


def test_a_model_of_questions_answers_too(small_checkpoint: Small) -> None:
    from transformers import AutoProcessor, BlipForQuestionAnswering

    folder = small_checkpoint("blip_vqa")
    processor = AutoProcessor.from_pretrained(folder)
    model = BlipForQuestionAnswering.from_pretrained(folder).eval()
    (image, *_) = pictures()
    inputs = processor(
        images=[Image.fromarray(image.rgb)], text=["is there a cat"], return_tensors="pt", padding=True
    )
    said = model.generate(
        **inputs, max_new_tokens=1, do_sample=False, output_logits=True, return_dict_in_generate=True
    )
    yes = processor.tokenizer.convert_tokens_to_ids("yes")
    (value,) = scores(
        "vqascore",
        prompts("cat"),
        [image],
        **given(folder),
        template="is there a {}",
        answer="yes",
        against="no",
    )
    assert value.value == pytest.approx(float(said.logits[0][0].softmax(dim=0)[yes]), abs=1e-4)


QUESTIONS = [
    {"id": 1, "question": "red", "needs": []},
    {"id": 2, "question": "green", "needs": [1]},
    {"id": 3, "question": "blue", "needs": [2]},
    {"id": 4, "question": "red again", "needs": [1]},
]


def red(rgb: tuple[int, int, int]) -> Picture:
    return picture(np.full((8, 8, 3), rgb, np.uint8))


def answering(asked: Sequence[Prompt], shown: Sequence[Picture]) -> list[Value]:
    """Says how much of the colour that a question begins with the image has."""
    colours = ("red", "green", "blue")
    return [
        Value(float(image.rgb[0, 0, colours.index(prompt.text.split()[0])]) / 255)
        for prompt, image in zip(asked, shown, strict=True)
    ]


def test_a_question_counts_only_if_those_it_needs_hold(tmp_path: Path) -> None:
    dsg = registry.configure("of_answer", "dsg").load({"vqa": answering})
    asked = prompts("p", expects={"questions": QUESTIONS})
    # Red and blue, no green: 3 needs 2, which does not hold, so that 1 and 4 of 4 count.
    (value,) = dsg(asked, [red((255, 0, 255))])
    assert value.value == 2 / 4
    assert [each["held"] for each in value.evidence["questions"]] == [True, False, True, True]
    assert [each["counted"] for each in value.evidence["questions"]] == [True, False, False, True]
    # Blue alone: nothing that the others need holds.
    assert dsg(asked, [red((0, 0, 255))])[0].value == 0
    assert dsg(asked, [red((255, 255, 255))])[0].value == 1
    assert dsg(prompts("p"), [red((0, 0, 0))]) == [NoValue("the prompt has no questions")]
    file = tmp_path / "questions.json"
    file.write_text(json.dumps({"p": QUESTIONS[:2]}))
    by_file = registry.configure("of_answer", "dsg", questions=str(file))
    assert by_file.load({"vqa": answering})(prompts("p"), [red((255, 0, 0))])[0].value == 1 / 2
    before = by_file.identity
    file.write_text(json.dumps({"p": QUESTIONS[:1]}))
    assert registry.configure("of_answer", "dsg", questions=str(file)).identity != before
    file.write_text("[]")
    with pytest.raises(DataError, match="an object with a list for each prompt"):
        by_file.load({"vqa": answering})(prompts("p"), [red((255, 0, 0))])
    # Questions in a circle, or that need one that is not there, stand by themselves.
    circle = [{"id": 1, "question": "red", "needs": [2]}, {"id": 2, "question": "blue", "needs": [1, 9]}]
    (value,) = dsg(prompts("p", expects={"questions": circle}), [red((255, 0, 255))])
    assert value.value == 1


def test_tifa_takes_the_likeliest_choice() -> None:
    asked: list[str] = []

    def choosing(put: Sequence[Prompt], shown: Sequence[Picture]) -> list[Value]:
        asked.extend(prompt.text for prompt in put)
        return [Value({"cube": 0.3, "ball": 0.4}.get(text.text[-6:-2], 0.9)) for text in put]

    tifa = registry.configure("of_answer", "tifa").load({"vqa": choosing})
    questions = [
        {"question": "What is it?", "choices": ["cube", "ball"], "answer": "ball"},
        {"question": "What is it?", "choices": ["cube", "ball"], "answer": "cube"},
        {"question": "Is it red?", "choices": ["yes", "no"], "answer": "yes"},
        {"question": "Is it blue?", "choices": ["yes", "no"], "answer": "no"},
    ]
    # The ball is likelier, and everything else is answered yes: the first and the third are right.
    (value,) = tifa(prompts("p", expects={"questions": questions}), [red((0, 0, 0))])
    assert value.value == 2 / 4
    assert asked[:2] == ['What is it? Is the answer "cube"?', 'What is it? Is the answer "ball"?']


def test_dsg_asks_a_real_model(small_checkpoint: Small) -> None:
    folder = small_checkpoint("llava")
    answered = (
        f"vqascore(model={str(folder)!r}, sha256={content_hash(folder)!r}, template='{{}}', normalised=True)"
    )
    asked = prompts("p", expects={"questions": [{"id": 1, "question": "is there a cat", "needs": []}]})
    image = pictures()[0]
    (value,) = scores("DSG", asked, [image], vqa=answered)
    (chance,) = scores(
        "vqascore", prompts("is there a cat"), [image], **given(folder), template="{}", normalised=True
    )
    assert value.value == float(chance.value > 0.5)


def test_hpsv3_reads_the_state_at_its_mark(small_checkpoint: Small, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file
    from torch import nn
    from transformers import AutoTokenizer, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessorPil

    folder = tmp_path / "hpsv3"
    shutil.copytree(small_checkpoint("qwen2_vl"), folder)
    torch.manual_seed(6)
    head = nn.Sequential(
        nn.Linear(32, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)
    )
    head = head.eval()
    model = Qwen2VLForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|Reward|>"]})
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(tmp_path / "longer")
    (folder / "model.safetensors").unlink()
    state = load_file(tmp_path / "longer" / "model.safetensors")
    assert any(value.shape[0] == len(tokenizer) for value in state.values())
    state |= {f"rm_head.{name}": value for name, value in head.state_dict().items()}
    save_file(state, folder / "HPSv3.safetensors")
    told = tmp_path / "instruction.txt"
    told.write_text("show {text_prompt} answer <|Reward|> or")
    found = scores("hpsv3", prompts(), pictures(), **given(folder), instruction=str(told), pixels=56 * 56)
    images = Qwen2VLImageProcessorPil.from_pretrained(folder)
    mark = tokenizer.convert_tokens_to_ids("<|Reward|>")
    for text, each, value in zip(TEXTS, pictures(), found, strict=True):
        seen = images(images=[Image.fromarray(each.rgb)], return_tensors="pt")
        patches = int(seen["image_grid_thw"][0].prod()) // 4
        marks = "<|vision_start|>" + "<|image_pad|>" * patches + "<|vision_end|>"
        words = tokenizer([f"{marks}show {text} answer <|Reward|> or </q>"], return_tensors="pt")
        kinds = (words["input_ids"] == tokenizer.convert_tokens_to_ids("<|image_pad|>")).long()
        with torch.no_grad():
            states = model(**words, **seen, mm_token_type_ids=kinds, output_hidden_states=True).hidden_states[
                -1
            ]
            (expected,) = head(states[words["input_ids"] == mark])[:, 0]
        assert value.value == pytest.approx(float(expected), abs=1e-4)
    assert len({round(value.value, 5) for value in found}) == 3
    told.write_text("show {text_prompt}")
    with pytest.raises(DataError, match="the instruction has no"):
        scores("hpsv3", prompts("other"), pictures()[:1], **given(folder), instruction=str(told))
    with pytest.raises(DataError, match="no rm_head among the weights"):
        told.write_text("{text_prompt} <|Reward|>")
        scores("hpsv3", prompts(), pictures(), **given(small_checkpoint("qwen2_vl")), instruction=str(told))


def test_unified_reward_has_the_score_that_is_written(small_checkpoint: Small, tmp_path: Path) -> None:
    folder = small_checkpoint("llava")
    told = tmp_path / "instruction.txt"
    told.write_text("answer {prompt}")
    (image, *_) = pictures()
    found = scores(
        "unified_reward", prompts("cat"), [image], **given(folder), instruction=str(told), tokens=5
    )
    _, words = llava_reply(folder, "answer cat", image, 5)
    assert found == [NoValue(f"the model wrote no score: {' '.join(words.split())!r}")]
    assert final_score("cube (object): 1\nFinal Score: 3.5") == Value(
        3.5, {"reply": "cube (object): 1\nFinal Score: 3.5"}
    )
    assert final_score("Final Score: **4**") == Value(4.0, {"reply": "Final Score: **4**"})
    assert isinstance(final_score("Final Score: 99"), NoValue)
    with pytest.raises(MissingPackage, match="the text that its model was trained to answer"):
        scores("unified_reward", prompts("cat"), [image], **given(folder))
