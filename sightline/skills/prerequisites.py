"""Why prompts fail: an object, the count, or only the composition, by the simpler prompts they build on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sightline.demands import read_expects
from sightline.errors import DataError
from sightline.skills.matches import Matches
from sightline.study import reading
from sightline.study.study import Study

BUILDS_ON = "builds_on"
OBJECT, COUNT, COMPOSITION, UNKNOWN = "object", "count", "composition", "not known"
PREREQUISITES = (OBJECT, COUNT, COMPOSITION, UNKNOWN)


@dataclass(frozen=True)
class FailedPrompt:
    """A prompt that a system fails, and the first of its prerequisites that the system fails as well.

    `failed` are the simpler prompts that failed. Where none did, the composition is what failed; where one
    has no verdict and none failed, it is not known.
    """

    prompt: int
    text: str
    system: str
    skill: str
    rate: float
    prerequisite: str
    failed: Sequence[str]


def links_of(study: Study) -> dict[int, frozenset[int]]:
    """The simpler prompts that each prompt builds on."""
    rows = reading.links(study)
    made: dict[int, set[int]] = {}
    for prompt, to, kind in rows.select("prompt_id", "to_prompt_id", "kind").iter_rows():
        if kind == BUILDS_ON and prompt != to:
            made.setdefault(int(prompt), set()).add(int(to))
    return {prompt: frozenset(to) for prompt, to in made.items()}


def failed_prompts(study: Study, matches: Matches, links: Mapping[int, frozenset[int]]) -> list[FailedPrompt]:
    """Every prompt with links that a system fails (half of its samples or more do not match)."""
    rates = _rates(matches)
    texts = dict(reading.prompts(study).select("prompt_id", "text").iter_rows())
    counted = _counting(study, {to for each in links.values() for to in each})
    skills = {int(p): str(s) for p, s in zip(matches.prompt.tolist(), matches.skill.tolist(), strict=True)}
    made = []
    for (prompt, system), rate in rates.items():
        if prompt not in links or rate > 0.5:
            continue
        known = {to: rates.get((to, system)) for to in sorted(links[prompt])}
        failed = [to for to, value in known.items() if value is not None and value <= 0.5]
        objects = [to for to in failed if to not in counted]
        if objects:
            first, which = OBJECT, objects
        elif failed:
            first, which = COUNT, failed
        else:
            first, which = (COMPOSITION if None not in known.values() else UNKNOWN), []
        made.append(
            FailedPrompt(
                prompt, texts[prompt], system, skills[prompt], rate, first, [texts[to] for to in which]
            )
        )
    return made


def tally(failed: Sequence[FailedPrompt]) -> dict[tuple[str, str], Counter[str]]:
    """How often each prerequisite failed, by system and skill."""
    made: dict[tuple[str, str], Counter[str]] = {}
    for each in failed:
        made.setdefault((each.system, each.skill), Counter())[each.prerequisite] += 1
    return made


def _rates(matches: Matches) -> dict[tuple[int, str], float]:
    """The proportion of a system's samples that match a prompt, where any is known."""
    values: dict[tuple[int, str], list[float]] = {}
    for prompt, system, match in zip(
        matches.prompt.tolist(), matches.system.tolist(), matches.match.tolist(), strict=True
    ):
        if not np.isnan(match):
            values.setdefault((prompt, system), []).append(match)
    return {key: sum(each) / len(each) for key, each in values.items()}


def _counting(study: Study, prompts: set[int]) -> set[int]:
    """Those of these prompts that ask for a number of things: more than one, or exactly so many."""
    found = set()
    for key, record in reading.prompt_records(study, sorted(prompts)).items():
        try:
            expects = read_expects(record.expects)
        except DataError:
            continue
        if any(each.count is not None and each.count > 1 for each in expects.objects):
            found.add(key)
    return found
