"""Correcting verdicts: what their owner says instead, as judgements; the verdicts stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightline import judging, registry
from sightline.demands import NO, YES
from sightline.errors import UsageError
from sightline.records import Question
from sightline.skills import store
from sightline.skills.matches import stored_verdicts
from sightline.study import reading
from sightline.study.study import Study

MODE = "yes_no"
SAID: Mapping[float | None, str] = {1.0: YES, 0.0: NO}
Pair = tuple[int, int]
"""A prompt and an image that answers it."""


def correction_question(study: Study) -> Question:
    """The question that corrections answer: the study's own on verdicts if it is yes or no, else `match`."""
    asked = study.settings.get("verify", {}).get("question")
    known = {each.name: each for _, each in reading.questions(study)}
    if asked in known and (known[asked].low, known[asked].high) == (0, 1):
        return known[asked]
    question: Question = registry.configure("annotation_mode", MODE).load()().questions[0]
    return known.get(question.name, question)


def corrections_of(study: Study) -> dict[Pair, str]:
    """What verdicts were corrected to: yes or no by prompt and image."""
    found = store.corrections(study, correction_question(study).name)
    return {pair: SAID[value] for pair, value in found.items() if value in SAID}


def correct_verdicts(study: Study, pairs: Sequence[Pair], value: str = "") -> dict[Pair, str]:
    """Correct the verdicts on these answers to yes or no, or each to the opposite of what it is now.

    What cannot be decided becomes a yes first, and a no if it is corrected again. Answers without a verdict
    are left out.
    """
    if value not in ("", YES, NO):
        raise UsageError(f"a verdict cannot be corrected to {value[:80]!r}", remedy="To yes or to no.")
    known = stored_verdicts(study).frame
    verdicts = {
        (int(prompt), int(image)): said
        for prompt, image, said in known.select("prompt_id", "image_id", "value").iter_rows()
    }
    before = corrections_of(study)
    now = {
        pair: value or _opposite(before.get(pair) or SAID.get(verdicts[pair]))
        for pair in dict.fromkeys(pairs)
        if pair in verdicts
    }
    judging.correct(
        study, correction_question(study), {pair: float(said == YES) for pair, said in now.items()}
    )
    return now


def _opposite(said: str | None) -> str:
    return NO if said == YES else YES
