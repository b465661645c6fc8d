"""Suite: prompts that test one skill, with what must be seen in an image that follows them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from sightline import registry
from sightline.data.export import prompt_table, write_table
from sightline.data.sources import prompt_ref
from sightline.errors import ExtensionError, UsageError
from sightline.records import NewPrompt
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.verbs import SEED, argument, option, verb

SHOWN = 20


@dataclass(frozen=True)
class Suite(Result):
    """Prompts of a task, with the ids they have in a file and the seed that makes them again."""

    task: str
    seed: int
    refs: Sequence[str]
    prompts: Sequence[NewPrompt]
    path: str = ""

    @property
    def notes(self) -> Sequence[str]:
        return (f"Written to {self.path}.",) if self.path else ()

    @property
    def next(self) -> Sequence[str]:
        if self.path:
            return (f"sightline import STUDY {shlex.quote(self.path)}",)
        made = f"sightline suite {shlex.quote(self.task)} {len(self.refs)} --seed {self.seed}"
        return (f"{made} --to FILE.csv   # writes them, with what each expects",)

    def tables(self) -> dict[str, Table]:
        names = list(dict.fromkeys(name for prompt in self.prompts for name in prompt.tags))
        columns = [Column("prompt_id"), Column("prompt"), *(Column(f"tags.{name}", name) for name in names)]
        rows = [
            [ref, prompt.text, *(prompt.tags.get(name, "") for name in names)]
            for ref, prompt in zip(self.refs, self.prompts, strict=True)
        ]
        return {"": Table(columns, rows, f"{len(rows)} prompts of {self.task}, seed {self.seed}", SHOWN)}

    def facts(self) -> Mapping[str, Any]:
        expects = [prompt.expects for prompt in self.prompts]
        return {"task": self.task, "seed": self.seed, "path": self.path, "expects": expects}


@verb("collect")
def suite(
    task: Annotated[
        str, argument('The task, such as counting or "counting(most=5)": see sightline list task.', "TASK")
    ],
    n: Annotated[int, argument("How many prompts to make.", "[N]")] = 20,
    *,
    seed: Annotated[int, SEED] = 0,
    to: Annotated[
        str | Path | None, option("Write them to a .csv, .jsonl or .parquet file.", metavar="FILE")
    ] = None,
) -> Suite:
    """Make prompts that test one skill.

    Each comes with what must be seen in an image that follows it, so that measures can check it.
    """
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
    refs = [prompt_ref(prompt.text) for prompt in prompts]
    path = "" if to is None else str(write_table(prompt_table(refs, prompts), to))
    return Suite(str(maker), seed, refs, prompts, path)
