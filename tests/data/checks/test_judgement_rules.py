"""Rules about what people said and what was settled: planted faults and clean data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    System,
    Truth,
)

Find = Callable[..., list[Any]]
A, B, C = (PromptKey("suite", ref) for ref in "abc")
MATCH = Question("match", "nominal", 0, 1, 1)
QUALITY = Question("quality", "interval", 0, 5)
ANN = AnnotatorKey("people", "ann")


def told(findings: list[Any]) -> dict[str, tuple[int, str]]:
    return {each.finding.what: (each.finding.n, each.finding.severity) for each in findings}


@pytest.mark.parametrize("who", [ANN, None], ids=["named", "unnamed"])
def test_judged_twice(find: Find, who: AnnotatorKey | None) -> None:
    records = [MATCH]
    for key, values in ((A, (1.0, 1.0)), (B, (1.0, 0.0)), (C, (1.0,))):
        records += [Judgement("match", Item(key), value, who, repetition=n) for n, value in enumerate(values)]
    assert told(find("judgements_in_conflict", records)) == {
        "items whose judgements of match by one hand contradict each other": (1, "warning"),
        "items judged more than once on match by one hand (1 in conflict)": (2, "note"),
    }


def test_opposite_votes_on_a_pair_with_its_sides_swapped_are_a_conflict(find: Find) -> None:
    better = Question("better", "nominal", 0, 1)
    ben = AnnotatorKey("people", "ben")
    records = [
        better,
        Judgement("better", Item(A, "x", system_b="y"), 0.0, ANN),
        Judgement("better", Item(A, "y", system_b="x"), 0.0, ANN),
        Judgement("better", Item(B, "x", system_b="y"), 0.0, ANN),
        Judgement("better", Item(B, "y", system_b="x"), 1.0, ANN),
        Judgement("better", Item(A, "x", system_b="y"), 0.0, ben),
        Judgement("better", Item(B, "y", system_b="x"), 0.0, ben),
    ]
    assert told(find("judgements_in_conflict", records)) == {
        "items whose judgements of better by one hand contradict each other": (1, "warning"),
        "items judged more than once on better by one hand (1 in conflict)": (2, "note"),
    }


RATED = [Judgement("q", Item(A, "x"), float(n % 5 + 1), AnnotatorKey("p", str(n))) for n in range(40)]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([Question("q")], {"no scale is declared for q: values from 1 to 5 were seen": (40, "note")}),
        (
            [Question("q"), Judgement("q", Item(B, "x"), 55.0, ANN)],
            {
                "judgements of q far from all others": (1, "warning"),
                "no scale is declared for q: values from 1 to 55 were seen": (41, "note"),
            },
        ),
        ([Question("q", low=1, high=5)], {}),
        (
            [
                Question("q", low=1, high=5),
                Question("better", "nominal"),
                Judgement("better", Item(A, "x", system_b="y"), 0.0, ANN),
            ],
            {},
        ),
    ],
    ids=["none", "a slip", "declared", "sides"],
)
def test_scales_that_nobody_declared(find: Find, records: list[Any], expected: dict[str, Any]) -> None:
    assert told(find("scales_undeclared", [*records, *RATED])) == expected


def test_changed_minds_and_several_people_are_no_conflict(find: Find) -> None:
    records = [
        MATCH,
        Judgement("match", Item(A), 1.0, ANN),
        Judgement("match", Item(A), 0.0, ANN, revision=1),
        Judgement("match", Item(A), 1.0, AnnotatorKey("people", "ben")),
        Judgement("match", Item(B), 1.0, None, 2),
        Judgement("match", Item(B), 0.0, None, 1),
    ]
    assert find("judgements_in_conflict", records) == []


def test_pairs_that_were_not_compared_are_not_missing_and_ties_are_no_half_steps(find: Find) -> None:
    pairs = [(A, "s", "t", 1.0), (A, "t", "u", 0.5), (B, "s", "t", 0.5), (C, "u", "s", 0.0)]
    records = [
        MATCH,
        *(Answer(key, name, 0, ImageKey("c", f"{name}{key.ref}")) for key in (A, B, C) for name in "stu"),
        *(Judgement("match", Item(key, one, system_b=two), value, ANN) for key, one, two, value in pairs),
    ]
    for rule in ("judgements_missing", "judgements_out_of_range", "judgements_without_items"):
        assert find(rule, records) == []


def test_the_second_side_of_a_pair_must_be_an_answer_too(find: Find) -> None:
    one, two, other = (ImageKey("c", name) for name in ("one", "two", "other"))
    records = [
        MATCH,
        Answer(A, "s", 0, one),
        Answer(A, "t", 0, two),
        Answer(B, "u", 0, other),
        Judgement("match", Item(A, "s", system_b="u"), 1.0, ANN),
        Judgement("match", Item(A, image=one, image_b=other), 1.0, ANN),
        Judgement("match", Item(A, image=one, image_b=two), 1.0, ANN),
    ]
    assert told(find("judgements_without_items", records)) == {
        "judgements of systems on prompts that they did not answer (match)": (1, "error"),
        "judgements of images under prompts that they were not made for (match)": (1, "error"),
    }


def test_judgements_missing(find: Find) -> None:
    given = {"one": (A, B, C), "two": (A, C), "three": (A,)}
    records: list[Any] = [Prompt(PromptKey("later", "x"), "a boat"), MATCH]
    records += [Judgement("match", Item(key, system), 1.0) for system, keys in given.items() for key in keys]
    # "three" was judged on a third of the prompts, less than half: a sample, which is no fault.
    (found,) = find("judgements_missing", records)
    assert found.finding.what == "prompts without a judgement of match for two that others were judged on"
    assert (found.finding.n, list(found.finding.examples)) == (1, ["suite/b: two dogs"])


def test_an_image_judged_counts_for_the_system_that_gave_it(find: Find) -> None:
    records: list[Any] = [MATCH]
    for system in ("one", "two"):
        for key in (A, B, C):
            image = ImageKey(system, key.ref)
            records += [Image(image), Answer(key, system, 0, image)]
            if (system, key) != ("two", B):
                records.append(Judgement("match", Item(key, image=image), 1.0))
    (found,) = find("judgements_missing", records)
    assert (found.finding.n, list(found.finding.examples)) == (1, ["suite/b: two dogs"])
    assert " for two " in found.finding.what


def test_judgements_of_what_nobody_gave(find: Find) -> None:
    first, second = ImageKey("one", "a"), ImageKey("one", "b")
    records = [
        MATCH,
        QUALITY,
        Image(first),
        Image(second),
        Answer(A, "one", 0, first),
        Answer(B, "one", 0, second),
        Judgement("match", Item(A, "one", first), 1.0),
        Judgement("match", Item(C, "one"), 1.0),
        Judgement("match", Item(A, "one", second), 1.0),
        Judgement("match", Item(C, image=first), 1.0),
        Truth("quality", Item(C, "one"), 2.0),
        # A system without answers here, and an image that nobody generated: published data alone.
        Judgement("match", Item(C, "elsewhere"), 1.0),
        Judgement("match", Item(C, image=ImageKey("photos", "1")), 1.0),
    ]
    assert told(find("judgements_without_items", records)) == {
        "judgements of systems on prompts that they did not answer (match)": (1, "error"),
        "judgements of images as answers of a system that did not give them (match)": (1, "error"),
        "judgements of images under prompts that they were not made for (match)": (1, "error"),
        "truths of systems on prompts that they did not answer (quality)": (1, "error"),
    }


def test_what_has_no_prompt_is_refused_on_import(find: Find) -> None:
    """Such answers and judgements never get into a study, so that no rule need look for them."""
    nowhere = PromptKey("suite", "z")
    for record in (
        Answer(nowhere, "one", 0, ImageKey("one", "1"), at="answers.csv:7"),
        Judgement("match", Item(nowhere), 1.0, at="answers.csv:7"),
    ):
        with pytest.raises(DataError, match="no prompt 'z' in suite 'suite'") as refused:
            find("prompts_without_answers", [record])
        assert refused.value.where == "answers.csv:7"


def test_values_between_the_steps(find: Find) -> None:
    records = [
        Question("grade", "ordinal", 1, 5, 1),
        Question("slider", "interval", 0, 5, 0.1),
        Judgement("grade", Item(A), 3.0, ANN),
        Judgement("grade", Item(B), 3.5, ANN),
        Judgement("slider", Item(A), 3.14159, ANN),
    ]
    assert told(find("judgements_out_of_range", records)) == {
        "judgements of grade between the steps of 1 of its scale": (1, "error")
    }


def test_annotators_too_fast(find: Find) -> None:
    prompts = [Prompt(PromptKey("many", str(n)), f"prompt {n}") for n in range(10)]
    # Milliseconds of the ten judgements; "slip" has one fast vote, "new" has too few to be blamed.
    times = {
        "hasty": [150, 250, 390, 2000, 2000, 3000, 3000, 3000, 3000, 3000],
        "slip": [150] + [2000] * 9,
        "calm": [401] + [2000] * 9,
        "new": [100] * 9,
    }
    records: list[Any] = [*prompts, QUALITY]
    for who, taken in times.items():
        records += [
            Judgement("quality", Item(prompt.key), float(n % 5), AnnotatorKey("people", who), took_ms=ms)
            for n, (prompt, ms) in enumerate(zip(prompts, taken, strict=False))
        ]
    (found,) = find("annotators_too_fast", records, prompts=())
    # The middle of 2000 and 3000 is 2500.
    assert list(found.finding.examples) == ["people/hasty: 3 of 10 below 400 ms, median 2500 ms"]


def test_annotators_much_faster_than_their_panel(find: Find) -> None:
    prompts = [Prompt(PromptKey("many", str(n)), f"prompt {n}") for n in range(10)]
    records: list[Any] = [*prompts, QUALITY]
    for who, taken in (("ann", 4000), ("bob", 5000), ("cat", 6000), ("hasty", 900)):
        records += [
            Judgement("quality", Item(each.key), float(n % 5), AnnotatorKey("people", who), took_ms=taken)
            for n, each in enumerate(prompts)
        ]
    (found,) = find("annotators_too_fast", records, prompts=())
    assert found.finding.what == "annotators who answered quality much faster than their panel"
    assert list(found.finding.examples) == [
        "people/hasty: median 900 ms over 10 judgements, below 0.25 of the panel's median 4500 ms"
    ]


def by_systems(judges: dict[str, tuple[str, ...]]) -> list[Any]:
    """Twelve prompts answered by each system, every answer judged by the people named for the system."""
    prompts = [Prompt(PromptKey("many", str(n)), f"prompt {n}") for n in range(12)]
    records: list[Any] = [*prompts, QUALITY]
    for system, people in judges.items():
        for n, prompt in enumerate(prompts):
            key = ImageKey(system, str(n))
            records += [Image(key), Answer(prompt.key, system, 0, key)]
            records += [
                Judgement(
                    "quality", Item(prompt.key, image=key), float((n + i) % 5), AnnotatorKey("people", who)
                )
                for i, who in enumerate(people)
            ]
    return records


def test_annotators_confounded_with_systems(find: Find) -> None:
    judges = {"new": ("ann", "ben", "cat"), "old": ("dan", "eve", "fay"), "other": ("ann", "ben", "cat")}
    (found,) = find("annotators_confounded", by_systems(judges), prompts=())
    assert (found.finding.n, found.finding.severity) == (2, "warning")
    assert found.finding.what == "pairs of systems whose quality was judged by different annotators"
    assert list(found.finding.examples) == [
        "new and old: 3 annotators and 3 others, 0 judged both",
        "old and other: 3 annotators and 3 others, 0 judged both",
    ]
    assert "the same annotators judge all systems" in found.finding.remedy


def test_annotators_of_all_systems_are_not_confounded(find: Find) -> None:
    everybody = ("ann", "ben", "cat")
    assert not find("annotators_confounded", by_systems({"new": everybody, "old": everybody}), prompts=())


def panel(items: int, people: dict[str, list[float]]) -> list[Any]:
    prompts = [Prompt(PromptKey("many", str(n)), f"prompt {n}") for n in range(items)]
    return [
        *prompts,
        QUALITY,
        *(
            Judgement("quality", Item(prompt.key), value, AnnotatorKey("people", who))
            for who, values in people.items()
            for prompt, value in zip(prompts, values, strict=True)
        ),
    ]


def honest(seed: int, items: int) -> list[float]:
    """Votes around the item's own quality: two people agree on some two fifths of them."""
    quality = np.arange(items) % 5
    wavering = np.random.default_rng(seed).integers(-1, 2, items)
    return [float(value) for value in np.clip(quality + wavering, 0, 5)]


