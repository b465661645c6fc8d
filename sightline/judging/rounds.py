"""Rounds of judging as study.toml describes them: a table `[annotate.NAME]` each, every value checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from pydantic import InstanceOf

from sightline import registry
from sightline.data.sources import Source
from sightline.errors import SightlineError, StudyError, UsageError, near
from sightline.extension import Configured
from sightline.judging.store.answering import off_scale
from sightline.pictures import Picture, image_size
from sightline.records import BOTH_BAD, Example, Mode, Question
from sightline.study.settings import ControlTable, ExampleTable, RoundTable, RoundValues, declared_question
from sightline.study.study import SETTINGS_FILE, Study

LAYOUTS = ("grid", "single", "pair", "triplet", "order")
DRAWN = ("pair", "triplet", "order")
"""Layouts whose items are drawn from all that are possible."""
COMPARES = ("images", "systems")
NEITHER = {"pair": "both are bad", "triplet": "neither is close"}
"""What an answer that prefers neither image is called, where the mode has no words of its own."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class RoundExample(NamedTuple):
    """A worked example shown with the instructions; `image` is a file of the study's folder."""

    shown: str
    answer: str
    why: str = ""
    image: Path | None = None


@dataclass(frozen=True)
class ControlSettings:
    """Where a round's controls come from, and how often they come.

    `pages` in every block of `of` tasks are control tasks; `images` of a task's images are control images.
    """

    pages: int = 0
    of: int = 5
    images: int = 0
    file: Path | None = None
    tag: str | None = None
    made: bool = False


class RoundSettings(RoundValues):
    """One round: what is asked, of which answers, how often, and how the tasks are assigned.

    `found` is the mode with the round's own instructions, examples and questions; `at` names the table that
    the settings were read from.
    """

    name: str
    spec: InstanceOf[Configured]
    found: InstanceOf[Mode]
    questions: list[InstanceOf[Question]]
    mode: str
    title: str
    instructions: str
    examples: list[InstanceOf[RoundExample]]
    reference: str | None
    controls: InstanceOf[ControlSettings]
    at: str


def round_names(study: Study) -> list[str]:
    """The rounds of study.toml, in its order."""
    file = str(study.home / SETTINGS_FILE)
    tables = study.settings.get("annotate", {})
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise StudyError(
                f"[annotate] holds a bare value {name!r}",
                where=file,
                remedy="Every round is a table of its own: [annotate.relevance].",
            )
        if not _NAME.fullmatch(name):
            raise StudyError(
                f"a round cannot be called {name!r}",
                where=file,
                remedy="Letters and digits, with dots, dashes and underscores between them, 64 at most.",
            )
    return list(tables)


def declared_rounds(study: Study) -> list[str]:
    """The rounds of study.toml, or an error that has the lines to put there."""
    known = round_names(study)
    if not known:
        raise UsageError(
            "no round of judging is declared",
            where=str(study.home / SETTINGS_FILE),
            remedy="Name a mode, which adds one: sightline annotate STUDY --mode two_sliders. "
            "Or write it yourself:\n    [annotate.quality]\n"
            '    mode = "two_sliders"    # sightline list annotation_mode shows all\n    per_item = 3',
        )
    return known


def chosen_rounds(study: Study, names: Sequence[str]) -> list[RoundSettings]:
    """The settings of these rounds, by default of all, once no two of the study contradict each other."""
    names = names or declared_rounds(study)
    refuse_conflicts(study)
    return [round_settings(study, name) for name in names]


