"""Rules about prompts, rankings and collections: planted faults and clean data."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sightline.data.check import check
from sightline.data.checks import long_prompts
from sightline.records import Answer, Image, ImageKey, Item, Prompt, PromptKey, Question, System, Truth
from sightline.study.study import create_study
from sightline.study.writing.loading import load

Find = Callable[..., list[Any]]
Picture = Callable[..., str]
A, B, C = (PromptKey("suite", ref) for ref in "abc")
SEARCH = System("search", "retriever", "photos")


def ranking(prompt: PromptKey, scores: list[float | None]) -> list[Any]:
    return [Answer(prompt, "search", n, ImageKey("photos", f"{n}"), score) for n, score in enumerate(scores)]


def test_tied_scores(find: Find) -> None:
    records = [SEARCH, *ranking(A, [3.0, 2.0, 2.0, 2.0]), *ranking(B, [3.0, 2.0, 1.0])]
    (found,) = find("ranking_scores", records)
    assert (found.finding.n, found.finding.severity) == (1, "warning")
    assert found.finding.what == "rankings of search with tied scores (2 places tied with the one before)"
    assert list(found.finding.examples) == ["suite/a: a red ball"]


def test_scores_that_contradict_positions(find: Find) -> None:
    records = [SEARCH, *ranking(A, [3.0, 2.0, 2.5]), *ranking(B, [3.0, 2.0, 1.0])]
    (found,) = find("ranking_scores", records)
    assert (found.finding.n, found.finding.severity) == (1, "error")
    assert list(found.finding.examples) == ["suite/a: a red ball"]


@pytest.mark.parametrize(
    "scores", [[3.0, 2.0, 1.0], [0.1, 0.2, 0.3], [None, None, None]], ids=["scores", "distances", "none"]
)
def test_rankings_in_order(find: Find, scores: list[float | None]) -> None:
    assert find("ranking_scores", [SEARCH, *ranking(A, scores), *ranking(B, scores)]) == []


def test_one_file_under_two_names_in_a_ranking(find: Find, picture: Picture) -> None:
    names = {"x": picture("same"), "y": picture("same"), "z": picture("other")}
    records = [
        SEARCH,
        *(Image(ImageKey("photos", name), path) for name, path in names.items()),
        *(Answer(A, "search", n, ImageKey("photos", name)) for n, name in enumerate("xyz")),
        *(Answer(B, "search", n, ImageKey("photos", name)) for n, name in enumerate("xz")),
    ]
    (found,) = find("repeated_answers", records)
    assert (found.finding.n, found.finding.severity) == (1, "warning")
    assert list(found.finding.examples) == ["suite/a: a red ball"]


def test_relevant_images_missing(find: Find, picture: Picture) -> None:
    relevance = Question("relevance", "ordinal", 0, 1, 1)
    held, bare, elsewhere = (ImageKey("photos", "1"), ImageKey("photos", "2"), ImageKey("fotos", "1"))
    records = [
        SEARCH,
        relevance,
        Image(held, picture("held")),
        Truth("relevance", Item(A, image=held), 1.0),
        Truth("relevance", Item(A, image=bare), 1.0),
        Truth("relevance", Item(B, image=elsewhere), 1.0),
        # Not relevant, so nobody needs to find it.
        Truth("relevance", Item(B, image=ImageKey("photos", "3")), 0.0),
    ]
    outside, named = find("relevant_images_missing", records)
    assert outside.finding.what == "relevant images outside what is searched (photos)"
    assert list(outside.finding.examples) == ["fotos/1"]
    assert named.finding.what == "relevant images of photos that are known by name only"
    assert (named.finding.severity, list(named.finding.examples)) == ("warning", ["photos/2"])


def test_relevance_published_with_names_alone_is_clean(find: Find) -> None:
    records = [
        SEARCH,
        Question("relevance", "ordinal", 0, 1, 1),
        Truth("relevance", Item(A, image=ImageKey("photos", "1")), 1.0),
    ]
    assert find("relevant_images_missing", records) == []


def collection(name: str, images: int, captions: int) -> list[Any]:
    said = [f"caption {n}" for n in range(captions)]
    return [Image(ImageKey(name, str(n)), None, said) for n in range(images)]


@pytest.mark.parametrize(
    ("name", "images", "captions", "expected"),
    [
        ("flickr30k-1k", 1000, 5, []),
        # The wrong image set under the right name.
        ("flickr30k-1k", 999, 5, [("warning", 999)]),
        # One caption an image instead of five.
        ("Flickr30k 1K test", 1000, 1, [("warning", 1000)]),
        ("MS-COCO_5k", 100, 5, [("warning", 100)]),
        ("flickr8k", 40, 5, [("warning", 40)]),
        ("flickr8k", 40, 4, [("warning", 40), ("warning", 40)]),
        # A name without a size promises captions alone.
        ("coco", 3, 1, [("note", 3)]),
        ("coco", 3, 6, []),
        ("coco", 3, 0, []),
        ("coco25k", 3, 5, []),
        ("photos-1k", 1400, 0, []),
        ("photos-1k", 1600, 0, [("warning", 1600)]),
        ("w1kp", 3, 0, []),
        ("photos", 3, 1, []),
    ],
)
def test_collection_promises(
    find: Find, name: str, images: int, captions: int, expected: list[tuple[str, int]]
) -> None:
    found = find("collection_promises", [*collection(name, images, captions)])
    assert [(each.finding.severity, each.finding.n) for each in found] == expected


def test_the_average_number_of_captions_is_told(find: Find) -> None:
    records = [*collection("coco", 3, 5), Image(ImageKey("coco", "x"), None, ["one"])]
    (found,) = find("collection_promises", records)
    # (3 * 5 + 1) / 4 = 4
    assert found.finding.n == 1 and "(4.00 on average)" in found.finding.what


@pytest.fixture
def without_vocabulary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(long_prompts, "PACKAGES", ())
    long_prompts._merges.cache_clear()
    yield
    long_prompts._merges.cache_clear()


@pytest.mark.usefixtures("without_vocabulary")
def test_long_prompts_without_a_vocabulary(find: Find) -> None:
    records = [
        # 75 words and the two ends are 77, the most that fits.
        Prompt(A, "ball " * 75),
        # 76 words are certainly too many.
        Prompt(B, "Ball " * 76),
        # 40 words of 11 letters: at least 42 tokens, by estimate 2 a word and 82.
        Prompt(C, "magnificent " * 40),
    ]
    certain, probable = find("long_prompts", records, prompts=())
    assert "certainly exceed the 77 tokens" in certain.finding.what
    assert (certain.finding.severity, certain.finding.examples[0][:7]) == ("warning", "suite/b")
    assert "an estimate" in probable.finding.what
    assert (probable.finding.severity, probable.finding.examples[0][:7]) == ("note", "suite/c")


@pytest.mark.usefixtures("without_vocabulary")
def test_long_prompts_with_a_vocabulary(find: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary that knows "ball" as a whole and nothing else: other words fall into their letters."""
    package = tmp_path / "site" / "small_clip"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    merges = ["b a", "l l</w>", "ba ll</w>"]
    vocabulary = "\n".join(["#version", *merges])
    (package / "bpe_simple_vocab_16e6.txt.gz").write_bytes(gzip.compress(vocabulary.encode()))
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(long_prompts, "PACKAGES", ("small_clip",))
    long_prompts._merges.cache_clear()
    records = [
        Prompt(A, "ball " * 75),
        # 26 words of 3 letters are 78 tokens and two ends.
        Prompt(B, "cat " * 26),
        # 25 of them are 75 and two ends: 77.
        Prompt(C, "cat " * 25),
    ]
    (found,) = find("long_prompts", records, prompts=())
    assert found.finding.what == "prompts that exceed the 77 tokens that CLIP reads"
    assert (found.finding.n, found.finding.examples[0][:7]) == (1, "suite/b")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a red ball", 3),
        ("It's 2024!", 7),  # it 's 2 0 2 4 !
        ("it\u2019s", 2),  # CLIP straightens quotation marks
        ("a &amp;amp; b", 3),  # and resolves entities twice
        ("snake_case -- twice", 5),  # snake _ case -- twice
        ("e\u0301te\u0301", 1),  # letters with their marks are composed first
        ("\u732b\u3068\u82b1", 1),
        ("", 0),
    ],
)
def test_pieces_of_a_text(text: str, pieces: int) -> None:
    assert len(long_prompts._pieces(text)) == pieces


