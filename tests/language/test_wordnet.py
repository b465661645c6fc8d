"""WordNet's files: a small database written here, and the real one where it is installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sightline.errors import DataError
from sightline.language import wordnet
from sightline.language.lexicon import word_relations
from sightline.language.wordnet import Synset, WordNet

HEAD = "  1 This software and database is WordNet 3.0 Copyright 2006 by nobody at all.  \n"
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}

# Part -> sense -> words, and the senses above it with the pointer that says so.
SENSES: dict[str, dict[str, tuple[list[str], list[tuple[str, str]]]]] = {
    "n": {
        "entity": (["entity"], []),
        "thing": (["thing"], [("@", "entity")]),
        "animal": (["animal", "beast"], [("@", "thing"), ("~", "pet"), ("~", "wolf"), ("~i", "rex")]),
        "pet": (["pet"], [("@", "animal"), ("@", "entity")]),
        "building": (["building"], [("@", "thing")]),
        "rex": (["rex"], [("@i", "pet")]),
        "wolf": (["wolf"], [("@", "animal")]),
    },
    "v": {
        "make": (["make"], []),
        "build": (["build"], [("@", "make")]),
        # Each above the other, as two verbs of WordNet 3.0 are; one of them has a way out.
        "hold": (["hold"], [("@", "curb")]),
        "curb": (["curb"], [("@", "hold"), ("@", "make")]),
    },
    "a": {"fine": (["fine"], []), "fines": (["fine"], [])},
    "r": {"well": (["well"], [])},
}
Small = tuple[WordNet, dict[str, Synset]]
EXCEPTIONS = {"n": "wolves wolf\n", "v": "built build\n", "a": "", "r": ""}


def write(folder: Path) -> dict[str, Synset]:
    """Write the database, twice: once to learn how long lines are, then with the offsets they give."""
    folder.mkdir()
    where = {name: Synset(part, 0) for part, senses in SENSES.items() for name in senses}
    for _ in range(2):
        for part, senses in SENSES.items():
            text = HEAD
            for name, (words, above) in senses.items():
                kind = "s" if name == "fines" else part
                pointers = "".join(f" {how} {where[up].offset:08d} {part} 0000" for how, up in above)
                spelled = " ".join(f"{word} 0" for word in words)
                where[name] = Synset(part, len(text.encode()))
                text += f"{where[name].offset:08d} 03 {kind} {len(words):02x} {spelled} {len(above):03d}"
                text += f"{pointers} | what it means  \n"
            (folder / f"data.{FILES[part]}").write_text(text)
    for part, senses in SENSES.items():
        lemmas: dict[str, list[int]] = {}
        for name, (words, _) in senses.items():
            for word in words:
                lemmas.setdefault(word, []).append(where[name].offset)
        lines = [
            f"{lemma} {part} {len(at)} 1 @ {len(at)} 0 {' '.join(f'{each:08d}' for each in at)}  \n"
            for lemma, at in sorted(lemmas.items())
        ]
        (folder / f"index.{FILES[part]}").write_text(HEAD + "".join(lines))
        (folder / f"{FILES[part]}.exc").write_text(EXCEPTIONS[part])
    return where


@pytest.fixture
def small(tmp_path: Path) -> Small:
    where = write(tmp_path / "dict")
    return WordNet(tmp_path / "dict"), where


def test_merged_senses_count_once(small: Small, tmp_path: Path) -> None:
    words, where = small
    fine, fines, well = where["fine"], where["fines"], where["well"]
    file = tmp_path / "merged.txt"
    file.write_text(f"# two senses of fine\na{fine.offset:08d} {fines.offset:08d}-s\n\nr{well.offset:08d}\n")
    merged = wordnet.read_merged(file)
    assert merged == {fine: 2, fines: 2, well: 4}
    assert wordnet.count_senses(words.synsets("fine"), {}) == 2
    assert wordnet.count_senses([*words.synsets("fine"), *words.synsets("well")], merged) == 2
    assert word_relations("fine", words, merged).senses == 1 and word_relations("fine", words).senses == 2
    for wrong, said in (
        ("n123", "'n123' is no sense"),
        ("n00000001\n00000001-n", "also in the group of line 1"),
    ):
        file.write_text(wrong)
        with pytest.raises(DataError, match=said) as caught:
            wordnet.read_merged(file)
        assert str(file) in str(caught.value.where)


def test_senses_of_every_part_of_speech(small: Small) -> None:
    words, where = small
    assert words.synsets("beast") == [where["animal"]]
    assert words.synsets("Fine") == [where["fine"], where["fines"]]
    assert words.synsets("well") == [where["well"]]
    assert words.synsets("unheard") == []


def test_morphology(small: Small) -> None:
    words, where = small
    assert words.synsets("wolves") == [where["wolf"]]
    assert words.synsets("built") == [where["build"]]
    assert words.synsets("finest") == [where["fine"], where["fines"]]
    # As a noun one rule is enough; as a verb "buildings" gives "building", and only that gives "build".
    assert words.synsets("buildings") == [where["building"], where["build"]]
    assert WordNet(words.path, recursive=False).synsets("buildings") == [where["building"]]


def test_depth_counts_nodes_of_the_shortest_way(small: Small) -> None:
    words, where = small
    # rex, an instance, is a root of its own.
    expected = {"entity": 1, "thing": 2, "animal": 3, "wolf": 4, "pet": 2, "fine": 1}
    expected |= {"rex": 1, "curb": 2, "hold": 3}
    assert {name: words.depth(where[name]) for name in expected} == expected


def test_senses_just_above_and_below(small: Small) -> None:
    """Instances (@i, ~i) are neither."""
    words, where = small
    assert words.hyponyms(where["animal"]) == [where["pet"], where["wolf"]]
    assert words.hypernyms(where["animal"]) == [where["thing"]]
    assert words.hyponyms(where["wolf"]) == words.hypernyms(where["rex"]) == []


def test_an_archive_serves_as_a_folder(tmp_path: Path, small: Small) -> None:
    words, where = small
    with zipfile.ZipFile(tmp_path / "wordnet.zip", "w") as archive:
        for file in words.path.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    zipped = WordNet(tmp_path / "wordnet.zip")
    assert zipped.version == words.version == "3.0"
    assert zipped.synsets("wolves") == [where["wolf"]]
    assert zipped.depth(where["wolf"]) == 4


def test_damaged_files_are_refused(tmp_path: Path, small: Small) -> None:
    words, where = small
    with pytest.raises(DataError, match="no entry at"):
        words.depth(Synset("n", where["wolf"].offset + 1))
    (words.path / "noun.exc").unlink()
    with pytest.raises(DataError, match=r"noun\.exc"):
        WordNet(words.path).synsets("wolves")
    with pytest.raises(DataError, match="holds no WordNet"):
        WordNet(tmp_path)
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match="holds no WordNet"):
        WordNet(tmp_path / "broken.zip")


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Small) -> None:
    words, _ = small
    corpora = tmp_path / "nltk" / "corpora"
    corpora.mkdir(parents=True)
    words.path.rename(corpora / "wordnet")
    monkeypatch.delenv(wordnet.VARIABLE, raising=False)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    found = wordnet.find()
    assert found is not None and found.path == corpora / "wordnet"
    monkeypatch.setattr(wordnet, "usual_places", lambda: iter([tmp_path / "nowhere"]))
    assert wordnet.find() is None
    monkeypatch.setenv(wordnet.VARIABLE, str(corpora / "wordnet"))
    assert wordnet.find() is not None
    # A place that was named and does not hold it is a mistake to tell, not to look past.
    monkeypatch.setenv(wordnet.VARIABLE, str(tmp_path))
    with pytest.raises(DataError, match="holds no WordNet"):
        wordnet.find()


@pytest.mark.parametrize(
    ("word", "senses"),
    # As Princeton's command `wn WORD -over` counts them; "buildings" as PQPP's authors counted it.
    [("dog", 8), ("buildings", 14), ("entity", 1), ("qwzx", 0)],
)
def test_the_real_one(word: str, senses: int, real_wordnet: WordNet) -> None:
    assert real_wordnet.version == "3.0"
    assert len(real_wordnet.synsets(word)) == senses


def test_why_counts_cannot_be_had(small: Small) -> None:
    words, _ = small
    assert wordnet.why_not(words) == ""
    assert "holds WordNet 3.0" in wordnet.why_not(words, "3.1")
    assert "wordnet-base" in wordnet.why_not(None)


def test_real_morphology_and_depths(real_wordnet: WordNet) -> None:
    assert len(WordNet(real_wordnet.path, recursive=False).synsets("buildings")) == 4
    # entity, physical entity, object, whole, living thing, organism, animal, domestic animal, dog
    dog = real_wordnet.synsets("dog")[0]
    assert real_wordnet.depth(dog) == 9
    assert real_wordnet.depth(real_wordnet.synsets("entity")[0]) == 1


@pytest.fixture(scope="module")
def real_wordnet() -> WordNet:
    found = wordnet.find()
    if found is None or found.version != "3.0":
        pytest.skip("no WordNet 3.0 (Debian: apt-get install wordnet-base); SIGHTLINE_WORDNET names one")
    return found