def test_annotators_copying(find: Find) -> None:
    people = {name: honest(seed, 60) for seed, name in enumerate(("ann", "ben", "cat", "dan"))}
    people["eve"] = list(people["ann"])
    # One vote of sixty changed: 59/60 = 98.3 % alike.
    people["fay"] = [*people["ben"][:-1], 5.0 - people["ben"][-1]]
    (found,) = find("annotators_copying", panel(60, people), prompts=())
    assert found.finding.n == 2
    assert [each.partition(":")[0] for each in found.finding.examples] == [
        "people/ann and people/eve",
        "people/ben and people/fay",
    ]
    assert "60 of 60 alike" in found.finding.examples[0] and "59 of 60 alike" in found.finding.examples[1]


@pytest.mark.parametrize(
    "people",
    [
        {name: honest(seed, 60) for seed, name in enumerate(("ann", "ben", "cat", "dan"))},
        # Everybody agrees: the items are easy, and that is no copying.
        {name: [float(n % 2) for n in range(60)] for name in ("ann", "ben", "cat")},
        # Only two people: nobody can tell how far honest ones would agree.
        {name: honest(0, 60) for name in ("ann", "ben")},
        # One value throughout is told by another rule.
        {"ann": [3.0] * 60, "ben": [3.0] * 60, "cat": honest(1, 60), "dan": honest(2, 60)},
    ],
    ids=["honest", "easy", "two", "constant"],
)
def test_who_does_not_copy(find: Find, people: dict[str, list[float]]) -> None:
    assert find("annotators_copying", panel(60, people), prompts=()) == []


