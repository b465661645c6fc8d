"""Measures of a prompt, against hand counts and the values published with PQPP."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sightline.errors import MissingPackage
from sightline.extension import NoValue
from sightline.measures.of_prompt.length import characters, mean_word_length, words
from sightline.records import Prompt, PromptKey
from sightline.registry import configure, names
from sightline.statistics.correlation import kendall, pearson
from sightline.study.running.validate import gate


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(PromptKey("suite", str(number)), text) for number, text in enumerate(texts)]


def test_words_are_whitespace_pieces() -> None:
    assert list(words(prompts("a cat, sleeping", "", "  one\n\ttwo  ", "state-of-the-art"))) == [3, 0, 2, 1]


def test_mean_word_length_counts_punctuation_with_its_word() -> None:
    # (1 + 4 + 8) / 3
    found = mean_word_length(prompts("a cat, sleeping", "   "))
    assert found[0] == pytest.approx(13 / 3)
    assert found[1] == NoValue("the prompt has no words")


def test_characters_do_not_depend_on_how_an_accent_is_spelled() -> None:
    assert list(characters(prompts("caf\u00e9", "cafe\u0301", " cat ", "", "\U0001f431"))) == [4, 4, 3, 0, 1]


def values(measure: str, *texts: str) -> list[float | str]:
    """What is kept of a measure: its value, or the reason for none."""
    ready = configure("of_prompt", measure)
    told = gate(ready.spec, ready.load()(prompts(*texts)), len(texts))
    return [outcome.reason or outcome.value for outcome in told]


@pytest.mark.parametrize(
    ("measure", "text", "value"),
    [
        ("word_count", "a cat, isn't it?", 5),  # a cat is n't it
        ("acronym_rate", "a USA flag on a TV", 2 / 6),
        ("acronym_rate", "TV-DVD", 2),
        ("numeral_rate", "bus 12 on 2020-01-31", 2 / 4),
        ("conjunction_rate", "Salt And pepper, or oil.", 2 / 5),
        ("preposition_rate", "Under the bridge of wood", 2 / 5),
    ],
)
def test_features_of_words_by_hand(measure: str, text: str, value: float) -> None:
    assert values(measure, text, text) == [pytest.approx(value)] * 2


@pytest.mark.parametrize("measure", ["acronym_rate", "numeral_rate", "conjunction_rate", "preposition_rate"])
def test_no_word_no_rate(measure: str) -> None:
    assert values(measure, " . ", "") == ["the prompt has no words"] * 2
    assert values("word_count", " . ", "") == [0, 0]


def test_names_are_a_share_of_the_words() -> None:
    pytest.importorskip("spacy", reason="not needed here: spaCy is not installed")
    # Barack and Obama of five words; no name in the second.
    assert values("proper_noun_rate", "Barack Obama eats an apple", "a dog eats an apple", "?!") == [
        pytest.approx(2 / 5), 0, "the prompt has no words",
    ]  # fmt: skip


def test_senses_without_wordnet_are_refused_and_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sightline.language.wordnet.usual_places", lambda: iter([tmp_path]))
    monkeypatch.delenv("SIGHTLINE_WORDNET", raising=False)
    with pytest.raises(MissingPackage, match=r"WordNet 3\.0 is not here"):
        configure("of_prompt", "synset_count").load()


def wordnet_here() -> None:
    try:
        configure("of_prompt", "synset_count").load()
    except MissingPackage as error:
        pytest.skip(f"not needed here: {error.what}")


def test_senses() -> None:
    wordnet_here()
    # WordNet 3.0: "zebra" has one sense; "the" is a stop word; repeats count again.
    assert values("synset_count", "the zebra", "zebra Zebras", "?!") == [1, 2, 0]
    once = configure("of_prompt", "synset_count(recursive=False)").load()
    # "building" the noun has 4; recursively "buildings" is "build" with its 10 senses as well.
    assert list(once(prompts("buildings"))) == [4] and values("synset_count", "buildings") == [14]


# Pearson and tau with HBPP, P@10 and RR on PQPP's validation rows.
PUBLISHED = {
    "mean_word_length": "-.0058 -.0053 -.0983 -.0636 -.0400 -.0287",
    "synset_count": "-.1497 -.1008 -.1089 -.0644 -.0210 -.0171",
    "word_count": "-.1404 -.1070 -.1739 -.1428 -.0682 -.0486",
    "acronym_rate": "-.0165 -.0520 -.0238 -.0233 .0415 .0431",
    "numeral_rate": ".0184 .0114 -.0404 -.0423 -.0230 -.0142",
    "conjunction_rate": ".0354 .0387 -.1155 -.1073 -.0800 -.0740",
    "preposition_rate": ".0331 .0202 .0464 .0349 .0597 .0433",
}


@pytest.mark.parametrize("measure", PUBLISHED)
def test_features_are_the_published_ones(measure: str, data: Path) -> None:
    if measure == "synset_count":
        wordnet_here()
    with (data / "pqpp" / "dataset" / "validation.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = values(measure, *(row["best_caption"] for row in rows))
    tolerance = 2e-3
    if measure == "mean_word_length":
        assert sum(found) / len(found) == pytest.approx(4.3441, abs=5e-5)
        tolerance = 1e-4
    printed = iter(map(float, PUBLISHED[measure].split()))
    for column in ("avg_generative_score", "retrieval_avg_pk", "retrieval_avg_rr"):
        truth = [float(row[column]) for row in rows]
        assert pearson(found, truth).value == pytest.approx(next(printed), abs=tolerance)
        assert kendall(found, truth).value == pytest.approx(next(printed), abs=2e-3)


@pytest.mark.parametrize("measure", [name for name in names("of_prompt") if name.startswith("ego_")])
def test_networks_of_words(measure: str) -> None:
    if configure("of_prompt", measure).spec.missing():
        pytest.skip("not needed here: no package of word vectors")
    from sightline.language.embedding_graph import carried

    cat, dog, both, none = values(measure, "a cat", "the Dog", "a cat and a dog", "xqzzyq of ?!")
    assert both == pytest.approx((cat + dog) / 2)
    assert none == "no word of the prompt has a vector"
    (ego,) = carried().of(["cat"])
    assert ego is not None and cat == pytest.approx(getattr(ego, measure.removeprefix("ego_")))
