"""What lists of words tell of a text, on lists written here and on the published ones."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sightline.errors import DataError
from sightline.language import lexicon, wordnet
from sightline.language.lexicon import Relations, concreteness, honore, rating, read_concreteness, relations
from sightline.language.wordnet import Synset

RATINGS = {"cat": 4.86, "box": 4.9, "run": 4.0, "his": 3.14, "truth": 1.96, "hi": 2.67}


def test_words_with_a_letter() -> None:
    assert lexicon.spelled_words("A cat's 8k photo, 1994 ...") == ["a", "cat", "'s", "8k", "photo"]


def test_ratings_of_derived_forms() -> None:
    expected = {"cat": 4.86, "cats": 4.86, "boxes": 4.9, "runs": 4.0, "zebra": None}
    assert {word: rating(word, RATINGS) for word in expected} == expected
    # A stop word is itself or nothing: without its own rating "his" must not become "hi".
    assert rating("his", {"hi": 2.67}) is None


def test_concreteness_is_a_mean_over_rated_words() -> None:
    assert concreteness("Cats and the truth about cats", RATINGS) == pytest.approx((4.86 + 1.96 + 4.86) / 3)
    assert concreteness("zebras", RATINGS) is None


def test_reading_ratings(tmp_path: Path) -> None:
    file = tmp_path / "ratings.txt"
    file.write_bytes(b"Word\tBigram\tConc.M\r\nCat\t0\t4.86\r\nice cream\t1\t5\r\n")
    assert read_concreteness(file) == {"cat": 4.86}
    (tmp_path / "ratings.csv").write_text("Word,Conc.M\ncat,4.86\n")
    assert read_concreteness(tmp_path / "ratings.csv") == {"cat": 4.86}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Word\tRating\ncat\t4\n", "no columns Word and Conc.M"),
        ("", "no columns"),
        ("Word\tConc.M\ncat\t4.8\ndog\t6\n", "line 3: '6' is no rating"),
        ("Word\tConc.M\ncat\tnan\n", "line 2"),
        ("Word\tConc.M\ncat\n", "line 2"),
    ],
)
def test_damaged_ratings(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "r.txt").write_text(content)
    with pytest.raises(DataError, match=said):
        read_concreteness(tmp_path / "r.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read_concreteness(tmp_path / "absent.txt")


def test_published_ratings(data: Path) -> None:
    ratings = read_concreteness(data / "concreteness" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt")
    # 39,954 entries, of which 2,896 are expressions of two words.
    assert len(ratings) == 37_058
    assert (ratings["cat"], ratings["hi"], ratings["roadsweeper"]) == (4.86, 2.67, 4.85)


def test_honore_by_hand() -> None:
    """the cat saw the dog: N = 5, V = 4, once 3: 100 ln 5 / (1 - 3/4)."""
    assert honore("the cat saw the dog") == pytest.approx(400 * math.log(5))
    assert honore("a cat") is None
    assert honore("") is None
    # Nothing occurs once: 100 ln 4.
    assert honore("a cat a cat") == pytest.approx(100 * math.log(4))


def test_dictionary_and_frequency() -> None:
    assert lexicon.out_of_dictionary("a cat cgsociety 8k", {"a", "cat"}) == 0.5
    assert lexicon.out_of_dictionary("1, 2", {"a"}) is None
    zipf = {"a": 7.0, "cat": 5.0}
    assert lexicon.word_frequency("a cat cgsociety", lambda word: zipf.get(word, 0.0)) == 6.0
    assert lexicon.word_frequency("cgsociety", lambda word: 0.0) is None


class Small(wordnet.WordNet):
    """A WordNet in which `cat` has two senses, with one and two senses below and one above them all."""

    def __init__(self) -> None:
        pass

    def synsets(self, word: str) -> list[Synset]:
        # The second sense is reached by two base forms.
        senses = {"cat": (1, 2, 2), "mat": (3,), "a": (9,)}
        return [Synset("n", offset) for offset in senses.get(word, ())]

    def hyponyms(self, synset: Synset) -> list[Synset]:
        return {1: [Synset("n", 4)], 2: [Synset("n", 5), Synset("n", 6)]}.get(synset.offset, [])

    def hypernyms(self, synset: Synset) -> list[Synset]:
        return [Synset("n", 7)]


def test_relations_by_hand() -> None:
    """cat: 3 below, 1 above, 2 senses; mat: 0, 1, 1. "a" is a stop word, "xyz" unknown."""
    assert relations("a cat xyz mat", Small()) == Relations(1.5, 1.0, 1.5)
    assert relations("a xyz", Small()) is None


def test_relations_in_wordnet() -> None:
    known = wordnet.find()
    if known is None or known.version != "3.0":
        pytest.skip(wordnet.why_not(known))
    # wn tomato -hypen: two senses, a vegetable and an herb.
    tomato = lexicon.word_relations("tomato", known)
    assert (tomato.senses, tomato.hypernyms) == (2, 2)
    saw = lexicon.word_relations("saw", known)
    # Polysemous by the paper: 3 nouns, "saw" the verb, and the 24 senses of "see".
    assert saw.senses == 28
    assert lexicon.word_relations("animal", known).hyponyms > lexicon.word_relations("dog", known).hyponyms


def test_lists_of_wordfreq() -> None:
    pytest.importorskip("wordfreq", reason="the extra language is not installed")
    dictionary, zipf = lexicon.find_dictionary(), lexicon.find_frequency()
    assert len(dictionary) == 100_000 and "cat" in dictionary and "cgsociety" not in dictionary
    assert zipf("the") > zipf("cat") > zipf("tabby") > 0 == zipf("cgsociety")
