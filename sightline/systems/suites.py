"""Which suites there are: tasks that make prompts here, and published ones that are imported."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from sightline import registry
from sightline.errors import UsageError, near
from sightline.expects import SKILLS
from sightline.extension import Extension, Spec
from sightline.records import NewPrompt
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.systems.suite import ALL, make_suite
from sightline.verbs import argument, verb

EXAMPLES = 5
OURS = "The prompts of every task that tests a cognitive skill, and the simpler ones they build on."


def _tasks() -> list[Spec]:
    return [each.spec for each in registry.everything("task") if isinstance(each, Extension)]


def _published() -> list[Spec]:
    """The importers of published suites of prompts."""
    found = [each.spec for each in registry.everything("importer") if isinstance(each, Extension)]
    return [spec for spec in found if spec.details.get("suite")]


def _skills(spec: Spec) -> str:
    named = dict.fromkeys(spec.details["suite"]["skills"].values())
    return ", ".join(each for each in SKILLS if each in named)


@dataclass(frozen=True)
class Suites(Result):
    """Every suite: what is made here, and what is published and can be imported."""

    made: Sequence[Spec]
    published: Sequence[Spec]

    @property
    def notes(self) -> Sequence[str]:
        return ("Published suites are not shipped: get the files from where they are, then import them.",)

    @property
    def next(self) -> Sequence[str]:
        return "sightline suite show counting", "sightline suite make all 20 --to suite.csv"

    def tables(self) -> dict[str, Table]:
        own = [(ALL, "all of them", OURS, "")]
        own += [
            (
                spec.name,
                str(spec.details["skill"]),
                spec.meaning,
                ", ".join(each.name for each in spec.parameters),
            )
            for spec in self.made
        ]
        columns = [Column("suite"), Column("skill"), Column("meaning"), Column("parameters")]
        rows = [
            (
                spec.name,
                spec.details["suite"]["prompts"],
                _skills(spec),
                spec.licence,
                spec.details["suite"]["home"],
            )
            for spec in self.published
        ]
        also = [
            Column("suite"),
            Column("prompts"),
            Column("skills"),
            Column("licence"),
            Column("home", "get it from"),
        ]
        return {
            "made": Table(columns, own, "Made here: sightline suite make SUITE"),
            "published": Table(also, rows, "Published: sightline import STUDY PATH"),
        }

    def facts(self) -> Mapping[str, Any]:
        return {"skills": dict(SKILLS)}


@dataclass(frozen=True)
class SuiteDescription(Result):
    """One suite: what it tests, its parameters and its first prompts, or where it is published."""

    name: str
    meaning: str
    facts_: Mapping[str, str]
    parameters: Sequence[tuple[str, str]] = ()
    examples: Sequence[NewPrompt] = ()
    categories: Mapping[str, str] | None = None

    @property
    def sentence(self) -> str:
        return f"{self.name}: {self.meaning}"

    @property
    def notes(self) -> Sequence[str]:
        return [f"{name}: {value}" for name, value in self.facts_.items()]

    @property
    def next(self) -> Sequence[str]:
        if self.categories is not None:
            return (f"sightline import STUDY PATH --format {self.name}",)
        return (f"sightline suite make {self.name} 20 --to FILE.csv",)

    def tables(self) -> dict[str, Table]:
        made = {}
        if self.parameters:
            made["parameters"] = Table(
                [Column("parameter"), Column("default")], self.parameters, "Parameters"
            )
        if self.examples:
            rows = [
                (
                    each.text,
                    json.dumps(each.expects, ensure_ascii=False),
                    "; ".join(b.text for b in each.builds_on),
                )
                for each in self.examples
            ]
            columns = [Column("prompt"), Column("expects"), Column("builds_on", "builds on")]
            made["examples"] = Table(columns, rows, "The first prompts of seed 0")
        if self.categories:
            columns = [Column("category"), Column("skill")]
            made["categories"] = Table(
                columns, list(self.categories.items()), "Its categories as the tag skill"
            )
        return made

    def facts(self) -> Mapping[str, Any]:
        return {"name": self.name, "meaning": self.meaning, **self.facts_}


@verb("collect", "suite list")
def list_suites() -> Suites:
    """List the suites that can be made here, and the published ones with where to get them."""
    return Suites(_tasks(), _published())


@verb("collect", "suite show")
def show_suite(
    suite: Annotated[str, argument("A suite of sightline suite list.", "SUITE")],
) -> SuiteDescription:
    """Show a suite: what it tests, its parameters and its first prompts, or where it is published."""
    if suite == ALL:
        made = make_suite(ALL, 1)
        facts = {"skills": ", ".join(dict.fromkeys(str(each.tags["skill"]) for each in made.prompts))}
        return SuiteDescription(ALL, OURS, facts, examples=made.prompts[: made.n])
    for spec in _published():
        if spec.name == suite:
            about = spec.details["suite"]
            facts = {
                "prompts": f"{about['prompts']:,}",
                "get it from": about["home"],
                "files": about["files"],
                "source": spec.source,
                "licence": spec.licence,
            }
            return SuiteDescription(spec.name, spec.meaning, facts, categories=about["skills"])
    name = suite.partition("(")[0].strip()
    names = [spec.name for spec in _tasks()]
    if name not in names:
        known = [ALL, *names, *(spec.name for spec in _published())]
        raise UsageError(f"there is no suite {suite!r}", remedy=near(name, known))
    chosen = registry.configure("task", suite)
    spec = chosen.spec
    facts = {"skill": str(spec.details["skill"]), "source": spec.source, "licence": spec.licence}
    parameters = [
        (each.name, repr(chosen.arguments.get(each.name, each.default))) for each in spec.parameters
    ]
    made = make_suite(suite, EXAMPLES)
    return SuiteDescription(spec.name, spec.meaning, facts, parameters, made.prompts[: made.n])
