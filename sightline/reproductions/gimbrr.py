"""GIMBRR: match rates, counting and multiple-object curves, and what a skill owes to simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sightline.data.sources import Row, Source
from sightline.records import NoValue
from sightline.reproductions.card import Number, Obtained, Paper, Part, Printed
from sightline.statistics import match_rates

Group = TypeVar("Group", bound=Hashable)

VERDICTS = "annotations_df_230311.csv"
DIRECTORY, VARIABLES = "Prompt_dir_230228.csv", "Prompt_dir_230228_extraVars.csv"
SYSTEMS = {"Dalle": "54.7441", "MJ": "46.4419", "SD2.1": "34.3321", "SD1.5": "35.0811"}
CONTROLLED = {
    "single_object": "Controlled single object",
    "multiple_objects": "Controlled multiple objects",
    "single_object_counting": "Controlled single object counting",
    "multiple_object_counting": "Controlled multiple object counting",
    "arithmetic": "Controlled arithmetic",
}
CONTROLLED_MATCHES = {"Dalle": (98, 76, 46, 0, 0), "MJ": (93, 77, 48, 0, 0), "SD2.1": (55, 20, 32, 1, 0)}
COUNTING = ("60.00", "61.11", "50.00", "22.22", "22.22", "13.89", "13.89", "11.11", "5.56", "2.78", "8.33")
MULTIPLE = {"common": ("36.76", "29.69", "20.59"), "uncommon": ("34.38", "23.53", "10.29")}
SINGLE, SEVERAL, COUNTED = "Single object", "Multiple objects", "Counting"
NOT_BUILT_ON_OBJECTS = ("Simple arithmetic", "Text rendering")
RELATED = ("Directed actions", "Spatial relationships", "Unusual arrangements")
UNRELATED = ("Conditional generation", "Compositional characteristics")
# Figures of the models over related and unrelated tasks together, in the order in which they are obtained.
TOGETHER = (
    "regression.interaction.p",
    "regression.interaction.residual_df",
    "regression.main.type_i_sum_of_squares",
    "regression.main.p",
    "regression.additive.slope",
    "regression.additive.p",
)


@dataclass(frozen=True)
class Verdict:
    """One row: whether an image matches its prompt."""

    ref: int
    system: str
    task: str
    label: str
    links: frozenset[int]
    text: str
    matches: bool


def _verdicts(source: Source) -> list[Verdict]:
    columns = ("ID", "Algorithm", "Task", "Task_specific_label", "Linked_prompts", "Prompt", "annotation")
    return [
        Verdict(
            ref=row.whole("ID"),
            system=row.text("Algorithm"),
            task=row.text("Task"),
            label=row.text("Task_specific_label", ""),
            links=_links(row),
            text=row.text("Prompt"),
            matches=_matches(row),
        )
        for row in source.rows(VERDICTS, required=columns)
    ]


def _links(row: Row) -> frozenset[int]:
    """Ids separated by commas; a lone one is a number to table programs, which write 1801.0."""
    links = row.text("Linked_prompts", "").split(",")
    ids = [each.strip().removesuffix(".0") for each in links if each.strip()]
    if not all(each.isdecimal() for each in ids):
        raise row.wrong("Linked_prompts", "ids separated by commas", "Write them as 1801,1802.")
    return frozenset(map(int, ids))


def _matches(row: Row) -> bool:
    # An empty cell is no verdict, least of all a No.
    row.text("annotation")
    return row.flag("annotation")


def _controlled(verdict: Verdict) -> bool:
    return verdict.task.startswith("Controlled")


def _rates(verdicts: Iterable[Verdict], group: Callable[[Verdict], Group | None]) -> dict[Group, float]:
    """Proportion of matches in each group; the group None is excluded."""
    rows = list(verdicts)
    rates = match_rates.rates_by([each.matches for each in rows], [group(each) for each in rows])
    return {name: rate.value for name, rate in rates.items() if rate.value is not None}


def _matched(source: Source) -> Obtained:
    verdicts = _verdicts(source)
    obtained: dict[str, Number | NoValue | None] = {
        "prompts.annotated": len({each.ref for each in verdicts}),
        "prompts.uncontrolled": len({each.ref for each in verdicts if not _controlled(each)}),
        "prompts.single_object": len({each.ref for each in verdicts if each.task == SINGLE}),
    }
    open_ended = [each for each in verdicts if not _controlled(each)]
    for system, rate in _rates(open_ended, lambda each: each.system).items():
        if system in SYSTEMS:
            obtained[f"match_rate.{system}"] = 100 * rate
    # Rows are in the order in which they were rated: of two verdicts on a prompt the last one stays.
    latest = {(each.system, each.ref): each for each in open_ended}.values()
    settled = _rates(latest, lambda each: each.system)
    if "SD1.5" in settled:
        obtained["match_rate.SD1.5.one_verdict_a_prompt"] = 100 * settled["SD1.5"]
    for system in CONTROLLED_MATCHES:
        for name, task in CONTROLLED.items():
            rated = [each.matches for each in verdicts if (each.system, each.task) == (system, task)]
            if rated:
                obtained[f"controlled.{system}.{name}"] = sum(rated)
    asked = _rates(verdicts, lambda each: each.label if each.task == COUNTED else None)
    for n, _ in enumerate(COUNTING, 2):
        if str(n) in asked:
            obtained[f"counting.{n}"] = 100 * asked[str(n)]
    return obtained


def _multiple(source: Source) -> Obtained:
    kinds = {}
    for row in source.rows(VARIABLES, required=("ID", "Task", "Common", "Num_objects")):
        objects = row.whole("Num_objects", None)
        if row.text("Task") == SEVERAL and row.get("Common") is not None and objects is not None:
            kind = "common" if row.flag("Common") else "uncommon"
            kinds[row.whole("ID")] = f"multiple.{kind}.{objects}"
    rates = _rates(_verdicts(source), lambda each: kinds.get(each.ref))
    wanted = [f"multiple.{kind}.{n}" for kind, printed in MULTIPLE.items() for n, _ in enumerate(printed, 2)]
    return {name: 100 * rates[name] for name in wanted if name in rates}


def _faults(source: Source) -> Obtained:
    texts, automatic = {}, 0
    for row in source.rows(DIRECTORY, required=("ID", "Prompt", "Task", "Auto_assessment")):
        texts[row.whole("ID")] = row.text("Prompt")
        automatic += row.text("Task") == "Conditional generation" and row.flag("Auto_assessment")
    verdicts = _verdicts(source)
    of_prompt: dict[int, list[bool]] = {}
    for each in verdicts:
        if each.system == "SD1.5":
            of_prompt.setdefault(each.ref, []).append(each.matches)
    annotated = {each.ref for each in verdicts}
    return {
        "directory.rows": len(texts),
        "directory.never_annotated": len(texts.keys() - annotated),
        "directory.conditional_automatic": automatic,
        "faults.SD1.5.rated_twice": sum(len(rated) > 1 for rated in of_prompt.values()),
        "faults.SD1.5.in_conflict": sum(len(set(rated)) > 1 for rated in of_prompt.values()),
        "faults.SD1.5.missing": len(annotated - of_prompt.keys()),
        "faults.other_text": sum(each.text != texts.get(each.ref, each.text) for each in verdicts),
    }


def _regressions(source: Source) -> Obtained:
    verdicts = _verdicts(source)
    rates: dict[str, dict[str, float]] = {}
    for (task, system), rate in _rates(verdicts, lambda each: (each.task, each.system)).items():
        rates.setdefault(task, {})[system] = rate
    systems = list(SYSTEMS)
    needed = (SINGLE, SEVERAL, *RELATED, *UNRELATED)
    if any(system not in rates.get(task, {}) for task in needed for system in systems):
        return {}
    complex_tasks = [
        task
        for task in rates
        if not task.startswith("Controlled") and task not in (SINGLE, *NOT_BUILT_ON_OBJECTS)
    ]
    on_single = _on_single_objects(verdicts, complex_tasks)
    both = [(task, system) for task in (*RELATED, *UNRELATED) for system in systems]
    x = np.array([rates[SEVERAL][system] for _, system in both])
    y = np.array([rates[task][system] for task, system in both])
    related = np.array([task in RELATED for task, _ in both])
    return {
        **_slope(
            "regression.single", [each.simpler for each in on_single], [each.rate for each in on_single]
        ),
        **_slope("regression.related", x[related], y[related]),
        **_slope("regression.unrelated", x[~related], y[~related]),
        **dict(zip(TOGETHER, _together(x, related.astype(np.float64), y), strict=True)),
    }


def _on_single_objects(verdicts: Sequence[Verdict], tasks: Sequence[str]) -> list[match_rates.LinkedPoint]:
    """A task's rate on that of the distinct single objects its prompts link to, a point a system and task."""
    return match_rates.linked_points(
        [each.matches for each in verdicts],
        [each.ref for each in verdicts],
        [each.system for each in verdicts],
        [each.task for each in verdicts],
        _linked(verdicts),
        [each.task == SINGLE for each in verdicts],
        tasks=tasks,
        systems=list(SYSTEMS),
    )


