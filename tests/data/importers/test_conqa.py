"""ConQA: the counts of its page, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_, recognise
from sightline.errors import DataError, UsageError
from sightline.records import Image, ImageKey, Item, Judgement, Prompt, PromptKey, Question, Truth
from sightline.study.study import create_study

Run = Callable[..., list[Any]]
Example = Callable[..., Path]


@pytest.fixture(scope="module")
def published(data: Path, run: Run) -> list[Any]:
    return run("conqa", data / "conqa")


def prompts(records: list[Any]) -> list[Prompt]:
    return [record for record in records if isinstance(record, Prompt)]


def votes(records: list[Any]) -> list[Judgement]:
    return [record for record in records if isinstance(record, Judgement)]


def test_queries_and_rephrasings(published: list[Any]) -> None:
    queries = [prompt for prompt in prompts(published) if not prompt.links]
    assert Counter(query.tags["kind"] for query in queries) == {"conceptual": 50, "descriptive": 30}
    assert {int(query.key.ref) for query in queries} == set(range(82)) - {18, 41}
    words = sorted(len(query.text.split()) for query in queries)
    assert sum(words) / 80 == 3.375 and (words[39] + words[40]) / 2 == 3 and (words[0], words[-1]) == (1, 7)
    # Ten a query, 80 queries.
    rephrased = [prompt for prompt in prompts(published) if prompt.links]
    assert len(rephrased) == 800
    originals = Counter(link for prompt in rephrased for link in prompt.links)
    assert originals == {("rephrases", query.key): 10 for query in queries}


def test_votes_are_counts_without_annotators(published: list[Any]) -> None:
    counted: Counter[float] = Counter()
    a_pair: Counter[Item] = Counter()
    for vote in votes(published):
        assert vote.annotator is None and vote.value is not None
        counted[vote.value] += vote.n
        a_pair[vote.item] += vote.n
    assert counted == {1.0: 15_657, 0.0: 10_437, 0.5: 3_556}
    assert len(a_pair) == 8_407 and min(a_pair.values()) >= 3


def test_the_search_space_and_what_is_relevant_in_it(published: list[Any]) -> None:
    collection = [record.key for record in published if isinstance(record, Image)]
    assert len(collection) == len(set(collection)) == 43_413
    judged = {vote.item.image for vote in votes(published)}
    seeds = [record for record in published if isinstance(record, Truth)]
    assert {seed.question for seed in seeds} == {"seed"} and len(seeds) == 607
    space = judged - {seed.item.image for seed in seeds}
    assert len(judged) == 6_623 and len(space) == 6_390 and judged < set(collection)
    # Unanimous: every vote is 1, which is what a mean of 1 says.
    values: dict[Item, set[float | None]] = {}
    for vote in votes(published):
        values.setdefault(vote.item, set()).add(vote.value)
    relevant = [pair for pair, said in values.items() if said == {1.0} and pair.image in space]
    assert len(relevant) == 1_693
    kinds = {prompt.key: prompt.tags["kind"] for prompt in prompts(published)}
    evaluated = {pair.prompt for pair in relevant}
    assert Counter(kinds[key] for key in evaluated if isinstance(key, PromptKey)) == {
        "conceptual": 49,
        "descriptive": 29,
    }


def test_the_example_in_full(example: Example, run: Run) -> None:
    found = [record._replace(at="") for record in run("conqa", example("conqa"))]
    first, second = PromptKey("conqa", "0"), PromptKey("conqa", "3")
    names = {n: ImageKey("conqa", str(n)) for n in range(11, 16)}
    assert [record for record in found if isinstance(record, Image)] == [Image(key) for key in names.values()]
    assert prompts(found) == [
        Prompt(first, "people chopping", {"kind": "descriptive"}),
        Prompt(second, "working class life", {"kind": "conceptual"}),
        *(
            Prompt(
                PromptKey("conqa", ref),
                text,
                {"kind": kind, "rephrased_by": "GPT-J-6B"},
                [("rephrases", PromptKey("conqa", ref[0]))],
            )
            for ref, text, kind in (
                ("0.0", "people cooking", "descriptive"),
                ("0.1", "cooking ", "descriptive"),
                ("3.0", "labour", "conceptual"),
                ("3.1", "toil", "conceptual"),
            )
        ),
    ]
    assert votes(found) == [
        Judgement("relevance", Item(first, image=names[14]), 1.0, n=3),
        Judgement("relevance", Item(first, image=names[14]), 0.5, n=1),
        Judgement("relevance", Item(first, image=names[12]), 1.0, n=9),
        Judgement("relevance", Item(second, image=names[14]), 0.0, n=2),
        Judgement("relevance", Item(second, image=names[14]), 0.5, n=1),
    ]
    assert [(t.item.prompt, t.item.image) for t in found if isinstance(t, Truth)] == [
        (first, names[11]),
        (first, names[12]),
        (second, names[13]),
    ]
    assert {q.name for q in found if isinstance(q, Question)} == {"relevance", "seed"}


@pytest.mark.parametrize("missing", ["seed.json", "mturk.json", "exp_GPT_J6B.json", "vg_subset.txt"])
def test_half_of_it(example: Example, run: Run, missing: str) -> None:
    folder = example("conqa", {missing: None})
    assert recognise(folder)[0].name == "conqa"
    with pytest.raises(DataError, match=f"{missing} is missing, so this is only a part of ConQA"):
        run("conqa", folder)


def test_the_list_of_images_alone_is_not_taken_for_prompts(example: Example, tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study, pytest.raises(DataError, match="only a part of ConQA"):
        import_(study, example("conqa") / "vg_subset.txt")


VOTED = "mturk.json, query 0, image 14"
BAD = {
    "a query without votes": (
        "mturk.json",
        {"0": {"14": [1, 0, 0]}},
        "mturk.json",
        "query 3 of seed.json is m",
    ),
    "a query nobody wrote": (
        "exp_GPT_J6B.json",
        {"0": ["x"], "3": ["y"], "9": ["z"]},
        "exp_GPT_J6B.json, query 9",
        "seed.json has no such query",
    ),
    "another list of images": ("vg_subset.txt", "11\n12\n13\n", VOTED, "vg_subset"),
    "a seed outside the collection": (
        "vg_subset.txt",
        "11\n13\n14\n",
        "seed.json, query 0",
        "image 12 is not",
    ),
    "not a list of images": ("vg_subset.txt", "11\na dog\n", "vg_subset.txt:2", "'a dog' is not the id"),
    "an image twice": ("vg_subset.txt", "11\n12\n11\n", "vg_subset.txt:3", "listed twice"),
    "votes of another kind": (
        "mturk.json",
        {"0": {"14": [3, 0]}, "3": {"14": [1, 1, 1]}},
        VOTED,
        "not counts of relevant",
    ),
    "negative votes": ("mturk.json", {"0": {"14": [3, 0, -1]}, "3": {"14": [1, 1, 1]}}, VOTED, "not counts"),
    "no votes at all": ("mturk.json", {"0": {"14": [0, 0, 0]}, "3": {"14": [1, 1, 1]}}, VOTED, "not counts"),
    "a repeated key": (
        "mturk.json",
        '{"0": {"14": [1, 0, 0], "14": [0, 1, 0]}, "3": {"14": [1, 1, 1]}}',
        "mturk.json",
        "the key '14' is there twice",
    ),
    "cut short": ("mturk.json", '{"0": {"14": [1, 0, 0]', "mturk.json:1", "not JSON"),
    "another data set": (
        "seed.json",
        {"0": {"prompt": "a dog"}, "3": {}},
        "seed.json, query 3",
        "not ConQA's",
    ),
    "a list": ("seed.json", [1, 2], "seed.json", "not ConQA's"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(refuses: Callable[..., None], name: str) -> None:
    file, content, where, what = BAD[name]
    refuses("conqa", {file: content if isinstance(content, str) else json.dumps(content)}, where, what)


def test_two_data_sets_in_one_folder(example: Example) -> None:
    header = "name,prompt,adj1,adj2,style,mos_quality,std_quality,mos_align,std_align\n"
    with pytest.raises(UsageError, match="agiqa3k or conqa"):
        recognise(example("conqa", {"data.csv": header}))
