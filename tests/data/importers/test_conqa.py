"""ConQA: the counts of its page, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_, recognise
from sightline.data.imports import undo
from sightline.errors import DataError, UsageError
from sightline.records import Image, ImageKey, Item, Judgement, Prompt, PromptKey, Question, Record, Truth
from sightline.study.study import create_study

Run = Callable[..., list[Record]]
Small = Callable[..., Path]


@pytest.fixture(scope="module")
def published(data: Path) -> list[Record]:
    from sightline import registry
    from sightline.data.sources import Source

    return list(registry.configure("importer", "conqa").load()(Source(data / "conqa")))


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """A ConQA of two queries; what a test names is put in the place of a file's content."""

    def write(**changed: Any) -> Path:
        files: dict[str, Any] = {
            "seed": {
                "0": {"Text": "people chopping", "Conceptual": False, "Seeds": [11, 12]},
                "3": {"Text": "working class life", "Conceptual": True, "Seeds": [13]},
            },
            "mturk": {"0": {"14": [3, 0, 1], "12": [9, 0, 0]}, "3": {"14": [0, 2, 1]}},
            "exp_GPT_J6B": {"0": ["people cooking", "cooking "], "3": ["labour", "toil"]},
        } | changed
        folder = tmp_path / "conqa"
        folder.mkdir(exist_ok=True)
        images = files.pop("vg_subset", "11\n12\n13\n14\n15\n")
        if images is not None:
            (folder / "vg_subset.txt").write_text(images)
        for name, content in files.items():
            if content is not None:
                text = content if isinstance(content, str) else json.dumps(content)
                (folder / f"{name}.json").write_text(text)
        return folder

    return write


def prompts(records: list[Record]) -> list[Prompt]:
    return [record for record in records if isinstance(record, Prompt)]


def votes(records: list[Record]) -> list[Judgement]:
    return [record for record in records if isinstance(record, Judgement)]


def test_queries_and_rephrasings(published: list[Record]) -> None:
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


def test_votes_are_counts_without_annotators(published: list[Record]) -> None:
    counted: Counter[float] = Counter()
    a_pair: Counter[Item] = Counter()
    for vote in votes(published):
        assert vote.annotator is None and vote.value is not None
        counted[vote.value] += vote.n
        a_pair[vote.item] += vote.n
    assert counted == {1.0: 15_657, 0.0: 10_437, 0.5: 3_556}
    assert len(a_pair) == 8_407 and min(a_pair.values()) >= 3


def test_the_search_space_and_what_is_relevant_in_it(published: list[Record]) -> None:
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


def test_a_small_one_in_full(small: Small, run: Run) -> None:
    found = [record._replace(at="") for record in run("conqa", small())]
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


def test_it_comes_in_once_and_goes_without_a_trace(small: Small, tmp_path: Path) -> None:
    folder = small()
    with create_study(tmp_path / "study") as study:
        first = import_(study, folder)
        assert first.layout == "conqa" and not first.skipped and first.number is not None
        assert import_(study, folder).already
        undo(study, first.number)
        assert import_(study, folder).counts == first.counts


@pytest.mark.parametrize("missing", ["seed", "mturk", "exp_GPT_J6B", "vg_subset"])
def test_half_of_it(small: Small, missing: str) -> None:
    folder = small(**{missing: None})
    importer, _ = recognise(folder)
    from sightline.data.sources import Source

    with pytest.raises(DataError, match=f"{missing}.* is missing, so this is only a part of ConQA"):
        list(importer.load()(Source(folder)))


def test_the_list_of_images_alone_is_not_taken_for_prompts(small: Small, tmp_path: Path) -> None:
    folder = small()
    with create_study(tmp_path / "study") as study, pytest.raises(DataError, match="only a part of ConQA"):
        import_(study, folder / "vg_subset.txt")


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "a query without votes": ({"mturk": {"0": {"14": [1, 0, 0]}}}, "mturk.json", "query 3 of seed.json is m"),
    "a query nobody wrote": (
        {"exp_GPT_J6B": {"0": ["x"], "3": ["y"], "9": ["z"]}},
        "exp_GPT_J6B.json, query 9",
        "seed.json has no such query",
    ),
    "another list of images": ({"vg_subset": "11\n12\n13\n"}, "mturk.json, query 0, image 14", "vg_subset"),
    "a seed outside the collection": ({"vg_subset": "11\n13\n14\n"}, "seed.json, query 0", "image 12 is not"),
    "not a list of images": ({"vg_subset": "11\na dog\n"}, "vg_subset.txt:2", "'a dog' is not the id"),
    "an image twice": ({"vg_subset": "11\n12\n11\n"}, "vg_subset.txt:3", "listed twice"),
    "votes of another kind": (
        {"mturk": {"0": {"14": [3, 0]}, "3": {"14": [1, 1, 1]}}},
        "mturk.json, query 0, image 14",
        "not counts of relevant",
    ),
    "negative votes": (
        {"mturk": {"0": {"14": [3, 0, -1]}, "3": {"14": [1, 1, 1]}}},
        "mturk.json, query 0, image 14",
        "not counts",
    ),
    "no votes at all": (
        {"mturk": {"0": {"14": [0, 0, 0]}, "3": {"14": [1, 1, 1]}}},
        "mturk.json, query 0, image 14",
        "not counts",
    ),
    "a repeated key": (
        {"mturk": '{"0": {"14": [1, 0, 0], "14": [0, 1, 0]}, "3": {"14": [1, 1, 1]}}'},
        "mturk.json",
        "the key '14' is there twice",
    ),
    "cut short": ({"mturk": '{"0": {"14": [1, 0, 0]'}, "mturk.json:1", "not JSON"),
    "another data set": ({"seed": {"0": {"prompt": "a dog"}, "3": {}}}, "seed.json, query 3", "not ConQA's"),
    "a list": ({"seed": [1, 2]}, "seed.json", "not ConQA's"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(small: Small, run: Run, name: str) -> None:
    changed, where, what = BAD[name]
    with pytest.raises(DataError, match=what) as caught:
        run("conqa", small(**changed))
    assert caught.value.where == where and caught.value.remedy


def test_two_data_sets_in_one_folder(small: Small) -> None:
    folder = small()
    header = "name,prompt,adj1,adj2,style,mos_quality,std_quality,mos_align,std_align\n"
    (folder / "data.csv").write_text(header)
    with pytest.raises(UsageError, match="agiqa3k or conqa"):
        recognise(folder)
