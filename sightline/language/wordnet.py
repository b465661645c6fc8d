"""WordNet's own database files: the senses of a word, and how deep each lies below the root.

Read as Princeton publishes them (index.noun, data.noun, noun.exc and their kin), from a folder or from the
archive that NLTK downloads. Nothing of it is shipped with Sightline. docs/design-notes.md has why this is not
NLTK's reader.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sightline.errors import DataError

VARIABLE = "SIGHTLINE_WORDNET"
MERGED = "SIGHTLINE_MERGED_SENSES"
_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_HYPERNYM, _HYPONYM = "@", "~"
_REMEDY = (
    "Debian has it as the package wordnet-base, NLTK as nltk.download('wordnet'); "
    f"{VARIABLE}=FOLDER names another place."
)
# Ending -> what stands for it, by part of speech: the detachment rules of WordNet's manual, page morphy(7WN).
_DETACHMENT: Mapping[str, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    "v": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip


class Synset(NamedTuple):
    """A sense: its part of speech (n, v, a or r) and its place in that part's data file."""

    part: str
    offset: int


class WordNet:
    """The database in a folder, or in a zip archive that holds one."""

    def __init__(self, path: str | Path, *, recursive: bool = True) -> None:
        self.path = Path(path)
        self.recursive = recursive
        if not _holds_one(self.path):
            raise DataError(
                "this holds no WordNet (index.noun, data.noun and so on)",
                where=str(path),
                remedy=_REMEDY,
            )
        self._index: dict[str, dict[str, str]] = {}
        self._data: dict[str, bytes] = {}
        self._exceptions: dict[str, dict[str, list[str]]] = {}
        self._depths: dict[Synset, int] = {}

    @cached_property
    def version(self) -> str:
        """The release, such as 3.0, from the licence at the head of the data; empty if it is not said."""
        said = re.search(rb"WordNet (\d+(?:\.\d+)*) Copyright", self._content("n")[:4000])
        return said.group(1).decode() if said else ""

    def synsets(self, word: str) -> list[Synset]:
        """All senses of a word, of every part of speech, after reducing it to its base forms.

        Nouns, verbs, adjectives, adverbs in turn; a sense reached by two base forms is listed twice.
        """
        asked = word.lower().replace(" ", "_")
        return [
            Synset(part, offset)
            for part in _FILES
            for form in self.base_forms(asked, part)
            for offset in self._offsets(form, part)
        ]

    def base_forms(self, word: str, part: str) -> list[str]:
        """The word and what WordNet's morphology makes of it, as far as they are entries of this part.

        An irregular form gives what the exception list says. Otherwise every rule is applied once. Where the
        morphology is recursive and nothing is found, they are applied again to what came of it, which makes
        "buildings" a form of the verb "build".
        """
        irregular = self._exception_list(part).get(word)
        if irregular is not None:
            return self._entries([word, *irregular], part)
        forms = [word]
        found = self._entries([word, *detached(forms, part)], part)
        while self.recursive and forms and not found:
            forms = detached(forms, part)
            found = self._entries(forms, part)
        return found

    def depth(self, synset: Synset) -> int:
        """Nodes on the shortest way up to a root, both ends counted; an instance's class is not followed."""
        if synset not in self._depths:
            self._depths[synset] = self._climb(synset)
        return self._depths[synset]

    def _climb(self, synset: Synset) -> int:
        # Level by level and never twice: WordNet 3.0 has verbs that are above each other.
        met, level, nodes = {synset}, [synset], 1
        while level:
            above = [self.hypernyms(each) for each in level]
            if not all(above):
                return nodes
            level = [each for each in {each for group in above for each in group} if each not in met]
            met.update(level)
            nodes += 1
        raise DataError(
            f"no way leads from {synset.part}{synset.offset} up to a root",
            where=str(self.path),
            remedy="Its files are damaged: obtain WordNet again.",
        )

    def hypernyms(self, synset: Synset) -> list[Synset]:
        """The senses just above, by the pointer @ and not by @i."""
        return self._pointed(synset, _HYPERNYM)

    def hyponyms(self, synset: Synset) -> list[Synset]:
        """The senses just below, by the pointer ~ and not by ~i."""
        return self._pointed(synset, _HYPONYM)

    def _pointed(self, synset: Synset, wanted: str) -> list[Synset]:
        fields = self._line(synset).split("|", 1)[0].split()
        # offset, file number, type, number of words (hexadecimal), word and id each, number of pointers
        at = 4 + 2 * int(fields[3], 16)
        pointers = [fields[at + 1 + 4 * n : at + 5 + 4 * n] for n in range(int(fields[at]))]
        return [Synset(_plain(part), int(offset)) for symbol, offset, part, _ in pointers if symbol == wanted]

    def _entries(self, forms: list[str], part: str) -> list[str]:
        index = self._entries_of(part)
        return [form for form in dict.fromkeys(forms) if form in index]

    def _offsets(self, form: str, part: str) -> list[int]:
        # part, number of senses, number of pointer symbols, those symbols, two counts, then the offsets
        fields = self._entries_of(part)[form].split()
        return [int(field) for field in fields[len(fields) - int(fields[1]) :]]

    def _line(self, synset: Synset) -> str:
        content = self._content(synset.part)
        end = content.find(b"\n", synset.offset)
        line = content[synset.offset : end if end >= 0 else None].decode("utf-8", "replace")
        if not line.startswith(f"{synset.offset:08d} "):
            raise DataError(
                f"data.{_FILES[synset.part]} has no entry at {synset.offset}",
                where=str(self.path),
                remedy="Its files do not belong together: obtain WordNet again.",
            )
        return line

    def _entries_of(self, part: str) -> dict[str, str]:
        if part not in self._index:
            lines = self._read(f"index.{_FILES[part]}").decode("utf-8", "replace").splitlines()
            # The licence at the head is indented.
            pairs = (line.split(" ", 1) for line in lines if line and not line.startswith(" "))
            self._index[part] = {lemma: rest for lemma, rest in pairs}
        return self._index[part]

    def _exception_list(self, part: str) -> dict[str, list[str]]:
        if part not in self._exceptions:
            lines = self._read(f"{_FILES[part]}.exc").decode("utf-8", "replace").splitlines()
            self._exceptions[part] = {words[0]: words[1:] for words in map(str.split, lines) if words}
        return self._exceptions[part]

    def _content(self, part: str) -> bytes:
        if part not in self._data:
            self._data[part] = self._read(f"data.{_FILES[part]}")
        return self._data[part]

    def _read(self, name: str) -> bytes:
        try:
            if self.path.is_dir():
                return (self.path / name).read_bytes()
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(next(each for each in archive.namelist() if _base(each) == name))
        except (OSError, StopIteration, zipfile.BadZipFile):
            raise DataError(f"{name} cannot be read", where=str(self.path), remedy=_REMEDY) from None


