"""Any Python function of the user's own as a generator."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sightline.errors import UsageError
from sightline.extension import generator
from sightline.pictures import GeneratedImage
from sightline.records import Failure, Prompt

EXAMPLE = "For example function='my_package.drawing:draw', a function of (prompt, seed)."


def draw_a_colour(prompt: str, seed: int) -> Any:
    """The function of this generator's example: prompt and seed decide a colour."""
    import hashlib

    from PIL import Image

    return Image.new("RGB", (4, 4), tuple(hashlib.sha256(f"{prompt} {seed}".encode()).digest()[:3]))


@generator(
    source="Sightline",
    licence="Apache-2.0",
    parallel=False,
    parameters={"function": f"{__name__}:draw_a_colour"},
)
def python(
    prompts: Sequence[Prompt], seeds: Sequence[int], *, function: str = ""
) -> Iterator[bytes | GeneratedImage | Failure]:
    """Images made by a Python function, called once per prompt with its text and a seed.

    `function` is `module:name`; the module is looked for among installed packages and in the current folder.
    It gives the bytes of an image file, an image of Pillow, an array of height x width x 3 bytes, or None
    where it makes no image. What it raises is a failure with its message.
    """
    call = _found(function)
    for prompt, seed in zip(prompts, seeds, strict=True):
        try:
            made = call(prompt.text, int(seed))
        except Exception as error:  # whatever a user's function raises is the reason of that one image
            said = " ".join(str(error).split())[:300]
            yield Failure(f"the function raised {type(error).__name__}: {said}")
            continue
        yield _file(made, function)


def _found(function: str) -> Callable[[str, int], Any]:
    name, _, attribute = function.partition(":")
    if not name or not attribute:
        raise UsageError(f"python: {function!r} names no function", remedy=EXAMPLE)
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = importlib.import_module(name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise UsageError(f"python: there is no module {error.name!r}", remedy=EXAMPLE) from None
    except AttributeError:
        raise UsageError(f"python: module {name} has no {attribute!r}", remedy=EXAMPLE) from None
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise UsageError(f"python: {function} is no function", remedy=EXAMPLE)
    made: Callable[[str, int], Any] = found
    return made


def _file(made: Any, function: str) -> bytes | GeneratedImage | Failure:
    if made is None:
        return Failure("the function gave no image")
    if isinstance(made, bytes | GeneratedImage | Failure):
        return made
    import numpy as np
    from PIL import Image

    if isinstance(made, np.ndarray):
        if made.dtype != np.uint8 or made.ndim != 3 or made.shape[2] != 3:
            shape = f"{made.dtype} {made.shape}"
            return Failure(f"the function gave an array of {shape}, not of height x width x 3 bytes")
        made = Image.fromarray(made)
    if not isinstance(made, Image.Image):
        raise UsageError(
            f"python: {function} gave a {type(made).__name__}",
            remedy="It must give bytes, an image of Pillow, an array of bytes, or None.",
        )
    file = io.BytesIO()
    made.convert("RGB").save(file, "PNG")
    return file.getvalue()
