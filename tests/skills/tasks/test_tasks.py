"""Prompts that test one skill."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sightline import registry
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.expects import COGNITIVE
from sightline.extension import Extension
from sightline.language import wordnet
from sightline.language.lexicon import read_concreteness
from sightline.records import NewPrompt

NUMBERS = dict(
    zip(("two", "three", "four", "five", "six", "seven", "eight", "nine"), range(2, 10), strict=True)
)


def made(text: str, n: int, seed: int = 0) -> list[NewPrompt]:
    return list(registry.configure("task", text).load()(np.random.default_rng(seed), n))


def objects(prompt: NewPrompt) -> list[dict[str, Any]]:
    assert prompt.expects is not None
    found: list[dict[str, Any]] = prompt.expects["objects"]
    return found


def expects(prompt: NewPrompt) -> dict[str, Any]:
    assert prompt.expects is not None
    return dict(prompt.expects)


def tasks() -> list[Extension]:
    return [each for each in registry.everything("task") if isinstance(each, Extension)]


def test_every_cognitive_skill_has_a_task() -> None:
    assert {each.spec.details["skill"] for each in tasks()} >= set(COGNITIVE)


@settings(max_examples=12)
@given(st.integers(0, 2**32), st.integers(1, 70))
def test_any_size_without_repeats_and_the_same_for_the_same_seed(seed: int, n: int) -> None:
    # Single words are drawn from WordNet, which takes a second: they have a test of their own.
    for each in (task for task in tasks() if task.spec.name != "single_words"):
        prompts = list(each.target(np.random.default_rng(seed), n))
        assert len({prompt.text for prompt in prompts}) == n
        assert prompts == list(each.target(np.random.default_rng(seed), n))


def test_more_than_there_is_is_refused_with_how_many_there_are() -> None:
    for each in tasks():
        with pytest.raises(UsageError, match=r"has [\d,]+ different prompts .* not 100,000,000,000,000"):
            list(each.target(np.random.default_rng(0), 10**14))
    # By hand, of 78 kinds: 78 x 8 numbers; 27 coloured things: 351 pairs x 90 pairs of colours.
    for text, n in (("single_object", 78), ("counting", 624), ("colour_binding", 31_590)):
        with pytest.raises(UsageError, match=f"has {n:,} different prompts"):
            made(text, n + 1)
    assert len({prompt.text for prompt in made("counting", 624)}) == 624


@pytest.mark.parametrize(
    "text",
    [
        "counting(most=1)", "counting(least=13)", "counting(objects=4)", "multiple_objects(pairs='odd')",
        "multiple_objects(vocabulary='x')", "arithmetic(depth=4)", "spatial(relations='no')",
        "typos(edits=3)", "colour_binding(things=1)", "negation(absent=4)", "text_rendering(most=9)",
        "chimeras(parts=3)", "compositional(attribute='x')", "conditional(condition='x')",
        "controlled(most=7)",
    ],
)  # fmt: skip
def test_a_parameter_outside_its_range_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=text.partition("(")[0]):
        made(text, 1)


def test_every_prompt_links_to_the_simpler_ones_it_builds_on() -> None:
    for each in tasks():
        name = each.spec.name
        for prompt in made(name, 12, seed=3):
            if name not in ("composed", "single_object", "single_words", "controlled"):
                assert prompt.builds_on, prompt.text
            for simpler in prompt.builds_on:
                # Whatever a simpler prompt builds on, the prompt builds on as well, at once or through it.
                assert {b.text for b in simpler.builds_on} <= {b.text for b in prompt.builds_on} | {""} or (
                    simpler.tags["skill"] in ("chimeras", "text_rendering", "arithmetic")
                )
    (sum_,) = made("arithmetic(depth=1)", 1, seed=1)
    skills = Counter(each.tags["skill"] for each in sum_.builds_on)
    # The objects alone and together, each number alone and together.
    assert skills["single_object"] == 2 and skills["multiple_objects"] == 1 and skills["counting"] >= 2


def test_counting_asks_for_every_number_equally_often() -> None:
    prompts = made("counting(most=12)", 33)
    assert Counter(prompt.tags["number"] for prompt in prompts) == {str(number): 3 for number in range(2, 13)}
    for prompt in made("counting(most=9)", 90):
        number, _, _ = prompt.text.partition(" ")
        (wanted,) = objects(prompt)
        assert wanted["count"] == NUMBERS[number] == int(prompt.tags["number"])
        assert wanted["at_least"] is False and expects(prompt)["complete"] is True


def test_counting_several_things_at_once() -> None:
    for prompt in made("counting(objects=3, least=4, most=6)", 30):
        assert len({each["kind"] for each in objects(prompt)}) == 3
        assert all(4 <= each["count"] <= 6 for each in objects(prompt))


STEP = re.compile(r"^(?:(twice|half) as many (.+?)(?: as (.+))?|(\w+) (more|fewer) (.+) than (.+))$")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_arithmetic_expects_what_its_words_say(depth: int) -> None:
    for prompt in made(f"arithmetic(depth={depth})", 40, seed=2):
        first, *steps = re.split(r", | and ", prompt.text)
        # Worked out from the words alone, one step after the other.
        numbers = [NUMBERS[first.split()[0]]]
        for step in steps:
            found = STEP.match(step)
            assert found is not None, step
            if found[1]:
                numbers.append(numbers[-1] * 2 if found[1] == "twice" else numbers[-1] // 2)
            else:
                difference = {"one": 1, "two": 2, "three": 3}[found[4]]
                numbers.append(numbers[-1] + difference * (1 if found[5] == "more" else -1))
        assert [each["count"] for each in objects(prompt)] == numbers
        assert len(steps) == depth and all(1 <= number <= 9 for number in numbers)
        assert not any(each["at_least"] for each in objects(prompt))


def test_common_things_share_a_place_and_rare_ones_do_not() -> None:
    for pairs in ("common", "rare"):
        prompts = made(f"multiple_objects(pairs='{pairs}', least=2, most=4)", 30)
        assert {prompt.tags["pairs"] for prompt in prompts} == {pairs}
        assert Counter(prompt.tags["objects"] for prompt in prompts) == {"2": 10, "3": 10, "4": 10}
        assert all(each["at_least"] for prompt in prompts for each in objects(prompt))
    assert len(made("multiple_objects(pairs='rare', most=6)", 40)) == 40


def test_where_things_are() -> None:
    prompts = made("spatial", 40)
    assert Counter(each.tags["relation"] for each in prompts) == dict.fromkeys(
        ("left of", "right of", "above", "below"), 10
    )
    for prompt in prompts:
        related = expects(prompt)["relation"]
        assert [related["first"], related["second"]] == [each["kind"] for each in objects(prompt)]
        assert f" {related['where']} " in prompt.text


def test_what_must_not_be_there() -> None:
    for prompt in made("negation(absent=2)", 20):
        assert len(expects(prompt)["absent"]) == 2 and " without any " in prompt.text
    for prompt in made("conditional", 20):
        (right,), (wrong,) = objects(prompt), expects(prompt)["absent"]
        assert right["kind"] != wrong and expects(prompt)["complete"]
    animal = [each for each in made("conditional(condition='is')", 400) if each.tags["category"] == "animal"]
    beasts = {"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"}
    assert animal and all(objects(each)[0]["kind"] in beasts for each in animal)
    assert all(expects(each)["absent"][0] not in beasts for each in animal)


def test_what_has_no_place_in_the_form_is_not_complete() -> None:
    for name in ("directed_actions", "unusual_arrangements", "chimeras", "compositional(attribute='part')"):
        assert not any(expects(prompt)["complete"] for prompt in made(name, 10))
    for prompt in made("compositional(attribute='colour')", 20):
        assert expects(prompt)["complete"] and objects(prompt)[0]["colour"] in prompt.text


def test_colour_binding_gives_every_thing_its_own_colour() -> None:
    prompts = made("colour_binding(things=3)", 200)
    for prompt in prompts:
        wanted = objects(prompt)
        assert len({each["colour"] for each in wanted}) == len({each["kind"] for each in wanted}) == 3
        assert all(each["colour"] in prompt.text for each in wanted)
        assert "a orange" not in prompt.text


def test_text_of_every_length() -> None:
    prompts = made("text_rendering(least=2, most=4)", 30)
    assert Counter(len(expects(each)["text"].split()) for each in prompts) == {2: 10, 3: 10, 4: 10}
    assert all(f'"{expects(each)["text"]}"' in each.text for each in prompts)


def test_typos_expect_what_was_meant() -> None:
    for prompt in made("typos", 60):
        right = prompt.builds_on[0]
        assert right.text != prompt.text and right.expects == prompt.expects
        assert abs(len(right.text) - len(prompt.text)) <= 2 + 2  # an article may change with its word


def test_controlled_sets_share_their_objects() -> None:
    prompts = made("controlled", 70)
    sets = Counter(each.tags["controlled"] for each in prompts)
    # Ten pairs: two single objects, one pair, two counted, both counted and one sum of each.
    assert sets == {"single object": 20, "multiple objects": 10, "single-object counting": 20,
                    "multiple-object counting": 10, "arithmetic": 10}  # fmt: skip
    for start in range(0, 70, 7):
        kinds = [{each["kind"] for each in objects(prompt)} for prompt in prompts[start : start + 7]]
        assert len(set.union(*kinds)) == 2


def test_another_seed_makes_other_prompts() -> None:
    for each in tasks():
        name = each.spec.name
        assert made(name, 20, seed=1) == made(name, 20, seed=1) != made(name, 20, seed=2)


def test_composed_keeps_the_shares_of_categories_and_every_length_equally_often(tmp_path: Path) -> None:
    file = tmp_path / "subjects.csv"
    rows = [f"animal {n},animals" for n in range(6)] + [f"place {n},places" for n in range(3)] + ["x,things"]
    file.write_text("subject,category\n" + "\n".join(rows))
    prompts = made(f"composed(subjects='{file}')", 40)
    # By hand: 6, 3 and 1 of 10 subjects are 24, 12 and 4 of 40 prompts.
    assert Counter(each.tags["category"] for each in prompts) == {"animals": 24, "places": 12, "things": 4}
    assert len({each.text for each in prompts}) == 40
    own = made("composed", 100)
    assert Counter(each.tags["category"] for each in own) == dict.fromkeys(
        ("people", "animals", "places", "things", "imagined"), 20
    )
    assert Counter(each.tags["length"] for each in made("composed", 40)) == dict.fromkeys("0123", 10)


def test_composed_prompts_are_a_subject_details_and_a_style() -> None:
    for prompt in made("composed", 60, seed=4):
        parts = prompt.text.split(", ")
        assert prompt.expects == {"phrases": parts, "complete": False}
        styled = "style" in prompt.tags
        details = [prompt.tags[name] for name in ("adj1", "adj2") if name in prompt.tags]
        assert parts[1:] == [*details, *([prompt.tags["style"]] if styled else [])]
        assert int(prompt.tags["length"]) == len(details) + styled == len(parts) - 1


def test_composed_refuses_lists_that_cannot_be_read(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("subject,category\ncat,\n")
    with pytest.raises(DataError, match="category is missing") as refused:
        made(f"composed(subjects='{bad}')", 1)
    assert str(refused.value.where).endswith(":2")
    with pytest.raises(DataError, match="cannot be read"):
        made("composed(styles='none.txt')", 1)
    one = tmp_path / "one.csv"
    one.write_text("subject,category\ncat,animals\n")
    details = tmp_path / "details.txt"
    details.write_text("soft light\nfog\n")
    # One subject with none, one or two details in either order (5), and none or one of two styles (3).
    with pytest.raises(UsageError, match="has 15 different prompts"):
        made(f"composed(subjects='{one}', details='{details}', styles='{details}')", 100)


def test_single_words_are_spread_over_senses_and_frequency(data: Path, tmp_path: Path) -> None:
    known = wordnet.find()
    if known is None:
        pytest.skip("no WordNet (Debian: apt-get install wordnet-base); SIGHTLINE_WORDNET names one")
    pytest.importorskip("wordfreq")
    ratings = data / "concreteness" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    prompts = made(f"single_words(concreteness='{ratings}')", 500)
    assert len({prompt.text for prompt in prompts}) == 500
    rated = read_concreteness(ratings)
    groups: Counter[tuple[int, int]] = Counter()
    for prompt in prompts:
        rank, senses = int(prompt.tags["rank"]), int(prompt.tags["senses"])
        assert senses == len(set(known.synsets(prompt.text))) > 0 and 1 <= rank <= 10_000
        assert float(prompt.tags["concreteness"]) == pytest.approx(rated[prompt.text], abs=0.005)
        groups[sum(senses >= least for least in (1, 2, 4, 8)), (rank - 1) // 2500] += 1
    # 16 groups, each with words enough for its part of 500.
    assert len(groups) == 16 and set(groups.values()) == {31, 32}
    # Frequency and number of senses are not mixed up with each other, as they are in any text.
    columns = np.array([(int(each.tags["rank"]), int(each.tags["senses"])) for each in prompts]).T
    assert abs(spearmanr(*columns).statistic) < 0.1
    merged = tmp_path / "merged.txt"
    word = next(prompt.text for prompt in prompts if prompt.tags["senses"] == "3")
    merged.write_text(" ".join(f"{each.part}{each.offset:08d}" for each in set(known.synsets(word))))
    again = made(f"single_words(common=20000, senses='{merged}')", 5000)
    assert {each.tags["senses"] for each in again if each.text == word} <= {"1"}
    with pytest.raises(UsageError, match="commonest words, not 500"):
        made("single_words(common=400)", 500)


def test_single_words_need_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wordfreq")
    monkeypatch.setattr(wordnet, "usual_places", lambda: iter([tmp_path]))
    monkeypatch.delenv(wordnet.VARIABLE, raising=False)
    with pytest.raises(MissingPackage, match="WordNet, which is not here") as caught:
        made("single_words", 5)
    assert wordnet.VARIABLE in caught.value.remedy