def test_few_common_items_prove_nothing(find: Find) -> None:
    people = {name: honest(seed, 19) for seed, name in enumerate(("ann", "ben", "cat", "dan"))}
    people["eve"] = list(people["ann"])
    assert find("annotators_copying", panel(19, people), prompts=()) == []


def test_truths_that_are_not_the_mean_of_their_parts(find: Find) -> None:
    image = [ImageKey("one", str(n)) for n in range(2)]
    records = [
        QUALITY,
        System("one"),
        System("two"),
        # (3.33 + 4) / 2 = 3.665, printed as 3.67: rounding explains it.
        Truth("quality", Item(A), 3.67),
        Truth("quality", Item(A, "one"), 3.33),
        Truth("quality", Item(A, "two"), 4.0),
        # (1 + 4) / 2 = 2.5, not 2.9: 0.4 apart.
        Truth("quality", Item(B), 2.9),
        Truth("quality", Item(B, "one"), 1.0),
        Truth("quality", Item(B, "two"), 4.0),
        # One part is not enough to tell.
        Truth("quality", Item(C), 5.0),
        Truth("quality", Item(C, "one"), 1.0),
        # (3 + 3) / 2 = 3, not 3.33: 0.33 apart.
        *(Truth("quality", Item(A, "one", key), 3.0) for key in image),
    ]
    by_system, by_image = find("truth_inconsistent", records)
    assert by_system.finding.what == (
        "truths of quality that are not the mean of those of their systems (up to 0.4 apart, of 2 looked at)"
    )
    assert list(by_system.finding.examples) == ["suite/b: two dogs"]
    assert "of their images (up to 0.33 apart, of 1 looked at)" in by_image.finding.what
    assert list(by_image.finding.examples) == ["suite/a: a red ball, by one"]


