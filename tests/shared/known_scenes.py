"""A small study of known scenes: what verdicts must say of every answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey, Question, Record
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

MATCH = Question("match", "nominal", 0, 1, 1, {"1": "yes", "0": "no"})
SETTINGS = """
[verify]
detector = "known_scene"

[screening]
rules = []
"""


def seen(*kinds: str) -> dict[str, Any]:
    """A scene with these things next to each other, and nothing else."""
    step = 1 / max(1, len(kinds))
    things = [
        {"kind": kind, "box": [round(n * step, 3), 0.2, round((n + 0.9) * step, 3), 0.8]}
        for n, kind in enumerate(kinds)
    ]
    return {"objects": things, "text": [], "complete": True}


def asked(*things: tuple[str, int | None]) -> dict[str, Any]:
    """Objects in exact numbers, or at least one of each where there is none; and nothing more."""
    objects = [
        {"kind": kind, "count": 1 if count is None else count, "at_least": count is None}
        for kind, count in things
    ]
    return {"objects": objects, "complete": True}


class Maker:
    """Collects records of a study: prompts, answers with what is in them, and people's judgement."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: list[Record] = [MATCH]
        folder.mkdir(parents=True, exist_ok=True)
        self.images = 0

    def prompt(
        self,
        ref: str,
        text: str,
        skill: str,
        expects: dict[str, Any] | None,
        builds_on: Sequence[str] = (),
        **tags: str,
    ) -> None:
        links = [("builds_on", PromptKey("s", each)) for each in builds_on]
        self.records.append(Prompt(PromptKey("s", ref), text, {"skill": skill, **tags}, links, expects))

    def answer(
        self, ref: str, system: str, scene: dict[str, Any] | None, match: float | None = None, at: int = 0
    ) -> None:
        """An image of its own; `match` is what somebody said of it."""
        self.images += 1
        name = f"{ref}-{system}-{at}.png"
        colour = (self.images % 256, self.images // 256 % 256, 40)
        Pillow.new("RGB", (8, 8), colour).save(self.folder / name)
        key = ImageKey("c", name)
        self.records.append(Image(key, str(self.folder / name), scene=scene))
        self.records.append(Answer(PromptKey("s", ref), system, at, key))
        if match is not None:
            self.records.append(Judgement("match", Item(PromptKey("s", ref), system, key), match))

    def study(self, folder: Path) -> Study:
        made = create_study(folder, settings=SETTINGS)
        load(made, self.records, importer="test", path="test", digest="1")
        return made
