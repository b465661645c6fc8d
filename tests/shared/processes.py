"""Programs that tests run in processes of their own, and scripts of the repository as modules."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def environment(**variables: str) -> dict[str, str]:
    """The environment of this process, in which another finds what this one imports."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}


def start(program: str, *arguments: object, **variables: str) -> subprocess.Popen[str]:
    """A Python program that has been started in a group of its own, its input and outputs in our hands."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**variables),
        start_new_session=True,
    )


def printed(program: str, *arguments: object, **variables: str) -> Any:
    """What a Python program prints as JSON."""
    process = start(program, *arguments, **variables)
    told, complaint = process.communicate()
    assert process.returncode == 0, complaint
    return json.loads(told)


def script(path: str) -> ModuleType:
    """A Python file of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITER = """
import sys
from pathlib import Path
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey
from sightline.study.writing.loading import load
from sightline.study.study import open_study
from PIL import Image as Pillow

folder, scratch = sys.argv[1], Path(sys.argv[2])
with open_study(folder) as study:
    for round in range(10_000):
        path = scratch / f"{round}.png"
        Pillow.new("RGB", (4, 4), (round % 256, round // 256, 7)).save(path)
        key, image = PromptKey("w", str(round)), ImageKey("w", str(round))
        # Each round is whole: one prompt, one image, ten answers.
        records = [Prompt(key, "x"), Image(image, str(path))]
        records += [Answer(key, "sd", i, image) for i in range(10)]
        load(study, records, importer="t", path="p", digest=str(round))
        print(round, flush=True)
"""
"""Loads prompts into a study (its folder, a scratch folder) until it is ended, and prints each."""
