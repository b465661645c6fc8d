"""Which answers are relevant, and how rankings are read: [score] in study.toml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sightline.errors import UsageError, near
from sightline.statistics import runs
from sightline.study.study import Study

KEYS = ("measures", "relevance", "ties", "without", "complete")
"""What [score] in study.toml may hold."""


@dataclass(frozen=True)
class Rules:
    """How rankings are read, as [score] in study.toml has it.

    `relevance` is the question whose truth says what is relevant. `ties` is how equal scores are ordered:
    "name" (falling image names, as TREC does), "trec" (so too, but by the scores in single precision and
    whatever the positions say: as trec_eval) or "given" (as imported). Images with a truth above 0 of the
    question `without`, for any prompt, leave rankings and relevance alike (ConQA's seeds). An engine that was
    asked and found nothing has an empty ranking. With `complete` a prompt that nothing is known of, neither
    ranking nor failure, counts as an empty one too, not as none.
    """

    relevance: str = "relevance"
    ties: str = "name"
    without: str = ""
    complete: bool = False


def rules(study: Study) -> Rules:
    """The rules of the settings file, or the usual ones."""
    section: Any = study.settings.get("score", {})
    where = f"{study.name}: study.toml [score]"
    for key in section:
        if key not in KEYS:
            raise UsageError(f"there is no setting {key!r}", where=where, remedy=near(key, KEYS))
    ties, complete = section.get("ties", "name"), section.get("complete", False)
    if ties not in runs.TIES:
        raise UsageError(
            f"there is no order of ties {ties!r}", where=where, remedy=near(str(ties), runs.TIES)
        )
    if not isinstance(complete, bool):
        raise UsageError("complete must be true or false", where=where)
    return Rules(str(section.get("relevance", "relevance")), ties, str(section.get("without", "")), complete)