def round_settings(study: Study, name: str) -> RoundSettings:
    """The settings of one round, or an error that names the table and what to write instead."""
    known = round_names(study)
    file = study.home / SETTINGS_FILE
    if name not in known:
        remedy = (
            near(name, known)
            or f'Put this into {file}:\n    [annotate.{name}]\n    mode = "graded_relevance"'
        )
        raise UsageError(f"no round is called {name!r}", where=str(file), remedy=remedy)
    where = f"{file} [annotate.{name}]"
    table = RoundTable.read(study.settings["annotate"][name], where)
    spec, mode = _mode(table, where)
    if table.reference is False:
        mode = replace(mode, reference=False)
    if table.both_bad and not mode.both_bad and mode.layout in NEITHER:
        keys = mode.keys if "n" in mode.keys else {**mode.keys, "n": BOTH_BAD}
        mode = replace(mode, both_bad=NEITHER[mode.layout], keys=keys)
    called = _names(table, mode, where)
    questions = [
        declared_question(study, asked._replace(name=called[asked.name])) for asked in mode.questions
    ]
    examples = _examples(study, table, mode, where)
    found = replace(
        mode,
        questions=questions,
        instructions=table.instructions or mode.instructions,
        examples=[Example(each.shown, each.answer, each.why) for each in examples],
    )
    settings = RoundSettings(
        **table.model_dump(include=set(RoundValues.model_fields), exclude_unset=True),
        name=name,
        spec=spec,
        found=found,
        questions=questions,
        mode=str(spec),
        title=table.title or questions[0].wording or questions[0].name,
        instructions=found.instructions,
        examples=examples,
        reference=table.reference or None,
        controls=_controls(study, table, where),
        at=where,
    )
    if "pairs" in table.model_fields_set and found.layout not in DRAWN:
        raise table.wrong(
            "pairs", table.pairs, where, f"removed: {spec.name} shows no pairs, triplets or orders"
        )
    refuse_misfit(settings)
    return settings


def refuse_misfit(settings: RoundSettings) -> None:
    """Raise where a mode and the settings around it cannot go together."""
    mode, controls = settings.found, settings.controls
    misfit = _misfit_of_mode(mode, settings) or _misfit_of_places(mode, settings)
    misfit = misfit or _misfit_of_controls(mode, controls)
    if misfit:
        raise StudyError(misfit[0], where=settings.at, remedy=misfit[1])


def _misfit_of_mode(mode: Mode, settings: RoundSettings) -> tuple[str, str] | None:
    if mode.layout not in LAYOUTS:
        return f"the mode has the layout {mode.layout!r}", f"One of {', '.join(LAYOUTS)}."
    if mode.compares not in COMPARES:
        return f"the mode compares {mode.compares!r}", f"One of {', '.join(COMPARES)}."
    if (mode.both_bad or settings.both_bad) and mode.layout not in NEITHER:
        said = mode.both_bad or "both are bad"
        return f"the mode offers {said!r}, which only pairs and triplets can be", "Leave both_bad out."
    if settings.choose == "adaptive" and not (
        mode.compares == "systems" and mode.layout in ("pair", "order")
    ):
        what = "choose is adaptive, which needs a mode that compares systems: preference or order"
        return what, 'Write choose = "random".'
    if mode.images < 1:
        return f"the mode shows {mode.images} images", "At least one."
    if settings.reference is not None:
        return None
    remedy = 'Name the system or collection that has it: reference = "photos".'
    if mode.reference:
        what = "the mode hides a reference photo among the images, and none is named"
        return what, f"{remedy} For none: reference = false."
    if mode.layout == "triplet" and mode.compares == "systems":
        return "the mode compares two systems with a reference, and none is named", remedy
    return None


def _misfit_of_places(mode: Mode, settings: RoundSettings) -> tuple[str, str] | None:
    if mode.layout == "triplet" and not settings.controls.images:
        return None
    taken = taken_places(settings)
    if taken and mode.layout in DRAWN:
        one = "an order" if mode.layout == "order" else f"a {mode.layout}"
        what = f"{one} has no place for a reference photo or control images"
        return what, "Leave them out."
    if taken >= places(mode):
        return (
            f"reference photo and control images take {taken} of the {places(mode)} images of a task",
            "At least one place must be left for the work: fewer control images, or a mode with more images.",
        )
    return None


def _misfit_of_controls(mode: Mode, controls: ControlSettings) -> tuple[str, str] | None:
    if controls.pages >= controls.of:
        return f"{controls.pages} of {controls.of} tasks are control tasks", "Fewer, so that work is left."
    if controls.made and (mode.layout not in DRAWN or mode.attention is None):
        remedy = "Attention checks can be made for pairs and triplets whose mode has an `attention` answer."
        return "made = true, but the mode has no answer that is plain to whoever looks", remedy
    asked = mode.questions[0]
    if controls.made and mode.attention is not None and not on_scale(asked, mode.attention):
        what = f"the answer to attention checks is {mode.attention:g}, which is not on the scale of"
        return f"{what} {asked.name!r}", "Leave the scale of the question as the mode has it."
    if controls.pages and not (controls.file or controls.tag or controls.made):
        return "there is nothing to make control tasks from", "Give file, tag or made = true."
    if controls.file and mode.layout == "order":
        remedy = 'Give tag = "control", and let a control annotator order the images of those prompts.'
        return "a file says what is right of single images, not of their order", remedy
    if controls.images and not controls.file:
        remedy = 'Give file = "controls.csv" with known answers.'
        return "there is nothing to take control images from", remedy
    if not controls.pages and (controls.tag or controls.made or (controls.file and not controls.images)):
        return "controls are given, but no control tasks are asked for", "For example pages = 1 and of = 5."
    return None