def find(*, recursive: bool = True) -> WordNet | None:
    """The WordNet that SIGHTLINE_WORDNET names, else the first in the usual places, else None.

    Recursive morphology is NLTK's before 3.9; from then on its rules are applied once.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return WordNet(named, recursive=recursive)
    found = next((place for place in usual_places() if _holds_one(place)), None)
    return WordNet(found, recursive=recursive) if found else None


def read_merged(path: str | Path) -> dict[Synset, int]:
    """Senses that count as one, each with the number of its group, from a file with a group per line.

    A sense is a part of speech and a place in its data file, n02084071 or 02084071-n; # begins a comment.
    Where the fine senses of WordNet are merged (Snow et al., EMNLP 2007, whose groups their authors publish)
    such a file says which; a database of merged senses needs none.
    """
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the merged senses cannot be read ({error})", where=str(path)) from None
    found: dict[Synset, int] = {}
    for number, line in enumerate(lines, 1):
        for word in line.partition("#")[0].replace(",", " ").split():
            if (sense := _sense(word)) is None:
                raise DataError(
                    f"{word!r} is no sense",
                    where=f"{path}:{number}",
                    remedy="Such as n02084071 or 02084071-n.",
                )
            if found.setdefault(sense, number) != number:
                raise DataError(
                    f"{word} is also in the group of line {found[sense]}",
                    where=f"{path}:{number}",
                    remedy="A sense belongs to one group.",
                )
    return found


def find_merged() -> dict[Synset, int]:
    """The merged senses of the file that SIGHTLINE_MERGED_SENSES names; none where it names none."""
    named = os.environ.get(MERGED)
    return read_merged(named) if named else {}


def count_senses(senses: Iterable[Synset], merged: Mapping[Synset, int]) -> int:
    """How many different senses there are, those of one group counting once."""
    return len({("group", merged[each]) if each in merged else each for each in senses})


def _sense(word: str) -> Synset | None:
    said = re.fullmatch(r"([nvasr])(\d{8})|(\d{8})-([nvasr])", word)
    if said is None:
        return None
    return Synset(_plain(said[1] or said[4]), int(said[2] or said[3]))


def usual_places() -> Iterator[Path]:
    """Where WordNet is looked for by default: NLTK's folders, then Debian's."""
    named = [Path(each) for each in os.environ.get("NLTK_DATA", "").split(os.pathsep) if each]
    prefix = Path(sys.prefix)
    roots = [
        *named,
        Path.home() / "nltk_data",
        *(prefix / under / "nltk_data" for under in ("", "share", "lib")),
        *(Path("/usr") / under / "nltk_data" for under in ("share", "local/share", "lib", "local/lib")),
    ]
    for root in roots:
        yield root / "corpora" / "wordnet"
        yield root / "corpora" / "wordnet.zip"
    yield Path("/usr/share/wordnet")


def why_not(found: WordNet | None, release: str = "3.0") -> str:
    """Why published counts, which are those of one release, cannot be had from this; empty if they can."""
    if found is None:
        return f"WordNet {release} is not here. {_REMEDY}".removesuffix(".")
    if found.version != release:
        held = f"WordNet {found.version}" if found.version else "an unnamed release"
        return f"the counts are those of WordNet {release}, and {found.path} holds {held}"
    return ""


def _holds_one(path: Path) -> bool:
    if path.is_dir():
        return (path / "index.noun").is_file() and (path / "data.noun").is_file()
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return {"index.noun", "data.noun"} <= {_base(name) for name in archive.namelist()}


def detached(forms: list[str], part: str) -> list[str]:
    """What the detachment rules of a part of speech make of the forms, whether or not it is a word."""
    return [
        form.removesuffix(ending) + instead
        for form in forms
        for ending, instead in _DETACHMENT[part]
        if form.endswith(ending)
    ]


def _plain(part: str) -> str:
    # Satellite adjectives (s) live in the adjectives' file.
    return "a" if part == "s" else part


def _base(name: str) -> str:
    return name.rpartition("/")[2]