def test_truths_outside_their_votes_and_intervals(find: Find) -> None:
    records = [
        QUALITY,
        *(Judgement("quality", Item(key), value, ANN) for key, value in ((A, 2.0), (B, 2.0))),
        *(Judgement("quality", Item(key), 4.0, AnnotatorKey("people", "ben")) for key in (A, B)),
        Truth("quality", Item(A), 3.0, 2.5, 3.5),
        Truth("quality", Item(B), 4.5, 4.0, 5.0),
        Truth("quality", Item(C), 3.0, 3.5, 2.5),
    ]
    found = find("truth_inconsistent", records)
    assert told(found) == {
        "published truths of quality below the lowest or above the highest vote on them": (1, "warning"),
        "truths of quality outside their own interval": (1, "error"),
    }
    # Errors come first.
    assert [list(each.finding.examples) for each in found] == [["suite/c: no cat"], ["suite/b: two dogs"]]


def test_other_wording(find: Find) -> None:
    records = [
        Prompt(A, "a red ball", {"judged_text": "a read ball", "judged_text_rows": "4"}),
        Prompt(B, "two dogs", {"judged_text": "three dogs", "judged_text_rows": "2"}),
        Prompt(C, "no cat"),
    ]
    (found,) = find("other_wording", records, prompts=())
    assert (found.finding.n, found.finding.severity) == (6, "warning")
    assert found.finding.examples[0] == "suite/a: 'a red ball', judged as 'a read ball'"
    assert "of 2 prompts" in found.finding.what


def test_clean_judgements_are_clean_for_every_rule(find: Find, study: Any) -> None:
    from sightline.data.check import check

    records = panel(60, {name: honest(seed, 60) for seed, name in enumerate(("ann", "ben", "cat", "dan"))})
    assert find("judgements_in_conflict", records, prompts=()) == []
    assert check(study).findings == []
