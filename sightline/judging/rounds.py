"""Rounds of judging as study.toml describes them: a table `[annotate.NAME]` each, every value checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sightline import registry
from sightline.data.sources import Source
from sightline.errors import SightlineError, StudyError, UsageError, near
from sightline.extension import Configured
from sightline.judging.store.answering import off_scale
from sightline.pictures import image_size
from sightline.records import Example, Mode, Question
from sightline.study.schema.storable import INT64, refuse_bad_text, sound_question
from sightline.study.study import SETTINGS_FILE, Study

LAYOUTS = ("grid", "single", "pair", "triplet")
DRAWN = ("pair", "triplet")
"""Layouts whose items are drawn from all that are possible."""
COMPARES = ("images", "systems")
SKIP_REASONS = ("the image does not load", "I do not understand the text")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LANGUAGE = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
_MOST = 1_000_000
T = TypeVar("T")


class RoundExample(NamedTuple):
    """A worked example shown with the instructions; `image` is a file of the study's folder."""

    shown: str
    answer: str
    why: str = ""
    image: Path | None = None


@dataclass(frozen=True)
class ControlSettings:
    """Where a round's controls come from, and how often they come.

    `pages` in every block of `of` pages are control pages; `images` of a page's images are control images.
    """

    pages: int = 0
    of: int = 5
    images: int = 0
    file: Path | None = None
    tag: str | None = None
    made: bool = False


@dataclass(frozen=True)
class RoundSettings:
    """One round: what is asked, of which answers, how often, and how the work is handed out.

    `found` is the mode with the round's own instructions, examples and questions; `at` names the table that
    the settings were read from.
    """

    name: str
    spec: Configured
    found: Mode
    questions: Sequence[Question]
    mode: str = ""
    title: str = ""
    instructions: str = ""
    examples: Sequence[RoundExample] = ()
    seed: int = 0
    per_item: int = 3
    session_pages: int = 50
    rest_minutes: float = 10.0
    ahead: int = 5
    hold_hours: float = 24.0
    repeat: float = 0.0
    suite: str | None = None
    systems: Sequence[str] = ()
    top: int | None = None
    sample: int | None = None
    pairs: int = 10
    reference: str | None = None
    languages: Sequence[str] = ()
    price: float = 0.0
    fee: float = 0.0
    skip_reasons: Sequence[str] = SKIP_REASONS
    controls: ControlSettings = ControlSettings()
    at: str = ""


_OURS = ("name", "spec", "found", "at")
KEYS = tuple(field.name for field in fields(RoundSettings) if field.name not in _OURS)
CONTROL_KEYS = tuple(field.name for field in fields(ControlSettings))
EXAMPLE_KEYS = RoundExample._fields
QUESTION_KEYS = tuple(name for name in Question._fields if name not in ("name", "at"))


def round_names(study: Study) -> list[str]:
    """The rounds of study.toml, in its order."""
    file = str(study.home / SETTINGS_FILE)
    told = study.settings.get("annotate", {})
    for name, table in told.items():
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
    return list(told)


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
    table = _Table(study.settings["annotate"][name], f"{file} [annotate.{name}]", KEYS)
    spec, mode = _mode(table)
    if table.told.get("reference") is False:
        mode = replace(mode, reference=False)
    called = _names(table, mode)
    questions = [_question(study, asked._replace(name=called[asked.name])) for asked in mode.questions]
    examples = _examples(study, table, mode)
    instructions = table.text("instructions", mode.instructions)
    found = replace(
        mode,
        questions=questions,
        instructions=instructions,
        examples=[Example(each.shown, each.answer, each.why) for each in examples],
    )
    settings = RoundSettings(
        name=name,
        spec=spec,
        found=found,
        questions=questions,
        mode=str(spec),
        title=table.text("title", questions[0].wording or questions[0].name),
        instructions=instructions,
        examples=examples,
        seed=table.whole("seed", 0, 0, INT64),
        per_item=table.whole("per_item", 3, 1, 1000),
        session_pages=table.whole("session_pages", 50, 1),
        rest_minutes=table.number("rest_minutes", 10.0, 0, 24 * 60),
        ahead=table.whole("ahead", 5, 1, 100),
        hold_hours=table.number("hold_hours", 24.0, 0.01, 24 * 366),
        repeat=table.number("repeat", 0.0, 0, 1),
        suite=table.text("suite", None),
        systems=table.texts("systems", (), least=1),
        top=table.whole("top", None, 1),
        sample=table.whole("sample", None, 1),
        pairs=table.whole("pairs", 10, 1),
        reference=None if table.told.get("reference") is False else table.text("reference", None),
        languages=table.texts("languages", (), fits=_LANGUAGE, longest=16),
        price=table.number("price", 0.0, 0, _MOST),
        fee=table.number("fee", 0.0, 0, 1),
        skip_reasons=table.texts("skip_reasons", SKIP_REASONS),
        controls=_controls(study, table),
        at=table.where,
    )
    if "pairs" in table.told and found.layout not in DRAWN:
        raise table.wrong("pairs", f"left out: {spec.name} shows no pairs or triplets")
    refuse_misfit(settings)
    return settings


