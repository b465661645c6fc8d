"""What an actor of a Ray cluster does on its machine: look for what is needed, then load the work."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightline.errors import SightlineError
from sightline.study.running.work import Answer, Work
from sightline.study.running.workers import carried, prepare_worker


def refusal(expected: Mapping[str, Any], host: str) -> tuple[str, str] | None:
    """What this machine lacks of what is expected, and what to do about it."""
    from sightline.registry import configure

    for kind, words, identity in expected["extensions"]:
        try:
            made = configure(kind, words)
            made.require()
        except SightlineError as error:
            remedy = f"Install there what is installed here. {error.remedy}".strip()
            return f"{words} is not to be had on {host}: {error.what}", remedy
        if made.identity != identity:
            both = f"{identity[:12]} here, {made.identity[:12]} there"
            return (
                f"{words} is another one on {host} than here ({both})",
                "Install the same version of its package or plug-in, with the same files and weights.",
            )
    file = expected["file"]
    if file and not os.path.isfile(file):
        return (
            f"{host} does not see the study's image files (there is no {file})",
            "Put the study into a folder that all machines share, or its images into an object store: "
            "sightline init STUDY --images s3://BUCKET/FOLDER",
        )
    return None


def loaded(packed: bytes, host: str) -> Callable[[Sequence[Any]], Answer]:
    """The work, unpacked and loaded; what it raises, then or later, is an answer."""
    prepare_worker()
    try:
        work: Work[Any, Any] = pickle.loads(packed)
        function = work.load()
    except Exception as error:
        failure = carried(error, f"a worker on {host}")
        return lambda batch: failure

    def answer(batch: Sequence[Any]) -> Answer:
        try:
            return list(function(batch))
        except Exception as error:
            return carried(error, f"a worker on {host}")

    return answer