def places(mode: Mode) -> int:
    """How many items a task shows: pairs and triplets come one at a time."""
    return mode.images if mode.layout == "grid" else 1


def taken_places(settings: RoundSettings) -> int:
    """How many of them a hidden reference photo and control images take, where a prompt has that many."""
    hidden = settings.reference is not None and settings.found.layout != "triplet"
    return int(hidden) + settings.controls.images


def on_scale(question: Question, value: float) -> bool:
    """Whether a value can be an answer: within the scale, one of its labels or on one of its steps."""
    return isfinite(value) and not off_scale(question, value)


# -- the parts of a table ---------------------------------------------------------------------------------


def _mode(table: RoundTable, where: str) -> tuple[Configured, Mode]:
    if table.mode is None:
        raise StudyError(
            "it names no mode",
            where=where,
            remedy=f'For example mode = "yes_no". {near("", registry.names("annotation_mode"))}'.strip(),
        )
    try:
        spec = registry.configure("annotation_mode", table.mode)
        mode = spec.load()()
    except SightlineError as error:
        raise StudyError(error.what, where=where, remedy=error.remedy) from None
    return spec, mode


def _names(table: RoundTable, mode: Mode, where: str) -> dict[str, str]:
    """What the mode's questions are called in this study: two rounds may ask alike on different scales."""
    names = {asked.name: asked.name for asked in mode.questions}
    if table.questions.keys() - names.keys():
        wanted = f"a question of {mode.layout} mode: {', '.join(names)}"
        raise table.wrong("questions", table.questions, where, wanted)
    names |= table.questions
    if len(set(names.values())) < len(names):
        raise table.wrong("questions", table.questions, where, "a name of its own for each question")
    return names


def refuse_conflicts(study: Study) -> None:
    """Raise where two rounds ask a question of the same name on different scales."""
    first: dict[str, tuple[str, Question]] = {}
    for name in round_names(study):
        for asked in round_settings(study, name).questions:
            other, before = first.setdefault(asked.name, (name, asked))
            scale = (asked.scale, asked.low, asked.high, set(asked.labels))
            if scale != (before.scale, before.low, before.high, set(before.labels)):
                raise UsageError(
                    f"the rounds {other!r} and {name!r} both ask {asked.name!r}, but on different scales",
                    where=str(study.home / SETTINGS_FILE),
                    remedy=f"Call it something else in one of them: [annotate.{name}] questions = "
                    f'{{{asked.name} = "{asked.name}_{name}"}}',
                )


def _examples(study: Study, table: RoundTable, mode: Mode, where: str) -> list[RoundExample]:
    if table.examples is None:
        return [RoundExample(*each) for each in mode.examples]
    examples = []
    for number, each in enumerate(table.examples, 1):
        at = f"{where} example {number}"
        inner = ExampleTable.read(each, at)
        path = None if inner.image is None else _file(study, at, "image", inner.image)
        if path is not None:
            # Whoever judges gets to see this file: it must be a picture, and not any other of the study.
            image_size(Picture(path=path).data, f"{at} image {inner.image!r}")
        examples.append(RoundExample(inner.shown, inner.answer, inner.why or "", path))
    return examples


def _file(study: Study, where: str, key: str, name: str) -> Path:
    """A file of the study's folder by its name there; paths that lead out of it are refused."""
    path = Source(study.home).picture(name, f"{where} {key}")
    if path is None:
        raise StudyError(
            f"{key} is {name!r}, and there is no such file",
            where=where,
            remedy=f"It is looked for in {study.home}.",
        )
    return Path(path)


def _controls(study: Study, table: RoundTable, where: str) -> ControlSettings:
    at = where.removesuffix("]") + ".controls]"
    inner = ControlTable.read(table.controls, at)
    # Whoever names a source of control tasks and no number wants them as often as PQPP had them: one in five.
    usual = int(bool(inner.tag or inner.made or (inner.file and not inner.images)))
    return ControlSettings(
        pages=usual if inner.pages is None else inner.pages,
        of=inner.of,
        images=inner.images,
        file=None if inner.file is None else _file(study, at, "file", inner.file),
        tag=inner.tag,
        made=inner.made,
    )
