"""Scores of a vision language model behind an endpoint, which reads the prompt and looks at the image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightline import chat
from sightline.arrays import content_hash
from sightline.chat import Unreadable
from sightline.endpoints import Endpoint, connect
from sightline.errors import DataError, UsageError
from sightline.extension import Picture, Values, measure
from sightline.records import NoValue, Prompt, Value
from sightline.regular import read_regular
from sightline.replies import Reply

MOST_RUBRIC = 100_000
"""Bytes of a rubric file."""
ALIGNMENT = (
    "You judge how well an image that a system made fits the prompt it was given. Look for every object, "
    "count, attribute, relation and style that the prompt asks for. 10: all of it is there and right. 5: "
    "about half of it. 0: nothing of it."
)
QUESTION = "Does the image show everything that the prompt asks for?"
CONSISTENCY = (
    "You judge how far an image follows the prompt that it was made from, and nothing else: not its beauty, "
    "not its technique. 10: the image follows the prompt in full. 0: it does not follow the prompt at all."
)
QUALITY = (
    "You judge the technical quality of an image that a system made, whatever it shows. Give two scores. "
    "naturalness, 10: light, shadow, distance and proportion look right; 0: nothing looks natural. "
    "artifacts, 10: no distortion, watermark, scratch, blur, odd limb or odd face; 0: they spoil all of it."
)
ASPECTS = ("naturalness", "artifacts")
PARTS = ("overall", "consistency", "quality")


def _format(*names: str) -> str:
    fields = ", ".join(f'"{name}": number from 0 to 10' for name in names)
    return f'Reply with one JSON object and nothing else: {{"reason": "one sentence", {fields}}}'


@measure.of_answer(
    direction="higher",
    range=(0, 10),
    source="Zheng et al., NeurIPS 2023 (LLM as a judge), any OpenAI-compatible endpoint",
    licence="Apache-2.0",
    extra="endpoints",
    parallel=False,
    content_of=("rubric",),
    endpoint="endpoint",
    aliases={"gpt4_score": "judge asks any model: name it, judge(model='gpt-4o', endpoint='openai')"},
)
def judge(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    rubric: str = "",
    model: str = "",
    endpoint: str | Endpoint = "",
    temperature: float = 0.0,
    max_tokens: int = 500,
    seed: int = 0,
    side: int = 1024,
    options: str = "",
) -> Values:
    """Score from 0 to 10 that a vision language model gives an answer by a rubric.

    `rubric` is a text file with your own instructions, whose content is part of the measure's identity;
    without one the model judges how well the image fits the prompt. `endpoint` is an address such as
    http://localhost:8000/v1, or a name from study.toml ([endpoint.NAME]); `model` is its name there.
    Images are sent as PNG, no side longer than `side`; `options` are further fields of a request, as JSON.
    A reply that cannot be read has no value, and its text is the evidence.
    """
    rules = f"{_rubric(rubric) or ALIGNMENT}\n\n{_format('score')}"
    client = connect(endpoint)

    def one(prompt: Prompt, image: Picture) -> Value | NoValue:
        reply = client.chat(
            chat.request(
                model, rules, _material(prompt, image, side), temperature=temperature, max_tokens=max_tokens,
                seed=seed, schema=chat.numbers_schema("score"), options=options,
            )
        )  # fmt: skip
        return _read(reply, lambda text: _scores(text, "score")["score"])

    return [one(prompt, image) for prompt, image in zip(prompts, images, strict=True)]


@measure.of_answer(
    direction="higher",
    range=(0, 1),
    source="Lin et al., ECCV 2024 (VQAScore's probability of yes), any OpenAI-compatible endpoint",
    licence="Apache-2.0",
    extra="endpoints",
    parallel=False,
    content_of=("question",),
    endpoint="endpoint",
)
def judge_yes_no(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    question: str = QUESTION,
    model: str = "",
    endpoint: str | Endpoint = "",
    temperature: float = 0.0,
    max_tokens: int = 5,
    seed: int = 0,
    side: int = 1024,
    options: str = "",
) -> Values:
    """Probability that a vision language model answers yes to a question about an answer.

    p(yes) / (p(yes) + p(no)) at the first token that is either, where the endpoint offers logprobs; else 1
    for yes and 0 for no, and the evidence says so. `question` is the question, or a text file with it. The
    other parameters are those of `judge`.
    """
    asked = _rubric(question) if content_hash(question) else question
    if not asked.strip():
        raise UsageError("judge_yes_no has no question", remedy=f"For example question={QUESTION!r}")
    rules = f"You look at an image and answer a question about it. {asked}\n\nReply with one word: Yes or No."
    client = connect(endpoint)

    def one(prompt: Prompt, image: Picture) -> Value | NoValue:
        body = chat.request(
            model, rules, _material(prompt, image, side), temperature=temperature, max_tokens=max_tokens,
            seed=seed, options=options,
        )  # fmt: skip
        reply = client.chat({**body, "logprobs": True, "top_logprobs": 20})
        if reply.choices and not (reply.refusal or reply.fault):
            yes, no = reply.choices.get("yes", 0.0), reply.choices.get("no", 0.0)
            return Value(yes / (yes + no), {**_evidence(reply), "from": "logprobs"})
        read = _read(reply, lambda text: float(chat.read_yes_no(text)))
        if isinstance(read, NoValue):
            return read
        return Value(read.value, {**_evidence(reply), "from": "the word"})

    return [one(prompt, image) for prompt, image in zip(prompts, images, strict=True)]


@measure.of_answer(
    direction="higher",
    range=(0, 10),
    source="Ku et al., ACL 2024 (VIEScore), with our own wording, any OpenAI-compatible endpoint",
    licence="Apache-2.0",
    extra="endpoints",
    parallel=False,
    endpoint="endpoint",
)
def viescore(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    part: str = "overall",
    model: str = "",
    endpoint: str | Endpoint = "",
    temperature: float = 0.0,
    max_tokens: int = 500,
    seed: int = 0,
    side: int = 1024,
    options: str = "",
) -> Values:
    """VIEScore: semantic consistency and perceptual quality by a vision language model, and both together.

    Consistency is asked with the prompt, quality (the smaller of naturalness and absence of artifacts) with
    the image alone. `part` is overall, sqrt(consistency * quality), consistency, or quality; replies are
    kept, so that the second part costs no call. The wording is ours, not that of the paper; the other
    parameters are those of `judge`.
    """
    if part not in PARTS:
        raise UsageError(f"viescore has no part {part!r}", remedy=f"One of {', '.join(PARTS)}.")
    client = connect(endpoint)
    settings = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed, "options": options}

    def ask(rules: str, parts: list[dict[str, Any]], *names: str) -> Reply:
        rubric = f"{rules}\n\n{_format(*names)}"
        schema = chat.numbers_schema(*names)
        return client.chat(chat.request(model, rubric, parts, schema=schema, **settings))  # type: ignore[arg-type]

    def one(prompt: Prompt, image: Picture) -> Value | NoValue:
        read: dict[str, Value | NoValue] = {}
        if part != "quality":
            reply = ask(CONSISTENCY, _material(prompt, image, side), "score")
            read["consistency"] = _read(reply, lambda text: _scores(text, "score")["score"])
        if part != "consistency":
            alone = [chat.said("The image:"), chat.shown(image, side)]
            reply = ask(QUALITY, alone, *ASPECTS)
            read["quality"] = _read(reply, lambda text: min(_scores(text, *ASPECTS).values()))
        evidence = {name: dict(each.evidence or {}) for name, each in read.items()}
        product = 1.0
        for name, each in read.items():
            if isinstance(each, NoValue):
                return NoValue(f"{name}: {each.reason}", evidence)
            evidence[name]["score"] = each.value
            product *= each.value
        return Value(product ** (1 / len(read)), evidence)

    return [one(prompt, image) for prompt, image in zip(prompts, images, strict=True)]


def _material(prompt: Prompt, image: Picture, side: int) -> list[dict[str, Any]]:
    text = f"The prompt, between marks:\n{chat.quoted(prompt.text)}\n\nThe image:"
    return [chat.said(text), chat.shown(image, side)]


def _scores(text: str, *names: str) -> dict[str, float]:
    found = chat.read_object(text, names)
    return {name: chat.read_number(found, name, 0, 10) for name in names}


def _read(reply: Reply, read: Callable[[str], float]) -> Value | NoValue:
    evidence = _evidence(reply)
    if reply.refusal:
        return NoValue("the model refused to judge it", {**evidence, "refusal": reply.refusal})
    if reply.fault:
        return NoValue(reply.fault, evidence)
    try:
        return Value(read(reply.text), evidence)
    except Unreadable as error:
        return NoValue(str(error), evidence)


def _evidence(reply: Reply) -> Mapping[str, Any]:
    return {"reply": reply.text[: chat.MOST_EVIDENCE], "model": reply.model}


def _rubric(path: str) -> str:
    if not path:
        return ""
    if content_hash(path) is None:
        raise DataError("there is no such rubric file", where=path, remedy="Write one as plain text.")
    try:
        text = read_regular(Path(path), most=MOST_RUBRIC).decode("utf-8").strip()
    except UnicodeDecodeError:
        raise DataError("the rubric is not UTF-8", where=path, remedy="Save it as UTF-8 text.") from None
    if not text:
        raise DataError("the rubric is empty", where=path, remedy="Write what a score stands for.")
    return text
