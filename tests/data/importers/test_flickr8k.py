"""Flickr8k: photos, captions as prompts, votes of experts and crowd, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.data.import_ import import_, recognise
from sightline.data.imports import undo
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import Image, ImageKey, Item, Judgement, Prompt, PromptKey, Record, Truth
from sightline.study.study import create_study

Run = Callable[..., list[Record]]
Small = Callable[..., Path]

PAIR = "image,caption_id,caption"
FILES = {
    "captions": "image,n,caption\n"
    + "".join(f"{photo}.jpg,{n},{photo} {n}\n" for photo in ("cat", "dog") for n in range(5)),
    "expert_ratings": f"{PAIR},e1,e2,e3\ncat.jpg,dog.jpg#2,dog 2,1,1,2\n",
    "crowdflower": f"{PAIR},frac_yes,n_yes,n_no\n"
    "cat.jpg,cat.jpg#2,cat 2,1.0,3,0\ncat.jpg,dog.jpg#2,dog 2,0.333333333333333,1,2\n",
}


@pytest.fixture(scope="module")
def published(data: Path) -> list[Record]:
    from sightline import registry

    return list(registry.configure("importer", "flickr8k").load()(Source(data / "flickr8k_400")))


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """Two photos; files a test names are put in place of others, or left out."""

    def write(**changed: str | None) -> Path:
        folder = tmp_path / "box"
        folder.mkdir(exist_ok=True)
        for name, text in (FILES | changed).items():
            if text is not None:
                (folder / f"{name}.csv").write_text(text)
        return folder

    return write


def votes(records: list[Record], question: str) -> list[Judgement]:
    return [record for record in records if isinstance(record, Judgement) and record.question == question]


def test_photos_and_captions(published: list[Record]) -> None:
    photos = [record for record in published if isinstance(record, Image)]
    assert len(photos) == 400 and {len(photo.captions) for photo in photos} == {5}
    assert all(Path(photo.path or "").is_file() for photo in photos)
    prompts = {record.key: record.text for record in published if isinstance(record, Prompt)}
    assert len(prompts) == 2_000
    own = [record for record in published if isinstance(record, Truth)]
    captions = {photo.key: photo.captions for photo in photos}
    assert len(own) == 2_000
    for truth in own:
        assert isinstance(truth.item.prompt, PromptKey) and truth.item.image is not None
        assert prompts[truth.item.prompt] in captions[truth.item.image] and truth.rule == "own_caption"


def test_votes(published: list[Record]) -> None:
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


def test_the_crowds_counts(published: list[Record], data: Path) -> None:
    import polars as pl

    table = pl.read_csv(data / "flickr8k_400" / "crowdflower.csv")
    counted: Counter[float | None] = Counter()
    for vote in votes(published, "crowd_fit"):
        counted[vote.value] += vote.n
    assert counted == {1.0: table["n_yes"].sum(), 0.0: table["n_no"].sum()}


def test_a_small_one_in_full(small: Small, run: Run) -> None:
    found = [record._replace(at="") for record in run("flickr8k", small())]
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


def test_it_comes_in_once_and_goes_without_a_trace(small: Small, tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study:
        first = import_(study, small())
        assert first.layout == "flickr8k" and first.number is not None
        # Three votes of experts, of which two are alike, and three counts.
        assert first.counts["judgements"] == 6 and first.counts["captions"] == 10
        assert import_(study, small()).already
        undo(study, first.number)
        assert import_(study, small()).counts == first.counts


def test_photos_are_all_here_or_none(small: Small, png: bytes) -> None:
    folder = small()
    (folder / "images").mkdir()
    for name in ("cat.jpg", "cow.jpg"):
        (folder / "images" / name).write_bytes(png)
    importer, _ = recognise(folder)
    with pytest.raises(DataError, match=r"there is no image 'images/dog\.jpg'") as caught:
        list(importer.load()(Source(folder)))
    assert caught.value.where == "captions.csv:7"
    (folder / "images" / "dog.jpg").write_bytes(png)
    source = Source(folder)
    assert all(image.path for image in importer.load()(source) if isinstance(image, Image))
    assert source.skipped == {"photos that captions.csv does not name": ["images/cow.jpg"]}


@pytest.mark.parametrize("missing", FILES)
def test_half_of_it(small: Small, missing: str) -> None:
    folder = small(**{missing: None})
    importer, _ = recognise(folder)
    with pytest.raises(DataError, match=f"{missing}.csv is missing, so this is only a part"):
        list(importer.load()(Source(folder)))


def test_judged_pairs_alone_are_not_taken_for_captions(small: Small, tmp_path: Path) -> None:
    folder = small()
    with create_study(tmp_path / "study") as study, pytest.raises(DataError, match="only a part of Flickr8k"):
        import_(study, folder / "crowdflower.csv")


BAD: dict[str, tuple[dict[str, str | None], str, str]] = {
    "cut short": (
        {"captions": FILES["captions"].rsplit("dog", 2)[0]},
        "captions.csv:10",
        "has not 5 captions",
    ),
    "a caption of nobody": (
        {"expert_ratings": f"{PAIR},e1,e2,e3\ncat.jpg,cow.jpg#2,cow,1,1,1\n"},
        "expert_ratings.csv:2",
        "caption cow.jpg#2 is not there",
    ),
    "another caption": (
        {"expert_ratings": f"{PAIR},e1,e2,e3\ncat.jpg,dog.jpg#2,dog 3,1,1,1\n"},
        "expert_ratings.csv:2",
        "reads otherwise",
    ),
    "another photo": (
        {"expert_ratings": f"{PAIR},e1,e2,e3\ncow.jpg,dog.jpg#2,dog 2,1,1,1\n"},
        "expert_ratings.csv:2",
        "photo cow.jpg is not in captions.csv",
    ),
    "off the scale": (
        {"expert_ratings": f"{PAIR},e1,e2,e3\ncat.jpg,dog.jpg#2,dog 2,1,5,1\n"},
        "expert_ratings.csv:2",
        "e2 must be 1, 2, 3 or 4",
    ),
    "a pair twice": (
        {"crowdflower": FILES["crowdflower"] + "cat.jpg,dog.jpg#2,dog 2,0,0,3\n"},
        "crowdflower.csv:4",
        "this pair is there twice",
    ),
    "a share that is not": (
        {"crowdflower": f"{PAIR},frac_yes,n_yes,n_no\ncat.jpg,cat.jpg#2,cat 2,0.5,3,0\n"},
        "crowdflower.csv:2",
        "frac_yes must be the proportion of 3 yes and 0 no",
    ),
    "nobody's votes": (
        {"crowdflower": f"{PAIR},frac_yes,n_yes,n_no\ncat.jpg,cat.jpg#2,cat 2,0,0,0\n"},
        "crowdflower.csv:2",
        "frac_yes must be",
    ),
    "another data set": ({"captions": "file,text\na,b\n"}, "captions.csv:1", "no column image"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(small: Small, run: Run, name: str) -> None:
    changed, where, what = BAD[name]
    with pytest.raises(DataError, match=what) as caught:
        run("flickr8k", small(**changed))
    assert caught.value.where == where and caught.value.remedy