def _linked(verdicts: Sequence[Verdict]) -> dict[int, frozenset[int]]:
    links: dict[int, frozenset[int]] = {}
    for each in verdicts:
        links[each.ref] = links.get(each.ref, frozenset()) | each.links
    return links


def _slope(stem: str, x: ArrayLike, y: ArrayLike) -> Obtained:
    """The slope of y on x; none, and so a figure that fails, from two points or where x does not vary."""
    found = match_rates.slope(x, y)
    return {f"{stem}.slope": found.slope.value, f"{stem}.p": found.p, f"{stem}.n": found.n}


def _together(x: ArrayLike, kind: ArrayLike, y: ArrayLike) -> tuple[Number | None, ...]:
    """Figures of y on x, kind and their product, in the order of TOGETHER; none where they are collinear."""
    found = match_rates.interaction(x, kind, y)
    return (None,) * len(TOGETHER) if found is None else tuple(found)


def _slopes(stem: str, slope: str, p: str, n: str, note: str) -> list[Printed]:
    return [
        Printed(f"{stem}.slope", slope, note),
        Printed(f"{stem}.p", p, note),
        Printed(f"{stem}.n", n, note),
    ]


AS_PUBLISHED = "Over rows as published, where 16 files count twice; one verdict a prompt gives 34.74."
NOT_A_SLOPE = "The paper calls this b = 0.1; it is the type-I sum of squares, not a slope."
CORRECTED = "Our correction: the slope of the main effect, in the model without interaction."