def test_ranked_images_of_another_collection(find: Find, picture: Picture) -> None:
    known, strange, other = ImageKey("photos", "1"), ImageKey("photos", "2"), ImageKey("pictures", "1")
    records = [
        SEARCH,
        Image(known, picture("known")),
        Image(strange),
        *(Answer(A, "search", n, key) for n, key in enumerate((known, strange, other))),
        Answer(B, "search", 0, known),
    ]
    elsewhere, bare = find("ranked_images_missing", records)
    assert (elsewhere.finding.severity, elsewhere.finding.n) == ("error", 1)
    assert list(elsewhere.finding.examples) == ["pictures/1"]
    assert (bare.finding.severity, list(bare.finding.examples)) == ("warning", ["photos/2"])


def test_runs_published_with_names_alone_are_clean(find: Find) -> None:
    assert find("ranked_images_missing", [SEARCH, *ranking(A, [3.0, 2.0])]) == []


def relevance(prompt: PromptKey, *names: str) -> list[Any]:
    return [Truth("relevance", Item(prompt, image=ImageKey("photos", name)), 1.0) for name in names]


def test_relevance_of_another_collection(find: Find) -> None:
    asked = Question("relevance", "ordinal", 0, 1, 1)
    rankings = [*ranking(A, [3.0, 2.0]), *ranking(B, [3.0, 2.0])]
    records = [SEARCH, asked, *rankings, *relevance(A, "a1.jpg"), *relevance(B, "b1.jpg")]
    (found,) = find("rankings_unjudged", records)
    assert (found.finding.severity, found.finding.n) == ("error", 2)
    assert "another collection" in found.finding.remedy


