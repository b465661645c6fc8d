"""Questions about an image: VQAScore, and prompts taken apart into questions as TIFA and DSG do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from sightline.arrays import content_hash
from sightline.errors import DataError, UsageError
from sightline.extension import Card, NoValue, Picture, Pin, Value, Values, measure, needs
from sightline.measures.of_answer._chat import Chat
from sightline.measures.of_answer._library import EMPTY, NOT_FINITE, kept
from sightline.records import Prompt

PIN = Pin("llava-hf/llava-1.5-7b-hf", megabytes=14100, licence="Llama 2 Community License")
TEMPLATE = 'Does this figure show "{}"? Please answer yes or no.'
SINGLE = "vqascore(template='{} Please answer yes or no.', normalised=True)"
Answering = Callable[[Sequence[Prompt], Sequence[Picture]], Sequence[Any]]
ABOUT_THE_MODEL = "that of the model that answers: LLaVA 1.5 on 1.2 million captions and dialogues"
BIASES = "Models tend to say yes; small objects, counts and left or right are often answered wrongly."


@measure.of_answer(
    direction="higher",
    range=(0, 1),
    extra="torch",
    parallel=False,
    checkpoint=PIN,
    source="Lin et al. 2024 (VQAScore)",
    licence="Apache-2.0 (code); that of the model applies to its weights",
    aliases=("vqa_score",),
    card=Card(
        trained_on=ABOUT_THE_MODEL,
        biases=BIASES + " Values of different models or templates are on different scales.",
        tested="small random checkpoints of LLaVA, Qwen2-VL and BLIP-VQA; equal to the library's own "
        "generate() to 1e-4. The authors' CLIP-FlanT5 is no architecture of the library and is not read",
    ),
)
def vqascore(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    model: str = PIN.model,
    revision: str = "",
    sha256: str = "",
    template: str = TEMPLATE,
    answer: str = "Yes",
    against: str = "No",
    normalised: bool = False,
) -> Values:
    """VQAScore: the probability that a model answers yes when asked whether the image shows the prompt.

    `template` is the question, with {} where the prompt stands. The value is the probability that the reply
    begins with `answer`; with `normalised` it is divided by that of `answer` or `against`, so that above 0.5
    the model says yes. `model` is any image-text model of the transformers library: a folder with the
    `sha256` of its files, or a name on the hub with its `revision`. A prompt longer than the model reads has
    no value. The evidence holds both probabilities.
    """
    if "{}" not in template:
        raise UsageError(f"vqascore: the template has no {{}}: {template!r}", remedy=f"Such as {TEMPLATE!r}.")
    asked = [n for n, prompt in enumerate(prompts) if prompt.text.strip()]
    made: list[Value | NoValue] = [EMPTY] * len(prompts)
    if not asked:
        return made
    chat = kept(Chat, "vqascore", (model, revision, sha256), PIN)
    questions = {n: template.replace("{}", prompts[n].text) for n in asked}
    over = dict(zip(asked, chat.too_long([questions[n] for n in asked]), strict=True))
    short = [n for n in asked if not over[n]]
    for n in asked:
        if over[n]:
            made[n] = NoValue(f"the question is {over[n]} tokens longer than the model reads")
    if short:
        found = chat.chances([questions[n] for n in short], [images[n] for n in short], [answer, against])
        for n, (yes, no) in zip(short, found.tolist(), strict=True):
            made[n] = _chance(yes, no, normalised)
    return made


def _chance(yes: float, no: float, normalised: bool) -> Value | NoValue:
    if not (math.isfinite(yes) and math.isfinite(no)):
        return NOT_FINITE
    evidence = {"yes": round(yes, 9), "no": round(no, 9)}
    if not normalised:
        return Value(min(yes, 1.0), evidence)
    if yes + no <= 0:
        return NoValue("the model says neither yes nor no")
    return Value(yes / (yes + no), evidence)


@measure.of_answer(
    direction="higher",
    range=(0, 1),
    parallel=False,
    content_of=("questions",),
    source="Cho et al. 2024 (Davidsonian Scene Graph)",
    licence="Apache-2.0",
    aliases=("dsg_score", "davidsonian_scene_graph"),
    card=Card(
        trained_on=ABOUT_THE_MODEL,
        biases=BIASES + " A question that was generated wrongly counts all the same.",
        tested="hand arithmetic over a measure that answers by colour, and a small random LLaVA",
    ),
)
def dsg(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    vqa: Answering = needs("of_answer", SINGLE),
    questions: str = "",
    above: float = 0.5,
) -> Values:
    """Proportion of the prompt's yes/no questions that hold, a question only where those it needs hold.

    Questions are what the prompt `expects`, as the importer dsg1k has them: {"id", "question", "needs"}, or
    those of a JSON file `questions` with a list for each prompt, by its id or its text. Each is put to `vqa`,
    a measure of an answer, and holds where that is greater than `above`. A question whose parents do not all
    hold counts as no, whatever the model says. The evidence has every question and its answer.
    """
    return _asked(prompts, images, vqa, questions, above, dependent=True)


@measure.of_answer(
    direction="higher",
    range=(0, 1),
    parallel=False,
    content_of=("questions",),
    source="Hu et al. 2023 (TIFA)",
    licence="Apache-2.0",
    aliases=("tifa_score",),
    card=Card(
        trained_on=ABOUT_THE_MODEL,
        biases=BIASES
        + " The paper has a model answer freely and finds the nearest choice; here each choice is "
        "asked about, so that values differ from the paper's.",
        tested="hand arithmetic over a measure that answers by colour",
    ),
)
def tifa(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    vqa: Answering = needs("of_answer", SINGLE),
    questions: str = "",
    above: float = 0.5,
) -> Values:
    """Proportion of the questions about the prompt that are answered as they should be.

    Questions are what the prompt `expects`, or those of a JSON file `questions` with a list for each prompt,
    by its id or its text: {"question", "choices", "answer"}. Of one with choices, each choice is put to `vqa`
    ('QUESTION Is the answer "CHOICE"?'), and the one with the greatest value is the answer; one without
    choices is a yes/no question, which holds where the value is greater than `above`.
    """
    return _asked(prompts, images, vqa, questions, above, dependent=False)


def _asked(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    vqa: Answering,
    file: str,
    above: float,
    *,
    dependent: bool,
) -> Values:
    known = _of_file(file, content_hash(file)) if file else {}
    lists = [_questions(prompt, known) for prompt in prompts]
    texts: list[Prompt] = []
    shown: list[Picture] = []
    for prompt, image, mine in zip(prompts, images, lists, strict=True):
        put = [text for each in mine for text in _put(each)]
        texts += [prompt._replace(text=text, expects=None) for text in put]
        shown += [image] * len(put)
    answers = iter(vqa(texts, shown) if texts else ())
    made: list[Value | NoValue] = []
    for mine in lists:
        said = [[next(answers) for _ in _put(each)] for each in mine]
        made.append(_value(mine, said, above, dependent))
    return made


def _put(question: Mapping[str, Any]) -> list[str]:
    """What is asked: the question itself, or whether each of its choices is the answer."""
    text = str(question["question"]).strip()
    choices = _choices(question)
    return [f'{text} Is the answer "{choice}"?' for choice in choices] if choices else [text]


def _choices(question: Mapping[str, Any]) -> list[str]:
    found = [str(each) for each in question.get("choices") or ()]
    # A choice of yes and no is the question itself.
    return [] if {each.lower() for each in found} <= {"yes", "no"} else found


def _value(
    questions: Sequence[Mapping[str, Any]], said: Sequence[Sequence[Any]], above: float, dependent: bool
) -> Value | NoValue:
    if not questions:
        return NoValue("the prompt has no questions")
    held: dict[Any, bool] = {}
    for each, replies in zip(questions, said, strict=True):
        for reply in replies:
            if isinstance(reply, NoValue):
                return NoValue(f"{each['question']!r}: {reply.reason}")
        values = [float(reply.value if isinstance(reply, Value) else reply) for reply in replies]
        held[each.get("id", len(held))] = _holds(each, values, above)
    counted = {key: held[key] for key in held}
    if dependent:
        needed = {each.get("id", n): tuple(each.get("needs") or ()) for n, each in enumerate(questions)}
        counted = {key: _stands(key, held, needed, ()) for key in held}
    evidence = [
        {"question": str(each["question"]), "held": held[key], "counted": counted[key]}
        for key, each in zip(held, questions, strict=True)
    ]
    return Value(sum(counted.values()) / len(counted), {"questions": evidence})


def _holds(question: Mapping[str, Any], values: Sequence[float], above: float) -> bool:
    choices = _choices(question)
    wanted = str(question.get("answer", "yes")).lower()
    if choices:
        return choices[max(range(len(values)), key=values.__getitem__)].lower() == wanted
    return (values[0] > above) == (wanted != "no")


def _stands(
    key: Any, held: Mapping[Any, bool], needed: Mapping[Any, Sequence[Any]], path: tuple[Any, ...]
) -> bool:
    """Whether a question holds and so do all that it needs, and what those need; a circle ends."""
    if key in path or key not in held:
        return True
    return held[key] and all(_stands(each, held, needed, (*path, key)) for each in needed.get(key, ()))


def _questions(prompt: Prompt, known: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    own = (prompt.expects or {}).get("questions") or known.get(prompt.key.ref) or known.get(prompt.text) or ()
    return [each for each in own if isinstance(each, Mapping) and str(each.get("question", "")).strip()]


@lru_cache(maxsize=4)
def _of_file(path: str, content: str | None) -> Mapping[str, Any]:
    if content is None:
        raise UsageError(f"there is no file {path!r}", remedy="Give a JSON file of questions.")
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"it is no JSON: {error}", where=path) from None
    if not isinstance(found, dict) or not all(isinstance(each, list) for each in found.values()):
        raise DataError(
            "questions are an object with a list for each prompt",
            where=path,
            remedy='For example {"a red ball": [{"id": 1, "question": "Is there a ball?", "needs": []}]}.',
        )
    return found
