"""Suite: make prompts that test one skill, with what must be seen in an image that obeys them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import registry
from sightline.data.export import prompt_table, write_table
from sightline.data.sources import prompt_ref
from sightline.errors import ExtensionError, UsageError
from sightline.records import NewPrompt


@dataclass(frozen=True)
class Suite:
    """Prompts of a task, with the ids they have in a file and the seed that makes them again."""

    task: str
    seed: int
    refs: Sequence[str]
    prompts: Sequence[NewPrompt]


def suite(task: str, n: int, *, seed: int = 0) -> Suite:
    """n prompts of a task, such as `counting` or `counting(most=5)`; the same for the same seed."""
    import numpy as np

    if n < 1:
        raise UsageError(f"{n} prompts cannot be made", remedy="Ask for 1 or more.")
    if seed < 0:
        raise UsageError(f"the seed is {seed}", remedy="A seed is 0 or more.")
    maker = registry.configure("task", task)
    maker.require()
    prompts = list(maker.load()(np.random.default_rng(seed), n))
    if len(prompts) != n:
        raise ExtensionError(
            f"{maker.name} made {len(prompts)} prompts where {n} were asked for", where=maker.spec.origin
        )
    return Suite(str(maker), seed, [prompt_ref(prompt.text) for prompt in prompts], prompts)


def write_suite(made: Suite, path: str | Path) -> Path:
    """The prompts as a file in the plain form (.csv, .jsonl or .parquet), to import or to hand on."""
    return write_table(prompt_table(made.refs, made.prompts), path)