def refuse_misfit(settings: RoundSettings) -> None:
    """Raise where a mode and the settings around it cannot go together."""
    mode, controls = settings.found, settings.controls
    told = (
        _misfit_of_mode(mode, settings)
        or _misfit_of_places(mode, settings)
        or _misfit_of_controls(mode, controls)
    )
    if told:
        raise StudyError(told[0], where=settings.at, remedy=told[1])


def _misfit_of_mode(mode: Mode, settings: RoundSettings) -> tuple[str, str] | None:
    if mode.layout not in LAYOUTS:
        return f"the mode has the layout {mode.layout!r}", f"One of {', '.join(LAYOUTS)}."
    if mode.compares not in COMPARES:
        return f"the mode compares {mode.compares!r}", f"One of {', '.join(COMPARES)}."
    if mode.images < 1:
        return f"the mode shows {mode.images} images", "At least one."
    if mode.reference and settings.reference is None:
        return (
            "the mode hides a reference photo among the images, and none is named",
            'Name the system or collection that has it: reference = "photos". For none: reference = false.',
        )
    if mode.layout == "triplet" and mode.compares == "systems" and settings.reference is None:
        return (
            "the mode compares two systems with a reference, and none is named",
            'Name the system or collection that has it: reference = "photos".',
        )
    return None


def _misfit_of_places(mode: Mode, settings: RoundSettings) -> tuple[str, str] | None:
    if mode.layout == "triplet" and not settings.controls.images:
        return None
    taken = taken_places(settings)
    if taken and mode.layout in DRAWN:
        return f"a {mode.layout} has no place for a reference photo or control images", "Leave them out."
    if taken >= places(mode):
        return (
            f"reference photo and control images take {taken} of the {places(mode)} images of a page",
            "At least one place must be left for the work: fewer control images, or a mode with more images.",
        )
    return None


def _misfit_of_controls(mode: Mode, controls: ControlSettings) -> tuple[str, str] | None:
    if controls.pages >= controls.of:
        return f"{controls.pages} of {controls.of} pages are control pages", "Fewer, so that work is left."
    if controls.made and (mode.layout not in DRAWN or mode.attention is None):
        return (
            "made = true, but the mode has no answer that is plain to whoever looks",
            "Attention checks can be made for pairs and triplets whose mode has an `attention` answer.",
        )
    if controls.made and mode.attention is not None and not on_scale(mode.questions[0], mode.attention):
        return (
            f"the answer to attention checks is {mode.attention:g}, which is not on the scale of "
            f"{mode.questions[0].name!r}",
            "Leave the scale of the question as the mode has it.",
        )
    if controls.pages and not (controls.file or controls.tag or controls.made):
        return "there is nothing to make control pages from", "Give file, tag or made = true."
    if controls.images and not controls.file:
        return (
            "there is nothing to take control images from",
            'Give file = "controls.csv" with known answers.',
        )
    if not controls.pages and (controls.tag or controls.made or (controls.file and not controls.images)):
        return "controls are given, but no control pages are asked for", "For example pages = 1 and of = 5."
    return None


