"""Answers as a plain table: one row per image with which a system answered a prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sightline.data.sources import Once, Source, prompt_ref
from sightline.data.sources.plain import (
    HOMES,
    SYNONYMS,
    TRANSLATION,
    Pictures,
    fits,
    rows_of,
    setting_of,
    translated,
)
from sightline.extension import importer
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, PromptText, Record, System

FACTS = ("position", "score", "seed", "failure", "kind")
VOTES = ("question", "annotator", *SYNONYMS["annotator"])
KNOWN = ("prompt", "prompt_id", "image", "system", *HOMES, *FACTS, "tags.", "image_tags.", "settings.")
RENAMED = ("prompt", "image", "system")
KINDS = ("generator", "retriever")


def claims(source: Source) -> float:
    """A table with `image`, `system` and a prompt, and no question; also as `file`, `model` and the like."""
    wanted = ("image", "system", ("prompt", "prompt_id"))
    if fits(source, *wanted, without=VOTES):
        return 0.8
    return 0.7 * fits(source, *wanted, without=VOTES, renamed=RENAMED)


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "answers.csv": "prompt,image,system,seed\na red ball,a.png,careful,1\ntwo dogs,b.png,careful,2\n",
        "a.png": "red",
        "b.png": "tan",
    },
)
def answers(
    source: Source,
    *,
    suite: str = "prompts",
    collection: str = "images",
    names_only: bool = False,
    known_prompts: bool = False,
) -> Iterator[Record]:
    """A table of answers: prompt, image, system; optionally position, score, seed, tags, settings, failure.

    tags.<name> are of the prompt, image_tags.<name> of the image.

    Also read: model, generator or engine as system; file, path, filename or image_path as image; caption or
    text as prompt. A column such as prompt.de has the prompt in another language, for annotators.
    With `known_prompts` a prompt without id is looked up in the study by its wording instead of being made.
    """
    pictures = Pictures(source, names_only)
    once = Once()
    counted: Counter[tuple[str, PromptKey | PromptText]] = Counter()
    known = (*KNOWN, *translated(source))
    required = (("prompt", "prompt_id"), ("image", "failure"), "system")
    for row in rows_of(source, required, known, RENAMED):
        at = row.at
        system = row.text("system")
        within, home = row.text("suite", suite), row.text("collection", collection)
        kind = row.text("kind", "generator")
        if once.new((system, kind)):
            if kind not in KINDS:
                raise row.wrong("kind", "generator or retriever", "Without the column it is generator.")
            yield System(system, kind, home if kind == "retriever" else None, at)
        prompt: PromptKey | PromptText
        text = row.text("prompt", None)
        ref = row.text("prompt_id", None)
        if text is not None and not (known_prompts and ref is None):
            prompt = PromptKey(within, ref or prompt_ref(text))
            tags, translations = row.group("tags."), row.group(TRANSLATION)
            if once.new((prompt, text, *tags.items(), *translations.items())):
                yield Prompt(prompt, text, tags, at=at, translations=translations)
        elif text is not None:
            prompt = PromptText(text)
        else:
            prompt = PromptKey(within, row.text("prompt_id"))
        position = row.whole("position", None)
        if position is None:
            position = counted[system, prompt]
            counted[system, prompt] += 1
        name = row.text("image", None)
        failure = row.text("failure", None)
        if name is not None and failure is not None:
            raise row.error("it has both an image and a failure", "Empty one of the two cells.")
        if name is None and failure is None:
            remedy = "Fill it in, or say in a `failure` column why there is none."
            raise row.error("image is empty", remedy)
        key = None
        if name is not None:
            key = ImageKey(home, name)
            path = pictures.path(name, at)
            marks = row.group("image_tags.")
            if (path is not None or marks) and once.new((key, *marks.items())):
                yield Image(key, path, at=at, tags=marks)
        yield Answer(
            prompt,
            system,
            position,
            key,
            row.number("score", None),
            row.whole("seed", None),
            {name: setting_of(cell) for name, cell in row.group("settings.").items()} or None,
            failure,
            at,
        )