PAPER = Paper(
    "GIMBRR: cognitive skills of a generator",
    {VERDICTS: ("Algorithm", "annotation"), DIRECTORY: ("Linked_prompts",), VARIABLES: ("Num_objects",)},
    (
        Part(
            (
                Printed("prompts.annotated", "2102"),
                Printed("prompts.uncontrolled", "1602"),
                Printed("prompts.single_object", "502"),
                *(
                    Printed(f"match_rate.{system}", rate, AS_PUBLISHED if system == "SD1.5" else "")
                    for system, rate in SYSTEMS.items()
                ),
                Printed("match_rate.SD1.5.one_verdict_a_prompt", "34.74", "The latest verdict counts."),
                *(
                    Printed(f"controlled.{system}.{name}", str(count), "Matches among 100 prompts.")
                    for system, counts in CONTROLLED_MATCHES.items()
                    for name, count in zip(CONTROLLED, counts, strict=True)
                ),
                *(
                    Printed(f"counting.{n}", rate, "Four systems pooled.")
                    for n, rate in enumerate(COUNTING, 2)
                ),
            ),
            _matched,
            (VERDICTS,),
        ),
        Part(
            [
                Printed(f"multiple.{kind}.{n}", rate, "Four systems pooled.")
                for kind, rates in MULTIPLE.items()
                for n, rate in enumerate(rates, 2)
            ],
            _multiple,
            (VERDICTS, VARIABLES),
        ),
        Part(
            (
                *_slopes("regression.single", "0.3938", "0.0970", "36", "Complex tasks on single objects."),
                *_slopes("regression.related", "0.6213", "0.0047", "12", "Related on multiple objects."),
                *_slopes("regression.unrelated", "0.1009", "0.7894", "8", "Unrelated on multiple objects."),
                Printed("regression.interaction.p", "0.1644", "Multiple objects x related or not."),
                Printed("regression.interaction.residual_df", "16"),
                Printed("regression.main.type_i_sum_of_squares", "0.1011", NOT_A_SLOPE),
                Printed("regression.main.p", "0.0312", NOT_A_SLOPE),
                Printed("regression.additive.slope", "0.4131", CORRECTED),
                Printed("regression.additive.p", "0.0353", CORRECTED),
            ),
            _regressions,
            (VERDICTS,),
        ),
        Part(
            (
                Printed("directory.rows", "2302"),
                Printed("directory.never_annotated", "200", "The img2img tasks."),
                Printed("directory.conditional_automatic", "63"),
                Printed("faults.SD1.5.rated_twice", "16"),
                Printed("faults.SD1.5.in_conflict", "5"),
                Printed("faults.SD1.5.missing", "16"),
                Printed("faults.other_text", "392", "Rows whose prompt differs from the directory's."),
            ),
            _faults,
            (VERDICTS, DIRECTORY),
        ),
    ),
)
