"""Rounds that a command declares: study.toml as it would be, checked first and written last."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import registry
from sightline.errors import StudyError, UsageError
from sightline.extension import Configured
from sightline.judging.rounds import chosen_rounds, declared_rounds, round_names
from sightline.judging.store import rounds as stored
from sightline.study.study import SETTINGS_FILE, Study, read_settings

USUAL = 3
"""Judgements per item where nothing else is said, as in PQPP and ConQA."""


@dataclass(frozen=True)
class Declared:
    """Rounds by name, and study.toml with what was said of them; `text` is None where nothing changes."""

    names: Sequence[str]
    text: str | None = None
    before: bytes | None = None


def declare(
    study: Study,
    mode: str | None = None,
    rounds: Sequence[str] = (),
    *,
    people: int = 0,
    values: Mapping[str, float] | None = None,
) -> Declared:
    """Add a round of this mode, named like it, unless it is there, and set values of the rounds named.

    The study knows these settings from now on; nothing is written until `save`. Without a value for it, a new
    round asks for three judgements per item, or for as many as there are `people` if that is fewer: a pilot
    of two is then complete when both have judged everything.
    """
    held = study.settings
    try:
        return _declared(study, mode, list(rounds), people, dict(values or {}))
    except BaseException:
        study.settings = held
        raise


def declare_round(
    study: Study, mode: str, name: str, *, where: str = "", systems: Sequence[str] = (), per_item: int = USUAL
) -> None:
    """Add a round of this mode and name to study.toml.

    It is of the answers that have a tag, where="tag:NAME", or of those of these systems.
    """
    file = study.home / SETTINGS_FILE
    held, study.settings = study.settings, read_settings(file)
    if name in round_names(study) or name in {each.name for each in stored.rounds_of(study)}:
        raise UsageError(
            f"there is a round called {name!r} already", where=str(file), remedy="Choose another name."
        )
    before = file.read_bytes() if file.exists() else None
    text = (before or b"").decode("utf-8").rstrip("\n")
    values = {"per_item": float(per_item)}
    configured = registry.configure("annotation_mode", mode)
    chosen = [f"where = {_quoted(where)}"] if where else []
    chosen += [f"systems = [{', '.join(map(_quoted, systems))}]"] if systems else []
    text += "\n\n" + _table(configured, 0, values, name, *chosen)
    try:
        study.settings = tomllib.loads(text)
        chosen_rounds(study, [name])
    except BaseException:
        study.settings = held
        raise
    save(study, Declared([name], text, before))


def _declared(
    study: Study, mode: str | None, names: list[str], people: int, given: dict[str, float]
) -> Declared:
    file = study.home / SETTINGS_FILE
    before = file.read_bytes() if file.exists() else None
    text = (before or b"").decode("utf-8")
    if mode is not None:
        configured = registry.configure("annotation_mode", mode)
        name = configured.name
        if name not in round_names(study):
            text = text.rstrip("\n") + "\n\n" + _table(configured, people, given)
        else:
            _refuse_other(study, name, configured)
        names += [name] if name not in names else []
        study.settings = tomllib.loads(text)
    if given:
        names = names or declared_rounds(study)
        for name in names:
            text = _with(text, name, given, str(file))
        study.settings = tomllib.loads(text)
    chosen_rounds(study, names)
    changed = text.encode() != (before or b"")
    return Declared(names, text if changed else None, before)


def save(study: Study, declared: Declared) -> None:
    """Write study.toml as it was declared, whole or not at all."""
    if declared.text is not None:
        if not study.home.is_dir():
            raise StudyError(
                "this study has no folder for its settings here",
                where=str(study.home),
                remedy="Open it by its folder instead of the address of its database.",
            )
        _replace(study.home / SETTINGS_FILE, declared.text.encode())


def restore(study: Study, declared: Declared) -> None:
    """Put study.toml back as it was before."""
    if declared.text is not None and declared.before is not None:
        _replace(study.home / SETTINGS_FILE, declared.before)


def _replace(file: Path, data: bytes) -> None:
    draft = file.with_name(f".{file.name}.part")
    try:
        draft.write_bytes(data)
        if file.exists():
            draft.chmod(file.stat().st_mode & 0o777)
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)


def _table(mode: Configured, people: int, values: dict[str, float], name: str = "", *more: str) -> str:
    """The lines of a new round; takes the values that it writes out of those to be set."""
    per_item = values.pop("per_item", None)
    note = ""
    if per_item is None:
        per_item = min(USUAL, people) if people else USUAL
        if per_item < USUAL:
            note = "    # as many as are invited: raise it when more join"
    named = name or mode.name
    key = named if re.fullmatch("[A-Za-z0-9_-]+", named) else _quoted(named)
    lines = [f"[annotate.{key}]", f"mode = {_quoted(str(mode))}", f"per_item = {per_item:g}{note}"]
    lines += [f"{key} = {value:g}" for key, value in values.items()]
    lines += more
    values.clear()
    if mode.load()().reference:
        lines.append("reference = false    # or the system or collection that has the photos")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # A string of JSON is one of TOML as well.
    return json.dumps(text, ensure_ascii=False)


def _refuse_other(study: Study, name: str, mode: Configured) -> None:
    table = study.settings["annotate"][name]
    known = table.get("mode")
    if isinstance(known, str) and str(registry.configure("annotation_mode", known)) != str(mode):
        raise UsageError(
            f"the round {name!r} is declared with the mode {known}, not {mode}",
            where=str(study.home / SETTINGS_FILE),
            remedy=f"Leave --mode out (--round {name}), or declare another round there.",
        )


def _with(text: str, name: str, values: Mapping[str, float], where: str) -> str:
    """The settings with values of a round set, each in its line; an error where that cannot be done."""
    lines = text.splitlines(keepends=True)
    header = re.compile(rf"\s*\[\s*annotate\s*\.\s*([\"']?){re.escape(name)}\1\s*\]\s*(#.*)?")
    start = next((n for n, line in enumerate(lines) if header.fullmatch(line.rstrip("\r\n"))), None)
    wanted = tomllib.loads(text)
    table = wanted.get("annotate", {}).get(name, {})
    for key, value in values.items():
        table[key] = int(value) if float(value).is_integer() else value
        if start is None:
            continue
        stop = next(
            (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines)
        )
        line = re.compile(rf"(\s*{key}\s*=\s*)[^#\s]+")
        for n in range(start + 1, stop):
            if line.match(lines[n]):
                lines[n] = line.sub(rf"\g<1>{value:g}", lines[n], count=1)
                break
        else:
            lines[start] = lines[start].rstrip("\r\n") + "\n"
            lines.insert(start + 1, f"{key} = {value:g}\n")
    made = "".join(lines)
    try:
        same = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        said = ", ".join(f"{key} = {value:g}" for key, value in values.items())
        raise UsageError(
            "the settings of this round are written in a form that is not changed by command",
            where=f"{where} [annotate.{name}]",
            remedy=f"Write it there yourself: {said}.",
        )
    return made
