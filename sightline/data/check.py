"""Check: apply every integrity rule to a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import polars as pl

from sightline import registry
from sightline.errors import ExtensionError, SightlineError, StudyError, UsageError, near
from sightline.estimate import plural
from sightline.extension import Configured, Extension
from sightline.parquet import spilled
from sightline.records import Finding, Question
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.running.place import place_of
from sightline.study.running.progress import Listener
from sightline.study.running.run import run_together
from sightline.study.study import SETTINGS_FILE, Study
from sightline.study.writing import settling
from sightline.verbs import ON, WORKERS, option, verb

SEVERITIES = ("error", "warning", "note")
LOOKED_AT = ("prompt", "answer", "image", "judgement", "truth")


@dataclass(frozen=True)
class RuleFinding:
    """A finding and the rule that made it."""

    rule: str
    finding: Finding


@dataclass(frozen=True)
class Check(Result):
    """The findings of all rules, worst first; which rules were off and why; and what was checked."""

    findings: Sequence[RuleFinding]
    off: Sequence[tuple[str, str]]
    checked: str
    strict: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is an error; a `strict` check also fails by a warning."""
        failing = ("error", "warning") if self.strict else ("error",)
        return any(each.finding.severity in failing for each in self.findings)

    @property
    def exit_code(self) -> int:
        return int(self.failed)

    @property
    def sentence(self) -> str:
        if self.failed:
            return "The check failed."
        n = len(self.findings)
        return f"The check passed with {plural(n, 'finding')}." if n else "No findings."

    @property
    def notes(self) -> Sequence[str]:
        off = [f"Not checked: {rule} ({reason})" for rule, reason in self.off]
        return [f"Checked {self.checked}", *off]

    @property
    def next(self) -> Sequence[str]:
        return ("sightline imports STUDY" if self.failed else "sightline status STUDY",)

    def facts(self) -> Mapping[str, Any]:
        off = [{"rule": rule, "reason": reason} for rule, reason in self.off]
        return {"failed": self.failed, "checked": self.checked, "strict": self.strict, "off": off}

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("severity"),
            Column("rule"),
            Column("n"),
            Column("what"),
            Column("examples", "for example"),
            Column("remedy", "what to do"),
        ]
        rows = [
            (each.severity, rule, each.n, each.what, "; ".join(each.examples), each.remedy)
            for rule, each in ((found.rule, found.finding) for found in self.findings)
        ]
        return {"": Table(columns, rows, "Findings")}


@verb("collect")
def check(
    study: Study,
    *,
    strict: Annotated[bool, option("Let warnings fail the check too, not only errors.")] = False,
    workers: Annotated[int | None, WORKERS] = None,
    on: Annotated[str | None, ON] = None,
    listener: Listener | None = None,
) -> Check:
    """Check the data: duplicates, gaps, blank images and more.

    Ends with exit code 1 if there is an error. Rules can be switched off, with a reason, in study.toml; see
    sightline list check.
    """
    place = place_of(on, workers)
    active, off = _active(study)
    measures = _measures_of(active)
    together: dict[str, list[Configured]] = {}
    for measure in measures.values():
        together.setdefault(measure.spec.kind, []).append(measure)
    own = {measure.identity for measure in measures.values()} - listing.scored_measures(study)
    if own:
        settling.note_events(study, "check", "measured", [{"measure": each} for each in sorted(own)])
    for alike in together.values():
        run_together(study, alike, place=place, listener=listener)
    return _found(study, active, measures, off, strict)


def stored_check(study: Study) -> tuple[Check, Sequence[str]]:
    """What the rules find in what the study holds, and the rules that need measures it does not hold.

    Nothing is measured and nothing written: for a report.
    """
    active, off = _active(study)
    measures = _measures_of(active)
    open_ = {name for name, each in measures.items() if listing.unscored_images(study, each.identity)}
    left = [rule.name for rule in active if open_ & set(rule.spec.details["measures"])]
    ready = [rule for rule in active if rule.name not in left]
    return _found(study, ready, measures, off), left


def _active(study: Study) -> tuple[list[Configured], list[tuple[str, str]]]:
    """The rules that are switched on, and the others with their reasons."""
    if not any(reading.counts(study)[table] for table in LOOKED_AT):
        # Images can be checked before there are prompts; this refuses a study with nothing at all.
        reading.need_prompts(study)
    switched = _switched_off(study)
    rules, broken = _rules()
    unknown = sorted(set(switched) - set(registry.names("check")))
    if unknown:
        raise UsageError(
            f"check.off names {unknown[0]!r}, which is no rule",
            where=str(study.home / SETTINGS_FILE),
            remedy=near(unknown[0], registry.names("check")),
        )
    off = [(name, reason) for name, reason in switched.items() if name not in dict(broken)]
    return [rule for rule in rules if rule.name not in switched], [*off, *broken]