def places(mode: Mode) -> int:
    """How many things a page shows to be judged: pairs and triplets come one at a time."""
    return mode.images if mode.layout == "grid" else 1


def taken_places(settings: RoundSettings) -> int:
    """How many of them a hidden reference photo and control images take, where a prompt has that many."""
    hidden = settings.reference is not None and settings.found.layout != "triplet"
    return int(hidden) + settings.controls.images


def on_scale(question: Question, value: float) -> bool:
    """Whether a value can be an answer: within the scale, one of its labels or on one of its steps."""
    return isfinite(value) and not off_scale(question, value)


# -- the parts of a table ---------------------------------------------------------------------------------


def _mode(table: _Table) -> tuple[Configured, Mode]:
    printed = table.text("mode", None)
    if printed is None:
        raise StudyError(
            "it names no mode",
            where=table.where,
            remedy=f'For example mode = "yes_no". {near("", registry.names("annotation_mode"))}'.strip(),
        )
    try:
        spec = registry.configure("annotation_mode", printed)
        mode = spec.load()()
    except SightlineError as error:
        raise StudyError(error.what, where=table.where, remedy=error.remedy) from None
    return spec, mode


def _names(table: _Table, mode: Mode) -> dict[str, str]:
    """What the mode's questions are called in this study: two rounds may ask alike on different scales."""
    names = {asked.name: asked.name for asked in mode.questions}
    told = table.told.get("questions", {})
    if not isinstance(told, Mapping) or not all(isinstance(name, str) and name for name in told.values()):
        raise table.wrong("questions", 'names by the mode\'s own, such as {relevance = "topical_relevance"}')
    for name, wanted in told.items():
        if name not in names:
            raise table.wrong("questions", f"a question of {mode.layout} mode: {', '.join(names)}")
        names[name] = wanted
    if len(set(names.values())) < len(names):
        raise table.wrong("questions", "a name of its own for each question")
    return names


def refuse_conflicts(study: Study) -> None:
    """Raise where two rounds ask a question of the same name on different scales: votes would be mixed up."""
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


def _question(study: Study, asked: Question) -> Question:
    """A question of the mode with what study.toml says of it."""
    declared = study.settings.get("question", {}).get(asked.name)
    if declared is None:
        return sound_question(asked)
    at = f"{study.home / SETTINGS_FILE} [question.{asked.name}]"
    table = _Table(declared, at, QUESTION_KEYS)
    labels = table.told.get("labels", {})
    if not isinstance(labels, Mapping) or not all(isinstance(label, str) for label in labels.values()):
        raise table.wrong("labels", 'texts by value, such as {"1" = "yes", "0" = "no"}')
    for key in ("scale", "wording", "direction"):
        table.text(key, "")
    for key in ("low", "high", "step"):
        table.number(key, 0.0, -1e15, 1e15)
    return sound_question(asked._replace(**table.told, at=at))


def _examples(study: Study, table: _Table, mode: Mode) -> list[RoundExample]:
    if "examples" not in table.told:
        return [RoundExample(*each) for each in mode.examples]
    told = table.told["examples"]
    if not isinstance(told, list) or not all(isinstance(each, Mapping) for each in told):
        raise table.wrong(
            "examples", 'a list such as [{image = "a.png", shown = "two dogs", answer = "yes"}]'
        )
    found = []
    for number, each in enumerate(told, 1):
        inner = _Table(each, f"{table.where} example {number}", EXAMPLE_KEYS)
        shown, answer = inner.text("shown", None), inner.text("answer", None)
        if shown is None or answer is None:
            raise StudyError("an example says what is shown, and the right answer", where=inner.where)
        image = inner.text("image", None)
        path = None if image is None else _picture(study, inner, image)
        found.append(RoundExample(shown, answer, inner.text("why", ""), path))
    return found


