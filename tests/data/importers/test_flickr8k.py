"""Flickr8k: photos, captions as prompts, votes of experts and crowd, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_, recognise
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import Image, ImageKey, Item, Judgement, Prompt, PromptKey, Truth
from sightline.study.study import create_study

Run = Callable[..., list[Any]]
Example = Callable[..., Path]

PAIR = "image,caption_id,caption"


@pytest.fixture(scope="module")
def published(data: Path, run: Run) -> list[Any]:
    return run("flickr8k", data / "flickr8k_400")


def votes(records: list[Any], question: str) -> list[Judgement]:
    return [record for record in records if isinstance(record, Judgement) and record.question == question]


def test_photos_and_captions(published: list[Any]) -> None:
    photos = [record for record in published if isinstance(record, Image)]
    assert len(photos) == 400 and {len(photo.captions) for photo in photos} == {5}
    assert all(Path(photo.path or "").is_file() for photo in photos)
    prompts = {record.key: record.text for record in published if isinstance(record, Prompt)}
    assert len(prompts) == 2_000
    own = [record for record in published if isinstance(record, Truth)]
    captions = {photo.key: photo.captions for photo in photos}
    assert len(own) == 2_000
    for truth in own:
        assert prompts[truth.item.prompt] in captions[truth.item.image] and truth.rule == "own_caption"


def test_votes(published: list[Any]) -> None:
    experts, crowd = votes(published, "expert_fit"), votes(published, "crowd_fit")
    assert len(experts) == 3 * 1_002 and len({vote.item for vote in experts}) == 1_002
    # Rows as (e1, e2, e3): 692 + 561 + 406 ones, 182 + 269 + 353 twos, 50 + 83 + 138 threes, the rest fours.
    assert Counter(vote.value for vote in experts) == {1.0: 1_659, 2.0: 804, 3.0: 271, 4.0: 272}
    assert len({vote.item for vote in crowd}) == 8_279
    assert {vote.annotator for vote in (*experts, *crowd)} == {None}


def test_expert_columns_are_nobody_in_particular(data: Path) -> None:
    """Each row's three ratings stand in rising order: were a column a person, that could not be."""
    rows = list(Source(data / "flickr8k_400").rows("expert_ratings.csv"))
    ratings = [[row.whole(seat) for seat in ("e1", "e2", "e3")] for row in rows]
    assert all(row == sorted(row) for row in ratings) and any(row[0] < row[2] for row in ratings)


def test_the_crowds_counts(published: list[Any], data: Path) -> None:
    import polars as pl

    table = pl.read_csv(data / "flickr8k_400" / "crowdflower.csv")
    counted: Counter[float] = Counter()
    for vote in votes(published, "crowd_fit"):
        counted[vote.value] += vote.n
    assert counted == {1.0: table["n_yes"].sum(), 0.0: table["n_no"].sum()}


def test_the_example_in_full(example: Example, run: Run) -> None:
    found = [record._replace(at="") for record in run("flickr8k", example("flickr8k"))]
    cat, dog = ImageKey("flickr8k", "cat.jpg"), ImageKey("flickr8k", "dog.jpg")
    assert [record for record in found if isinstance(record, Image)] == [
        Image(cat, None, [f"cat {n}" for n in range(5)]),
        Image(dog, None, [f"dog {n}" for n in range(5)]),
    ]
    third = PromptKey("flickr8k", "dog.jpg#2")
    assert Prompt(third, "dog 2") in found
    assert Truth("relevance", Item(third, image=dog), 1.0, rule="own_caption") in found
    strange = Item(third, image=cat)
    assert votes(found, "expert_fit") == [
        Judgement("expert_fit", strange, value) for value in (1.0, 1.0, 2.0)
    ]
    assert votes(found, "crowd_fit") == [
        Judgement("crowd_fit", Item(PromptKey("flickr8k", "cat.jpg#2"), image=cat), 1.0, n=3),
        Judgement("crowd_fit", strange, 1.0, n=1),
        Judgement("crowd_fit", strange, 0.0, n=2),
    ]


def test_photos_are_all_here_or_none(
    example: Example, refuses: Callable[..., None], run: Run, left_out: Callable[..., Any]
) -> None:
    photos = {"images/cat.jpg": "red", "images/cow.jpg": "tan"}
    refuses("flickr8k", photos, "captions.csv:7", r"there is no image 'images/dog\.jpg'")
    folder = example("flickr8k", {**photos, "images/dog.jpg": "blue"})
    assert all(image.path for image in run("flickr8k", folder, Image))
    assert left_out("flickr8k", folder) == {"photos that captions.csv does not name": ["images/cow.jpg"]}


@pytest.mark.parametrize("missing", ["captions.csv", "expert_ratings.csv", "crowdflower.csv"])
def test_half_of_it(example: Example, run: Run, missing: str) -> None:
    folder = example("flickr8k", {missing: None})
    assert recognise(folder)[0].name == "flickr8k"
    with pytest.raises(DataError, match=f"{missing} is missing, so this is only a part"):
        run("flickr8k", folder)


def test_judged_pairs_alone_are_not_taken_for_captions(example: Example, tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study, pytest.raises(DataError, match="only a part of Flickr8k"):
        import_(study, example("flickr8k") / "crowdflower.csv")


EXPERTS = f"{PAIR},e1,e2,e3\n"
CROWD = f"{PAIR},frac_yes,n_yes,n_no\n"
BAD = {
    "cut short": ("captions", "image,n,caption\ncat.jpg,0,a\ncat.jpg,1,b\n", 3, "has not 5 captions"),
    "no such caption": (
        "expert_ratings",
        EXPERTS + "cat.jpg,cow.jpg#2,cow,1,1,1\n",
        2,
        "cow.jpg#2 is not there",
    ),
    "another caption": ("expert_ratings", EXPERTS + "cat.jpg,dog.jpg#2,dog 3,1,1,1\n", 2, "reads otherwise"),
    "another photo": (
        "expert_ratings",
        EXPERTS + "cow.jpg,dog.jpg#2,dog 2,1,1,1\n",
        2,
        "photo cow.jpg is not in",
    ),
    "off the scale": (
        "expert_ratings",
        EXPERTS + "cat.jpg,dog.jpg#2,dog 2,1,5,1\n",
        2,
        "e2 must be 1, 2, 3 or 4",
    ),
    "a pair twice": (
        "crowdflower",
        CROWD + "cat.jpg,dog.jpg#2,dog 2,0,0,3\n" * 2,
        3,
        "this pair is there twice",
    ),
    "not their proportion": (
        "crowdflower",
        CROWD + "cat.jpg,cat.jpg#2,cat 2,0.5,3,0\n",
        2,
        "frac_yes must be the proportion of 3 yes and 0 no",
    ),
    "nobody's votes": ("crowdflower", CROWD + "cat.jpg,cat.jpg#2,cat 2,0,0,0\n", 2, "frac_yes must be"),
    "another data set": ("captions", "file,text\na,b\n", 1, "no column image"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(refuses: Callable[..., None], name: str) -> None:
    file, text, line, what = BAD[name]
    refuses("flickr8k", {f"{file}.csv": text}, f"{file}.csv:{line}", what)
