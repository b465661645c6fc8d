"""Suite: prompts that test one skill, with what must be seen in an image that follows them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sightline import registry
from sightline.data.export import prompt_table, study_prompts, write_table
from sightline.data.sources import prompt_ref
from sightline.errors import ExtensionError, StudyError, UsageError, near
from sightline.estimate import plural
from sightline.expects import COGNITIVE
from sightline.extension import Configured, Extension
from sightline.records import NewPrompt
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading
from sightline.study.study import Study
from sightline.verbs import SEED, argument, option, verb

if TYPE_CHECKING:
    import polars as pl

SHOWN = 20
SHOWN_TAGS = 8
ALL = "all"
"""The name of our own suite: the prompts of every task that tests a cognitive skill."""
MOST = 1_000_000
LINES = ".txt"
IDS = ".ids.csv"
"""The table next to a text file of prompts: which line is which prompt."""
TO = option("Write them to a .csv, .jsonl, .parquet or .txt file.", metavar="FILE")


@dataclass(frozen=True)
class Suite(Result):
    """Prompts of a task, with the ids they have in a file and the seed that makes them again.

    After the `n` prompts that were asked for come the simpler ones that they build on.
    """

    task: str
    seed: int
    n: int
    refs: Sequence[str]
    prompts: Sequence[NewPrompt]
    files: Sequence[str] = ()

    @property
    def notes(self) -> Sequence[str]:
        return _written_notes(self.files)

    @property
    def next(self) -> Sequence[str]:
        if self.files:
            table = self.files[-1]
            return (f"sightline import STUDY {shlex.quote(table)}",)
        made = f"sightline suite make {shlex.quote(self.task)} {self.n} --seed {self.seed}"
        return (f"{made} --to FILE.csv   # writes them, with what each expects",)

    def tables(self) -> dict[str, Table]:
        names = list(dict.fromkeys(name for prompt in self.prompts for name in prompt.tags))
        # All tasks together have more tags than a screen has room for: the file has them all.
        many = len(names) > SHOWN_TAGS
        tags = [Column(f"tags.{name}", name, detail=many and name != "skill") for name in names]
        columns = [Column("prompt_id"), Column("prompt"), *tags]
        rows = [
            [ref, prompt.text, *(prompt.tags.get(name, "") for name in names)]
            for ref, prompt in zip(self.refs, self.prompts, strict=True)
        ]
        simpler = len(rows) - self.n
        also = f" and {simpler:,} simpler ones that they build on" if simpler else ""
        caption = f"{plural(self.n, 'prompt')} of {self.task}{also}, seed {self.seed}"
        return {"": Table(columns, rows, caption, SHOWN)}

    def facts(self) -> Mapping[str, Any]:
        expects = [prompt.expects for prompt in self.prompts]
        built = [[prompt_ref(each.text) for each in prompt.builds_on] for prompt in self.prompts]
        facts = {"task": self.task, "seed": self.seed, "n": self.n, "files": list(self.files)}
        return {**facts, "expects": expects, "builds_on": built}


@dataclass(frozen=True)
class ExportedSuite(Result):
    """The prompts of a study that were written for generating elsewhere."""

    prompts: int
    simpler: int
    files: Sequence[str]

    @property
    def sentence(self) -> str:
        also = f", {self.simpler:,} of them simpler ones that others build on" if self.simpler else ""
        return f"{plural(self.prompts, 'prompt')} written to {self.files[0]}{also}."

    @property
    def notes(self) -> Sequence[str]:
        return _written_notes(self.files)[1:]

    @property
    def next(self) -> Sequence[str]:
        ids = f" --prompts {shlex.quote(self.files[1])}" if len(self.files) > 1 else ""
        return (f"sightline import STUDY IMAGES{ids}   # images called <id>_<sample>.png",)


def _written_notes(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    notes = [f"Written to {files[0]}."]
    if len(files) > 1:
        notes.append(f"{files[1]} says which line is which prompt, and what each expects.")
    return notes


@verb("collect", "suite make")
def make_suite(
    suite: Annotated[
        str,
        argument(
            'The task, such as counting or "counting(most=5)", or all: see sightline suite list.', "SUITE"
        ),
    ],
    n: Annotated[int, argument("How many prompts to make; of all, of each task.", "[N]")] = 20,
    *,
    seed: Annotated[int, SEED] = 0,
    simpler: Annotated[bool, option("Add the simpler prompts that they build on.")] = True,
    to: Annotated[str | Path | None, TO] = None,
) -> Suite:
    """Make prompts that test one skill, or all skills.

    Each comes with what must be seen in an image that follows it, so that verdicts and measures can check it,
    and with links to the simpler prompts that it builds on. A .txt file has one prompt per line, for
    generating elsewhere; the table next to it says which line is which prompt.
    """
    import numpy as np

    if n < 1 or n > MOST:
        raise UsageError(f"{n:,} prompts cannot be made", remedy=f"Ask for 1 or more, up to {MOST:,}.")
    if seed < 0:
        raise UsageError(f"the seed is {seed}", remedy="A seed is 0 or more.")
    makers = _own_suite() if suite == ALL else [registry.configure("task", suite)]
    made: dict[str, NewPrompt] = {}
    for maker in makers:
        maker.require()
        prompts = list(maker.load()(np.random.default_rng(seed), n))
        if len(prompts) != n:
            raise ExtensionError(
                f"{maker.name} made {len(prompts)} prompts where {n} were asked for", where=maker.spec.origin
            )
        for prompt in prompts:
            _add(made, prompt)
    asked = len(made)
    if simpler:
        for prompt in list(made.values()):
            _add_simpler(made, prompt)
    refs = [prompt_ref(text) for text in made]
    files = _write(prompt_table(refs, list(made.values())), to) if to is not None else ()
    named = ALL if suite == ALL else str(makers[0])
    return Suite(named, seed, asked, refs, list(made.values()), files)


def _own_suite() -> list[Configured]:
    """Our own tasks that test a cognitive skill, the simplest skills first."""
    order = list(COGNITIVE)
    own = [
        each.spec
        for each in registry.everything("task")
        if isinstance(each, Extension) and each.spec.origin == "sightline"
    ]
    chosen = [spec for spec in own if spec.details["skill"] in order]
    chosen.sort(key=lambda spec: (order.index(str(spec.details["skill"])), spec.name))
    return [registry.configure("task", spec.name) for spec in chosen]


def _add(made: dict[str, NewPrompt], prompt: NewPrompt) -> None:
    """Add a prompt; the same text again adds the tags that are new, and must expect the same."""
    known = made.setdefault(prompt.text, prompt)
    if known is prompt:
        return
    if known.expects != prompt.expects:
        raise ExtensionError(
            f"{prompt.text!r} expects {prompt.expects} here and {known.expects} elsewhere",
            remedy="Word one of the two prompts differently.",
        )
    made[prompt.text] = known._replace(
        tags={**prompt.tags, **known.tags}, builds_on=known.builds_on or prompt.builds_on
    )


def _add_simpler(made: dict[str, NewPrompt], prompt: NewPrompt) -> None:
    for each in prompt.builds_on:
        if each.text not in made:
            made[each.text] = each
            _add_simpler(made, each)


@verb("collect", "suite export")
def export_suite(
    study: Study,
    to: Annotated[
        str | Path,
        argument("The file to write: .csv, .jsonl, .parquet, or .txt with one prompt per line.", "FILE"),
    ],
    *,
    suite: Annotated[str | None, option("Write this suite.", metavar="NAME", shown="all suites")] = None,
    skill: Annotated[Sequence[str], option("Write prompts of this skill; repeatable.", metavar="SKILL")] = (),
) -> ExportedSuite:
    """Write the prompts of a study for generating elsewhere.

    The simpler prompts that chosen ones build on come along. Images called <id>_<sample>.png, or by the line
    of a .txt file, are matched to their prompts by sightline import.
    """
    import polars as pl

    reading.need_prompts(study)
    table = study_prompts(study)
    chosen = pl.lit(True)
    if suite is not None:
        known = table["suite"].unique(maintain_order=True).to_list()
        if suite not in known:
            raise UsageError(f"the study has no suite {suite!r}", remedy=near(suite, known))
        chosen = chosen & (pl.col("suite") == suite)
    if skill:
        skills = _skills_of(table)
        for each in skill:
            if each not in skills:
                raise UsageError(f"no prompt of the study has skill={each}", remedy=near(each, skills))
        chosen = chosen & pl.col("tags.skill").is_in(list(skill))
    wanted = table.filter(chosen)
    whole = _with_simpler(table, wanted)
    return ExportedSuite(whole.height, whole.height - wanted.height, _write(whole, to))


def _skills_of(table: pl.DataFrame) -> list[str]:
    if "tags.skill" not in table.columns:
        return []
    return sorted(each for each in table["tags.skill"].unique().to_list() if each)


def _with_simpler(table: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """The wanted prompts, and those that they build on, in the order of the study."""
    import polars as pl

    if wanted.height == table.height or "builds_on" not in table.columns:
        return wanted
    links = {
        (suite, ref): _named(cell)
        for suite, ref, cell in table.select("suite", "prompt_id", "builds_on").iter_rows()
        if cell
    }
    found = set(wanted.select("suite", "prompt_id").iter_rows())
    open_ = list(found)
    while open_:
        suite, ref = open_.pop()
        for each in links.get((suite, ref), ()):
            if (suite, each) not in found:
                found.add((suite, each))
                open_.append((suite, each))
    kept = [key in found for key in table.select("suite", "prompt_id").iter_rows()]
    return table.filter(pl.Series(kept, dtype=pl.Boolean))


def _named(cell: str) -> list[str]:
    """The ids of a cell, as the importer of prompts reads them."""
    import json

    return list(json.loads(cell)) if cell.startswith("[") else cell.split()


def _write(table: pl.DataFrame, to: str | Path) -> list[str]:
    """A table of prompts to a file; as text also the table that says which line is which prompt."""
    import polars as pl

    target = Path(to)
    if target.suffix != LINES:
        return [str(write_table(table, target, LINES))]
    lines = [" ".join(text.split()) for text in table["prompt"]]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise StudyError(
            f"cannot write here ({error.strerror or error})",
            where=str(target),
            remedy="Check the disk and your permissions.",
        ) from None
    numbered = table.insert_column(0, pl.Series("line", range(1, len(lines) + 1)).cast(pl.String))
    ids = target.with_name(f"{target.stem}{IDS}")
    return [str(target), str(write_table(numbered, ids))]