def _measures_of(rules: Sequence[Configured]) -> dict[str, Configured]:
    return {name: registry.find_measure(name) for rule in rules for name in rule.spec.details["measures"]}


def _found(
    study: Study,
    rules: Sequence[Configured],
    measures: Mapping[str, Configured],
    off: Sequence[tuple[str, str]],
    strict: bool = False,
) -> Check:
    with TemporaryDirectory(prefix="sightline-check-") as aside:
        material = _Material(study, measures, Path(aside))
        findings = [found for rule in rules for found in _apply(rule, material)]
    findings.sort(key=lambda found: SEVERITIES.index(found.finding.severity))
    return Check(findings, off, _checked(reading.counts(study), rules), strict)


def _switched_off(study: Study) -> dict[str, str]:
    section: Any = study.settings.get("check", {})
    off: Any = section.get("off", {}) if isinstance(section, Mapping) else section
    if not isinstance(off, Mapping) or not all(isinstance(reason, str) for reason in off.values()):
        raise StudyError(
            "check.off must be a table of rule = reason",
            where=str(study.home / SETTINGS_FILE),
            remedy='For example:\n  [check.off]\n  blank_images = "night scenes are asked for"',
        )
    for rule, reason in off.items():
        if not reason.strip():
            raise StudyError(
                f"check.off switches {rule} off without a reason",
                where=str(study.home / SETTINGS_FILE),
                remedy="The report shows the reason: write one.",
            )
    return dict(off)


def _rules() -> tuple[list[Configured], list[tuple[str, str]]]:
    rules, broken = [], []
    for each in registry.everything("check"):
        if isinstance(each, Extension):
            rules.append(registry.configure("check", each.spec.name))
        else:
            broken.append((each.name, f"it cannot be read: {each.why}"))
    return rules, broken


def _apply(rule: Configured, material: _Material) -> list[RuleFinding]:
    try:
        findings = list(rule.load()(material))
    except SightlineError:
        raise
    except Exception as error:  # a rule of a plug-in may fail in any way; the error names it
        raise ExtensionError(
            f"the rule {rule.name} raised {type(error).__name__}: {error}",
            where=rule.spec.origin,
            remedy="Mend it, or switch it off with a reason: [check.off] in study.toml.",
        ) from error
    results = []
    for finding in findings:
        severity = finding.severity or str(rule.spec.details["severity"])
        if severity not in SEVERITIES:
            raise ExtensionError(
                f"the rule {rule.name} found something of severity {severity!r}",
                where=rule.spec.origin,
                remedy=f"One of {', '.join(SEVERITIES)}.",
            )
        results.append(RuleFinding(rule.name, finding._replace(severity=severity)))
    return results


def _checked(counts: Mapping[str, int], active: Sequence[Configured]) -> str:
    there = [(counts[table], table) for table in LOOKED_AT if counts[table]]
    parts = [f"{n:,} {table}{'' if n == 1 else 's'}" for n, table in there]
    return f"{len(active)} rules over {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}."


class _Material:
    """The study as rules see it; see checks.Material."""

    def __init__(self, study: Study, measures: Mapping[str, Configured], aside: Path) -> None:
        self._study = study
        self._measures = measures
        self._aside = aside
        self._scanned: dict[str, pl.LazyFrame] = {}

    def scan(self, name: str, measure: str = "") -> pl.LazyFrame:
        key = measure or name
        if key not in self._scanned:
            if measure:
                parts = listing.current_parts(self._study, self._identity(measure))
            else:
                parts = listing.scanned(self._study, name)
            self._scanned[key] = spilled(parts, self._aside / str(len(self._scanned)))
        return self._scanned[key]

    @cached_property
    def prompts(self) -> pl.DataFrame:
        return reading.prompts(self._study)

    @cached_property
    def tags(self) -> pl.DataFrame:
        return reading.tags(self._study)

    @cached_property
    def systems(self) -> pl.DataFrame:
        return reading.systems(self._study)

    @property
    def answers(self) -> pl.DataFrame:
        return self.scan("answers").collect()

    @property
    def images(self) -> pl.DataFrame:
        return self.scan("images").collect()

    @cached_property
    def questions(self) -> Sequence[Question]:
        return [question for _, question in reading.questions(self._study)]

    @cached_property
    def relevance(self) -> str:
        from sightline.study.relevance import rules

        return rules(self._study).relevance

    @property
    def judgements(self) -> pl.DataFrame:
        return self.scan("judgements").collect()

    @property
    def truths(self) -> pl.DataFrame:
        return self.scan("truths").collect()

    def scores(self, measure: str) -> pl.DataFrame:
        return self.scan("scores", measure).collect()

    def _identity(self, measure: str) -> str:
        if measure not in self._measures:
            raise ExtensionError(
                f"a rule asks for scores of {measure!r}, which it does not declare",
                remedy=f'Write @check(measures=("{measure}",), ...).',
            )
        return self._measures[measure].identity
