"""Pipelines of the diffusers library: a folder with a checkpoint, or a name on the hub."""

from __future__ import annotations

import inspect
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from sightline.errors import DataError, UsageError
from sightline.extension import generator
from sightline.pictures import GeneratedImage
from sightline.records import Failure, Prompt
from sightline.weights import offline

PRECISIONS = ("float32", "float16", "bfloat16")


@generator(
    source="diffusers, by Hugging Face",
    licence="Apache-2.0",
    extra="diffusers",
    parallel=False,
    repeatable=True,
)
def diffusers(
    prompts: Sequence[Prompt],
    seeds: Sequence[int],
    *,
    checkpoint: str = "",
    revision: str = "",
    steps: int = 0,
    guidance: float = -1.0,
    negative: str = "",
    width: int = 0,
    height: int = 0,
    device: str = "cpu",
    precision: str = "float32",
    options: str = "",
) -> Iterator[GeneratedImage | Failure]:
    """Images made by a text-to-image pipeline of diffusers.

    `checkpoint` is a folder in the hub's layout, or a name on the hub with its `revision`; only safetensors
    are read, and no code that a checkpoint brings is run. 0 steps, width or height and a guidance below 0
    leave it to the pipeline; `options` are further arguments of the call, as JSON. Noise is drawn on the CPU
    from the seed of each image, so that a seed means the same on every device. The pipeline, its scheduler
    and the versions of the libraries are recorded with each image.
    """
    if not checkpoint:
        raise UsageError("diffusers needs a checkpoint", remedy="For example checkpoint='models/mine'.")
    pipeline, made_by = _loaded(checkpoint, revision, device, precision)
    arguments = _arguments(steps, guidance, negative, width, height, options)
    unknown = set(arguments) - set(inspect.signature(pipeline.__call__).parameters)
    if unknown:
        kind = type(pipeline).__name__
        raise UsageError(f"diffusers: {kind} does not take {', '.join(sorted(unknown))}", where=checkpoint)
    for prompt, seed in zip(prompts, seeds, strict=True):
        yield _drawn(pipeline, made_by, prompt.text, int(seed), arguments)


def _arguments(
    steps: int, guidance: float, negative: str, width: int, height: int, options: str
) -> dict[str, Any]:
    try:
        made = json.loads(options) if options else {}
    except ValueError as error:
        raise UsageError(f"diffusers: options are no JSON ({error})") from None
    if not isinstance(made, dict) or set(made) & {"prompt", "generator", "num_images_per_prompt"}:
        raise UsageError("diffusers: options are no JSON object of further arguments")
    given = {"num_inference_steps": steps, "width": width, "height": height, "negative_prompt": negative}
    made |= {name: value for name, value in given.items() if value}
    return {**made, "guidance_scale": guidance} if guidance >= 0 else made


# One pipeline at a time: two would hardly fit into a machine's memory.
@lru_cache(maxsize=1)
def _loaded(checkpoint: str, revision: str, device: str, precision: str) -> tuple[Any, dict[str, str]]:
    if precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise UsageError(f"diffusers has no precision {precision!r}", remedy=f"One of {known}.")
    import torch
    import transformers
    from diffusers import DiffusionPipeline, __version__
    from diffusers.utils import logging

    local = Path(checkpoint).is_dir()
    if not local and (offline() or checkpoint.startswith((".", "/", "~"))):
        remedy = "Name a folder in the hub's layout."
        raise DataError("there is no such checkpoint", where=checkpoint, remedy=remedy)
    code = next(Path(checkpoint).rglob("*.py"), None) if local else None
    if code is not None:
        raise DataError(
            f"the checkpoint brings code of its own ({code.name}), which is not run",
            where=checkpoint,
            remedy="Read it; where you trust it, call the pipeline from a function: python(function=...).",
        )
    more: dict[str, Any] = {"revision": revision} if revision and not local else {}
    more |= {"use_safetensors": True, "local_files_only": local, "torch_dtype": getattr(torch, precision)}
    # What libraries say about parts they replace is no concern of whoever draws.
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline = DiffusionPipeline.from_pretrained(checkpoint, **more).to(device)
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError, ImportError) as error:
        said = " ".join(str(error).split())[:300]
        raise DataError(
            f"this is no pipeline that diffusers can load ({said})",
            where=checkpoint,
            remedy="Name a folder with model_index.json and safetensors, or a name on the hub.",
        ) from None
    pipeline.set_progress_bar_config(disable=True)
    made_by = {
        "pipeline": type(pipeline).__name__,
        "scheduler": type(pipeline.scheduler).__name__,
        "libraries": f"diffusers {__version__}, torch {torch.__version__}",
    }
    return pipeline, made_by


def _drawn(
    pipeline: Any, made_by: dict[str, str], text: str, seed: int, arguments: dict[str, Any]
) -> GeneratedImage | Failure:
    import torch

    noise = torch.Generator("cpu").manual_seed(seed)
    try:
        made = pipeline(prompt=text, generator=noise, **arguments)
    except torch.cuda.OutOfMemoryError:
        return Failure("the device ran out of memory")
    if any(getattr(made, "nsfw_content_detected", None) or ()):
        return Failure("refused: the pipeline's safety checker")
    file = io.BytesIO()
    made.images[0].convert("RGB").save(file, "PNG")
    return GeneratedImage(file.getvalue(), made_by)
