"""Check: is the data what it should be? Every integrity rule over the whole study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.errors import ExtensionError, SightlineError, StudyError, UsageError, near
from sightline.extension import Configured, Extension
from sightline.records import Finding, Question
from sightline.study import listing, reading
from sightline.study.running.progress import Listener
from sightline.study.running.run import run_together
from sightline.study.study import SETTINGS_FILE, Study

if TYPE_CHECKING:
    import polars as pl

SEVERITIES = ("error", "warning", "note")
LOOKED_AT = ("prompt", "answer", "image", "judgement", "truth")


@dataclass(frozen=True)
class Found:
    """A finding and the rule that made it."""

    rule: str
    finding: Finding


@dataclass(frozen=True)
class Checked:
    """What the rules found, worst first; which were off and why; and what was looked at, in a sentence."""

    findings: Sequence[Found]
    off: Sequence[tuple[str, str]]
    checked: str

    @property
    def failed(self) -> bool:
        """Whether anything found is an error."""
        return any(found.finding.severity == "error" for found in self.findings)


def check(study: Study, *, workers: int = 1, listener: Listener | None = None) -> Checked:
    """Run every rule that study.toml does not switch off; what rules measure on pixels is scored and kept."""
    counts = reading.counts(study)
    if not any(counts[table] for table in LOOKED_AT):
        # Images can be looked at before any prompt is there; where there is nothing at all, this says so.
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
    active = [rule for rule in rules if rule.name not in switched]
    measures = {name: registry.find_measure(name) for rule in active for name in _measures(rule)}
    together: dict[str, list[Configured]] = {}
    for measure in measures.values():
        together.setdefault(measure.spec.kind, []).append(measure)
    for alike in together.values():
        run_together(study, alike, workers=workers, listener=listener)
    material = _Material(study, measures)
    findings = [found for rule in active for found in _apply(rule, material)]
    findings.sort(key=lambda found: SEVERITIES.index(found.finding.severity))
    off = [(name, reason) for name, reason in switched.items() if name not in dict(broken)]
    return Checked(findings, [*off, *broken], _sentence(counts, active))


def _switched_off(study: Study) -> dict[str, str]:
    told: Any = study.settings.get("check", {})
    off: Any = told.get("off", {}) if isinstance(told, Mapping) else told
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


def _measures(rule: Configured) -> Sequence[str]:
    return tuple(rule.spec.details["measures"])


def _apply(rule: Configured, material: _Material) -> list[Found]:
    try:
        findings = list(rule.load()(material))
    except SightlineError:
        raise
    except Exception as error:  # somebody else's rule may fail in any way; it must say which it was
        raise ExtensionError(
            f"the rule {rule.name} raised {type(error).__name__}: {error}",
            where=rule.spec.origin,
            remedy="Mend it, or switch it off with a reason: [check.off] in study.toml.",
        ) from error
    found = []
    for finding in findings:
        severity = finding.severity or str(rule.spec.details["severity"])
        if severity not in SEVERITIES:
            raise ExtensionError(
                f"the rule {rule.name} found something of severity {severity!r}",
                where=rule.spec.origin,
                remedy=f"One of {', '.join(SEVERITIES)}.",
            )
        found.append(Found(rule.name, finding._replace(severity=severity)))
    return found


def _sentence(counts: Mapping[str, int], active: Sequence[Configured]) -> str:
    parts = [
        f"{counts[table]:,} {table}{'' if counts[table] == 1 else 's'}"
        for table in LOOKED_AT
        if counts[table]
    ]
    return f"{len(active)} rules over {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}."


class _Material:
    """The study as rules see it; see records.Material."""

    def __init__(self, study: Study, measures: Mapping[str, Configured]) -> None:
        self._study = study
        self._measures = measures

    @cached_property
    def prompts(self) -> pl.DataFrame:
        return reading.prompts(self._study)

    @cached_property
    def tags(self) -> pl.DataFrame:
        return reading.tags(self._study)

    @cached_property
    def systems(self) -> pl.DataFrame:
        return listing.searched(self._study)

    @cached_property
    def answers(self) -> pl.DataFrame:
        return reading.answers(self._study)

    @cached_property
    def images(self) -> pl.DataFrame:
        import polars as pl

        captions = listing.captioned(self._study)
        joined = reading.images(self._study).join(captions, on="image_id", how="left", maintain_order="left")
        return joined.with_columns(pl.col("captions").fill_null(0))

    @cached_property
    def questions(self) -> Sequence[Question]:
        return [question for _, question in reading.questions(self._study)]

    @cached_property
    def relevance(self) -> str:
        from sightline.study.relevance import rules

        return rules(self._study).relevance

    @cached_property
    def judgements(self) -> pl.DataFrame:
        return listing.judgements(self._study)

    @cached_property
    def truths(self) -> pl.DataFrame:
        return listing.truths(self._study)

    def scores(self, measure: str) -> pl.DataFrame:
        if measure not in self._measures:
            raise ExtensionError(
                f"a rule asks for scores of {measure!r}, which it does not declare",
                remedy=f'Write @check(measures=("{measure}",), ...).',
            )
        identity = self._measures[measure].identity
        found = reading.scores(self._study, identity)
        told = listing.evidence(self._study, identity)
        return found.join(told, on="image_id", how="left", maintain_order="left")
