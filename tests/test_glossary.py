"""The field's words: docs/glossary.md defines them once, and what it lists as not used appears nowhere."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
PLACES = ("prose", "names", "by hand")
# What may stand although it holds such a word: the word, and the text around it.
ALLOWED = (
    ("told", r"\btold\s+apart\b"),
    ("beside", r"\bbeneath\s+beside\s+between\b"),  # PQPP's list of prepositions
)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Banned(NamedTuple):
    """A word or phrase that is not used; `whole` ones are names, compared as they are written."""

    word: str
    whole: bool
    places: frozenset[str]

    def pattern(self) -> re.Pattern[str]:
        if self.whole:
            return re.compile(re.escape(self.word))
        words = r"[\s_-]+".join(re.escape(each) for each in self.word.split())
        return re.compile(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", re.IGNORECASE)


class Piece(NamedTuple):
    """A text or a name, and where it stands."""

    text: str
    file: str
    line: int
    lowered: str


def piece(text: str, file: str = "", line: int = 1) -> Piece:
    return Piece(text, file, line, text.lower())


def rows(section: str) -> list[list[str]]:
    """The cells of the table below a heading of the glossary, without its head."""
    text = GLOSSARY.read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def banned() -> tuple[Banned, ...]:
    found = []
    for words, _, checked in rows("Words we do not use"):
        places = frozenset(each.strip() for each in checked.split(","))
        for each in re.sub(r"\([^)]*\)", "", words).split(","):
            word = each.strip()
            found.append(Banned(word.strip("`"), word.startswith("`"), places))
    return tuple(found)


def checked() -> list[Banned]:
    return [each for each in banned() if "by hand" not in each.places]


def offences(each: Banned, prose: list[Piece], names: list[Piece]) -> list[tuple[str, int]]:
    """File and line of every place where the word stands, and no allowed context explains it."""
    pattern = each.pattern()
    allowed = [re.compile(context, re.IGNORECASE) for word, context in ALLOWED if word == each.word]
    found = []
    first = each.word.lower().split()[0]
    if "prose" in each.places:
        for one in (one for one in prose if first in one.lowered):
            text = one.text
            for context in allowed:
                text = context.sub(lambda match: "\n" * match[0].count("\n"), text)
            for match in pattern.finditer(text):
                found.append((one.file, one.line + text.count("\n", 0, match.start())))
    if "names" in each.places:
        for one in (one for one in names if first in one.lowered):
            if pattern.fullmatch(one.text) if each.whole else pattern.search(CAMEL.sub(" ", one.text)):
                found.append((one.file, one.line))
    return found


def report(word: str, where: list[tuple[str, int]]) -> str:
    lines = defaultdict(list)
    for file, line in sorted(where):
        lines[file].append(str(line))
    listed = "\n".join(f"  {file}: {', '.join(numbers)}" for file, numbers in lines.items())
    return f"{word!r} stands {len(where)} times in {len(lines)} files:\n{listed}"


@cache
def prose() -> list[Piece]:
    """Documentation whole, page templates and scripts whole, and every string of the source."""
    found = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        found.append(piece(CAMEL.sub(" ", text) if path.suffix == ".js" else text, named(path), 1))
    for path, tree in modules():
        found += [piece(text, named(path), line) for text, line in strings(tree)]
    return found


@cache
def names() -> list[Piece]:
    found = []
    for path, tree in modules():
        found.append(piece(path.parent.name if path.stem == "__init__" else path.stem, named(path), 1))
        found += [piece(name, named(path), line) for name, line in bindings(tree)]
    return found


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def documents() -> Iterator[Path]:
    yield from (path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md")
    for folder in (".github", "docs", "benchmarks", "requirements", "sightline"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".md", ".html", ".js", ".toml", ".yml", ".yaml") and path != GLOSSARY:
                yield path


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    paths = sorted((ROOT / "sightline").rglob("*.py"))
    return [(path, ast.parse(path.read_text(encoding="utf-8"), named(path))) for path in paths]


def strings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def bindings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that the module gives: of classes, functions, arguments, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno


@pytest.mark.parametrize("each", checked(), ids=lambda each: each.word)
def test_words_we_do_not_use(each: Banned) -> None:
    where = offences(each, prose(), names())
    assert not where, report(each.word, where)


def test_the_glossary_is_in_order_and_defines_each_term_once() -> None:
    terms = [row[0].strip("*").lower() for row in rows("Terms")]
    assert len(terms) > 100
    assert all(len(row) == 2 and row[0].startswith("**") and row[1].endswith(".") for row in rows("Terms"))
    key = [re.sub(r"[^a-z0-9 ]", "", term) for term in terms]
    assert key == sorted(key)
    assert len(set(terms)) == len(terms)


def test_the_glossary_keeps_to_its_own_words() -> None:
    text = [piece(" ".join(row)) for row in rows("Terms")]
    assert [each.word for each in checked() if offences(each, text, [])] == []


def test_every_banned_word_says_what_to_write_and_where_it_is_checked() -> None:
    for words, instead, where in rows("Words we do not use"):
        assert words and instead
        assert set(re.split(r",\s*", where)) <= set(PLACES), where
    assert len({each.word for each in banned()}) == len(banned())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("It was foretold.", [1]),
        ("first\nhow well it\nForetells", [3]),
        ("an unforetold word, aforetell", []),
        ("foretold_at and FORETOLD", [1, 1]),
    ],
)
def test_a_word_is_noticed_in_prose(text: str, lines: list[int]) -> None:
    words = [each for each in checked() if each.word.startswith("foret")]
    found = [line for each in words for _, line in offences(each, [piece(text)], [])]
    assert found == lines


@pytest.mark.parametrize(
    ("word", "text", "count"),
    [
        ("told", "cannot be told apart; nobody is told", 1),
        ("told", "told\napart", 0),
        ("in vain", "asked in\nvain", 1),
        ("a row a", "It has a row a system", 1),
        ("Kept", "Kept as a word of prose", 0),
    ],
)
def test_phrases_and_contexts(word: str, text: str, count: int) -> None:
    [each] = [each for each in banned() if each.word == word]
    assert len(offences(each, [piece(text)], [])) == count


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class OutlookShown: pass", ["outlook"]),
        ("def keep_in_vain(told=1): ...", ["told", "in vain", "vain"]),
        ("self.told, rest = 1, 2", ["told"]),
        ("from x import y as occasion", ["occasion"]),
        ("class Kept: pass\nclass KeptRow: kept = 1", ["Kept"]),
        ("toldo = retold = 1", []),
    ],
)
def test_a_word_is_noticed_in_names(source: str, words: list[str]) -> None:
    given = [piece(name, line=line) for name, line in bindings(ast.parse(source))]
    assert sorted(each.word for each in checked() if offences(each, [], given)) == sorted(words)