def _picture(study: Study, table: _Table, name: str) -> Path:
    path = _file(study, table, "image", name)
    # Whoever judges gets to see this file: it must be a picture, and not any other file of the study.
    image_size(path.read_bytes(), f"{table.where} image {name!r}")
    return path


def _file(study: Study, table: _Table, key: str, name: str) -> Path:
    """A file of the study's folder by its name there; paths that lead out of it are refused."""
    path = Source(study.home).picture(name, f"{table.where} {key}")
    if path is None:
        raise StudyError(
            f"{key} is {name!r}, and there is no such file",
            where=table.where,
            remedy=f"It is looked for in {study.home}.",
        )
    return Path(path)


def _controls(study: Study, table: _Table) -> ControlSettings:
    told = table.told.get("controls", {})
    if not isinstance(told, Mapping):
        raise table.wrong("controls", "a table of its own: [annotate.NAME.controls]")
    inner = _Table(told, table.where.removesuffix("]") + ".controls]", CONTROL_KEYS)
    file, tag, made = inner.text("file", None), inner.text("tag", None), inner.flag("made", False)
    images = inner.whole("images", 0, 0, 1000)
    # Whoever names a source of control pages and no number wants them as often as PQPP had them: one in five.
    usual = int(bool(tag or made or (file and not images)))
    return ControlSettings(
        pages=inner.whole("pages", usual, 0, 10_000),
        of=inner.whole("of", 5, 2, 10_000),
        images=images,
        file=None if file is None else _file(study, inner, "file", file),
        tag=tag,
        made=made,
    )


class _Table:
    """A table of study.toml whose keys are known and whose values are checked as they are taken."""

    def __init__(self, told: Any, where: str, keys: Collection[str]) -> None:
        if not isinstance(told, Mapping):
            raise StudyError("this must be a table", where=where)
        for key in told:
            if key not in keys:
                raise StudyError(f"there is no setting {key!r}", where=where, remedy=near(key, keys))
        self.told = told
        self.where = where

    def wrong(self, key: str, wanted: str) -> StudyError:
        """The error that a value is not what it must be."""
        said = repr(self.told[key])
        shown = said if len(said) <= 60 else said[:57] + "..."
        return StudyError(f"{key} is {shown}", where=self.where, remedy=f"It must be {wanted}.")

    def text(self, key: str, default: T) -> str | T:
        """A text that is not empty."""
        return self._take(key, default, lambda value: isinstance(value, str) and self._sound(value), "a text")

    def texts(
        self,
        key: str,
        default: Sequence[str],
        *,
        least: int = 0,
        fits: re.Pattern[str] | None = None,
        longest: int = 500,
    ) -> Sequence[str]:
        """A list of different texts."""

        def holds(value: Any) -> bool:
            if (
                not isinstance(value, list)
                or len(value) < least
                or not all(isinstance(v, str) for v in value)
            ):
                return False
            if any(not self._sound(v) or len(v) > longest for v in value) or len(set(value)) < len(value):
                return False
            return fits is None or all(fits.fullmatch(v) for v in value)

        wanted = f"a list of different texts of at most {longest} characters"
        if fits is _LANGUAGE:
            wanted = 'a list of different languages such as ["de", "fr", "pt-BR"]'
        return tuple(self._take(key, default, holds, wanted))

    def whole(self, key: str, default: T, low: int, high: int = _MOST) -> int | T:
        """A whole number of a range."""

        def holds(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

        return self._take(key, default, holds, f"a whole number from {low} to {high}")

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number of a range."""

        def holds(value: Any) -> bool:
            return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

        return float(self._take(key, default, holds, f"a number from {low:g} to {high:g}"))

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        return self._take(key, default, lambda value: isinstance(value, bool), "true or false")

    def _take(self, key: str, default: Any, holds: Callable[[Any], bool], wanted: str) -> Any:
        if key not in self.told:
            return default
        if not holds(self.told[key]):
            raise self.wrong(key, wanted)
        return self.told[key]

    def _sound(self, text: str) -> bool:
        refuse_bad_text([(text, self.where)])
        return bool(text.strip())