def test_a_few_rankings_without_a_judged_image(find: Find) -> None:
    asked = Question("relevance", "ordinal", 0, 1, 1)
    rankings = [*ranking(A, [3.0, 2.0]), *ranking(B, [3.0, 2.0]), *ranking(C, [1.0])]
    # A's first image is judged, none of B's is; for C nobody judged anything, which is no fault of the run.
    records = [SEARCH, asked, *rankings, *relevance(A, "0"), *relevance(B, "9")]
    (found,) = find("rankings_unjudged", records)
    assert (found.finding.severity, found.finding.n) == ("warning", 1)
    assert list(found.finding.examples) == ["suite/b: two dogs"]


def test_rankings_are_held_against_the_question_that_measures_use(tmp_path: Path) -> None:
    """Judged on `fit`, which study.toml names, are the images of A and none of B; on `relevance` none."""
    asked = [Question("fit", "ordinal", 0, 1, 1), Question("relevance", "ordinal", 0, 1, 1)]
    judged = [Item(A, image=ImageKey("photos", "0")), Item(B, image=ImageKey("photos", "9"))]
    told = [Truth("fit", each, 1.0) for each in judged] + relevance(A, "9") + relevance(B, "9")
    prompts = [Prompt(A, "a red ball"), Prompt(B, "two dogs")]
    records = [*prompts, SEARCH, *asked, *ranking(A, [3.0, 2.0]), *ranking(B, [3.0, 2.0]), *told]
    with create_study(tmp_path / "study", settings='[score]\nrelevance = "fit"\n') as study:
        load(study, records, importer="test", path="test", digest="1")
        (found,) = [each.finding for each in check(study).findings if each.rule == "rankings_unjudged"]
    assert (found.severity, found.n) == ("warning", 1)
    assert list(found.examples) == ["suite/b: two dogs"]
